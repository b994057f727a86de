package sharedlist

import (
	"context"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// Lasting has a [Group] as long as at least one call uses it. The calls are
// independent: each has its own context, and the group has none of them.
type Lasting struct {
	mu     sync.Mutex // guards the fields below
	group  *Group     // or nil
	cancel context.CancelFunc
	uses   int // of the group
}

// expected is how many waits the group of a Lasting expects, so that the first
// of many waits read a list. It can't know how many follow.
const expected = 20

// Use returns the group. Call done when it's no longer used. The last done ends
// the group: it waits for the goroutines that read for the group, and panics if
// one of them panicked.
func (l *Lasting) Use() (g *Group, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uses++; l.group == nil {
		var ctx context.Context
		ctx, l.cancel = context.WithCancel(context.Background())
		l.group = NewGroup(ctx, expected, expected)
		l.group.leave = l.leave
	}
	return l.group, l.leave
}

// JoinLasting is [Join] with the group of l, which it uses until Leave.
func JoinLasting[T any](l *Lasting, key any, open func() Source[T]) *List[T] {
	g, _ := l.Use()
	return join(g, key, open)
}

func (l *Lasting) leave() {
	l.mu.Lock()
	group, cancel := l.group, l.cancel
	if l.uses--; l.uses > 0 {
		l.mu.Unlock()
		return
	}
	l.group = nil
	l.mu.Unlock()
	cancel()
	group.End()
}

// Once calls do with the group as its context, on another goroutine. If another
// call of Once with the key began at the time earliest or later, Once returns
// the result of that call instead. It returns the context's error if the
// context ends first; the other calls still get the result.
func Once[T any](ctx context.Context, g *Group, key any, earliest time.Time, do func(context.Context) (T, error)) (T, error) {
	key = onceKey{key}
	g.mu.Lock()
	r, _ := g.lists[key].(*result[T])
	if r == nil || r.began.Before(earliest) {
		r = &result[T]{began: time.Now(), ended: make(chan struct{}), previous: r.unlessEnded()}
		r.wait = parallel.Go(func() {
			defer close(r.ended)
			r.value, r.err = do(g)
		})
		g.lists[key] = r
	}
	g.mu.Unlock()
	select {
	case <-r.ended:
		r.wait()
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, pace.Err(ctx)
	}
}

// onceKey is a key of Once, and no key of a list.
type onceKey struct{ key any }

// result is what a call of Once returns.
type result[T any] struct {
	began time.Time
	ended chan struct{} // closed when value and err are set
	value T
	err   error
	wait  func() // waits for the goroutine

	previous *result[T] // with the same key; it may not have ended
}

func (r *result[T]) end() {
	for ; r != nil; r = r.previous {
		defer r.wait()
	}
}

// unlessEnded returns r, or nil if its goroutine has ended.
func (r *result[T]) unlessEnded() *result[T] {
	if r != nil {
		select {
		case <-r.ended:
			return nil
		default:
		}
	}
	return r
}
