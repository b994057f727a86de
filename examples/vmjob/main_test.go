package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

// A log records when each line was written.
type log struct {
	strings.Builder
	times []time.Time
}

func (l *log) Write(p []byte) (int, error) {
	l.times = append(l.times, time.Now())
	return l.Builder.Write(p)
}

// TestShow runs the program as it runs without an account.
func TestShow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "new", "results")
		var stdout log
		var stderr bytes.Buffer
		if err := run(t.Context(), []string{"--out", out, script(t, "echo one\nsleep 7\necho two\necho 'no news' >&2\necho 42 > out/answer")}, &stdout, &stderr); err != nil {
			t.Fatal(err)
		}
		if stdout.String() != "one\ntwo\n" || stdout.times[1].Sub(stdout.times[0]) != 7*time.Second {
			t.Errorf("stdout %q at %v", &stdout, stdout.times)
		}
		if text := stderr.String(); !strings.Contains(text, "no news\n") || !strings.HasSuffix(text, " is gone\n") {
			t.Errorf("stderr %s", text)
		}
		if answer, err := os.ReadFile(filepath.Join(out, "answer")); string(answer) != "42\n" {
			t.Errorf("answer %q, %v", answer, err)
		}
	})
}

// TestShowWithoutOut: without --out, a script can still write results, and the
// program says that they're lost.
func TestShowWithoutOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"echo 42 > out/answer": "results are deleted with the VM; --out copies them\n",
		"echo 42 > no/answer":  "no/answer: file does not exist\n",
		"exit 0":               "",
	} {
		synctest.Test(t, func(t *testing.T) {
			var stderr bytes.Buffer
			run(t.Context(), []string{file(t, "it's.sh", "#!/bin/sh\n"+text+"\n")}, io.Discard, &stderr)
			if said := stderr.String(); !strings.Contains(said, want) || want == "" && strings.Contains(said, "--out") || !strings.HasSuffix(said, " is gone\n") {
				t.Errorf("%s: stderr %s", text, said)
			}
		})
	}
}

func script(t *testing.T, text string) string { return file(t, "job.sh", "#!/bin/sh\n"+text+"\n") }

func file(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRefuses: a mistake costs no money.
func TestRefuses(t *testing.T) {
	t.Parallel()
	good, dir := script(t, "true"), t.TempDir()
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"name a script", nil},
		{"must be positive", []string{"--timeout", "0s", good}},
		{"lower-case", []string{"--owner", "Me", good}},
		{"no-such-file", []string{"no-such-file"}},
		{"no-such-file", []string{good, "no-such-file"}},
		{"isn't a file", []string{dir}},
		{"isn't a file", []string{good, dir}},
		{"already has", []string{good, file(t, "job.sh", "")}},
		{"already has", []string{good, file(t, "out", "")}},
		{"begin with #!", []string{file(t, "empty", "")}},
		{"begin with #!", []string{file(t, "init.yaml", "#cloud-config\nruncmd: []\n")}},
		{"begin with #!", []string{file(t, "bare.sh", "echo hello\n")}},
		{"begin with #!", []string{file(t, "none.sh", "#!")}},
		{"begin with #!", []string{file(t, "none.sh", "#! \necho hello\n")}},
		{"byte order mark in line 1", []string{file(t, "bom.sh", "\ufeff#!/bin/sh\n")}},
		{"byte order mark in line 3", []string{file(t, "bom.sh", "#!/bin/sh\necho\n\ufeffecho\n")}},
		{"carriage return in line 1", []string{file(t, "crlf.sh", "#!/bin/sh\r\necho\r\n")}},
		{"carriage return in line 2", []string{file(t, "crlf.sh", "#!/bin/sh\necho\r\n")}},
		{"new or empty", []string{"--out", filepath.Dir(good), good}},
		{"not a directory", []string{"--out", good, good}},
		{"isn't the name of a job", []string{"--clean", "web-1"}},
		{"no job job-ci-20250101-000000-abcde", []string{"--clean", "job-ci-20250101-000000-abcde"}},
	} {
		var stdout, stderr bytes.Buffer
		err := run(t.Context(), tt.args, &stdout, &stderr)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(stderr.String(), "creating") {
			t.Errorf("%q: error %v, want %q; %s", tt.args, err, tt.want, &stderr)
		}
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"203.0.113.7":       "203.0.113.7/32",
		"203.0.113.7/24":    "203.0.113.0/24",
		"2001:db8::7":       "2001:db8::7/128",
		"2001:db8::7/64":    "2001:db8::/64",
		"203.0.113":         "",
		"office":            "",
		"203.0.113.7/33":    "",
		"fe80::1%eth0":      "fe80::1/128",
		"":                  "",
		"203.0.113.7, ::/0": "",
	} {
		var j job
		if err := j.parseFrom(text); (err == nil) != (want != "") || want != "" && j.from.String() != want {
			t.Errorf("%q: %v, error %v, want %q", text, j.from, err, want)
		}
	}
}

