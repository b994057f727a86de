package teardown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

type surveyor struct {
	client *cloudapi.Client

	// subnets maps the ID of a load balancer to the ID of its private subnet, which
	// never changes.
	subnets map[string]string
}

// item is a resource that exists. It has a record if the record shows what the
// resource needs. It has no ID if the server can't list it; such an item needs
// and blocks nothing, since the server deletes it with its cluster.
type item struct {
	cloudapi.Resource
	record any
	hidden bool // exists, but is in no list
}

// located contains the kinds of resources in locations. order contains all
// kinds in a project. Each kind precedes the kinds that its resources may need,
// so the resources can be deleted in this order.
var (
	located = []cloudapi.Kind{cloudapi.KindLoadBalancer, cloudapi.KindVM, cloudapi.KindMachineImage, cloudapi.KindKubernetesCluster,
		cloudapi.KindPostgres, cloudapi.KindPrivateSubnet, cloudapi.KindFirewall}
	order = slices.Concat(located, []cloudapi.Kind{cloudapi.KindPrivateLocation, cloudapi.KindSSHPublicKey, cloudapi.KindVMInitScript, cloudapi.KindInferenceAPIKey})
)

// dependants returns the kinds of resources whose records can show that they
// need a resource of the given kind. The server ignores some of these needs: it
// deletes a subnet even if load balancers need it.
func dependants(kind cloudapi.Kind) []cloudapi.Kind {
	switch kind {
	case cloudapi.KindKubernetesCluster, cloudapi.KindPostgres: // its own subnet, and the load balancers in that subnet
		return []cloudapi.Kind{cloudapi.KindPrivateSubnet, cloudapi.KindLoadBalancer}
	case cloudapi.KindPrivateSubnet:
		return []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPrivateSubnet, cloudapi.KindLoadBalancer} // a subnet's record names its VMs
	case cloudapi.KindFirewall:
		return []cloudapi.Kind{cloudapi.KindPrivateSubnet}
	case cloudapi.KindMachineImage:
		return []cloudapi.Kind{cloudapi.KindMachineImage, cloudapi.KindVM} // a VM's record names its image, and the list of images has the image's ID
	case cloudapi.KindPrivateLocation:
		return located
	case cloudapi.KindProject:
		return order
	}
	return nil
}

// survey lists the resources of the given kinds, in the order of the kinds. It
// includes all locations if location is "". It skips kinds that the server
// doesn't have.
func (s *surveyor) survey(ctx context.Context, kinds []cloudapi.Kind, location string) ([]item, error) {
	type list struct {
		items []item
		err   error
	}
	lists := forEach(ctx, kinds, func(ctx context.Context, kind cloudapi.Kind) *list {
		items, err := s.list(ctx, kind, location)
		return &list{items, err}
	})
	var all []item
	for _, l := range lists {
		switch {
		case l.err == nil:
			all = append(all, l.items...)
		case !errors.Is(l.err, cloudapi.ErrMaybeUnsupported):
			return nil, l.err
		}
	}
	return all, nil
}

