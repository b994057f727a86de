package sdktest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// Peer is the other end of in-memory connections. Its behavior for each request
// is scripted.
type Peer struct {
	Listener *memnet.Listener

	arrived atomic.Int32
}

// Handler is the behavior of a peer on one connection; it may read the request
// first.
type Handler func(p *Peer, conn net.Conn)

// StartPeer handles the nth connection with the nth exchange, and all later
// connections with the last exchange. Call it inside a synctest bubble.
func StartPeer(t *testing.T, exchanges ...Handler) *Peer {
	t.Helper()
	p := &Peer{Listener: memnet.Listen()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			conn, err := p.Listener.Accept()
			if err != nil {
				return
			}
			exchanges[min(i, len(exchanges)-1)](p, conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		p.Listener.Close()
		<-done
	})
	return p
}

// Client returns a client of the peer.
func (p *Peer) Client(t *testing.T, opts ...cloudapi.Option) *cloudapi.Client {
	t.Helper()
	transport := p.Listener.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	client, err := cloudapi.NewClient(append([]cloudapi.Option{
		cloudapi.WithBaseURL("http://api.localhost"), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project),
		cloudapi.WithHTTPClient(&http.Client{Transport: transport}), cloudapi.WithTimeout(time.Minute),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Requests returns the number of requests that arrived completely.
func (p *Peer) Requests() int { return int(p.arrived.Load()) }

// Read reads a request, and counts it if it arrived completely.
func (p *Peer) Read(conn net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	io.Copy(io.Discard, req.Body)
	p.arrived.Add(1)
}

// Answers returns a handler that reads the request and writes a response.
func Answers(status int, header, body string) Handler {
	return func(p *Peer, conn net.Conn) {
		p.Read(conn)
		fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s",
			status, header, len(body), body)
	}
}

// LosesReply reads the request and closes the connection.
func LosesReply(p *Peer, conn net.Conn) { p.Read(conn) }

// ResetsAtOnce closes the connection before it reads anything.
func ResetsAtOnce(*Peer, net.Conn) {}

// Cuts returns a handler that reads the request, and closes the connection after
// the given number of bytes of the response's body.
func Cuts(status int, body string, bytes int) Handler {
	return func(p *Peer, conn net.Conn) {
		p.Read(conn)
		fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body[:bytes])
	}
}

// Hangs reads the request and never responds.
func Hangs(p *Peer, conn net.Conn) {
	p.Read(conn)
	io.Copy(io.Discard, conn)
}
