package families

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// postgres is a database. What becomes of it follows from the times it holds.
type postgres struct {
	api.Object
	flavor, version string
	password        string
	window          *int // the hour of the day when maintenance starts
	tags            []postgresTag
	rules           []postgresFirewallRule
	destinations    []postgresMetricDestination
	config          postgresConfig
	certificates    string // made when they are first shown

	parent   *postgres // of a replica or a restored copy, even if it is gone
	restored bool
	promoted time.Time // when it ceases to be a replica; zero if nobody asked for that

	running time.Time // when creating is over
	backup  time.Time // when the first backup of its own is there

	// There are the servers that were built until those of the target take over.
	built, target postgresServers
	ready         time.Time // when new servers for the target are ready; zero for the first ones
	due           time.Time // when they take over
}

// onAWS reports whether the database is in a location of the project's own.
func (p *postgres) onAWS() bool { return p.Location.Owner != nil }

// isReplica reports whether the database is a read replica. That it is one
// outlives its parent.
func (p *postgres) isReplica(now time.Time) bool {
	return p.parent != nil && !p.restored && (p.promoted.IsZero() || now.Before(p.promoted))
}

// isPrimary reports whether the database takes writes and makes backups. A
// restored copy does when its restore is complete.
func (p *postgres) isPrimary(now time.Time) bool {
	return !p.isReplica(now) && (!p.restored || !now.Before(p.running))
}

// earliestRestore returns the earliest time to which the database can be restored,
// if there is a backup. A database that makes none has those of its parent.
func (p *postgres) earliestRestore(now time.Time) (time.Time, bool) {
	if !p.isPrimary(now) {
		return p.parent.earliestRestore(now)
	}
	if now.Before(p.backup) {
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
	if now.Before(p.running) && !p.onAWS() {
		servers.storage = 0 // not placed on a host yet
	}
	return servers
}

// resize has the database replace its servers.
func (p *postgres) resize(c *api.Call, to postgresServers) {
	if to == p.target {
		return
	}
	if !c.Now.Before(p.due) {
		p.built = p.target
	}
	p.target = to
	p.ready = later(c.Now, p.running).Add(c.Delays(&p.Object).Resize)
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
