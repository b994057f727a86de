package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// call is one operation under way, from its arguments to its result.
//
// One attempt takes in all that belongs to it, reading and decoding the reply
// included, so that a reply that is cut off is a failed attempt like a
// connection that breaks. Its outcome is in the call; see [newDriver].
type call struct {
	client *Client
	op     *Operation

	path       string // as it is sent
	unescaped  string // the same path if its escaping matters, as in calls of Do; or ""
	query      string
	body       []byte // nil: the request has none
	secrets    []string
	repeatable bool
	result     accepter

	// What net/http and retryablehttp need, kept here to be allocated once.
	ctx      callContext
	url      url.URL
	request  retryablehttp.Request
	response http.Response

	attempts int           // requests that were handed to the transport
	again    bool          // whether there is to be a further attempt
	pause    time.Duration // before it
	stopped  error         // why there is none although one is due

	// Of the last attempt:
	err     error
	unsent  error // why it came to nothing before the transport; err is then that of the attempt before
	started time.Time
	sent    bool // whether it may have reached the server
	status  int  // 0: no answer
}

// do sends the request until an attempt succeeds or none is left. The error is
// nil only if the reply was accepted.
func (cl *call) do(ctx context.Context, result accepter) error {
	if ctx == nil {
		return noContext(cl.op.Name)
	}
	cl.result = result
	return cl.observed(ctx, cl.client.config.observers)
}

// observed makes the attempts while the observers, the first one outermost,
// look on.
func (cl *call) observed(ctx context.Context, observers []Observer) (err error) {
	if len(observers) == 0 {
		return cl.run(ctx)
	}
	inner, finish := observers[0](ctx, *cl.op)
	if inner == nil {
		inner = ctx
	}
	if finish != nil {
		err = errNotReturned
		defer func() { finish(err) }()
	}
	return cl.observed(inner, observers[1:])
}

// errNotReturned is the result of a call for its observers if something in it,
// such as a middleware, panics.
var errNotReturned = errors.New("the call did not return")

// run makes the attempts.
func (cl *call) run(ctx context.Context) error {
	cl.ctx = callContext{ctx, cl}
	cl.request.Request = cl.newRequest()
	_, err := cl.client.driver.Do(&cl.request)
	if err == nil && cl.err == nil {
		return nil
	}
	if cl.again && cl.stopped == nil {
		cl.stopped = contextError(ctx) // it ended during the pause between attempts
	}
	return cl.failed(err)
}

// callContext is the context of a call's requests.
type callContext struct {
	context.Context
	call *call
}

func (c *callContext) Value(key any) any {
	if key == (operationKey{}) {
		return c.call.op
	}
	return c.Context.Value(key)
}

// callOf returns the call that a context of the driver's belongs to.
func callOf(ctx context.Context) *call { return ctx.(*callContext).call }

