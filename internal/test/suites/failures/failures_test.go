// Package failures_test has one table of what happens after which failure: in
// calls, waits, watches, FollowLogs, AuditLog.Follow, Ensure and teardowns.
package failures_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// effects are what each part of the SDK does if all of its requests fail in the
// same way.
type effects struct {
	attempts  int // of a GET
	transient bool
	wait      int // polls of WaitRunning
	deletion  int // polls of WaitDeleted
	watch     int // polls of a watch
	logs      int // polls of FollowLogs, and of AuditLog.Follow
	ensure    int // lookups of Ensure, the method and the function
	teardown  int // attempts to delete
}

const endless = 10 // polls after which the test ends what would never end by itself

// The classes of failures, and the exceptions of some failures from their
// class.
var (
	final      = effects{1, false, 1, 1, 1, 1, 1, 1}
	stray      = effects{1, false, 6, 6, 3, 3, 1, 6}
	unreadable = effects{1, true, 6, 6, 6, 6, 1, 6}
	later      = effects{1, true, 6, 6, endless, endless, 1, 6}
	soon       = effects{4, true, 6, 6, endless, endless, 1, 6}

	busy         = effects{1, false, 1, 1, 1, 1, 1, 6} // the state of the resource may not permit its deletion
	forbidden    = effects{1, false, 1, 6, 1, 1, 1, 2} // a resource may be forbidden while it's being destroyed
	notSent      = effects{0, false, 1, 1, 1, 1, 1, 1}
	notSentLater = effects{0, true, 6, 6, endless, endless, 1, 6}
)

// failure is a way in which every request fails, because of a peer, a transport
// or an option.
type failure struct {
	name string
	effects
	mayHaveRun bool // whether the server may have executed a create, which then isn't sent again
	peer       sdktest.Handler
	transport  http.RoundTripper
	option     cloudapi.Option
}

