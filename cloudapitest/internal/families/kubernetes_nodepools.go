package families

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func nodePoolOperations() []api.Operation {
	const (
		all = kubernetesRoute + "/nodepool"
		one = all + "/{kubernetes_nodepool_reference}"
	)
	var (
		create = schema.Closed(schema.Required("name", schema.Text), schema.Required("node_count", schema.Integer), schema.Required("node_size", schema.Text))
		resize = schema.Closed(schema.Required("node_count", schema.Integer))
	)
	return append(api.AllOnly(version.Service,
		api.POST("Kubernetes.CreateNodePool", all, create, createNodePool),
		api.DELETE("Kubernetes.DeleteNodePool", one, deleteNodePool).Needs("KubernetesCluster:edit"),
		api.POST("Kubernetes.RenameNodePool", one+"/rename", nameOnly, api.On(findNodePool, (*nodePool).rename)),
		api.POST("Kubernetes.ResizeNodePool", one+"/resize", resize, api.On(findNodePool, (*nodePool).resizeIdle)),
		api.POST("Kubernetes.UpgradeNodePool", one+"/upgrade", api.NoBody, api.On(findNodePool, (*nodePool).upgrade)),
		api.POST("Kubernetes.RetireNode", kubernetesRoute+"/node/{kubernetes_node_name}/retire", api.NoBody, retireNode),
	), api.POST("Kubernetes.ResizeNodePool", one+"/resize", resize, api.On(findNodePool, (*nodePool).resize)).Only(version.Contract))
}

// nodePool is a group of worker nodes. Its name is unique in its cluster.
type nodePool struct {
	api.Object
	nodeGroup
	cluster *kubernetesCluster
	settled time.Time // end of the last change
}

type nodePoolRecord struct {
	ID                  string  `json:"id"`
	KubernetesClusterID string  `json:"kubernetes_cluster_id"`
	Name                string  `json:"name"`
	NodeCount           int     `json:"node_count"`
	NodeSize            string  `json:"node_size"`
	Version             *string `json:"version,omitempty"` // not in the contract
}

type nodePoolDetails struct {
	nodePoolRecord
	VMs []vmRecord `json:"vms"`
}

func (p *nodePool) record(at *api.Moment) nodePoolRecord {
	return nodePoolRecord{p.ID, p.cluster.ID, p.Name, p.count, p.size.name, api.InService(at, p.version)}
}

func (p *nodePool) details(at *api.Moment) nodePoolDetails {
	return nodePoolDetails{p.record(at), p.records(at)}
}

// load supposes that a change is in progress if not all nodes are running.
func (r *nodePoolDetails) load(l *loader, k *kubernetesCluster) (*nodePool, error) {
	o, err := l.objectIn(k.Location.Name, r.ID, r.Name)
	if err != nil {
		return nil, err
	}
	p := &nodePool{Object: o, cluster: k}
	label := k.controlPlane.version
	if r.Version != nil {
		label = *r.Version
	}
	var settled bool
	if p.nodeGroup, settled, err = l.nodes(k, p.ID, r.NodeSize, label, r.NodeCount, r.VMs); err != nil {
		return nil, err
	}
	if !settled {
		p.settled = latest(l.Now, k.running).Add(l.Delays(&k.Object).Resize)
	}
	l.State.Add(p)
	return p, nil
}

// idle reports whether no change of the node pool is in progress. Retiring a
// node isn't such a change.
func (p *nodePool) idle(now time.Time) bool { return !now.Before(p.settled) && !p.Deleting() }

func (k *kubernetesCluster) addPool(c *api.Call, name string, nodes nodeGroup, joinTime time.Time) *nodePool {
	p := &nodePool{Object: c.NewObject(cloudapi.KindKubernetesNodePool, name), nodeGroup: nodes, cluster: k, settled: joinTime}
	p.prefix, p.version = p.ID, k.controlPlane.version
	p.grow(c, joinTime)
	k.pools = append(k.pools, p)
	c.State.Add(p)
	return p
}

func (k *kubernetesCluster) pool(ref string) *nodePool {
	i := slices.IndexFunc(k.pools, func(p *nodePool) bool { return p.ID == ref || p.Name == ref })
	if i < 0 {
		return nil
	}
	return k.pools[i]
}

func findNodePool(c *api.Call) (*nodePool, error) {
	return findPool(c, func(k *kubernetesCluster) *nodePool { return k.pool(c.Params["kubernetes_nodepool_reference"]) })
}

// findPool returns the node pool that poolIn returns for the cluster in the
// path. It looks for the node pool before it checks the permission, as the real
// server does.
func findPool(c *api.Call, poolIn func(*kubernetesCluster) *nodePool) (*nodePool, error) {
	k, ok := api.FindUnchecked[*kubernetesCluster](c, cloudapi.KindKubernetesCluster, "kubernetes_cluster_reference")
	if !ok {
		return nil, reply.NotFound()
	}
	p := poolIn(k)
	return p, c.Admit(k, p != nil)
}

func createNodePool(c *api.Call) (any, error) {
	name, err := c.Body.NonEmpty("name")
	if err != nil {
		return nil, err
	}
	k, err := findKubernetesCluster(c)
	if err != nil {
		return nil, err
	}
	var nodes nodeGroup
	err = c.Run(
		func(c *api.Call) error { return k.allow(c.Moment, "add a nodepool") },
		func(c *api.Call) (err error) {
			nodes.size, err = nodeSize(c, "node_size")
			return err
		},
		func(c *api.Call) error { return nodes.setCount(c) },
		func(c *api.Call) error { return checkKubernetesQuota(c, "node_count", nodes.vcpus()) },
		func(*api.Call) error {
			if k.pool(name) != nil {
				return reply.InvalidField("name", `A nodepool with the name "%s" already exists in this cluster`, name)
			}
			return nil
		},
		func(c *api.Call) error { return checkClusterName(c.Moment, name) },
		func(*api.Call) error {
			return reply.InvalidRecord(api.IDLikeNameProblems(cloudapi.KindKubernetesNodePool, name)...)
		},
	)
	if err != nil {
		return nil, err
	}
	p := k.addPool(c, name, nodes, c.Now.Add(c.Delays(&k.Object).Create))
	c.Log("create", p.ID, k.ID)
	return p.details(c.Moment), nil
}

