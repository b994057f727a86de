package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const (
	clusterID  = "kcpd1gmcppde5qss6kvmfbf2d9"
	poolID     = "kng775d0cd163hzvtzzkdwqrhw"
	kubeconfig = "---\napiVersion: v1\nkind: Config\nusers:\n- name: kubernetes-admin\n  user:\n    token: eyJhbGciOi.invented\n"
)

// clusterJSON returns a cluster, in the detailed form if it has node pools.
func clusterJSON(state string, nodePools ...string) string {
	item := `{"id":"` + clusterID + `","name":"apps","location":"eu-central-h1","display_state":"` + state +
		`","cp_node_count":1,"node_size":"standard-2","version":"v1.34"}`
	if nodePools == nil {
		return item
	}
	return with(item, `"cp_vms":[`+nodeJSON("cp")+`],"nodepools":[`+strings.Join(nodePools, ",")+`]`)
}

func poolJSON(count int, nodes ...string) string {
	return fmt.Sprintf(`{"id":"%s","kubernetes_cluster_id":"%s","name":"apps-np","node_count":%d,"node_size":"standard-4","vms":[%s]}`,
		poolID, clusterID, count, strings.Join(nodes, ","))
}

// nodeJSON returns a node, which is running unless its name ends in "?".
func nodeJSON(name string) string {
	name, young := strings.CutSuffix(name, "?")
	state := "running"
	if young {
		state = "creating"
	}
	return `{"id":"vm-` + name + `","name":"np-` + name + `","state":"` + state + `","location":"eu-central-h1","size":"standard-4"}`
}

