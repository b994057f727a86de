package families

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// isReplica reports whether the database is a read replica. It stays one even
// if its parent is deleted.
func (p *postgres) isReplica(now time.Time) bool {
	return p.parent != nil && p.restored.IsZero() && (p.released.IsZero() || now.Before(p.released))
}

// isPrimary reports whether the database takes writes and makes backups. A copy
// of a backup does so once the restore is complete.
func (p *postgres) isPrimary(now time.Time) bool {
	return !p.isReplica(now) && !now.Before(p.promoted) && (p.restored.IsZero() || !now.Before(p.running))
}

// earliestRestore returns the earliest time to restore to, or false before the
// first backup. Until a database is a primary, it uses its parent's backups.
func (p *postgres) earliestRestore(now time.Time) (time.Time, bool) {
	if !p.isPrimary(now) {
		return p.parent.earliestRestore(now)
	}
	if now.Before(p.backup) {
		return time.Time{}, false
	}
	return p.backup.Add(5 * time.Minute), true
}

func (p *postgres) current(now time.Time) postgresServers {
	servers := p.target
	if now.Before(p.due) {
		servers = p.built
	}
	if now.Before(p.upgradeTime()) {
		servers.version = p.built.version
	}
	return servers
}

// resize replaces all servers. But if only the number of standbys changes, it
// adds or removes standbys.
func (p *postgres) resize(c *api.Call, to postgresServers) {
	if to == p.target {
		return
	}
	p.config = p.config.fitted(to)
	var kept []string
	if to.withoutStandbys() == p.target.withoutStandbys() {
		kept = slices.Clone(p.fleet[:min(len(p.fleet), to.standbys+1)])
	}
	p.replace(c, to, append(kept, newServerIDs(to.standbys+1-len(kept))...))
}

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
