package families_test

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func createCluster(t *testing.T, client *cloudapi.Client, name string, workers int) *cloudapi.KubernetesCluster {
	t.Helper()
	request := &cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-4", WorkerNodes: workers}
	return must(client.Kubernetes.Create(t.Context(), here, name, request))
}

// states returns the states of VMs, in their order.
func states(vms []cloudapi.VM) string {
	var all []string
	for _, v := range vms {
		all = append(all, v.State)
	}
	return strings.Join(all, " ")
}

func TestClusterLifecycle(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx, clusters := t.Context(), client.Kubernetes
		created := must(clusters.Create(ctx, here, "apps", &cloudapi.KubernetesClusterCreateRequest{
			Version: "v1.33", WorkerSize: "standard-4", CPNodes: 3, WorkerNodes: 2,
		}))
		for _, step := range []struct {
			do                  func()
			after               time.Duration
			state, cps, workers string
		}{
			{nil, 0, "creating", "", ""},
			{nil, 3*time.Minute - 1, "creating", "creating creating creating", "creating creating"},
			{nil, 1, "running", "running running running", "running running"},
			{func() { srv.SetState(created.ID, "creating") }, time.Hour, "creating", "running running running", "running running"},
			{func() { srv.SetState(created.ID, "") }, 0, "running", "running running running", "running running"},
			{func() { clusters.Delete(ctx, here, "apps") }, 0, "deleting", "running running running", "running running"},
			{func() { clusters.Delete(ctx, here, "apps") }, time.Minute - 1, "deleting", "running running running", "running running"},
		} {
			if step.do != nil {
				step.do()
			}
			stub.Elapse(step.after)
			k := must(clusters.Get(ctx, here, "apps"))
			pool := k.NodePools[0]
			if k.DisplayState != step.state || states(k.CPVMs) != step.cps || states(pool.VMs) != step.workers ||
				k.CPNodeCount != 3 || pool.NodeCount != 2 || k.NodeSize != "standard-2" || pool.NodeSize != "standard-4" {
				t.Errorf("the cluster is %+v, want it %s with the nodes %q and %q", k, step.state, step.cps, step.workers)
			}
			if item := must(clusters.List(ctx, nil)).Items[0]; item.DisplayState != step.state || item.CPVMs != nil {
				t.Errorf("listed as %+v", item)
			}
		}
		stub.Elapse(time.Nanosecond)
		if _, err := clusters.Get(ctx, here, "apps"); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("%v, want %v", err, cloudapi.ErrNotFound)
		}
	}, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithDelays(cloudapitest.Delays{Create: 3 * time.Minute, Delete: time.Minute}))
}

func TestKubeconfig(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx, clusters := t.Context(), client.Kubernetes
		createCluster(t, client, "apps", 1)
		path := "/project/" + srv.ProjectID() + "/location/" + here + "/kubernetes-cluster/apps/kubeconfig"
		if status, body := stub.Do(t, srv, "GET", path, ""); status != 500 || !strings.Contains(body, "UnexceptedError") {
			t.Errorf("before there are nodes: %d %s", status, body)
		}
		must(clusters.WaitRunning(ctx, here, "apps", nil))

		first := must(clusters.Kubeconfig(ctx, here, "apps"))
		if first.Name != "apps-kubeconfig.yaml" || first.ContentType != "text/plain" {
			t.Errorf("a file %s of type %s", first.Name, first.ContentType)
		}
		ca := regexp.MustCompile(`certificate-authority-data: (\S+)\n`).FindSubmatch(first.Content)
		if ca == nil {
			t.Fatalf("no certificate in\n%s", first.Content)
		}
		if block, _ := pem.Decode(must(base64.StdEncoding.DecodeString(string(ca[1])))); block == nil || block.Type != "CERTIFICATE" {
			t.Errorf("the certificate is %v", block)
		}

		must(clusters.Rename(ctx, here, "apps", "more"))
		second := must(clusters.Kubeconfig(ctx, here, "more"))
		if second.Name != "more-kubeconfig.yaml" || string(second.Content) != string(first.Content) {
			t.Errorf("later it is %s:\n%s\nbefore:\n%s", second.Name, second.Content, first.Content)
		}
		createCluster(t, client, "other", 1)
		must(clusters.WaitRunning(ctx, here, "other", nil))
		if other := must(clusters.Kubeconfig(ctx, here, "other")); string(other.Content) == string(first.Content) {
			t.Error("two clusters have the same kubeconfig")
		}
	}, cloudapitest.WithAPI(cloudapitest.Contract))
}

func TestNodePoolsAreResizedInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx, clusters := t.Context(), client.Kubernetes
		createCluster(t, client, "apps", 2)
		resize := func(count int) {
			before := must(clusters.Get(ctx, here, "apps")).NodePools[0]
			p := must(clusters.ResizeNodePool(ctx, here, "apps", "apps-np", count))
			if p.NodeCount != count || states(p.VMs) != states(before.VMs) {
				t.Errorf("%d nodes are wanted, and there are %q, want %d and %q", p.NodeCount, states(p.VMs), count, states(before.VMs))
			}
		}
		for i, step := range []struct {
			count int // 0 is no resize
			after time.Duration
			nodes string
		}{
			{3, 0, ""}, // the nodes of the former size are being created
			{0, time.Hour, "running running creating"},
			{0, time.Minute - 1, "running running creating"},
			{0, 1, "running running running"},
			{1, 0, "running running running"}, // two of them are drained
			{0, time.Minute - 1, "running running running"},
			{2, 0, "running running running"}, // a draining node isn't kept
			{0, 1, "running creating"},
			{0, time.Minute, "running running"},
			{4, time.Second, "running running creating creating"},
			{2, 0, "running running creating creating"}, // the oldest leave
			{0, time.Hour, "running running"},
		} {
			if step.count > 0 {
				resize(step.count)
			}
			stub.Elapse(step.after)
			pool := must(clusters.Get(ctx, here, "apps")).NodePools[0]
			if got := states(pool.VMs); got != step.nodes {
				t.Errorf("step %d: the nodes are %q, want %q", i, got, step.nodes)
			}
		}

		resize(3)
		pool := must(clusters.WaitNodePool(ctx, here, "apps", "apps-np", nil))
		if states(pool.VMs) != "running running running" {
			t.Errorf("settled as %+v", pool)
		}
	}, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithDelays(cloudapitest.Delays{Create: time.Hour, Resize: time.Minute}))
}

// TestNodesAreNotTheProjectsVMs looks for nodes in places that only contain VMs
// of the project.
func TestNodesAreNotTheProjectsVMs(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		createCluster(t, client, "apps", 2)
		k := must(client.Kubernetes.WaitRunning(ctx, here, "apps", nil))
		v := must(client.VMs.Create(ctx, here, "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", EnableIP4: new(true)}))
		must(client.VMs.WaitRunning(ctx, here, "web", nil))
		if page := must(client.VMs.List(ctx, nil)); len(page.Items) != 1 || page.Items[0].ID != v.ID {
			t.Errorf("the VMs are %v, want web only", page.Items)
		}
		seen := map[string]bool{must(client.VMs.Get(ctx, here, "web")).IP4: true}
		for _, node := range append(k.CPVMs, k.NodePools[0].VMs...) {
			for _, ref := range []string{node.ID, node.Name} {
				if _, err := client.VMs.Get(ctx, here, ref); !errors.Is(err, cloudapi.ErrNotFound) {
					t.Errorf("%s as a VM: %v, want %v", ref, err, cloudapi.ErrNotFound)
				}
			}
			if seen[node.IP4] || node.IP4 == "" || node.IP6 == "" || node.StorageSizeGiB == 0 || node.Location != here {
				t.Errorf("the node %+v lacks something, or shares its address with others: %v", node, seen)
			}
			seen[node.IP4] = true
		}
		srv.SetState(k.NodePools[0].VMs[1].ID, "no capacity available")
		if got := states(must(client.Kubernetes.Get(ctx, here, "apps")).NodePools[0].VMs); got != "running no capacity available" {
			t.Errorf("the nodes are %q", got)
		}
	}, cloudapitest.WithAPI(cloudapitest.Contract))
}

