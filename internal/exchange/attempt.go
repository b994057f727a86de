// Package exchange works around the pitfalls of net/http, and knows nothing of
// the API: it controls one attempt to send a request, limits the memory for its
// response, and has a transport for one host. It imports no package of this
// module.
package exchange

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// Attempt is the context of one attempt to send a request. Its timer starts
// when somebody first asks for it: an in-memory transport never does, and the
// timer would cost more than all other work of a call.
type Attempt struct {
	context.Context              // of the call
	deadline        time.Time    // zero: no deadline
	once            *once        // nil if the request may be sent twice
	conns           atomic.Int32 // see mayConnect

	started sync.Once
	timed   context.Context
	cancel  context.CancelFunc
}

// Begin returns the context of an attempt. If the deadline is not zero the
// attempt ends at it. The caller must call [Attempt.End].
func Begin(parent context.Context, deadline time.Time) *Attempt {
	return &Attempt{Context: parent, deadline: deadline}
}

// BeginOnce is [Begin] for a request that must not be carried out twice. It
// needs a transport of [Guard].
func BeginOnce(parent context.Context, deadline time.Time) *Attempt {
	o := new(once)
	o.attempt.deadline, o.attempt.once = deadline, o
	o.trace.GetConn = func(string) { o.wantConn() }
	o.trace.GotConn = o.gotConn
	o.trace.WroteHeaders = o.wroteHeaders
	o.attempt.Context = httptrace.WithClientTrace(parent, &o.trace)
	return &o.attempt
}

func (a *Attempt) start() context.Context {
	a.started.Do(func() {
		if a.deadline.IsZero() {
			a.timed, a.cancel = context.WithCancel(a.Context)
		} else {
			a.timed, a.cancel = context.WithDeadline(a.Context, a.deadline)
		}
	})
	return a.timed
}

// End ends the attempt. If the context was not used before, it then behaves
// like its parent.
func (a *Attempt) End() {
	a.started.Do(func() { a.timed, a.cancel = a.Context, func() {} })
	a.cancel()
}

func (a *Attempt) Deadline() (time.Time, bool) { return a.start().Deadline() }
func (a *Attempt) Done() <-chan struct{}       { return a.start().Done() }
func (a *Attempt) Err() error                  { return a.start().Err() }

// Value returns the value of the parent context. For a [CallKey] it does not
// start the timer.
func (a *Attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	if _, ok := key.(interface{ ofCall() }); ok {
		return a.Context.Value(key)
	}
	return a.start().Value(key)
}

// maxConnsPerAttempt is the maximum number of connections for an attempt. If
// net/http knows that an HTTP/2 server has not processed a request, it retries
// it at once on a new connection, for as long as the attempt lasts.
const maxConnsPerAttempt = 4

// errStorm ends an attempt that needs more connections.
var errStorm = fmt.Errorf("none of the %d connections of the attempt could be used", maxConnsPerAttempt)

// mayConnect counts a connection, and reports whether the attempt may make it.
func (a *Attempt) mayConnect() bool { return a.conns.Add(1) <= maxConnsPerAttempt }

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

// Sent reports whether the request may have reached the server, given the error
// of the transport. It is false only if there was no connection to send it on,
// or if the server did not process it.
func (a *Attempt) Sent(err error) bool {
	return a.once == nil || a.once.sent(err)
}
