package families_test

//lint:file-ignore SA1019 an older service has only Promote

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// inPostgresBubble runs a test in a bubble, with a client of a new server.
func inPostgresBubble(t *testing.T, test func(*testing.T, *cloudapitest.Server, *cloudapi.PostgresService), opts ...cloudapitest.Option) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) { test(t, srv, client.Postgres) }, opts...)
}

func createDatabase(t *testing.T, pg *cloudapi.PostgresService, name string) *cloudapi.Postgres {
	t.Helper()
	request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}
	return must(pg.Create(t.Context(), here, name, request))
}

func TestPostgresLifecycle(t *testing.T) {
	delays := cloudapitest.Delays{Create: time.Minute, Backup: time.Hour, Delete: time.Minute}
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx, start := t.Context(), time.Now()
		get := func() *cloudapi.Postgres { return must(pg.Get(ctx, here, "db")) }

		created := createDatabase(t, pg, "db")
		if p := get(); !reflect.DeepEqual(p, created) || p.State != "creating" || p.StorageSizeGiB != 0 || p.CACertificates != "" {
			t.Errorf("new: %+v, created as %+v", p, created)
		}
		_, err := pg.CACertificates(ctx, here, "db")
		refused(t, err, "ResourceNotFound")

		if _, err := pg.WaitRunning(ctx, here, "db", nil); err != nil || time.Since(start) < time.Minute {
			t.Fatalf("running after %v: %v", time.Since(start), err)
		}
		p := get()
		if p.State != "running" || p.StorageSizeGiB != 64 || !p.EarliestRestoreTime.IsZero() ||
			!p.LatestRestoreTime.Equal(time.Now().Truncate(time.Second)) {
			t.Errorf("running: %+v", p)
		}
		bundle := must(pg.CACertificates(ctx, here, "db"))
		if !x509.NewCertPool().AppendCertsFromPEM(bundle.Content) || string(bundle.Content) != p.CACertificates ||
			bundle.Name != "db.pem" {
			t.Errorf("certificates in %s:\n%s\nrecord:\n%s", bundle.Name, bundle.Content, p.CACertificates)
		}

		stub.Elapse(time.Hour)
		backup := start.Add(time.Minute + time.Hour)
		if p := get(); !p.EarliestRestoreTime.Equal(backup.Add(5 * time.Minute)) {
			t.Errorf("can be restored from %v, want five minutes after %v", p.EarliestRestoreTime, backup)
		}

		if err := pg.Delete(ctx, here, "db"); err != nil {
			t.Fatal(err)
		}
		if p := get(); p.State != "deleting" {
			t.Errorf("deleted: %s", p.State)
		}
		_, err = pg.Create(ctx, here, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
		refused(t, err, "project_id and location_id and name is already taken")
		if err := pg.WaitDeleted(ctx, here, "db", nil); err != nil {
			t.Error(err)
		}
		createDatabase(t, pg, "db")
	}, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithDelays(delays))
}

func TestPostgresIsNotCached(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		createDatabase(t, pg, "db")
		for path, want := range map[string]string{"": "", "/db": "no-store", "/db/config": ""} {
			path = srv.URL() + "/project/" + srv.ProjectID() + "/location/" + here + "/postgres" + path
			req := must(http.NewRequestWithContext(t.Context(), "GET", path, nil))
			req.Header.Set("Authorization", "Bearer "+srv.Token())
			resp := must(srv.HTTPClient().Do(req))
			resp.Body.Close()
			if got := resp.Header.Get("Cache-Control"); got != want || resp.StatusCode != 200 {
				t.Errorf("%s: %d, Cache-Control %q, want %q", path, resp.StatusCode, got, want)
			}
		}
	})
}

func TestPostgresShowsTheStateThatTheTestSets(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx, p := t.Context(), createDatabase(t, pg, "db")
		for _, tt := range []struct{ set, want string }{{"unavailable", "unavailable"}, {"", "running"}} {
			stub.Elapse(time.Hour)
			srv.SetState(p.ID, tt.set)
			if p := must(pg.Get(ctx, here, "db")); p.State != tt.want {
				t.Errorf("%s after setting %q, want %s", p.State, tt.set, tt.want)
			}
		}
	})
}

