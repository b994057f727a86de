// Package exchange knows the traps of net/http, and nothing of the API: it
// follows one attempt at a request, bounds what is read of its response, and
// has a transport for one host. It imports no package of this module.
package exchange

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"
)

// Attempt is the context of one attempt to send a request. Its timer is made
// when somebody first asks for it: a transport that answers from memory never
// does, and the timer would cost more than all else that a call adds to it.
type Attempt struct {
	context.Context           // of the call
	deadline        time.Time // zero: none
	tracker         *tracker  // nil unless the attempt is tracked

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

// Begin returns the context of an attempt that ends at the deadline, if that is
// not zero. The caller must call [Attempt.End].
func Begin(parent context.Context, deadline time.Time) *Attempt {
	return &Attempt{Context: parent, deadline: deadline}
}

// BeginTracked is [Begin] for a request that must not be carried out twice. It
// finds out whether there was a connection, and stops net/http from sending
// the request on a second one.
func BeginTracked(parent context.Context, deadline time.Time) *Attempt {
	t := new(tracker)
	t.attempt.deadline, t.attempt.tracker = deadline, t
	t.trace.GetConn = func(string) { t.note(&t.wanted) }
	t.trace.GotConn = func(info httptrace.GotConnInfo) { t.gotConn(info.Conn) }
	t.trace.WroteHeaders = func() { t.note(&t.wrote) }
	t.attempt.Context = httptrace.WithClientTrace(parent, &t.trace)
	return &t.attempt
}

func (a *Attempt) start() context.Context {
	a.once.Do(func() {
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
	a.once.Do(func() { a.timed, a.cancel = a.Context, func() {} })
	a.cancel()
}

func (a *Attempt) Deadline() (time.Time, bool) { return a.start().Deadline() }
func (a *Attempt) Done() <-chan struct{}       { return a.start().Done() }
func (a *Attempt) Err() error                  { return a.start().Err() }

// Value returns what the context that the attempt was begun with has. For a
// [CallKey] the timer is not needed.
func (a *Attempt) Value(key any) any {
	if _, ok := key.(interface{ ofCall() }); ok {
		return a.Context.Value(key)
	}
	return a.start().Value(key)
}

// CallKey makes a key, if it is embedded in it, one for a value of the context
// that an attempt was begun with.
type CallKey struct{}

func (CallKey) ofCall() {}

// Result reports whether the request may have reached the server, which is
// taken for true unless it is known that no connection was there to send it
// on, and whether a second connection was refused to it.
func (a *Attempt) Result() (sent, vetoed bool) {
	t := a.tracker
	if t == nil {
		return true, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.got || !t.wanted, t.vetoed
}

// tracker follows an attempt. net/http calls the hooks before its RoundTrip
// returns, but another transport may not.
type tracker struct {
	attempt Attempt
	trace   httptrace.ClientTrace

	mu                         sync.Mutex
	wanted, got, wrote, vetoed bool
	conn                       net.Conn // that the request is on
}

func (t *tracker) note(event *bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*event = true
}

// gotConn vetoes a second connection of HTTP/2. There net/http takes a stream
// that is reset for a PROTOCOL_ERROR for one that was not looked at, like one
// that a GOAWAY leaves out, and sends the request again for as long as it may.
// A stream that was refused is repeated on the same connection. HTTP/1.1
// changes it only if nothing was written.
func (t *tracker) gotConn(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got = true
	switch {
	case !t.wrote:
		t.conn = conn
	case conn != t.conn && isHTTP2(t.conn):
		t.vetoed = true
		t.attempt.start()
		t.attempt.cancel() // HTTP/2 looks at the context before it writes
	}
}

func isHTTP2(conn net.Conn) bool {
	c, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}
