package families

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/internal/test/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// chance lists texts that depend on chance, the time or the installation, by
// their path in the response. Such a text matches the recorded one if alike
// returns true.
var chance = []struct {
	place *regexp.Regexp
	alike func(want, got string) bool
}{
	{regexp.MustCompile(`\.(ip[46]|private_ipv[46])$`), sameFamily},
	{regexp.MustCompile(`\.net[46]$`), sameSize},
	{regexp.MustCompile(`\.((earliest|latest)_restore_time|created_at|last_(accessed_at|modified)|at|timestamp)$`), bothTimes},
	{regexp.MustCompile(`^(\.items\[\d+\])?\.key$`), bothSecrets}, // of inference keys; keys of tags and metrics have longer paths
	{regexp.MustCompile(`\.ca_certificates$`), sameCertificates},
	{regexp.MustCompile(`^\.password$`), bothPasswords},
	{regexp.MustCompile(`\.subject_name$`), bothThere},
	{regexp.MustCompile(`^\.(bucket|endpoint|(secret_)?access_key(_id)?|session_token|expiration)$`), bothThere}, // of backups
}

func sameFamily(want, got string) bool {
	w, errW := netip.ParseAddr(want)
	g, errG := netip.ParseAddr(got)
	return errW == nil && errG == nil && w.Is4() == g.Is4()
}

func sameSize(want, got string) bool {
	w, errW := netip.ParsePrefix(want)
	g, errG := netip.ParsePrefix(got)
	return errW == nil && errG == nil && w.Addr().Is4() == g.Addr().Is4() && w.Bits() == g.Bits()
}

func bothTimes(want, got string) bool {
	_, errW := time.Parse(time.RFC3339, want)
	_, errG := time.Parse(time.RFC3339, got)
	return errW == nil && errG == nil && len(want) == len(got)
}

func bothSecrets(want, got string) bool { return want == "<inference-key>" && len(got) == 32 }

func bothThere(want, got string) bool { return want != "" && got != "" }

func bothPasswords(want, got string) bool { return want == "<generated-password>" && len(got) == 26 }

func sameCertificates(want, got string) bool {
	const begin = "-----BEGIN CERTIFICATE-----\n"
	return strings.HasPrefix(got, begin) && strings.Count(want, begin) == strings.Count(got, begin)
}

var (
	// nodeOf matches the path of the name of a cluster's node.
	nodeOf = regexp.MustCompile(`^\.(cp_vms|vms|nodepools\[\d+\]\.vms)\[\d+\]\.name$`)
	// nodeName matches such a name: the ID of the cluster or of the node pool, and
	// random characters.
	nodeName = regexp.MustCompile(`^k[cn][0-9a-z]{24}-[0-9a-z]{5}$`)
	// standInName matches the beginning of a node's name in the recordings of
	// 2025.
	standInName = regexp.MustCompile(`^(k8s-a|kc[0-9a-z]{10})-`)
)

func bothNodes(want, got string) bool {
	return (nodeName.MatchString(want) || standInName.MatchString(want)) && nodeName.MatchString(got)
}

// differences sends the request of an exchange and returns the differences of
// the responses.
func (r *replayer) differences(x *recordings.Exchange, s strictness) []string {
	status, header, body := r.send(x)
	contentType := header.Get("Content-Type")
	want := x.Response.Body
	wantStatus, wantType := x.Response.Status, x.Response.Headers["content-type"]
	if x.Request.Method == http.MethodHead {
		want = ""
	}
	if failsOnBody(x) {
		wantStatus, wantType = http.StatusBadRequest, "application/json"
		want = string(reply.New(nil, reply.NotJSONObject()).Body)
	}

	switch {
	case status != wantStatus:
		return []string{fmt.Sprintf("status %d, want %d: %s", status, wantStatus, body)}
	case contentType != wantType:
		return []string{fmt.Sprintf("content type %q, want %q", contentType, wantType)}
	case (body == "") != (want == ""):
		return []string{fmt.Sprintf("body %q, want %q", body, want)}
	}
	for _, name := range []string{"Content-Disposition", "Cache-Control"} {
		if got, want := header.Get(name), x.Response.Headers[strings.ToLower(name)]; got != want {
			return []string{fmt.Sprintf("%s %q, want %q", name, got, want)}
		}
	}
	switch {
	case body == "" || wantType != "application/json": // the recordings don't have the real content of files
		return nil
	case status >= 300:
		s = exact
	}
	return r.compare("", parse(r.t, want), parse(r.t, body), s)
}