func TestPostgresIsResizedInTime(t *testing.T) {
	delays := cloudapitest.Delays{Create: time.Hour, Resize: 10 * time.Minute}
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		stub.Elapse(time.Hour) // it is 1 o'clock
		replica := must(pg.CreateReadReplica(ctx, here, "db", "copy", nil))
		update := func(size string, storage int) {
			must(pg.Update(ctx, here, "db", &cloudapi.PostgresUpdateRequest{Size: size, StorageSize: storage}))
		}
		setWindow := func(hour int) {
			must(pg.SetMaintenanceWindow(ctx, here, "db", &hour))
		}
		check := func(when, ref, vm string, storage int, target string) {
			t.Helper()
			p := must(pg.Get(ctx, here, ref))
			if p.VMSize != vm || p.StorageSizeGiB != storage || p.TargetVMSize != target {
				t.Errorf("%s: %s is %s with %d GiB, to be %s, want %s with %d GiB, to be %s",
					when, ref, p.VMSize, p.StorageSizeGiB, p.TargetVMSize, vm, storage, target)
			}
		}

		update("standard-4", 128)
		update("standard-4", 0) // changes nothing
		check("at once", "db", "standard-2", 64, "standard-4")
		check("at once", replica.ID, "standard-2", 0, "standard-4")
		stub.Elapse(10*time.Minute - 1)
		check("before the delay", "db", "standard-2", 64, "standard-4")
		stub.Elapse(time.Nanosecond)
		check("after the delay", "db", "standard-4", 128, "standard-4")
		stub.Elapse(time.Hour)
		check("when it was created", replica.ID, "standard-4", 128, "standard-4")

		setWindow(20)
		update("standard-8", 256)
		stub.Elapse(17 * time.Hour) // 19:10
		check("before the window", "db", "standard-4", 128, "standard-8")
		setWindow(21)
		stub.Elapse(50 * time.Minute)
		check("before the new window", "db", "standard-4", 128, "standard-8")
		stub.Elapse(time.Hour)
		check("in the window", "db", "standard-8", 256, "standard-8")
		setWindow(0)
		check("after the window was moved", "db", "standard-8", 256, "standard-8")

		stub.Elapse(6 * time.Hour) // until 3 o'clock
		update("standard-16", 512)
		stub.Elapse(5 * time.Minute)
		update("standard-16", 512) // doesn't postpone it
		stub.Elapse(time.Hour)
		setWindow(2) // today's window has ended, but after the servers became ready
		check("after its window", "db", "standard-8", 256, "standard-16")
	}, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithDelays(delays))
}

// TestResizingAgainDelaysNothing requests the same size twice.
func TestResizingAgainDelaysNothing(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		createDatabase(t, pg, "db")
		stub.Elapse(time.Minute)
		for range 2 {
			must(pg.Update(t.Context(), here, "db", &cloudapi.PostgresUpdateRequest{Size: "standard-4", StorageSize: 128}))
			stub.Elapse(30 * time.Second)
		}
		if p := must(pg.Get(t.Context(), here, "db")); p.VMSize != "standard-4" {
			t.Errorf("after a minute it is %s", p.VMSize)
		}
	}, cloudapitest.WithDelays(cloudapitest.Delays{Resize: time.Minute}))
}

// TestFirstServersDoNotWaitForAWindow sets a window while a database is
// created. It counts the servers by the remaining quota.
func TestFirstServersDoNotWaitForAWindow(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		must(pg.Create(ctx, here, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: "sync"}))
		must(pg.SetMaintenanceWindow(ctx, here, "db", new(12)))
		stub.Elapse(time.Hour)
		_, err := pg.Create(ctx, here, "more", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
		refused(t, err, "currently used vCPU count: 6,")
	}, cloudapitest.WithQuota(cloudapitest.Quota{Postgres: 7}))
}

