package waits_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

// TestPanicsReachTheCaller: if a middleware panics, a method with concurrent
// requests panics with the same value, so that its caller can recover. It sends
// no further request.
func TestPanicsReachTheCaller(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		requests []int32 // the middleware panics at these requests
		call     func(context.Context, *cloudapi.Client) error
	}{
		"Get": {[]int32{1}, func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.VMs.Get(ctx, sdktest.Somewhere, "web-1")
			return err
		}},
		"Resolve": {[]int32{1, 3}, func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.Resolve(ctx, "no-such-thing")
			return err
		}},
		"All": {[]int32{1, 2}, func(ctx context.Context, c *cloudapi.Client) error {
			_, err := cloudapi.Collect(c.VMs.All(ctx, &cloudapi.ListOptions{PageSize: 1}))
			return err
		}},
	} {
		for _, at := range tt.requests {
			t.Run(fmt.Sprint(name, at), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					sdktest.CheckPanic(t, sdktest.NewEverything(t).Client, at, func(c *cloudapi.Client) func(context.Context) error {
						return func(ctx context.Context) error { return tt.call(ctx, c) }
					})
				})
			})
		}
	}
}
