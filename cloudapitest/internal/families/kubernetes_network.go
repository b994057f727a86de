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
	k.scheduleBalancers(c.Moment)
	return nil
}

func (k *kubernetesCluster) scheduleBalancers(at *api.Moment) {
	apiServer := k.newBalancer("apiserver")
	apiServer.endpoint, apiServer.srcPort, apiServer.dstPort = "/healthz", 443, 6443
	k.services = k.newBalancer("services")
	at.Schedule(k.running, func(at *api.Moment) {
		if !k.exists(at) {
			return
		}
		at.State.Add(apiServer)
		if at.Config.PortlessBalancers {
			k.addServices(at)
		}
	})
}

// loadNetwork finds the subnet of a loaded cluster. The load balancers that
// follow in the snapshot find the cluster through the subnet. If the server
// couldn't list the load balancer for Services, it's added without ports.
func (k *kubernetesCluster) loadNetwork(l *loader) {
	if k.subnet = l.networkOf(k.ID); k.subnet == nil {
		return
	}
	k.subnet.cluster = k
	if !k.runs(l.Now) {
		k.scheduleBalancers(l.Moment)
		return
	}
	k.services = k.newBalancer("services")
	l.later = append(l.later, func() {
		if l.Config.PortlessBalancers && k.exists(l.Moment) {
			k.addServices(l.Moment)
		}
	})
}

// networkOf returns the subnet in the present location that belongs to the
// cluster or database with the ID. It recognizes the subnet by its own name, or
// by the name of its firewall. It returns nil if both were renamed.
func (l *loader) networkOf(id string) *privateSubnet {
	if s, ok := api.FindByName[*privateSubnet](l.Call, cloudapi.KindPrivateSubnet, id+"-subnet"); ok {
		return s
	}
	f, ok := api.FindByName[*firewall](l.Call, cloudapi.KindFirewall, id+"-firewall")
	if !ok {
		return nil
	}
	for _, s := range f.subnets(l.Moment) {
		return s
	}
	return nil
}

func (k *kubernetesCluster) newBalancer(purpose string) *loadBalancer {
	return &loadBalancer{
		Object: api.Object{
			ID: api.NewID(cloudapi.KindLoadBalancer).String(), Name: k.ID + "-" + purpose, Project: k.Project, Location: k.Location,
		},
		subnet: k.subnet, algorithm: "hash_based", stack: "dual", protocol: "tcp", endpoint: "/",
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

// addServices adds the load balancer for Services, unless it's there.
func (k *kubernetesCluster) addServices(at *api.Moment) {
	if at.State.ByID[k.services.ID] == nil {
		at.State.Add(k.services)
	}
}

// SetClusterService sets the ports of a running cluster's load balancer for
// Services. It reports whether there is such a cluster.
func SetClusterService(at *api.Moment, id string, srcPort, dstPort int) bool {
	k, ok := at.State.ByID[id].(*kubernetesCluster)
	if !ok || k.services == nil || !k.runs(at.Now) {
		return false
	}
	k.addServices(at)
	k.services.srcPort, k.services.dstPort = srcPort, dstPort
	return true
}
