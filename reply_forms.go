package cloudapi

import (
	"encoding/json"
	"reflect"
	"time"
)

// Ubicloud's public description and its service use different forms for some
// values, and some times are not in RFC 3339. The SDK accepts these records.

// formLevels is how many levels of arrays and records are converted, which is
// more than real responses have. Each takes as long as the whole response, and
// types of records contain each other, so that there could be thousands.
const formLevels = 16

// otherForms converts JSON that could not be decoded into a type to the forms
// that the type has, in the given number of levels:
//
//   - records in an array of IDs become their IDs;
//   - IDs in an array of records within a record become records with only an
//     ID;
//   - a time that is not in RFC 3339 becomes null, which decodes as the zero
//     time.
func otherForms(data json.RawMessage, t reflect.Type, fields jsonFields, levels int) json.RawMessage {
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
			items[i] = otherForms(idOrRecord(items[i], t.Elem()), t.Elem(), fields, levels-1)
		}
		return rawJSON(items)
	case t.Kind() == reflect.Struct:
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil || members == nil {
			return data
		}
		for name, field := range fields.of(t) {
			if value, ok := members[name]; ok {
				members[name] = otherForms(value, field, fields, levels-1)
			}
		}
		return rawJSON(members)
	}
	return data
}

// idOrRecord converts an element of an array to the form of the element type:
// an ID or a record. It does not convert the records of a page, which are
// pointers.
func idOrRecord(item json.RawMessage, t reflect.Type) json.RawMessage {
	switch {
	case t.Kind() == reflect.String && item[0] == '{':
		var record struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal(item, &record) == nil && record.ID != nil {
			return record.ID
		}
	case t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(reflect.TypeFor[identified]()) && item[0] == '"':
		return rawJSON(map[string]json.RawMessage{"id": item})
	}
	return item
}

// rawJSON encodes a value made from JSON, which cannot fail.
func rawJSON(v any) json.RawMessage {
	data, _ := json.Marshal(v)
	return data
}