func TestPostgresDoesNotShrinkWhileItCannotBeAsked(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		p := must(pg.Create(ctx, here, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 256}))
		stub.Elapse(time.Hour)
		smaller := &cloudapi.PostgresUpdateRequest{StorageSize: 64}
		srv.SetState(p.ID, "unavailable")
		_, err := pg.Update(ctx, here, "db", smaller)
		refused(t, err, "Database is not ready for update")
		srv.SetState(p.ID, "")
		must(pg.Update(ctx, here, "db", smaller))
		p = must(pg.WaitResized(ctx, here, "db", nil))
		if p.StorageSizeGiB != 64 {
			t.Errorf("%d GiB, want 64", p.StorageSizeGiB)
		}
	})
}

func TestReadReplicaIsPromoted(t *testing.T) {
	delays := cloudapitest.Delays{Create: time.Minute, Backup: time.Minute, Promote: time.Minute}
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		get := func(ref string) *cloudapi.Postgres { return must(pg.Get(ctx, here, ref)) }
		replicas := func() (names []string) {
			for _, r := range get("db").ReadReplicas {
				names = append(names, r.Name)
			}
			return names
		}

		createDatabase(t, pg, "db")
		_, err := pg.CreateReadReplica(ctx, here, "db", "copy", nil)
		refused(t, err, "There are no backups, yet.")
		_, err = pg.Promote(ctx, here, "db")
		refused(t, err, "Non read replica servers cannot be promoted.")
		stub.Elapse(2 * time.Minute)

		created := must(pg.CreateReadReplica(ctx, here, "db", "copy", nil))
		if created.State != "creating" || !created.ReadReplica || created.Parent != "/location/eu-central-h1/postgres/db" ||
			!created.LatestRestoreTime.IsZero() {
			t.Errorf("replica: %+v", created)
		}
		must(pg.CreateReadReplica(ctx, here, "copy", "copy-of-copy", nil))
		if got := replicas(); !slices.Equal(got, []string{"copy"}) {
			t.Errorf("the replicas are %q", got)
		}
		must(pg.Rename(ctx, here, "db", "db2"))
		if p := get("copy"); p.Parent != "/location/eu-central-h1/postgres/db2" {
			t.Errorf("the renamed parent is %s", p.Parent)
		}
		must(pg.Rename(ctx, here, "db2", "db"))

		stub.Elapse(time.Minute) // it runs
		for range 2 {            // asking again doesn't postpone it
			must(pg.Promote(ctx, here, "copy"))
			stub.Elapse(30 * time.Second)
		}
		p := get("copy")
		if p.ReadReplica || p.Parent != "" || !p.LatestRestoreTime.Equal(time.Now().Truncate(time.Second)) || p.State != "running" {
			t.Errorf("promoted: %+v", p)
		}
		if got := replicas(); got != nil {
			t.Errorf("the replicas are %q after the promotion", got)
		}
		_, err = pg.Promote(ctx, here, "copy")
		refused(t, err, "Non read replica servers cannot be promoted.")
	}, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithDelays(delays))
}