// TestNeedsFrom: a real VM must not be open to everybody.
func TestNeedsFrom(t *testing.T) {
	srv := cloudapitest.New(t)
	demotest.Use(t, srv)
	err := run(t.Context(), []string{script(t, "true")}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "use --from") || len(srv.Requests()) > 0 {
		t.Errorf("error %v after %d requests", err, len(srv.Requests()))
	}
}

// A rig has a job whose VM is a machine, with the paths as its script and files.
type rig struct {
	*job
	srv    *cloudapitest.Server
	vm     *machine
	conn   net.Conn // the last to the machine
	stdout log
	stderr bytes.Buffer
}

func newRig(t *testing.T, paths ...string) *rig {
	r := &rig{vm: newMachine(), srv: cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Create: 30 * time.Second, Delete: 10 * time.Second}))}
	r.job = &job{
		client: r.srv.Client(cloudapi.WithMiddleware(r.vm.watch)), location: "eu-central-h1", name: newName("ci", time.Now()), size: "standard-2",
		from: netip.MustParsePrefix("203.0.113.7/32"), stdout: &r.stdout, stderr: &r.stderr, start: time.Now(),
	}
	r.dial = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		r.conn, err = r.vm.dial(ctx, network, address)
		return r.conn, err
	}
	closeFiles, err := r.open(paths, filepath.Join(t.TempDir(), "results"))
	t.Cleanup(closeFiles)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ids returns the IDs of all that jobs create.
func (r *rig) ids() (ids []string) {
	for _, kind := range kinds {
		ids = append(ids, r.srv.IDs(kind, "")...)
	}
	return ids
}

// TestVM: the VM can be reached by SSH from one address, and from nowhere else.
func TestVM(t *testing.T) {
	t.Parallel()
	for from, ip4 := range map[string]bool{"203.0.113.7/32": true, "2001:db8::7/128": false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, script(t, "true"))
			r.from = netip.MustParsePrefix(from)
			addresses := map[string]bool{}
			r.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				addresses[address] = true
				return r.vm.dial(ctx, network, address)
			}
			r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int {
				vm, err := r.client.VMs.Get(t.Context(), r.location, r.name)
				if err != nil || len(vm.Firewalls) != 1 || vm.Subnet != r.name || vm.IPv4Enabled != ip4 {
					t.Errorf("VM %+v, %v", vm, err)
					return 1
				}
				if rules := vm.Firewalls[0].FirewallRules; len(rules) != 1 || rules[0].CIDR != from || rules[0].PortRange != "22" {
					t.Errorf("rules %+v", rules)
				}
				want := vm.IPv6
				if ip4 {
					want = vm.IPv4
				}
				if len(addresses) != 1 || !addresses[net.JoinHostPort(want, "22")] {
					t.Errorf("dialed %v, want %s", addresses, want)
				}
				if n := len(r.ids()); n != 3 {
					t.Errorf("it has created %d resources", n)
				}
				return 0
			}
			if err := r.run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCopies: names and bytes arrive as they are, in both directions.
func TestCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		big := make([]byte, 1<<20+1)
		rand.NewChaCha8([32]byte{}).Read(big)
		const name = "it's $HOME; a \"name\".bin"
		r := newRig(t, script(t, "true"), file(t, name, string(big)), file(t, "empty", ""))
		r.vm.execute = func(_ context.Context, command string, _, _ io.Writer) int {
			if want := `cd job && exec ./'job.sh' 'it'\''s $HOME; a "name".bin' 'empty'`; command != want {
				t.Errorf("command %s, want %s", command, want)
			}
			got, err := r.vm.read("/job/" + name)
			empty, err2 := r.vm.read("/job/empty")
			if err := errors.Join(err, err2); err != nil || len(empty) > 0 {
				t.Errorf("%q, %v", empty, err)
			}
			r.vm.files.FileCmd.Filecmd(sftp.NewRequest("Mkdir", "/job/out/deep"))
			if err := errors.Join(r.vm.write("/job/out/deep/"+name, got), r.vm.write("/job/out/empty", "")); err != nil {
				t.Error(err)
			}
			return 3
		}
		if err := r.run(t.Context()); exitStatus(err) != 3 {
			t.Error(err)
		}
		back, err := r.out.ReadFile("deep/" + name)
		if !bytes.Equal(back, big) {
			t.Errorf("%d bytes have come back, %v", len(back), err)
		}
		if back, err := r.out.ReadFile("empty"); len(back) > 0 || err != nil {
			t.Errorf("%q, %v", back, err)
		}
	})
}

// exitStatus returns the status with which package demo ends the program, as far
// as this program chooses it.
func exitStatus(err error) int {
	var failed interface{ ExitStatus() int }
	if errors.As(err, &failed) {
		return failed.ExitStatus()
	}
	return 0
}

const refusal = `{"error":{"code":400,"type":"InvalidRequest","message":"no"}}`

func refuse(operation string) func(*rig) {
	return func(r *rig) {
		r.srv.Fail(cloudapitest.Match{Operation: operation}, cloudapitest.Reply(400, nil, refusal))
	}
}

// TestDeletes: whatever ends a job, nothing is left of it.
func TestDeletes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(*rig)
		want    string // in the error
		status  int
	}{
		"the script fails": {func(r *rig) {
			r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int { return 3 }
		}, "status 3", 3},
		"the location doesn't exist": {func(r *rig) { r.location = "nowhere" }, "Firewalls", 0},
		"the firewall is refused":    {refuse("Firewalls.Create"), "Firewalls.Create", 0},
		"the rule is refused":        {refuse("Firewalls.CreateRule"), "Firewalls.SetRules", 0},
		"the subnet is refused":      {refuse("PrivateSubnets.Create"), "PrivateSubnets.Create", 0},
		"the VM is refused":          {refuse("VMs.Create"), "VMs.Create", 0},
		"the VM doesn't start": {func(r *rig) {
			r.srv.SetDelays(cloudapi.KindVM, "", cloudapitest.Delays{Create: 2 * time.Hour})
		}, "deadline exceeded", 0},
		"the script doesn't end": {func(r *rig) {
			r.vm.execute = func(ctx context.Context, _ string, _, _ io.Writer) int { <-ctx.Done(); return 0 }
		}, "the job hasn't ended: context deadline exceeded", 0},
		"nothing answers": {func(r *rig) {
			r.dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		}, "no SSH connection within 5m0s: can the VM be reached from 203.0.113.7/32?", 0},
		"what answers first is silent": {func(r *rig) {
			r.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				r.dial = r.vm.dial
				client, server := net.Pipe()
				go io.Copy(io.Discard, server)
				return client, nil
			}
			r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int { return 4 }
		}, "status 4", 4},
		"the connection breaks": {func(r *rig) {
			r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int { r.conn.Close(); return 0 }
		}, "broke while the script was running", 0},
		"the VM vanishes": {func(r *rig) {
			gone := make(chan struct{})
			r.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := r.vm.dial(ctx, network, address)
				return &vanishing{Conn: conn, gone: gone, closed: make(chan struct{})}, err
			}
			r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int { close(gone); return 0 }
		}, "the VM has stopped answering", 0},
		"deletions fail for minutes": {func(r *rig) {
			r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int {
				r.srv.Fail(cloudapitest.Match{}, cloudapitest.Reply(502, nil, "").For(5*time.Minute))
				return 1
			}
		}, "status 1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, script(t, "true"))
				tt.prepare(r)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := r.run(ctx); err == nil || !strings.Contains(err.Error(), tt.want) || exitStatus(err) != tt.status {
					t.Errorf("error %v with status %d, want %q and %d", err, exitStatus(err), tt.want, tt.status)
				} else if strings.Contains(err.Error(), "may be left") {
					t.Errorf("error %v", err)
				}
				if ids := r.ids(); len(ids) > 0 {
					t.Errorf("%v are left", ids)
				}
			})
		})
	}
}

