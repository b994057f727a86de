package api

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// LogEntry is an entry of a project's audit log: what an account did.
type LogEntry struct {
	ID      string
	At      time.Time // later than the entry before it
	Kind    cloudapi.Kind
	Verb    string
	Account *Account
	Objects []string // IDs: of what it was done to, and of what else took part
}

// maxLog is how many of the last entries a project keeps at least, and half of how
// many at most, since servers may run for long.
const maxLog = 10_000

// Log enters into the project's audit log what the token's account did to the object
// with the ID. The project itself has no place among the objects.
func (c *Call) Log(verb, id string, others ...string) {
	p := c.Project
	at := c.Now
	if n := len(p.log); n > 0 && !at.After(p.log[n-1].At) {
		at = p.log[n-1].At.Add(time.Microsecond) // times in keys have no more digits
	}
	objects := append([]string{id}, others...)
	if id == p.ID {
		objects = others
	}
	if len(p.log) >= 2*maxLog {
		p.log = slices.Delete(p.log, 0, maxLog)
	}
	p.log = append(p.log, LogEntry{
		ID:      cloudapi.NewID("a1").String(),
		At:      at.Truncate(time.Microsecond),
		Kind:    cloudapi.ID(id).Kind(),
		Verb:    verb,
		Account: c.Token.Account,
		Objects: objects,
	})
}

// Entries returns the project's audit log, the oldest entry first.
func (p *Project) Entries() []LogEntry { return p.log }
