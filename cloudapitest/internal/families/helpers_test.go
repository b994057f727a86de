package families_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

const here = "eu-central-h1"

// inBubble runs a test in a bubble, with a client of a new server.
func inBubble(t *testing.T, test func(*testing.T, *cloudapitest.Server, *cloudapi.Client), opts ...cloudapitest.Option) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, opts...)
		test(t, srv, srv.Client())
	})
}

// must returns the result of a call that is expected to succeed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// refused checks that the error is the server's and contains the text.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	if _, ok := errors.AsType[*cloudapi.Error](err); !ok || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want a refusal with %q", err, text)
	}
}

// do sends a request with the server's token and returns status and body.
func do(t *testing.T, srv *cloudapitest.Server, method, path, body string) (int, string) {
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

// elapse lets time pass, which takes no real time in a bubble.
func elapse(d time.Duration) { <-time.After(d) }
