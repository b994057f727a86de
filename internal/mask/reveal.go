package mask

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"unicode"
)

// secret is a value with two texts: MarshalText returns [Redacted], or "" if the
// secret is empty, and Reveal the clear one.
type secret interface {
	Reveal() string
	encoding.TextMarshaler
}

// Reveal returns the decoded JSON of a value, with its secrets in clear, and
// these secrets. text is the JSON of the value. Each number is a [json.Number].
//
// A secret stays masked where the JSON doesn't say for certain which value it is:
// in a type that encodes itself, in a map whose keys aren't strings, in a struct
// with several fields of that name or with a tag like `json:"it's"`, and in a
// struct that is embedded in an embedded one.
func Reveal(v any, text []byte) (tree any, secrets []string) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&tree) // it's JSON
	tree = reveal(tree, reflect.ValueOf(v), &secrets)
	return tree, secrets
}

// reveal returns a part of the decoded JSON with the secrets of v, the value that
// was encoded there, in clear. It adds them to found.
func reveal(tree any, v reflect.Value, found *[]string) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case !v.IsValid(), implements[json.Marshaler](v):
		return tree
	case implements[encoding.TextMarshaler](v):
		if s, ok := v.Interface().(secret); ok && tree == any(Redacted) {
			*found = append(*found, s.Reveal())
			return s.Reveal()
		}
		return tree
	}
	switch tree := tree.(type) {
	case []any:
		for i := range tree {
			tree[i] = reveal(tree[i], v.Index(i), found)
		}
	case map[string]any:
		for name := range tree {
			tree[name] = reveal(tree[name], member(v, name), found)
		}
	}
	return tree
}

// member returns the value of a map or struct that has a name in JSON, or the
// zero Value if that isn't certain.
func member(v reflect.Value, name string) (found reflect.Value) {
	if v.Kind() == reflect.Map {
		if v.Type().Key().Kind() == reflect.String {
			found = v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key()))
		}
		return found
	}
	own, embedded := fields(v, name)
	if len(own) == 0 {
		for _, v := range embedded {
			promoted, _ := fields(v, name)
			own = append(own, promoted...)
		}
	}
	if len(own) == 1 {
		found = own[0]
	}
	return found
}

// fields returns the fields of a struct that have a name in JSON, and the structs
// that it embeds. An embedded struct with a tag is a field like any other. A field
// whose name has another character than those below may have any: encoding/json
// ignores the name in Go 1.26, and parts of it in Go 1.27.
func fields(v reflect.Value, name string) (named, embedded []reflect.Value) {
	for f, value := range v.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		value = reflect.Indirect(value)
		switch isStruct := f.Anonymous && value.Kind() == reflect.Struct; {
		case f.Tag.Get("json") == "-" || !f.IsExported() && !isStruct:
		case strings.ContainsFunc(tag, func(c rune) bool {
			return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
		}):
			named = append(named, value, value)
		case isStruct && tag == "":
			embedded = append(embedded, value)
		case cmp.Or(tag, f.Name) == name:
			named = append(named, value)
		}
	}
	return named, embedded
}

// implements reports whether the methods of I are those of a value, or of a
// pointer to it.
func implements[I any](v reflect.Value) bool {
	return reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[I]())
}
