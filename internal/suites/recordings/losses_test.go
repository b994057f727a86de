package recordings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// losses compares the body of a response with the result of a method.
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
	if object, ok := recorded.(map[string]any); ok {
		rename(object, "logs", "items")
		rename(object, "pagination_key", "next")
	}
	if rule, ok := result.(*cloudapi.FirewallRule); ok && rule.IPv6Rule != nil {
		v = reflect.ValueOf([]cloudapi.FirewallRule{*rule, *rule.IPv6Rule}) // as the server sent it
	}
	return compare("", recorded, tree(t, v))
}

// rename gives a member of an object the name that it has in a Page.
func rename(object map[string]any, from, to string) {
	if value, ok := object[from]; ok {
		object[to] = value
		delete(object, from)
	}
}

// tree returns a record in the form in which encoding/json would decode its
// JSON into an any.
func tree(t *testing.T, v reflect.Value) any {
	t.Helper()
	if secret, ok := v.Interface().(cloudapi.Secret); ok {
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
	if err := json.Unmarshal(stub.JSON(v.Interface()), &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// compare returns the recorded values that are missing in the decoded one.
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

// sameScalar reports whether two texts are equal, or represent the same number
// or time. The server sends some numbers as strings.
func sameScalar(a, b string) bool {
	f, errA := strconv.ParseFloat(a, 64)
	g, errB := strconv.ParseFloat(b, 64)
	s, errC := time.Parse(time.RFC3339, a)
	u, errD := time.Parse(time.RFC3339, b)
	return a == b || errA == nil && errB == nil && f == g || errC == nil && errD == nil && s.Equal(u)
}

// TestCompareFindsLosses checks that the comparison finds losses.
func TestCompareFindsLosses(t *testing.T) {
	t.Parallel()
	type inner struct {
		A *int            `json:"a"`
		T time.Time       `json:"t"`
		S cloudapi.Secret `json:"s"`
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
		var r recording
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
