package cloudapi

import (
	"encoding/json"
	"reflect"
	"time"
)

// The public description and the service give some things in different forms, and
// a time may be in one that RFC 3339 does not know. That costs no record.

// otherForms returns JSON that could not be decoded into a type with what is in
// another form brought to the one that the type has:
//
//   - of an array of IDs, the records in place of IDs: their IDs;
//   - of an array of records within a record, the IDs in place of records:
//     records that have nothing else;
//   - of a time, what is none by RFC 3339: null, which is the zero time.
func otherForms(data json.RawMessage, t reflect.Type, fields jsonFields) json.RawMessage {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
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
			items[i] = otherForms(idOrRecord(items[i], t.Elem()), t.Elem(), fields)
		}
		return rawJSON(items)
	case t.Kind() == reflect.Struct:
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil || members == nil {
			return data
		}
		for name, field := range fields.of(t) {
			if value, ok := members[name]; ok {
				members[name] = otherForms(value, field, fields)
			}
		}
		return rawJSON(members)
	}
	return data
}

// idOrRecord returns an element of an array as the type of its elements has it: an
// ID, or a record. The records of a page are pointers, and IDs no form of them.
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

// rawJSON encodes what is made of JSON, which cannot fail.
func rawJSON(v any) json.RawMessage {
	data, _ := json.Marshal(v)
	return data
}
