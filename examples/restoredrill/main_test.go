package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

func TestDrill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stdout, stderr := demotest.Runs(t, run, []string{"eu-central-h1/orders", "true"},
			"the copy is running", "eu-central-h1/orders can be restored", "the copy is gone")
		if n := strings.Count(stdout, " ok "); n != 11 {
			t.Errorf("%d checks succeeded, want 11:\n%s", n, stdout)
		}
		if all := stdout + stderr; strings.Contains(all, "postgres://") || strings.Contains(all, "redacted") {
			t.Errorf("something about the password is printed:\n%s", all)
		}
	})
}

// newDrill returns a drill for a database of a server, which can be restored.
func newDrill(t *testing.T, command ...string) (*cloudapitest.Server, *drill) {
	t.Helper()
	server := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Backup: -time.Hour}))
	client := server.Client()
	return server, &drill{client: client, source: newDatabase(t, client, "eu-central-h1"), command: command, stdout: io.Discard, stderr: io.Discard, start: time.Now()}
}

// newDatabase creates a database that can be restored.
func newDatabase(t *testing.T, client *cloudapi.Client, location string) *cloudapi.Postgres {
	t.Helper()
	request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, RestrictByDefault: new(true)}
	if location == "own" {
		request.Size, request.StorageSize = "m8gd.large", 118
	}
	demotest.Must(client.Postgres.Create(t.Context(), location, "db", request))(t)
	return demotest.Must(client.Postgres.Get(t.Context(), location, "db"))(t)
}

// databases returns the names of the existing databases.
func (d *drill) databases(t *testing.T) string {
	t.Helper()
	names := ""
	for _, db := range demotest.Must(cloudapi.Collect(d.client.Postgres.All(t.Context(), nil)))(t) {
		names += db.Name + " "
	}
	return names
}

const database = "/project/{project_id}/location/{location}/postgres/{postgres_database_reference}"

// TestDeletesTheCopyWhateverFails: if the copy may be left, the error says so.
func TestDeletesTheCopyWhateverFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, command string
		match         cloudapitest.Match
		fault         cloudapitest.Fault
		text          string
		is            error
		left          bool   // whether the error asks to delete the copy
		outage        string // the method of the requests that fail when the copy is to be deleted, for longer than a call retries
	}{
		{name: "content", command: "false", text: "failed 1 of "},
		{name: "command", command: "/no/such/command", text: "failed 1 of "},
		{name: "certificates", command: "true", text: "failed 1 of ",
			match: cloudapitest.Match{Route: database + "/ca-certificates"}, fault: cloudapitest.Reply(404, nil, "{}")},
		{name: "wait", command: "true", is: cloudapi.ErrForbidden,
			match: cloudapitest.Match{Method: http.MethodGet, Route: database}, fault: cloudapitest.Reply(403, nil, "{}")},
		{name: "lost reply, and no look", is: cloudapi.ErrOutcomeUnknown, outage: http.MethodGet,
			match: cloudapitest.Match{Route: database + "/restore"}, fault: cloudapitest.DropAfter()},
		{name: "lost reply, and no deletion", command: "false", text: "failed 1 of ", outage: http.MethodDelete,
			match: cloudapitest.Match{Route: database + "/restore"}, fault: cloudapitest.DropAfter()},
		{name: "refused", command: "true", is: cloudapi.ErrInvalidRequest,
			match: cloudapitest.Match{Route: database + "/restore"}, fault: cloudapitest.Reply(400, nil, "{}")},
		{name: "rules", command: "true", text: "everybody can reach", is: cloudapi.ErrForbidden,
			match: cloudapitest.Match{Method: http.MethodDelete, Route: database + "/firewall-rule/{firewall_rule_id}"}, fault: cloudapitest.Reply(403, nil, "{}").Repeating()},
		{name: "no deletion", text: " pg", left: true,
			match: cloudapitest.Match{Method: http.MethodDelete, Route: database}, fault: cloudapitest.Reply(403, nil, "{}").Repeating()},
		{name: "no reply, and no copy", is: cloudapi.ErrOutcomeUnknown, left: true,
			match: cloudapitest.Match{Route: database + "/restore"}, fault: cloudapitest.DropBefore().Repeating()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, d := newDrill(t, test.command)
				if test.match.Route != "" {
					server.Fail(test.match, test.fault)
				}
				if test.outage != "" {
					first := map[string]int{http.MethodGet: 2}[test.outage] // the drill looks before it restores
					server.Fail(cloudapitest.Match{Method: test.outage, Route: database, Nth: first}, cloudapitest.Reply(500, nil, "{}").For(5*time.Minute))
				}
				err := d.run(t.Context())
				if err == nil || !strings.Contains(err.Error(), test.text) || test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("error %v, want %s %v", err, test.text, test.is)
				}
				if strings.Contains(err.Error(), "delete eu-central-h1/db-drill-") != test.left {
					t.Errorf("asks to delete what is gone, or not what may be left: %v", err)
				}
				if names := d.databases(t); names != "db " && !test.left {
					t.Errorf("there are %s", names)
				}
			})
		})
	}
}

