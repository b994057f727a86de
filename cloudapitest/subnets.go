package cloudapitest

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

func privateSubnetOperations() []operation {
	const (
		all   = projectRoute + "/private-subnet"
		local = locationRoute + "/private-subnet"
		one   = local + "/{private_subnet_reference}"
	)
	var (
		named    = closed(required("name", text))
		firewall = closed(optional("firewall_id", text))
		other    = closed(optional("connected-subnet-id", text))
	)
	return []operation{
		{name: "PrivateSubnets.List", method: http.MethodGet, route: all, list: pagedDeclared, handle: listPrivateSubnets},
		{name: "PrivateSubnets.ListInLocation", method: http.MethodGet, route: local, list: pagedDeclared, handle: listPrivateSubnets},
		{name: "PrivateSubnets.Get", method: http.MethodGet, route: one, handle: getPrivateSubnet},
		{name: "PrivateSubnets.Create", method: http.MethodPost, route: one, body: firewall, bare: true, handle: createPrivateSubnet},
		{name: "PrivateSubnets.Delete", method: http.MethodDelete, route: one, handle: deletePrivateSubnet},
		{name: "PrivateSubnets.Connect", method: http.MethodPost, route: one + "/connect", body: other, handle: connectPrivateSubnet},
		{name: "PrivateSubnets.Disconnect", method: http.MethodPost, route: one + "/disconnect/{private_subnet_id}", handle: disconnectPrivateSubnet},
		{name: "PrivateSubnets.Rename", method: http.MethodPost, route: one + "/rename", body: named, handle: renamePrivateSubnet},
	}
}

type privateSubnet struct {
	object
	net4, net6 netip.Prefix
	firewalls  []*firewall
	vms        []*vm                   // also those that are being deleted
	connected  map[*privateSubnet]bool // in both directions
}

type privateSubnetRecord struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	State     string           `json:"state"`
	Location  string           `json:"location"`
	Net4      netip.Prefix     `json:"net4"`
	Net6      netip.Prefix     `json:"net6"`
	Firewalls []firewallRecord `json:"firewalls"`
	NICs      []nicRecord      `json:"nics"`
}

type nicRecord struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	PrivateIPv4 netip.Addr `json:"private_ipv4"`
	PrivateIPv6 netip.Addr `json:"private_ipv6"`
	VMName      string     `json:"vm_name"`
}

// recordPrivateSubnet shows no sign of a deletion, as the real server does not.
func recordPrivateSubnet(s *privateSubnet) privateSubnetRecord {
	return privateSubnetRecord{
		ID:        s.id,
		Name:      s.name,
		State:     cmp.Or(s.forced, "available"),
		Location:  s.location.name,
		Net4:      s.net4,
		Net6:      s.net6,
		Firewalls: records(s.firewalls, recordFirewall),
		NICs: records(s.vms, func(v *vm) nicRecord {
			return nicRecord{v.nic.id, v.nic.name, v.nic.ip4, v.nic.ip6, v.name}
		}),
	}
}

func findPrivateSubnet(c *call) (*privateSubnet, error) {
	return find[*privateSubnet](c, cloudapi.KindPrivateSubnet, "private_subnet_reference")
}

func listPrivateSubnets(c *call) (any, error) {
	return paginate(c, listed(c, cloudapi.KindPrivateSubnet), objectName, recordPrivateSubnet)
}

func getPrivateSubnet(c *call) (any, error) {
	s, err := findPrivateSubnet(c)
	if err != nil {
		return nil, err
	}
	return recordPrivateSubnet(s), nil
}

func createPrivateSubnet(c *call) (any, error) {
	name, err := c.newReference(cloudapi.KindPrivateSubnet, "private_subnet_reference")
	if err != nil {
		return nil, err
	}
	var f *firewall
	if id := c.body.text("firewall_id"); strings.TrimSpace(id) != "" {
		var ok bool
		if f, ok = findByID[*firewall](c, cloudapi.KindFirewall, id); !ok || f.location != c.location {
			return nil, invalidField("firewall_id", "Firewall with id \"%s\" and location \"%s\" is not found", id, c.location.name)
		}
	}
	s, err := c.addPrivateSubnet(name, f)
	if err != nil {
		return nil, err
	}
	return recordPrivateSubnet(s), nil
}

// addPrivateSubnet creates a subnet with the firewall. Without one it creates
// that too.
func (c *call) addPrivateSubnet(name string, f *firewall) (*privateSubnet, error) {
	if err := checkName[*privateSubnet](c, cloudapi.KindPrivateSubnet, name, nil); err != nil {
		return nil, err
	}
	net4, err := c.unusedNet4()
	if err != nil {
		return nil, err
	}
	if f == nil {
		f = c.addDefaultFirewall(name)
	}
	s := &privateSubnet{
		object:    c.newObject(cloudapi.KindPrivateSubnet, name),
		net4:      net4,
		net6:      randomNet6(),
		firewalls: []*firewall{f},
		connected: map[*privateSubnet]bool{},
	}
	c.state.add(s)
	return s, nil
}