func failures() []failure {
	untrusted := &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	refused := &net.OpError{Op: "dial", Err: errors.New("refused")}
	fails := func(err error) http.RoundTripper {
		return stub.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, err })
	}
	unreachable := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}
	tokenSource := func(err error) cloudapi.Option {
		return cloudapi.WithTokenSource(func(ctx context.Context) (string, error) {
			if isPlanning(ctx) {
				return stub.Token, nil
			}
			return "", err
		})
	}
	limiter := cloudapi.WithLimiter(stub.Limiter(func(ctx context.Context) error {
		if isPlanning(ctx) {
			return nil
		}
		return errors.New("closed")
	}))
	page := "<html>Back soon</html>"
	all := []failure{
		{"lost response", soon, true, sdktest.LosesReply, nil, nil},
		{"reset before the request is read", soon, true, sdktest.ResetsAtOnce, nil, nil},
		{"truncated response", soon, true, sdktest.Cuts(200, stub.VM, 20), nil, nil},
		{"truncated JSON", soon, true, sdktest.Answers(200, "", stub.VM[:20]), nil, nil},
		{"truncated 404", soon, true, sdktest.Cuts(404, stub.Envelope(404), 5), nil, nil},
		{"truncated 501", soon, true, sdktest.Cuts(501, stub.Envelope(501), 5), nil, nil},
		{"401 truncated behind its envelope", final, false, sdktest.Cuts(401, stub.Envelope(401)+" ", len(stub.Envelope(401))), nil, nil},
		{"no response in time", soon, true, sdktest.Hangs, nil, nil},
		{"no connection", soon, false, nil, unreachable, nil},
		{"no connection, of another transport", soon, true, nil, fails(refused), nil},
		{"EOF of another transport", soon, true, nil, fails(io.EOF), nil},
		{"another transport's own error", final, true, nil, fails(errors.New("no responder found")), nil},
		{"untrusted certificate", final, true, nil, fails(untrusted), nil},
		{"no TLS", final, true, nil, fails(tls.RecordHeaderError{Msg: "not TLS"}), nil},
		{"proxy with a password", final, true, nil, fails(errors.New("Proxy Authentication Required")), nil},
		{"token source", notSentLater, false, nil, nil, tokenSource(errors.New("x"))},
		{"token source, untrusted certificate", notSent, false, nil, nil, tokenSource(untrusted)},
		{"malformed token", notSent, false, nil, nil, tokenSource(nil)},
		{"limiter", notSent, false, nil, nil, limiter},
		{"200 without a body", later, true, sdktest.Answers(200, "", ""), nil, nil},
		{"200 of a gateway", later, true, sdktest.Answers(200, "", page), nil, nil},
		{"200 of a gateway, without HTML", later, true, sdktest.Answers(200, "", "Back soon"), nil, nil},
		{"200 with null", unreadable, true, sdktest.Answers(200, "", "null"), nil, nil},
		{"200 with a number", unreadable, true, sdktest.Answers(200, "", "7"), nil, nil},
		{"200 of another shape", unreadable, true, sdktest.Answers(200, "", `{"data":{"vms":[]}}`), nil, nil},
		{"200 with an item without an ID", unreadable, true, sdktest.Answers(200, "", `{"items":[{"name":"web-1"}],"logs":[{}],"count":1}`), nil, nil},
		{"200 with a field of another type", unreadable, true, sdktest.Answers(200, "", `{"id":7,"items":[{"id":7}],"logs":[{"timestamp":[]}]}`), nil, nil},
		{"501 of a gateway", unreadable, false, sdktest.Answers(501, "", page), nil, nil},
		{"505 of a gateway", unreadable, true, sdktest.Answers(505, "", page), nil, nil},
		{"520 of a gateway", later, true, sdktest.Answers(520, "", page), nil, nil},
		{"200 that is too large", busy, true, sdktest.Answers(200, "", `"`+strings.Repeat("x", 5000)+`"`), nil, cloudapi.WithResponseLimit(4096)}, // a DELETE reads no body
		{"403 of a gateway", forbidden, false, sdktest.Answers(403, "", page), nil, nil},
		{"404 of a gateway", stray, false, sdktest.Answers(404, "", page), nil, nil},
		{"404 without a type", stray, false, sdktest.Answers(404, "", `{"error":{"code":404,"message":"m"}}`), nil, nil},
		{"404 of a location", busy, false, sdktest.Answers(404, "", `{"error":{"code":404,"type":"InvalidLocation","message":"m"}}`), nil, nil},
	}
	for _, status := range []int{429, 503} {
		add := func(name string, mayHaveRun bool, header, body string) {
			all = append(all, failure{fmt.Sprint(status, " ", name), soon, mayHaveRun, sdktest.Answers(status, header, body), nil, nil})
		}
		add("of a gateway", true, "", page)
		add("without a body", true, "", "")
		add("without a type", true, "", `{"error":{"message":"m"}}`)
		add("of a gateway, Retry-After: soon", true, "Retry-After: soon\r\n", page)
		add("of a gateway, Retry-After: 0", false, "Retry-After: 0\r\n", page)
		add("of a gateway, Retry-After: 7", false, "Retry-After: 7\r\n", page)
		add("of a gateway, Retry-After: a date", false, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", "")
	}
	for status := 300; status < 600; status++ {
		if status%100 > 30 {
			continue
		}
		f := failure{fmt.Sprint(status), final, false, sdktest.Answers(status, "", stub.Envelope(status)), nil, nil}
		switch {
		case status == 408, status == 429, status == 500, status >= 502 && status <= 504:
			f.effects = soon
		case status == 400, status == 409, status == 422:
			f.effects = busy
		case status == 403:
			f.effects = forbidden
		case status == 501, status == 505:
			f.effects = unreadable
		case status >= 500:
			f.effects = later
		}
		switch status {
		case 301, 307, 308, 501, 503:
			f.mayHaveRun = false
		case 408:
			f.mayHaveRun = true
		default:
			f.mayHaveRun = status < 400 || status >= 500
		}
		all = append(all, f)
	}
	return all
}

// planning and creating are keys of context values. Requests with planning
// don't fail, and with creating only POSTs fail.
type (
	planning struct{}
	creating struct{}
)

func isPlanning(ctx context.Context) bool {
	op, _ := cloudapi.OperationFromContext(ctx)
	return ctx.Value(planning{}) != nil || ctx.Value(creating{}) != nil && op.Method != http.MethodPost
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, f := range failures() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, f.check)
		})
	}
}

