package cloudapi

import (
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/cidr"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// IsPlanned reports whether an ID is planned: a dry run of an Ensure returned it
// for a resource that it would create. In that location, other dry runs accept a
// planned ID as if the resource existed, so that a program can plan resources
// that refer to each other; see [EnsureOptions] and [SetOptions]. Any other call
// returns an [*ArgumentError] for a planned ID, and doesn't send it.
//
// A planned ID has the form of an ID, but no server creates it. It depends on the
// kind, location and name, for a subnet also on FirewallID, for a load balancer
// on PrivateSubnetID, and for a database on RestrictByDefault, but not on the
// project.
//
// Net4 and Net6 in the record of a planned subnet stand for the ranges that it
// will have: in a dry run, they can be the CIDR of a rule.
//
// Dry runs know nothing else of each other: they don't find a planned resource by
// its name, and don't see the planned changes of an existing resource. A planned
// private location can't be used as a location.
func IsPlanned(id string) bool { return ubid.IsPlanned(id) }

// dryRun is a dry run in a location. Its checks of arguments accept the planned
// IDs of that location. A nil *dryRun is any other call, and accepts none, nor
// does what is sent: after the checks, only a dry run has a planned ID.
type dryRun struct{ location string }

// dryRunIn returns the dryRun of a call, or nil if the call isn't a dry run.
func dryRunIn(location string, isDry bool) *dryRun {
	if !isDry {
		return nil
	}
	return &dryRun{location}
}

// parsePlanned is parse for a value that is a planned ID.
func (r referenceRule) parsePlanned(value string) (id, reason string) {
	switch {
	case r.dry == nil:
		return "", ubid.PlannedReason
	case len(r.kinds) == 0:
		return "", ""
	case !r.kinds.hasID(value):
		return "", "is the ID of another kind: " + ID(value).Kind().String()
	case !ubid.PlannedIn(value, r.dry.location):
		return "", "is the ID of a resource that is planned in another location"
	}
	return value, ""
}

// Values of ensureSpec.with: what the server adds to what it creates.
const (
	withOpenRules = "open rules"     // of a database: rules that allow all addresses
	withSubnet    = "private subnet" // of a firewall: it's created with a subnet that has no other
)

// plannedRanges returns what the CIDRs of rules for a planned subnet say, since
// only the server knows the subnet's ranges of addresses.
func plannedRanges(subnetID string) (net4, net6 string) {
	return subnetID + ".net4", subnetID + ".net6"
}

// idOf is [idOf] for a call that is a dry run unless d is nil.
func (d *dryRun) idOf(kind Kind) referenceRule {
	rule := idOf(kind)
	rule.dry = d
	return rule
}

// parseCIDR is [ParseCIDR], and returns the normal spelling. In a dry run, it
// also accepts the ranges of a planned subnet.
func (d *dryRun) parseCIDR(s string) (string, error) {
	if id, _, found := strings.Cut(s, "."); found && IsPlanned(id) {
		if err := d.idOf(KindPrivateSubnet).check("", "cidr", id); err != nil {
			return "", err
		}
		if net4, net6 := plannedRanges(id); s == net4 || s == net6 {
			return s, nil
		}
	}
	prefix, err := ParseCIDR(s)
	if err != nil {
		return "", err
	}
	return cidr.Format(prefix), nil
}
