package api

import (
	"maps"
	"math"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// State is the state of the server. Time alone doesn't change it: the present
// state of an object is computed from the times in the object.
type State struct {
	tokens    map[string]*Token
	Locations []*Location
	ByID      map[string]Stored
	Index     Index
	leaving   []Stored // being deleted; the next to go comes first
	scheduled []event  // the next one comes first
	serial    uint32   // the last result of Next
	delays    map[delaysKey]Delays
}

// Stored is an object of any kind.
type Stored interface{ Core() *Object }

// Object contains what all kinds of objects have: an ID, a name, a location,
// times. Each kind embeds it.
type Object struct {
	ID       string
	order    string // the ID's UUID, the sort key of lists
	Name     string // changed by Index.Rename only
	Project  *Project
	Location *Location // nil for kinds without locations

	gone   time.Time // when the deletion is complete, unless it is blocked
	Forced string    // the state set by SetState, or ""
}

func (o *Object) Core() *Object { return o }

func (o *Object) kind() cloudapi.Kind { return cloudapi.ID(o.ID).Kind() }

// Deleting reports whether a deletion was accepted.
func (o *Object) Deleting() bool { return !o.gone.IsZero() }

// GoneBy reports whether the deletion is complete at the time.
func (o *Object) GoneBy(t time.Time) bool { return o.Deleting() && !t.Before(o.gone) }

// Shown returns the state that a record shows: the one set by SetState, or else
// "deleting" during a deletion, or else the object's own.
func (o *Object) Shown(own string) string {
	switch {
	case o.Forced != "":
		return o.Forced
	case o.Deleting():
		return "deleting"
	}
	return own
}

func newState(locations, hidden []string) *State {
	s := &State{tokens: map[string]*Token{}, ByID: map[string]Stored{}, Index: Index{}, delays: map[delaysKey]Delays{}}
	for _, name := range locations {
		s.Locations = append(s.Locations, &Location{Name: name})
	}
	for _, name := range hidden {
		s.Locations = append(s.Locations, &Location{Name: name, Hidden: true})
	}
	return s
}

func (s *State) Add(o Stored) {
	core := o.Core()
	core.order = cloudapi.ID(core.ID).UUID()
	s.ByID[core.ID] = o
	s.Index.add(o)
}

func (s *State) Drop(o Stored) {
	delete(s.ByID, o.Core().ID)
	s.Index.remove(o)
}

// Next returns a different number each time.
func (s *State) Next() uint32 {
	s.serial++
	return s.serial
}

// AtLeast makes all later results of Next greater than n.
func (s *State) AtLeast(n uint32) { s.serial = max(s.serial, n) }

// event is a change that time brings.
type event struct {
	when time.Time
	do   func(*Moment)
}

// Sweep makes the changes that are due: first the scheduled ones, and then the
// deletions that aren't blocked, the earliest first. An object with a method
// Blocked can block its deletion. Its method Gone, if it has one, does what
// follows from the deletion, at the time at which the deletion was complete.
func (m *Moment) Sweep() {
	s := m.State
	for len(s.scheduled) > 0 && !m.Now.Before(s.scheduled[0].when) {
		e := s.scheduled[0]
		s.scheduled = s.scheduled[1:]
		then := *m
		then.Now = e.when
		e.do(&then)
	}
	var blocked []Stored
	for len(s.leaving) > 0 && s.leaving[0].Core().GoneBy(m.Now) {
		o := s.leaving[0]
		s.leaving = s.leaving[1:]
		if b, ok := o.(interface{ Blocked(*Moment) bool }); ok && b.Blocked(m) {
			blocked = append(blocked, o)
			continue
		}
		s.Drop(o)
		if g, ok := o.(interface{ Gone(*Moment) }); ok {
			then := *m
			then.Now = o.Core().gone
			g.Gone(&then)
		}
		if blocked != nil { // perhaps by o
			s.leaving, blocked = append(blocked, s.leaving...), nil
		}
	}
	if blocked != nil {
		s.leaving = append(blocked, s.leaving...)
	}
}

// Settled returns a later moment, at which everything that is in progress is
// complete, even a deletion that is blocked. It's only for reading records: it
// has the objects of m, and what [Moment.Sweep] would change in them is still to
// be done.
func (m *Moment) Settled() *Moment {
	state := *m.State
	state.ByID, state.Index = maps.Clone(state.ByID), state.Index.clone()
	for _, o := range state.leaving {
		state.Drop(o)
	}
	return &Moment{m.Config, &state, m.Now.Add(math.MaxInt64)} // no delay is longer
}
