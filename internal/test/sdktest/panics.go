package sdktest

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// CheckPanic makes a middleware panic at one request of a call: the first if at
// is 1. The call must panic with the same value, and send no further request.
// prepare gets the client with the middleware, and returns the call. CheckPanic
// must run in a synctest bubble.
func CheckPanic(t *testing.T, client *cloudapi.Client, at int32, prepare func(*cloudapi.Client) func(context.Context) error) {
	t.Helper()
	var armed atomic.Bool
	var requests atomic.Int32
	client = stub.Must(client.With(cloudapi.WithPrefetch(2), cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if armed.Load() && requests.Add(1) == at {
				panic("a middleware")
			}
			return next.RoundTrip(req)
		})
	})))(t)
	call := prepare(client)
	armed.Store(true)
	func() {
		defer func() {
			if r := recover(); r != "a middleware" {
				t.Errorf("request %d: recovered %v", at, r)
			}
		}()
		err := call(t.Context())
		t.Errorf("request %d of %d: %v", at, requests.Load(), err)
	}()
	synctest.Wait() // for requests in progress
	sent := requests.Load()
	stub.Elapse(time.Hour)
	if n := requests.Load() - sent; n != 0 {
		t.Errorf("request %d: %d requests followed", at, n)
	}
}
