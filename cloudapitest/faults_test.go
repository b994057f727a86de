package cloudapitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestBeforeCount: if a list changes after the server has read the items of a
// page and before it counts them, only the count shows the change.
func TestBeforeCount(t *testing.T) {
	t.Parallel()
	tb := &recorder{TB: t}
	srv := New(tb, WithDelays(Delays{}))
	client := srv.Client()
	ctx := t.Context()
	create := func() { srv.AddVMs(here, fmt.Sprint("load-", len(srv.Requests())), 1) }
	remove := func() {
		page, err := client.VMs.List(ctx, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if err := client.VMs.Delete(ctx, here, page.Items[0].ID); err != nil {
			t.Error(err)
		}
	}
	for i, step := range []struct {
		change       func()
		items, count int
	}{
		{create, 0, 1},
		{create, 1, 2},
		{remove, 2, 1},
		{func() {}, 1, 1},
	} {
		srv.Fail(Match{Operation: "VMs.List"}, BeforeCount(step.change))
		page, err := client.VMs.List(ctx, &cloudapi.ListOptions{PageSize: 2})
		if err != nil || len(page.Items) != step.items || *page.Count != step.count {
			t.Errorf("step %d: %+v, %v, want %d items and a count of %d", i, page, err, step.items, step.count)
		}
	}
	if tb.reports != nil {
		t.Errorf("reported %q", tb.reports)
	}

	srv.Fail(Match{}, BeforeCount(create), BeforeCount(create).Optional(), BeforeCount(create).Repeating())
	for range 3 {
		stub.Do(t, srv, "GET", "/project/"+srv.ProjectID(), "")
	}
	if len(tb.reports) != 1 || !strings.Contains(tb.reports[0], "no page with a count") {
		t.Errorf("reported %q, want that one fault had no effect", tb.reports)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	const list = "GET /project"
	header := http.Header{"Retry-After": {"7"}}
	tests := []struct {
		name   string
		match  Match
		faults []Fault
		want   []string // of successive creates and lists: status or error
	}{
		{"reply", Match{Operation: list}, []Fault{Reply(503, header, "busy")}, []string{"200", "503 busy", "200", "200"}},
		{"reply by the SDK's name", Match{Operation: "Projects.List"}, []Fault{Reply(503, header, "busy")}, []string{"200", "503 busy", "200", "200"}},
		{"reply to the second", Match{Method: "GET", Nth: 2}, []Fault{Reply(503, nil, "busy")}, []string{"200", "200", "200", "503 busy"}},
		{"one after the other", Match{Path: "/project"}, []Fault{Reply(500, nil, "a"), Reply(502, nil, "b")},
			[]string{"500 a", "502 b", "200", "200"}},
		{"another path", Match{Path: "/projects"}, []Fault{Reply(500, nil, "a").Optional()}, []string{"200", "200", "200", "200"}},
		{"repeating", Match{Route: "/project"}, []Fault{Reply(500, nil, "a").Repeating()}, []string{"500 a", "500 a", "500 a", "500 a"}},
		{"drop before", Match{Operation: "POST /project"}, []Fault{DropBefore()}, []string{"EOF", `"count":1}`, "200", `"count":2}`}},
		{"drop after", Match{Operation: "POST /project"}, []Fault{DropAfter()}, []string{"EOF", `"count":2}`, "200", `"count":3}`}},
		{"truncate", Match{Operation: list}, []Fault{Truncate(5)}, []string{"200", "unexpected EOF", "200", "200"}},
		{"handle", Match{Func: func(r Request) bool { return string(r.Body) == `{"name":"a"}` }},
			[]Fault{Handle(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }).Repeating()},
			[]string{`200 {"name":"a"}`, "200", `200 {"name":"a"}`, "200"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := New(t)
			srv.Fail(tt.match, tt.faults...)
			for i, want := range tt.want {
				method, sent := "POST", `{"name":"a"}`
				if i%2 == 1 {
					method, sent = "GET", ""
				}
				status, body := stub.Do(t, srv, method, "/project", sent)
				if got := fmt.Sprint(status, " ", body); !strings.HasPrefix(got, want) && !strings.HasSuffix(got, want) {
					t.Errorf("%s number %d: %s, want %s", method, i, got, want)
				}
				if logged := srv.Requests()[i].Status; want == "EOF" && logged != 0 {
					t.Errorf("the log says %d about a request without a response", logged)
				}
			}
		})
	}
}

func TestFailRefusesScriptsThatCannotWork(t *testing.T) {
	t.Parallel()
	srv := NewServer(WithAPI(Contract))
	defer srv.Close()
	var problems []string
	srv.complain = func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	srv.Fail(Match{Operation: "VMs.All"}, DropAfter())
	srv.Fail(Match{Route: "/project/{id}/vm"}, DropAfter())
	srv.Fail(Match{Method: "get"}, DropAfter())
	srv.Fail(Match{Nth: -1}, DropAfter())
	srv.Fail(Match{})
	srv.Fail(Match{}, Fault{})
	srv.Fail(Match{}, Reply(0, nil, ""))
	srv.Fail(Match{}, Truncate(-1))
	srv.Fail(Match{}, Handle(nil))
	srv.Fail(Match{}, BeforeCount(nil))
	srv.Fail(Match{}, Reply(103, nil, ""))
	srv.Fail(Match{}, DropAfter().Repeating(), DropAfter())
	srv.Fail(Match{Operation: "Postgres.ListServers"}, DropAfter()) // not in the contract
	srv.Fail(Match{Route: "/project/{project_id}/audit-log"}, DropAfter())
	srv.Fail(Match{Operation: "VMs.Get", Method: "DELETE"}, DropAfter())
	srv.Fail(Match{}, DropAfter().For(0))
	srv.Fail(Match{}, DropAfter().For(-time.Second), DropAfter())
	srv.Fail(Match{}, DropAfter().For(time.Second).Repeating())
	if len(problems) != 18 {
		t.Errorf("%d problems were reported, want 18: %q", len(problems), problems)
	}
	srv.Fail(Match{Operation: "GET /project", Method: "GET", Route: "/project", Nth: 2}, Delay(time.Second), Reply(503, nil, ""))
	if len(problems) != 18 {
		t.Errorf("a proper script is refused: %s", problems[18])
	}
}

// TestFaultsWithoutEffect: a fault that no request has met, or that changes
// nothing, fails the test.
func TestFaultsWithoutEffect(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		match  Match
		faults []Fault
		want   string // in the only report; "" if there is none
	}{
		"met":             {Match{}, []Fault{Reply(503, nil, ""), Reply(503, nil, "")}, ""},
		"one left":        {Match{}, []Fault{Reply(503, nil, ""), Reply(503, nil, ""), DropAfter()}, "no request has met 1 of the faults of the script at faults_test.go:"},
		"no match":        {Match{Method: "POST"}, []Fault{DropAfter(), DropAfter()}, "met 2 of the faults"},
		"not so often":    {Match{Nth: 3}, []Fault{DropAfter()}, "requests that matched it: 2"},
		"optional":        {Match{Method: "POST"}, []Fault{DropAfter().Optional(), Delay(time.Hour).Optional()}, ""},
		"partly optional": {Match{Method: "POST"}, []Fault{DropAfter(), DropAfter().Optional()}, "met 1 of the faults"},
		"repeating":       {Match{Method: "POST"}, []Fault{DropAfter().Repeating()}, ""},
		"for a time":      {Match{Method: "POST"}, []Fault{DropAfter().For(time.Hour)}, ""},
		"after that":      {Match{}, []Fault{DropAfter().For(time.Hour), DropAfter()}, "met 1 of the faults"},
		"before that":     {Match{Method: "POST"}, []Fault{DropBefore(), DropAfter().Repeating()}, "met 1 of the faults"},
		"cut":             {Match{}, []Fault{Truncate(1)}, ""},
		"nothing cut":     {Match{}, []Fault{Truncate(1 << 20)}, "Truncate(1048576) leaves the response to GET /project whole"},
		"perhaps cut":     {Match{}, []Fault{Truncate(1 << 20).Optional(), Truncate(1 << 20).Repeating()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb, srv := newFaked(t)
			srv.Fail(tt.match, tt.faults...)
			for range 2 {
				stub.Do(t, srv, "GET", "/project", "")
			}
			reports := tb.end()
			if tt.want == "" && reports != nil || tt.want != "" && (len(reports) != 1 || !strings.Contains(reports[0], tt.want)) {
				t.Errorf("reported %q, want %q", reports, tt.want)
			}
		})
	}
}

