package lists_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// TestUnlistedAfterARename: if somebody has renamed the load balancer that leads
// All past one that the server can't show, every list ends with an error that
// names the cause, and that isn't transient: it lasts until the cluster has a
// Service. During an outage, the same status is transient.
func TestUnlistedAfterARename(t *testing.T) {
	withPortlessBalancers(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, portless []string) {
		ctx := t.Context()
		failures := func() map[string]error {
			_, all := cloudapi.Collect(client.LoadBalancers.All(ctx, nil))
			_, inLocation := cloudapi.Collect(client.LoadBalancers.All(ctx, &cloudapi.ListOptions{Location: sdktest.Somewhere}))
			_, list := client.LoadBalancers.List(ctx, nil)
			_, get := client.LoadBalancers.Get(ctx, sdktest.Somewhere, portless[0])
			_, plan := teardown.NewPlan(ctx, client, nil)
			errs := map[string]error{"All": all, "All in a location": inLocation, "List": list, "Get": get, "NewPlan": plan}
			for _, err := range client.Resources(ctx, nil) {
				if err != nil {
					errs["Resources"] = err
				}
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			for _, err := range client.LoadBalancers.Watch(ctx, &cloudapi.WatchOptions{Progress: func(p cloudapi.Progress) {
				if p.Polls == 10 { // it would poll for ever
					cancel()
				}
			}}) {
				if err != nil {
					errs["Watch"] = err
				}
			}
			return errs
		}
		// Each list begins with a load balancer that the server can't show, or has
		// one behind another name.
		for i, name := range []string{"zz", "b-2"} {
			apiserver := strings.TrimSuffix(portless[i], "-services") + "-apiserver"
			stub.Must(client.LoadBalancers.Rename(ctx, sdktest.Somewhere, apiserver, name))(t)
			for method, err := range failures() {
				if !errors.Is(err, cloudapi.ErrServer) || cloudapi.IsTransient(err) || !strings.Contains(err.Error(), "; the server can't show the load balancer of a Kubernetes cluster that has no Service") {
					t.Errorf("%d renamed: %s: transient: %v: %v", i+1, method, cloudapi.IsTransient(err), err)
				}
			}
		}
		for _, balancer := range []string{"a", "b", "b"} {
			stub.Must(0, client.LoadBalancers.Delete(ctx, sdktest.Somewhere, balancer))(t)
		}
		if _, err := cloudapi.Collect(client.LoadBalancers.All(ctx, nil)); cloudapi.IsTransient(err) || !errors.Is(err, cloudapi.ErrServer) {
			t.Errorf("if the first one can't be shown: %v", err)
		}
		srv.Fail(cloudapitest.Match{}, cloudapitest.Reply(500, nil, stub.Envelope(500)).Repeating())
		for _, errs := range []error{
			second(cloudapi.Collect(client.LoadBalancers.All(ctx, nil))), second(client.LoadBalancers.List(ctx, nil)), second(client.LoadBalancers.Get(ctx, sdktest.Somewhere, "web")),
		} {
			if !cloudapi.IsTransient(errs) || strings.Contains(errs.Error(), "Service") {
				t.Errorf("during an outage: %v", errs)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }
