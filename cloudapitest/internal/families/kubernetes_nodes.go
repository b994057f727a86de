package families

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// nodeGroup contains the nodes of a control plane or of a node pool. They are
// the provider's own VMs: they have no project, so no VM operation finds them.
type nodeGroup struct {
	prefix  string // of the nodes' names
	size    vmSize
	version string // the desired Kubernetes version
	count   int    // the desired number of nodes
	nodes   []*vm  // the oldest first; also nodes that don't exist yet or are gone
}

func (g *nodeGroup) vcpus() int { return g.count * g.size.vcpus }

// visibleNodes returns the nodes that responses show. A new node becomes
// visible after the response to the request that adds it. A draining node is
// visible until it's gone.
func (g *nodeGroup) visibleNodes(at *api.Moment) []*vm {
	return slices.DeleteFunc(slices.Clone(g.nodes), func(v *vm) bool {
		return v.GoneBy(at.Now) || !v.isPlaced(at) && !at.Now.After(v.ordered)
	})
}

func (g *nodeGroup) staying() []*vm {
	return slices.DeleteFunc(slices.Clone(g.nodes), (*vm).Deleting)
}

// records returns records in which a draining node isn't "deleting" yet.
func (g *nodeGroup) records(at *api.Moment) []vmRecord {
	return api.Records(g.visibleNodes(at), func(v *vm) vmRecord {
		r := v.record(at)
		r.State = cmp.Or(v.Forced, v.state(at))
		return r
	})
}

// maxNodes limits the nodes of a group in a snapshot.
const maxNodes = 1000

// nodes returns a group of nodes, and whether they are as many as wanted and
// running. If there are more, the oldest ones are being drained.
func (l *loader) nodes(k *kubernetesCluster, prefix, size, label string, count int, records []vmRecord) (g nodeGroup, settled bool, err error) {
	if count < 0 || count > maxNodes {
		return g, false, fmt.Errorf("it has %d nodes", count)
	}
	g, settled = nodeGroup{prefix: prefix, size: sizeNamed(size), version: label, count: count}, len(records) == count
	for _, r := range records {
		v, err := r.vm(l)
		if err != nil {
			return g, false, err
		}
		v.Project = nil
		settled = settled && r.State == "running"
		l.State.Add(v)
		g.nodes = append(g.nodes, v)
	}
	g.grow(l.Call, latest(k.running, l.Now.Add(l.Delays(&k.Object).Resize)))
	g.shrink(l.Moment, l.Delays(&k.Object).Resize)
	return g, settled, nil
}

func (g *nodeGroup) grow(c *api.Call, joinTime time.Time) {
	for range g.count - len(g.staying()) {
		g.order(c, c.Now, joinTime)
	}
}

func (g *nodeGroup) shrink(at *api.Moment, delay time.Duration) {
	staying := g.staying()
	for _, v := range staying[:max(0, len(staying)-g.count)] {
		at.Remove(v, delay)
	}
}

// replace replaces one node after another, and returns the time at which the
// last old node will be gone.
func (g *nodeGroup) replace(c *api.Call, perNode time.Duration) time.Time {
	var after time.Duration
	for _, v := range g.staying() {
		g.order(c, c.Now.Add(after), c.Now.Add(after+perNode/2))
		after += perNode
		c.Remove(v, after)
	}
	return c.Now.Add(after)
}

// order adds a node that appears after orderTime. The node's state is
// "creating" until joinTime, and then "running".
func (g *nodeGroup) order(c *api.Call, orderTime, joinTime time.Time) {
	v := &vm{
		Object:     c.NewObject(cloudapi.KindVM, g.prefix+"-"+strings.ToLower(rand.Text()[:5])),
		size:       g.size,
		storage:    g.size.storage[0],
		image:      "kubernetes-" + strings.ReplaceAll(g.version, ".", "_"),
		unixUser:   defaultUser,
		ip4Enabled: true,
		ordered:    orderTime,
		placed:     joinTime,
	}
	v.Project = nil
	v.ip4, v.ip6 = publicAddresses(c.Moment)
	c.State.Add(v)
	g.nodes = append(g.nodes, v)
}

func (g *nodeGroup) drop(at *api.Moment) {
	for _, v := range g.nodes {
		at.Remove(v, 0)
	}
}
