// Package cidr reads and writes the server's ranges of addresses and ports.
package cidr

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Parse parses a range in any format that the server accepts. The reason says
// why s isn't a range, and is "" if it is one.
func Parse(s string) (prefix netip.Prefix, reason string) {
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
		return prefix, "must be an IPv4 or IPv6 range, such as 203.0.113.0/24"
	}
	bits := 32
	switch {
	case length == "" && found:
		return prefix, "has no prefix length after the slash"
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
	if prefix, err = addr.Prefix(bits); err != nil {
		return prefix, "has an invalid prefix length"
	}
	return prefix, ""
}

// Format returns a range in a format that the server accepts.
func Format(prefix netip.Prefix) string {
	prefix = prefix.Masked()
	if addr := prefix.Addr(); addr.Is4In6() {
		b := addr.As16()
		return fmt.Sprintf("::ffff:%x:%x/%d", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15]), prefix.Bits())
	}
	return prefix.String()
}

// withoutLeadingZeros removes leading zeros from the numbers of an IPv4 address
// or mask, since netip rejects them.
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

// maskLength returns the length of a mask such as 255.255.0.0, or -1.
func maskLength(mask string) int {
	addr, _ := netip.ParseAddr(mask)
	ones, bits := net.IPMask(addr.AsSlice()).Size()
	if bits != 32 {
		return -1
	}
	return ones
}

// ParsePorts parses a port, or "first..last"; "" is all ports. ok is false for
// anything else.
func ParsePorts(s string) (first, last uint16, ok bool) {
	if s == "" {
		return 0, 65535, true
	}
	begin, end, found := strings.Cut(s, "..")
	if !found {
		end = begin
	}
	from, err := strconv.ParseUint(begin, 10, 16)
	to, errLast := strconv.ParseUint(end, 10, 16)
	return uint16(from), uint16(to), err == nil && errLast == nil && from <= to
}