func TestCopiesOutliveTheirParent(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		get := func(ref string) *cloudapi.Postgres { return must(pg.Get(ctx, here, ref)) }
		parent := createDatabase(t, pg, "db")
		stub.Elapse(time.Hour)
		target := &cloudapi.PostgresRestoreRequest{Name: "restored", RestoreTarget: time.Now().Add(-time.Minute)}
		restored := must(pg.Restore(ctx, here, "db", target))
		if restored.ReadReplica || restored.Parent == "" || !restored.LatestRestoreTime.IsZero() ||
			restored.ConnectionString.Reveal() == parent.ConnectionString.Reveal() {
			t.Errorf("restored: %+v", restored)
		}
		must(pg.CreateReadReplica(ctx, here, "db", "copy", nil))
		stub.Elapse(time.Hour)
		if p := get("restored"); p.Parent == "" || p.LatestRestoreTime.IsZero() || p.EarliestRestoreTime.Before(target.RestoreTarget) {
			t.Errorf("running: %+v", p)
		}

		if err := pg.Delete(ctx, here, "db"); err != nil {
			t.Fatal(err)
		}
		if p := get("copy"); p.Parent == "" {
			t.Errorf("while the parent is deleted: %+v", p)
		}
		stub.Elapse(time.Hour)
		if p := get("copy"); p.Parent != "" || !p.ReadReplica || p.State != "running" {
			t.Errorf("replica without parent: %+v", p)
		}
		if p := get("restored"); p.Parent != "" || p.ReadReplica {
			t.Errorf("copy without parent: %+v", p)
		}
		must(pg.Promote(ctx, here, "copy"))
		if _, err := pg.WaitPromoted(ctx, here, "copy", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestRestoreTargets(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		createDatabase(t, pg, "db")
		stub.Elapse(time.Hour) // it is 2000-01-01 01:00; the earliest time is 00:05:06
		path := "/project/" + srv.ProjectID() + "/location/" + here + "/postgres/db/restore"
		for i, tt := range []struct {
			target string
			want   string // "" if it is right
		}{
			{"2000-01-01T00:30:00Z", ""},
			{"2000-01-01 00:30:00", ""},
			{"2000-01-01 01:30:00+01", ""},
			{"2000-01-01 00:30 UTC", ""},
			{"2000-01-01T00:05:06Z", ""},
			{"2000-01-01T01:00:00Z", ""},
			{"2000-01-01T00:05:05Z", "must be between 2000-01-01 00:05:06 +0000 and 2000-01-01 01:00:00 +0000"},
			{"2000-01-01T01:00:01Z", "must be between"},
			{"2000-13-01", "is not a valid date"},
			{" ", "empty string provided for parameter restore_target"},
		} {
			status, body := stub.Do(t, srv, "POST", path, fmt.Sprintf(`{"name":"r-%d","restore_target":%q}`, i, tt.target))
			if (status == 200) != (tt.want == "") || !strings.Contains(body, tt.want) {
				t.Errorf("%q: %d %s, want %q", tt.target, status, body, tt.want)
			}
		}
	}, cloudapitest.WithAPI(cloudapitest.Contract))
}

func TestPostgresPassword(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx, before := t.Context(), createDatabase(t, pg, "db").ConnectionString.Reveal()
		stub.Elapse(time.Hour)
		for password, want := range map[string]string{
			"Sh0rt-passw":    "12 characters minimum",
			"NO-LOWERCASE-1": "one lowercase letter",
			"no-uppercase-1": "one uppercase letter",
			"Not-any-digit":  "one digit",
		} {
			_, err := pg.ResetSuperuserPassword(ctx, here, "db", cloudapi.NewSecret(password))
			refused(t, err, want)
		}
		if got := must(pg.Get(ctx, here, "db")).ConnectionString.Reveal(); got != before {
			t.Errorf("%s, want it unchanged: %s", got, before)
		}
		p := must(pg.ResetSuperuserPassword(ctx, here, "db", cloudapi.NewSecret("Right/passw0rd")))
		if got := p.ConnectionString.Reveal(); !strings.HasPrefix(got, "postgres://postgres:Right%2Fpassw0rd@db."+p.ID+".") {
			t.Errorf("connection string %s", got)
		}
	})
}

func TestPostgresQuotaCountsTheServersThatAreThere(t *testing.T) {
	quota := cloudapitest.DefaultQuota()
	quota.Postgres = 12
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: "sync"}
		_, err := pg.Create(ctx, here, "a", request) // 2 until it runs
		if err != nil {
			t.Fatal(err)
		}
		_, err = pg.Create(ctx, here, "big", &cloudapi.PostgresCreateRequest{Size: "standard-4", StorageSize: 128, HAType: "sync"})
		refused(t, err, "Requested vCPU count: 12, currently used vCPU count: 2, maximum allowed vCPU count: 12, remaining vCPU count: 10")
		stub.Elapse(time.Hour)
		must(pg.CreateReadReplica(ctx, here, "a", "b", nil))
		_, err = pg.Update(ctx, here, "a", &cloudapi.PostgresUpdateRequest{Size: "standard-4", StorageSize: 128})
		refused(t, err, "Requested vCPU count: 6, currently used vCPU count: 8")
		_, err = pg.Create(ctx, here, "c", request)
		refused(t, err, "Requested vCPU count: 6, currently used vCPU count: 8")

		if err := pg.Delete(ctx, here, "a"); err != nil {
			t.Fatal(err)
		}
		_, err = pg.Create(ctx, here, "c", request)
		refused(t, err, "currently used vCPU count: 8")
		stub.Elapse(time.Hour)
		if _, err = pg.Create(ctx, here, "c", request); err != nil {
			t.Error(err)
		}
	}, cloudapitest.WithQuota(quota))
}

