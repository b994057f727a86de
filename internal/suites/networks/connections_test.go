package networks_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
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
		n := &network{Listener: memnet.Listen()}
		executed := serve(t, n.Listener, nil)
		client := newClient(t, "http://api.localhost", cloudapi.WithTimeout(10*time.Second),
			cloudapi.WithTransport(func(t *http.Transport) { t.DialContext = n.dial }))
		defer client.CloseIdleConnections()
		const calls = 10
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

// TestCanceledCallsKeepConnections: a call that the program cancels says nothing
// about the connections.
func TestCanceledCallsKeepConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &network{Listener: memnet.Listen()}
		serve(t, n.Listener, nil)
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
