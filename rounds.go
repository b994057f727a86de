package cloudapi

import (
	"context"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// rounds let goroutines that need the same value share one reading of it. One
// of them reads, and the others take its result.
type rounds[V any] struct {
	// paces, if not nil, are the pauses between the end of a reading and the
	// beginning of the next.
	paces *pace.Pauses

	mu       sync.Mutex
	current  *round[V]
	earliest time.Time // when the next reading may begin
}

// round is one reading. One goroutine leads it, and reads for all.
type round[V any] struct {
	led, begun bool
	over       chan struct{} // closed when the following fields are set

	value     V
	err       error
	abandoned bool // given up by its leader, for example because its context ended
}

func newRounds[V any](paces *pace.Pauses) *rounds[V] {
	return &rounds[V]{paces: paces, current: &round[V]{over: make(chan struct{})}}
}

// await returns the next round that ends. If there is none at the end of the
// pause, it makes one with read. If isWorthIt is not nil and reports false, it
// returns nil instead. The error is that of the context.
//
// The value of the round is not older than the call if the pause is 0, and
// otherwise not older than the end of the round before.
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
			if !round.abandoned && !isStale {
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
	return nil, pace.Err(ctx)
}

// lead reads the value, and ends the round.
func (r *rounds[V]) lead(ctx context.Context, this *round[V], read func(context.Context) (V, error)) {
	this.abandoned = true
	defer func() { // even if read panics
		r.mu.Lock()
		defer r.mu.Unlock()
		r.current = &round[V]{over: make(chan struct{})}
		if r.paces != nil {
			r.earliest = time.Now().Add(r.paces.Next())
		}
		close(this.over)
	}()
	if pace.Sleep(ctx, time.Until(r.earliest)) != nil {
		return
	}
	r.mu.Lock()
	this.begun = true
	r.mu.Unlock()
	this.value, this.err = read(ctx)
	this.abandoned = ctx.Err() != nil
}