func TestPostgresInAPrivateLocation(t *testing.T) {
	const token = "pat-another"
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createPlace(t, srv.Client(), "mine", "us-east-1")
		createPlace(t, srv.Client(cloudapi.WithToken(token), cloudapi.WithProject(srv.OtherProjectID())), "theirs", "us-east-1")
		for _, tt := range []struct {
			location, size string
			storage        int
			flavor         string
			want           string
		}{
			{"mine", "m6id.large", 118, "", ""},
			{"mine", "m6id.16xlarge", 3800, "standard", ""},
			{"mine", "m6id.large", 119, "", "Invalid storage size. Available options: 118"},
			{"mine", "standard-2", 64, "", "Invalid size."},
			{"mine", "m6id.large", 118, "paradedb", "Invalid location. Available options: eu-central-h1, us-east-a2"},
			{here, "m6id.large", 118, "", "Invalid size."},
			{"eu-north-h1", "standard-2", 64, "", "Invalid location. Available options: eu-central-h1, us-east-a2, mine"},
			{"theirs", "m6id.large", 118, "", "InvalidLocation"},
		} {
			name := fmt.Sprintf("db-%d", len(srv.Requests()))
			request := &cloudapi.PostgresCreateRequest{Size: tt.size, StorageSize: tt.storage, Flavor: tt.flavor}
			p, err := pg.Create(ctx, tt.location, name, request)
			switch {
			case tt.want != "":
				refused(t, err, tt.want)
			case err != nil:
				t.Error(err)
			case p.State != "creating" || p.StorageSizeGiB != tt.storage:
				t.Errorf("%s in %s: %+v", tt.size, tt.location, p)
			}
		}
	}, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithTokenAccess(token, cloudapitest.AccessForeign))
}

func TestPostgresWithoutPermission(t *testing.T) {
	t.Parallel()
	token := "pat-another"
	srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithTokenAccess(token, cloudapitest.AccessNone))
	createDatabase(t, srv.Client().Postgres, "db")
	pg := srv.Client(cloudapi.WithToken(token)).Postgres
	_, err := pg.Get(t.Context(), here, "db")
	refused(t, err, "Forbidden")
	rule := cloudapitest.NewID(cloudapi.KindPostgresFirewallRule).String() // of none
	refused(t, pg.DeleteFirewallRule(t.Context(), here, "db", rule), "Forbidden")
	if page := must(pg.List(t.Context(), nil)); len(page.Items) > 0 {
		t.Errorf("%v are listed", page.Items)
	}
}

func TestPostgresKeepsItsProject(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	p := createDatabase(t, srv.Client().Postgres, "db")
	err := srv.Client().Projects.Delete(t.Context(), srv.ProjectID())
	refused(t, err, "DependencyError")
	status, body := stub.Do(t, srv, "GET", "/project/"+srv.ProjectID()+"/object-info/"+p.ID, "")
	if want := `{"type":"postgres resource","location":"eu-central-h1","name":"db"}`; status != 200 || body != want {
		t.Errorf("%d %s, want %s", status, body, want)
	}
}

