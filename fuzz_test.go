package cloudapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// FuzzID: a parsed ID is canonical.
func FuzzID(f *testing.F) {
	for _, s := range []string{stub.VMID, stub.Project, "", strings.ToUpper(stub.VMID), "VMy9n1os8q164j473ra7pj9nqz",
		strings.Repeat("z", 26), strings.Repeat("é", 13), "1b" + strings.Repeat("0", 24), "et\x00" + strings.Repeat("0", 23)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err != nil {
			if id != "" || !errors.Is(err, ErrInvalidArgument) {
				t.Fatalf("%q: %q, %v", s, id, err)
			}
			return
		}
		if again, err := ParseID(id.String()); err != nil || again != id {
			t.Fatalf("%q is %q, which is %q: %v", s, id, again, err)
		}
		if !IsID(id.String(), id.Kind()) {
			t.Fatalf("%q is parsed but has not the form", id)
		}
		if IsID(s) && s != id.String() {
			t.Fatalf("%q has the form of an ID but is spelled %q", s, id)
		}
	})
}

// FuzzList decodes a page, and ranges over a list whose pages are all this
// page. Each item is complete, and the range ends.
func FuzzList(f *testing.F) {
	for _, body := range []string{
		`{"items":[` + stub.VM + `],"count":1}`, `{"items":[` + stub.VM + `]}`, `[` + stub.VM + `]`, `{"items":[],"count":3}`,
		`{"items":null}`, `{"items":[null]}`, `[{"id":""}]`, `[]`, ` [ ] `, `null`, ``, `{`, `{"items":[` + stub.VM + `]}{}`,
		`{"items":[{"id":"a"},{"id":"a"}],"count":-1}`, `{"count":9223372036854775807,"items":[{"id":"a","name":"n"}]}`,
		`{"ITEMS":[{"ID":"a"}]}`, "\ufeff[]", `{"items":[{"id":"` + "\xff" + `"}]}`,
	} {
		f.Add([]byte(body), "application/json", 1, false, false)
		f.Add([]byte(body), "", 0, true, true)
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string, pageSize int, whole, byName bool) {
		order := ""
		if byName {
			order = OrderByName
		}
		opts := ListOptions{PageSize: pageSize & 1023, OrderColumn: order}
		var network stub.Recorder
		network.Answer = func(*http.Request) (*http.Response, error) {
			resp := stub.Respond(http.StatusOK, string(body))
			resp.Header.Set("Content-Type", contentType)
			return resp, nil
		}
		client, clientErr := NewClient(WithBaseURL("https://api.example.com"), WithProject(stub.Project),
			WithHTTPClient(&http.Client{Transport: &network}), WithRetry(RetryPolicy{MaxAttempts: 1, MinDelay: 1, MaxDelay: 1}))
		if clientErr != nil {
			t.Fatal(clientErr)
		}
		routes := listRoutes{project: &opVMsList, unpaged: whole}
		page, err := list[VM](t.Context(), &client.conn, &routes, &opts)
		network.Take()
		if (page == nil) == (err == nil) {
			t.Fatalf("%q: %v, %v", body, page, err)
		}
		if err == nil {
			if !json.Valid(body) || page.Items == nil || slices.ContainsFunc(page.Items, func(vm *VM) bool { return vm == nil || vm.ID == "" }) {
				t.Fatalf("%q is taken for %+v", body, page)
			}
		}

		items, walkErr := Collect(all[VM](t.Context(), &client.conn, &routes, &opts))
		if n := len(network.Take()); n > maxWalks {
			t.Fatalf("%q was asked for %d times", body, n)
		}
		if err != nil && walkErr == nil || walkErr == nil && len(items) > len(page.Items) {
			t.Fatalf("%q: %d items, %v", body, len(items), walkErr)
		}
	})
}

