package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
)

// KubernetesService manages Kubernetes clusters and node pools. Their names
// have up to 40 characters. Methods that add nodes return [ErrQuotaExceeded] if
// the project lacks vCPUs. Methods that upgrade, add or resize return
// [ErrInvalidRequest] (422) during another change of the cluster. After
// [ErrOutcomeUnknown], Get shows what has taken effect so far.
type KubernetesService service

// KubernetesCluster is a Kubernetes cluster.
type KubernetesCluster struct {
	ID           string `json:"id"`            // prefix kc
	Name         string `json:"name"`          // unique in its project and location
	Location     string `json:"location"`      // such as "eu-central-h1"
	DisplayState string `json:"display_state"` // a constant such as [KubernetesClusterDisplayStateRunning], or another value
	CPNodeCount  int    `json:"cp_node_count"` // number of control plane nodes, 1 or 3
	NodeSize     string `json:"node_size"`     // of the control plane nodes, such as "standard-2"
	Version      string `json:"version"`       // such as "v1.36"

	// Only Get, Create and Upgrade return the fields below.
	CPVMs     []VM                 `json:"cp_vms"`    // the control plane nodes, as lists of VMs return them; empty after Create
	NodePools []KubernetesNodePool `json:"nodepools"` // Create creates one, called "<cluster>-np"
}

func (k *KubernetesCluster) Resource() Resource {
	return Resource{Kind: KindKubernetesCluster, ID: k.ID, Location: k.Location, Name: k.Name}
}
func (k *KubernetesCluster) stateText() string { return k.DisplayState }

// Known values of [KubernetesCluster.DisplayState].
const (
	KubernetesClusterDisplayStateCreating  = "creating" // the server is setting up the cluster, or doing short maintenance
	KubernetesClusterDisplayStateRunning   = "running"
	KubernetesClusterDisplayStateUpgrading = "upgrading" // the server is upgrading the cluster or a node pool; † only the service
	KubernetesClusterDisplayStateDeleting  = "deleting"  // until it's gone
)

var clusterPhases = map[string]Phase{
	KubernetesClusterDisplayStateCreating:  PhasePending,
	KubernetesClusterDisplayStateRunning:   PhaseUsable,
	KubernetesClusterDisplayStateUpgrading: PhaseUsable,
	KubernetesClusterDisplayStateDeleting:  PhaseDeleting,
}

// Phase returns the phase of a cluster. An upgrade doesn't interrupt it.
func (k *KubernetesCluster) Phase() Phase {
	return cmp.Or(clusterPhases[k.DisplayState], PhasePending)
}

// KubernetesClusterCreateRequest is the body of [KubernetesService.Create].
type KubernetesClusterCreateRequest struct {
	Version         string `json:"version"`               // one of the newest two, "v1.37" or "v1.36", or "v1.34" or "v1.33" with the contract; required
	WorkerSize      string `json:"worker_size"`           // of the worker nodes, such as "standard-4"; required
	CPNodeCount     int    `json:"cp_nodes,omitzero"`     // number of control plane nodes, 1 or 3; default 1
	WorkerNodeCount int    `json:"worker_nodes,omitzero"` // default 1
}

const kubernetesRoute = locationRoute + "/kubernetes-cluster/{kubernetes_cluster_reference}"

