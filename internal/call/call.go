// Package call makes the calls of a client. A call makes one attempt after
// another, until a response is accepted, or until another attempt would be
// useless or unsafe. The package knows the API's error envelope, but no
// operations, records or lists.
package call

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// Config has what the calls of a client share. A call doesn't change it.
type Config struct {
	BaseURL   *url.URL
	Transport http.RoundTripper

	// Header returns the headers of a request in a new map. It is a function so
	// that printing a Config never shows the credentials.
	Header func(hasBody bool) http.Header

	// Token returns the bearer token of an attempt; nil if Header has credentials.
	Token func(context.Context) (string, error)

	// Limit, unless nil, is called before each attempt.
	Limit func(context.Context) error

	// Secrets returns the credentials in a request. Its response may repeat them.
	Secrets func(*http.Request) []string

	Loop          *Loop
	Timeout       time.Duration // of an attempt; 0 for none
	MaxRetryAfter time.Duration // the maximum pause, even if a server asks for a longer one
	Budget        *Budget
	Retries       int   // the size of the budget
	MaxResponse   int64 // bytes
}

// Request is what a call sends. It is used once.
type Request struct {
	Method     string
	Path       string // the escaped path, below the path of the base URL
	Unescaped  string // Path without its escapes; "" if it has no escapes
	Query      string
	Body       []byte   // or nil
	Accept     string   // the Accept header; "" for JSON
	Secrets    []string // secret values in the body, which a response may repeat
	Idempotent bool
	Operation  any // for those who get the request by [RequestFromContext]

	// NoContent says that no body is expected: the call reads only the beginning
	// of a body, and doesn't decode it.
	NoContent bool

	// NoRetryOn500 says not to retry after a 500 of the API, because the retry
	// would get a 500 as well.
	NoRetryOn500 bool

	// Received, unless nil, is called with what each attempt has received.
	Received func(Received)

	// Attempted, unless nil, is called after each attempt.
	Attempted func(context.Context, *Attempt)

	// Decode decodes a response with a status below 300 into the caller's
	// variable, or returns why the response isn't accepted.
	Decode func(Response) error

	call call // here so that it's allocated with the request
}

func (r *Request) changes() bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// key is the key of the [Request] in the contexts of its attempts, and in those
// that the program's functions get. Printing a context doesn't show the request.
type key struct{}

// RequestFromContext returns the request to whose call a context belongs, or nil.
func RequestFromContext(ctx context.Context) *Request {
	req, _ := ctx.Value(key{}).(*Request)
	return req
}

// MayRepeat reports whether a context belongs to an idempotent request.
func MayRepeat(ctx context.Context) bool {
	req := RequestFromContext(ctx)
	return req != nil && req.Idempotent
}

// call is a request in progress.
type call struct {
	ctx context.Context
	cfg *Config
	req *Request

	// The request, as net/http and retryablehttp need it.
	url     url.URL
	http    http.Request
	request retryablehttp.Request

	// RoundTrip sets these, and checkRetry whether another attempt follows the last:
	last    Attempt      // the last attempt, even if it wasn't sent
	failure *Failure     // of the last attempt that was sent; nil if its response was accepted
	sent    int          // number of requests passed to the transport
	tokens  []string     // returned by the token source
	known   mask.Secrets // the last result of the method secrets; nil after a new token
}

// Loop makes the attempts of a client's calls. [transport.RoundTrip] makes an
// attempt, [checkRetry] decides whether another one follows and reports to the
// log, and [backoff] says how long to pause. These functions get the call from
// the context. An attempt includes reading and decoding the response, so a
// truncated response is a failed attempt, like a broken connection.
type Loop struct {
	retryablehttp.Client
	http http.Client
}

// Init prepares the loop.
func (l *Loop) Init(maxAttempts int, minDelay, maxDelay time.Duration) {
	l.http.Transport = transport{}
	l.HTTPClient = &l.http
	l.RetryMax, l.RetryWaitMin, l.RetryWaitMax = maxAttempts-1, minDelay, maxDelay
	l.CheckRetry, l.Backoff, l.ErrorHandler = checkRetry, backoff, retryablehttp.PassthroughErrorHandler
}

// Do makes attempts until one succeeds or no retry is due.
func Do(ctx context.Context, cfg *Config, req *Request) *Failure {
	c := &req.call
	c.ctx, c.cfg, c.req = context.WithValue(ctx, key{}, req), cfg, req
	c.request.Request = c.newRequest()
	_, err := cfg.Loop.Do(&c.request)
	switch {
	case c.sent == 0 && c.last.NotSent != nil:
		c.failure = &Failure{Cause: fmt.Errorf("%w, %w", c.last.NotSent, ErrNotSent)}
	case c.sent == 0:
		c.failure = &Failure{Cause: c.secrets().Error(err)} // from the http.Client itself
	case c.last.Retried:
		c.last.NotRetried = c.secrets().Error(pace.Err(c.ctx)) // the context ended during the pause
	}
	return c.outcome()
}

// outcome returns the failure of the call, or nil.
func (c *call) outcome() *Failure {
	f := c.failure
	isAnswered := f == nil || f.isOwn() && f.Class() != Soon // by the API, and a retry can't change its response
	if isAnswered {
		c.cfg.Budget.succeeded(c.sent)
	}
	if f == nil {
		return nil
	}
	if f.Attempts = c.sent; f.Attempts > 0 {
		f.NotRetried = cmp.Or(c.last.NotSent, c.last.NotRetried)
	}
	f.Ended = c.ctx.Err() != nil
	reason, earlier := f, false // the last failure that wasn't cut, or the first; whether the server may have executed an attempt before the last
	for before := f.before; before != nil; before = before.before {
		if reason.isCut {
			reason = before
		}
		earlier = earlier || before.mayHaveRun()
	}
	if reason != f && (f.Ended || !reason.isCut) { // not if the timeout has cut all attempts
		f.Previous = reason
		f.Previous.Attempts = 1
	}
	f.MayHaveRun = c.req.changes() && (earlier || f.mayHaveRun())
	f.Earlier = c.req.changes() && earlier && isAnswered
	f.Unknown = f.Earlier || f.MayHaveRun && !c.req.Idempotent
	return f
}

func (c *call) secrets() mask.Secrets {
	if c.known == nil {
		values := append(c.cfg.Secrets(c.request.Request), c.req.Secrets...)
		c.known = mask.New(append(values, c.tokens...))
	}
	return c.known
}

// All calls share these, since retryablehttp doesn't change them.
var (
	noHeader   = http.Header{}
	noResponse = &http.Response{Body: http.NoBody}
)

// newRequest returns the request for retryablehttp, without headers and body.
// Each attempt sends a copy with its own headers and body. So only the
// transport ever gets the credentials, and an attempt shares nothing with an
// earlier attempt that is still in progress.
func (c *call) newRequest() *http.Request {
	base := c.cfg.BaseURL
	c.url = url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path + c.req.Path, RawQuery: c.req.Query}
	if c.req.Unescaped != "" {
		c.url.Path, c.url.RawPath = base.Path+c.req.Unescaped, c.url.Path
	}
	c.http = *(&http.Request{
		Method:     c.req.Method,
		URL:        &c.url,
		Header:     noHeader,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
	}).WithContext(c.ctx)
	return &c.http
}