func TestPostgresFirewallRules(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		rules := func() (cidrs []string) {
			for r, err := range pg.AllFirewallRules(ctx, here, "db", nil) {
				cidrs = append(cidrs, must(r, err).CIDR)
			}
			return cidrs
		}
		add := func(cidr string) (*cloudapi.PostgresFirewallRule, error) {
			return pg.CreateFirewallRule(ctx, here, "db", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: cidr})
		}
		added := must(add("2001:db8::1/48"))
		must(add("10.9.9.9/8"))
		_, err := add("10.0.0.0/8")
		refused(t, err, "postgres_resource_id and cidr is already taken")
		if got, want := rules(), []string{"0.0.0.0/0", "10.0.0.0/8", "::/0", "2001:db8::/48"}; !slices.Equal(got, want) {
			t.Errorf("rules %q, want %q", got, want)
		}
		for cidr, want := range map[string]string{"2001:db8::2/48": "", "10.0.0.0/8": "is already taken"} { // its own, another's
			request := &cloudapi.PostgresFirewallRuleUpdateRequest{CIDR: cloudapi.Value(cidr)}
			_, err := pg.UpdateFirewallRule(ctx, here, "db", added.ID, request)
			if want != "" {
				refused(t, err, want)
			} else if err != nil {
				t.Errorf("its own CIDR: %v", err)
			}
		}
		for range 2 {
			if err := pg.DeleteFirewallRule(ctx, here, "db", added.ID); err != nil {
				t.Error(err)
			}
		}
		if got := rules(); len(got) != 3 {
			t.Errorf("rules %q after a deletion", got)
		}
		refused(t, pg.DeleteFirewallRule(ctx, here, "nothing", added.ID), "ResourceNotFound")

		closed := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, RestrictByDefault: new(true)}
		if p := must(pg.Create(ctx, here, "closed", closed)); len(p.FirewallRules) != 0 {
			t.Errorf("restricted, but with %v", p.FirewallRules)
		}
	}, cloudapitest.WithAPI(cloudapitest.Contract))
}

func TestMetricDestinations(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		add := func(url string) (*cloudapi.Postgres, error) {
			return pg.CreateMetricDestination(ctx, here, "db", &cloudapi.PostgresMetricDestinationCreateRequest{
				URL: url, Username: "u", Password: cloudapi.NewSecret("p")})
		}
		must(add("https://a.example"))
		p := must(add("https://a.example")) // the server accepts it a second time
		if d := p.MetricDestinations; len(d) != 2 || d[0].ID == d[1].ID || d[1].URL != "https://a.example" || d[1].Username != "u" {
			t.Fatalf("destinations %+v", d)
		}
		for range 2 {
			if err := pg.DeleteMetricDestination(ctx, here, "db", p.MetricDestinations[0].ID); err != nil {
				t.Error(err)
			}
		}
		if d := must(pg.Get(ctx, here, "db")).MetricDestinations; !reflect.DeepEqual(d, p.MetricDestinations[1:]) {
			t.Errorf("destinations %+v after a deletion", d)
		}
		for url, want := range map[string]string{
			"https://": "Invalid URL", "a.example": "Invalid URL scheme", "https://a b": "Invalid URL",
		} {
			_, err := add(url)
			refused(t, err, want)
		}
	})
}

func TestMetricsOfARange(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx, now := t.Context(), time.Now()
		createDatabase(t, pg, "db")
		get := func(before time.Duration, key string) []cloudapi.ResourceMetric {
			t.Helper()
			opts := &cloudapi.ResourceMetricsOptions{Start: now.Add(-before), End: now, Key: key}
			return must(pg.Metrics(ctx, here, "db", opts)).Metrics
		}
		for _, tt := range []struct {
			before, step time.Duration
			samples      int
		}{
			{0, 15 * time.Second, 1},
			{30 * time.Minute, 15 * time.Second, 121},
			{2 * time.Hour, 15 * time.Second, 481},
			{3 * time.Hour, 30 * time.Second, 361},
			{31 * 24 * time.Hour, 93 * time.Minute, 481},
		} {
			values := get(tt.before, cloudapi.PostgresMetricDiskIO)[0].Series[1].Values
			if len(values) != tt.samples || len(values) > 1 && values[1].Time.Sub(values[0].Time) != tt.step {
				t.Errorf("%v: %d samples, want %d every %v", tt.before, len(values), tt.samples, tt.step)
			}
		}
		const month = 31 * 24 * time.Hour
		for span, want := range map[time.Duration]string{
			month + 5*time.Minute:               "Cannot query metrics older than 31 days", // the span is right
			month + 5*time.Minute + time.Second: "Maximum time range is 31 days",
			-time.Second:                        "End timestamp must be greater than start timestamp",
		} {
			_, err := pg.Metrics(ctx, here, "db", &cloudapi.ResourceMetricsOptions{Start: now.Add(-span), End: now})
			refused(t, err, want)
		}
		if a, b := get(time.Hour, ""), get(time.Hour, ""); !reflect.DeepEqual(a, b) {
			t.Error("the same question has two answers")
		}

		var keys []string
		for _, m := range get(time.Hour, "") {
			keys = append(keys, m.Key)
		}
		want := []string{
			cloudapi.PostgresMetricCPUUsage, cloudapi.PostgresMetricLoadAverage, cloudapi.PostgresMetricMemoryUsage,
			cloudapi.PostgresMetricDiskUsage, cloudapi.PostgresMetricDiskIO, cloudapi.PostgresMetricNetworkTraffic,
			cloudapi.PostgresMetricConnectionCount, cloudapi.PostgresMetricCacheHitRatio,
			cloudapi.PostgresMetricOperationThroughput, cloudapi.PostgresMetricDeadlocks,
			cloudapi.PostgresMetricDatabaseSize, cloudapi.PostgresMetricTransactions,
		}
		if !slices.Equal(keys, want) {
			t.Errorf("metrics %q, want %q", keys, want)
		}
	})
}

