package jsonform

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
)

const (
	// PieceSize is the size of small JSON, which encoding/json gets as it is.
	// Larger JSON is divided into pieces of about this size.
	PieceSize = 32 << 10

	// maxWhole is the maximum size of what is not divided: strings, and values
	// with their own UnmarshalJSON.
	maxWhole = 4 << 20

	// maxDepth is how deep values that are larger than a piece may be nested.
	// In real responses that is up to 7.
	maxDepth = 64
)

// reader decodes large JSON from the front, with encoding/json for one piece
// after the other. In between it looks at the context and at the memory.
type reader struct {
	Decoder
	ctx       context.Context
	pieceSize int
	data      []byte
	pos       int // the JSON before it is read
	depth     int
	size      int64 // the memory of what is decoded
	fields    fieldsOf
}

// read decodes the whole text into what a pointer points to. If that fails the
// value stays as it was, though not what is in its maps.
func (r *reader) read(target reflect.Value) (err error) {
	before := reflect.New(target.Type().Elem()).Elem()
	before.Set(target.Elem())
	defer func() {
		if err != nil {
			target.Elem().Set(before)
		}
	}()
	r.next()
	end, err := r.end()
	switch {
	case err != nil:
	case end > 0:
		err = r.unmarshal(r.data[r.pos:end], target.Interface(), reflect.Value{})
		r.pos = end
	default:
		if err = r.value(target.Elem()); err == nil {
			err = r.ctx.Err()
		}
	}
	if err == nil && (r.next() != 0 || r.pos < len(r.data)) {
		err = r.invalid()
	}
	return err
}

// value decodes a value that is larger than a piece. If v is invalid nothing
// wants the value.
func (r *reader) value(v reflect.Value) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	isObject := r.data[r.pos] == '{'
	if !v.IsValid() {
		return r.each(dropped{r})
	}
	t := v.Type()
	_, ownJSON := v.Addr().Interface().(json.Unmarshaler)
	_, ownText := v.Addr().Interface().(encoding.TextUnmarshaler)
	switch {
	case !isObject && t == r.Divisible:
		return r.slice(v)
	case ownJSON, ownText, t.Kind() == reflect.Array:
		return r.whole(v)
	case t.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(t.Elem()))
			r.size += int64(t.Elem().Size())
		}
		return r.value(v.Elem())
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		if e := v.Elem(); e.Kind() == reflect.Pointer && !e.IsNil() {
			return r.value(e.Elem())
		}
		decoded := reflect.New(reflect.TypeFor[[]any]()).Elem()
		if isObject {
			decoded = reflect.New(reflect.TypeFor[map[string]any]()).Elem()
		}
		err := r.value(decoded)
		v.Set(decoded)
		return err
	case isObject && t.Kind() == reflect.Struct:
		return r.each(&structFields{reader: r, v: v, fields: r.fields.of(t)})
	case isObject && t.Kind() == reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(t))
		}
		return r.each(&mapEntries{r, v})
	case !isObject && t.Kind() == reflect.Slice:
		return r.slice(v)
	}
	return json.Unmarshal([]byte{r.data[r.pos], closing(r.data[r.pos])}, v.Addr().Interface()) // the error for the type
}

// slice decodes an array into a slice. If the slice is divisible, and not too
// large, it need not be divided: encoding/json would read it twice more.
func (r *reader) slice(v reflect.Value) error {
	if v.Type() == r.Divisible {
		rest := r.data[r.pos:]
		if n := containerLength(rest[:min(16*r.pieceSize, len(rest))]); n > 0 {
			r.pos += n
			err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(rest[:n])
			r.size += memory(v)
			return err
		}
	}
	elements := sliceElements{reader: r, t: v.Type()}
	err := r.each(&elements)
	v.Set(elements.joined())
	return err
}

// whole decodes a value that is not divided.
func (r *reader) whole(v reflect.Value) error {
	begin := r.pos
	if err := r.each(dropped{r}); err != nil {
		return err
	}
	text := r.data[begin:r.pos]
	r.size += int64(len(text))
	if raw, ok := v.Addr().Interface().(*json.RawMessage); ok {
		*raw = bytes.Clone(text)
		return nil
	}
	if len(text) > maxWhole {
		return errTooLarge
	}
	return json.Unmarshal(text, v.Addr().Interface())
}

