package cloudapi

import (
	"context"
	"iter"
)

// KubernetesService works with Kubernetes clusters and their node pools.
//
// A reference is the ID (prefix kc for a cluster, kn for a node pool) or the
// name.
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

	// The remaining fields are returned only by Get, Create and Upgrade.
	CPVMs     []VM                 `json:"cp_vms"`    // the control plane nodes, in the short form; none right after Create
	NodePools []KubernetesNodePool `json:"nodepools"` // Create makes one, called "<cluster>-np"
}

func (k *KubernetesCluster) lacks() string               { return lacksID(k.ID) }
func (k *KubernetesCluster) cursor(column string) string { return idOrName(column, k.ID, k.Name) }
func (k *KubernetesCluster) identity() Resource {
	return Resource{Kind: KindKubernetesCluster, ID: k.ID, Location: k.Location, Name: k.Name}
}
func (k *KubernetesCluster) stateText() string { return k.DisplayState }

// Known values of [KubernetesCluster.DisplayState].
const (
	// The cluster is being set up, or is under short maintenance.
	KubernetesClusterStateCreating = "creating"

	KubernetesClusterStateRunning   = "running"
	KubernetesClusterStateUpgrading = "upgrading" // the cluster or a node pool
	KubernetesClusterStateDeleting  = "deleting"  // until it is gone
)

// KubernetesClusterCreateRequest is the body of [KubernetesService.Create].
type KubernetesClusterCreateRequest struct {
	// Version is the Kubernetes version. Required. The real server of October
	// 2025 has "v1.34" and "v1.33", and answers [ErrServer] for any other. That
	// of August 2026 has "v1.36" and "v1.35", and answers [ErrInvalidRequest]
	// for any other.
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

const kubernetesRoute = locationRoute + "/kubernetes-cluster/{kubernetes_cluster_reference}"

var (
	opKubernetesList           = Operation{"Kubernetes.List", "GET", projectRoute + "/kubernetes-cluster", idempotent}
	opKubernetesListInLocation = Operation{"Kubernetes.ListInLocation", "GET", locationRoute + "/kubernetes-cluster", idempotent}
	opKubernetesGet            = Operation{"Kubernetes.Get", "GET", kubernetesRoute, idempotent}
	opKubernetesCreate         = Operation{"Kubernetes.Create", "POST", kubernetesRoute, once}
	opKubernetesDelete         = Operation{"Kubernetes.Delete", "DELETE", kubernetesRoute, idempotent}
	opKubernetesKubeconfig     = Operation{"Kubernetes.Kubeconfig", "GET", kubernetesRoute + "/kubeconfig", idempotent}
	opKubernetesRename         = Operation{"Kubernetes.Rename", "POST", kubernetesRoute + "/rename", idempotent}
	opKubernetesUpgrade        = Operation{"Kubernetes.Upgrade", "POST", kubernetesRoute + "/upgrade", once | august2026}

	listKubernetesClusters = listRoutes{project: &opKubernetesList, location: &opKubernetesListInLocation}

	clusterFamily = family[KubernetesCluster, *KubernetesCluster]{lists: &listKubernetesClusters, get: &opKubernetesGet, del: &opKubernetesDelete, pauses: waitSlow, lingers: true}

	kubeconfigFile = fileFormat{name: "kubeconfig.yaml", accept: acceptYAML, notReadyOn500: true}
)

// List returns one page of the project's clusters, or of those in
// [ListOptions.Location]. Items lack CPVMs and NodePools.
func (s *KubernetesService) List(ctx context.Context, opts *ListOptions) (*Page[KubernetesCluster], error) {
	return list[KubernetesCluster](ctx, s.conn, &listKubernetesClusters, opts)
}

// All returns the project's clusters, or those in [ListOptions.Location], page
// by page. Items lack CPVMs and NodePools.
func (s *KubernetesService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*KubernetesCluster, error] {
	return all[KubernetesCluster](ctx, s.conn, &listKubernetesClusters, opts)
}

// Watch yields the project's clusters, or those in [WatchOptions.Location], and
// then their changes, until the context ends. Records have the short form,
// which does not show node pools.
func (s *KubernetesService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[KubernetesCluster], error] {
	return clusterFamily.watch(ctx, s.conn, opts)
}

// Get returns a cluster with its nodes, or [ErrNotFound] if it does not exist.
func (s *KubernetesService) Get(ctx context.Context, location, cluster string) (*KubernetesCluster, error) {
	return fetch[KubernetesCluster](ctx, s.conn, &opKubernetesGet, location, cluster)
}

// Create starts to make a cluster with the given name: 1 to 40 lower-case
// letters, digits and hyphens, no hyphen at either end. It returns the cluster
// in state "creating" and without nodes; [KubernetesService.WaitRunning] waits
// for the nodes.
//
// If the name is taken the error is [ErrAlreadyExists]; the name stays taken
// while its last owner is being deleted. If a value is invalid the error is
// [ErrInvalidRequest], and [Error.FieldErrors] names the field. If the vCPU
// quota is exceeded the error also matches [ErrQuotaExceeded], and if billing
// information is missing, [ErrBillingRequired]. If the response is lost the
// error is [ErrOutcomeUnknown]: look the name up with Get.
func (s *KubernetesService) Create(ctx context.Context, location, name string, request *KubernetesClusterCreateRequest) (*KubernetesCluster, error) {
	return send[KubernetesCluster](ctx, s.conn, &opKubernetesCreate, request, location, name)
}

// Ensure creates a cluster unless there is one of that name; see
// [EnsureOptions]. The name must not be an ID. Ensure compares version,
// cp_nodes, and worker_size and worker_nodes of the node pool that was made
// with the cluster. If there are several node pools, that is the one called
// "<cluster>-np", or none. Update changes worker_nodes;
// [KubernetesService.WaitNodePool] waits for the end of the change. While the
// server refuses that with a 422 because of another change of the cluster,
// Ensure looks the cluster up again and retries, until the context ends.
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
		isBusy: isClusterBusy,
	}
}

