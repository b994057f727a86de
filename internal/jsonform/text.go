package jsonform

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"
)

// LosesText reports whether encoding a value changes a string in it, because
// the string isn't UTF-8 and is encoded with U+FFFD: as an escape, or as the
// bytes EF BF BD.
func LosesText(v any, encoded []byte) bool {
	mayHave := bytes.IndexByte(encoded, '\\') >= 0 || bytes.IndexByte(encoded, 0xEF) >= 0
	return mayHave && hasInvalidText(reflect.ValueOf(v))
}

// hasInvalidText reports whether a value contains a string that isn't UTF-8.
// Like encoding/json, it ignores the content of a json.Marshaler.
func hasInvalidText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && hasInvalidText(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if hasInvalidText(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if hasInvalidText(entries.Key()) || hasInvalidText(entries.Value()) {
				return true
			}
		}
	case reflect.Struct:
		if v.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
			return false
		}
		for i := range v.NumField() {
			if hasInvalidText(v.Field(i)) {
				return true
			}
		}
	}
	return false
}
