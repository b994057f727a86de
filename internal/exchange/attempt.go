// Package exchange works around the pitfalls of net/http, and knows nothing
// about the API. It controls one attempt to send a request, limits the memory
// for its response, and has a transport for one host.
package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Attempt is one attempt to send a request.
type Attempt struct {
	Request http.Request // what to pass to the transport

	once        bool        // whether the server must not execute the request twice
	wanted, got atomic.Bool // whether the attempt wanted a connection, and got one
	reused      atomic.Bool // whether another request was sent on that connection before
	trace       httptrace.ClientTrace

	fresh  atomic.Pointer[dialedConn] // the TLS connection, if no other request was sent on it
	before atomic.Int64               // how many bytes were written on it before the request
}

// Begin returns an attempt to send a copy of the request, which began at now. The
// copy's context ends when the returned function is called, or after the timeout
// unless the timeout is zero. The parameter once is set for a request
// that the server must not execute twice. Such a request must be a POST or PATCH
// that goes through a [Guard].
func Begin(req *http.Request, now time.Time, timeout time.Duration, once bool) (*Attempt, context.CancelFunc) {
	a := &Attempt{once: once}
	a.trace.GetConn = func(string) { a.wanted.Store(true) }
	a.trace.GotConn = func(info httptrace.GotConnInfo) {
		a.got.Store(true)
		a.reused.Store(info.Reused)
		fresh := freshConn(info)
		if fresh != nil {
			a.before.Store(fresh.written.Load())
		}
		a.fresh.Store(fresh)
	}
	ctx := httptrace.WithClientTrace(req.Context(), &a.trace)
	var end context.CancelFunc
	if timeout == 0 {
		ctx, end = context.WithCancel(ctx)
	} else {
		ctx, end = context.WithDeadline(ctx, now.Add(timeout)) // WithTimeout would read the clock again
	}
	a.Request = *req.WithContext(ctx)
	return a, end
}

// freshConn returns the connection below a new TLS connection, or nil.
func freshConn(info httptrace.GotConnInfo) *dialedConn {
	conn, ok := info.Conn.(*tls.Conn)
	if !ok || info.Reused {
		return nil
	}
	dialed, _ := conn.NetConn().(*dialedConn)
	return dialed
}

// isUnwritten reports whether nothing of the request was written: if the server
// refuses the handshake, its alert can close the connection before. What was
// written is then at most an alert of the client or an empty frame of HTTP/2. An
// encrypted request has more than 31 bytes.
func (a *Attempt) isUnwritten() bool {
	fresh := a.fresh.Load()
	return fresh != nil && fresh.written.Load()-a.before.Load() <= 31
}

// Sent reports whether the server may have executed the request, given the
// transport's error. It returns true for every request that may be executed
// twice, since net/http may have sent it before. Otherwise, it returns false
// only
//
//   - if no transport accepted the request, or it got no connection;
//   - if the request was the first on a connection, and the server refused the
//     TLS handshake or took the connection for HTTP/2, or nothing of the request
//     was written; or
//   - if the server said that it didn't execute the request.
func (a *Attempt) Sent(err error) bool {
	_, refused := errors.AsType[refusedError](err)
	unusable := a.got.Load() && !a.reused.Load() && (isRefusedHandshake(err) || errors.Is(err, errHTTP2))
	return !a.once || !a.HadNoConn() && !unusable && !a.isUnwritten() && !isUnprocessed(err) && !refused
}

// HadNoConn reports whether the attempt asked for a connection and got none.
func (a *Attempt) HadNoConn() bool { return a.wanted.Load() && !a.got.Load() }
