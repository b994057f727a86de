package calls_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	const plain, foreign = "redirects are not followed, check the base URL", "to https://console.example.com is not followed, check the base URL"
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		for location, hint := range map[string]string{
			"https://console.example.com/login": foreign,
			"//console.example.com/login":       foreign,
			"http://api.example.com/project":    "to http://api.example.com is not followed, check the base URL",
			"https://api.example.com/other":     plain,
			"/login":                            plain,
			"https://[::1/\x7f":                 plain,
			"mailto:someone@example.com":        plain,
			"":                                  plain,
		} {
			network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
				resp := stub.Respond(status, "")
				if location != "" {
					resp.Header.Set("Location", location)
				}
				return resp, nil
			}}
			client := sdktest.Client(t, &network)
			_, getErr := client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
			_, createErr := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil)
			for _, err := range []error{getErr, createErr} {
				e, ok := errors.AsType[*cloudapi.Error](err)
				if !ok || e.StatusCode != status || e.Code != status || !strings.HasSuffix(e.Message, hint) {
					t.Errorf("%d to %q: %v, want %q", status, location, err, hint)
				}
			}
			if sent := network.Take(); len(sent) != 2 || sent[0].Host != "api.example.com" || sent[1].Host != "api.example.com" {
				t.Errorf("%d to %q: sent %+v", status, location, sent)
			}
		}
	}
}

func naming(name string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			req.Header.Add("X-Through", name)
			return next.RoundTrip(req)
		})
	}
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []cloudapi.Operation
		watch := func(next http.RoundTripper) http.RoundTripper {
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				op, ok := cloudapi.OperationFromContext(req.Context())
				if !ok {
					t.Error("the context has no operation")
				}
				if req.Host != req.URL.Host {
					t.Errorf("the host is %q", req.Host)
				}
				seen = append(seen, op)
				return next.RoundTrip(req)
			})
		}
		network := stub.Recorder{Answer: stub.Always(503, stub.Envelope(503))}
		client := sdktest.Recorded(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{}), cloudapi.WithMiddleware(naming("a"), naming("b")), cloudapi.WithMiddleware(naming("c"), watch))
		_, _ = client.VMs.List(t.Context(), &cloudapi.ListOptions{Location: "eu-central-h1"})
		for i, s := range network.Take() {
			if got := s.Header["X-Through"]; !slices.Equal(got, []string{"a", "b", "c"}) {
				t.Errorf("attempt %d went through %v", i+1, got)
			}
		}
		if len(seen) != 4 {
			t.Errorf("the middleware saw %d attempts", len(seen))
		}
		for _, op := range seen {
			if op != (cloudapi.Operation{Name: "VMs.ListInLocation", Method: "GET", Route: "/project/{project_id}/location/{location}/vm"}) {
				t.Errorf("the operation is %+v", op)
			}
		}
	})
	if op, ok := cloudapi.OperationFromContext(t.Context()); ok || op != (cloudapi.Operation{}) {
		t.Errorf("a foreign context has the operation %v", op)
	}
}

