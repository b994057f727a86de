package cloudapi

import (
	"context"
	"iter"
)

// KubernetesService manages Kubernetes clusters and their node pools. Both are
// referred to by ID (prefixes kc and kn) or by name: up to 40 characters.
//
// Methods that add nodes return [ErrQuotaExceeded] if the project lacks vCPUs.
// Methods that upgrade, add or resize return [ErrInvalidRequest] (422) during
// another change of the cluster. After [ErrOutcomeUnknown], check with Get: a
// retry could repeat the effect.
type KubernetesService service

// KubernetesCluster is a Kubernetes cluster.
type KubernetesCluster struct {
	ID           string `json:"id"`            // prefix kc
	Name         string `json:"name"`          // unique in its project and location
	Location     string `json:"location"`      // such as "eu-central-h1"
	DisplayState string `json:"display_state"` // one of the KubernetesClusterState constants, or another
	CPNodeCount  int    `json:"cp_node_count"` // number of control plane nodes, 1 or 3
	NodeSize     string `json:"node_size"`     // of the control plane nodes, such as "standard-2"
	Version      string `json:"version"`       // such as "v1.36"

	// Only Get, Create and Upgrade return the fields below.
	CPVMs     []VM                 `json:"cp_vms"`    // the control plane nodes, in the short form; empty after Create
	NodePools []KubernetesNodePool `json:"nodepools"` // Create creates one, called "<cluster>-np"
}

func (k *KubernetesCluster) lacks() string               { return lacksID(k.ID) }
func (k *KubernetesCluster) cursor(column string) string { return idOrName(column, k.ID, k.Name) }

// Resource identifies the cluster.
func (k *KubernetesCluster) Resource() Resource {
	return Resource{Kind: KindKubernetesCluster, ID: k.ID, Location: k.Location, Name: k.Name}
}
func (k *KubernetesCluster) stateText() string { return k.DisplayState }

// Known values of [KubernetesCluster.DisplayState].
const (
	KubernetesClusterStateCreating  = "creating" // the server is setting up the cluster, or doing short maintenance
	KubernetesClusterStateRunning   = "running"
	KubernetesClusterStateUpgrading = "upgrading" // the cluster or a node pool
	KubernetesClusterStateDeleting  = "deleting"  // until it's gone
)

// KubernetesClusterCreateRequest is the body of [KubernetesService.Create].
type KubernetesClusterCreateRequest struct {
	// Version is one of the newest two, such as "v1.37" or "v1.36"; required.
	Version string `json:"version"`

	WorkerSize  string `json:"worker_size"`           // of the worker nodes, such as "standard-4"; required
	CPNodes     int    `json:"cp_nodes,omitzero"`     // number of control plane nodes, 1 or 3; default 1
	WorkerNodes int    `json:"worker_nodes,omitzero"` // default 1
}

const kubernetesRoute = locationRoute + "/kubernetes-cluster/{kubernetes_cluster_reference}"

var (
	opKubernetesList           = Operation{"Kubernetes.List", "GET", projectRoute + "/kubernetes-cluster", idempotent}
	opKubernetesListInLocation = Operation{"Kubernetes.ListInLocation", "GET", locationRoute + "/kubernetes-cluster", idempotent}
	opKubernetesGet            = Operation{"Kubernetes.Get", "GET", kubernetesRoute, idempotent}
	opKubernetesCreate         = Operation{"Kubernetes.Create", "POST", kubernetesRoute, once}
	opKubernetesDelete         = Operation{"Kubernetes.Delete", "DELETE", kubernetesRoute, idempotent}
	opKubernetesKubeconfig     = Operation{"Kubernetes.Kubeconfig", "GET", kubernetesRoute + "/kubeconfig", idempotent}
	opKubernetesRename         = Operation{"Kubernetes.Rename", "POST", kubernetesRoute + "/rename", idempotent}
	opKubernetesUpgrade        = Operation{"Kubernetes.Upgrade", "POST", kubernetesRoute + "/upgrade", once | serviceOnly}

	listKubernetesClusters = listRoutes{project: &opKubernetesList, location: &opKubernetesListInLocation}

	clusterFamily = family[KubernetesCluster, *KubernetesCluster]{lists: &listKubernetesClusters, get: &opKubernetesGet, del: &opKubernetesDelete, pauses: &waitSlow, lingers: true}

	kubeconfigFile = fileFormat{name: "kubeconfig.yaml", accept: acceptYAML, notReadyOn500: true}
)

// List returns one page of the clusters.
func (s *KubernetesService) List(ctx context.Context, opts *ListOptions) (*Page[KubernetesCluster], error) {
	return list[KubernetesCluster](ctx, s.conn, &listKubernetesClusters, opts)
}

// All iterates over the clusters.
func (s *KubernetesService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*KubernetesCluster, error] {
	return all[KubernetesCluster](ctx, s.conn, &listKubernetesClusters, opts)
}

// Watch yields the clusters and then their changes; see [WatchOptions].
func (s *KubernetesService) Watch(ctx context.Context, opts *WatchOptions, known ...*KubernetesCluster) iter.Seq2[Event[KubernetesCluster], error] {
	return clusterFamily.watch(ctx, s.conn, opts, known)
}

