// Package schema checks the bodies of requests against the API description, in
// the way and with the messages of the real server.
package schema

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// Schema describes a value in a body, by those rules of the API description that
// the server enforces.
type Schema struct {
	Type      string // "string", "integer", "number", "boolean", "array", "object", "any"; "" in NoBody and AnyOf
	nullable  bool
	Enum      []string
	Items     *Schema // of an array
	Fields    []Field // of an object
	values    *Schema // for MapOf: the schema of every field's value
	AnyOf     []Schema
	moment    bool           // whether the string must be a time
	pattern   *regexp.Regexp // of a string; nil for any
	component string         // messages call the schema by this name
}

// Field is a field of an object, or a parameter of a query.
type Field struct {
	Name     string
	required bool
	Schema   Schema
	only     version.Version
}

// Only returns the field, limited to one version of the API.
func (f Field) Only(v version.Version) Field { f.only = v; return f }

// In returns the schema without the fields that v doesn't have.
func (s Schema) In(v version.API) Schema {
	s.Fields = version.Select(v, s.Fields, func(f *Field) (version.Version, string) { return f.only, f.Name })
	for i := range s.Fields {
		s.Fields[i].Schema = s.Fields[i].Schema.In(v)
	}
	if s.Items != nil {
		s.Items = new(s.Items.In(v))
	}
	alternatives := make([]Schema, len(s.AnyOf))
	for i, a := range s.AnyOf {
		alternatives[i] = a.In(v)
	}
	s.AnyOf = alternatives
	return s
}

var (
	Text    = Schema{Type: "string"}
	Integer = Schema{Type: "integer"}
	Number  = Schema{Type: "number"}
	Boolean = Schema{Type: "boolean"}
	Moment  = Schema{Type: "string", moment: true} // a time in RFC 3339
	Any     = Schema{Type: "any"}                  // checked by the operation
)

// Closed returns the schema of an object that has only these fields.
func Closed(fields ...Field) Schema { return Schema{Type: "object", Fields: fields} }

// MapOf returns the schema of an object whose fields may have any name.
func MapOf(values Schema) Schema { return Schema{Type: "object", values: &values} }

func Required(name string, s Schema) Field { return Field{Name: name, required: true, Schema: s} }
func Optional(name string, s Schema) Field { return Field{Name: name, Schema: s} }

func ArrayOf(items Schema) Schema { return Schema{Type: "array", Items: &items} }

// Texts returns optional string fields with these names.
func Texts(names ...string) []Field {
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i] = Optional(name, Text)
	}
	return fields
}

// Like returns the schema of a string that matches a pattern.
func Like(form *regexp.Regexp) Schema { return Schema{Type: "string", pattern: form} }

func OneOf(values ...string) Schema { return Schema{Type: "string", Enum: values} }

// AnyOf returns the schema of a value that matches at least one of the
// alternatives.
func AnyOf(alternatives ...Schema) Schema { return Schema{AnyOf: alternatives} }

func (s Schema) OrNull() Schema {
	s.nullable = true
	return s
}

// Named returns the schema with the name that messages use for it: its name in
// the API description.
func (s Schema) Named(component string) Schema {
	s.component = component
	return s
}

// Check checks raw, which is valid JSON, and returns its value: an object as a
// map[string]any, an integer as an int64. It converts numbers and booleans in
// strings if the schema needs them.
func (s Schema) Check(pointer string, raw json.RawMessage) (any, error) {
	if s.component != "" {
		pointer = "#/components/schemas/" + s.component
	}
	switch {
	case s.Type == Any.Type:
		return raw, nil
	case len(s.AnyOf) > 0:
		return s.checkAnyOf(pointer, raw)
	}
	if string(raw) == "null" {
		if s.nullable {
			return nil, nil
		}
		return nil, reply.BadRequest("%s does not allow null values", pointer)
	}
	value, ok, err := s.convert(pointer, raw)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, reply.BadRequest("%s expected %s, but received %s: %s", pointer, s.Type, rubyClass(raw), raw)
	case s.moment && !isMoment(value.(string)):
		return nil, reply.BadRequest("%s Value: %s is not conformant with date-time format", pointer, raw)
	case s.pattern != nil && !s.pattern.MatchString(value.(string)):
		return nil, reply.BadRequest("Parameter %s does not match pattern %s", raw, s.pattern)
	case s.Enum != nil && !slices.Contains(s.Enum, value.(string)):
		return nil, reply.BadRequest("%s isn't part of the enum in %s", raw, pointer)
	}
	return value, nil
}

