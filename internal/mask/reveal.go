package mask

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// secret is a value with two texts: MarshalText returns the masked one, and
// Reveal the clear one.
type secret interface {
	Reveal() string
	encoding.TextMarshaler
}

// Reveal returns the decoded JSON of a value, with its secrets in clear. Each
// number is a [json.Number].
func Reveal(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	return walk(reflect.ValueOf(v), tree, func(string) {}), nil
}

// SecretsIn returns the secrets in a value.
func SecretsIn(v any) (secrets []string) {
	walk(reflect.ValueOf(v), nil, func(secret string) { secrets = append(secrets, secret) })
	return secrets
}

// walk returns tree, the decoded JSON of v, with its masked secrets in clear.
// It calls found for each secret in v, even if tree is nil.
func walk(v reflect.Value, tree any, found func(string)) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return walk(v.Elem(), tree, found)
		}
	case reflect.Slice, reflect.Array:
		items, _ := tree.([]any)
		for i := range v.Len() {
			if i < len(items) {
				items[i] = walk(v.Index(i), items[i], found)
			} else {
				walk(v.Index(i), nil, found)
			}
		}
	case reflect.Map:
		members, _ := tree.(map[string]any)
		for entries := v.MapRange(); entries.Next(); {
			walkMember(members, entries.Key().String(), entries.Value(), found)
		}
	case reflect.Struct:
		if v.CanInterface() {
			if s, ok := v.Interface().(secret); ok {
				found(s.Reveal())
				if text, _ := s.MarshalText(); tree == any(string(text)) {
					return s.Reveal()
				}
				return tree // which is nil, or belongs to another field with the same name
			}
		}
		members, _ := tree.(map[string]any)
		var embedded []reflect.Value
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() && !field.Anonymous {
				continue
			}
			tag := field.Tag.Get("json")
			name, _, _ := strings.Cut(tag, ",")
			switch {
			case tag == "-":
				walk(v.Field(i), nil, found)
			case name != "":
				walkMember(members, name, v.Field(i), found)
			case field.Anonymous:
				embedded = append(embedded, v.Field(i))
			default:
				walkMember(members, field.Name, v.Field(i), found)
			}
		}
		// JSON has the fields of an embedded struct on the same level, but a field of
		// the struct itself has precedence.
		for _, e := range embedded {
			walk(e, tree, found)
		}
	}
	return tree
}

func walkMember(members map[string]any, name string, v reflect.Value, found func(string)) {
	member, ok := members[name]
	if member = walk(v, member, found); ok {
		members[name] = member
	}
}
