package mask

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// secret is a value with two texts: MarshalText returns the masked one, and
// Reveal the clear one.
type secret interface {
	Reveal() string
	encoding.TextMarshaler
}

// Reveal returns the decoded JSON of a value, with its secrets in clear, and
// these secrets. Each number is a [json.Number]. In a type that encodes itself,
// Reveal only looks for secrets.
func Reveal(v any) (tree any, secrets []string, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, nil, err
	}
	r := revealer{left: maxOwn}
	tree = r.walk(reflect.ValueOf(v), tree)
	return tree, r.secrets, nil
}

// How many values, and how deep, Reveal looks for secrets in types that encode
// themselves. Unlike JSON, these values can be endless.
const maxOwn, maxDepth = 10_000, 100

type revealer struct {
	secrets []string
	left    int // how many values collect may still visit
}

func (r *revealer) add(s secret) {
	if text := s.Reveal(); !slices.Contains(r.secrets, text) {
		r.secrets = append(r.secrets, text)
	}
}

// walk returns tree, the decoded JSON of v, with its masked secrets in clear. It
// visits only what is in the JSON.
func (r *revealer) walk(v reflect.Value, tree any) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if tree == nil || !v.IsValid() {
		return tree
	}
	if s, ok := asSecret(v); ok {
		r.add(s)
		if text, _ := s.MarshalText(); tree == any(string(text)) {
			return s.Reveal()
		}
		return tree // it belongs to another field with the same name
	}
	if encodesItself(v) {
		r.collect(v, 0)
		return tree
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		items, _ := tree.([]any) // text in base64 for bytes
		for i := range items {
			items[i] = r.walk(v.Index(i), items[i])
		}
	case reflect.Map:
		members, _ := tree.(map[string]any)
		for entries := v.MapRange(); entries.Next(); {
			r.walkMember(members, keyOf(entries.Key()), entries.Value())
		}
	case reflect.Struct:
		members, _ := tree.(map[string]any)
		r.walkFields(v, members, nil)
	}
	return tree
}

// walkFields visits the fields of a struct, and then those of embedded structs:
// JSON has these on the same level, but a field of the struct itself has
// precedence. within are the types of the structs that embed v.
func (r *revealer) walkFields(v reflect.Value, members map[string]any, within []reflect.Type) {
	if slices.Contains(within, v.Type()) {
		return
	}
	var embedded []reflect.Value
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch inner := reflect.Indirect(v.Field(i)); {
		case field.Tag.Get("json") == "-":
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			embedded = append(embedded, inner)
		case field.IsExported():
			r.walkMember(members, cmp.Or(name, field.Name), v.Field(i))
		}
	}
	for _, e := range embedded {
		r.walkFields(e, members, append(within, v.Type()))
	}
}

func (r *revealer) walkMember(members map[string]any, name string, v reflect.Value) {
	if member, ok := members[name]; ok {
		members[name] = r.walk(v, member)
	}
}

// collect finds secrets in a type that encodes itself. It doesn't look into maps,
// since the type may guard them.
func (r *revealer) collect(v reflect.Value, depth int) {
	if r.left--; depth > maxDepth {
		return
	}
	if s, ok := asSecret(v); ok {
		r.add(s)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			r.collect(v.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := 0; i < v.Len() && r.left > 0; i++ {
			r.collect(v.Index(i), depth+1)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && r.left > 0; i++ {
			if field := v.Type().Field(i); field.IsExported() || field.Anonymous {
				r.collect(v.Field(i), depth+1)
			}
		}
	}
}

// asSecret returns a secret, also one that a struct embeds.
func asSecret(v reflect.Value) (secret, bool) {
	if v.Kind() != reflect.Struct || !v.CanInterface() {
		return nil, false
	}
	s, ok := v.Interface().(secret)
	for i := 0; ok && i < v.NumField(); i++ {
		ok = v.Field(i).Kind() != reflect.Pointer || !v.Type().Field(i).Anonymous || !v.Field(i).IsNil()
	}
	return s, ok
}

// encodesItself reports whether encoding/json calls a method of v.
func encodesItself(v reflect.Value) bool {
	is := func(t reflect.Type) bool {
		return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	}
	return is(v.Type()) || v.CanAddr() && is(reflect.PointerTo(v.Type()))
}

// keyOf returns the name that JSON has for the key of a map.
func keyOf(key reflect.Value) string {
	if key.Kind() == reflect.String {
		return key.String()
	}
	if t, ok := key.Interface().(encoding.TextMarshaler); ok {
		text, _ := t.MarshalText()
		return string(text)
	}
	if key.CanInt() {
		return strconv.FormatInt(key.Int(), 10)
	}
	return strconv.FormatUint(key.Uint(), 10)
}
