package call

import (
	"math"
	"strings"
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
}

// FuzzRetryAfter: the delay is never negative or longer than the policy allows.
func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"7", "0", "-5", "1.5", "9223372036854775808", strings.Repeat("9", 40), "soon", " 3 ", "+3", "0x10",
		"Fri, 31 Dec 1999 23:59:59 GMT", "Friday, 31-Dec-99 23:59:59 GMT", "Fri Dec 31 23:59:59 1999", "Fri, 31 Dec 9999 23:59:59 GMT", ""} {
		f.Add(value, int64(time.Minute), 1)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string, most int64, attempts int) {
		after, _ := parseRetryAfter(value, now)
		if after < 0 {
			t.Fatalf("%q is %v", value, after)
		}
		policy := Config{Loop: newLoop(4, time.Second, 10*time.Second), MaxRetryAfter: time.Duration(most & math.MaxInt64)}
		pause := policy.Delay(max(attempts, 1), after)
		if pause < 0 || pause > max(policy.MaxRetryAfter, policy.Loop.RetryWaitMax) {
			t.Fatalf("%q makes the pause %v", value, pause)
		}
		if after > 0 && pause != min(after, policy.MaxRetryAfter) {
			t.Fatalf("%q is %v and the pause %v", value, after, pause)
		}
	})
}

func newLoop(maxAttempts int, minDelay, maxDelay time.Duration) *Loop {
	l := new(Loop)
	l.Init(maxAttempts, minDelay, maxDelay)
	return l
}
