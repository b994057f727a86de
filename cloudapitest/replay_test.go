package cloudapitest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// The recordings hold exchanges with the real server. TestReplay sends their
// requests to ours and compares the answers.

// exceptions are the exchanges that ours answers differently on purpose, by
// their seq. One that turns out to be answered alike is an error: the entry has
// to go.
var exceptions = map[int]string{
	1028: "there are always metrics",
	1029: "the store of the metrics does not fail by itself",
	1030: "the store of the metrics does not fail by itself",
	6048: "net/http refuses a path with a broken escape before any handler sees it",
	6088: "net/http takes any word for a method; the real web server refuses lower case",
	6089: "net/http takes any word for a method; the real web server knows a fixed set",
	6107: "there is no web console under other host names",
	6108: "there is no web console under other host names",
	8073: "what stood in for the provisioning promoted the database, but not its server",
	8076: "what stood in for the provisioning enlarged the disk, but kept the server",
	8093: "what stood in for the provisioning promoted the database, but not its server",
	8100: "what stood in for the provisioning enlarged the disk, but kept the server",
}

// before holds what the recorder did to the real server between two exchanges.
var before = map[int]func(*replayer){
	186:  func(r *replayer) { r.place(vmA, vmB) },
	192:  func(r *replayer) { r.srv.SetState(r.ids[vmA], "stopped") },
	193:  func(r *replayer) { r.srv.SetState(r.ids[vmA], "waiting for capacity") },
	194:  func(r *replayer) { r.srv.SetState(r.ids[vmA], "no capacity available") },
	195:  func(r *replayer) { r.srv.SetState(r.ids[vmA], "starting") },
	196:  func(r *replayer) { r.srv.SetState(r.ids[vmA], "rebooting") },
	197:  func(r *replayer) { r.srv.SetState(r.ids[vmA], "creating") },
	198:  func(r *replayer) { r.srv.SetState(r.ids[vmA], "running") },
	248:  (*replayer).adoptLoadBalancers, // pages by ID follow
	1049: func(r *replayer) { r.agePostgres(pgA, 24*time.Hour) },
	1052: func(r *replayer) { r.srv.SetState(r.ids[pgA], "unavailable") },
	1053: func(r *replayer) { r.srv.SetState(r.ids[pgA], "") },
	1148: func(r *replayer) { r.buildCluster(k8sA) },
	1207: func(r *replayer) { r.join("pjh5999532w27kje0av8zz0fzf") },
	6162: (*replayer).fillAccount, // not all of the ten creates before it are in the recording

	8013: (*replayer).settle, // VM created
	8025: (*replayer).settle, // database created
	8038: (*replayer).settle, // cluster created
	8042: (*replayer).settle, // node pool resized
	8047: (*replayer).settle, // VM detached
	8059: (*replayer).settle, // VM restarted
	8071: (*replayer).settle, // replica created
	8073: (*replayer).settle, // replica promoted
	8076: (*replayer).settle, // database resized
	8083: (*replayer).settle, // VM deleted
	8089: (*replayer).settle, // load balancer deleted
	8096: (*replayer).settle, // former replica deleted
	8102: (*replayer).settle, // database deleted
	8109: (*replayer).settle, // cluster deleted
	8116: (*replayer).settle, // subnet deleted
}

// chance are the fields whose values depend on chance or on the installation.
// That they are there, and of which type, is compared all the same.
var chance = map[string]bool{
	"ca_certificates": true, "connection_string": true, "earliest_restore_time": true, "hostname": true,
	"ip4": true, "ip6": true, "key": true, "latest_restore_time": true, "net4": true, "net6": true,
	"private_ipv4": true, "private_ipv6": true, "values": true,
}

