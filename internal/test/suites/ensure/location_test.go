package ensure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestEnsureInItsLocation: a resource in one location is no resource in another
// one, and no Ensure works in a location that doesn't exist.
func TestEnsureInItsLocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		subnet := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net", nil))(t).ID
		vm := stub.Must(client.VMs.Create(ctx, sdktest.Somewhere, "source", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		stub.Must(client.VMs.WaitRunning(ctx, sdktest.Somewhere, "source", nil))(t)
		stub.Must(client.VMs.Stop(ctx, sdktest.Somewhere, "source"))(t)
		stub.Must(client.VMs.WaitStopped(ctx, sdktest.Somewhere, "source", nil))(t)
		type ensure = func(ctx context.Context, location string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error)
		for name, ensure := range map[string]ensure{
			"VMs": func(ctx context.Context, location string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
				return outcomeOf(client.VMs.Ensure(ctx, location, "x-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, opts))
			},
			"PrivateSubnets": func(ctx context.Context, location string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
				return outcomeOf(client.PrivateSubnets.Ensure(ctx, location, "x-1", nil, opts))
			},
			"Firewalls": func(ctx context.Context, location string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
				return outcomeOf(client.Firewalls.Ensure(ctx, location, "x-1", nil, opts))
			},
			"LoadBalancers": func(ctx context.Context, location string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
				return outcomeOf(client.LoadBalancers.Ensure(ctx, location, "x-1", sdktest.BalancerIn(subnet), opts))
			},
			"Postgres": func(ctx context.Context, location string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
				return outcomeOf(client.Postgres.Ensure(ctx, location, "x-1", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}, opts))
			},
			"Kubernetes": func(ctx context.Context, location string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
				return outcomeOf(client.Kubernetes.Ensure(ctx, location, "x-1", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}, opts))
			},
			"MachineImages": func(ctx context.Context, location string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
				return outcomeOf(client.MachineImages.Ensure(ctx, location, "x-1", &cloudapi.MachineImageCreateRequest{VMID: vm.ID, Version: "v1"}, opts))
			},
		} {
			if outcome, err := ensure(ctx, sdktest.Somewhere, nil); outcome != cloudapi.EnsureCreated || err != nil {
				t.Errorf("%s: %q, %v", name, outcome, err)
			}
			before := sdktest.Changes(srv)
			if outcome, err := ensure(ctx, "nowhere", &cloudapi.EnsureOptions{Update: true}); outcome != "" || err == nil || sdktest.Changes(srv) != before {
				t.Errorf("%s in no location: %q, %v", name, outcome, err)
			}
		}
		for _, location := range []string{sdktest.Elsewhere, "nowhere"} { // for a new load balancer
			_, outcome, err := client.LoadBalancers.Ensure(ctx, location, "x-2", sdktest.BalancerIn(subnet), nil)
			e, ok := errors.AsType[*cloudapi.ArgumentError](err)
			if !ok || e.Operation != "LoadBalancers.Ensure" || e.Name != "location" || e.Value != location || !strings.Contains(e.Reason, sdktest.Somewhere) || outcome != "" {
				t.Errorf("a load balancer in %s: %q, %v", location, outcome, err)
			}
			if _, err := client.LoadBalancers.Get(ctx, sdktest.Somewhere, "x-2"); !errors.Is(err, cloudapi.ErrNotFound) {
				t.Errorf("a load balancer in %s is created elsewhere: %v", location, err)
			}
		}
	})
}
