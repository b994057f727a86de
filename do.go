package cloudapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
)

// Do sends a request to any path of the API, for operations that have no method
// yet. Authentication, retries, limits and errors are those of all other
// methods.
//
// The segments are the path below the base URL. Do escapes each of them; "",
// "." and ".." are an [*ArgumentError]. Do encodes in as the JSON body. If in
// is nil, or a nil pointer, map or slice, there is no body, or {} in a POST,
// PUT or PATCH. Do decodes the JSON response into out. If out is a *[]byte it
// gets the unchanged response, and if it is nil the response is dropped. A
// response that would take much more memory than [WithResponseLimit] is
// refused, such as millions of {} decoded into an any. So is a string of more
// than 4 MiB, or such a value with its own UnmarshalJSON, and an array of fixed
// length or a map whose keys aren't strings of more than 1 MiB.
//
// Do retries a POST only if it certainly was not carried out. It treats all
// other methods as idempotent.
func (c *Client) Do(ctx context.Context, method string, segments []string, query url.Values, in, out any) error {
	method = strings.ToUpper(method)
	op := &Operation{Name: "Do", Method: method}
	if method == http.MethodPost {
		op.class = once
	}
	if !validHeaderName(method) {
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
		Method:     method,
		Path:       escaped.String(),
		Unescaped:  path.String(),
		Query:      query.Encode(),
		Idempotent: !op.class.has(once),
	}}
	if !isNil(in) || method == http.MethodPost || method == http.MethodPatch || method == http.MethodPut {
		if err := inv.setBody(in); err != nil {
			return err
		}
	}
	_, err := inv.do(ctx, into{out})
	return err
}

// into decodes the response of [Client.Do].
type into struct{ out any }

func (d into) Decode(r call.Response) (any, error) {
	switch out := d.out.(type) {
	case nil:
		return nil, nil
	case *[]byte:
		if r.UnmarkedEnd {
			return nil, errEndless
		}
		*out = slices.Clone(r.Body)
		return nil, nil
	default:
		return nil, decodeInto(r, out)
	}
}
