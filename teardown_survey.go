package cloudapi

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// surveyor lists the resources of a project.
type surveyor struct {
	client *Client
	slots  pace.Slots

	// subnets maps the IDs of load balancers to the IDs of their private
	// subnets, which never change.
	subnets map[string]string
}

func (p *TeardownPlan) surveyor() surveyor {
	concurrency := p.options.Concurrency
	if concurrency <= 0 {
		concurrency = 8
	}
	return surveyor{p.client, make(pace.Slots, concurrency), p.subnets}
}

// surveyed is an existing resource with its record.
type surveyed struct {
	Resource
	record any
}

// survey lists the resources of some kinds, in one location or, if that is "",
// in all, in the order of the kinds. If the server does not have the list of a
// kind, the kind is left out; but not having any of the lists is an error.
func (s surveyor) survey(ctx context.Context, kinds []Kind, location string) ([]surveyed, error) {
	lists, errs := make([][]surveyed, len(kinds)), make([]error, len(kinds))
	parallel.Do(len(kinds), 0, func(i int) { lists[i], errs[i] = s.list(ctx, kinds[i], location) })
	for _, err := range errs {
		if err != nil && !IsGone(err) {
			return nil, err
		}
	}
	if !slices.Contains(errs, nil) {
		return nil, errs[0]
	}
	return slices.Concat(lists...), nil
}

// list lists a kind, sorted by location and name. If the subnet of a load
// balancer is not known, list gets its full form, which contains it.
func (s surveyor) list(ctx context.Context, kind Kind, location string) ([]surveyed, error) {
	f, _ := familyOf(kind)
	var items []surveyed
	err := s.slots.Do(ctx, func() error {
		for record, err := range f.all(ctx, s.client, &ListOptions{Location: location}) {
			if err != nil {
				return err
			}
			items = append(items, surveyed{record.(identified).identity(), record})
		}
		return nil
	})
	if err == nil && kind == KindLoadBalancer {
		items, err = s.complete(ctx, f, items)
	}
	slices.SortFunc(items, func(a, b surveyed) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return items, err
}

// complete gets the full form of load balancers whose subnet is not known. It
// removes those that are gone meanwhile.
func (s surveyor) complete(ctx context.Context, f *family, items []surveyed) ([]surveyed, error) {
	errs := make([]error, len(items))
	parallel.Do(len(items), 0, func(i int) {
		item := &items[i]
		if s.subnets[item.ID] != "" {
			return
		}
		errs[i] = s.slots.Do(ctx, func() (err error) {
			item.record, err = f.get(ctx, s.client, item.Location, f.address(item.Resource))
			return err
		})
	})
	for _, err := range errs {
		if err != nil && !IsGone(err) {
			return nil, err
		}
	}
	return slices.DeleteFunc(items, func(item surveyed) bool { return item.record == nil }), nil
}

// users returns which resources need those of the kind and location of the
// given resource, by their IDs. For a private location it looks only at this
// one.
func (s surveyor) users(ctx context.Context, resource Resource) (map[string][]Resource, error) {
	location := resource.Location
	if resource.Kind == KindPrivateLocation {
		location = resource.Name
	}
	all, err := s.survey(ctx, dependants(resource.Kind), location)
	if IsGone(err) {
		return nil, nil // gone with the project
	}
	if err != nil {
		return nil, err
	}
	if resource.Kind == KindPrivateLocation {
		all = append(all, surveyed{Resource: resource})
	}
	users := map[string][]Resource{}
	needs := s.needs(all)
	for _, item := range all {
		for _, id := range needs[item.ID] {
			users[id] = append(users[id], item.Resource)
		}
	}
	return users, nil
}

// dependants returns the kinds whose records show that they need a resource of
// a kind.
func dependants(kind Kind) []Kind {
	switch kind {
	case KindPrivateSubnet:
		return []Kind{KindLoadBalancer, KindVM, KindPrivateSubnet} // a subnet's record also names its VMs
	case KindFirewall:
		return []Kind{KindPrivateSubnet}
	case KindMachineImage:
		return []Kind{KindVM, KindMachineImage} // a VM's record contains the name of its image
	case KindPrivateLocation, KindProject:
		var kinds []Kind
		for _, f := range families() {
			if f.kind != KindProject && (f.inLocation || kind == KindProject) {
				kinds = append(kinds, f.kind)
			}
		}
		return kinds
	}
	return nil
}

// needs returns which resources each resource needs, by their IDs. A needed
// resource cannot be deleted first, or its deletion would delete the other one
// or remove its protection. Its family is always after that of the other one.
func (s surveyor) needs(all []surveyed) map[string][]string {
	ids := map[Resource]string{}
	for _, item := range all {
		ids[Resource{Kind: item.Kind, Location: item.Location, Name: item.Name}] = item.ID
	}
	needs := map[string][]string{}
	need := func(user, needed string) {
		if user != "" && needed != "" {
			needs[user] = append(needs[user], needed)
		}
	}
	for _, item := range all {
		switch record := item.record.(type) {
		case *PrivateSubnet:
			for _, firewall := range record.Firewalls {
				need(item.ID, firewall.ID)
			}
			for _, nic := range record.NICs {
				need(ids[Resource{Kind: KindVM, Location: item.Location, Name: nic.VMName}], item.ID)
			}
		case *VM:
			if image, _, ok := strings.Cut(record.BootImage, "@"); ok {
				need(item.ID, ids[Resource{Kind: KindMachineImage, Location: item.Location, Name: image}])
			}
		case *KubernetesCluster, *Postgres:
			// August 2026 makes these for it. Their names begin with its ID.
			for suffix, kind := range map[string]Kind{
				"-apiserver": KindLoadBalancer, "-services": KindLoadBalancer,
				"-subnet": KindPrivateSubnet, "-firewall": KindFirewall,
			} {
				need(item.ID, ids[Resource{Kind: kind, Location: item.Location, Name: item.ID + suffix}])
			}
		case *LoadBalancer:
			need(item.ID, cmp.Or(s.subnets[item.ID], ids[Resource{Kind: KindPrivateSubnet, Location: item.Location, Name: record.Subnet}]))
		}
		if item.Location != "" {
			need(item.ID, ids[Resource{Kind: KindPrivateLocation, Name: item.Location}])
		}
		if item.Kind != KindProject {
			need(item.ID, s.client.Project())
		}
	}
	return needs
}
