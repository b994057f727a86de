package families

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// In the service, replicate also fails while the servers are being replaced,
// with the error for missing backups.
func (p *postgres) replicate(c *api.Call) (any, error) {
	name, err := p.newName(c)
	if err != nil {
		return nil, err
	}
	if _, ok := p.earliestRestore(c.Now); !ok || postgresTermsOf(c.Moment).explicit && p.converging(c.Now) {
		return nil, reply.InvalidRequest("Parent server is not ready for read replicas. There are no backups, yet.")
	}
	return p.derive(c, name, time.Time{})
}

// restore needs two permissions: to view the database, and to create one.
func (p *postgres) restore(c *api.Call) (any, error) {
	if !c.Allowed("Postgres:create") {
		return nil, reply.Forbidden()
	}
	name, err := p.newName(c)
	if err != nil {
		return nil, err
	}
	text, err := c.Body.NonEmpty("restore_target")
	if err != nil {
		return nil, err
	}
	target, ok := parseDate(text)
	if !ok {
		return nil, invalidDate("restore_target", text)
	}
	earliest, ok := p.earliestRestore(c.Now)
	if !ok || target.Before(earliest) || target.After(c.Now) {
		return nil, reply.InvalidField("restore_target", "Restore target must be between %s and %s",
			formatTime(earliest), formatTime(c.Now))
	}
	return p.derive(c, name, target)
}

func (p *postgres) newName(c *api.Call) (string, error) {
	name, err := c.Body.NonEmpty("name")
	if err == nil {
		err = api.CheckNameForm(name)
	}
	if err == nil {
		err = checkPostgresQuota(c, p.target.withoutStandbys().vcpus())
	}
	return name, err
}

// derive creates a restored copy, or a read replica if restored is zero.
// Neither gets p's standbys or firewall rules.
func (p *postgres) derive(c *api.Call, name string, restored time.Time) (any, error) {
	if err := api.CheckNameIsFree[*postgres](c, cloudapi.KindPostgres, name, nil); err != nil {
		return nil, err
	}
	copied := newPostgres(c, name, p.flavor, p.target.withoutStandbys())
	copied.parent, copied.restored, copied.password = p, restored, p.password
	verb := "create_replica"
	if !restored.IsZero() {
		verb = "restore"
	}
	copied.config = p.config
	if !restored.IsZero() {
		copied.tags = p.tags
	}
	if err := copied.setConfig(c); err != nil {
		return nil, err
	}
	if c.Body.Has("tags") {
		copied.tags = bodyTags(c.Body)
	}
	if err := copied.makeNetwork(c, true); err != nil {
		return nil, err
	}
	c.State.Add(copied)
	c.Log(verb, p.ID, copied.ID)
	return copied.details(c.Moment), nil
}

func (p *postgres) promote(c *api.Call) (any, error) {
	switch {
	case !p.isReplica(c.Now):
		return nil, reply.InvalidRequest("Non read replica servers cannot be promoted.")
	case p.released.IsZero():
		p.promoted = latest(c.Now, p.running).Add(c.Delays(&p.Object).Promote)
		p.backup = p.promoted.Add(c.Delays(&p.Object).Backup)
		p.released = p.promoted
		if postgresTermsOf(c.Moment).explicit {
			p.released = c.Now
		}
	}
	c.Log("promote_read_replica", p.ID)
	return p.record(c.Moment), nil
}
