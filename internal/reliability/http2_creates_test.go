package reliability

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

var creates = flag.Int("creates", 300, "how many creates TestHTTP2Creates has")

// TestHTTP2Creates: many concurrent creates on a real HTTP/2 server, from a
// cold start, with a transport of the SDK and one of the user. Servers end each
// connection with a GOAWAY after some requests, as nginx does, or permit few
// streams on a connection. No create is executed twice. Creates that the server
// hasn't executed fail, and say so. With -v it prints a table.
func TestHTTP2Creates(t *testing.T) {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "callers\tcreates\tbody\tstreams\tGOAWAY after\tfailed\tunknown\texecuted\tduplicates\tconnections\ttime")
	callers, cold := min(*creates/4, 256), min(*creates, 1024)
	for _, s := range []http2Server{
		{callers: callers, creates: *creates, streams: 128, goAway: 1000, body: true},
		{callers: callers, creates: *creates, streams: 128, goAway: 1000, foreign: true},
		{callers: callers, creates: *creates, streams: 128, goAway: 100, body: true, foreign: true},
		{callers: callers, creates: *creates, streams: 128, goAway: 100},
		{callers: cold, creates: cold, streams: 50, body: true},
		{callers: cold, creates: cold, streams: 1, foreign: true},
	} {
		r := s.run(t)
		fmt.Fprintf(w, "%d\t%d\t%v\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%v\n", s.callers, s.creates, s.body, s.streams, s.goAway,
			r.failed, r.unknown, r.executed, r.duplicates, r.connections, r.took.Round(time.Millisecond))
		succeeded := s.creates - r.failed
		if r.duplicates > 0 || r.executed < succeeded || r.executed > succeeded+r.unknown || r.failed == s.creates {
			t.Errorf("%+v: %+v: %v", s, r, r.first)
		}
	}
	w.Flush()
	if testing.Verbose() {
		fmt.Print(&table)
	}
}

// TestResetCreates: a server executes creates, and then resets the stream with a
// PROTOCOL_ERROR or the connection. Whatever transport sends them, each arrives
// once, although net/http may believe that it wasn't executed.
func TestResetCreates(t *testing.T) {
	_, roots := trusted()
	speaks := func(http2 bool) func(*http.Transport) {
		return func(t *http.Transport) {
			t.Protocols = new(http.Protocols)
			t.Protocols.SetHTTP1(!http2)
			t.Protocols.SetHTTP2(http2)
		}
	}
	registers := func(t *http.Transport) {
		speaks(false)(t)
		other := &http.Transport{DialContext: t.DialContext, TLSClientConfig: t.TLSClientConfig}
		speaks(true)(other)
		t.RegisterProtocol("https", other)
	}
	for name, tt := range map[string]struct {
		transport string
		change    func(*http.Transport)
	}{
		"HTTP/1.1 of the SDK":            {"SDK", speaks(false)},
		"HTTP/2 of the SDK":              {"SDK", speaks(true)},
		"HTTP/2 registered in the SDK's": {"SDK", registers},
		"HTTP/1.1 of the program":        {"program", speaks(false)},
		"HTTP/2 of the program":          {"program", speaks(true)},
		"HTTP/2 registered":              {"program", registers},
		"HTTP/1.1 of an unknown type":    {"unknown", speaks(false)},
		"HTTP/2 of an unknown type":      {"unknown", speaks(true)},
	} {
		for _, op := range sample(operations(t)) {
			if !op.creates {
				continue
			}
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
				option := cloudapi.WithTransport(change)
				if tt.transport != "SDK" {
					own := new(http.Transport)
					change(own)
					hc := &http.Client{Transport: own}
					if tt.transport == "unknown" {
						hc.Transport = struct{ http.RoundTripper }{own}
					}
					option = cloudapi.WithHTTPClient(hc)
				}
				client := stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL(base+host), cloudapi.WithToken(token), cloudapi.WithProject(projectID), option))(t)
				if _, err := op.call(t.Context(), client); !errors.Is(err, cloudapi.ErrOutcomeUnknown) || p.executed.Load() != 1 {
					t.Errorf("%s, %s: executed %d times, %v", name, op.name, p.executed.Load(), err)
				}
				p.stop()
			})
		}
	}
}

// http2Server describes the limits of a server, and its load.
type http2Server struct {
	callers, creates int
	body             bool // whether the creates have a body
	streams          int  // concurrent on a connection
	goAway           int  // after so many requests on a connection; 0 means never
	foreign          bool // whether the transport is the user's
}

type http2Result struct {
	failed, unknown, executed, duplicates, connections int
	took                                               time.Duration
	first                                              error
}

func (s http2Server) run(t *testing.T) (r http2Result) {
	t.Helper()
	var mu sync.Mutex
	executed := map[string]int{}
	type served struct{}
	server := &http.Server{
		TLSConfig: serverTLS(trusted),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: s.streams},
		ErrorLog:  log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, served{}, new(atomic.Int64))
		},
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				mu.Lock()
				r.connections++
				mu.Unlock()
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			io.Copy(io.Discard, req.Body)
			if req.ProtoMajor != 2 {
				t.Errorf("a request of %s", req.Proto)
			}
			mu.Lock()
			executed[req.URL.Path]++
			mu.Unlock()
			if n := req.Context().Value(served{}).(*atomic.Int64).Add(1); s.goAway > 0 && n == int64(s.goAway) {
				w.Header().Set("Connection", "close") // which Go's server turns into a GOAWAY
			}
			w.Header().Set("Content-Type", asJSON)
			io.WriteString(w, recordFor(req))
		}),
	}
	server.TLSConfig.NextProtos = []string{"h2"}
	listener := stub.Must(tls.Listen("tcp", "127.0.0.1:0", server.TLSConfig))(t)
	go server.Serve(listener)
	defer server.Close()

	_, roots := trusted()
	change := func(t *http.Transport) {
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
		}
	}
	option := cloudapi.WithTransport(func(t *http.Transport) {
		change(t)
		t.Protocols.SetHTTP2(true)
	})
	if s.foreign {
		transport := &http.Transport{ForceAttemptHTTP2: true}
		change(transport)
		option = cloudapi.WithHTTPClient(&http.Client{Transport: transport})
	}
	client, err := cloudapi.NewClient(cloudapi.WithBaseURL("https://"+host), cloudapi.WithToken(token), cloudapi.WithProject(projectID), option)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()

	start := time.Now()
	var next atomic.Int64
	var running sync.WaitGroup
	for range s.callers {
		running.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(s.creates) {
					return
				}
				name := fmt.Sprintf("vm-%d", n)
				var err error
				if s.body {
					_, err = client.VMs.Create(t.Context(), location, name, &cloudapi.VMCreateRequest{PublicKey: "laptop"})
				} else {
					_, err = client.VMs.Restart(t.Context(), location, name)
				}
				if err != nil {
					mu.Lock()
					r.failed++
					if errors.Is(err, cloudapi.ErrOutcomeUnknown) {
						r.unknown++
					}
					if r.first == nil {
						r.first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	running.Wait()
	r.took = time.Since(start)
	mu.Lock()
	defer mu.Unlock()
	for _, n := range executed {
		r.executed++
		r.duplicates += n - 1
	}
	return r
}

// recordFor returns the record of the VM that a request names.
func recordFor(req *http.Request) string {
	name := strings.Split(req.URL.Path, "/")[6]
	return strings.Replace(goodRecord, `"web-2"`, `"`+name+`"`, 1)
}
