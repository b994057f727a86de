package cloudapitest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

const here = "eu-central-h1"

// recorder is a TB that keeps what is reported to it.
type recorder struct {
	testing.TB
	reports []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

// do sends a request with the server's token and returns status and body.
func do(t *testing.T, srv *Server, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+srv.Token())
	req.Header.Set("Content-Type", "application/json")
	resp, err := srv.HTTPClient().Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error()
	}
	return resp.StatusCode, string(b)
}

func TestStrictServerReportsWhatNoClientSends(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path, body string
		status                   int
		report                   string // "" if there is none
	}{
		{"a correct request", "POST", "/project", `{"name":"a"}`, 200, ""},
		{"page parameters of a list", "GET", "/project?page_size=5", "", 200, ""},
		{"page parameters of a list without pages", "GET", "{P}/ssh-public-key?page_size=5", "", 200, ""},
		{"a path", "GET", "/projects", "", 404, "GET /projects is no operation of the API"},
		{"a method", "PUT", "/project", "", 404, "PUT /project is no operation of the API"},
		{"a doubled slash", "GET", "/project//vm", "", 404, "GET /project//vm is no operation of the API"},
		{"a query parameter", "GET", "/project?limit=5", "", 200, "GET /project has no query parameter limit"},
		{"a body field", "POST", "/project", `{"name":"a","size":1}`, 400, "POST /project has no body field size"},
		{"a body field beside alternatives", "POST", "{P}/ssh-public-key/k", `{"nam":"a"}`, 400,
			"POST /project/{project_id}/ssh-public-key/{ssh_public_key_reference} has no body field nam"},
		{"a wrong value", "POST", "/project", `{"name":"-"}`, 400, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tb := &recorder{TB: t}
			srv := New(tb)
			path := strings.Replace(tt.path, "{P}", "/project/"+srv.ProjectID(), 1)
			if status, body := do(t, srv, tt.method, path, tt.body); status != tt.status {
				t.Errorf("status %d, want %d: %s", status, tt.status, body)
			}
			srv.Close() // the handler has returned, and reported, when this does
			var want []string
			if tt.report != "" {
				want = []string{"cloudapitest: " + tt.report}
			}
			if !reflect.DeepEqual(tb.reports, want) {
				t.Errorf("reported %q, want %q", tb.reports, want)
			}
		})
	}
}

func TestLenientServerReportsNothing(t *testing.T) {
	t.Parallel()
	tb := &recorder{TB: t}
	srv := New(tb, Lenient())
	if status, _ := do(t, srv, "GET", "/nowhere?a=1", ""); status != 404 {
		t.Errorf("status %d, want 404", status)
	}
	srv.Close()
	if tb.reports != nil {
		t.Errorf("reported %q", tb.reports)
	}
}

