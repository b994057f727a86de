package cloudapitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// Encode returns the JSON that a server sends for a record, such as a
// *[cloudapi.VM], for a list, or for an error. Use it in HTTP mocks that respond
// with records of the SDK: json.Marshal masks their secrets, which are then
// decoded as empty. Encode panics if it can't encode the value.
//
// A slice of records becomes a complete list, {"count":…,"items":[…]}, with its
// length as the count. A [cloudapi.Page] becomes one page of a list, with its
// Count as the count. A Page without a Count becomes a page as in the audit log,
// with its Next, if set, as the pagination_key.
//
// A *[cloudapi.Error] becomes the API's envelope,
// {"error":{"code":…,"type":…}}. The error needs a Code or StatusCode, and
// a Type: without a Type the SDK concludes that a gateway sent the error.
func Encode(v any) []byte {
	if e, ok := v.(cloudapi.Error); ok {
		v = &e
	}
	if err, ok := v.(error); ok {
		return mustMarshal(map[string]any{"error": contentOf(err)})
	}
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
	} else if key := page.FieldByName("Next").String(); key != "" {
		envelope["pagination_key"] = key
	}
	return envelope
}

func contentOf(err error) map[string]any {
	e, ok := err.(*cloudapi.Error)
	if !ok {
		panic(fmt.Sprintf("cloudapitest: Encode: a server doesn't send a %T: encode a *cloudapi.Error", err))
	}
	if e == nil || e.Type == "" || e.Code == 0 && e.StatusCode == 0 {
		panic(`cloudapitest: Encode: the Error needs a Type, such as "ResourceNotFound", and a Code or StatusCode; for a gateway's error, respond with its text instead`)
	}
	content := map[string]any{"code": cmp.Or(e.Code, e.StatusCode), "type": e.Type, "message": e.Message}
	if e.Details != nil {
		content["details"] = e.Details
	}
	return content
}

func treeOf(v any) any {
	tree, _ := mask.Reveal(v, mustMarshal(v))
	return tree
}

func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("cloudapitest: Encode: %v", err))
	}
	return b
}
