package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// tlsServer is a server with TLS on a network in memory, of HTTP/2 or not. The
// test runs in a synctest bubble.
func tlsServer(t *testing.T, http2 bool, handler http.HandlerFunc) (l *memnet.Listener, roots *x509.CertPool) {
	l = memnet.Listen()
	server := &httptest.Server{Listener: l, EnableHTTP2: http2, Config: &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}}
	server.StartTLS()
	t.Cleanup(func() {
		// A connection in use would block Close, which waits for the client
		// while it holds a lock. The clock of a bubble does not move during
		// that.
		synctest.Wait()
		server.Close()
	})
	roots = x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return l, roots
}

// TestOneConnectionOfHTTP2: concurrent callers share one connection to an
// HTTP/2 server, even after the previous one was given up, and have separate
// connections to other servers.
func TestOneConnectionOfHTTP2(t *testing.T) {
	t.Parallel()
	for http2, most := range map[bool]int32{true: 1, false: maxConns} {
		synctest.Test(t, func(t *testing.T) {
			l, roots := tlsServer(t, http2, func(w http.ResponseWriter, _ *http.Request) {
				stub.Elapse(time.Second)
				_, _ = io.WriteString(w, "ok")
			})
			var dials atomic.Int32
			transport := NewTransport(0, func(t *http.Transport) {
				t.TLSClientConfig = &tls.Config{RootCAs: roots}
				t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
					dials.Add(1)
					stub.Elapse(50 * time.Millisecond)
					return l.Dial(ctx)
				}
			})
			for range 2 {
				dials.Store(0)
				start := time.Now()
				var callers sync.WaitGroup
				for range maxConns {
					callers.Go(func() {
						if body, err := get(&http.Client{Transport: transport}, "https://example.com/"); body != "ok" {
							t.Error(body, err)
						}
					})
				}
				callers.Wait()
				if n, d := dials.Load(), time.Since(start); n > most || n == 0 || d > 1200*time.Millisecond {
					t.Errorf("HTTP/2 %v: %d connections in %v", http2, n, d)
				}
				transport.CloseIdleConnections()
				synctest.Wait()
			}
		})
	}
}

// TestFailedDialIsShared: all callers that wait for a failing connection fail
// with it, and the next one tries again.
func TestFailedDialIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("no route to host")
		var dials atomic.Int32
		transport := NewTransport(0, func(t *http.Transport) {
			t.DialContext = func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				stub.Elapse(time.Second)
				return nil, failure
			}
		})
		for round := range int32(2) {
			var callers sync.WaitGroup
			for range 10 {
				callers.Go(func() {
					if _, err := get(&http.Client{Transport: transport}, "https://example.com/"); !errors.Is(err, failure) {
						t.Error(err)
					}
				})
			}
			callers.Wait()
			if n := dials.Load(); n != round+1 {
				t.Errorf("%d dials in %d rounds", n, round+1)
			}
		}
	})
}

// slowAttempt is a context that takes a second to return its attempt.
type slowAttempt struct{ context.Context }

func (c slowAttempt) Value(key any) any {
	if key == (attemptKey{}) {
		stub.Elapse(time.Second)
	}
	return c.Context.Value(key)
}

// TestLimitOfAnotherAttempt: an attempt that may make no more connections does
// not fail another attempt, which connects at the same time.
func TestLimitOfAnotherAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, roots := tlsServer(t, true, func(http.ResponseWriter, *http.Request) {})
		transport := NewTransport(0, func(t *http.Transport) {
			t.TLSClientConfig = &tls.Config{RootCAs: roots}
			t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) }
		})
		spent, fresh := Begin(t.Context(), time.Time{}), Begin(t.Context(), time.Time{})
		defer spent.End()
		defer fresh.End()
		for range maxConnsPerAttempt {
			spent.mayConnect()
		}
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := transport.DialTLSContext(slowAttempt{spent}, "tcp", "example.com:443"); err != errStorm {
				t.Errorf("an attempt without a connection left: %v", err)
			}
		})
		synctest.Wait()
		conn, err := transport.DialTLSContext(fresh, "tcp", "example.com:443")
		if err != nil {
			t.Errorf("another attempt: %v", err)
		} else {
			conn.Close()
		}
		callers.Wait()
	})
}

