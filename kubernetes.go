package cloudapi

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// KubernetesService works with Kubernetes clusters and their node pools.
//
// A reference is the ID (prefix kc) or the name; of a node pool too (prefix
// kn).
type KubernetesService service

// KubernetesCluster is a Kubernetes cluster.
type KubernetesCluster struct {
	ID           string `json:"id"`            // prefix kc
	Name         string `json:"name"`          // unique in its project and location
	Location     string `json:"location"`      // such as "eu-central-h1"
	DisplayState string `json:"display_state"` // one of the KubernetesClusterState constants, or another
	CPNodeCount  int    `json:"cp_node_count"` // number of control plane nodes, 1 or 3
	NodeSize     string `json:"node_size"`     // of the control plane nodes, such as "standard-2"
	Version      string `json:"version"`       // such as "v1.34"

	// From here on: only Get and Create return it.
	CPVMs     []VM                 `json:"cp_vms"`    // control plane nodes in the short form; none right after Create
	NodePools []KubernetesNodePool `json:"nodepools"` // after Create there is one, called "<cluster>-np"
}

func (k *KubernetesCluster) missing() string             { return missingID(k.ID) }
func (k *KubernetesCluster) cursor(column string) string { return idOrName(column, k.ID, k.Name) }
func (k *KubernetesCluster) identity() Resource {
	return Resource{Kind: KindKubernetesCluster, ID: k.ID, Location: k.Location, Name: k.Name}
}
func (k *KubernetesCluster) stateText() string { return k.DisplayState }

// Known values of [KubernetesCluster.DisplayState].
const (
	// The cluster is being set up, or, when it was running before, maintained
	// for a moment.
	KubernetesClusterStateCreating = "creating"

	KubernetesClusterStateRunning  = "running"
	KubernetesClusterStateDeleting = "deleting" // and then it is gone
)

// KubernetesNodePool is a group of worker nodes of the same size.
type KubernetesNodePool struct {
	ID                  string `json:"id"`                    // prefix kn
	KubernetesClusterID string `json:"kubernetes_cluster_id"` // the cluster that it belongs to
	Name                string `json:"name"`                  // stays as it is when the cluster is renamed
	NodeCount           int    `json:"node_count"`            // as it shall be: ResizeNodePool changes it at once
	NodeSize            string `json:"node_size"`             // such as "standard-4"
	VMs                 []VM   `json:"vms"`                   // the nodes as they are, in the short form
}

func (p *KubernetesNodePool) missing() string { return missingID(p.ID) }
func (p *KubernetesNodePool) identity() Resource {
	return Resource{Kind: KindKubernetesNodePool, ID: p.ID, Name: p.Name}
}

// KubernetesClusterCreateRequest is the body of [KubernetesService.Create].
type KubernetesClusterCreateRequest struct {
	// Version is the Kubernetes version. The real server of October 2025 has
	// "v1.34" and "v1.33", and answers [ErrServer] for any other. Required.
	Version string `json:"version"`

	// WorkerSize is the size of the worker nodes, such as "standard-4".
	// Required.
	WorkerSize string `json:"worker_size"`

	// CPNodes is the number of control plane nodes, 1 or 3. The server's
	// default is 1.
	CPNodes int `json:"cp_nodes,omitzero"`

	// WorkerNodes is the number of worker nodes. The server's default is 1.
	WorkerNodes int `json:"worker_nodes,omitzero"`
}

// resizeRequest is the body of resizing a node pool.
type resizeRequest struct {
	NodeCount int `json:"node_count"`
}

const kubernetesRoute = locationRoute + "/kubernetes-cluster/{kubernetes_cluster_reference}"

var (
	opKubernetesList           = Operation{"Kubernetes.List", "GET", projectRoute + "/kubernetes-cluster", safe}
	opKubernetesListInLocation = Operation{"Kubernetes.ListInLocation", "GET", locationRoute + "/kubernetes-cluster", safe}
	opKubernetesGet            = Operation{"Kubernetes.Get", "GET", kubernetesRoute, safe}
	opKubernetesCreate         = Operation{"Kubernetes.Create", "POST", kubernetesRoute, create}
	opKubernetesDelete         = Operation{"Kubernetes.Delete", "DELETE", kubernetesRoute, safe}
	opKubernetesKubeconfig     = Operation{"Kubernetes.Kubeconfig", "GET", kubernetesRoute + "/kubeconfig", safe}
	opKubernetesResizeNodePool = Operation{"Kubernetes.ResizeNodePool", "POST", kubernetesRoute + "/nodepool/{kubernetes_nodepool_reference}/resize", safe}
	opKubernetesRename         = Operation{"Kubernetes.Rename", "POST", kubernetesRoute + "/rename", safe}

	listKubernetesClusters = listRoutes{project: &opKubernetesList, location: &opKubernetesListInLocation}

	kubeconfigFile = fileFormat{name: "kubeconfig.yaml"}
)