// TestObserver: an observer sees a call once, whatever the number of attempts,
// with the error that the caller gets.
func TestObserver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		var reported []error
		watch := func(name string) cloudapi.Observer {
			return func(ctx context.Context, op cloudapi.Operation) (context.Context, func(error)) {
				seen = append(seen, "begin "+name+" "+op.Name)
				return nil, func(err error) {
					seen = append(seen, "end "+name)
					reported = append(reported, err)
				}
			}
		}
		network := stub.Recorder{Answer: stub.Always(503, stub.Envelope(503))}
		client := sdktest.Recorded(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 3}),
			cloudapi.WithObserver(watch("a"), following("b")), cloudapi.WithObserver(following("c"), watch("d")))
		_, err := client.VMs.List(t.Context(), nil)
		sent := network.Take()
		for i, s := range sent {
			op, _ := cloudapi.OperationFromContext(s.Context)
			if !slices.Equal(followers(s.Context), []string{"b", "c"}) || op != (cloudapi.Operation{Name: "VMs.List", Method: "GET", Route: "/project/{project_id}/vm"}) {
				t.Errorf("attempt %d belongs to %v, observed by %v", i+1, op, followers(s.Context))
			}
		}
		if want := []string{"begin a VMs.List", "begin d VMs.List", "end d", "end a"}; len(sent) != 3 || !slices.Equal(seen, want) {
			t.Errorf("%d attempts, seen as %q, want 3 as %q", len(sent), seen, want)
		}
		if len(reported) != 2 || reported[0] != err || reported[1] != err || err == nil {
			t.Errorf("the call ended with %v, and reported was %v", err, reported)
		}

		seen, reported = nil, nil
		_, err = client.VMs.Get(t.Context(), "..", "web-1")
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || seen != nil {
			t.Errorf("%v was seen as %q", err, seen)
		}
		network.Answer = stub.Always(200, stub.VM)
		if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil || !slices.Equal(reported, []error{nil, nil}) {
			t.Errorf("%v was reported as %v", err, reported)
		}

		// The call uses the context that an observer returns.
		stop := errors.New("stopped by an observer")
		stopping := sdktest.Recorded(t, &network, cloudapi.WithObserver(func(ctx context.Context, _ cloudapi.Operation) (context.Context, func(error)) {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(stop)
			return ctx, nil
		}))
		network.Take()
		if _, err := stopping.VMs.List(t.Context(), nil); !errors.Is(err, stop) || len(network.Take()) != 0 {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestObserverOfAPanic: an observer, which may count calls in progress, is also
// called at the end of a call that panics.
func TestObserverOfAPanic(t *testing.T) {
	t.Parallel()
	network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) { panic("the middleware is broken") }}
	var reported []error
	observer := func(context.Context, cloudapi.Operation) (context.Context, func(error)) {
		return nil, func(err error) { reported = append(reported, err) }
	}
	defer func() {
		if p := recover(); p != "the middleware is broken" {
			t.Errorf("recovered %v", p)
		}
		if len(reported) != 2 || reported[0] == nil || reported[0].Error() != "the call did not return" || reported[1] != reported[0] {
			t.Errorf("reported was %v", reported)
		}
	}()
	_, _ = sdktest.Recorded(t, &network, cloudapi.WithObserver(observer, observer)).VMs.List(t.Context(), nil)
}

// TestHeadersShareNothing: a middleware that changes a header, before or after
// sending, changes no other request and no other header.
func TestHeadersShareNothing(t *testing.T) {
	t.Parallel()
	// sent returns two requests. The header of the first one is changed.
	sent := func(before, after func(http.Header)) []stub.Request {
		var network stub.Recorder
		client := sdktest.Recorded(t, &network, cloudapi.WithHeader("X-A", "1"), cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				before(req.Header)
				defer after(req.Header)
				before, after = func(http.Header) {}, func(http.Header) {}
				return next.RoundTrip(req)
			})
		}))
		for range 2 {
			_, _ = client.VMs.Create(t.Context(), "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop"})
		}
		return network.Take()
	}
	nothing := func(http.Header) {}
	want := sent(nothing, nothing)[0].Header
	for name := range want {
		changed := want.Clone()
		changed[name] = []string{"changed", "added"}
		change := func(h http.Header) { h[name][0] = "changed"; h.Add(name, "added") } // for example to hide it in a log
		if got := sent(change, nothing); !reflect.DeepEqual(got[0].Header, changed) || !reflect.DeepEqual(got[1].Header, want) {
			t.Errorf("with another %s, sent %v", name, got)
		}
		if got := sent(nothing, change); !reflect.DeepEqual(got[0].Header, want) || !reflect.DeepEqual(got[1].Header, want) {
			t.Errorf("with another %s afterwards, sent %v", name, got)
		}
	}
}

// TestTransportsThatMisbehave: an invalid result of a transport is an error. A
// body is closed even then, so that its connection can be reused.
func TestTransportsThatMisbehave(t *testing.T) {
	t.Parallel()
	body := &measured{Reader: strings.NewReader(stub.VM)}
	for _, tt := range []struct {
		name   string
		answer func(*http.Request) (*http.Response, error)
		want   string
	}{
		{"neither response nor error", func(*http.Request) (*http.Response, error) { return nil, nil }, "neither a response nor an error"},
		{"no body", func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil }, "it is empty"},
		{"an informational status", stub.Always(101, ""), "unexpected status 101"},
		{"both response and error", func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body}, errors.New("the cable is cut")
		}, "the cable is cut"},
	} {
		network := stub.Recorder{Answer: tt.answer}
		vm, err := sdktest.Recorded(t, &network).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		if vm != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v", tt.name, vm, err)
		}
	}
	if !body.closed {
		t.Error("the body is open")
	}
}

