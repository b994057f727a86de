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
// script, "m1" a machine image.
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

	// Kinds of the service of August 2026.
	KindGitHubCacheEntry       Kind = "ge"
	KindGitHubInstallation     Kind = "g1"
	KindGitHubRepository       Kind = "gp"
	KindInferenceEndpoint      Kind = "1e"
	KindMachineImage           Kind = "m1"
	KindMachineImageVersion    Kind = "mv"
	KindPostgresLogDestination Kind = "1d"
	KindPostgresServer         Kind = "pv"
	KindRoutedModel            Kind = "rm" // which lists of inference endpoints have as well

	// KindOther is the prefix of things without a kind of their own, among
	// them metric destinations that were created long ago. [IsID] accepts it
	// for [KindPostgresMetricDestination], as the contract does.
	KindOther Kind = "et"
)

// Prefix returns the 2 characters with which IDs of the kind begin.
func (k Kind) Prefix() string { return string(k) }

// String returns the kind's name in words, such as "load balancer", or the
// prefix itself if the kind is not a known one.
func (k Kind) String() string {
	switch k {
	case KindProject:
		return "project"
	case KindFirewall:
		return "firewall"
	case KindFirewallRule:
		return "firewall rule"
	case KindInferenceAPIKey:
		return "inference API key"
	case KindKubernetesCluster:
		return "Kubernetes cluster"
	case KindKubernetesNodePool:
		return "Kubernetes node pool"
	case KindLoadBalancer:
		return "load balancer"
	case KindNIC:
		return "NIC"
	case KindPostgres:
		return "Postgres database"
	case KindPostgresFirewallRule:
		return "Postgres firewall rule"
	case KindPostgresMetricDestination:
		return "Postgres metric destination"
	case KindOther:
		return "other"
	case KindPrivateLocation:
		return "private location"
	case KindPrivateSubnet:
		return "private subnet"
	case KindSSHPublicKey:
		return "SSH public key"
	case KindVMInitScript:
		return "VM init script"
	case KindVM:
		return "VM"
	case KindGitHubCacheEntry:
		return "GitHub cache entry"
	case KindGitHubInstallation:
		return "GitHub installation"
	case KindGitHubRepository:
		return "GitHub repository"
	case KindInferenceEndpoint:
		return "inference endpoint"
	case KindMachineImage:
		return "machine image"
	case KindMachineImageVersion:
		return "machine image version"
	case KindPostgresLogDestination:
		return "Postgres log destination"
	case KindPostgresServer:
		return "Postgres server"
	case KindRoutedModel:
		return "routed model"
	}
	return string(k)
}

// Known reports whether k is one of the Kind constants.
func (k Kind) Known() bool { return allKinds.has(string(k)) }

// A kindSet is some kinds, one behind the other.
type kindSet string

// allKinds is the set of the known kinds.
const allKinds = kindSet(KindProject + KindFirewall + KindFirewallRule + KindInferenceAPIKey +
	KindKubernetesCluster + KindKubernetesNodePool + KindLoadBalancer + KindNIC + KindPostgres +
	KindPostgresFirewallRule + KindPostgresMetricDestination + KindOther + KindPrivateLocation +
	KindPrivateSubnet + KindSSHPublicKey + KindVMInitScript + KindVM +
	KindGitHubCacheEntry + KindGitHubInstallation + KindGitHubRepository + KindInferenceEndpoint +
	KindMachineImage + KindMachineImageVersion + KindPostgresLogDestination + KindPostgresServer + KindRoutedModel)

func (set kindSet) has(prefix string) bool {
	for ; set != ""; set = set[idUpperStart:] {
		kind := Kind(set[:idUpperStart])
		if prefix == string(kind) || kind == KindPostgresMetricDestination && prefix == string(KindOther) {
			return true
		}
	}
	return false
}

// hasID reports whether s has the form of an ID of one of the kinds.
func (set kindSet) hasID(s string) bool {
	if len(s) != idLength || !set.has(s[:idUpperStart]) {
		return false
	}
	for i := idUpperStart; i < idLength; i++ {
		if c := s[i]; c > 'z' || !idChars[c] {
			return false
		}
	}
	return true
}

// String lists the prefixes.
func (set kindSet) String() string {
	var b strings.Builder
	for ; set != ""; set = set[idUpperStart:] {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(set[:idUpperStart]))
	}
	return b.String()
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
	if len(kinds) == 0 {
		return allKinds.hasID(s)
	}
	return slices.ContainsFunc(kinds, func(k Kind) bool {
		return len(k) == idUpperStart && kindSet(k).hasID(s)
	})
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
	if kind != "" && (len(kind) != idUpperStart || !kindSet(kind).has(id.prefix())) {
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
