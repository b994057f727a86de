package families

import (
	"encoding/json"
	"fmt"
	"net/url"
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
	CACertificates           *invented     `json:"ca_certificates"`
	MaintenanceWindowStartAt *int          `json:"maintenance_window_start_at"`
	ReadReplica              bool          `json:"read_replica"`
	Parent                   *string       `json:"parent"`
	Tags                     []postgresTag `json:"tags"`
	*PostgresServiceFields
}

// PostgresServiceFields contains the fields that only the service has. Its name
// is exported for package json, which otherwise couldn't decode it.
type PostgresServiceFields struct {
	TargetVersion     string `json:"target_version"`
	TargetServerCount int    `json:"target_server_count"`
	FallbackActive    bool   `json:"fallback_active"`
	CreatedAt         string `json:"created_at"`

	// MaintenanceWindowDays is nil without FeatureMaintenanceWindowDays.
	MaintenanceWindowDays *[]string `json:"maintenance_window_days,omitempty"`
}

type postgresTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// postgresDetails is the record with all its fields. All operations except
// lists, Rename and Promote return it.
type postgresDetails struct {
	postgresRecord
	ConnectionString   invented                     `json:"connection_string"`
	Primary            bool                         `json:"primary"`
	FirewallRules      []postgresFirewallRuleRecord `json:"firewall_rules"`
	MetricDestinations []postgresMetricDestination  `json:"metric_destinations"`
	ReadReplicas       []postgresRecord             `json:"read_replicas"`
	// Only primaries have restore times. The earliest one is null before the
	// first backup, and absent if the backups can't be read.
	EarliestRestoreTime json.RawMessage `json:"earliest_restore_time,omitempty"`
	LatestRestoreTime   invented        `json:"latest_restore_time,omitempty"`
	*PostgresServiceDetails
}

// PostgresServiceDetails contains the fields of postgresDetails that only the
// service has.
type PostgresServiceDetails struct {
	PrivateConnectionString invented                 `json:"private_connection_string"`
	Username                string                   `json:"username"`
	Password                invented                 `json:"password"`
	Hostname                invented                 `json:"hostname"`
	LogDestinations         []postgresLogDestination `json:"log_destinations"`
}

const superuser = "postgres"

func (p *postgres) record(at *api.Moment) postgresRecord {
	current := p.current(at.Now)
	if at.Now.Before(p.running) && !p.onAWS() && !postgresTermsOf(at).explicit {
		current.storage = 0 // not placed on a host yet
	}
	return postgresRecord{
		ID:                       p.ID,
		Name:                     p.Name,
		State:                    p.Shown(p.state(at)),
		Location:                 p.Location.Name,
		VMSize:                   current.vm,
		TargetVMSize:             p.target.vm,
		StorageSizeGiB:           current.storage,
		TargetStorageSizeGiB:     p.target.storage,
		Version:                  current.version,
		HAType:                   postgresHATypes[p.target.standbys],
		Flavor:                   p.flavor,
		CACertificates:           p.caCertificates(at.Now),
		MaintenanceWindowStartAt: p.shownHour(),
		ReadReplica:              p.isReplica(at.Now),
		Parent:                   p.pathOfParent(at),
		Tags:                     p.tags,
		PostgresServiceFields: api.InService(at, PostgresServiceFields{
			TargetVersion:     p.target.version,
			TargetServerCount: p.target.standbys + 1,
			CreatedAt:         p.created.UTC().Format("2006-01-02T15:04:05-07:00"),

			MaintenanceWindowDays: p.shownDays(at),
		}),
	}
}

// state returns the state of the database. In the service, a copy shows more
// states before "running" than any other new database.
func (p *postgres) state(at *api.Moment) string {
	explicit := postgresTermsOf(at).explicit
	if !at.Now.Before(p.running) {
		if explicit && at.Now.Before(p.restarted) {
			return "restarting"
		}
		return "running"
	}
	if !explicit || p.parent == nil {
		return "creating"
	}
	return stageAt(at.Now, p.ordered, p.running, postgresStages(!p.restored.IsZero()))
}

// postgresStages returns the states of a copy before it is running.
func postgresStages(restored bool) []string {
	if restored {
		return []string{"creating", "restoring_backup", "finalizing_restore"}
	}
	return []string{"creating", "restoring_backup", "replaying_wal"}
}

// stageAt returns the stage that a change has reached. All stages take the same
// time. After the change, stageAt returns the last one.
func stageAt(now, begun, end time.Time, stages []string) string {
	n, takes := len(stages), end.Sub(begun)
	if !now.Before(end) || takes <= 0 {
		return stages[n-1]
	}
	return stages[max(0, int(now.Sub(begun)*time.Duration(n)/takes))]
}

// pathOfParent returns the path of the database that this one was replicated or
// restored from. It returns nil if there is no such database or, in the
// contract, after the promotion of a replica.
func (p *postgres) pathOfParent(at *api.Moment) *string {
	isShown := !p.restored.IsZero() || p.isReplica(at.Now) || postgresTermsOf(at).explicit
	if p.parent == nil || at.State.ByID[p.parent.ID] == nil || !isShown {
		return nil
	}
	path := fmt.Sprintf("/location/%s/postgres/%s", p.parent.Location.Name, p.parent.Name)
	return &path
}

func (p *postgres) details(at *api.Moment) postgresDetails {
	public, private := p.hosts(at)
	d := postgresDetails{
		postgresRecord:     p.record(at),
		ConnectionString:   p.connectionString(at, public),
		Primary:            p.isPrimary(at.Now),
		FirewallRules:      api.Records(p.rules(at), recordPostgresRule),
		MetricDestinations: p.destinations,
		ReadReplicas:       api.Records(p.replicas(at), api.At(at, (*postgres).record)),
	}
	d.PostgresServiceDetails = api.InService(at, PostgresServiceDetails{
		PrivateConnectionString: p.connectionString(at, private),
		Username:                superuser,
		Password:                invented(p.password),
		Hostname:                invented(public),
		LogDestinations:         p.logs,
	})
	if !d.Primary {
		return d
	}
	d.LatestRestoreTime = invented(at.Now.UTC().Format(time.RFC3339))
	switch earliest, ok := p.earliestRestore(at.Now); {
	case ok:
		d.EarliestRestoreTime = reply.Encode(earliest.UTC().Format(time.RFC3339))
	case !p.onAWS():
		d.EarliestRestoreTime = json.RawMessage("null")
	}
	return d
}

func (p *postgres) connectionString(at *api.Moment, host string) invented {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, p.password),
		Host:     host + ":5432",
		Path:     "/postgres",
		RawQuery: postgresTermsOf(at).sslQuery,
	}
	return invented(u.String())
}

// hosts returns the host names of the database in the public and in the private
// network.
func (p *postgres) hosts(at *api.Moment) (public, private string) {
	host, domain := p.Name+"."+p.ID, postgresTermsOf(at).domain+".localhost"
	return host + "." + domain, host + ".private." + domain
}

func (p *postgres) replicas(at *api.Moment) []*postgres {
	return api.Where(at.State, cloudapi.KindPostgres, p.Project, func(r *postgres) bool { return r.parent == p && r.isReplica(at.Now) })
}
