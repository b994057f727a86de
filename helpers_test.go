package cloudapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A recorder is a transport that notes what is sent and answers it without a
// network.
type recorder struct {
	// answer makes the reply; without it everything is a 404.
	answer func(*http.Request) (*http.Response, error)

	mu   sync.Mutex
	sent []sentRequest
}

type sentRequest struct {
	method, host string
	target       string // as in the request line: escaped path and query
	header       http.Header
	body         string
	hasBody      bool
	operation    Operation
	observers    []string // those of following, the outermost first
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	s := sentRequest{method: req.Method, host: req.URL.Host, target: req.URL.RequestURI(), header: req.Header.Clone(), hasBody: req.Body != nil}
	s.operation, _ = OperationFromContext(req.Context())
	s.observers, _ = req.Context().Value(followersKey{}).([]string)
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body.Close()
		s.body = string(body)
	}
	r.mu.Lock()
	r.sent = append(r.sent, s)
	r.mu.Unlock()
	if r.answer == nil {
		return respond(http.StatusNotFound, envelope(http.StatusNotFound)), nil
	}
	return r.answer(req)
}

// following returns an observer that adds its name to the context.
func following(name string) Observer {
	return func(ctx context.Context, _ Operation) (context.Context, func(error)) {
		before, _ := ctx.Value(followersKey{}).([]string)
		return context.WithValue(ctx, followersKey{}, append(slices.Clone(before), name)), nil
	}
}

type followersKey struct{}

// take returns what was sent since it was called last.
func (r *recorder) take() []sentRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// client returns a client on the recorder. It does not retry.
func (r *recorder) client(t *testing.T, opts ...Option) *Client {
	t.Helper()
	client, err := NewClient(append([]Option{
		WithBaseURL("https://api.example.com"), WithToken(testToken), WithProject(testProject),
		WithHTTPClient(&http.Client{Transport: r}), WithRetry(RetryPolicy{MaxAttempts: 1}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// always answers every request alike.
func always(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return respond(status, body), nil }
}

// respond makes a JSON response, or an empty one.
func respond(status int, body string) *http.Response {
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

// elapse lets time pass, which inside a bubble of synctest is over at once.
func elapse(d time.Duration) { <-time.After(d) }

// mockClient returns a client over a transport that is not a network.
func mockClient(t *testing.T, transport http.RoundTripper, opts ...Option) *Client {
	t.Helper()
	client, err := NewClient(append([]Option{
		WithBaseURL("https://api.example.com"), WithToken(testToken), WithProject(testProject),
		WithHTTPClient(&http.Client{Transport: transport}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// answering returns a client to which every request is answered so.
func answering(t *testing.T, status int, contentType, body string) *Client {
	t.Helper()
	return mockClient(t, roundTripperFunc(func(*http.Request) (*http.Response, error) {
		resp := respond(status, body)
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	}))
}

// sendingNothing returns a client whose requests are mistakes.
func sendingNothing(t *testing.T) *Client {
	t.Helper()
	return mockClient(t, roundTripperFunc(func(req *http.Request) (*http.Response, error) {
		t.Errorf("%s %s was sent", req.Method, req.URL)
		return nil, errors.ErrUnsupported
	}))
}
