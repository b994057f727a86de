// Package envelope reads the JSON in which the API reports errors.
package envelope

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Envelope is the JSON of an error.
type Envelope struct {
	Error `json:"error"`
}

// Error is the content of an envelope.
type Error struct {
	Code    int             `json:"code"` // 0 if absent
	Type    string          `json:"type"` // the server's name for the kind of error
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
}

// Parse reads the body of an error, and reports whether it's an envelope: an
// object with a type or a message. A field whose value has the wrong JSON type
// stays zero.
func (e *Envelope) Parse(body []byte) bool {
	err := json.Unmarshal(body, e)
	if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !wrongType {
		*e = Envelope{}
	}
	return e.Type != "" || e.Message != ""
}

// Fields returns the texts in details, by field. It reads details such as
// {"name": "is taken", "size": ["is unknown"]}, and omits values that are
// neither strings nor arrays of strings.
func Fields(details json.RawMessage) map[string][]string {
	var values map[string]any
	if json.Unmarshal(details, &values) != nil {
		return nil
	}
	fields := make(map[string][]string, len(values))
	for name, value := range values {
		items, isArray := value.([]any)
		if !isArray {
			items = []any{value}
		}
		for _, item := range items {
			if text, ok := item.(string); ok {
				fields[name] = append(fields[name], text)
			}
		}
	}
	return fields
}

// FieldText returns the texts in details in one line, such as
// "name: is taken; size: is unknown", sorted by the field's name.
func FieldText(details json.RawMessage) string {
	var parts []string
	fields := Fields(details)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, text := range fields[name] {
			parts = append(parts, name+": "+text)
		}
	}
	return strings.Join(parts, "; ")
}
