package cloudapi

import (
	"fmt"
	"net/netip"

	"github.com/cloudapi-sdk/cloudapi/internal/cidr"
)

// ParseCIDR parses a range of addresses in any form that the server accepts in
// a firewall rule, and clears its host bits. Without a prefix length, an IPv4
// address is a /32, an IPv6 address a /64, and "::" a /128. An IPv4 range can
// have a mask, such as "10.0.0.0 255.0.0.0".
func ParseCIDR(s string) (netip.Prefix, error) {
	prefix, reason := cidr.Parse(s)
	if reason != "" {
		return netip.Prefix{}, argumentError("", "cidr", s, reason)
	}
	return prefix, nil
}

// PortRange is an inclusive range of ports.
type PortRange struct{ First, Last uint16 }

// ParsePortRange parses "80" or "80..90"; "" means all ports. The service
// writes a single port as "80", and the contract as "80..80".
func ParsePortRange(s string) (PortRange, error) {
	first, last, ok := cidr.ParsePorts(s)
	if !ok {
		return PortRange{}, argumentError("", "port_range", s, "must be a port or first..last, within 0 to 65535")
	}
	return PortRange{first, last}, nil
}

// String returns the range as "80..90", or as "80" for one port.
func (r PortRange) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d..%d", r.First, r.Last)
}

// normalCIDR returns the same spelling for all spellings of a range.
func normalCIDR(s string) string {
	if prefix, err := ParseCIDR(s); err == nil {
		return cidr.Format(prefix)
	}
	return s
}

// normalPortRange is normalCIDR for port ranges.
func normalPortRange(s string) string {
	if ports, err := ParsePortRange(s); err == nil {
		return ports.String()
	}
	return s
}