// List returns one page of the project's clusters, or of those in
// [ListOptions.Location]. Items lack CPVMs and NodePools.
//
//cloudapi:operation GET /project/{project_id}/kubernetes-cluster
//cloudapi:operation GET /project/{project_id}/location/{location}/kubernetes-cluster
func (s *KubernetesService) List(ctx context.Context, opts *ListOptions) (*Page[KubernetesCluster], error) {
	return list[KubernetesCluster](ctx, s.client, &listKubernetesClusters, opts)
}

// All returns the project's clusters, or those in [ListOptions.Location], page
// by page. Items lack CPVMs and NodePools.
//
//cloudapi:operation GET /project/{project_id}/kubernetes-cluster
//cloudapi:operation GET /project/{project_id}/location/{location}/kubernetes-cluster
func (s *KubernetesService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*KubernetesCluster, error] {
	return all[KubernetesCluster](ctx, s.client, &listKubernetesClusters, opts)
}

// Watch yields the project's clusters, or those in [WatchOptions.Location], and
// then what happens to them, until the context ends. Records have the short
// form, which does not show node pools.
func (s *KubernetesService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[KubernetesCluster], error] {
	return watch[KubernetesCluster](ctx, s.client, &listKubernetesClusters, opts)
}

// Get returns a cluster with its nodes. One that does not exist is
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}
func (s *KubernetesService) Get(ctx context.Context, location, cluster string) (*KubernetesCluster, error) {
	return fetch[KubernetesCluster](ctx, s.client, &opKubernetesGet, location, cluster)
}

// Create starts to make a cluster with the given name: 1 to 40 lower-case
// letters, digits and hyphens, no hyphen at either end. The record that it
// returns is in state "creating" and has no nodes yet;
// [KubernetesService.WaitRunning] waits for them.
//
// A name that is taken is [ErrAlreadyExists]; it stays taken while its last
// owner is being deleted. Values that are not possible are [ErrInvalidRequest]
// with the field in [Error.FieldErrors]; so are the vCPU quota, which is
// [ErrQuotaExceeded] as well, and missing billing information, which is
// [ErrBillingRequired]. If the reply is lost the error is [ErrOutcomeUnknown]:
// look the name up with Get.
//
//cloudapi:operation POST /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}
func (s *KubernetesService) Create(ctx context.Context, location, name string, request *KubernetesClusterCreateRequest) (*KubernetesCluster, error) {
	return send[KubernetesCluster](ctx, s.client, &opKubernetesCreate, request, location, name)
}

// Ensure creates a cluster unless there is one of that name; see
// [EnsureOptions]. The name must not be an ID. Version, cp_nodes, and worker_size
// and worker_nodes of the node pool that came with the cluster are compared: of
// several the one that Create calls "<cluster>-np", or none of them. Update
// changes worker_nodes; [KubernetesService.WaitNodePool] waits for the end of
// that.
func (s *KubernetesService) Ensure(ctx context.Context, location, name string, request *KubernetesClusterCreateRequest, opts *EnsureOptions) (cluster *KubernetesCluster, created bool, err error) {
	find := func(ctx context.Context) (*KubernetesCluster, error) { return s.Get(ctx, location, name) }
	return ensure(ctx, "Kubernetes.Ensure", location, name, opts, ensurer[KubernetesCluster]{
		config: waitSlow,
		find:   find,
		create: func(ctx context.Context) (*KubernetesCluster, error) { return s.Create(ctx, location, name, request) },
		compare: func(_ context.Context, cluster *KubernetesCluster) (d drift, err error) {
			if request == nil {
				return nil, nil
			}
			wants(&d, "version", request.Version, cluster.Version)
			wants(&d, "cp_nodes", request.CPNodes, cluster.CPNodeCount)
			if workers := cluster.workers(); workers != nil {
				wants(&d, "worker_size", request.WorkerSize, workers.NodeSize)
				wantsUpdatable(&d, "worker_nodes", request.WorkerNodes, workers.NodeCount)
			}
			return d, nil
		},
		update: func(ctx context.Context, cluster *KubernetesCluster, _ drift) (*KubernetesCluster, error) {
			if _, err := s.ResizeNodePool(ctx, location, cluster.ID, cluster.workers().ID, request.WorkerNodes); err != nil {
				return nil, err
			}
			return find(ctx)
		},
	})
}

// Delete starts to delete a cluster with its nodes;
// [KubernetesService.WaitDeleted] waits for the end. A cluster that does not
// exist is not an error, so a mistyped name or location looks like success.
//
//cloudapi:operation DELETE /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}
func (s *KubernetesService) Delete(ctx context.Context, location, cluster string) error {
	return remove(ctx, s.client, &opKubernetesDelete, location, cluster)
}

