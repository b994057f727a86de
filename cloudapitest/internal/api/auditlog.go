package api

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// LogEntry is an entry of a project's audit log: an action of an account.
type LogEntry struct {
	ID      cloudapi.ID
	At      time.Time // equal for all entries of a request; entries of the next request have a later time
	Kind    cloudapi.Kind
	Verb    string
	Account *Account
	Objects []string // IDs of the changed object and of other objects involved
}

// maxLog is the number of newest entries that a project always keeps. A log
// with twice as many entries loses the older half, since a server may run for a
// long time.
const maxLog = 10_000

// addEntry doesn't list the project itself among the objects. The entries of two
// requests differ by at least one microsecond, since pagination keys contain
// times in microseconds.
func (p *Project) addEntry(m *Moment, account *Account, verb, id string, others []string) {
	at, i := m.Now.Truncate(time.Microsecond), len(p.log)
	if i > 0 && p.logged == m {
		at = p.log[i-1].At
	} else if i > 0 && !at.After(p.log[i-1].At) {
		at = p.log[i-1].At.Add(time.Microsecond)
	}
	p.logged = m
	objects := append([]string{id}, others...)
	if id == p.ID {
		objects = others
	}
	if len(p.log) >= 2*maxLog {
		p.log = slices.Delete(p.log, 0, maxLog)
	}
	e := LogEntry{NewID("a1"), at, cloudapi.ID(id).Kind(), verb, account, objects}
	for i = len(p.log); i > 0 && p.log[i-1].At.Equal(at) && p.log[i-1].ID.UUID() < e.ID.UUID(); {
		i--
	}
	p.log = slices.Insert(p.log, i, e)
}

// Entries returns the project's audit log, the oldest entry first. Entries with
// the same time are in the reverse order of their IDs.
func (p *Project) Entries() []LogEntry { return p.log }
