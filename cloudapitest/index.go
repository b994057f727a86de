package cloudapitest

import (
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// scope is what a list or a name is about: the objects of a kind in a project,
// or in one of its locations.
type scope struct {
	kind     cloudapi.Kind
	project  *project
	location *location // nil: wherever they are
}

// index holds the objects of each scope, so that neither a page nor a name costs
// a walk over all of them.
type index map[scope]*shelf

// shelf is the objects of one scope.
type shelf struct {
	created []stored            // in the order of their creation
	names   map[string][]stored // the same, by name
	sorted  []stored            // by ID, but for the last ones
	rest    int                 // how many of sorted are in no order
}

// shelves returns those that an object belongs on: its project's and, if it is
// in a location, that one's.
func (x index) shelves(o *object) []*shelf {
	scopes := []scope{{o.kind(), o.project, nil}}
	if o.location != nil {
		scopes = append(scopes, scope{o.kind(), o.project, o.location})
	}
	shelves := make([]*shelf, len(scopes))
	for i, sc := range scopes {
		if x[sc] == nil {
			x[sc] = &shelf{names: map[string][]stored{}}
		}
		shelves[i] = x[sc]
	}
	return shelves
}

func (x index) add(o stored) {
	for _, s := range x.shelves(o.core()) {
		s.created = append(s.created, o)
		s.sorted = append(s.sorted, o)
		s.rest++
		s.names[o.core().name] = append(s.names[o.core().name], o)
	}
}

func (x index) remove(o stored) {
	for _, s := range x.shelves(o.core()) {
		s.created = without(s.created, o)
		s.forget(o)
		order := s.byID()
		i := after(order, o.core().order)
		s.sorted = slices.Delete(order, i-1, i)
	}
}

// rename gives an object another name.
func (x index) rename(o stored, name string) {
	shelves := x.shelves(o.core())
	for _, s := range shelves {
		s.forget(o)
	}
	o.core().name = name
	for _, s := range shelves {
		s.names[name] = append(s.names[name], o)
	}
}

// forget takes an object from the names.
func (s *shelf) forget(o stored) {
	name := o.core().name
	if s.names[name] = without(s.names[name], o); len(s.names[name]) == 0 {
		delete(s.names, name)
	}
}

// all returns the objects of a scope in the order of their creation. The slice
// is the index's own, like those of the functions below.
func (x index) all(sc scope) []stored {
	if s := x[sc]; s != nil {
		return s.created
	}
	return nil
}

// named returns the objects of a scope with a name.
func (x index) named(sc scope, name string) []stored {
	if s := x[sc]; s != nil {
		return s.names[name]
	}
	return nil
}

// byID returns the objects of a scope in the order of their IDs.
func (x index) byID(sc scope) []stored {
	if s := x[sc]; s != nil {
		return s.byID()
	}
	return nil
}

func (s *shelf) byID() []stored {
	if s.rest > 0 {
		slices.SortFunc(s.sorted, func(a, b stored) int { return strings.Compare(a.core().order, b.core().order) })
		s.rest = 0
	}
	return s.sorted
}

// after returns the index of the first object behind a place in the order of
// IDs.
func after(objects []stored, order string) int {
	i, found := slices.BinarySearchFunc(objects, order, func(o stored, order string) int {
		return strings.Compare(o.core().order, order)
	})
	if found {
		i++
	}
	return i
}

// without removes an object from a slice that has it.
func without(objects []stored, o stored) []stored {
	i := slices.IndexFunc(objects, func(other stored) bool { return other.core() == o.core() })
	return slices.Delete(objects, i, i+1)
}
