package cloudapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"sync"
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
	KindPrivateSubnet + KindSSHPublicKey + KindVMInitScript + KindVM)

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

// ErrAmbiguous: a reference stands for more than one resource.
var ErrAmbiguous = errors.New("ambiguous reference")

// Resource says what a resource is and where, whatever its kind.
type Resource struct {
	Kind     Kind   `json:"kind"`
	ID       string `json:"id"`
	Location string `json:"location,omitzero"` // "" for what is in no location
	Name     string `json:"name,omitzero"`     // "" for what has no name, such as a rule

	// Parent is what the resource is a part of: the firewall of a rule, the
	// cluster of a node pool, the subnet of a NIC, the database of its firewall
	// rules and metric destinations. It is nil for all others.
	Parent *Resource `json:"parent,omitzero"`
}

// String describes the resource, such as
// "VM eu-central-h1/web-1 (vm3g8xpsxjs50pvjj2a7d3ky8h)".
func (r Resource) String() string {
	var b strings.Builder
	b.WriteString(r.Kind.String())
	if r.Name != "" {
		fmt.Fprintf(&b, " %s (%s)", r.Reference(), r.ID)
	} else {
		b.WriteString(" " + r.ID)
	}
	if r.Parent != nil {
		fmt.Fprintf(&b, " of %v", *r.Parent)
	}
	return b.String()
}

// Reference returns the location and the name, such as "eu-central-h1/web-1", or
// the ID of what has no name.
func (r Resource) Reference() string { return place(r.Location, cmp.Or(r.Name, r.ID)) }

func place(location, reference string) string {
	if location == "" {
		return reference
	}
	return location + "/" + reference
}

// Reference is what people write for a resource: an ID, or a name, in front of
// which there is the location of what is in one.
type Reference struct {
	ID       string // "" unless the reference is an ID
	Location string // "" unless there is one
	Name     string // "" if the reference is an ID
}

// ParseReference reads an ID of a known kind, in capitals as well,
// "location/name", "location/ID", or the name of what is in no location. It
// sends nothing; the error is an [*ArgumentError].
func ParseReference(s string) (Reference, error) {
	location, last, found := strings.Cut(s, "/")
	if !found {
		location, last = "", s
	} else if reason := checkSegment(location); reason != "" {
		return Reference{}, &ArgumentError{Name: "reference", Value: withoutToken(s), Reason: "has a location that " + reason}
	}
	if reason := checkSegment(last); reason != "" {
		return Reference{}, &ArgumentError{Name: "reference", Value: withoutToken(s), Reason: "has a name that " + reason}
	}
	if IsID(last) {
		return Reference{ID: last, Location: location}, nil
	}
	if id, err := ParseID(last); err == nil && last == strings.ToUpper(last) && id.Kind().Known() {
		return Reference{ID: id.String(), Location: location}, nil // no name has capitals
	}
	return Reference{Location: location, Name: last}, nil
}

// String returns the reference as it is written.
func (r Reference) String() string { return place(r.Location, cmp.Or(r.ID, r.Name)) }

// Resolve finds out what a reference stands for in the client's project. The
// reference is
//
//   - the ID of anything that has one, rules, node pools and NICs included;
//   - "location/name" of a VM, private subnet, firewall, load balancer,
//     Postgres database or Kubernetes cluster;
//   - the name of an SSH public key, init script or private location.
//
// The kinds, if there are any, are those that it may be. A name that several
// have is [ErrAmbiguous], and what the server takes for no name at all, as with
// capitals or underscores, [ErrInvalidRequest]. What does not exist, or is of
// none of the kinds, is [ErrNotFound]; what exists and must not be seen is
// [ErrForbidden] or, where the server keeps it to itself, ErrNotFound too.
//
// An ID mostly takes one request. Without an operation for it, the lists are
// searched: for the ID of a private location that of private locations, for
// that of a rule, node pool, NIC or metric destination those of what may have
// it, and, where a list does not show them, the members one by one. A name takes
// one request for each of the kinds that it may be, and that of a load balancer
// one more, since another may have it too.
//
// [Lookup] returns the record itself.
func (c *Client) Resolve(ctx context.Context, reference string, kinds ...Kind) (*Resource, error) {
	resource, _, err := c.find(ctx, "Resolve", reference, kinds)
	return resource, err
}

