package cloudapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
)

// TestConnectionsAreBounded: callers beyond the bound wait, and connections
// are kept for the next ones.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var connections atomic.Int32
		listener := memnet.Listen()
		server := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, testVM)
			}),
			ConnState: func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			},
		}
		go func() { _ = server.Serve(listener) }()
		defer server.Close()
		transport := newTransport().(*http.Transport)
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.Dial(ctx) }
		client, err := NewClient(WithBaseURL("http://127.0.0.1"), WithToken(testToken), WithProject(testProject),
			WithHTTPClient(&http.Client{Transport: transport}))
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()

		var callers sync.WaitGroup
		for range maxConns + 36 {
			callers.Go(func() {
				for range 5 {
					if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil {
						t.Error(err)
					}
				}
			})
		}
		callers.Wait()
		if n := connections.Load(); n > maxConns {
			t.Errorf("%d connections, at most %d are wanted", n, maxConns)
		}
	})
}

// TestHeadersAreBounded: the SDK's own transport does not take a good reply with
// 2 MiB of headers, which net/http would by default.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		filler := "X-Filler: " + strings.Repeat("x", 8<<10) + "\r\n"
		p := startPeer(t, answers(http.StatusOK, strings.Repeat(filler, 256), testVM))
		transport := newTransport().(*http.Transport)
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return p.listener.Dial(ctx) }
		client := p.client(t, WithHTTPClient(&http.Client{Transport: transport}), WithRetry(RetryPolicy{MaxAttempts: 1}))
		defer client.CloseIdleConnections()
		vm, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
		if _, ok := errors.AsType[*TransportError](err); !ok || vm != nil || p.requests() != 1 {
			t.Errorf("got %v, %v after %d requests", vm, err, p.requests())
		}
	})
}

// brokenConn is a connection that takes one request.
type brokenConn struct {
	net.Conn
	writes int
}

func (c *brokenConn) Write(b []byte) (int, error) {
	if c.writes++; c.writes > 1 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// TestUnwrittenCreate: a create for which a kept connection has nothing to write
// on goes to another one, since nothing was sent.
func TestUnwrittenCreate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startPeer(t, resetsAtOnce) // for its counts: the connections are made here
		transport := p.listener.Transport()
		defer transport.CloseIdleConnections()
		dials, keep := 0, make(chan struct{})
		defer close(keep)
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			near, far := net.Pipe()
			dials++
			first := dials == 1
			go func() {
				defer far.Close()
				if first {
					p.read(far)
					_, _ = io.WriteString(far, "HTTP/1.1 204 No Content\r\n\r\n")
					<-keep
					return
				}
				answers(http.StatusOK, "", testVM)(p, far)
			}()
			if first {
				return &brokenConn{Conn: near}, nil
			}
			return near, nil
		}
		client := p.client(t, WithHTTPClient(&http.Client{Transport: transport}))
		if err := client.VMs.Delete(t.Context(), "eu-central-h1", "web-2"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		vm, err := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", &VMCreateRequest{PublicKey: "laptop"})
		if err != nil || vm.ID != testVMID || p.requests() != 2 || dials != 2 {
			t.Errorf("got %v, %v after %d requests on %d connections", vm, err, p.requests(), dials)
		}
	})
}

// TestAttemptsEnd: after the call nothing runs that its attempts began.
func TestAttemptsEnd(t *testing.T) {
	t.Parallel()
	var attempt context.Context
	client := mockClient(t, roundTripperFunc(func(req *http.Request) (*http.Response, error) {
		attempt = req.Context()
		if attempt.Err() != nil {
			t.Errorf("an attempt begins with %v", attempt.Err())
		}
		return respond(http.StatusOK, testVM), nil
	}))
	_, getErr := client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
	if getErr != nil || attempt.Err() != context.Canceled {
		t.Errorf("%v, and the context of the attempt has %v", getErr, attempt.Err())
	}
	_, createErr := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", &VMCreateRequest{PublicKey: "laptop"})
	if createErr != nil || attempt.Err() != context.Canceled {
		t.Errorf("%v, and the context of the attempt has %v", createErr, attempt.Err())
	}
}

