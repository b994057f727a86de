package teardown_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// TestClusterWithoutAService: the server can't list the load balancer of such a
// cluster. A plan names it, and it goes with its cluster.
func TestClusterWithoutAService(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"deleted": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, cloudapitest.WithPortlessBalancers())
				client, ctx := srv.Client(), t.Context()
				subnet := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net-1", nil))(t)
				stub.Must(client.LoadBalancers.Create(ctx, sdktest.Somewhere, "lb-1", &cloudapi.LoadBalancerCreateRequest{
					Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 8080,
					HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckHTTP, PrivateSubnetID: subnet.ID}))(t)
				stub.Must(client.Kubernetes.Create(ctx, sdktest.Somewhere, "apps",
					&cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
				cluster := stub.Must(client.Kubernetes.WaitRunning(ctx, sdktest.Somewhere, "apps", nil))(t)

				plan := stub.Must(teardown.NewPlan(ctx, client, &teardown.Options{
					Keep:          func(r cloudapi.Resource) bool { return keep && r.Kind == cloudapi.KindKubernetesCluster },
					DeleteProject: true,
				}))(t)
				own := cloudapi.Resource{Kind: cloudapi.KindLoadBalancer, Location: sdktest.Somewhere, Name: cluster.ID + "-services"}
				with, line := plan.GoesWith(cloudapi.Resource{ID: cluster.ID}), fmt.Sprintf("    and %v, which goes with it\n", own)
				if keep {
					with, line = plan.Kept(), fmt.Sprintf("  %v, needed by Kubernetes cluster eu-central-h1/apps (%s)\n", own, cluster.ID)
				}
				if !slices.Contains(with, own) {
					t.Errorf("%v does not contain %v", with, own)
				}
				if text := plan.String(); !strings.Contains(text, line) {
					t.Errorf("the plan does not contain\n%s:\n%s", line, text)
				}
				if text := string(stub.JSON(plan)); strings.Count(text, own.Name) != 1 {
					t.Errorf("encoded is %s", text)
				}
				if err := plan.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if !keep {
					if _, err := client.Projects.Get(ctx, client.Project()); !cloudapi.IsGone(err) {
						t.Errorf("the project: %v", err)
					}
					return
				}
				var left []string
				for r, err := range client.Resources(ctx, nil) {
					if err == nil {
						left = append(left, fmt.Sprint(r.Kind, " ", strings.TrimPrefix(r.Name, cluster.ID)))
					}
				}
				if want := []string{"Kubernetes cluster apps", "load balancer -apiserver", "private subnet -subnet", "firewall -firewall"}; !slices.Equal(left, want) {
					t.Errorf("left are %q, want %q", left, want)
				}
			})
		})
	}
}