func TestReplay(t *testing.T) {
	t.Parallel()
	story, matrix, layer := load(t, "story"), load(t, "matrix"), load(t, "http")
	synctest.Test(t, func(t *testing.T) {
		elapse(time.Until(recordedAt)) // requests contain dates
		r := newReplayer(t)
		r.replay(story, exact)
		r.replay(matrix, shapes) // a sample: what it left behind in between is not known
		r.replay(layer, shapes)
		r.summarize()
	})
}

// TestReplayLifecycle replays another story, in which time passes.
func TestReplayLifecycle(t *testing.T) {
	t.Parallel()
	lifecycle := load(t, "lifecycle")
	synctest.Test(t, func(t *testing.T) {
		r := newReplayer(t)
		r.replay(lifecycle, exact)
		r.summarize()
	})
}

var recordedAt = time.Date(2026, 11, 21, 10, 2, 45, 0, time.UTC)

type exchange struct {
	Seq       int
	Operation string
	Case      string
	Request   struct {
		Method, Path, Query string
		Headers             map[string]string
		Body                *string
		BodyBase64          string `json:"body_base64"`
		BodyTruncated       any    `json:"body_truncated"`
	}
	Response struct {
		Status        int
		Headers       map[string]string
		Body          string
		BodyTruncated any `json:"body_truncated"`
	}
}

// incomplete reports whether the recording left out part of the exchange.
func (x exchange) incomplete() bool {
	return x.Request.BodyBase64 != "" || x.Request.BodyTruncated != nil || x.Response.BodyTruncated != nil ||
		strings.Contains(x.Request.Path, "<truncated") || x.Request.Headers["X-Big"] != ""
}

func load(t *testing.T, stem string) []exchange {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shared", "recordings", stem+".jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recordings are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []exchange
	for d := json.NewDecoder(f); ; {
		var x exchange
		switch err := d.Decode(&x); {
		case err == io.EOF:
			return all
		case err != nil:
			t.Fatalf("%s: %v", f.Name(), err)
		}
		all = append(all, x)
	}
}

// replayer sends recorded requests and learns which of our IDs stands for which
// recorded one.
type replayer struct {
	t      *testing.T
	srv    *Server
	tokens *strings.Replacer
	ids    map[string]string // recorded to ours
	tally  map[string]*tally
}

type tally struct {
	matched int
	left    map[string]int // by reason
}

const (
	mainProject  = "pj8r0dvyb26y6ma6y7n1sw0nzz"
	bigProject   = "pjzatsevwk966gjp1349j667ga"
	otherProject = "pj1xcg6nqjqe0q0vs4352awxgp"
	k8sA         = "kc290pf961ep1mysv0q61km3py"
	pgA          = "pgk7jq8jv1st3nmq3wycne7fcp"
	vmA          = "vmvy0yr3q0a21kesjyqn06h59a"
	vmB          = "vmcv33v315tj3pcvdmm405zaqa"
)

func newReplayer(t *testing.T) *replayer {
	powerless, foreign, revoked := newToken(), newToken(), newToken()
	quota := DefaultQuota()
	quota.Kubernetes = 256 // that of a verified project
	srv := New(t, Lenient(),
		WithProjectID(mainProject),
		WithQuota(quota),
		WithTokenAccess(powerless, AccessNone),
		WithTokenAccess(foreign, AccessForeign),
		WithTokenAccess(revoked, AccessRevoked))
	main := srv.state.byID[mainProject].(*project)
	srv.state.add(newProject(bigProject, "big", main.account, time.Now()))
	return &replayer{
		t:   t,
		srv: srv,
		tokens: strings.NewReplacer(
			"pat-<admin-token>", srv.Token(),
			"pat-<powerless-token>", powerless,
			"pat-<other-token>", foreign,
			"pat-<revoked-token>", revoked,
			"pat-<token>", newToken(),
			"PAT-<token>", strings.ToUpper(srv.Token())),
		ids:   map[string]string{otherProject: srv.OtherProjectID()},
		tally: map[string]*tally{},
	}
}

