package families

import (
	"net/netip"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// A database has a subnet and a firewall. In the service they're in the
// project. In the contract they belong to the provider, and no operation finds
// them.

func (p *postgres) firewallName() string { return p.ID + "-firewall" }

func (p *postgres) defaultSubnetName() string { return p.ID + "-subnet" }

func (p *postgres) checkSubnetName(c *api.Call) error {
	name := c.Choice("private_subnet_name", p.defaultSubnetName())
	if err := api.CheckNameForm(name); err != nil {
		return err
	}
	return api.CheckNameIsFree[*privateSubnet](c, cloudapi.KindPrivateSubnet, name, nil)
}

func (p *postgres) makeNetwork(c *api.Call, open bool) error {
	f := &firewall{
		Object:      c.NewObject(cloudapi.KindFirewall, p.firewallName()),
		description: "Firewall for PostgreSQL database " + p.Name,
	}
	p.subnet = &privateSubnet{firewalls: []*firewall{f}}
	if c.Config.Version == version.Service {
		s, err := addPrivateSubnet(c, c.Choice("private_subnet_name", p.defaultSubnetName()), f)
		if err != nil {
			return err
		}
		c.State.Add(f)
		p.subnet = s
	}
	if !open {
		return nil
	}
	for _, cidr := range []netip.Prefix{everyIP4, everyIP6} {
		if _, err := f.allowPostgres(c.Moment, cidr, ""); err != nil {
			return err
		}
	}
	return nil
}

// leaveNetwork deletes the network of a database that is gone. The database's
// servers leave the subnet after the given time.
func (p *postgres) leaveNetwork(at *api.Moment, after time.Duration) {
	if at.Config.Version != version.Contract {
		p.subnet.leave(at, p.ID, after)
		p.subnet.vacated = at.Now.Add(after)
	}
}

// leave deletes the firewall of a cluster or database that is gone, and then,
// after the given time, the subnet. It keeps a subnet or firewall that was
// renamed, or that something else uses. owner is the ID of the cluster or
// database.
func (s *privateSubnet) leave(at *api.Moment, owner string, after time.Duration) {
	for _, f := range slices.Clone(s.firewalls) {
		if f.Name == owner+"-firewall" && len(f.subnets(at)) == 1 {
			s.drop(f)
			at.Remove(f, 0)
		}
	}
	if s.Name == owner+"-subnet" && len(s.firewalls) == 0 && !s.isUsed(at) && len(s.privateLinks(at)) == 0 {
		s.remove(at, after)
	}
}

// isUsed reports whether the subnet contains a VM that isn't being deleted, a
// database or its servers, or belongs to a cluster that isn't gone.
func (s *privateSubnet) isUsed(at *api.Moment) bool {
	return at.Now.Before(s.vacated) || s.cluster != nil && s.cluster.exists(at) ||
		slices.ContainsFunc(s.vms, func(v *vm) bool { return !v.Deleting() }) ||
		slices.ContainsFunc(api.InProject[*postgres](at.State, cloudapi.KindPostgres, s.Project), func(p *postgres) bool { return p.subnet == s })
}
