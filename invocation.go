package cloudapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-querystring/query"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
)

// invocation is an operation with its arguments, ready to be called.
type invocation struct {
	conn    *conn
	op      *Operation
	about   subject
	request call.Request
}

// invoke prepares an operation: the path from the arguments, and the body from
// the request. There is no body if request is nil, and an empty object if it's
// a nil pointer.
func (c *conn) invoke(op *Operation, request any, args []string) (*invocation, error) {
	path, about, err := op.path(c.config.project, args)
	if errors.Is(err, ErrNoProject) {
		err = fmt.Errorf("%w%s", err, c.config.unset())
	}
	if err != nil {
		return nil, err
	}
	in := &invocation{conn: c, op: op, about: about, request: call.Request{Method: op.Method, Path: path, Idempotent: !op.class.has(once)}}
	if name := newNameOf(request); name != "" {
		// After the first attempt the old name may be gone.
		in.request.Idempotent = in.request.Idempotent && about.id != ""
		if !in.request.Idempotent {
			in.about = subject{location: about.location, name: name}
		}
	}
	if request != nil {
		if err := in.setBody(request); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// setBody encodes a request as the body; a nil one becomes {}.
func (in *invocation) setBody(request any) (err error) {
	in.request.Body, in.request.Secrets, err = encodeBody(in.op.Name, request)
	return err
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

// do sends the call, inside the client's observers, and returns what the
// decoder returns.
func (in *invocation) do(ctx context.Context, d call.Decoder) (any, error) {
	if ctx == nil {
		return nil, noContext(in.op.Name)
	}
	in.request.Owner = in
	return in.observed(ctx, in.conn.config.observers, d)
}

// observed sends the call inside the observers, the first of which is the
// outermost.
func (in *invocation) observed(ctx context.Context, observers []Observer, d call.Decoder) (result any, err error) {
	if len(observers) == 0 {
		if c := captureOf(ctx); c != nil {
			in.request.Received = func(r call.Received) { c.keep(in.exchange(r)) }
		}
		result, failure := call.Do(ctx, &in.conn.calls, &in.request, d)
		if failure != nil {
			return nil, failed(in.op, in.request.Path, failure)
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

// exchange returns the exchange of an attempt.
func (in *invocation) exchange(r call.Received) *Exchange {
	return &Exchange{
		Operation:  in.op.Name,
		Method:     in.op.Method,
		Path:       in.request.Path,
		Sent:       NewSecret(string(in.request.Body)),
		Attempt:    r.Attempt,
		StatusCode: r.Status,
		Header:     r.Header,
		Received:   NewSecret(string(r.Body)),
	}
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

// OperationFromContext returns the operation of a request from the request's
// context, and false if the request isn't the SDK's.
func OperationFromContext(ctx context.Context) (Operation, bool) {
	in := invocationOf(ctx)
	if in == nil {
		return Operation{}, false
	}
	return *in.op, true
}
