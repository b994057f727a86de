package cloudapitest

import (
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

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const here = "eu-central-h1"

// recorder is a TB that keeps what is reported to it and logged.
type recorder struct {
	testing.TB
	reports, lines []string
}

func (r *recorder) Logf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
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
			if status, body := stub.Do(t, srv, tt.method, path, tt.body); status != tt.status {
				t.Errorf("status %d, want %d: %s", status, tt.status, body)
			}
			srv.Close() // returns after the handler has returned and reported
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

// TestContentTypes: the server reads a body only if its Content-Type is
// application/json, in lower case, and otherwise refuses the request.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	srv := New(t)
	for contentType, want := range map[string]struct {
		status int
		text   string
	}{
		"application/json":                {200, `"name":"a"`},
		"application/json; charset=utf-8": {200, `"name":"a"`},
		"Application/JSON":                {400, "must include required parameters: name"}, // the server doesn't read the body
		"text/plain":                      {400, `request header must be set to \"application/json\"`},
		"":                                {400, `request header must be set to \"application/json\"`},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", srv.URL()+"/project", strings.NewReader(`{"name":"a"}`))
		r.Header = http.Header{"Authorization": {"Bearer " + srv.Token()}, "Content-Type": {contentType}}
		resp := stub.Must(srv.HTTPClient().Do(r))(t)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want.status || !strings.Contains(string(body), want.text) {
			t.Errorf("%q: %d %s, %v, want %d and %s", contentType, resp.StatusCode, body, err, want.status, want.text)
		}
	}
}

// zeros is an endless body, which counts the bytes that were read.
type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) {
	z.read += len(p)
	clear(p)
	return len(p), nil
}

// TestBodiesAreLimited: the server doesn't read a request to its end if it
// refuses the request or if the request is too large; refusing the token comes
// first.
func TestBodiesAreLimited(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		authorization string
		status, most  int
	}{{"", 401, maxRefusedBody}, {"Bearer pat-another", 401, maxRefusedBody}, {"Bearer pat-mine", 413, maxBody}} {
		synctest.Test(t, func(t *testing.T) {
			srv := New(t, WithToken("pat-mine"))
			body := &zeros{}
			r, _ := http.NewRequestWithContext(t.Context(), "POST", srv.URL()+"/project", io.LimitReader(body, 64<<20))
			r.Header = http.Header{"Authorization": {test.authorization}, "Content-Type": {"application/json"}}
			resp := stub.Must(srv.HTTPClient().Do(r))(t)
			resp.Body.Close()
			srv.Close()
			const buffered = 1 << 20 // bytes in transit
			if resp.StatusCode != test.status || body.read > test.most+buffered {
				t.Errorf("%q: status %d after %d bytes, want %d after about %d", test.authorization, resp.StatusCode, body.read, test.status, test.most)
			}
			if log := srv.Requests(); len(log) != 1 || log[0].Status != test.status || len(log[0].Body) != test.most {
				t.Errorf("%q: the log has %d requests", test.authorization, len(log))
			}
		})
	}
}

func TestDelaysUseTheClockOfTheBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t)
		srv.Fail(Match{}, Delay(time.Hour), Reply(503, nil, "").After(time.Minute))
		for _, want := range []struct {
			status int
			after  time.Duration
		}{{200, time.Hour}, {503, time.Minute}} {
			start := time.Now()
			status, body := stub.Do(t, srv, "GET", "/project", "")
			if passed := time.Since(start); status != want.status || passed != want.after {
				t.Errorf("%d after %v, want %d after %v: %s", status, passed, want.status, want.after, body)
			}
		}
	})
}

// TestCloseLeavesNoGoroutine: the bubble fails the test if a goroutine is left.
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

func TestStartAndServeSpeakTCP(t *testing.T) {
	t.Parallel()
	srv := NewServer(WithToken("pat-mine"))
	defer srv.Close()
	l := stub.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{}}
	for _, base := range []string{srv.Start(), "http://" + l.Addr().String()} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", base+"/project/"+srv.ProjectID(), nil)
		req.Header.Set("Authorization", "Bearer pat-mine")
		resp := stub.Must(client.Do(req))(t)
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
	late := stub.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	if err := srv.Serve(late); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve after Close returned %v, want ErrServerClosed", err)
	}
}

// A faked is a TB that the test can end.
type faked struct {
	recorder
	cleanups []func()
	fatal    string
}

// newFaked returns a faked test and a server for it.
func newFaked(t *testing.T) (*faked, *Server) {
	tb := &faked{recorder: recorder{TB: t}}
	return tb, New(tb)
}

func (f *faked) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }

func (f *faked) Fatalf(format string, args ...any) { f.fatal = fmt.Sprintf(format, args...) }

// end runs the cleanups of the test, and returns the reports.
func (f *faked) end() []string {
	for _, cleanup := range slices.Backward(f.cleanups) {
		cleanup()
	}
	return f.reports
}

func TestStartAfterCloseFails(t *testing.T) {
	t.Parallel()
	tb, srv := newFaked(t)
	srv.Close()
	if url := srv.Start(); url != "" || tb.fatal != "cloudapitest: Start: http: Server closed" {
		t.Errorf("Start = %q, and the test is told %q", url, tb.fatal)
	}
}
