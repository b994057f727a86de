// Package pace has pauses that grow from one to the next, and sleeps that end
// when a context ends.
package pace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Err returns an error for an ended context. The error matches the context's
// error and the context's cause. If there's a cause, it also matches ErrEnded.
func Err(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case cause == err:
		return err
	case errors.Is(cause, err):
		return Ended(cause)
	}
	return Ended(fmt.Errorf("%w: %w", err, cause))
}

// ErrEnded marks errors that say that the caller's context has ended.
var ErrEnded = errors.New("the context has ended")

// Ended returns an error with the text and the causes of err that also matches
// ErrEnded.
func Ended(err error) error { return ended{err} }

type ended struct{ error }

func (e ended) Unwrap() error        { return e.error }
func (e ended) Is(target error) bool { return target == ErrEnded }

// Sleep pauses for d. It returns the error of [Err] if the context ends first.
func Sleep(ctx context.Context, d time.Duration) error { return SleepOr(ctx, d, nil) }

// SleepOr is like Sleep, but ends when it receives from wake, which may be nil.
func SleepOr(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if d <= 0 {
		if ctx.Err() != nil {
			return Err(ctx)
		}
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return Err(ctx)
		case <-timer.C:
			return nil
		case _, ok := <-wake:
			if ok {
				return nil
			}
			wake = nil // it's closed
		}
	}
}

// Pauses grow from First to Longest. They don't grow if First is longer.
type Pauses struct {
	First, Longest time.Duration

	grown time.Duration // the next pause, without the random part; 0 means First
}

// Next returns the next pause: 1.5 times as long as the previous one, and
// randomized by up to 20%.
func (p *Pauses) Next() time.Duration {
	longest := max(p.First, p.Longest)
	d := min(max(p.First, p.grown), math.MaxInt64/2)
	p.grown = min(d+d/2+1, longest)
	return d - d/5 + rand.N(d/5*2+1)
}

// Reset starts again with First.
func (p *Pauses) Reset() { p.grown = 0 }
