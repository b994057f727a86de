package cloudapi

import (
	"context"
	"fmt"
	"slices"
)

// KubernetesNodePool is a group of worker nodes of the same size.
type KubernetesNodePool struct {
	ID                  string `json:"id"`                    // prefix kn
	KubernetesClusterID string `json:"kubernetes_cluster_id"` // the cluster that it belongs to
	Name                string `json:"name"`                  // stays as it is when the cluster is renamed
	NodeCount           int    `json:"node_count"`            // as it shall be: ResizeNodePool changes it at once
	NodeSize            string `json:"node_size"`             // such as "standard-4"

	// Version is that of Kubernetes, as it shall be: UpgradeNodePool changes it
	// at once. "" from a server of October 2025, which does not show it.
	Version string `json:"version"`

	// VMs are the nodes as they are, in the short form. RenameNodePool does not
	// return them.
	VMs []VM `json:"vms"`
}

func (p *KubernetesNodePool) missing() string { return missingID(p.ID) }
func (p *KubernetesNodePool) identity() Resource {
	return Resource{Kind: KindKubernetesNodePool, ID: p.ID, Name: p.Name}
}

// KubernetesNodePoolCreateRequest is the body of
// [KubernetesService.CreateNodePool]. All fields are required.
type KubernetesNodePoolCreateRequest struct {
	// Name is unique in the cluster: 1 to 40 lower-case letters, digits and
	// hyphens, no hyphen at either end.
	Name string `json:"name"`

	NodeCount int    `json:"node_count"` // 1 at least
	NodeSize  string `json:"node_size"`  // that of a VM, such as "standard-4"
}

// resizeRequest is the body of resizing a node pool.
type resizeRequest struct {
	NodeCount int `json:"node_count"`
}

const nodePoolRoute = kubernetesRoute + "/nodepool/{kubernetes_nodepool_reference}"

var (
	opKubernetesCreateNodePool  = Operation{"Kubernetes.CreateNodePool", "POST", kubernetesRoute + "/nodepool", create}
	opKubernetesDeleteNodePool  = Operation{"Kubernetes.DeleteNodePool", "DELETE", nodePoolRoute, safe}
	opKubernetesRenameNodePool  = Operation{"Kubernetes.RenameNodePool", "POST", nodePoolRoute + "/rename", safe}
	opKubernetesResizeNodePool  = Operation{"Kubernetes.ResizeNodePool", "POST", nodePoolRoute + "/resize", safe}
	opKubernetesUpgradeNodePool = Operation{"Kubernetes.UpgradeNodePool", "POST", nodePoolRoute + "/upgrade", create}
	opKubernetesRetireNode      = Operation{"Kubernetes.RetireNode", "POST", kubernetesRoute + "/node/{kubernetes_node_name}/retire", create}
)

// CreateNodePool starts to make a node pool of the cluster's version, and
// returns it without nodes; [KubernetesService.WaitNodePool] waits for them. A
// name that the cluster has already is [ErrAlreadyExists], more than the vCPU
// quota allows [ErrQuotaExceeded], and a cluster in which something else is
// going on [ErrInvalidRequest] (422). It is an operation of August 2026; a server
// of October 2025 answers [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}/nodepool
func (s *KubernetesService) CreateNodePool(ctx context.Context, location, cluster string, request *KubernetesNodePoolCreateRequest) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.client, &opKubernetesCreateNodePool, request, location, cluster)
}

// DeleteNodePool starts to delete a node pool, given by its ID or name, with
// its nodes; [KubernetesService.WaitNodePoolDeleted] waits for the end.
// Deleting one that does not exist is not an error, the last one of a cluster
// is [ErrInvalidRequest] (422). It is an operation of August 2026; a server of
// October 2025 answers [ErrNotFound].
//
//cloudapi:operation DELETE /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}/nodepool/{kubernetes_nodepool_reference}
func (s *KubernetesService) DeleteNodePool(ctx context.Context, location, cluster, nodePool string) error {
	return remove(ctx, s.client, &opKubernetesDeleteNodePool, location, cluster, nodePool)
}

