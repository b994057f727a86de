package cloudapi

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
	"github.com/cloudapi-sdk/cloudapi/internal/syntax"
)

// Resource identifies a resource of any kind.
type Resource struct {
	Kind     Kind   `json:"kind"`
	ID       string `json:"id"`
	Location string `json:"location,omitzero"` // "" if it is in no location
	Name     string `json:"name,omitzero"`     // "" if it has no name, such as a rule

	// Parent is what the resource is a part of: the firewall of a rule, the
	// cluster of a node pool, the image of a version, the subnet of a NIC, or the
	// database of a rule, server or destination. It's nil for all others.
	Parent *Resource `json:"parent,omitzero"`
}

// String describes it in one line, such as "VM eu-central-h1/web-1
// (vm3g8xpsxjs50pvjj2a7d3ky8h)". It quotes a name with unusual characters.
func (r Resource) String() string {
	id, reference := mask.Name(r.ID), place(mask.Name(r.Location), mask.Name(r.Name))
	var b strings.Builder
	b.WriteString(mask.Name(r.Kind.String()))
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
// or the ID if there is no name. To show the resource to people, use String.
func (r Resource) Reference() string { return place(r.Location, cmp.Or(r.Name, r.ID)) }

func place(location, reference string) string {
	if location == "" {
		return reference
	}
	return location + "/" + reference
}

// Reference is how people refer to a resource.
type Reference struct {
	ID       string // "" unless the reference is an ID
	Location string // "" if the reference has none
	Name     string // "" if the reference is an ID
}

// ParseReference parses the ID of a known kind, "location/name", "location/ID",
// or the name of a resource in no location. An ID in capitals may also have the
// letters that [ParseID] reads as digits. It returns an [*ArgumentError] if s
// is invalid.
func ParseReference(s string) (Reference, error) {
	location, last, found := strings.Cut(s, "/")
	if !found {
		location, last = "", s
	} else if reason := syntax.Segment(location); reason != "" {
		return Reference{}, argumentError("", "reference", s, "has a location that "+reason)
	}
	if reason := syntax.Segment(last); reason != "" {
		return Reference{}, argumentError("", "reference", s, "has a name that "+reason)
	}
	if IsID(last) {
		return Reference{ID: last, Location: location}, nil
	}
	if id, err := ParseID(last); err == nil && last == strings.ToUpper(last) && id.Kind().Known() {
		return Reference{ID: id.String(), Location: location}, nil // names have no capitals
	}
	return Reference{Location: location, Name: last}, nil
}

// String returns the reference as it is written.
func (r Reference) String() string { return place(r.Location, cmp.Or(r.ID, r.Name)) }

// identified is a record that knows its kind, ID, location and name.
type identified interface{ Resource() Resource }

// kindOf returns the kind of resource that a record type represents.
func kindOf[T any]() Kind { return any(new(T)).(identified).Resource().Kind }
