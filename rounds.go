package cloudapi

import (
	"context"
	"sync"
	"time"
)

// rounds let goroutines that want to know the same thing share one reading of
// it. One of them reads, and the others take what it found.
type rounds[V any] struct {
	// paces, if not nil, are the pauses between the ends of readings and the
	// beginnings of those behind them.
	paces *pauses

	mu       sync.Mutex
	current  *round[V]
	earliest time.Time // when the next reading may begin
}

// round is one reading. The goroutine that leads it does it for all.
type round[V any] struct {
	led, begun bool
	over       chan struct{} // closed when what follows is set

	value V
	err   error
	given bool // up by the goroutine that led it, for example since its context ended
}

func newRounds[V any](paces *pauses) *rounds[V] {
	return &rounds[V]{paces: paces, current: &round[V]{over: make(chan struct{})}}
}

// await returns the next round that is over. If there is none by the end of the
// pause, the caller's read makes one, unless isWorthIt is there and says no:
// then there is none, and the round is nil. The error is that of the context.
//
// What the round found is not older than the call if the pause is 0, and not
// older than the end of the round before otherwise.
func (r *rounds[V]) await(ctx context.Context, pause time.Duration, isWorthIt func() bool, read func(context.Context) (V, error)) (*round[V], error) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	r.mu.Lock()
	round := r.current
	isStale := pause == 0 && round.begun
	r.mu.Unlock()
	isDue := false
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-round.over:
			if !round.given && !isStale {
				return round, nil
			}
			isStale = false
		case <-timer.C:
			isDue = true
		}
		isWanted := isDue && (isWorthIt == nil || isWorthIt())
		r.mu.Lock()
		round = r.current
		isFree := !round.led
		round.led = round.led || isWanted
		r.mu.Unlock()
		switch {
		case isFree && isWanted:
			r.lead(ctx, round, read)
		case isFree && isDue:
			return nil, nil
		}
	}
	return nil, contextError(ctx)
}

// lead reads, and ends the round.
func (r *rounds[V]) lead(ctx context.Context, this *round[V], read func(context.Context) (V, error)) {
	this.given = true
	defer func() { // also if read panics
		r.mu.Lock()
		defer r.mu.Unlock()
		r.current = &round[V]{over: make(chan struct{})}
		if r.paces != nil {
			r.earliest = time.Now().Add(r.paces.next())
		}
		close(this.over)
	}()
	if sleep(ctx, time.Until(r.earliest)) != nil {
		return
	}
	r.mu.Lock()
	this.begun = true
	r.mu.Unlock()
	this.value, this.err = read(ctx)
	this.given = this.err != nil && ctx.Err() != nil
}
