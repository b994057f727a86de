package cloudapi

import (
	"context"
	"slices"
)

// families returns all families. It's a function because a variable would link
// every family into every program.
func families() []anyFamily {
	return []anyFamily{
		&clusterFamily, &loadBalancerFamily, &vmFamily, &machineImageFamily, &postgresFamily, &subnetFamily, &firewallFamily,
		&privateLocationFamily, &sshPublicKeyFamily, &vmInitScriptFamily, &inferenceAPIKeyFamily, &projectFamily,
	}
}

// familyOf returns the family of a kind. For the kind of a part, or another
// kind that IDs of the part may have, it returns the family of the whole and
// the part.
func familyOf(kind Kind) (anyFamily, *part) {
	var found *part
	if i := slices.IndexFunc(parts, func(p part) bool { return p.kind.includes(kind) }); i >= 0 {
		found = &parts[i]
		kind = found.of
	}
	for _, f := range families() {
		if f.kind() == kind {
			return f, found
		}
	}
	return nil, nil
}

// part is a kind of resource that is a part of another resource.
type part struct {
	kind   Kind
	of     Kind
	listed bool // whether the short form of the whole contains it
	in     func(of any, id string) any

	// all lists the parts of a whole whose full form doesn't contain them. It's
	// nil if the full form does.
	all func(ctx context.Context, c *conn, of Resource) (any, error)
}

// whole returns the record or the list in which to look for a part.
func (p *part) whole(ctx context.Context, c *conn, f anyFamily, of Resource) (any, error) {
	if p.all != nil {
		return p.all(ctx, c, of)
	}
	return f.read(ctx, c, of.Location, addressOf(f, of))
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
		all: func(ctx context.Context, c *conn, of Resource) (any, error) {
			return Collect((&MachineImagesService{c}).AllVersions(ctx, of.Location, of.ID, nil))
		}},
	{kind: KindPostgresFirewallRule, of: KindPostgres,
		in: func(of any, id string) any { return member(of.(*Postgres).FirewallRules, id) }},
	{kind: KindPostgresLogDestination, of: KindPostgres,
		in: func(of any, id string) any { return member(of.(*Postgres).LogDestinations, id) }},
	{kind: KindPostgresMetricDestination, of: KindPostgres,
		in: func(of any, id string) any { return member(of.(*Postgres).MetricDestinations, id) }},
	{kind: KindPostgresServer, of: KindPostgres,
		in: func(of any, id string) any { return itemOf(of.([]*PostgresServer), id) },
		all: func(ctx context.Context, c *conn, of Resource) (any, error) {
			return Collect((&PostgresService{c}).AllServers(ctx, of.Location, of.ID))
		}},
}

// member returns a pointer to the item with the ID, or nil.
func member[T any](items []T, id string) any {
	for i := range items {
		if item := any(&items[i]); item.(identified).Resource().ID == id {
			return item
		}
	}
	return nil
}

// itemOf returns the item of a list with the ID, or nil.
func itemOf[T identified](items []T, id string) any {
	if i := slices.IndexFunc(items, func(item T) bool { return item.Resource().ID == id }); i >= 0 {
		return items[i]
	}
	return nil
}
