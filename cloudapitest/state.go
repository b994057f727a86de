package cloudapitest

import (
	"cmp"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// state is everything the server knows. Nothing in it changes by itself: an
// object's state of the moment is computed from times that it holds.
type state struct {
	tokens    map[string]*token
	locations []*location
	byID      map[string]stored
	index     index
	leaving   []stored // deletion accepted, still there; who leaves first comes first
	addresses uint32   // how many public ones were given away
}

// stored is an object of any kind.
type stored interface{ core() *object }

// counted is an object that others keep count of.
type counted interface {
	added()
	removed()
}

// object is what objects of all kinds have in common. Kinds embed it.
type object struct {
	id       string
	order    string // of the ID among all others: the UUID
	name     string // changed by index.rename only
	project  *project
	location *location // nil for kinds without
	created  time.Time

	gone      time.Time // when an accepted deletion is complete
	afterGone func()    // what else happens then, or nil
	forced    string    // the state that the test wants to see
}

func (o *object) core() *object { return o }

func (o *object) kind() cloudapi.Kind { return cloudapi.ID(o.id).Kind() }

// deleting reports whether a deletion was accepted.
func (o *object) deleting() bool { return !o.gone.IsZero() }

// goneBy reports whether a deletion was accepted that is complete at the time.
func (o *object) goneBy(t time.Time) bool { return o.deleting() && !t.Before(o.gone) }

// shown returns the state that a record shows of an object: the one that the test
// set, or "deleting", or else its own.
func (o *object) shown(own string) string {
	switch {
	case o.forced != "":
		return o.forced
	case o.deleting():
		return "deleting"
	}
	return own
}

// location is a place for resources.
type location struct {
	name   string
	hidden bool     // readable, but nothing can be created there
	owner  *project // of a private location
	region string   // of a private location: the provider's name of it
}

// usableBy reports whether paths under the project may name the location.
func (l *location) usableBy(p *project) bool { return l.owner == nil || l.owner == p }

func newState(cfg config, now time.Time) *state {
	s := &state{
		tokens: map[string]*token{},
		byID:   map[string]stored{},
		index:  index{},
	}
	for _, name := range cfg.locations {
		s.locations = append(s.locations, &location{name: name})
	}
	s.locations = append(s.locations, &location{name: "github-runners", hidden: true})

	own, foreign := &account{"own"}, &account{"foreign"}
	main := newProject(cfg.projectID, "main", own, now)
	other := newProject(cfg.otherProjectID, "other", foreign, now)
	s.add(main)
	s.add(other)
	for _, t := range append(slices.Clip(cfg.tokens), tokenConfig{cfg.token, AccessFull}) {
		key := canonicalToken(t.value)
		switch t.access {
		case AccessFull:
			s.tokens[key] = &token{own}
			main.members[s.tokens[key]] = true
		case AccessNone:
			s.tokens[key] = &token{own}
		case AccessForeign:
			s.tokens[key] = &token{foreign}
			other.members[s.tokens[key]] = true
		case AccessRevoked:
			delete(s.tokens, key)
		}
	}
	return s
}

func (s *state) add(o stored) {
	core := o.core()
	core.order = cloudapi.ID(core.id).UUID()
	s.byID[core.id] = o
	s.index.add(o)
	if c, ok := o.(counted); ok {
		c.added()
	}
}

func (s *state) drop(o stored) {
	delete(s.byID, o.core().id)
	s.index.remove(o)
	if c, ok := o.(counted); ok {
		c.removed()
	}
}

// remove deletes the object after the delay, and then does what else there is
// to do, which may be nothing. Removing it again changes nothing.
func (c *call) remove(o stored, after time.Duration, then func()) {
	core := o.core()
	if core.deleting() {
		return
	}
	core.gone, core.afterGone = c.now.Add(after), then
	s := c.state
	i := len(s.leaving)
	for i > 0 && s.leaving[i-1].core().gone.After(core.gone) {
		i--
	}
	s.leaving = slices.Insert(s.leaving, i, o)
	s.sweep(c.now)
}

// sweep completes the deletions whose time has come, the oldest first.
func (s *state) sweep(now time.Time) {
	for len(s.leaving) > 0 && s.leaving[0].core().goneBy(now) {
		o := s.leaving[0]
		s.leaving = s.leaving[1:]
		s.drop(o)
		if then := o.core().afterGone; then != nil {
			then()
		}
	}
}

// inProject returns the project's objects of the kind in the order of creation.
func inProject[T stored](s *state, kind cloudapi.Kind, p *project) []T {
	return as[T](s.index.all(scope{kind, p, nil}))
}

// as returns objects as what they are, in a slice of their own.
func as[T stored](objects []stored) []T {
	typed := make([]T, len(objects))
	for i, o := range objects {
		typed[i] = o.(T)
	}
	return typed
}

// listed returns what a list of the kind has to show, in the order of IDs: the
// project's objects, of the location only if the route names one, if the token
// may see them.
func listed(c *call, kind cloudapi.Kind) []stored {
	if !c.permitted() {
		return nil
	}
	return c.state.index.byID(scope{kind, c.project, c.location})
}

func byName[T stored](a, b T) int { return cmp.Compare(a.core().name, b.core().name) }
