package cloudapitest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/reveal"
)

// Encode returns the JSON that a server sends for a record, such as a
// *[cloudapi.VM], or for a list. Use it in HTTP mocks that respond with records
// of the SDK: json.Marshal masks their secrets, and the SDK refuses a response
// with masked secrets. Encode panics if it can't encode the value.
//
// A slice of records becomes a whole list, {"count":…,"items":[…]}, with its
// length as the count. A [cloudapi.Page] becomes a part of a list, with its
// Count as the count. If it has no Count, its NextStartAfter, if set, becomes
// the pagination_key, as in the audit log and the logs of a database.
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
func treeOf(v any) any {
	tree, err := reveal.Tree(v)
	if err != nil {
		panic(fmt.Sprintf("cloudapitest: Encode: %v", err))
	}
	return tree
}

func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("cloudapitest: Encode: %v", err))
	}
	return b
}
