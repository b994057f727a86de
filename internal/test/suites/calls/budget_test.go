package calls_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestRetryBudgetUnits: during an outage a client makes exactly as many retries
// as its budget has. Once it's used up, a call fails without a pause for a
// retry. A call that succeeds, or that the API refuses, gives back a retry if
// it needed one, and a fifth of a retry if it didn't.
func TestRetryBudgetUnits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		budget int
		with   []cloudapi.Option // for a copy of the client, which keeps the rest of the policy
	}{
		{"default", 100, nil},
		{"own", 3, []cloudapi.Option{cloudapi.WithRetry(cloudapi.RetryPolicy{Budget: 3})}},
		{"one", 1, []cloudapi.Option{cloudapi.WithRetry(cloudapi.RetryPolicy{Budget: 1})}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var failures atomic.Int32             // how many of the next attempts fail
				proxy, status := false, http.StatusOK // of the attempts that don't fail
				network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
					if proxy {
						return stub.Respond(http.StatusNotFound, "<html>"), nil
					}
					if failures.Add(-1) >= 0 {
						return stub.Respond(http.StatusServiceUnavailable, stub.Envelope(http.StatusServiceUnavailable)), nil
					}
					return stub.Respond(status, map[int]string{200: stub.VM, 404: stub.Envelope(404)}[status]), nil
				}}
				client := stub.Must(sdktest.Client(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 2})).With(tt.with...))(t)
				call := func(failing int32) error {
					failures.Store(failing)
					start := time.Now()
					_, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
					if errors.Is(err, cloudapi.ErrRetryBudget) && time.Since(start) > 0 {
						t.Errorf("it failed after %v", time.Since(start))
					}
					return err
				}
				retriesUntilItIsUsedUp := func() (retries int) {
					for retries <= tt.budget && !errors.Is(call(2), cloudapi.ErrRetryBudget) {
						retries++
					}
					return retries
				}
				successes := func(n int) {
					for range n {
						if err := call(0); err != nil {
							t.Fatal(err)
						}
					}
				}
				if got := retriesUntilItIsUsedUp(); got != tt.budget {
					t.Errorf("%d retries, want %d", got, tt.budget)
				}
				proxy = true
				for range 10 {
					_ = call(0)
				}
				proxy = false
				if !errors.Is(call(1), cloudapi.ErrRetryBudget) {
					t.Error("errors of a proxy give back a retry")
				}
				if successes(4); !errors.Is(call(1), cloudapi.ErrRetryBudget) {
					t.Error("four successes give back a whole retry")
				}
				successes(1)
				for _, status = range []int{200, 404, 404, 200} {
					if err := call(1); err != nil && !errors.Is(err, cloudapi.ErrNotFound) {
						t.Errorf("five successes, and then retries that succeed, do not give back a retry: %v", err)
					}
				}
				if got := retriesUntilItIsUsedUp(); got != 1 {
					t.Errorf("%d retries after five successes, want 1", got)
				}
				successes(5*tt.budget + 20)
				if got := retriesUntilItIsUsedUp(); got != tt.budget {
					t.Errorf("%d retries after many successes, want %d", got, tt.budget)
				}
			})
		})
	}
}

// TestRetryBudgetIsTakenBySentRetries: calls that are canceled before they
// retry take nothing, and concurrent calls don't exceed the budget.
func TestRetryBudgetIsTakenBySentRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			if up.Load() {
				return stub.Respond(http.StatusOK, stub.VM), nil
			}
			return stub.Respond(http.StatusServiceUnavailable, stub.Envelope(http.StatusServiceUnavailable)), nil
		}}
		client := sdktest.Client(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{Budget: 3}))
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			var calling sync.WaitGroup
			calling.Go(func() {
				if _, err := client.VMs.Get(ctx, "eu-central-h1", "web-1"); !errors.Is(err, context.Canceled) || errors.Is(err, cloudapi.ErrRetryBudget) {
					t.Errorf("a call that is cancelled ends with %v", err)
				}
			})
			synctest.Wait() // until the call waits to retry
			cancel()
			calling.Wait()
		}
		if n := len(network.Take()); n != 10 {
			t.Fatalf("%d requests were sent, want one of each call", n)
		}
		var calling sync.WaitGroup
		calling.Go(func() {
			if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil {
				t.Errorf("a single failure is not retried: %v", err)
			}
		})
		synctest.Wait()
		up.Store(true)
		calling.Wait()

		up.Store(false)
		network.Take()
		for range 10 {
			calling.Go(func() {
				if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1"); !errors.Is(err, cloudapi.ErrRetryBudget) || !errors.Is(err, cloudapi.ErrServer) {
					t.Errorf("a call beside others ends with %v", err)
				}
			})
		}
		calling.Wait()
		if n := len(network.Take()); n != 10+3 {
			t.Errorf("10 calls at a time sent %d requests, want one each and three retries", n)
		}
	})
}

// TestRetryBudgetOfTheHost: a copy of the client that calls another host has its
// own budget. The other copies share one.
func TestRetryBudgetOfTheHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			return stub.Respond(http.StatusServiceUnavailable, stub.Envelope(http.StatusServiceUnavailable)), nil
		}}
		client := sdktest.Client(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 2, Budget: 3}))
		usedUp := func(c *cloudapi.Client) bool {
			_, err := c.VMs.Get(t.Context(), "eu-central-h1", "web-1")
			return errors.Is(err, cloudapi.ErrRetryBudget)
		}
		elsewhere := stub.Must(client.With(cloudapi.WithBaseURL("https://other.example.com")))(t)
		for range 3 { // each call takes a retry
			usedUp(client)
		}
		if !usedUp(client.InProject(stub.Project)) || !usedUp(stub.Must(client.With(cloudapi.WithTimeout(time.Hour)))(t)) {
			t.Error("a copy of the client has its own budget")
		}
		if !usedUp(stub.Must(client.With(cloudapi.WithBaseURL(stub.BaseURL + "/v2")))(t)) {
			t.Error("another path on the same host has its own budget")
		}
		for range 3 {
			if usedUp(elsewhere) {
				t.Error("another host shares the budget")
			}
		}
		if !usedUp(elsewhere.InProject(stub.Project)) {
			t.Error("a copy of the client of the other host has its own budget")
		}
	})
}
