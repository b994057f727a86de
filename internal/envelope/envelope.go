// Package envelope reads the JSON in which the API reports errors. It is
// lenient: it takes the parts of a malformed envelope that it can read.
package envelope

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Error is the content of an envelope.
type Error struct {
	Code    int    // 0 if absent
	Type    string // the server's name for the kind of error
	Message string
	Details json.RawMessage
}

// Parse reads the body of an error, and reports whether it's an envelope.
func Parse(body []byte) (Error, bool) {
	var strict struct {
		Error Error `json:"error"`
	}
	if err := json.Unmarshal(body, &strict); err == nil && strict.Error.Type != "" { // or there may be no envelope
		return strict.Error, true
	}
	var loose struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &loose) != nil || len(loose.Error) == 0 {
		return Error{}, false
	}
	var fields *struct{ Code, Type, Message, Details json.RawMessage }
	if json.Unmarshal(loose.Error, &fields) != nil {
		message := text(loose.Error)
		return Error{Message: message}, message != ""
	}
	if fields == nil {
		return Error{}, false
	}
	code, _ := strconv.Atoi(text(fields.Code))
	return Error{code, text(fields.Type), text(fields.Message), fields.Details}, true
}

// text returns the content of a JSON string, and the JSON text of any other
// value.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
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