// TestFaultsThatEnd: an outage begins with the first request that meets it, and
// ends when its time has passed; the rest of the script follows.
func TestFaultsThatEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t)
		script := srv.Fail(Match{Method: "GET", Nth: 2}, Reply(502, nil, "").For(time.Minute), Reply(429, nil, ""), Reply(504, nil, "").For(time.Second))
		var got []int
		send := func(after time.Duration) {
			<-time.After(after)
			status, _ := stub.Do(t, srv, "GET", "/project", "")
			got = append(got, status, script.Left())
		}
		for _, after := range []time.Duration{
			time.Hour, time.Hour, 0, time.Minute - 1, 1, 0, time.Second - 1, 1, 0,
		} {
			send(after)
		}
		want := []int{200, 3, 502, 3, 502, 3, 502, 3, 429, 1, 504, 1, 504, 1, 200, 0, 200, 0}
		if !slices.Equal(got, want) || script.Met() != 6 {
			t.Errorf("status and faults left: %v, want %v; %d requests have met a fault", got, want, script.Met())
		}
	})
}

// TestClearFaults: no fault is left, and cleared faults don't fail the test.
func TestClearFaults(t *testing.T) {
	t.Parallel()
	srv := New(t)
	outage, once := srv.Fail(Match{}, Reply(503, nil, "").Repeating()), srv.Fail(Match{Method: "POST"}, DropAfter(), DropBefore())
	if status, _ := stub.Do(t, srv, "GET", "/project", ""); status != 503 || outage.Met() != 1 || outage.Left() != 1 {
		t.Errorf("%d during an outage that %d requests have met", status, outage.Met())
	}
	srv.ClearFaults()
	if status, _ := stub.Do(t, srv, "GET", "/project", ""); status != 200 || outage.Left() != 0 || once.Left() != 0 || once.Met() != 0 {
		t.Errorf("%d after the outage, with %d and %d faults left", status, outage.Left(), once.Left())
	}
	srv.Fail(Match{}, Reply(418, nil, ""))
	if status, _ := stub.Do(t, srv, "GET", "/project", ""); status != 418 {
		t.Errorf("%d, want a later fault", status)
	}
}