// FuzzError decodes the body of an error response. What the error repeats from
// the body is limited, printable, and without the token.
func FuzzError(f *testing.F) {
	for _, body := range []string{
		stub.Envelope(404), `{"error":{"code":400,"type":"InvalidRequest","message":"m","details":{"name":"bad","size":["a","b"],"x":1}}}`,
		`{"error":"TOKEN"}`, `{"error":{"code":"400","type":["TOKEN"],"message":{"a":1},"details":"TOKEN"}}`, `{"error":null}`, `{"error":[]}`,
		`<html>TOKEN</html>`, ``, `TOK`, `{"error":{"details":{"a":{"b":["TOKEN"]}}}}`, `{"error":{"message":"` + "\xff\x00\u2028\x1b[31m" + `"}}`,
		`{"error":{"details":[1,2]}}`, `{"error":{"details":7}}`, strings.Repeat("[", 12000), strings.Repeat("é", 400) + "TOKEN",
		strings.Repeat("\xff-", 200),
	} {
		f.Add(400, []byte(body), "", "")
		f.Add(503, []byte(body), "7", "https://evil.example.com/")
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, retryAfter, location string) {
		status = 300 + (status&0x7fffffff)%300
		body = bytes.ReplaceAll(body, []byte("TOKEN"), []byte(stub.Token))
		client := mockClient(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) {
			resp := stub.Respond(status, string(body))
			resp.Header = http.Header{"Retry-After": {retryAfter}, "Location": {location}}
			return resp, nil
		}), WithRetry(RetryPolicy{MaxAttempts: 1}))
		_, err := client.VMs.Get(t.Context(), "l", "web-1")
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Fatalf("%d: %v", status, err)
		}
		text := e.Error()
		switch {
		case e.StatusCode != status || e.Code == 0 || e.RetryAfter < 0:
			t.Fatalf("%d: %#v", status, e)
		case len(text) > 4000 || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
			t.Fatalf("the text is %d bytes: %q", len(text), text)
		case len(e.Body) > maxShown:
			t.Fatalf("the excerpt has %d bytes", len(e.Body))
		case len(e.Details) > 0 && !json.Valid(e.Details):
			t.Fatalf("the details are %q", e.Details)
		case strings.Contains(fmt.Sprintf("%+v %#v %s", e, e, e.Details), stub.Token):
			t.Fatalf("the token is in %+v", e)
		}
		for name, texts := range e.FieldErrors() {
			if len(texts) == 0 {
				t.Fatalf("the field %q has no text", name)
			}
		}
	})
}

// maxShown is how much of a body an error shows, at most.
const maxShown = 200

// FuzzExcerpt: an error shows an excerpt of an unusable response, but no string
// value from it. Invalid JSON is never decoded as a record.
func FuzzExcerpt(f *testing.F) {
	for _, body := range []string{stub.VM, stub.VM[:20], `{"connection_string":"SECRET"}`, `{"a":["SECRET",{"b":"SECRET"}]}`, `"SECRET"`,
		`SECRET`, `<html>`, `{"a\"SECRET":1,"b":"\"SECRET"}`, `{"a":"x\\","b":"SECRET"}`, `{"a" :"SECRET`, `["a","SECRET":1]`,
		"{" + strings.Repeat("\xd4 ", 99)} { // grows when its invalid UTF-8 is replaced
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		client := stub.Must(answering(t, http.StatusOK, "", string(body)).With(WithRetry(RetryPolicy{MaxAttempts: 1})))(t)
		err := client.Do(t.Context(), "GET", []string{"x"}, nil, nil, new([1]int))
		text := ""
		if e, ok := errors.AsType[*DecodeError](err); ok {
			text = e.Body
		}
		if len(text) > maxShown || !utf8.ValidString(text) {
			t.Fatalf("%q gives %q", body, text)
		}
		var value any
		if json.Unmarshal(body, &value) == nil {
			for _, s := range stringValues(value) {
				if len(s) >= 12 && strings.Contains(text, s) && !strings.Contains(string(stub.JSON(keysOf(value))), s) {
					t.Fatalf("%q is shown in %q", s, text)
				}
			}
		}
		vm := new(VM)
		r := call.Response{Status: http.StatusOK, Header: http.Header{}, Body: body}
		if err := decodeJSON(r, vm); err == nil && !json.Valid(body) {
			t.Fatalf("%q was decoded", body)
		}
	})
}

