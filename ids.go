package cloudapi

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Kind is the type of a resource as its ID spells it: the 2-character prefix.
type Kind string

// The kinds of resources that have IDs. Kinds with a "1" stand for a letter
// that the ID alphabet leaves out: "1b" is a load balancer, "1n" an init
// script.
const (
	KindProject                   Kind = "pj"
	KindFirewall                  Kind = "fw"
	KindFirewallRule              Kind = "fr"
	KindInferenceAPIKey           Kind = "ak"
	KindKubernetesCluster         Kind = "kc"
	KindKubernetesNodePool        Kind = "kn"
	KindLoadBalancer              Kind = "1b"
	KindNIC                       Kind = "nc"
	KindPostgres                  Kind = "pg"
	KindPostgresFirewallRule      Kind = "pf"
	KindPostgresMetricDestination Kind = "md"
	KindPrivateLocation           Kind = "10"
	KindPrivateSubnet             Kind = "ps"
	KindSSHPublicKey              Kind = "sk"
	KindVMInitScript              Kind = "1n"
	KindVM                        Kind = "vm"

	// KindOther is the prefix of things without a kind of their own, among
	// them metric destinations that were created long ago. [IsID] accepts it
	// for [KindPostgresMetricDestination], as the contract does.
	KindOther Kind = "et"
)

// kindNames is in the order of the contract's table of prefixes.
var kindNames = []struct {
	kind Kind
	name string
}{
	{KindProject, "project"},
	{KindFirewall, "firewall"},
	{KindFirewallRule, "firewall rule"},
	{KindInferenceAPIKey, "inference API key"},
	{KindKubernetesCluster, "Kubernetes cluster"},
	{KindKubernetesNodePool, "Kubernetes node pool"},
	{KindLoadBalancer, "load balancer"},
	{KindNIC, "NIC"},
	{KindPostgres, "Postgres database"},
	{KindPostgresFirewallRule, "Postgres firewall rule"},
	{KindPostgresMetricDestination, "Postgres metric destination"},
	{KindOther, "other"},
	{KindPrivateLocation, "private location"},
	{KindPrivateSubnet, "private subnet"},
	{KindSSHPublicKey, "SSH public key"},
	{KindVMInitScript, "VM init script"},
	{KindVM, "VM"},
}

// Prefix returns the 2 characters with which IDs of the kind begin.
func (k Kind) Prefix() string { return string(k) }

// String returns the kind's name in words, such as "load balancer", or the
// prefix itself if the kind is not a known one.
func (k Kind) String() string {
	for _, n := range kindNames {
		if n.kind == k {
			return n.name
		}
	}
	return string(k)
}

// Known reports whether k is one of the Kind constants.
func (k Kind) Known() bool {
	return slices.ContainsFunc(kindNames, func(n struct {
		kind Kind
		name string
	}) bool {
		return n.kind == k
	})
}

// accepts reports whether an ID that starts with prefix may stand where an ID
// of kind k is asked for.
func (k Kind) accepts(prefix string) bool {
	return prefix == string(k) || k == KindPostgresMetricDestination && prefix == string(KindOther)
}

// ID is the identifier of a resource: 26 characters, of which the first two
// tell the [Kind]. It is 128 bits with two parity bits in a base-32 alphabet
// without i, l, o and u, and has an equivalent UUID. IDs are random: they
// carry no time, and their order says nothing about age.
//
// Records hold their IDs as plain strings, ready to be passed to any method;
// an ID value is what [ParseID] makes of one.
type ID string

const (
	idLength   = 26
	idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

	// An ID is the prefix, 11 characters for the upper 54 bits of the UUID
	// and a parity bit, and 13 characters for the lower 64 bits and another.
	idUpperStart = 2
	idLowerStart = 13
)

// IsID reports whether s has the form that the contract gives for the ID of
// one of the kinds, or of any known kind if none is named: a prefix and 24
// characters of the alphabet. It is what arguments are checked against before
// a request is sent. It does not look at the parity bits, so it accepts some
// strings that [ParseID] refuses.
//
// A reference that is not an ID is taken for a name by the server.
func IsID(s string, kinds ...Kind) bool {
	if len(s) != idLength {
		return false
	}
	prefix := s[:idUpperStart]
	if len(kinds) == 0 {
		if !Kind(prefix).Known() {
			return false
		}
	} else if !slices.ContainsFunc(kinds, func(k Kind) bool { return k.accepts(prefix) }) {
		return false
	}
	for i := idUpperStart; i < idLength; i++ {
		if c := s[i]; c > 'z' || !idChars[c] {
			return false
		}
	}
	return true
}

// idChars tells which bytes up to 'z' stand in [idAlphabet].
var idChars = [...]bool{
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true,
	'a': true, 'b': true, 'c': true, 'd': true, 'e': true, 'f': true, 'g': true, 'h': true, 'j': true, 'k': true,
	'm': true, 'n': true, 'p': true, 'q': true, 'r': true, 's': true, 't': true, 'v': true, 'w': true, 'x': true,
	'y': true, 'z': true,
}

// ParseID checks s the way the server does, alphabet and both parity bits, and
// returns it as an [ID] in its canonical spelling: upper case is folded, "o"
// is read as 0, "i" and "l" as 1. Any prefix is legal; ask [ID.Kind].
//
// The error is an [*ArgumentError].
func ParseID(s string) (ID, error) {
	u, err := decodeID(s)
	if err != nil {
		return "", &ArgumentError{Name: "id", Value: s, Reason: err.Error()}
	}
	return u.id(), nil
}

