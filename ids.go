package cloudapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/plain"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
	"github.com/cloudapi-sdk/cloudapi/internal/validate"
)

// Kind is the type of a resource: the first 2 characters of its ID. Its String
// method, and so fmt, returns a name such as "load balancer"; string(kind) is the
// prefix, such as "1b".
type Kind string

// Values of [Kind]. A "1" replaces a letter that the ID alphabet lacks.
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
	KindPostgresFirewallRule      Kind = "pf" // ‡ only the contract: the service uses "fr", which IsID also accepts
	KindPostgresMetricDestination Kind = "md"
	KindPrivateLocation           Kind = "10"
	KindPrivateSubnet             Kind = "ps"
	KindSSHPublicKey              Kind = "sk"
	KindVMInitScript              Kind = "1n" // ‡ only the contract
	KindVM                        Kind = "vm"
	KindOther                     Kind = "et" // objects without a kind of their own; IsID accepts it for KindPostgresMetricDestination

	// † Only the service has these.
	KindGitHubCacheEntry       Kind = "ge"
	KindGitHubInstallation     Kind = "g1"
	KindGitHubRepository       Kind = "gp"
	KindInferenceEndpoint      Kind = "1e"
	KindMachineImage           Kind = "m1"
	KindMachineImageVersion    Kind = "mv"
	KindPostgresLogDestination Kind = "1d"
	KindPostgresServer         Kind = "pv"
	KindPrivateLinkService     Kind = "pn"
	KindRoutedModel            Kind = "rm" // in lists of inference endpoints
)

// kindNames has the names of the known kinds, in words.
var kindNames = map[Kind]string{
	KindProject:                   "project",
	KindFirewall:                  "firewall",
	KindFirewallRule:              "firewall rule",
	KindInferenceAPIKey:           "inference API key",
	KindKubernetesCluster:         "Kubernetes cluster",
	KindKubernetesNodePool:        "Kubernetes node pool",
	KindLoadBalancer:              "load balancer",
	KindNIC:                       "NIC",
	KindPostgres:                  "Postgres database",
	KindPostgresFirewallRule:      "Postgres firewall rule",
	KindPostgresMetricDestination: "Postgres metric destination",
	KindOther:                     "other",
	KindPrivateLocation:           "private location",
	KindPrivateSubnet:             "private subnet",
	KindSSHPublicKey:              "SSH public key",
	KindVMInitScript:              "VM init script",
	KindVM:                        "VM",
	KindGitHubCacheEntry:          "GitHub cache entry",
	KindGitHubInstallation:        "GitHub installation",
	KindGitHubRepository:          "GitHub repository",
	KindInferenceEndpoint:         "inference endpoint",
	KindMachineImage:              "machine image",
	KindMachineImageVersion:       "machine image version",
	KindPostgresLogDestination:    "Postgres log destination",
	KindPostgresServer:            "Postgres server",
	KindPrivateLinkService:        "private link service",
	KindRoutedModel:               "routed model",
}

// String returns the name, such as "load balancer", or else the prefix.
func (k Kind) String() string { return cmp.Or(kindNames[k], string(k)) }

// Known reports whether k is one of the Kind constants.
func (k Kind) Known() bool { return kindNames[k] != "" }

// also returns the other kind whose prefix an ID of kind k can have, or "".
func (k Kind) also() Kind {
	switch k {
	case KindPostgresFirewallRule:
		return KindFirewallRule // the service gives these rules the prefix fr
	case KindPostgresMetricDestination:
		return KindOther
	}
	return ""
}

// includes reports whether an ID of kind k may have the prefix of kind other.
func (k Kind) includes(other Kind) bool { return other == k || other != "" && other == k.also() }

// kinds are the kinds of resources that a reference can stand for.
type kinds []Kind

func (set kinds) has(kind Kind) bool {
	return slices.ContainsFunc(set, func(k Kind) bool { return k.includes(kind) })
}

// hasID reports whether s has the form of an ID of one of the kinds.
func (set kinds) hasID(s string) bool { return ubid.WellFormed(s) && set.has(ID(s).Kind()) }

// String lists the prefixes.
func (set kinds) String() string {
	var prefixes []string
	for _, kind := range set {
		prefixes = append(prefixes, string(kind))
		if also := kind.also(); also != "" {
			prefixes = append(prefixes, string(also))
		}
	}
	return strings.Join(prefixes, ", ")
}

// ID is the identifier of a resource: 26 characters, of which the first two are
// the [Kind]. It encodes 128 bits and two parity bits in a base-32 alphabet
// without i, l, o and u. IDs are random: their order doesn't depend on age.
// Records hold them as plain strings: ID(vm.ID).Kind() is KindVM.
type ID string

