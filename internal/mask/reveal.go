package mask

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"unsafe"
)

// secret is a value with two texts: MarshalText returns the masked one, and
// Reveal the clear one.
type secret interface {
	Reveal() string
	encoding.TextMarshaler
}

// Reveal returns the decoded JSON of a value, with its secrets in clear, except
// those in types that encode themselves. Each number is a [json.Number].
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
	w := walker{found: func(string) {}}
	return w.walk(reflect.ValueOf(v), tree), nil
}

// SecretsIn returns the secrets in what encoding/json encodes of a value. A type
// that encodes itself can reveal any of its secrets, so these are all in the
// result but those of unexported fields.
func SecretsIn(v any) (secrets []string) {
	w := walker{found: func(secret string) { secrets = append(secrets, secret) }}
	w.walk(reflect.ValueOf(v), nil)
	return secrets
}

// walker walks through a value as encoding/json does.
type walker struct {
	found func(secret string)

	isOwn bool               // whether the value is in a type that encodes itself
	seen  map[reference]bool // what it has followed there: a value can lead back to itself
}

type reference struct {
	to     unsafe.Pointer
	as     reflect.Type
	length int // of a slice
}

// walk returns tree, the decoded JSON of v, with its masked secrets in clear.
// It calls found for each secret in v, even if tree is nil.
func (w *walker) walk(v reflect.Value, tree any) any {
	switch kind := v.Kind(); {
	case kind == reflect.Invalid, w.isOwn && w.wasSeen(v):
		return tree
	case kind == reflect.Pointer, kind == reflect.Interface:
		if v.IsNil() {
			return tree
		}
		return w.walk(v.Elem(), tree)
	}
	if s, ok := asSecret(v); ok {
		w.found(s.Reveal())
		if text, _ := s.MarshalText(); tree == any(string(text)) {
			return s.Reveal()
		}
		return tree // which is nil, or belongs to another field with the same name
	}
	if !w.isOwn && encodesItself(v) {
		own := walker{found: w.found, isOwn: true, seen: map[reference]bool{}}
		own.walk(v, nil)
		return tree
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k < reflect.Array || k == reflect.String {
			return tree // it's much faster for bytes
		}
		items, _ := tree.([]any)
		for i := range v.Len() {
			if i < len(items) {
				items[i] = w.walk(v.Index(i), items[i])
			} else {
				w.walk(v.Index(i), nil)
			}
		}
	case reflect.Map:
		members, _ := tree.(map[string]any)
		for entries := v.MapRange(); entries.Next(); {
			w.walkMember(members, entries.Key().String(), entries.Value())
		}
	case reflect.Struct:
		members, _ := tree.(map[string]any)
		var embedded []reflect.Value
		for i := range v.NumField() {
			field := v.Type().Field(i)
			tag := field.Tag.Get("json")
			name, _, _ := strings.Cut(tag, ",")
			switch {
			case !field.IsExported() && !field.Anonymous, tag == "-" && !w.isOwn:
			case name != "":
				w.walkMember(members, name, v.Field(i))
			case field.Anonymous:
				embedded = append(embedded, v.Field(i))
			default:
				w.walkMember(members, field.Name, v.Field(i))
			}
		}
		// JSON has the fields of an embedded struct on the same level, but a field of
		// the struct itself has precedence.
		for _, e := range embedded {
			w.walk(e, tree)
		}
	}
	return tree
}

func (w *walker) walkMember(members map[string]any, name string, v reflect.Value) {
	member, ok := members[name]
	if member = w.walk(v, member); ok {
		members[name] = member
	}
}

// wasSeen reports whether v is a reference for which wasSeen was called before.
func (w *walker) wasSeen(v reflect.Value) bool {
	r := reference{as: v.Type()}
	switch v.Kind() {
	case reflect.Slice:
		r.length = v.Len()
	case reflect.Pointer, reflect.Map:
	default:
		return false
	}
	r.to = v.UnsafePointer()
	defer func() { w.seen[r] = true }()
	return w.seen[r]
}

func asSecret(v reflect.Value) (secret, bool) {
	if v.Kind() != reflect.Struct || !v.CanInterface() {
		return nil, false
	}
	s, ok := v.Interface().(secret)
	return s, ok
}

// encodesItself reports whether encoding/json calls a method of v.
func encodesItself(v reflect.Value) bool {
	t := v.Type()
	is := func(t reflect.Type) bool {
		return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	}
	return is(t) || v.CanAddr() && is(reflect.PointerTo(t))
}
