package jsonform

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// source is a text as an [io.Reader] that ends with a context. It is the only
// place where decoding looks at the context: as often as what was read is
// decoded.
type source struct {
	ctx  context.Context
	rest []byte
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n := copy(p[:min(len(p), Small)], s.rest)
	if s.rest = s.rest[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// reader decodes a text that was surveyed: objects and arrays that are not small
// member by member, everything else with one call of encoding/json.
type reader struct {
	Decoder
	data []byte
	ends map[int]int
	size int64 // what the values take
	json *json.Decoder
}

// next returns where the next key, value or bracket begins.
func (r *reader) next() int {
	i := r.offset()
	for i < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[i]) >= 0 {
		i++
	}
	return i
}

// offset returns how much of the text has been decoded.
func (r *reader) offset() int { return int(r.json.InputOffset()) }

// value decodes the next value. If v is invalid nothing wants the value.
func (r *reader) value(v reflect.Value) error {
	begin := r.next()
	end, divide := r.ends[begin]
	switch {
	case !divide && !v.IsValid():
		return r.json.Decode(new(json.RawMessage))
	case !divide:
		return r.whole(v)
	case !v.IsValid():
		return r.each(func(int, string) error { return r.value(v) })
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	_, ownJSON := v.Addr().Interface().(json.Unmarshaler)
	_, ownText := v.Addr().Interface().(encoding.TextUnmarshaler)
	isArray, most := r.data[begin] == '[', maxWhole/4 // with as many values as may take 100 ms
	switch t := v.Type(); {
	case t == reflect.TypeFor[json.RawMessage]():
		v.SetBytes(bytes.Clone(r.data[begin:end]))
		return r.value(reflect.Value{})
	case ownJSON || ownText:
		most = maxWhole
	case t.Kind() == reflect.Slice && isArray:
		return r.slice(v)
	case t.Kind() == reflect.Struct && !isArray:
		return r.fields(v)
	case t.Kind() == reflect.Map && !isArray && t.Key() == reflect.TypeFor[string]():
		return r.entries(v)
	case t == reflect.TypeFor[any]() && (v.IsNil() || v.Elem().Kind() != reflect.Pointer):
		inner := reflect.New(reflect.TypeFor[map[string]any]()).Elem()
		if isArray {
			inner = reflect.New(reflect.TypeFor[[]any]()).Elem()
		}
		err := r.value(inner)
		v.Set(inner)
		return err
	}
	if end-begin > most {
		return errTooLarge
	}
	return r.whole(v)
}

// whole decodes the next value with one call of encoding/json, and if that
// fails, what it is in another form.
func (r *reader) whole(v reflect.Value) error {
	begin := r.next()
	err := r.json.Decode(v.Addr().Interface())
	if err != nil && r.OtherForms && r.offset() > begin { // it is valid JSON
		return r.unmarshal(r.data[begin:r.offset()], v.Addr().Interface())
	}
	return err
}

// each goes into the next object or array, and calls a function for each member:
// with the name, and where the member begins.
func (r *reader) each(member func(begin int, name string) error) error {
	open, err := r.json.Token()
	for err == nil && r.json.More() {
		begin, name := r.next(), ""
		if open == json.Delim('{') {
			var key json.Token
			if key, err = r.json.Token(); err != nil {
				break
			}
			name, _ = key.(string)
		}
		err = member(begin, name)
	}
	if err == nil {
		_, err = r.json.Token()
	}
	return err
}

// slice decodes an array into a slice. What its records take beyond the estimate
// is added.
func (r *reader) slice(v reflect.Value) error {
	record := v.Type().Elem()
	for record.Kind() == reflect.Pointer {
		record = record.Elem()
	}
	more := max(0, int64(record.Size())-recordSize)
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	v.SetLen(0)
	return r.each(func(begin int, _ string) error {
		if r.size += more; r.size > r.Memory {
			return tooMuch(r.data, r.Memory)
		}
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		element := v.Index(n)
		element.SetZero()
		err := r.value(element)
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && r.OtherForms {
			item := idOrRecord(r.data[begin:r.offset()], element.Type())
			if json.Unmarshal(item, element.Addr().Interface()) == nil {
				return nil
			}
		}
		return err
	})
}

// fields decodes an object into a struct. encoding/json finds the fields of small
// members.
func (r *reader) fields(v reflect.Value) error {
	return r.each(func(begin int, name string) error {
		if _, divide := r.ends[r.next()]; divide {
			return r.value(field(v, name))
		}
		if err := r.value(reflect.Value{}); err != nil {
			return err
		}
		member := append(append([]byte{'{'}, r.data[begin:r.offset()]...), '}')
		return r.unmarshal(member, v.Addr().Interface())
	})
}

// field returns the field of a struct for a name, or an invalid value.
func field(v reflect.Value, name string) reflect.Value {
	var index []int
	for _, f := range reflect.VisibleFields(v.Type()) {
		if own := fieldName(f); own == name && own != "" || index == nil && own != "" && strings.EqualFold(own, name) {
			index = f.Index
		}
	}
	if index == nil {
		return reflect.Value{}
	}
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v
}

// fieldName returns the name of a field in JSON, or "" if it has none.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported() || name == "-" || f.Anonymous && name == "":
		return ""
	case name == "":
		return f.Name
	}
	return name
}

func (r *reader) entries(v reflect.Value) error {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	return r.each(func(_ int, name string) error {
		element := reflect.New(v.Type().Elem()).Elem()
		err := r.value(element)
		v.SetMapIndex(reflect.ValueOf(name), element)
		return err
	})
}

// finish returns an error if anything follows the value.
func (r *reader) finish() error {
	switch _, err := r.json.Token(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("something follows the JSON")
	default:
		return err
	}
}