var (
	opKubernetesList           = Operation{"Kubernetes.List", "GET", projectRoute + "/kubernetes-cluster", idempotent}
	opKubernetesListInLocation = Operation{"Kubernetes.ListInLocation", "GET", locationRoute + "/kubernetes-cluster", idempotent}
	opKubernetesGet            = Operation{"Kubernetes.Get", "GET", kubernetesRoute, idempotent}
	opKubernetesMetrics        = Operation{"Kubernetes.Metrics", "GET", kubernetesRoute + "/metrics", idempotent | serviceOnly}
	opKubernetesCreate         = Operation{"Kubernetes.Create", "POST", kubernetesRoute, once}
	opKubernetesDelete         = Operation{"Kubernetes.Delete", "DELETE", kubernetesRoute, idempotent}
	opKubernetesKubeconfig     = Operation{"Kubernetes.Kubeconfig", "GET", kubernetesRoute + "/kubeconfig", idempotent}
	opKubernetesRename         = Operation{"Kubernetes.Rename", "POST", kubernetesRoute + "/rename", idempotent}
	opKubernetesUpgrade        = Operation{"Kubernetes.Upgrade", "POST", kubernetesRoute + "/upgrade", once | serviceOnly}

	listKubernetesClusters = listRoutes{project: &opKubernetesList, location: &opKubernetesListInLocation}

	clusterFamily = family[KubernetesCluster]{lists: &listKubernetesClusters, get: &opKubernetesGet, del: &opKubernetesDelete, pauses: &waitSlow}

	kubeconfigFile = fileFormat{name: "kubeconfig.yaml", accept: acceptYAML, noRetryOn500: true}
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
	return perform[KubernetesCluster](ctx, s.conn, &opKubernetesGet, location, cluster)
}

// Create creates a cluster. It returns while the cluster is "creating" and has
// no nodes; [KubernetesService.WaitRunning] waits until it's running. It
// returns [ErrAlreadyExists] if the name is taken, even by a cluster being
// deleted, and [ErrBillingRequired] if the project has no billing information.
func (s *KubernetesService) Create(ctx context.Context, location, name string, request *KubernetesClusterCreateRequest) (*KubernetesCluster, error) {
	return send[KubernetesCluster](ctx, s.conn, &opKubernetesCreate, request, location, name)
}

// Ensure creates a cluster unless one with the name exists. It compares
// version, cp_nodes, and the worker_size and worker_nodes of the node pool that
// Create created: the cluster's only node pool, or else "<cluster>-np". Without
// such a node pool, the cluster differs. Ensure can update worker_nodes;
// [KubernetesService.WaitNodePool] waits until the node pool has that many.
func (s *KubernetesService) Ensure(ctx context.Context, location, name string, request *KubernetesClusterCreateRequest, opts *EnsureOptions) (cluster *KubernetesCluster, outcome EnsureOutcome, err error) {
	return clusterFamily.ensure(ctx, s.conn, location, name, ensureSpec[KubernetesCluster]{
		request: request,
		create:  func(ctx context.Context) (*KubernetesCluster, error) { return s.Create(ctx, location, name, request) },
		compare: func(_ context.Context, cluster *KubernetesCluster) (comparison, error) {
			return compared(request.Compare(cluster)), nil
		},
		update: func(ctx context.Context, cluster *KubernetesCluster, _ drift) (*KubernetesCluster, error) {
			if _, err := s.ResizeNodePool(ctx, location, cluster.ID, cluster.workers().ID, request.WorkerNodeCount); err != nil {
				return nil, err
			}
			return s.Get(ctx, location, cluster.ID)
		},
	}, opts)
}

// Compare returns the differences between a cluster and the request. An update
// removes those of worker_nodes, Upgrade (†) those of an older version, and
// CreateNodePool (†) those of worker_size, once the other node pool is deleted: it
// compares the node pool that [KubernetesService.Ensure] compares. Others need a
// replacement. Compare can't compare the workers of a cluster in a list.
func (r *KubernetesClusterCreateRequest) Compare(cluster *KubernetesCluster) (differences []Drift, uncompared []string) {
	if r == nil {
		return nil, nil
	}
	var c comparison
	wantsBy(&c, upgradeOr("Kubernetes.Upgrade", r.Version, cluster.Version), "version", r.Version, cluster.Version)
	wants(&c, "cp_nodes", r.CPNodeCount, cluster.CPNodeCount)
	if cluster.NodePools == nil {
		c.skip("worker_size", r.WorkerSize != "")
		c.skip("worker_nodes", r.WorkerNodeCount != 0)
		return c.result()
	}
	workers, create := cluster.workers(), by("Kubernetes.CreateNodePool")
	if workers == nil {
		wantsOrZero(&c, create, "worker_size", r.WorkerSize, "")
		wantsOrZero(&c, create, "worker_nodes", r.WorkerNodeCount, 0)
		return c.result()
	}
	wantsBy(&c, create, "worker_size", r.WorkerSize, workers.NodeSize)
	wantsUpdatable(&c, "worker_nodes", r.WorkerNodeCount, workers.NodeCount)
	return c.result()
}

