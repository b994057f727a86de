package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

func TestMain(m *testing.M) {
	demo.Isolate()
	m.Run()
}

func TestPrintsTargets(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"--port", "9182"}, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	var targets []target
	if err := json.Unmarshal(stdout.Bytes(), &targets); err != nil || len(targets) != 13+2 {
		t.Fatalf("%d targets, %v", len(targets), err)
	}
	for _, target := range targets {
		id, name := target.Labels["__meta_ubicloud_id"], target.Labels["__meta_ubicloud_name"]
		want := ":9182"
		if cloudapi.IsID(id, cloudapi.KindPostgres) {
			want = name + "." + id + ".pg.localhost:5432"
		}
		if len(target.Targets) != 1 || !strings.HasSuffix(target.Targets[0], want) {
			t.Errorf("the targets of %s are %q", name, target.Targets)
		}
		if target.Labels["__meta_ubicloud_role"] == "vm" && (target.Labels["__meta_ubicloud_subnet"] == "" || !strings.HasPrefix(target.Labels["__meta_ubicloud_private_ipv4"], "10.")) {
			t.Errorf("%s has the labels %v", name, target.Labels)
		}
		for label, value := range target.Labels {
			if !strings.HasPrefix(label, "__meta_ubicloud_") || value == "" {
				t.Errorf("%s has the label %s=%q", name, label, value)
			}
		}
	}
}

// TestPrintsToNothing: if the targets can't be printed, the program fails.
func TestPrintsToNothing(t *testing.T) {
	t.Parallel()
	closed, stdout := io.Pipe()
	closed.Close()
	if err := run(t.Context(), nil, stdout, io.Discard); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("it ends with %v", err)
	}
}

// TestPrintsWholeTargetsOnly: without a file, nothing tries again what has
// failed, so the program ends with the error.
func TestPrintsWholeTargetsOnly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		operation string
		fault     cloudapitest.Fault
		want      error
	}{
		"the service fails": {"PrivateSubnets.List", cloudapitest.Reply(503, nil, "").Repeating(), cloudapi.ErrServer},
		"a wrong token":     {"VMs.List", cloudapitest.Reply(401, nil, `{"error":{"code":401,"type":"InvalidCredentials","message":"no"}}`).Repeating(), cloudapi.ErrUnauthorized},
		"a host name":       {"Postgres.Get", cloudapitest.Reply(503, nil, "").Repeating(), cloudapi.ErrServer},
		"a single failure":  {"Postgres.Get", cloudapitest.Reply(503, nil, ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProject(t)
				p.srv.Fail(cloudapitest.Match{Operation: tt.operation}, tt.fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var stdout bytes.Buffer
				err := printOnce(ctx, &discovery{client: p.srv.Client(), port: 9100, every: 30 * time.Second}, &stdout)
				if !errors.Is(err, tt.want) || (stdout.Len() > 0) != (err == nil) {
					t.Errorf("it prints %q and ends with %v, want %v", stdout.String(), err, tt.want)
				}
			})
		})
	}
}

const location = "eu-central-h1"

// project is a server with two VMs and a database, and the file of a program.
type project struct {
	*testing.T
	srv  *cloudapitest.Server
	file string
}

func newProject(t *testing.T) *project {
	p := &project{t, cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{})), filepath.Join(t.TempDir(), "targets.json")}
	client := p.srv.Client()
	for _, name := range []string{"web-1", "web-2"} {
		_, err := client.VMs.Create(t.Context(), location, name, &cloudapi.VMCreateRequest{PublicKey: demo.PublicKey})
		p.must(err)
	}
	_, err := client.Postgres.Create(t.Context(), location, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
	p.must(err)
	return p
}

func (p *project) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// start runs the program with the file until stop is called.
func (p *project) start() (stop func() error) {
	ctx, cancel := context.WithCancel(p.Context())
	d := &discovery{client: p.srv.Client(), port: 9100, every: 30 * time.Second, complain: func(error) {},
		publish: func(targets []byte) error { return replace(p.file, targets) }}
	p.must(d.load(p.file + ".known"))
	done := make(chan error, 1)
	go func() { done <- d.run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// check compares the names of the targets in the file after some time.
func (p *project) check(after time.Duration, want string) {
	p.Helper()
	<-time.After(after)
	text, err := os.ReadFile(p.file)
	p.must(err)
	var targets []target
	p.must(json.Unmarshal(text, &targets))
	names := map[string]bool{}
	for _, target := range targets {
		names[target.Labels["__meta_ubicloud_name"]] = true
	}
	var got []string
	for _, name := range []string{"web-1", "web-2", "db", "orders"} {
		if names[name] {
			got = append(got, name)
		}
	}
	if strings.Join(got, " ") != want {
		p.Errorf("the targets are %q, want %q", got, want)
	}
}

// TestKeepsTargets: a target stays unless its resource is gone.
func TestKeepsTargets(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*project) (end func()){
		"an outage": func(p *project) func() {
			p.srv.Fail(cloudapitest.Match{}, cloudapitest.Reply(503, nil, "").Repeating())
			return p.srv.ClearFaults
		},
		"a lost permission": func(p *project) func() {
			p.srv.SetPermissions(p.srv.ProjectID(), p.srv.Token())
			return func() { p.srv.SetPermissions(p.srv.ProjectID(), p.srv.Token(), "*") }
		},
		"a revoked token": func(p *project) func() {
			p.srv.Fail(cloudapitest.Match{}, cloudapitest.Reply(401, nil, `{"error":{"code":401,"type":"InvalidToken","message":"no"}}`).Repeating())
			return p.srv.ClearFaults
		},
		"lists that leave out everything": func(p *project) func() {
			p.srv.Fail(cloudapitest.Match{Operation: "VMs.List"}, cloudapitest.Reply(200, nil, `{"items":[],"count":0}`).Repeating())
			return p.srv.ClearFaults
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProject(t)
				stop := p.start()
				p.check(time.Minute, "web-1 web-2 db")
				end := disturb(p)
				p.check(time.Hour, "web-1 web-2 db")
				end()
				p.must(p.srv.Client().VMs.Delete(t.Context(), location, "web-1"))
				p.check(2*time.Minute, "web-2 db")
				if err := stop(); !errors.Is(err, context.Canceled) {
					t.Errorf("it ends with %v", err)
				}
			})
		})
	}
}

