package exchange

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSilentProxy: a proxy has 30 seconds for its response to CONNECT. The limit
// doesn't hold for what comes after it, or without CONNECT.
func TestSilentProxy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scheme string
		proxy        string // the scheme of the proxy
		answers      bool   // whether the proxy responds to CONNECT
		took         time.Duration
		want         string
	}{
		{"no response to CONNECT", "https", "http", false, connectTimeout, "the proxy didn't respond to CONNECT within 30s"},
		{"no response to SOCKS5", "https", "socks5", false, connectTimeout, "the proxy didn't respond to CONNECT within 30s"},
		{"a tunnel to a silent server", "https", "http", true, 45 * time.Second, "TLS handshake timeout"},
		{"no response to a request", "http", "http", false, time.Hour, "context deadline exceeded"},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport := NewTransport(func(t *http.Transport) {
				t.Proxy = http.ProxyURL(&url.URL{Scheme: tt.proxy, Host: "proxy.example.com:3128"})
				t.TLSHandshakeTimeout = 45 * time.Second
				t.DialContext = func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					go func() {
						defer far.Close()
						req, err := http.ReadRequest(bufio.NewReader(far))
						if err == nil && req.Method == http.MethodConnect && tt.answers {
							io.WriteString(far, "HTTP/1.1 200 OK\r\n\r\n")
						}
						io.Copy(io.Discard, far)
					}()
					return &dialedConn{Conn: near}, nil
				}
			})
			defer transport.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, tt.scheme+"://api.example.com/", nil)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err = transport.RoundTrip(req)
			if took := time.Since(start); took != tt.took || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v after %v", tt.name, err, took)
			}
		})
	}
}

// TestWrittenBytes: bytes count as written before the server can have them, and
// those that couldn't be written don't count afterwards.
func TestWrittenBytes(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	conn := &dialedConn{Conn: near}
	written := make(chan error)
	go func() {
		_, err := conn.Write([]byte("request"))
		written <- err
	}()
	if _, err := io.ReadFull(far, make([]byte, 4)); err != nil || conn.written.Load() != 7 {
		t.Errorf("%d bytes count as written, %v", conn.written.Load(), err)
	}
	far.Close()
	if err := <-written; err == nil || conn.written.Load() != 4 {
		t.Errorf("%d bytes count as written after %v", conn.written.Load(), err)
	}
}
