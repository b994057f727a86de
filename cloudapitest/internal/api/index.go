package api

import (
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// Scope selects the objects of a kind in a project, or in one of its locations.
type Scope struct {
	Kind     cloudapi.Kind
	Project  *Project
	Location *Location // nil: all locations
}

// Index contains the objects of each scope, so that neither listing a page nor
// finding a name has to go through all objects.
type Index map[Scope]*scopeObjects

type scopeObjects struct {
	created []Stored            // in the order of their creation
	names   map[string][]Stored // the same, by name
	sorted  []Stored            // the same, sorted by ID
}

// scopesOf returns the contents of the scopes of an object: the scope of its
// project and, if the object has a location, the scope of the location.
func (x Index) scopesOf(o *Object) []*scopeObjects {
	keys := []Scope{{o.kind(), o.Project, nil}}
	if o.Location != nil {
		keys = append(keys, Scope{o.kind(), o.Project, o.Location})
	}
	scopes := make([]*scopeObjects, len(keys))
	for i, key := range keys {
		if x[key] == nil {
			x[key] = &scopeObjects{names: map[string][]Stored{}}
		}
		scopes[i] = x[key]
	}
	return scopes
}

func (x Index) add(o Stored) {
	for _, s := range x.scopesOf(o.Core()) {
		s.created = append(s.created, o)
		s.sorted = slices.Insert(s.sorted, after(s.sorted, o.Core().order), o)
		s.names[o.Core().Name] = append(s.names[o.Core().Name], o)
	}
}

func (x Index) remove(o Stored) {
	for _, s := range x.scopesOf(o.Core()) {
		s.created = without(s.created, o)
		s.forget(o)
		i := after(s.sorted, o.Core().order)
		s.sorted = slices.Delete(s.sorted, i-1, i)
	}
}

// Rename gives an object another name.
func (x Index) Rename(o Stored, name string) {
	scopes := x.scopesOf(o.Core())
	for _, s := range scopes {
		s.forget(o)
	}
	o.Core().Name = name
	for _, s := range scopes {
		s.names[name] = append(s.names[name], o)
	}
}

func (s *scopeObjects) forget(o Stored) {
	name := o.Core().Name
	if s.names[name] = without(s.names[name], o); len(s.names[name]) == 0 {
		delete(s.names, name)
	}
}

// All returns the objects of a scope in the order of their creation. The caller
// must not change the slice, nor the slices from Named and SortedByID.
func (x Index) All(sc Scope) []Stored {
	if s := x[sc]; s != nil {
		return s.created
	}
	return nil
}

// KindsIn returns the kinds of the objects in a location.
func (x Index) KindsIn(l *Location) []cloudapi.Kind {
	var kinds []cloudapi.Kind
	for sc, s := range x {
		if sc.Location == l && len(s.created) > 0 {
			kinds = append(kinds, sc.Kind)
		}
	}
	return kinds
}

// Named returns the objects of a scope that have the name.
func (x Index) Named(sc Scope, name string) []Stored {
	if s := x[sc]; s != nil {
		return s.names[name]
	}
	return nil
}

// SortedByID returns the objects of a scope in the order of their IDs.
func (x Index) SortedByID(sc Scope) []Stored {
	if s := x[sc]; s != nil {
		return s.sorted
	}
	return nil
}

// after returns the index of the first object whose UUID is greater than order.
// The objects must be sorted by their UUIDs.
func after(objects []Stored, order string) int {
	i, found := slices.BinarySearchFunc(objects, order, func(o Stored, order string) int {
		return strings.Compare(o.Core().order, order)
	})
	if found {
		i++
	}
	return i
}

// without removes an object from a slice that contains it.
func without(objects []Stored, o Stored) []Stored {
	i := slices.IndexFunc(objects, func(other Stored) bool { return other.Core() == o.Core() })
	return slices.Delete(objects, i, i+1)
}
