package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// kubernetesLaterCases are the cases of operations that only the service
// has.
func kubernetesLaterCases() []wireCase {
	const (
		item     = locationPath + "/kubernetes-cluster/apps"
		pools    = item + "/nodepool"
		location = "eu-central-h1"
		body     = `"kubernetes_cluster_id":"` + testClusterID + `","name":"apps-np","node_count":1,"node_size":"standard-4","version":"v1.36"`
		full     = `{"id":"` + testNodePoolID + `",` + body + `,"vms":[]}`
	)
	pool := testNodePool(1)
	pool.Version = "v1.36"
	renamed := *pool
	renamed.VMs = nil
	upgraded := *testCluster("running")
	upgraded.CPVMs, upgraded.NodePools = []cloudapi.VM{testNode("cp", "running")}, []cloudapi.KubernetesNodePool{*pool}
	start := time.Date(2026, 11, 22, 2, 15, 54, 0, time.UTC)
	return []wireCase{
		{
			name: "metrics", method: "GET", target: item + "/metrics", reply: `{"metrics":[]}`,
			call: calls("Kubernetes.Metrics", location, "apps", nil),
			want: &cloudapi.ResourceMetrics{Metrics: []cloudapi.ResourceMetric{}},
		},
		{
			name: "a metric", method: "GET",
			target: item + "/metrics?end=2026-11-22T03%3A15%3A54Z&key=cluster_objects&start=2026-11-22T02%3A15%3A54Z",
			reply:  `{"metrics":[{"key":"cluster_objects","name":"Cluster Objects","unit":"count","description":"d","series":[{"labels":{},"values":[[1795315554,"16.8"]]}]}]}`,
			call:   calls("Kubernetes.Metrics", location, "apps", &cloudapi.ResourceMetricsOptions{Start: start, End: start.Add(time.Hour), Key: cloudapi.KubernetesMetricClusterObjects}),
			want: &cloudapi.ResourceMetrics{Metrics: []cloudapi.ResourceMetric{{Key: "cluster_objects", Name: "Cluster Objects", Unit: "count", Description: "d",
				Series: []cloudapi.ResourceMetricSeries{{Labels: map[string]string{}, Values: cloudapi.Samples{{Time: time.Unix(1795315554, 0).UTC(), Value: 16.8}}}}}}},
		},
		{
			name: "create a node pool", method: "POST", target: pools, body: `{"name":"apps-np","node_count":1,"node_size":"standard-4"}`, reply: full,
			call: calls("Kubernetes.CreateNodePool", location, "apps", &cloudapi.KubernetesNodePoolCreateRequest{Name: "apps-np", NodeCount: 1, NodeSize: "standard-4"}),
			want: pool,
		},
		{
			name: "delete a node pool", method: "DELETE", target: pools + "/apps-np",
			call: calls("Kubernetes.DeleteNodePool", location, "apps", "apps-np"),
		},
		{
			name: "rename a node pool", byName: true, method: "POST", target: pools + "/old/rename", body: `{"name":"apps-np"}`,
			reply: `{"id":"` + testNodePoolID + `",` + body + `}`,
			call:  calls("Kubernetes.RenameNodePool", location, "apps", "old", "apps-np"),
			want:  &renamed,
		},
		{
			name: "rename a node pool by ID", method: "POST", target: pools + "/" + testNodePoolID + "/rename", body: `{"name":"apps-np"}`, reply: full,
			call: calls("Kubernetes.RenameNodePool", location, "apps", testNodePoolID, "apps-np"),
			want: pool,
		},
		{
			name: "upgrade a node pool", method: "POST", target: pools + "/apps-np/upgrade", reply: full,
			call: calls("Kubernetes.UpgradeNodePool", location, "apps", "apps-np"),
			want: pool,
		},
		{
			name: "retire a node", method: "POST", target: item + "/node/np-y763k/retire", reply: full,
			call: calls("Kubernetes.RetireNode", location, "apps", "np-y763k"),
			want: pool,
		},
		{
			name: "upgrade", method: "POST", target: item + "/upgrade", reply: clusterJSON("running", full),
			call: calls("Kubernetes.Upgrade", location, "apps"),
			want: &upgraded,
		},
	}
}