// TestLoopbackIsLoopback: what may get credentials without encryption is neither
// asked of a proxy nor looked up. net/http takes the proxy from the environment
// once, so a process of its own is the client.
func TestLoopbackIsLoopback(t *testing.T) {
	t.Parallel()
	if address := os.Getenv("TEST_LOOPBACK_ADDRESS"); address != "" {
		client, err := NewClient(WithBaseURL(address), WithToken(testToken), WithProject(testProject), WithRetry(RetryPolicy{MaxAttempts: 1}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil {
			t.Error(err)
		}
		return
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		t.Errorf("the proxy got a request to %s with %q", req.Host, req.Header["Authorization"])
	}))
	defer proxy.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, testVM)
	}))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "api.localhost"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLoopbackIsLoopback$")
		cmd.Env = []string{"HTTP_PROXY=" + proxy.URL, "TEST_LOOPBACK_ADDRESS=http://" + host + ":" + port}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", host, err, out)
		}
	}
}

// TestMiddlewareCannotMakeRepeatable: a header that tells net/http to send a
// request again is on the wire, and the request is there once.
func TestMiddlewareCannotMakeRepeatable(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(context.Context, *Client) error{
		"with a body": func(ctx context.Context, c *Client) error {
			_, err := c.VMs.Create(ctx, "eu-central-h1", "web-1", &VMCreateRequest{PublicKey: "laptop"})
			return err
		},
		"without a body": func(ctx context.Context, c *Client) error {
			_, err := c.VMs.Restart(ctx, "eu-central-h1", "web-1")
			return err
		},
	} {
		for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
			synctest.Test(t, func(t *testing.T) {
				var wire bytes.Buffer
				p := startPeer(t, func(p *peer, conn net.Conn) {
					reader := bufio.NewReader(io.TeeReader(conn, &wire))
					for range 2 {
						req, err := http.ReadRequest(reader)
						if err != nil {
							return
						}
						_, _ = io.Copy(io.Discard, req.Body)
						p.arrived.Add(1)
						if req.Method == http.MethodPost {
							return
						}
						_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
					}
				})
				client := p.client(t, WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return roundTripperFunc(func(req *http.Request) (*http.Response, error) {
						keyed := req.Clone(req.Context())
						keyed.Header.Set(header, "key-1")
						resp, err := next.RoundTrip(keyed)
						if keyed.Header.Get(header) != "key-1" {
							t.Error("the header of the middleware's request has changed")
						}
						return resp, err
					})
				}))
				if err := client.VMs.Delete(t.Context(), "eu-central-h1", "web-2"); err != nil {
					t.Fatal(err) // it leaves a connection that was in use
				}
				err := create(t.Context(), client)
				if !errors.Is(err, ErrOutcomeUnknown) || p.requests() != 2 {
					t.Errorf("%s, %s: %v after %d requests", name, header, err, p.requests()-1)
				}
				synctest.Wait()
				if n := strings.Count(wire.String(), "\r\n"+strings.ToLower(header)+": key-1\r\n"); n != 2 {
					t.Errorf("%s, %s: the header was sent %d times in\n%s", name, header, n, &wire)
				}
			})
		}
	}
}

// TestAttemptContext: the time runs from the beginning of the attempt, whoever
// asks first and whenever that is, and not beyond its end.
func TestAttemptContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		defer cancel()
		begin := time.Now()
		attempt := func() *attemptContext {
			return &attemptContext{Context: parent, deadline: begin.Add(time.Minute)}
		}

		late := attempt()
		elapse(59 * time.Second)
		child, stopChild := context.WithCancel(late)
		defer stopChild()
		<-child.Done()
		if d := time.Since(begin); d != time.Minute || child.Err() != context.DeadlineExceeded || late.Err() != context.DeadlineExceeded {
			t.Errorf("it ended after %v with %v and %v", d, child.Err(), late.Err())
		}
		late.stop()

		ended := attempt()
		ended.deadline = time.Now().Add(time.Minute)
		child, stopChild = context.WithCancel(ended)
		defer stopChild()
		ended.stop()
		if child.Err() != context.Canceled {
			t.Errorf("after the attempt, what derives from it has the error %v", child.Err())
		}

		unused := attempt()
		unused.stop()
		_, hasDeadline := unused.Deadline()
		if unused.Err() != nil || hasDeadline || unused.Done() != parent.Done() || unused.Value(key{}) != "value" {
			t.Error("a context that nobody asked is not the call's after the attempt")
		}
	})
}