// TestCanceledDialIsNotShared: if the call that dials has ended, its connection
// counts as idle, and CloseIdleConnections cancels it. That does not fail the
// calls that wait for it: they share another one.
func TestCanceledDialIsNotShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, roots := tlsServer(t, true, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
		var dials atomic.Int32
		transport := NewTransport(0, func(t *http.Transport) {
			t.TLSClientConfig = &tls.Config{RootCAs: roots}
			t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				if dials.Add(1) == 1 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				stub.Elapse(50 * time.Millisecond)
				return l.Dial(ctx)
			}
		})
		defer transport.CloseIdleConnections()
		ctx, cancel := context.WithCancel(t.Context())
		first, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := transport.RoundTrip(first); !errors.Is(err, context.Canceled) {
				t.Errorf("the canceled call: %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			callers.Go(func() {
				if body, err := get(&http.Client{Transport: transport}, "https://example.com/"); body != "ok" {
					t.Errorf("another call: %q, %v", body, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		transport.CloseIdleConnections()
		callers.Wait()
		stub.Elapse(time.Second) // the dials that share the connection end
		if n := dials.Load(); n != 2 {
			t.Errorf("%d connections, want the canceled one and another that the calls share", n)
		}
	})
}

// TestHandshakeTakesTooLong: a server accepts connections and stays silent.
func TestHandshakeTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := NewTransport(0, func(t *http.Transport) {
			t.DialContext = func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, far) }()
				return near, nil
			}
		})
		start := time.Now()
		_, err := get(&http.Client{Transport: transport}, "https://example.com/")
		if !errors.Is(err, errHandshake) || time.Since(start) != transport.TLSHandshakeTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestConnectionsOfAnAttempt: if net/http makes one connection after the other,
// the attempt ends, with the SDK's transport and with another one.
func TestConnectionsOfAnAttempt(t *testing.T) {
	t.Parallel()
	for _, foreign := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l, roots := tlsServer(t, true, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
			dials := 0
			change := func(t *http.Transport) {
				t.TLSClientConfig, t.ForceAttemptHTTP2 = &tls.Config{RootCAs: roots}, true
				t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
					dials++
					return l.Dial(ctx)
				}
			}
			var transport http.RoundTripper = NewTransport(0, change)
			if foreign {
				t := new(http.Transport)
				change(t)
				transport = t
			}
			attempt := Begin(t.Context(), time.Now().Add(time.Minute))
			defer attempt.End()
			for range 2 * maxConnsPerAttempt {
				attempt.mayConnect() // as if they had been of no use
			}
			req, err := http.NewRequestWithContext(attempt, http.MethodGet, "https://example.com/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Guard(transport).RoundTrip(req); !errors.Is(err, errStorm) || dials > 1 {
				t.Errorf("foreign %v: %v after %d dials", foreign, err, dials)
			}
		})
	}
}

// deadConn is a connection through a relay that stops forwarding.
type deadConn struct {
	net.Conn
	dead   *atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (c *deadConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.dead.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *deadConn) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *deadConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// TestDeadConnection: a dead HTTP/2 connection is given up during an attempt,
// so that the next attempt gets a new connection.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	for _, patience := range []time.Duration{0, 5 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			l, roots := tlsServer(t, true, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
			var dead *atomic.Bool
			transport := NewTransport(patience, func(t *http.Transport) {
				t.TLSClientConfig = &tls.Config{RootCAs: roots}
				t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
					conn, err := l.Dial(ctx)
					dead = new(atomic.Bool)
					return &deadConn{Conn: conn, dead: dead, closed: make(chan struct{})}, err
				}
			})
			defer transport.CloseIdleConnections()
			hc := &http.Client{Transport: transport}
			if _, err := get(hc, "https://example.com/"); err != nil {
				t.Fatal(err)
			}
			dead.Store(true)
			start, limit := time.Now(), patience
			if limit == 0 {
				limit = time.Minute
			}
			if body, err := get(hc, "https://example.com/"); err == nil || time.Since(start) > limit {
				t.Errorf("patience %v: %q, %v after %v", patience, body, err, time.Since(start))
			}
			if body, err := get(hc, "https://example.com/"); body != "ok" {
				t.Errorf("patience %v: then %v", patience, err)
			}
		})
	}
}
