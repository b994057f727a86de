package cloudapi

import "sync/atomic"

// retryBudget limits the retries of all calls to a host together. Without it,
// every goroutine would send four times as many requests during an outage. A
// retry takes one unit when it is sent, and gives it back if it succeeds. A call
// that succeeds without a retry gives back a fifth of a unit. So single failures
// can always be retried, and retries stop when every call fails.
type retryBudget struct{ taken atomic.Int64 } // in fifths of a retry

const retryCost = 5

// take takes a retry from a budget of the given size. It reports whether there
// was one left.
func (b *retryBudget) take(retries int) bool {
	if b.taken.Add(retryCost) <= int64(retries)*retryCost {
		return true
	}
	b.taken.Add(-retryCost)
	return false
}

// isUsedUp reports whether take would fail.
func (b *retryBudget) isUsedUp(retries int) bool {
	return b.taken.Load()+retryCost > int64(retries)*retryCost
}

// succeeded gives back a retry, or a fifth of one, after a call that was
// answered with the given number of attempts.
func (b *retryBudget) succeeded(attempts int) {
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
