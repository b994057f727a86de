package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
)

// RetryPolicy says how often and after what delays failed attempts of a call
// are repeated. Zero fields stand for the defaults, and in [Client.With] for what
// the client has.
//
// What is repeated depends on the operation. A request that may be sent twice
// is retried after the statuses 408, 429, 500, 502, 503 and 504, after failures
// of the connection, timeouts of an attempt, and responses that were cut off. A
// request that creates something is repeated only if it was certainly not
// carried out: if it was not sent, or after a 429 or 503 that is the API's own
// or has a Retry-After header. After any other failure it is not repeated, and
// the error matches [ErrOutcomeUnknown] if the request may have been carried
// out.
type RetryPolicy struct {
	// MaxAttempts is the number of times that a request is sent at most, the
	// first included. The default is 4; 1 is no retry.
	MaxAttempts int

	// The delay before the n-th retry is random, between 0 and MinDelay
	// doubled n-1 times, but at most MaxDelay. The defaults are 500 ms and
	// 30 s.
	MinDelay, MaxDelay time.Duration

	// MaxRetryAfter bounds the delay that a server may ask for in a
	// Retry-After header. The default is 60 s.
	MaxRetryAfter time.Duration

	// Budget bounds the retries of all calls of a client, its copies by With and
	// InProject included, while nothing succeeds. The default is 100. A retry
	// takes one from the budget and gives it back if it succeeds; a call that
	// succeeds at once gives back a fifth. A call whose retry is not in the
	// budget ends with the error of its last attempt, which then matches
	// [ErrRetryBudget], too.
	Budget int
}

func defaultRetry() RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   4,
		MinDelay:      500 * time.Millisecond,
		MaxDelay:      30 * time.Second,
		MaxRetryAfter: 60 * time.Second,
		Budget:        100,
	}
}

// over returns the policy with the fields of another one for those that are zero.
func (p RetryPolicy) over(other RetryPolicy) RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   cmp.Or(p.MaxAttempts, other.MaxAttempts),
		MinDelay:      cmp.Or(p.MinDelay, other.MinDelay),
		MaxDelay:      cmp.Or(p.MaxDelay, other.MaxDelay),
		MaxRetryAfter: cmp.Or(p.MaxRetryAfter, other.MaxRetryAfter),
		Budget:        cmp.Or(p.Budget, other.Budget),
	}
}

// delay returns the pause after the given number of attempts.
func (p RetryPolicy) delay(attempts int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return min(retryAfter, p.MaxRetryAfter)
	}
	ceiling := p.MaxDelay
	if shift := attempts - 1; shift < 62 && p.MinDelay <= ceiling>>shift {
		ceiling = p.MinDelay << shift
	}
	return rand.N(ceiling)
}

// checkRetry tells the loop of the call that the context belongs to whether
// there is a further attempt.
func checkRetry(ctx context.Context, _ *http.Response, _ error) (bool, error) {
	cl := ctx.(*callContext).call
	cl.again = cl.next(ctx)
	cl.log(ctx)
	return cl.again, nil
}

// next decides whether there is a further attempt, and after what pause.
func (cl *call) next(ctx context.Context) bool {
	if cl.err == nil || cl.unsent != nil || cl.attempts >= cl.client.config.retry.MaxAttempts || !cl.mayRetry() {
		return false
	}
	if ctx.Err() != nil {
		if !errors.Is(cl.err, ctx.Err()) {
			cl.stopped = contextError(ctx)
		}
		return false
	}
	var retryAfter time.Duration
	if e, ok := cl.err.(*Error); ok {
		retryAfter = e.RetryAfter
	}
	pause := cl.client.config.retry.delay(cl.attempts, retryAfter)
	cl.loop.RetryWaitMin = pause
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		cl.stopped = fmt.Errorf("the next attempt is due in %v, after the context's deadline: %w",
			pause.Round(time.Millisecond), context.DeadlineExceeded)
		return false
	}
	// What the server did not look at is no load for it.
	if !exchange.IsUnsent(cl.err) && !cl.client.config.budget.take(cl.client.config.retry.Budget) {
		cl.stopped = ErrRetryBudget
		return false
	}
	return true
}

// mayRetry reports whether repeating the last attempt can help and do no harm.
func (cl *call) mayRetry() bool {
	if e, ok := cl.err.(*Error); ok && cl.late && e.StatusCode == http.StatusInternalServerError && e.isOwn() {
		return false
	}
	return mayPass(cl.err) && (cl.repeatable || !cl.openOutcome())
}

// mayPass reports whether the failure of an attempt may be over at the next one.
func mayPass(err error) bool {
	switch e := err.(type) {
	case *Error:
		switch e.StatusCode {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	case *DecodeError:
		return e.truncated
	}
	return !exchange.Misconfigured(err)
}

// openOutcome reports whether the last attempt, which failed, may have been
// carried out nevertheless.
func (cl *call) openOutcome() bool {
	switch e := cl.err.(type) {
	case *Error:
		return e.leavesOpen()
	case *DecodeError:
		return true
	}
	return cl.sent
}

// leavesOpen reports whether an answer does not tell if the operation was
// carried out. A 302 or 303 may be how a server leads to the result, while the
// other redirects ask for the same request at another address. A 429 or 503
// tells that nothing was done if it is the API's own, or if it asks to come
// back. Otherwise it may be that of a gateway, some of which answer so after
// they have passed the request on.
func (e *Error) leavesOpen() bool {
	switch e.StatusCode {
	case http.StatusFound, http.StatusSeeOther, http.StatusRequestTimeout:
		return true
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return !e.isOwn() && !e.comeBack
	case http.StatusNotImplemented:
		return false
	}
	return e.StatusCode >= 500
}

// failed returns the error of the call: that of the last attempt, with what
// the call as a whole adds to it.
func (cl *call) failed() error {
	unknown := !cl.repeatable && cl.openOutcome()
	switch e := cl.err.(type) {
	case *Error:
		e.Attempts, e.stopped, e.outcomeUnknown = cl.attempts, cl.stopped, unknown
	case *DecodeError:
		e.Attempts, e.stopped, e.outcomeUnknown = cl.attempts, cl.stopped, unknown
	case *TransportError:
		e.Attempts, e.stopped, e.outcomeUnknown = cl.attempts, cl.stopped, unknown
	}
	return cl.err
}

// parseRetryAfter reads both forms of the header: seconds and a date, which is
// 0 if it lies in the past. It reports whether it could be read.
func parseRetryAfter(value string, now time.Time) (after time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(math.MaxInt64/time.Second))) * time.Second, true
	} else if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64, true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0), true
	}
	return 0, false
}
