package calls_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestDoRetriesByMethod: Do retries a request whose response is lost, except a
// POST: the server may have executed it.
func TestDoRetriesByMethod(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]int{"GET": 4, "PUT": 4, "DELETE": 4, "POST": 1, "post": 1} {
		synctest.Test(t, func(t *testing.T) {
			network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) { return nil, io.EOF }}
			err := sdktest.Client(t, &network).Do(t.Context(), method, []string{"x"}, nil, nil, nil)
			if n := len(network.Take()); n != want || errors.Is(err, cloudapi.ErrOutcomeUnknown) != (want == 1) {
				t.Errorf("%s: %d requests, %v", method, n, err)
			}
		})
	}
}

// TestCreateBesideTheTransport: a create counts as sent if a program's
// transport fails to connect and then sends it in another way.
func TestCreateBesideTheTransport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		unreachable := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("no route to host")
		}}
		sent := 0
		client, err := cloudapi.NewClient(cloudapi.WithBaseURL("https://api.example.com"), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project),
			cloudapi.WithHTTPClient(&http.Client{Transport: stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if _, err := unreachable.RoundTrip(req); err == nil {
					t.Error("there should be no connection")
				}
				sent++
				resp := stub.Respond(200, stub.VM)
				resp.Body = io.NopCloser(iotest.ErrReader(errors.New("the cable is cut")))
				return resp, nil
			})}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.VMs.Create(t.Context(), "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop"})
		if sent != 1 || !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			t.Errorf("sent %d times: %v", sent, err)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	at := func(after time.Duration) string { return time.Now().Add(after).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct {
		name   string
		header func() string
		min    time.Duration
		max    time.Duration
	}{
		{"seconds", func() string { return "7" }, 7 * time.Second, 7 * time.Second},
		{"date", func() string { return at(9 * time.Second) }, 9 * time.Second, 9 * time.Second},
		{"date of a clock that is ahead", func() string { return at(10*time.Minute+time.Second) + "\r\nDate: " + at(10*time.Minute) }, time.Second, time.Second},
		{"date of a clock that is behind", func() string { return at(time.Second-10*time.Minute) + "\r\nDate: " + at(-10*time.Minute) }, time.Second, time.Second},
		{"date, beside an invalid one", func() string { return at(9*time.Second) + "\r\nDate: today" }, 9 * time.Second, 9 * time.Second},
		{"seconds, of a clock that is ahead", func() string { return "7\r\nDate: " + at(10*time.Minute) }, 7 * time.Second, 7 * time.Second},
		{"beyond the cap", func() string { return "86400" }, time.Minute, time.Minute},
		{"absurdly large", func() string { return strings.Repeat("9", 40) }, time.Minute, time.Minute},
		{"larger than a Duration", func() string { return "10000000000" }, time.Minute, time.Minute},
		{"in the past", func() string { return "Fri, 31 Dec 1999 23:59:59 GMT" }, 0, 500 * time.Millisecond},
		{"zero", func() string { return "0" }, 0, 500 * time.Millisecond},
		{"negative", func() string { return "-5" }, 0, 500 * time.Millisecond},
		{"malformed", func() string { return "soon" }, 0, 500 * time.Millisecond},
		{"absent", func() string { return "" }, 0, 500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := sdktest.StartPeer(t, sdktest.Answers(503, "Retry-After: "+tt.header()+"\r\n", stub.Envelope(503)), sdktest.Answers(200, "", stub.VM))
				start := time.Now()
				stub.Must(p.Client(t).VMs.Create(t.Context(), "eu-central-h1", "web-1", nil))(t)
				if took := time.Since(start); took < tt.min || took > tt.max {
					t.Errorf("took %v, want %v to %v", took, tt.min, tt.max)
				}
			})
		})
	}
}

// TestRetryAfterIsNeverNegative: a date that has passed asks for no delay.
func TestRetryAfterIsNeverNegative(t *testing.T) {
	t.Parallel()
	for _, date := range []string{"", "Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 2049 23:59:59 GMT"} { // of the response
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			resp := stub.Respond(429, stub.Envelope(429))
			resp.Header.Set("Retry-After", "Fri, 31 Dec 1999 23:59:00 GMT")
			resp.Header.Set("Date", date)
			return resp, nil
		}}
		_, err := sdktest.Recorded(t, &network).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		if e, ok := errors.AsType[*cloudapi.Error](err); !ok || e.RetryAfter != 0 {
			t.Errorf("with the Date %q: %#v", date, err)
		}
	}
}

