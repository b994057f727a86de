package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

func TestSample(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stdout, _ := demotest.Runs(t, run, nil, "VM blog-1 is creating\n", "VM blog-1 is running\n", "database blog is running\n")
		if n := strings.Count(stdout, " created "); n != 6 {
			t.Errorf("%d things were created, want 6:\n%s", n, stdout)
		}
	})
}

// provision creates an environment, and returns the result in each row of the
// summary.
func provision(t *testing.T, client *cloudapi.Client, env *environment, update bool) (string, error) {
	t.Helper()
	if err := env.check(); err != nil {
		t.Fatal(err)
	}
	p := &provisioner{client: client, env: env, update: update, stderr: io.Discard}
	err := errors.Join(p.run(t.Context()), p.report.drift())
	return results(&p.report), err
}

// planning plans an environment.
func planning(t *testing.T, client *cloudapi.Client, env *environment, update bool) *provisioner {
	t.Helper()
	p := &provisioner{plan: cloudapi.NewPlan(client), env: env, update: update}
	p.client = p.plan.Client()
	if err := p.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.reportPlan()
	return p
}

func results(r *report) string {
	text := ""
	for _, of := range inOrder(r.rows) {
		text += of.name + " " + r.rows[of].result + "; "
	}
	return text
}

// table returns the summary with single spaces.
func table(p *provisioner) string {
	var text strings.Builder
	p.report.write(&text)
	return strings.Join(strings.Fields(text.String()), " ")
}

// TestNamesHalfSetVariables: the error isn't about the file.
func TestNamesHalfSetVariables(t *testing.T) {
	t.Setenv(cloudapi.EnvToken, "pat-test")
	demotest.Refuses(t, run, "set CLOUDAPI_PROJECT for")
}

func TestDrift(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*environment)
		want   string // of the error without --update
		update string // what --update does
	}{
		{"key", func(env *environment) { env.SSHKeys[0].PublicKey += "-changed" }, "--update changes that", "deploy changed"},
		{"rule", func(env *environment) { env.Firewalls[0].Rules = env.Firewalls[0].Rules[1:] }, "has unwanted 80 from 0.0.0.0/0: --update changes that", "blog-web changed"},
		{"new rule", func(env *environment) {
			env.Firewalls[0].Rules = append(env.Firewalls[0].Rules, rule{"2001:db8::/32", ""})
		}, "lacks 0..65535 from 2001:db8::/32: --update changes that", "blog-web changed"},
		{"database size", func(env *environment) { env.Databases[0].Size, env.Databases[0].Storage = "standard-4", 128 }, "--update changes that", "blog changed"},
		{"database access", func(env *environment) { env.Databases[0].Allow = []string{"192.0.2.0/24"} }, "lacks 192.0.2.0/24 and has unwanted 198.51.100.7/32, 203.0.113.0/24", "blog changed"},
		{"VM", func(env *environment) { env.VMs[0].Size = "standard-4" }, "(which no update can change): change the file", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := cloudapitest.New(t).Client()
				env := demotest.Must(load(""))(t)
				demotest.Must(provision(t, client, env, false))(t)
				test.change(env)
				if test.want != "" {
					if _, err := provision(t, client, env, false); err == nil || !strings.Contains(err.Error(), test.want) {
						t.Errorf("error %v, want %q", err, test.want)
					}
				}
				results, err := provision(t, client, env, true)
				if test.update == "" {
					if drift := (*cloudapi.DriftError)(nil); !errors.As(err, &drift) {
						t.Errorf("with --update %s, error %v", results, err)
					}
					return
				}
				if err != nil || strings.Count(results, "changed") != 1 || !strings.Contains(results, test.update) {
					t.Errorf("with --update %s, error %v, want %s", results, err, test.update)
				}
				if results, err := provision(t, client, env, false); err != nil || strings.Count(results, "was there") != 6 {
					t.Errorf("afterwards %s, error %v", results, err)
				}
			})
		})
	}
}