// decodeIDs returns the IDs on a page and the count.
func decodeIDs(t *testing.T, body string) (ids []string, count int) {
	t.Helper()
	var list struct {
		Items []struct{ ID string }
		Count int
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, item := range list.Items {
		ids = append(ids, item.ID)
	}
	return ids, list.Count
}

func TestPagesAreCappedAndWalkedByID(t *testing.T) {
	t.Parallel()
	srv := New(t, WithPageCap(2))
	for range 4 {
		do(t, srv, "POST", "/project", `{"name":"same"}`)
	}
	var walked []string
	path := "/project?page_size=1000"
	for range 4 {
		_, body := do(t, srv, "GET", path, "")
		ids, count := decodeIDs(t, body)
		if count != 5 || len(ids) > 2 {
			t.Fatalf("a page of %d of %d, want at most 2 of 5", len(ids), count)
		}
		if len(ids) == 0 {
			break
		}
		walked = append(walked, ids...)
		path = "/project?page_size=1000&start_after=" + ids[len(ids)-1]
	}
	seen := map[string]bool{}
	for i, id := range walked {
		if i > 0 && walked[i-1] >= id {
			t.Errorf("%s comes before %s", walked[i-1], id)
		}
		seen[id] = true
	}
	if len(seen) != 5 {
		t.Errorf("walked over %q, want 5 projects", walked)
	}
}

func TestProjectLimitIsAQuota(t *testing.T) {
	t.Parallel()
	srv := New(t, WithQuota(Quota{Projects: 2}))
	for i, want := range []int{200, 400} {
		if status, body := do(t, srv, "POST", "/project", `{"name":"more"}`); status != want {
			t.Errorf("create %d: status %d, want %d: %s", i, status, want, body)
		}
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
		want   []string // of successive creates and lists, status or error
	}{
		{"reply", Match{Operation: list}, []Fault{Reply(503, header, "busy")}, []string{"200", "503 busy", "200", "200"}},
		{"reply by the SDK's name", Match{Operation: "Projects.List"}, []Fault{Reply(503, header, "busy")}, []string{"200", "503 busy", "200", "200"}},
		{"reply to the second", Match{Method: "GET", Nth: 2}, []Fault{Reply(503, nil, "busy")}, []string{"200", "200", "200", "503 busy"}},
		{"one after the other", Match{Path: "/project"}, []Fault{Reply(500, nil, "a"), Reply(502, nil, "b")},
			[]string{"500 a", "502 b", "200", "200"}},
		{"repeating", Match{Route: "/project"}, []Fault{Reply(500, nil, "a").Repeating()}, []string{"500 a", "500 a", "500 a", "500 a"}},
		{"drop before", Match{Operation: "POST /project"}, []Fault{DropBefore()}, []string{"EOF", "200", "200", "200"}},
		{"drop after", Match{Operation: "POST /project"}, []Fault{DropAfter()}, []string{"EOF", "200", "200", "200"}},
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
				status, body := do(t, srv, method, "/project", sent)
				if got := fmt.Sprint(status, " ", body); !strings.HasPrefix(got, want) && !strings.HasSuffix(got, want) {
					t.Errorf("%s number %d: %s, want %s", method, i, got, want)
				}
			}
		})
	}
}

// TestDropsDifferInWhatIsDone looks at the number of projects after a create
// whose answer was lost.
func TestDropsDifferInWhatIsDone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault Fault
		count int
	}{
		"before": {DropBefore(), 1},
		"after":  {DropAfter(), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := New(t)
			srv.Fail(Match{}, tt.fault)
			do(t, srv, "POST", "/project", `{"name":"a"}`)
			_, body := do(t, srv, "GET", "/project", "")
			if _, count := decodeIDs(t, body); count != tt.count {
				t.Errorf("%d projects, want %d", count, tt.count)
			}
			if got := srv.Requests()[0].Status; got != 0 {
				t.Errorf("the log says %d about a request without an answer", got)
			}
		})
	}
}

func TestDelaysAreThoseOfTheBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t)
		srv.Fail(Match{}, Delay(time.Hour), Reply(503, nil, "").After(time.Minute), Delay(time.Hour))
		for _, want := range []struct {
			status int
			after  time.Duration
		}{{200, time.Hour}, {503, time.Minute}} {
			start := time.Now()
			status, body := do(t, srv, "GET", "/project", "")
			if passed := time.Since(start); status != want.status || passed != want.after {
				t.Errorf("%d after %v, want %d after %v: %s", status, passed, want.status, want.after, body)
			}
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL()+"/project", nil)
		if _, err := srv.HTTPClient().Do(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the deadline's error", err)
		}
	})
}

// TestCloseLeavesNoGoroutine relies on the bubble, which fails the test if one
// is left.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t)
		srv.Fail(Match{}, Delay(time.Hour))
		failed := make(chan error)
		go func() {
			_, err := srv.HTTPClient().Get(srv.URL() + "/project")
			failed <- err
		}()
		synctest.Wait() // the request is in its delay
		srv.Close()
		if err := <-failed; err == nil {
			t.Error("a request survived Close")
		}
		if _, err := srv.HTTPClient().Get(srv.URL()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v after Close, want net.ErrClosed", err)
		}
		srv.Close()
	})
}

