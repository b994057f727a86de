package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// shareDials changes a transport to limit the connections of an attempt, and to
// make only one connection at a time to an HTTP/2 server, with the transport's
// own functions. It does not change TLS connections of a transport that has its
// own function for them, or those through a proxy, which net/http makes.
func shareDials(t *http.Transport) {
	dial := t.DialContext
	if dial == nil {
		return
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if a := attemptOf(ctx); a != nil && !a.mayConnect() {
			return nil, errStorm
		}
		return dial(ctx, network, address)
	}
	if t.DialTLSContext == nil {
		s := &sharedDials{transport: t, hosts: map[string]*host{}}
		t.DialTLSContext = s.dial
	}
}

// sharedDials makes the TLS connections of a transport.
type sharedDials struct {
	transport *http.Transport

	mu    sync.Mutex
	hosts map[string]*host
}

// host is the known state of the server at an address.
type host struct {
	http1   bool    // it does not support HTTP/2
	dialing *flight // the connection in progress, which others wait for, or nil
}

// flight is a connection in progress.
type flight struct {
	done  chan struct{}
	http2 bool // set when it is done
	err   error
}

// errShared is the result of a dial if there already is an HTTP/2 connection.
// net/http gives that connection to all that wait for one.
var errShared = errors.New("there is another connection")

// dial makes a connection. If another connection is in progress to a server
// that supports HTTP/2, or may support it, dial waits for that one and shares
// its result.
func (s *sharedDials) dial(ctx context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	h := s.hosts[address]
	if h == nil {
		h = new(host)
		s.hosts[address] = h
	}
	if h.http1 {
		s.mu.Unlock()
		return s.connect(ctx, network, address)
	}
	f := h.dialing
	if f != nil {
		s.mu.Unlock()
		return s.wait(ctx, f, network, address)
	}
	f = &flight{done: make(chan struct{})}
	h.dialing = f
	s.mu.Unlock()

	conn, err := s.connect(ctx, network, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	f.http2, f.err = err == nil && isHTTP2(conn), err
	h.http1 = err == nil && !f.http2
	h.dialing = nil
	close(f.done)
	return conn, err
}

func (s *sharedDials) wait(ctx context.Context, f *flight, network, address string) (net.Conn, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// These failures concern only the attempt that made the connection: it may
	// make no more, or has ended.
	isOthers := f.err == errStorm || errors.Is(f.err, context.Canceled)
	switch {
	case f.err != nil && !isOthers:
		return nil, f.err
	case !f.http2:
		return s.dial(ctx, network, address)
	}
	// net/http takes a moment to give the connection to all.
	var ended <-chan struct{}
	if a := attemptOf(ctx); a != nil {
		ended = a.Done()
	}
	select {
	case <-ended:
	case <-time.After(time.Second):
	}
	return nil, errShared
}

// connect makes a connection as net/http does.
func (s *sharedDials) connect(ctx context.Context, network, address string) (net.Conn, error) {
	t := s.transport
	conn, err := t.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{}
	if t.TLSClientConfig != nil {
		config = t.TLSClientConfig.Clone()
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	if t.TLSHandshakeTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.TLSHandshakeTimeout, errHandshake)
		defer cancel()
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		if context.Cause(ctx) == errHandshake {
			err = errHandshake
		}
		return nil, err
	}
	return secure, nil
}

var errHandshake = errors.New("the TLS handshake took too long")