func TestPanicsAreReported(t *testing.T) {
	t.Parallel()
	broken := func() { panic("a slip of the test") }
	for name, script := range map[string]func(*Server){
		"handler": func(s *Server) { s.Fail(Match{}, Handle(func(http.ResponseWriter, *http.Request) { broken() })) },
		"match": func(s *Server) {
			s.Fail(Match{Func: func(Request) bool { broken(); return true }}, DropAfter().Optional())
		},
	} {
		tb, srv := newFaked(t)
		script(srv)
		if status, body := stub.Do(t, srv, "GET", "/project", ""); status != 0 {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if got := tb.end(); len(got) != 1 || !strings.Contains(got[0], "a slip of the test") || !strings.Contains(got[0], "faults_test.go") {
			t.Errorf("%s: reported %q", name, got)
		}
	}
	tb, srv := newFaked(t)
	srv.Fail(Match{}, Handle(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	if status, body := stub.Do(t, srv, "GET", "/project", ""); status != 0 || tb.end() != nil {
		t.Errorf("a handler that drops the connection: %d %s, reported %q", status, body, tb.reports)
	}
}

// TestResponsesAreDeclared: Reply declares a JSON body as JSON, unless its
// header has a Content-Type.
func TestResponsesAreDeclared(t *testing.T) {
	t.Parallel()
	const vm = `{"id":"vm164pbm96ba3grq6vbsvjb3ax"}`
	for _, tt := range []struct {
		header http.Header
		body   string
		want   string // Content-Type
	}{
		{nil, vm, "application/json"},
		{http.Header{"X": {"y"}}, vm, "application/json"},
		{http.Header{"Content-Type": {"text/x"}}, vm, "text/x"},
		{http.Header{"Content-Type": nil}, vm, ""},
		{nil, "<html>", "text/html; charset=utf-8"},
	} {
		srv := New(t)
		srv.Fail(Match{Operation: "Projects.List"}, Reply(200, tt.header, tt.body))
		if resp, err := srv.HTTPClient().Get(srv.URL() + "/project"); err != nil || resp.Header.Get("Content-Type") != tt.want {
			t.Errorf("%v %s: %v, %+v", tt.header, tt.body, err, resp)
		}
		if len(tt.header) > 1 {
			t.Errorf("the header became %v", tt.header)
		}
	}
}

// TestFaultsHitOneRequest: a fault that drops the connection hits one request,
// even after an earlier request. On a reused connection net/http itself would
// retry.
func TestFaultsHitOneRequest(t *testing.T) {
	t.Parallel()
	srv := New(t)
	onLoopback := stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL(srv.Start()), cloudapi.WithToken(srv.Token()), cloudapi.WithProject(srv.ProjectID())))(t)
	inMemory := srv.Client(cloudapi.WithHTTPClient(&http.Client{Transport: srv.memory.Transport()}))
	for name, c := range map[string]*cloudapi.Client{"on loopback": onLoopback, "in memory": inMemory} {
		c := stub.Must(c.With(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})))(t)
		stub.Must(c.Projects.Get(t.Context(), srv.ProjectID()))(t)
		before := len(srv.Requests())
		srv.Fail(Match{}, DropBefore())
		if _, err := c.Projects.Get(t.Context(), srv.ProjectID()); err == nil {
			t.Errorf("%s: the dropped request succeeds", name)
		}
		if n := len(srv.Requests()) - before; n != 1 {
			t.Errorf("%s: %d requests arrived, want 1", name, n)
		}
	}
}

// TestTimePassesBeforeCount: a VM is gone after the page was read and before
// the count.
func TestTimePassesBeforeCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t, WithDelays(Delays{Delete: time.Second}))
		client := srv.Client()
		srv.AddVMs(here, "load", 1)
		if err := client.VMs.Delete(t.Context(), here, "load-1"); err != nil {
			t.Fatal(err)
		}
		srv.Fail(Match{Operation: "VMs.List"}, BeforeCount(func() { stub.Elapse(time.Second) }))
		page, err := client.VMs.List(t.Context(), nil)
		if err != nil || len(page.Items) != 1 || *page.Count != 0 {
			t.Errorf("%+v, %v, want one item and a count of 0", page, err)
		}
	})
}

// TestDelayedRequestsOfClientsThatLeft: a delayed request isn't executed if the
// client gives up during the delay.
func TestDelayedRequestsOfClientsThatLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t)
		srv.Fail(Match{}, Delay(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := srv.Client().Projects.Create(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want %v", err, context.DeadlineExceeded)
		}
		stub.Elapse(2 * time.Hour)
		if page, err := srv.Client().Projects.List(t.Context(), nil); err != nil || len(page.Items) != 1 {
			t.Errorf("%v, %v, want one project", page, err)
		}
	})
}
