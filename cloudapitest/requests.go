package cloudapitest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// Request is a request that the server received.
type Request struct {
	// Name is the SDK's name of the operation, such as "Projects.Get", as in
	// cloudapi.Operation. Operation is the method and the route template, such as
	// "GET /project/{project_id}", and Route is only the template. All three are
	// "" if the request isn't an operation of the API.
	Name, Operation, Route string
	Method                 string
	Path                   string // the escaped path
	RawQuery               string
	// Header contains the request's headers, with credentials replaced by "***".
	Header http.Header
	Body   []byte // with [WithRequestLog] at most the first 64 KiB
	// Status is the status of the response. It is 0 until there is a response, and
	// remains 0 if the server never responds.
	Status int
	// Error is the type and the message of an error response, such as
	// "DependencyError: Private subnet 'net' has VMs attached, first, delete them."
	Error string
	Time  time.Time
}

// Requests returns the requests that the server has received so far, oldest
// first; see [WithRequestLog].
func (s *Server) Requests() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	requests := make([]Request, len(s.log.entries))
	for i, e := range s.log.entries {
		requests[i] = e.request
		requests[i].Header = e.request.Header.Clone()
		requests[i].Body = slices.Clone(e.request.Body)
	}
	return requests
}

// ClearRequests clears the list of requests that [Server.Requests] returns.
func (s *Server) ClearRequests() { s.log.clear() }

type requestLog struct {
	bounded bool
	bound   int

	mu      sync.Mutex
	entries []*logEntry
}

func (l *requestLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

const maxLoggedBody = 64 << 10

type logEntry struct {
	log     *requestLog
	request Request
}

func requestFor(op *api.Operation) Request {
	return Request{Name: op.Name, Operation: op.Target(), Route: op.Route, Method: op.Method}
}

func (l *requestLog) add(r *http.Request, op *api.Operation, body []byte, now time.Time) *logEntry {
	e := &logEntry{log: l}
	if op != nil {
		e.request = requestFor(op)
	}
	e.request.Method = r.Method
	e.request.Path = r.URL.EscapedPath()
	e.request.RawQuery = r.URL.RawQuery
	e.request.Header = maskCredentials(r.Header)
	if e.request.Body = body; l.bounded && len(body) > maxLoggedBody {
		e.request.Body = bytes.Clone(body[:maxLoggedBody])
	}
	e.request.Time = now
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	if l.bounded && len(l.entries) > l.bound {
		l.entries[0] = nil // otherwise the array would keep the entry in memory
		l.entries = l.entries[1:]
	}
	return e
}

// setResponse sets the status and, if the body is the API's error, the error.
func (e *logEntry) setResponse(status int, body []byte) {
	var envelope struct {
		Error struct{ Type, Message string }
	}
	if status >= http.StatusBadRequest && json.Unmarshal(body, &envelope) == nil && envelope.Error.Type != "" {
		e.log.mu.Lock()
		e.request.Error = envelope.Error.Type + ": " + envelope.Error.Message
		e.log.mu.Unlock()
	}
	e.setStatusOnce(status)
}

func (e *logEntry) setStatusOnce(status int) {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	if e.request.Status == 0 {
		e.request.Status = status
	}
}

var secretHeader = regexp.MustCompile(`(?i)auth|cookie|token|secret|password|credential|api-?key`)

func maskCredentials(h http.Header) http.Header {
	h = h.Clone()
	for name, values := range h {
		for i := range values {
			scheme, _, ok := strings.Cut(values[i], " ")
			switch {
			case name == "Authorization" && ok:
				values[i] = scheme + " ***"
			case secretHeader.MatchString(name):
				values[i] = "***"
			}
		}
	}
	return h
}

type statusRecorder struct {
	http.ResponseWriter
	entry *logEntry
}

func (w *statusRecorder) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols { // a 1xx response isn't the final response
		w.entry.setStatusOnce(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusRecorder) Write(b []byte) (int, error) {
	w.entry.setStatusOnce(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Flush is for handlers that use http.Flusher.
func (w *statusRecorder) Flush() {
	w.entry.setStatusOnce(http.StatusOK)
	http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *statusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