// Fetch returns the record of a resource in its full form: a *[VM] for
// [KindVM], and so on. It is for programs that work with what they do not know;
// where the type is known [Lookup] returns it.
func (c *Client) Fetch(ctx context.Context, resource Resource) (any, error) {
	f, part := familyOf(resource.Kind)
	switch {
	case f == nil:
		return nil, &ArgumentError{Operation: "Fetch", Name: "resource", Value: resource.String(), Reason: "is of an unknown kind"}
	case part == nil:
		return f.get(ctx, c, resource.Location, f.address(resource))
	case resource.Parent == nil:
		return nil, &ArgumentError{Operation: "Fetch", Name: "resource", Value: resource.String(), Reason: "must have its Parent"}
	}
	parent, err := f.get(ctx, c, resource.Parent.Location, f.address(*resource.Parent))
	if err != nil {
		return nil, err
	}
	record := part.in(parent, resource.ID)
	if record == nil {
		return nil, fmt.Errorf("cloudapi: Fetch: %v: %w", resource, ErrNotFound)
	}
	return record, nil
}

// Record is any record that has an ID.
type Record interface {
	Firewall | FirewallRule | InferenceAPIKey | KubernetesCluster | KubernetesNodePool | LoadBalancer | NIC |
		Postgres | PostgresFirewallRule | PostgresMetricDestination | PrivateLocation | PrivateSubnet | Project |
		SSHPublicKey | VM | VMInitScript
}

// Lookup returns the record that a reference stands for, in its full form. The
// reference is one as for [Client.Resolve], to a resource of that kind:
//
//	vm, err := cloudapi.Lookup[cloudapi.VM](ctx, client, "eu-central-h1/web-1")
//	db, err := cloudapi.Lookup[cloudapi.Postgres](ctx, client, "pgn30gjk1d1e2jj34v9x0dq4rp")
//
// What does not exist is [ErrNotFound]; the ID of another kind is an
// [*ArgumentError].
func Lookup[T Record](ctx context.Context, c *Client, reference string) (*T, error) {
	kind := kindOf[T]()
	resource, record, err := c.find(ctx, "Lookup", reference, []Kind{kind})
	if err == nil && record == nil {
		record, err = c.Fetch(ctx, *resource)
	}
	if err != nil {
		return nil, err
	}
	return record.(*T), nil
}

// find does the work of Resolve. It returns the record, in its full form, if it
// came along.
func (c *Client) find(ctx context.Context, operation, reference string, kinds []Kind) (*Resource, any, error) {
	ref, err := ParseReference(reference)
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Operation = operation
		return nil, nil, e
	}
	if ref.ID == "" {
		return c.findName(ctx, operation, ref, kinds)
	}
	kind := ID(ref.ID).Kind()
	if kind == KindOther {
		kind = KindPostgresMetricDestination
	}
	if len(kinds) > 0 && !slices.Contains(kinds, kind) {
		return nil, nil, &ArgumentError{Operation: operation, Name: "reference", Value: reference,
			Reason: "is the ID of another kind: " + kind.String()}
	}
	f, part := familyOf(kind)
	if ref.Location != "" && !f.inLocation {
		return nil, nil, &ArgumentError{Operation: operation, Name: "reference", Value: reference,
			Reason: "has a location, which a " + kind.String() + " is not in"}
	}
	var record any
	switch {
	case part != nil:
		return c.findPart(ctx, operation, f, part, ref)
	case f.inLocation && ref.Location == "":
		info, err := fetch[ObjectInfo](ctx, c, &opProjectsObjectInfo, ref.ID)
		if err != nil {
			return nil, nil, err
		}
		return &Resource{Kind: kind, ID: ref.ID, Location: info.Location, Name: info.Name}, nil, nil
	case f.noID:
		record, err = c.search(ctx, operation, f, ref, func(item any) (any, error) {
			if item.(identified).identity().ID != ref.ID {
				return nil, nil
			}
			return item, nil
		})
	default:
		record, err = f.get(ctx, c, ref.Location, ref.ID)
	}
	if err != nil {
		return nil, nil, err
	}
	resource := record.(identified).identity()
	return &resource, record, nil
}

// findName asks for a name in each family that may have it.
func (c *Client) findName(ctx context.Context, operation string, ref Reference, kinds []Kind) (*Resource, any, error) {
	var candidates []family
	for _, f := range families() {
		if f.named && f.inLocation == (ref.Location != "") && (len(kinds) == 0 || slices.Contains(kinds, f.kind)) {
			candidates = append(candidates, f)
		}
	}
	if len(candidates) == 0 {
		return nil, nil, &ArgumentError{Operation: operation, Name: "reference", Value: withoutToken(ref.String()),
			Reason: "can be none of these kinds: they go by ID, by location/name if they are in a location, by name if they are not"}
	}
	records, errs := make([]any, len(candidates)), make([]error, len(candidates))
	var lookups sync.WaitGroup
	for i, f := range candidates {
		lookups.Go(func() { records[i], errs[i] = c.findNamed(ctx, operation, ref, f) })
	}
	lookups.Wait()

	var found []Resource
	var record any
	var failures []error
	none := fmt.Errorf("cloudapi: %s: %v: %w", operation, ref, ErrNotFound) // unless there is more to say
	if ref.Location == "" {
		none = fmt.Errorf("%w; what is in a location goes by location/name", none)
	}
	for i, err := range errs {
		switch {
		case err == nil:
			record = records[i]
			found = append(found, record.(identified).identity())
		case errors.Is(err, ErrForbidden), errors.Is(err, ErrInvalidRequest):
			// Who may see one kind of resource need not be allowed to see others,
			// and what cannot be the name of one may be that of another.
			none = err
		case errors.Is(err, ErrNotFound):
			if isInvalidLocation(err) {
				none = err // it has the names of those that there are
			}
		default:
			failures = append(failures, err)
		}
	}
	switch {
	case len(failures) > 0:
		return nil, nil, failures[0]
	case len(found) == 0:
		return nil, nil, none
	case len(found) > 1:
		return nil, nil, ambiguous(operation, ref, found[0], found[1])
	}
	return &found[0], record, nil
}

