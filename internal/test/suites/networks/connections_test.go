package networks_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// network is an in-memory network whose connections can be forgotten, like
// those behind a NAT: what is then sent on them is lost.
type network struct {
	*memnet.Listener
	mu    sync.Mutex
	dials int
	conns []*forgettable
}

type forgettable struct {
	net.Conn
	forgotten atomic.Bool
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := n.Dial(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials++
	c := &forgettable{Conn: conn}
	n.conns = append(n.conns, c)
	return c, nil
}

// forget loses all connections.
func (n *network) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.forgotten.Store(true)
	}
	n.conns = nil
}

func (c *forgettable) Write(b []byte) (int, error) {
	if c.forgotten.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// TestForgottenConnections: when the connections of a client are dead, each call
// takes one attempt to notice it, and not one for each connection.
func TestForgottenConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls = 10
		n := &network{Listener: memnet.Listen()}
		executed := serve(t, n.Listener, nil, calls)
		client := newClient(t, "http://api.localhost", cloudapi.WithTimeout(10*time.Second),
			cloudapi.WithTransport(func(t *http.Transport) { t.DialContext = n.dial }))
		defer client.CloseIdleConnections()
		all := func() {
			var wg sync.WaitGroup
			for range calls {
				wg.Go(func() {
					if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}
		all()
		synctest.Wait()
		n.forget()
		start, dials := time.Now(), n.dials
		if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil {
			t.Error(err)
		}
		if took := time.Since(start).Round(time.Second); took != 10*time.Second || n.dials != dials+1 {
			t.Errorf("a call took %v and %d dials", took, n.dials-dials)
		}
		start = time.Now()
		all()
		if took := time.Since(start); took > time.Second || executed.Load() != 2*calls+1 {
			t.Errorf("further calls took %v; %d were executed", took, executed.Load())
		}
	})
}

// TestForgottenHTTP2Connection: all calls share one connection. When it's dead,
// each call takes one attempt to notice it.
func TestForgottenHTTP2Connection(t *testing.T) {
	t.Parallel()
	trusted := newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{trusted.issue(t, time.Hour)}, NextProtos: []string{"h2"}}
	synctest.Test(t, func(t *testing.T) {
		const calls, limit = 20, 3 * time.Second
		n := &network{Listener: memnet.Listen()}
		protocols := new(http.Protocols)
		protocols.SetHTTP2(true)
		executed := serve(t, tls.NewListener(n.Listener, config), protocols, 1)
		client := newClient(t, "https://api.example.com", cloudapi.WithTimeout(limit), cloudapi.WithTransport(func(t *http.Transport) {
			t.DialContext = n.dial
			t.TLSClientConfig = &tls.Config{RootCAs: trusted.pool(), ServerName: "127.0.0.1"}
			t.Protocols.SetHTTP2(true)
		}))
		defer client.CloseIdleConnections()
		stub.Must(client.VMs.Get(t.Context(), "eu-central-h1", "web-1"))(t)
		n.forget()
		start, dials := time.Now(), n.dials
		if _, err := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil); !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			t.Errorf("a create on the dead connection: %v", err)
		}
		synctest.Wait() // for the end of the stream
		if _, err := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil); err != nil {
			t.Errorf("the next create: %v", err)
		}
		if took := time.Since(start).Round(time.Second); took != limit || n.dials != dials+1 {
			t.Errorf("the creates took %v and %d dials", took, n.dials-dials)
		}
		n.forget()
		start, dials = time.Now(), n.dials
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start).Round(time.Second); took != limit || executed.Load() != calls+2 {
			t.Errorf("the calls took %v and %d dials; %d requests were executed", took, n.dials-dials, executed.Load())
		}
	})
}

// TestCanceledCallsKeepConnections: a call that the program cancels says nothing
// about the connections.
func TestCanceledCallsKeepConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &network{Listener: memnet.Listen()}
		serve(t, n.Listener, nil, 2)
		client := newClient(t, "http://api.localhost", cloudapi.WithTransport(func(t *http.Transport) { t.DialContext = n.dial }))
		defer client.CloseIdleConnections()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { stub.Must(client.VMs.Get(t.Context(), "eu-central-h1", "web-1"))(t) })
		}
		wg.Wait()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		canceled := stub.Must(client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				cancel()
				return next.RoundTrip(req)
			})
		})))(t)
		if _, err := canceled.VMs.Get(ctx, "eu-central-h1", "web-1"); err == nil {
			t.Error("a canceled call succeeded")
		}
		dials := n.dials
		stub.Must(client.VMs.Get(t.Context(), "eu-central-h1", "web-1"))(t)
		if n.dials != dials {
			t.Error("the idle connections were closed")
		}
	})
}

