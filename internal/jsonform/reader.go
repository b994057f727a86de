package jsonform

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// reader decodes a surveyed text: objects and arrays that aren't small part by
// part, each part with one call of encoding/json.
type reader struct {
	Decoder
	ctx   context.Context
	data  []byte
	spans map[int]span
	small int
}

// text decodes the whole text.
func (r *reader) text(v reflect.Value) error {
	begin := r.skip(0)
	s, large := r.spans[begin]
	switch {
	case !large:
		return r.unmarshal(r.data, v.Addr().Interface())
	case r.skip(s.end) < len(r.data):
		return errFollowed
	}
	return r.value(v, begin)
}

// skip returns the index of the first character from i on that isn't white
// space.
func (r *reader) skip(i int) int {
	for i < len(r.data) && strings.IndexByte(" \t\r\n", r.data[i]) >= 0 {
		i++
	}
	return i
}

// value decodes the large object or array at an index. It's not wanted if v is
// invalid.
func (r *reader) value(v reflect.Value, begin int) error {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return r.each(begin, r.into(new(json.RawMessage)), func(_ string, at int) error { return r.value(v, at) })
	}
	text := r.data[begin:r.spans[begin].end]
	own, ownJSON := v.Addr().Interface().(json.Unmarshaler)
	_, ownText := v.Addr().Interface().(encoding.TextUnmarshaler)
	isArray, most := text[0] == '[', maxWhole/4 // with as many values as may take 100 ms
	switch t := v.Type(); {
	case t == reflect.TypeFor[json.RawMessage]():
		v.SetBytes(bytes.Clone(text))
		return r.value(reflect.Value{}, begin)
	case ownJSON || ownText:
		most = maxWhole
	case t.Kind() == reflect.Slice && isArray:
		return r.slice(v, begin)
	case t.Kind() == reflect.Struct && !isArray:
		return r.each(begin, r.into(v.Addr().Interface()), func(name string, at int) error { return r.value(field(v, name), at) })
	case t.Kind() == reflect.Map && !isArray && t.Key() == reflect.TypeFor[string]():
		return r.entries(v, begin)
	case t == reflect.TypeFor[any]() && (v.IsNil() || v.Elem().Kind() != reflect.Pointer):
		inner := reflect.New(reflect.TypeFor[map[string]any]()).Elem()
		if isArray {
			inner = reflect.New(reflect.TypeFor[[]any]()).Elem()
		}
		err := r.value(inner, begin)
		v.Set(inner)
		return err
	}
	if len(text) > most {
		return errTooLarge
	}
	if ownJSON && json.Valid(text) && own.UnmarshalJSON(text) == nil {
		return nil // encoding/json would search for the end of the value again
	}
	return r.unmarshal(text, v.Addr().Interface())
}

// into returns a function that decodes parts into a value.
func (r *reader) into(v any) func([]byte) error {
	return func(part []byte) error { return r.unmarshal(part, v) }
}

// each walks over the large object or array at an index. It calls part with an
// object or array of some of the members, and member with the name of a large
// member and the index where it begins.
func (r *reader) each(begin int, part func([]byte) error, member func(name string, at int) error) error {
	s := r.spans[begin]
	open, end := r.data[begin], r.data[s.end-1]
	if end != open+2 { // the closing brackets come two characters after the opening ones
		return syntaxError([]byte{open, end})
	}
	from := begin + 1
	for _, to := range append(s.cuts, s.end-1) {
		err := r.ctx.Err()
		at := r.largeIn(from, to)
		switch text := r.data[from:at]; {
		case err != nil:
		case len(s.cuts) > 0 && r.skip(from) == to:
			err = syntaxError([]byte{open, ',', end})
		case len(text) > maxWhole:
			err = errTooLarge
		case at == to:
			around := [2]byte{r.data[from-1], r.data[to]}
			r.data[from-1], r.data[to] = open, end
			err = part(r.data[from-1 : to+1])
			r.data[from-1], r.data[to] = around[0], around[1]
		case r.skip(r.spans[at].end) < to:
			err = errFollowed
		default:
			var one any
			if err = json.Unmarshal(fmt.Appendf(nil, "%c%snull%c", open, text, end), &one); err == nil {
				name := ""
				if names, ok := one.(map[string]any); ok {
					for name = range names {
					}
				}
				err = member(name, at)
			}
		}
		if err != nil {
			return err
		}
		from = to + 1
	}
	return nil
}

// largeIn returns where the large member of a part begins, after its name, or
// the end of the part if everything in it is small.
func (r *reader) largeIn(from, to int) int {
	if to-from <= r.small {
		return to
	}
	at := r.skip(from)
	if r.data[at] == '"' {
		for at++; at < to && r.data[at] != '"'; at++ {
			if r.data[at] == '\\' {
				at++
			}
		}
		if at = r.skip(at + 1); at < to && r.data[at] == ':' {
			at = r.skip(at + 1)
		}
	}
	if _, large := r.spans[at]; large && at < to {
		return at
	}
	return to
}

// slice decodes an array into a slice.
func (r *reader) slice(v reflect.Value, begin int) error {
	all := reflect.MakeSlice(v.Type(), 0, r.spans[begin].members)
	items := reflect.New(v.Type())
	err := r.each(begin, func(part []byte) error {
		if err := r.unmarshal(part, items.Interface()); err != nil {
			return err
		}
		all = reflect.AppendSlice(all, items.Elem())
		items.Elem().Clear() // its memory is reused
		return nil
	}, func(_ string, at int) error {
		item := reflect.MakeSlice(v.Type(), 1, 1)
		err := r.value(item.Index(0), at)
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && r.OtherForms {
			err = json.Unmarshal(idOrRecord(r.data[at:r.spans[at].end], v.Type().Elem()), item.Index(0).Addr().Interface())
		}
		all = reflect.AppendSlice(all, item)
		return err
	})
	v.Set(all)
	return err
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

func (r *reader) entries(v reflect.Value, begin int) error {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	return r.each(begin, r.into(v.Addr().Interface()), func(name string, at int) error {
		element := reflect.New(v.Type().Elem()).Elem()
		err := r.value(element, at)
		v.SetMapIndex(reflect.ValueOf(name), element)
		return err
	})
}