// IsID reports whether s has the form of an ID of one of the kinds, or of any
// known kind if none is given. It doesn't check the parity bits; [ParseID]
// does. The server takes a reference in any other form for a name.
func IsID(s string, kinds ...Kind) bool {
	if !ubid.WellFormed(s) {
		return false
	}
	kind := ID(s).Kind()
	if len(kinds) == 0 {
		return kind.Known()
	}
	return slices.ContainsFunc(kinds, func(k Kind) bool { return k.includes(kind) })
}

// ParseID returns s as an [ID] in its canonical spelling: lower case, with "o"
// read as 0, and "i" and "l" as 1. ParseID accepts any prefix. It returns an
// [*ArgumentError] for other characters, another length or a wrong parity bit.
func ParseID(s string) (ID, error) {
	value, err := ubid.Parse(s)
	if err != nil {
		return "", argumentError("", "id", s, err.Error())
	}
	return ID(value.String()), nil
}

// Kind returns the prefix, which may be of an unknown kind.
func (id ID) Kind() Kind { return Kind(id[:min(len(id), ubid.PrefixLength)]) }

// String returns the ID unchanged.
func (id ID) String() string { return string(id) }

// UUID returns the equivalent UUID in lower case, or "" if id isn't valid.
func (id ID) UUID() string {
	value, err := ubid.Parse(string(id))
	if err != nil {
		return ""
	}
	return value.UUID()
}

// Resource identifies a resource of any kind. Records have a method Resource.
type Resource struct {
	Kind     Kind   `json:"kind"`
	ID       string `json:"id"`
	Location string `json:"location,omitzero"` // "" if it is in no location
	Name     string `json:"name,omitzero"`     // "" if it has no name: rules have none

	// Parent is the resource that contains this one: the firewall of a rule, the
	// cluster of a node pool, the image of a version, the subnet of a NIC, or the
	// database of a rule, server or destination. Other resources have no Parent.
	Parent *Resource `json:"parent,omitzero"`
}

// String describes the resource in one line, such as "VM eu-central-h1/web-1
// (vm3g8xpsxjs50pvjj2a7d3ky8h)". It quotes a name with unusual characters.
func (r Resource) String() string {
	id, reference := plain.Name(r.ID), qualify(plain.Name(r.Location), plain.Name(r.Name))
	var b strings.Builder
	b.WriteString(plain.Name(r.Kind.String()))
	switch {
	case r.Name == "":
		b.WriteString(" " + id)
	case r.ID == "":
		b.WriteString(" " + reference)
	default:
		fmt.Fprintf(&b, " %s (%s)", reference, id)
	}
	if r.Parent != nil {
		fmt.Fprintf(&b, " of %v", *r.Parent)
	}
	return b.String()
}

// Reference returns the location and the name, such as "eu-central-h1/web-1",
// with the ID for a missing name. To show the resource to people, use String.
func (r Resource) Reference() string { return qualify(r.Location, cmp.Or(r.Name, r.ID)) }

// MadeFor returns the ID of the Kubernetes cluster or database for which the
// server has made this subnet, firewall or load balancer, or "". The server deletes
// it with the cluster or database. MadeFor tells by the name, which begins with
// the ID; anybody may have given such a name.
func (r Resource) MadeFor() string {
	id, purpose, _ := strings.Cut(r.Name, "-")
	if !IsID(id, KindKubernetesCluster, KindPostgres) {
		return ""
	}
	switch {
	case r.Kind == KindPrivateSubnet && purpose == "subnet",
		r.Kind == KindFirewall && purpose == "firewall",
		r.Kind == KindLoadBalancer && (purpose == "apiserver" || purpose == "services"):
		return id
	}
	return ""
}

// qualify returns "location/reference", or only the reference if the location
// is "".
func qualify(location, reference string) string {
	if location == "" {
		return reference
	}
	return location + "/" + reference
}

// reference is how people refer to a resource.
type reference struct {
	ID       string // "" if the reference is a name
	Location string // "" if the reference has no location
	Name     string // "" if the reference is an ID
}