// Delete deletes a cluster and its nodes; see WaitDeleted.
func (s *KubernetesService) Delete(ctx context.Context, location, cluster string) error {
	return remove(ctx, s.conn, &opKubernetesDelete, location, cluster)
}

// Kubeconfig returns the file with which kubectl and other clients connect to a
// cluster. The file is a secret: its token has all rights in the cluster. Until
// the cluster has a control plane, Kubeconfig returns [ErrInvalidRequest]
// (422) or, with the contract, [ErrServer]; it doesn't retry.
func (s *KubernetesService) Kubeconfig(ctx context.Context, location, cluster string) (*File, error) {
	return download(ctx, s.conn, &opKubernetesKubeconfig, kubeconfigFile, nil, location, cluster)
}

// Rename renames a cluster, but not its node pools and nodes.
func (s *KubernetesService) Rename(ctx context.Context, location, cluster, newName string) (*KubernetesCluster, error) {
	return send[KubernetesCluster](ctx, s.conn, &opKubernetesRename, renameRequest{newName}, location, cluster)
}

// Upgrade upgrades the control plane of a cluster to the next minor version.
// The returned cluster has the new Version; Get then reports "upgrading", and
// [KubernetesService.WaitRunning] waits until the upgrade ends. It returns
// [ErrInvalidRequest] for the newest version, or if a node pool is more than
// two minor versions older than the control plane. † Only the service has this.
func (s *KubernetesService) Upgrade(ctx context.Context, location, cluster string) (*KubernetesCluster, error) {
	return perform[KubernetesCluster](ctx, s.conn, &opKubernetesUpgrade, location, cluster)
}

// WaitRunning waits until a cluster is running, which takes minutes.
func (s *KubernetesService) WaitRunning(ctx context.Context, location, cluster string, opts *WaitOptions) (*KubernetesCluster, error) {
	return clusterFamily.waitState(ctx, s.conn, "Kubernetes.WaitRunning", location, cluster, reaches[*KubernetesCluster](KubernetesClusterDisplayStateRunning), opts)
}

// WaitDeleted waits until a cluster is gone and its name is free.
func (s *KubernetesService) WaitDeleted(ctx context.Context, location, cluster string, opts *WaitOptions) error {
	return clusterFamily.waitDeleted(ctx, s.conn, location, cluster, opts)
}

// Known values of [Metric.Key] for a cluster. † Only the service has
// these.
const (
	KubernetesMetricKeyCPUUsage            = "cpu_usage"
	KubernetesMetricKeyLoadAverage         = "load_average"
	KubernetesMetricKeyMemoryUsage         = "memory_usage"
	KubernetesMetricKeyDiskUsage           = "disk_usage"
	KubernetesMetricKeyDiskIO              = "disk_io"
	KubernetesMetricKeyNetworkTraffic      = "network_traffic"
	KubernetesMetricKeyAPIRequestRate      = "api_request_rate"
	KubernetesMetricKeyAPIRequestLatency   = "api_request_latency"
	KubernetesMetricKeyAPIInflightRequests = "api_inflight_requests"
	KubernetesMetricKeyPendingPods         = "pending_pods"
	KubernetesMetricKeyClusterDatabaseSize = "cluster_database_size"
	KubernetesMetricKeyClusterObjects      = "cluster_objects"
)

// Metrics returns the metrics of a cluster, as [PostgresService.Metrics] does.
// † Only the service has this.
func (s *KubernetesService) Metrics(ctx context.Context, location, cluster string, opts *MetricsOptions) (*Metrics, error) {
	return metrics(ctx, s.conn, &opKubernetesMetrics, opts, location, cluster)
}

