package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// A controlled server, and a client of its API that makes one attempt.
type controlled struct {
	*testing.T
	*cloudapi.Client
	env map[string]string
}

func startControlled(t *testing.T, args ...string) controlled {
	t.Helper()
	c, env, _ := start(t, append([]string{"-control", "127.0.0.1:0"}, args...)...)
	c = stub.Must(c.With(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})))(t)
	return controlled{t, c, env}
}

// ask sends a request to the control address, as a program in any language
// would.
func (c controlled) ask(method, path, body string, change func(*http.Request)) (status int, answer string) {
	c.Helper()
	request := stub.Must(http.NewRequestWithContext(c.Context(), method, c.env["CLOUDAPI_CONTROL_URL"]+path, strings.NewReader(body)))(c)
	request.Header.Set("Authorization", "Bearer "+c.env[cloudapi.EnvToken])
	if change != nil {
		change(request)
	}
	response := stub.Must((&http.Transport{DisableKeepAlives: true}).RoundTrip(request))(c)
	defer response.Body.Close()
	return response.StatusCode, strings.TrimSpace(string(stub.Must(io.ReadAll(response.Body))(c)))
}

// post applies changes, which the server must accept.
func (c controlled) post(document string) {
	c.Helper()
	if status, answer := c.ask("POST", "/", document, nil); status != 204 || answer != "" {
		c.Fatalf("%s: %d %s", document, status, answer)
	}
}

func (c controlled) get(path string, into any) {
	c.Helper()
	status, answer := c.ask("GET", path, "", nil)
	if err := json.Unmarshal([]byte(answer), into); status != 200 || err != nil {
		c.Fatalf("%s: %d, %v: %s", path, status, err, answer)
	}
}

// create creates a VM with two vCPUs, and returns its state.
func (c controlled) create(name string) (state string, err error) {
	vm, err := c.VMs.Create(c.Context(), location, name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", Size: "standard-2"})
	if err == nil {
		vm, err = c.VMs.Get(c.Context(), location, vm.ID)
	}
	if err != nil {
		return "", err
	}
	return vm.State, nil
}

// TestFaultsOverHTTP: a client sees each kind of fault, and the control address
// shows which are left.
func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	c := startControlled(t, "-delay", "0")
	ctx := t.Context()
	list := func() (status int, text string) {
		_, err := c.VMs.List(ctx, nil)
		if e, ok := errors.AsType[*cloudapi.Error](err); ok {
			return e.StatusCode, e.Message + e.Body
		}
		if err != nil {
			return -1, err.Error()
		}
		return 200, ""
	}
	expect := func(want ...int) {
		t.Helper()
		var got []int
		for range want {
			status, _ := list()
			got = append(got, status)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the responses are %v, want %v", got, want)
		}
	}

	c.post(`{"fail": {"operation": "VMs.List", "nth": 2, "with": [
		{"status": 503, "header": {"Retry-After": "7"}, "body": {"error": {"code": 503, "type": "Down", "message": "out of order"}}},
		{"status": 418, "body": "a teapot"}]}}`)
	expect(200)
	_, err := c.VMs.List(ctx, nil)
	if e, ok := errors.AsType[*cloudapi.Error](err); !ok || e.StatusCode != 503 || e.Message != "out of order" || e.Type != "Down" || e.RetryAfter != 7*time.Second {
		t.Errorf("%#v, want the given response", err)
	}
	if status, text := list(); status != 418 || text != "a teapot" {
		t.Errorf("%d %q, want the given text", status, text)
	}
	expect(200)

	c.post(`{"fail": {"method": "POST", "with": [{"drop": "before"}, {"drop": "after"}]}}`)
	for _, name := range []string{"not-sent", "sent"} {
		if _, err := c.create(name); !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			t.Errorf("%s: %v, want an unknown outcome", name, err)
		}
		if _, err := c.VMs.Get(ctx, location, name); errors.Is(err, cloudapi.ErrNotFound) != (name == "not-sent") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.post(`{"fail": {"operation": "VMs.Get", "with": [{"truncate": 10}]}}`)
	if _, err := c.VMs.Get(ctx, location, "sent"); !errors.As(err, new(*cloudapi.TransportError)) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, want half a response", err)
	}
	c.post(`{"fail": {"operation": "VMs.List", "with": [{"truncate": 1000000}]}}`)
	expect(200) // nothing is cut, and the server goes on

	c.post(`{"fail": {"route": "/project/{project_id}/vm", "with": [{"status": 502, "for": "1h"}, {"status": 429}]}}`)
	expect(502, 502)
	c.post(`{"clock": {"advance": "1h"}}`)
	expect(429, 200)
	c.post(`{"fail": {"with": [{"status": 500, "delay": "1ms", "repeat": true}]}}`)
	expect(500, 500, 500)
	var faults []struct {
		Fail struct {
			Operation, Method, Route string
			Nth                      int
			With                     []map[string]any
		}
		Met, Left int
	}
	c.get("/faults", &faults)
	if len(faults) != 6 {
		t.Fatalf("the faults are %+v", faults)
	}
	first, last := faults[0], faults[5]
	if first.Met != 2 || first.Left != 0 || first.Fail.Operation != "VMs.List" || first.Fail.Nth != 2 || first.Fail.With[1]["body"] != "a teapot" {
		t.Errorf("the first fault is %+v", first)
	}
	if last.Met != 3 || last.Left != 1 || last.Fail.With[0]["delay"] != "1ms" || last.Fail.With[0]["repeat"] != true {
		t.Errorf("the last fault is %+v", last)
	}
	if status, answer := c.ask("DELETE", "/faults", "", nil); status != 204 {
		t.Errorf("%d %s", status, answer)
	}
	expect(200)
	if status, answer := c.ask("GET", "/faults", "", nil); status != 200 || answer != "[]" {
		t.Errorf("%d %s, want no faults", status, answer)
	}
}

