package families_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// inClusterBubble runs a test in the service and a running cluster
// that has one worker.
func inClusterBubble(t *testing.T, test func(*testing.T, *cloudapitest.Server, *cloudapi.KubernetesService), opts ...cloudapitest.Option) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		request := &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2", WorkerNodes: 1}
		must(client.Kubernetes.Create(t.Context(), here, "apps", request))
		must(client.Kubernetes.WaitRunning(t.Context(), here, "apps", nil))
		test(t, srv, client.Kubernetes)
	}, append(opts, cloudapitest.WithAPI(cloudapitest.Service))...)
}

// TestNodePoolLifecycle follows a program that upgrades a cluster, from a new
// node pool to the end of the old one.
func TestNodePoolLifecycle(t *testing.T) {
	inClusterBubble(t, func(t *testing.T, _ *cloudapitest.Server, clusters *cloudapi.KubernetesService) {
		ctx := t.Context()
		created := must(clusters.CreateNodePool(ctx, here, "apps", &cloudapi.KubernetesNodePoolCreateRequest{Name: "new", NodeCount: 2, NodeSize: "standard-4"}))
		if created.Version != "v1.36" || len(created.VMs) != 0 {
			t.Errorf("created as %+v", created)
		}
		must(clusters.WaitNodePool(ctx, here, "apps", "new", nil))
		if k := must(clusters.Upgrade(ctx, here, "apps")); k.Version != "v1.37" || k.DisplayState != "running" {
			t.Errorf("the cluster is %s of version %s", k.DisplayState, k.Version)
		}
		k := must(clusters.WaitRunning(ctx, here, "apps", nil))
		if vm := k.CPVMs[0]; len(k.CPVMs) != 1 || vm.BootImage != "kubernetes-v1_37" {
			t.Errorf("the control plane is %+v", k.CPVMs)
		}
		before := must(clusters.UpgradeNodePool(ctx, here, "apps", "new"))
		if before.Version != "v1.37" || before.VMs[0].BootImage != "kubernetes-v1_36" {
			t.Errorf("before its upgrade: %+v", before)
		}
		upgraded := must(clusters.WaitNodePoolUpgraded(ctx, here, "apps", before, nil))
		must(clusters.RenameNodePool(ctx, here, "apps", created.ID, "workers"))
		node := upgraded.VMs[0].Name
		if p := must(clusters.RetireNode(ctx, here, "apps", node)); p.NodeCount != 1 || len(p.VMs) != 2 {
			t.Errorf("without %s: %+v", node, p)
		}
		if err := clusters.WaitNodeRetired(ctx, here, "apps", node, nil); err != nil {
			t.Fatal(err)
		}
		_, err := clusters.RetireNode(ctx, here, "apps", node)
		if !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("%v, want %v", err, cloudapi.ErrNotFound)
		}
		if err := clusters.DeleteNodePool(ctx, here, "apps", "apps-np"); err != nil {
			t.Fatal(err)
		}
		if err := clusters.WaitNodePoolDeleted(ctx, here, "apps", "apps-np", nil); err != nil {
			t.Fatal(err)
		}
		if err := clusters.DeleteNodePool(ctx, here, "apps", "workers"); !errors.Is(err, cloudapi.ErrInvalidRequest) {
			t.Errorf("the last node pool: %v, want %v", err, cloudapi.ErrInvalidRequest)
		}
	})
}

// TestNodesAreReplacedOneAfterTheOther looks at a node pool during its upgrade.
func TestNodesAreReplacedOneAfterTheOther(t *testing.T) {
	inClusterBubble(t, func(t *testing.T, _ *cloudapitest.Server, clusters *cloudapi.KubernetesService) {
		ctx := t.Context()
		must(clusters.ResizeNodePool(ctx, here, "apps", "apps-np", 2))
		must(clusters.WaitNodePool(ctx, here, "apps", "apps-np", nil))
		stub.Elapse(time.Minute) // until the node pool is idle
		must(clusters.Upgrade(ctx, here, "apps"))
		must(clusters.WaitRunning(ctx, here, "apps", nil))
		must(clusters.UpgradeNodePool(ctx, here, "apps", "apps-np"))
		for _, step := range []struct {
			after        time.Duration
			state, nodes string
		}{
			{time.Second, "upgrading", "old:running old:running new:creating"},
			{time.Minute, "upgrading", "old:running old:running new:running"},
			{time.Minute, "running", "old:running new:running new:creating"}, // not for the second one
			{time.Minute, "running", "old:running new:running new:running"},
			{time.Minute, "running", "new:running new:running"},
		} {
			stub.Elapse(step.after)
			k := must(clusters.Get(ctx, here, "apps"))
			var nodes []string
			for _, v := range k.NodePools[0].VMs {
				age := map[string]string{"kubernetes-v1_36": "old", "kubernetes-v1_37": "new"}[v.BootImage]
				nodes = append(nodes, age+":"+v.State)
			}
			if got := strings.Join(nodes, " "); got != step.nodes || k.DisplayState != step.state {
				t.Errorf("the cluster is %s with %q, want %s with %q", k.DisplayState, got, step.state, step.nodes)
			}
		}
	}, cloudapitest.WithDelays(cloudapitest.Delays{Resize: 2 * time.Minute}))
}