// findNamed asks for a name in one family, and whether it is the only one there.
func (c *Client) findNamed(ctx context.Context, operation string, ref Reference, f family) (any, error) {
	record, err := f.get(ctx, c, ref.Location, ref.Name)
	if err != nil || !f.repeats {
		return record, err
	}
	first := record.(identified).identity()
	for item, err := range f.all(ctx, c, &ListOptions{Location: ref.Location}) {
		if err != nil {
			return nil, err
		}
		if other := item.(identified).identity(); other.Name == first.Name && other.ID != first.ID {
			return nil, ambiguous(operation, ref, first, other)
		}
	}
	return record, nil
}

func ambiguous(operation string, ref Reference, one, other Resource) error {
	return fmt.Errorf("cloudapi: %s: %v: %w: %v and %v", operation, ref, ErrAmbiguous, one, other)
}

// findPart looks for a part in everything that may have it.
func (c *Client) findPart(ctx context.Context, operation string, f *family, part *part, ref Reference) (*Resource, any, error) {
	var parent Resource
	record, err := c.search(ctx, operation, f, ref, func(item any) (any, error) {
		parent = item.(identified).identity()
		if !part.listed {
			var err error
			item, err = f.get(ctx, c, parent.Location, f.address(parent))
			if errors.Is(err, ErrNotFound) || errors.Is(err, ErrForbidden) {
				return nil, nil // it has gone since, or, as lists have only what may be seen, is about to
			} else if err != nil {
				return nil, err
			}
		}
		return part.in(item, ref.ID), nil
	})
	if err != nil {
		return nil, nil, err
	}
	resource := record.(identified).identity()
	resource.Parent = &parent
	return &resource, record, nil
}

// search returns the first thing that pick finds in the items of a family.
func (c *Client) search(ctx context.Context, operation string, f *family, ref Reference, pick func(item any) (any, error)) (any, error) {
	for item, err := range f.all(ctx, c, &ListOptions{Location: ref.Location}) {
		if err != nil {
			return nil, err
		}
		if record, err := pick(item); record != nil || err != nil {
			return record, err
		}
	}
	return nil, fmt.Errorf("cloudapi: %s: %v: %w", operation, ref, ErrNotFound)
}

// identified is a record that says what it is.
type identified interface{ identity() Resource }

// kindOf returns the kind of the resources that a type of record is for.
func kindOf[T any]() Kind { return any(new(T)).(identified).identity().Kind }

// family is the service of one kind of resource, in a form that does not depend
// on the type of its records, which are pointers.
type family struct {
	kind       Kind
	inLocation bool
	named      bool // a name stands for a resource
	repeats    bool // or for one of several in its location
	noID       bool // an ID does not

	all    func(ctx context.Context, c *Client, opts *ListOptions) iter.Seq2[any, error]
	get    func(ctx context.Context, c *Client, location, reference string) (any, error)
	remove func(ctx context.Context, c *Client, location, reference string) error

	// gone waits until a resource that was removed is gone. It is nil if
	// resources are gone at once.
	gone func(ctx context.Context, c *Client, location, reference string, opts ...WaitOption) error
}

// families are all of them, each behind those that its resources may be needed
// by, which is an order to delete in.
//
// They are no variable, which would bring every service into every program.
func families() []family {
	return []family{
		located(func(c *Client) locatedService[KubernetesCluster] { return c.Kubernetes }),
		located(func(c *Client) locatedService[LoadBalancer] { return c.LoadBalancers }),
		located(func(c *Client) locatedService[VM] { return c.VMs }),
		located(func(c *Client) locatedService[Postgres] { return c.Postgres }),
		located(func(c *Client) locatedService[PrivateSubnet] { return c.PrivateSubnets }),
		located(func(c *Client) locatedService[Firewall] { return c.Firewalls }),
		global(func(c *Client) globalService[PrivateLocation] { return c.PrivateLocations }),
		global(func(c *Client) globalService[SSHPublicKey] { return c.SSHPublicKeys }),
		global(func(c *Client) globalService[VMInitScript] { return c.VMInitScripts }),
		global(func(c *Client) globalService[InferenceAPIKey] { return c.InferenceAPIKeys }),
		global(func(c *Client) globalService[Project] { return c.Projects }),
	}
}

