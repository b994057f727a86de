package families_test

//lint:file-ignore SA1019 an older service has only Promote

import (
	"crypto/tls"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// inServiceBubble is [inPostgresBubble] in the service.
func inServiceBubble(t *testing.T, test func(*testing.T, *cloudapitest.Server, *cloudapi.PostgresService), opts ...cloudapitest.Option) {
	inPostgresBubble(t, test, append(opts, cloudapitest.WithAPI(cloudapitest.Service))...)
}

func TestPostgresRecordInService(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		p := createDatabase(t, pg, "db")
		if p.Version != "18" || p.TargetVersion != "18" || p.TargetServerCount != 1 || p.CreatedAt.Unix() != time.Now().Unix() {
			t.Errorf("record %+v", p)
		}
		if want := "db." + p.ID + ".pg.localhost"; p.Hostname != want || p.Username != "postgres" || p.Password.Reveal() == "" {
			t.Errorf("host %s and user %s, want %s", p.Hostname, p.Username, want)
		}
		var ports []int
		for _, r := range p.FirewallRules {
			ports = append(ports, r.Port)
		}
		if want := []int{5432, 6432, 5432, 6432}; !slices.Equal(ports, want) {
			t.Errorf("rules for ports %d, want %d", ports, want)
		}
		first := p.FirewallRules[0].ID
		if err := pg.DeleteFirewallRule(t.Context(), here, "db", first); err != nil || !cloudapi.IsID(first, cloudapi.KindFirewallRule) {
			t.Errorf("%s: %v", first, err)
		}
		if page := must(pg.ListFirewallRules(t.Context(), here, "db", nil)); len(page.Items) != 3 {
			t.Errorf("%d rules are left, want 3", len(page.Items))
		}
		status, _ := stub.Do(t, srv, "POST", "/project/"+srv.ProjectID()+"/location/"+here+"/postgres/x", `{"size":"standard-2","storage_size":64,"version":"15"}`)
		if status != 400 {
			t.Errorf("version 15: %d, want 400", status)
		}
	})
}

func TestPostgresUpgradesInTime(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, Version: "17"}
		must(pg.Create(ctx, here, "db", request))
		_, err := pg.UpgradeStatus(ctx, here, "db")
		refused(t, err, "Database is not upgrading")
		stub.Elapse(time.Hour)
		must(pg.CreateReadReplica(ctx, here, "db", "copy", nil))
		stub.Elapse(time.Hour)
		_, err = pg.Upgrade(ctx, here, "copy")
		refused(t, err, "Read replicas cannot be upgraded")
		if u := must(pg.Upgrade(ctx, here, "db")); u.UpgradeStatus != "running" || u.CurrentVersion != "17" || u.TargetVersion != "18" {
			t.Errorf("upgrade %+v", u)
		}
		_, err = pg.Upgrade(ctx, here, "db")
		refused(t, err, "needs_convergence")
		var stages []string
		for {
			u, err := pg.UpgradeStatus(ctx, here, "db")
			if err != nil {
				break
			}
			if !slices.Contains(stages, u.UpgradeStage) {
				stages = append(stages, u.UpgradeStage)
			}
			stub.Elapse(10 * time.Millisecond)
		}
		want := []string{"", "provision_servers", "wait_servers_to_be_ready", "wait_fence_primary", "upgrade_standby", "update_metadata", "recycle_representative_server"}
		if !slices.Equal(stages, want) {
			t.Errorf("stages %q, want %q", stages, want)
		}
		for _, name := range []string{"db", "copy"} {
			if p := must(pg.WaitUpgraded(ctx, here, name, nil)); p.Version != "18" {
				t.Errorf("%s has version %s", name, p.Version)
			}
		}
		_, err = pg.Upgrade(ctx, here, "db")
		refused(t, err, "Database is already at the latest version")
	})
}

func TestPostgresServersComeAndGo(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		must(pg.WaitServers(ctx, here, "db", nil))
		primary := must(pg.ListServers(ctx, here, "db")).Items[0].ID
		must(pg.Update(ctx, here, "db", &cloudapi.PostgresUpdateRequest{HAType: "async"}))
		if got := must(pg.WaitServers(ctx, here, "db", nil)); got.TargetServerCount != 2 {
			t.Errorf("%d servers", got.TargetServerCount)
		}
		must(pg.Recycle(ctx, here, "db"))
		must(pg.WaitRecycled(ctx, here, "db", primary, nil))
		for _, s := range must(pg.ListServers(ctx, here, "db")).Items {
			if s.ID == primary || s.State != "running" {
				t.Errorf("server %+v is there", s)
			}
		}
	})
}

