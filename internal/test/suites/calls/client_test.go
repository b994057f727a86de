// Package calls_test checks what a call does, from the request that a client
// sends to the record or error that it returns.
package calls_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestWithAndInProjectChangeACopy(t *testing.T) {
	t.Parallel()
	var first, second stub.Recorder
	client := sdktest.Recorded(t, &first, cloudapi.WithHeader("X-A", "1"), cloudapi.WithMiddleware(naming("one")))
	changed := stub.Must(client.With(
		cloudapi.WithBaseURL("https://other.example.com"), cloudapi.WithToken("other"), cloudapi.WithProject("pj00000000021g000000000001"),
		cloudapi.WithHTTPClient(&http.Client{Transport: &second, Timeout: time.Hour}), cloudapi.WithHeader("X-A", "2"), cloudapi.WithHeader("X-B", "3"),
		cloudapi.WithMiddleware(naming("two")), cloudapi.WithUserAgent("job/1 (a; b)"), cloudapi.WithPrefetch(3), cloudapi.WithResponseLimit(1), cloudapi.WithInsecureHTTP(true),
	))(t)
	for _, c := range []*cloudapi.Client{changed, client, client.InProject("pjzzzzzzzzz75qzzzzzzzzzzzz")} {
		_, _ = c.VMs.List(t.Context(), nil)
	}
	sent := first.Take()
	if len(sent) != 2 || sent[0].Target != "/project/"+stub.Project+"/vm" || sent[1].Target != "/project/pjzzzzzzzzz75qzzzzzzzzzzzz/vm" {
		t.Fatalf("the original sent %+v", sent)
	}
	for _, s := range sent {
		if s.Host != "api.example.com" || s.Header.Get("X-A") != "1" || s.Header.Get("X-B") != "" || !slices.Equal(s.Header["X-Through"], []string{"one"}) ||
			s.Header.Get("Authorization") != "Bearer "+stub.Token || s.Header.Get("User-Agent") != userAgent {
			t.Errorf("the original sent %+v", s)
		}
	}
	sent = second.Take()
	if len(sent) != 1 {
		t.Fatalf("the changed copy sent %d requests", len(sent))
	}
	s := sent[0]
	if s.Host != "other.example.com" || s.Header.Get("X-A") != "2" || s.Header.Get("X-B") != "3" || !slices.Equal(s.Header["X-Through"], []string{"one", "two"}) ||
		s.Header.Get("Authorization") != "Bearer other" || s.Header.Get("User-Agent") != userAgent+" job/1 (a; b)" {
		t.Errorf("the changed copy sent %+v", s)
	}
	if _, err := client.With(cloudapi.WithTimeout(-1)); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("With accepts what NewClient refuses: %v", err)
	}
}

// TestCopiesDoNotShareSlices: the options of a copy don't overwrite those of
// another copy, as they would if both appended to the original's array.
func TestCopiesDoNotShareSlices(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	base := sdktest.Recorded(t, &network, cloudapi.WithHeader("X-1", ""), cloudapi.WithHeader("X-2", ""), cloudapi.WithHeader("X-3", ""),
		cloudapi.WithMiddleware(naming("1")), cloudapi.WithMiddleware(naming("2")), cloudapi.WithMiddleware(naming("3")),
		cloudapi.WithObserver(following("1")), cloudapi.WithObserver(following("2")), cloudapi.WithObserver(following("3")))
	var copies []*cloudapi.Client
	for _, name := range []string{"a", "b"} {
		c := stub.Must(base.With(cloudapi.WithHeader("X-4", name), cloudapi.WithMiddleware(naming(name)), cloudapi.WithObserver(following(name))))(t)
		copies = append(copies, c)
	}
	for i, name := range []string{"a", "b"} {
		again := stub.Must(copies[i].With())(t) // wraps the transport again
		_, _ = again.VMs.List(t.Context(), nil)
		s := network.Take()[0]
		if s.Header.Get("X-4") != name || !slices.Equal(s.Header["X-Through"], []string{"1", "2", "3", name}) {
			t.Errorf("the copy %s sent %v", name, s.Header)
		}
		if !slices.Equal(followers(s.Context), []string{"1", "2", "3", name}) {
			t.Errorf("the copy %s was observed by %v", name, followers(s.Context))
		}
	}
}

