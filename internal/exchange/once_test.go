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
		"stream error: stream ID 5; PROTOCOL_ERROR; received from peer":                      true,
		"http2: client connection lost":                                                      true,
		"http2: client conn not usable, or so":                                               true,
		"http2: Transport received GOAWAY from server ErrCode:PROTOCOL_ERROR":                true,
		`http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug="` + fmt.Sprintf(cannot, "stream error: stream ID 5; REFUSED_STREAM") + `"`: true,
		"unexpected EOF": true,
	} {
		for _, err := range []error{errors.New(text), fmt.Errorf("a middleware: %w", errors.New(text))} {
			for events, wanted := range map[string]bool{"": want, "want got": want, "want got want": want, "want": false} {
				attempt := BeginOnce(t.Context(), time.Time{})
				trace := httptrace.ContextClientTrace(attempt)
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
				attempt.End()
			}
		}
	}
	attempt := Begin(t.Context(), time.Time{})
	defer attempt.End()
	if !attempt.Sent(io.EOF) {
		t.Error("an attempt that is not followed claims to know")
	}
}

// TestGuard: where a transport may use HTTP/2, a request that the server must
// not execute twice has a body that can't be read again. Other requests are
// unchanged.
func TestGuard(t *testing.T) {
	t.Parallel()
	protocols := func(http2, unencrypted bool) *http.Protocols {
		p := new(http.Protocols)
		p.SetHTTP1(true)
		p.SetHTTP2(http2)
		p.SetUnencryptedHTTP2(unencrypted)
		return p
	}
	for _, tt := range []struct {
		name           string
		transport      http.RoundTripper
		plain, secured bool // whether requests are changed
	}{
		{"of the SDK", NewTransport(), false, false},
		{"with HTTP/2", NewTransport(func(t *http.Transport) { t.Protocols.SetHTTP2(true) }), true, true},
		{"with unencrypted HTTP/2", &http.Transport{Protocols: protocols(false, true)}, true, true},
		{"net/http's", &http.Transport{}, false, true},
		{"of HTTP/1.1", &http.Transport{Protocols: protocols(false, false)}, false, false},
		{"another", stub.RoundTripper(nil), true, true},
	} {
		for scheme, changed := range map[string]bool{"http": tt.plain, "https": tt.secured} {
			if got := mayUseHTTP2(tt.transport, scheme); got != changed {
				t.Errorf("transport %s, %s: it may use HTTP/2: %v", tt.name, scheme, got)
			}
		}
	}
	for _, once := range []bool{true, false} {
		for _, body := range []string{"", "{}"} {
			var sent *http.Request
			begin := Begin
			if once {
				begin = BeginOnce
			}
			attempt := begin(t.Context(), time.Time{})
			req, err := http.NewRequestWithContext(attempt, http.MethodPost, "https://api.test/", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = Guard(func() http.RoundTripper {
				return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					sent = req
					return nil, context.Canceled
				})
			}).RoundTrip(req)
			if readable := sent.GetBody == nil && sent.Body != nil && sent.Body != http.NoBody; readable != once {
				t.Errorf("once %v, body %q: it can be read only once: %v", once, body, readable)
			}
			if text, err := io.ReadAll(sent.Body); string(text) != body || err != nil || sent.ContentLength != req.ContentLength || req.GetBody == nil {
				t.Errorf("once %v: the body %q is sent as %q, %v", once, body, text, err)
			}
			attempt.End()
		}
	}
}
