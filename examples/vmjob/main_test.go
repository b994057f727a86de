package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
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
	"golang.org/x/crypto/ssh"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

// script writes a script, and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestShow runs the program as it runs without an account.
func TestShow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		stdout, stderr := demotest.Runs(t, run, []string{script(t, "#!/bin/sh\necho one\nsleep 60\necho two\necho no news >&2\n")}, "no news\n")
		if took := time.Since(begin); stdout != "one\ntwo\n" || !strings.HasSuffix(stderr, " is gone\n") || took < time.Minute {
			t.Errorf("stdout %q after %v, stderr %s", stdout, took, stderr)
		}
		var failed interface{ ExitStatus() int }
		if err := run(t.Context(), []string{script(t, "#!/bin/sh\nexit 3\n")}, io.Discard, io.Discard); !errors.As(err, &failed) || failed.ExitStatus() != 3 {
			t.Errorf("error %v", err)
		}
	})
}

// TestRefuses: bad arguments cost nothing.
func TestRefuses(t *testing.T) {
	demotest.Refuses(t, run, "name a script")
	demotest.Refuses(t, run, "no such file", filepath.Join(t.TempDir(), "none"))
	for _, text := range []string{"", "echo", "#!/bin/sh\r\necho\r\n", "\ufeff#!/bin/sh\n", "#!/bin/sh\necho\r\n"} {
		demotest.Refuses(t, run, "must begin with a line such as #!/bin/sh", script(t, text))
	}
	demotest.Refuses(t, run, "--clean takes only the name of a job", "--clean", "web-1")
	demotest.Refuses(t, run, "--clean takes only the name of a job", "--clean", "job-abcde", script(t, "#!/bin/sh\n"))
	srv := cloudapitest.New(t)
	demotest.Use(t, srv)
	demotest.Refuses(t, run, "use --from", script(t, "#!/bin/sh\n")) // a real VM must not be open to everybody
	if n := len(srv.Requests()); n > 0 {
		t.Errorf("it sent %d requests", n)
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

// A rig has a job whose VM is a machine.
type rig struct {
	*job
	srv    *cloudapitest.Server
	vm     *machine
	conn   net.Conn // the last to the machine
	stderr log
}

func newRig(t *testing.T) *rig {
	r := &rig{srv: cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Create: 30 * time.Second, Delete: 10 * time.Second}))}
	r.job = &job{
		client: r.srv.Client(), location: "eu-central-h1", name: "job-abcde", size: "standard-2", script: []byte("#!/bin/sh\nsleep 60\n"), stdin: strings.NewReader(""),
		from: netip.MustParsePrefix("203.0.113.7/32"), stdout: io.Discard, stderr: &r.stderr, start: time.Now(),
	}
	if err := r.makeKeys(); err != nil {
		t.Fatal(err)
	}
	r.vm = &machine{host: r.host, user: r.user.PublicKey()}
	r.dial = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		r.conn, err = r.vm.dial(ctx, network, address)
		return r.conn, err
	}
	return r
}

// status lets the script end with a status.
func status(status uint32) func(context.Context, string, ssh.Channel) uint32 {
	return func(context.Context, string, ssh.Channel) uint32 { return status }
}

// ids returns the IDs of all that jobs create.
func (r *rig) ids() (ids []string) {
	for _, kind := range []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPrivateSubnet, cloudapi.KindFirewall} {
		ids = append(ids, r.srv.IDs(kind, "")...)
	}
	return ids
}

