package teardown

import (
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// item is a resource of the project. A load balancer that the server can't list
// has no ID: it needs and blocks nothing, since the server deletes it with its
// cluster.
type item struct {
	cloudapi.Resource
	record cloudapi.Record // from a list, or for a load balancer from Get; nil if the server can't list it
	subnet string          // the ID of a load balancer's subnet, if known without the record; otherwise ""
	hidden bool            // exists, but is in no list
}

// located contains the kinds of resources in locations. order contains all
// kinds in a project. Each kind precedes the kinds that its resources may need,
// so the resources can be deleted in this order.
var (
	located = []cloudapi.Kind{cloudapi.KindLoadBalancer, cloudapi.KindVM, cloudapi.KindMachineImage, cloudapi.KindKubernetesCluster,
		cloudapi.KindPrivateLinkService, cloudapi.KindPostgres, cloudapi.KindPrivateSubnet, cloudapi.KindFirewall}
	order = slices.Concat(located, []cloudapi.Kind{cloudapi.KindPrivateLocation, cloudapi.KindSSHPublicKey, cloudapi.KindVMInitScript, cloudapi.KindInferenceAPIKey})
)

// dependants returns the kinds of resources whose records can show that they
// need a resource of the given kind. The server ignores some of these needs: it
// deletes a subnet even if load balancers need it.
func dependants(kind cloudapi.Kind) []cloudapi.Kind {
	switch kind {
	case cloudapi.KindKubernetesCluster, cloudapi.KindPostgres: // its own subnet, the load balancers in that subnet, and a database's private link service
		return []cloudapi.Kind{cloudapi.KindPrivateSubnet, cloudapi.KindPrivateLinkService, cloudapi.KindLoadBalancer}
	case cloudapi.KindPrivateSubnet: // a subnet's record names its VMs
		return []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPrivateSubnet, cloudapi.KindPrivateLinkService, cloudapi.KindLoadBalancer}
	case cloudapi.KindFirewall:
		return []cloudapi.Kind{cloudapi.KindPrivateSubnet}
	case cloudapi.KindMachineImage: // a VM's record has only the name of its image, and the list of images has the ID
		return []cloudapi.Kind{cloudapi.KindMachineImage, cloudapi.KindVM}
	case cloudapi.KindPrivateLocation:
		return located
	case cloudapi.KindProject:
		return order
	}
	return nil
}

// madeFor returns the ID of the cluster or database for which the server has
// created the resource, or "". The name of such a resource begins with the ID.
func madeFor(r cloudapi.Resource) string {
	id, purpose, _ := strings.Cut(r.Name, "-")
	if !cloudapi.IsID(id, cloudapi.KindKubernetesCluster, cloudapi.KindPostgres) {
		return ""
	}
	switch {
	case r.Kind == cloudapi.KindPrivateSubnet && purpose == "subnet",
		r.Kind == cloudapi.KindFirewall && purpose == "firewall",
		r.Kind == cloudapi.KindLoadBalancer && (purpose == "apiserver" || purpose == "services"):
		return id
	}
	return ""
}

// owners maps the IDs of resources to the cluster or database with which the
// server deletes them. As on the server, a subnet must still have the name that
// the server gave it, and a firewall must be attached to that subnet.
func owners(all []item) map[string]cloudapi.Resource {
	exists := map[string]cloudapi.Resource{}
	for _, item := range all {
		exists[item.ID] = item.Resource
	}
	delete(exists, "") // resources that the server can't list have no ID
	found := map[string]cloudapi.Resource{}
	attached := map[string][]cloudapi.Firewall{} // by owner: the firewalls of its subnet
	for _, item := range all {
		owner, ok := exists[madeFor(item.Resource)]
		if !ok || owner.Location != item.Location || item.ID == "" {
			continue
		}
		found[item.ID] = owner
		if subnet, ok := item.record.(*cloudapi.PrivateSubnet); ok {
			attached[owner.ID] = append([]cloudapi.Firewall{}, subnet.Firewalls...)
		}
	}
	for id, owner := range found {
		firewalls := attached[owner.ID] // nil if the token may not see the subnet
		if cloudapi.IsID(id, cloudapi.KindFirewall) && firewalls != nil &&
			!slices.ContainsFunc(firewalls, func(f cloudapi.Firewall) bool { return f.ID == id }) {
			delete(found, id)
		}
	}
	return found
}

// needs returns the IDs of the resources that a resource needs, by the ID of
// that resource. A needed resource must not be deleted first: the server would
// refuse that, or delete the resource that needs it, or leave that resource
// unprotected. If several resources have a name, it means the last one.
func needs(all []item, project string) map[string][]string {
	type name struct {
		kind           cloudapi.Kind
		location, name string
	}
	ids := map[name]string{}
	subnets := map[string][]string{} // by location
	for _, item := range all {
		ids[name{item.Kind, item.Location, item.Name}] = item.ID
		if item.Kind == cloudapi.KindPrivateSubnet {
			subnets[item.Location] = append(subnets[item.Location], item.ID)
		}
	}
	ownerOf := owners(all)
	needed := map[string][]string{}
	need := func(user, id string) {
		if user != "" && id != "" && user != id && !slices.Contains(needed[user], id) {
			needed[user] = append(needed[user], id)
		}
	}
	// in returns the subnet with the name. Without it, what the name is in may be in
	// any subnet of the location: its own was renamed, or isn't listed.
	in := func(location, subnet string) []string {
		if id := ids[name{cloudapi.KindPrivateSubnet, location, subnet}]; id != "" && subnet != "" {
			return []string{id}
		}
		return subnets[location]
	}
	for _, item := range all {
		owner := ownerOf[item.ID].ID
		need(owner, item.ID)
		switch record := item.record.(type) {
		case *cloudapi.PrivateSubnet:
			for _, firewall := range record.Firewalls {
				need(item.ID, firewall.ID)
			}
			for _, nic := range record.NICs {
				need(ids[name{cloudapi.KindVM, item.Location, nic.VMName}], item.ID)
			}
		case *cloudapi.VM:
			if image, _, ok := strings.Cut(record.BootImage, "@"); ok {
				need(item.ID, ids[name{cloudapi.KindMachineImage, item.Location, image}])
			}
		case *cloudapi.PrivateLinkService:
			for _, subnet := range in(item.Location, record.PrivateSubnet) {
				need(item.ID, subnet)
			}
			need(item.ID, record.PostgresResourceID)
		case *cloudapi.LoadBalancer:
			possible := []string{item.subnet}
			if item.subnet == "" {
				possible = in(item.Location, record.Subnet)
			}
			for _, subnet := range possible {
				need(item.ID, subnet)
				if ownerOf[subnet].ID != owner { // the server would delete the load balancer with this owner's subnet
					need(item.ID, ownerOf[subnet].ID)
				}
			}
		}
		if item.Location != "" {
			need(item.ID, ids[name{cloudapi.KindPrivateLocation, "", item.Location}])
		}
		if item.Kind != cloudapi.KindProject {
			need(item.ID, project)
		}
	}
	return needed
}

// usersOf maps the ID of each needed resource to the resources that need it.
func usersOf(all []item, project string) map[string][]cloudapi.Resource {
	users := map[string][]cloudapi.Resource{}
	needed := needs(all, project)
	for _, item := range all {
		for _, id := range needed[item.ID] {
			users[id] = append(users[id], item.Resource)
		}
	}
	return users
}