func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	srv := New(t, Lenient())
	do(t, srv, "POST", "/project?a=1", `{"name":"a"}`)
	do(t, srv, "GET", "/nowhere", "")
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

func TestTokens(t *testing.T) {
	t.Parallel()
	const none, foreign, revoked = "pat-none", "pat-foreign", "pat-revoked"
	srv := New(t, WithTokenAccess(none, AccessNone), WithTokenAccess(foreign, AccessForeign), WithTokenAccess(revoked, AccessRevoked))
	own, other := "/project/"+srv.ProjectID(), "/project/"+srv.OtherProjectID()
	tests := []struct {
		header, method, path string
		status               int
		errorType            string
	}{
		{"", "GET", own, 401, "MissingCredentials"},
		{"Basic " + srv.Token(), "GET", own, 401, "MissingCredentials"},
		{"Bearer " + srv.Token(), "GET", own, 200, ""},
		{"Bearer: " + srv.Token(), "GET", own, 200, ""},
		{"Bearer  " + srv.Token() + " ", "GET", own, 200, ""},
		{"bearer " + srv.Token(), "GET", own, 401, "InvalidCredentials"},
		{"Bearer pat-" + strings.ToUpper(srv.Token()[4:30]) + srv.Token()[30:], "GET", own, 200, ""},
		{"Bearer " + srv.Token()[:30] + strings.ToUpper(srv.Token()[30:]) + "x", "GET", own, 401, "InvalidCredentials"},
		{"Bearer " + revoked, "GET", own, 401, "InvalidCredentials"},
		{"Bearer " + none, "GET", own, 403, "Forbidden"},
		{"Bearer " + none, "GET", "/project", 200, ""},
		{"Bearer " + foreign, "GET", own, 404, "ResourceNotFound"},
		{"Bearer " + foreign, "GET", other, 200, ""},
		{"Bearer " + srv.Token(), "GET", other, 404, "ResourceNotFound"},
		{"Bearer " + srv.Token(), "DELETE", other, 204, ""},
		{"Bearer " + foreign, "GET", other, 200, ""}, // it is still there
	}
	for _, tt := range tests {
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, srv.URL()+tt.path, nil)
		if tt.header != "" {
			req.Header.Set("Authorization", tt.header)
		}
		resp, err := srv.HTTPClient().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ Error struct{ Type string } }
		_ = json.NewDecoder(resp.Body).Decode(&e) // a 204 has none
		resp.Body.Close()
		if resp.StatusCode != tt.status || e.Error.Type != tt.errorType {
			t.Errorf("%q %s %s: %d %q, want %d %q", tt.header, tt.method, tt.path, resp.StatusCode, e.Error.Type, tt.status, tt.errorType)
		}
	}
}

func TestRequestLogIsBounded(t *testing.T) {
	t.Parallel()
	for bound, want := range map[int]int{0: 0, 1: 1, 3: 3, 100: 20} {
		srv := New(t, WithRequestLog(bound))
		for i := range 20 {
			if status, body := do(t, srv, "GET", fmt.Sprintf("/project?page_size=%d", i+1), ""); status != 200 {
				t.Fatal(body)
			}
		}
		requests := srv.Requests()
		if len(requests) != want || len(srv.log.entries) > max(2*bound, 0) {
			t.Errorf("of 20 requests %d are kept and %d shown, with a bound of %d", len(srv.log.entries), len(requests), bound)
		}
		for i, r := range requests {
			if want := fmt.Sprintf("page_size=%d", 20-len(requests)+i+1); r.RawQuery != want || r.Status != 200 {
				t.Errorf("request %d is %s with status %d, want %s", i, r.RawQuery, r.Status, want)
			}
		}
	}
}

