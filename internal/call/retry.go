package call

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// Delay returns the pause after the given number of attempts: retryAfter, but
// at most MaxRetryAfter. If retryAfter is 0, the pause is random, up to a
// ceiling that doubles each time.
func (cfg *Config) Delay(attempts int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return min(retryAfter, cfg.MaxRetryAfter)
	}
	first, ceiling := cfg.Loop.RetryWaitMin, cfg.Loop.RetryWaitMax
	if shift := attempts - 1; first <= ceiling>>shift {
		ceiling = first << shift
	}
	return 1 + rand.N(ceiling) // at least 1 ns
}

func backoff(_, _ time.Duration, _ int, resp *http.Response) time.Duration {
	return RequestFromContext(resp.Request.Context()).call.last.RetryIn
}

// checkRetry decides whether another attempt follows the last one, and reports
// that.
func checkRetry(ctx context.Context, _ *http.Response, _ error) (bool, error) {
	c := &RequestFromContext(ctx).call
	last := &c.last
	if last.NotSent == nil && last.Number > 0 {
		var reason error
		if last.Retried, reason = c.planRetry(); reason != nil {
			last.NotRetried = c.secrets().Error(reason) // the cause of a context's end may contain secrets
		}
	}
	if c.req.Attempted != nil {
		c.req.Attempted(c.ctx, last)
	}
	return last.Retried, nil
}

// errOnce says why a failure that could be retried isn't.
var errOnce = errors.New("the request isn't idempotent")

// planRetry decides whether to retry, and chooses the pause before the retry.
// If there's no retry, reason says why, unless the failure does: it isn't of
// class Soon, it's of the last attempt, or the context's end caused it.
func (c *call) planRetry() (retry bool, reason error) {
	f := c.failure
	if f == nil || c.sent > c.cfg.Loop.RetryMax || f.Class() != Soon || c.ctx.Err() != nil && errors.Is(f.Cause, c.ctx.Err()) {
		return false, nil
	}
	if !c.req.Idempotent && f.mayHaveRun() {
		return false, errOnce
	}
	if c.ctx.Err() != nil {
		return false, pace.Err(c.ctx)
	}
	pause := c.cfg.Delay(c.sent, f.RetryAfter)
	if deadline, ok := c.ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return false, fmt.Errorf("the next attempt is due in %v, after the context's deadline: %w",
			pause.Round(time.Millisecond), context.DeadlineExceeded)
	}
	if c.cfg.Budget.isUsedUp(c.cfg.Retries) {
		return false, ErrBudget
	}
	c.last.RetryIn = pause
	return true, nil
}

// Budget limits the retries of a client and its copies for the same host.
// Without it, every goroutine would send four times as many requests during an
// outage. A retry takes one unit when it's sent. The API's final response to a
// call gives back one unit if the call was retried, and otherwise a fifth of a
// unit. So single failures can always be retried, and retries stop when every
// call fails.
type Budget struct{ taken atomic.Int64 } // in fifths of a unit

const retryCost = 5

// ErrBudget says that the budget is used up.
var ErrBudget = errors.New("the client's retry budget is used up")

func (b *Budget) take(size int) bool {
	if b.taken.Add(retryCost) <= int64(size)*retryCost {
		return true
	}
	b.taken.Add(-retryCost)
	return false
}

func (b *Budget) isUsedUp(size int) bool {
	return b.taken.Load()+retryCost > int64(size)*retryCost
}

func (b *Budget) succeeded(attempts int) {
	earned := int64(1)
	if attempts > 1 {
		earned = retryCost
	}
	for taken := b.taken.Load(); taken > 0; taken = b.taken.Load() {
		if b.taken.CompareAndSwap(taken, max(taken-earned, 0)) {
			return
		}
	}
}

func parseRetryAfter(value string, now time.Time) (after time.Duration, ok bool) {
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // with ErrRange, seconds is the largest uint64
		return time.Duration(min(seconds, uint64(math.MaxInt64/time.Second))) * time.Second, true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0), true
	}
	return 0, false
}