// KubernetesNodePool is a group of worker nodes of the same size. Nodes that
// joined after September 2026 have the label ubicloud.com/nodepool=<pool ID>.
type KubernetesNodePool struct {
	ID                  string `json:"id"`                    // prefix kn
	KubernetesClusterID string `json:"kubernetes_cluster_id"` // the cluster it belongs to
	Name                string `json:"name"`                  // Kubernetes.Rename doesn't change it
	NodeCount           int    `json:"node_count"`            // the desired number; ResizeNodePool changes it
	NodeSize            string `json:"node_size"`             // such as "standard-4"
	Version             string `json:"version,omitzero"`      // the desired version; † only the service
	VMs                 []VM   `json:"vms"`                   // the nodes, as lists of VMs return them; VMs.Get doesn't find them
}

func (p *KubernetesNodePool) Resource() Resource {
	return Resource{Kind: KindKubernetesNodePool, ID: p.ID, Name: p.Name}
}

// KubernetesNodePoolCreateRequest is the body of
// [KubernetesService.CreateNodePool]. All fields are required.
type KubernetesNodePoolCreateRequest struct {
	NodeCount int    `json:"node_count"` // at least 1
	NodeSize  string `json:"node_size"`  // a VM size, such as "standard-4"
}

// nodePoolBody is the body of a KubernetesNodePoolCreateRequest.
type nodePoolBody struct {
	named
	KubernetesNodePoolCreateRequest
}

// resizeRequest is the body of ResizeNodePool.
type resizeRequest struct {
	NodeCount int `json:"node_count"`
}

const nodePoolRoute = kubernetesRoute + "/nodepool/{kubernetes_nodepool_reference}"

var (
	opKubernetesCreateNodePool  = Operation{"Kubernetes.CreateNodePool", "POST", kubernetesRoute + "/nodepool", once | serviceOnly}
	opKubernetesDeleteNodePool  = Operation{"Kubernetes.DeleteNodePool", "DELETE", nodePoolRoute, idempotent | serviceOnly}
	opKubernetesRenameNodePool  = Operation{"Kubernetes.RenameNodePool", "POST", nodePoolRoute + "/rename", idempotent | serviceOnly}
	opKubernetesResizeNodePool  = Operation{"Kubernetes.ResizeNodePool", "POST", nodePoolRoute + "/resize", idempotent}
	opKubernetesUpgradeNodePool = Operation{"Kubernetes.UpgradeNodePool", "POST", nodePoolRoute + "/upgrade", once | serviceOnly}
	opKubernetesRetireNode      = Operation{"Kubernetes.RetireNode", "POST", kubernetesRoute + "/node/{kubernetes_node_name}/retire", once | serviceOnly}
)

// CreateNodePool adds a node pool with the cluster's version. It returns the
// node pool before it has nodes; see [KubernetesService.WaitNodePool]. It
// returns [ErrAlreadyExists] if the cluster has a node pool with the name.
// † Only the service has this.
func (s *KubernetesService) CreateNodePool(ctx context.Context, location, cluster, name string, request *KubernetesNodePoolCreateRequest) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.conn, &opKubernetesCreateNodePool, nodePoolBody{named{name}, orZero(request)}, location, cluster)
}

// DeleteNodePool deletes a node pool and its nodes; see
// [KubernetesService.WaitNodePoolDeleted]. It returns [ErrInvalidRequest] (422)
// for the last node pool of a cluster. † Only the service has this.
func (s *KubernetesService) DeleteNodePool(ctx context.Context, location, cluster, nodePool string) error {
	return remove(ctx, s.conn, &opKubernetesDeleteNodePool, location, cluster, nodePool)
}

// RenameNodePool renames a node pool, but not its nodes. The returned record
// lacks VMs. † Only the service has this.
func (s *KubernetesService) RenameNodePool(ctx context.Context, location, cluster, nodePool, newName string) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.conn, &opKubernetesRenameNodePool, renameRequest{newName}, location, cluster, nodePool)
}

// ResizeNodePool resizes a node pool to a number of nodes, at least 1. The
// returned record has the new NodeCount but the old VMs;
// [KubernetesService.WaitNodePool] waits for the new ones.
func (s *KubernetesService) ResizeNodePool(ctx context.Context, location, cluster, nodePool string, nodeCount int) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.conn, &opKubernetesResizeNodePool, resizeRequest{nodeCount}, location, cluster, nodePool)
}