// container is the target of an object or an array. Small members or elements
// come together, between brackets.
type container interface {
	add(key []byte)                   // announces one in the next piece
	decode(piece []byte, n int) error // decodes n of them
	decodeLarge(key []byte) error     // decodes a large one at the reader's position
}

// each reads an object or an array.
func (r *reader) each(c container) error {
	if r.depth++; r.depth > maxDepth {
		return errors.New("it is nested too deeply")
	}
	defer func() { r.depth-- }()
	open := r.data[r.pos]
	r.pos++
	n, start := 0, 0 // how many are in the piece, and where it begins
	for first := true; ; first = false {
		stop := r.pos
		begin, key, end, err := r.element(open, first)
		if n > 0 && stop < len(r.data) && (end == 0 || end-start > r.pieceSize) {
			if err := r.decodePiece(c, r.data[start-1:stop+1], open, n); err != nil {
				return err
			}
			n = 0
		}
		switch {
		case err != nil:
			return err
		case begin == 0:
			return nil
		case end == 0:
			if err := c.decodeLarge(key); err != nil {
				return err
			}
		default:
			if n == 0 {
				start = begin
			}
			n++
			c.add(key)
			r.pos = end
		}
	}
}

// decodePiece decodes a piece of n members or elements. The bytes before and
// after them become brackets for that time.
func (r *reader) decodePiece(c container, piece []byte, open byte, n int) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	first, last := &piece[0], &piece[len(piece)-1]
	before, after := *first, *last
	*first, *last = open, closing(open)
	err := c.decode(piece, n)
	*first, *last = before, after
	if err == nil && r.size > r.Memory {
		err = fmt.Errorf("its %d bytes would take more than %d MiB of memory", len(r.data), r.Memory>>20)
	}
	return err
}

// closing returns the bracket that closes an opening one.
func closing(open byte) byte { return open + 2 }

// element goes to the value of the next member or element, or behind the end of
// the container, where begin is 0. The end is 0 if the value is large.
func (r *reader) element(open byte, first bool) (begin int, key []byte, end int, err error) {
	c := r.next()
	if c == closing(open) {
		r.pos++
		return 0, nil, 0, nil
	}
	if !first {
		if c != ',' {
			return 0, nil, 0, r.invalid()
		}
		r.pos++
		c = r.next()
	}
	begin = r.pos
	if open == '{' {
		if c != '"' {
			return 0, nil, 0, r.invalid()
		}
		if end, err = r.end(); err != nil {
			return 0, nil, 0, err
		}
		key, r.pos = r.data[r.pos:end], end
		if r.next() != ':' {
			return 0, nil, 0, r.invalid()
		}
		r.pos++
		r.next()
	}
	end, err = r.end()
	return begin, key, end, err
}

