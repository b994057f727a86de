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

const (
	// Small is the size up to which JSON, or a value in it, is decoded as a
	// whole, which takes less than 10 ms whatever it is.
	Small = 32 << 10

	// maxWhole is the maximum size of larger values that are also decoded as a
	// whole: strings, and values with their own UnmarshalJSON. The limit is a
	// quarter of it for an array of fixed length, and for a map whose keys aren't
	// strings.
	maxWhole = 4 << 20
)

// Decoder has the settings for decoding a JSON text.
type Decoder struct {
	// Memory is how many bytes the values in JSON that isn't small may take. The
	// number is an estimate from counting them.
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

// Decode is like [json.Unmarshal], except that it returns the context's error
// if the context ends, unless the JSON is small. It returns an error that
// matches [io.ErrUnexpectedEOF] if the JSON ends too early. Decode changes
// single bytes of data, and restores them before it returns.
func (d Decoder) Decode(ctx context.Context, data []byte, v any) error {
	return d.decode(ctx, data, v, Small)
}

func (d Decoder) decode(ctx context.Context, data []byte, v any, small int) error {
	target := reflect.ValueOf(v)
	if len(data) <= small || target.Kind() != reflect.Pointer || target.IsNil() {
		return d.unmarshal(data, v)
	}
	spans, err := survey(ctx, data, small, d.Memory, sizesOf(target.Type()))
	if err != nil {
		return err
	}
	r := reader{Decoder: d, ctx: ctx, data: data, spans: spans, small: small}
	decoded := reflect.New(target.Type().Elem()).Elem()
	decoded.Set(target.Elem())
	err = r.text(decoded)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		target.Elem().Set(decoded)
	}
	return err
}

// unmarshal decodes small JSON, in another form if necessary.
func (d Decoder) unmarshal(data []byte, v any) error {
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

// syntaxError returns the error of invalid JSON.
func syntaxError(data []byte) error {
	var value json.RawMessage
	if cut := json.NewDecoder(bytes.NewReader(data)).Decode(&value); errors.Is(cut, io.ErrUnexpectedEOF) {
		return cut
	}
	return json.Unmarshal(data, &value)
}