// TestRules: before anything else happens to the copy, it's open only to whom the
// source is open, which may be nobody. It fails the drill if it's open to others
// at the end.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, allowed := range []string{"203.0.113.0/24", ""} {
		for _, opened := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				server, d := newDrill(t, "true")
				server.SetDelays(cloudapi.KindPostgres, "", cloudapitest.Delays{Create: time.Minute, Backup: -time.Hour})
				rules := []cloudapi.PostgresFirewallRuleCreateRequest{}
				for cidr := range strings.FieldsSeq(allowed) {
					rules = append(rules, cloudapi.PostgresFirewallRuleCreateRequest{CIDR: cidr, Description: "office"})
				}
				demotest.Must(d.client.Postgres.SetFirewallRules(t.Context(), d.source.Location, d.source.ID, rules))(t)
				d.source = demotest.Must(d.client.Postgres.Get(t.Context(), d.source.Location, d.source.ID))(t)
				time.AfterFunc(30*time.Second, func() { // while the copy is restored
					copied := demotest.Must(d.client.Postgres.Get(t.Context(), d.source.Location, d.copyID))(t)
					if len(copied.FirewallRules) != 2*len(rules) { // two for each range
						t.Errorf("%q: the copy has %+v", allowed, copied.FirewallRules)
					}
					for _, rule := range copied.FirewallRules {
						if rule.CIDR != allowed || rule.Description != "office" {
							t.Errorf("%q: the copy has %+v", allowed, rule)
						}
					}
					if opened {
						demotest.Must(d.client.Postgres.CreateFirewallRule(t.Context(), d.source.Location, d.copyID, &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "0.0.0.0/0"}))(t)
					}
				})
				if err := d.run(t.Context()); (err != nil) != opened || opened && !strings.Contains(err.Error(), "failed 1 of ") {
					t.Errorf("%q, opened %v: error %v", allowed, opened, err)
				}
			})
		}
	}
}

// TestInterrupted: the program deletes the copy after Ctrl-C.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, d := newDrill(t)
		server.SetDelays(cloudapi.KindPostgres, "", cloudapitest.Delays{Create: time.Hour, Backup: -time.Hour})
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, interrupt)
		if err := d.run(ctx); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "yourself") {
			t.Errorf("error %v", err)
		}
		if names := d.databases(t); names != "db " {
			t.Errorf("there are %s", names)
		}
	})
}

// TestSurvivesALostRequest: a lost request or reply doesn't fail the drill.
func TestSurvivesALostRequest(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]cloudapitest.Fault{"request": cloudapitest.DropBefore(), "reply": cloudapitest.DropAfter()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, d := newDrill(t, "true")
				server.Fail(cloudapitest.Match{Route: database + "/restore"}, fault)
				if err := d.run(t.Context()); err != nil {
					t.Error(err)
				}
				if names := d.databases(t); names != "db " {
					t.Errorf("there are %s", names)
				}
			})
		})
	}
}

