package main

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// maxDocument limits the bodies of requests to the control address, in bytes.
const maxDocument = 1 << 20

// maxLogged is how many requests the control address can show.
const maxLogged = 1000

func (s *server) serveControl(address string) (at net.Addr, stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	served := &http.Server{Handler: s.control(), ReadTimeout: 30 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		served.Serve(listener) // returns ErrServerClosed after Close
	}()
	return listener.Addr(), func() { served.Close(); <-done }, nil
}

func (s *server) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("POST /{$}", s.authorized(s.change))
	mux.HandleFunc("POST /reset", s.authorized(func(w http.ResponseWriter, r *http.Request) {
		respond(w, s.reset(r.Context()))
	}))
	mux.HandleFunc("GET /faults", s.authorized(s.listFaults))
	mux.HandleFunc("DELETE /faults", s.authorized(func(w http.ResponseWriter, _ *http.Request) {
		s.clearFaults()
		respond(w, nil)
	}))
	mux.HandleFunc("GET /changes", s.authorized(func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, s.Changes()) }))
	mux.HandleFunc("GET /snapshot", s.authorized(func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, s.Snapshot()) }))
	mux.HandleFunc("GET /requests", s.authorized(s.listRequests))
	mux.HandleFunc("DELETE /requests", s.authorized(func(w http.ResponseWriter, _ *http.Request) {
		s.ClearRequests()
		respond(w, nil)
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, fmt.Sprintf("there is no %s %s", r.Method, r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Origin") != "":
			refuse(w, http.StatusForbidden, "the request is from a web page")
		case !isLocalName(r.Host):
			refuse(w, http.StatusForbidden, fmt.Sprintf("the host is %q, which is neither an IP address nor a local name", r.Host))
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxDocument)
			mux.ServeHTTP(w, r)
		}
	})
}

// isLocalName reports whether a request's host is an IP address or a name that
// can't be public. Without this check, a web page could point its own public
// name at the control address.
func isLocalName(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	private := func(domain string) bool { return strings.HasSuffix(name, domain) }
	return name != "" && !strings.Contains(name, ".") || private(".localhost") || private(".local") || private(".internal")
}

func (s *server) authorized(handler http.HandlerFunc) http.HandlerFunc {
	want := []byte("Bearer " + s.Token())
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) == 0 {
			refuse(w, http.StatusUnauthorized, "the request needs the header Authorization: Bearer and the server's token")
			return
		}
		handler(w, r)
	}
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, map[string]any{"status": "ok", "time": s.clock.Now().UTC()})
}

func (s *server) change(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if errors.As(err, new(*http.MaxBytesError)) {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", maxDocument))
		return
	}
	var steps []step
	if err == nil {
		steps, err = parseScenario(text)
	}
	if err == nil {
		err = s.apply(steps)
	}
	respond(w, err)
}

type faultReport struct {
	Fail *failure `json:"fail"`
	Met  int      `json:"met"`
	Left int      `json:"left"`
}

func (s *server) listFaults(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reports := []faultReport{}
	for _, script := range s.scripts {
		reports = append(reports, faultReport{script.addedBy, script.Met(), script.Left()})
	}
	send(w, http.StatusOK, reports)
}

type requestReport struct {
	Name      string      `json:"name"`
	Operation string      `json:"operation"`
	Method    string      `json:"method"`
	Path      string      `json:"path"`
	Query     string      `json:"query"`
	Header    http.Header `json:"header"`
	Body      any         `json:"body"`
	Status    int         `json:"status"`
	Error     string      `json:"error,omitzero"`
	Time      time.Time   `json:"time"`
}

func (s *server) listRequests(w http.ResponseWriter, _ *http.Request) {
	reports := []requestReport{}
	for _, r := range s.Requests() {
		reports = append(reports, requestReport{r.Name, r.Operation, r.Method, r.Path, r.RawQuery, r.Header, content(r), r.Status, r.Error, r.Time.UTC()})
	}
	send(w, http.StatusOK, reports)
}

func content(r cloudapitest.Request) any {
	switch {
	case len(r.Body) == 0:
		return nil
	case json.Valid(r.Body):
		return json.RawMessage(r.Body)
	}
	return string(r.Body)
}

func respond(w http.ResponseWriter, err error) {
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func refuse(w http.ResponseWriter, status int, reason string) {
	send(w, status, map[string]string{"error": reason})
}

func send(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"the response can't be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(text, '\n')) // an error means that the client has disconnected
}