func TestConfigurations(t *testing.T) {
	inPostgresBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		update := func(request *cloudapi.PostgresConfigUpdateRequest) *cloudapi.PostgresConfig {
			return must(pg.UpdateConfig(ctx, here, "db", request))
		}
		update(&cloudapi.PostgresConfigUpdateRequest{PGConfig: map[string]cloudapi.Opt[string]{
			"work_mem": cloudapi.Value("8MB"), "my.setting": cloudapi.Value("x")}})
		update(&cloudapi.PostgresConfigUpdateRequest{
			PGConfig:        map[string]cloudapi.Opt[string]{"work_mem": cloudapi.Null[string]()},
			PgBouncerConfig: map[string]cloudapi.Opt[string]{"pool_mode": cloudapi.Value("session")},
		})
		got := must(pg.GetConfig(ctx, here, "db"))
		want := &cloudapi.PostgresConfig{
			PGConfig:        map[string]cloudapi.PostgresSetting{"my.setting": cloudapi.Setting("x")},
			PgBouncerConfig: map[string]cloudapi.PostgresSetting{"pool_mode": cloudapi.Setting("session")},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("configuration %v, want %v", got, want)
		}
		wrong := &cloudapi.PostgresConfig{
			PGConfig:        map[string]cloudapi.PostgresSetting{"work_mem": cloudapi.Setting("8")},
			PgBouncerConfig: map[string]cloudapi.PostgresSetting{"work_mem": cloudapi.Setting("8")},
		}
		_, err := pg.ReplaceConfig(ctx, here, "db", wrong)
		refused(t, err, "pgbouncer_config.work_mem")
		if kept := must(pg.GetConfig(ctx, here, "db")); !reflect.DeepEqual(kept, want) {
			t.Errorf("configuration %v after a refusal, want %v", kept, want)
		}
	}, cloudapitest.WithAPI(cloudapitest.Contract))
}

func TestImmediatePostgres(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Backup: -time.Hour}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pg := srv.Client().Postgres
	if p := createDatabase(t, pg, "db"); p.State != "running" {
		t.Errorf("created: %s", p.State)
	}
	target := &cloudapi.PostgresRestoreRequest{Name: "restored", RestoreTarget: time.Now().Add(-50 * time.Minute)}
	if p := must(pg.Restore(ctx, here, "db", target)); p.State != "running" {
		t.Errorf("restored: %s", p.State)
	}
	must(pg.CreateReadReplica(ctx, here, "db", "copy", nil))
	if p := must(pg.Promote(ctx, here, "copy")); p.ReadReplica {
		t.Errorf("promoted: %+v", p)
	}
	must(pg.Update(ctx, here, "db", &cloudapi.PostgresUpdateRequest{HAType: "async"}))
	if err := pg.Delete(ctx, here, "db"); err != nil {
		t.Error(err)
	}
	_, err := pg.Get(ctx, here, "db")
	refused(t, err, "ResourceNotFound")
}