// TestKeepsTargetsAcrossRestarts: the same holds for what happens between two
// runs.
func TestKeepsTargetsAcrossRestarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		stop := p.start()
		p.check(time.Minute, "web-1 web-2 db")
		stop()
		p.must(p.srv.Client().VMs.Delete(t.Context(), location, "web-1"))
		p.srv.SetPermissions(p.srv.ProjectID(), p.srv.Token())
		stop = p.start()
		p.check(time.Hour, "web-1 web-2 db")
		if err := stop(); !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("it ends with %v", err)
		}
		p.srv.SetPermissions(p.srv.ProjectID(), p.srv.Token(), "*")
		stop = p.start()
		p.check(time.Minute, "web-2 db")
		stop()

		entries, err := os.ReadDir(filepath.Dir(p.file))
		if err != nil || len(entries) != 2 || entries[0].Name() != "targets.json" || entries[1].Name() != "targets.json.known" {
			t.Errorf("the folder has %v, %v", entries, err)
		}
		if info, err := os.Stat(p.file); err != nil || info.Mode().Perm()&0o044 != 0o044 {
			t.Errorf("the file is %v, %v", info, err)
		}
		d := &discovery{client: p.srv.Client().InProject(cloudapitest.NewID(cloudapi.KindProject).String())}
		if err := d.load(p.file + ".known"); err == nil || !strings.Contains(err.Error(), "belongs to another project") {
			t.Errorf("the project of another file: %v", err)
		}
	})
}

// TestChangedFile: what somebody has removed from the file of known resources is
// found again. The program doesn't start with a file in which a record is wrong.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		change := func(records string) {
			p.Helper()
			p.must(os.WriteFile(p.file+".known", []byte(`{"project":"`+p.srv.ProjectID()+`"`+records+`}`), 0o600))
		}
		for _, records := range []string{"", `,"vms":null,"databases":{}`} {
			change(records)
			stop := p.start()
			p.check(time.Minute, "web-1 web-2 db")
			stop()
		}
		for records, want := range map[string]string{
			`,"vms":{"vm-1":null}`:                  `"vm-1" doesn't have the record with that ID: remove it to start over`,
			`,"subnets":{"ps-1":{"id":"ps-2"}}`:     `"ps-1" doesn't have the record with that ID: remove it to start over`,
			`,"databases":{"pg-1":{"name":"pg-1"}}`: `"pg-1" doesn't have the record with that ID: remove it to start over`,
			`,"vms":[]`:                             "cannot unmarshal array",
		} {
			change(records)
			d := &discovery{client: p.srv.Client()}
			if err := d.load(p.file + ".known"); err == nil || !strings.HasPrefix(err.Error(), p.file+".known: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", records, err, want)
			}
		}
	})
}

// TestHostNames: a renamed database has another host name. If getting it fails,
// a later round tries again.
func TestHostNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		gone := cloudapitest.Reply(404, nil, `{"error":{"code":404,"type":"ResourceNotFound","message":"no"}}`)
		p.srv.Fail(cloudapitest.Match{Operation: "Postgres.Get"}, gone, gone, gone) // a round of each list
		defer p.start()()
		p.check(time.Second, "web-1 web-2")
		p.check(time.Minute, "web-1 web-2 db")
		_, err := p.srv.Client().Postgres.Rename(t.Context(), location, "db", "orders")
		p.must(err)
		p.srv.Fail(cloudapitest.Match{Operation: "Postgres.Get"}, gone)
		p.check(2*time.Minute, "web-1 web-2 orders")
		if text, _ := os.ReadFile(p.file); !strings.Contains(string(text), `"orders.pg`) {
			t.Errorf("it writes %s", text)
		}
	})
}

// TestHostNamesWithoutTheList: the program gets a host name even while the list
// of databases fails, which begins again and again.
func TestHostNamesWithoutTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		broken := cloudapitest.Reply(500, nil, "")
		p.srv.Fail(cloudapitest.Match{Operation: "Postgres.Get"}, slices.Repeat([]cloudapitest.Fault{broken}, 100)...)
		defer p.start()()
		p.check(30*time.Second, "web-1 web-2")
		p.srv.Fail(cloudapitest.Match{Operation: "Postgres.List"}, cloudapitest.Reply(401, nil, "").Repeating())
		p.check(time.Hour, "web-1 web-2 db")
	})
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	missing := filepath.Join(folder, "missing")
	if err := run(t.Context(), []string{"--file", filepath.Join(missing, "targets.json")}, io.Discard, io.Discard); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("a folder that doesn't exist: %v", err)
	}
	for want, args := range map[string][]string{
		"--every has no effect without --file":                 {"--every", "1m"},
		"--file " + folder + " is a folder: name a file in it": {"--file", folder},
		"--port 0 isn't a port number":                         {"--port", "0"},
		`unexpected argument "file"`:                           {"file"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}
