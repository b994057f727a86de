// Package sdktest is what the suites that look at the SDK from outside have in
// common: a client without a network, and all methods of all services.
package sdktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

// What the clients of the suites are made with, a VM, and what one is made with.
const (
	BaseURL = "https://api.example.com"
	Token   = "pat-aktesttesttesttesttesttest-0123456789abcdefghijklmnopqrstuv"
	Project = "pjahbwgme82j3qbwnsn4b3w1e9"
	VMID    = "vmy9n10s8q164j473ra7pj9nqz"
	VM      = `{"id":"` + VMID + `","name":"web-1","state":"running","location":"eu-central-h1"}`

	PublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForExamplesOnlyxxxxxxxxxxxxxxxx dev@example.com"
)

// RoundTripper is a transport that is a function.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Client returns a client over a transport that is not a network.
func Client(t testing.TB, transport http.RoundTripper, opts ...cloudapi.Option) *cloudapi.Client {
	t.Helper()
	client, err := cloudapi.NewClient(append([]cloudapi.Option{
		cloudapi.WithBaseURL(BaseURL), cloudapi.WithToken(Token), cloudapi.WithProject(Project),
		cloudapi.WithHTTPClient(&http.Client{Transport: transport}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A Recorder is a transport that notes what is sent and answers it.
type Recorder struct {
	// Answer makes the reply. Without it everything is a 404.
	Answer func(*http.Request) (*http.Response, error)

	mu   sync.Mutex
	sent []Request
}

// Request is a request that was sent.
type Request struct {
	Method    string
	Target    string // as in the request line: escaped path and query
	Header    http.Header
	Body      string
	HasBody   bool
	Operation cloudapi.Operation
}

// RoundTrip notes a request and answers it.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := Request{Method: req.Method, Target: req.URL.RequestURI(), Header: req.Header.Clone(), HasBody: req.Body != nil}
	sent.Operation, _ = cloudapi.OperationFromContext(req.Context())
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

// Take returns what was sent since it was called last.
func (r *Recorder) Take() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// Client returns a client on the recorder. It does not retry.
func (r *Recorder) Client(t testing.TB, opts ...cloudapi.Option) *cloudapi.Client {
	t.Helper()
	return Client(t, r, append([]cloudapi.Option{cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})}, opts...)...)
}

// Answering returns a client to which every request is answered so.
func Answering(t testing.TB, status int, contentType, body string) *cloudapi.Client {
	t.Helper()
	return Client(t, RoundTripper(func(*http.Request) (*http.Response, error) {
		resp := Respond(status, body)
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	}))
}

// SendingNothing returns a client whose requests are mistakes.
func SendingNothing(t testing.TB) *cloudapi.Client {
	t.Helper()
	return Client(t, RoundTripper(func(req *http.Request) (*http.Response, error) {
		t.Errorf("%s %s was sent", req.Method, req.URL)
		return nil, errors.ErrUnsupported
	}))
}

// Always answers every request alike.
func Always(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return Respond(status, body), nil }
}

// Respond makes a JSON response, or an empty one.
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

// Envelope returns the body of an error.
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