// TestOpen: a subnet and a database of the file exist, but everybody can reach
// them. A plan shows that, nothing is put into the subnet, and --update closes
// both.
func TestOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, ctx := cloudapitest.New(t).Client(), t.Context()
		env := demotest.Must(load(""))(t)
		demotest.Must(client.PrivateSubnets.Create(ctx, env.Location, "blog", nil))(t)
		demotest.Must(client.Postgres.Create(ctx, env.Location, "blog", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, Version: "17", HAType: "async"}))(t)
		p := planning(t, client, env, true)
		plan := table(p)
		for _, want := range []string{"firewall_id [blog-default] -> blog-web", "restrict_by_default [0.0.0.0/0 ::/0] -> true; + from 203.0.113.0/24; + from 198.51.100.7/32",
			"+ 22 from 203.0.113.0/24"} {
			if !strings.Contains(plan, want) {
				t.Errorf("no %q in the plan\n%s", want, plan)
			}
		}
		if results, err := provision(t, client, env, false); results != "deploy created; blog-web created; blog differs; " || err == nil {
			t.Errorf("without --update %s, %v", results, err)
		}
		if results, err := provision(t, client, env, true); results != "deploy was there; blog-web was there; blog changed; blog-1 created; blog-2 created; blog changed; " || err != nil {
			t.Errorf("with --update %s, %v", results, err)
		}
		subnet, err := client.PrivateSubnets.Get(ctx, env.Location, "blog")
		if err != nil || len(subnet.Firewalls) != 1 || subnet.Firewalls[0].Name != "blog-web" {
			t.Errorf("the subnet is %+v, %v", subnet, err)
		}
		if results, err := provision(t, client, env, false); strings.Count(results, "was there") != 6 || err != nil {
			t.Errorf("afterwards %s, %v", results, err)
		}
		env.Databases[0].Allow = []string{"0.0.0.0/0"} // what the file allows isn't a difference
		for _, want := range []string{"changed", "was there"} {
			if results, err := provision(t, client, env, true); !strings.HasSuffix(results, "blog "+want+"; ") || err != nil {
				t.Errorf("open to everybody: %s, %v", results, err)
			}
		}
	})
}

// TestPlan: a plan changes nothing, a run then does what the plan says, and
// another run does nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := cloudapitest.New(t)
		client := server.Client()
		env := demotest.Must(load(""))(t)
		plan := func(update bool, want string) string {
			t.Helper()
			before := len(server.Requests())
			p := planning(t, client, env, update)
			if got := results(&p.report); got != want {
				t.Errorf("plans %s, want %s", got, want)
			}
			for _, r := range server.Requests()[before:] {
				if r.Method != "GET" {
					t.Errorf("a plan sends %s %s", r.Method, r.Path)
				}
			}
			return table(p) + fmt.Sprint(p.report.drift())
		}
		all := func(result string) string {
			return strings.ReplaceAll("deploy X; blog-web X; blog X; blog-1 X; blog-2 X; blog X; ", "X", result)
		}
		plan(false, all("create"))
		for _, want := range []string{"created", "was there"} {
			if results := demotest.Must(provision(t, client, env, false))(t); results != all(want) {
				t.Errorf("did %s, want %s", results, all(want))
			}
		}
		plan(false, all("keep"))
		if db := demotest.Must(client.Postgres.Get(t.Context(), env.Location, "blog"))(t); len(db.FirewallRules) != 4 || db.HAType != "async" {
			t.Errorf("the database is %+v", db)
		}

		env.Firewalls[0].Rules[0].From = "198.51.100.0/24"
		env.Databases[0].Storage = 128
		env.VMs = append(env.VMs, env.VMs[1])
		env.VMs[2].Name = "blog-3"
		text := plan(false, "deploy keep; blog-web differs; blog keep; blog-1 keep; blog-2 keep; blog-3 held back; blog differs; ")
		for _, want := range []string{"lacks 80 from 198.51.100.0/24 and has unwanted 80 from 0.0.0.0/0: --update", "storage_size 64, wanted 128: --update"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		text = plan(true, "deploy keep; blog-web change; blog keep; blog-1 keep; blog-2 keep; blog-3 create; blog change; ")
		if !strings.Contains(text, "storage_size 64 -> 128") {
			t.Errorf("no difference in\n%s", text)
		}
	})
}

// TestAtOnce: of three runs at once, each ends well, or says that another one may
// be adding the rules that it misses. After another run, all is as in the file.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	said := false
	for _, update := range []bool{false, true} {
		for _, offset := range []time.Duration{0, 100, 250, 400, 700} { // milliseconds between two starts
			synctest.Test(t, func(t *testing.T) {
				client := cloudapitest.New(t).Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return slow{next} }))
				var runs sync.WaitGroup
				var errs [3]error
				for i := range errs {
					runs.Go(func() {
						time.Sleep(time.Duration(i) * offset * time.Millisecond)
						_, errs[i] = provision(t, client, demotest.Must(load(""))(t), update)
					})
				}
				runs.Wait()
				for i, err := range errs {
					said = said || err != nil
					if err != nil && (update || !strings.Contains(err.Error(), "another run that has just created it: run this again")) {
						t.Errorf("update %v, offset %d ms, run %d: %v", update, offset, i, err)
					}
				}
				if results, err := provision(t, client, demotest.Must(load(""))(t), false); err != nil || strings.Count(results, "was there") != 6 {
					t.Errorf("update %v, offset %d ms: afterwards %s, %v", update, offset, results, err)
				}
			})
		}
	}
	if !said {
		t.Error("no run met another one")
	}
}

// slow is a transport whose requests take 100 ms.
type slow struct{ next http.RoundTripper }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(100 * time.Millisecond)
	return s.next.RoundTrip(r)
}

// TestInterrupted: all created resources are listed, even if they aren't ready.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Create: time.Hour})).Client()
		env := demotest.Must(load(""))(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := &provisioner{client: client, env: env, stderr: io.Discard}
		if err := p.run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if n := strings.Count(results(&p.report), "created; "); n != 6 {
			t.Errorf("%d things are listed as created, want 6: %v", n, table(p))
		}
		if n := strings.Count(table(p), "creating"); n != 3 {
			t.Errorf("%d things are listed as creating, want 3: %v", n, table(p))
		}
	})
}

// TestAdvice: after a timeout or a transient failure the same command can be
// run again; after a refusal, that doesn't help.
func TestAdvice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := write(t, strings.Replace(string(sample), "standard-2", "standard-3", 1))
		for _, test := range []struct {
			args  []string
			again bool
		}{
			{[]string{"--timeout", "1s"}, true},
			{[]string{"--file", refused}, false},
		} {
			err := run(t.Context(), test.args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), "everything created so far is kept") || strings.Contains(err.Error(), "run the same command again") != test.again {
				t.Errorf("%v: %v", test.args, err)
			}
		}
	})
}

