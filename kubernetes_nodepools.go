package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// KubernetesNodePool is a group of worker nodes of the same size.
type KubernetesNodePool struct {
	ID                  string `json:"id"`                    // prefix kn
	KubernetesClusterID string `json:"kubernetes_cluster_id"` // the cluster that it belongs to
	Name                string `json:"name"`                  // does not change when the cluster is renamed
	NodeCount           int    `json:"node_count"`            // the desired number: ResizeNodePool changes it at once
	NodeSize            string `json:"node_size"`             // such as "standard-4"

	// Version is the desired Kubernetes version: UpgradeNodePool changes it at
	// once. It is "" from a server of October 2025, which does not send it.
	Version string `json:"version,omitzero"`

	// VMs are the existing nodes, in the short form. RenameNodePool does not
	// return them. VMs.Get and Resolve don't find their IDs, since the nodes
	// belong to the service.
	VMs []VM `json:"vms"`
}

func (p *KubernetesNodePool) lacks() string { return lacksID(p.ID) }
func (p *KubernetesNodePool) identity() Resource {
	return Resource{Kind: KindKubernetesNodePool, ID: p.ID, Name: p.Name}
}

// KubernetesNodePoolCreateRequest is the body of
// [KubernetesService.CreateNodePool]. All fields are required.
type KubernetesNodePoolCreateRequest struct {
	// Name is unique in the cluster: 1 to 40 lower-case letters, digits and
	// hyphens, no hyphen at either end.
	Name string `json:"name"`

	NodeCount int    `json:"node_count"` // at least 1
	NodeSize  string `json:"node_size"`  // a VM size, such as "standard-4"
}

// resizeRequest is the body of resizing a node pool.
type resizeRequest struct {
	NodeCount int `json:"node_count"`
}

const nodePoolRoute = kubernetesRoute + "/nodepool/{kubernetes_nodepool_reference}"

var (
	opKubernetesCreateNodePool  = Operation{"Kubernetes.CreateNodePool", "POST", kubernetesRoute + "/nodepool", once | august2026}
	opKubernetesDeleteNodePool  = Operation{"Kubernetes.DeleteNodePool", "DELETE", nodePoolRoute, idempotent | august2026}
	opKubernetesRenameNodePool  = Operation{"Kubernetes.RenameNodePool", "POST", nodePoolRoute + "/rename", idempotent | august2026}
	opKubernetesResizeNodePool  = Operation{"Kubernetes.ResizeNodePool", "POST", nodePoolRoute + "/resize", idempotent}
	opKubernetesUpgradeNodePool = Operation{"Kubernetes.UpgradeNodePool", "POST", nodePoolRoute + "/upgrade", once | august2026}
	opKubernetesRetireNode      = Operation{"Kubernetes.RetireNode", "POST", kubernetesRoute + "/node/{kubernetes_node_name}/retire", once | august2026}
)

// CreateNodePool starts to make a node pool with the cluster's version, and
// returns it without nodes; [KubernetesService.WaitNodePool] waits for them. If
// the cluster already has the name the error is [ErrAlreadyExists]. If the vCPU
// quota is exceeded it is [ErrQuotaExceeded]. If another change of the cluster
// is in progress it is [ErrInvalidRequest] (422). If the response is lost it is
// [ErrOutcomeUnknown]: look for the name in the cluster.
//
// Requires the August 2026 API.
func (s *KubernetesService) CreateNodePool(ctx context.Context, location, cluster string, request *KubernetesNodePoolCreateRequest) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.conn, &opKubernetesCreateNodePool, request, location, cluster)
}

// DeleteNodePool starts to delete a node pool, given by its ID or name, with
// its nodes; [KubernetesService.WaitNodePoolDeleted] waits for the end.
// Deleting one that does not exist is not an error. If it is the last one of
// the cluster the error is [ErrInvalidRequest] (422).
//
// Requires the August 2026 API.
func (s *KubernetesService) DeleteNodePool(ctx context.Context, location, cluster, nodePool string) error {
	return remove(ctx, s.conn, &opKubernetesDeleteNodePool, location, cluster, nodePool)
}

// RenameNodePool gives a node pool another name of up to 40 characters; its
// nodes keep their names. It returns the record without VMs. If the cluster
// already has the name the error is [ErrAlreadyExists]. Pass the ID: only then
// is the call idempotent.
//
// Requires the August 2026 API.
func (s *KubernetesService) RenameNodePool(ctx context.Context, location, cluster, nodePool, newName string) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.conn, &opKubernetesRenameNodePool, renameRequest{newName}, location, cluster, nodePool)
}

// ResizeNodePool starts to resize a node pool, given by its ID or name, to a
// number of nodes, at least 1. The returned record has the new NodeCount but
// the old VMs; [KubernetesService.WaitNodePool] waits for the new ones. If the
// vCPU quota is exceeded the error is [ErrQuotaExceeded]. A server of August
// 2026 answers [ErrInvalidRequest] (422) while another change of the cluster is
// in progress. The call is retried after a lost response, so that change may be
// this one: the error then also matches [ErrOutcomeUnknown], and [ConfirmChange]
// finds out.
func (s *KubernetesService) ResizeNodePool(ctx context.Context, location, cluster, nodePool string, nodeCount int) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.conn, &opKubernetesResizeNodePool, resizeRequest{nodeCount}, location, cluster, nodePool)
}

