package calls_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const location = "eu-central-h1"

// TestLastExchange: after each call, the last exchange is the last attempt of
// the call's last request.
func TestLastExchange(t *testing.T) {
	t.Parallel()
	const futuristic = `{"id":"fwnfjvzz8eqj2kyq0kk8jd6mhv","name":"edge","location":"` + location + `","firewall_rules":[],"colour":"red"}`
	header := http.Header{"X-Request-Id": {"req-7"}, "X-Future": {"yes"}}
	for _, tt := range []struct {
		name   string
		match  string
		faults []cloudapitest.Fault
		call   func(context.Context, *cloudapi.Client) error
		want   string
		fails  bool
	}{
		{"fields and headers that the SDK does not know", "Firewalls.Get", []cloudapitest.Fault{cloudapitest.Reply(200, header, futuristic)},
			get, "Firewalls.Get GET /firewall/edge sent , 1: 200 req-7 yes " + futuristic, false},
		{"a retry", "Firewalls.Get", []cloudapitest.Fault{cloudapitest.Reply(503, nil, "busy"), cloudapitest.Reply(200, nil, futuristic)},
			get, "Firewalls.Get GET /firewall/edge sent , 2: 200   " + futuristic, false},
		{"an error", "Firewalls.Get", []cloudapitest.Fault{cloudapitest.Reply(404, header, `{"error":{"code":404,"type":"T","new":1}}`)},
			get, `Firewalls.Get GET /firewall/edge sent , 1: 404 req-7 yes {"error":{"code":404,"type":"T","new":1}}`, true},
		{"a page of a gateway", "Firewalls.Get", []cloudapitest.Fault{cloudapitest.Reply(200, nil, "<html>").Repeating()},
			get, "Firewalls.Get GET /firewall/edge sent , 1: 200   <html>", true},
		{"a response that breaks off", "Firewalls.Create", []cloudapitest.Fault{cloudapitest.Truncate(5)},
			create, `Firewalls.Create POST /firewall/other sent {"description":"d"}, 1: 200   {"id"`, true},
		{"no response", "Firewalls.Create", []cloudapitest.Fault{cloudapitest.DropAfter()},
			create, `Firewalls.Create POST /firewall/other sent {"description":"d"}, 1: 0   `, true},
		{"no response after one", "Firewalls.Get", []cloudapitest.Fault{cloudapitest.Reply(502, header, "bad"), cloudapitest.DropBefore(), cloudapitest.DropBefore(), cloudapitest.DropBefore()},
			get, "Firewalls.Get GET /firewall/edge sent , 4: 0   ", true},
		{"no content", "", nil, func(ctx context.Context, c *cloudapi.Client) error { return c.Firewalls.Delete(ctx, location, "edge") },
			"Firewalls.Delete DELETE /firewall/edge sent , 1: 204   ", false},
		{"the last page", "", nil, func(ctx context.Context, c *cloudapi.Client) error {
			all, err := cloudapi.Collect(c.Firewalls.All(ctx, &cloudapi.ListOptions{Location: location, PageSize: 2}))
			if err == nil && len(all) != 3 {
				err = fmt.Errorf("%d firewalls", len(all))
			}
			return err
		}, `Firewalls.ListInLocation GET /firewall sent , 1: 200   {"items":[],"count":3}`, false},
		{"the last poll", "Firewalls.Get", []cloudapitest.Fault{cloudapitest.Reply(200, nil, futuristic), cloudapitest.Reply(404, nil, stub.Envelope(404))},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Firewall, error) { return c.Firewalls.Get(ctx, location, "edge") },
					func(*cloudapi.Firewall) (bool, error) { return false, nil }, nil)
				return err
			}, "Firewalls.Get GET /firewall/edge sent , 1: 404   " + stub.Envelope(404), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				client := srv.Client()
				for _, name := range []string{"edge", "a", "b"} {
					stub.Must(client.Firewalls.Create(t.Context(), location, name, nil))(t)
				}
				ctx, last := cloudapi.CaptureExchange(t.Context())
				if last() != nil {
					t.Error("there is an exchange before the call")
				}
				if tt.faults != nil {
					srv.Fail(cloudapitest.Match{Operation: tt.match}, tt.faults...)
				}
				if err := tt.call(ctx, client); (err != nil) != tt.fails {
					t.Fatal(err)
				}
				if got := show(last()); got != tt.want {
					t.Errorf("the exchange is\n%s, want\n%s", got, tt.want)
				}
				before := last()
				if err := get(t.Context(), client); err != nil && tt.name != "no content" && !tt.fails {
					t.Fatal(err)
				}
				if last() != before {
					t.Error("a call with another context has changed it")
				}
			})
		})
	}
}

func get(ctx context.Context, c *cloudapi.Client) error {
	_, err := c.Firewalls.Get(ctx, location, "edge")
	return err
}

func create(ctx context.Context, c *cloudapi.Client) error {
	_, err := c.Firewalls.Create(ctx, location, "other", &cloudapi.FirewallCreateRequest{Description: "d"})
	return err
}

