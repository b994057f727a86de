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

// secret is a value with two texts: MarshalText returns [Redacted], or "" if the
// secret is empty, and Reveal the clear one.
type secret interface {
	Reveal() string
	encoding.TextMarshaler
}

// Reveal returns the decoded JSON of a value, with its secrets in clear, and
// these secrets. text is the JSON of the value. Each number is a [json.Number].
// In a type that encodes itself, Reveal only looks for secrets.
func Reveal(v any, text []byte) (tree any, secrets []string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, nil, err
	}
	r := revealer{left: maxOwn, holds: map[reflect.Type]bool{}}
	tree = r.walk(reflect.ValueOf(v), tree)
	return tree, r.secrets, nil
}

// maxOwn is in how many values Reveal looks for secrets in types that encode
// themselves. Unlike JSON, these values can be endless.
const maxOwn = 10_000

type revealer struct {
	secrets []string
	left    int                   // how many values collect may still visit
	holds   map[reflect.Type]bool // the results of holdsSecrets
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
	isEncoder := implements[json.Marshaler](v)
	if !isEncoder && isSecret(v.Type()) && v.CanInterface() {
		s := v.Interface().(secret)
		r.add(s)
		if tree == any(Redacted) {
			return s.Reveal()
		}
		return tree
	}
	if isEncoder || implements[encoding.TextMarshaler](v) {
		r.collect(v)
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
		r.walkFields(v, members)
	}
	return tree
}

// walkFields visits the fields of a struct and of the structs that it embeds,
// which JSON has on one level. Of fields with the same name, JSON has the one
// that is embedded least deep. If there are several of these, none is visited.
func (r *revealer) walkFields(v reflect.Value, members map[string]any) {
	taken, within := map[string]bool{}, map[reflect.Type]bool{}
	for level := []reflect.Value{v}; len(level) > 0; {
		var embedded []reflect.Value
		var names []string
		named := map[string][]reflect.Value{}
		for _, s := range level {
			for i := range s.NumField() {
				field := s.Type().Field(i)
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				inner := reflect.Indirect(s.Field(i))
				isStruct := field.Anonymous && inner.Kind() == reflect.Struct
				switch {
				case field.Tag.Get("json") == "-", !field.IsExported() && !isStruct:
				case isStruct && name == "":
					if !within[inner.Type()] {
						embedded = append(embedded, inner)
					}
				default:
					name = cmp.Or(name, field.Name)
					names, named[name] = append(names, name), append(named[name], s.Field(i))
				}
			}
		}
		for _, name := range names {
			if len(named[name]) == 1 && !taken[name] {
				r.walkMember(members, name, named[name][0])
			}
			taken[name] = true
		}
		for _, s := range level {
			within[s.Type()] = true
		}
		level = embedded
	}
}

func (r *revealer) walkMember(members map[string]any, name string, v reflect.Value) {
	if member, ok := members[name]; ok {
		members[name] = r.walk(v, member)
	}
}

// collect finds secrets in a type that encodes itself. It visits only what must
// hold secrets, and neither maps nor what an interface holds: the type may guard
// the rest.
func (r *revealer) collect(v reflect.Value) {
	if r.left--; r.left < 0 || !r.holdsSecrets(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			r.collect(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			r.collect(v.Index(i))
		}
	case reflect.Struct:
		if isSecret(v.Type()) && !embeds(v.Type()) {
			if v.CanInterface() {
				r.add(v.Interface().(secret))
			}
			return
		}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() || field.Anonymous {
				r.collect(v.Field(i))
			}
		}
	}
}

// holdsSecrets reports whether the values of a type can hold secrets where collect
// looks.
func (r *revealer) holdsSecrets(t reflect.Type) bool {
	holds, ok := r.holds[t]
	if !ok {
		holds = leadsToSecret(t, map[reflect.Type]bool{})
		r.holds[t] = holds
	}
	return holds
}

// leadsToSecret looks for secrets in a type and in those to which it leads, except
// the types in seen.
func leadsToSecret(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return leadsToSecret(t.Elem(), seen)
	case reflect.Struct:
		return isSecret(t) || slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
			return (f.IsExported() || f.Anonymous) && leadsToSecret(f.Type, seen)
		})
	}
	return false
}

// isSecret reports whether values of the type are secrets, or embed one.
func isSecret(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[secret]())
}

func embeds(t reflect.Type) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// implements reports whether encoding/json finds the methods of I in v.
func implements[I any](v reflect.Value) bool {
	i := reflect.TypeFor[I]()
	return v.Type().Implements(i) || v.CanAddr() && reflect.PointerTo(v.Type()).Implements(i)
}

// keyOf returns the name that JSON has for the key of a map.
func keyOf(key reflect.Value) string {
	switch {
	case key.Kind() == reflect.String:
		return key.String()
	case key.Kind() == reflect.Pointer && key.IsNil():
		return ""
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