func TestOptionsRefuseUnusableValues(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]Option{
		"token":     WithToken("secret"),
		"more":      WithTokenAccess("pat-a b", AccessFull),
		"project":   WithProjectID("pj1"),
		"kind":      WithProjectID(cloudapi.NewID(cloudapi.KindVM).String()),
		"page":      WithPageCap(0),
		"log":       WithRequestLog(-1),
		"locations": WithLocations(),
		"twice":     WithLocations("a", "b", "a"),
		"slash":     WithLocations("a/b"),
		"access":    WithTokenAccess("pat-a", AccessRevoked+1),
		"no access": WithTokenAccess("pat-a", -1),
		"delays":    WithDelays(Delays{Detach: -1}),
		"quota":     WithQuota(Quota{VM: 1, Projects: -1}),
	} {
		if _, err := newConfig([]Option{opt}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestStartAndServeSpeakTCP(t *testing.T) {
	t.Parallel()
	srv := NewServer(WithToken("pat-mine"))
	defer srv.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{}}
	for _, base := range []string{srv.Start(), "http://" + l.Addr().String()} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", base+"/project/"+srv.ProjectID(), nil)
		req.Header.Set("Authorization", "Bearer pat-mine")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s: status %d, want 200", base, resp.StatusCode)
		}
	}
	client.CloseIdleConnections()
	srv.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve returned %v, want ErrServerClosed", err)
	}
	late, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(late); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve after Close returned %v, want ErrServerClosed", err)
	}
}

func TestSetStateWantsAnObject(t *testing.T) {
	t.Parallel()
	tb := &recorder{TB: t}
	srv := New(tb, WithDelays(Delays{}))
	vm := srv.AddVMs(here, "web", 1)[0]
	shows := func() string {
		v, err := srv.Client().VMs.Get(t.Context(), here, vm)
		if err != nil {
			t.Fatal(err)
		}
		return v.State
	}
	for _, state := range []string{"odd", ""} {
		srv.SetState(vm, state)
		if got, want := shows(), cmp.Or(state, "running"); got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
	}
	if tb.reports != nil {
		t.Errorf("reported %q", tb.reports)
	}
	srv.SetState("web-1", "running")
	srv.SetState(srv.ProjectID(), "running")
	if want := []string{
		`cloudapitest: SetState: there is no object "web-1" that shows a state`,
		fmt.Sprintf("cloudapitest: SetState: there is no object %q that shows a state", srv.ProjectID()),
	}; !reflect.DeepEqual(tb.reports, want) {
		t.Errorf("reported %q, want %q", tb.reports, want)
	}
}

// elapse lets time pass, which inside a bubble of synctest is over at once.
func elapse(d time.Duration) { <-time.After(d) }

func TestFailRefusesScriptsThatCannotWork(t *testing.T) {
	t.Parallel()
	srv := NewServer()
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
	srv.Fail(Match{}, DropAfter().Repeating(), DropAfter())
	if len(problems) != 11 {
		t.Errorf("%d problems were reported, want 11: %q", len(problems), problems)
	}
	srv.Fail(Match{Operation: "GET /project", Method: "GET", Route: "/project", Nth: 2}, Delay(time.Second), Reply(503, nil, ""))
	if len(problems) != 11 {
		t.Errorf("a proper script is refused: %s", problems[11])
	}
}

// A faked is a TB whose end the test decides.
type faked struct {
	recorder
	cleanups []func()
	fatal    string
}

func (f *faked) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }

func (f *faked) Fatalf(format string, args ...any) { f.fatal = fmt.Sprintf(format, args...) }

// end does what comes when a test is over, and returns what was reported.
func (f *faked) end() []string {
	for _, cleanup := range slices.Backward(f.cleanups) {
		cleanup()
	}
	return f.reports
}

