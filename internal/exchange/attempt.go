// Package exchange works around the pitfalls of net/http, and knows nothing
// about the API. It controls one attempt to send a request, limits the memory
// for its response, and has a transport for one host. Each guard in it names the
// set-up that needs it.
package exchange

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Attempt is one attempt to send a request.
type Attempt struct {
	Request http.Request // what to pass to the transport

	trace *trace // nil if the attempt isn't followed
}

// trace says what net/http did about a connection. Other transports, such as
// mocks, don't say it.
type trace struct {
	httptrace.ClientTrace
	wanted, got atomic.Bool // whether the attempt wanted a connection, and got one
	reused      atomic.Bool // whether another request was sent on that connection before
}

// Begin returns an attempt to send a copy of the request, which began at now. The
// copy's context ends when the returned function is called, or after the timeout
// unless the timeout is zero. The attempt is followed only if follow is set, since
// that takes memory.
func Begin(req *http.Request, now time.Time, timeout time.Duration, follow bool) (*Attempt, context.CancelFunc) {
	ctx := req.Context()
	var a *Attempt
	if !follow {
		a = new(Attempt)
	} else {
		both := new(struct { // one allocation
			Attempt
			trace
		})
		a = &both.Attempt
		t := &both.trace
		t.GetConn = func(string) { t.wanted.Store(true) }
		t.GotConn = func(info httptrace.GotConnInfo) {
			t.got.Store(true)
			t.reused.Store(info.Reused)
		}
		a.trace = t
		ctx = httptrace.WithClientTrace(ctx, &t.ClientTrace)
	}
	var end context.CancelFunc
	if timeout == 0 {
		ctx, end = context.WithCancel(ctx)
	} else {
		ctx, end = context.WithDeadline(ctx, now.Add(timeout)) // WithTimeout would read the clock again
	}
	a.Request = *req.WithContext(ctx)
	return a, end
}

// HadNoConn reports whether a followed attempt asked for a connection and got
// none.
func (a *Attempt) HadNoConn() bool {
	return a.trace != nil && a.trace.wanted.Load() && !a.trace.got.Load()
}

// Sent reports whether the server may have executed the request of a followed
// attempt, given the transport's error. The request must be a POST or PATCH that
// goes through a [Guard] and isn't idempotent: net/http may have sent any other
// before. Sent returns false only
//
//   - if the request got no connection, for example since the network is down;
//   - if the request was the first on a connection, and the server refused the
//     TLS handshake, as one that requires a client certificate does; or
//   - if the server said that it didn't execute the request, as nginx does over
//     HTTP/2 when it ends a connection.
func (a *Attempt) Sent(err error) bool {
	isFirst := a.trace.got.Load() && !a.trace.reused.Load()
	return !a.HadNoConn() && !(isFirst && isRefusedHandshake(err)) && !isUnprocessed(err)
}
