package families

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func privateSubnetOperations() []api.Operation {
	const (
		all   = api.ProjectRoute + "/private-subnet"
		local = api.LocationRoute + "/private-subnet"
		one   = local + "/{private_subnet_reference}"
	)
	var (
		firewall = schema.Closed(schema.Optional("firewall_id", schema.Text))
		other    = schema.Closed(schema.Optional("connected-subnet-id", schema.Text))
	)
	return []api.Operation{
		api.GET("PrivateSubnets.List", all, api.List(cloudapi.KindPrivateSubnet, (*privateSubnet).record)).Paged(api.PagedDeclared),
		api.GET("PrivateSubnets.ListInLocation", local, api.List(cloudapi.KindPrivateSubnet, (*privateSubnet).record)).Paged(api.PagedDeclared),
		api.GET("PrivateSubnets.Get", one, api.Show(findPrivateSubnet, (*privateSubnet).record)),
		api.POST("PrivateSubnets.Create", one, firewall, createPrivateSubnet).BodyOptional(),
		api.DELETE("PrivateSubnets.Delete", one, api.Delete(findPrivateSubnet, (*privateSubnet).delete)),
		api.POST("PrivateSubnets.Connect", one+"/connect", other, api.On(findPrivateSubnet, (*privateSubnet).connect)).Needs("PrivateSubnet:connect"),
		api.POST("PrivateSubnets.Disconnect", one+"/disconnect/{private_subnet_id}", api.NoBody, api.On(findPrivateSubnet, (*privateSubnet).disconnectFrom)).Needs("PrivateSubnet:disconnect"),
		api.POST("PrivateSubnets.Rename", one+"/rename", nameOnly, api.Renames(cloudapi.KindPrivateSubnet, findPrivateSubnet, (*privateSubnet).record)),
	}
}