func TestFaultsThatNobodyMetAreReported(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		match  Match
		faults []Fault
		want   string // in the only report; "" if there is none
	}{
		"met":             {Match{}, []Fault{Reply(503, nil, ""), Reply(503, nil, "")}, ""},
		"one left":        {Match{}, []Fault{Reply(503, nil, ""), Reply(503, nil, ""), DropAfter()}, "no request has met 1 of the faults of the script at server_test.go:"},
		"no match":        {Match{Method: "POST"}, []Fault{DropAfter(), DropAfter()}, "met 2 of the faults"},
		"not so often":    {Match{Nth: 3}, []Fault{DropAfter()}, "which 2 requests have matched"},
		"optional":        {Match{Method: "POST"}, []Fault{DropAfter().Optional(), Delay(time.Hour).Optional()}, ""},
		"partly optional": {Match{Method: "POST"}, []Fault{DropAfter(), DropAfter().Optional()}, "met 1 of the faults"},
		"repeating":       {Match{Method: "POST"}, []Fault{DropAfter().Repeating()}, ""},
		"before that":     {Match{Method: "POST"}, []Fault{DropBefore(), DropAfter().Repeating()}, "met 1 of the faults"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := &faked{recorder: recorder{TB: t}}
			srv := New(tb)
			srv.Fail(tt.match, tt.faults...)
			for range 2 {
				do(t, srv, "GET", "/project", "")
			}
			reports := tb.end()
			if tt.want == "" && reports != nil || tt.want != "" && (len(reports) != 1 || !strings.Contains(reports[0], tt.want)) {
				t.Errorf("reported %q, want %q", reports, tt.want)
			}
		})
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
		tb := &faked{recorder: recorder{TB: t}}
		srv := New(tb)
		script(srv)
		if status, body := do(t, srv, "GET", "/project", ""); status != 0 {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if got := tb.end(); len(got) != 1 || !strings.Contains(got[0], "a slip of the test") || !strings.Contains(got[0], "server_test.go") {
			t.Errorf("%s: reported %q", name, got)
		}
	}
	tb := &faked{recorder: recorder{TB: t}}
	srv := New(tb)
	srv.Fail(Match{}, Handle(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	if status, body := do(t, srv, "GET", "/project", ""); status != 0 || tb.end() != nil {
		t.Errorf("a handler that drops the connection: %d %s, reported %q", status, body, tb.reports)
	}
}

func TestTruncateThatCutsNothingIsReported(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault Fault
		want  int
	}{
		{Truncate(1), 0}, {Truncate(1 << 20), 1}, {Truncate(1 << 20).Optional(), 0}, {Truncate(1 << 20).Repeating(), 0},
	} {
		tb := &faked{recorder: recorder{TB: t}}
		srv := New(tb)
		srv.Fail(Match{}, tt.fault)
		do(t, srv, "GET", "/project", "")
		if got := tb.end(); len(got) != tt.want || tt.want == 1 && !strings.Contains(got[0], "Truncate(1048576) leaves the answer to GET /project whole") {
			t.Errorf("%+v: reported %q", tt.fault, got)
		}
	}
}

// TestRepliesAreDeclared: a reply that a test writes as JSON is one that the
// client takes for JSON.
func TestRepliesAreDeclared(t *testing.T) {
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
		"none": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0},
	} {
		srv := New(t)
		srv.Fail(Match{}, Handle(tt.handle))
		do(t, srv, "GET", "/project", "")
		srv.Close()
		if got := srv.Requests()[0].Status; got != tt.status {
			t.Errorf("%s: the log says %d, want %d", name, got, tt.status)
		}
	}
}

func TestStartAfterCloseFails(t *testing.T) {
	t.Parallel()
	tb := &faked{recorder: recorder{TB: t}}
	srv := New(tb)
	srv.Close()
	if url := srv.Start(); url != "" || tb.fatal != "cloudapitest: Start: http: Server closed" {
		t.Errorf("Start = %q, and the test is told %q", url, tb.fatal)
	}
}
