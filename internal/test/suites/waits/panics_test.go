package waits_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

// TestPanicsReachTheCaller: if a middleware panics, a method with concurrent
// requests panics with the same value, and sends no further request.
func TestPanicsReachTheCaller(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		call     sdktest.Call
		requests []int32 // the middleware panics at these requests
	}{
		{sdktest.Do("VMs.Get", sdktest.Somewhere, "web-1"), []int32{1}},
		{sdktest.Do("Resolve", "no-such-thing"), []int32{1, 3}},
		{sdktest.Do("VMs.All", &cloudapi.ListOptions{PageSize: 1}), []int32{1, 2}},
	} {
		for _, at := range tt.requests {
			t.Run(fmt.Sprint(tt.call.Name, at), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					sdktest.CheckPanic(t, sdktest.NewEverything(t).Client, at, func(c *cloudapi.Client) func(context.Context) error {
						return func(ctx context.Context) error { _, err := tt.call.On(ctx, c); return err }
					})
				})
			})
		}
	}
}
