package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Guard returns a transport like next that keeps net/http from sending a request
// of an attempt of [BeginOnce] again after it may have been carried out. It goes
// below whatever else may change requests.
//
// net/http sends requests again in three cases:
//
//   - With the headers Idempotency-Key and X-Idempotency-Key, as it spells them.
//     So they are sent in lower case: for a server the case of a name is all one.
//   - On HTTP/1.1 if nothing was written, which is as it should be.
//   - On HTTP/2 if the server refused to look at the request, by a REFUSED_STREAM
//     or a GOAWAY, but up to Go 1.26 also after a PROTOCOL_ERROR, which may come
//     when the request was carried out. It does so on a new connection, at once,
//     for as long as the attempt lasts, and without a word.
//
// On HTTP/2 it does not if it cannot have the body again; then its error tells
// which of them it was. So there a request gets a body of which that is true, even
// an empty one. On HTTP/1.1 that would change what is sent. As it is not known
// before which of the two it will be, a request begins as it is, and if it gets a
// connection of HTTP/2 it begins anew, before anything is written.
//
// A request that may be sent again is left to net/http, but for a bound of the
// connections.
func Guard(next http.RoundTripper) http.RoundTripper {
	return &guard{next: next, first: firstExchanges{under: map[net.Conn]chan struct{}{}}}
}

type guard struct {
	next  http.RoundTripper
	first firstExchanges
}

// maxPasses is how often a request is given to HTTP/2 in one attempt, if it was
// not looked at before.
const maxPasses = 4

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.send(withoutIdempotencyKeys(req))
	if err != nil && err.Error() == http.StatusText(http.StatusProxyAuthRequired) {
		err = &proxyError{http.StatusProxyAuthRequired, "407 " + err.Error()} // as a Transport says it
	}
	return resp, err
}

func (g *guard) send(req *http.Request) (*http.Response, error) {
	a := attemptOf(req.Context())
	switch {
	case a == nil:
		return g.next.RoundTrip(req)
	case a.once == nil:
		return g.bounded(a, req)
	case req.Body != nil && req.Body != http.NoBody && req.GetBody == nil:
		return a.once.pass(g, req) // it has such a body already
	}
	resp, err := a.once.probe(g, req)
	for n := 0; err == errHTTP2 || n < maxPasses && IsUnsent(err) && req.Context().Err() == nil; n++ {
		again := req.WithContext(req.Context())
		again.Body, again.GetBody = io.NopCloser(strings.NewReader("")), nil
		if req.GetBody != nil {
			if again.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		resp, err = a.once.pass(g, again)
	}
	return resp, err
}

// bounded sends a request that may be sent again. A [Transport] bounds the
// connections by itself.
func (g *guard) bounded(a *Attempt, req *http.Request) (*http.Response, error) {
	if _, foreign := g.next.(*http.Transport); !foreign || req.URL.Scheme != "https" {
		return g.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	resp, err := g.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused && !a.mayConnect() {
				cancel(errStorm)
			}
		},
	})))
	if err != nil {
		if context.Cause(ctx) == errStorm {
			err = errStorm
		}
		cancel(nil)
	}
	return resp, err
}

func withoutIdempotencyKeys(req *http.Request) *http.Request {
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
	return req
}

// once follows an attempt whose request must not be carried out twice: how often
// it is given to net/http, and what becomes of it each time. net/http calls the
// hooks before its RoundTrip returns, but another transport may not.
type once struct {
	attempt Attempt
	trace   httptrace.ClientTrace

	mu                 sync.Mutex
	wanted, got, wrote bool     // a connection, and on it
	probing            *Attempt // of the first pass, which ends when it gets a connection of HTTP/2
	http2              bool     // whether it did

	first *firstExchanges
	leads net.Conn // whose first exchange is that of this attempt
}

// errHTTP2 is the result of a first pass that got a connection of HTTP/2. Nothing
// was written on it.
var errHTTP2 = errors.New("the connection speaks HTTP/2")

// probe makes the first pass.
func (o *once) probe(g *guard, req *http.Request) (*http.Response, error) {
	probing := Begin(req.Context(), time.Time{}) // it ends with the attempt
	o.begin(g, probing)
	resp, err := g.next.RoundTrip(req.WithContext(probing))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.http2 && err != nil {
		return nil, errHTTP2
	}
	return resp, err
}

