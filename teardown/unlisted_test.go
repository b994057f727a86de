package teardown_test

import (
	"encoding/json"
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
				cluster := stub.Must(client.Kubernetes.WaitRunning(ctx, sdktest.Somewhere, "apps"))(t)

				plan := stub.Must(teardown.NewPlan(ctx, client, &teardown.Options{
					Keep:          func(r cloudapi.Resource) bool { return keep && r.Kind == cloudapi.KindKubernetesCluster },
					DeleteProject: true,
				}))(t)
				own := cloudapi.Resource{Kind: cloudapi.KindLoadBalancer, Location: sdktest.Somewhere, Name: cluster.ID + "-services"}
				if got := plan.Unlisted(); !slices.Equal(got, []cloudapi.Resource{own}) {
					t.Errorf("unlisted are %v", got)
				}
				end := fmt.Sprintf("not listed by the server, and deleted with their Kubernetes clusters\n  load balancer %s/%s\n", own.Location, own.Name)
				if text := plan.String(); !strings.HasSuffix(text, end) {
					t.Errorf("the plan does not end with\n%s:\n%s", end, text)
				}
				var encoded struct{ Unlisted []cloudapi.Resource }
				if err := json.Unmarshal(stub.JSON(plan), &encoded); err != nil || !slices.Equal(encoded.Unlisted, []cloudapi.Resource{own}) {
					t.Errorf("encoded are %v, %v", encoded.Unlisted, err)
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
