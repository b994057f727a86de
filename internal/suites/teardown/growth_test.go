package teardown_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// teardownRequests makes a project of n private subnets, each with a firewall
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
		plan := stub.Must(client.PlanTeardown(ctx, nil))(t)
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

// TestTeardownGrowth: four times the resources take four times the requests,
// at most four each, and no more lists.
func TestTeardownGrowth(t *testing.T) {
	t.Parallel()
	const n = 20
	requests, lists := teardownRequests(t, n)
	more, moreLists := teardownRequests(t, 4*n)
	if resources := 3 * n; requests > 4*resources+lists || more > 4*4*resources+moreLists {
		t.Errorf("%d resources take %d requests (%d of them lists), %d take %d (%d), want at most 4 each beside the lists",
			resources, requests, lists, 4*resources, more, moreLists)
	}
	if moreLists > 2*lists {
		t.Errorf("four times the resources take %d lists instead of %d", moreLists, lists)
	}
	t.Logf("%d subnets: %d requests, %d lists; %d subnets: %d requests, %d lists", n, requests, lists, 4*n, more, moreLists)
}