// TestTrouble: an outage, or a refusal that may end, is reported once and doesn't
// end the cleanup.
func TestTrouble(t *testing.T) {
	t.Parallel()
	const conflict = `{"error":{"code":409,"type":"DependencyError","message":"busy"}}`
	for name, tt := range map[string]struct {
		match cloudapitest.Match
		fault cloudapitest.Fault
	}{
		"the wait for the VM fails":        {cloudapitest.Match{Operation: "VMs.Get"}, cloudapitest.Reply(502, nil, "")},
		"the VM's deletion fails":          {cloudapitest.Match{Operation: "VMs.Delete"}, cloudapitest.Reply(502, nil, "")},
		"the VM's deletion is refused":     {cloudapitest.Match{Operation: "VMs.Delete"}, cloudapitest.Reply(409, nil, conflict)},
		"the subnet's deletion is refused": {cloudapitest.Match{Operation: "PrivateSubnets.Delete"}, cloudapitest.Reply(409, nil, conflict)},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, script(t, "true"))
			time.AfterFunc(10*time.Second, func() { r.srv.Fail(tt.match, tt.fault.For(30*time.Second)) }) // while the VM starts
			if err := r.run(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n := strings.Count(r.stderr.String(), "trying again: "); n != 1 {
				t.Errorf("%s: reported %d times\n%s", name, n, &r.stderr)
			}
			if ids := r.ids(); len(ids) > 0 {
				t.Errorf("%s: %v are left", name, ids)
			}
		})
	}
}

// vanishing is a connection on which nothing arrives once gone is closed.
type vanishing struct {
	net.Conn
	gone, closed chan struct{}
	once         sync.Once
}

func (v *vanishing) Read(p []byte) (int, error) {
	n, err := v.Conn.Read(p)
	select {
	case <-v.gone:
		<-v.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (v *vanishing) Close() error {
	v.once.Do(func() { close(v.closed) })
	return v.Conn.Close()
}

// TestInterrupted ends the context at each step of a run: before and after each
// request, at each connection, and when the script begins.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	n := 0
	for met := true; met; {
		n++
		synctest.Test(t, func(t *testing.T) {
			met = false
			r := newRig(t, script(t, "sleep 60"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			count := 0
			step := func() {
				if count++; count == n {
					met = true
					cancel()
				}
			}
			r.client = demotest.Must(r.client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(q *http.Request) (*http.Response, error) {
					step()
					defer step()
					return next.RoundTrip(q)
				})
			})))(t)
			r.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				step()
				return r.vm.dial(ctx, network, address)
			}
			r.vm.execute = func(ctx context.Context, command string, stdout, stderr io.Writer) int {
				step()
				return r.vm.play(ctx, command, stdout, stderr)
			}
			if err := r.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("step %d: %v", n, err)
			}
			if ids := r.ids(); len(ids) > 0 {
				t.Errorf("step %d: %v are left", n, ids)
			}
		})
	}
	if n < 40 {
		t.Errorf("a run has only %d steps", n)
	}
}

// TestSlowCreate: a create that the server executes after Ctrl-C isn't forgotten.
func TestSlowCreate(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"Firewalls.Create", "PrivateSubnets.Create", "VMs.Create"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, script(t, "true"))
			r.srv.Fail(cloudapitest.Match{Operation: operation}, cloudapitest.Delay(20*time.Second))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := r.run(ctx)
			time.Sleep(time.Minute)
			if ids := r.ids(); !errors.Is(err, context.DeadlineExceeded) || len(ids) > 0 {
				t.Errorf("%s: %v; %v are left", operation, err, ids)
			}
			if operation != "VMs.Create" && slices.ContainsFunc(r.srv.Requests(), func(q cloudapitest.Request) bool { return q.Name == "VMs.Create" }) {
				t.Errorf("%s: it has created a VM nevertheless", operation)
			}
		})
	}
}

// TestUnknown: if the server may still create the VM, the error says so.
func TestUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script(t, "true"))
		r.srv.Fail(cloudapitest.Match{Operation: "VMs.Create"}, cloudapitest.DropBefore().Repeating())
		err := r.run(t.Context())
		if want := "the VM eu-central-h1/" + r.name + " may be left"; !errors.Is(err, cloudapi.ErrOutcomeUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	})
}