func TestRefusedClusters(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithQuota(cloudapitest.Quota{Kubernetes: 10}))
	path := "/project/" + srv.ProjectID() + "/location/" + here + "/kubernetes-cluster/"
	long := strings.Repeat("k", 41)
	for _, tt := range []struct{ name, body, want string }{
		{"a", `{"version":" ","worker_size":"x"}`, "empty string provided for parameter version"},
		{"a", `{"version":"x","worker_size":""}`, "empty string provided for parameter worker_size"},
		{"a", `{"version":"x","worker_size":"i8g.large"}`, `"size":"\"i8g.large\" is not a valid virtual machine size.`},
		{"a", `{"version":"x","worker_size":"standard-2","worker_nodes":5}`, `"worker_nodes":"Insufficient quota`},
		{"a", `{"version":"x","worker_size":"standard-60","worker_nodes":4611686018427387904}`, `"worker_nodes":"Insufficient quota`},
		{long, `{"version":"x","worker_size":"standard-2"}`, "UnexceptedError"},
		{long, `{"version":"v1.34","worker_size":"standard-2","cp_nodes":2}`, "have max length 40."},
		{"a", `{"version":"v1.34","worker_size":"standard-2","cp_nodes":2}`, "control_plane_node_count"},
		{"kc164pbm96ba3grq6vbsvjb3ax", `{"version":"v1.34","worker_size":"standard-2"}`, "name cannot be exactly 26"},
	} {
		status, body := stub.Do(t, srv, "POST", path+tt.name, tt.body)
		if status == 200 || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s, want %s", tt.name, tt.body, status, body, tt.want)
		}
	}
	for _, size := range []string{"premium-8", "burstable-1"} {
		body := fmt.Sprintf(`{"version":"v1.34","worker_size":%q,"cp_nodes":0,"worker_nodes":-1}`, size)
		if status, reply := stub.Do(t, srv, "POST", path+size, body); status != 200 && size == "premium-8" {
			t.Errorf("%s: %d %s", size, status, reply)
		} else if size == "burstable-1" && !strings.Contains(reply, "currently used vCPU count: 10,") {
			t.Errorf("%s: %d %s, want the quota to be used up", size, status, reply)
		}
	}
}

func TestClustersCountUntilTheyAreGone(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx, clusters := t.Context(), client.Kubernetes
		createCluster(t, client, "a", 1) // 2 + 4 vCPUs
		createCluster(t, client, "b", 2) // 2 + 8 vCPUs
		problem := func(err error) map[string][]string {
			e, _ := errors.AsType[*cloudapi.Error](err)
			if e == nil {
				return nil
			}
			return e.FieldErrors()
		}
		const quota = "Insufficient quota for requested size. Requested vCPU count: %d, currently used vCPU count: %d, " +
			"maximum allowed vCPU count: 20, remaining vCPU count: %d"
		_, err := clusters.ResizeNodePool(ctx, here, "a", "a-np", 3)
		if want := map[string][]string{"node_count": {fmt.Sprintf(quota, 8, 16, 4)}}; !reflect.DeepEqual(problem(err), want) {
			t.Errorf("growing: %v, want %v", err, want)
		}
		must(clusters.ResizeNodePool(ctx, here, "b", "b-np", 1))
		must(clusters.ResizeNodePool(ctx, here, "a", "a-np", 3)) // used up: 14 + 6
		if err := clusters.Delete(ctx, here, "a"); err != nil {
			t.Fatal(err)
		}
		_, err = clusters.ResizeNodePool(ctx, here, "b", "b-np", 2)
		if want := map[string][]string{"node_count": {fmt.Sprintf(quota, 4, 20, 0)}}; !reflect.DeepEqual(problem(err), want) {
			t.Errorf("growing beside one that is being deleted: %v, want %v", err, want)
		}
		if err := clusters.WaitDeleted(ctx, here, "a", nil); err != nil {
			t.Fatal(err)
		}
		must(clusters.ResizeNodePool(ctx, here, "b", "b-np", 4))
	}, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithQuota(cloudapitest.Quota{Kubernetes: 20}))
}

func TestRenamedClustersKeepTheirPool(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx, clusters := t.Context(), client.Kubernetes
		id := createCluster(t, client, "apps", 1).NodePools[0].ID
		if err := clusters.Delete(ctx, here, "apps"); err != nil {
			t.Fatal(err)
		}
		must(clusters.Rename(ctx, here, "apps", "more")) // possible until it is gone
		for _, ref := range []string{id, "apps-np"} {
			if p := must(clusters.ResizeNodePool(ctx, here, "more", ref, 2)); p.ID != id || p.Name != "apps-np" {
				t.Errorf("%s: %+v", ref, p)
			}
		}
		other := createCluster(t, client, "other", 1)
		if _, err := clusters.ResizeNodePool(ctx, here, "other", id, 2); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("the pool of another cluster: %v, want %v", err, cloudapi.ErrNotFound)
		}
		if _, err := clusters.Rename(ctx, here, other.ID, "more"); !errors.Is(err, cloudapi.ErrAlreadyExists) {
			t.Errorf("%v, want %v", err, cloudapi.ErrAlreadyExists)
		}
	}, cloudapitest.WithAPI(cloudapitest.Contract))
}