func isMoment(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

func (s Schema) checkAnyOf(pointer string, raw json.RawMessage) (any, error) {
	for _, alternative := range s.AnyOf {
		if value, err := alternative.Check(pointer, raw); err == nil {
			return value, nil
		}
	}
	return nil, reply.BadRequest("%s isn't any of in %s", raw, pointer)
}

// convert returns the value of raw in the schema's type, or false if raw can't
// be converted to that type.
func (s Schema) convert(pointer string, raw json.RawMessage) (any, bool, error) {
	var value any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, false, reply.NotJSONObject()
	}
	switch s.Type {
	case "string":
		v, ok := value.(string)
		if strings.Contains(v, "\x00") {
			return nil, false, reply.InvalidRequest("string parameter contains null byte")
		}
		return v, ok, nil
	case "integer":
		v, ok := toInteger(value)
		return v, ok, nil
	case "number":
		v, ok := toNumber(value)
		return v, ok, nil
	case "boolean":
		v, ok := toBoolean(value)
		return v, ok, nil
	case "array":
		if _, ok := value.([]any); !ok {
			return nil, false, nil
		}
		v, err := s.checkArray(pointer, raw)
		return v, true, err
	default:
		if _, ok := value.(map[string]any); !ok {
			return nil, false, nil
		}
		v, err := s.checkObject(pointer, raw)
		return v, true, err
	}
}

func (s Schema) checkArray(pointer string, raw json.RawMessage) (any, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil {
		return nil, err
	}
	values := make([]any, len(elements))
	for i, element := range elements {
		var err error
		if values[i], err = s.Items.Check(pointer+"/items", element); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// checkObject reports invalid fields first, then unknown fields, then missing
// ones, as the real server does.
func (s Schema) checkObject(pointer string, raw json.RawMessage) (any, error) {
	values := map[string]any{}
	var unknown, missing []string
	for _, m := range members(raw) {
		f, ok := s.field(m.name)
		switch {
		case ok:
			v, err := f.Schema.Check(pointer+"/properties/"+m.name, m.value)
			if err != nil {
				return nil, err
			}
			values[m.name] = v
		case s.values != nil:
			if _, err := s.values.Check(pointer+"/additionalProperties", m.value); err != nil {
				return nil, err
			}
			values[m.name] = m.value
		default:
			unknown = append(unknown, m.name)
		}
	}
	for _, f := range s.Fields {
		if _, ok := values[f.Name]; f.required && !ok {
			missing = append(missing, f.Name)
		}
	}
	switch {
	case unknown != nil:
		return nil, reply.BadBody("Request body contains unrecognized parameters: %s", strings.Join(unknown, ", "))
	case missing != nil:
		return nil, reply.BadBody("Request body must include required parameters: %s", strings.Join(missing, ", "))
	}
	return values, nil
}

func (s Schema) field(name string) (Field, bool) {
	i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return s.Fields[i], true
}

// UnknownFields returns the names of a JSON object's fields that neither the
// schema nor any of its alternatives has.
func (s Schema) UnknownFields(raw json.RawMessage) []string {
	var unknown []string
	for _, m := range members(raw) {
		if !slices.ContainsFunc(append(slices.Clip(s.AnyOf), s), func(a Schema) bool { _, ok := a.field(m.name); return ok }) {
			unknown = append(unknown, "body field "+m.name)
		}
	}
	return unknown
}

// ContractOnlyFields returns the names of a JSON object's fields that only the
// contract has.
func (s Schema) ContractOnlyFields(raw json.RawMessage) []string {
	var fields []string
	for _, m := range members(raw) {
		if f, ok := s.field(m.name); ok && f.only == version.Contract {
			fields = append(fields, "body field "+m.name)
		}
	}
	return fields
}

// toInteger also takes integers in strings. As the real server does, it cuts
// off fractions, and returns nil for a number of more than 64 bits.
func toInteger(value any) (any, bool) {
	n, err := strconv.ParseInt(numeral(value), 10, 64)
	if number, ok := value.(json.Number); ok && err != nil {
		f, _ := number.Float64()
		if math.Abs(f) >= 1<<63 {
			return nil, true
		}
		return int64(f), true
	}
	return n, err == nil
}

func toNumber(value any) (float64, bool) {
	n, err := strconv.ParseFloat(numeral(value), 64)
	return n, err == nil
}

func numeral(value any) string {
	switch v := value.(type) {
	case json.Number:
		return v.String()
	case string:
		return v
	}
	return ""
}

func toBoolean(value any) (flag, ok bool) {
	switch value {
	case true, "true", "1":
		return true, true
	case false, "false", "0":
		return false, true
	}
	return false, false
}
