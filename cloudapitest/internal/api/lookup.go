package api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// Find returns the object that a path parameter refers to. The object must be
// of the kind, and in the call's project and location. Find returns an error if
// there is no such object, or if the token may not execute the operation on it.
func Find[T Stored](c *Call, kind cloudapi.Kind, param string) (T, error) {
	o, ok := FindUnchecked[T](c, kind, param)
	return o, c.Admit(o, ok)
}

// FindUnchecked is [Find] without the check of permissions. If the parameter's name
// ends in _reference, its value may be an ID or a name; otherwise it's an ID.
func FindUnchecked[T Stored](c *Call, kind cloudapi.Kind, param string) (T, bool) {
	ref := c.Params[param]
	o, ok := byID[T](c, kind, ref)
	if ok && o.Core().Location != c.Location {
		ok = false
	}
	if !ok && strings.HasSuffix(param, "_reference") { // names don't have the form of an ID
		o, ok = FindByName[T](c, kind, ref)
	}
	return o, ok
}

// FindByID returns the object of the kind with the ID in the call's project, in
// any location, if the token may view it. It is for IDs in bodies.
func FindByID[T Stored](c *Call, kind cloudapi.Kind, id string) (T, bool) {
	return FindByIDFor[T](c, kind, id, "view")
}

// FindByIDFor is [FindByID] for operations that need the permission for an
// action other than view.
func FindByIDFor[T Stored](c *Call, kind cloudapi.Kind, id, action string) (T, bool) {
	o, ok := byID[T](c, kind, id)
	if family := c.Config.Families[kind]; ok && family != "" {
		ok = c.AllowedOn(o, family+":"+action)
	}
	return o, ok
}

func byID[T Stored](c *Call, kind cloudapi.Kind, id string) (T, bool) {
	var none T
	if !isIDOf(kind, id) {
		return none, false
	}
	canonical, _ := cloudapi.ParseID(id)
	o, ok := c.State.ByID[canonical.String()].(T)
	if !ok || o.Core().Project != c.Project {
		return none, false
	}
	return o, true
}

// FindByName returns the object of the kind with the name in the call's project
// and location.
func FindByName[T Stored](c *Call, kind cloudapi.Kind, name string) (T, bool) {
	var first T
	found := c.State.Index.Named(Scope{kind, c.Project, c.Location}, name)
	if len(found) > 0 {
		first = found[0].(T)
	}
	return first, len(found) > 0
}

func isIDOf(kind cloudapi.Kind, s string) bool {
	return looksLikeID(kind, s) && ValidID(s)
}

// NewObject returns the [Object] of a new object of the kind, in the call's
// project and location.
func (c *Call) NewObject(kind cloudapi.Kind, name string) Object {
	return Object{
		ID:       NewID(kind).String(),
		Name:     name,
		Project:  c.Project,
		Location: c.Location,
	}
}

// InProject returns the project's objects of the kind in the order of creation.
func InProject[T Stored](s *State, kind cloudapi.Kind, p *Project) []T {
	return As[T](s.Index.All(Scope{kind, p, nil}))
}

// Where returns the project's objects of the kind for which keep returns true,
// in the order of creation.
func Where[T Stored](s *State, kind cloudapi.Kind, p *Project, keep func(T) bool) []T {
	return slices.DeleteFunc(InProject[T](s, kind, p), func(o T) bool { return !keep(o) })
}

// As returns objects with their concrete type, in a new slice.
func As[T Stored](objects []Stored) []T {
	typed := make([]T, len(objects))
	for i, o := range objects {
		typed[i] = o.(T)
	}
	return typed
}

// Listed returns a function that lists the objects of the kind, sorted by ID. It
// leaves out those that the token may not see. If the route has a location, it
// lists only objects in that location.
func Listed(kind cloudapi.Kind) func(*Call) []Stored {
	all := Every(kind)
	return func(c *Call) []Stored {
		if c.Permitted() {
			return all(c)
		}
		return slices.DeleteFunc(slices.Clone(all(c)), func(o Stored) bool { return !c.PermittedOn(o) })
	}
}

// Every is [Listed] for kinds without permissions of their own. A machine image
// version, for example, can be seen by everybody who can see the image.
func Every(kind cloudapi.Kind) func(*Call) []Stored {
	return func(c *Call) []Stored { return c.State.Index.SortedByID(Scope{kind, c.Project, c.Location}) }
}

// Only returns a function that calls list, and leaves out the objects for which
// keep returns false.
func Only[T Stored](list func(*Call) []Stored, keep func(T) bool) func(*Call) []Stored {
	return func(c *Call) []Stored {
		return slices.DeleteFunc(slices.Clone(list(c)), func(o Stored) bool { return !keep(o.(T)) })
	}
}

func ByName[T Stored](a, b T) int { return cmp.Compare(a.Core().Name, b.Core().Name) }