// list returns the resources of a kind, sorted by location and name.
func (s *surveyor) list(ctx context.Context, kind cloudapi.Kind, location string) (items []item, err error) {
	opts := &cloudapi.ListOptions{Location: location}
	switch kind {
	case cloudapi.KindVM:
		items, err = collect(s.client.VMs.All(ctx, opts), func(vm *cloudapi.VM) item {
			return item{Resource: cloudapi.Resource{Kind: kind, ID: vm.ID, Location: vm.Location, Name: vm.Name}, record: vm}
		})
	case cloudapi.KindPrivateSubnet:
		items, err = collect(s.client.PrivateSubnets.All(ctx, opts), func(subnet *cloudapi.PrivateSubnet) item {
			return item{Resource: cloudapi.Resource{Kind: kind, ID: subnet.ID, Location: subnet.Location, Name: subnet.Name}, record: subnet}
		})
	case cloudapi.KindLoadBalancer:
		items, err = collect(s.client.LoadBalancers.All(ctx, opts), func(balancer *cloudapi.LoadBalancer) item {
			return item{Resource: cloudapi.Resource{Kind: kind, ID: balancer.ID, Location: balancer.Location, Name: balancer.Name}, record: balancer}
		})
		unlisted, ok := errors.AsType[*cloudapi.UnlistedError](err)
		if err == nil || ok {
			items, err = s.complete(ctx, items)
		}
		if ok {
			for _, r := range unlisted.Resources {
				items = append(items, item{Resource: r})
			}
		}
	default:
		items, err = collect(s.client.Resources(ctx, opts, kind), func(r cloudapi.Resource) item { return item{Resource: r} })
	}
	for _, i := range items {
		if i.ID != "" && !cloudapi.IsID(i.ID, kind) {
			return nil, fmt.Errorf("%w: the list of %ss has %q, which isn't the ID of one", cloudapi.ErrInvalidResponse, kind, i.ID)
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return items, err
}

// collect returns the items even if the list ends with an error.
func collect[T any](all iter.Seq2[T, error], of func(T) item) (items []item, err error) {
	for record, err := range all {
		if err != nil {
			return items, err
		}
		items = append(items, of(record))
	}
	return items, nil
}

// complete gets the load balancers whose subnet isn't known yet, since lists
// don't show it. It keeps a load balancer that seems to be gone, in case the
// 404 is wrong; such a load balancer may be in any subnet of its location.
func (s *surveyor) complete(ctx context.Context, items []item) ([]item, error) {
	type completed struct {
		item
		err error
	}
	var complete []item
	for _, c := range forEach(ctx, items, func(ctx context.Context, i item) *completed {
		if s.subnets[i.ID] != "" {
			return &completed{item: i}
		}
		balancer, err := s.client.LoadBalancers.Get(ctx, i.Location, i.ID)
		if cloudapi.IsGone(err) {
			return &completed{item: i}
		}
		return &completed{item{Resource: i.Resource, record: balancer}, err}
	}) {
		if c.err != nil {
			return nil, c.err
		}
		complete = append(complete, c.item)
	}
	return complete, nil
}

// users maps the ID of the resource to the resources that need it. Unless the
// resource is a private location, users does the same for the known resources,
// which must have its kind and location. The server's lists may lack them.
func (s *surveyor) users(ctx context.Context, resource cloudapi.Resource, known []cloudapi.Resource) (map[string][]cloudapi.Resource, error) {
	location := resource.Location
	if resource.Kind == cloudapi.KindPrivateLocation {
		location = resource.Name
	}
	listed, err := s.survey(ctx, dependants(resource.Kind), location)
	if err != nil {
		return nil, err
	}
	isListed := map[string]bool{}
	for _, item := range listed {
		isListed[item.ID] = true
	}
	var all []item // listed resources come last: the method needs prefers the last resource with a name, and only names in lists are sure to be current
	for _, k := range known {
		if !isListed[k.ID] {
			all = append(all, item{Resource: k})
		}
	}
	all = append(all, listed...)
	users := map[string][]cloudapi.Resource{}
	needs := s.needs(all)
	for _, item := range all {
		for _, id := range needs[item.ID] {
			users[id] = append(users[id], item.Resource)
		}
	}
	return users, nil
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
	owners := map[string]cloudapi.Resource{}
	attached := map[string][]cloudapi.Firewall{} // by owner: the firewalls of its subnet
	for _, item := range all {
		owner, ok := exists[madeFor(item.Resource)]
		if !ok || owner.Location != item.Location || item.ID == "" {
			continue
		}
		owners[item.ID] = owner
		if subnet, ok := item.record.(*cloudapi.PrivateSubnet); ok {
			attached[owner.ID] = append([]cloudapi.Firewall{}, subnet.Firewalls...)
		}
	}
	for id, owner := range owners {
		firewalls := attached[owner.ID] // nil if the token may not see the subnet
		if cloudapi.IsID(id, cloudapi.KindFirewall) && firewalls != nil &&
			!slices.ContainsFunc(firewalls, func(f cloudapi.Firewall) bool { return f.ID == id }) {
			delete(owners, id)
		}
	}
	return owners
}

// hidden returns clusters and databases that are missing from the lists
// although their networks are listed: the token may not see them, or they were
// created after their list was read.
func (s *surveyor) hidden(ctx context.Context, all []item) (hidden []item, err error) {
	looked := map[string]bool{"": true}
	for _, item := range all {
		looked[item.ID] = true
	}
	for _, i := range all {
		id := madeFor(i.Resource)
		if looked[id] {
			continue
		}
		looked[id] = true
		owner := cloudapi.Resource{Kind: cloudapi.KindPostgres, ID: id, Location: i.Location}
		if cloudapi.IsID(id, cloudapi.KindKubernetesCluster) {
			owner.Kind = cloudapi.KindKubernetesCluster
		}
		switch _, err := s.client.Fetch(ctx, owner); {
		case err == nil || errors.Is(err, cloudapi.ErrForbidden):
			hidden = append(hidden, item{Resource: owner, hidden: true})
		case !cloudapi.IsGone(err):
			return nil, err
		}
	}
	return hidden, nil
}

// needs returns the IDs of the resources that a resource needs, by the ID of
// that resource. A needed resource must not be deleted first: the server would
// refuse that, or delete the resource that needs it, or leave that resource
// unprotected.
func (s *surveyor) needs(all []item) map[string][]string {
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
	owners := owners(all)
	needs := map[string][]string{}
	need := func(user, needed string) {
		if user != "" && needed != "" && user != needed && !slices.Contains(needs[user], needed) {
			needs[user] = append(needs[user], needed)
		}
	}
	for _, item := range all {
		owner := owners[item.ID].ID
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
		case *cloudapi.LoadBalancer:
			in := subnets[item.Location] // the load balancer may be in any of these if its subnet was renamed or isn't listed
			if subnet := cmp.Or(s.subnets[item.ID], ids[name{cloudapi.KindPrivateSubnet, item.Location, record.Subnet}]); subnet != "" {
				in = []string{subnet}
			}
			for _, subnet := range in {
				need(item.ID, subnet)
				if owners[subnet].ID != owner { // the server deletes the load balancer with the owner of its subnet
					need(item.ID, owners[subnet].ID)
				}
			}
		}
		if item.Location != "" {
			need(item.ID, ids[name{cloudapi.KindPrivateLocation, "", item.Location}])
		}
		if item.Kind != cloudapi.KindProject {
			need(item.ID, s.client.Project())
		}
	}
	return needs
}
