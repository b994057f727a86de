package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/google/go-querystring/query"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
)

// perform performs an operation that takes no body and returns a record.
func perform[T any](ctx context.Context, c *conn, op *Operation, args ...string) (*T, error) {
	return send[T](ctx, c, op, nil, args...)
}

// send performs an operation that takes a JSON body and returns a record.
func send[T any](ctx context.Context, c *conn, op *Operation, request any, args ...string) (*T, error) {
	in, err := c.invoke(op, request, args)
	if err != nil {
		return nil, err
	}
	return doRecord[T](ctx, in)
}

// doRecord returns the record of a call.
func doRecord[T any](ctx context.Context, in *invocation) (*T, error) {
	plan := in.conn.config.plan
	if plan == nil || ctx == nil {
		return receive[T](ctx, in)
	}
	record, err := plan.record(ctx, in, new(T), func() (any, error) { return receive[T](ctx, in) })
	if err != nil {
		return nil, err
	}
	return record.(*T), nil
}

// receive sends a call whose response is a record.
func receive[T any](ctx context.Context, in *invocation) (*T, error) {
	var record *T
	err := in.do(ctx, func(r call.Response) error {
		record = new(T) // so that nothing of an earlier attempt's response remains
		if err := decodeRecords(r, record); err != nil {
			return err
		}
		if field := lacks(record); field != "" {
			return fmt.Errorf("it has no %s", field)
		}
		if _, field := firstMismatch(&in.want, []*T{record}); field != "" {
			return fmt.Errorf("it is about another resource: it has another %s", field)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// download performs an operation whose response is a file. request may be nil.
func download(ctx context.Context, c *conn, op *Operation, format fileFormat, request any, args ...string) (file *File, err error) {
	in, err := c.invoke(op, request, args)
	if err != nil {
		return nil, err
	}
	in.request.Accept, in.request.NoRetryOn500 = format.accept, format.noRetryOn500
	err = in.do(ctx, func(r call.Response) (err error) {
		file, err = format.decode(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

// remove performs an operation whose response is a 204.
func remove(ctx context.Context, c *conn, op *Operation, args ...string) error {
	in, err := c.invoke(op, nil, args)
	if err != nil {
		return err
	}
	if plan := c.config.plan; plan != nil && ctx != nil {
		return plan.remove(ctx, in)
	}
	in.request.NoContent = true
	return in.do(ctx, func(r call.Response) error {
		if r.Status != http.StatusNoContent {
			return fmt.Errorf("the status should be %d", http.StatusNoContent)
		}
		return nil
	})
}

// invocation is an operation with its arguments, ready to be called.
type invocation struct {
	conn    *conn
	op      *Operation
	args    []string // of the path, if the client plans
	sent    any      // the request from which the body is made, or nil
	want    expected
	request call.Request
}

// invoke prepares an operation: the path from the arguments, and the body from
// the request. If request is nil, there is no body; if it contains a nil
// pointer, the body is {}.
func (c *conn) invoke(op *Operation, request any, args []string) (*invocation, error) {
	path, want, err := op.path(c.config.project, args)
	if errors.Is(err, ErrNoProject) {
		err = fmt.Errorf("%w%s", err, c.config.unset())
	}
	if err != nil {
		return nil, err
	}
	in := &invocation{conn: c, op: op, sent: request, want: want, request: call.Request{Operation: op, Method: op.Method, Path: path, Idempotent: op.traits&once == 0}}
	if c.config.plan != nil {
		in.args = slices.Clone(args)
	}
	if name := newNameOf(request); name != "" {
		// A retry by name fails if the first attempt has changed the name.
		in.request.Idempotent = in.request.Idempotent && want.id != ""
		if !in.request.Idempotent {
			in.want = expected{location: want.location, name: name}
		}
	}
	if request != nil {
		if err := checkRequest(op.Name, request); err != nil {
			return nil, err
		}
		if err := encodeBody(op.Name, &in.request, request); err != nil {
			return nil, err
		}
	}
	if err := c.checkPlanned(op, request, in.request.Body, args); err != nil {
		return nil, err
	}
	return in, nil
}

// ask is like invoke, for an operation with a query. parameters is a struct, or
// a pointer to one, and its fields with url tags become the query. A nil
// pointer means no query.
func (c *conn) ask(op *Operation, parameters any, args []string) (*invocation, error) {
	in, err := c.invoke(op, nil, args)
	if err == nil {
		values, _ := query.Values(parameters) // fails only if parameters isn't a struct
		in.request.Query = values.Encode()
	}
	return in, err
}

// do sends the call. decode is called for the response of each attempt; it
// returns an error if the response is invalid.
func (in *invocation) do(ctx context.Context, decode func(call.Response) error) error {
	if ctx == nil {
		return noContext(in.op.Name)
	}
	if plan := in.conn.config.plan; plan != nil {
		if err := plan.check(ctx, in); err != nil {
			return err
		}
	}
	in.request.Decode = decode
	return in.observed(ctx, in.conn.config.observers)
}

// observed calls the observers in order, sends the call, and then passes the
// error to the observers' functions in reverse order.
func (in *invocation) observed(ctx context.Context, observers []Observer) (err error) {
	if len(observers) > 0 {
		inner, finish := observers[0](ctx, *in.op)
		if finish != nil {
			err = errNotReturned
			defer func() { finish(err) }()
		}
		if inner == nil {
			inner = ctx
		}
		return in.observed(inner, observers[1:])
	}
	if c := captureOf(ctx); c != nil {
		in.request.Received = func(r call.Received) { c.keep(in.exchange(r)) }
	}
	if in.conn.config.logger != nil {
		in.request.Attempted = in.log
	}
	if failure := call.Do(ctx, &in.conn.config.calls, &in.request); failure != nil {
		return failed(in.op, in.host(), in.request.Path, failure)
	}
	return nil
}

func (in *invocation) host() string { return in.conn.config.calls.BaseURL.Host }

// exchange returns the Exchange of the attempt that received r.
func (in *invocation) exchange(r call.Received) *Exchange {
	return &Exchange{
		Operation:  in.op.Name,
		Method:     in.op.Method,
		Path:       in.request.Path,
		Request:    NewSecret(string(in.request.Body)),
		Attempt:    r.Attempt,
		StatusCode: r.Status,
		Header:     r.Header,
		Response:   NewSecret(string(r.Body)),
	}
}

// errNotReturned is the error that observers get if a call panics.
var errNotReturned = errors.New("the call did not return")

// OperationFromContext returns the operation of a request from the request's
// context, and false if the request isn't the SDK's.
func OperationFromContext(ctx context.Context) (Operation, bool) {
	if req := call.RequestFromContext(ctx); req != nil {
		return *req.Operation.(*Operation), true
	}
	return Operation{}, false
}

// Exchange is the request and the response of one attempt, without the
// request's headers. When printed or encoded, it shows no secrets. In Header,
// cookies are masked, and so are values that contain the client's credentials.
type Exchange struct {
	Operation  string      // the operation's name, such as "VMs.Get"
	Method     string      // the HTTP method
	Path       string      // the path as it is sent, without the query
	Request    Secret      // the body of the request; empty if it has none
	Attempt    int         // the number of the attempt in its call, from 1
	StatusCode int         // the HTTP status; 0 if there was no response
	Header     http.Header // the header of the response
	Response   Secret      // the body of the response, as far as the SDK has read it
}

// CaptureExchange returns a context, and a function that returns the last
// attempt of all calls with this context, or nil if there was none. Several
// goroutines may use the context. A response's body is copied up to the limit
// of [WithResponseLimit], and the body of an error response up to 1 MiB.
func CaptureExchange(ctx context.Context) (context.Context, func() *Exchange) {
	c := &capture{outer: captureOf(ctx)}
	return context.WithValue(ctx, captureKey{}, c), c.last.Load
}

// capture keeps the last exchange of the calls with a context.
type capture struct {
	outer *capture // the capture of the parent context, or nil
	last  atomic.Pointer[Exchange]
}

type captureKey struct{}

// captureOf returns the innermost capture of a context, or nil.
func captureOf(ctx context.Context) *capture {
	c, _ := ctx.Value(captureKey{}).(*capture)
	return c
}

// keep stores an exchange as the last one in c and in its outer captures.
func (c *capture) keep(exchange *Exchange) {
	for ; c != nil; c = c.outer {
		c.last.Store(exchange)
	}
}

func (in *invocation) log(ctx context.Context, a *call.Attempt) {
	level, message, err := slog.LevelDebug, "cloudapi: request", a.NotSent
	switch {
	case err != nil:
		level, message = slog.LevelWarn, "cloudapi: request not sent"
	case a.Failure != nil:
		failure := *a.Failure
		failure.Body = ""
		err = failed(in.op, "", in.request.Path, &failure) // the line has the host
		level, message = slog.LevelWarn, "cloudapi: request failed"
		if isMissing(err) {
			level = slog.LevelInfo // a wait for a deletion expects this status
		}
	}
	logger := in.conn.config.logger
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs,
		slog.String("operation", in.op.Name),
		slog.String("method", in.op.Method),
		slog.String("host", in.host()),
		slog.String("route", in.op.Route),
		slog.Int("attempt", a.Number),
	)
	if a.NotSent == nil {
		attrs = append(attrs, slog.Duration("duration", a.Duration))
		if a.Status != 0 {
			attrs = append(attrs, slog.Int("status", a.Status))
		}
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if a.Retried {
		attrs = append(attrs, slog.Duration("retry_in", a.RetryIn))
	}
	if a.NotRetried != nil {
		attrs = append(attrs, slog.String("not_retried", a.NotRetried.Error()))
	}
	logger.LogAttrs(ctx, level, message, attrs...)
}