// failsOnBody reports whether the real server failed because the body was JSON
// but not an object. Our server returns an error for that.
func failsOnBody(x *recordings.Exchange) bool {
	return x.Response.Status == http.StatusInternalServerError && x.Response.Body == "" && x.Request.Body != nil
}

func parse(t *testing.T, body string) any {
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Errorf("%v: %q", err, body)
	}
	return v
}

// send writes the request to a new connection, byte for byte: no client would
// send some of the paths.
func (r *replayer) send(x *recordings.Exchange) (status int, header http.Header, body string) {
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

	conn := stub.Must(r.memory.Dial(r.t.Context()))(r.t)
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
	r.statuses[x.Seq] = resp.StatusCode
	return resp.StatusCode, resp.Header, string(reply)
}

// recordedID is an ID, or the name of a node, which begins with one.
var recordedID = regexp.MustCompile(`[0-9a-z]{26}(-[0-9a-z]{5}\b)?`)

// translate replaces recorded IDs, names of nodes and keys with ours.
func (r *replayer) translate(s string) string {
	if r.since != nil {
		s = r.since.Replace(s)
	}
	for recorded, ours := range r.keys {
		s = strings.ReplaceAll(s, url.QueryEscape(recorded), url.QueryEscape(ours))
	}
	return recordedID.ReplaceAllStringFunc(s, func(id string) string {
		return cmp.Or(r.ids[id], r.ids[id[:26]]+id[26:], id)
	})
}

// compare returns the differences between got and want, and learns the IDs of
// new objects.
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
		return r.compareTexts(path, want, got.(string), s)
	}
	if s == shapes || want == got {
		return nil
	}
	return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)}
}