// TestLost loses each request of a run in turn, before or after the server has
// executed it.
func TestLost(t *testing.T) {
	t.Parallel()
	for _, fault := range []cloudapitest.Fault{cloudapitest.DropAfter(), cloudapitest.DropBefore()} {
		n := 0
		for met := true; met; {
			n++
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, script(t, "true"))
				script := r.srv.Fail(cloudapitest.Match{Nth: n}, fault.Optional())
				r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int {
					if n := len(r.ids()); n != 3 {
						t.Errorf("it has created %d resources", n)
					}
					return 0
				}
				err := r.run(t.Context())
				if met = script.Met() > 0; err != nil {
					t.Errorf("request %d: %v", n, err)
				}
				if ids := r.ids(); len(ids) > 0 {
					t.Errorf("request %d: %v are left", n, ids)
				}
			})
		}
		if n < 20 {
			t.Errorf("a run has only %d requests", n)
		}
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script(t, "true"))
		r.dial = func(context.Context, string, string) (net.Conn, error) { panic("dial") }
		func() {
			defer func() { recover() }()
			r.run(t.Context())
			t.Error("it didn't panic")
		}()
		if ids := r.ids(); len(ids) > 0 {
			t.Errorf("%v are left", ids)
		}
	})
}

// TestWrongHostKey: a machine with another key gets nothing, not even the
// public key of the user.
func TestWrongHostKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script(t, "true"))
		other := demotest.Must(newKeys())(t)
		attempts := 0
		r.dial = func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			attempts++
			go func() {
				config := &ssh.ServerConfig{
					NoClientAuth: true,
					AuthLogCallback: func(_ ssh.ConnMetadata, method string, _ error) {
						t.Errorf("the client has sent a request for %s", method)
					},
				}
				config.AddHostKey(other.host)
				conn := &unhurried{Conn: server}
				defer conn.Close()
				if _, _, _, err := ssh.NewServerConn(conn, config); err == nil {
					t.Error("the client has logged in")
				}
			}()
			return client, nil
		}
		err := r.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "host key mismatch") || attempts < 2 {
			t.Errorf("error %v after %d attempts", err, attempts)
		}
		if ids := r.ids(); len(ids) > 0 {
			t.Errorf("%v are left", ids)
		}
	})
}

// TestLeft: if a VM can't be deleted, the error says how to do it later.
func TestLeft(t *testing.T) {
	t.Parallel()
	for _, status := range []int{409, 503} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, script(t, "true"))
			outage := r.srv.Fail(cloudapitest.Match{Operation: "VMs.Delete"}, cloudapitest.Reply(status, nil, "").For(time.Hour))
			err := r.run(t.Context())
			if want := "vmjob --clean " + r.name + "\n"; err == nil || !strings.Contains(err.Error(), want) || outage.Met() < 10 {
				t.Errorf("%d: error %v, want %q; tried %d times", status, err, want, outage.Met())
			}
			r.srv.ClearFaults()
			if err := r.clean(t.Context(), "ci", []string{r.name}); err != nil {
				t.Errorf("%d: %v", status, err)
			}
			if ids := r.ids(); len(ids) > 0 {
				t.Errorf("%d: %v are left", status, ids)
			}
		})
	}
}

// TestProof: "not found" proves nothing once the token can't see the project.
func TestProof(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script(t, "true"))
		r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int {
			r.srv.Fail(cloudapitest.Match{}, cloudapitest.Reply(404, nil, `{"error":{"code":404,"type":"ResourceNotFound","message":"not found"}}`).Repeating())
			return 0
		}
		if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "may be left") {
			t.Errorf("error %v", err)
		}
	})
}

// TestPausedReader: a job ends in time even if nobody reads its output.
func TestPausedReader(t *testing.T) {
	t.Parallel()
	for want, happen := range map[string]func(context.Context, net.Conn){
		"has taken longer":           func(ctx context.Context, _ net.Conn) { <-ctx.Done() },
		"connection to the VM broke": func(_ context.Context, conn net.Conn) { conn.Close() },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, script(t, "true"))
			paused, stdout := io.Pipe()
			defer paused.Close()
			r.job.stdout = stdout
			r.vm.execute = func(ctx context.Context, _ string, stdout, _ io.Writer) int {
				io.WriteString(stdout, "hello\n")
				synctest.Wait() // the client writes it
				happen(ctx, r.conn)
				return 0
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("it has taken longer"))
			defer cancel()
			if err := r.run(ctx); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "was still running") {
				t.Errorf("error %v, want %q", err, want)
			}
			if ids := r.ids(); len(ids) > 0 {
				t.Errorf("%v are left", ids)
			}
		})
	}
}

