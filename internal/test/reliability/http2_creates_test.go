package reliability

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestHTTP2Creates: many concurrent creates on a real HTTP/2 server, from a
// cold start, with a transport of the SDK and one of the user. Servers end each
// connection with a GOAWAY after some requests, as nginx does, or permit few
// streams on a connection. No create is executed twice. Creates that the server
// hasn't executed fail, and say so.
func TestHTTP2Creates(t *testing.T) {
	for _, s := range []http2Server{
		{streams: 128, goAway: 50, body: true, foreign: true},
		{streams: 128, goAway: 50},
		{streams: 50, body: true},
		{streams: 1, foreign: true},
	} {
		const creates = 150
		synctest.Test(t, func(t *testing.T) {
			r := s.run(t, creates)
			succeeded := creates - r.failed
			if r.duplicates > 0 || r.executed < succeeded || r.executed > succeeded+r.unknown || succeeded == 0 {
				t.Errorf("%+v: %+v", s, r)
			}
		})
	}
}

// TestResetCreates: a server executes creates, and then resets the stream with a
// PROTOCOL_ERROR or the connection. Whatever transport sends them, each arrives
// once, although net/http may believe that it wasn't executed.
func TestResetCreates(t *testing.T) {
	_, roots := trusted()
	creates := slices.DeleteFunc(sample(operations(t)), func(op operation) bool { return !op.creates })
	registers := func(t *http.Transport) {
		speaks(true, false)(t)
		other := &http.Transport{DialContext: t.DialContext, TLSClientConfig: t.TLSClientConfig}
		speaks(false, true)(other)
		t.RegisterProtocol("https", other)
	}
	for name, tt := range map[string]struct {
		transport string
		change    func(*http.Transport)
	}{
		"HTTP/1.1 of the SDK":         {"SDK", speaks(true, false)},
		"HTTP/2 of the SDK":           {"SDK", speaks(false, true)},
		"HTTP/1.1 of the program":     {"program", speaks(true, false)},
		"HTTP/2 of the program":       {"program", speaks(false, true)},
		"HTTP/2 registered":           {"program", registers},
		"HTTP/1.1 of an unknown type": {"unknown", speaks(true, false)},
		"HTTP/2 of an unknown type":   {"unknown", speaks(false, true)},
		"HTTP/2 of the default":       {"default", speaks(false, true)},
	} {
		for _, op := range creates {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{op: &op}
				base := "http://"
				p.script = executes((*exchange).reset)
				if strings.HasPrefix(name, "HTTP/2") {
					base = "https://"
					p.script = http2(func(s *stream) {
						if p.executed.Load() > 0 {
							s.works()
							return
						}
						s.execute()
						s.resets(codeProtocol)
					})
				}
				change := func(t *http.Transport) {
					t.DialContext, t.TLSClientConfig = p.dial, &tls.Config{RootCAs: roots}
					tt.change(t)
				}
				option := transport(tt.transport == "program", change)
				own := new(http.Transport)
				change(own)
				switch tt.transport {
				case "unknown":
					option = cloudapi.WithHTTPClient(&http.Client{Transport: struct{ http.RoundTripper }{own}})
				case "default": // the program replaces http.DefaultTransport; no other test runs meanwhile
					defer func(original http.RoundTripper) { http.DefaultTransport = original }(http.DefaultTransport)
					http.DefaultTransport, option = own, nil
				}
				client := newClient(t, base, option)
				if _, err := op.call(t.Context(), client); !errors.Is(err, cloudapi.ErrOutcomeUnknown) || p.executed.Load() != 1 {
					t.Errorf("%s, %s: executed %d times, %v", name, op.name, p.executed.Load(), err)
				}
				p.stop()
			})
		}
	}
}

// speaks returns a change of a transport: the versions of HTTP that it has.
func speaks(http1, http2 bool) func(*http.Transport) {
	return func(t *http.Transport) {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(http1)
		t.Protocols.SetHTTP2(http2)
	}
}