// TestEverythingElseOverHTTP applies changes, and checks their effect through the
// API.
func TestEverythingElseOverHTTP(t *testing.T) {
	t.Parallel()
	c := startControlled(t, "-quota", "vm=4,kubernetes=8", "-delay", "0")
	ctx, project := t.Context(), c.env[cloudapi.EnvProject]
	create := func(name string) func() (string, error) {
		return func() (string, error) { return c.create(name) }
	}
	state := func(name string) func() (string, error) {
		return func() (string, error) {
			vm, err := c.VMs.Get(ctx, location, name)
			if err != nil {
				return "", err
			}
			return vm.State, nil
		}
	}
	lantern := func() (string, error) {
		_, err := c.Postgres.Create(ctx, location, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, Flavor: "lantern"})
		return "", err
	}
	log := func() (string, error) {
		var health struct{ Time time.Time } // the clock stands still
		c.get("/health", &health)
		lines, err := cloudapi.Collect(c.Postgres.AllLogs(ctx, location, "db", &cloudapi.PostgresLogsOptions{QueryPattern: "too late", End: health.Time}))
		if err != nil || len(lines) != 1 {
			return fmt.Sprint(len(lines), " lines"), err
		}
		return fmt.Sprint(lines[0].Context, lines[0].SeverityLevel, health.Time.Sub(lines[0].Timestamp)), nil
	}
	serialLog := func() (string, error) {
		log, err := c.VMs.SerialLog(ctx, location, "web-1", nil)
		if err != nil {
			return "", err
		}
		return log.Status + " " + log.Output, nil
	}
	load := func() (string, error) {
		return fmt.Sprint(count(t, c.VMs.All(ctx, &cloudapi.ListOptions{Location: "eu-north-h1"}))), nil
	}
	services := func() (string, error) {
		balancers, err := cloudapi.Collect(c.LoadBalancers.All(ctx, nil))
		return fmt.Sprint(slices.ContainsFunc(balancers, func(lb *cloudapi.LoadBalancer) bool { return strings.HasSuffix(lb.Name, "-services") })), err
	}
	stub.Must(c.create("web-1"))(t)
	id := stub.Must(c.VMs.Get(ctx, location, "web-1"))(t).ID
	stub.Must(c.Kubernetes.Create(ctx, location, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2", WorkerNodeCount: 1}))(t)
	for _, step := range []struct {
		change string // "" is none
		do     func() (string, error)
		want   string
		err    error
	}{
		{`[{"delays": {"kind": "vm", "ref": "slow", "create": "1h"}}, {"clock": {"speed": 0}}]`, create("slow"), "creating", nil},
		{`{"clock": {"advance": "59m59s"}}`, state("slow"), "creating", nil},
		{`{"clock": {"advance": "1s"}}`, state("slow"), "running", nil},
		{`{"quota": {"postgres": 4}}`, create("web-2"), "", cloudapi.ErrInvalidRequest}, // beyond the quota of the flag
		{`[{"quota": {"vm": 100}}, {"quota": {"projects": 4}}]`, create("web-2"), "running", nil},
		{`{"delays": {"all": "2h", "restart": "1s"}}`, create("web-3"), "creating", nil},
		{`{"state": {"kind": "vm", "ref": "web-1", "state": "no capacity available"}}`, state("web-1"), "no capacity available", nil},
		{`{"state": {"ref": "` + id + `", "state": ""}}`, state("web-1"), "running", nil},
		{`{"billing": {"valid": false}}`, create("unpaid"), "", cloudapi.ErrInvalidRequest},
		{`{"billing": {"project": "` + project + `", "valid": true}}`, create("paid"), "creating", nil},
		{`{"permissions": {"permissions": ["*:view"]}}`, create("forbidden"), "", cloudapi.ErrForbidden},
		{`{"permissions": {"project": "` + project + `", "token": "` + c.env[cloudapi.EnvToken] + `", "permissions": ["*"]}}`, lantern, "", cloudapi.ErrInvalidRequest},
		{`{"features": {"features": ["lantern"]}}`, lantern, "", nil},
		{`{"log_line": {"database": "db", "message": "too late", "age": "40s", "severity_level": "FATAL", "context": {"user": "app"}}}`, log, "map[user:app]FATAL40s", nil},
		{`[{"delays": {"serial_log": "0s"}}, {"serial_log": {"vm": "web-1", "output": "panic"}}]`, serialLog, "created ", nil},
		{``, serialLog, "succeeded panic", nil},
		{`{"vms": {"location": "eu-north-h1", "prefix": "load", "count": 70}}`, load, "70", nil},
		{`{"cluster_service": {"cluster": "apps", "src_port": 80, "dst_port": 30080}}`, services, "true", nil},
	} {
		if step.change != "" {
			c.post(step.change)
		}
		if got, err := step.do(); got != step.want || !errors.Is(err, step.err) {
			t.Errorf("after %s: %q, %v, want %q, %v", step.change, got, err, step.want, step.err)
		}
	}
}

// TestRequestsOverHTTP: the log shows the requests that were sent, without the
// token.
func TestRequestsOverHTTP(t *testing.T) {
	t.Parallel()
	c := startControlled(t, "-demo")
	var requests []map[string]any
	if c.get("/requests", &requests); len(requests) != 0 {
		t.Errorf("nobody has sent the requests %v", requests)
	}
	stub.Must(c.VMs.List(t.Context(), &cloudapi.ListOptions{PageSize: 2}))(t)
	stub.Must(c.create("web-9"))(t)
	c.get("/requests", &requests)
	if len(requests) != 3 {
		t.Fatalf("the requests are %v", requests)
	}
	list, post := requests[0], requests[1]
	project := "/project/" + c.env[cloudapi.EnvProject]
	if list["name"] != "VMs.List" || list["operation"] != "GET /project/{project_id}/vm" || list["method"] != "GET" || list["path"] != project+"/vm" ||
		list["query"] != "page_size=2" || list["status"] != 200.0 || list["body"] != nil {
		t.Errorf("the list is logged as %v", list)
	}
	body, _ := post["body"].(map[string]any)
	header, _ := post["header"].(map[string]any)
	if post["name"] != "VMs.Create" || body["size"] != "standard-2" || header["Authorization"].([]any)[0] != "Bearer ***" {
		t.Errorf("the create is logged as %v", post)
	}
	if status, answer := c.ask("DELETE", "/requests", "", nil); status != 204 {
		t.Errorf("%d %s", status, answer)
	}
	if c.get("/requests", &requests); len(requests) != 0 {
		t.Errorf("the requests are %v after they were cleared", requests)
	}
}

// TestResetOverHTTP: a reset restores what the flags and the scenario ask for,
// and nothing else.
func TestResetOverHTTP(t *testing.T) {
	t.Parallel()
	c := startControlled(t, "-demo", "-vms", "2", "-delay", "0", "-fail", "VMs.Get=503,drop-before", "-quota", "vm=9", "-features", "lantern,private-link-services",
		"-scenario", scenario(t, `[{"vms": {"prefix": "mine", "count": 1}}, {"delays": {"kind": "vm", "create": "1h"}}]`))
	ctx := t.Context()
	for round := range 2 {
		if _, err := c.VMs.Get(ctx, location, "vm-1"); !errors.Is(err, cloudapi.ErrServer) {
			t.Errorf("round %d: %v, want the first fault", round, err)
		}
		if _, err := c.VMs.Get(ctx, location, "vm-1"); !errors.As(err, new(*cloudapi.TransportError)) {
			t.Errorf("round %d: %v, want the second fault", round, err)
		}
		if n := count(t, c.VMs.All(ctx, nil)); n != 5 {
			t.Errorf("round %d: %d VMs, want those of the demo, of -vms and of the scenario", round, n)
		}
		if n := count(t, c.PrivateLinkServices.All(ctx, nil)); n != 0 {
			t.Errorf("round %d: %d private link services", round, n)
		}
		if state, err := c.create("slow"); state != "creating" {
			t.Errorf("round %d: %q, %v, want the delay of the scenario", round, state, err)
		}
		c.post(`[{"fail": {"with": [{"status": 500, "repeat": true}]}}, {"clock": {"speed": 0}}, {"quota": {}}, {"permissions": {"permissions": []}}]`)
		if status, answer := c.ask("POST", "/reset", "", nil); status != 204 {
			t.Fatalf("round %d: %d %s", round, status, answer)
		}
	}
	var faults []struct{ Met, Left int }
	if c.get("/faults", &faults); len(faults) != 1 || faults[0].Left != 2 || faults[0].Met != 0 {
		t.Errorf("the faults are %v, want those of -fail", faults)
	}
}

// scenario returns the path of a file with the text.
func scenario(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRefusedChanges: over HTTP and in a file the error names what is wrong,
// and the server applies nothing.
func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	c := startControlled(t, "-demo", "-delay", "1h")
	for document, want := range map[string]string{
		``:                         "the JSON is incomplete",
		`{"fail"`:                  "the JSON is incomplete",
		`null`:                     "it is null",
		`"reset"`:                  "it can't be a JSON string",
		`{} {}`:                    "there is something after the JSON",
		`{}`:                       "a change has one member, but this one has 0",
		`{"vms": {}, "clock": {}}`: `a change has one member, but this one has 2: ["clock" "vms"]`,
		`{"fail": {"with": [{"status": 503}]}, "fail": {"with": [{"status": 502}]}}`:  `has 2: ["fail" "fail"]`,
		`{"fail": {"path": "project/pj/vm", "with": [{"status": 503}]}}`:              `fail: "project/pj/vm" is not a path: it begins with a slash`,
		`{"fail": {"path": "/project/pj/vm?page_size=9", "with": [{"status": 503}]}}`: `is not a path`,
		`{"log_line": {"database": "nothing", "message": "x"}}`:                       `log_line: there are 0 resources of kind pg named "nothing"`,
		`{"log_line": {"database": "orders", "severity_level": "info"}}`:              `log_line: "info" is no severity level`,
		`{"serial_log": {"vm": "web-1", "output": "x", "fails": true}}`:               "serial_log: it has both output and fails",
		`{"serial_log": {"vm": "nothing"}}`:                                           `serial_log: there are 0 resources of kind vm named "nothing"`,
		`{"reset": {}}`:                                                               `there is no change "reset"; there are billing, clock,`,
		`[{"vms": {"count": 1}}, {"quota": {"gpu": 1}}]`:                              `change 2: quota: unknown field "gpu"`,
		`{"fail": {"operation": "VMs.Get"}}`:                                          "fail: there are no faults",
		`{"fail": {"operation": "VMs.All", "with": [{"status": 503}]}}`:               `fail: there is no operation "VMs.All"`,
		`{"fail": {"route": "/vm", "with": [{"status": 503}]}}`:                       `fail: there is no route template "/vm"`,
		`{"fail": {"with": [{}]}}`:                                                    "fail: a fault does nothing",
		`{"fail": {"with": [{"status": 99}]}}`:                                        "fail: 99 is not the status of a response",
		// Go 1.27 says with.0.status.
		`{"fail": {"with": [{"status": "503"}]}}`:                                 "status can't be a JSON string",
		`{"fail": {"with": [{"drop": "now"}]}}`:                                   `fail: with: fault 1: drop is "now", but must be before or after`,
		`{"fail": {"with": [{"status": 503}, {"drop": "after", "truncate": 1}]}}`: "fail: with: fault 2: it has more than one of",
		`{"fail": {"with": [{"body": "x"}]}}`:                                     "a header or a body needs a status",
		`{"fail": {"with": [{"status": 503, "for": "-1s"}]}}`:                     "for is negative",
		`{"fail": {"with": [{"status": 503, "for": 30}]}}`:                        "for can't be a JSON number",
		`{"fail": {"with": [{"status": 503, "for": "30"}]}}`:                      `"30": a time needs a unit, such as 2s`,
		`{"fail": {"with": [{"status": 503, "for": "30s", "repeat": true}]}}`:     "both repeating and for a time",
		`{"fail": {"with": [{"delay": "-1s"}]}}`:                                  "delay is negative",
		`{"fail": {"with": [{"truncate": -1}]}}`:                                  "fail: a response can't be cut to fewer than 0 bytes",
		`{"fail": {"with": [{"status": 503, "repeat": true}, {"status": 500}]}}`:  "no request can meet it",
		`{"fail": {"wiht": []}}`:                                                  `fail: unknown field "wiht"`,
		`{"delays": {"kind": "virtual machine"}}`:                                 `delays: there is no kind "virtual machine"`,
		`{"delays": {"kind": "sk"}}`:                                              "delays: SSH public key has no delays",
		`{"delays": {"kind": "vm", "create": "-1s"}}`:                             "has a negative delay",
		`{"quota": {"vm": -1}}`:                                                   "has a negative quota",
		`{"billing": {}}`:                                                         "billing: valid is missing",
		`{"billing": {"project": "pj0", "valid": true}}`:                          `billing: there is no project "pj0"`,
		`{"features": {}}`:                                                        "features: features are missing; [] is none",
		`{"features": {"features": ["arm"]}}`:                                     `features: there is no feature "arm"`,
		`{"permissions": {}}`:                                                     "permissions: permissions are missing; [] is none",
		`{"permissions": {"permissions": ["vm"]}}`:                                `permissions: there is no permission "vm"`,
		`{"permissions": {"token": "pat-other", "permissions": []}}`:              "permissions: there is no such token",
		`{"state": {"kind": "vm", "ref": "web-1"}}`:                               `state: state is missing`,
		`{"state": {"state": "stopped"}}`:                                         "state: it names no resource",
		`{"state": {"ref": "web-1", "state": "stopped"}}`:                         `state: there is no kind ""`,
		`{"state": {"kind": "vm", "ref": "web-7", "state": "stopped"}}`:           `state: there are 0 resources of kind vm named "web-7"`,
		`{"state": {"ref": "vm00000000000000000000000000", "state": "stopped"}}`:  `state:`,
		`{"cluster_service": {"cluster": "web", "src_port": 80, "dst_port": 80}}`: `cluster_service: there are 0 resources of kind kc named "web"`,
		`{"cluster_service": {"cluster": "apps", "src_port": 0, "dst_port": 80}}`: "0 or 80 isn't a port number",
		`{"clock": {}}`:                             "clock: it has neither advance nor speed",
		`{"clock": {"advance": "-1s"}}`:             "clock: advance is negative",
		`{"clock": {"speed": -1}}`:                  "clock: speed must be from 0 to 10000",
		`{"clock": {"speed": 10001}}`:               "clock: speed must be from 0 to 10000",
		`{"vms": {"count": 0}}`:                     "vms: count is 0",
		`{"delays": {"ref": "web-1", "all": "1s"}}`: `delays: there is no kind ""`,
		`{"vms": {"prefix": "web", "count": 2}}`:    "vms: web-1: ",
		`{"vms": {"count": 1, "location": "moon"}}`: "vms:",
	} {
		status, answer := c.ask("POST", "/", document, nil)
		var refusal struct{ Error string }
		if err := json.Unmarshal([]byte(answer), &refusal); err != nil || status != 400 || !strings.Contains(refusal.Error, want) || strings.Contains(refusal.Error, "cloudapitest") {
			t.Errorf("%s: %d %s, want %q", document, status, answer, want)
			continue // a server with an accepted scenario would run on
		}
		path := scenario(t, document)
		err := run(t.Context(), []string{"-addr", "127.0.0.1:0", "-demo", "-delay", "0", "-scenario", path}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, new(usageError)) {
			t.Errorf("a file with %s: %v, want %q", document, err, want)
		}
	}
	if _, answer := c.ask("GET", "/faults", "", nil); answer != "[]" {
		t.Errorf("the faults are %s", answer)
	}
	if state, err := c.create("after-all"); state != "creating" || err != nil {
		t.Errorf("%q, %v", state, err)
	}
}

// TestControlIsGuarded: programs without the token can only check the health,
// and web pages can do nothing.
func TestControlIsGuarded(t *testing.T) {
	t.Parallel()
	c := startControlled(t)
	host := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, tt := range []struct {
		method, path, body string
		change             func(*http.Request)
		status             int
		want               string
	}{
		{"GET", "/health", "", func(r *http.Request) { r.Header.Del("Authorization") }, 200, `"status":"ok"`},
		{"GET", "/requests", "", func(r *http.Request) { r.Header.Del("Authorization") }, 401, "Authorization: Bearer"},
		{"POST", "/reset", "", header("Authorization", "Bearer pat-other"), 401, "the server's token"},
		{"POST", "/", `{"quota": {}}`, header("Authorization", "Basic eA=="), 401, "the server's token"},
		{"GET", "/faults", "", nil, 200, "[]"},
		{"GET", "/faults", "", host("localhost:8081"), 200, "[]"},
		{"GET", "/faults", "", host("cloudapi:8081"), 200, "[]"},
		{"GET", "/faults", "", host("[::1]:8081"), 200, "[]"},
		{"GET", "/faults", "", host("test.svc.cluster.local"), 200, "[]"},
		{"GET", "/faults", "", host("host.docker.internal:1"), 200, "[]"},
		{"GET", "/faults", "", host("rebound.example.com:8081"), 403, "rebound.example.com"},
		{"GET", "/health", "", host("127.0.0.1.example.com"), 403, "example.com"},
		{"GET", "/health", "", host("localhost.example."), 403, "localhost.example."},
		{"GET", "/faults", "", header("Origin", "http://127.0.0.1:3000"), 403, "a web page"},
		{"POST", "/reset", "", header("Origin", "null"), 403, "a web page"},
		{"POST", "/", strings.Repeat(" ", maxDocument+1), nil, 413, "more than 1048576 bytes"},
		{"GET", "/", "", nil, 404, "there is no GET /"},
		{"PUT", "/faults", "", nil, 404, "there is no PUT /faults"},
		{"GET", "/project", "", nil, 404, "there is no GET /project"},
	} {
		status, answer := c.ask(tt.method, tt.path, tt.body, tt.change)
		if status != tt.status || !strings.Contains(answer, tt.want) || !json.Valid([]byte(answer)) {
			t.Errorf("%s %s: %d %s, want %d with %q", tt.method, tt.path, status, answer, tt.status, tt.want)
		}
	}
	// The address of the API serves none of this.
	response := stub.Must(http.Get(c.env[cloudapi.EnvBaseURL] + "/health"))(t)
	if response.Body.Close(); response.StatusCode == 200 {
		t.Error("the address of the API has the control")
	}
}

func TestHealthCheck(t *testing.T) {
	t.Parallel()
	c := startControlled(t)
	for url, healthy := range map[string]bool{c.env["CLOUDAPI_CONTROL_URL"]: true, c.env["CLOUDAPI_CONTROL_URL"] + "/": true, c.env[cloudapi.EnvBaseURL]: false, "nowhere": false} {
		if err := run(t.Context(), []string{"-health-check", url}, io.Discard, io.Discard); (err == nil) != healthy {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestPrintedAddresses: programs on this machine can use the printed addresses.
func TestPrintedAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:80": "http://127.0.0.1:80", "[::]:8080": "http://127.0.0.1:8080", "0.0.0.0:8080": "http://127.0.0.1:8080",
		"[::1]:8080": "http://[::1]:8080", "10.0.0.7:8080": "http://10.0.0.7:8080", "[fd00::7]:8080": "http://[fd00::7]:8080",
	} {
		addr := stub.Must(net.ResolveTCPAddr("tcp", address))(t)
		got := localURL(addr)
		_, err := cloudapi.NewClient(cloudapi.WithBaseURL(got), cloudapi.WithToken("pat-test"))
		if got != want || (err != nil) != needsPermission(addr) {
			t.Errorf("%s: printed %s, want %s; a client says %v", address, got, want, err)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		begin := c.Now()
		for _, step := range []struct {
			sleep, advance time.Duration
			speed          *float64
			want           time.Duration // from the start until the change
		}{
			{time.Second, 0, nil, time.Second},
			{0, time.Hour, nil, time.Second},
			{time.Second, 0, new(60.0), time.Hour + 2*time.Second},
			{time.Minute, 0, new(0.0), 2*time.Hour + 2*time.Second},
			{time.Hour, time.Minute, new(0.5), 2*time.Hour + 2*time.Second},
			{time.Minute, 0, nil, 2*time.Hour + 90*time.Second + 2*time.Second},
		} {
			<-time.After(step.sleep)
			if got := c.Now().Sub(begin); got != step.want {
				t.Errorf("the clock shows %v, want %v", got, step.want)
			}
			if step.advance == 0 && step.speed == nil {
				continue
			}
			if err := c.change(step.advance, step.speed); err != nil {
				t.Error(err)
			}
		}
		c.restart()
		before := c.Now()
		if <-time.After(time.Second); c.Now().Sub(before) != time.Second {
			t.Errorf("after a restart a second takes %v", c.Now().Sub(before))
		}
		for range 100 {
			if err := c.change(200*365*24*time.Hour, nil); err != nil {
				return
			}
		}
		t.Error("the clock goes beyond the year 9999")
	})
}
