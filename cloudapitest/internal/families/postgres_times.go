package families

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// postgres is a database. Its state is computed from the times that it
// contains.
type postgres struct {
	api.Object
	flavor       string
	subnet       *privateSubnet
	password     string
	window       *maintenanceWindow // nil if there is none
	tags         []postgresTag
	destinations []postgresMetricDestination
	logs         []postgresLogDestination
	users        []string // users who log in with certificates
	config       postgresConfig
	certificates string // made when they are first requested

	parent   *postgres // parent of a replica or restored copy, even if it is deleted
	restored time.Time // time whose data a restored copy has; zero for others
	released time.Time // end as a replica; zero if it was not promoted
	promoted time.Time // when it takes writes after its promotion

	created   time.Time
	running   time.Time // end of the creation
	restarted time.Time // end of the restart
	backup    time.Time // time of its first own backup

	// The servers are as built, and as target after they were replaced.
	built, target postgresServers
	former, fleet []string      // the IDs of the servers of both, the primary first
	begun         time.Time     // beginning of the change to the target
	ready         time.Time     // when the new servers are ready; zero for the first servers
	due           time.Time     // when the new servers take over
	step          time.Duration // duration of each step after that
}

// onAWS reports whether the database is in a private location.
func (p *postgres) onAWS() bool { return p.Location.Owner != nil }

// isReplica reports whether the database is a read replica. It stays one when
// its parent is deleted.
func (p *postgres) isReplica(now time.Time) bool {
	return p.parent != nil && p.restored.IsZero() && (p.released.IsZero() || now.Before(p.released))
}

// isPrimary reports whether the database takes writes and makes backups. A
// restored copy does so after its restore.
func (p *postgres) isPrimary(now time.Time) bool {
	return !p.isReplica(now) && !now.Before(p.promoted) && (p.restored.IsZero() || !now.Before(p.running))
}

// earliestRestore returns the earliest time to restore to, if there is a
// backup. A database without its own backups uses those of its parent.
func (p *postgres) earliestRestore(now time.Time) (time.Time, bool) {
	if !p.isPrimary(now) {
		return p.parent.earliestRestore(now)
	}
	if now.Before(p.backup) {
		return time.Time{}, false
	}
	return p.backup.Add(5 * time.Minute), true
}

// current returns the present servers.
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

// resize starts to replace the servers, unless they already are those of the
// target.
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

// replace starts to replace the servers by those of a fleet.
func (p *postgres) replace(c *api.Call, to postgresServers, fleet []string) {
	if !c.Now.Before(p.due) {
		p.built, p.former = p.target, p.fleet
	}
	delay := c.Delays(&p.Object).Resize
	p.target, p.fleet, p.step = to, fleet, delay/4
	p.begun = latest(c.Now, p.running)
	p.ready = p.begun.Add(delay)
	p.due = p.inWindow(p.ready)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// caCertificates returns the two root certificates of the database, or nil
// before it runs.
func (p *postgres) caCertificates(now time.Time) *string {
	if now.Before(p.running) {
		return nil
	}
	if p.certificates == "" {
		p.certificates = rootCertificate(p.ID, p.running, 5) + "\n" + rootCertificate(p.ID, p.running, 10)
	}
	return &p.certificates
}