// parseReference parses a reference in one of four forms: "location/name",
// "location/ID", the ID of a known kind, or the name of a resource that is in
// no location. An ID in capitals may also have the letters that [ParseID] reads
// as digits. parseReference returns an [*ArgumentError] if s is invalid.
func parseReference(s string) (reference, error) {
	location, last, found := strings.Cut(s, "/")
	if !found {
		location, last = "", s
	} else if _, reason := anyReference.parse(location); reason != "" {
		return reference{}, argumentError("", "reference", s, "has a location that "+reason)
	}
	if _, reason := anyReference.parse(last); reason != "" {
		return reference{}, argumentError("", "reference", s, "has a name that "+reason)
	}
	if IsID(last) {
		return reference{ID: last, Location: location}, nil
	}
	if id, err := ParseID(last); err == nil && last == strings.ToUpper(last) && id.Kind().Known() {
		return reference{ID: id.String(), Location: location}, nil // names have no capitals
	}
	return reference{Location: location, Name: last}, nil
}

// String returns the reference as it is written.
func (r reference) String() string { return qualify(r.Location, cmp.Or(r.ID, r.Name)) }

// A referenceRule says which references are valid as an argument: in a path, in
// a field of a request, or in a record. Names and locations are references too.
type referenceRule struct {
	kinds    kinds // the kinds of resources that the reference can stand for; empty if the SDK doesn't check the kind
	idOnly   bool  // whether only an ID is valid
	nameOnly bool  // whether only a name is valid
	optional bool  // whether "" is valid
}

// Rules for references of any kind.
var (
	anyReference      = referenceRule{}
	optionalReference = referenceRule{optional: true}
)

// idOf is the rule for an ID that the SDK compares with IDs in records. With a
// name or an ID of another kind, the resource would seem not to exist.
func idOf(kind Kind) referenceRule { return referenceRule{kinds: kinds{kind}, idOnly: true} }

// takesIDs reports whether the rule accepts IDs.
func (r referenceRule) takesIDs() bool { return len(r.kinds) > 0 && !r.nameOnly }

// check returns an error unless the rule accepts the value of an argument.
func (r referenceRule) check(operation, argument, value string) *ArgumentError {
	if _, reason := r.parse(value); reason != "" {
		return argumentError(operation, argument, value, reason)
	}
	return nil
}

// checkCertain is like check, and also refuses what no resource of these kinds can
// have. Only deletions need this: the server responds with a 204 even if the
// resource to delete doesn't exist.
func (r referenceRule) checkCertain(operation, argument, value string) *ArgumentError {
	err := r.check(operation, argument, value)
	if reason := r.impossible(value); err == nil && reason != "" {
		return argumentError(operation, argument, value, reason)
	}
	return err
}

// parse returns the ID that a reference stands for, in its canonical spelling,
// or "" for a name. reason says why the reference is invalid, or is "".
func (r referenceRule) parse(value string) (id, reason string) {
	switch {
	case value == "" && r.optional:
		return "", ""
	case r.takesIDs() && r.kinds.hasID(value):
		return value, ""
	case r.idOnly:
		return "", fmt.Sprintf("must be an ID: %s and %d characters of %s", r.kinds, ubid.Length-ubid.PrefixLength, ubid.Alphabet)
	}
	if reason := validate.Segment(value); reason != "" {
		return "", reason
	}
	if r.isNoName(value) {
		if parsed, err := ubid.Parse(value); err == nil {
			return parsed.String(), ""
		}
	}
	return "", ""
}

// isNoName reports whether the server refuses a name because it looks like an ID
// of one of the kinds.
func (r referenceRule) isNoName(value string) bool {
	return len(value) == ubid.Length && r.takesIDs() && r.kinds.has(ID(value).Kind()) &&
		!strings.ContainsFunc(value, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'z') })
}

// impossible returns why no resource of the kinds can have a reference, or "".
func (r referenceRule) impossible(value string) (reason string) {
	if len(value) != ubid.Length {
		return "" // a name
	}
	parsed, err := ubid.Parse(value)
	switch isNoName := r.isNoName(value); {
	case isNoName && err != nil:
		return err.Error()
	case isNoName, err != nil, !IsID(value):
		return ""
	case !r.takesIDs():
		return "must be a name, not an ID"
	}
	return "is the ID of another kind: " + ID(parsed.String()).Kind().String()
}

// Record is the record of a resource, such as a *[VM]: what a Get or a list
// returns.
type Record interface{ Resource() Resource }

// resourceOf returns the resource that a record of a family represents.
func resourceOf(record any) Resource { return record.(Record).Resource() }

// recordOf returns a record of any type as a [Record]: nil for a nil pointer, and
// for what isn't the record of a resource.
func recordOf[T any](record *T) Record {
	if record == nil {
		return nil
	}
	r, _ := any(record).(Record)
	return r
}

// kindOf returns the kind of resource that a record type represents.
func kindOf[T any]() Kind { return resourceOf(new(T)).Kind }