// TestRetriesBeforeADeadline: a retry that is due before the deadline is made.
// Otherwise, the call ends at once.
func TestRetriesBeforeADeadline(t *testing.T) {
	t.Parallel()
	const due = 30 * time.Second
	for deadline, want := range map[time.Duration]int{due - 1: 1, due: 1, due + 1: 2} {
		synctest.Test(t, func(t *testing.T) {
			p := sdktest.StartPeer(t, sdktest.Answers(503, "Retry-After: 30\r\n", stub.Envelope(503)), sdktest.Answers(200, "", stub.VM))
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			start := time.Now()
			_, err := p.Client(t).VMs.Get(ctx, "eu-central-h1", "web-1")
			if took := time.Since(start); p.Requests() != want || took != time.Duration(want-1)*due || errors.Is(err, context.DeadlineExceeded) != (want == 1) {
				t.Errorf("with %v left: %d requests in %v: %v", deadline, p.Requests(), took, err)
			}
			if e, ok := errors.AsType[*cloudapi.Error](err); ok != (want == 1) || ok && (e.StatusCode != 503 || e.RetryAfter != due) {
				t.Errorf("with %v left, the response is %+v", deadline, e)
			}
		})
	}
}

// TestErrorOfACutAttempt: if the context or the timeout cuts the last attempt,
// the error names and wraps an earlier failure. It's transient until the
// context ends, whatever the cause of the context's end.
func TestErrorOfACutAttempt(t *testing.T) {
	t.Parallel()
	const late = "no complete response within 4s"
	const second, ever = time.Second, time.Hour
	busy := sdktest.Answers(503, "Retry-After: 1\r\n", stub.Envelope(503))
	later := sdktest.Answers(503, "Retry-After: 30\r\n", stub.Envelope(503))
	gateway, hangs, breaks := sdktest.Answers(502, "", "<html>Back soon</html>"), sdktest.Handler(sdktest.Hangs), sdktest.Handler(sdktest.LosesReply)
	for _, tt := range []struct {
		name      string
		peer      []sdktest.Handler
		limit     time.Duration
		cause     error // of the context's end
		creates   bool
		status    int // of the response in the error, or 0
		text      string
		transient bool
	}{
		{"the context", []sdktest.Handler{busy, hangs}, 3 * second, nil, false, 503, ": context deadline exceeded; an earlier attempt failed: 503 T: m (after 2 attempts)", false},
		{"the context, in a create", []sdktest.Handler{busy, hangs}, 3 * second, nil, true, 503, "failed: 503 T: m (after 2 attempts); the operation may have taken effect", false},
		{"the context, in the first attempt", []sdktest.Handler{hangs}, 3 * second, nil, false, 0, "/vm/web-1 at api.localhost: context deadline exceeded", false},
		{"the context, with a cause", []sdktest.Handler{hangs}, 3 * second, &cloudapi.Error{StatusCode: 500}, false, 500, ": context deadline exceeded: ", false},
		{"the timeout", []sdktest.Handler{busy, hangs}, ever, nil, false, 503, ": " + late + "; an earlier attempt failed: 503 T: m (after 4 attempts)", true},
		{"after another response", []sdktest.Handler{busy, hangs, gateway, hangs}, ever, nil, false, 502, late + "; an earlier attempt failed: 502 Bad Gateway", true},
		{"after a broken connection", []sdktest.Handler{breaks, hangs}, ever, nil, false, 0, late + "; an earlier attempt failed: EOF (after 4", true},
		{"always the timeout", []sdktest.Handler{hangs}, ever, nil, false, 0, "/vm/web-1 at api.localhost: " + late + " (after 4 attempts)", true},
		{"the timeout, and then the context", []sdktest.Handler{hangs}, 7 * second, nil, false, 0, "exceeded; an earlier attempt failed: " + late + " (after 2", false},
		{"not the last one", []sdktest.Handler{busy, hangs, busy, breaks}, ever, nil, false, 0, "/vm/web-1 at api.localhost: EOF (after 4 attempts)", true},
		{"not before the deadline", []sdktest.Handler{gateway, later}, 20 * second, nil, false, 503, "503 T: m (after 2 attempts); not retried: the next attempt is due in 30s", true},
		{"in a pause", []sdktest.Handler{later}, 0, errors.New("the operator lost patience"), false, 503,
			"/vm/web-1 at api.localhost: 503 T: m; not retried: context canceled: the operator lost patience", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := sdktest.StartPeer(t, tt.peer...).Client(t, cloudapi.WithTimeout(4*second))
				ctx, cancel := context.WithTimeoutCause(t.Context(), tt.limit, tt.cause)
				if tt.limit == 0 {
					var giveUp context.CancelCauseFunc
					ctx, giveUp = context.WithCancelCause(t.Context())
					time.AfterFunc(second, func() { giveUp(tt.cause) })
				}
				defer cancel()
				var err error
				if tt.creates {
					_, err = client.VMs.Create(ctx, "eu-central-h1", "web-1", nil)
				} else {
					_, err = client.VMs.Get(ctx, "eu-central-h1", "web-1")
				}
				if err == nil || !strings.Contains(err.Error(), tt.text) || errors.Is(err, cloudapi.ErrOutcomeUnknown) != tt.creates ||
					cloudapi.IsTransient(err) != tt.transient || !tt.transient && !errors.Is(err, ctx.Err()) {
					t.Errorf("transient: %v: %v", cloudapi.IsTransient(err), err)
				}
				if timeout, ok := errors.AsType[interface {
					error
					Timeout() bool
				}](err); strings.HasPrefix(tt.text, ": "+late) && (!ok || !timeout.Timeout() || !errors.Is(err, context.DeadlineExceeded)) {
					t.Errorf("no timeout, as in net: %#v", err)
				}
				if e, ok := errors.AsType[*cloudapi.Error](err); ok != (tt.status != 0) || ok && e.StatusCode != tt.status {
					t.Errorf("the response is %+v", e)
				}
			})
		})
	}
}