// Get returns a cluster with its nodes.
func (s *KubernetesService) Get(ctx context.Context, location, cluster string) (*KubernetesCluster, error) {
	return fetch[KubernetesCluster](ctx, s.conn, &opKubernetesGet, location, cluster)
}

// Create creates a cluster. It returns while the cluster is "creating" and has
// no nodes; [KubernetesService.WaitRunning] waits. It returns
// [ErrAlreadyExists] even while the cluster with the name is being deleted, and
// [ErrBillingRequired] if the project has no billing information.
func (s *KubernetesService) Create(ctx context.Context, location, name string, request *KubernetesClusterCreateRequest) (*KubernetesCluster, error) {
	return send[KubernetesCluster](ctx, s.conn, &opKubernetesCreate, request, location, name)
}

// Ensure creates a cluster unless one with the name exists. It compares
// version, cp_nodes, and the worker_size and worker_nodes of the node pool that
// Create created: the only one, or the one called "<cluster>-np". A cluster
// without that node pool differs. Ensure can update worker_nodes, once no other
// change of the cluster is in progress; [KubernetesService.WaitNodePool] waits.
func (s *KubernetesService) Ensure(ctx context.Context, location, name string, request *KubernetesClusterCreateRequest, opts *EnsureOptions) (cluster *KubernetesCluster, outcome EnsureOutcome, err error) {
	return s.ensurer(location, name, request).ensure(ctx, "Kubernetes.Ensure", opts)
}

// ensurer returns what Ensure needs to know about clusters.
func (s *KubernetesService) ensurer(location, name string, request *KubernetesClusterCreateRequest) ensureSpec[KubernetesCluster] {
	find := func(ctx context.Context) (*KubernetesCluster, error) { return s.Get(ctx, location, name) }
	return ensureSpec[KubernetesCluster]{
		location: location,
		name:     name,
		pauses:   clusterFamily.pauses,
		find:     find,
		create:   func(ctx context.Context) (*KubernetesCluster, error) { return s.Create(ctx, location, name, request) },
		compare: func(_ context.Context, cluster *KubernetesCluster) (d drift, err error) {
			if request == nil {
				return nil, nil
			}
			wants(&d, "version", request.Version, cluster.Version)
			wants(&d, "cp_nodes", request.CPNodes, cluster.CPNodeCount)
			workers, compare := cluster.workers(), wantsUpdatable[int]
			if workers == nil {
				workers, compare = &KubernetesNodePool{}, wants
			}
			wants(&d, "worker_size", request.WorkerSize, workers.NodeSize)
			compare(&d, "worker_nodes", request.WorkerNodes, workers.NodeCount)
			return d, nil
		},
		update: func(ctx context.Context, cluster *KubernetesCluster, _ drift) (*KubernetesCluster, error) {
			if _, err := s.ResizeNodePool(ctx, location, cluster.ID, cluster.workers().ID, request.WorkerNodes); err != nil {
				return nil, err
			}
			return find(ctx)
		},
		isBusy: isClusterBusy,
	}
}

// Delete deletes a cluster and its nodes. It returns before the cluster is
// gone; [KubernetesService.WaitDeleted] waits.
func (s *KubernetesService) Delete(ctx context.Context, location, cluster string) error {
	return remove(ctx, s.conn, &opKubernetesDelete, location, cluster)
}

// Kubeconfig returns the file with which kubectl and other clients connect to a
// cluster. The file is a secret: its token has all rights in the cluster. Call
// Kubeconfig after [KubernetesService.WaitRunning]. While the cluster has no
// control plane, it returns [ErrInvalidRequest] (422), or [ErrServer] with the
// contract; it retries neither.
func (s *KubernetesService) Kubeconfig(ctx context.Context, location, cluster string) (*File, error) {
	return download(ctx, s.conn, &opKubernetesKubeconfig, kubeconfigFile, nil, location, cluster)
}

// Rename renames a cluster, but not its node pools and nodes.
func (s *KubernetesService) Rename(ctx context.Context, location, cluster, newName string) (*KubernetesCluster, error) {
	return send[KubernetesCluster](ctx, s.conn, &opKubernetesRename, renameRequest{newName}, location, cluster)
}

// Upgrade upgrades the control plane of a cluster to the next minor version.
// The returned cluster has the new Version, and Get then reports "upgrading";
// [KubernetesService.WaitRunning] waits. It returns [ErrInvalidRequest] if
// there's no newer version, or a node pool is more than two minor versions
// behind: [KubernetesService.UpgradeNodePool] upgrades it.
//
// † Only the service has this.
func (s *KubernetesService) Upgrade(ctx context.Context, location, cluster string) (*KubernetesCluster, error) {
	return fetch[KubernetesCluster](ctx, s.conn, &opKubernetesUpgrade, location, cluster)
}

// WaitRunning waits until a cluster is running, which takes minutes.
func (s *KubernetesService) WaitRunning(ctx context.Context, location, cluster string, opts *WaitOptions) (*KubernetesCluster, error) {
	return clusterFamily.waitState(ctx, s.conn, "Kubernetes.WaitRunning", location, cluster, reaches[*KubernetesCluster](KubernetesClusterStateRunning), opts)
}

// WaitDeleted waits until a cluster is gone and its name is free.
func (s *KubernetesService) WaitDeleted(ctx context.Context, location, cluster string, opts *WaitOptions) error {
	return clusterFamily.waitDeleted(ctx, s.conn, location, cluster, opts)
}