func kubernetesCases() []wireCase {
	const (
		base = locationPath + "/kubernetes-cluster"
		apps = base + "/apps"
		pool = apps + "/nodepool"
	)
	item, nodes := clusterJSON("running"), poolJSON(1, nodeJSON("a"))
	versioned := with(poolJSON(1), `"version":"v1.36"`)
	start := time.Date(2026, 11, 22, 2, 15, 54, 0, time.UTC)
	return []wireCase{
		{do("Kubernetes.List", nil), "GET " + projectPath + "/kubernetes-cluster", list(item)},
		{do("Kubernetes.List", &cloudapi.ListOptions{Location: location, OrderColumn: cloudapi.OrderByName}), "GET " + base + "?order_column=name", list(item)},
		{do("Kubernetes.All", &cloudapi.ListOptions{Location: location}), "GET " + base + "?page_size=1000", list(item)},
		{do("Kubernetes.Get", location, "apps"), "GET " + apps, clusterJSON("running", nodes)},
		{do("Kubernetes.Create", location, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-4"}),
			"POST " + apps + ` {"version":"v1.34","worker_size":"standard-4"}`, with(clusterJSON("creating"), `"cp_vms":[],"nodepools":[`+poolJSON(1)+`]`)},
		{do("Kubernetes.Create", location, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-4", CPNodeCount: 3, WorkerNodeCount: 2}),
			"POST " + apps + ` {"version":"v1.34","worker_size":"standard-4","cp_nodes":3,"worker_nodes":2}`, item},
		{do("Kubernetes.Delete", location, "apps"), "DELETE " + apps, nil},
		{do("Kubernetes.Rename", location, "old", "apps"), "POST " + base + `/old/rename {"name":"apps"}`, item},
		{do("Kubernetes.Upgrade", location, "apps"), "POST " + apps + "/upgrade", clusterJSON("running", versioned)},
		{do("Kubernetes.Kubeconfig", location, "apps"), "GET " + apps + "/kubeconfig",
			cloudapi.File{Name: "apps-kubeconfig.yaml", ContentType: "text/plain", Content: []byte(kubeconfig)}},
		{do("Kubernetes.Metrics", location, "apps", nil), "GET " + apps + "/metrics", `{"metrics":[]}`},
		{do("Kubernetes.Metrics", location, "apps", &cloudapi.MetricsOptions{Start: start, End: start.Add(time.Hour), Key: cloudapi.KubernetesMetricKeyClusterObjects}),
			"GET " + apps + "/metrics?end=2026-11-22T03%3A15%3A54Z&key=cluster_objects&start=2026-11-22T02%3A15%3A54Z",
			`{"metrics":[{"key":"cluster_objects","name":"Cluster Objects","unit":"count","description":"d","series":[{"labels":{},"values":[[1795315554,"16.8"]]}]}]}`},
		{do("Kubernetes.CreateNodePool", location, "apps", "apps-np", &cloudapi.KubernetesNodePoolCreateRequest{NodeCount: 1, NodeSize: "standard-4"}),
			"POST " + pool + ` {"name":"apps-np","node_count":1,"node_size":"standard-4"}`, versioned},
		{do("Kubernetes.DeleteNodePool", location, "apps", "apps-np"), "DELETE " + pool + "/apps-np", nil},
		{do("Kubernetes.RenameNodePool", location, "apps", "old", "apps-np"), "POST " + pool + `/old/rename {"name":"apps-np"}`, versioned},
		{do("Kubernetes.RenameNodePool", location, "apps", poolID, "apps-np"), "POST " + pool + "/" + poolID + `/rename {"name":"apps-np"}`, versioned},
		{do("Kubernetes.UpgradeNodePool", location, "apps", "apps-np"), "POST " + pool + "/apps-np/upgrade", versioned},
		{do("Kubernetes.RetireNode", location, "apps", "np-y763k"), "POST " + apps + "/node/np-y763k/retire", versioned},
		{do("Kubernetes.ResizeNodePool", location, "apps", "apps-np", 2), "POST " + pool + `/apps-np/resize {"node_count":2}`, poolJSON(2, nodeJSON("a"))},
		{do("Kubernetes.ResizeNodePool", location, "apps", poolID, 0), "POST " + pool + "/" + poolID + `/resize {"node_count":0}`, poolJSON(1)},
	}
}

func TestKubernetesWaits(t *testing.T) {
	t.Parallel()
	// pool returns a node pool with the nodes, and in returns a cluster in a state
	// with such a node pool.
	pool := func(count int, nodes string) string {
		var vms []string
		for _, name := range strings.Fields(nodes) {
			vms = append(vms, nodeJSON(name))
		}
		return poolJSON(count, vms...)
	}
	in := func(state string, count int, nodes string) string { return clusterJSON(state, pool(count, nodes)) }
	running, deleted := do("Kubernetes.WaitRunning", location, "apps"), do("Kubernetes.WaitDeleted", location, "apps")
	settled := func(pool string) sdktest.Call { return do("Kubernetes.WaitNodePool", location, "apps", pool) }
	retired := func(node string) sdktest.Call { return do("Kubernetes.WaitNodeRetired", location, "apps", node) }
	poolGone := do("Kubernetes.WaitNodePoolDeleted", location, "apps", "apps-np")
	vms := []cloudapi.VM{{ID: "vm-a", Name: "np-a", State: "running"}, {ID: "vm-b", Name: "np-b", State: "running"}}
	upgraded := do("Kubernetes.WaitNodePoolUpgraded", location, "apps", &cloudapi.KubernetesNodePool{ID: poolID, Name: "apps-np", NodeCount: 2, VMs: vms})
	runWaits(t, slow, locationPath+"/kubernetes-cluster/apps", []waitCase{
		{"running", running, polls{clusterJSON("creating"), clusterJSON("upgrading"), clusterJSON("creating"), clusterJSON("running")}, nil, ""},
		{"deleted before it runs", running, polls{clusterJSON("creating"), clusterJSON("deleting")}, cloudapi.ErrWaitFailed, ""},
		{"gone before it runs", running, polls{clusterJSON("creating"), stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"deleted", deleted, polls{clusterJSON("running"), clusterJSON("deleting"), stub.Envelope(403), stub.Envelope(404)}, nil, ""},

		{"pool grows", settled("apps-np"), polls{in("running", 2, "a"), in("running", 2, "a b?"), in("running", 2, "a b")}, nil, pool(2, "a b")},
		{"pool shrinks", settled(poolID), polls{in("running", 1, "a b"), in("running", 1, "a")}, nil, pool(1, "a")},
		{"pool of a cluster under maintenance", settled("apps-np"), polls{in("creating", 2, "a b")}, nil, pool(2, "a b")},
		{"pool of a cluster that is upgraded", settled("apps-np"), polls{in("upgrading", 2, "c d"), in("running", 2, "c d")}, nil, pool(2, "c d")},
		{"pool of a cluster that is gone", settled("apps-np"), polls{in("running", 2, "a"), stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"no such pool", settled("apps-np-2"), polls{in("running", 2, "a b")}, cloudapi.ErrWaitFailed, ""},
		{"pool of a cluster that is deleted", settled("apps-np"), polls{in("running", 2, "a"), in("deleting", 2, "a b")}, cloudapi.ErrWaitFailed, ""},

		{"pool upgraded", upgraded, polls{
			in("running", 2, "a b"), // the upgrade hasn't begun
			in("upgrading", 2, "a b c?"), in("upgrading", 2, "b c"), in("running", 2, "b c"),
			in("upgrading", 2, "b c d"), in("upgrading", 2, "c d"), in("running", 2, "c d"),
		}, nil, pool(2, "c d")},
		{"pool deleted while it is upgraded", upgraded, polls{in("upgrading", 2, "a b"), in("deleting", 2, "a b")}, cloudapi.ErrWaitFailed, ""},
		{"node retired", retired("np-a"), polls{in("running", 1, "a b"), in("running", 1, "b")}, nil, ""},
		{"node retired by ID", retired("vm-a"), polls{in("running", 1, "a b"), in("running", 1, "b")}, nil, ""},
		{"node retired with its cluster", retired("np-a"), polls{in("deleting", 1, "a b"), stub.Envelope(404)}, nil, ""},
		{"pool deleted", poolGone, polls{in("running", 2, "a b"), clusterJSON("running", []string{}...)}, nil, ""},
		{"pool deleted and created again", poolGone, polls{in("running", 2, "a b"), strings.ReplaceAll(in("running", 2, "c d"), poolID, "kn00000000021g000000000001")}, nil, ""},
		{"pool deleted with its cluster", poolGone, polls{in("deleting", 2, "a b"), stub.Envelope(404)}, nil, ""},
	})
}
