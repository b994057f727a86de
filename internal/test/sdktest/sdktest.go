// Package sdktest contains what tests outside of package cloudapi share: clients
// and their peers, all methods, values without zero fields, and the SDK's
// source.
package sdktest

import (
	"errors"
	"net/http"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// Client returns a client with a transport that doesn't use the network.
func Client(t testing.TB, transport http.RoundTripper, opts ...cloudapi.Option) *cloudapi.Client {
	t.Helper()
	client, err := cloudapi.NewClient(append([]cloudapi.Option{
		cloudapi.WithBaseURL(stub.BaseURL), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project),
		cloudapi.WithHTTPClient(&http.Client{Transport: transport}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Recorded returns a client that doesn't retry, and whose requests r records.
func Recorded(t testing.TB, r *stub.Recorder, opts ...cloudapi.Option) *cloudapi.Client {
	t.Helper()
	return Client(t, r, append([]cloudapi.Option{cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})}, opts...)...)
}

// Answering returns a client that gets the same response to every request.
func Answering(t testing.TB, status int, contentType, body string) *cloudapi.Client {
	t.Helper()
	return Client(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) {
		resp := stub.Respond(status, body)
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	}))
}

// SendingNothing returns a client that must not send a request.
func SendingNothing(t testing.TB) *cloudapi.Client {
	t.Helper()
	return Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		t.Errorf("%s %s was sent", req.Method, req.URL)
		return nil, errors.ErrUnsupported
	}))
}

// Planning returns the client of a new plan, or the client itself if plans is
// false.
func Planning(client *cloudapi.Client, plans bool) *cloudapi.Client {
	if !plans {
		return client
	}
	return cloudapi.NewPlan(client).Client()
}
