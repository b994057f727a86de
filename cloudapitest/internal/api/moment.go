package api

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// Moment is the service at a point in time, with its state locked. To render an
// object's record, nothing else is needed.
type Moment struct {
	Config *Config
	State  *State
	Now    time.Time
}

// InService returns the value of a field that only the service's records have,
// or nil if the server implements the contract.
func InService[T any](at *Moment, value T) *T {
	if at.Config.Version == version.Contract {
		return nil
	}
	return &value
}

// Delays returns the delays of an object.
func (m *Moment) Delays(o *Object) Delays {
	for _, ref := range []string{o.ID, o.Name, ""} {
		if d, ok := m.State.delays[delaysKey{o.kind(), ref}]; ok {
			return d
		}
	}
	return m.Config.Delays
}

// Remove deletes the object after the delay; see [Moment.Sweep]. Removing the
// object again changes nothing.
func (m *Moment) Remove(o Stored, delay time.Duration) {
	core := o.Core()
	if core.Deleting() {
		return
	}
	core.gone = m.Now.Add(delay)
	s := m.State
	i := len(s.leaving)
	for i > 0 && s.leaving[i-1].Core().gone.After(core.gone) {
		i--
	}
	s.leaving = slices.Insert(s.leaving, i, o)
	m.Sweep()
}

// Schedule calls f with the moment at the given time; see [Moment.Sweep].
func (m *Moment) Schedule(when time.Time, f func(*Moment)) {
	s := m.State
	i := len(s.scheduled)
	for i > 0 && s.scheduled[i-1].when.After(when) {
		i--
	}
	s.scheduled = slices.Insert(s.scheduled, i, event{when, f})
}

// AddProject adds a project in which no token has permissions.
func (m *Moment) AddProject(id, name string, a *Account) *Project {
	p := &Project{Object: Object{ID: id, Name: name}, Account: a, Permissions: map[*Token]Permissions{}}
	m.State.Add(p)
	return p
}

type delaysKey struct {
	kind cloudapi.Kind
	ref  string // an ID or a name; "" stands for all objects of the kind
}

// SetDelays sets the delays of the object of the kind with the ID or name. The
// object needn't exist yet. If ref is "", SetDelays sets the delays of all
// objects of the kind that have no delays of their own.
func (s *State) SetDelays(kind cloudapi.Kind, ref string, d Delays) {
	s.delays[delaysKey{kind, ref}] = d
}
