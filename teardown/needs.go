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
		owner, ok := exists[item.MadeFor()]
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

// A need says that a resource needs another, which must not be deleted first:
// the server would refuse that, or delete the resource that needs it, or leave
// that resource unprotected.
type need struct{ user, id string } // IDs; a need without both says nothing

// needs returns the IDs of the resources that a resource needs, by the ID of
// that resource.
func needs(all []item, project string) map[string][]string {
	known := indexOf(all)
	needed := map[string][]string{}
	for _, item := range all {
		for _, n := range slices.Concat(known.always(item, project), known.byRecord(item)) {
			if n.user != "" && n.id != "" && n.user != n.id && !slices.Contains(needed[n.user], n.id) {
				needed[n.user] = append(needed[n.user], n.id)
			}
		}
	}
	return needed
}

// index finds resources by what records say of them. If several resources have
// a name, it means the last one.
type index struct {
	ids     map[name]string
	subnets map[string][]string          // by location
	owners  map[string]cloudapi.Resource // see owners
}

type name struct {
	kind           cloudapi.Kind
	location, name string
}

func indexOf(all []item) index {
	known := index{map[name]string{}, map[string][]string{}, owners(all)}
	for _, item := range all {
		known.ids[name{item.Kind, item.Location, item.Name}] = item.ID
		if item.Kind == cloudapi.KindPrivateSubnet {
			known.subnets[item.Location] = append(known.subnets[item.Location], item.ID)
		}
	}
	return known
}

// subnet returns the subnet with the name. Without it, what the name is in may be
// in any subnet of the location: its own was renamed, or isn't listed.
func (known index) subnet(location, subnet string) []string {
	if id := known.ids[name{cloudapi.KindPrivateSubnet, location, subnet}]; id != "" && subnet != "" {
		return []string{id}
	}
	return known.subnets[location]
}

// always returns what a resource of any kind needs, and its owner's need of it.
func (known index) always(i item, project string) []need {
	all := []need{{known.owners[i.ID].ID, i.ID}}
	if i.Location != "" {
		all = append(all, need{i.ID, known.ids[name{cloudapi.KindPrivateLocation, "", i.Location}]})
	}
	if i.Kind != cloudapi.KindProject {
		all = append(all, need{i.ID, project})
	}
	return all
}

// byRecord returns the needs that a resource's record shows.
func (known index) byRecord(i item) []need {
	switch record := i.record.(type) {
	case *cloudapi.PrivateSubnet:
		return known.bySubnet(i, record)
	case *cloudapi.VM:
		return known.byVM(i, record)
	case *cloudapi.PrivateLinkService:
		return known.byPrivateLinkService(i, record)
	case *cloudapi.LoadBalancer:
		return known.byLoadBalancer(i, record)
	}
	return nil
}

func (known index) bySubnet(i item, subnet *cloudapi.PrivateSubnet) (all []need) {
	for _, firewall := range subnet.Firewalls {
		all = append(all, need{i.ID, firewall.ID})
	}
	for _, nic := range subnet.NICs {
		all = append(all, need{known.ids[name{cloudapi.KindVM, i.Location, nic.VMName}], i.ID})
	}
	return all
}

func (known index) byVM(i item, vm *cloudapi.VM) []need {
	image, _, ok := strings.Cut(vm.BootImage, "@")
	if !ok {
		return nil
	}
	return []need{{i.ID, known.ids[name{cloudapi.KindMachineImage, i.Location, image}]}}
}

func (known index) byPrivateLinkService(i item, link *cloudapi.PrivateLinkService) []need {
	all := []need{{i.ID, link.PostgresResourceID}}
	for _, subnet := range known.subnet(i.Location, link.PrivateSubnet) {
		all = append(all, need{i.ID, subnet})
	}
	return all
}

func (known index) byLoadBalancer(i item, balancer *cloudapi.LoadBalancer) (all []need) {
	possible := []string{i.subnet}
	if i.subnet == "" {
		possible = known.subnet(i.Location, balancer.Subnet)
	}
	for _, subnet := range possible {
		all = append(all, need{i.ID, subnet})
		if owner := known.owners[subnet].ID; owner != known.owners[i.ID].ID { // the server would delete the load balancer with this owner's subnet
			all = append(all, need{i.ID, owner})
		}
	}
	return all
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
