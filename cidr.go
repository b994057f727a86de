package cloudapi

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ParseCIDR parses a range of addresses in any form that the server accepts in
// a firewall rule. The prefix length is optional: the default is 32 for an IPv4
// address, 64 for an IPv6 address, and 128 for "::". An IPv4 range can have a
// mask instead, such as "10.0.0.0 255.0.0.0". ParseCIDR ignores spaces around
// the range and leading zeros in an IPv4 address. It clears host bits, so that
// equal ranges are equal values. It returns an [*ArgumentError] for anything
// else, and for a prefix length with a leading zero, which the server reads as
// octal.
func ParseCIDR(s string) (netip.Prefix, error) {
	fail := func(reason string) (netip.Prefix, error) {
		return netip.Prefix{}, argumentError("", "cidr", s, reason)
	}
	address, length, found := strings.Cut(strings.TrimSpace(s), "/")
	if !found && strings.Contains(address, ".") {
		address, length, _ = strings.Cut(address, " ")
		length = strings.TrimSpace(length)
	}
	isIPv4 := strings.Contains(address, ".")
	if isIPv4 {
		address = withoutLeadingZeros(address)
	}
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Zone() != "" || isIPv4 != addr.Is4() {
		return fail("must be an IPv4 or IPv6 range, such as 203.0.113.0/24")
	}
	bits := 32
	switch {
	case length == "" && found:
		return fail("has no prefix length after the slash")
	case length == "" && addr == netip.IPv6Unspecified():
		bits = 128
	case length == "" && !isIPv4:
		bits = 64
	case isIPv4 && strings.Contains(length, "."):
		bits = maskLength(withoutLeadingZeros(length))
	case length != "":
		if bits, _ = strconv.Atoi(length); strconv.Itoa(bits) != length {
			bits = -1
		}
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return fail("has an invalid prefix length")
	}
	return prefix, nil
}

// FormatCIDR returns a range in the form that the server accepts: host bits are
// cleared, and an IPv6 range has no dots. Use it for a [netip.Prefix] from
// elsewhere.
func FormatCIDR(prefix netip.Prefix) string {
	prefix = prefix.Masked()
	if addr := prefix.Addr(); addr.Is4In6() {
		b := addr.As16()
		return fmt.Sprintf("::ffff:%x:%x/%d", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15]), prefix.Bits())
	}
	return prefix.String()
}

// withoutLeadingZeros removes leading zeros from the numbers of an IPv4 address
// or mask, since netip doesn't parse them.
func withoutLeadingZeros(dotted string) string {
	parts := strings.Split(dotted, ".")
	for i, part := range parts {
		if trimmed := strings.TrimLeft(part, "0"); trimmed != "" {
			parts[i] = trimmed
		} else if part != "" {
			parts[i] = "0"
		}
	}
	return strings.Join(parts, ".")
}

// maskLength returns the prefix length of a mask such as 255.255.0.0, or -1 if
// it's invalid.
func maskLength(mask string) int {
	addr, _ := netip.ParseAddr(mask)
	ones := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	for bits := range 33 {
		if prefix, _ := ones.Prefix(bits); prefix.Addr() == addr {
			return bits
		}
	}
	return -1
}

// PortRange is an inclusive range of ports.
type PortRange struct{ First, Last uint16 }

// ParsePortRange parses "80" or "80..90", as the server does; "" means all
// ports. A single port is "80..80" with the October 2025 API and "80" with the
// August 2026 API; both parse to the same value. It returns an [*ArgumentError]
// for anything else.
func ParsePortRange(s string) (PortRange, error) {
	if s == "" {
		return PortRange{0, 65535}, nil
	}
	first, last, found := strings.Cut(s, "..")
	if !found {
		last = first
	}
	from, err := strconv.ParseUint(first, 10, 16)
	to, errLast := strconv.ParseUint(last, 10, 16)
	if err != nil || errLast != nil || from > to {
		return PortRange{}, argumentError("", "port_range", s, "must be a port or first..last, within 0 to 65535")
	}
	return PortRange{uint16(from), uint16(to)}, nil
}

// String returns the range as "80..90".
func (r PortRange) String() string { return fmt.Sprintf("%d..%d", r.First, r.Last) }

// normalCIDR returns the same spelling for all spellings of a range.
func normalCIDR(s string) string {
	prefix, err := ParseCIDR(s)
	if err != nil {
		return s
	}
	return FormatCIDR(prefix)
}

// normalPortRange is normalCIDR for port ranges.
func normalPortRange(s string) string {
	ports, err := ParsePortRange(s)
	if err != nil {
		return s
	}
	return ports.String()
}
