package cloudapitest

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// schema describes a value in a body as the description of the API does, as far
// as the server checks it.
type schema struct {
	typ       string // "string", "integer", "boolean", "array", "object"; "" if there is no value
	nullable  bool
	enum      []string
	items     *schema // of an array
	fields    []field // of an object
	open      bool    // an object that may have any other fields
	anyOf     []schema
	component string // messages call the schema by this name
}

type field struct {
	name     string
	required bool
	schema   schema
}

var (
	text     = schema{typ: "string"}
	integer  = schema{typ: "integer"}
	boolean  = schema{typ: "boolean"}
	freeForm = schema{typ: "object", open: true}
)

// closed returns an object that has no other fields.
func closed(fields ...field) schema { return schema{typ: "object", fields: fields} }

func required(name string, s schema) field { return field{name, true, s} }
func optional(name string, s schema) field { return field{name, false, s} }

func arrayOf(items schema) schema { return schema{typ: "array", items: &items} }

func oneOf(values ...string) schema { return schema{typ: "string", enum: values} }

// anyOf returns a value that fits at least one of the alternatives.
func anyOf(alternatives ...schema) schema { return schema{anyOf: alternatives} }

func (s schema) orNull() schema {
	s.nullable = true
	return s
}

// named makes messages call the schema by its name among the description's
// components.
func (s schema) named(component string) schema {
	s.component = component
	return s
}

// bodyPointer is what messages call the schema of the body.
func (o *operation) bodyPointer() string {
	path := strings.ReplaceAll(o.route, "/", "~1")
	return "#/paths/" + path + "/" + strings.ToLower(o.method) + "/requestBody/content/application~1json/schema"
}

// check returns the value of raw, which is valid JSON, with numbers and
// booleans in strings converted where the schema wants none: an object is a
// map[string]any, an integer an int.
func (s schema) check(pointer string, raw json.RawMessage) (any, error) {
	if s.component != "" {
		pointer = "#/components/schemas/" + s.component
	}
	if len(s.anyOf) > 0 {
		return s.checkAnyOf(pointer, raw)
	}
	if string(raw) == "null" {
		if s.nullable {
			return nil, nil
		}
		return nil, badRequest("%s does not allow null values", pointer)
	}
	value, ok, err := s.convert(pointer, raw)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, badRequest("%s expected %s, but received %s: %s", pointer, s.typ, rubyClass(raw), rubyInspect(raw))
	case s.enum != nil && !slices.Contains(s.enum, value.(string)):
		return nil, badRequest("%s isn't part of the enum in %s", rubyInspect(raw), pointer)
	}
	return value, nil
}

func (s schema) checkAnyOf(pointer string, raw json.RawMessage) (any, error) {
	for _, alternative := range s.anyOf {
		if value, err := alternative.check(pointer, raw); err == nil {
			return value, nil
		}
	}
	return nil, badRequest("%s isn't any of in %s", rubyInspect(raw), pointer)
}

