package cloudapi

import "github.com/cloudapi-sdk/cloudapi/internal/mask"

// This file has the records of firewalls and private subnets, which contain
// each other.

// Firewall is a set of rules for inbound traffic.
type Firewall struct {
	ID            string         `json:"id"`             // prefix fw
	Name          string         `json:"name"`           // unique in its project and location
	Description   string         `json:"description"`    // "Default firewall" if the server created it with a subnet
	Location      string         `json:"location"`       // such as "eu-central-h1"
	FirewallRules []FirewallRule `json:"firewall_rules"` // sorted by IP version and CIDR
	Path          string         `json:"path"`           // the path within the project; only in a VM's record

	// PrivateSubnets are the subnets that the firewall is attached to. Only Get,
	// AttachSubnet and DetachSubnet return this field. With the contract, the
	// subnets have only IDs; with the service, they have all fields.
	PrivateSubnets []PrivateSubnet `json:"private_subnets"`
}

func (f *Firewall) Resource() Resource {
	return Resource{Kind: KindFirewall, ID: f.ID, Location: f.Location, Name: f.Name}
}

// FirewallRule allows inbound traffic from some addresses to some ports.
type FirewallRule struct {
	ID          string `json:"id"`                   // prefix fr
	CIDR        string `json:"cidr"`                 // with prefix length, host bits cleared
	PortRange   string `json:"port_range"`           // "80..90", or "80" for one port ("80..80" with the contract)
	Protocol    string `json:"protocol,omitzero"`    // a constant such as [FirewallRuleProtocolTCP]; † only the service
	Description string `json:"description,omitzero"` // † only the service

	// CreateRule creates two rules for a private subnet; IPv6Rule is the second,
	// for the IPv6 range. All other methods return the two rules separately.
	// † Only the service has this.
	IPv6Rule *FirewallRule `json:"ipv6_rule,omitzero"`
}

// Values of [FirewallRule.Protocol]. † Only the service has these.
const (
	FirewallRuleProtocolTCP = "tcp"
	FirewallRuleProtocolUDP = "udp"
)

// ruleText describes the rule in one line, such as "443 from 0.0.0.0/0".
func (r *FirewallRule) ruleText() string {
	ports := normalPortRange(r.PortRange)
	if ports == "0..65535" {
		ports = "all ports"
	}
	if r.Protocol == FirewallRuleProtocolUDP {
		ports += "/udp"
	}
	return describe(mask.OneLine(ports+" from "+r.CIDR), r.Description)
}

func (r *FirewallRule) Resource() Resource { return Resource{Kind: KindFirewallRule, ID: r.ID} }

// PrivateSubnet is a private network in a location.
type PrivateSubnet struct {
	ID        string     `json:"id"`        // prefix ps
	Name      string     `json:"name"`      // unique in its project and location
	State     string     `json:"state"`     // a constant such as [PrivateSubnetStateAvailable], or another value; the subnet is usable unless "deleting"
	Location  string     `json:"location"`  // such as "eu-central-h1"
	Net4      string     `json:"net4"`      // IPv4 range in CIDR notation, chosen by the server
	Net6      string     `json:"net6"`      // unique local IPv6 range in CIDR notation
	Firewalls []Firewall `json:"firewalls"` // the attached firewalls, without their PrivateSubnets
	NICs      []NIC      `json:"nics"`
}

func (s *PrivateSubnet) Resource() Resource {
	return Resource{Kind: KindPrivateSubnet, ID: s.ID, Location: s.Location, Name: s.Name}
}

func (s *PrivateSubnet) stateText() string { return s.State }

// Known values of [PrivateSubnet.State].
const (
	PrivateSubnetStateAvailable      = "available"
	PrivateSubnetStateAddingNIC      = "adding_new_nic"
	PrivateSubnetStateRefreshingKeys = "refreshing_keys"
	PrivateSubnetStateDeleting       = "deleting" // until it's gone; † only the service
)

// NIC is a network interface in a private subnet.
type NIC struct {
	ID          string `json:"id"` // prefix nc
	Name        string `json:"name"`
	PrivateIPv4 string `json:"private_ipv4"`
	PrivateIPv6 string `json:"private_ipv6"`
	VMName      string `json:"vm_name"` // the name of its VM; "" if it has none
}

func (n *NIC) Resource() Resource { return Resource{Kind: KindNIC, ID: n.ID, Name: n.Name} }
