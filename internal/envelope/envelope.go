// Package envelope reads the JSON in which the API reports errors.
package envelope

import (
	"encoding/json"
	"errors"
	"strings"
)

// Error is the content of an envelope.
type Error struct {
	Code    int             `json:"code"` // 0 if absent
	Type    string          `json:"type"` // the server's name for the kind of error
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
}

// Parse reads the body of an error, and reports whether it's an envelope: an
// object with a type or a message. A field of another type stays zero.
func Parse(body []byte) (Error, bool) {
	var envelope struct {
		Error Error `json:"error"`
	}
	err := json.Unmarshal(body, &envelope)
	if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !wrongType {
		return Error{}, false
	}
	e := envelope.Error
	return e, e.Type != "" || e.Message != ""
}

// Field has the texts about one field of a request.
type Field struct {
	Name  string
	Texts []string
}

// Fields reads details that are an object of strings and arrays of strings, in
// their order. It omits values of other types.
func Fields(details json.RawMessage) []Field {
	dec := json.NewDecoder(strings.NewReader(string(details)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var fields []Field
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return fields
		}
		var value any
		if dec.Decode(&value) != nil {
			return fields
		}
		field := Field{Name: name.(string)}
		switch v := value.(type) {
		case string:
			field.Texts = []string{v}
		case []any:
			for _, item := range v {
				if s, ok := item.(string); ok {
					field.Texts = append(field.Texts, s)
				}
			}
		}
		if len(field.Texts) > 0 {
			fields = append(fields, field)
		}
	}
	return fields
}

// FieldText lists the fields of details, in their order.
func FieldText(details json.RawMessage) string {
	var parts []string
	for _, f := range Fields(details) {
		for _, text := range f.Texts {
			parts = append(parts, f.Name+": "+text)
		}
	}
	return strings.Join(parts, "; ")
}
