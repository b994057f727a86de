// Package exchange knows the traps of net/http, and nothing of the API: it
// follows one attempt at a request, bounds what is read of its response, and
// has a transport for one host. It imports no package of this module.
package exchange

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// Attempt is the context of one attempt to send a request. Its timer is made
// when somebody first asks for it: a transport that answers from memory never
// does, and the timer would cost more than all else that a call adds to it.
type Attempt struct {
	context.Context              // of the call
	deadline        time.Time    // zero: none
	once            *once        // nil if the request may be carried out twice
	conns           atomic.Int32 // see mayConnect

	started sync.Once
	timed   context.Context
	cancel  context.CancelFunc
}

// Begin returns the context of an attempt that ends at the deadline, if that is
// not zero. The caller must call [Attempt.End].
func Begin(parent context.Context, deadline time.Time) *Attempt {
	return &Attempt{Context: parent, deadline: deadline}
}

// BeginOnce is [Begin] for a request that must not be carried out twice, and that
// goes through a transport of [Guard].
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

// End ends the attempt. Who first asks the context after that sees its parent.
func (a *Attempt) End() {
	a.started.Do(func() { a.timed, a.cancel = a.Context, func() {} })
	a.cancel()
}

func (a *Attempt) Deadline() (time.Time, bool) { return a.start().Deadline() }
func (a *Attempt) Done() <-chan struct{}       { return a.start().Done() }
func (a *Attempt) Err() error                  { return a.start().Err() }

// Value returns what the context that the attempt was begun with has. For a
// [CallKey] the timer is not needed.
func (a *Attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	if _, ok := key.(interface{ ofCall() }); ok {
		return a.Context.Value(key)
	}
	return a.start().Value(key)
}

// maxConnsPerAttempt is how many connections an attempt may have. Where net/http is sure
// that a server of HTTP/2 has not looked at a request, it sends the request again,
// on a new connection and at once, for as long as the attempt lasts.
const maxConnsPerAttempt = 4

// errStorm ends an attempt that would have more.
var errStorm = fmt.Errorf("%d connections were made for one attempt, and none was of use", maxConnsPerAttempt)

// mayConnect reports whether there may be another connection for the attempt,
// and counts it.
func (a *Attempt) mayConnect() bool { return a.conns.Add(1) <= maxConnsPerAttempt }

// attemptKey is the key of the attempt in the contexts that derive from it.
type attemptKey struct{}

// attemptOf returns the attempt that a context derives from, or nil.
func attemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

// CallKey makes a key, if it is embedded in it, one for a value of the context
// that an attempt was begun with.
type CallKey struct{}

func (CallKey) ofCall() {}

// Sent reports whether the request may have reached the server, given the error
// that the transport returned. That is so unless it is known that there was no
// connection to send it on, or that the server refused to look at it.
func (a *Attempt) Sent(err error) bool {
	return a.once == nil || a.once.sent(err)
}
