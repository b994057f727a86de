package cloudapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/google/go-querystring/query"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
)

// invocation is an operation with its arguments, ready to be called.
type invocation struct {
	conn    *conn
	op      *Operation
	newName string // the name that the request gives to the resource of the response, or ""
	request call.Request
}

// invoke prepares an operation: the path from the arguments, and the body from
// the request. There is no body if request is nil, and an empty object if it is a
// nil pointer.
func (c *conn) invoke(op *Operation, request any, args []string) (*invocation, error) {
	path, byID, err := op.path(c.config.project, args)
	if errors.Is(err, ErrNoProject) {
		err = fmt.Errorf("%w%s", err, c.config.missing())
	}
	if err != nil {
		return nil, err
	}
	in := &invocation{conn: c, op: op, request: call.Request{Method: op.Method, Path: path, Idempotent: op.retry == idempotent}}
	if r, ok := request.(namer); ok {
		in.newName = r.newName()
	}
	if in.newName != "" && !byID {
		// After the first attempt the old name may be gone.
		in.request.Idempotent = false
	}
	if request != nil {
		if err := in.encodeBody(request); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// namer is a request that names the resource of the response. An idempotent
// operation gives the name to the resource in the path, any other operation to a
// new resource.
type namer interface {
	newName() string // "" if the resource keeps its name
}

// renameRequest is the body of the rename operations.
type renameRequest struct {
	Name string `json:"name"`
}

func (r renameRequest) newName() string { return r.Name }

// wirer is a request with secrets. Its JSON masks them, so it has another form
// to send.
type wirer interface {
	wire() any
	secretValues() []Secret
}

// encodeBody sets the body; a nil request becomes {}.
func (in *invocation) encodeBody(request any) error {
	if isNil(request) {
		request = struct{}{}
	}
	if r, ok := request.(referrer); ok {
		if err := r.checkIDs(); err != nil {
			err.Operation = in.op.Name
			return err
		}
	}
	if w, ok := request.(wirer); ok {
		for _, secret := range w.secretValues() {
			in.request.Secrets = append(in.request.Secrets, secret.Reveal())
		}
		request = w.wire()
	}
	body, err := json.Marshal(request)
	if err != nil {
		return &ArgumentError{Operation: in.op.Name, Name: "request", Reason: "cannot be encoded: " + err.Error()}
	}
	if losesText(request, body) {
		return &ArgumentError{Operation: in.op.Name, Name: "request", Reason: "holds text that is not UTF-8, which would be sent changed"}
	}
	if bytes.Contains(body, maskedJSON) {
		return &ArgumentError{Operation: in.op.Name, Name: "request",
			Reason: "holds a Secret, which would be sent masked: use the result of Reveal"}
	}
	in.request.Body = body
	return nil
}

// isNil reports whether a request is nil, or a nil pointer, map or slice.
func isNil(request any) bool {
	switch v := reflect.ValueOf(request); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice:
		return v.IsNil()
	}
	return false
}

// losesText reports whether the encoding changes a string of the request,
// because it is not UTF-8 and is encoded with U+FFFD.
func losesText(request any, encoded []byte) bool {
	replaced := bytes.Contains(encoded, []byte(`\ufffd`)) || bytes.Contains(encoded, []byte("\uFFFD"))
	return replaced && hasInvalidText(reflect.ValueOf(request))
}

// hasInvalidText reports whether a value has a string that is not UTF-8. Like
// encoding/json it ignores the content of a json.Marshaler, but not that of an
// Opt.
func hasInvalidText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && hasInvalidText(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if hasInvalidText(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if hasInvalidText(entries.Key()) || hasInvalidText(entries.Value()) {
				return true
			}
		}
	case reflect.Struct:
		_, optional := reflect.Zero(v.Type()).Interface().(interface{ IsNull() bool })
		if v.Type().Implements(reflect.TypeFor[json.Marshaler]()) && !optional {
			return false
		}
		for i := range v.NumField() {
			if hasInvalidText(v.Field(i)) {
				return true
			}
		}
	}
	return false
}

// maskedJSON is the JSON of a Secret.
var maskedJSON = []byte(`"` + redacted + `"`)

// do makes the call, inside the client's observers, and returns what the decoder
// returns.
func (in *invocation) do(ctx context.Context, d call.Decoder) (any, error) {
	if ctx == nil {
		return nil, noContext(in.op.Name)
	}
	in.request.Owner = in
	return in.observed(ctx, in.conn.config.observers, d)
}

// observed makes the call inside the observers, the first of which is the
// outermost.
func (in *invocation) observed(ctx context.Context, observers []Observer, d call.Decoder) (result any, err error) {
	if len(observers) == 0 {
		result, failure := call.Do(ctx, &in.conn.calls, &in.request, d)
		if failure != nil {
			return nil, in.op.failed(in.request.Path, failure)
		}
		return result, nil
	}
	inner, finish := observers[0](ctx, *in.op)
	if inner == nil {
		inner = ctx
	}
	if finish != nil {
		err = errNotReturned
		defer func() { finish(err) }()
	}
	return in.observed(inner, observers[1:], d)
}

// errNotReturned is the result that observers get if the call panics, for
// example in a middleware.
var errNotReturned = errors.New("the call did not return")

// invocationOf returns the invocation that a request with the context belongs
// to, or nil.
func invocationOf(ctx context.Context) *invocation {
	in, _ := call.OwnerOf(ctx).(*invocation)
	return in
}

// noContext returns the error for a nil context.
func noContext(operation string) error {
	return &ArgumentError{Operation: operation, Name: "ctx", Reason: "must not be nil"}
}

// referrer is a request that contains IDs of other resources.
type referrer interface {
	// checkIDs returns an error if one of the IDs is invalid, or nil.
	checkIDs() *ArgumentError
}

// checkID checks an ID in a field of a request by the rule for references in
// paths, and no stricter one. The contract says only that these fields are
// strings. If an ID has the wrong kind the server refuses the request and names
// the field.
func checkID(field, id string) *ArgumentError {
	if reason := checkSegment(id); reason != "" {
		return argumentError("", field, id, reason)
	}
	return nil
}

// checkOptionalID is [checkID] for a field that may be empty.
func checkOptionalID(field, id string) *ArgumentError {
	if id == "" {
		return nil
	}
	return checkID(field, id)
}

// checkIDOf checks an ID that is compared with those in records, so that a name
// or an ID of another kind would seem to be missing from them.
func checkIDOf(kind Kind, operation, field, id string) *ArgumentError {
	if IsID(id, kind) {
		return nil
	}
	return argumentError(operation, field, id, "must be the ID of a "+kind.String())
}

// setQuery encodes the url-tagged fields of a struct, or of a pointer to one,
// which may be nil, as the query.
func (in *invocation) setQuery(parameters any) error {
	values, err := query.Values(parameters)
	if err != nil {
		return &ArgumentError{Operation: in.op.Name, Name: "query", Reason: "cannot be encoded: " + err.Error()}
	}
	in.request.Query = values.Encode()
	return nil
}
