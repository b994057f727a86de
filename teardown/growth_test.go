package teardown_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// teardownRequests creates a project of n private subnets, each with a firewall
// and a load balancer, and returns how many requests its plan and its run take.
func teardownRequests(t *testing.T, n int) (requests, lists int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		ctx := t.Context()
		for i := range n {
			firewall := stub.Must(client.Firewalls.Create(ctx, "eu-central-h1", fmt.Sprintf("fw-%d", i), nil))(t)
			subnet := stub.Must(client.PrivateSubnets.Create(ctx, "eu-central-h1", fmt.Sprintf("net-%d", i), &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}))(t)
			stub.Must(client.LoadBalancers.Create(ctx, "eu-central-h1", fmt.Sprintf("lb-%d", i), &cloudapi.LoadBalancerCreateRequest{
				PrivateSubnetID: subnet.ID, Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 8080,
				HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckHTTP, HealthCheckEndpoint: "/",
			}))(t)
		}
		before := len(srv.Requests())
		plan := stub.Must(teardown.NewPlan(ctx, client, nil))(t)
		if err := plan.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for _, request := range srv.Requests()[before:] {
			requests++
			switch request.Name {
			case "VMs.List", "VMs.ListInLocation", "LoadBalancers.List", "LoadBalancers.ListInLocation", "PrivateSubnets.List",
				"PrivateSubnets.ListInLocation", "Firewalls.List", "Firewalls.ListInLocation":
				lists++
			}
		}
	})
	return requests, lists
}

// TestTeardownGrowth: a resource takes at most four requests, the lists among
// them, however many resources there are.
func TestTeardownGrowth(t *testing.T) {
	t.Parallel()
	for _, n := range []int{20, 80} {
		requests, lists := teardownRequests(t, n)
		if requests > 4*3*n {
			t.Errorf("%d resources take %d requests (%d of them lists), want at most 4 each", 3*n, requests, lists)
		}
		t.Logf("%d subnets: %d requests, %d lists", n, requests, lists)
	}
}

// TestTeardownOfBalancers: beside the request that deletes it and the one that
// finds it gone, a load balancer takes one, which returns its subnet.
func TestTeardownOfBalancers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, subnets := newSubnets(t, 1)
		client := srv.Client()
		for i := range 200 {
			stub.Must(client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, fmt.Sprintf("lb-%d", i), sdktest.BalancerIn(subnets[0])))(t)
		}
		before := len(srv.Requests())
		if err := planTeardown(t, client, nil).Run(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(srv.Requests()) - before; n > 650 {
			t.Errorf("200 load balancers take %d requests, want at most 650", n)
		}
	})
}

// TestTeardownOfVMs: polls don't wait for the deletions of other VMs, so that
// the waits share lists, and a VM takes the request that deletes it and the one
// that finds it gone.
func TestTeardownOfVMs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const vms = 500
		srv := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Delete: 10 * time.Second}),
			cloudapitest.WithQuota(cloudapitest.Quota{VM: vms, Projects: 1}))
		srv.AddVMs(sdktest.Somewhere, "web", vms)
		srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(50*time.Millisecond).Repeating())
		before := len(srv.Requests())
		plan := planTeardown(t, srv.Client(), nil)
		if err := plan.Run(t.Context()); err != nil {
			t.Error(err)
		}
		resources := len(slices.Concat(plan.Stages()...))
		if n := len(srv.Requests()) - before; n > 2*resources+60 {
			t.Errorf("%d resources take %d requests, want at most two each and 60 lists", resources, n)
		}
	})
}