// NewID returns a random ID of the kind, for tests and for servers that speak
// this API. It panics if the kind is not 2 characters of the ID alphabet.
func NewID(kind Kind) ID {
	typeBits, ok := kind.bits()
	if !ok {
		panic(fmt.Sprintf("cloudapi: NewID: %q cannot be the prefix of an ID", string(kind)))
	}
	var b [16]byte
	rand.Read(b[:])
	u := ubid{hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:])}
	const version, variant = 8, 2
	u.hi = u.hi&^(0xf<<12|0x3ff) | version<<12 | typeBits
	u.lo = u.lo&^(3<<62) | variant<<62
	return u.id()
}

// IDFromUUID returns the ID that is equivalent to a UUID in its usual form,
// 8-4-4-4-12 hexadecimal digits. The kind is part of the UUID; an
// [*ArgumentError] is returned if it is not the one that is asked for. With
// the empty Kind any will do.
func IDFromUUID(uuid string, kind Kind) (ID, error) {
	u, ok := parseUUID(uuid)
	if !ok {
		return "", &ArgumentError{Name: "uuid", Value: uuid, Reason: "is not a UUID"}
	}
	id := u.id()
	if kind != "" && !kind.accepts(id.prefix()) {
		return "", &ArgumentError{Name: "uuid", Value: uuid,
			Reason: fmt.Sprintf("is the ID %s, which is not of kind %q", id, string(kind))}
	}
	return id, nil
}

// Kind returns the kind that the ID's prefix stands for. It need not be a
// known one: see [Kind.Known].
func (id ID) Kind() Kind { return Kind(id.prefix()) }

// String returns the ID as it is used in paths and bodies.
func (id ID) String() string { return string(id) }

// UUID returns the equivalent UUID in lower-case hexadecimal digits, or "" if
// id is not a valid ID.
func (id ID) UUID() string {
	u, err := decodeID(string(id))
	if err != nil {
		return ""
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], u.hi)
	binary.BigEndian.PutUint64(b[8:], u.lo)
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (id ID) prefix() string {
	if len(id) < idUpperStart {
		return string(id)
	}
	return string(id[:idUpperStart])
}

// bits returns the two characters of the prefix as the 10 type bits.
func (k Kind) bits() (uint64, bool) {
	if len(k) != idUpperStart {
		return 0, false
	}
	first, second := idDigit(k[0]), idDigit(k[1])
	if first < 0 || second < 0 {
		return 0, false
	}
	return uint64(first)<<5 | uint64(second), true
}

// ubid is the 128-bit value behind an ID; its bytes are the UUID.
type ubid struct{ hi, lo uint64 }

// The upper 54 bits are coded apart from the 10 type bits below them.
const typeWidth = 10

func (u ubid) id() ID {
	var s [idLength]byte
	s[0] = idAlphabet[u.hi>>5&31]
	s[1] = idAlphabet[u.hi&31]
	encodeGroup(s[idUpperStart:idLowerStart], u.hi>>typeWidth)
	encodeGroup(s[idLowerStart:], u.lo)
	return ID(s[:])
}

// encodeGroup writes value and its parity bit in 5-bit digits, the most
// significant first. For 64 bits of value the first digit holds 5 of them, so
// the shift never loses any.
func encodeGroup(dst []byte, value uint64) {
	last := len(dst) - 1
	dst[last] = idAlphabet[value&15<<1|uint64(bits.OnesCount64(value)&1)]
	value >>= 4
	for i := last - 1; i >= 0; i-- {
		dst[i] = idAlphabet[value&31]
		value >>= 5
	}
}

func decodeID(s string) (ubid, error) {
	if len(s) != idLength {
		return ubid{}, fmt.Errorf("has %d characters, an ID has %d", len(s), idLength)
	}
	for i := range len(s) {
		if idDigit(s[i]) < 0 {
			return ubid{}, fmt.Errorf("has a character at position %d that no ID has", i+1)
		}
	}
	upper, ok := decodeGroup(s[idUpperStart:idLowerStart])
	if !ok {
		return ubid{}, fmt.Errorf("is mistyped: the parity of its first half is wrong")
	}
	lower, ok := decodeGroup(s[idLowerStart:])
	if !ok {
		return ubid{}, fmt.Errorf("is mistyped: the parity of its second half is wrong")
	}
	typeBits := uint64(idDigit(s[0]))<<5 | uint64(idDigit(s[1]))
	return ubid{hi: upper<<typeWidth | typeBits, lo: lower}, nil
}

func decodeGroup(s string) (value uint64, ok bool) {
	last := len(s) - 1
	for i := range last {
		value = value<<5 | uint64(idDigit(s[i]))
	}
	digit := uint64(idDigit(s[last]))
	value = value<<4 | digit>>1
	return value, uint64(bits.OnesCount64(value)&1) == digit&1
}

// idDigit returns the value of a character, or -1.
func idDigit(c byte) int {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	switch c {
	case 'o':
		c = '0'
	case 'i', 'l':
		c = '1'
	}
	return strings.IndexByte(idAlphabet, c)
}

func parseUUID(s string) (ubid, bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ubid{}, false
	}
	b, err := hex.DecodeString(s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:])
	if err != nil {
		return ubid{}, false
	}
	return ubid{hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:])}, true
}
