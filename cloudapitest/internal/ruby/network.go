package ruby

import (
	"errors"
	"math/big"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

var (
	// ErrNetwork is the error for an invalid network.
	ErrNetwork = errors.New("invalid CIDR")
	// ErrNoMask is the error for a network that ends with a slash. The real
	// server responds with a 500.
	ErrNoMask = errors.New("a slash without a mask")
)

// A Network is a range of addresses in the spelling of the real server, which
// writes all IPv6 addresses in hexadecimal.
type Network struct{ netip.Prefix }

func (n Network) String() string {
	if !n.Addr().Is4In6() {
		return n.Prefix.String()
	}
	b := n.Addr().As16()
	hex := func(i int) string { return strconv.FormatUint(uint64(b[i])<<8|uint64(b[i+1]), 16) }
	return "::ffff:" + hex(12) + ":" + hex(14) + "/" + strconv.Itoa(n.Bits())
}

// MarshalText returns the same as [Network.String].
func (n Network) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// ParseNetwork parses an address with or without a mask, as leniently as the
// library of the real server. Host bits are cleared.
func ParseNetwork(s string) (Network, error) {
	switch s = strings.Trim(s, blanks); {
	case strings.Contains(s, "."):
		return parseNetwork(s, 32, parseIP4)
	case strings.Contains(s, ":"):
		return parseNetwork(s, 128, parseIP6)
	}
	return Network{}, ErrNetwork
}

// parseNetwork parses a network. The mask is between the first two slashes; in
// IPv4 it may follow a space instead. The default mask is the whole address in
// IPv4, and 64 bits in IPv6, except for the zero address.
func parseNetwork(s string, size int, parse func(string) (netip.Addr, bool)) (Network, error) {
	address, rest, slash := strings.Cut(s, "/")
	if slash && strings.Trim(rest, "/") == "" {
		return Network{}, ErrNoMask
	}
	mask, _, _ := strings.Cut(rest, "/")
	if words := strings.Fields(s); !slash && size == 32 && len(words) > 1 && strings.Contains(s, " ") {
		address, mask, slash = words[0], words[1], true
	}
	a, ok := parse(strings.Trim(address, blanks))
	bits := size
	switch {
	case !ok:
		return Network{}, ErrNetwork
	case slash:
		bits, ok = parseMask(strings.Trim(mask, blanks), size)
	case size == 128 && !a.IsUnspecified():
		bits = 64
	}
	if !ok {
		return Network{}, ErrNetwork
	}
	return Network{netip.PrefixFrom(a, bits).Masked()}, nil
}

// parseMask parses a number of bits or, in IPv4, a mask like 255.255.0.0.
func parseMask(s string, size int) (int, bool) {
	if size == 32 && strings.Contains(s, ".") {
		mask, ok := parseIP4(s)
		for bits := range 33 {
			if ok && netip.PrefixFrom(broadcast, bits).Masked().Addr() == mask {
				return bits, true
			}
		}
		return 0, false
	}
	n, ok := Integer(s)
	return int(n), ok && n >= 0 && n <= int64(size)
}

var (
	broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
	ip4Form   = regexp.MustCompile(`^[0-9.]*$`)
	ip6Form   = regexp.MustCompile(`^[0-9a-fA-F:]*$`)
)

// parseIP4 parses an IPv4 address. An empty octet is a zero.
func parseIP4(s string) (netip.Addr, bool) {
	octets := strings.Split(strings.TrimRight(s, "."), ".")
	if !ip4Form.MatchString(s) || len(octets) != 4 {
		return netip.Addr{}, false
	}
	var b [4]byte
	for i, octet := range octets {
		n, ok := LeadingInteger(octet)
		if !ok || n > 255 {
			return netip.Addr{}, false
		}
		b[i] = byte(n)
	}
	return netip.AddrFrom4(b), true
}

// parseIP6 parses an IPv6 address. An empty word is a zero, and a word that is
// too long overflows into the previous word.
func parseIP6(s string) (netip.Addr, bool) {
	words := strings.Split(strings.TrimRight(s, ":"), ":")
	if high, low, short := strings.Cut(s, "::"); short {
		if low == "" {
			low = "0"
		}
		upper, lower := fieldsOf(high), fieldsOf(low)
		if strings.Contains(s, ":::") || strings.Contains(low, "::") || len(upper)+len(lower) > 8 {
			return netip.Addr{}, false
		}
		words = append(upper, make([]string, 8-len(upper)-len(lower))...)
		words = append(words, lower...)
	}
	if !ip6Form.MatchString(s) || len(words) != 8 {
		return netip.Addr{}, false
	}
	var sum, word big.Int
	for i, w := range words {
		word.SetString("0"+w, 16)
		sum.Or(&sum, word.Lsh(&word, uint(112-16*i)))
	}
	if sum.BitLen() > 128 {
		return netip.Addr{}, false
	}
	return netip.AddrFrom16([16]byte(sum.FillBytes(make([]byte, 16)))), true
}

// fieldsOf splits an IPv6 address at its colons, and ignores colons at the end.
// It returns nil for "".
func fieldsOf(s string) []string {
	if s = strings.TrimRight(s, ":"); s == "" {
		return nil
	}
	return strings.Split(s, ":")
}