// TestMiddlewaresOfCopies: a copy with another transport calls the functions of
// its middlewares again. The variables that they capture are shared.
func TestMiddlewaresOfCopies(t *testing.T) {
	t.Parallel()
	var first, second stub.Recorder
	made, passed := 0, 0
	base := sdktest.Recorded(t, &first, cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		made++
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			passed++
			return next.RoundTrip(req.WithContext(context.Background())) // the next middlewares don't need the call's context
		})
	}))
	elsewhere := stub.Must(base.With(cloudapi.WithHTTPClient(&http.Client{Transport: &second}), cloudapi.WithMiddleware(naming("below"))))(t)
	for _, c := range []*cloudapi.Client{base, base.InProject(stub.Project), elsewhere} {
		_, _ = c.VMs.List(t.Context(), nil)
	}
	if made != 2 || passed != 3 {
		t.Errorf("%d middlewares, which have seen %d requests", made, passed)
	}
	if a, b := first.Take(), second.Take(); len(a) != 2 || len(b) != 1 || !slices.Equal(b[0].Header["X-Through"], []string{"below"}) {
		t.Errorf("the transports got %v and %v", a, b)
	}
}

// TestWithRetryInWith: zero fields of the policy keep the client's values.
func TestWithRetryInWith(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			resp := stub.Respond(503, stub.Envelope(503))
			resp.Header.Set("Retry-After", "3600")
			return resp, nil
		}}
		client := sdktest.Recorded(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 3, MaxRetryAfter: 7 * time.Second}))
		for _, tt := range []struct {
			policy   cloudapi.RetryPolicy
			attempts int
			took     time.Duration
		}{
			{cloudapi.RetryPolicy{}, 3, 14 * time.Second},
			{cloudapi.RetryPolicy{MaxAttempts: 2}, 2, 7 * time.Second},
			{cloudapi.RetryPolicy{MaxAttempts: 1}, 1, 0},
			{cloudapi.RetryPolicy{MaxRetryAfter: time.Second}, 3, 2 * time.Second},
			{cloudapi.RetryPolicy{Budget: math.MaxInt / 4}, 3, 14 * time.Second},
		} {
			changed := stub.Must(client.With(cloudapi.WithRetry(tt.policy)))(t)
			start := time.Now()
			_, _ = changed.VMs.List(t.Context(), nil)
			if n := len(network.Take()); n != tt.attempts || time.Since(start) != tt.took {
				t.Errorf("%+v: %d attempts in %v", tt.policy, n, time.Since(start))
			}
		}
	})
}

type closeCounter struct {
	http.RoundTripper
	closed int
}

func (c *closeCounter) CloseIdleConnections() { c.closed++ }

