package cloudapitest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/families"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
)

// TB contains the methods of *testing.T, *testing.B and *testing.F that [New]
// needs.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Server is an in-memory server of the API. Its methods are safe for concurrent
// use. [New] and [NewServer] start a server.
type Server struct {
	config  config
	service *api.Service
	log     requestLog
	faults  faultScripts

	// logf logs the first use of each operation or field that only the contract
	// has. logged contains the names that it has logged.
	logf   func(format string, args ...any)
	logged sync.Map

	// complain and fatal report mistakes of the test. misuse reports mistakes of
	// the client.
	complain func(format string, args ...any)
	fatal    func(format string, args ...any)
	misuse   func(format string, args ...any)

	http      *http.Server
	memory    *memnet.Listener
	transport *http.Transport
	closing   chan struct{}

	lifecycle sync.Mutex // guards closed and initial
	closed    bool
	initial   *families.Snapshot // of the state after the start or the last Reset
	// serving counts listeners. None is added after closed is set.
	serving sync.WaitGroup
	// connections counts open connections. Close waits for serving first: until
	// all Serve calls have returned, net/http can report new connections.
	connections sync.WaitGroup
}

// New starts a server for a test, and closes it at the end of the test. A
// request that a correct client wouldn't send fails the test, unless the server
// is [Lenient].
func New(t TB, opts ...Option) *Server {
	t.Helper()
	cfg, err := newConfig(opts)
	if err != nil {
		t.Fatalf("%v", err)
	}
	s := newServer(cfg)
	s.complain, s.fatal = t.Errorf, t.Fatalf
	if cfg.log == nil {
		s.logf = t.Logf
	}
	if !cfg.lenient {
		s.misuse = t.Errorf
	}
	t.Cleanup(func() {
		t.Helper()
		s.Close()
		for _, report := range s.faults.unmet() {
			t.Errorf("cloudapitest: %s", report)
		}
	})
	s.serveMemory()
	return s
}

// NewServer starts a server for a program that isn't a test; a test calls [New].
// It is always lenient, and the caller must close it. NewServer panics if an option is
// invalid. The server's methods panic where they would fail a test.
func NewServer(opts ...Option) *Server {
	cfg, err := newConfig(opts)
	if err != nil {
		panic(err)
	}
	s := newServer(cfg)
	s.serveMemory()
	return s
}

func newServer(cfg config) *Server {
	fail := func(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
	s := &Server{
		config:   cfg,
		log:      requestLog{bounded: cfg.logBounded, bound: cfg.logBound},
		faults:   faultScripts{now: cfg.now},
		service:  families.New(cfg.service()),
		memory:   memnet.Listen(),
		closing:  make(chan struct{}),
		complain: fail,
		fatal:    fail,
		misuse:   func(string, ...any) {},
		logf:     func(string, ...any) {},
	}
	if cfg.log != nil {
		s.logf = func(format string, args ...any) { fmt.Fprintf(cfg.log, format+"\n", args...) }
	}
	s.transport = s.memory.Transport()
	s.service.Do(s.begin)
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ConnState: s.countConnection, MaxHeaderBytes: maxHeader}
	// Each request has its own connection, as on the real server. On a reused
	// connection net/http itself would retry a request when a fault drops the
	// connection.
	s.http.SetKeepAlivesEnabled(false)
	return s
}

// URL returns a base URL for [Server.RoundTripper]. Any other http URL works as
// well.
func (s *Server) URL() string { return "http://api.localhost" }

// RoundTripper returns a transport that connects to the server in memory,
// whatever the URL.
func (s *Server) RoundTripper() http.RoundTripper { return s.transport }

// HTTPClient returns a new client that uses [Server.RoundTripper].
func (s *Server) HTTPClient() *http.Client { return &http.Client{Transport: s.transport} }

// Client returns a client with the server's token and project. It connects to
// the server in memory. The options are applied last, and may replace these
// settings. The test fails if [cloudapi.NewClient] refuses an option.
func (s *Server) Client(opts ...cloudapi.Option) *cloudapi.Client {
	client, err := cloudapi.NewClient(append([]cloudapi.Option{
		cloudapi.WithBaseURL(s.URL()),
		cloudapi.WithToken(s.Token()),
		cloudapi.WithProject(s.ProjectID()),
		cloudapi.WithHTTPClient(s.HTTPClient()),
	}, opts...)...)
	if err != nil {
		s.fatal("%v", err)
	}
	return client
}

// Token returns the token that has every permission in the project
// [Server.ProjectID].
func (s *Server) Token() string { return s.config.token }

// ProjectID returns the ID of the project that exists from the start; see
// [WithProjectID].
func (s *Server) ProjectID() string { return s.config.projectID }

// OtherProjectID returns the ID of a project of another account, which only
// tokens with [AccessForeign] can see.
func (s *Server) OtherProjectID() string { return s.config.otherProjectID }

// Start serves the API on a free port of the loopback interface, in addition to
// the in-memory connections, and returns the base URL. The test fails if
// there's no free port, or if the server is closed.
func (s *Server) Start() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil && !s.serveInBackground(l) {
		err = http.ErrServerClosed
	}
	if err != nil {
		s.fatal("cloudapitest: Start: %v", err)
		return ""
	}
	return "http://" + l.Addr().String()
}

