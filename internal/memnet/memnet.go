// Package memnet is an in-memory network: a listener whose Dial method creates
// its connections. It never waits for the operating system, so that a
// testing/synctest bubble can detect that it's idle.
package memnet

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Listener accepts connections from Dial.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen returns a new Listener.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept returns the server's end of the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Dial returns the client's end of a new connection. It waits for Accept.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: addr{}, Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: addr{}, Err: ctx.Err()}
	}
}

// Close ends Accept and Dial. Existing connections stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns an address without information.
func (l *Listener) Addr() net.Addr { return addr{} }

// Transport returns an HTTP transport that uses Dial for all connections, to
// any host.
func (l *Listener) Transport() *http.Transport {
	return &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) },
		MaxIdleConnsPerHost: 64,
	}
}

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "memory" }