// TestInterruptionBeforeTheResults: a run that is interrupted when the script has
// succeeded fails, since it doesn't copy the results.
func TestInterruptionBeforeTheResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script(t, "true"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.job.stderr = writer(func(p []byte) (int, error) {
			if strings.Contains(string(p), "has succeeded") {
				cancel()
			}
			return len(p), nil
		})
		if err := r.run(ctx); err == nil || !strings.Contains(err.Error(), "its results weren't copied") {
			t.Error(err)
		}
		if ids := r.ids(); len(ids) > 0 {
			t.Errorf("%v are left", ids)
		}
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestUnreadableResults: the error stays short, and the script's status is kept.
func TestUnreadableResults(t *testing.T) {
	t.Parallel()
	for want, read := range map[string]func(net.Conn, context.CancelFunc) error{
		"and 10 more files":    func(net.Conn, context.CancelFunc) error { return os.ErrPermission },
		"connection lost":      func(conn net.Conn, _ context.CancelFunc) error { return conn.Close() },
		"the job hasn't ended": func(_ net.Conn, cancel context.CancelFunc) error { cancel(); return os.ErrPermission },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, script(t, "true"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.vm.files.FileGet = reading(func() (io.ReaderAt, error) { return strings.NewReader("x"), read(r.conn, cancel) })
			r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int {
				for i := range 20 {
					if err := r.vm.write(fmt.Sprintf("/job/out/%d", i), "x"); err != nil {
						t.Error(err)
					}
				}
				return 3
			}
			err := r.run(ctx)
			if err == nil || !strings.Contains(err.Error(), want) || exitStatus(err) != 3 || strings.Count(err.Error(), "\n") > 13 {
				t.Errorf("error %v with status %d, want %q", err, exitStatus(err), want)
			}
			if said := r.stderr.String(); !strings.Contains(said, "results: 0\n") {
				t.Errorf("stderr %s", said)
			}
		})
	}
}

// A hostile file has a name or a type that the client must not follow.
type hostile struct {
	name string
	mode fs.FileMode
}

func (h hostile) Name() string       { return h.name }
func (h hostile) Size() int64        { return 1 }
func (h hostile) Mode() fs.FileMode  { return h.mode }
func (h hostile) ModTime() time.Time { return time.Time{} }
func (h hostile) IsDir() bool        { return h.mode.IsDir() }
func (h hostile) Sys() any           { return nil }

// listing is a file server that lists hostile files.
type listing struct {
	sftp.FileLister
	files []os.FileInfo
}

func (l listing) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	if r.Method == "List" && r.Filepath == "/job/out" {
		return l, nil
	}
	return l.FileLister.Filelist(r)
}

func (l listing) ListAt(to []os.FileInfo, offset int64) (int, error) {
	n := copy(to, l.files[min(int(offset), len(l.files)):])
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}

// reading is a file server on which a function reads every file.
type reading func() (io.ReaderAt, error)

func (f reading) Fileread(*sftp.Request) (io.ReaderAt, error) { return f() }