// TestVM: the VM can be reached by SSH from one address, and from nowhere else.
// It has the keys, and gets the script, its arguments and the standard input.
func TestVM(t *testing.T) {
	t.Parallel()
	for from, ip4 := range map[string]bool{"203.0.113.7/32": true, "2001:db8::7/128": false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.from, r.args, r.stdin = netip.MustParsePrefix(from), []string{"it's $HOME", ""}, strings.NewReader("input")
			r.vm.execute = func(_ context.Context, command string, channel ssh.Channel) uint32 {
				if want := fmt.Sprintf(`head -c %d >job && chmod 700 job && exec ./job 'it'\''s $HOME' ''`, len(r.script)); command != want {
					t.Errorf("command %s, want %s", command, want)
				}
				if got, err := io.ReadAll(channel); string(got) != string(r.script)+"input" || err != nil {
					t.Errorf("it gets %q, %v", got, err)
				}
				vm, err := r.client.VMs.Get(t.Context(), r.location, r.name)
				if err != nil || len(vm.Firewalls) != 1 || vm.Subnet != r.name || vm.IPv4Enabled != ip4 {
					t.Errorf("VM %+v, %v", vm, err)
					return 1
				}
				if rules := vm.Firewalls[0].FirewallRules; len(rules) != 1 || rules[0].CIDR != from || rules[0].PortRange != "22" {
					t.Errorf("rules %+v", rules)
				}
				if address := map[bool]string{true: vm.IPv4, false: vm.IPv6}[ip4]; !strings.Contains(r.stderr.String(), "SSH on "+net.JoinHostPort(address, "22")+"\n") {
					t.Errorf("it isn't %s: %s", address, &r.stderr)
				}
				return 0
			}
			if err := r.run(t.Context()); err != nil {
				t.Error(err)
			}
			for _, q := range r.srv.Requests() {
				if q.Name == "VMs.Create" && (!strings.Contains(string(q.Body), strings.Fields(string(ssh.MarshalAuthorizedKey(r.user.PublicKey())))[1]) || len(r.initScript) > 1000) { // the service accepts 2000
					t.Errorf("it sends %s", q.Body)
				}
			}
			if host, err := ssh.ParsePrivateKey([]byte(r.initScript)); err != nil || !bytes.Equal(host.PublicKey().Marshal(), r.host.PublicKey().Marshal()) {
				t.Errorf("%v in\n%s", err, r.initScript)
			}
		})
	}
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
		want    string // in the error; "" for none
	}{
		"the script succeeds":        {func(r *rig) {}, ""},
		"the script fails":           {func(r *rig) { r.vm.execute = status(3) }, "status 3"},
		"the location doesn't exist": {func(r *rig) { r.location = "nowhere" }, "Firewalls"},
		"the firewall is refused":    {refuse("Firewalls.Create"), "Firewalls.Create"},
		"the rule is refused":        {refuse("Firewalls.CreateRule"), "Firewalls.SetRules"},
		"the subnet is refused":      {refuse("PrivateSubnets.Create"), "PrivateSubnets.Create"},
		"the VM is refused":          {refuse("VMs.Create"), "VMs.Create"},
		"the VM doesn't start": {func(r *rig) {
			r.srv.SetDelays(cloudapi.KindVM, "", cloudapitest.Delays{Create: 2 * time.Hour})
		}, "deadline exceeded"},
		"the script doesn't end": {func(r *rig) {
			r.vm.execute = func(ctx context.Context, _ string, _ ssh.Channel) uint32 { <-ctx.Done(); return 0 }
		}, "the script was still running: context deadline exceeded"},
		"nobody reads the output": {func(r *rig) {
			r.stdout = writer(func(p []byte) (int, error) { time.Sleep(2 * time.Hour); return len(p), nil })
			r.vm.execute = func(_ context.Context, _ string, channel ssh.Channel) uint32 { io.WriteString(channel, "x"); return 0 }
		}, "the script was still running: context deadline exceeded"},
		"nothing answers": {func(r *rig) {
			r.dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		}, "no SSH connection within 5m0s: can the VM be reached from 203.0.113.7/32?"},
		"what answers first is silent": {func(r *rig) {
			r.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				r.dial = r.vm.dial
				client, server := net.Pipe()
				go io.Copy(io.Discard, server)
				return client, nil
			}
		}, ""},
		"the connection breaks": {func(r *rig) {
			r.vm.execute = func(context.Context, string, ssh.Channel) uint32 { r.conn.Close(); return 0 }
		}, "broke while the script was running"},
		"another host key": {func(r *rig) {
			_, other, _ := ed25519.GenerateKey(nil)
			r.vm.host, _ = ssh.NewSignerFromKey(other)
			r.vm.user = nil // a login would be a panic
		}, "host key mismatch"},
		"deletions fail for minutes": {func(r *rig) {
			r.vm.execute = func(context.Context, string, ssh.Channel) uint32 {
				r.srv.Fail(cloudapitest.Match{}, cloudapitest.Reply(502, nil, "").For(5*time.Minute))
				return 1
			}
		}, "status 1"},
		"deletions are refused for a while": {func(r *rig) {
			r.srv.Fail(cloudapitest.Match{Operation: "VMs.Delete"}, cloudapitest.Reply(409, nil, `{"error":{"code":409,"type":"DependencyError","message":"busy"}}`).For(5*time.Minute))
			r.srv.Fail(cloudapitest.Match{Operation: "PrivateSubnets.Delete"}, cloudapitest.Reply(409, nil, `{"error":{"code":409,"type":"DependencyError","message":"busy"}}`))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				tt.prepare(r)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := r.run(ctx); (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "may be left")) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				time.Sleep(3 * time.Hour) // so that all goroutines end
				if ids := r.ids(); len(ids) > 0 {
					t.Errorf("%v are left", ids)
				}
			})
		})
	}
}

