package reliability

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// peer is the other end of the connections. Its behavior in each exchange is
// scripted, and it knows which requests it has executed.
type peer struct {
	op     *operation
	script script

	mu    sync.Mutex
	links []*link // including closed ones

	turns    atomic.Int32 // exchanges that have begun
	arrived  atomic.Int32 // requests that it received completely
	executed atomic.Int32 // requests that were executed
	declined atomic.Int32 // requests that were refused, and not executed
	sound    atomic.Int32 // good responses that it sent completely
	badHosts atomic.Int32 // connections to, or requests for, another host
	received atomic.Int64 // bytes that the client received
	open     atomic.Int32 // connections that the client hasn't closed
}

// script is the behavior of a peer in one exchange.
type script func(*exchange)

const host = "api.localhost"

// exchange is a connection of HTTP/1.1 with a request on it.
type exchange struct {
	net.Conn
	*peer
	reader *bufio.Reader
	link   *link // below TLS
}

// dial connects to the peer, which runs its script on each connection.
func (p *peer) dial(_ context.Context, _, address string) (net.Conn, error) {
	if name, _, _ := strings.Cut(address, ":"); name != host {
		p.badHosts.Add(1)
	}
	near, far := net.Pipe()
	l := &link{Conn: far, left: make(chan struct{})}
	p.open.Add(1)
	p.mu.Lock()
	p.links = append(p.links, l)
	p.mu.Unlock()
	go func() {
		defer l.Close()
		p.script(&exchange{Conn: l, peer: p, reader: bufio.NewReader(l), link: l})
	}()
	return &clientConn{Conn: near, peer: p, link: l}, nil
}

// connections returns how many connections there were.
func (p *peer) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// stop ends all connections, including any that the client has left open.
func (p *peer) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		l.Close()
		l.end.Do(func() { close(l.left) })
	}
}

// request reads a whole request, and reports whether there was one.
func (x *exchange) request() bool {
	r, err := http.ReadRequest(x.reader)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return false
	}
	x.arrived.Add(1)
	if r.Host != host || r.Header.Get("Authorization") != "Bearer "+token {
		x.badHosts.Add(1)
	}
	return true
}

// execute executes the request.
func (x *exchange) execute() { x.executed.Add(1) }

// send writes a response with the body's length and ends the connection.
func (x *exchange) send(status int, contentType, body string, header ...string) {
	x.head(status, contentType, append(header, fmt.Sprintf("Content-Length: %d", len(body)))...)
	io.WriteString(x, body)
}

// head writes the head of a response.
func (x *exchange) head(status int, contentType string, header ...string) {
	lines := append([]string{fmt.Sprintf("HTTP/1.1 %d X", status), "Content-Type: " + contentType, "Connection: close"}, header...)
	io.WriteString(x, strings.Join(lines, "\r\n")+"\r\n\r\n")
}

// works executes the request and responds as the contract says.
func (x *exchange) works() {
	x.execute()
	if x.op.kind == none {
		io.WriteString(x, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	} else {
		x.send(http.StatusOK, x.contentType(), x.op.reply)
	}
	x.sound.Add(1)
}

func (x *exchange) contentType() string {
	if x.op.kind == file {
		return "application/x-pem-file"
	}
	return "application/json"
}

// hang waits until the client closes the connection.
func (x *exchange) hang() { io.Copy(io.Discard, x.reader) }

// sleep pauses, but not longer than the client stays.
func (x *exchange) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-x.link.left:
	}
}

// reset ends the connection with a reset; a close would end it in order.
func (x *exchange) reset() {
	x.link.broken.Store(true)
	x.link.Close()
}

// startTLS encrypts the rest of the exchange.
func (x *exchange) startTLS(config *tls.Config) {
	x.Conn = tls.Server(x.link, config)
	x.reader = bufio.NewReader(x.Conn)
}

// link is the peer's end of a connection.
type link struct {
	net.Conn
	broken atomic.Bool
	left   chan struct{} // closed when the client has closed its end
	end    sync.Once
}

// clientConn is the client's end of a connection.
type clientConn struct {
	net.Conn
	peer   *peer
	link   *link
	closed atomic.Bool
}

func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.peer.received.Add(int64(n))
	if err == io.EOF && c.link.broken.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

func (c *clientConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return n, err
}

func (c *clientConn) Close() error {
	if !c.closed.Swap(true) {
		c.peer.open.Add(-1)
		c.link.end.Do(func() { close(c.link.left) })
	}
	return c.Conn.Close()
}
