package cloudapitest

import (
	"cmp"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// parseCIDR reads the CIDR of a rule as generously as the real server: the
// prefix length may be missing, or be a mask after a blank, and host bits are
// cleared.
func parseCIDR(s string) (netip.Prefix, error) {
	address, mask := strings.TrimSpace(s), ""
	if i := strings.IndexAny(address, "/ "); i >= 0 {
		address, mask = address[:i], address[i:]
	}
	parse := parseNet6
	if strings.Contains(s, ".") {
		parse = parseNet4
	}
	p, ok := parse(address, mask)
	if !ok {
		return netip.Prefix{}, invalidField("cidr", "Invalid CIDR")
	}
	return p, nil
}

// parseNet4 takes zeros before a number for nothing.
func parseNet4(address, mask string) (netip.Prefix, bool) {
	octets, ok := parseOctets(address)
	if !ok {
		return netip.Prefix{}, false
	}
	bits := 32
	if strings.HasPrefix(mask, " ") {
		bits, ok = maskLength(strings.TrimSpace(mask))
	} else if mask != "" {
		bits, ok = prefixLength(mask, 32)
	}
	return netip.PrefixFrom(netip.AddrFrom4(octets), bits).Masked(), ok
}

// parseNet6 takes an address without prefix length for a network of 64 bits,
// but :: for itself. An IPv4 address in IPv6 is none.
func parseNet6(address, mask string) (netip.Prefix, bool) {
	a, err := netip.ParseAddr(address)
	if err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	bits, ok := 64, true
	switch {
	case mask != "":
		bits, ok = prefixLength(mask, 128)
	case a.IsUnspecified():
		bits = 128
	}
	return netip.PrefixFrom(a, bits).Masked(), ok
}

var octetForm = regexp.MustCompile(`^[0-9]{1,3}$`)

func parseOctets(address string) (octets [4]byte, ok bool) {
	parts := strings.Split(address, ".")
	if len(parts) != len(octets) {
		return octets, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n > 255 || !octetForm.MatchString(part) {
			return octets, false
		}
		octets[i] = byte(n)
	}
	return octets, true
}

// prefixLength reads a slash and a number of bits.
func prefixLength(mask string, most int) (int, bool) {
	digits, ok := strings.CutPrefix(mask, "/")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && octetForm.MatchString(digits) && n <= most
}

// maskLength reads a mask like 255.255.0.0.
func maskLength(mask string) (int, bool) {
	octets, ok := parseOctets(mask)
	if !ok {
		return 0, false
	}
	bits := 0
	for bits < 32 && octets[bits/8]&(0x80>>(bits%8)) != 0 {
		bits++
	}
	return bits, netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), bits).Masked().Addr() == netip.AddrFrom4(octets)
}

// compareCIDRs orders by IP version and then by the text.
func compareCIDRs(a, b netip.Prefix) int {
	return cmp.Or(cmp.Compare(a.Addr().BitLen(), b.Addr().BitLen()), cmp.Compare(a.String(), b.String()))
}

// portRange is a range of ports with both its ends.
type portRange struct{ first, last int }

const maxPort = 65535

func (r portRange) String() string { return strconv.Itoa(r.first) + ".." + strconv.Itoa(r.last) }

var portRangeForm = regexp.MustCompile(`^([0-9]+)(?:\.\.([0-9]+))?$`)

// parsePortRange reads a port, or two with dots between them.
func parsePortRange(s string) (portRange, error) {
	m := portRangeForm.FindStringSubmatch(s)
	if m == nil {
		return portRange{}, invalidField("port_range", "Invalid port range")
	}
	first, isPort := parsePort(m[1])
	last, isLastPort := parsePort(m[2])
	var problem string
	switch {
	case m[2] == "" && isPort:
		return portRange{first, first}, nil
	case m[2] == "":
		problem = "Port must be between 0 to 65535"
	case !isPort:
		problem = "Start port must be between 0 to 65535"
	case !isLastPort:
		problem = "End port must be between 0 to 65535"
	case first > last:
		problem = "Start port must be smaller than or equal to end port"
	default:
		return portRange{first, last}, nil
	}
	return portRange{}, invalidField("port_range", "%s", problem)
}

func parsePort(digits string) (int, bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && n <= maxPort
}
