package teardown_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// balancers creates a load balancer in each of the subnets.
func balancers(t *testing.T, srv *cloudapitest.Server, subnets ...string) *cloudapitest.Server {
	for i, subnet := range subnets {
		stub.Must(srv.Client().LoadBalancers.Create(t.Context(), sdktest.Somewhere, fmt.Sprintf("lb-%d", i), sdktest.BalancerIn(subnet)))(t)
	}
	return srv
}

// TestTeardownGrowth: how many requests a plan and its run take, lists among
// them, is proportional to the resources.
func TestTeardownGrowth(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		project func(*testing.T) *cloudapitest.Server
		most    int    // requests for each resource
		beside  int    // and this many more in all
		keep    string // how the names of kept resources begin
	}{
		"80 subnets with load balancers": {most: 5, project: func(t *testing.T) *cloudapitest.Server {
			srv, subnets := newSubnets(t, 80)
			return balancers(t, srv, subnets...)
		}},
		"load balancers, each with a request for its subnet": {most: 3, beside: 40, project: func(t *testing.T) *cloudapitest.Server {
			srv, subnets := newSubnets(t, 1)
			return balancers(t, srv, slices.Repeat(subnets, 200)...)
		}},
		"load balancers that are kept, whose subnet isn't looked for again": {most: 3, beside: 120, keep: "lb-", project: func(t *testing.T) *cloudapitest.Server {
			srv, subnets := newSubnets(t, 50)
			return balancers(t, srv, slices.Repeat(subnets[:1], 50)...)
		}},
		// The waits for the deletions share lists.
		"VMs": {most: 2, beside: 300, project: func(t *testing.T) *cloudapitest.Server {
			const vms = 500
			srv := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Delete: 10 * time.Second}),
				cloudapitest.WithQuota(cloudapitest.Quota{VM: vms, Projects: 1}))
			srv.AddVMs(sdktest.Somewhere, "web", vms)
			srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(50*time.Millisecond).Repeating())
			return srv
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			srv := tt.project(t)
			before := len(srv.Requests())
			plan := planTeardown(t, srv.Client(), &teardown.Options{Keep: func(r cloudapi.Resource) bool { return tt.keep != "" && strings.HasPrefix(r.Name, tt.keep) }})
			if err := plan.Run(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			resources := len(slices.Concat(plan.Stages()...))
			if n := len(srv.Requests()) - before; n > tt.most*resources+tt.beside {
				t.Errorf("%s: %d resources take %d requests, want at most %d each, and %d", name, resources, n, tt.most, tt.beside)
			}
		})
	}
}