func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	listener := memnet.Listen()
	replies := []struct {
		status int
		body   string
	}{{200, stub.VM}, {404, stub.Envelope(404)}, {500, "oops"}, {200, "{"}, {302, ""}, {200, stub.VM}, {200, stub.VM}}
	served := 0
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(replies[served].status)
		io.WriteString(w, replies[served].body)
		served++
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	dials := 0
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		dials++
		return listener.Dial(ctx)
	}}
	counter := &closeCounter{RoundTripper: transport}
	client := stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL("http://api.localhost"), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project),
		cloudapi.WithHTTPClient(&http.Client{Transport: counter}), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})))(t)
	limited := stub.Must(client.With(cloudapi.WithLimiter(stub.Limiter(func(context.Context) error { return errors.New("no") }))))(t)
	with := stub.Must(client.With(cloudapi.WithTimeout(time.Minute)))(t)
	for range 5 {
		_, _ = client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
		_, _ = limited.VMs.Get(t.Context(), "eu-central-h1", "web-1")
	}
	for _, c := range []*cloudapi.Client{with, client.InProject("pj00000000021g000000000001")} {
		if _, err := c.VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil {
			t.Error(err)
		}
	}
	if dials != 1 || served != len(replies) {
		t.Errorf("%d requests were served over %d connections", served, dials)
	}
	if counter.closed != 0 {
		t.Errorf("idle connections were closed %d times", counter.closed)
	}
	if client.CloseIdleConnections(); counter.closed != 1 {
		t.Errorf("CloseIdleConnections closed them %d times", counter.closed)
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		method   string
		segments []string
		query    url.Values
		in       any
		want     string // method, target and body
	}{
		{"plain", "GET", []string{"project", "x"}, nil, nil, "GET /project/x "},
		{"escaped", "DELETE", []string{"a/b", "c?d", "e#f", "g%2Fh", "i j", "é", "\n", "~._-"}, nil, nil, "DELETE /a%2Fb/c%3Fd/e%23f/g%252Fh/i%20j/%C3%A9/%0A/~._- "},
		{"query", "GET", []string{"x"}, url.Values{"b": {"2 3"}, "a": {"+", "&"}}, nil, "GET /x?a=%2B&a=%26&b=2+3 "},
		{"body", "PATCH", []string{"x"}, nil, map[string]any{"a": nil}, `PATCH /x {"a":null}`},
		{"post without a body", "POST", []string{"x"}, nil, nil, "POST /x {}"},
		{"post with a nil pointer", "POST", []string{"x"}, nil, (*cloudapi.VMCreateRequest)(nil), "POST /x {}"},
		{"post with a nil map", "POST", []string{"x"}, nil, map[string]any(nil), "POST /x {}"},
		{"patch with a nil slice", "PATCH", []string{"x"}, nil, []string(nil), "PATCH /x {}"},
		{"put with no JSON", "PUT", []string{"x"}, nil, json.RawMessage(nil), "PUT /x {}"},
		{"post with an empty slice", "POST", []string{"x"}, nil, []string{}, "POST /x []"},
		{"get with a nil map", "GET", []string{"x"}, nil, map[string]any(nil), "GET /x "},
		{"delete with a nil pointer", "DELETE", []string{"x"}, nil, (*cloudapi.VMCreateRequest)(nil), "DELETE /x "},
		{"put without a body", "PUT", []string{"x"}, nil, nil, "PUT /x {}"},
		{"get with a body", "GET", []string{"x"}, nil, []int{1}, "GET /x [1]"},
		{"unexported fields and a program's own tags", "POST", []string{"x"}, nil, &struct {
			Name  string `json:"name" id:"users"`
			cache []string
			plain
		}{"n", []string{"c"}, plain{cache: []string{"d"}, Kept: []string{"e"}}}, `POST /x {"name":"n","Kept":["e"]}`},
		{"lower case", "post", []string{"x"}, nil, nil, "POST /x {}"},
	} {
		var network stub.Recorder
		err := sdktest.Recorded(t, &network).Do(t.Context(), tt.method, tt.segments, tt.query, tt.in, nil)
		e, ok := errors.AsType[*cloudapi.Error](err)
		if !ok || e.StatusCode != 404 {
			t.Errorf("%s: %v", tt.name, err)
		}
		s := network.Take()[0]
		if got := fmt.Sprintf("%s %s %s", s.Method, s.Target, s.Body); got != tt.want {
			t.Errorf("%s: sent %q, want %q", tt.name, got, tt.want)
		}
		if hasType := s.Header.Get("Content-Type") == "application/json"; hasType != s.HasBody {
			t.Errorf("%s: the content type is %q", tt.name, s.Header.Get("Content-Type"))
		}
		if path, _, _ := strings.Cut(s.Target, "?"); ok && (e.Path != path || e.Operation != "Do" || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: the error is %q, of %q", tt.name, err, e.Path)
		}
	}
}

// plain is embedded in a request.
type plain struct {
	cache []string
	Kept  []string
}

func TestDoRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, method string
		segments     []string
		in           any
		argument     string
	}{
		{"empty segment", "DELETE", []string{"project", ""}, nil, "segments"},
		{"dot", "GET", []string{"."}, nil, "segments"},
		{"dots", "GET", []string{"a", "..", "b"}, nil, "segments"},
		{"no segments", "GET", nil, nil, "segments"},
		{"empty method", "", []string{"a"}, nil, "method"},
		{"bad method", "GET /x", []string{"a"}, nil, "method"},
		{"no JSON", "POST", []string{"a"}, make(chan int), "request"},
		{"no JSON beside secrets", "POST", []string{"a"}, struct {
			*cloudapi.PostgresMetricDestinationCreateRequest
			F chan int
		}{new(cloudapi.PostgresMetricDestinationCreateRequest), nil}, "request"},
		{"masked secret", "POST", []string{"a"}, map[string]any{"password": cloudapi.NewSecret("hunter2").String()}, "request"},
	} {
		var network stub.Recorder
		err := sdktest.Recorded(t, &network).Do(t.Context(), tt.method, tt.segments, nil, tt.in, nil)
		argErr, ok := errors.AsType[*cloudapi.ArgumentError](err)
		if !ok || argErr.Name != tt.argument || len(network.Take()) != 0 {
			t.Errorf("%s: %#v", tt.name, err)
		}
	}
}

func TestDoDecodes(t *testing.T) {
	t.Parallel()
	var vm cloudapi.VM
	var raw []byte
	var number int
	for _, tt := range []struct {
		name   string
		status int
		body   string
		out    any
		want   any
		err    error
	}{
		{"record", 200, stub.VM, &vm, &cloudapi.VM{ID: stub.VMID, Name: "web-1", State: "running", Location: "eu-central-h1"}, nil},
		{"bytes", 200, "any\x00thing", &raw, new([]byte("any\x00thing")), nil},
		{"no bytes", 204, "", &raw, new([]byte{}), nil},
		{"dropped", 200, "<html>", nil, nil, nil},
		{"wrong type", 200, `"x"`, &number, new(0), cloudapi.ErrInvalidResponse},
		{"nothing", 204, "", &number, new(0), cloudapi.ErrInvalidResponse},
	} {
		network := stub.Recorder{Answer: stub.Always(tt.status, tt.body)}
		err := sdktest.Recorded(t, &network).Do(t.Context(), "GET", []string{"x"}, nil, nil, tt.out)
		if !errors.Is(err, tt.err) || !reflect.DeepEqual(tt.out, tt.want) {
			t.Errorf("%s: %v, %s", tt.name, err, stub.JSON(tt.out))
		}
	}
	// The buffer of a response is reused, so Do must copy its bytes.
	network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
		return stub.Respond(200, strings.Repeat(req.URL.Path, 100)), nil
	}}
	client := sdktest.Recorded(t, &network)
	var replies [20][]byte
	for i := range replies {
		if err := client.Do(t.Context(), "GET", []string{fmt.Sprint(i)}, nil, nil, &replies[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, reply := range replies {
		if want := strings.Repeat(fmt.Sprint("/", i), 100); string(reply) != want {
			t.Errorf("response %d has become %s", i, reply)
		}
	}
}

func TestClientDescribesItself(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	client := sdktest.Recorded(t, &network)
	const want = `cloudapi.Client(https://api.example.com, project "` + stub.Project + `")`
	for _, got := range []string{client.String(), fmt.Sprintf("%v", client), fmt.Sprintf("%#v", client), fmt.Sprintf("%d", client),
		fmt.Sprintf("%v", *client), fmt.Sprintf("%+v", *client), fmt.Sprint([]cloudapi.Client{*client})[1 : len(want)+1], client.LogValue().String()} {
		if got != want {
			t.Errorf("the client is %s, want %s", got, want)
		}
	}
	for _, v := range []any{client, *client} {
		var decoded string
		if err := json.Unmarshal(stub.JSON(v), &decoded); err != nil || decoded != want {
			t.Errorf("its JSON is %s", stub.JSON(v))
		}
	}
}