type privateSubnet struct {
	api.Object
	net4, net6 netip.Prefix
	firewalls  []*firewall
	vms        []*vm                   // including VMs that are being deleted
	connected  map[*privateSubnet]bool // in both directions
	cluster    *kubernetesCluster      // the cluster whose nodes are in the subnet, or nil
	vacated    time.Time               // when the servers of a deleted database are gone
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

func (s *privateSubnet) record(at *api.Moment) privateSubnetRecord {
	state := s.Shown("available")
	if at.Config.Version == version.Contract {
		state = cmp.Or(s.Forced, "available") // also during the deletion
	}
	return privateSubnetRecord{
		ID:        s.ID,
		Name:      s.Name,
		State:     state,
		Location:  s.Location.Name,
		Net4:      s.net4,
		Net6:      s.net6,
		Firewalls: api.Records(s.firewalls, api.At(at, (*firewall).record)),
		NICs: api.Records(s.vms, func(v *vm) nicRecord {
			return nicRecord{v.nic.id, v.nic.name, v.nic.ip4, v.nic.ip6, v.Name}
		}),
	}
}

type privateSubnetCopy struct {
	privateSubnetRecord
	Firewalls []reference `json:"firewalls"`
}

// load reserves a place for each NIC, which [vmRecord.load] fills. NICs of the
// provider's own VMs, such as the nodes of a cluster, have no VM in the project.
func (r *privateSubnetCopy) load(l *loader) error {
	o, err := l.objectIn(r.Location, r.ID, r.Name)
	if err != nil {
		return err
	}
	if !r.Net4.IsValid() || !r.Net6.IsValid() {
		return fmt.Errorf("it lacks a network")
	}
	s := &privateSubnet{
		Object: o, net4: r.Net4, net6: r.Net6, vms: make([]*vm, len(r.NICs)), connected: map[*privateSubnet]bool{},
	}
	for _, ref := range r.Firewalls {
		if f, ok := l.State.ByID[ref.ID].(*firewall); ok {
			s.firewalls = append(s.firewalls, f)
		}
	}
	for i, n := range r.NICs {
		l.nics[r.Location+"/"+n.VMName] = nicPlace{s, i, &nic{n.ID, n.Name, n.PrivateIPv4, n.PrivateIPv6}}
	}
	l.later = append(l.later, func() { s.vms = slices.DeleteFunc(s.vms, func(v *vm) bool { return v == nil }) })
	l.State.Add(s)
	l.show(s, r.State, "available")
	return nil
}

func findPrivateSubnet(c *api.Call) (*privateSubnet, error) {
	return api.Find[*privateSubnet](c, cloudapi.KindPrivateSubnet, "private_subnet_reference")
}

func createPrivateSubnet(c *api.Call) (any, error) {
	name, err := c.NewReference(cloudapi.KindPrivateSubnet, "private_subnet_reference")
	if err != nil {
		return nil, err
	}
	var f *firewall
	if id := c.Body.Text("firewall_id"); strings.TrimSpace(id) != "" {
		var ok bool
		if f, ok = api.FindByID[*firewall](c, cloudapi.KindFirewall, id); !ok || f.Location != c.Location {
			return nil, reply.InvalidField("firewall_id", "Firewall with id \"%s\" and location \"%s\" is not found", id, c.Location.Name)
		}
	}
	s, err := addPrivateSubnet(c, name, f)
	if err != nil {
		return nil, err
	}
	c.Log("create", s.ID)
	return s.record(c.Moment), nil
}

// addPrivateSubnet creates a firewall for the subnet if f is nil.
func addPrivateSubnet(c *api.Call, name string, f *firewall) (*privateSubnet, error) {
	if err := api.CheckNameIsFree[*privateSubnet](c, cloudapi.KindPrivateSubnet, name, nil); err != nil {
		return nil, err
	}
	bits := 26
	if c.Location.Owner != nil {
		bits = 16
	}
	net4, err := unusedNet4(c, bits)
	if err != nil {
		return nil, err
	}
	if f == nil {
		f = addDefaultFirewall(c, name)
	}
	s := &privateSubnet{
		Object:    c.NewObject(cloudapi.KindPrivateSubnet, name),
		net4:      net4,
		net6:      randomNet6(),
		firewalls: []*firewall{f},
		connected: map[*privateSubnet]bool{},
	}
	c.State.Add(s)
	return s, nil
}

func addDefaultFirewall(c *api.Call, subnet string) *firewall {
	name := subnet[:min(len(subnet), 55)] + "-default"
	if _, taken := api.FindByName[*firewall](c, cloudapi.KindFirewall, name); taken {
		name = subnet[:min(len(subnet), 47)] + "-default-" + strings.ToLower(rand.Text()[:7])
	}
	f := &firewall{Object: c.NewObject(cloudapi.KindFirewall, name), description: "Default firewall"}
	f.allowAll(c.Moment)
	c.State.Add(f)
	return f
}

// unusedNet4 tries random networks, and gives up as the real server does.
func unusedNet4(c *api.Call, bits int) (netip.Prefix, error) {
	subnets := api.InProject[*privateSubnet](c.State, cloudapi.KindPrivateSubnet, c.Project)
	for range 1000 {
		b := [4]byte{}
		rand.Read(b[1:])
		b[0] = 10
		net := netip.PrefixFrom(netip.AddrFrom4(b), bits).Masked()
		if !slices.ContainsFunc(subnets, func(s *privateSubnet) bool { return s.Location == c.Location && s.net4 == net }) {
			return net, nil
		}
	}
	return netip.Prefix{}, reply.Unexpected()
}

func randomNet6() netip.Prefix {
	var b [16]byte
	rand.Read(b[1:8])
	b[0] = 0xfd
	return netip.PrefixFrom(netip.AddrFrom16(b), 64)
}

type nic struct {
	id, name string
	ip4, ip6 netip.Addr
}

// subnetVMs is the number of VMs that fit into a subnet of 64 addresses.
const subnetVMs = 59

// newNIC returns a NIC with the lowest free addresses of the subnet. The first
// four addresses and the last one are reserved.
func newNIC(s *privateSubnet, name string) (*nic, error) {
	used := map[netip.Addr]bool{}
	for _, v := range s.vms {
		used[v.nic.ip4] = true
	}
	for host := uint32(4); host < 1<<(32-s.net4.Bits())-1; host++ {
		ip4, ip6 := s.addresses(host)
		if !used[ip4] {
			return &nic{api.NewID(cloudapi.KindNIC).String(), name, ip4, ip6}, nil
		}
	}
	return nil, reply.Unexpected()
}

// addresses returns the addresses of a host in the subnet. In net6 each host
// has its own network.
func (s *privateSubnet) addresses(host uint32) (ip4, ip6 netip.Addr) {
	b4, b6 := s.net4.Addr().As4(), s.net6.Addr().As16()
	binary.BigEndian.PutUint32(b4[:], binary.BigEndian.Uint32(b4[:])+host)
	binary.BigEndian.PutUint16(b6[8:], uint16(host))
	b6[15] = 2
	return netip.AddrFrom4(b4), netip.AddrFrom16(b6)
}

// delete also deletes the subnet's load balancers, but not its firewalls.
func (s *privateSubnet) delete(c *api.Call) error {
	if s.isUsed(c.Moment) {
		return reply.Dependency("Private subnet '%s' has VMs attached, first, delete them.", s.Name)
	}
	if len(s.privateLinks(c.Moment)) > 0 {
		return reply.Dependency("Private subnet '%s' has private link services, first, delete them.", s.Name)
	}
	s.remove(c.Moment, c.Delays(&s.Object).Delete)
	c.Log("destroy", s.ID)
	return nil
}

func (s *privateSubnet) remove(at *api.Moment, after time.Duration) {
	for _, l := range s.balancers(at) {
		l.destroy(at)
	}
	at.Remove(s, after)
}

func (s *privateSubnet) connect(c *api.Call) (any, error) {
	const pair = "subnet_id_1 and subnet_id_2"
	other, ok := s.connectable(c, c.Body.Text("connected-subnet-id"), "connect")
	switch {
	case !ok:
		return nil, reply.InvalidRequest("Subnet to be connected not found")
	case other == s:
		if c.Config.Version == version.Contract {
			return nil, reply.InvalidRecord(pair + " is invalid")
		}
		return nil, reply.InvalidRequest("Cannot connect private subnet to itself")
	case s.connected[other]:
		return nil, reply.InvalidRecord(reply.Taken(pair))
	}
	s.connected[other], other.connected[s] = true, true
	c.Log("connect", s.ID, other.ID)
	return s.record(c.Moment), nil
}

func (s *privateSubnet) disconnectFrom(c *api.Call) (any, error) {
	other, ok := s.connectable(c, c.Params["private_subnet_id"], "disconnect")
	if !ok {
		return nil, reply.InvalidRequest("Subnet to be disconnected not found")
	}
	s.disconnect(other)
	c.Log("disconnect", s.ID, other.ID)
	return s.record(c.Moment), nil
}

// connectable returns the subnet with the ID, which must be in the same
// location as s, except in the contract. The token must have the permission for
// the action on that subnet too.
func (s *privateSubnet) connectable(c *api.Call, id, action string) (*privateSubnet, bool) {
	other, ok := api.FindByIDFor[*privateSubnet](c, cloudapi.KindPrivateSubnet, id, action)
	return other, ok && (other.Location == s.Location || c.Config.Version == version.Contract)
}

func (s *privateSubnet) disconnect(other *privateSubnet) {
	delete(s.connected, other)
	delete(other.connected, s)
}

func (s *privateSubnet) drop(f *firewall) {
	s.firewalls = slices.DeleteFunc(s.firewalls, func(g *firewall) bool { return g == f })
}
