package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
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
				ctx, attempt, end := Begin(t.Context(), time.Now(), 0, true)
				trace := httptrace.ContextClientTrace(ctx)
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
				end()
			}
		}
	}
	ctx, attempt, end := Begin(t.Context(), time.Now(), 0, false)
	defer end()
	if ctx.Err() != nil || !attempt.Sent(io.EOF) {
		t.Errorf("an attempt that is not followed has %v, or claims to know", ctx.Err())
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
		"unchanged":              {func(*http.Transport) {}, true},
		"HTTP/2":                 {func(t *http.Transport) { t.Protocols.SetHTTP2(true) }, false},
		"unencrypted HTTP/2":     {func(t *http.Transport) { t.Protocols.SetUnencryptedHTTP2(true) }, false},
		"default protocols":      {func(t *http.Transport) { t.Protocols = nil }, false},
		"registered":             {func(t *http.Transport) { t.RegisterProtocol("https", stub.RoundTripper(nil)) }, false},
		"registered, plain":      {func(t *http.Transport) { t.RegisterProtocol("http", stub.RoundTripper(nil)) }, false},
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
		req := stub.Must(http.NewRequestWithContext(context.WithValue(t.Context(), Idempotent{}, tt.idempotent), tt.method, "test://api/", strings.NewReader(tt.body)))(t)
		req.Header[tt.header] = nil
		_, _ = (&Guard{Transport{network, tt.own}, func() http.RoundTripper { return network }}).RoundTrip(req)
		if once := sent.GetBody == nil && sent.Body != nil && sent.Body != http.NoBody; once != tt.want {
			t.Errorf("%+v: it can be read only once: %v", tt, once)
		}
		if text, err := io.ReadAll(sent.Body); string(text) != tt.body || err != nil || sent.ContentLength != req.ContentLength || req.GetBody == nil {
			t.Errorf("%+v: the body is sent as %q, %v", tt, text, err)
		}
	}
}
