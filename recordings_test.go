package cloudapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/contract"
	"github.com/cloudapi-sdk/cloudapi/internal/recordings"
)

// recording is an exchange with a real server.
type recording struct{ recordings.Exchange }

// readRecordings returns the exchanges of some files.
func readRecordings(t *testing.T, names ...string) (all []recording) {
	t.Helper()
	for _, name := range names {
		exchanges, err := recordings.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range exchanges {
			all = append(all, recording{x})
		}
	}
	return all
}

// answer replies as the server did.
func (r *recording) answer(*http.Request) (*http.Response, error) {
	resp := respond(r.Response.Status, r.Response.Body)
	resp.Header = http.Header{}
	for name, value := range r.Response.Headers {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

// key names the request without the query.
func (r *recording) key() string { return r.Request.Method + " " + r.Request.Path }

// TestRecordedErrors: every refusal of the real server becomes an *Error that
// says what the server did.
func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	envelopes, others := 0, 0
	var quotas []string
	for _, r := range readRecordings(t, recordings.Contract()...) {
		if r.Response.Status < 300 {
			continue
		}
		network := recorder{answer: r.answer}
		err := network.client(t).Do(t.Context(), "GET", []string{"x"}, nil, nil, nil)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%d: %s is %T: %v", r.Seq, r.key(), err, err)
			continue
		}
		if errors.Is(err, ErrQuotaExceeded) {
			quotas = append(quotas, r.Operation)
		}
		if errors.Is(err, ErrBillingRequired) {
			t.Errorf("%d: %s is taken for a lack of billing information: %v", r.Seq, r.key(), err)
		}
		var body struct {
			Error *struct {
				Code          int
				Type, Message string
				Details       json.RawMessage
			}
		}
		if json.Unmarshal([]byte(r.Response.Body), &body) != nil || body.Error == nil {
			others++
			if e.StatusCode != r.Response.Status || e.Code != r.Response.Status || e.Type != "" || e.Details != nil {
				t.Errorf("%d: %s is %#v", r.Seq, r.key(), e)
			}
			continue
		}
		envelopes++
		if e.StatusCode != r.Response.Status || e.Code != body.Error.Code || e.Type != body.Error.Type || e.Message != body.Error.Message ||
			!bytes.Equal(e.Details, body.Error.Details) || e.Body != "" {
			t.Errorf("%d: %s is %#v, want %s", r.Seq, r.key(), e, r.Response.Body)
		}
		var details map[string]any
		if json.Unmarshal(e.Details, &details) == nil && len(e.FieldErrors()) != len(details) {
			t.Errorf("%d: %s has the details %s, and the field errors %v", r.Seq, r.key(), e.Details, e.FieldErrors())
		}
	}
	slices.Sort(quotas)
	if want := []string{"createPostgresDatabase", "createProject", "createVM", "resizeKubernetesNodepool"}; !slices.Equal(quotas, want) {
		t.Errorf("a quota was exceeded by %v, want %v", quotas, want)
	}
	if envelopes == 0 || others == 0 {
		t.Errorf("%d envelopes and %d other replies were found", envelopes, others)
	}
	t.Logf("%d errors with an envelope and %d without were replayed", envelopes, others)
}

// TestRecordedReplies: every success of the real server becomes a record that
// has lost nothing. Which method a recording belongs to is found by its path,
// so new methods are covered without edits.
func TestRecordedReplies(t *testing.T) {
	t.Parallel()
	all := readRecordings(t, recordings.Contract()...)
	type call struct {
		method *serviceMethod
		args   []reflect.Value
		count  int
	}
	calls := map[string]*call{} // by method and route
	for _, m := range serviceMethods(t) {
		if _, name, _ := strings.Cut(m.name, "."); contract.Composite(name) || strings.HasPrefix(name, "All") {
			continue
		}
		calls[m.operation.Method+" "+m.operation.Route] = &call{method: &m, args: m.args}
		if m.inLocation.Name != "" {
			calls[m.inLocation.Method+" "+m.inLocation.Route] = &call{method: &m, args: m.withLocation("location-1")}
		}
	}
	replayed, unknown := 0, map[string]int{}
	for _, r := range all {
		if r.Response.Status >= 300 || r.Response.BodyTruncated {
			continue
		}
		var found *call
		for row, c := range calls {
			if matches(row, r.key()) {
				found = c
			}
		}
		if found == nil {
			unknown[r.Operation]++
			continue
		}
		found.count++
		replayed++
		network := recorder{answer: r.answer}
		result, err := found.method.call(t.Context(), network.client(t), found.args)
		if err != nil {
			t.Errorf("%d: %s: %v", r.Seq, r.key(), err)
			continue
		}
		for _, loss := range r.losses(t, result) {
			t.Errorf("%d: %s as %T: %s", r.Seq, r.key(), result, loss)
		}
	}
	if replayed == 0 {
		t.Error("no recording was replayed")
	}
	t.Logf("%d successes of %d operations were replayed", replayed, len(calls))
	for row, c := range calls {
		if c.count == 0 {
			t.Logf("of %s there is no recorded success", row)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		t.Logf("%s has no method: %d successes were not replayed", name, unknown[name])
	}
}

// matches reports whether a request is of a row "METHOD route".
func matches(row, request string) bool {
	route, path := strings.Split(row, "/"), strings.Split(request, "/")
	if len(route) != len(path) {
		return false
	}
	for i, segment := range route {
		placeholder := strings.HasPrefix(segment, "{") && path[i] != ""
		if segment != path[i] && !placeholder {
			return false
		}
	}
	return true
}

// losses compares the body of a reply with what a method made of it.
func (r *recording) losses(t *testing.T, result any) []string {
	t.Helper()
	v := reflect.ValueOf(result)
	if r.Response.Status == http.StatusNoContent {
		if result != nil {
			return []string{"there is a result"}
		}
		return nil
	}
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return []string{"there is no result"}
	}
	if !strings.Contains(r.Response.Headers["content-type"], "json") {
		if content := v.Elem().FieldByName("Content"); !content.IsValid() || string(content.Bytes()) != r.Response.Body {
			return []string{"the content differs"}
		}
		return nil
	}
	var recorded any
	if err := json.Unmarshal([]byte(r.Response.Body), &recorded); err != nil {
		t.Fatal(err)
	}
	return compare("", recorded, tree(t, v))
}