// TestSignal: what a VM sends as the text of a signal can't write lines of its
// own, and a status that isn't 1 to 255 isn't success.
func TestSignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.vm.execute = func(_ context.Context, _ string, channel ssh.Channel) uint32 {
			channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
				Signal          string
				CoreDumped      bool
				Error, Language string
			}{"KILL", false, "\x1b[2J\nfake line", ""}))
			channel.Close()
			return 0
		}
		err := r.run(t.Context())
		if exit, ok := errors.AsType[scriptError](err); !ok || exit.ExitStatus() != 128+9 || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("error %q", err)
		}
		r.vm.execute = status(256)
		if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "status 256") {
			t.Errorf("error %v", err)
		}
	})
}

// A log can be read while the job and its session write.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestInterrupted ends the context at each step of a run: before and after each
// request, at each connection, and when the script begins.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	n := 0
	for met := true; met; {
		n++
		synctest.Test(t, func(t *testing.T) {
			met = false
			r := newRig(t)
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
			r.vm.execute = func(ctx context.Context, command string, channel ssh.Channel) uint32 {
				step()
				return play(ctx, command, channel)
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

// TestLost loses each request of a run in turn, before or after the server has
// executed it.
func TestLost(t *testing.T) {
	t.Parallel()
	for _, fault := range []cloudapitest.Fault{cloudapitest.DropAfter(), cloudapitest.DropBefore()} {
		n := 0
		for met := true; met; {
			n++
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				script := r.srv.Fail(cloudapitest.Match{Nth: n}, fault.Optional())
				r.vm.execute = func(context.Context, string, ssh.Channel) uint32 {
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

// TestSlowCreate: a create that the server executes after Ctrl-C isn't forgotten.
func TestSlowCreate(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"Firewalls.Create", "PrivateSubnets.Create", "VMs.Create"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.srv.Fail(cloudapitest.Match{Operation: operation}, cloudapitest.Delay(20*time.Second))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := r.run(ctx)
			time.Sleep(time.Minute)
			if ids := r.ids(); !errors.Is(err, context.DeadlineExceeded) || len(ids) > 0 {
				t.Errorf("%s: %v; %v are left", operation, err, ids)
			}
		})
	}
}

// TestLeft: if something may be left, the error says how to delete it later, and
// that does it.
func TestLeft(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*rig){
		"the deletion fails": func(r *rig) {
			r.srv.Fail(cloudapitest.Match{Operation: "VMs.Delete"}, cloudapitest.Reply(503, nil, "").For(time.Hour))
		},
		"a lost create may still be executed": func(r *rig) {
			r.srv.Fail(cloudapitest.Match{Operation: "VMs.Create"}, cloudapitest.DropBefore().Repeating())
		},
		"the token can't see the project anymore": func(r *rig) {
			r.vm.execute = func(context.Context, string, ssh.Channel) uint32 {
				r.srv.Fail(cloudapitest.Match{}, cloudapitest.Reply(404, nil, `{"error":{"code":404,"type":"ResourceNotFound","message":"not found"}}`).Repeating())
				return 0
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				prepare(r)
				err := r.run(t.Context())
				if want := "job-abcde may be left and cost money; this deletes it: vmjob --location eu-central-h1 --clean job-abcde\n"; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v", err)
				}
				r.srv.ClearFaults()
				if err := r.remove(t.Context()); err != nil {
					t.Error(err)
				}
				if ids := r.ids(); len(ids) > 0 {
					t.Errorf("%v are left", ids)
				}
			})
		})
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
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

// TestClean deletes what is left of the job with the name, and nothing else.
func TestClean(t *testing.T) {
	srv := cloudapitest.New(t)
	demotest.Use(t, srv)
	for _, name := range []string{"job-abcde", "job-other"} {
		demotest.Must(srv.Client().Firewalls.Create(t.Context(), "eu-central-h1", name, nil))(t)
	}
	demotest.Runs(t, run, []string{"--clean", "job-abcde"}, "job-abcde is gone\n")
	if len(srv.IDs(cloudapi.KindFirewall, "job-abcde")) != 0 || len(srv.IDs(cloudapi.KindFirewall, "job-other")) != 1 {
		t.Errorf("left: %v", srv.IDs(cloudapi.KindFirewall, ""))
	}
}