// transport returns the option for the SDK's transport or, if it's foreign, for
// one of the program, with a change.
func transport(foreign bool, change func(*http.Transport)) cloudapi.Option {
	if !foreign {
		return cloudapi.WithTransport(change)
	}
	own := new(http.Transport)
	change(own)
	return cloudapi.WithHTTPClient(&http.Client{Transport: own})
}

func newClient(t *testing.T, scheme string, opts ...cloudapi.Option) *cloudapi.Client {
	t.Helper()
	return stub.Must(cloudapi.NewClient(append(opts, cloudapi.WithBaseURL(scheme+host), cloudapi.WithToken(token), cloudapi.WithProject(projectID))...))(t)
}

// http2Server describes the limits of a server, and its load.
type http2Server struct {
	body    bool // whether the creates have a body
	streams int  // concurrent on a connection
	goAway  int  // after so many requests on a connection; 0 means never
	foreign bool // whether the transport is the user's
}

type http2Result struct{ failed, unknown, executed, duplicates int }

// run sends creates, half of them at a time.
func (s http2Server) run(t *testing.T, creates int64) (r http2Result) {
	t.Helper()
	var mu sync.Mutex
	executed := map[string]int{}
	server := &http.Server{HTTP2: &http.HTTP2Config{MaxConcurrentStreams: s.streams}}
	client := startServer(t, server, true, s.foreign, func(w http.ResponseWriter, req *http.Request, requests *atomic.Int64) {
		if req.ProtoMajor != 2 {
			t.Errorf("a request of %s", req.Proto)
		}
		mu.Lock()
		executed[req.URL.Path]++
		mu.Unlock()
		if n := requests.Add(1); s.goAway > 0 && n == int64(s.goAway) {
			w.Header().Set("Connection", "close") // which Go's server turns into a GOAWAY
		}
	})
	var next atomic.Int64
	var running sync.WaitGroup
	for range creates / 2 {
		running.Go(func() {
			for n := next.Add(1); n <= creates; n = next.Add(1) {
				if err := create(t.Context(), client, fmt.Sprintf("vm-%d", n), s.body); err != nil {
					mu.Lock()
					r.failed++
					if errors.Is(err, cloudapi.ErrOutcomeUnknown) {
						r.unknown++
					}
					mu.Unlock()
				}
			}
		})
	}
	running.Wait()
	mu.Lock()
	defer mu.Unlock()
	for _, n := range executed {
		r.executed++
		r.duplicates += n - 1
	}
	return r
}

// create sends a request that the server must not execute twice, with a body or
// without one.
func create(ctx context.Context, client *cloudapi.Client, vm string, body bool) (err error) {
	if body {
		_, err = client.VMs.Create(ctx, location, vm, &cloudapi.VMCreateRequest{PublicKey: "laptop"})
	} else {
		_, err = client.VMs.Restart(ctx, location, vm)
	}
	return err
}

// shared is the configuration of all clients of the SDK's transport. net/http
// adds h2 to it, which must not disturb those of HTTP/1.1.
var shared = sync.OnceValue(func() *tls.Config {
	_, roots := trusted()
	return &tls.Config{RootCAs: roots}
})

// startServer starts a real server, which responds to each request with the
// record of its VM, and returns a client. handle sees each request before that,
// with a counter for its connection.
func startServer(t *testing.T, server *http.Server, http2, foreign bool, handle func(http.ResponseWriter, *http.Request, *atomic.Int64)) *cloudapi.Client {
	t.Helper()
	type counter struct{}
	server.TLSConfig, server.ErrorLog = serverTLS(trusted), log.New(io.Discard, "", 0)
	server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, counter{}, new(atomic.Int64))
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		handle(w, req, req.Context().Value(counter{}).(*atomic.Int64))
		name := strings.Split(req.URL.Path, "/")[6]
		w.Header().Set("Content-Type", asJSON)
		io.WriteString(w, strings.Replace(goodRecord, `"x"`, `"`+name+`"`, 1))
	})
	l := memnet.Listen()
	go server.ServeTLS(l, "", "")
	client := newClient(t, "https://", transport(foreign, func(t *http.Transport) {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) }
		t.TLSClientConfig = shared()
		if foreign {
			t.TLSClientConfig = shared().Clone()
		}
		speaks(true, http2)(t)
	}))
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	return client
}