// join gives the token of most exchanges permissions in a project.
func (r *replayer) join(recordedID string) {
	p := r.srv.state.byID[r.ids[recordedID]].(*project)
	p.members[r.srv.state.tokens[r.srv.Token()]] = true
}

// place ends the creation of some VMs, while others stay without a host.
func (r *replayer) place(recordedIDs ...string) {
	for _, id := range recordedIDs {
		v := r.srv.state.byID[r.ids[id]].(*vm)
		v.created = v.created.Add(-r.srv.config.delays.Create)
	}
}

// buildCluster ends the creation of one cluster, while others stay without
// nodes.
func (r *replayer) buildCluster(recordedID string) {
	k := r.srv.state.byID[r.ids[recordedID]].(*kubernetesCluster)
	k.running = time.Now()
	for _, v := range slices.Concat(k.controlPlane, k.pool.nodes) {
		v.created = v.created.Add(-r.srv.config.delays.Create)
	}
}

// adoptLoadBalancers gives our load balancers the recorded IDs, and with them
// their order.
func (r *replayer) adoptLoadBalancers() {
	s := r.srv.state
	for recorded, ours := range r.ids {
		if l, ok := s.byID[ours].(*loadBalancer); ok {
			s.drop(l)
			l.id, r.ids[recorded] = recorded, recorded
			s.add(l)
		}
	}
}

// settle lets everything that is under way come to its end.
func (r *replayer) settle() { elapse(time.Minute) }

// fillAccount creates as many projects as an account may have.
func (r *replayer) fillAccount() {
	main := r.srv.state.byID[mainProject].(*project)
	for i := range r.srv.config.quota.Projects {
		id := cloudapi.NewID(cloudapi.KindProject).String()
		r.srv.state.add(newProject(id, fmt.Sprint("filler-", i), main.account, time.Now()))
	}
}

// agePostgres lets time pass for one database only.
func (r *replayer) agePostgres(recordedID string, d time.Duration) {
	p := r.srv.state.byID[r.ids[recordedID]].(*postgres)
	for _, t := range []*time.Time{&p.created, &p.running, &p.due, &p.backup} {
		*t = t.Add(-d)
	}
}

// strictness is how much of a successful answer has to be the same. Errors are
// compared whole.
type strictness int

const (
	exact  strictness = iota // everything that does not depend on chance
	shapes                   // only which fields there are, and of which types
)

func (r *replayer) replay(all []exchange, s strictness) {
	served := r.servedOperations(all)
	for _, x := range all {
		isServed := served[x.Operation] || r.servesUnnamed(x)
		if do := before[x.Seq]; do != nil && isServed {
			do(r)
		}
		switch {
		case !isServed:
			r.leave(x, "operation not served")
		case x.incomplete():
			r.leave(x, "recorded in part")
		default:
			r.check(x, s)
		}
	}
}

// servedOperations are the recorded names of the operations that the router
// knows. Exchanges that try an operation's path with other methods do not count.
func (r *replayer) servedOperations(all []exchange) map[string]bool {
	served := map[string]bool{}
	for _, x := range all {
		op, _ := r.srv.router.match(x.Request.Method, x.Request.Path)
		otherMethod := slices.Contains([]string{"auto-patch", "auto-put", "auto-head", "auto-options"}, x.Case)
		if op != nil && !otherMethod && x.Operation != "_http" {
			served[x.Operation] = true
		}
	}
	return served
}

// servesUnnamed tells for exchanges below the API's operations whether they can
// be expected to be answered alike.
func (r *replayer) servesUnnamed(x exchange) bool {
	op, _ := r.srv.router.match(x.Request.Method, x.Request.Path)
	unrouted := x.Response.Status == http.StatusUnauthorized || strings.Contains(x.Response.Body, `"ResourceNotFound"`)
	return x.Operation == "_http" && (op != nil || unrouted || exceptions[x.Seq] != "")
}

