package families_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const here = "eu-central-h1"

// script returns a test that plays a script in a synctest bubble, with a new
// server.
func script(text string, opts ...cloudapitest.Option) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { play(t, cloudapitest.New(t, opts...), text) })
	}
}

// run runs the scripts of a family, by name.
func run(t *testing.T, scripts map[string]func(*testing.T)) {
	t.Parallel()
	for name, test := range scripts {
		t.Run(name, test)
	}
}

// exchange is a line of a script:
//
//	METHOD path [body] -> [status] [text & !text & …]
//
// The default status is 200, or 204 for a DELETE. The response contains the
// texts, and none with an exclamation mark; "same" is the text of the previous
// response. A path is in the project, after L/ in a location, and after / outside
// of the project. {vm web} stands for the ID of the VM web, and $x for the ID in
// the response to a line that begins with "x = ".
var exchange = regexp.MustCompile(`^(?:(\w+) = )?([A-Z]+) (\S+)(?: (.+?))? ->(?: (\d{3}))?(?: (.+))?$`)

var (
	object   = regexp.MustCompile(`\{(\w\w) ([\w.-]+)\}`)
	variable = regexp.MustCompile(`\$\w+`)
	id       = regexp.MustCompile(`"id":"(\w+)"`)
)

// play plays a script. Besides exchanges, its lines are "wait 1h", "state {vm
// web} stopped", "service {kc apps}", "token pat-other", "allow Vm:view" for
// that token, and comments.
func play(t *testing.T, srv *cloudapitest.Server, text string) {
	t.Helper()
	token, last, saved := srv.Token(), "", map[string]string{}
	for line := range strings.Lines(text) {
		line = object.ReplaceAllStringFunc(strings.TrimSpace(line), func(s string) string {
			m := object.FindStringSubmatch(s)
			ids := srv.IDs(cloudapi.Kind(m[1]), m[2])
			if len(ids) == 0 {
				t.Fatalf("%s: there is none", s)
			}
			return ids[0]
		})
		line = variable.ReplaceAllStringFunc(line, func(s string) string { return saved[s[1:]] })
		verb, rest, _ := strings.Cut(line, " ")
		switch m := exchange.FindStringSubmatch(line); {
		case m != nil:
			status, body := send(t, srv, token, m[2], m[3], m[4])
			want := m[5]
			if want == "" {
				want = map[bool]string{true: "204", false: "200"}[m[2] == http.MethodDelete]
			}
			if status[:3] != want {
				t.Errorf("%s: %s %s", line, status, body)
			}
			for _, part := range strings.Split(m[6], " & ") {
				part, not := strings.CutPrefix(part, "!")
				if part == "same" {
					part = last
				}
				if part != "" && strings.Contains(body, part) == not {
					t.Errorf("%s: %s %s\nwant %t for %s", line, status, body, !not, part)
				}
			}
			if last = body; m[1] != "" {
				saved[m[1]] = id.FindStringSubmatch(body)[1]
			}
		case verb == "wait":
			stub.Elapse(stub.Must(time.ParseDuration(rest))(t))
		case verb == "state":
			ref, state, _ := strings.Cut(rest, " ")
			srv.SetState(ref, state)
		case verb == "service":
			srv.SetClusterService(rest, 80, 30080)
		case verb == "token":
			token = rest
		case verb == "allow":
			srv.SetPermissions(srv.ProjectID(), token, strings.Fields(rest)...)
		case line != "" && verb != "#":
			t.Fatalf("not a line of a script: %s", line)
		}
	}
}

// send sends a request with a token to a path of a script. It returns the
// status, and the body followed by the headers Content-Type, Content-Disposition
// and Cache-Control.
func send(t *testing.T, srv *cloudapitest.Server, token, method, path, body string) (status, text string) {
	t.Helper()
	if rest, ok := strings.CutPrefix(path, "L/"); ok {
		path = "location/" + here + "/" + rest
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + srv.ProjectID() + "/" + path
	}
	path = "/project" + strings.TrimSuffix(path, "/.")
	r := stub.Must(http.NewRequestWithContext(t.Context(), method, srv.URL()+path, strings.NewReader(body)))(t)
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json"}}
	response := stub.Must(srv.HTTPClient().Do(r))(t)
	defer response.Body.Close()
	return response.Status, string(stub.Must(io.ReadAll(response.Body))(t)) +
		response.Header.Get("Content-Type") + response.Header.Get("Content-Disposition") + response.Header.Get("Cache-Control")
}