func TestPostgresLogsArePaged(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		stub.Elapse(2 * time.Hour)
		options := &cloudapi.PostgresLogsOptions{Start: time.Now().Add(-time.Hour), End: time.Now()}
		whole, paged := *options, *options
		whole.PageSize, paged.PageSize = 500, 7
		all := must(pg.Logs(ctx, here, "db", &whole))
		slices.Reverse(all.Items)
		i := 0
		for entry, err := range pg.AllLogs(ctx, here, "db", &paged) {
			if got, want := must(entry, err), all.Items[i]; got.Timestamp != want.Timestamp || got.Message != want.Message {
				t.Fatalf("line %d is %+v, want %+v", i, got, want)
			}
			i++
		}
		if i != len(all.Items) || i != 361 || all.Next != "" {
			t.Errorf("%d lines in pages and %d at once, want 361", i, len(all.Items))
		}
		options.SeverityLevel = cloudapi.PostgresLogSeverityError
		for entry, err := range pg.AllLogs(ctx, here, "db", options) {
			if must(entry, err).SeverityLevel != cloudapi.PostgresLogSeverityError {
				t.Fatalf("line %+v", entry)
			}
		}
		_, err := pg.Logs(ctx, here, "db", &cloudapi.PostgresLogsOptions{Start: time.Now().Add(-25 * time.Hour)})
		refused(t, err, "Maximum time range for log queries is 24 hours")
	})
}

// TestAddedLogLines: lines that a test adds are in the order and the range of
// their receipt, in whole and in pages of any size, also late and equal ones.
// FollowLogs yields each line once.
func TestAddedLogLines(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		db := createDatabase(t, pg, "db")
		stub.Elapse(time.Hour)
		messages := func(o cloudapi.PostgresLogsOptions) (found []string) {
			for line, err := range pg.AllLogs(ctx, here, "db", &o) {
				if message := must(line, err).Message; strings.HasPrefix(message, "test ") {
					found = append(found, message)
				}
			}
			slices.Reverse(found)
			return found
		}
		follow := &cloudapi.PostgresFollowLogsOptions{UntilNow: true, QueryPattern: "test "}
		follow.Progress = func(p cloudapi.Progress) { follow.Marker = p.Record.(cloudapi.PostgresLogMarker) }
		var followed []string
		check := func(want ...string) {
			t.Helper()
			for size := range 8 {
				if got := messages(cloudapi.PostgresLogsOptions{PageSize: size}); !slices.Equal(got, want) {
					t.Errorf("in pages of %d the lines are %q, want %q", size, got, want)
				}
			}
			for line, err := range pg.FollowLogs(ctx, here, "db", follow) {
				followed = append(followed, must(line, err).Message)
			}
			if !slices.Equal(followed, want) {
				t.Errorf("followed, the lines are %q, want %q", followed, want)
			}
		}
		srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{Message: "test a"})
		for range 3 {
			srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{Message: "test b"})
		}
		stub.Elapse(time.Second) // a Date has whole seconds
		check("test a", "test b", "test b", "test b")

		stub.Elapse(25 * time.Second)
		from, servers := time.Now(), must(pg.ListServers(ctx, here, "db"))
		full := cloudapi.PostgresLogEntry{
			Timestamp: from.Add(-40 * time.Second).UTC(), StreamName: cloudapi.PostgresLogStreamPgBouncer, SeverityLevel: cloudapi.PostgresLogSeverityFatal,
			Message: "test late", ServerUBID: servers.Items[0].ID, ServerRole: cloudapi.PostgresServerRoleStandby, Context: map[string]string{"user": "app"},
		}
		srv.AddLogLine(db.ID, full)
		srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{Message: "test c"})
		stub.Elapse(time.Second)
		check("test a", "test b", "test b", "test b", "test late", "test c")
		if got := messages(cloudapi.PostgresLogsOptions{Start: from, End: from.Add(time.Second)}); !slices.Equal(got, []string{"test late", "test c"}) {
			t.Errorf("received since then: %q", got)
		}
		late := must(pg.Logs(ctx, here, "db", &cloudapi.PostgresLogsOptions{QueryPattern: "late"})).Items
		plain := must(pg.Logs(ctx, here, "db", &cloudapi.PostgresLogsOptions{QueryPattern: "test c"})).Items
		wantPlain := cloudapi.PostgresLogEntry{
			Timestamp: from.UTC(), StreamName: "postgres", SeverityLevel: "INFO", Message: "test c", ServerUBID: servers.Items[0].ID, ServerRole: "primary",
		}
		if len(late) != 1 || !reflect.DeepEqual(*late[0], full) || len(plain) != 1 || !reflect.DeepEqual(*plain[0], wantPlain) {
			t.Errorf("the lines are %+v and %+v", late, plain)
		}
	})
}

