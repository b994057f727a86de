// Package jsonform decodes JSON of unknown origin: within limits of time and
// memory, and with values in another form than their type has.
package jsonform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
)

// Decoder has the settings for decoding a JSON text.
type Decoder struct {
	// Memory is how many bytes the values in large JSON may take. JSON without
	// a field takes none.
	Memory int64

	// OtherForms accepts values in another form than their type has:
	//
	//   - records in an array of IDs become their IDs;
	//   - IDs in an array of records within a record become records with only
	//     an ID;
	//   - a time that is not in RFC 3339 becomes the zero time.
	OtherForms bool

	// Divisible is a slice type with an UnmarshalJSON, which may get an array in
	// parts. They are joined.
	Divisible reflect.Type
}

// Decode is like [json.Unmarshal], except that
//
//   - it returns the error of the context if that ends, unless the JSON is
//     small;
//   - if the JSON ends too early the error matches [io.ErrUnexpectedEOF];
//   - it writes to large data, and restores it.
func (d Decoder) Decode(ctx context.Context, data []byte, v any) error {
	return d.decode(ctx, data, v, PieceSize)
}

func (d Decoder) decode(ctx context.Context, data []byte, v any, pieceSize int) error {
	target := reflect.ValueOf(v)
	if len(data) <= pieceSize || target.Kind() != reflect.Pointer || target.IsNil() {
		return d.unmarshal(data, v, reflect.Value{})
	}
	r := reader{Decoder: d, ctx: ctx, pieceSize: pieceSize, data: data, fields: fieldsOf{}}
	return r.read(target)
}

// unmarshal decodes small JSON. If it is in another form the target is set to
// what it was before, or to zero, and the JSON is decoded again.
func (d Decoder) unmarshal(data []byte, v any, before reflect.Value) error {
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
	target := reflect.ValueOf(v).Elem()
	if target.SetZero(); before.IsValid() {
		target.Set(before)
	}
	if json.Unmarshal(otherForms(data, target.Type(), fieldsOf{}, formLevels), v) != nil {
		return err
	}
	return nil
}

// syntaxError returns the error of JSON that is not valid.
func syntaxError(data []byte) error {
	var value json.RawMessage
	if cut := json.NewDecoder(bytes.NewReader(data)).Decode(&value); errors.Is(cut, io.ErrUnexpectedEOF) {
		return cut
	}
	return json.Unmarshal(data, &value)
}
