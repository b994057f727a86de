package jsonform

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// formLevels is how many levels of arrays and records are converted. Real
// responses have fewer, but hostile JSON could have thousands.
const formLevels = 16

// otherForms converts JSON that doesn't decode into a type, such as a record
// where the type has an ID. It converts at most the given number of levels.
func otherForms(data json.RawMessage, t reflect.Type, levels int) json.RawMessage {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case levels == 0:
	case t == reflect.TypeFor[time.Time]():
		if new(time.Time).UnmarshalJSON(data) != nil {
			return json.RawMessage("null")
		}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
	case t.Kind() == reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(data, &items) != nil || items == nil {
			return data
		}
		for i := range items {
			items[i] = otherForms(idOrRecord(items[i], t.Elem()), t.Elem(), levels-1)
		}
		return rawJSON(items)
	case t.Kind() == reflect.Struct:
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil || members == nil {
			return data
		}
		for _, f := range reflect.VisibleFields(t) {
			if value, ok := members[fieldName(f)]; ok {
				members[fieldName(f)] = otherForms(value, f.Type, levels-1)
			}
		}
		return rawJSON(members)
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.String:
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil || members == nil {
			return data
		}
		for name, value := range members {
			if strings.IndexByte(`"[{n`, value[0]) < 0 { // a number or a boolean
				members[name] = rawJSON(string(value))
			}
		}
		return rawJSON(members)
	}
	return data
}

// idOrRecord converts an element of an array to the form of the element type:
// an ID or a record. It doesn't convert a page's records, which are pointers.
func idOrRecord(item json.RawMessage, t reflect.Type) json.RawMessage {
	switch {
	case t.Kind() == reflect.String && item[0] == '{':
		var record struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal(item, &record) == nil && record.ID != nil {
			return record.ID
		}
	case t.Kind() == reflect.Struct && item[0] == '"':
		for _, f := range reflect.VisibleFields(t) {
			if fieldName(f) == "id" && f.Type.Kind() == reflect.String {
				return rawJSON(map[string]json.RawMessage{"id": item})
			}
		}
	}
	return item
}

// fieldName returns the JSON name in a field's tag. All fields of records have
// tags.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// rawJSON encodes a value that came from JSON. That can't fail.
func rawJSON(v any) json.RawMessage {
	data, _ := json.Marshal(v)
	return data
}
