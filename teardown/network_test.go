package teardown_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// TestNetworkOfADatabase: the server deletes a database's own subnet and
// firewall with it, so a database stays with what Keep keeps in them, and isn't
// deleted while something new needs them.
func TestNetworkOfADatabase(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make  func(t *testing.T, c *cloudapi.Client, database string, subnet *cloudapi.PrivateSubnet) error
		later bool // create it between the plan and the run
	}{
		"a load balancer": {make: balancerNamedKept},
		"a VM": {make: func(t *testing.T, c *cloudapi.Client, _ string, subnet *cloudapi.PrivateSubnet) error {
			_, err := c.VMs.Create(t.Context(), sdktest.Somewhere, "kept", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID})
			return err
		}},
		"a subnet with its firewall": {make: func(t *testing.T, c *cloudapi.Client, database string, _ *cloudapi.PrivateSubnet) error {
			firewall := stub.Must(c.Firewalls.Get(t.Context(), sdktest.Somewhere, database+"-firewall"))(t)
			_, err := c.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "kept", &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID})
			return err
		}},
		"a load balancer that is new": {make: balancerNamedKept, later: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := cloudapitest.New(t).Client()
				stub.Must(client.Postgres.Create(t.Context(), sdktest.Somewhere, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
				database := stub.Must(client.Postgres.WaitRunning(t.Context(), sdktest.Somewhere, "orders"))(t)
				subnet := stub.Must(client.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, database.ID+"-subnet"))(t)
				create := func() {
					if err := tt.make(t, client, database.ID, subnet); err != nil {
						t.Fatal(err)
					}
				}
				if !tt.later {
					create()
				}
				plan := planTeardown(t, client, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.Name == "kept" }})
				if tt.later {
					create()
				}
				if err := plan.Run(t.Context()); (err != nil) != tt.later {
					t.Errorf("the report is %v", err)
				}
				there := map[string]bool{}
				for _, text := range sdktest.Contents(t, client) {
					there[text] = true
				}
				left := stub.Must(cloudapi.Collect(client.Postgres.All(t.Context(), nil)))(t)
				if _, err := client.Firewalls.Get(t.Context(), sdktest.Somewhere, database.ID+"-firewall"); err != nil || len(left) != 1 {
					t.Errorf("%d databases are left, and of the network %v, %v", len(left), there, err)
				}
				kept := 0
				for r, err := range client.Resources(t.Context(), nil) {
					if err != nil {
						t.Fatal(err)
					}
					if r.Name == "kept" {
						kept++
					}
				}
				if kept != 1 {
					t.Errorf("what was to be kept is gone: %v are left", there)
				}
			})
		})
	}
}

func balancerNamedKept(t *testing.T, c *cloudapi.Client, _ string, subnet *cloudapi.PrivateSubnet) error {
	_, err := c.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "kept", sdktest.BalancerIn(subnet.ID))
	return err
}

// TestRenamedSubnetOfACluster: the cluster's own load balancers tell which subnet
// is the cluster's, if it no longer has the cluster's ID in its name.
func TestRenamedSubnetOfACluster(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]bool{"kept": false, "new": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newClusterProject(t)
				subnet := stub.Must(p.Client.PrivateSubnets.Rename(t.Context(), sdktest.Somewhere, p.Cluster.ID+"-subnet", "apps-net"))(t)
				create := func() {
					stub.Must(p.Client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "kept", sdktest.BalancerIn(subnet.ID)))(t)
				}
				if !later {
					create()
				}
				plan := planTeardown(t, p.Client, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.Name == "kept" }})
				if later {
					create()
				}
				if err := plan.Run(t.Context()); (err != nil) != later {
					t.Errorf("the report is %v", err)
				}
				if _, err := p.Client.Kubernetes.Get(t.Context(), sdktest.Somewhere, p.Cluster.ID); err != nil {
					t.Errorf("the cluster: %v", err)
				}
				if _, err := p.Client.LoadBalancers.Get(t.Context(), sdktest.Somewhere, "kept"); err != nil {
					t.Errorf("the load balancer: %v", err)
				}
			})
		})
	}
}

// TestRetryAfterIsLimited: a server that asks for a pause of a day doesn't hold
// up a run for a day.
func TestRetryAfterIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
		srv.Fail(cloudapitest.Match{Operation: "PrivateSubnets.Delete"}, cloudapitest.Reply(http.StatusServiceUnavailable,
			http.Header{"Retry-After": {"86400"}}, stub.Envelope(http.StatusServiceUnavailable)))
		plan := planTeardown(t, client, nil)
		start := time.Now()
		if err := plan.Run(t.Context()); err != nil || time.Since(start) > 5*time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
