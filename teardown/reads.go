package teardown

import (
	"context"
	"sync"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// A value of type reads lets callers share a read from the server. Only one
// read runs at a time; callers that arrive during it share the next one.
type reads[V any] struct {
	mu   sync.Mutex
	next *read[V]      // the read that hasn't begun; nil if nobody waits
	turn chan struct{} // holds a value during a read
}

type read[V any] struct {
	over  chan struct{} // closed once the fields below are set
	value V
	err   error
}

func newReads[V any]() *reads[V] { return &reads[V]{turn: make(chan struct{}, 1)} }

// take returns the result of a read that begins after take is called.
func (r *reads[V]) take(ctx context.Context, do func(context.Context) (V, error)) (V, error) {
	r.mu.Lock()
	shared := r.next
	if shared == nil {
		r.next = &read[V]{over: make(chan struct{})}
	}
	mine := r.next
	r.mu.Unlock()
	if shared == nil {
		r.lead(ctx, mine, do)
	}
	select {
	case <-mine.over:
		return mine.value, mine.err
	case <-ctx.Done():
		return mine.value, pace.Err(ctx)
	}
}

// lead performs the callers' shared read. The callers belong to the same run,
// so their contexts end at the same time. A panic in do also ends the contexts.
func (r *reads[V]) lead(ctx context.Context, this *read[V], do func(context.Context) (V, error)) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
	}
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	if ctx.Err() != nil {
		this.err = pace.Err(ctx)
	} else {
		this.value, this.err = do(ctx)
	}
	close(this.over)
}
