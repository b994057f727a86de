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
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// RetryPolicy sets how often and after what delays failed attempts of a call
// are retried. Zero fields mean the defaults, and the current values in
// [Client.With].
//
// Retries depend on the operation. An idempotent request is retried after the
// statuses 408, 429, 500, 502, 503 and 504, failed connections, timeouts of an
// attempt, and truncated responses. A request that creates something is retried
// only if it certainly was not carried out: if it was not sent, or after a 429
// or 503 that is the API's own or has a Retry-After header. After any other
// failure it is not retried, and the error matches [ErrOutcomeUnknown] if the
// request may have been carried out.
type RetryPolicy struct {
	// MaxAttempts is the maximum number of attempts, including the first. The
	// default is 4; 1 means no retry.
	MaxAttempts int

	// The delay before the n-th retry is random, between 0 and MinDelay doubled
	// n-1 times, but at most MaxDelay. The defaults are 500 ms and 30 s.
	MinDelay, MaxDelay time.Duration

	// MaxRetryAfter is the maximum delay that the SDK accepts from a
	// Retry-After header. The default is 60 s.
	MaxRetryAfter time.Duration

	// Budget limits the retries of all calls of a client while no call
	// succeeds. The default is 100. Copies of the client by With and InProject
	// share the budget, unless they call another host. A retry takes one from
	// the budget when it is sent and gives it back if it succeeds; a call that
	// succeeds without a retry gives back a fifth. An error that is not
	// retried, such as the API's own 404, counts as success here, since the
	// service works. If the budget is used up, a call ends with the error of
	// its last attempt, which then also matches [ErrRetryBudget].
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

// over returns the policy, with the fields of another policy in place of its
// zero fields.
func (p RetryPolicy) over(other RetryPolicy) RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   cmp.Or(p.MaxAttempts, other.MaxAttempts),
		MinDelay:      cmp.Or(p.MinDelay, other.MinDelay),
		MaxDelay:      cmp.Or(p.MaxDelay, other.MaxDelay),
		MaxRetryAfter: cmp.Or(p.MaxRetryAfter, other.MaxRetryAfter),
		Budget:        cmp.Or(p.Budget, other.Budget),
	}
}

// delay returns the delay after the given number of attempts.
func (p RetryPolicy) delay(attempts int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return min(retryAfter, p.MaxRetryAfter)
	}
	ceiling := p.MaxDelay
	if shift := attempts - 1; p.MinDelay <= ceiling>>shift {
		ceiling = p.MinDelay << shift
	}
	return rand.N(ceiling)
}

// checkRetry decides for retryablehttp whether there is another attempt. It
// gets the call from the context.
func checkRetry(ctx context.Context, _ *http.Response, _ error) (bool, error) {
	cl := ctx.(*callContext).call
	cl.retrying = cl.next(ctx)
	cl.log(ctx)
	return cl.retrying, nil
}

// next decides whether there is another attempt, and after what delay.
func (cl *call) next(ctx context.Context) bool {
	if cl.err == nil || cl.notPrepared != nil || cl.attempts >= cl.conn.config.retry.MaxAttempts || !cl.mayRetry() {
		return false
	}
	if ctx.Err() != nil {
		if !errors.Is(cl.err, ctx.Err()) {
			cl.whyNoRetry = pace.Err(ctx)
		}
		return false
	}
	var retryAfter time.Duration
	if e, ok := cl.err.(*Error); ok {
		retryAfter = e.RetryAfter
	}
	pause := cl.conn.config.retry.delay(cl.attempts, retryAfter)
	cl.loop.RetryWaitMin = pause
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		cl.whyNoRetry = fmt.Errorf("the next attempt is due in %v, after the context's deadline: %w",
			pause.Round(time.Millisecond), context.DeadlineExceeded)
		return false
	}
	if cl.conn.config.budget.isUsedUp(cl.conn.config.retry.Budget) {
		cl.whyNoRetry = ErrRetryBudget
		return false
	}
	return true
}

// mayRetry reports whether a retry of the last attempt is useful and safe. An
// error with a truncated body is not the answer of the API, whatever its status,
// so an idempotent request is retried.
func (cl *call) mayRetry() bool {
	if e, ok := cl.err.(*Error); ok {
		switch {
		case cl.notReadyOn500 && e.StatusCode == http.StatusInternalServerError && e.isOwn():
			return false
		case e.truncated && cl.idempotent:
			return true
		}
	}
	return isRetryable(cl.err) && (cl.idempotent || !cl.mayHaveRun())
}

// isAnswered reports whether the API has processed the request: the call
// succeeded, or the API refused it for a reason that no retry can change.
func (cl *call) isAnswered() bool {
	e, ok := cl.err.(*Error)
	return cl.err == nil || ok && e.isOwn() && !isRetryable(e)
}

// isRetryable reports whether another attempt can succeed within the call. Waits
// poll again after more failures, see [IsTransient].
func isRetryable(err error) bool {
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

// mayHaveRun reports whether the last attempt, which failed, may have been
// carried out nevertheless.
func (cl *call) mayHaveRun() bool {
	switch e := cl.err.(type) {
	case *Error:
		return e.mayHaveRun()
	case *DecodeError:
		return true
	}
	return cl.sent
}

// mayHaveRun reports whether the operation may have been carried out in spite
// of the error. A 302 or 303 may lead to its result; other redirects ask for
// the same request at another address. A 429 or 503 says that it was not, if it
// is the API's own or has a Retry-After header. Otherwise it may come from a
// gateway, and some gateways send it after they have passed the request on.
func (e *Error) mayHaveRun() bool {
	switch e.StatusCode {
	case http.StatusFound, http.StatusSeeOther, http.StatusRequestTimeout:
		return true
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return !e.isOwn() && !e.hasRetryAfter
	case http.StatusNotImplemented:
		return false
	}
	return e.StatusCode >= 500
}

// failed returns the error of the call: that of the last attempt, with the
// information about the whole call.
func (cl *call) failed() error {
	unknown := !cl.idempotent && cl.mayHaveRun()
	switch e := cl.err.(type) {
	case *Error:
		e.Attempts, e.whyNoRetry, e.outcomeUnknown = cl.attempts, cl.whyNoRetry, unknown
	case *DecodeError:
		e.Attempts, e.whyNoRetry, e.outcomeUnknown = cl.attempts, cl.whyNoRetry, unknown
	case *TransportError:
		e.Attempts, e.whyNoRetry, e.outcomeUnknown = cl.attempts, cl.whyNoRetry, unknown
	}
	return cl.err
}

// parseRetryAfter parses both forms of the header: seconds and a date. A date
// in the past is 0. It reports whether the header is valid.
func parseRetryAfter(value string, now time.Time) (after time.Duration, ok bool) {
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