// Delete starts to delete a cluster with its nodes;
// [KubernetesService.WaitDeleted] waits for the end. It also succeeds if the
// cluster does not exist, so a mistyped name or location looks like success.
func (s *KubernetesService) Delete(ctx context.Context, location, cluster string) error {
	return remove(ctx, s.conn, &opKubernetesDelete, location, cluster)
}

// Kubeconfig returns the file with which kubectl and other clients connect to a
// cluster. It is a secret: it contains a token with all rights in the cluster.
// Call it after [KubernetesService.WaitRunning]. Before there is a control
// plane, a server of October 2025 answers [ErrServer], and one of August 2026
// answers [ErrInvalidRequest] (422). Neither is retried; a 500 of a gateway is.
// A server of October 2025 fetches the file from the cluster, which takes a
// while.
func (s *KubernetesService) Kubeconfig(ctx context.Context, location, cluster string) (*File, error) {
	return download(ctx, s.conn, &opKubernetesKubeconfig, kubeconfigFile, nil, location, cluster)
}

// Rename gives a cluster another name; its node pools and nodes keep theirs. It
// returns the short form of the record. If the name is taken the error is
// [ErrAlreadyExists]. Pass the ID: only then is the call idempotent.
func (s *KubernetesService) Rename(ctx context.Context, location, cluster, newName string) (*KubernetesCluster, error) {
	return send[KubernetesCluster](ctx, s.conn, &opKubernetesRename, renameRequest{newName}, location, cluster)
}

// Upgrade starts to upgrade the control plane of a cluster to the next minor
// version, and returns the cluster with the new Version. The cluster is in
// state "upgrading" from the next Get on; [KubernetesService.WaitRunning] waits
// for the end. Node pools are not upgraded; see
// [KubernetesService.UpgradeNodePool].
//
// If there is no newer version, if another change of the cluster is in
// progress, or if a node pool is more than two minor versions behind, the error
// is [ErrInvalidRequest]. A retry could upgrade twice, so a lost response is
// [ErrOutcomeUnknown].
//
// Requires the August 2026 API.
func (s *KubernetesService) Upgrade(ctx context.Context, location, cluster string) (*KubernetesCluster, error) {
	return fetch[KubernetesCluster](ctx, s.conn, &opKubernetesUpgrade, location, cluster)
}

// WaitRunning waits until a cluster that was created or upgraded is running,
// which takes minutes, and returns it. It fails if the cluster is being deleted
// or is gone. The error is a [*WaitError].
func (s *KubernetesService) WaitRunning(ctx context.Context, location, cluster string, opts ...WaitOption) (*KubernetesCluster, error) {
	return clusterFamily.waitState(ctx, s.conn, "Kubernetes.WaitRunning", location, cluster, reaches[*KubernetesCluster](KubernetesClusterStateRunning), opts)
}

// WaitDeleted waits until a cluster that was deleted is gone. Its name is free
// then. If another cluster has taken the name meanwhile, the wait succeeds,
// too. The error is a [*WaitError].
func (s *KubernetesService) WaitDeleted(ctx context.Context, location, cluster string, opts ...WaitOption) error {
	return clusterFamily.waitDeleted(ctx, s.conn, location, cluster, opts)
}