// pass makes a pass with a body that net/http cannot have again.
func (o *once) pass(g *guard, req *http.Request) (*http.Response, error) {
	o.begin(g, nil)
	defer o.lead(nil)
	resp, err := g.next.RoundTrip(req)
	if reason := whyUnsent(err); reason != "" {
		err = &unsentError{reason}
	}
	return resp, err
}

// begin begins a pass. The one before, if there was one, was not looked at.
func (o *once) begin(g *guard, probing *Attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted, o.got, o.wrote, o.probing, o.first = false, false, false, probing, &g.first
}

// wantConn notes that net/http looks for a connection. If it has not written on
// the one before, it will not.
func (o *once) wantConn() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted, o.got = true, o.wrote
}

// gotConn notes that net/http has a connection. One of HTTP/2 ends the first pass,
// and in a later one its first exchange comes first.
func (o *once) gotConn(info httptrace.GotConnInfo) {
	http2 := isHTTP2(info.Conn)
	if http2 && !info.Reused {
		o.lead(info.Conn)
	}
	if o.mayWrite(http2) && http2 {
		o.follow(info.Conn)
	}
}

func (o *once) mayWrite(http2 bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got = true
	if o.probing == nil || !http2 {
		return true
	}
	o.http2 = true
	o.probing.start()
	o.probing.cancel() // HTTP/2 looks at the context before it writes
	return false
}

// lead makes the attempt's exchange the first one on a connection, and no more on
// another one. nil is none.
func (o *once) lead(conn net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leads != nil {
		o.first.end(o.leads)
	}
	if o.leads = conn; conn != nil {
		o.first.begin(conn)
	}
}

// follow waits for the first exchange on a connection, if it is another one's.
func (o *once) follow(conn net.Conn) {
	o.mu.Lock()
	leads := o.leads == conn
	o.mu.Unlock()
	if !leads {
		o.lead(nil)
		o.first.wait(&o.attempt, conn)
	}
}

func (o *once) wroteHeaders() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrote = true
}

func (o *once) sent(err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return (o.got || !o.wanted) && !IsUnsent(err)
}

func isHTTP2(conn net.Conn) bool {
	c, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}

// firstExchanges are those that are under way on new connections of HTTP/2.
// net/http takes such a connection for one that permits 100 requests at once,
// until it has read how many the server permits. Then those beyond are refused,
// and one may be taken for a violation of the protocol, which leaves open what
// became of it. So what must not be carried out twice waits for the first answer.
type firstExchanges struct {
	mu    sync.Mutex
	under map[net.Conn]chan struct{} // closed at the end
}

func (f *firstExchanges) begin(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.under[conn] = make(chan struct{})
}

func (f *firstExchanges) end(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.under[conn])
	delete(f.under, conn)
}

// wait waits for the end of the first exchange, but no longer than it can take to
// read what the server permits.
func (f *firstExchanges) wait(ctx context.Context, conn net.Conn) {
	f.mu.Lock()
	over, found := f.under[conn]
	f.mu.Unlock()
	if !found {
		return
	}
	select {
	case <-over:
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}

// unsentError says that the server did not look at a request, and will not.
type unsentError struct{ reason string }

func (e *unsentError) Error() string { return e.reason }

// IsUnsent reports whether an error says that the server did not look at the
// request, and will not: a stream that was refused, or a connection that took no
// more.
func IsUnsent(err error) bool {
	_, ok := errors.AsType[*unsentError](err)
	return ok
}

// whyUnsent returns why the server did not look at a request, or "" if the error
// does not tell. net/http tells it by texts; its types are not exported.
func whyUnsent(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		text := err.Error()
		switch text {
		case "net/http: cannot rewind body after connection loss", // which it says only if nothing was written
			"http2: client conn not usable", "http2: client conn could not be established":
			return "the connection could take no request"
		}
		text, found := strings.CutPrefix(text, "http2: Transport: cannot retry err [")
		switch {
		case !found:
		case strings.HasPrefix(text, "http2: Transport received Server's graceful shutdown GOAWAY]"):
			return "the server closed the connection before it looked at the request (GOAWAY)"
		case refusedStream.MatchString(text):
			return "the server refused to look at the request (REFUSED_STREAM)"
		}
	}
	return ""
}

var refusedStream = regexp.MustCompile(`^stream error: stream ID \d+; REFUSED_STREAM[;\]]`)
