package families

import (
	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// In the service a cluster has a subnet, a firewall and load balancers in its
// project. Their names begin with the cluster's ID. The subnet and the load
// balancers disappear some time after the cluster.

// addNetwork creates the cluster's subnet and firewall. It also schedules the
// load balancers that appear when the cluster runs: one for the API server and,
// if PortlessBalancers is set, one for Services.
func (k *kubernetesCluster) addNetwork(c *api.Call) error {
	if c.Config.Version == version.Contract {
		return nil
	}
	net4, err := unusedNet4(c, 16)
	if err != nil {
		return err
	}
	f := &firewall{Object: c.NewObject(cloudapi.KindFirewall, k.ID+"-firewall"), description: "Default firewall"}
	k.subnet = &privateSubnet{
		Object:    c.NewObject(cloudapi.KindPrivateSubnet, k.ID+"-subnet"),
		net4:      net4,
		net6:      randomNet6(),
		firewalls: []*firewall{f},
		connected: map[*privateSubnet]bool{},
		cluster:   k,
	}
	c.State.Add(f)
	c.State.Add(k.subnet)
	apiServer := k.newBalancer(c.Moment, "apiserver")
	apiServer.endpoint, apiServer.srcPort, apiServer.dstPort = "/healthz", 443, 6443
	c.Arrive(apiServer, k.running, func() bool { return k.exists(c.Moment) })
	k.services = k.newBalancer(c.Moment, "services")
	k.services.endpoint = "/"
	if c.Config.PortlessBalancers {
		c.Arrive(k.services, k.running, func() bool { return k.exists(c.Moment) && c.State.ByID[k.services.ID] == nil })
	}
	return nil
}

func (k *kubernetesCluster) newBalancer(at *api.Moment, purpose string) *loadBalancer {
	return &loadBalancer{
		Object: api.Object{
			ID: api.NewID(cloudapi.KindLoadBalancer).String(), Name: k.ID + "-" + purpose, Project: k.Project, Location: k.Location,
		},
		subnet: k.subnet, algorithm: "hash_based", stack: "dual", protocol: "tcp",
		cluster: k, purpose: purpose,
	}
}

func (k *kubernetesCluster) exists(at *api.Moment) bool { return at.State.ByID[k.ID] != nil }

func (k *kubernetesCluster) dropNetwork(at *api.Moment) {
	if k.subnet == nil {
		return
	}
	after := at.Delays(&k.Object).Delete
	for _, l := range k.subnet.balancers(at) {
		if l.cluster == k {
			at.Remove(l, after)
		}
	}
	k.subnet.leave(at, k.ID, after)
}

// SetClusterService sets the ports of a running cluster's load balancer for
// Services. It reports whether there is such a cluster.
func SetClusterService(at *api.Moment, id string, srcPort, dstPort int) bool {
	k, ok := at.State.ByID[id].(*kubernetesCluster)
	if !ok || k.services == nil || !k.runs(at.Now) {
		return false
	}
	if at.State.ByID[k.services.ID] == nil {
		at.State.Add(k.services)
	}
	k.services.srcPort, k.services.dstPort = srcPort, dstPort
	return true
}
