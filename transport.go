package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// call is one operation in progress, from its arguments to its result.
//
// A call uses retryablehttp with its own Client, so that the callbacks know the
// call: [call.RoundTrip] makes an attempt, [checkRetry] decides about the next
// one, and RetryWaitMin of the Client is the delay before it. An attempt
// includes reading and decoding the response, so that a truncated response is a
// failed attempt like a broken connection.
type call struct {
	conn *conn
	op   *Operation

	path          string // as it is sent
	unescaped     string // the unescaped path, in calls of Do; or ""
	query         string
	newName       string // the name that the request gives to the resource of the response, or ""
	body          []byte // nil: no body
	acceptHeader  string // the Accept header; "": JSON
	secrets       []string
	notReadyOn500 bool // whether a 500 of the API means that the file does not exist yet, and will not during the call
	idempotent    bool
	decoder       decoder
	result        any // what the decoder returned

	// Arguments for net/http and retryablehttp, here to be allocated once.
	ctx     callContext
	url     url.URL
	request retryablehttp.Request
	http    http.Client
	loop    retryablehttp.Client

	attempts   int   // requests passed to the transport
	retrying   bool  // whether there is another attempt
	whyNoRetry error // why a due retry was not made

	// Of the last attempt:
	err         error
	notPrepared error // why the attempt ended before the transport; err is then from the attempt before, if any
	started     time.Time
	sent        bool // whether it may have reached the server
	status      int  // 0: no response
}

// do makes attempts until one succeeds or none is left. The error is nil only
// if the response was accepted.
func (cl *call) do(ctx context.Context, d decoder) error {
	if ctx == nil {
		return noContext(cl.op.Name)
	}
	cl.decoder = d
	return cl.observed(ctx, cl.conn.config.observers)
}

// observed makes the attempts inside the observers, the first of which is the
// outermost.
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

// errNotReturned is the result that observers get if the call panics, for
// example in a middleware.
var errNotReturned = errors.New("the call did not return")