// Serve serves the API on l until the server is closed. It then closes l. It
// never returns nil, and returns [http.ErrServerClosed] after Close.
func (s *Server) Serve(l net.Listener) error {
	if !s.addListener() {
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	defer s.serving.Done()
	return s.http.Serve(l)
}

// Close closes all connections, and returns once all goroutines of the server
// have ended. It may be called more than once.
func (s *Server) Close() {
	s.lifecycle.Lock()
	first := !s.closed
	s.closed = true
	s.lifecycle.Unlock()
	if first {
		close(s.closing)
		s.http.Close()
		s.memory.Close()
		s.transport.CloseIdleConnections()
	}
	s.serving.Wait()
	s.connections.Wait()
}

func (s *Server) serveMemory() { s.serveInBackground(s.memory) }

func (s *Server) serveInBackground(l net.Listener) bool {
	if !s.addListener() {
		l.Close()
		return false
	}
	go func() {
		defer s.serving.Done()
		s.http.Serve(l) // returns ErrServerClosed after Close
	}()
	return true
}

func (s *Server) addListener() bool {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if !s.closed {
		s.serving.Add(1)
	}
	return !s.closed
}

func (s *Server) countConnection(c net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew:
		s.connections.Add(1)
		s.lifecycle.Lock()
		defer s.lifecycle.Unlock()
		if s.closed { // accepted while Close was closing the other connections
			c.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.connections.Done()
	}
}

// The largest headers and bodies that the server reads, in bytes.
// maxRefusedBody is for requests without a valid token. Real clients send only a
// few KiB.
const (
	maxHeader      = 64 << 10
	maxBody        = 1 << 20
	maxRefusedBody = 64 << 10
)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	defer s.reportPanic()
	limit, tooLarge := int64(maxBody), reply.TooLarge()
	if refused := s.service.Refusal(r); refused != nil {
		limit, tooLarge = maxRefusedBody, refused
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	cut := errors.As(err, new(*http.MaxBytesError))
	if err != nil && !cut {
		panic(http.ErrAbortHandler)
	}
	op, params := s.service.Match(r.Method, r.URL.EscapedPath())
	now := s.config.now()
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	entry := s.log.add(r, op, body, now)
	if cut {
		out := reply.New(nil, tooLarge)
		entry.setResponse(out.Status, out.Body)
		out.Write(w)
		return
	}
	if op == nil && !s.isProbe(r) {
		s.misuse("cloudapitest: %s %s is no operation of the API", r.Method, r.URL.EscapedPath())
	}

	fault := s.faults.next(entry.request)
	if !s.pause(r, fault.delay) || fault.kind == dropBefore {
		panic(http.ErrAbortHandler)
	}
	if fault.kind == custom {
		r.Body = io.NopCloser(bytes.NewReader(body))
		recorder := &statusRecorder{ResponseWriter: w, entry: entry}
		fault.handler(recorder, r)
		entry.setStatusOnce(http.StatusOK)
		return
	}
	out := fault.reply
	if fault.kind != replyInstead {
		out = s.answer(api.Request{Request: r, Operation: op, Params: params, Body: body}, fault)
	}
	if fault.kind == dropAfter {
		panic(http.ErrAbortHandler)
	}
	entry.setResponse(out.Status, out.Body)
	if fault.kind == truncate {
		if fault.limit >= len(out.Body) && !fault.canMiss() {
			s.complain("cloudapitest: Truncate(%d) leaves the response to %s %s whole, whose body has %d bytes",
				fault.limit, r.Method, r.URL.EscapedPath(), len(out.Body))
		}
		out.WriteTruncated(w, fault.limit)
		panic(http.ErrAbortHandler)
	}
	out.Write(w)
}

// isProbe reports whether the request is a GET that some version of the API has.
// A client that supports all versions may send it to find out what the server
// has, so it isn't a mistake.
func (s *Server) isProbe(r *http.Request) bool {
	return r.Method == http.MethodGet && s.service.InSomeVersion(r.Method, r.URL.EscapedPath())
}

func (s *Server) answer(r api.Request, fault Fault) reply.Reply {
	split := false
	if fault.kind == beforeCount {
		r.BeforeCount = func() {
			split = true
			fault.between()
		}
	}
	out, remarks := s.service.Execute(r)
	s.report(r.Operation, remarks)
	if fault.kind == beforeCount && !split && !fault.canMiss() {
		s.complain("cloudapitest: BeforeCount: the response to %s %s is no page with a count", r.Method, r.URL.EscapedPath())
	}
	return out
}

// report reports names that the API doesn't have. It logs names that only the
// contract has if the server implements both versions.
func (s *Server) report(op *api.Operation, remarks api.Remarks) {
	for _, name := range remarks.Unknown {
		s.misuse("cloudapitest: %s has no %s", op.Target(), name)
	}
	if !s.config.implemented().Both {
		return
	}
	for _, name := range remarks.ContractOnly {
		if _, again := s.logged.LoadOrStore(name, true); !again {
			s.logf("cloudapitest: %s is in the contract, but not in the service, which refuses it", name)
		}
	}
}

// reportPanic reports a panic, such as one in a function of the test. net/http
// would only log it.
func (s *Server) reportPanic() {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler {
		s.complain("cloudapitest: panic while a request was served: %v\n%s", v, debug.Stack())
	}
	panic(http.ErrAbortHandler)
}

func (s *Server) pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}
