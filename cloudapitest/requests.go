package cloudapitest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// Request is a request that arrived, as [Server.Requests] reports it.
type Request struct {
	// Name is the SDK's name of the operation, such as "Projects.Get", which
	// cloudapi.Operation has too. Operation is the method and the route
	// template, such as "GET /project/{project_id}", and Route the template
	// alone. All are "" for a request that is no operation of the API.
	Name, Operation, Route string
	Method                 string
	Path                   string // escaped, as it was sent
	RawQuery               string
	// Header holds what was sent, with the credentials replaced by "***".
	Header http.Header
	Body   []byte
	// Status is that of the answer; 0 if there was none, or none yet.
	Status int
	Time   time.Time
}

// Requests returns the requests that have arrived so far, the oldest first. See
// [WithRequestLog].
func (s *Server) Requests() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	entries := s.log.last()
	requests := make([]Request, len(entries))
	for i, e := range entries {
		requests[i] = e.request
		requests[i].Header = e.request.Header.Clone()
		requests[i].Body = slices.Clone(e.request.Body)
	}
	return requests
}

type requestLog struct {
	bounded bool
	bound   int

	mu      sync.Mutex
	entries []*logEntry
}

// last returns the entries within the bound. Older ones are dropped later, when
// there are as many of them.
func (l *requestLog) last() []*logEntry {
	if !l.bounded {
		return l.entries
	}
	return l.entries[max(0, len(l.entries)-l.bound):]
}

// logEntry is a request whose status may still be to come.
type logEntry struct {
	log     *requestLog
	request Request
}

func (l *requestLog) add(r *http.Request, op *api.Operation, body []byte) *logEntry {
	e := &logEntry{log: l, request: Request{
		Method:   r.Method,
		Path:     r.URL.EscapedPath(),
		RawQuery: r.URL.RawQuery,
		Header:   maskCredentials(r.Header),
		Body:     body,
		Time:     time.Now(),
	}}
	if op != nil {
		e.request.Name, e.request.Operation, e.request.Route = op.Name, op.Target(), op.Route
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	if l.bounded && len(l.entries) > 2*l.bound {
		l.entries = slices.Clone(l.last())
	}
	return e
}

// answered notes the status of the reply, unless that has begun already.
func (e *logEntry) answered(status int) {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	if e.request.Status == 0 {
		e.request.Status = status
	}
}

// credentials are the headers whose values are secrets.
var credentials = regexp.MustCompile(`(?i)auth|cookie|token|secret|password|credential|api-?key`)

// maskCredentials keeps the scheme of the Authorization header.
func maskCredentials(h http.Header) http.Header {
	h = h.Clone()
	for name, values := range h {
		for i := range values {
			scheme, _, ok := strings.Cut(values[i], " ")
			switch {
			case name == "Authorization" && ok:
				values[i] = scheme + " ***"
			case credentials.MatchString(name):
				values[i] = "***"
			}
		}
	}
	return h
}

// statusRecorder notes the status that a custom fault answers with.
type statusRecorder struct {
	http.ResponseWriter
	entry *logEntry
}

func (w *statusRecorder) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols { // others announce the reply
		w.entry.answered(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusRecorder) Write(b []byte) (int, error) {
	w.entry.answered(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Flush is for handlers that do not know of http.ResponseController.
func (w *statusRecorder) Flush() {
	w.entry.answered(http.StatusOK)
	http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController the writer below.
func (w *statusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
