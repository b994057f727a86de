package wire_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const (
	testClusterID  = "kcpd1gmcppde5qss6kvmfbf2d9"
	testNodePoolID = "kng775d0cd163hzvtzzkdwqrhw"
	testKubeconfig = "---\napiVersion: v1\nkind: Config\nusers:\n- name: kubernetes-admin\n  user:\n    token: eyJhbGciOi.invented\n"
)

// clusterJSON returns a cluster, in the detailed form if it has node pools.
func clusterJSON(state string, nodePools ...string) string {
	short := `"id":"` + testClusterID + `","name":"apps","location":"eu-central-h1","display_state":"` + state +
		`","cp_node_count":1,"node_size":"standard-2","version":"v1.34"`
	if nodePools == nil {
		return `{` + short + `}`
	}
	return `{` + short + `,"cp_vms":[` + nodeJSON("cp", "running") + `],"nodepools":[` + strings.Join(nodePools, ",") + `]}`
}

func nodePoolJSON(count int, nodes ...string) string {
	return fmt.Sprintf(`{"id":"%s","kubernetes_cluster_id":"%s","name":"apps-np","node_count":%d,"node_size":"standard-4","vms":[%s]}`,
		testNodePoolID, testClusterID, count, strings.Join(nodes, ","))
}

func nodeJSON(name, state string) string {
	return `{"id":"` + stub.VMID + `","name":"` + name + `","state":"` + state + `","location":"eu-central-h1","size":"standard-4",` +
		`"unix_user":"ubi","storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17"}`
}

func testCluster(state string) *cloudapi.KubernetesCluster {
	return &cloudapi.KubernetesCluster{
		ID: testClusterID, Name: "apps", Location: "eu-central-h1", DisplayState: state,
		CPNodeCount: 1, NodeSize: "standard-2", Version: "v1.34",
	}
}

func testNodePool(count int, nodes ...cloudapi.VM) *cloudapi.KubernetesNodePool {
	return &cloudapi.KubernetesNodePool{
		ID: testNodePoolID, KubernetesClusterID: testClusterID, Name: "apps-np", NodeCount: count, NodeSize: "standard-4",
		VMs: append([]cloudapi.VM{}, nodes...),
	}
}

func testNode(name, state string) cloudapi.VM {
	return cloudapi.VM{
		ID: stub.VMID, Name: name, State: state, Location: "eu-central-h1", Size: "standard-4", UnixUser: "ubi",
		StorageSizeGiB: 40, IP6: "2a01:db8:40:1ed3:aa7c::2", IP4Enabled: true, IP4: "198.51.100.17",
	}
}