func (r *replayer) check(x exchange, s strictness) {
	differences := r.differences(x, s)
	reason, excepted := exceptions[x.Seq]
	switch {
	case excepted && differences == nil:
		r.t.Errorf("seq %d is answered like the real server, the exception %q has to go", x.Seq, reason)
	case excepted:
		r.leave(x, reason)
	case differences != nil:
		r.t.Errorf("seq %d %s %s: %s %s %q\n\t%s", x.Seq, x.Operation, x.Case,
			x.Request.Method, x.Request.Path, deref(x.Request.Body), strings.Join(differences, "\n\t"))
	default:
		r.tallyOf(x).matched++
	}
}

func (r *replayer) tallyOf(x exchange) *tally {
	if r.tally[x.Operation] == nil {
		r.tally[x.Operation] = &tally{left: map[string]int{}}
	}
	return r.tally[x.Operation]
}

func (r *replayer) leave(x exchange, reason string) { r.tallyOf(x).left[reason]++ }

func (r *replayer) summarize() {
	var matched, left int
	for _, name := range slices.Sorted(maps.Keys(r.tally)) {
		c := r.tally[name]
		matched += c.matched
		line := fmt.Sprintf("%s: %d alike", name, c.matched)
		for _, reason := range slices.Sorted(maps.Keys(c.left)) {
			left += c.left[reason]
			line += fmt.Sprintf(", %d left out (%s)", c.left[reason], reason)
		}
		r.t.Log(line)
	}
	r.t.Logf("all: %d alike, %d left out", matched, left)
}

// differences sends the request of an exchange and says what is not the same.
func (r *replayer) differences(x exchange, s strictness) []string {
	status, contentType, body := r.send(x)
	want := r.translate(x.Response.Body)
	wantStatus, wantType := x.Response.Status, x.Response.Headers["content-type"]
	if x.Request.Method == http.MethodHead {
		want = ""
	}
	if failsOnBody(x) {
		wantStatus, wantType = http.StatusBadRequest, "application/json"
		want = string(errorReply(errNotJSONObject()).body)
	}

	switch {
	case status != wantStatus:
		return []string{fmt.Sprintf("status %d, want %d: %s", status, wantStatus, body)}
	case contentType != wantType:
		return []string{fmt.Sprintf("content type %q, want %q", contentType, wantType)}
	case (body == "") != (want == ""):
		return []string{fmt.Sprintf("body %q, want %q", body, want)}
	case body == "" || wantType != "application/json": // what is in a file is a stand-in
		return nil
	case status >= 300:
		s = exact
	}
	return r.compare("", parse(r.t, want), parse(r.t, body), s)
}

// failsOnBody reports whether the real server failed because the body was JSON
// but no object. Ours says what is wrong with it.
func failsOnBody(x exchange) bool {
	return x.Response.Status == http.StatusInternalServerError && x.Response.Body == "" && x.Request.Body != nil
}

func parse(t *testing.T, body string) any {
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Errorf("%v: %q", err, body)
	}
	return v
}

