package cloudapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// Do sends a request to any path of the API, for endpoints that have no method
// yet, with the authentication, retries, limits and errors of all others.
//
// The segments are the path below the base URL and are escaped one by one; an
// empty one, "." and ".." are an [*ArgumentError]. in is encoded as the JSON
// body; if it is nil, or a nil pointer, map or slice, there is none, or {} in a
// POST, PUT or PATCH. out is what the JSON response is decoded into; with a
// *[]byte the response is stored as it is, and with nil it is dropped. A
// response that would take far more memory than its size, or than
// [WithResponseLimit], is refused, as millions of {} would be as an any.
//
// A POST is taken for something that must not be repeated, any other method
// for something that may be.
func (c *Client) Do(ctx context.Context, method string, segments []string, query url.Values, in, out any) error {
	method = strings.ToUpper(method)
	op := &Operation{Name: "Do", Method: method, retry: safe}
	if method == http.MethodPost {
		op.retry = create
	}
	if !validHeaderName(method) {
		return &ArgumentError{Operation: op.Name, Name: "method", Value: method, Reason: "is not an HTTP method"}
	}
	if len(segments) == 0 {
		return &ArgumentError{Operation: op.Name, Name: "segments", Reason: "must not be empty"}
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return &ArgumentError{Operation: op.Name, Name: "out", Reason: "must be nil or a pointer to where the reply shall go"}
	}
	var path, escaped strings.Builder
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." {
			return &ArgumentError{Operation: op.Name, Name: "segments", Value: segment, Reason: "must not be empty or a relative path"}
		}
		path.WriteString("/" + segment)
		escaped.WriteString("/" + url.PathEscape(segment))
	}
	cl := &call{
		client:     c,
		op:         op,
		path:       escaped.String(),
		unescaped:  path.String(),
		query:      query.Encode(),
		repeatable: op.retry == safe,
	}
	if !isNil(in) || method == http.MethodPost || method == http.MethodPatch || method == http.MethodPut {
		if err := cl.encodeBody(in); err != nil {
			return err
		}
	}
	return cl.do(ctx, acceptFunc(func(r reply) error {
		switch out := out.(type) {
		case nil:
			return nil
		case *[]byte:
			if r.endless {
				return errEndless
			}
			*out = slices.Clone(r.body)
			return nil
		default:
			return r.into(out)
		}
	}))
}
