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
	Location *Location // nil means all locations
}

// Index contains the objects of each scope, so that neither listing a page nor
// finding a name has to go through all objects.
type Index map[Scope]*scopeObjects

type scopeObjects struct {
	created []Stored // in the order of their creation
	byName  map[string][]Stored
	byID    []Stored // sorted
}

func (x Index) scopesOf(o *Object) []*scopeObjects {
	keys := []Scope{{o.kind(), o.Project, nil}}
	if o.Location != nil {
		keys = append(keys, Scope{o.kind(), o.Project, o.Location})
	}
	scopes := make([]*scopeObjects, len(keys))
	for i, key := range keys {
		if x[key] == nil {
			x[key] = &scopeObjects{byName: map[string][]Stored{}}
		}
		scopes[i] = x[key]
	}
	return scopes
}

func (x Index) add(o Stored) {
	for _, s := range x.scopesOf(o.Core()) {
		s.created = append(s.created, o)
		s.byID = slices.Insert(s.byID, indexAfter(s.byID, o.Core().order), o)
		s.byName[o.Core().Name] = append(s.byName[o.Core().Name], o)
	}
}

func (x Index) remove(o Stored) {
	for _, s := range x.scopesOf(o.Core()) {
		s.created = deleteObject(s.created, o)
		s.forget(o)
		i := indexAfter(s.byID, o.Core().order)
		s.byID = slices.Delete(s.byID, i-1, i)
	}
}

func (x Index) clone() Index {
	copied := Index{}
	for key, s := range x {
		byName := make(map[string][]Stored, len(s.byName))
		for name, objects := range s.byName {
			byName[name] = slices.Clone(objects)
		}
		copied[key] = &scopeObjects{slices.Clone(s.created), byName, slices.Clone(s.byID)}
	}
	return copied
}

// Rename gives an object another name.
func (x Index) Rename(o Stored, name string) {
	scopes := x.scopesOf(o.Core())
	for _, s := range scopes {
		s.forget(o)
	}
	o.Core().Name = name
	for _, s := range scopes {
		s.byName[name] = append(s.byName[name], o)
	}
}

func (s *scopeObjects) forget(o Stored) {
	name := o.Core().Name
	if s.byName[name] = deleteObject(s.byName[name], o); len(s.byName[name]) == 0 {
		delete(s.byName, name)
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
		return s.byName[name]
	}
	return nil
}

// SortedByID returns the objects of a scope in the order of their IDs.
func (x Index) SortedByID(sc Scope) []Stored {
	if s := x[sc]; s != nil {
		return s.byID
	}
	return nil
}

// indexAfter returns the index of the first object whose UUID is greater than
// order. The objects must be sorted by their UUIDs.
func indexAfter(objects []Stored, order string) int {
	i, found := slices.BinarySearchFunc(objects, order, func(o Stored, order string) int {
		return strings.Compare(o.Core().order, order)
	})
	if found {
		i++
	}
	return i
}

func deleteObject(objects []Stored, o Stored) []Stored {
	i := slices.IndexFunc(objects, func(other Stored) bool { return other.Core() == o.Core() })
	return slices.Delete(objects, i, i+1)
}