// TestDeletesOnlyTheCopy: during the checks, another program renames the copy,
// and creates a database with its name. Or it renames the private location, in
// which the copy is then not found.
func TestDeletesOnlyTheCopy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, location string
		do             func(ctx context.Context, client *cloudapi.Client, copied string) error
		left           string // in the error
		databases      int
	}{
		{"replaced", "eu-central-h1", func(ctx context.Context, client *cloudapi.Client, copied string) error {
			_, err := client.Postgres.Rename(ctx, "eu-central-h1", copied, "renamed")
			if err == nil {
				_, err = client.Postgres.Create(ctx, "eu-central-h1", copied, &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
			}
			return err
		}, "", 2},
		{"location renamed", "own", func(ctx context.Context, client *cloudapi.Client, _ string) error {
			_, err := client.PrivateLocations.Rename(ctx, "own", "new")
			return err
		}, "delete own/db-drill-", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, d := newDrill(t, "true")
				if test.location == "own" {
					demotest.Must(d.client.PrivateLocations.Create(t.Context(), "own", &cloudapi.PrivateLocationCreateRequest{
						ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSEast1, AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s")}))(t)
					if err := d.client.Postgres.Delete(t.Context(), "eu-central-h1", "db"); err != nil {
						t.Fatal(err)
					}
					d.source = newDatabase(t, d.client, "own")
				}
				copied := "" // its name
				server.Fail(cloudapitest.Match{Route: database + "/ca-certificates"}, cloudapitest.Handle(func(w http.ResponseWriter, r *http.Request) {
					for _, name := range strings.Fields(d.databases(t)) {
						if strings.HasPrefix(name, "db-drill-") {
							copied = name
						}
					}
					if err := test.do(t.Context(), d.client, copied); err != nil {
						t.Error(err)
					}
					w.WriteHeader(403)
				}))
				err := d.run(t.Context())
				if err == nil || !strings.Contains(err.Error(), "failed 1 of ") || strings.Contains(err.Error(), "delete ") != (test.left != "") || !strings.Contains(err.Error(), test.left) {
					t.Errorf("error %v, want a failed check, and %q", err, test.left)
				}
				if names := strings.Fields(d.databases(t)); len(names) != test.databases || !slices.Contains(names, copied) {
					t.Errorf("there are %s, want %s among them", names, copied)
				}
			})
		})
	}
}

// TestFirstBackup: right after the first backup the earliest time to restore to
// is in the future.
func TestFirstBackup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, d := newDrill(t)
		d.source.EarliestRestoreTime = d.source.LatestRestoreTime.Add(5 * time.Minute)
		if err := d.run(t.Context()); err == nil || !strings.Contains(err.Error(), "can't be restored before ") {
			t.Errorf("error %v", err)
		}
	})
}

// TestRefuses: bad arguments cost nothing, and some databases can't be restored.
func TestRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		demotest.Refuses(t, run, "name a database")
		demotest.Refuses(t, run, "must not be empty", "")
		demotest.Refuses(t, run, `the command ""`, "eu-central-h1/orders", "")
		demotest.Refuses(t, run, `the command "no-such-"`, "eu-central-h1/orders", "no-such-", "x")
		demotest.Refuses(t, run, "can't be restored", "eu-central-h1/orders-reports")
		demotest.Refuses(t, run, "not found", "eu-central-h1/payments")
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()
	source := cloudapi.Postgres{Name: "db", Location: "l", State: "running", Version: "17", Flavor: "standard", VMSize: "standard-2", StorageSizeGiB: 64, Primary: true,
		ConnectionString: cloudapi.NewSecret("postgres://postgres:secret@one.example.com:5432/postgres")}
	good := source
	good.Parent = "/location/l/postgres/db"
	good.ConnectionString = cloudapi.NewSecret("postgres://postgres:secret@two.example.com:5432/postgres")
	for what, spoil := range map[string]func(*cloudapi.Postgres){
		"":             func(*cloudapi.Postgres) {},
		"state":        func(db *cloudapi.Postgres) { db.State = "unavailable" },
		"version":      func(db *cloudapi.Postgres) { db.Version = "16" },
		"flavor":       func(db *cloudapi.Postgres) { db.Flavor = "lantern" },
		"size":         func(db *cloudapi.Postgres) { db.VMSize = "standard-4" },
		"storage":      func(db *cloudapi.Postgres) { db.StorageSizeGiB = 32 },
		"takes writes": func(db *cloudapi.Postgres) { db.Primary = false },
		"made from":    func(db *cloudapi.Postgres) { db.Parent = "" },
		"open to": func(db *cloudapi.Postgres) {
			db.FirewallRules = append(db.FirewallRules, cloudapi.PostgresFirewallRule{CIDR: "::/0"})
		},
		"address":  func(db *cloudapi.Postgres) { db.ConnectionString = source.ConnectionString },
		"address ": func(db *cloudapi.Postgres) { db.ConnectionString = cloudapi.Secret{} },
		"address  ": func(db *cloudapi.Postgres) {
			db.ConnectionString = cloudapi.NewSecret("postgres://postgres:other@two.example.com:5432/postgres")
		},
	} {
		copied := good
		spoil(&copied)
		failed := ""
		for _, r := range compare(&source, &copied) {
			if !r.ok {
				failed += r.what
			}
			if strings.Contains(r.source+r.copied, "secret") {
				t.Errorf("%s shows the password", r.what)
			}
		}
		if failed != strings.TrimSpace(what) {
			t.Errorf("%q fails, want %q", failed, what)
		}
	}
}
