package cloudapi

import (
	"context"
	"iter"
	"slices"
)

// family is the service of one kind of resource, independent of the type of its
// records. Records are pointers.
type family struct {
	kind           Kind
	inLocation     bool
	named          bool // names can be used as references
	ambiguousNames bool // a name may occur more than once in a location
	byNameOnly     bool // IDs cannot be used as references

	all    func(ctx context.Context, c *Client, opts *ListOptions) iter.Seq2[any, error]
	get    func(ctx context.Context, c *Client, location, reference string) (any, error)
	remove func(ctx context.Context, c *Client, location, reference string) error

	// gone waits until a deleted resource is gone. It is nil if deletion is
	// immediate.
	gone func(ctx context.Context, c *Client, location, reference string, opts ...WaitOption) error
}

// families returns all families.
//
// It is a function and not a variable, which would link every service into
// every program.
func families() []family {
	return []family{
		located(func(c *Client) locatedService[KubernetesCluster] { return c.Kubernetes }),
		located(func(c *Client) locatedService[LoadBalancer] { return c.LoadBalancers }),
		located(func(c *Client) locatedService[VM] { return c.VMs }),
		located(func(c *Client) locatedService[MachineImage] { return c.MachineImages }),
		located(func(c *Client) locatedService[Postgres] { return c.Postgres }),
		located(func(c *Client) locatedService[PrivateSubnet] { return c.PrivateSubnets }),
		located(func(c *Client) locatedService[Firewall] { return c.Firewalls }),
		global(func(c *Client) globalService[PrivateLocation] { return c.PrivateLocations }),
		global(func(c *Client) globalService[SSHPublicKey] { return c.SSHPublicKeys }),
		global(func(c *Client) globalService[VMInitScript] { return c.VMInitScripts }),
		global(func(c *Client) globalService[InferenceAPIKey] { return c.InferenceAPIKeys }),
		global(func(c *Client) globalService[Project] { return c.Projects }),
	}
}

// part is a kind of resource that is a part of another resource.
type part struct {
	kind   Kind
	of     Kind
	listed bool // whether the short form of the whole contains it
	in     func(of any, id string) any

	// all lists the parts of a whole whose full form does not contain them. It
	// is nil if the full form does.
	all func(ctx context.Context, c *Client, of Resource) (any, error)
}

// whole returns the record or the list in which to look for a part.
func (p *part) whole(ctx context.Context, c *Client, f *family, of Resource) (any, error) {
	if p.all != nil {
		return p.all(ctx, c, of)
	}
	return f.get(ctx, c, of.Location, f.address(of))
}

var parts = []part{
	{kind: KindFirewallRule, of: KindFirewall, listed: true,
		in: func(of any, id string) any { return member(of.(*Firewall).FirewallRules, id) }},
	{kind: KindNIC, of: KindPrivateSubnet, listed: true,
		in: func(of any, id string) any { return member(of.(*PrivateSubnet).NICs, id) }},
	{kind: KindKubernetesNodePool, of: KindKubernetesCluster,
		in: func(of any, id string) any { return member(of.(*KubernetesCluster).NodePools, id) }},
	{kind: KindMachineImageVersion, of: KindMachineImage,
		in: func(of any, id string) any { return itemOf(of.([]*MachineImageVersion), id) },
		all: func(ctx context.Context, c *Client, of Resource) (any, error) {
			return Collect(c.MachineImages.AllVersions(ctx, of.Location, of.ID, nil))
		}},
	{kind: KindPostgresFirewallRule, of: KindPostgres,
		in: func(of any, id string) any { return member(of.(*Postgres).FirewallRules, id) }},
	{kind: KindPostgresLogDestination, of: KindPostgres,
		in: func(of any, id string) any { return member(of.(*Postgres).LogDestinations, id) }},
	{kind: KindPostgresMetricDestination, of: KindPostgres,
		in: func(of any, id string) any { return member(of.(*Postgres).MetricDestinations, id) }},
	{kind: KindPostgresServer, of: KindPostgres,
		in: func(of any, id string) any { return itemOf(of.([]*PostgresServer), id) },
		all: func(ctx context.Context, c *Client, of Resource) (any, error) {
			return Collect(c.Postgres.AllServers(ctx, of.Location, of.ID))
		}},
}