func (f *failure) check(t *testing.T) {
	const location = "eu-central-h1"
	ctx := t.Context()
	srv := cloudapitest.NewServer(cloudapitest.WithToken(stub.Token))
	defer srv.Close()
	stub.Must(srv.Client().SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}))(t)

	failing, arrived := f.transport, func() int { return -1 }
	if f.peer != nil {
		p := sdktest.StartPeer(t, f.peer)
		transport := p.Listener.Transport()
		defer transport.CloseIdleConnections()
		failing, arrived = transport, p.Requests
	}
	sent, lookups, creates, deletions := 0, 0, 0, 0
	client := srv.Client(
		cloudapi.WithHTTPClient(&http.Client{Transport: stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if isPlanning(req.Context()) {
				return srv.RoundTripper().RoundTrip(req)
			}
			sent++
			return failing.RoundTrip(req)
		})}),
		cloudapi.WithTimeout(time.Minute),
		cloudapi.WithObserver(func(ctx context.Context, op cloudapi.Operation) (context.Context, func(error)) {
			switch op.Name {
			case "SSHPublicKeys.Delete":
				deletions++
			case "VMs.Get":
				lookups++
			case "VMs.Create":
				creates++
			}
			return ctx, nil
		}),
	)
	if f.option != nil {
		client = stub.Must(client.With(f.option))(t)
	}
	once := stub.Must(client.With(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})))(t)
	var got effects

	// called checks that the last call has failed after the number of attempts.
	called := func(name string, attempts int, err error, start time.Time) {
		t.Helper()
		e, isResponse := errors.AsType[*cloudapi.Error](err)
		if err == nil || isResponse && e.Attempts != attempts || attempts == 1 && time.Since(start) > time.Minute {
			t.Errorf("%s: %v after %v", name, err, time.Since(start))
		}
		if n := arrived(); n >= 0 && n != sent && f.name != "reset before the request is read" {
			t.Errorf("%s: %d requests arrived, and %d were sent", name, n, sent)
		}
	}
	start := time.Now()
	_, err := client.VMs.Get(ctx, location, "web-1")
	called("get", sent, err, start)
	got.attempts, got.transient = sent, cloudapi.IsTransient(err)
	if errors.Is(err, cloudapi.ErrOutcomeUnknown) {
		t.Errorf("a GET has an unknown outcome: %v", err)
	}
	f.checkErrors(t, err)

	start, before, want := time.Now(), sent, f.attempts
	if f.mayHaveRun {
		want = 1
	}
	_, err = client.VMs.Create(ctx, location, "web-1", nil)
	called("create", sent-before, err, start)
	if sent-before != want || errors.Is(err, cloudapi.ErrOutcomeUnknown) != f.mayHaveRun {
		t.Errorf("a create makes %d attempts, want %d: %v", sent-before, want, err)
	}

	counting := func(n *int) *cloudapi.WaitOptions {
		return &cloudapi.WaitOptions{Progress: func(cloudapi.Progress) { *n++ }}
	}
	once.VMs.WaitRunning(ctx, location, "web-1", counting(&got.wait))
	once.VMs.WaitDeleted(ctx, location, "web-1", counting(&got.deletion))
	limited := func(n *int) (context.Context, func(cloudapi.Progress)) {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, func(cloudapi.Progress) {
			if *n++; *n == endless {
				cancel()
			}
		}
	}
	watching, progress := limited(&got.watch)
	for range once.VMs.Watch(watching, &cloudapi.WatchOptions{Progress: progress}) {
	}
	watching, progress = limited(&got.logs)
	cloudapi.Collect(once.Postgres.FollowLogs(watching, location, "orders", nil, &cloudapi.FollowOptions{Progress: progress}))
	audits := 0
	watching, progress = limited(&audits)
	cloudapi.Collect(once.AuditLog.Follow(watching, nil, &cloudapi.FollowOptions{Progress: progress}))
	if audits != got.logs {
		t.Errorf("%d polls of AuditLog.Follow, and %d of FollowLogs", audits, got.logs)
	}

	want = 1
	if f.mayHaveRun {
		want = 4
	}
	for i, ensure := range []ensureVM{once.VMs.Ensure, functionEnsure(once)} {
		send := func(ctx context.Context) {
			lookups, creates = 0, 0
			if vm, outcome, err := ensure(ctx, location, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil); vm != nil || outcome != "" || err == nil {
				t.Errorf("Ensure %d: %v, %q, %v", i, vm, outcome, err)
			}
		}
		send(ctx)
		got.ensure = max(got.ensure, lookups)
		send(context.WithValue(ctx, creating{}, true))
		if creates != want {
			t.Errorf("Ensure %d sends %d creates, want %d", i, creates, want)
		}
	}

	plan := stub.Must(teardown.NewPlan(context.WithValue(ctx, planning{}, true), once, nil))(t)
	plan.Run(ctx)
	if got.teardown = deletions; got != f.effects {
		t.Errorf("got %+v\nwant %+v", got, f.effects)
	}
}

