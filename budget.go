package cloudapi

import "sync/atomic"

// retryBudget bounds the retries of all calls of a client together. Without it
// an outage would be answered with four times the requests, from every goroutine.
// A retry takes from the budget, and gives it back if it succeeds; a call that
// succeeds at once gives a fifth of a retry back. So the retries of single
// failures always have their budget, and when nothing succeeds any more they end.
type retryBudget struct{ taken atomic.Int64 } // in fifths of a retry

const retryCost = 5

// take takes a retry from a budget of that many, unless it is used up.
func (b *retryBudget) take(retries int) bool {
	if b.taken.Add(retryCost) <= int64(retries)*retryCost {
		return true
	}
	b.taken.Add(-retryCost)
	return false
}

// succeeded gives back what a call that succeeded after some attempts has earned.
func (b *retryBudget) succeeded(attempts int) {
	if b.taken.Load() == 0 {
		return
	}
	earned := int64(1)
	if attempts > 1 {
		earned = retryCost
	}
	if b.taken.Add(-earned) < 0 {
		b.taken.Store(0)
	}
}