// member returns a pointer to the item with the ID, or nil.
func member[T any](items []T, id string) any {
	for i := range items {
		if item := any(&items[i]); item.(identified).identity().ID == id {
			return item
		}
	}
	return nil
}

// itemOf returns the item of a list with the ID, or nil.
func itemOf[T identified](items []T, id string) any {
	if i := slices.IndexFunc(items, func(item T) bool { return item.identity().ID == id }); i >= 0 {
		return items[i]
	}
	return nil
}

// familyOf returns the family of a kind. For the kind of a part, or another kind
// that IDs of the part may have, it returns the family of the whole and the
// part.
func familyOf(kind Kind) (*family, *part) {
	var found *part
	if i := slices.IndexFunc(parts, func(p part) bool { return p.kind.includes(kind) }); i >= 0 {
		found = &parts[i]
		kind = found.of
	}
	all := families()
	if i := slices.IndexFunc(all, func(f family) bool { return f.kind == kind }); i >= 0 {
		return &all[i], found
	}
	return nil, nil
}

// address returns the reference that the methods of the family's service take.
func (f *family) address(r Resource) string {
	if f.byNameOnly {
		return r.Name
	}
	return r.ID
}

// locatedService is the service of a family whose resources are in locations.
type locatedService[T any] interface {
	All(ctx context.Context, opts *ListOptions) iter.Seq2[*T, error]
	Get(ctx context.Context, location, reference string) (*T, error)
	Delete(ctx context.Context, location, reference string) error
}

func located[T any](service func(*Client) locatedService[T]) family {
	kind := kindOf[T]()
	f := family{
		kind:           kind,
		inLocation:     true,
		named:          true,
		ambiguousNames: kind == KindLoadBalancer,
		all: func(ctx context.Context, c *Client, opts *ListOptions) iter.Seq2[any, error] {
			return untyped(service(c).All(ctx, opts))
		},
		get: func(ctx context.Context, c *Client, location, reference string) (any, error) {
			return untypedRecord(service(c).Get(ctx, location, reference))
		},
		remove: func(ctx context.Context, c *Client, location, reference string) error {
			return service(c).Delete(ctx, location, reference)
		},
	}
	s := service(new(Client))
	type waiting interface {
		WaitDeleted(ctx context.Context, location, reference string, opts ...WaitOption) error
	}
	if _, ok := s.(waiting); ok {
		f.gone = func(ctx context.Context, c *Client, location, reference string, opts ...WaitOption) error {
			return service(c).(waiting).WaitDeleted(ctx, location, reference, opts...)
		}
	}
	return f
}

// globalService is the service of a family whose resources are in no location.
type globalService[T any] interface {
	All(ctx context.Context, opts *ListOptions) iter.Seq2[*T, error]
	Get(ctx context.Context, reference string) (*T, error)
	Delete(ctx context.Context, reference string) error
}

func global[T any](service func(*Client) globalService[T]) family {
	kind := kindOf[T]()
	f := family{
		kind:       kind,
		named:      kind != KindInferenceAPIKey && kind != KindProject,
		byNameOnly: kind == KindPrivateLocation,
		all: func(ctx context.Context, c *Client, opts *ListOptions) iter.Seq2[any, error] {
			return untyped(service(c).All(ctx, opts))
		},
		get: func(ctx context.Context, c *Client, _, reference string) (any, error) {
			return untypedRecord(service(c).Get(ctx, reference))
		},
		remove: func(ctx context.Context, c *Client, _, reference string) error {
			return service(c).Delete(ctx, reference)
		},
	}
	type waiting interface {
		WaitDeleted(ctx context.Context, reference string, opts ...WaitOption) error
	}
	if _, ok := service(new(Client)).(waiting); ok {
		f.gone = func(ctx context.Context, c *Client, _, reference string, opts ...WaitOption) error {
			return service(c).(waiting).WaitDeleted(ctx, reference, opts...)
		}
	}
	return f
}

func untyped[T any](seq iter.Seq2[*T, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for item, err := range seq {
			if !yield(untypedRecord(item, err)) {
				return
			}
		}
	}
}

// untypedRecord returns what a method has returned, without its type.
func untypedRecord[T any](record *T, err error) (any, error) { return recordOf(record), err }
