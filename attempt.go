package cloudapi

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

// attemptContext is the context of one attempt. Its timer is made when somebody
// first asks: a transport that answers from memory never does, and the timer
// would cost more than all else that a call adds to it.
type attemptContext struct {
	context.Context           // of the call
	deadline        time.Time // zero: none

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

func (c *attemptContext) start() context.Context {
	c.once.Do(func() {
		if c.deadline.IsZero() {
			c.timed, c.cancel = context.WithCancel(c.Context)
		} else {
			c.timed, c.cancel = context.WithDeadline(c.Context, c.deadline)
		}
	})
	return c.timed
}

// stop ends the attempt. Who first asks after that sees the call's context.
func (c *attemptContext) stop() {
	c.once.Do(func() { c.timed, c.cancel = c.Context, func() {} })
	c.cancel()
}

func (c *attemptContext) Deadline() (time.Time, bool) { return c.start().Deadline() }
func (c *attemptContext) Done() <-chan struct{}       { return c.start().Done() }
func (c *attemptContext) Err() error                  { return c.start().Err() }
func (c *attemptContext) Value(key any) any           { return c.start().Value(key) }

// connTracker follows an attempt of what must not be carried out twice: it
// finds out whether there was a connection, and stops net/http from sending the
// request on a second one. net/http calls the hooks before its RoundTrip
// returns, but another transport may not.
type connTracker struct {
	attemptContext
	trace httptrace.ClientTrace

	mu                         sync.Mutex
	wanted, got, wrote, vetoed bool
	conn                       net.Conn // that the request is on
}

// track returns the context of the attempt.
func (t *connTracker) track(parent context.Context) *attemptContext {
	t.trace.GetConn = func(string) { t.note(&t.wanted) }
	t.trace.GotConn = func(info httptrace.GotConnInfo) { t.gotConn(info.Conn) }
	t.trace.WroteHeaders = func() { t.note(&t.wrote) }
	t.Context = httptrace.WithClientTrace(parent, &t.trace)
	return &t.attemptContext
}

func (t *connTracker) note(event *bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*event = true
}

// gotConn vetoes a second connection of HTTP/2. There net/http takes a stream
// that is reset for a PROTOCOL_ERROR for one that was not looked at, like one
// that a GOAWAY leaves out, and sends the request again for as long as it may.
// A stream that was refused is repeated on the same connection. HTTP/1.1
// changes it only if nothing was written.
func (t *connTracker) gotConn(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got = true
	switch {
	case !t.wrote:
		t.conn = conn
	case conn != t.conn && isHTTP2(t.conn):
		t.vetoed = true
		t.start()
		t.cancel() // HTTP/2 looks at the context before it writes
	}
}

func isHTTP2(conn net.Conn) bool {
	c, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}

// errNotRepeated stands for what ended the first connection, which net/http
// does not tell.
var errNotRepeated = errors.New("the server gave up the connection or the stream, and the request was not sent again")

// result reports whether the request may have reached the server, which is
// taken for true unless it is known that no connection was there to send it on,
// and whether a second connection was vetoed.
func (t *connTracker) result() (sent, vetoed bool) {
	if t == nil {
		return true, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.got || !t.wanted, t.vetoed
}

// unrepeated is the transport below the middlewares. With the headers that it
// spells in another way net/http would send any request again whose connection
// breaks, carried out or not. For a server the case of a name is all one.
type unrepeated struct{ http.RoundTripper }

func (t unrepeated) RoundTrip(req *http.Request) (*http.Response, error) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		values, found := req.Header[name]
		if !found {
			continue
		}
		req = req.WithContext(req.Context())
		req.Header = maps.Clone(req.Header)
		delete(req.Header, name)
		req.Header[strings.ToLower(name)] = values
	}
	return t.RoundTripper.RoundTrip(req)
}
