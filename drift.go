package cloudapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// DriftError says that a resource differs from the request of an Ensure, even
// after the update if it sent one. It matches [ErrAlreadyExists].
type DriftError struct {
	Operation string   // such as "VMs.Ensure"
	Resource  Resource // the existing resource
	Fields    []Drift  // the differences; at least one
	Record    any      // its record, such as a *VM
}

// Error lists the differences in one line.
func (e *DriftError) Error() string {
	return fmt.Sprintf("cloudapi: %s: %v differs from the request: %v", e.Operation, e.Resource, drift(e.Fields))
}

// Is matches [ErrAlreadyExists].
func (e *DriftError) Is(target error) bool { return target == ErrAlreadyExists }

// Drift is a difference between a request and the existing resource.
type Drift struct {
	Field     string // the JSON name in the request, or in the record if no request has such a field
	Wanted    any    // the value in the request
	Found     any    // the value in the record
	Updatable bool   // whether EnsureOptions.Update could change it
}

// drift collects the differences between a request and a record.
type drift []Drift

func (d drift) String() string {
	var texts []string
	for _, f := range d {
		text := fmt.Sprintf("%s is %s, wanted %s", f.Field, driftText(f.Found), driftText(f.Wanted))
		if !f.Updatable {
			text += " (which no update can change)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func driftText(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return mask.OneLine(fmt.Sprint(v))
}

// wants adds a field if the request sets it and the record has another value.
func wants[V comparable](d *drift, field string, wanted, found V) {
	if wanted != *new(V) && wanted != found {
		*d = append(*d, Drift{Field: field, Wanted: wanted, Found: found})
	}
}

// wantsUpdatable is wants for a field that the family's update can change.
func wantsUpdatable[V comparable](d *drift, field string, wanted, found V) {
	before := len(*d)
	if wants(d, field, wanted, found); len(*d) > before {
		(*d)[before].Updatable = true
	}
}

// has reports whether one of the fields differs.
func (d drift) has(fields ...string) bool {
	return slices.ContainsFunc(d, func(f Drift) bool { return slices.Contains(fields, f.Field) })
}

func (d drift) updatable() bool {
	return !slices.ContainsFunc(d, func(f Drift) bool { return !f.Updatable })
}