func TestPostgresBackupsAndTheirCredentials(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		if page := must(pg.ListBackups(ctx, here, "db")); len(page.Items) != 0 {
			t.Errorf("%d backups of a new database", len(page.Items))
		}
		stub.Elapse(25 * time.Hour)
		if page := must(pg.ListBackups(ctx, here, "db")); len(page.Items) != 2 {
			t.Errorf("%d backups after a day, want 2", len(page.Items))
		}
		_, err := pg.CreateBackupCredentials(ctx, here, "db")
		refused(t, err, "Backup downloads are not available for this PostgreSQL database.")

		createPlace(t, srv.Client(), "mine", "us-east-1")
		must(pg.Create(ctx, "mine", "db", &cloudapi.PostgresCreateRequest{Size: "m8gd.large", StorageSize: 118}))
		a, b := must(pg.CreateBackupCredentials(ctx, "mine", "db")), must(pg.CreateBackupCredentials(ctx, "mine", "db"))
		if a.Region != "us-east-1" || a.SecretAccessKey.Reveal() == b.SecretAccessKey.Reveal() || !a.Expiration.After(time.Now()) {
			t.Errorf("credentials of %s until %v", a.Region, a.Expiration)
		}
	})
}

func TestPostgresClientCertificates(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		stub.Elapse(time.Hour)
		file := must(pg.CreateClientKeyPair(ctx, here, "db", "app", time.Hour))
		pair, err := tls.X509KeyPair(file.Content, file.Content)
		if err != nil || pair.Leaf.Subject.CommonName != "app" || !pair.Leaf.NotAfter.Equal(time.Now().Add(time.Hour).UTC().Truncate(time.Second)) {
			t.Errorf("key pair of %+v: %v", pair.Leaf, err)
		}
		_, err = pg.CreateClientKeyPair(ctx, here, "db", "postgres", time.Hour)
		refused(t, err, "Common Name must not be postgres")
		must(pg.AddCertificateUser(ctx, here, "db", "app"))
		if u := must(pg.AddCertificateUser(ctx, here, "db", "app")); !slices.Equal(u.Items, []string{"app"}) {
			t.Errorf("users %q", u.Items)
		}
		if u := must(pg.RemoveCertificateUser(ctx, here, "db", "app")); len(u.Items) != 0 {
			t.Errorf("users %q after the removal", u.Items)
		}
	})
}

func TestPostgresLogDestinations(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		d := must(pg.CreateLogDestination(ctx, here, "db", &cloudapi.PostgresLogDestinationCreateRequest{Name: "a", Type: "otlp", URL: "https://a.example"}))
		if got := must(pg.Get(ctx, here, "db")).LogDestinations; len(got) != 1 || got[0].ID != d.ID {
			t.Errorf("destinations %+v, want %+v", got, d)
		}
		_, err := pg.CreateLogDestination(ctx, here, "db", &cloudapi.PostgresLogDestinationCreateRequest{Name: "a", Type: "syslog", URL: "tcp://a.example"})
		refused(t, err, "Invalid URL")
		for range 2 {
			if err := pg.DeleteLogDestination(ctx, here, "db", d.ID); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestPostgresCapabilitiesCanBeCreated(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		c := must(pg.Capabilities(t.Context()))
		location := c.OptionTree["flavor"]["standard"]["location"]["hetzner-fsn1"]
		if _, ok := location["family"]["hobby"]["size"]["hobby-1"]["storage_size"]["16"]["ha_type"]["sync"]; !ok {
			t.Errorf("no hobby-1 in %v", location)
		}
		if got := c.Metadata.Location["hetzner-fsn1"].DisplayName; got != here {
			t.Errorf("location %s, want %s", got, here)
		}
		if got := c.Metadata.Size["standard-8"].MemoryGiB; got != 32 {
			t.Errorf("%d GiB, want 32", got)
		}
	})
}

