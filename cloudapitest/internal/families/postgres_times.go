package families

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// postgres is a database. What becomes of it follows from the times it holds.
type postgres struct {
	api.Object
	flavor       string
	subnetName   string // of the subnet that is made for it
	password     string
	window       *int // the hour of the day when maintenance starts
	tags         []postgresTag
	rules        []postgresFirewallRule
	destinations []postgresMetricDestination
	logs         []postgresLogDestination
	users        []string // who connect with certificates
	config       postgresConfig
	certificates string // made when they are first shown

	parent   *postgres // of a replica or a restored copy, even if it is gone
	restored bool
	released time.Time // when it ceases to be a replica; zero if nobody asked for that
	promoted time.Time // when it takes writes after that

	created   time.Time
	running   time.Time // when creating is over
	restarted time.Time // when restarting is
	backup    time.Time // when the first backup of its own is there

	// There are the servers that were built until those of the target take over.
	built, target postgresServers
	former, fleet []string      // the IDs of both, the primary's first
	begun         time.Time     // when the change to the target begins
	ready         time.Time     // when new servers for the target are ready; zero for the first ones
	due           time.Time     // when they take over
	step          time.Duration // of what follows when they do
}

// onAWS reports whether the database is in a location of the project's own.
func (p *postgres) onAWS() bool { return p.Location.Owner != nil }

// isReplica reports whether the database is a read replica. That it is one
// outlives its parent.
func (p *postgres) isReplica(now time.Time) bool {
	return p.parent != nil && !p.restored && (p.released.IsZero() || now.Before(p.released))
}

// isPrimary reports whether the database takes writes and makes backups. A
// restored copy does when its restore is complete.
func (p *postgres) isPrimary(now time.Time) bool {
	return !p.isReplica(now) && !now.Before(p.promoted) && (!p.restored || !now.Before(p.running))
}

// earliestRestore returns the earliest time to which the database can be restored,
// if there is a backup. A database that makes none has those of its parent.
func (p *postgres) earliestRestore(now time.Time) (time.Time, bool) {
	if !p.isPrimary(now) {
		return p.parent.earliestRestore(now)
	}
	if now.Before(p.backup) || p.upgrading(now) {
		return time.Time{}, false
	}
	return p.backup.Add(5 * time.Minute), true
}

// current returns the servers that there are.
func (p *postgres) current(now time.Time) postgresServers {
	servers := p.target
	if now.Before(p.due) {
		servers = p.built
	}
	if now.Before(p.upgraded()) {
		servers.version = p.built.version
	}
	return servers
}

// resize has the database replace its servers, as far as they are not those of
// the target already.
func (p *postgres) resize(c *api.Call, to postgresServers) {
	kept := p.fleet
	switch {
	case to == p.target:
		return
	case to.alone() != p.target.alone():
		kept = nil
	}
	kept = slices.Clone(kept[:min(len(kept), to.standbys+1)])
	p.replace(c, to, append(kept, newServers(to.standbys+1-len(kept))...))
}

// replace has the servers of a fleet take over.
func (p *postgres) replace(c *api.Call, to postgresServers, fleet []string) {
	if !c.Now.Before(p.due) {
		p.built, p.former = p.target, p.fleet
	}
	delay := c.Delays(&p.Object).Resize
	p.target, p.fleet, p.step = to, fleet, delay/4
	p.begun = later(c.Now, p.running)
	p.ready = p.begun.Add(delay)
	p.due = p.inWindow(p.ready)
}

// reschedule moves a replacement of servers that has not happened yet into the
// maintenance window.
func (p *postgres) reschedule(now time.Time) {
	if now.Before(p.due) && !p.ready.IsZero() {
		p.due = p.inWindow(later(now, p.ready))
	}
}

// inWindow returns when what is ready at t can happen: at once, or when the
// maintenance window opens. It is open for two hours.
func (p *postgres) inWindow(t time.Time) time.Time {
	if p.window == nil {
		return t
	}
	since := (t.UTC().Hour() - *p.window + 24) % 24
	if since < 2 {
		return t
	}
	return t.Truncate(time.Hour).Add(time.Duration(24-since) * time.Hour)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// caCertificates returns the two certificates with which clients can verify the
// database, nil before it runs.
func (p *postgres) caCertificates(now time.Time) *string {
	if now.Before(p.running) {
		return nil
	}
	if p.certificates == "" {
		p.certificates = rootCertificate(p.ID, p.running, 5) + "\n" + rootCertificate(p.ID, p.running, 10)
	}
	return &p.certificates
}
