package cloudapi_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestPanicsReachTheCaller: if a middleware panics, a method with concurrent
// requests panics with the same value, so that its caller can recover. It sends
// no further request.
func TestPanicsReachTheCaller(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		requests []int32 // the middleware panics at these
		call     func(context.Context, *cloudapi.Client, *cloudapi.TeardownPlan) error
	}{
		"Get": {[]int32{1}, func(ctx context.Context, c *cloudapi.Client, _ *cloudapi.TeardownPlan) error {
			_, err := c.VMs.Get(ctx, "own", "far")
			return err
		}},
		"Resolve": {[]int32{1, 3}, func(ctx context.Context, c *cloudapi.Client, _ *cloudapi.TeardownPlan) error {
			_, err := c.Resolve(ctx, "no-such-thing")
			return err
		}},
		"All": {[]int32{1, 2}, func(ctx context.Context, c *cloudapi.Client, _ *cloudapi.TeardownPlan) error {
			_, err := cloudapi.Collect(c.VMs.All(ctx, &cloudapi.ListOptions{PageSize: 1}))
			return err
		}},
		"PlanTeardown": {[]int32{1, 3}, func(ctx context.Context, c *cloudapi.Client, _ *cloudapi.TeardownPlan) error {
			_, err := c.PlanTeardown(ctx, nil)
			return err
		}},
		"TeardownPlan.Run": {[]int32{1, 5, 20, 40}, func(ctx context.Context, _ *cloudapi.Client, plan *cloudapi.TeardownPlan) error {
			return plan.Run(ctx)
		}},
	} {
		for _, at := range tt.requests {
			synctest.Test(t, func(t *testing.T) {
				var armed atomic.Bool
				var requests atomic.Int32
				client := stub.Must(newFullProject(t).client.With(cloudapi.WithPrefetch(2), cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						if armed.Load() && requests.Add(1) == at {
							panic("a middleware")
						}
						return next.RoundTrip(req)
					})
				})))(t)
				plan := planTeardown(t, client, nil)
				armed.Store(true)
				func() {
					defer func() {
						if r := recover(); r != "a middleware" {
							t.Errorf("%s, request %d: recovered %v", name, at, r)
						}
					}()
					err := tt.call(t.Context(), client, plan)
					t.Errorf("%s, request %d of %d: %v", name, at, requests.Load(), err)
				}()
				synctest.Wait() // for requests in progress
				sent := requests.Load()
				stub.Elapse(time.Hour)
				if n := requests.Load() - sent; n != 0 {
					t.Errorf("%s, request %d: %d requests followed", name, at, n)
				}
			})
		}
	}
}