func TestNodePoolWaits(t *testing.T) {
	t.Parallel()
	const location = "eu-central-h1"
	// A cluster in a state, with a node pool of some nodes, each running unless
	// its name ends in "?".
	cluster := func(state string, count int, nodes ...string) string {
		var vms []string
		for _, name := range nodes {
			vmState := "running"
			if strings.HasSuffix(name, "?") {
				name, vmState = strings.TrimSuffix(name, "?"), "creating"
			}
			vms = append(vms, fmt.Sprintf(`{"id":"vm-%s","name":"np-%[1]s","state":"%s"}`, name, vmState))
		}
		return clusterJSON(state, nodePoolJSON(count, vms...))
	}
	before := testNodePool(2, cloudapi.VM{ID: "vm-a", Name: "np-a", State: "running"}, cloudapi.VM{ID: "vm-b", Name: "np-b", State: "running"})
	after := testNodePool(2, cloudapi.VM{ID: "vm-c", Name: "np-c", State: "running"}, cloudapi.VM{ID: "vm-d", Name: "np-d", State: "running"})
	upgraded := calls("Kubernetes.WaitNodePoolUpgraded", location, "apps", before)
	retired := func(node string) func(ctx context.Context, c *cloudapi.Client) (any, error) {
		return calls("Kubernetes.WaitNodeRetired", location, "apps", node)
	}
	deleted := calls("Kubernetes.WaitNodePoolDeleted", location, "apps", "apps-np")
	settled := calls("Kubernetes.WaitNodePool", location, "apps", "apps-np")
	runWaitCases(t, locationPath+"/kubernetes-cluster/apps", []waitCase{
		{name: "upgraded", wait: upgraded, slow: true, want: after, polls: []string{
			cluster("running", 2, "a", "b"), // the upgrade hasn't begun
			cluster("upgrading", 2, "a", "b", "c?"),
			cluster("upgrading", 2, "b", "c"),
			cluster("running", 2, "b", "c"),
			cluster("upgrading", 2, "b", "c", "d"),
			cluster("upgrading", 2, "c", "d"),
			cluster("running", 2, "c", "d"),
		}},
		{name: "deleted while it is upgraded", wait: upgraded, slow: true, err: cloudapi.ErrWaitFailed, polls: []string{
			cluster("upgrading", 2, "a", "b"), cluster("deleting", 2, "a", "b"),
		}},
		{name: "a node pool of a cluster that is upgraded", wait: settled, slow: true, want: after, polls: []string{
			cluster("upgrading", 2, "c", "d"), cluster("running", 2, "c", "d"),
		}},
		{name: "retired", wait: retired("np-a"), slow: true, polls: []string{cluster("running", 1, "a", "b"), cluster("running", 1, "b")}},
		{name: "retired by ID", wait: retired("vm-a"), slow: true, polls: []string{cluster("running", 1, "a", "b"), cluster("running", 1, "b")}},
		{name: "retired with its cluster", wait: retired("np-a"), slow: true, polls: []string{cluster("deleting", 1, "a", "b"), stub.Envelope(404)}},
		{name: "deleted", wait: deleted, slow: true, polls: []string{cluster("running", 2, "a", "b"), clusterJSON("running", []string{}...)}},
		{name: "deleted with its cluster", wait: deleted, slow: true, polls: []string{cluster("deleting", 2, "a", "b"), stub.Envelope(404)}},
	})
	if _, err := sdktest.SendingNothing(t).Kubernetes.WaitNodePoolUpgraded(t.Context(), location, "apps", nil, nil); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("without the node pool as it was: %v", err)
	}
	for _, ref := range []string{"", "kn" + strings.Repeat("z", 24), stub.VMID} { // they would look deleted
		if err := sdktest.SendingNothing(t).Kubernetes.WaitNodePoolDeleted(t.Context(), location, "apps", ref, nil); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("the wait for %q: %v", ref, err)
		}
	}
}
