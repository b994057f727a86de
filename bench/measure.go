package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// call does the work that is measured, such as getting a VM.
type call func(context.Context) error

type sample struct {
	Ratio              float64 // the client's time divided by that of the calls by hand: the median of all rounds
	Allocs, HandAllocs uint64  // of a call
}

func (s sample) String() string {
	return fmt.Sprintf("%.2f (%s of %s)", s.Ratio, withCommas(s.Allocs), withCommas(s.HandAllocs))
}

func withCommas(n uint64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// duel measures a client, and the same calls by hand, in turn.
type duel struct {
	call, byHand call
	n            int // calls in a timeSlice
	ratios       []float64
}

// timeSlice is how long each side runs at a time: long enough to be measured,
// and short enough that both sides run under the same conditions.
const timeSlice = time.Millisecond

func newDuel(ctx context.Context, call, byHand call) (*duel, error) {
	d := &duel{call: call, byHand: byHand, n: 1}
	for range 3 { // to fill caches and pools
		if _, err := timed(ctx, call, 1); err != nil {
			return nil, err
		}
	}
	for {
		took, err := timed(ctx, byHand, d.n)
		if err != nil {
			return nil, err
		}
		if took > timeSlice/2 || d.n > 1<<20 {
			return d, nil
		}
		d.n *= 2
	}
}

func (d *duel) round(ctx context.Context) error {
	sides := [2]call{d.byHand, d.call}
	var took [2]time.Duration
	first := len(d.ratios) % 2
	for _, side := range [2]int{first, 1 - first} {
		_, err := timed(ctx, sides[side], d.n/4) // to fill the processor's caches
		if err == nil {
			took[side], err = timed(ctx, sides[side], d.n)
		}
		if err != nil {
			return err
		}
	}
	d.ratios = append(d.ratios, float64(took[1])/float64(took[0]))
	return nil
}

func (d *duel) result(ctx context.Context) (s sample, err error) {
	s.Ratio = median(d.ratios)
	if s.Allocs, err = allocations(ctx, d.call); err != nil {
		return s, err
	}
	s.HandAllocs, err = allocations(ctx, d.byHand)
	return s, err
}

func timed(ctx context.Context, f call, n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		if err := f(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// allocations returns how many allocations a call makes.
func allocations(ctx context.Context, f call) (uint64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	n := 1
	if took, err := timed(ctx, f, 2); err != nil {
		return 0, err
	} else if took < 10*time.Millisecond {
		n = 100
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := timed(ctx, f, n); err != nil {
		return 0, err
	}
	runtime.ReadMemStats(&after)
	return (after.Mallocs - before.Mallocs) / uint64(n), nil
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// consume uses the result of a call, so that the compiler can't remove the
// call.
func consume[T any](value *T, err error) error {
	if err == nil && value == nil {
		return fmt.Errorf("neither a %T nor an error", value)
	}
	runtime.KeepAlive(value)
	return err
}