// RenameNodePool gives a node pool another name of up to 40 characters; its nodes
// keep theirs. It returns the record without VMs. A name that the cluster has
// already is [ErrAlreadyExists]. Address the node pool by ID: only then is it safe
// to repeat. It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}/nodepool/{kubernetes_nodepool_reference}/rename
func (s *KubernetesService) RenameNodePool(ctx context.Context, location, cluster, nodePool, newName string) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.client, &opKubernetesRenameNodePool, renameRequest{newName}, location, cluster, nodePool)
}

// ResizeNodePool starts to bring a node pool, given by its ID or name, to a
// number of nodes, 1 at least. The record that it returns has the new NodeCount
// but the old VMs; [KubernetesService.WaitNodePool] waits for the rest. More
// than the vCPU quota allows is [ErrQuotaExceeded]. A server of August 2026
// answers [ErrInvalidRequest] (422) while something else is going on in the
// cluster.
//
//cloudapi:operation POST /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}/nodepool/{kubernetes_nodepool_reference}/resize
func (s *KubernetesService) ResizeNodePool(ctx context.Context, location, cluster, nodePool string, nodeCount int) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.client, &opKubernetesResizeNodePool, resizeRequest{nodeCount}, location, cluster, nodePool)
}

// UpgradeNodePool starts to bring a node pool, given by its ID or name, to the
// version of its cluster, by replacing one node after the other. The record
// that it returns has the new Version but the old VMs;
// [KubernetesService.WaitNodePoolUpgraded] waits for the rest. A node pool that
// has the version already, and a cluster in which something else is going on,
// are [ErrInvalidRequest] (422). A retry would fail in the same way, so a lost
// response is [ErrOutcomeUnknown]. It is an operation of August 2026; a server
// of October 2025 answers [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}/nodepool/{kubernetes_nodepool_reference}/upgrade
func (s *KubernetesService) UpgradeNodePool(ctx context.Context, location, cluster, nodePool string) (*KubernetesNodePool, error) {
	return fetch[KubernetesNodePool](ctx, s.client, &opKubernetesUpgradeNodePool, location, cluster, nodePool)
}

// RetireNode starts to drain and remove a worker node, given by the name of its
// VM; the VM's ID is [ErrNotFound]. The record that it returns has a NodeCount
// that is one less but still has the VM; [KubernetesService.WaitNodeRetired]
// waits for the rest. The last node of a node pool is [ErrInvalidRequest]
// (422). A retry would fail in the same way, so a lost response is
// [ErrOutcomeUnknown]. It is an operation of August 2026; a server of October
// 2025 answers [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}/node/{kubernetes_node_name}/retire
func (s *KubernetesService) RetireNode(ctx context.Context, location, cluster, node string) (*KubernetesNodePool, error) {
	return fetch[KubernetesNodePool](ctx, s.client, &opKubernetesRetireNode, location, cluster, node)
}

// WaitNodePool waits until a node pool that was created or resized, given by its
// ID or name, has as many VMs as it should, all of them running, and returns it.
// A cluster that is being deleted, is gone, or does not have the node pool ends
// it. The error is a [*WaitError].
func (s *KubernetesService) WaitNodePool(ctx context.Context, location, cluster, nodePool string, opts ...WaitOption) (*KubernetesNodePool, error) {
	return s.waitNodePool(ctx, "Kubernetes.WaitNodePool", location, cluster, nodePool, (*KubernetesNodePool).settled, opts)
}

