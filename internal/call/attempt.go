package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
	"github.com/cloudapi-sdk/cloudapi/internal/mask"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// Attempt describes an attempt that has ended. RoundTrip sets what happened, and
// checkRetry whether another attempt follows.
type Attempt struct {
	Number   int // from 1
	Duration time.Duration
	Status   int // 0 if there was no response

	// NotSent is nil if the transport got the request. Otherwise it's the error
	// of the limiter, the token source, the budget, or the context. Then the only
	// other valid field is Number.
	NotSent error

	Failure *Failure // nil if the response was accepted

	Retried    bool          // whether another attempt follows
	RetryIn    time.Duration // the pause before that attempt
	NotRetried error         // as in [Outcome], of an attempt that was sent
}

// Received is what an attempt received, whether or not the decoder accepted it.
type Received struct {
	Attempt int         // from 1
	Status  int         // 0 if there was no response
	Header  http.Header // with the credentials masked
	Body    []byte      // as far as it was read; must not be kept, since the buffer is reused
}

// ErrNotSent marks failures that happened before anything was sent, and
// ErrTokenSource marks failures of the token source.
var (
	ErrNotSent     = errors.New("nothing was sent")
	ErrTokenSource = errors.New("token source")
)

// transport is the loop's transport. It has no method CloseIdleConnections:
// after a failure, retryablehttp would call it, and close connections that
// other calls could use.
type transport struct{}

// RoundTrip makes an attempt, and decides nothing. prepare has the limiter, the
// token and the budget, send the middlewares, the [exchange.Guard] and the
// transport, and receive reads, decodes and checks the response. The call's
// observers are outside of all attempts, in package cloudapi. RoundTrip returns
// an empty response to retryablehttp.
func (transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := &RequestFromContext(req.Context()).call
	c.last = Attempt{Number: c.sent + 1}
	header, err := c.prepare()
	if err != nil {
		c.last.NotSent = c.secrets().Error(err) // the error of a token source may contain secrets
		return noResponse, nil
	}
	c.sent++
	start := time.Now()
	attempt, end := exchange.Begin(req, start, c.cfg.Timeout, !c.req.Idempotent || c.sent > 1)
	defer end()
	resp, err := c.send(&attempt.Request, header)
	var f *Failure
	if err != nil {
		sent := resp != nil || c.req.Idempotent || attempt.Sent(err) // a middleware may have got a response without the connection
		f = c.broken(attempt, sent, err)
	} else {
		c.last.Status = resp.StatusCode
		f = c.receive(attempt, resp)
	}
	c.last.Failure, c.last.Duration = f, time.Since(start)
	if f == nil {
		c.failure = nil
		return noResponse, nil
	}
	f.before, c.failure = c.failure, f
	return &http.Response{Body: http.NoBody, Request: req}, nil // backoff gets the call from the Request
}

// prepare does what has to be done before a request is passed to the transport,
// and returns the request's headers, or why it isn't passed on.
func (c *call) prepare() (http.Header, error) {
	if c.ctx.Err() != nil {
		return nil, pace.Err(c.ctx)
	}
	if c.cfg.Limit != nil {
		if err := c.cfg.Limit(c.ctx); err != nil {
			return nil, fmt.Errorf("rate limiter: %w", err)
		}
	}
	header := c.cfg.Header(c.req.Body != nil || c.req.Method == http.MethodPost || c.req.Method == http.MethodPatch)
	if c.req.Accept != "" {
		header["Accept"] = []string{c.req.Accept}
	}
	if c.cfg.Token != nil {
		token, err := c.cfg.Token(c.ctx)
		if err != nil {
			return nil, err
		}
		c.tokens, c.known = append(c.tokens, token), nil
		header["Authorization"] = []string{"Bearer " + token}
	}
	if c.sent > 0 && !c.cfg.Budget.take(c.cfg.Retries) {
		return nil, ErrBudget
	}
	return header, nil
}

// send passes the request to the transport. A mock may return neither a response
// nor an error. If a middleware returns both, which net/http never does, send
// closes the body.
func (c *call) send(req *http.Request, header http.Header) (*http.Response, error) {
	req.Host = req.URL.Host // not set before: retryablehttp would copy it for nothing
	req.Header = header
	if c.req.Body != nil {
		req.Body, _ = c.newBody()
		req.GetBody = c.newBody
		req.ContentLength = int64(len(c.req.Body))
	}
	resp, err := c.cfg.Transport.RoundTrip(req)
	switch {
	case err != nil && resp != nil && resp.Body != nil:
		resp.Body.Close()
	case err == nil && resp == nil:
		err = errors.New("the transport returned neither a response nor an error")
	}
	if err != nil && c.req.Received != nil {
		c.req.Received(Received{Attempt: c.sent})
	}
	return resp, err
}

func (c *call) newBody() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(c.req.Body)), nil
}

// broken returns the failure of an attempt that got no complete response. sent
// says whether the request may have reached the server.
func (c *call) broken(attempt *exchange.Attempt, sent bool, err error) *Failure {
	ctx := attempt.Request.Context()
	switch {
	case c.ctx.Err() != nil:
		err = pace.Err(c.ctx)
	case ctx.Err() != nil && attempt.HadNoConn():
		err = &timeoutError{c.cfg.Timeout, "no connection to " + c.url.Host}
	case ctx.Err() != nil:
		err = &timeoutError{c.cfg.Timeout, "no complete response"}
	}
	return &Failure{Cause: c.cause(err), sent: sent, isCut: ctx.Err() != nil}
}

// cause returns an error that a failure can wrap. net/http quotes a malformed
// response, such as the status line of a gateway, which may repeat a password.
// The text of a lasting error, such as that of a certificate, quotes none.
func (c *call) cause(err error) error {
	if text, _, quotes := strings.Cut(err.Error(), `"`); quotes && !c.mayQuote() && !exchange.IsLasting(err) {
		err = mask.Replace(err, strings.TrimRight(text, " :"))
	}
	return c.secrets().Error(err)
}

type timeoutError struct {
	limit   time.Duration
	missing string
}

func (e *timeoutError) Error() string        { return fmt.Sprintf("%s within %v", e.missing, e.limit) }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
