package sdktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// Losses returns how the result of a method differs from the JSON of the
// response: values that are missing, differ, or aren't in the response.
func Losses(t testing.TB, response string, result any) []string {
	t.Helper()
	v := reflect.ValueOf(result)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return []string{"there is no result"}
	}
	var sent any
	if err := json.Unmarshal([]byte(response), &sent); err != nil {
		t.Fatalf("%s: %v", response, err)
	}
	decoded := tree(t, v)
	if object, ok := sent.(map[string]any); ok {
		rename(object, "logs", "items")
		rename(object, "pagination_key", "next")
		if v.Kind() == reflect.Slice { // all items, without a page
			sent = object["items"]
		}
		if page, ok := decoded.(map[string]any); ok && strings.HasPrefix(v.Type().String(), "*cloudapi.Page[") && object["next"] == nil {
			delete(page, "next") // the SDK itself has set it
		}
	}
	if rule, ok := result.(*cloudapi.FirewallRule); ok && rule.IPv6Rule != nil {
		decoded = tree(t, reflect.ValueOf([]cloudapi.FirewallRule{*rule, *rule.IPv6Rule})) // the server sent both in an array
		delete(decoded.([]any)[0].(map[string]any), "ipv6_rule")
	}
	return compare("", sent, decoded)
}

// rename is for members whose name in a Page isn't their name in JSON.
func rename(object map[string]any, from, to string) {
	if value, ok := object[from]; ok {
		object[to] = value
		delete(object, from)
	}
}

// tree converts a record to maps, slices and scalars, as encoding/json would
// decode its JSON into an any.
func tree(t testing.TB, v reflect.Value) any {
	t.Helper()
	if secret, ok := v.Interface().(cloudapi.Secret); ok {
		return secret.Reveal()
	}
	_, own := v.Interface().(json.Marshaler)
	switch {
	case own:
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return tree(t, v.Elem())
	case v.Kind() == reflect.Slice && !v.IsNil():
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
				name = strings.ToLower(field.Name) // a Page has no tags
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

// compare returns the differences. Zero values stand for null and for what
// wasn't sent.
func compare(path string, sent, decoded any) (losses []string) {
	switch s := sent.(type) {
	case nil:
		if isZero(decoded) {
			return nil
		}
	case map[string]any:
		d, ok := decoded.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(s)) {
			if _, ok := d[name]; !ok {
				losses = append(losses, path+"."+name+" is lost")
				continue
			}
			losses = append(losses, compare(path+"."+name, s[name], d[name])...)
		}
		for _, name := range slices.Sorted(maps.Keys(d)) {
			if _, ok := s[name]; !ok && !isZero(d[name]) {
				losses = append(losses, fmt.Sprintf("%s.%s is %v, and wasn't sent", path, name, d[name]))
			}
		}
		return losses
	case []any:
		d, ok := decoded.([]any)
		if !ok || len(d) != len(s) {
			break
		}
		for i, value := range s {
			losses = append(losses, compare(fmt.Sprintf("%s[%d]", path, i), value, d[i])...)
		}
		return losses
	default:
		if decoded != nil && sameScalar(fmt.Sprint(s), fmt.Sprint(decoded)) {
			return nil
		}
	}
	return append(losses, fmt.Sprintf("%s is %v, and was %v", path, decoded, sent))
}

func isZero(decoded any) bool {
	switch d := decoded.(type) {
	case []any:
		return len(d) == 0
	case map[string]any:
		for _, value := range d {
			if !isZero(value) {
				return false
			}
		}
		return true
	}
	return slices.Contains([]any{nil, "", 0.0, false, "0001-01-01T00:00:00Z"}, decoded)
}

// sameScalar compares texts, since the server sends some numbers as strings.
func sameScalar(a, b string) bool {
	f, errA := strconv.ParseFloat(a, 64)
	g, errB := strconv.ParseFloat(b, 64)
	s, errC := time.Parse(time.RFC3339, a)
	u, errD := time.Parse(time.RFC3339, b)
	return a == b || errA == nil && errB == nil && f == g || errC == nil && errD == nil && s.Equal(u)
}
