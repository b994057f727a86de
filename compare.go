package cloudapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// Requests to create have a method Compare, which compares a record with the
// request, as Ensure does, but sends nothing. The record may have been found by
// name or ID, in a list, or by a Watch:
//
//	differences, uncompared := request.Compare(vm)
//
// uncompared are the JSON names of the fields that the request sets and Compare
// can't compare, because the record doesn't show them: keys, passwords and
// scripts; in an item of a list, what only Get returns; what the record shows in
// another form, such as a private_subnet_id by name; and what it lacks, or has as
// null. A field that can be false or "" is compared in any case.

// Drift is a difference between a request and the existing resource.
type Drift struct {
	Field  string // the JSON name in the request, or in the record if no request has such a field
	Wanted any    // the value in the request
	Found  any    // the value in the record
	Remedy Remedy // what removes the difference: an update, another method, or only a replacement
	Method string // for RemedyMethod, such as "Postgres.Upgrade", which may have to be called more than once; otherwise ""
}

// Remedy says what removes a [Drift]. Compare doesn't know the server: with the
// contract, methods marked † and updates of a firewall's description and of
// cert_enabled fail, and only a replacement removes the difference.
type Remedy string

// Values of [Remedy]. Compare with RemedyReplace before you replace a resource:
// other values don't mean that.
const (
	// RemedyUpdate is a change of the resource: an Ensure with EnsureOptions.Update,
	// which takes the resource that has the name, or with the resource's ID the
	// methods that change the field, such as Update or SetFirewalls.
	RemedyUpdate Remedy = "update"

	RemedyMethod  Remedy = "method"  // the method that Drift.Method names
	RemedyReplace Remedy = "replace" // only deleting the resource and creating another
	RemedyNone    Remedy = "none"    // nothing: no resource can have the value, such as the version "abc"
)

// drift collects the differences between a request and a record.
type drift []Drift

func (d drift) String() string {
	var texts []string
	for _, f := range d {
		text := fmt.Sprintf("%s is %s, wanted %s", f.Field, driftText(f.Found), driftText(f.Wanted))
		texts = append(texts, text+f.remedyText())
	}
	return strings.Join(texts, ", ")
}

func driftText(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return plain.OneLine(fmt.Sprint(v))
}

func (d drift) has(fields ...string) bool {
	return slices.ContainsFunc(d, func(f Drift) bool { return slices.Contains(fields, f.Field) })
}

func (d drift) updatable() bool {
	return !slices.ContainsFunc(d, func(f Drift) bool { return f.Remedy != RemedyUpdate })
}

// remedyText says which remedy other than an update removes a difference.
func (d *Drift) remedyText() string {
	switch d.Remedy {
	case RemedyMethod:
		return " (which " + d.Method + " changes)"
	case RemedyReplace:
		return " (which no update can change)"
	case RemedyNone:
		return " (which no resource can have)"
	}
	return ""
}

// by returns a remedy that is a method, for wantsBy.
func by(method string) Drift { return Drift{Remedy: RemedyMethod, Method: method} }

// comparison is the result of a Compare method.
type comparison struct {
	drift
	uncompared []string
}

// skip adds a field to those that aren't compared, if the request sets it.
func (c *comparison) skip(field string, isSet bool) {
	if isSet && !slices.Contains(c.uncompared, field) {
		c.uncompared = append(c.uncompared, field)
	}
}

func (c *comparison) result() (differences []Drift, uncompared []string) {
	return c.drift, c.uncompared
}

// compared is the comparison that a Compare method returns.
func compared(differences []Drift, uncompared []string) comparison {
	return comparison{differences, uncompared}
}

// lacksField is the error for a full record without a field that decides.
func lacksField(operation, field string) error {
	return fmt.Errorf("cloudapi: %s: %w: the record shows no %s", operation, ErrInvalidResponse, field)
}

// wants adds a field if the request sets it and the record has another value,
// which only a replacement of the resource can change.
func wants[V comparable](c *comparison, field string, wanted, found V) {
	wantsBy(c, Drift{Remedy: RemedyReplace}, field, wanted, found)
}

// wantsUpdatable is like wants, for a field that an update can change.
func wantsUpdatable[V comparable](c *comparison, field string, wanted, found V) {
	wantsBy(c, Drift{Remedy: RemedyUpdate}, field, wanted, found)
}

// wantsBy is like wants, for a field with another remedy: Remedy and Method. No
// full record has the zero value, so that one with it lacks the field.
func wantsBy[V comparable](c *comparison, remedy Drift, field string, wanted, found V) {
	if isAbsent := found == *new(V); isAbsent {
		c.skip(field, wanted != found)
		return
	}
	wantsOrZero(c, remedy, field, wanted, found)
}

// wantsOrZero is like wantsBy, for a field that is zero in some full records.
func wantsOrZero[V comparable](c *comparison, remedy Drift, field string, wanted, found V) {
	if wanted != *new(V) && wanted != found {
		c.drift = append(c.drift, Drift{Field: field, Wanted: wanted, Found: found, Remedy: remedy.Remedy, Method: remedy.Method})
	}
}

// wantsSet is like wants, for a list in any order, which is nil if the record
// lacks it.
func wantsSet[V comparable](c *comparison, remedy Remedy, field string, wanted, found []V) {
	isMissingFrom := func(list []V) func(V) bool { return func(v V) bool { return !slices.Contains(list, v) } }
	switch {
	case wanted == nil:
	case found == nil:
		c.skip(field, true)
	case slices.ContainsFunc(wanted, isMissingFrom(found)) || slices.ContainsFunc(found, isMissingFrom(wanted)):
		c.drift = append(c.drift, Drift{Field: field, Wanted: wanted, Found: found, Remedy: remedy})
	}
}

// upgradeOr returns a remedy for wantsBy: the method that upgrades a version,
// RemedyReplace for a version that is older than the present one, or RemedyNone
// for a text that isn't a version like it.
func upgradeOr(method string, wanted, found string) Drift {
	w, f := versionOf(wanted), versionOf(found)
	switch {
	case f == nil:
		return by(method)
	case len(w) != len(f) || strings.HasPrefix(wanted, "v") != strings.HasPrefix(found, "v"):
		return Drift{Remedy: RemedyNone}
	case slices.Compare(w, f) < 0:
		return Drift{Remedy: RemedyReplace}
	}
	return by(method)
}

// versionOf parses a version such as "17" or "v1.36". It returns nil for any
// other text.
func versionOf(s string) (version []int) {
	for part := range strings.SplitSeq(strings.TrimPrefix(s, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || strconv.Itoa(n) != part {
			return nil
		}
		version = append(version, n)
	}
	return version
}
