package reliability

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestCreates cuts exchanges of every operation that the server must not
// execute twice, by a close and by a reset, within the request and within the
// response; with -every it does so at each byte. After the cut the server
// works, so it would execute a retry.
func TestCreates(t *testing.T) {
	total, executed, succeeded := 0, 0, 0
	for _, op := range operations(t) {
		if !op.creates {
			continue
		}
		whole := cutExchange(t, op, cut{request: -1, reply: -1})
		if whole.err != nil || whole.executed != 1 {
			t.Fatalf("%s without a cut: %+v", op.name, whole)
		}
		step := 29
		if *every {
			step = 1
		}
		var cuts []cut
		for _, reset := range []bool{false, true} {
			for n := 0; n < whole.sent; n += step {
				cuts = append(cuts, cut{request: n, reply: -1, reset: reset})
			}
			for n := 0; n <= whole.received; n += step {
				cuts = append(cuts, cut{request: -1, reply: n, reset: reset})
			}
		}
		total += len(cuts)
		for _, c := range cuts {
			o := cutExchange(t, op, c)
			executed += o.executed
			switch {
			case o.executed > 1:
				t.Errorf("%s, %+v: executed %d times", op.name, c, o.executed)
			case o.err != nil && !errors.Is(o.err, cloudapi.ErrOutcomeUnknown): // there was a connection, so the client can't know
				t.Errorf("%s, %+v: executed %d times, and the error claims to know: %v", op.name, c, o.executed, o.err)
			case o.err == nil && (c.reply < whole.received || o.executed != 1 || o.value == nil):
				t.Errorf("%s, %+v: succeeded with %v, executed %d times", op.name, c, o.value, o.executed)
			case o.err == nil:
				succeeded++
			}
		}
	}
	if executed <= succeeded || executed >= total {
		t.Errorf("the cuts do not cover both sides of the truth: of %d, %d were executed, and %d succeeded", total, executed, succeeded)
	}
	t.Logf("%d cuts, %d executed", total, executed)
}

// cut is the end of the first exchange: after a number of bytes of the request
// or of the response; -1 means no cut.
type cut struct {
	request, reply int
	reset          bool
}

type cutResult struct {
	value          any
	err            error
	executed       int
	sent, received int // bytes, on the first connection
}

func cutExchange(t *testing.T, op operation, c cut) (o cutResult) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &peer{op: &op, script: reads((*exchange).works)}
		var first *cutConn
		client := newClient(t, "http://", transport(true, func(t *http.Transport) {
			t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := p.dial(ctx, network, address)
				if first == nil && err == nil {
					first = &cutConn{Conn: conn, cut: c}
					conn = first
				}
				return conn, err
			}
		}))
		o.value, o.err = op.call(t.Context(), client)
		client.CloseIdleConnections()
		synctest.Wait()
		p.stop()
		o.executed = int(p.executed.Load())
		o.sent, o.received = int(first.written.Load()), int(first.read.Load())
	})
	return o
}

// cutConn is a connection that ends in the middle.
type cutConn struct {
	net.Conn
	cut           cut
	written, read atomic.Int64
}

// broken ends the connection, and returns the error that its user gets.
func (c *cutConn) broken(op string, inOrder error) error {
	c.Conn.Close()
	if c.cut.reset {
		return &net.OpError{Op: op, Net: "tcp", Err: syscall.ECONNRESET}
	}
	return inOrder
}

func (c *cutConn) Write(b []byte) (int, error) {
	if left := c.cut.request - int(c.written.Load()); c.cut.request >= 0 && left < len(b) {
		n, _ := c.Conn.Write(b[:left])
		c.written.Add(int64(n))
		return n, c.broken("write", &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE})
	}
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

func (c *cutConn) Read(b []byte) (int, error) {
	if c.cut.reply >= 0 {
		left := c.cut.reply - int(c.read.Load())
		if left == 0 {
			// Wait for the end of the request, since this cut is in the
			// response.
			var one [1]byte
			c.Conn.Read(one[:])
			return 0, c.broken("read", io.EOF)
		}
		b = b[:min(len(b), left)]
	}
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}
