package api

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// LogEntry is an entry of a project's audit log: an action of an account.
type LogEntry struct {
	ID      string
	At      time.Time // always later than the previous entry
	Kind    cloudapi.Kind
	Verb    string
	Account *Account
	Objects []string // IDs of the changed object and of other objects involved
}

// maxLog is the minimum number of entries that a project keeps, and half the
// maximum, since servers may run for a long time.
const maxLog = 10_000

// addEntry adds an action of an account to the audit log. The project itself
// isn't listed among the objects.
func (p *Project) addEntry(at time.Time, account *Account, verb, id string, others []string) {
	if n := len(p.log); n > 0 && !at.After(p.log[n-1].At) {
		at = p.log[n-1].At.Add(time.Microsecond) // keys contain times in microseconds
	}
	objects := append([]string{id}, others...)
	if id == p.ID {
		objects = others
	}
	if len(p.log) >= 2*maxLog {
		p.log = slices.Delete(p.log, 0, maxLog)
	}
	p.log = append(p.log, LogEntry{
		ID:      NewID("a1").String(),
		At:      at.Truncate(time.Microsecond),
		Kind:    cloudapi.ID(id).Kind(),
		Verb:    verb,
		Account: account,
		Objects: objects,
	})
}

// Entries returns the project's audit log, the oldest entry first.
func (p *Project) Entries() []LogEntry { return p.log }
