package cloudapi

import (
	"encoding/json"
	"strconv"
	"strings"
)

// decodeEnvelope fills code, type, message and details from an error body. It
// reports whether the body is an envelope. From a malformed envelope it takes
// the parts that it can read.
func (e *Error) decodeEnvelope(body []byte) bool {
	var strict struct {
		Error struct {
			Code    int             `json:"code"`
			Type    string          `json:"type"`
			Message string          `json:"message"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &strict); err == nil && strict.Error.Type != "" { // or there may be no envelope
		e.Code, e.Type, e.Message, e.Details = strict.Error.Code, strict.Error.Type, strict.Error.Message, strict.Error.Details
		return true
	}
	var loose struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &loose) != nil || len(loose.Error) == 0 {
		return false
	}
	var fields *struct{ Code, Type, Message, Details json.RawMessage }
	if json.Unmarshal(loose.Error, &fields) != nil {
		e.Message = jsonText(loose.Error)
		return e.Message != ""
	}
	if fields == nil {
		return false
	}
	e.Code, _ = strconv.Atoi(jsonText(fields.Code))
	e.Type, e.Message, e.Details = jsonText(fields.Type), jsonText(fields.Message), fields.Details
	return true
}

// jsonText returns the content of a JSON string, and the JSON text of any other
// value.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

type detailField struct {
	name  string
	texts []string
}

// detailFields reads an object of strings and arrays of strings, in its order.
func detailFields(details json.RawMessage) []detailField {
	dec := json.NewDecoder(strings.NewReader(string(details)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var fields []detailField
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return fields
		}
		var value any
		if dec.Decode(&value) != nil {
			return fields
		}
		field := detailField{name: name.(string)}
		switch v := value.(type) {
		case string:
			field.texts = []string{v}
		case []any:
			for _, item := range v {
				if s, ok := item.(string); ok {
					field.texts = append(field.texts, s)
				}
			}
		}
		if len(field.texts) > 0 {
			fields = append(fields, field)
		}
	}
	return fields
}