func TestTokenSource(t *testing.T) {
	t.Parallel()
	failure := errors.New("the vault is closed")
	for _, tt := range []struct {
		name   string
		tokens []any // what the source returns
		sent   []string
		is     error
		text   string
	}{
		{"once per attempt", []any{"token-1", "token-2"}, []string{"token-1", "token-2"}, nil, ""},
		{"fails", []any{failure}, nil, failure, "token source: the vault is closed, nothing was sent"},
		{"fails later", []any{"token-1", failure}, []string{"token-1"}, failure, "503 T: m; not retried: token source: the vault is closed"},
		{"fails with the old token", []any{"secret-1", errors.New("secret-1 has expired")}, []string{"secret-1"}, cloudapi.ErrServer,
			"503 T: m; not retried: token source: [redacted] has expired"},
		{"empty token", []any{""}, nil, cloudapi.ErrInvalidArgument, "token must not be empty"},
		{"token that cannot be sent", []any{"secret-\n-part"}, nil, cloudapi.ErrInvalidArgument, "cannot be sent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked, replies := 0, 0
				network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
					if replies++; replies == 1 {
						return stub.Respond(503, stub.Envelope(503)), nil
					}
					return stub.Respond(200, stub.VM), nil
				}}
				client := sdktest.Recorded(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{}), cloudapi.WithTokenSource(func(ctx context.Context) (string, error) {
					if op, ok := cloudapi.OperationFromContext(ctx); !ok || op.Name != "VMs.Create" {
						t.Errorf("the source is asked for %q", op.Name)
					}
					asked++
					switch v := tt.tokens[asked-1].(type) {
					case string:
						return v, nil
					default:
						return "", v.(error)
					}
				}))
				_, err := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil)
				var sent []string
				for _, s := range network.Take() {
					sent = append(sent, strings.TrimPrefix(s.Header.Get("Authorization"), "Bearer "))
				}
				if !slices.Equal(sent, tt.sent) || asked != len(tt.tokens) {
					t.Errorf("the source was asked %d times, and %q was sent", asked, sent)
				}
				if !errors.Is(err, tt.is) || err != nil && !strings.Contains(err.Error(), tt.text) {
					t.Errorf("the error is %v, want %q", err, tt.text)
				}
				if errors.Is(err, cloudapi.ErrOutcomeUnknown) || err != nil && strings.Contains(err.Error(), "secret") {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	failure := errors.New("the budget is spent")
	for _, failsAt := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			var order []string
			asked := 0
			network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
				order = append(order, "send")
				if len(order) < 4 {
					return stub.Respond(429, stub.Envelope(429)), nil
				}
				return stub.Respond(200, stub.VM), nil
			}}
			client := sdktest.Recorded(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{}),
				cloudapi.WithTokenSource(func(context.Context) (string, error) { order = append(order, "token"); return "t", nil }),
				cloudapi.WithLimiter(stub.Limiter(func(context.Context) error {
					if asked++; asked == failsAt {
						return failure
					}
					order = append(order, "limit")
					return nil
				})))
			_, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
			want := []string{"limit", "token", "send", "limit", "token", "send"}
			switch failsAt {
			case 0:
				if err != nil {
					t.Error(err)
				}
			case 1:
				want = nil
				e, ok := errors.AsType[*cloudapi.TransportError](err)
				if !ok || e.Attempts != 0 || !errors.Is(err, failure) {
					t.Errorf("the error is %#v", err)
				}
			case 2:
				want = want[:3]
				e, ok := errors.AsType[*cloudapi.Error](err)
				if !ok || e.Attempts != 1 || e.StatusCode != 429 || !errors.Is(err, failure) {
					t.Errorf("the error is %#v", err)
				}
			}
			if !slices.Equal(order, want) {
				t.Errorf("failing at %d: %v, want %v", failsAt, order, want)
			}
		})
	}
}

func following(name string) cloudapi.Observer {
	return func(ctx context.Context, _ cloudapi.Operation) (context.Context, func(error)) {
		return context.WithValue(ctx, followersKey{}, append(slices.Clone(followers(ctx)), name)), nil
	}
}

// followers returns the names that the observers added, the outermost first.
func followers(ctx context.Context) []string {
	names, _ := ctx.Value(followersKey{}).([]string)
	return names
}

type followersKey struct{}

var userAgent = "cloudapi/" + cloudapi.Version + " (" + runtime.Version() + "; " + runtime.GOOS + "/" + runtime.GOARCH + ")"