// TestCancelAfterTheResponse: a response counts even if the context ends before
// the response is read.
func TestCancelAfterTheResponse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   error // nil if the call succeeds
		shown  bool  // whether the error also wraps the context's error, since a retry was due
	}{
		{200, stub.VM, nil, false},
		{200, "{}", cloudapi.ErrInvalidResponse, false},
		{400, stub.Envelope(400), cloudapi.ErrInvalidRequest, false},
		{404, stub.Envelope(404), cloudapi.ErrNotFound, false},
		{503, stub.Envelope(503), cloudapi.ErrServer, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
				cancel()
				return stub.Respond(tt.status, tt.body), nil
			}}
			start := time.Now()
			var vm *cloudapi.VM
			var err error
			lines := logged(t, slog.LevelDebug, func(logger *slog.Logger) {
				vm, err = sdktest.Recorded(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{}), cloudapi.WithLogger(logger)).VMs.Create(ctx, "eu-central-h1", "web-1", nil)
			})
			if len(lines) != 1 || strings.Contains(lines[0], "retry_in") {
				t.Errorf("%d: the log is %q", tt.status, lines)
			}
			if !errors.Is(err, tt.want) || (vm == nil) != (err != nil) || errors.Is(err, context.Canceled) != tt.shown {
				t.Errorf("%d: %v, %v", tt.status, vm, err)
			}
			if unknown := errors.Is(err, cloudapi.ErrOutcomeUnknown); unknown != (tt.body == "{}") {
				t.Errorf("%d: outcome unknown %v", tt.status, unknown)
			}
			if n := len(network.Take()); n != 1 || time.Since(start) != 0 {
				t.Errorf("%d: %d requests in %v", tt.status, n, time.Since(start))
			}
		})
	}
}

// TestProxiesThatRefuse: a call isn't retried if a proxy wants a password or
// forbids the request.
func TestProxiesThatRefuse(t *testing.T) {
	t.Parallel()
	status := 0 // of the proxy
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(proxy.Close)
	proxyURL, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxied := cloudapi.WithTransport(func(t *http.Transport) { t.Proxy = http.ProxyURL(proxyURL) })
	for _, tt := range []struct {
		name, text string
		status     int
		attempts   int
	}{
		{"a password", "407 Proxy Authentication Required", 407, 1},
		{"permission", "403 Forbidden", 403, 1},
		{"no host", "502 Bad Gateway", 502, 4},
	} {
		attempts := 0
		status = tt.status
		client, err := cloudapi.NewClient(cloudapi.WithBaseURL("https://api.example.com"), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project), proxied,
			cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: 1, MaxDelay: 1}), cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
				return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					attempts++
					return next.RoundTrip(req)
				})
			}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil)
		if e, ok := errors.AsType[*cloudapi.TransportError](err); !ok || attempts != tt.attempts || !strings.Contains(e.Err.Error(), "the proxy responded with "+tt.text) || errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			t.Errorf("%s: %d attempts, %v", tt.name, attempts, err)
		}
	}
}
