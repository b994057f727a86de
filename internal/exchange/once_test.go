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
)

// TestWhyUnsent: only errors that say that the server did not process a request
// are recognized.
func TestWhyUnsent(t *testing.T) {
	t.Parallel()
	const cannot = "http2: Transport: cannot retry err [%s] after Request.Body was written; define Request.GetBody to avoid this error"
	for text, want := range map[string]string{
		"net/http: cannot rewind body after connection loss":                                 "could take no request",
		"http2: client conn not usable":                                                      "could take no request",
		"http2: client conn could not be established":                                        "could take no request",
		fmt.Sprintf(cannot, "http2: Transport received Server's graceful shutdown GOAWAY"):   "GOAWAY",
		fmt.Sprintf(cannot, "stream error: stream ID 5; REFUSED_STREAM; received from peer"): "REFUSED_STREAM",
		fmt.Sprintf(cannot, "stream error: stream ID 12345; REFUSED_STREAM"):                 "REFUSED_STREAM",
		fmt.Sprintf(cannot, "stream error: stream ID 5; PROTOCOL_ERROR; received from peer"): "",
		fmt.Sprintf(cannot, "stream error: stream ID 5; INTERNAL_ERROR; REFUSED_STREAM"):     "",
		"stream error: stream ID 5; PROTOCOL_ERROR; received from peer":                      "",
		"http2: client connection lost":                                                      "",
		"http2: Transport received GOAWAY from server ErrCode:PROTOCOL_ERROR":                "",
		`http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug="` + fmt.Sprintf(cannot, "stream error: stream ID 5; REFUSED_STREAM") + `"`: "",
		"unexpected EOF": "",
	} {
		for _, err := range []error{errors.New(text), fmt.Errorf("a middleware: %w", errors.New(text))} {
			if got := whyUnprocessed(err); want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
	if why := whyUnprocessed(nil); why != "" {
		t.Errorf("no error: %q", why)
	}
}

// http2Conn is a connection that speaks HTTP/2, as far as can be seen.
type http2Conn struct{ net.Conn }

func (*http2Conn) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{NegotiatedProtocol: "h2"}
}

// transport is a fake net/http: it has a connection, and treats requests as
// scripted.
type transport struct {
	conn   net.Conn
	passes []*http.Request // that got to be written
	bodies []string
	err    func(pass int) error
}

func (tr *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(req.Context())
	if tr.conn != nil {
		trace.GetConn("api.test:443")
		trace.GotConn(httptrace.GotConnInfo{Conn: tr.conn, Reused: len(tr.passes) > 0})
	}
	if req.Context().Err() != nil {
		return nil, req.Context().Err()
	}
	body := "none"
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		body = fmt.Sprintf("%q", b)
	}
	tr.passes, tr.bodies = append(tr.passes, req), append(tr.bodies, body)
	if err := tr.err(len(tr.passes)); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

// TestGuard: on HTTP/2 a request that must not be carried out twice has a body
// that cannot be read again, and is passed to net/http again only if the server
// did not process it. On HTTP/1.1 it is unchanged.
func TestGuard(t *testing.T) {
	t.Parallel()
	refused := errors.New("http2: Transport: cannot retry err [stream error: stream ID 5; REFUSED_STREAM] after Request.Body was written")
	lost := errors.New("http2: client connection lost")
	always := func(err error) func(int) error { return func(int) error { return err } }
	then := func(errs ...error) func(int) error { return func(pass int) error { return errs[pass-1] } }
	for _, tt := range []struct {
		name   string
		conn   net.Conn
		err    func(int) error
		passes int
		sent   bool
		ok     bool
	}{
		{"HTTP/1.1", &net.TCPConn{}, always(nil), 1, true, true},
		{"HTTP/1.1, lost", &net.TCPConn{}, always(io.EOF), 1, true, false},
		{"HTTP/2", &http2Conn{}, always(nil), 1, true, true},
		{"HTTP/2, lost", &http2Conn{}, always(lost), 1, true, false},
		{"HTTP/2, refused", &http2Conn{}, always(refused), maxPasses, false, false},
		{"HTTP/2, refused once", &http2Conn{}, then(refused, nil), 2, true, true},
		{"HTTP/2, refused and then lost", &http2Conn{}, then(refused, lost), 2, true, false},
		{"no net/http", nil, always(nil), 1, true, true},
		{"no net/http, lost", nil, always(io.EOF), 1, true, false},
	} {
		for _, body := range []string{"", "{}"} {
			tr := &transport{conn: tt.conn, err: tt.err}
			attempt := BeginOnce(t.Context(), time.Time{})
			req, err := http.NewRequestWithContext(attempt, http.MethodPost, "https://api.test/", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body == "" {
				req.Body, req.GetBody = nil, nil
			}
			resp, err := Guard(tr).RoundTrip(req)
			if len(tr.passes) != tt.passes || (err == nil) != tt.ok || (resp != nil) != tt.ok || attempt.Sent(err) != tt.sent {
				t.Errorf("%s, body %q: %d passes, %v, sent: %v", tt.name, body, len(tr.passes), err, attempt.Sent(err))
			}
			_, http2 := tt.conn.(*http2Conn)
			for i, pass := range tr.passes {
				want := fmt.Sprintf("%q", body)
				if body == "" && !http2 {
					want = "none"
				}
				if (pass.GetBody == nil) != (http2 || body == "") || tr.bodies[i] != want || pass.ContentLength != req.ContentLength {
					t.Errorf("%s, body %q: the pass %d has the body %s, and can be had again: %v", tt.name, body, i+1, tr.bodies[i], pass.GetBody != nil)
				}
			}
			attempt.End()
		}
	}
}

// TestGuardLeavesBodies: if a middleware has made a body that can be read only
// once, it is sent once.
func TestGuardLeavesBodies(t *testing.T) {
	t.Parallel()
	tr := &transport{conn: &http2Conn{}, err: func(int) error { return errors.New("http2: client conn not usable") }}
	attempt := BeginOnce(t.Context(), time.Time{})
	defer attempt.End()
	req, err := http.NewRequestWithContext(attempt, http.MethodPost, "https://api.test/", io.MultiReader(strings.NewReader("a body")))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Guard(tr).RoundTrip(req)
	if len(tr.passes) != 1 || tr.bodies[0] != `"a body"` || attempt.Sent(err) {
		t.Errorf("%d passes with %v: %v, sent: %v", len(tr.passes), tr.bodies, err, attempt.Sent(err))
	}
}

// TestSent: an attempt without a connection has sent nothing. An attempt that
// wrote on a connection and then found no other one may have sent the request.
func TestSent(t *testing.T) {
	t.Parallel()
	for events, want := range map[string]bool{
		"": true, "want": false, "want got": true, "want got wrote": true,
		"want got want": false, "want got want got": true, "want got wrote want": true,
	} {
		attempt := BeginOnce(t.Context(), time.Time{})
		trace := httptrace.ContextClientTrace(attempt)
		for event := range strings.FieldsSeq(events) {
			switch event {
			case "want":
				trace.GetConn("api.test:443")
			case "got":
				trace.GotConn(httptrace.GotConnInfo{Conn: &net.TCPConn{}})
			case "wrote":
				trace.WroteHeaders()
			}
		}
		if got := attempt.Sent(context.DeadlineExceeded); got != want {
			t.Errorf("%q: sent: %v", events, got)
		}
		attempt.End()
	}
	attempt := Begin(t.Context(), time.Time{})
	defer attempt.End()
	if !attempt.Sent(io.EOF) {
		t.Error("an attempt that is not followed claims to know")
	}
}
