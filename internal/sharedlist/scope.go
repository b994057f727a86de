package sharedlist

import (
	"context"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// Scope is what calls share: lists, and the results of [Once]. It begins with
// the first use and ends with the last, and can then begin again.
type Scope struct {
	base   context.Context // the context of the requests for the scope derives from it
	within context.Context // what Context returns
	atOnce int             // how many calls run at the same time

	mu     sync.Mutex // guards the fields below, and those of the lists
	calls  int        // that haven't ended
	waits  int        // that share a list
	uses   int
	ctx    context.Context // of the requests, until the last use ends
	cancel context.CancelFunc
	shared map[any]interface{ end() } // each a *List or a *result, by its key
}

type scopeKey struct{}

// NewScope returns a scope for the given number of calls, of which up to atOnce
// run at the same time.
func NewScope(ctx context.Context, calls, atOnce int) *Scope {
	s := &Scope{base: ctx, calls: calls, atOnce: atOnce}
	s.within = context.WithValue(ctx, scopeKey{}, s)
	return s
}

// Context returns the context for the calls.
func (s *Scope) Context() context.Context { return s.within }

// Of returns the scope of a context, or nil, and whether it's the very context
// that [Scope.Context] returned. A derived one can have other values, and the
// server may respond otherwise to a request with these.
func Of(ctx context.Context) (s *Scope, isItself bool) {
	s, _ = ctx.Value(scopeKey{}).(*Scope)
	return s, s != nil && s.within == ctx
}

// EndCall records that a call has ended.
func (s *Scope) EndCall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
}

// Use keeps the scope until end is called. The last end waits for the goroutines
// that send requests for the scope, and panics if one of them panicked. A nil
// scope has nothing to keep.
func (s *Scope) Use() (end func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses++; s.uses == 1 {
		s.ctx, s.cancel = context.WithCancel(s.base)
		s.shared = map[any]interface{ end() }{}
	}
	return s.leave
}

func (s *Scope) leave() {
	s.mu.Lock()
	s.uses--
	isLast, cancel, shared := s.uses == 0, s.cancel, s.shared
	s.mu.Unlock()
	if isLast {
		cancel()
		for _, it := range shared {
			defer it.end()
		}
	}
}

// Once calls do with a context of the scope, on another goroutine. If another
// call of Once with the key began at the time earliest or later, Once returns
// the result of that call instead. It returns the context's error if the
// context ends first; the other calls still get the result. The caller must use
// the scope. Without a scope, Once calls do with ctx.
func Once[T any](ctx context.Context, s *Scope, key any, earliest time.Time, do func(context.Context) (T, error)) (T, error) {
	if s == nil {
		return do(ctx)
	}
	key = onceKey{key}
	s.mu.Lock()
	r, _ := s.shared[key].(*result[T])
	if r == nil || r.began.Before(earliest) {
		r = &result[T]{began: time.Now(), ended: make(chan struct{}), previous: r.unlessEnded()}
		requests := s.ctx
		r.wait = parallel.Go(func() {
			defer close(r.ended)
			r.value, r.err = do(requests)
		})
		s.shared[key] = r
	}
	s.mu.Unlock()
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
