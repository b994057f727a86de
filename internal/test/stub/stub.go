// Package stub has HTTP transports without a network, responses for them, and
// lists. It doesn't import package cloudapi, so that tests inside and outside
// of that package can use it.
package stub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
)

// The settings of test clients, a VM, and the public key of a VM.
const (
	BaseURL = "https://api.example.com"
	Token   = "pat-aktesttesttesttesttesttest-0123456789abcdefghijklmnopqrstuv"
	Project = "pjahbwgme82j3qbwnsn4b3w1e9"
	VMID    = "vmy9n10s8q164j473ra7pj9nqz"
	VM      = `{"id":"` + VMID + `","name":"web-1","state":"running","location":"eu-central-h1"}`

	PublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForExamplesOnlyxxxxxxxxxxxxxxxx dev@example.com"
)

// RoundTripper makes a function an [http.RoundTripper].
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Recorder is a transport that records requests and responds to them.
type Recorder struct {
	// Answer returns the response. Without it every response is a 404.
	Answer func(*http.Request) (*http.Response, error)

	mu   sync.Mutex
	sent []Request
}

// Request is a recorded request.
type Request struct {
	Context      context.Context
	Method, Host string
	Target       string // as in the request line: escaped path and query
	Header       http.Header
	Body         string
	HasBody      bool
}

// RoundTrip records a request and returns the response of Answer.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := Request{req.Context(), req.Method, req.URL.Host, req.URL.RequestURI(), req.Header.Clone(), "", req.Body != nil}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body.Close()
		sent.Body = string(body)
	}
	r.mu.Lock()
	r.sent = append(r.sent, sent)
	r.mu.Unlock()
	if r.Answer == nil {
		return Respond(http.StatusNotFound, Envelope(http.StatusNotFound)), nil
	}
	return r.Answer(req)
}

// Take returns the requests since the last Take.
func (r *Recorder) Take() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// Always returns an Answer with the same response to every request.
func Always(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return Respond(status, body), nil }
}

// Respond returns a response with a JSON body, or without one if body is "".
func Respond(status int, body string) *http.Response {
	resp := &http.Response{
		StatusCode:    status,
		Header:        http.Header{},
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
	}
	if body != "" {
		resp.Header.Set("Content-Type", "application/json")
	}
	return resp
}

// Envelope returns the body of an error response.
func Envelope(status int) string {
	return fmt.Sprintf(`{"error":{"code":%d,"type":"T","message":"m","details":null}}`, status)
}

// JSON returns a value as JSON.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// EscapeAll returns a text as JSON with every character escaped.
func EscapeAll(s string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04X`, unit)
	}
	return b.String()
}

// Must returns a function that returns the value, or fails the test.
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Do sends a request to an embedded server, with its token and a JSON body, and
// returns the status and body of the response. If there is no response, it
// returns 0 and the text of the error.
func Do(t testing.TB, srv interface {
	URL() string
	Token() string
	HTTPClient() *http.Client
}, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+srv.Token())
	req.Header.Set("Content-Type", "application/json")
	resp, err := srv.HTTPClient().Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error()
	}
	return resp.StatusCode, string(b)
}

// Elapse lets time pass, which takes no real time in a synctest bubble.
func Elapse(d time.Duration) { <-time.After(d) }
