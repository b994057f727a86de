package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// KubernetesNodePool is a group of worker nodes of the same size. Its VMs, the
// existing nodes, belong to Ubicloud: VMs.Get and Resolve don't find them. In
// the cluster, newer nodes have the label ubicloud.com/nodepool with its ID.
type KubernetesNodePool struct {
	ID                  string `json:"id"`                    // prefix kn
	KubernetesClusterID string `json:"kubernetes_cluster_id"` // the cluster it belongs to
	Name                string `json:"name"`                  // Kubernetes.Rename doesn't change it
	NodeCount           int    `json:"node_count"`            // the desired number; ResizeNodePool changes it
	NodeSize            string `json:"node_size"`             // such as "standard-4"
	Version             string `json:"version,omitzero"`      // the desired version; † only the service
	VMs                 []VM   `json:"vms"`                   // in the short form; not from RenameNodePool
}

func (p *KubernetesNodePool) lacks() string { return lacksID(p.ID) }

// Resource identifies the node pool.
func (p *KubernetesNodePool) Resource() Resource {
	return Resource{Kind: KindKubernetesNodePool, ID: p.ID, Name: p.Name}
}

// KubernetesNodePoolCreateRequest is the body of
// [KubernetesService.CreateNodePool]. All fields are required.
type KubernetesNodePoolCreateRequest struct {
	Name      string `json:"name"`       // unique in the cluster
	NodeCount int    `json:"node_count"` // at least 1
	NodeSize  string `json:"node_size"`  // a VM size, such as "standard-4"
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
// node pool before it has nodes; [KubernetesService.WaitNodePool] waits. It
// returns [ErrAlreadyExists] if the cluster has a node pool with the name.
//
// † Only the service has this.
func (s *KubernetesService) CreateNodePool(ctx context.Context, location, cluster string, request *KubernetesNodePoolCreateRequest) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.conn, &opKubernetesCreateNodePool, request, location, cluster)
}

// DeleteNodePool deletes a node pool and its nodes;
// [KubernetesService.WaitNodePoolDeleted] waits until they're gone. It returns
// [ErrInvalidRequest] (422) for the last node pool of a cluster.
//
// † Only the service has this.
func (s *KubernetesService) DeleteNodePool(ctx context.Context, location, cluster, nodePool string) error {
	return remove(ctx, s.conn, &opKubernetesDeleteNodePool, location, cluster, nodePool)
}

// RenameNodePool renames a node pool, but not its nodes. The record lacks VMs.
//
// † Only the service has this.
func (s *KubernetesService) RenameNodePool(ctx context.Context, location, cluster, nodePool, newName string) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.conn, &opKubernetesRenameNodePool, renameRequest{newName}, location, cluster, nodePool)
}

// ResizeNodePool resizes a node pool to a number of nodes, at least 1. The
// returned record has the new NodeCount but the old VMs;
// [KubernetesService.WaitNodePool] waits. After a lost response, the retry may
// fail because of the resize itself: its error then also matches
// [ErrOutcomeUnknown], and [ConfirmChange] finds out.
func (s *KubernetesService) ResizeNodePool(ctx context.Context, location, cluster, nodePool string, nodeCount int) (*KubernetesNodePool, error) {
	return send[KubernetesNodePool](ctx, s.conn, &opKubernetesResizeNodePool, resizeRequest{nodeCount}, location, cluster, nodePool)
}

// isClusterBusy reports whether the server refused to resize a node pool only
// because of another change of the cluster. That's the server's one reason for
// a 422; it returns 400 for an invalid number or an exceeded quota.
func isClusterBusy(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.StatusCode == http.StatusUnprocessableEntity && e.isOwn() && len(e.FieldErrors()) == 0
}

// UpgradeNodePool upgrades a node pool to the version of its cluster; the
// server replaces its nodes one by one. The returned record has the new Version
// but the old VMs; [KubernetesService.WaitNodePoolUpgraded] waits. It returns
// [ErrInvalidRequest] (422) if the node pool has that version already.
//
// † Only the service has this.
func (s *KubernetesService) UpgradeNodePool(ctx context.Context, location, cluster, nodePool string) (*KubernetesNodePool, error) {
	return fetch[KubernetesNodePool](ctx, s.conn, &opKubernetesUpgradeNodePool, location, cluster, nodePool)
}

// RetireNode drains and removes a worker node, given by the name of its VM. The
// returned node pool has a NodeCount that is lower by one, but still has the
// VM; [KubernetesService.WaitNodeRetired] waits. It returns [ErrNotFound] if
// node is an ID, and [ErrInvalidRequest] (422) for the last node of a node
// pool.
//
// † Only the service has this.
func (s *KubernetesService) RetireNode(ctx context.Context, location, cluster, node string) (*KubernetesNodePool, error) {
	return fetch[KubernetesNodePool](ctx, s.conn, &opKubernetesRetireNode, location, cluster, node)
}