func show(e *cloudapi.Exchange) string {
	_, path, _ := strings.Cut(e.Path, "/location/"+location)
	return fmt.Sprintf("%s %s %s sent %s, %d: %d %s %s %s", e.Operation, e.Method, path, e.Request.Reveal(), e.Attempt,
		e.StatusCode, e.Header.Get("X-Request-Id"), e.Header.Get("X-Future"), e.Response.Reveal())
}

// TestExchangesShowNoSecrets: an exchange shows no secrets, although headers
// repeat the credentials and bodies contain passwords.
func TestExchangesShowNoSecrets(t *testing.T) {
	t.Parallel()
	const password, session = "hunter2-Xq7Zr2Ty", "session-Lm4Kp9Wd"
	network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
		resp := stub.Respond(400, `{"error":{"code":400,"type":"T","message":"`+password+`"}}`)
		resp.Header.Set("Set-Cookie", "id="+session)
		resp.Header.Set("X-Echo", "Bearer "+stub.Token)
		resp.Header.Set("X-Request-Id", "req "+stub.Token+" "+password)
		return resp, nil
	}}
	ctx, last := cloudapi.CaptureExchange(t.Context())
	_, err := sdktest.Recorded(t, &network).Postgres.ResetSuperuserPassword(ctx, location, "pg-1", cloudapi.NewSecret(password))
	if err == nil {
		t.Fatal("no error")
	}
	e := last()
	text := fmt.Sprintf("%v %+v %#v %v %+v %#v %s %v %#v %v", e, e, e, *e, *e, *e, stub.JSON(e), ctx, ctx, err)
	for _, secret := range []string{password, session, stub.Token} {
		if strings.Contains(text, secret) {
			t.Errorf("%q shows in %s", secret, text)
		}
	}
	if e.Request.Reveal() != `{"password":"`+password+`"}` || !strings.Contains(e.Response.Reveal(), password) {
		t.Errorf("revealed, it has %q and %q", e.Request.Reveal(), e.Response.Reveal())
	}
	if failure, ok := errors.AsType[*cloudapi.Error](err); !ok || failure.RequestID != "req [redacted] [redacted]" {
		t.Errorf("the ID of the request is %q", failure.RequestID)
	}
}

// TestSharedCapture: goroutines share a context that captures exchanges, and
// each derives its own from it. Both return the right last exchange.
func TestSharedCapture(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client()
	shared, last := cloudapi.CaptureExchange(t.Context())
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			ctx, own := cloudapi.CaptureExchange(shared)
			for round := range 8 {
				name := fmt.Sprintf("fw-%d-%d", i, round)
				if _, err := client.Firewalls.Create(ctx, location, name, nil); err != nil {
					t.Error(err)
				} else if e := own(); !strings.HasSuffix(e.Path, "/"+name) || !strings.Contains(e.Response.Reveal(), `"`+name+`"`) {
					t.Errorf("the exchange of the call is that of %s", e.Path)
				}
				if e := last(); !strings.Contains(e.Response.Reveal(), `"`+e.Path[strings.LastIndex(e.Path, "/")+1:]+`"`) {
					t.Errorf("the exchange of all is half that of %s", e.Path)
				}
			}
		})
	}
	calls.Wait()
}

// TestRequestIDs: errors have the ID that the server gave the request, if any.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Request-Id": {"7f3c"}}
	for _, tt := range []struct {
		name  string
		fault cloudapitest.Fault
		want  string
	}{
		{"refused", cloudapitest.Reply(400, header, stub.Envelope(400)), "7f3c"},
		{"unusable", cloudapitest.Reply(200, header, "<html>"), "7f3c"},
		{"long", cloudapitest.Reply(400, http.Header{"X-Request-Id": {strings.Repeat("x", 1000)}}, ""), strings.Repeat("x", 200)},
		{"none", cloudapitest.Reply(400, nil, stub.Envelope(400)), ""},
		{"broken", cloudapitest.Handle(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", "7f3c")
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}), "7f3c"},
		{"lost", cloudapitest.DropAfter(), ""},
	} {
		srv := cloudapitest.New(t)
		srv.Fail(cloudapitest.Match{Method: http.MethodPost}, tt.fault)
		err := create(t.Context(), srv.Client())
		id := ""
		if e, ok := errors.AsType[*cloudapi.Error](err); ok {
			id = e.RequestID
		} else if e, ok := errors.AsType[*cloudapi.DecodeError](err); ok {
			id = e.RequestID
		} else if e, ok := errors.AsType[*cloudapi.TransportError](err); ok {
			id = e.RequestID
		}
		if id != tt.want || strings.Contains(fmt.Sprint(err), "request ID") != (tt.want != "") || tt.want != "" && !strings.Contains(err.Error(), "; request ID "+tt.want) {
			t.Errorf("%s: the ID is %q, want %q: %v", tt.name, id, tt.want, err)
		}
	}
}