// checkErrors checks that the error of a GET has the same class if it's
// wrapped, or if a program has created a similar error for a test.
func (f *failure) checkErrors(t *testing.T, err error) {
	errs := []error{err, fmt.Errorf("looking: %w", err), &cloudapi.WaitError{Err: err}, errors.Join(io.ErrNoProgress, err)}
	if e, ok := errors.AsType[*cloudapi.Error](err); ok && !strings.HasPrefix(f.name, "truncated") {
		errs = append(errs, &cloudapi.Error{StatusCode: e.StatusCode, Type: e.Type})
	}
	if e, ok := errors.AsType[*cloudapi.TransportError](err); ok {
		errs = append(errs, &cloudapi.TransportError{Err: e.Err})
	}
	if e, ok := errors.AsType[*cloudapi.DecodeError](err); ok {
		errs = append(errs, &cloudapi.DecodeError{Err: e.Err})
	}
	isGone := f.name == "404"
	for _, err := range errs {
		polls := 0
		_, end := cloudapi.Wait(t.Context(), func(context.Context) (*cloudapi.VM, error) { polls++; return nil, err },
			func(*cloudapi.VM) (bool, error) { return true, nil }, nil)
		if !errors.Is(end, err) || polls != f.wait || cloudapi.IsTransient(err) != f.transient || cloudapi.IsGone(err) != isGone ||
			errors.Is(err, cloudapi.ErrNotFound) != (isGone || f.name == "404 of a location") {
			t.Errorf("%T: %d polls, transient: %v, gone: %v: %v", err, polls, cloudapi.IsTransient(err), cloudapi.IsGone(err), err)
		}
	}
}

