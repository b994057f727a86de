package ruby

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// ParseNetwork reads the CIDR of a rule as generously as the real server: the
// prefix length may be missing, or be a mask after a blank, and host bits are
// cleared.
func ParseNetwork(s string) (netip.Prefix, bool) {
	address, mask := strings.TrimSpace(s), ""
	if i := strings.IndexAny(address, "/ "); i >= 0 {
		address, mask = address[:i], address[i:]
	}
	parse := parseNet6
	if strings.Contains(s, ".") {
		parse = parseNet4
	}
	return parse(address, mask)
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