// UpgradeNodePool upgrades a node pool to the version of its cluster; the
// server replaces the nodes one by one. The returned record has the new Version
// but the old VMs; [KubernetesService.WaitNodePoolUpgraded] waits for the new
// ones. It returns [ErrInvalidRequest] (422) if the node pool has that version
// already. † Only the service has this.
func (s *KubernetesService) UpgradeNodePool(ctx context.Context, location, cluster, nodePool string) (*KubernetesNodePool, error) {
	return perform[KubernetesNodePool](ctx, s.conn, &opKubernetesUpgradeNodePool, location, cluster, nodePool)
}

// RetireNode drains and removes a worker node; node is the name of its VM. The
// returned node pool has a NodeCount lower by one, but still has the VM; see
// [KubernetesService.WaitNodeRetired]. It returns [ErrInvalidRequest] (422) for
// the last node of a node pool. † Only the service has this.
func (s *KubernetesService) RetireNode(ctx context.Context, location, cluster, node string) (*KubernetesNodePool, error) {
	return perform[KubernetesNodePool](ctx, s.conn, &opKubernetesRetireNode, location, cluster, node)
}

// WaitNodePool waits until a node pool has the desired number of VMs, all
// running, and returns it. No record shows when the VMs have joined the
// cluster; until then, another change returns [ErrInvalidRequest] (422).
func (s *KubernetesService) WaitNodePool(ctx context.Context, location, cluster, nodePool string, opts *WaitOptions) (*KubernetesNodePool, error) {
	return s.waitNodePool(ctx, "Kubernetes.WaitNodePool", location, cluster, nodePool, (*KubernetesNodePool).settled, opts)
}

// WaitNodePoolUpgraded waits until all VMs of an earlier record, such as the
// result of [KubernetesService.UpgradeNodePool], are replaced and the new ones
// are running. It returns the node pool. † Only the service has this.
func (s *KubernetesService) WaitNodePoolUpgraded(ctx context.Context, location, cluster string, upgraded *KubernetesNodePool, opts *WaitOptions) (*KubernetesNodePool, error) {
	const operation = "Kubernetes.WaitNodePoolUpgraded"
	if upgraded == nil {
		return nil, &ArgumentError{Operation: operation, Name: "upgraded", Reason: "must be the result of UpgradeNodePool"}
	}
	replaced := func(p *KubernetesNodePool) bool {
		return p.settled() && !slices.ContainsFunc(upgraded.VMs, func(vm VM) bool { return p.has(vm.ID) })
	}
	return s.waitNodePool(ctx, operation, location, cluster, upgraded.ID, replaced, opts)
}

func (s *KubernetesService) waitNodePool(ctx context.Context, operation, location, cluster, nodePool string,
	done func(*KubernetesNodePool) bool, opts *WaitOptions) (*KubernetesNodePool, error) {
	state := ""
	w := waiter[KubernetesNodePool]{
		operation: operation,
		resource:  qualify(location, cluster) + "/" + nodePool,
		config:    waitSlow,
		get: func(ctx context.Context) (*KubernetesNodePool, error) {
			k, err := s.Get(ctx, location, cluster)
			if err != nil {
				return nil, err
			}
			state = k.DisplayState
			return k.nodePool(nodePool)
		},
		done: func(p *KubernetesNodePool) (bool, error) {
			return done(p) && state != KubernetesClusterDisplayStateUpgrading, nil
		},
		lacks: func(p *KubernetesNodePool) string {
			return cmp.Or(missing("display_state", state == ""), missing("node_count", p.NodeCount <= 0), p.lacksNodes())
		},
	}
	return w.run(ctx, opts)
}

// WaitNodePoolDeleted waits until a node pool or its cluster is gone. † Only
// the service has this.
func (s *KubernetesService) WaitNodePoolDeleted(ctx context.Context, location, cluster, nodePool string, opts *WaitOptions) error {
	if err := opKubernetesDeleteNodePool.checkArgs(s.conn.config.project, location, cluster, nodePool); err != nil {
		return err
	}
	return s.waitGone(ctx, "Kubernetes.WaitNodePoolDeleted", location, cluster, nodePool,
		func(p *KubernetesNodePool, ref string) (id string, isIt bool) { return p.ID, p.isCalled(ref) }, opts)
}

