package teardown

import (
	"context"
	"errors"
	"sync"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// looks reads the project for several callers, one reading after another. All
// callers that wait share the next reading.
type looks[V any] struct {
	mu   sync.Mutex
	next *look[V]      // hasn't begun; nil if nobody waits
	turn chan struct{} // holds a value during a look
}

type look[V any] struct {
	over  chan struct{} // closed once the fields below are set
	value V
	err   error
}

func newLooks[V any]() *looks[V] { return &looks[V]{turn: make(chan struct{}, 1)} }

var errUnfinished = errors.New("the look has not ended")

// take returns the result of a reading that begins after the call.
func (l *looks[V]) take(ctx context.Context, do func(context.Context) (V, error)) (V, error) {
	l.mu.Lock()
	shared := l.next
	if shared == nil {
		l.next = &look[V]{over: make(chan struct{}), err: errUnfinished}
	}
	mine := l.next
	l.mu.Unlock()
	if shared == nil {
		l.lead(ctx, mine, do)
	}
	select {
	case <-mine.over:
		return mine.value, mine.err
	case <-ctx.Done():
		return mine.value, pace.Err(ctx)
	}
}

// lead reads for all callers that share the reading. They belong to the same
// run, so their contexts end at the same time.
func (l *looks[V]) lead(ctx context.Context, this *look[V], do func(context.Context) (V, error)) {
	defer close(this.over) // even if do panics
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
	}
	l.mu.Lock()
	l.next = nil
	l.mu.Unlock()
	if ctx.Err() != nil {
		this.err = pace.Err(ctx)
		return
	}
	this.value, this.err = do(ctx)
}
