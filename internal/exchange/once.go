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

// Guard returns a transport that wraps next. It prevents net/http from retrying
// a request of [BeginOnce] that may have been carried out. It must be below all
// other wrappers that change requests.
//
// net/http retries requests in three cases:
//
//   - With the headers Idempotency-Key and X-Idempotency-Key in this spelling.
//     Guard sends them in lower case, since servers ignore the case of names.
//   - On HTTP/1.1 if nothing was written, which is safe.
//   - On HTTP/2 if the server did not process the request, because of a
//     REFUSED_STREAM or a GOAWAY, and up to Go 1.26 also after a
//     PROTOCOL_ERROR, which may come when the request was carried out. net/http
//     retries it silently on a new connection, at once, for as long as the
//     attempt lasts.
//
// On HTTP/2 net/http does not retry if it cannot read the body again; its error
// then contains the reason. So Guard gives such a request a body that cannot be
// read again, even an empty one. On HTTP/1.1 that would change the request.
// Since the protocol is not known beforehand, Guard first sends the request
// unchanged, and if it gets an HTTP/2 connection sends it anew, before anything
// is written.
//
// Guard does not prevent retries of a request that may be sent twice, but
// limits its connections.
func Guard(next http.RoundTripper) http.RoundTripper {
	return &guard{next: next}
}

type guard struct {
	next  http.RoundTripper
	first firstExchanges
}

// maxPasses is how often a request is passed to HTTP/2 in one attempt if the
// server did not process it.
const maxPasses = 4

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.send(withoutIdempotencyKeys(req))
	if err != nil && err.Error() == http.StatusText(http.StatusProxyAuthRequired) {
		err = &proxyError{http.StatusProxyAuthRequired} // as in the error of a Transport
	}
	return resp, err
}

func (g *guard) send(req *http.Request) (*http.Response, error) {
	a := attemptOf(req.Context())
	switch {
	case a == nil:
		return g.next.RoundTrip(req)
	case a.once == nil:
		return g.limitConnections(a, req)
	case req.Body != nil && req.Body != http.NoBody && req.GetBody == nil:
		return a.once.pass(g, req) // its body cannot be read again already
	}
	resp, err := a.once.probe(g, req)
	for n := 0; err == errHTTP2 || n < maxPasses && IsUnprocessed(err) && req.Context().Err() == nil; n++ {
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

// limitConnections sends a request that may be sent twice. A [Transport] limits
// the connections itself.
func (g *guard) limitConnections(a *Attempt, req *http.Request) (*http.Response, error) {
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

// once follows an attempt whose request must not be carried out twice: how
// often it is passed to net/http, and the result of each pass. net/http calls
// the hooks before its RoundTrip returns, but other transports may not.
type once struct {
	attempt Attempt
	trace   httptrace.ClientTrace

	mu                 sync.Mutex
	wanted, got, wrote bool     // wanted and got a connection, and wrote on it
	probing            *Attempt // of the first pass, which ends when it gets an HTTP/2 connection
	http2              bool     // whether it got one

	first *firstExchanges
	leads net.Conn // the connection whose first exchange is that of this attempt
}

// errHTTP2 is the result of a first pass that got an HTTP/2 connection. Nothing
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

// pass makes a pass with a body that net/http cannot read again.
func (o *once) pass(g *guard, req *http.Request) (*http.Response, error) {
	o.begin(g, nil)
	defer o.lead(nil)
	resp, err := g.next.RoundTrip(req)
	if reason := whyUnprocessed(err); reason != "" {
		err = &unprocessedError{reason}
	}
	return resp, err
}

// begin begins a pass. The server did not process the request in earlier ones.
func (o *once) begin(g *guard, probing *Attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted, o.got, o.wrote, o.probing, o.first = false, false, false, probing, &g.first
}

// wantConn records that net/http looks for a connection. If it has not written
// on the one before, it will not.
func (o *once) wantConn() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted, o.got = true, o.wrote
}

// gotConn records that net/http has a connection. An HTTP/2 connection ends the
// first pass. In a later pass its first exchange comes first.
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
	o.probing.cancel() // HTTP/2 checks the context before it writes
	return false
}

// lead makes the attempt's exchange the first one on a connection, instead of
// on an earlier one. conn may be nil.
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

// follow waits for the first exchange on a connection, if it belongs to another
// attempt.
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
	return (o.got || !o.wanted) && !IsUnprocessed(err)
}

func isHTTP2(conn net.Conn) bool {
	c, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}

// firstExchanges are the first exchanges in progress on new HTTP/2 connections.
// Until net/http has read the server's limit it sends up to 100 concurrent
// requests. Servers then refuse those beyond the limit, and may report a
// protocol error for one, which leaves its outcome open. So a request that must
// not be carried out twice waits for the first response.
type firstExchanges struct {
	mu    sync.Mutex
	under map[net.Conn]chan struct{} // closed at the end
}

func (f *firstExchanges) begin(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.under == nil {
		f.under = map[net.Conn]chan struct{}{}
	}
	f.under[conn] = make(chan struct{})
}

func (f *firstExchanges) end(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.under[conn])
	delete(f.under, conn)
}

// wait waits for the end of the first exchange, but no longer than it takes to
// read the server's limit.
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

// unprocessedError says that the server did not process a request, and will not.
type unprocessedError struct{ reason string }

func (e *unprocessedError) Error() string { return e.reason }

// IsUnprocessed reports whether an error says that the server did not process the
// request, and will not: it refused the stream, or the connection accepted no
// more requests.
func IsUnprocessed(err error) bool {
	_, ok := errors.AsType[*unprocessedError](err)
	return ok
}

// whyUnprocessed returns why the server did not process a request, or "" if the
// error does not say. It compares texts, since net/http does not export the
// types.
func whyUnprocessed(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		text := err.Error()
		switch text {
		case "net/http: cannot rewind body after connection loss", // only if nothing was written
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
