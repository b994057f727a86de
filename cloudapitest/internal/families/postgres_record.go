package families

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

type postgresRecord struct {
	ID                       string        `json:"id"`
	Name                     string        `json:"name"`
	State                    string        `json:"state"`
	Location                 string        `json:"location"`
	VMSize                   string        `json:"vm_size"`
	TargetVMSize             string        `json:"target_vm_size"`
	StorageSizeGiB           int           `json:"storage_size_gib"`
	TargetStorageSizeGiB     int           `json:"target_storage_size_gib"`
	Version                  string        `json:"version"`
	HAType                   string        `json:"ha_type"`
	Flavor                   string        `json:"flavor"`
	CACertificates           *string       `json:"ca_certificates"`
	MaintenanceWindowStartAt *int          `json:"maintenance_window_start_at"`
	ReadReplica              bool          `json:"read_replica"`
	Parent                   *string       `json:"parent"`
	Tags                     []postgresTag `json:"tags"`
}

type postgresTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// postgresDetails is the record of everything but lists, renaming and promotion.
type postgresDetails struct {
	postgresRecord
	ConnectionString   string                      `json:"connection_string"`
	Primary            bool                        `json:"primary"`
	FirewallRules      []postgresFirewallRule      `json:"firewall_rules"`
	MetricDestinations []postgresMetricDestination `json:"metric_destinations"`
	ReadReplicas       []postgresRecord            `json:"read_replicas"`
	// Only primaries have restore times. The earliest one is null before the
	// first backup, and left out where the backups cannot be read.
	EarliestRestoreTime json.RawMessage `json:"earliest_restore_time,omitempty"`
	LatestRestoreTime   string          `json:"latest_restore_time,omitempty"`
}

// record is the record of a database at the time of the call.
func (p *postgres) record(c *api.Call) postgresRecord {
	own := "creating"
	if !c.Now.Before(p.running) {
		own = "running"
	}
	current := p.current(c.Now)
	return postgresRecord{
		ID:                       p.ID,
		Name:                     p.Name,
		State:                    p.Shown(own),
		Location:                 p.Location.Name,
		VMSize:                   current.vm,
		TargetVMSize:             p.target.vm,
		StorageSizeGiB:           current.storage,
		TargetStorageSizeGiB:     p.target.storage,
		Version:                  p.version,
		HAType:                   postgresHATypes[p.target.standbys],
		Flavor:                   p.flavor,
		CACertificates:           p.caCertificates(c.Now),
		MaintenanceWindowStartAt: p.window,
		ReadReplica:              p.isReplica(c.Now),
		Parent:                   p.pathOfParent(c),
		Tags:                     p.tags,
	}
}

// pathOfParent returns the path of the database from which one was replicated or
// restored, while that is there and still counts.
func (p *postgres) pathOfParent(c *api.Call) *string {
	if p.parent == nil || c.State.ByID[p.parent.ID] == nil || !p.restored && !p.isReplica(c.Now) {
		return nil
	}
	path := fmt.Sprintf("/location/%s/postgres/%s", p.parent.Location.Name, p.parent.Name)
	return &path
}

func (p *postgres) details(c *api.Call) postgresDetails {
	rules := slices.Clone(p.rules)
	slices.SortFunc(rules, func(a, b postgresFirewallRule) int { return compareCIDRs(a.CIDR, b.CIDR) })
	d := postgresDetails{
		postgresRecord:     p.record(c),
		ConnectionString:   p.connectionString(),
		Primary:            p.isPrimary(c.Now),
		FirewallRules:      rules,
		MetricDestinations: p.destinations,
		ReadReplicas:       api.Records(p.replicas(c), api.At(c, (*postgres).record)),
	}
	if !d.Primary {
		return d
	}
	d.LatestRestoreTime = c.Now.UTC().Format(time.RFC3339)
	switch earliest, ok := p.earliestRestore(c.Now); {
	case ok:
		d.EarliestRestoreTime = reply.JSON(0, earliest.UTC().Format(time.RFC3339)).Body
	case !p.onAWS():
		d.EarliestRestoreTime = json.RawMessage("null")
	}
	return d
}

// connectionString is the URL of the database, whose host has its name.
func (p *postgres) connectionString() string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("postgres", p.password),
		Host:     fmt.Sprintf("%s.%s.postgres.localhost:5432", p.Name, p.ID),
		Path:     "/postgres",
		RawQuery: "sslmode=require",
	}
	return u.String()
}

// replicas returns the read replicas of a database.
func (p *postgres) replicas(c *api.Call) []*postgres {
	return slices.DeleteFunc(api.InProject[*postgres](c.State, cloudapi.KindPostgres, c.Project), func(r *postgres) bool {
		return r.parent != p || !r.isReplica(c.Now)
	})
}