// TestClustersDoOneThingAtATime tries changes that are refused while another
// change is in progress.
func TestClustersDoOneThingAtATime(t *testing.T) {
	pool := &cloudapi.KubernetesNodePoolCreateRequest{Name: "more", NodeCount: 1, NodeSize: "standard-2"}
	inClusterBubble(t, func(t *testing.T, srv *cloudapitest.Server, clusters *cloudapi.KubernetesService) {
		ctx := t.Context()
		must(clusters.CreateNodePool(ctx, here, "apps", pool))
		_, err := clusters.Upgrade(ctx, here, "apps")
		refused(t, err, "Cluster is not ready to be upgraded")
		_, err = clusters.ResizeNodePool(ctx, here, "apps", "apps-np", 2)
		refused(t, err, "Cluster is not ready to resize a nodepool")
		_, err = clusters.ResizeNodePool(ctx, here, "apps", "more", 2)
		refused(t, err, "Nodepool is not ready to be resized")
		must(clusters.WaitNodePool(ctx, here, "apps", "more", nil))
		_, err = clusters.CreateNodePool(ctx, here, "apps", pool)
		if !errors.Is(err, cloudapi.ErrAlreadyExists) {
			t.Errorf("%v, want %v", err, cloudapi.ErrAlreadyExists)
		}
		_, err = clusters.RenameNodePool(ctx, here, "apps", "more", "apps-np")
		if !errors.Is(err, cloudapi.ErrAlreadyExists) {
			t.Errorf("%v, want %v", err, cloudapi.ErrAlreadyExists)
		}
		if err := clusters.Delete(ctx, here, "apps"); err != nil {
			t.Fatal(err)
		}
		_, err = clusters.CreateNodePool(ctx, here, "apps", pool)
		refused(t, err, "Cluster is not ready to add a nodepool")
		if err := clusters.WaitDeleted(ctx, here, "apps", nil); err != nil {
			t.Fatal(err)
		}
		if err := clusters.DeleteNodePool(ctx, here, "apps", "more"); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("of a cluster that is gone: %v, want %v", err, cloudapi.ErrNotFound)
		}
	})
}

func TestKubeconfigInService(t *testing.T) {
	inClusterBubble(t, func(t *testing.T, _ *cloudapitest.Server, clusters *cloudapi.KubernetesService) {
		ctx := t.Context()
		if f := must(clusters.Kubeconfig(ctx, here, "apps")); f.ContentType != "text/yaml" {
			t.Errorf("a file of type %s", f.ContentType)
		}
		must(clusters.Create(ctx, here, "other", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.37", WorkerSize: "standard-2"}))
		_, err := clusters.Kubeconfig(ctx, here, "other")
		refused(t, err, "kubeconfig is not available yet")
		_, err = clusters.Create(ctx, here, "third", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-2"})
		refused(t, err, "Available versions: v1.37, v1.36")
	})
}

func TestClustersAreMeasured(t *testing.T) {
	inClusterBubble(t, func(t *testing.T, _ *cloudapitest.Server, clusters *cloudapi.KubernetesService) {
		all := must(clusters.Metrics(t.Context(), here, "apps", nil)).Metrics
		if !slices.ContainsFunc(all, func(m cloudapi.ResourceMetric) bool { return m.Key == cloudapi.KubernetesMetricPendingPods }) || len(all) != 12 {
			t.Errorf("measured is %+v", all)
		}
		one := must(clusters.Metrics(t.Context(), here, "apps", &cloudapi.ResourceMetricsOptions{Key: cloudapi.KubernetesMetricDiskIO})).Metrics
		if len(one) != 1 || len(one[0].Series) != 2 || len(one[0].Series[0].Values) == 0 {
			t.Errorf("measured is %+v", one)
		}
	})
}