// WaitNodeRetired waits until a node is in no node pool any more. The node is
// the name or ID of its VM. A mistyped name looks like success. † Only the
// service has this.
func (s *KubernetesService) WaitNodeRetired(ctx context.Context, location, cluster, node string, opts *WaitOptions) error {
	return s.waitGone(ctx, "Kubernetes.WaitNodeRetired", location, cluster, node,
		func(p *KubernetesNodePool, ref string) (id string, isIt bool) {
			i := slices.IndexFunc(p.VMs, func(vm VM) bool { return vm.ID == ref || vm.Name == ref })
			if i < 0 {
				return "", false
			}
			return p.VMs[i].ID, true
		}, opts)
}

// waitGone waits until find finds nothing in all node pools of the cluster. find
// gets the name, and once it has found the ID, that: another may take the name.
func (s *KubernetesService) waitGone(ctx context.Context, operation, location, cluster, name string,
	find func(p *KubernetesNodePool, ref string) (id string, isIt bool), opts *WaitOptions) error {
	ref := name
	w := waiter[KubernetesCluster]{
		operation: operation,
		resource:  qualify(location, cluster) + "/" + name,
		config:    waitSlow,
		gone:      true,
		get:       clusterFamily.deletion(s.conn, operation, location, cluster).get,
		done: func(k *KubernetesCluster) (bool, error) {
			for _, p := range k.NodePools {
				if id, isIt := find(&p, ref); isIt {
					ref = cmp.Or(id, ref)
					return false, nil
				}
			}
			return true, nil
		},
		lacks: func(k *KubernetesCluster) string {
			field := missing("nodepools", k.NodePools == nil)
			for _, p := range k.NodePools {
				field = cmp.Or(field, lacks(&p), missing("name", p.Name == ""), p.lacksNodes())
			}
			return field
		},
	}
	_, err := w.run(ctx, opts)
	return err
}

// nodePool returns the node pool whose ID or name is ref. It returns
// ErrWaitFailed if there's none, or if the cluster is being deleted.
func (k *KubernetesCluster) nodePool(ref string) (*KubernetesNodePool, error) {
	if k.DisplayState == KubernetesClusterDisplayStateDeleting {
		return nil, fmt.Errorf("%w: the cluster is being deleted", ErrWaitFailed)
	}
	i := slices.IndexFunc(k.NodePools, func(p KubernetesNodePool) bool { return p.isCalled(ref) })
	if i < 0 {
		return nil, fmt.Errorf("%w: the cluster has no node pool %q", ErrWaitFailed, ref)
	}
	return &k.NodePools[i], nil
}

// workers returns the node pool that Create created. It returns nil if it can't
// tell which one that is, for example in a renamed cluster.
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

// settled reports whether the node pool has NodeCount nodes, all running.
func (p *KubernetesNodePool) settled() bool {
	return len(p.VMs) == p.NodeCount &&
		!slices.ContainsFunc(p.VMs, func(vm VM) bool { return vm.State != VMStateRunning })
}

// lacksNodes returns "vms" if this field is missing, or if a node in it has no
// ID or no name. Otherwise it returns "".
func (p *KubernetesNodePool) lacksNodes() string {
	isUnknown := func(vm VM) bool { return vm.ID == "" || vm.Name == "" }
	return missing("vms", p.VMs == nil || slices.ContainsFunc(p.VMs, isUnknown))
}

// isCalled reports whether ref is the ID or the name of the node pool.
func (p *KubernetesNodePool) isCalled(ref string) bool { return p.ID == ref || p.Name == ref }

// has reports whether a node with the name or ID is in the node pool.
func (p *KubernetesNodePool) has(node string) bool {
	return slices.ContainsFunc(p.VMs, func(vm VM) bool { return vm.ID == node || vm.Name == node })
}