// WaitNodePool waits until a node pool has the desired number of VMs, all
// running, and returns it. It fails if the cluster doesn't have the node pool.
// No record shows when the VMs have joined the cluster; until then, another
// change returns [ErrInvalidRequest] (422).
func (s *KubernetesService) WaitNodePool(ctx context.Context, location, cluster, nodePool string, opts *WaitOptions) (*KubernetesNodePool, error) {
	return s.waitNodePool(ctx, "Kubernetes.WaitNodePool", location, cluster, nodePool, (*KubernetesNodePool).settled, opts)
}

// WaitNodePoolUpgraded waits until the server has replaced all VMs of a node
// pool and the new ones are running, and returns the node pool. upgraded has
// the VMs to replace: it's the result of [KubernetesService.UpgradeNodePool],
// or an earlier record. It fails like [KubernetesService.WaitNodePool].
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
		resource:  place(location, cluster) + "/" + nodePool,
		config:    waitSlow,
		fetch: func(ctx context.Context) (*KubernetesNodePool, error) {
			k, err := s.Get(ctx, location, cluster)
			if err != nil {
				return nil, err
			}
			state = k.DisplayState
			return k.nodePool(nodePool)
		},
		done: func(p *KubernetesNodePool) (bool, error) {
			return done(p) && state != KubernetesClusterStateUpgrading, nil
		},
		lacks: func(p *KubernetesNodePool) string {
			return cmp.Or(unless(state != "", "display_state"), unless(p.NodeCount > 0, "node_count"), p.lacksNodes())
		},
	}
	return w.run(ctx, opts)
}

// WaitNodePoolDeleted waits until a node pool or its cluster is gone. It
// returns an [*ArgumentError] for a mistyped ID.
func (s *KubernetesService) WaitNodePoolDeleted(ctx context.Context, location, cluster, nodePool string, opts *WaitOptions) error {
	if err := opKubernetesDeleteNodePool.checkArgs(s.conn.config.project, location, cluster, nodePool); err != nil {
		return err
	}
	return s.waitGone(ctx, "Kubernetes.WaitNodePoolDeleted", location, cluster, nodePool, (*KubernetesNodePool).isCalled, opts)
}

// WaitNodeRetired waits until no node pool has a node, given by the name or ID
// of its VM. A mistyped name looks like success.
func (s *KubernetesService) WaitNodeRetired(ctx context.Context, location, cluster, node string, opts *WaitOptions) error {
	return s.waitGone(ctx, "Kubernetes.WaitNodeRetired", location, cluster, node, (*KubernetesNodePool).has, opts)
}

// waitGone waits until no node pool matches the name.
func (s *KubernetesService) waitGone(ctx context.Context, operation, location, cluster, name string,
	found func(*KubernetesNodePool, string) bool, opts *WaitOptions) error {
	w := waiter[KubernetesCluster]{
		operation: operation,
		resource:  place(location, cluster) + "/" + name,
		config:    waitSlow,
		gone:      true,
		fetch:     func(ctx context.Context) (*KubernetesCluster, error) { return s.Get(ctx, location, cluster) },
		done: func(k *KubernetesCluster) (bool, error) {
			return !slices.ContainsFunc(k.NodePools, func(p KubernetesNodePool) bool { return found(&p, name) }), nil
		},
		lacks: func(k *KubernetesCluster) string {
			lacks := unless(k.NodePools != nil, "nodepools")
			for _, p := range k.NodePools {
				lacks = cmp.Or(lacks, p.lacks(), lacksField("name", p.Name), p.lacksNodes())
			}
			return lacks
		},
	}
	_, err := w.run(ctx, opts)
	return err
}

// nodePool returns the node pool with an ID or a name. Its error says that
// waiting is useless.
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

// workers returns the node pool that Create created, or nil if it can't be told
// from others, as in a renamed cluster.
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

// settled reports whether the node pool has the desired number of nodes and all
// of them are running.
func (p *KubernetesNodePool) settled() bool {
	return len(p.VMs) == p.NodeCount &&
		!slices.ContainsFunc(p.VMs, func(vm VM) bool { return vm.State != VMStateRunning })
}

// lacksNodes returns the name of the field that has the nodes if it's missing.
func (p *KubernetesNodePool) lacksNodes() string { return unless(p.VMs != nil, "vms") }

// isCalled reports whether a reference names the node pool.
func (p *KubernetesNodePool) isCalled(ref string) bool { return p.ID == ref || p.Name == ref }

// has reports whether a node with the name or ID is in the node pool.
func (p *KubernetesNodePool) has(node string) bool {
	return slices.ContainsFunc(p.VMs, func(vm VM) bool { return vm.ID == node || vm.Name == node })
}