// WaitNodePoolUpgraded waits until a node pool that was upgraded has none of the
// VMs any more that it had before, and as many others as it should, all of them
// running, and returns it. before is what [KubernetesService.UpgradeNodePool]
// returned: for a while the record looks as if nothing had happened. What ends
// [KubernetesService.WaitNodePool] ends it too. The error is a [*WaitError].
func (s *KubernetesService) WaitNodePoolUpgraded(ctx context.Context, location, cluster string, before *KubernetesNodePool, opts ...WaitOption) (*KubernetesNodePool, error) {
	const operation = "Kubernetes.WaitNodePoolUpgraded"
	if before == nil {
		return nil, &ArgumentError{Operation: operation, Name: "before", Reason: "must be what UpgradeNodePool returned"}
	}
	replaced := func(p *KubernetesNodePool) bool {
		return p.settled() && !slices.ContainsFunc(before.VMs, func(vm VM) bool { return p.has(vm.ID) })
	}
	return s.waitNodePool(ctx, operation, location, cluster, before.ID, replaced, opts)
}

func (s *KubernetesService) waitNodePool(ctx context.Context, operation, location, cluster, nodePool string,
	done func(*KubernetesNodePool) bool, opts []WaitOption) (*KubernetesNodePool, error) {
	upgrading := false
	w := waiter[KubernetesNodePool]{
		operation: operation,
		resource:  place(location, cluster) + "/" + nodePool,
		config:    waitSlow,
		fetch: func(ctx context.Context) (*KubernetesNodePool, error) {
			k, err := s.Get(ctx, location, cluster)
			if err != nil {
				return nil, err
			}
			upgrading = k.DisplayState == KubernetesClusterStateUpgrading
			return k.nodePool(nodePool)
		},
		done: func(p *KubernetesNodePool) (bool, error) { return done(p) && !upgrading, nil },
	}
	return w.run(ctx, opts)
}

// WaitNodePoolDeleted waits until a node pool that was deleted, given by its ID
// or name, or its cluster is gone. The error is a [*WaitError].
func (s *KubernetesService) WaitNodePoolDeleted(ctx context.Context, location, cluster, nodePool string, opts ...WaitOption) error {
	return s.waitGone(ctx, "Kubernetes.WaitNodePoolDeleted", location, cluster, nodePool, (*KubernetesNodePool).isCalled, opts)
}

// WaitNodeRetired waits until no node pool has a node that was retired, given by
// the name of its VM or by its ID. The error is a [*WaitError].
func (s *KubernetesService) WaitNodeRetired(ctx context.Context, location, cluster, node string, opts ...WaitOption) error {
	return s.waitGone(ctx, "Kubernetes.WaitNodeRetired", location, cluster, node, (*KubernetesNodePool).has, opts)
}

// waitGone waits until nothing of a name is found in any node pool.
func (s *KubernetesService) waitGone(ctx context.Context, operation, location, cluster, name string,
	found func(*KubernetesNodePool, string) bool, opts []WaitOption) error {
	w := waiter[KubernetesCluster]{
		operation: operation,
		resource:  place(location, cluster) + "/" + name,
		config:    waitSlow,
		gone:      true,
		fetch:     func(ctx context.Context) (*KubernetesCluster, error) { return s.Get(ctx, location, cluster) },
		done: func(k *KubernetesCluster) (bool, error) {
			return !slices.ContainsFunc(k.NodePools, func(p KubernetesNodePool) bool { return found(&p, name) }), nil
		},
	}
	_, err := w.run(ctx, opts)
	return err
}

// nodePool returns the node pool with an ID or a name, unless there is no use
// in waiting for it.
func (k *KubernetesCluster) nodePool(ref string) (*KubernetesNodePool, error) {
	if k.DisplayState == KubernetesClusterStateDeleting {
		return nil, fmt.Errorf("%w: the cluster is being deleted", ErrWaitFailed)
	}
	i := slices.IndexFunc(k.NodePools, func(p KubernetesNodePool) bool { return p.isCalled(ref) })
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

// isCalled reports whether a reference means the node pool.
func (p *KubernetesNodePool) isCalled(ref string) bool { return p.ID == ref || p.Name == ref }

// has reports whether a node with the name or ID is in the node pool.
func (p *KubernetesNodePool) has(node string) bool {
	return slices.ContainsFunc(p.VMs, func(vm VM) bool { return vm.ID == node || vm.Name == node })
}