func (k *kubernetesCluster) allow(at *api.Moment, action string) error {
	if !k.idle(at.Now) {
		return reply.Unprocessable("Cluster is not ready to %s", action)
	}
	return nil
}

func (g *nodeGroup) setCount(c *api.Call) error {
	if _, err := c.Body.Positive("node_count"); err != nil {
		return err
	}
	g.count = nodeCount(c, "node_count")
	return nil
}

// deleteNodePool succeeds if the node pool doesn't exist, but not if the
// cluster doesn't exist.
func deleteNodePool(c *api.Call) (any, error) {
	if _, ok := api.FindUnchecked[*kubernetesCluster](c, cloudapi.KindKubernetesCluster, "kubernetes_cluster_reference"); !ok {
		return nil, reply.NotFound()
	}
	return api.Delete(findNodePool, (*nodePool).delete)(c)
}

func (p *nodePool) delete(c *api.Call) error {
	others := slices.ContainsFunc(p.cluster.pools, func(other *nodePool) bool { return other != p && !other.Deleting() })
	if !others && !p.Deleting() {
		return reply.Unprocessable("You cannot delete the last nodepool of a cluster")
	}
	c.Remove(p, c.Delays(&p.cluster.Object).Delete)
	c.Log("destroy", p.ID, p.cluster.ID)
	return nil
}

// Gone deletes the nodes, and removes the node pool from its cluster.
func (p *nodePool) Gone(at *api.Moment) {
	p.drop(at)
	p.cluster.pools = slices.DeleteFunc(p.cluster.pools, func(other *nodePool) bool { return other == p })
}

// rename doesn't change the names of the nodes.
func (p *nodePool) rename(c *api.Call) (any, error) {
	name, err := clusterNameInBody(c)
	if err != nil {
		return nil, err
	}
	var problems []string
	if other := p.cluster.pool(name); other != nil && other != p {
		problems = append(problems, reply.Taken("kubernetes_cluster_id and name"))
	}
	if problems = append(problems, api.IDLikeNameProblems(cloudapi.KindKubernetesNodePool, name)...); problems != nil {
		return nil, reply.InvalidRecord(problems...)
	}
	c.Rename(p, name)
	return p.record(c.Moment), nil
}

// resizeIdle is [nodePool.resize] for the service, which allows only one change
// at a time. The change remains in progress for a while after the last node has
// joined or left.
func (p *nodePool) resizeIdle(c *api.Call) (any, error) {
	if !p.idle(c.Now) {
		return nil, reply.Unprocessable("Nodepool is not ready to be resized")
	}
	if err := p.cluster.allow(c.Moment, "resize a nodepool"); err != nil {
		return nil, err
	}
	before, err := p.resize(c)
	if err == nil {
		p.settled = p.settled.Add(c.Delays(&p.cluster.Object).Resize / 2)
	}
	return before, err
}

// resize responds with the new number of nodes and the old nodes.
func (p *nodePool) resize(c *api.Call) (any, error) {
	wanted := p.nodeGroup
	if err := wanted.setCount(c); err != nil {
		return nil, err
	}
	if err := checkKubernetesQuota(c, "node_count", wanted.vcpus()-p.vcpus()); err != nil {
		return nil, err
	}
	p.count = wanted.count
	before := p.details(c.Moment)
	delay := c.Delays(&p.cluster.Object).Resize
	p.settled = latest(c.Now, p.cluster.running).Add(delay)
	p.grow(c, p.settled)
	p.shrink(c.Moment, delay)
	c.Log("update", p.ID, p.cluster.ID)
	return before, nil
}

// upgrade responds with the new version and the old nodes. As on the real
// server, the cluster is "running" again before all nodes are replaced.
func (p *nodePool) upgrade(c *api.Call) (any, error) {
	k := p.cluster
	if p.version == k.controlPlane.version || !k.idle(c.Now) {
		return nil, reply.Unprocessable("Nodepool is not ready to be upgraded")
	}
	p.version = k.controlPlane.version
	before := p.details(c.Moment)
	each := c.Delays(&k.Object).Resize
	p.settled = p.replace(c, each)
	k.upgraded = c.Now.Add(each)
	c.Log("upgrade", p.ID, k.ID)
	return before, nil
}

// retireNode works even while a change is in progress. The response has the old
// nodes.
func retireNode(c *api.Call) (any, error) {
	var node *vm
	p, err := findPool(c, func(k *kubernetesCluster) *nodePool {
		for _, p := range k.pools {
			for _, v := range p.visibleNodes(c.Moment) {
				if v.Name == c.Params["kubernetes_node_name"] {
					node = v
					return p
				}
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case node.Deleting():
		return nil, reply.Unprocessable("Node %s is already being retired", node.Name)
	case p.count <= 1:
		return nil, reply.Unprocessable("You cannot retire the last node of a nodepool")
	}
	p.count--
	before := p.details(c.Moment)
	c.Remove(node, c.Delays(&p.cluster.Object).Resize)
	c.Log("retire", api.NewID("kd").String(), p.cluster.ID, p.ID) // only the audit log contains a node's own ID
	return before, nil
}
