package pace

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestErr(t *testing.T) {
	t.Parallel()
	reason := errors.New("the operator lost patience")
	for name, tt := range map[string]struct {
		cause error
		want  string
	}{
		"none":             {nil, "context canceled"},
		"of the caller":    {reason, "context canceled: the operator lost patience"},
		"the error itself": {context.Canceled, "context canceled"},
		"wraps the error":  {errors.Join(reason, context.Canceled), "the operator lost patience\ncontext canceled"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(tt.cause)
		err := Err(ctx)
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrEnded) != (err != context.Canceled) || tt.cause != nil && !errors.Is(err, tt.cause) || err.Error() != tt.want {
			t.Errorf("%s: %q", name, err)
		}
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		start = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		for range 100 {
			if err := Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("no pause, after the end of the context: %v", err)
			}
		}
		if err := Sleep(t.Context(), -1); err != nil {
			t.Error(err)
		}
	})
}

// TestPauses: pauses grow by half up to the longest, vary by up to a fifth, don't
// overflow, and start again after a Reset.
func TestPauses(t *testing.T) {
	t.Parallel()
	within := func(d, nominal time.Duration) bool { return d >= nominal-nominal/5 && d <= nominal+nominal/5 }
	p := Pauses{First: 8 * time.Second, Longest: 20 * time.Second}
	least, most := 1.0, 1.0
	for range 100 {
		for i, nominal := range []time.Duration{8 * time.Second, 12*time.Second + 1, 18*time.Second + 2, 20 * time.Second, 20 * time.Second} {
			if d := p.Next(); !within(d, nominal) {
				t.Fatalf("pause %d is %v, want %v within 20%%", i, d, nominal)
			} else {
				least, most = min(least, float64(d)/float64(nominal)), max(most, float64(d)/float64(nominal))
			}
		}
		p.Reset()
	}
	if least > 0.85 || most < 1.15 {
		t.Errorf("the pauses are %v to %v of what they would be without chance", least, most)
	}
	for _, longest := range []time.Duration{0, 1, 4, time.Second, math.MaxInt64 / 3, math.MaxInt64} {
		for _, first := range []time.Duration{1, time.Second, math.MaxInt64 / 2, math.MaxInt64} {
			p := Pauses{First: first, Longest: longest}
			var pauses []time.Duration
			for range 200 {
				pauses = append(pauses, p.Next())
			}
			end := min(max(first, longest), math.MaxInt64/2)
			if !within(pauses[0], min(first, math.MaxInt64/2)) || !within(pauses[199], end) || slices.Min(pauses) < 0 {
				t.Errorf("from %v to %v they go from %v to %v", first, longest, pauses[0], pauses[199])
			}
		}
	}
}
