package sdktest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// Fill returns a value of the type, without zero fields. Only fields inside a
// type with an UnmarshalJSON, or deeper in a recursive type, can be zero.
// Secrets and bytes have the given content. A field with a tag such as id:"vm"
// has an ID of that kind.
func Fill(t reflect.Type, secret string) reflect.Value { return fill(t, secret, nil) }

func fill(t reflect.Type, secret string, within []reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	if t == reflect.TypeFor[[]byte]() {
		v.SetBytes([]byte(secret))
		return v
	}
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		forms := []string{`"x"`, `"2026-01-02T03:04:05Z"`, `1`, `{}`}
		if _, ok := u.(interface{ Reveal() string }); ok {
			forms = []string{strconv.Quote(secret)}
		}
		for _, form := range forms {
			if u.UnmarshalJSON([]byte(form)) == nil {
				break
			}
		}
		return v
	}
	if slices.Contains(within, t) {
		return v
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(fill(t.Elem(), secret, within))
	case reflect.Struct:
		for i := range t.NumField() {
			if !t.Field(i).IsExported() {
				continue
			}
			v.Field(i).Set(fill(t.Field(i).Type, secret, within))
			if kind, ok := t.Field(i).Tag.Lookup("id"); ok {
				id := cloudapitest.NewID(cloudapi.Kind(kind)).String()
				if v.Field(i).Kind() == reflect.Slice {
					v.Field(i).Index(0).SetString(id)
				} else {
					v.Field(i).SetString(id)
				}
			}
		}
	case reflect.Slice:
		v.Set(reflect.Append(v, fill(t.Elem(), secret, within)))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(fill(t.Key(), secret, within), fill(t.Elem(), secret, within))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	}
	return v
}
