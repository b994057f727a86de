package cloudapi

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestRetryBudget: 1,000 callers of a service that is down send far fewer than
// 4,000 requests. When the service is up again single failures are retried.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := true
		var mu sync.Mutex
		failNext := false
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if down || failNext {
				failNext = false
				return stub.Respond(http.StatusInternalServerError, stub.Envelope(http.StatusInternalServerError)), nil
			}
			return stub.Respond(http.StatusOK, `{"items":[],"count":0}`), nil
		}}
		client := recorded(t, &network, WithRetry(RetryPolicy{MaxAttempts: 4}))
		copied := client.InProject(stub.Project)
		const callers = 1000
		stopped := 0
		var calls sync.WaitGroup
		for i := range callers {
			calls.Go(func() {
				c := client
				if i%2 == 0 {
					c = copied
				}
				_, err := c.VMs.List(t.Context(), nil)
				mu.Lock()
				defer mu.Unlock()
				if !errors.Is(err, ErrServer) {
					t.Errorf("the error is %v, want the one of the last attempt", err)
				}
				if errors.Is(err, ErrRetryBudget) {
					stopped++
				}
			})
		}
		calls.Wait()
		if sent := len(network.Take()); sent > callers+200 || stopped < callers/2 {
			t.Errorf("%d callers sent %d requests, %d were stopped by the budget", callers, sent, stopped)
		}

		down = false
		for range 30 { // successes refill the budget
			if _, err := client.VMs.List(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		failNext = true
		network.Take()
		if _, err := client.VMs.List(t.Context(), nil); err != nil || len(network.Take()) != 2 {
			t.Errorf("a single failure is not repeated: %v", err)
		}
	})
}

// An error that is the API's answer gives back the retry, as a success does.
func TestRetryBudgetAmongRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			if attempts++; attempts%2 == 1 {
				return stub.Respond(http.StatusServiceUnavailable, stub.Envelope(http.StatusServiceUnavailable)), nil
			}
			return stub.Respond(http.StatusNotFound, stub.Envelope(http.StatusNotFound)), nil
		}}
		client := mockClient(t, &network, WithRetry(RetryPolicy{Budget: 3}))
		for call := range 10 {
			if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "none"); !errors.Is(err, ErrNotFound) {
				t.Fatalf("call %d: %v, want ErrNotFound", call, err)
			}
		}
	})
}
