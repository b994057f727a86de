package cloudapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// A few bytes of JSON can take a hundred times as much memory, such as {}
// decoded into a record or a map. So the memory of a large response is
// estimated before it is decoded.

const (
	// freeSize is the memory that any response may take.
	freeSize = 16 << 20

	// maxGrowth is how many times its own size a larger response may take in
	// addition. Real responses take two to ten times their size.
	maxGrowth = 32

	// Upper bounds for an object, and for any other element of an array.
	maxObjectSize, maxElementSize = 2 << 10, 64
)

// checkSize refuses a response that would take too much memory when it is
// decoded into v: more than freeSize plus the smaller of maxGrowth times its
// size and twice the response limit. JSON without a field in v takes no memory.
func (r reply) checkSize(v any) error {
	growth := int64(len(r.body)) * maxGrowth
	if r.limit < growth/2 {
		growth = r.limit * 2
	}
	objects, elements := int64(bytes.Count(r.body, []byte("{"))), int64(bytes.Count(r.body, []byte(",")))
	if objects*maxObjectSize+elements*maxElementSize+int64(len(r.body)) <= freeSize+growth || !json.Valid(r.body) {
		return nil
	}
	s := sizer{rest: r.body, fields: jsonFields{}}
	if s.value(reflect.TypeOf(v)); s.size > freeSize+growth {
		return fmt.Errorf("its %d bytes would take %d MiB of memory", len(r.body), s.size>>20)
	}
	return nil
}

// sizer adds up the memory that valid JSON takes.
type sizer struct {
	rest   []byte // the JSON not yet read
	size   int64
	fields jsonFields
}

// value reads a value that is decoded into a type; a nil type drops it.
func (s *sizer) value(t reflect.Type) {
	first := s.next()
	for t != nil && t.Kind() == reflect.Pointer {
		if t = t.Elem(); first != 'n' { // not null
			s.size += int64(t.Size())
		}
	}
	if t == reflect.TypeFor[Samples]() {
		before := len(s.rest)
		s.value(nil)
		s.size += 2 * int64(before-len(s.rest))
		return
	}
	switch first {
	case '{':
		s.object(t)
	case '[':
		s.array(t)
	case '"':
		if text := s.text(); t != nil {
			s.size += int64(len(text)) + 16
		}
	default:
		s.literal()
		if isAny(t) {
			s.size += 8
		}
	}
}

// isAny reports whether a type decodes JSON of any form, as interfaces and
// types with an UnmarshalJSON do. The latter take less memory than an any.
func isAny(t reflect.Type) bool {
	return t != nil && (t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()))
}

// object reads an object. Its own size was counted by the array or pointer that
// contains it.
func (s *sizer) object(t reflect.Type) {
	var fields map[string]reflect.Type // of a struct
	var entry reflect.Type             // of a map
	switch {
	case t == nil:
	case isAny(t):
		entry = reflect.TypeFor[any]()
	case t.Kind() == reflect.Map:
		entry = t.Elem()
	case t.Kind() == reflect.Struct:
		fields = s.fields.of(t)
	default:
		s.size += maxObjectSize // for the error of the decoder
	}
	if entry != nil {
		s.size += 48
	}
	members := 0
	s.each('}', func() {
		key := s.text()
		s.next()
		s.rest = s.rest[1:] // the colon
		if entry == nil {
			s.value(field(fields, key))
			return
		}
		if members++; members%8 == 1 { // maps grow by eight entries
			s.size += 8 * int64(17+entry.Size())
		}
		s.size += int64(len(key)) + 8
		s.value(entry)
	})
}

// array reads an array.
func (s *sizer) array(t reflect.Type) {
	elem := t
	switch {
	case t == nil:
	case isAny(t):
		s.size += 24
		elem = reflect.TypeFor[any]()
	case t.Kind() == reflect.Slice:
		elem = t.Elem()
	}
	size := int64(0)
	if elem != nil {
		size = int64(elem.Size()) * 3 / 2 // since slices grow by copying
	}
	s.each(']', func() {
		s.size += size
		s.value(elem)
	})
}

// each calls f at each member of an object or element of an array.
func (s *sizer) each(end byte, f func()) {
	s.rest = s.rest[1:]
	for s.next() != end {
		if s.rest[0] == ',' {
			s.rest = s.rest[1:]
			s.next()
		}
		f()
	}
	s.rest = s.rest[1:]
}

// next skips white space, and returns the following character.
func (s *sizer) next() byte {
	for s.rest[0] <= ' ' {
		s.rest = s.rest[1:]
	}
	return s.rest[0]
}

// literal reads a number, true, false or null.
func (s *sizer) literal() {
	for len(s.rest) > 0 && s.rest[0] > ' ' && s.rest[0] != ',' && s.rest[0] != ']' && s.rest[0] != '}' {
		s.rest = s.rest[1:]
	}
}

// text reads a string, and returns the JSON between its quotes.
func (s *sizer) text() []byte {
	for end := 1; ; end++ {
		switch s.rest[end] {
		case '\\':
			end++
		case '"':
			text := s.rest[1:end]
			s.rest = s.rest[end+1:]
			return text
		}
	}
}

// field returns the type of the field that a key is decoded into, or nil. Like
// encoding/json it ignores case.
func field(fields map[string]reflect.Type, key []byte) reflect.Type {
	if t, ok := fields[string(key)]; ok {
		return t
	}
	name := string(key)
	if bytes.IndexByte(key, '\\') >= 0 {
		_ = json.Unmarshal([]byte(`"`+name+`"`), &name)
	}
	for other, t := range fields {
		if strings.EqualFold(other, name) {
			return t
		}
	}
	return nil
}

// jsonFields maps struct types to the types of their fields by JSON name.
type jsonFields map[reflect.Type]map[string]reflect.Type

// of returns the fields of a struct, and caches them.
func (known jsonFields) of(t reflect.Type) map[string]reflect.Type {
	fields := known[t]
	if fields != nil {
		return fields
	}
	fields = map[string]reflect.Type{}
	known[t] = fields
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported(), name == "-", f.Anonymous && name == "":
		case name == "":
			fields[f.Name] = f.Type
		default:
			fields[name] = f.Type
		}
	}
	return fields
}