// convert returns the value of raw as the schema's type, or false if it has
// another type.
func (s schema) convert(pointer string, raw json.RawMessage) (any, bool, error) {
	var value any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, false, errNotJSONObject()
	}
	switch s.typ {
	case "string":
		v, ok := value.(string)
		return v, ok, nil
	case "integer":
		v, ok := toInteger(value)
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

func (s schema) checkArray(pointer string, raw json.RawMessage) (any, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil {
		return nil, err
	}
	values := make([]any, len(elements))
	for i, element := range elements {
		var err error
		if values[i], err = s.items.check(pointer+"/items", element); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// checkObject reports what is wrong with a field before it reports unknown
// fields, and those before missing ones, as the real server does.
func (s schema) checkObject(pointer string, raw json.RawMessage) (any, error) {
	values := map[string]any{}
	var unknown, missing []string
	for _, m := range members(raw) {
		f, ok := s.field(m.name)
		switch {
		case ok:
			v, err := f.schema.check(pointer+"/properties/"+m.name, m.value)
			if err != nil {
				return nil, err
			}
			values[m.name] = v
		case s.open:
			values[m.name] = m.value
		default:
			unknown = append(unknown, m.name)
		}
	}
	for _, f := range s.fields {
		if _, ok := values[f.name]; f.required && !ok {
			missing = append(missing, f.name)
		}
	}
	switch {
	case unknown != nil:
		return nil, badBody("Request body contains unrecognized parameters: %s", strings.Join(unknown, ", "))
	case missing != nil:
		return nil, badBody("Request body must include required parameters: %s", strings.Join(missing, ", "))
	}
	return values, nil
}

func (s schema) field(name string) (field, bool) {
	i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return s.fields[i], true
}

// unknownFields names the fields of an object that the schema and its
// alternatives do not have, at the top level and in arrays and objects below.
func (s schema) unknownFields(raw json.RawMessage) []string {
	var unknown []string
	if s.items != nil {
		var elements []json.RawMessage
		_ = json.Unmarshal(raw, &elements) // of another type: reported by check
		for _, element := range elements {
			unknown = append(unknown, s.items.unknownFields(element)...)
		}
	}
	if s.open || len(s.anyOf) == 0 && s.typ != "object" {
		return unknown
	}
	alternatives := append(slices.Clip(s.anyOf), s)
	for _, m := range members(raw) {
		known := false
		for _, a := range alternatives {
			if f, ok := a.field(m.name); ok {
				known = true
				unknown = append(unknown, f.schema.unknownFields(m.value)...)
				break
			}
		}
		if !known {
			unknown = append(unknown, "body field "+m.name)
		}
	}
	return unknown
}

// toInteger converts as the real server does: fractions are cut off, strings of
// digits count as numbers. What is too large becomes the largest int.
func toInteger(value any) (int, bool) {
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n, true
		}
		if err != nil || math.Abs(f) >= math.MaxInt64 {
			return saturated(f > 0), true
		}
		return int(f), true
	case string:
		if !integerForm.MatchString(v) {
			return 0, false
		}
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return saturated(!strings.Contains(v, "-")), true
		}
		return n, true
	}
	return 0, false
}

func saturated(positive bool) int {
	if positive {
		return math.MaxInt
	}
	return math.MinInt
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

func containsNUL(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		return slices.ContainsFunc(v, containsNUL)
	case map[string]any:
		for _, member := range v {
			if containsNUL(member) {
				return true
			}
		}
	}
	return false
}

// fields are the fields of a checked body.
type fields map[string]any

// has reports whether the body has the field, be it null.
func (f fields) has(name string) bool {
	_, ok := f[name]
	return ok
}

// text returns a string, or "" if the field is absent or null.
func (f fields) text(name string) string {
	s, _ := f[name].(string)
	return s
}

// number returns an integer, or 0 if the field is absent or null.
func (f fields) number(name string) int {
	n, _ := f[name].(int)
	return n
}

// flag returns a boolean, or false if the field is absent or null.
func (f fields) flag(name string) bool {
	b, _ := f[name].(bool)
	return b
}

// list returns the elements of an array, none if the field is absent or null.
func (f fields) list(name string) []any {
	l, _ := f[name].([]any)
	return l
}

// object returns the fields of an object. Those of a free-form one are
// json.RawMessage.
func (f fields) object(name string) fields {
	o, _ := f[name].(map[string]any)
	return o
}

// nonEmpty returns a string that may be neither missing nor blank.
func (f fields) nonEmpty(name string) (string, error) {
	if !f.has(name) {
		return "", invalidRequest("missing parameter for %s", name)
	}
	s := f.text(name)
	if strings.TrimSpace(s) == "" {
		return "", invalidRequest("empty string provided for parameter %s", name)
	}
	return s, nil
}

// positive returns an integer that may not be less than 1.
func (f fields) positive(name string) (int, error) {
	n := f.number(name)
	if n < 1 {
		return 0, invalidRequest("Value must be an integer greater than 0 for parameter %s", name)
	}
	return n, nil
}
