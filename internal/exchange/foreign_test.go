package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// never says that no context belongs to an idempotent request.
func never(context.Context) bool { return false }

// TestErrorsOfProxies: the response of a proxy to CONNECT is lasting, unless
// another attempt may get a different one.
func TestErrorsOfProxies(t *testing.T) {
	t.Parallel()
	for code, lasting := range map[int]bool{403: true, 407: true, 408: false, 429: false, 502: false, 503: false} {
		if got := IsLasting(fmt.Errorf("dial: %w", &proxyError{code})); got != lasting {
			t.Errorf("%d is lasting: %v", code, got)
		}
	}
}

// TestErrorsOfForeignTransports: an error of a transport that isn't net/http's
// is lasting unless the network can be its cause. It keeps its text and its
// chain.
func TestErrorsOfForeignTransports(t *testing.T) {
	t.Parallel()
	_, dialed := (&net.Dialer{}).DialContext(t.Context(), "none", "")
	for text, tt := range map[string]struct {
		err     error
		lasting bool
	}{
		"a mock's":               {errors.New("no responder found"), true},
		"canceled by itself":     {context.Canceled, true},
		"a deadline of its own":  {context.DeadlineExceeded, false},
		"EOF":                    {io.EOF, false},
		"a truncated response":   {fmt.Errorf("recording: %w", io.ErrUnexpectedEOF), false},
		"of the system":          {syscall.ECONNRESET, false},
		"an in-memory pipe":      {io.ErrClosedPipe, false},
		"of a dial":              {dialed, false},
		"a closed connection":    {net.ErrClosed, false},
		"of net/http":            {errors.New("http: server closed idle connection"), false},
		"of net/http, wrapped":   {fmt.Errorf("span: %w", errors.New("net/http: HTTP/1.x transport connection broken: x")), false},
		"of HTTP/2":              {errors.New("http2: client connection lost"), false},
		"a stream's":             {errors.New("stream error: stream ID 5; INTERNAL_ERROR; received from peer"), false},
		"of TLS":                 {errors.New("tls: first record does not look like a TLS handshake"), false},
		"an untrusted server":    {&tls.CertificateVerificationError{Err: errors.New("x")}, true},
		"another response":       {errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x00\x00\x06"`), false},
		"what only quotes these": {errors.New("no responder for http: //x"), true},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		transport := stub.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, tt.err })
		_, err = (&Guard{Current: func() http.RoundTripper { return transport }, MayRepeat: never}).RoundTrip(req)
		if got := IsLasting(err); got != tt.lasting {
			t.Errorf("%s: lasting: %v, want %v", text, got, tt.lasting)
		}
		if !errors.Is(err, tt.err) || err.Error() != tt.err.Error() {
			t.Errorf("%s: the error became %v", text, err)
		}
	}
	if !isOfNetwork(NewTransport().Transport, errors.New("malformed")) {
		t.Error("an error of net/http's transport is not of the network")
	}
}