// addDefaultFirewall creates the firewall of a subnet that is created without
// one. It lets everything in.
func (c *call) addDefaultFirewall(subnet string) *firewall {
	name := subnet[:min(len(subnet), 55)] + "-default"
	if _, taken := findByName[*firewall](c, cloudapi.KindFirewall, name); taken {
		name = subnet[:min(len(subnet), 47)] + "-default-" + strings.ToLower(rand.Text()[:7])
	}
	f := &firewall{object: c.newObject(cloudapi.KindFirewall, name), description: "Default firewall"}
	f.allow(netip.PrefixFrom(netip.IPv4Unspecified(), 0), everyPort)
	f.allow(netip.PrefixFrom(netip.IPv6Unspecified(), 0), everyPort)
	c.state.add(f)
	return f
}

// unusedNet4 draws a network until it has one that no other subnet of the
// project in the location has. Like the real server it gives up at some point.
func (c *call) unusedNet4() (netip.Prefix, error) {
	bits := 26
	if c.location.owner != nil {
		bits = 16
	}
	subnets := inProject[*privateSubnet](c.state, cloudapi.KindPrivateSubnet, c.project)
	for range 1000 {
		b := [4]byte{}
		rand.Read(b[1:])
		b[0] = 10
		net := netip.PrefixFrom(netip.AddrFrom4(b), bits).Masked()
		if !slices.ContainsFunc(subnets, func(s *privateSubnet) bool { return s.location == c.location && s.net4 == net }) {
			return net, nil
		}
	}
	return netip.Prefix{}, unexpected()
}

func randomNet6() netip.Prefix {
	var b [16]byte
	rand.Read(b[1:8])
	b[0] = 0xfd
	return netip.PrefixFrom(netip.AddrFrom16(b), 64)
}

// nic is what connects a VM to its subnet.
type nic struct {
	id, name string
	ip4, ip6 netip.Addr
}

// subnetVMs is how many VMs a subnet of 64 addresses has room for.
const subnetVMs = 59

// newNIC returns a NIC with the lowest addresses that are free in the subnet. A
// subnet's first four and its last one are not for VMs.
func newNIC(s *privateSubnet, name string) (*nic, error) {
	used := map[netip.Addr]bool{}
	for _, v := range s.vms {
		used[v.nic.ip4] = true
	}
	for host := uint32(4); host < 1<<(32-s.net4.Bits())-1; host++ {
		ip4, ip6 := s.addresses(host)
		if !used[ip4] {
			return &nic{cloudapi.NewID(cloudapi.KindNIC).String(), name, ip4, ip6}, nil
		}
	}
	return nil, unexpected()
}

// addresses returns those of one of the subnet's hosts: in net6 each has a
// network of its own.
func (s *privateSubnet) addresses(host uint32) (ip4, ip6 netip.Addr) {
	b4, b6 := s.net4.Addr().As4(), s.net6.Addr().As16()
	binary.BigEndian.PutUint32(b4[:], binary.BigEndian.Uint32(b4[:])+host)
	binary.BigEndian.PutUint16(b6[8:], uint16(host))
	b6[15] = 2
	return netip.AddrFrom4(b4), netip.AddrFrom16(b6)
}

// deletePrivateSubnet deletes the subnet's load balancers, but not its firewalls.
func deletePrivateSubnet(c *call) (any, error) {
	s, err := findPrivateSubnet(c)
	switch {
	case err != nil:
		return deletedOr(err)
	case slices.ContainsFunc(s.vms, func(v *vm) bool { return !v.deleting() }):
		return nil, dependency("Private subnet '%s' has VMs attached, first, delete them.", s.name)
	}
	for _, l := range c.loadBalancersIn(s) {
		l.destroy(c)
	}
	c.remove(s, c.config.delays.Delete, func() {
		for other := range s.connected {
			s.disconnect(other)
		}
	})
	return noContent{}, nil
}

func connectPrivateSubnet(c *call) (any, error) {
	s, err := findPrivateSubnet(c)
	if err != nil {
		return nil, err
	}
	const pair = "subnet_id_1 and subnet_id_2"
	other, ok := findByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, c.body.text("connected-subnet-id"))
	switch {
	case !ok:
		return nil, invalidRequest("Subnet to be connected not found")
	case other == s:
		return nil, invalidRequest(pair + " is invalid")
	case s.connected[other]:
		return nil, alreadyTaken(pair)
	}
	s.connected[other], other.connected[s] = true, true
	return recordPrivateSubnet(s), nil
}

func disconnectPrivateSubnet(c *call) (any, error) {
	s, err := findPrivateSubnet(c)
	if err != nil {
		return nil, err
	}
	other, ok := findByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, c.params["private_subnet_id"])
	if !ok {
		return nil, invalidRequest("Subnet to be disconnected not found")
	}
	s.disconnect(other)
	return recordPrivateSubnet(s), nil
}

// disconnect may be asked for from either side.
func (s *privateSubnet) disconnect(other *privateSubnet) {
	delete(s.connected, other)
	delete(other.connected, s)
}

// drop takes a firewall from the subnet, which need not have it.
func (s *privateSubnet) drop(f *firewall) {
	s.firewalls = slices.DeleteFunc(s.firewalls, func(g *firewall) bool { return g == f })
}

func renamePrivateSubnet(c *call) (any, error) {
	s, err := findPrivateSubnet(c)
	if err == nil {
		err = rename(c, cloudapi.KindPrivateSubnet, s)
	}
	if err != nil {
		return nil, err
	}
	return recordPrivateSubnet(s), nil
}
