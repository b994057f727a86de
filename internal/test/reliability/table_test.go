package reliability

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

var every = flag.Bool("every", false, "run every operation, and not one of each kind, and cut at every byte, and not at some")

// TestFaults runs operations under every fault: once with a permanent fault,
// and once with a fault that hits only the first exchange. It checks the rules,
// and compares the table with the checked-in one. Without -every, two operations represent all of their kind: the table is the
// same, since a fault has the same effect on all of them.
func TestFaults(t *testing.T) {
	ops := operations(t)
	if !*every {
		ops = sample(ops)
	}
	all := faults(t)
	var out table
	runs := 0
	for _, f := range all {
		for _, op := range ops {
			if f.creates && !op.creates {
				continue
			}
			lasting, once := run(t, f, op, true), run(t, f, op, false)
			for _, o := range []outcome{lasting, once} {
				runs++
				for _, problem := range o.broken(op, f) {
					t.Errorf("%s under %q: %s", op.name, f.name, problem)
				}
				if sound := f.sound != nil && f.sound(op); sound && o.err != nil {
					t.Errorf("%s under %q failed: %v", op.name, f.name, o.err)
				}
			}
			out.add(f, op, lasting, once)
		}
	}
	t.Logf("%d faults x %d operations, each lasting and once: %d calls, %d executed requests", len(all), len(ops), runs, out.executions)
	compareWithFile(t, filepath.Join("testdata", "faults.txt"), out.text())
}

// sample returns an operation of each kind and class, the one that isn't retried
// after a 500, and load balancers, after whose 500 the SDK lists them.
func sample(ops []operation) (few []operation) {
	seen := map[string]bool{}
	for _, op := range ops {
		if key := fmt.Sprint(op.group(), op.kind, op.name == "Postgres.CACertificates", strings.HasPrefix(op.name, "LoadBalancers.")); !seen[key] {
			few, seen[key] = append(few, op), true
		}
	}
	return few
}

// run performs one call in its own bubble.
func run(t *testing.T, f fault, op operation, lasting bool) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		p := &peer{op: &op}
		p.script = func(x *exchange) { f.exchange(x, lasting) }
		if f.stream != nil {
			p.script = http2(func(s *stream) {
				if p.turns.Add(1) == 1 || lasting {
					f.stream(s)
				} else {
					s.works()
				}
			})
		}
		dial := p.dial
		if f.dial != nil {
			dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if lasting || p.turns.Add(1) == 1 {
					return nil, f.dial
				}
				return p.dial(ctx, network, address)
			}
		}
		_, roots := trusted()
		scheme := "http://"
		if f.tls || f.stream != nil {
			scheme = "https://"
		}
		client := newClient(t, scheme, cloudapi.WithTimeout(attemptLimit), cloudapi.WithResponseLimit(responseLimit),
			cloudapi.WithTransport(func(t *http.Transport) {
				t.DialContext, t.TLSClientConfig = dial, &tls.Config{RootCAs: roots}
				t.Protocols.SetHTTP2(f.stream != nil)
			}))
		if f.warm {
			// A DELETE, which needs no body to succeed.
			if err := client.Projects.Delete(t.Context(), projectID); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			p.forget()
		}

		ctx, cancel, ends := f.life.context(t.Context())
		defer cancel()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		allocated := memory.TotalAlloc
		start := time.Now()
		o.value, o.err = op.call(ctx, client)
		o.took, o.ends = time.Since(start), ends
		runtime.ReadMemStats(&memory)
		o.allocated = memory.TotalAlloc - allocated

		cancel()
		synctest.Wait() // for canceled calls to end
		client.CloseIdleConnections()
		synctest.Wait()
		if runtime.NumGoroutine() > before { // the runtime may have started some as well
			o.goroutines = goroutinesOfBubble() - withoutClient
		}
		o.conns, o.dialed = int(p.open.Load()), p.connections()
		o.arrived, o.executed = int(p.arrived.Load()), int(p.executed.Load())
		o.declined, o.sound, o.badHosts = int(p.declined.Load()), int(p.sound.Load()), int(p.badHosts.Load())
		o.received = p.received.Load()
		p.stop()
	})
	return o
}

// withoutClient is the number of goroutines in a bubble that runs only the
// test.
const withoutClient = 3

// goroutinesOfBubble counts the goroutines that belong to any bubble.
func goroutinesOfBubble() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("synctest bubble"))
}

// exchange gives a connection to the fault, or to the peer without a fault.
func (f fault) exchange(x *exchange, lasting bool) {
	if f.warm && x.turns.Add(1) == 1 {
		if x.request() {
			fmt.Fprint(x, "HTTP/1.1 204 No Content\r\n\r\n")
		}
		f.serve(x)
		return
	}
	first := !f.warm && x.turns.Add(1) == 1
	switch {
	case first || lasting:
		before := x.sound.Load()
		f.serve(x)
		if f.sound != nil && f.sound(*x.op) && x.sound.Load() == before && x.arrived.Load() > 0 {
			x.sound.Add(1)
		}
	case f.tls:
		x.startTLS(serverTLS(trusted))
		fallthrough
	default:
		reads((*exchange).works)(x)
	}
}

// forget resets the peer's counts.
func (p *peer) forget() {
	p.arrived.Store(0)
	p.received.Store(0)
}

// table collects outcomes: one line for all operations on which a fault has the
// same effect.
type table struct {
	rows       []*row
	executions int
}

type row struct {
	fault  string
	result string // requests, executions and class, with a permanent and with a single fault
	groups map[string]bool
}

func (t *table) add(f fault, op operation, lasting, once outcome) {
	result := lasting.columns() + "\t" + once.columns()
	i := slices.IndexFunc(t.rows, func(r *row) bool { return r.fault == f.name && r.result == result })
	if i < 0 {
		i = len(t.rows)
		t.rows = append(t.rows, &row{fault: f.name, result: result, groups: map[string]bool{}})
	}
	t.rows[i].groups[op.group()] = true
	t.executions += lasting.executed + once.executed
}

// columns returns the requests, the executions and the class of an outcome.
func (o outcome) columns() string {
	return fmt.Sprintf("%d\t%d\t%s", o.arrived, o.executed, o.class())
}

// group is what the table calls an operation's class.
func (op operation) group() string {
	switch {
	case op.creates:
		return "create"
	case op.kind == none:
		return "delete"
	case op.method == http.MethodGet:
		return string(op.kind)
	}
	return "set"
}

func (r *row) operations() string {
	var parts []string
	for _, group := range []string{"record", "list", "file", "set", "delete", "create"} {
		if r.groups[group] {
			parts = append(parts, group)
		}
	}
	return strings.Join(parts, ", ")
}

// text is the table.
func (t *table) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "fault\toperations\tsent\tdone\tresult\tsent\tdone\tresult if it hits once\n")
	for _, r := range t.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.fault, r.operations(), r.result)
	}
	w.Flush()
	return b.String()
}

// compareWithFile fails the test if a text differs from a file's. It writes the
// file if the environment variable UPDATE is set.
func compareWithFile(t *testing.T, name, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := stub.Must(os.ReadFile(name))(t)
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || strings.Join(strings.Fields(line), " ") != strings.Join(strings.Fields(want[i]), " ") {
			t.Fatalf("line %d of %s is not\n%s\nIf it should be, run the test with UPDATE=1.", i+1, name, line)
		}
	}
}