func TestPostgresStatesInService(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		stub.Elapse(time.Hour)
		states := func(name string) (seen []string) {
			for {
				p := must(pg.Get(ctx, here, name))
				if !slices.Contains(seen, p.State) {
					seen = append(seen, p.State)
				}
				if p.State == "running" {
					return seen
				}
				stub.Elapse(10 * time.Millisecond)
			}
		}
		must(pg.Restart(ctx, here, "db"))
		if got, want := states("db"), []string{"restarting", "running"}; !slices.Equal(got, want) {
			t.Errorf("states of a restart %q, want %q", got, want)
		}
		must(pg.CreateReadReplica(ctx, here, "db", "copy", nil))
		if got, want := states("copy"), []string{"creating", "restoring_backup", "replaying_wal", "running"}; !slices.Equal(got, want) {
			t.Errorf("states of a replica %q, want %q", got, want)
		}
		_, err := pg.Update(ctx, here, "copy", &cloudapi.PostgresUpdateRequest{StorageSize: 128})
		refused(t, err, "Read replicas cannot be modified directly!")
		if p := must(pg.PromoteReadReplica(ctx, here, "copy")); p.ReadReplica || p.Parent == "" {
			t.Errorf("promoted: %+v", p)
		}
		_, err = pg.Promote(ctx, here, "copy")
		refused(t, err, "Non read replica servers cannot be promoted.")
	})
}

func TestPostgresLogsBeginWithTheBackups(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, _ *cloudapitest.Server, pg *cloudapi.PostgresService) {
		createDatabase(t, pg, "db")
		now := time.Now()
		options := &cloudapi.PostgresLogsOptions{Start: now.Add(-2 * time.Hour), End: now}
		lines := must(cloudapi.Collect(pg.AllLogs(t.Context(), here, "db", options)))
		if oldest := lines[len(lines)-1].Timestamp; len(lines) < 350 || oldest.Before(now.Add(-time.Hour)) {
			t.Errorf("%d lines since %v, want those of an hour", len(lines), now.Sub(oldest))
		}
	}, cloudapitest.WithDelays(cloudapitest.Delays{Backup: -time.Hour}))
}

// TestNetworkOfADatabase looks for the subnet and the firewall that come with a
// database.
func TestNetworkOfADatabase(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx, pg := t.Context(), client.Postgres
		db := createDatabase(t, pg, "db")
		named := must(pg.Create(ctx, here, "named", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, PrivateSubnetName: "db-net"}))
		subnet := must(client.PrivateSubnets.Get(ctx, here, db.ID+"-subnet"))
		firewall := must(client.Firewalls.Get(ctx, here, db.ID+"-firewall"))
		if len(subnet.Firewalls) != 1 || subnet.Firewalls[0].ID != firewall.ID || len(firewall.FirewallRules) != 4 {
			t.Errorf("subnet %+v with firewall %+v", subnet, firewall)
		}
		if err := client.PrivateSubnets.Delete(ctx, here, subnet.ID); !errors.Is(err, cloudapi.ErrConflict) {
			t.Errorf("a subnet with a database: %v, want %v", err, cloudapi.ErrConflict)
		}
		must(client.Firewalls.CreateRule(ctx, here, firewall.ID, &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "22"}))
		must(client.Firewalls.CreateRule(ctx, here, firewall.ID, &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "5432"}))
		if rules := must(pg.ListFirewallRules(ctx, here, "db", nil)).Items; len(rules) != 5 {
			t.Errorf("%d rules, want 5 without that for port 22", len(rules))
		}
		if err := client.Firewalls.Delete(ctx, here, named.ID+"-firewall"); err != nil {
			t.Fatal(err)
		}
		_, err := pg.ListFirewallRules(ctx, here, "named", nil)
		refused(t, err, "PostgreSQL firewall was deleted")
		for _, name := range []string{"db", "named"} {
			if err := pg.Delete(ctx, here, name); err != nil {
				t.Fatal(err)
			}
			if err := pg.WaitDeleted(ctx, here, name, nil); err != nil {
				t.Fatal(err)
			}
		}
		subnets, firewalls := must(client.PrivateSubnets.List(ctx, nil)).Items, must(client.Firewalls.List(ctx, nil)).Items
		if len(subnets) != 1 || subnets[0].Name != "db-net" || len(firewalls) != 0 {
			t.Errorf("left are the subnets %+v and the firewalls %+v, want db-net", subnets, firewalls)
		}
	}, cloudapitest.WithAPI(cloudapitest.Service))
}