func (r *replayer) compareTexts(path, want, got string, s strictness) []string {
	if isID(want) && isID(got) && want[:2] == got[:2] {
		if s == exact && r.translate(want) != got {
			return r.learn(path, want, got)
		}
		return nil
	}
	recorded := want
	want = r.translate(want)
	switch {
	case s == shapes || timeless(want) == timeless(got):
		return nil
	case strings.HasSuffix(path, ".hostname") || strings.HasSuffix(path, "connection_string") || strings.HasSuffix(path, ".url"):
		want, got = password.ReplaceAllString(r.resettle(want), ":<password>@"), password.ReplaceAllString(got, ":<password>@")
		if want == got {
			return nil
		}
	case path == ".pagination_key":
		r.keys[want] = got
		return nil
	case nodeOf.MatchString(path) && bothNodes(recorded, got):
		return r.learn(path, recorded, got)
	}
	for _, c := range chance {
		if c.place.MatchString(path) && c.alike(want, got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %q, want %q", path, got, want)}
}

var password = regexp.MustCompile(`:[^:/@]+@`)

// resettle converts a recorded host name to ours. It ends with the real
// server's domain; a load balancer's name contains the last characters of its
// subnet's or cluster's ID.
func (r *replayer) resettle(host string) string {
	host = strings.NewReplacer(".ubicloud.com", ".localhost", ".ubicloud.app", ".localhost").Replace(host)
	for recorded, ours := range r.ids {
		if strings.HasPrefix(recorded, string(cloudapi.KindPrivateSubnet)) {
			host = strings.Replace(host, "."+recorded[21:]+".lb.", "."+ours[21:]+".lb.", 1)
		}
		if strings.HasPrefix(recorded, string(cloudapi.KindKubernetesCluster)) {
			host = strings.Replace(host, "-"+recorded[21:]+".k8s.", "-"+ours[21:]+".k8s.", 1)
		}
	}
	return host
}

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000`)

// timeless removes the times from a message, and writes objects as JSON: the
// real server's messages have them in the form of Ruby.
func timeless(s string) string {
	return moment.ReplaceAllString(strings.NewReplacer(" => ", ": ", "nil", "null").Replace(s), "<time>")
}

func isID(s string) bool {
	_, err := cloudapi.ParseID(s)
	return err == nil
}

// learn records that got is our ID for the recorded ID want. It returns a
// difference if one of them already belongs to another ID.
func (r *replayer) learn(path, want, got string) []string {
	if r.ids[want] == got {
		return nil // learned from another part of the same response
	}
	for recorded, ours := range r.ids {
		if recorded == want || ours == want || ours == got {
			return []string{fmt.Sprintf("%s is %s, want %s", path, got, want)}
		}
	}
	r.ids[want] = got
	return nil
}

// compareObjects begins with the ID, which other fields may contain.
func (r *replayer) compareObjects(path string, want, got map[string]any, s strictness) []string {
	var d []string
	names := slices.Sorted(maps.Keys(want))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	for _, name := range names {
		value, ok := got[name]
		if !ok && (r.since != nil && slices.Contains(removedSince, name) || path == ".default_pg_config") { // our server has only some of the defaults
			continue
		}
		if !ok {
			d = append(d, fmt.Sprintf("%s.%s is missing", path, name))
			continue
		}
		d = append(d, r.compare(path+"."+name, want[name], value, s)...)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok && (r.since == nil || !slices.Contains(addedSince, name)) {
			d = append(d, fmt.Sprintf("%s.%s is not expected", path, name))
		}
	}
	return d
}

// samples matches the path of a metric's values, whose number may differ.
var samples = regexp.MustCompile(`^\.metrics\[\d+\]\.series\[\d+\]\.values$`)

// compareArrays compares elements by index, except in lists in the order of
// their IDs, which are random.
func (r *replayer) compareArrays(path string, want, got []any, s strictness) []string {
	if samples.MatchString(path) {
		s = shapes
	}
	if path == ".logs" && len(want) == len(got) {
		return nil // the lines were invented for the recording, as ours are
	}
	if s == exact && len(want) != len(got) {
		return []string{fmt.Sprintf("%s has %d elements, want %d: %v", path, len(got), len(want), got)}
	}
	var d []string
	if s == exact && path == ".items" && inOrder(want) {
		if !inOrder(got) {
			d = append(d, fmt.Sprintf("%s are not in the order of their IDs: %v", path, got))
		}
		got = r.paired(want, got)
	}
	for i := range min(len(want), len(got)) {
		d = append(d, r.compare(fmt.Sprintf("%s[%d]", path, i), want[i], got[i], s)...)
	}
	return d
}

// inOrder reports whether a list is in the order of IDs. The servers of a
// database are in the order of their creation, which may be the order of their
// IDs by chance.
func inOrder(list []any) bool {
	servers := len(list) > 0 && textOf(list[0], "synchronization_status") != ""
	return !servers && slices.IsSortedFunc(list, func(a, b any) int { return strings.Compare(textOf(a, "id"), textOf(b, "id")) })
}

// paired returns the elements of got, each at the index of the element with the
// same ID, or otherwise the same name.
func (r *replayer) paired(want, got []any) []any {
	rest := slices.Clone(got)
	var pairs []any
	for _, w := range want {
		i := slices.IndexFunc(rest, func(g any) bool { return textOf(g, "id") == r.translate(textOf(w, "id")) })
		if i < 0 {
			i = max(0, slices.IndexFunc(rest, func(g any) bool { return textOf(g, "name") == textOf(w, "name") }))
		}
		pairs = append(pairs, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	return pairs
}

// textOf returns a field of a JSON object, "" if there is none.
func textOf(v any, field string) string {
	object, _ := v.(map[string]any)
	s, _ := object[field].(string)
	return s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestReplayFindsDifferences checks the comparison: each of these responses has
// one difference.
func TestReplayFindsDifferences(t *testing.T) {
	t.Parallel()
	const subnet, ourSubnet = "psy9f4psb1tj6p4z9b6ymyysej", "psh0v8qnh0ya3kd1mzdf4sgs89"
	const first, second = "fwcg4fzn1map0pdrppw5h6wtxw", "fwdp87m5f1ej0gj4ttrm23c602"
	const ourFirst, ourSecond = "fwdttpdh1rme1mjjvv7exzw1w9", "fwwp16csmset7n1kpsvq0a1n7y"
	for _, tt := range []struct{ recorded, alike, different string }{
		{`{"tags":[{"key":"env"}]}`, `{"tags":[{"key":"env"}]}`, `{"tags":[{"key":"team"}]}`},
		{`{"metrics":[{"key":"cpu_usage"}]}`, `{"metrics":[{"key":"cpu_usage"}]}`, `{"metrics":[{"key":"memory_usage"}]}`},
		{`{"metrics":[{"series":[{"values":[[1,"2"]]}]}]}`, `{"metrics":[{"series":[{"values":[[3,"4"],[5,"6"]]}]}]}`, `{"metrics":[{"series":[{"values":[["3",4]]}]}]}`},
		{`{"values":[1]}`, `{"values":[1]}`, `{"values":[1,2]}`},
		{`{"key":"<inference-key>"}`, `{"key":"ZI3QV2S3Y2KWNNZFOMVDNJHXEKBIJO6U"}`, `{"key":""}`},
		{`{"firewall_rules":[{"cidr":"::/0"},{"cidr":"0.0.0.0/0"}]}`, `{"firewall_rules":[{"cidr":"::/0"},{"cidr":"0.0.0.0/0"}]}`, `{"firewall_rules":[{"cidr":"0.0.0.0/0"},{"cidr":"::/0"}]}`},
		{`{"items":[{"id":"` + first + `","name":"b"},{"id":"` + second + `","name":"a"}]}`, `{"items":[{"id":"` + ourFirst + `","name":"a"},{"id":"` + ourSecond + `","name":"b"}]}`,
			`{"items":[{"id":"` + ourSecond + `","name":"b"},{"id":"` + ourFirst + `","name":"a"}]}`},
		{`{"items":[{"id":"` + second + `","name":"a"},{"id":"` + first + `","name":"b"}]}`, `{"items":[{"id":"` + second + `","name":"a"},{"id":"` + first + `","name":"b"}]}`,
			`{"items":[{"id":"` + first + `","name":"b"},{"id":"` + second + `","name":"a"}]}`},
		{`{"hostname":"lb.yysej.lb.ubicloud.com"}`, `{"hostname":"lb.sgs89.lb.localhost"}`, `{"hostname":"lb2.sgs89.lb.localhost"}`},
		{`{"hostname":"lb.yysej.lb.ubicloud.com"}`, `{"hostname":"lb.sgs89.lb.localhost"}`, `{"hostname":"lb.yysej.lb.localhost"}`},
		{`{"connection_string":"postgres://postgres:<password>@pg.` + subnet + `.postgres.ubicloud.com:5432/postgres"}`,
			`{"connection_string":"postgres://postgres:x@pg.` + ourSubnet + `.postgres.localhost:5432/postgres"}`,
			`{"connection_string":"postgres://postgres:x@pg.` + ourSubnet + `.postgres.localhost:6432/postgres"}`},
		{`{"net4":"10.0.0.0/26"}`, `{"net4":"172.16.0.64/26"}`, `{"net4":"172.16.0.0/24"}`},
		{`{"ip4":"192.0.2.1"}`, `{"ip4":"198.18.0.1"}`, `{"ip4":"2001:db8::1"}`},
		{`{"latest_restore_time":"2026-11-21T10:03:38Z"}`, `{"latest_restore_time":"2000-01-01T00:01:00Z"}`, `{"latest_restore_time":"2000-01-01 00:01:00"}`},
		{`{"vms":[{"name":"kcmh7k7kwzzp-w0-ce5d82"}]}`, `{"vms":[{"name":"kn1wrcy63xftmq3wycne7fcp9a-j34ep"}]}`, `{"vms":[{"name":"web-1"}]}`},
		{`{"name":"a","size":null}`, `{"name":"a","size":null}`, `{"name":"a"}`},
	} {
		differences := func(answer string) []string {
			r := replayer{t: t, ids: map[string]string{subnet: ourSubnet}}
			return r.compare("", parse(t, tt.recorded), parse(t, answer), exact)
		}
		if d := differences(tt.alike); d != nil {
			t.Errorf("%s and %s differ: %q", tt.recorded, tt.alike, d)
		}
		if differences(tt.different) == nil {
			t.Errorf("%s is taken for %s", tt.different, tt.recorded)
		}
	}
}
