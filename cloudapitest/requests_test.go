package cloudapitest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestRequestsAreLogged: the log also has requests that no client would send,
// even if the server is lenient and doesn't report them.
func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	srv := New(t, Lenient())
	stub.Do(t, srv, "POST", "/project?a=1", `{"name":"a"}`)
	stub.Do(t, srv, "GET", "/nowhere", "")
	log := srv.Requests()
	if len(log) != 2 {
		t.Fatalf("%d requests, want 2", len(log))
	}
	r := log[0]
	if r.Name != "Projects.Create" || r.Operation != "POST /project" || r.Route != "/project" || r.Method != "POST" || r.Path != "/project" ||
		r.RawQuery != "a=1" || string(r.Body) != `{"name":"a"}` || r.Status != 200 {
		t.Errorf("logged as %+v", r)
	}
	if got := r.Header.Get("Authorization"); got != "Bearer ***" {
		t.Errorf("the log shows the credentials %q", got)
	}
	if r := log[1]; r.Operation != "" || r.Status != 404 {
		t.Errorf("logged as %+v", r)
	}
	r.Header.Set("Authorization", "changed")
	r.Body[0] = 'x'
	if again := srv.Requests()[0]; again.Header.Get("Authorization") != "Bearer ***" || again.Body[0] != '{' {
		t.Error("the log can be changed from outside")
	}
}

func TestRequestLogIsBounded(t *testing.T) {
	t.Parallel()
	for bound, want := range map[int]int{0: 0, 1: 1, 3: 3, 100: 20} {
		srv := New(t, WithRequestLog(bound))
		for i := range 20 {
			if status, body := stub.Do(t, srv, "GET", fmt.Sprintf("/project/%s/vm?page_size=%d", srv.ProjectID(), i+1), strings.Repeat("1", maxLoggedBody+1)); status != 200 {
				t.Fatal(body)
			}
		}
		requests := srv.Requests()
		if len(requests) != want {
			t.Errorf("of 20 requests %d are kept with a bound of %d", len(requests), bound)
		}
		for i, r := range requests {
			if want := fmt.Sprintf("page_size=%d", 20-len(requests)+i+1); r.RawQuery != want || r.Status != 200 || len(r.Body) != maxLoggedBody {
				t.Errorf("request %d is %s with status %d and a body of %d bytes, want %s", i, r.RawQuery, r.Status, len(r.Body), want)
			}
		}
	}
}

func TestHandlersAreLogged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		handle func(http.ResponseWriter, *http.Request)
		status int
	}{
		"nothing": {func(http.ResponseWriter, *http.Request) {}, 200},
		"header":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) }, 418},
		"body":    {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }, 200},
		"flush": {func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 200},
		"early": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(201)
		}, 201},
		"none": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0},
	} {
		srv := New(t)
		srv.Fail(Match{}, Handle(tt.handle))
		stub.Do(t, srv, "GET", "/project", "")
		srv.Close()
		if got := srv.Requests()[0].Status; got != tt.status {
			t.Errorf("%s: the log says %d, want %d", name, got, tt.status)
		}
	}
}

func TestLogShowsNoCredentials(t *testing.T) {
	t.Parallel()
	srv := New(t)
	const secret = "s3cret"
	client := srv.Client(
		cloudapi.WithHeader("X-Api-Key", secret),
		cloudapi.WithHeader("Cookie", "session="+secret),
		cloudapi.WithHeader("X-Auth-Token", secret),
		cloudapi.WithHeader("X-Trace", "1"))
	stub.Must(client.Projects.List(t.Context(), nil))(t)
	header := srv.Requests()[0].Header
	if shown := fmt.Sprint(header); strings.Contains(shown, secret) || header.Get("X-Api-Key") != "***" || header.Get("X-Trace") != "1" {
		t.Errorf("the log shows %s", shown)
	}
}