// newDriver returns the loop of attempts for all calls of a client. It knows
// nothing of them: what it sees of an attempt is an empty response with the
// request in it, and what it asks for is answered by the call, which is in
// the request's context.
func newDriver(maxAttempts int) *retryablehttp.Client {
	var d struct { // to be allocated at once
		retryablehttp.Client
		inner http.Client
	}
	d.inner.Transport = attempter{}
	d.Client = retryablehttp.Client{
		HTTPClient: &d.inner,
		RetryMax:   maxAttempts - 1,
		CheckRetry: func(ctx context.Context, _ *http.Response, err error) (bool, error) {
			return callOf(ctx).checkRetry(ctx, err), nil
		},
		Backoff: func(_, _ time.Duration, _ int, resp *http.Response) time.Duration {
			return callOf(resp.Request.Context()).pause
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	return &d.Client
}

// attempter is the driver's transport. It has no CloseIdleConnections, which
// the driver would call after one failure and to the harm of all other calls.
type attempter struct{}

// RoundTrip makes one attempt.
func (attempter) RoundTrip(req *http.Request) (*http.Response, error) {
	cl := callOf(req.Context())
	cl.try(req)
	cl.response.StatusCode, cl.response.Body, cl.response.Request = http.StatusOK, http.NoBody, req
	return &cl.response, nil
}

// noHeader is what requests have that only the driver sees. Nobody writes to it.
var noHeader = http.Header{}

// newRequest makes the request that the driver sees. It has neither headers
// nor a body: each attempt gets its own, so that nothing but the transport
// ever holds the credentials, and none is shared with an attempt that may
// still be under way.
func (cl *call) newRequest() *http.Request {
	base := cl.client.config.baseURL
	cl.url = url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path + cl.path, RawQuery: cl.query}
	if cl.unescaped != "" {
		cl.url.Path, cl.url.RawPath = base.Path+cl.unescaped, cl.url.Path
	}
	req := &http.Request{
		Method:     cl.op.Method,
		URL:        &cl.url,
		Header:     noHeader,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
	}
	return req.WithContext(&cl.ctx)
}

// errNotSent marks failures of what comes before the network.
var errNotSent = errors.New("nothing was sent")

// try makes one attempt, if it may.
func (cl *call) try(req *http.Request) {
	header, err := cl.prepare(req.Context())
	if err != nil {
		err = cl.withoutSecrets(err) // a token source may tell what it has to renew
		cl.unsent, cl.stopped = err, err
		if cl.attempts == 0 {
			cl.err, cl.stopped = cl.transportError(fmt.Errorf("%w, %w", err, errNotSent)), nil
		}
		return
	}
	cl.attempts++
	cl.sent, cl.status = false, 0
	cl.started = time.Now()
	cl.err = cl.attempt(req, header)
}

// attempt sends a copy of the request and takes in the reply.
func (cl *call) attempt(req *http.Request, header http.Header) error {
	parent := req.Context()
	var tracker *connTracker // nil where it does not matter
	var ctx *attemptContext
	if cl.repeatable {
		ctx = &attemptContext{Context: parent}
	} else {
		tracker = new(connTracker)
		ctx = tracker.track(parent)
	}
	limit := cl.client.config.timeout
	if limit > 0 {
		ctx.deadline = cl.started.Add(limit)
	}
	defer ctx.stop()

	req = req.WithContext(ctx)
	req.Host = req.URL.Host // which the driver does without, and saves a copy of the URL
	req.Header = header
	if cl.body != nil {
		req.Body, _ = cl.newBody()
		req.GetBody = cl.newBody
		req.ContentLength = int64(len(cl.body))
	}
	resp, err := cl.client.next.RoundTrip(req)
	sent, vetoed := tracker.result()
	cl.sent = sent || resp != nil // by a way that the tracker does not see
	if err == nil && resp == nil {
		err = errors.New("the transport returned neither a response nor an error")
	}
	if err == nil {
		cl.status = resp.StatusCode
		var answer error
		if answer, err = cl.receive(resp); err == nil {
			return answer
		}
	}
	switch {
	case parent.Err() != nil:
		err = contextError(parent)
	case vetoed:
		err = errNotRepeated
	case ctx.Err() != nil:
		err = &timeoutError{limit}
	}
	return cl.transportError(err)
}

// prepare does what precedes each attempt, and returns its headers.
func (cl *call) prepare(ctx context.Context) (http.Header, error) {
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	cfg := &cl.client.config
	if cfg.limiter != nil {
		if err := cfg.limiter.Wait(ctx); err != nil {
			return nil, fmt.Errorf("rate limiter: %w", err)
		}
	}
	h := cl.client.newHeader()
	if cl.body != nil || cl.op.Method == http.MethodPost || cl.op.Method == http.MethodPatch {
		h["Content-Type"] = h["Accept"] // JSON both ways
	}
	if cfg.tokenSource == nil || cfg.hasHeader("Authorization") {
		return h, nil
	}
	token, err := cfg.tokenSource(ctx)
	if err == nil {
		err = checkToken(token)
	}
	if err != nil {
		return nil, fmt.Errorf("token source: %w", within{err})
	}
	cl.secrets = append(cl.secrets, token)
	h["Authorization"] = []string{"Bearer " + token}
	return h, nil
}

func (cl *call) transportError(err error) *TransportError {
	return &TransportError{Operation: cl.op.Name, Method: cl.op.Method, Path: cl.path, Err: cl.withoutSecrets(err)}
}

// contextError returns why a context ended, so that both its error and a cause
// of the caller's can be found.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// noContext is what a nil context is answered with.
func noContext(operation string) error {
	return &ArgumentError{Operation: operation, Name: "ctx", Reason: "must not be nil"}
}

// timeoutError says that one attempt took too long.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string        { return fmt.Sprintf("no complete reply within %v", e.limit) }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