// run makes the attempts.
func (cl *call) run(ctx context.Context) error {
	cl.ctx = callContext{ctx, cl}
	cl.request.Request = cl.newRequest()
	cl.http = http.Client{Transport: cl, CheckRedirect: noRedirect}
	cl.loop = retryablehttp.Client{
		HTTPClient:   &cl.http,
		RetryMax:     cl.conn.config.retry.MaxAttempts - 1,
		CheckRetry:   checkRetry,
		Backoff:      func(pause, _ time.Duration, _ int, _ *http.Response) time.Duration { return pause },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	_, err := cl.loop.Do(&cl.request) // calls RoundTrip and checkRetry until the last attempt
	if err != nil && cl.attempts == 0 && cl.err == nil {
		cl.err = cl.transportError(err) // of the http.Client itself
	}
	if cl.isAnswered() {
		cl.conn.config.budget.succeeded(cl.attempts)
	}
	if cl.err == nil {
		return nil
	}
	if cl.retrying && cl.whyNoRetry == nil {
		cl.whyNoRetry = pace.Err(ctx) // it ended during the delay between attempts
	}
	return cl.failed()
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// callContext is the context of a call's requests.
type callContext struct {
	context.Context
	call *call
}

func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

// callKey is the key of the call in its context, and in those of its attempts.
type callKey struct{ exchange.CallKey }

// callOf returns the call that a request with the context belongs to, or nil.
func callOf(ctx context.Context) *call {
	cl, _ := ctx.Value(callKey{}).(*call)
	return cl
}

// noHeader is the header of the requests that only retryablehttp sees. Nobody
// writes to it.
var noHeader = http.Header{}

// newRequest makes the request for retryablehttp. It has neither headers nor a
// body, since each attempt gets its own: only the transport ever gets the
// credentials, and an attempt shares nothing with an earlier one that is still
// in progress.
func (cl *call) newRequest() *http.Request {
	base := cl.conn.config.baseURL
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

// errNotSent marks failures before the network.
var errNotSent = errors.New("nothing was sent")

// errTokenSource marks failures of the token source.
var errTokenSource = errors.New("token source")

// RoundTrip makes one attempt. It is the transport of retryablehttp. The result
// of the attempt is stored in the call; retryablehttp only gets the response,
// whose body has been read.
//
// The call has no method CloseIdleConnections, so that retryablehttp does not
// close connections that other calls use after a failure.
func (cl *call) RoundTrip(req *http.Request) (*http.Response, error) {
	cfg := &cl.conn.config
	header, err := cl.prepare(req.Context())
	if err == nil && cl.attempts > 0 && !cfg.budget.take(cfg.retry.Budget) {
		err = ErrRetryBudget
	}
	if err != nil {
		err = cl.withoutSecrets(err) // the error of a token source may contain secrets
		cl.notPrepared, cl.whyNoRetry = err, err
		if cl.attempts == 0 {
			cl.err, cl.whyNoRetry = cl.transportError(fmt.Errorf("%w, %w", err, errNotSent)), nil
		}
		return nil, err
	}
	cl.attempts++
	cl.sent, cl.status = false, 0
	cl.started = time.Now()
	var resp *http.Response
	if resp, cl.err = cl.attempt(req, header); resp == nil {
		return nil, cl.err
	}
	resp.Body = http.NoBody
	return resp, nil
}

// attempt sends a copy of the request and decodes the response. The returned
// response is nil if it was not complete.
func (cl *call) attempt(req *http.Request, header http.Header) (*http.Response, error) {
	parent, limit := req.Context(), cl.conn.config.timeout
	begin := exchange.BeginOnce
	if cl.idempotent {
		begin = exchange.Begin
	}
	var deadline time.Time
	if limit > 0 {
		deadline = cl.started.Add(limit)
	}
	attempt := begin(parent, deadline)
	defer attempt.End()

	req = req.WithContext(attempt)
	req.Host = req.URL.Host // retryablehttp does not need it, and without it copies less
	req.Header = header
	if cl.body != nil {
		req.Body, _ = cl.newBody()
		req.GetBody = cl.newBody
		req.ContentLength = int64(len(cl.body))
	}
	resp, err := cl.conn.transport(0).RoundTrip(req)
	cl.sent = resp != nil || attempt.Sent(err) // a response may come from a middleware, which the attempt does not see
	switch {
	case err != nil && resp != nil && resp.Body != nil:
		resp.Body.Close() // from a middleware: net/http never returns both
	case err == nil && resp == nil:
		err = errors.New("the transport returned neither a response nor an error")
	}
	if err == nil {
		cl.status = resp.StatusCode
		var answer error
		if answer, err = cl.receive(attempt, resp); err == nil {
			return resp, answer
		}
	}
	switch {
	case parent.Err() != nil:
		err = pace.Err(parent)
	case attempt.Err() != nil:
		err = &timeoutError{limit}
	}
	return nil, cl.transportError(err)
}

// prepare does the work before an attempt, and returns its headers.
func (cl *call) prepare(ctx context.Context) (http.Header, error) {
	if ctx.Err() != nil {
		return nil, pace.Err(ctx)
	}
	cfg := &cl.conn.config
	if cfg.limiter != nil {
		if err := cfg.limiter.Wait(ctx); err != nil {
			return nil, fmt.Errorf("rate limiter: %w", err)
		}
	}
	h := cl.conn.newHeader(cl.body != nil || cl.op.Method == http.MethodPost || cl.op.Method == http.MethodPatch)
	if cl.acceptHeader != "" {
		h["Accept"] = []string{cl.acceptHeader}
	}
	if cfg.tokenSource == nil || cfg.hasHeader("Authorization") {
		return h, nil
	}
	token, err := cfg.tokenSource(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTokenSource, within{err})
	}
	if err := checkToken(token); err != nil {
		return nil, fmt.Errorf("token source: %w", within{err})
	}
	cl.secrets = append(cl.secrets, token)
	h["Authorization"] = []string{"Bearer " + token}
	return h, nil
}

func (cl *call) transportError(err error) *TransportError {
	return &TransportError{Operation: cl.op.Name, Method: cl.op.Method, Path: cl.path, Err: cl.withoutSecrets(err)}
}

// noContext returns the error for a nil context.
func noContext(operation string) error {
	return &ArgumentError{Operation: operation, Name: "ctx", Reason: "must not be nil"}
}

// timeoutError says that one attempt took too long.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string        { return fmt.Sprintf("no complete response within %v", e.limit) }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
