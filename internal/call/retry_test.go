package call

import (
	"math"
	"testing"
	"time"
)

func TestBackoffStaysBelowItsCeilings(t *testing.T) {
	t.Parallel()
	policy := Config{Loop: newLoop(4, 100*time.Millisecond, time.Second)}
	for attempts, ceiling := range []time.Duration{0, 100, 200, 400, 800, 1000, 1000} {
		if attempts == 0 {
			continue
		}
		var longest time.Duration
		for range 2000 {
			longest = max(longest, policy.Delay(attempts, 0))
		}
		ceiling *= time.Millisecond
		if longest > ceiling || longest < ceiling*9/10 {
			t.Errorf("after %d attempts the longest of 2000 delays is %v, want just below %v", attempts, longest, ceiling)
		}
	}
	unbounded := Config{Loop: newLoop(4, math.MaxInt64, math.MaxInt64)}
	for _, attempts := range []int{1, 2, 1000} {
		if d := unbounded.Delay(attempts, 0); d < 0 {
			t.Errorf("without a bound the delay after %d attempts is %v", attempts, d)
		}
	}
	for _, attempts := range []int{62, 63, 64, 1000} {
		if d := policy.Delay(attempts, 0); d < 0 || d > time.Second {
			t.Errorf("after %d attempts the delay is %v", attempts, d)
		}
	}
}

// TestBudgetNeverGrows: a call with a retry, and one that succeeds during the
// retry, together give back more than was taken.
func TestBudgetNeverGrows(t *testing.T) {
	t.Parallel()
	var b Budget
	for range retryCost - 1 {
		b.take(1)
		b.succeeded(1)
		b.succeeded(2)
	}
	b.take(1)
	if b.succeeded(1); b.take(1) {
		t.Error("a fifth of a retry pays for a whole one")
	}
	if b.succeeded(2); !b.take(1) {
		t.Error("a retry that wasn't taken has to be given back")
	}
}

func newLoop(maxAttempts int, minDelay, maxDelay time.Duration) *Loop {
	l := new(Loop)
	l.Init(maxAttempts, minDelay, maxDelay)
	return l
}