// send writes the request to a connection of its own, byte for byte: no client
// would send some of the paths.
func (r *replayer) send(x exchange) (status int, contentType, body string) {
	r.t.Helper()
	var b strings.Builder
	target := r.translate(x.Request.Path)
	if x.Request.Query != "" {
		target += "?" + r.translate(x.Request.Query)
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: api.localhost\r\n", x.Request.Method, target)
	for name, value := range x.Request.Headers {
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding":
		default:
			fmt.Fprintf(&b, "%s: %s\r\n", name, r.tokens.Replace(value))
		}
	}
	content := strings.ReplaceAll(r.translate(deref(x.Request.Body)), "<secret>", "Pl4ceholder-s3cret")
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(content), content)

	conn, err := r.srv.memory.Dial(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	go io.WriteString(conn, b.String())
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: x.Request.Method})
	if err != nil {
		r.t.Fatalf("seq %d: %v", x.Seq, err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("seq %d: %v", x.Seq, err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(reply)
}

var recordedID = regexp.MustCompile(`[0-9a-z]{26}`)

// translate replaces recorded IDs by ours.
func (r *replayer) translate(s string) string {
	return recordedID.ReplaceAllStringFunc(s, func(id string) string { return cmp.Or(r.ids[id], id) })
}

// compare says where got differs from want, and learns the IDs of objects that
// are new.
func (r *replayer) compare(path string, want, got any, s strictness) []string {
	if s == shapes && (want == nil || got == nil) {
		return nil
	}
	if reflect.TypeOf(want) != reflect.TypeOf(got) {
		return []string{fmt.Sprintf("%s is %T %v, want %T %v", path, got, got, want, want)}
	}
	switch want := want.(type) {
	case map[string]any:
		return r.compareObjects(path, want, got.(map[string]any), s)
	case []any:
		return r.compareArrays(path, want, got.([]any), s)
	case string:
		if isID(want) && isID(got.(string)) && want[:2] == got.(string)[:2] {
			if s == exact && want != got {
				return r.learn(path, want, got.(string))
			}
			return nil
		}
	}
	if s == shapes || isChance(path) || timeless(want) == timeless(got) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %#v, want %#v", path, got, want)}
}

func isChance(path string) bool {
	return chance[path[strings.LastIndex(path, ".")+1:]] || nodeName.MatchString(path)
}

// nodeName is where the name of a cluster's node is.
var nodeName = regexp.MustCompile(`vms\[\d+\]\.name$`)

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000`)

// timeless takes the times out of a message.
func timeless(v any) any {
	if s, ok := v.(string); ok {
		return moment.ReplaceAllString(s, "<time>")
	}
	return v
}

func isID(s string) bool {
	_, err := cloudapi.ParseID(s)
	return err == nil
}

// learn notes that got is our ID for a recorded one, unless either stands for
// another already.
func (r *replayer) learn(path, want, got string) []string {
	if r.ids[want] == got {
		return nil // learned from another part of the same answer
	}
	for recorded, ours := range r.ids {
		if recorded == want || ours == want || ours == got {
			return []string{fmt.Sprintf("%s is %s, want %s", path, got, want)}
		}
	}
	r.ids[want] = got
	return nil
}

func (r *replayer) compareObjects(path string, want, got map[string]any, s strictness) []string {
	var d []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, ok := got[name]
		if !ok {
			d = append(d, fmt.Sprintf("%s.%s is missing", path, name))
			continue
		}
		d = append(d, r.compare(path+"."+name, want[name], value, s)...)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			d = append(d, fmt.Sprintf("%s.%s is not expected", path, name))
		}
	}
	return d
}

// compareArrays pairs elements that have the same ID, else the same name or
// CIDR: lists are in the order of their random IDs.
func (r *replayer) compareArrays(path string, want, got []any, s strictness) []string {
	if isChance(path) {
		s = shapes
	}
	if s == exact && len(want) != len(got) {
		return []string{fmt.Sprintf("%s has %d elements, want %d: %v", path, len(got), len(want), got)}
	}
	got = slices.Clone(got)
	var d []string
	for i, w := range want {
		if len(got) == 0 {
			break
		}
		j := partner(w, got)
		d = append(d, r.compare(fmt.Sprintf("%s[%d]", path, i), w, got[j], s)...)
		got = slices.Delete(got, j, j+1)
	}
	return d
}

func partner(want any, got []any) int {
	for _, key := range []string{"id", "name", "cidr"} {
		w, ok := asObject(want)[key]
		if !ok {
			continue
		}
		if j := slices.IndexFunc(got, func(g any) bool { return asObject(g)[key] == w }); j >= 0 {
			return j
		}
	}
	return 0
}

// asObject returns a JSON object, empty if v is none.
func asObject(v any) map[string]any {
	object, _ := v.(map[string]any)
	return object
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