// write writes a file with an environment, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "environment.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ yaml, want string }{
		{"location: x\nvmz: []\n", "2 | vmz"},
		{"location: [x", "["},
		{"ssh_keys: []", "no location"},
		{"location: x\nsubnets: [{name: a, firewall: b}]", `subnet a needs the firewall "b"`},
		{"location: x\nvms: [{name: a, subnet: b, ssh_key: c}]", `VM a needs the SSH key "c"`},
		{"location: x\nfirewalls: [{name: a, rules: [{ports: \"22\"}]}]", "firewall a: a rule lacks from"},
		{"location: x\nfirewalls:\n- {name: a, rules: [{from: anywhere}]}", `:3: from: "anywhere" isn't a range`},
		{"location: x\nfirewalls:\n- {name: a, rules: [{from: ''}]}", `:3: from: "" isn't a range`},
		{"location: x\nfirewalls:\n- name: a\n  rules: [{from: 0.0.0.0/0, ports: ssh}]", ":4: ports: "},
		{"location: x\ndatabases:\n- {name: a, allow: [10.0.0]}", `:3: allow: "10.0.0" isn't a range`},
		{"location: x\ndatabases:\n- {name: a, allow: [203.0.113.7/24]}", ":3: allow: the server takes 203.0.113.7/24 for 203.0.113.0/24: write that, or 203.0.113.7/32 for the one address"},
		{"location: x\ndatabases:\n- {name: a, allow: ['2001:db8:1:2::7']}", ":3: allow: the server takes 2001:db8:1:2::7 for 2001:db8:1:2::/64: write 2001:db8:1:2::7/128 for the one address"},
		{"location: x\nfirewalls:\n- name: a\n  rules:\n  - {from: '2001:db8::7/64'}", ":5: from: the server takes 2001:db8::7/64 for 2001:db8::/64"},
		{"location: x\nfirewalls:\n- name: a\n  rules:\n  - {from: 0.0.0.0/0, ports: 0443}", ":5: ports: 0443 is no text"},
		{"location: x\nfirewalls:\n- name: a\n  rules:\n  - {from: 0.0.0.0/0, ports: }", ":5: ports has no value"},
		{"location: x\nvms:\n- name: 0123", ":3: name: 0123 is no text"},
		{"location: x\ndatabases:\n- {name: a, version: 17.10}", ":3: version: 17.10 is no text"},
		{"location: x\ndatabases:\n- {name: a, allow: [10.0]}", ":3: allow: 10.0 is no text"},
		{"location: on\nvms:\n- {name: true}", ":3: name: true is no text"},
		{"location: .inf", ":1: location: .inf is no text"},
		{"location: x\ndatabases:\n- {name: a, storage: 0100}", ":3: storage: 0100 is no decimal number"},
		{"location: x\ndatabases:\n- {name: a, storage: 0x40}", ":3: storage: 0x40 is no decimal number"},
		{"location: x\ndatabases:\n- {name: a, storage: &n 64}\n- {name: b, version: *n}", ":3: version: 64 is no text"},
		{"location: x\nvms:\n- {name: !!str 0123}", ":3: name has the tag !!str"},
		{"location: x\ndatabases:\n- name: db\n- name: other\n- name: db\n", ":5: databases has the name db again, after line 3"},
		{"location: x\ndatabases:\n- &db {name: db}\n- {size: standard-2, <<: *db}\n", ":4: databases has the name db again, after line 3"},
		{"location: x\ndatabases:\n- &db {name: db}\n- *db\n", ":4: databases has the name db again, after line 3"},
		{"location: x\ndatabases:\n- {name: &db db}\n- {size: standard-2, name: *db}\n", ":4: databases has the name db again, after line 3"},
		{"location: x\ndatabases:\n- {name: db}\n- name: |-\n    db\n", ":4: databases has the name db again, after line 3"},
		{"location: x\n---\nlocation: y\n", ":2: a second document begins"},
		{"location: x\n---\n---\nlocation: y\n", ":2: a second document begins"},
		{"location: x\n...\nlocation: y\n", ":3: a second document begins"},
		{"---\n---\nlocation: x\n", "the file is empty"},
		{"# nothing\n", "the file is empty"},
		{"...", "the file is empty"},
		{"location: x\nlocation: y\n", "2 | location"},
	} {
		file := write(t, test.yaml)
		err := run(t.Context(), []string{"--file", file}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: error %v, want %q", test.yaml, err, test.want)
		}
	}
	for _, good := range []string{
		"\ufeff# a\n---\nlocation: x\n...\n",
		"location: x\ndatabases:\n- &db {name: a, version: \"17\", allow: &office [10.0.0.0/8, 203.0.113.7, '2001:db8::7/128', '::/0']}\n- {name: b, allow: *office}\nvms:\n",
		"location: >-\n  x\nssh_keys: [{name: 'a', public_key: b}]",
	} {
		if _, err := load(write(t, good)); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if err := run(t.Context(), []string{"--file", filepath.Join(t.TempDir(), "none")}, io.Discard, io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestSampleIsNotForRealProjects: without a file, nothing is created in a
// project that the environment names, where it would cost money.
func TestSampleIsNotForRealProjects(t *testing.T) {
	server := cloudapitest.New(t)
	demotest.Use(t, server)
	for _, args := range [][]string{nil, {"--plan"}, {"--update"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "--file") {
			t.Errorf("%q: error %v, want one that asks for --file", args, err)
		}
	}
	for _, r := range server.Requests() {
		t.Errorf("it sent %s %s", r.Method, r.Path)
	}
}
