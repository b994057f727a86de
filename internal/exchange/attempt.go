// Package exchange works around the pitfalls of net/http, and knows nothing
// about the API. It controls one attempt to send a request, limits the memory
// for its response, and has a transport for one host.
package exchange

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Attempt is one attempt to send a request that the server must not execute
// twice. It's nil for other requests.
type Attempt struct {
	wanted, got atomic.Bool // whether the attempt wanted a connection, and got one
	trace       httptrace.ClientTrace
}

// Begin returns the context of an attempt that began at now. The context ends
// when the returned function is called, or after the timeout unless the timeout
// is zero. For a request that the server must not execute twice, the parameter
// once is set, and Begin also returns an Attempt. Such a request must be a POST
// or PATCH that goes through a [Guard].
func Begin(parent context.Context, now time.Time, timeout time.Duration, once bool) (context.Context, *Attempt, context.CancelFunc) {
	var a *Attempt
	if once {
		a = new(Attempt)
		a.trace.GetConn = func(string) { a.wanted.Store(true) }
		a.trace.GotConn = func(httptrace.GotConnInfo) { a.got.Store(true) }
		parent = httptrace.WithClientTrace(parent, &a.trace)
	}
	if timeout == 0 {
		ctx, end := context.WithCancel(parent)
		return ctx, a, end
	}
	ctx, end := context.WithDeadline(parent, now.Add(timeout)) // WithTimeout would read the clock again
	return ctx, a, end
}

// Sent reports whether the server may have executed the request, given the
// transport's error. It returns false only if no transport accepted the
// request, if there was no connection to send it on, or if the server said that
// it didn't execute the request.
func (a *Attempt) Sent(err error) bool {
	_, refused := errors.AsType[refusedError](err)
	return a == nil || (a.got.Load() || !a.wanted.Load()) && !isUnprocessed(err) && !refused
}
