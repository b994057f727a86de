package cloudapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// Encode returns the JSON that a server sends for a record, such as a
// *[cloudapi.VM], or for a list. It is for HTTP mocks that respond with records
// of the SDK: json.Marshal masks their secrets, and the SDK refuses such a
// response. Encode panics if the value has no JSON.
//
// A slice of records is a whole list: it becomes {"count":…,"items":[…]}, with
// its length as the count. A [cloudapi.Page] is a part of a list: its Count, if
// set, becomes the count. If it has no Count, its NextStartAfter, if set,
// becomes the pagination_key, as in the audit log and the logs of a database.
func Encode(v any) []byte {
	if page := reflect.Indirect(reflect.ValueOf(v)); isPage(page) {
		return mustMarshal(envelopeOf(page))
	}
	tree := treeOf(v)
	if items, ok := tree.([]any); ok {
		tree = map[string]any{"items": items, "count": len(items)}
	} else if tree == nil && reflect.ValueOf(v).Kind() == reflect.Slice {
		tree = map[string]any{"items": []any{}, "count": 0}
	}
	return mustMarshal(tree)
}

// isPage reports whether v is a [cloudapi.Page].
func isPage(v reflect.Value) bool {
	return v.IsValid() && v.Type().PkgPath() == reflect.TypeFor[cloudapi.Secret]().PkgPath() &&
		strings.HasPrefix(v.Type().Name(), "Page[")
}

func envelopeOf(page reflect.Value) map[string]any {
	envelope := map[string]any{"items": []any{}}
	if items := treeOf(page.FieldByName("Items").Interface()); items != nil {
		envelope["items"] = items
	}
	if count := page.FieldByName("Count"); !count.IsNil() {
		envelope["count"] = count.Interface()
	} else if key := page.FieldByName("NextStartAfter").String(); key != "" {
		envelope["pagination_key"] = key
	}
	return envelope
}

// treeOf returns the decoded JSON of a value, with its secrets.
func treeOf(v any) (tree any) {
	decoder := json.NewDecoder(bytes.NewReader(mustMarshal(v)))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		panic(fmt.Sprintf("cloudapitest: Encode: %v", err))
	}
	return reveal(reflect.ValueOf(v), tree)
}

func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("cloudapitest: Encode: %v", err))
	}
	return b
}

// reveal returns the JSON of a value with its secrets, given the JSON with
// masked secrets.
func reveal(v reflect.Value, tree any) any {
	if secret, ok := secretIn(v); ok {
		return secret.Reveal()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return reveal(v.Elem(), tree)
		}
	case reflect.Slice, reflect.Array:
		if items, ok := tree.([]any); ok {
			for i := range items {
				items[i] = reveal(v.Index(i), items[i])
			}
		}
	case reflect.Map:
		if members, ok := tree.(map[string]any); ok && v.Type().Key().Kind() == reflect.String {
			for entries := v.MapRange(); entries.Next(); {
				name := entries.Key().String()
				members[name] = reveal(entries.Value(), members[name])
			}
		}
	case reflect.Struct:
		if members, ok := tree.(map[string]any); ok {
			revealFields(v, members)
		}
	}
	return tree
}

func revealFields(v reflect.Value, members map[string]any) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		if value, ok := members[name]; ok && field.IsExported() {
			members[name] = reveal(v.Field(i), value)
		}
	}
}

func secretIn(v reflect.Value) (secret cloudapi.Secret, ok bool) {
	if v.IsValid() && v.CanInterface() {
		secret, ok = v.Interface().(cloudapi.Secret)
	}
	return secret, ok
}