func stringValues(value any) (found []string) {
	switch v := value.(type) {
	case string:
		found = append(found, v)
	case []any:
		for _, item := range v {
			found = append(found, stringValues(item)...)
		}
	case map[string]any:
		for _, item := range v {
			found = append(found, stringValues(item)...)
		}
	}
	return found
}

func keysOf(value any) (found []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			found = append(found, keysOf(item)...)
		}
	case map[string]any:
		for key, item := range v {
			found = append(append(found, key), keysOf(item)...)
		}
	}
	return found
}

// FuzzMetrics compares the decoder of samples with encoding/json and exact
// arithmetic, and decodes again what it has encoded. Times are exact to a
// microsecond as long as a float has room for it.
func FuzzMetrics(f *testing.F) {
	for _, values := range []string{`[]`, `null`, `[[1759512000.5,"0.42"]]`, `[[0,"NaN"],[1,"+Inf"],[2,"\u002d1"]]`, ` [ [ 1e9 , "1" ] ] `,
		`[[1]]`, `[[1,2]]`, `[["1","2"]]`, `[[1,"2",3]]`, `[[-0.5,"1e400"]]`, `[[1e-99,"0x1p-2"]]`, `[[5,"1_0"]]`, `{}`, `[[253402300800,"1"]]`, `[[1,"1"],]`} {
		f.Add([]byte(values))
	}
	hasRoom := func(t time.Time) bool { return -1<<33 < t.Unix() && t.Unix() < 1<<33 }
	f.Fuzz(func(t *testing.T, values []byte) {
		body := fmt.Appendf(nil, `{"metrics":[{"key":"k","series":[{"values":%s}]}]}`, values)
		var metrics Metrics
		if json.Unmarshal(body, &metrics) != nil || len(metrics.Metrics) != 1 || len(metrics.Metrics[0].Series) != 1 {
			return
		}
		samples := metrics.Metrics[0].Series[0].Values
		var pairs [][]json.RawMessage
		if err := json.Unmarshal(values, &pairs); err != nil || len(pairs) != len(samples) {
			return // the fuzzed text has ended the array and added members to the response
		}
		for i, sample := range samples {
			var text string
			if len(pairs[i]) != 2 || json.Unmarshal(pairs[i][1], &text) != nil {
				t.Fatalf("%s is taken for the pair %v", pairs[i], sample)
			}
			exact, ok := new(big.Rat).SetString(string(pairs[i][0]))
			if !ok {
				t.Fatalf("%s is taken for the time %v", pairs[i][0], sample.Time)
			}
			exact.Sub(exact, big.NewRat(sample.Time.UnixMicro(), 1e6))
			if hasRoom(sample.Time) && exact.Abs(exact).Cmp(big.NewRat(1, 1e6)) > 0 {
				t.Fatalf("%s is %v", pairs[i][0], sample.Time)
			}
		}
		text := stub.Must(json.Marshal(samples))(t)
		var again MetricSamples
		if err := json.Unmarshal(text, &again); err != nil || len(again) != len(samples) {
			t.Fatalf("%s is not read again: %v", text, err)
		}
		for i := range samples {
			same := samples[i].Value == again[i].Value || math.IsNaN(samples[i].Value) && math.IsNaN(again[i].Value)
			if !same || hasRoom(samples[i].Time) && !samples[i].Time.Equal(again[i].Time) {
				t.Fatalf("%v was written as %v", samples[i], again[i])
			}
		}
	})
}
