package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestSent: an attempt has sent nothing if it had no connection, or if its
// error says that the server didn't execute the request. Any other attempt may
// have sent it.
func TestSent(t *testing.T) {
	t.Parallel()
	const cannot = "http2: Transport: cannot retry err [%s] after Request.Body was written; define Request.GetBody to avoid this error"
	for text, want := range map[string]bool{
		"net/http: cannot rewind body after connection loss":                                 false,
		"http2: client conn not usable":                                                      false,
		"http2: client conn could not be established":                                        false,
		fmt.Sprintf(cannot, "http2: Transport received Server's graceful shutdown GOAWAY"):   false,
		fmt.Sprintf(cannot, "stream error: stream ID 5; REFUSED_STREAM; received from peer"): false,
		fmt.Sprintf(cannot, "stream error: stream ID 12345; REFUSED_STREAM"):                 false,
		fmt.Sprintf(cannot, "stream error: stream ID 5; PROTOCOL_ERROR; received from peer"): true,
		fmt.Sprintf(cannot, "stream error: stream ID 5; INTERNAL_ERROR; REFUSED_STREAM"):     true,
		fmt.Sprintf(cannot, "; REFUSED_STREAM; received from peer"):                          true,
		"stream error: stream ID 5; PROTOCOL_ERROR; received from peer":                      true,
		"http2: client connection lost":                                                      true,
		"http2: client conn not usable, or so":                                               true,
		"http2: Transport received GOAWAY from server ErrCode:PROTOCOL_ERROR":                true,
		`http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug="` + fmt.Sprintf(cannot, "stream error: stream ID 5; REFUSED_STREAM") + `"`: true,
		"unexpected EOF": true,
	} {
		for _, err := range []error{errors.New(text), fmt.Errorf("a middleware: %w", errors.New(text))} {
			for events, wanted := range map[string]bool{"": want, "want got": want, "want got want": want, "want": false} {
				attempt, trace := begin(t, true)
				for event := range strings.FieldsSeq(events) {
					switch event {
					case "want":
						trace.GetConn("api.test:443")
					case "got":
						trace.GotConn(httptrace.GotConnInfo{Conn: &net.TCPConn{}})
					}
				}
				if got := attempt.Sent(err); got != wanted {
					t.Errorf("%q, %v: sent: %v", events, err, got)
				}
			}
		}
	}
	attempt, trace := begin(t, false)
	if trace != nil || attempt.HadNoConn() {
		t.Error("an attempt that is not followed claims to know")
	}
}

// begin returns an attempt without a timeout, and its trace.
func begin(t *testing.T, follow bool) (*Attempt, *httptrace.ClientTrace) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	attempt, end := Begin(req, time.Now(), 0, follow)
	t.Cleanup(end)
	return attempt, httptrace.ContextClientTrace(attempt.Request.Context())
}

// TestSentAndRefused: a server that refuses the handshake of a connection hasn't
// executed the first request on it. Only alerts that refuse a handshake say so,
// and only if they come from the server.
func TestSentAndRefused(t *testing.T) {
	t.Parallel()
	alert := func(op string, number tls.AlertError) error { return &net.OpError{Op: op, Err: number} }
	for _, tt := range []struct {
		err                    error
		lasting, first, second bool // whether the first and the second request of a connection count as sent
	}{
		{alert("remote error", 116), true, false, true},
		{alert("remote error", 42), true, false, true},
		{fmt.Errorf("a middleware: %w", alert("remote error", 48)), true, false, true},
		{&net.OpError{Op: "proxyconnect", Net: "tcp", Err: alert("remote error", 116)}, true, false, true},
		{alert("local error", 116), false, true, true},
		{alert("remote error", 20), false, true, true}, // bad record MAC
		{alert("remote error", 80), false, true, true}, // internal error: perhaps the server has no certificate yet
		{errors.New("malformed HTTP response: remote error: tls: certificate required"), false, true, true},
		{errors.New("tls: server selected unsupported protocol version 302"), false, true, true},
	} {
		if got := IsLasting(tt.err); got != tt.lasting {
			t.Errorf("%v: lasting: %v", tt.err, got)
		}
		for reused, want := range map[bool]bool{false: tt.first, true: tt.second} {
			attempt, trace := begin(t, true)
			trace.GetConn("api.test:443")
			trace.GotConn(httptrace.GotConnInfo{Reused: reused})
			if got := attempt.Sent(tt.err); got != want {
				t.Errorf("%v, reused %v: sent: %v", tt.err, reused, got)
			}
		}
	}
}

// TestGuard: unless a transport is the SDK's and speaks only HTTP/1.1, a POST
// or PATCH that isn't known to be idempotent has a body that can't be read
// again. Other requests are unchanged.
func TestGuard(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*http.Transport)
		want   bool
	}{
		"unchanged":          {func(*http.Transport) {}, true},
		"HTTP/2":             {func(t *http.Transport) { t.Protocols.SetHTTP2(true) }, false},
		"unencrypted HTTP/2": {func(t *http.Transport) { t.Protocols.SetUnencryptedHTTP2(true) }, false},
		"default protocols":  {func(t *http.Transport) { t.Protocols = nil }, false},
		"x/net's HTTP/2": {func(t *http.Transport) {
			t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{"h2": func(string, *tls.Conn) http.RoundTripper { return nil }}
		}, false},
		"registered for another": {func(t *http.Transport) { t.RegisterProtocol("file", stub.RoundTripper(nil)) }, true},
	} {
		if got := NewTransport(tt.change).onlyHTTP1; got != tt.want {
			t.Errorf("%s: it speaks only HTTP/1.1: %v", name, got)
		}
	}
	var sent *http.Request
	network := NewTransport().Transport
	network.RegisterProtocol("test", stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		sent = req
		return nil, context.Canceled
	}))
	for _, tt := range []struct {
		own, idempotent      bool
		method, body, header string
		want                 bool
	}{
		{false, false, "POST", "", "", true}, // whatever its context says: a middleware may have replaced that
		{false, false, "POST", "{}", "", true},
		{false, false, "GET", "", "", false},
		{false, false, "PATCH", "{}", "", true}, // a rename by name isn't idempotent
		{false, true, "PATCH", "{}", "", false}, // net/http repeats it if nothing was written
		{false, true, "POST", "", "X-Idempotency-Key", true},
		{true, false, "POST", "", "", false},
		{true, false, "POST", "{}", "", false},
		{true, false, "POST", "{}", "Idempotency-Key", true}, // with which net/http repeats a request
		{true, false, "POST", "{}", "X-Idempotency-Key", true},
		{true, false, "PATCH", "{}", "", false},
		{true, false, "PATCH", "{}", "Idempotency-Key", true},
	} {
		req := stub.Must(http.NewRequestWithContext(t.Context(), tt.method, "test://api/", strings.NewReader(tt.body)))(t)
		req.Header[tt.header] = nil
		_, _ = (&Guard{&Transport{Transport: network, onlyHTTP1: tt.own}, func() http.RoundTripper { return network }, func(context.Context) bool { return tt.idempotent }}).RoundTrip(req)
		if once := sent.GetBody == nil && sent.Body != nil && sent.Body != http.NoBody; once != tt.want {
			t.Errorf("%+v: it can be read only once: %v", tt, once)
		}
		if text, err := io.ReadAll(sent.Body); string(text) != tt.body || err != nil || sent.ContentLength != req.ContentLength || req.GetBody == nil {
			t.Errorf("%+v: the body is sent as %q, %v", tt, text, err)
		}
	}
}
