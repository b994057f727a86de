package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

func TestRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stdout, stderr := demotest.Runs(t, run, []string{"--owner", "ci", write(t, "#!/bin/sh\necho hello")}, "creating VM job-ci-")
		if stdout != "hello from the job\n" || !strings.HasSuffix(stderr, "the VM is gone\n") {
			t.Errorf("%s%s", stdout, stderr)
		}
	})
}

// write writes a script, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func testJob(t *testing.T) (*job, *cloudapitest.Server) {
	srv := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Create: 30 * time.Second, Delete: 10 * time.Second}))
	return &job{client: srv.Client(), location: "eu-central-h1", size: "standard-2", owner: "ci", name: "job-ci-20260301-080000-abcde",
		script: "#!/bin/sh", timeout: time.Hour, stdout: io.Discard, stderr: io.Discard, start: time.Now()}, srv
}

// TestDeletes: no VM is left, however the job ends.
func TestDeletes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(*cloudapitest.Server)
		console string // what the VM writes
		want    string // in the error
	}{
		"fails":       {console: "%begins\nno\n%ends with status 3\n", want: "ended with status 3"},
		"doesn't end": {console: "%begins\nstill busy\n", want: "hasn't ended"},
		"the reply is lost": {prepare: func(srv *cloudapitest.Server) {
			srv.Fail(cloudapitest.Match{Operation: "VMs.Create"}, cloudapitest.DropAfter())
		}, want: "may have taken effect"},
		"deletions fail once": {prepare: func(srv *cloudapitest.Server) {
			srv.Fail(cloudapitest.Match{Operation: "VMs.Delete"}, cloudapitest.Reply(500, nil, "").For(time.Minute))
		}, console: "%ends with status 1\n", want: "ended with status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j, srv := testJob(t)
				if tt.prepare != nil {
					tt.prepare(srv)
				}
				console := strings.ReplaceAll(tt.console, "%", j.name+" ")
				j.client = srv.Client(cloudapi.WithObserver(func(ctx context.Context, op cloudapi.Operation) (context.Context, func(error)) {
					return ctx, func(error) {
						if ids := srv.IDs(cloudapi.KindVM, j.name); op.Name == "VMs.Create" && tt.console != "" {
							srv.SetSerialLog(ids[0], console)
						}
					}
				}))
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				if err := j.run(ctx); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %q", err, tt.want)
				}
				if ids := srv.IDs(cloudapi.KindVM, ""); len(ids) > 0 {
					t.Errorf("%v are left", ids)
				}
			})
		})
	}
}

// TestServerWithoutSerialLogs: nothing is wrong with the name of a VM that the
// program has just created.
func TestServerWithoutSerialLogs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, srv := testJob(t)
		srv.Fail(cloudapitest.Match{Operation: "VMs.SerialLog"}, cloudapitest.Reply(404, nil, `{"error":{"code":404,"type":"ResourceNotFound","message":"not found"}}`).Repeating())
		err := j.run(t.Context())
		if !errors.Is(err, cloudapi.ErrMaybeUnsupported) {
			t.Errorf("error %v", err)
		}
		if ids := srv.IDs(cloudapi.KindVM, ""); len(ids) > 0 {
			t.Errorf("%v are left", ids)
		}
	})
}

// TestCleans: only old VMs of the owner are deleted.
func TestCleans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, srv := testJob(t)
		old, now := j.start.Add(-2*time.Hour), j.start
		var kept []string
		for name, mine := range map[string]bool{
			jobName("ci", old):                  true,
			jobName("ci", now):                  false, // it may be running
			jobName("ci2", old):                 false,
			"job-ci-backup":                     false,
			"job-ci-20250101-000000-abcde-mine": false,
			"prefix-" + jobName("ci", old):      false,
			"job-ci-20259999-000000-abcde":      false,
		} {
			demotest.Must(j.client.VMs.Create(t.Context(), j.location, name, &cloudapi.VMCreateRequest{PublicKey: demo.PublicKey}))(t)
			if !mine {
				kept = append(kept, name)
			}
		}
		if err := j.clean(t.Context()); err != nil {
			t.Error(err)
		}
		for _, name := range kept {
			if len(srv.IDs(cloudapi.KindVM, name)) != 1 {
				t.Errorf("%s is gone", name)
			}
		}
		if n := len(srv.IDs(cloudapi.KindVM, "")); n != len(kept) {
			t.Errorf("%d VMs are left, want %d", n, len(kept))
		}
	})
}

// TestCleansWithoutPermission: VMs that the token can't see may cost money.
func TestCleansWithoutPermission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, srv := testJob(t)
		if err := j.clean(t.Context()); err != nil {
			t.Errorf("an empty project: %v", err)
		}
		srv.SetPermissions(srv.ProjectID(), srv.Token())
		if err := j.clean(t.Context()); !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("error %v", err)
		}
	})
}

func TestResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		console, output, status string
		done                    bool
	}{
		{"boot\r\nn begins\r\na\r\nb\r\nn ends with status 3\r\nlogin: ", "a\nb\n", "3", true},
		{"the beginning is missing\nn ends with status 0\n", "the beginning is missing\n", "0", true},
		{"boot\nn begins\na\n", "a\n", "", false},
	} {
		if output, status, done := result(tt.console, "n"); output != tt.output || status != tt.status || done != tt.done {
			t.Errorf("%q: %q, %q, %v", tt.console, output, status, done)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	demotest.Refuses(t, run, "name a script")
	demotest.Refuses(t, run, "or use --clean", "--clean", "job.sh")
	demotest.Refuses(t, run, "must be 1 to 20", "--owner", "Me", "job.sh")
	demotest.Refuses(t, run, "no such file", "missing.sh")
	demotest.Refuses(t, run, "too long", write(t, strings.Repeat("# long\n", 300)))
	demotest.Refuses(t, run, "unexpected argument", "a", "b")
	for text, want := range map[string]string{
		"#!/bin/sh\r\necho hello\r\n":       "has a carriage return in line 1",
		"#!/bin/sh\necho hello\r\n":         "has a carriage return in line 2",
		"\ufeff#!/bin/sh\n":                 "byte order mark",
		"\xff\xfe#\x00":                     "byte order mark",
		"#cloud-config\nruncmd: [echo]\n":   "is a cloud-config",
		"#cloud-config  \nruncmd: [echo]\n": "is a cloud-config",
	} {
		demotest.Refuses(t, run, want, write(t, text))
	}
}
