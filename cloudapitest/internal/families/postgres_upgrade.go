package families

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func postgresUpgradeOperations() []api.Operation {
	const upgrade = postgresDatabase + "/upgrade"
	return []api.Operation{
		api.GET("Postgres.UpgradeStatus", upgrade, api.On(findPostgres, (*postgres).showUpgrade)).Only(version.Service),
		api.POST("Postgres.Upgrade", upgrade, api.NoBody, api.On(findPostgres, (*postgres).upgrade)).Only(version.Service),
	}
}

type postgresUpgradeRecord struct {
	CurrentVersion string  `json:"current_version"`
	TargetVersion  string  `json:"target_version"`
	Status         string  `json:"upgrade_status"`
	Stage          *string `json:"upgrade_stage"`
}

func (p *postgres) upgrading(now time.Time) bool {
	return p.built.version != p.target.version && now.Before(p.due.Add(4*p.step))
}

// upgradeTime returns the time from which the servers have the target version.
// The upgrade takes two more steps after that.
func (p *postgres) upgradeTime() time.Time { return p.due.Add(2 * p.step) }

func (p *postgres) showUpgrade(c *api.Call) (any, error) {
	if !p.upgrading(c.Now) {
		return nil, reply.InvalidRequest("Database is not upgrading")
	}
	return p.upgradeRecord(c.Now), nil
}

func (p *postgres) upgradeRecord(now time.Time) postgresUpgradeRecord {
	r := postgresUpgradeRecord{p.built.version, p.target.version, "running", nil}
	var stage string
	switch {
	case now.Before(p.ready):
		stage = stageAt(now, p.begun, p.ready, []string{"", "provision_servers", "wait_servers_to_be_ready"})
	case now.Before(p.due):
		stage = "wait_for_maintenance_window"
	default:
		stage = stageAt(now, p.due, p.due.Add(4*p.step),
			[]string{"wait_fence_primary", "upgrade_standby", "update_metadata", "recycle_representative_server"})
	}
	if stage != "" {
		r.Stage = &stage
	}
	return r
}

func (p *postgres) upgrade(c *api.Call) (any, error) {
	refuse := func(field, what string) (any, error) { return nil, reply.InvalidField(field, "%s", what) }
	next := nextVersion(postgresTermsOf(c.Moment).versions, p.target.version)
	switch {
	case p.isReplica(c.Now):
		return refuse("read_replica", "Read replicas cannot be upgraded")
	case p.converging(c.Now):
		return refuse("needs_convergence", "Database cluster is waiting for convergence, please wait for it to complete")
	case p.flavor == lantern:
		return refuse("flavor", "Lantern Postgres instances cannot be upgraded")
	case next == "":
		return refuse("version", "Database is already at the latest version")
	}
	for _, db := range append(p.replicas(c.Moment), p) {
		to := db.target
		to.version = next
		db.resize(c, to)
	}
	c.Log("upgrade", p.ID)
	return p.upgradeRecord(c.Now), nil
}
