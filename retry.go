package cloudapi

import (
	"cmp"
	"time"
)

// RetryPolicy sets how often and after what delays a call is retried. Zero
// fields mean the defaults, or in [Client.With] the client's values.
//
// An idempotent request is retried after the statuses 408, 429, 500, 502, 503
// and 504, failed connections, timeouts of an attempt, and truncated responses.
// A request that creates something is retried only if it wasn't sent, or after
// a 429 or 503 of the API itself or with Retry-After.
type RetryPolicy struct {
	MaxAttempts int // including the first; default 4; 1 means no retry

	// The delay before the n-th retry is random, between 0 and MinDelay doubled
	// n-1 times, but at most MaxDelay. The defaults are 500 ms and 30 s.
	MinDelay, MaxDelay time.Duration

	MaxRetryAfter time.Duration // the longest delay accepted from a Retry-After header; default 60 s

	// Budget limits the retries of all calls of a client while none succeeds;
	// default 100. A retry takes 1 from it, and returns it if it succeeds; a call
	// that succeeds without a retry returns 0.2. An error that isn't retried, such
	// as the API's own 404, counts as success. When the budget is used up, errors
	// also match ErrRetryBudget. Copies of a client for the same host share it.
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
