package schema

import (
	"bytes"
	"encoding/json"
)

type member struct {
	name  string
	value json.RawMessage
}

// members returns the fields of a JSON object in their order, and nil for other
// JSON.
func members(raw json.RawMessage) []member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, _ := d.Token(); open != json.Delim('{') {
		return nil
	}
	var found []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return found
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return found
		}
		found = append(found, member{name.(string), value})
	}
	return found
}

func rubyClass(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		return "Hash"
	case '[':
		return "Array"
	case '"':
		return "String"
	case 't':
		return "TrueClass"
	case 'f':
		return "FalseClass"
	}
	if bytes.ContainsAny(raw, ".eE") {
		return "Float"
	}
	return "Integer"
}