// TestNoConnection: the error of an attempt that never got a connection says so,
// whatever it waited for.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	lost := func(ctx context.Context, _, _ string) (net.Conn, error) { // all packets are dropped
		<-ctx.Done()
		return nil, ctx.Err()
	}
	silent := func(context.Context, string, string) (net.Conn, error) { // nobody responds
		near, far := net.Pipe()
		go func() {
			io.Copy(io.Discard, far)
			far.Close()
		}()
		return near, nil
	}
	proxy := func(scheme string) func(*http.Request) (*url.URL, error) {
		return http.ProxyURL(&url.URL{Scheme: scheme, Host: "proxy.example.com:3128"})
	}
	for name, change := range map[string]func(*http.Transport){
		"a dial":          func(t *http.Transport) { t.DialContext = lost },
		"a TLS handshake": func(t *http.Transport) { t.DialContext = silent },
		"CONNECT":         func(t *http.Transport) { t.DialContext, t.Proxy = silent, proxy("http") },
		"SOCKS5":          func(t *http.Transport) { t.DialContext, t.Proxy = silent, proxy("socks5h") },
		"TLS to a proxy":  func(t *http.Transport) { t.DialContext, t.Proxy = silent, proxy("https") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const limit = 10 * time.Second
				client := newClient(t, "https://api.example.com", cloudapi.WithTransport(change), cloudapi.WithTimeout(limit))
				defer client.CloseIdleConnections()
				start := time.Now()
				_, created := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil)
				_, got := client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
				for _, err := range []error{created, got} {
					if err == nil || strings.Count(err.Error(), "no connection to api.example.com within 10s (after 4 attempts)") != 1 || strings.Count(err.Error(), "api.example.com") != 1 ||
						!errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cloudapi.ErrOutcomeUnknown) {
						t.Error(err)
					}
				}
				if took := time.Since(start).Round(time.Second); took != 8*limit {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// TestErrorsNameTheHost: an error names the host of the base URL once.
func TestErrorsNameTheHost(t *testing.T) {
	t.Parallel()
	page := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			io.WriteString(w, "<h1>It works!</h1>")
		}
	}
	servers := map[string]*httptest.Server{
		"another server's page": httptest.NewServer(page(200)),
		"another server's 404":  httptest.NewServer(page(404)),
		"EOF":                   httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })),
		"an unknown authority":  httptest.NewUnstartedServer(page(200)),
		"nobody":                httptest.NewServer(page(200)),
	}
	servers["an unknown authority"].Config.ErrorLog = log.New(io.Discard, "", 0)
	servers["an unknown authority"].StartTLS()
	servers["nobody"].Close()
	for name, server := range servers {
		defer server.Close()
		var log strings.Builder
		_, err := newClient(t, server.URL, cloudapi.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		_, host, _ := strings.Cut(server.URL, "://")
		if err == nil || strings.Count(err.Error(), host) != 1 {
			t.Errorf("%s at %s: %v", name, host, err)
		}
		if !strings.Contains(log.String(), "host="+host) {
			t.Errorf("%s at %s: the log is %s", name, host, log.String())
		}
	}
}

// TestOnlyHTTP2: the error of a server that speaks only HTTP/2 has its first
// frame, which docs/http.md explains. A create isn't repeated.
func TestOnlyHTTP2(t *testing.T) {
	t.Parallel()
	l := handling(t, func(conn net.Conn) {
		conn.Read(make([]byte, 1))
		io.WriteString(conn, "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80")         // the settings
		io.WriteString(conn, "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01") // GOAWAY
	})
	client := newClient(t, "http://"+l.Addr().String())
	_, created := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil)
	_, got := client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
	for _, err := range []error{created, got} {
		if err == nil || !strings.Contains(err.Error(), `malformed HTTP response "\x00\x00\x06\x04`) || errors.Is(err, cloudapi.ErrOutcomeUnknown) != (err == created) {
			t.Error(err)
		}
	}
	if l.accepted.Load() != 5 {
		t.Errorf("%d connections", l.accepted.Load())
	}
}

// TestTLSConfigIsThere: a change of the transport can set a field of its TLS
// configuration.
func TestTLSConfigIsThere(t *testing.T) {
	t.Parallel()
	trusted := newAuthority(t)
	l := listen(t)
	executed := serve(t, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{trusted.issue(t, time.Hour)}}), nil, 1)
	trusting := cloudapi.WithTransport(func(t *http.Transport) { t.TLSClientConfig.RootCAs = trusted.pool() })
	if _, err := newClient(t, "https://"+l.Addr().String(), trusting).VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil || executed.Load() != 1 {
		t.Error(err)
	}
}