// TestPartialFailures has the rows of the table in docs/errors.md in which only
// some requests fail.
func TestPartialFailures(t *testing.T) {
	t.Parallel()
	const location, stalled = "eu-central-h1", `{"items":[],"count":5}`
	reply := func(status int, body string) cloudapitest.Fault {
		return cloudapitest.Reply(status, http.Header{"Content-Type": {"application/json"}}, body).Repeating()
	}
	watchKeys := func(ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress), known ...*cloudapi.SSHPublicKey) (last error) {
		for _, err := range c.SSHPublicKeys.Watch(ctx, &cloudapi.WatchOptions{Progress: report}, known...) {
			last = err
		}
		return last
	}
	for _, tt := range []struct {
		name  string
		match cloudapitest.Match // the requests that fail
		fault cloudapitest.Fault
		call  func(*testing.T, context.Context, *cloudapi.Client, func(cloudapi.Progress)) error
		met   int // how many requests fail; endless for that number or more
		polls int // how many polls fail; endless for that number or more
		want  error
	}{
		{"stalled list, in a wait", cloudapitest.Match{Operation: "MachineImages.ListVersions"}, reply(200, stalled),
			func(_ *testing.T, ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress)) error {
				_, err := c.MachineImages.WaitVersion(ctx, location, "golden", "v1", &cloudapi.WaitOptions{Progress: report})
				return err
			}, 4, 1, cloudapi.ErrPaginationStalled},
		{"stalled list, in a watch", cloudapitest.Match{Operation: "SSHPublicKeys.List"}, reply(200, stalled),
			func(_ *testing.T, ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress)) error {
				return watchKeys(ctx, c, report)
			},
			12, 3, cloudapi.ErrPaginationStalled},
		{"stalled list, in FollowLogs", cloudapitest.Match{Operation: "Postgres.ListLogs"}, reply(200, `{"logs":[],"pagination_key":"x"}`),
			func(_ *testing.T, ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress)) error {
				_, err := cloudapi.Collect(c.Postgres.FollowLogs(ctx, location, "orders", nil, &cloudapi.FollowOptions{Progress: report}))
				return err
			}, 7, 3, cloudapi.ErrPaginationStalled}, // a page to learn the server's time, and two of each poll
		{"stalled list, in AuditLog.Follow", cloudapitest.Match{Operation: "AuditLog.List"}, reply(200, `{"items":[],"pagination_key":"x"}`),
			func(_ *testing.T, ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress)) error {
				_, err := cloudapi.Collect(c.AuditLog.Follow(ctx, nil, &cloudapi.FollowOptions{Progress: report}))
				return err
			}, 19, 3, cloudapi.ErrPaginationStalled}, // before the first failure it tries shorter ranges, down to two minutes
		{"stalled list, in a teardown", cloudapitest.Match{Operation: "LoadBalancers.ListInLocation"}, reply(200, stalled),
			func(t *testing.T, ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress)) error {
				stub.Must(c.PrivateSubnets.Create(ctx, location, "net-1", nil))(t)
				return stub.Must(teardown.NewPlan(ctx, c, &teardown.Options{Progress: report}))(t).Run(ctx)
			}, 4, 0, cloudapi.ErrPaginationStalled},
		{"forbidden record, in a watch", cloudapitest.Match{Operation: "SSHPublicKeys.Get"}, reply(403, stub.Envelope(403)),
			func(t *testing.T, ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress)) error {
				key := stub.Must(c.SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}))(t)
				stub.Must(0, c.SSHPublicKeys.Delete(ctx, key.ID))(t)
				return watchKeys(ctx, c, report, key)
			}, 3, 3, cloudapi.ErrForbidden},
		{"busy cluster, in Ensure", cloudapitest.Match{Operation: "Kubernetes.ResizeNodePool"}, reply(422, stub.Envelope(422)),
			func(t *testing.T, ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress)) error {
				request := &cloudapi.KubernetesClusterCreateRequest{Version: "v1.37", WorkerSize: "standard-2", CPNodeCount: 1, WorkerNodeCount: 2}
				stub.Must(c.Kubernetes.Create(ctx, location, "k8s", request))(t)
				stub.Must(c.Kubernetes.WaitRunning(ctx, location, "k8s", nil))(t)
				request.WorkerNodeCount = 3
				_, _, err := c.Kubernetes.Ensure(ctx, location, "k8s", request, &cloudapi.EnsureOptions{Update: true, Progress: report})
				return err
			}, endless, endless, context.DeadlineExceeded},
		{"name that is taken, in Ensure", cloudapitest.Match{Operation: "VMs.Create"}, reply(400, taken),
			func(_ *testing.T, ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress)) error {
				_, _, err := c.VMs.Ensure(ctx, location, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, &cloudapi.EnsureOptions{Progress: report})
				return err
			}, endless, endless, context.DeadlineExceeded},
		{"name that is taken, in the function Ensure", cloudapitest.Match{Operation: "VMs.Create"}, reply(400, taken),
			func(_ *testing.T, ctx context.Context, c *cloudapi.Client, report func(cloudapi.Progress)) error {
				_, _, err := functionEnsure(c)(ctx, location, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, &cloudapi.EnsureOptions{Progress: report})
				return err
			}, endless, endless, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				script := srv.Fail(tt.match, tt.fault)
				polls := 0
				err := tt.call(t, ctx, srv.Client(), func(p cloudapi.Progress) {
					if p.Err != nil {
						polls++
					}
				})
				if e, ok := errors.AsType[*teardown.Error](err); ok {
					polls, err = 0, e.Failed[0].Err
				}
				if met := script.Met(); met != tt.met && min(met, endless) != tt.met || polls != tt.polls && min(polls, endless) != tt.polls || !errors.Is(err, tt.want) {
					t.Errorf("%d requests and %d polls fail, want %d and %d: %v", script.Met(), polls, tt.met, tt.polls, err)
				}
			})
		})
	}
}

// taken is the API's response to a create with a name that is taken.
const taken = `{"error":{"code":400,"type":"InvalidRequest","message":"project_id and location_id and name is already taken","details":null}}`

// TestOtherErrors: no other error is transient.
func TestOtherErrors(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, cloudapi.ErrNotFound, cloudapi.ErrServer, context.DeadlineExceeded, io.EOF, &cloudapi.ArgumentError{}, &cloudapi.Error{}} {
		if cloudapi.IsTransient(err) {
			t.Errorf("%T is transient: %v", err, err)
		}
	}
}

// TestDocumentedClasses: the table in docs/errors.md has a row with the effects
// of each class.
func TestDocumentedClasses(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(sdktest.Root(t), "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[any]string{true: "yes", false: "no", 1: "end", 3: "end after three", 6: "end after six", endless: "go on"}
	for _, e := range []effects{soon, later, unreadable, stray, final} {
		row := fmt.Sprintf(" | %s | %s | %s | %s | ends | %s |\n", texts[e.attempts > 1], texts[e.transient], texts[e.wait], texts[e.watch],
			strings.Replace(texts[e.teardown], "end", "ends", 1))
		if !strings.Contains(string(page), row) {
			t.Errorf("no row ends with%s", row)
		}
	}
}
