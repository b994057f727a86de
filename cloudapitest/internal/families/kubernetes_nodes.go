package families

import (
	"cmp"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// nodeGroup is the nodes of a control plane or of a node pool. They are VMs of the
// service's own: they have no project, so that no operation on VMs finds them.
type nodeGroup struct {
	prefix  string // of the names of nodes
	size    vmSize
	version string // of Kubernetes, as it shall be
	count   int    // as it shall be
	nodes   []*vm  // the oldest first; also those that are ordered later or are gone
}

func (g *nodeGroup) vcpus() int { return g.count * g.size.vcpus }

// present returns the nodes that can be seen: those that a request orders are there
// after its reply, and those that are drained until they are gone.
func (g *nodeGroup) present(c *api.Call) []*vm {
	return slices.DeleteFunc(slices.Clone(g.nodes), func(v *vm) bool {
		return v.GoneBy(c.Now) || !v.isPlaced(c) && !c.Now.After(v.ordered)
	})
}

// staying returns the nodes that are not to leave, whether they have joined or not.
func (g *nodeGroup) staying() []*vm {
	return slices.DeleteFunc(slices.Clone(g.nodes), (*vm).Deleting)
}

// records shows a node that is drained as if it stayed.
func (g *nodeGroup) records(c *api.Call) []vmRecord {
	return api.Records(g.present(c), func(v *vm) vmRecord {
		r := v.record(c)
		r.State = cmp.Or(v.Forced, v.state(c))
		return r
	})
}

// grow orders as many nodes as are missing. They join at a time.
func (g *nodeGroup) grow(c *api.Call, joins time.Time) {
	for range g.count - len(g.staying()) {
		g.order(c, c.Now, joins)
	}
}

// shrink drains as many nodes as are too many, the oldest ones.
func (g *nodeGroup) shrink(c *api.Call, delay time.Duration) {
	staying := g.staying()
	for _, v := range staying[:max(0, len(staying)-g.count)] {
		c.Remove(v, delay, nil)
	}
}

// replace has another node in the place of each, one after the other. A new node
// takes half of the time for each to join, and then the old one leaves. It returns
// when the last one has left.
func (g *nodeGroup) replace(c *api.Call, each time.Duration) time.Time {
	var after time.Duration
	for _, v := range g.staying() {
		g.order(c, c.Now.Add(after), c.Now.Add(after+each/2))
		after += each
		c.Remove(v, after, nil)
	}
	return c.Now.Add(after)
}

// order adds a node that is made from a time on, and joins, running, at another.
func (g *nodeGroup) order(c *api.Call, ordered, joins time.Time) {
	v := &vm{
		Object:     c.NewObject(cloudapi.KindVM, g.prefix+"-"+strings.ToLower(rand.Text()[:5])),
		size:       g.size,
		storage:    g.size.storage[0],
		image:      "kubernetes-" + strings.ReplaceAll(g.version, ".", "_"),
		unixUser:   "ubi",
		ip4Enabled: true,
		ordered:    ordered,
		placed:     joins,
	}
	v.Project = nil
	v.ip4, v.ip6 = publicAddresses(c)
	c.State.Add(v)
	g.nodes = append(g.nodes, v)
}

// drop removes all nodes.
func (g *nodeGroup) drop(c *api.Call) {
	for _, v := range g.nodes {
		c.Remove(v, 0, nil)
	}
}