// part is a kind of resource that is a part of others.
type part struct {
	kind   Kind
	of     Kind
	listed bool // whether the short form of those others has it
	in     func(of any, id string) any
}

var parts = []part{
	{KindFirewallRule, KindFirewall, true, func(of any, id string) any { return member(of.(*Firewall).FirewallRules, id) }},
	{KindNIC, KindPrivateSubnet, true, func(of any, id string) any { return member(of.(*PrivateSubnet).NICs, id) }},
	{KindKubernetesNodePool, KindKubernetesCluster, false, func(of any, id string) any { return member(of.(*KubernetesCluster).NodePools, id) }},
	{KindPostgresFirewallRule, KindPostgres, false, func(of any, id string) any { return member(of.(*Postgres).FirewallRules, id) }},
	{KindPostgresMetricDestination, KindPostgres, false, func(of any, id string) any { return member(of.(*Postgres).MetricDestinations, id) }},
}

// member returns a pointer to the item with the ID, or nil.
func member[T any](items []T, id string) any {
	for i := range items {
		if item := any(&items[i]); item.(identified).identity().ID == id {
			return item
		}
	}
	return nil
}

// familyOf returns the family of a kind, or, for a part, that of what it is a
// part of.
func familyOf(kind Kind) (*family, *part) {
	var found *part
	if i := slices.IndexFunc(parts, func(p part) bool { return p.kind == kind }); i >= 0 {
		found = &parts[i]
		kind = found.of
	}
	all := families()
	if i := slices.IndexFunc(all, func(f family) bool { return f.kind == kind }); i >= 0 {
		return &all[i], found
	}
	return nil, nil
}

// address is by what the methods of the family's service know a resource.
func (f *family) address(r Resource) string {
	if f.noID {
		return r.Name
	}
	return r.ID
}

// locatedService is the service of a family whose resources are in locations.
type locatedService[T any] interface {
	All(ctx context.Context, opts *ListOptions) iter.Seq2[*T, error]
	Get(ctx context.Context, location, reference string) (*T, error)
	Delete(ctx context.Context, location, reference string) error
}

func located[T any](service func(*Client) locatedService[T]) family {
	kind := kindOf[T]()
	f := family{
		kind:       kind,
		inLocation: true,
		named:      true,
		repeats:    kind == KindLoadBalancer,
		all: func(ctx context.Context, c *Client, opts *ListOptions) iter.Seq2[any, error] {
			return untyped(service(c).All(ctx, opts))
		},
		get: func(ctx context.Context, c *Client, location, reference string) (any, error) {
			return orNothing(service(c).Get(ctx, location, reference))
		},
		remove: func(ctx context.Context, c *Client, location, reference string) error {
			return service(c).Delete(ctx, location, reference)
		},
	}
	type waiting interface {
		WaitDeleted(ctx context.Context, location, reference string, opts ...WaitOption) error
	}
	if _, ok := service(new(Client)).(waiting); ok {
		f.gone = func(ctx context.Context, c *Client, location, reference string, opts ...WaitOption) error {
			return service(c).(waiting).WaitDeleted(ctx, location, reference, opts...)
		}
	}
	return f
}

// globalService is the service of a family whose resources are in no location.
type globalService[T any] interface {
	All(ctx context.Context, opts *ListOptions) iter.Seq2[*T, error]
	Get(ctx context.Context, reference string) (*T, error)
	Delete(ctx context.Context, reference string) error
}

func global[T any](service func(*Client) globalService[T]) family {
	kind := kindOf[T]()
	return family{
		kind:  kind,
		named: kind != KindInferenceAPIKey && kind != KindProject,
		noID:  kind == KindPrivateLocation,
		all: func(ctx context.Context, c *Client, opts *ListOptions) iter.Seq2[any, error] {
			return untyped(service(c).All(ctx, opts))
		},
		get: func(ctx context.Context, c *Client, _, reference string) (any, error) {
			return orNothing(service(c).Get(ctx, reference))
		},
		remove: func(ctx context.Context, c *Client, _, reference string) error {
			return service(c).Delete(ctx, reference)
		},
	}
}

func untyped[T any](seq iter.Seq2[*T, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for item, err := range seq {
			if !yield(orNothing(item, err)) {
				return
			}
		}
	}
}

// orNothing keeps a nil pointer from becoming an interface that is not nil.
func orNothing[T any](record *T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return record, nil
}
