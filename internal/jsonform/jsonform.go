// Package jsonform decodes JSON that may be hostile: it limits the memory for
// the values. It also accepts values in other forms than their Go types have,
// such as a record for an ID.
package jsonform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

const (
	// Small is the size, in bytes, up to which decoding takes little time and
	// memory, even if the JSON is hostile.
	Small = 32 << 10

	// Estimates of how many bytes decoded values take. An object may become a map.
	objectSize = 384
	valueSize  = 24 // the minimum: a larger type takes more
)

// Decoder has the settings for decoding a JSON text.
type Decoder struct {
	// Memory limits how many bytes the decoded values take, by an estimate from
	// their number. JSON of up to Small bytes has no limit.
	Memory int64

	// OtherForms accepts values in another form than their type has:
	//
	//   - records in an array of IDs become their IDs;
	//   - IDs in an array of records within a record become records with only an
	//     ID;
	//   - a time that isn't in RFC 3339 becomes the zero time;
	//   - numbers and booleans in a map of strings become their JSON text.
	OtherForms bool
}

// Decode is like [json.Unmarshal]. It refuses JSON with too many values, and
// returns [io.ErrUnexpectedEOF] if the JSON ends too early.
func (d Decoder) Decode(data []byte, v any) error {
	if len(data) > Small && decodedSize(data, reflect.TypeOf(v)) > d.Memory {
		return fmt.Errorf("its %d bytes have so many values that they would take more than %d MiB of memory", len(data), d.Memory>>20)
	}
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return syntaxError(data)
	}
	if _, ok := errors.AsType[*json.InvalidUnmarshalError](err); ok || !d.OtherForms {
		return err
	}
	if json.Unmarshal(otherForms(data, reflect.TypeOf(v), formLevels), v) != nil {
		return err
	}
	return nil
}

// decodedSize estimates how many bytes JSON takes when it's decoded into the
// type. It counts the characters that begin values, even those inside strings:
// the API's strings have few of them. It assumes that each value becomes an
// element as large as the largest in the type: even a value of a wrong type
// takes up an element, which stays zero.
func decodedSize(data []byte, t reflect.Type) int64 {
	count := func(c byte) int64 { return int64(bytes.Count(data, []byte{c})) }
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem() // the outermost value exists only once
	}
	value := max(valueSize, int64(largest(t, map[reflect.Type]bool{})))
	return objectSize*count('{') + value*(count('[')+count(','))
}

// largest returns the size, in bytes, of the largest element in a slice, map or
// pointer anywhere in a type. It skips types in seen.
func largest(t reflect.Type, seen map[reflect.Type]bool) (size uintptr) {
	if t == nil || seen[t] {
		return 0
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Map:
		size = 2 * (t.Key().Size() + t.Elem().Size()) // a map has free room
		fallthrough
	case reflect.Slice, reflect.Array, reflect.Pointer:
		size = max(size, t.Elem().Size(), largest(t.Elem(), seen))
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() || f.Anonymous {
				size = max(size, largest(f.Type, seen))
			}
		}
	}
	return size
}

// syntaxError returns [io.ErrUnexpectedEOF] for JSON that ends too early, and
// the error of [json.Unmarshal] for other invalid JSON.
func syntaxError(data []byte) error {
	var value json.RawMessage
	if cut := json.NewDecoder(bytes.NewReader(data)).Decode(&value); errors.Is(cut, io.ErrUnexpectedEOF) {
		return cut
	}
	return json.Unmarshal(data, &value)
}