// isClusterBusy reports whether the server refused to resize a node pool only
// because of another change of the cluster. That is the one reason of a 422 of
// its own; an invalid number or an exceeded quota is a 400.
func isClusterBusy(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.StatusCode == http.StatusUnprocessableEntity && e.isOwn() && len(e.FieldErrors()) == 0
}

// UpgradeNodePool starts to upgrade a node pool, given by its ID or name, to
// the version of its cluster. The server replaces one node after the other. The
// returned record has the new Version but the old VMs;
// [KubernetesService.WaitNodePoolUpgraded] waits for the new ones. If the node
// pool already has the version, or another change of the cluster is in
// progress, the error is [ErrInvalidRequest] (422). A retry would fail in the
// same way, so a lost response is [ErrOutcomeUnknown].
//
// Requires the August 2026 API.
func (s *KubernetesService) UpgradeNodePool(ctx context.Context, location, cluster, nodePool string) (*KubernetesNodePool, error) {
	return fetch[KubernetesNodePool](ctx, s.conn, &opKubernetesUpgradeNodePool, location, cluster, nodePool)
}

// RetireNode starts to drain and remove a worker node, given by the name of its
// VM. If the VM's ID is given the error is [ErrNotFound]. The returned record
// has the new NodeCount, one less, but still has the VM;
// [KubernetesService.WaitNodeRetired] waits until it is gone. If the node is
// the last of its node pool the error is [ErrInvalidRequest] (422). A retry
// would fail in the same way, so a lost response is [ErrOutcomeUnknown].
//
// Requires the August 2026 API.
func (s *KubernetesService) RetireNode(ctx context.Context, location, cluster, node string) (*KubernetesNodePool, error) {
	return fetch[KubernetesNodePool](ctx, s.conn, &opKubernetesRetireNode, location, cluster, node)
}

// WaitNodePool waits until a node pool that was created or resized, given by
// its ID or name, has the desired number of VMs, all of them running, and
// returns it. It fails if the cluster is being deleted, is gone, or does not
// have the node pool. The error is a [*WaitError].
//
// No record shows when the VMs have joined the cluster. Until then a server of
// August 2026 answers [ErrInvalidRequest] (422) to another change.
func (s *KubernetesService) WaitNodePool(ctx context.Context, location, cluster, nodePool string, opts ...WaitOption) (*KubernetesNodePool, error) {
	return s.waitNodePool(ctx, "Kubernetes.WaitNodePool", location, cluster, nodePool, (*KubernetesNodePool).settled, opts)
}

// WaitNodePoolUpgraded waits until all VMs of an upgraded node pool are
// replaced and the new ones are running, and returns the node pool. upgraded is
// the result of [KubernetesService.UpgradeNodePool]: the wait compares the VMs
// with it, since the record does not show at once that an upgrade has begun. If
// that result was lost, the record of the node pool before the upgrade does as
// well. It fails in the same cases as [KubernetesService.WaitNodePool]. The
// error is a [*WaitError].
func (s *KubernetesService) WaitNodePoolUpgraded(ctx context.Context, location, cluster string, upgraded *KubernetesNodePool, opts ...WaitOption) (*KubernetesNodePool, error) {
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

// WaitNodePoolDeleted waits until a deleted node pool, given by its ID or name,
// or its cluster is gone. The error is a [*WaitError], or an [*ArgumentError]
// for a reference that DeleteNodePool refuses, such as a mistyped ID.
func (s *KubernetesService) WaitNodePoolDeleted(ctx context.Context, location, cluster, nodePool string, opts ...WaitOption) error {
	if err := opKubernetesDeleteNodePool.checkArgs(s.conn.config.project, location, cluster, nodePool); err != nil {
		return err
	}
	return s.waitGone(ctx, "Kubernetes.WaitNodePoolDeleted", location, cluster, nodePool, (*KubernetesNodePool).isCalled, opts)
}

// WaitNodeRetired waits until a retired node, given by the name or ID of its
// VM, is in no node pool. It succeeds at once if no node has that name or ID,
// so a mistyped name looks like success. The error is a [*WaitError].
func (s *KubernetesService) WaitNodeRetired(ctx context.Context, location, cluster, node string, opts ...WaitOption) error {
	return s.waitGone(ctx, "Kubernetes.WaitNodeRetired", location, cluster, node, (*KubernetesNodePool).has, opts)
}

// waitGone waits until no node pool matches the name.
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

// nodePool returns the node pool with an ID or a name. The error says that
// waiting for it is useless.
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
// cannot be told from others, as in a renamed cluster.
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

// settled reports whether the node pool has the desired number of nodes, all of
// them running.
func (p *KubernetesNodePool) settled() bool {
	return len(p.VMs) == p.NodeCount &&
		!slices.ContainsFunc(p.VMs, func(vm VM) bool { return vm.State != VMStateRunning })
}

// isCalled reports whether a reference names the node pool.
func (p *KubernetesNodePool) isCalled(ref string) bool { return p.ID == ref || p.Name == ref }

// has reports whether a node with the name or ID is in the node pool.
func (p *KubernetesNodePool) has(node string) bool {
	return slices.ContainsFunc(p.VMs, func(vm VM) bool { return vm.ID == node || vm.Name == node })
}
