package cloudapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/validate"
)

// Do sends a request to any path, for operations that the SDK lacks. A POST is
// retried like a create, any other request like an idempotent one.
//
// The segments are the path below the base URL; Do escapes them. The body is
// the JSON encoding of in, with each [Secret] in clear. A type with a MarshalJSON
// of its own must call [Secret.Reveal]: Do returns an [*ArgumentError] for a Secret
// that stays masked. If in is nil, there is no body, or {} in a POST, PUT or
// PATCH. Do decodes the JSON response into out, or drops it if out is nil. If out
// is a *[]byte, it gets the response unchanged.
func (c *Client) Do(ctx context.Context, method string, segments []string, query url.Values, in, out any) error {
	method = strings.ToUpper(method)
	op := &Operation{Name: "Do", Method: method}
	if method == http.MethodPost {
		op.traits = once
	}
	if !validate.IsName(method) {
		return argumentError(op.Name, "method", method, "is not an HTTP method")
	}
	if len(segments) == 0 {
		return &ArgumentError{Operation: op.Name, Name: "segments", Reason: "must not be empty"}
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return &ArgumentError{Operation: op.Name, Name: "out", Reason: "must be nil or a pointer to the variable for the response"}
	}
	var path, escaped strings.Builder
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." {
			return argumentError(op.Name, "segments", segment, "must not be empty or a relative path")
		}
		path.WriteString("/" + segment)
		escaped.WriteString("/" + url.PathEscape(segment))
	}
	inv := &invocation{conn: &c.conn, op: op, request: call.Request{
		Operation:  op,
		Method:     method,
		Path:       escaped.String(),
		Unescaped:  path.String(),
		Query:      query.Encode(),
		Idempotent: op.traits&once == 0,
	}}
	if !isNil(in) || method == http.MethodPost || method == http.MethodPatch || method == http.MethodPut {
		if err := encodeBody(inv.op.Name, &inv.request, in); err != nil {
			return err
		}
	}
	if !isNil(in) {
		// A type that encodes itself may have revealed any part of it.
		inv.request.Secrets = append(inv.request.Secrets, string(inv.request.Body))
	}
	return inv.do(ctx, func(r call.Response) error {
		switch out := out.(type) {
		case nil:
			return nil
		case *[]byte:
			if r.UnmarkedEnd {
				return errEndless
			}
			*out = slices.Clone(r.Body)
			return nil
		default:
			return decodeJSON(r, out)
		}
	})
}
