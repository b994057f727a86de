package cloudapi

import (
	"net/http"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// Clients for the tests in package cloudapi. Package sdktest has those for
// other tests; it imports this package, so it cannot be used here.

// mockClient returns a client with a transport that has no network.
func mockClient(t testing.TB, transport http.RoundTripper, opts ...Option) *Client {
	t.Helper()
	client := stub.Must(NewClient(append([]Option{
		WithBaseURL(stub.BaseURL), WithToken(stub.Token), WithProject(stub.Project),
		WithHTTPClient(&http.Client{Transport: transport}),
	}, opts...)...))(t)
	return client
}

func answering(t testing.TB, status int, contentType, body string) *Client {
	t.Helper()
	return mockClient(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) {
		resp := stub.Respond(status, body)
		resp.Header.Set("Content-Type", contentType)
		return resp, nil
	}))
}