// tree returns a record as encoding/json would decode what it was made of.
func tree(t *testing.T, v reflect.Value) any {
	t.Helper()
	if secret, ok := v.Interface().(Secret); ok {
		return secret.Reveal()
	}
	_, own := v.Interface().(json.Marshaler)
	switch {
	case own:
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return tree(t, v.Elem())
	case v.Kind() == reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = tree(t, v.Index(i))
		}
		return list
	case v.Kind() == reflect.Struct:
		object := map[string]any{}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" {
				name = strings.ToLower(field.Name) // of a Page
			}
			object[name] = tree(t, v.Field(i))
		}
		return object
	}
	var decoded any
	if err := json.Unmarshal(mustJSON(v.Interface()), &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// compare returns what is in a recorded value and not in the decoded one.
func compare(path string, recorded, decoded any) (losses []string) {
	switch r := recorded.(type) {
	case nil:
		switch decoded {
		case nil, "", 0.0, false, "0001-01-01T00:00:00Z":
			return nil
		}
		if list, ok := decoded.([]any); ok && len(list) == 0 {
			return nil
		}
	case map[string]any:
		d, ok := decoded.(map[string]any)
		if !ok {
			break
		}
		for name, value := range r {
			if _, ok := d[name]; !ok {
				losses = append(losses, path+"."+name+" is lost")
				continue
			}
			losses = append(losses, compare(path+"."+name, value, d[name])...)
		}
		return losses
	case []any:
		d, ok := decoded.([]any)
		if !ok || len(d) != len(r) {
			break
		}
		for i, value := range r {
			losses = append(losses, compare(fmt.Sprintf("%s[%d]", path, i), value, d[i])...)
		}
		return losses
	default:
		if decoded != nil && sameScalar(fmt.Sprint(r), fmt.Sprint(decoded)) {
			return nil
		}
	}
	return append(losses, fmt.Sprintf("%s is %v, and was %v", path, decoded, recorded))
}

// sameScalar reports whether two texts are the same, or spell the same number
// or time. The server spells some numbers as strings.
func sameScalar(a, b string) bool {
	f, errA := strconv.ParseFloat(a, 64)
	g, errB := strconv.ParseFloat(b, 64)
	s, errC := time.Parse(time.RFC3339, a)
	u, errD := time.Parse(time.RFC3339, b)
	return a == b || errA == nil && errB == nil && f == g || errC == nil && errD == nil && s.Equal(u)
}

// TestCompareFindsLosses keeps the test of the replies from proving nothing.
func TestCompareFindsLosses(t *testing.T) {
	t.Parallel()
	type inner struct {
		A *int      `json:"a"`
		T time.Time `json:"t"`
		S Secret    `json:"s"`
	}
	type outer struct {
		ID    string   `json:"id"`
		F     float64  `json:"f"`
		B     bool     `json:"b"`
		Inner []*inner `json:"inner"`
	}
	for body, want := range map[string][]string{
		`{"id":"x","f":0.5,"b":true,"inner":[{"a":0,"t":"2026-01-02T03:04:05+00:00","s":"secret"}]}`: nil,
		`{"id":null,"f":null,"b":null,"inner":null}`:                                                 nil,
		`{"id":"x","inner":[{"a":null,"t":null,"s":null}]}`:                                          nil,
		`{"id":"x","new":null}`:           {".new is lost"},
		`{"id":"x","inner":[{"b":1}]}`:    {".inner[0].b is lost"},
		`{"id":"x","inner":[{"S":"s1"}]}`: {".inner[0].S is lost"},
	} {
		var v outer
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		r := recording{}
		r.Response.Headers, r.Response.Body = map[string]string{"content-type": "application/json"}, body
		if got := r.losses(t, &v); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	for _, tt := range []struct{ recorded, decoded any }{
		{"a", "b"}, {"a", nil}, {1.0, 2.0}, {true, false}, {nil, "x"}, {nil, 1.0}, {nil, []any{1.0}},
		{[]any{"a"}, []any{}}, {[]any{"a"}, nil}, {[]any{"a"}, []any{"b"}}, {map[string]any{"a": 1.0}, nil}, {map[string]any{"a": 1.0}, map[string]any{"a": 2.0}},
		{"2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"},
	} {
		if len(compare("", tt.recorded, tt.decoded)) == 0 {
			t.Errorf("%v is taken for %v", tt.decoded, tt.recorded)
		}
	}
}
