// Package exchange works around the pitfalls of net/http, and knows nothing
// about the API: it controls one attempt to send a request, limits the memory
// for its response, and has a transport for one host. It imports no package of
// this module.
package exchange

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Attempt is the context of one attempt to send a request. Its timer starts
// when somebody first asks for it: an in-memory transport never does, and the
// timer would cost more than all other work of a call.
type Attempt struct {
	context.Context             // of the call
	deadline        time.Time   // or zero
	once            bool        // the server must not execute the request twice
	wanted, got     atomic.Bool // a connection, if once

	started sync.Once
	timed   context.Context
	cancel  context.CancelFunc
}

// Begin returns the context of an attempt, which ends at the deadline unless
// that is zero. The caller must call [Attempt.End].
func Begin(parent context.Context, deadline time.Time) *Attempt {
	return &Attempt{Context: parent, deadline: deadline}
}

func (a *Attempt) start() context.Context {
	a.started.Do(func() {
		parent := a.Context
		if a.once {
			parent = a.follow(parent)
		}
		if a.deadline.IsZero() {
			a.timed, a.cancel = context.WithCancel(parent)
		} else {
			a.timed, a.cancel = context.WithDeadline(parent, a.deadline)
		}
	})
	return a.timed
}

// End ends the attempt. A context that nobody has used then behaves like its
// parent.
func (a *Attempt) End() {
	a.started.Do(func() { a.timed, a.cancel = a.Context, func() {} })
	a.cancel()
}

func (a *Attempt) Deadline() (time.Time, bool) { return a.start().Deadline() }
func (a *Attempt) Done() <-chan struct{}       { return a.start().Done() }
func (a *Attempt) Err() error                  { return a.start().Err() }

// Value returns the parent context's value. It doesn't start the timer for a
// [CallKey].
func (a *Attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	if _, ok := key.(interface{ ofCall() }); ok {
		return a.Context.Value(key)
	}
	return a.start().Value(key)
}

// attemptKey is the key of the attempt in the contexts that derive from it.
type attemptKey struct{}

// attemptOf returns the attempt that a context derives from, or nil.
func attemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

// CallKey is embedded in the keys of values that belong to the parent context
// of an attempt.
type CallKey struct{}

func (CallKey) ofCall() {}
