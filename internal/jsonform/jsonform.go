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
	// whole: that takes less than 10 ms, whatever it is.
	Small = 32 << 10

	// maxWhole is the maximum size of larger values that are decoded as a whole,
	// too: strings, and values with their own UnmarshalJSON. An array of fixed
	// length and a map whose keys are no strings may have a quarter of it.
	maxWhole = 4 << 20
)

// Decoder has the settings for decoding a JSON text.
type Decoder struct {
	// Memory is how many bytes the values in JSON that is not small may take, by
	// an estimate that counts them.
	Memory int64

	// OtherForms accepts values in another form than their type has:
	//
	//   - records in an array of IDs become their IDs;
	//   - IDs in an array of records within a record become records with only
	//     an ID;
	//   - a time that is not in RFC 3339 becomes the zero time.
	OtherForms bool
}

// Decode is like [json.Unmarshal], except that it returns the error of the
// context if that ends, unless the JSON is small. If the JSON ends too early the
// error matches [io.ErrUnexpectedEOF]. Decode changes single bytes of data, and
// restores them before it returns.
func (d Decoder) Decode(ctx context.Context, data []byte, v any) error {
	return d.decode(ctx, data, v, Small)
}

func (d Decoder) decode(ctx context.Context, data []byte, v any, small int) error {
	target := reflect.ValueOf(v)
	if len(data) <= small || target.Kind() != reflect.Pointer || target.IsNil() {
		return d.unmarshal(data, v)
	}
	spans, size, err := survey(ctx, data, small, d.Memory, sizesOf(target.Type()))
	if err != nil {
		return err
	}
	r := reader{Decoder: d, ctx: ctx, data: data, spans: spans, small: small, size: size}
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

// unmarshal decodes small JSON, and if that fails, what it is in another form.
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

// syntaxError returns the error of JSON that is not valid.
func syntaxError(data []byte) error {
	var value json.RawMessage
	if cut := json.NewDecoder(bytes.NewReader(data)).Decode(&value); errors.Is(cut, io.ErrUnexpectedEOF) {
		return cut
	}
	return json.Unmarshal(data, &value)
}
