package exchange

import (
	"context"
	"io"
	"net/http"
	"strings"
)

// Guard is a transport that passes each request to the transport that Current
// returns at that moment, since httpmock replaces http.DefaultTransport, or the
// transport of an http.Client, under existing clients. Guard prevents net/http
// from retrying a POST or PATCH that the server may have executed, unless
// MayRepeat returns true for its context. It must be below all other wrappers
// that change requests.
//
// net/http retries a request:
//
//   - On HTTP/1.1 if nothing was written, which is safe, or if the request has
//     an Idempotency-Key or X-Idempotency-Key header, which is not: a company's
//     middleware may add one.
//   - On HTTP/2 if it believes that the server didn't execute the request. Up
//     to Go 1.26 a PROTOCOL_ERROR also makes it believe so, even though the
//     server may have executed the request.
//
// net/http doesn't retry if it can't read the body again. So Guard gives a POST
// or PATCH a body that can't be read again, unless the transport is Own and
// speaks only HTTP/1.1, and the request has neither header. Guard can't know
// what protocols another transport uses, for example one that otelhttp wraps. It
// replaces even an empty body. HTTP/1.1 then sends the request without a length.
type Guard struct {
	Own       *Transport // the transport of [NewTransport], or nil
	Current   func() http.RoundTripper
	MayRepeat func(context.Context) bool // false for a context that a middleware has replaced
}

func (g *Guard) RoundTrip(req *http.Request) (*http.Response, error) {
	next := g.Current()
	if g.Own != nil && next == g.Own.Transport {
		return g.Own.roundTrip(g.once(req, g.Own.onlyHTTP1))
	}
	resp, err := next.RoundTrip(g.once(req, false))
	if err != nil && !isOfNetwork(next, err) {
		err = ownError{err}
	}
	return resp, err
}

// once returns a request that net/http doesn't retry.
func (g *Guard) once(req *http.Request, onlyHTTP1 bool) *http.Request {
	isSafe := (onlyHTTP1 || g.MayRepeat(req.Context())) && !hasIdempotencyKey(req.Header)
	if isSafe || req.Method != http.MethodPost && req.Method != http.MethodPatch {
		return req
	}
	req = req.WithContext(req.Context())
	req.GetBody = nil
	if req.Body == nil || req.Body == http.NoBody {
		req.Body = io.NopCloser(strings.NewReader(""))
	}
	return req
}

func hasIdempotencyKey(h http.Header) bool {
	_, has := h["Idempotency-Key"] // net/http also ignores the value
	_, hasX := h["X-Idempotency-Key"]
	return has || hasX
}

// isUnprocessed reports whether an error of net/http says that the server
// didn't and won't execute a request: the server refused the stream, or the
// connection accepted no more requests. The request must have a body that can't
// be read again. Otherwise, net/http may have retried it, and returns only the
// last error. isUnprocessed compares texts, since net/http doesn't export the
// types.
func isUnprocessed(err error) bool {
	return says(err, func(text string) bool {
		switch text {
		case "net/http: cannot rewind body after connection loss",
			"http2: client conn not usable", "http2: client conn could not be established":
			return true
		}
		reason, cannot := strings.CutPrefix(text, "http2: Transport: cannot retry err [")
		stream, isStream := strings.CutPrefix(reason, "stream error: stream ID ")
		code := strings.TrimLeft(stream, "0123456789")
		return cannot && (strings.HasPrefix(reason, "http2: Transport received Server's graceful shutdown GOAWAY]") ||
			isStream && (strings.HasPrefix(code, "; REFUSED_STREAM;") || strings.HasPrefix(code, "; REFUSED_STREAM]")))
	})
}