// next skips white space, and returns the following character, or 0.
func (r *reader) next() byte {
	for r.pos < len(r.data) && isSpace(r.data[r.pos]) {
		r.pos++
	}
	if r.pos == len(r.data) {
		return 0
	}
	return r.data[r.pos]
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// invalid returns the error for the character that is next.
func (r *reader) invalid() error {
	if r.pos == len(r.data) {
		return io.ErrUnexpectedEOF
	}
	return fmt.Errorf("invalid character %q in JSON", r.data[r.pos])
}

var errTooLarge = errors.New("a value in it is too large")

// end returns where the next value ends, or 0 if it is an object or array that
// is larger than a piece.
func (r *reader) end() (int, error) {
	rest, most, length := r.data[r.pos:], PieceSize, 0
	if len(rest) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	switch rest[0] {
	case '{', '[':
		most = r.pieceSize
		length = containerLength(rest[:min(most, len(rest))])
	case '"':
		most = maxWhole
		length = textLength(rest[:min(most, len(rest))])
	default:
		if length = bytes.IndexAny(rest[:min(most, len(rest))], ",]} \t\r\n"); length == 0 {
			return 0, r.invalid()
		}
		if length < 0 && len(rest) <= most {
			length = len(rest)
		}
	}
	switch {
	case length > 0:
		return r.pos + length, nil
	case len(rest) <= most:
		return 0, syntaxError(rest)
	case rest[0] == '{' || rest[0] == '[':
		return 0, nil
	}
	return 0, errTooLarge
}

// containerLength returns the length of the object or array at the beginning of
// a text, or -1 if it does not end there.
func containerLength(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			n := textLength(text[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		}
	}
	return -1
}

// textLength returns the length of the string at the beginning of a text, or -1
// if it does not end there.
func textLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// dropped is the target of values that nothing wants.
type dropped struct{ *reader }

func (dropped) add([]byte) {}

func (dropped) decode(text []byte, _ int) error {
	if !json.Valid(text) {
		return syntaxError(text)
	}
	return nil
}

func (d dropped) decodeLarge([]byte) error { return d.value(reflect.Value{}) }

// structFields are the target of an object that is decoded into a struct.
type structFields struct {
	*reader
	v      reflect.Value
	fields fields
	added  [][]int // the fields in the next piece
}

func (s *structFields) add(key []byte) {
	if f, ok := s.fields.find(key); ok && !slices.ContainsFunc(s.added, func(index []int) bool { return slices.Equal(index, f.Index) }) {
		s.added = append(s.added, f.Index)
	}
}

func (s *structFields) decode(text []byte, _ int) error {
	before := reflect.New(s.v.Type()).Elem()
	before.Set(s.v)
	if err := s.unmarshal(text, s.v.Addr().Interface(), before); err != nil {
		return err
	}
	for _, index := range s.added {
		if field, err := s.v.FieldByIndexErr(index); err == nil {
			s.size += memory(field)
		}
	}
	s.added = s.added[:0]
	return nil
}

func (s *structFields) decodeLarge(key []byte) error {
	f, ok := s.fields.find(key)
	if !ok {
		return s.value(reflect.Value{})
	}
	v := s.v
	for _, i := range f.Index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return s.value(v)
}

// mapEntries are the target of an object that is decoded into a map.
type mapEntries struct {
	*reader
	v reflect.Value
}

func (*mapEntries) add([]byte) {}

func (m *mapEntries) decode(text []byte, _ int) error {
	part := reflect.New(m.v.Type())
	if err := m.unmarshal(text, part.Interface(), reflect.Value{}); err != nil {
		return err
	}
	m.size += 2 * memory(part.Elem()) // since maps grow by copying
	for entries := part.Elem().MapRange(); entries.Next(); {
		m.v.SetMapIndex(entries.Key(), entries.Value())
	}
	return nil
}

func (m *mapEntries) decodeLarge(key []byte) error {
	keys := reflect.New(reflect.MapOf(m.v.Type().Key(), reflect.TypeFor[any]()))
	if err := json.Unmarshal(fmt.Appendf(nil, `{%s:null}`, key), keys.Interface()); err != nil {
		return err
	}
	element := reflect.New(m.v.Type().Elem()).Elem()
	m.size += int64(element.Type().Size())
	err := m.value(element)
	m.v.SetMapIndex(keys.Elem().MapKeys()[0], element)
	return err
}

// sliceElements are the target of an array that is decoded into a slice.
type sliceElements struct {
	*reader
	t     reflect.Type
	parts []reflect.Value
	n     int
}

func (*sliceElements) add([]byte) {}

func (s *sliceElements) decode(text []byte, n int) error {
	part := reflect.New(s.t)
	var err error
	if s.t == s.Divisible {
		err = part.Interface().(json.Unmarshaler).UnmarshalJSON(text) // encoding/json would read it first, too
	} else {
		part.Elem().Set(reflect.MakeSlice(s.t, 0, n))
		err = s.unmarshal(text, part.Interface(), reflect.Value{})
	}
	s.append(part.Elem())
	s.size += memory(part.Elem())
	return err
}

func (s *sliceElements) decodeLarge([]byte) error {
	part := reflect.MakeSlice(s.t, 1, 1)
	s.append(part)
	return s.value(part.Index(0))
}

// append adds a part. Its elements take memory twice if they are joined.
func (s *sliceElements) append(part reflect.Value) {
	s.parts = append(s.parts, part)
	s.n += part.Len()
	if len(s.parts) > 1 {
		s.size += int64(part.Len()) * int64(s.t.Elem().Size())
	}
}

func (s *sliceElements) joined() reflect.Value {
	if len(s.parts) == 1 {
		return s.parts[0]
	}
	whole := reflect.MakeSlice(s.t, 0, s.n)
	for _, part := range s.parts {
		whole = reflect.AppendSlice(whole, part)
	}
	return whole
}
