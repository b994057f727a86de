package exchange

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// dial connects to an address within 30 seconds. If the process has no file
// descriptor left, dial waits for one: meanwhile, net/http gives the request a
// connection that another request of the client no longer needs.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	loadRoots()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		conn, err := dialOnce(ctx, network, address)
		if err == nil {
			return &dialedConn{Conn: conn}, nil
		}
		if !lacksDescriptor(err) || pace.Sleep(ctx, 100*time.Millisecond) != nil {
			return nil, err
		}
	}
}

// loadRoots reads the certificate authorities of the system while there are file
// descriptors. crypto/x509 reads them once, at the first handshake: if it can't,
// no later handshake of the process succeeds.
var loadRoots = sync.OnceFunc(func() { x509.SystemCertPool() })

// lacksDescriptor reports whether the process or the system has too many open
// files. It compares texts, since the errors of lookups wrap no errno.
func lacksDescriptor(err error) bool { return strings.Contains(err.Error(), "too many open files") }

// dialOnce connects to an address. Even localhost isn't looked up: without a
// hosts file, a DNS server would say where it leads.
func dialOnce(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	host, port, err := net.SplitHostPort(address)
	if err != nil || !isLocalhost(host) {
		return dialer.DialContext(ctx, network, address)
	}
	conn, err := dialer.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		if conn6, err := dialer.DialContext(ctx, network, net.JoinHostPort("::1", port)); err == nil {
			return conn6, nil
		}
	}
	return conn, err
}

// connectTimeout limits the time that a proxy has for a response to CONNECT. The
// limit of net/http is a minute, as long as the default timeout of an attempt,
// and its error doesn't say what took so long. For SOCKS5 it has no limit.
const connectTimeout = 30 * time.Second

// socks5 is the first byte of each message to a SOCKS5 proxy but the password.
// TLS and HTTP don't begin with it.
const socks5 = 5

// dialedConn is a connection of [dial]. A response to CONNECT, or to a SOCKS5
// message, must begin within connectTimeout.
type dialedConn struct {
	net.Conn
	written    atomic.Int64 // bytes, with all of those that it's writing
	connecting atomic.Bool  // whether it waits for a response to CONNECT
}

func (c *dialedConn) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("CONNECT ")) || len(b) > 0 && b[0] == socks5 {
		c.connecting.Store(true)
		c.SetReadDeadline(time.Now().Add(connectTimeout))
	}
	c.written.Add(int64(len(b))) // before the server can respond
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n - len(b)))
	return n, err
}

func (c *dialedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.connecting.CompareAndSwap(true, false) {
		return n, err
	}
	if e, ok := err.(net.Error); ok && e.Timeout() {
		return n, fmt.Errorf("the proxy didn't respond to CONNECT within %v: %w", connectTimeout, err)
	}
	c.SetReadDeadline(time.Time{})
	return n, err
}