func TestKubernetesWire(t *testing.T) {
	t.Parallel()
	const (
		base     = locationPath + "/kubernetes-cluster"
		item     = base + "/apps"
		location = "eu-central-h1"
	)
	short := testCluster("running")
	full := *short
	full.CPVMs = []cloudapi.VM{testNode("cp", "running")}
	full.NodePools = []cloudapi.KubernetesNodePool{*testNodePool(1, testNode("np-1", "running"))}
	created := *testCluster("creating")
	created.CPVMs, created.NodePools = []cloudapi.VM{}, []cloudapi.KubernetesNodePool{*testNodePool(1)}
	createdJSON := strings.Replace(clusterJSON("creating", nodePoolJSON(1)), nodeJSON("cp", "running"), "", 1)
	page := `{"items":[` + clusterJSON("running") + `],"count":1}`

	runWireCases(t, "Kubernetes", slices.Concat(kubernetesLaterCases(), []wireCase{
		{
			method: "GET", target: projectPath + "/kubernetes-cluster", reply: page,
			call: calls("Kubernetes.List", nil),
			want: &cloudapi.Page[cloudapi.KubernetesCluster]{Items: []*cloudapi.KubernetesCluster{short}, Count: new(1), Next: testClusterID},
		},
		{
			name: "list by name", method: "GET", target: base + "?order_column=name", reply: page,
			call: calls("Kubernetes.List", &cloudapi.ListOptions{Location: location, OrderColumn: cloudapi.OrderByName}),
			want: &cloudapi.Page[cloudapi.KubernetesCluster]{Items: []*cloudapi.KubernetesCluster{short}, Count: new(1), Next: "apps"},
		},
		{
			name: "all", method: "GET", target: base + "?page_size=1000", reply: page,
			call: calls("Kubernetes.All", &cloudapi.ListOptions{Location: location}),
			want: []*cloudapi.KubernetesCluster{short},
		},
		{
			name: "get", method: "GET", target: item, reply: clusterJSON("running", nodePoolJSON(1, nodeJSON("np-1", "running"))),
			call: calls("Kubernetes.Get", location, "apps"),
			want: &full,
		},
		{
			name: "create", method: "POST", target: item, reply: createdJSON,
			body: `{"version":"v1.34","worker_size":"standard-4"}`,
			call: calls("Kubernetes.Create", location, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-4"}),
			want: &created,
		},
		{
			name: "create with everything", method: "POST", target: item, reply: createdJSON,
			body: `{"version":"v1.34","worker_size":"standard-4","cp_nodes":3,"worker_nodes":2}`,
			call: calls("Kubernetes.Create", location, "apps", &cloudapi.KubernetesClusterCreateRequest{
				Version: "v1.34", WorkerSize: "standard-4", CPNodes: 3, WorkerNodes: 2,
			}),
			want: &created,
		},
		{
			name: "delete", method: "DELETE", target: item,
			call: calls("Kubernetes.Delete", location, "apps"),
		},
		{
			name: "kubeconfig", method: "GET", target: item + "/kubeconfig", reply: testKubeconfig,
			header: http.Header{
				"Content-Type":        {"text/plain"},
				"Content-Disposition": {`attachment; filename="apps-kubeconfig.yaml"`},
			},
			call: calls("Kubernetes.Kubeconfig", location, "apps"),
			want: &cloudapi.File{Name: "apps-kubeconfig.yaml", ContentType: "text/plain", Content: []byte(testKubeconfig)},
		},
		{
			name: "resize a node pool", method: "POST", target: item + "/nodepool/apps-np/resize", body: `{"node_count":2}`,
			reply: nodePoolJSON(2, nodeJSON("np-1", "running")),
			call:  calls("Kubernetes.ResizeNodePool", location, "apps", "apps-np", 2),
			want:  testNodePool(2, testNode("np-1", "running")),
		},
		{
			name: "resize by ID", method: "POST", target: item + "/nodepool/" + testNodePoolID + "/resize", body: `{"node_count":0}`,
			reply: nodePoolJSON(1),
			call:  calls("Kubernetes.ResizeNodePool", location, "apps", testNodePoolID, 0),
			want:  testNodePool(1),
		},
		{
			name: "rename", byName: true, method: "POST", target: base + "/old/rename", body: `{"name":"apps"}`, reply: clusterJSON("running"),
			call: calls("Kubernetes.Rename", location, "old", "apps"),
			want: short,
		},
	}))
}

func TestKubernetesWaits(t *testing.T) {
	t.Parallel()
	const location = "eu-central-h1"
	running := testCluster("running")
	waitRunning := calls("Kubernetes.WaitRunning", location, "apps")
	waitDeleted := calls("Kubernetes.WaitDeleted", location, "apps")
	waitNodePool := func(ref string) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("Kubernetes.WaitNodePool", location, "apps", ref)
	}
	pool := func(count int, nodes ...string) string { return clusterJSON("running", nodePoolJSON(count, nodes...)) }
	one, two, young := nodeJSON("np-1", "running"), nodeJSON("np-2", "running"), nodeJSON("np-2", "creating")
	settled := testNodePool(2, testNode("np-1", "running"), testNode("np-2", "running"))

	runWaitCases(t, locationPath+"/kubernetes-cluster/apps", []waitCase{
		{
			name: "running", wait: waitRunning, slow: true, want: running,
			polls: []string{clusterJSON("creating"), clusterJSON("upgrading"), clusterJSON("creating"), clusterJSON("running")},
		},
		{
			name: "deleted before it runs", wait: waitRunning, slow: true, err: cloudapi.ErrWaitFailed,
			polls: []string{clusterJSON("creating"), clusterJSON("deleting")},
		},
		{
			name: "gone before it runs", wait: waitRunning, slow: true, err: cloudapi.ErrNotFound,
			polls: []string{clusterJSON("creating"), stub.Envelope(404)},
		},
		{
			name: "deleted", wait: waitDeleted, slow: true,
			polls: []string{clusterJSON("running"), clusterJSON("deleting"), stub.Envelope(403), stub.Envelope(404)},
		},
		{
			name: "node pool grows", wait: waitNodePool("apps-np"), slow: true, want: settled,
			polls: []string{pool(2, one), pool(2, one, young), pool(2, one, two)},
		},
		{
			name: "node pool shrinks", wait: waitNodePool(testNodePoolID), slow: true, want: testNodePool(1, testNode("np-1", "running")),
			polls: []string{pool(1, one, two), pool(1, one)},
		},
		{
			name: "node pool of a cluster under maintenance", wait: waitNodePool("apps-np"), slow: true, want: settled,
			polls: []string{clusterJSON("creating", nodePoolJSON(2, one, two))},
		},
		{
			name: "node pool of a cluster that is gone", wait: waitNodePool("apps-np"), slow: true, err: cloudapi.ErrNotFound,
			polls: []string{pool(2, one), stub.Envelope(404)},
		},
		{
			name: "no such node pool", wait: waitNodePool("apps-np-2"), slow: true, err: cloudapi.ErrWaitFailed,
			polls: []string{pool(2, one, two)},
		},
		{
			name: "node pool of a cluster that is deleted", wait: waitNodePool("apps-np"), slow: true, err: cloudapi.ErrWaitFailed,
			polls: []string{pool(2, one), clusterJSON("deleting", nodePoolJSON(2, one, two))},
		},
	})
}