// Kubeconfig returns the file with which kubectl and other clients reach a
// cluster. It is a secret: it holds a token with all rights in the cluster.
// The real server fetches it from the cluster, which takes a while, and
// answers [ErrServer] before there is a control plane: call it after
// [KubernetesService.WaitRunning].
//
//cloudapi:operation GET /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}/kubeconfig
func (s *KubernetesService) Kubeconfig(ctx context.Context, location, cluster string) (*File, error) {
	return download(ctx, s.client, &opKubernetesKubeconfig, kubeconfigFile, nil, location, cluster)
}

// ResizeNodePool starts to bring a node pool, given by its ID or name, to a
// number of nodes, 1 at least. The record that it returns has the new NodeCount
// but the old VMs; [KubernetesService.WaitNodePool] waits for the rest. More
// than the vCPU quota allows is [ErrQuotaExceeded].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}/nodepool/{kubernetes_nodepool_reference}/resize
func (s *KubernetesService) ResizeNodePool(ctx context.Context, location, cluster, nodePool string, nodeCount int) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.client, &opKubernetesResizeNodePool, resizeRequest{nodeCount}, location, cluster, nodePool)
}

// Rename gives a cluster another name; its node pools and nodes keep theirs.
// It returns the short form of the record. A name that is taken is
// [ErrAlreadyExists]. Address it by ID: only then is it safe to repeat.
//
//cloudapi:operation POST /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}/rename
func (s *KubernetesService) Rename(ctx context.Context, location, cluster, newName string) (*KubernetesCluster, error) {
	return send[KubernetesCluster](ctx, s.client, &opKubernetesRename, renameRequest{newName}, location, cluster)
}

// WaitRunning waits until a cluster that was created is running, which takes
// minutes, and returns it. A cluster that is being deleted or is gone ends it.
// The error is a [*WaitError].
func (s *KubernetesService) WaitRunning(ctx context.Context, location, cluster string, opts ...WaitOption) (*KubernetesCluster, error) {
	return waitShared(ctx, s.client, &listKubernetesClusters, "Kubernetes.WaitRunning", location, cluster, waitSlow, s.Get,
		reaches[*KubernetesCluster](KubernetesClusterStateRunning), opts)
}

// WaitNodePool waits until a node pool, given by its ID or name, has as many
// VMs as it should, all of them running, and returns it. A cluster that is
// being deleted, is gone, or does not have the node pool ends it. The error is
// a [*WaitError].
func (s *KubernetesService) WaitNodePool(ctx context.Context, location, cluster, nodePool string, opts ...WaitOption) (*KubernetesNodePool, error) {
	w := waiter[KubernetesNodePool]{
		operation: "Kubernetes.WaitNodePool",
		resource:  location + "/" + cluster + "/" + nodePool,
		config:    waitSlow,
		fetch: func(ctx context.Context) (*KubernetesNodePool, error) {
			k, err := s.Get(ctx, location, cluster)
			if err != nil {
				return nil, err
			}
			return k.nodePool(nodePool)
		},
		done: func(p *KubernetesNodePool) (bool, error) { return p.settled(), nil },
	}
	return w.run(ctx, opts)
}

// WaitDeleted waits until a cluster that was deleted is gone, after which its
// name is free. If another cluster has taken the name over meanwhile, that is
// the end as well. The error is a [*WaitError].
func (s *KubernetesService) WaitDeleted(ctx context.Context, location, cluster string, opts ...WaitOption) error {
	return waitDeleted(ctx, s.client, &listKubernetesClusters, "Kubernetes.WaitDeleted", location, cluster, waitSlow, s.Get, opts)
}

// nodePool returns the node pool with an ID or a name, unless there is no use
// in waiting for it.
func (k *KubernetesCluster) nodePool(ref string) (*KubernetesNodePool, error) {
	if k.DisplayState == KubernetesClusterStateDeleting {
		return nil, fmt.Errorf("%w: the cluster is being deleted", ErrWaitFailed)
	}
	i := slices.IndexFunc(k.NodePools, func(p KubernetesNodePool) bool { return p.ID == ref || p.Name == ref })
	if i < 0 {
		return nil, fmt.Errorf("%w: the cluster has no node pool %q", ErrWaitFailed, ref)
	}
	return &k.NodePools[i], nil
}

// workers returns the node pool that was made with the cluster, or nil if it
// cannot be told from others, as in a cluster that was renamed.
func (k *KubernetesCluster) workers() *KubernetesNodePool {
	if len(k.NodePools) == 1 {
		return &k.NodePools[0]
	}
	i := slices.IndexFunc(k.NodePools, func(p KubernetesNodePool) bool { return p.Name == k.Name+"-np" })
	if i < 0 {
		return nil
	}
	return &k.NodePools[i]
}

// settled reports whether all nodes that there should be are at work, and no
// others are left.
func (p *KubernetesNodePool) settled() bool {
	return len(p.VMs) == p.NodeCount &&
		!slices.ContainsFunc(p.VMs, func(vm VM) bool { return vm.State != VMStateRunning })
}