// TestResultsStayInside: no name of a result leads out of the folder.
func TestResultsStayInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script(t, "true"))
		r.vm.execute = func(context.Context, string, io.Writer, io.Writer) int { return 0 }
		r.vm.files.FileGet = reading(func() (io.ReaderAt, error) { return strings.NewReader("x"), nil })
		r.vm.files.FileList = listing{r.vm.files.FileList, []os.FileInfo{
			hostile{"../evil", 0o644}, hostile{"../../evil", 0o644}, hostile{"../../../../../../evil", 0o644}, hostile{"/evil", 0o644},
			hostile{"../out/../../evil", 0o644}, hostile{"..", 0o644}, hostile{".", 0o644}, hostile{"", 0o644}, hostile{"a/../../../evil", 0o644},
			hostile{`..\evil`, 0o644}, hostile{"\x00evil", 0o644},
			hostile{"link", fs.ModeSymlink | 0o777}, hostile{"pipe", fs.ModeNamedPipe | 0o644},
			hostile{"good", fs.ModeSetuid | 0o755},
		}}
		err := r.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "isn't in the folder") || !strings.Contains(err.Error(), "neither a file nor a folder") {
			t.Errorf("error %v", err)
		}
		var found []string
		top := filepath.Dir(filepath.Dir(r.out.Name()))
		filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if !entry.IsDir() && entry.Name() != "job.sh" {
				found = append(found, strings.TrimPrefix(path, r.out.Name()))
			}
			return nil
		})
		good := string(filepath.Separator) + "good"
		for _, path := range found {
			if filepath.Dir(path) != string(filepath.Separator) {
				t.Errorf("%s is outside", path)
			}
		}
		if !slices.Contains(found, good) {
			t.Errorf("there are only %q", found)
		}
		if info, err := r.out.Stat("good"); runtime.GOOS != "windows" && (err != nil || info.Mode() != 0o755) {
			t.Errorf("its mode is %v, %v", info.Mode(), err)
		}
	})
}

// TestCleans: only what is left of old jobs of the owner is deleted, unless it's
// named.
func TestCleans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script(t, "true"))
		past, future := r.start.Add(-time.Hour), r.start.Add(time.Hour)
		whole, named, busy := newName("ci", past), newName("other", future), newName("ci", future)
		keep := []string{newName("ci2", past), busy, "job-ci-backup", "job-ci-20250101-000000-abcde-mine", "prefix-" + newName("ci", past), "job-ci-20259999-000000-abcde"}
		ctx, client := t.Context(), r.srv.Client()
		for _, name := range append([]string{whole, named}, keep...) {
			firewall := demotest.Must(client.Firewalls.Create(ctx, r.location, name, nil))(t)
			subnet := demotest.Must(client.PrivateSubnets.Create(ctx, r.location, name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}))(t)
			demotest.Must(client.VMs.Create(ctx, r.location, name, &cloudapi.VMCreateRequest{Size: "burstable-1", PrivateSubnetID: subnet.ID, PublicKey: "ssh-ed25519 AAAA"}))(t)
		}
		demotest.Must(client.Firewalls.Create(ctx, "us-east-a2", newName("ci", past), nil))(t)
		if err := errors.Join(r.clean(ctx, "ci", nil), r.clean(ctx, "ci", []string{named})); err != nil {
			t.Error(err)
		}
		if said := r.stderr.String(); strings.Count(said, "has time until") != 1 || !strings.Contains(said, "vmjob --clean "+busy+"\n") {
			t.Errorf("stderr %s", said)
		}
		for _, name := range keep {
			for _, kind := range kinds {
				if len(r.srv.IDs(kind, name)) != 1 {
					t.Errorf("the %v %s is gone", kind, name)
				}
			}
		}
		if n := len(r.ids()); n != len(keep)*len(kinds) {
			t.Errorf("%d resources are left, want %d", n, len(keep)*len(kinds))
		}
	})
}

// TestCleansWithoutPermission: what the token can't see may cost money.
func TestCleansWithoutPermission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script(t, "true"))
		if err := r.clean(t.Context(), "ci", nil); err != nil || !strings.Contains(r.stderr.String(), "nothing is left") {
			t.Errorf("%v, %s", err, &r.stderr)
		}
		r.srv.SetPermissions(r.srv.ProjectID(), r.srv.Token())
		if err := r.clean(t.Context(), "ci", nil); !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("error %v", err)
		}
	})
}

// TestInitScriptFits: the service accepts 2000 characters.
func TestInitScriptFits(t *testing.T) {
	t.Parallel()
	keys := demotest.Must(newKeys())(t)
	host, err := ssh.ParsePrivateKey([]byte(keys.initScript()))
	if err != nil || !bytes.Equal(host.PublicKey().Marshal(), keys.host.PublicKey().Marshal()) || len(keys.initScript()) > 1000 {
		t.Errorf("%v\n%s", err, keys.initScript())
	}
	if strings.Contains(fmt.Sprint(keys.authorized()), "\n") {
		t.Errorf("the key is %q", keys.authorized())
	}
}
