package cloudapi

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
)

// PostgresService works with Postgres databases: their firewall rules,
// configuration, metrics, logs, backups, certificates, servers, replicas,
// restores and upgrades.
//
// A reference is the ID (prefix pg) or the name.
type PostgresService service

// Postgres is a Postgres database.
type Postgres struct {
	ID       string `json:"id"`       // prefix pg
	Name     string `json:"name"`     // unique in its project and location
	State    string `json:"state"`    // one of the PostgresState constants, or another
	Location string `json:"location"` // such as "eu-central-h1"

	// A target is the requested value. It differs from the actual value while a
	// resize is pending.
	VMSize               string `json:"vm_size"` // such as "standard-2"
	TargetVMSize         string `json:"target_vm_size"`
	StorageSizeGiB       int    `json:"storage_size_gib"` // 0 until the server is placed on a host
	TargetStorageSizeGiB int    `json:"target_storage_size_gib"`

	Version string `json:"version"` // the major version, such as "17"
	HAType  string `json:"ha_type"` // one of the PostgresHAType constants
	Flavor  string `json:"flavor"`  // one of the PostgresFlavor constants

	// These fields are of August 2026; a server of October 2025 does not send
	// them.
	TargetVersion     string    `json:"target_version,omitzero"`      // differs from Version while an upgrade is pending or after it failed
	TargetServerCount int       `json:"target_server_count,omitzero"` // 1 to 3: the primary and the standbys of the HAType
	FallbackActive    bool      `json:"fallback_active,omitzero"`     // whether the primary has another instance type than requested
	CreatedAt         time.Time `json:"created_at,omitzero"`

	// CACertificates are the root certificates as PEM. It is "" until they
	// exist, and for a database with a publicly signed certificate.
	CACertificates string `json:"ca_certificates"`

	// MaintenanceWindowStartAt is the hour of the day in UTC, 0 to 23, at which
	// the maintenance window of two hours begins. Only in the window may the
	// server interrupt the service. Nil means at any time.
	MaintenanceWindowStartAt *int `json:"maintenance_window_start_at"`

	// MaintenanceWindowDays are the days of the window, from "mon" to "sun";
	// empty means every day. It is of August 2026, for projects that have the
	// feature.
	MaintenanceWindowDays []string `json:"maintenance_window_days,omitzero"`

	ReadReplica bool `json:"read_replica"` // whether it follows another database

	// Parent is the database from which CreateReadReplica or Restore made this
	// one, as a path within the project:
	// "/location/<location>/postgres/<name>". It is "" for others, and when the
	// parent is gone.
	Parent string `json:"parent"`

	Tags []PostgresTag `json:"tags"`

	// Lists, ReadReplicas, Rename and Promote do not return the remaining
	// fields.
	//
	// ConnectionString is a URL with the name and password of the superuser.
	// Rename changes its host.
	ConnectionString Secret `json:"connection_string"`

	// The same URL for clients in the private network, and its parts. They are
	// of August 2026.
	PrivateConnectionString Secret `json:"private_connection_string,omitzero"`
	Hostname                string `json:"hostname,omitzero"`
	Username                string `json:"username,omitzero"` // of the superuser
	Password                Secret `json:"password,omitzero"`

	Primary            bool                        `json:"primary"` // whether its server takes writes
	FirewallRules      []PostgresFirewallRule      `json:"firewall_rules"`
	MetricDestinations []PostgresMetricDestination `json:"metric_destinations"`
	LogDestinations    []PostgresLogDestination    `json:"log_destinations,omitzero"` // of August 2026
	ReadReplicas       []Postgres                  `json:"read_replicas"`             // in the short form

	// The earliest and latest time that Restore accepts. They are zero for
	// replicas and restored databases, and if the server does not know them.
	// The earliest time is also zero before the first backup. It is 5 minutes
	// after the backup, so at first it is after the latest time, and Restore
	// accepts none. All times in records that are not in RFC 3339 are zero, too.
	EarliestRestoreTime time.Time `json:"earliest_restore_time,omitzero"`
	LatestRestoreTime   time.Time `json:"latest_restore_time,omitzero"`
}

func (p *Postgres) lacks() string               { return lacksID(p.ID) }
func (p *Postgres) cursor(column string) string { return idOrName(column, p.ID, p.Name) }

func (p *Postgres) identity() Resource {
	return Resource{Kind: KindPostgres, ID: p.ID, Location: p.Location, Name: p.Name}
}

func (p *Postgres) stateText() string { return p.State }

// Known values of [Postgres.State]. The database stays "running" during a
// resize, a promotion or a change of the password. With a server of October
// 2025 it also stays "running" during a restart, and all steps of a restore are
// "creating".
const (
	// The database is being set up, or is under short maintenance.
	PostgresStateCreating = "creating"

	PostgresStateRunning     = "running"
	PostgresStateUnavailable = "unavailable" // it fails its health check, or a failover is in progress
	PostgresStateDeleting    = "deleting"    // until it is gone

	// States of August 2026.
	PostgresStateRestarting        = "restarting"
	PostgresStateRestoringBackup   = "restoring_backup" // the first step of a restored database or read replica
	PostgresStateReplayingWAL      = "replaying_wal"
	PostgresStateFinalizingRestore = "finalizing_restore"
)

// Values of [Postgres.HAType].
const (
	PostgresHATypeNone  = "none"  // no standby server
	PostgresHATypeAsync = "async" // one standby, replicated asynchronously
	PostgresHATypeSync  = "sync"  // two standbys, replicated synchronously
)

// Known values of [Postgres.Flavor].
const (
	PostgresFlavorStandard = "standard"
	PostgresFlavorParadeDB = "paradedb"
	PostgresFlavorLantern  = "lantern"
)

// PostgresCreateRequest is the body of [PostgresService.Create].
type PostgresCreateRequest struct {
	// Size is "standard-" and 2, 4, 8, 16, 30 or 60 vCPUs, or "burstable-" and
	// 1 or 2, which the service of August 2026 accepts and calls "hobby-". In
	// private locations it is one of the provider's sizes, such as
	// "m6id.large". [PostgresService.Capabilities] returns the available sizes.
	// Required.
	Size string `json:"size"`

	// StorageSize is in GiB. Required. Each size allows three values, from 32
	// per vCPU ("burstable": from 16) to four times that. The two largest sizes
	// allow 1024, 2048 and 4096, and sizes of private locations one value.
	StorageSize int `json:"storage_size"`

	// Flavor is one of the PostgresFlavor constants. The server's default is
	// "standard".
	Flavor string `json:"flavor,omitzero"`

	// HAType is one of the PostgresHAType constants. The server's default is
	// "none".
	HAType string `json:"ha_type,omitzero"`

	// Version is the major version, such as "16" or "17". The default is the
	// server's: "17" in October 2025, "18" in August 2026.
	Version string `json:"version,omitzero"`

	// RestrictByDefault true makes a database without firewall rules, so that
	// nothing can reach it. The real server's default is two rules that let
	// everything in.
	RestrictByDefault *bool `json:"restrict_by_default,omitzero"`

	Tags []PostgresTag `json:"tags,omitzero"`

	// The remaining fields are of August 2026. A server of October 2025 answers
	// [ErrInvalidRequest] if one of them is set.
	//
	// PrivateSubnetName is the name of the subnet that is made for the
	// database. The default is the database's ID and "-subnet".
	PrivateSubnetName string `json:"private_subnet_name,omitzero"`

	// PGConfig and PgBouncerConfig are the initial configuration; see
	// [PostgresConfig].
	PGConfig        map[string]string `json:"pg_config,omitzero"`
	PgBouncerConfig map[string]string `json:"pgbouncer_config,omitzero"`
}

// PostgresUpdateRequest is the body of [PostgresService.Update]. Fields that
// are not set stay unchanged.
type PostgresUpdateRequest struct {
	// Size is the new size of the servers. Set StorageSize too if the size does
	// not allow the present one.
	Size string `json:"size,omitzero"`

	// StorageSize is in GiB. It can be smaller than before if less than 80 % of
	// it will be in use.
	StorageSize int `json:"storage_size,omitzero"`

	// HAType is one of the PostgresHAType constants.
	HAType string `json:"ha_type,omitzero"`

	// Tags replaces all tags of the database. Nil means no change; an empty
	// slice removes all tags.
	Tags []PostgresTag `json:"tags,omitzero"`
}

// passwordRequest is the body of resetting the superuser's password.
type passwordRequest struct{ password Secret }

func (r passwordRequest) secrets() []Secret { return []Secret{r.password} }

func (r passwordRequest) unmasked() any {
	return map[string]string{"password": r.password.Reveal()}
}

// maintenanceWindowRequest is the body of setting the maintenance window. The
// server removes the window if the hour is absent; it refuses null.
type maintenanceWindowRequest struct {
	StartAt *int     `json:"maintenance_window_start_at,omitzero"`
	Days    []string `json:"maintenance_window_days,omitempty"`
}

const postgresRoute = locationRoute + "/postgres/{postgres_database_reference}"

var (
	opPostgresList                   = Operation{"Postgres.List", "GET", projectRoute + "/postgres", idempotent}
	opPostgresListInLocation         = Operation{"Postgres.ListInLocation", "GET", locationRoute + "/postgres", idempotent}
	opPostgresGet                    = Operation{"Postgres.Get", "GET", postgresRoute, idempotent}
	opPostgresCreate                 = Operation{"Postgres.Create", "POST", postgresRoute, once}
	opPostgresUpdate                 = Operation{"Postgres.Update", "PATCH", postgresRoute, idempotent}
	opPostgresDelete                 = Operation{"Postgres.Delete", "DELETE", postgresRoute, idempotent}
	opPostgresCACertificates         = Operation{"Postgres.CACertificates", "GET", postgresRoute + "/ca-certificates", idempotent}
	opPostgresRename                 = Operation{"Postgres.Rename", "POST", postgresRoute + "/rename", idempotent}
	opPostgresResetSuperuserPassword = Operation{"Postgres.ResetSuperuserPassword", "POST", postgresRoute + "/reset-superuser-password", idempotent}
	opPostgresRestart                = Operation{"Postgres.Restart", "POST", postgresRoute + "/restart", once}
	opPostgresSetMaintenanceWindow   = Operation{"Postgres.SetMaintenanceWindow", "POST", postgresRoute + "/set-maintenance-window", idempotent}

	listPostgres = listRoutes{project: &opPostgresList, location: &opPostgresListInLocation, tags: true}

	postgresFamily = family[Postgres, *Postgres]{lists: &listPostgres, get: &opPostgresGet, del: &opPostgresDelete, pauses: waitSlow, lingers: true,
		each: func(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[*Postgres, error] {
			return (&PostgresService{c}).All(ctx, opts) // which has tags
		}}

	caCertificatesFile = fileFormat{name: "ca-certificates.pem", accept: acceptPEM, check: checkPEM(pemCertificate)}
)

// List returns one page of the project's databases, or of those in
// [ListOptions.Location], with all of the [ListOptions.Tags]. Items have the
// short form.
func (s *PostgresService) List(ctx context.Context, opts *ListOptions) (*Page[Postgres], error) {
	page, err := list[Postgres](ctx, s.conn, &listPostgres, opts.serverFilters())
	if err == nil && opts != nil {
		opts.selectTags(page)
	}
	return page, err
}

// All returns the project's databases, or those in [ListOptions.Location], with
// all of the [ListOptions.Tags], page by page. Items have the short form.
func (s *PostgresService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*Postgres, error] {
	databases := all[Postgres](ctx, s.conn, &listPostgres, opts.serverFilters())
	if opts == nil || len(opts.Tags) == 0 {
		return databases
	}
	tags := slices.Clone(opts.Tags)
	return func(yield func(*Postgres, error) bool) {
		for p, err := range databases {
			if (err != nil || hasTags(p.Tags, tags)) && !yield(p, err) {
				return
			}
		}
	}
}

// Watch yields the project's databases, or those in [WatchOptions.Location],
// and then their changes, until the context ends. Records have the short form;
// [PostgresService.Get] returns the rest.
func (s *PostgresService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[Postgres], error] {
	return postgresFamily.watch(ctx, s.conn, opts)
}

// serverFilters returns the options with only the tags by which a server can
// filter. A server of August 2026 filters the list of a project. It cannot parse
// a tag with a comma or a second colon, and removes spaces around keys and
// values.
func (o *ListOptions) serverFilters() *ListOptions {
	if o == nil || len(o.Tags) == 0 {
		return o
	}
	asked := *o
	asked.Tags = nil
	for _, tag := range o.Tags {
		if o.Location == "" && isSelectable(tag.Key) && isSelectable(tag.Value) {
			asked.Tags = append(asked.Tags, tag)
		}
	}
	return &asked
}

// isSelectable reports whether a server can filter by a key or value.
func isSelectable(s string) bool { return !strings.ContainsAny(s, ",:") && strings.TrimSpace(s) == s }

// selectTags removes the databases without the tags from a page. It then also
// drops the count, which includes them.
func (o *ListOptions) selectTags(page *Page[Postgres]) {
	sent := len(page.Items)
	page.Items = slices.DeleteFunc(page.Items, func(p *Postgres) bool { return !hasTags(p.Tags, o.Tags) })
	if len(page.Items) < sent {
		page.Count = nil
	}
}

// Get returns a database with all its fields, including the superuser's
// password in [Postgres.ConnectionString], or [ErrNotFound] if it does not
// exist.
func (s *PostgresService) Get(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.conn, &opPostgresGet, location, postgres)
}

// Create starts to make a database with the given name: 1 to 63 lower-case
// letters, digits and hyphens, no hyphen at either end. It returns the database
// in state "creating", with only the fields that are known so far.
// [PostgresService.WaitRunning] waits for the rest, which takes minutes.
//
// If the name is taken the error is [ErrAlreadyExists]; the name stays taken
// while its last owner is being deleted. If a value is invalid the error is
// [ErrInvalidRequest], and [Error.FieldErrors] names the field. If the vCPU
// quota is exceeded the error also matches [ErrQuotaExceeded], and if billing
// information is missing, [ErrBillingRequired]. If the response is lost the
// error is [ErrOutcomeUnknown]: look the name up with Get.
func (s *PostgresService) Create(ctx context.Context, location, name string, request *PostgresCreateRequest) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresCreate, request, location, name)
}

// Update starts to change a database, in the maintenance window if it has one.
// [PostgresService.WaitResized] waits for another size, and with a server of
// August 2026 [PostgresService.WaitServers] waits for another HAType; one of
// October 2025 does not show when the HAType is changed. Read replicas follow
// their parent, and a server of August 2026 answers [ErrInvalidRequest] to an
// update of one. If the sizes do not fit each other, or the storage is too
// small, the error is [ErrInvalidRequest]. If the vCPU quota is exceeded it is
// [ErrQuotaExceeded].
func (s *PostgresService) Update(ctx context.Context, location, postgres string, request *PostgresUpdateRequest) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresUpdate, request, location, postgres)
}

// Delete starts to delete a database; [PostgresService.WaitDeleted] waits for
// the end. Its read replicas stay read replicas. It also succeeds if the
// database does not exist, so a mistyped name or location looks like success.
func (s *PostgresService) Delete(ctx context.Context, location, postgres string) error {
	return remove(ctx, s.conn, &opPostgresDelete, location, postgres)
}

// CACertificates returns the root certificates of a database as a PEM file, for
// clients that verify the server. The error is [ErrNotFound] until the
// certificates exist. Until then [Postgres.CACertificates] is "".
func (s *PostgresService) CACertificates(ctx context.Context, location, postgres string) (*File, error) {
	return download(ctx, s.conn, &opPostgresCACertificates, caCertificatesFile, nil, location, postgres)
}

// Rename gives a database another name, and changes the host in
// [Postgres.ConnectionString]. It returns the short form of the record. If the
// name is taken the error is [ErrAlreadyExists]. Pass the ID: only then is the
// call idempotent.
func (s *PostgresService) Rename(ctx context.Context, location, postgres, newName string) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresRename, renameRequest{newName}, location, postgres)
}

// ResetSuperuserPassword sets the password of the superuser: at least 12
// characters, among them a lower-case letter, an upper-case letter and a digit.
// If the password is refused, or the database is a read replica, the error is
// [ErrInvalidRequest] with the reasons in [Error.FieldErrors]. The returned
// record has the new password; the database accepts it seconds later.
func (s *PostgresService) ResetSuperuserPassword(ctx context.Context, location, postgres string, password Secret) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresResetSuperuserPassword, passwordRequest{password}, location, postgres)
}

// Restart starts to restart the servers of a database, whatever its state is.
// With a server of August 2026 the state is "restarting" until the restart is
// over, and [PostgresService.WaitRunning] waits for that. With a server of
// October 2025 the state stays "running", and nothing shows the end of the
// restart. A second request would restart the servers again, so a lost response
// is [ErrOutcomeUnknown].
func (s *PostgresService) Restart(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.conn, &opPostgresRestart, location, postgres)
}

// SetMaintenanceWindow sets the hour of the day in UTC, 0 to 23, at which the
// maintenance window begins, as in new(3); nil removes the window. The days,
// from "mon" to "sun", are the days that have a window; without days every day
// has one. Days are of August 2026, for projects that have the feature;
// otherwise they are [ErrInvalidRequest].
func (s *PostgresService) SetMaintenanceWindow(ctx context.Context, location, postgres string, hour *int, days ...string) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresSetMaintenanceWindow, maintenanceWindowRequest{hour, days}, location, postgres)
}

// postgresRunning is a part of the conditions of several waits.
func postgresRunning(p *Postgres) (bool, error) {
	return reaches[*Postgres](PostgresStateRunning)(p)
}

// WaitRunning waits until a database that was created, restored, restarted or
// made as a replica is running, and returns it. It fails if the database is
// being deleted or is gone. The error is a [*WaitError].
func (s *PostgresService) WaitRunning(ctx context.Context, location, postgres string, opts ...WaitOption) (*Postgres, error) {
	return postgresFamily.waitState(ctx, s.conn, "Postgres.WaitRunning", location, postgres, postgresRunning, opts)
}

// WaitResized waits until a database has the requested sizes and is running,
// and returns it. If [Postgres.FallbackActive] is set, the server has another
// size that the service takes in place of the requested one. With a maintenance
// window the wait can take until the next window. It fails if the database is
// being deleted or is gone. The error is a [*WaitError].
func (s *PostgresService) WaitResized(ctx context.Context, location, postgres string, opts ...WaitOption) (*Postgres, error) {
	resized := func(p *Postgres) (bool, error) {
		running, err := postgresRunning(p)
		sized := p.VMSize == p.TargetVMSize || p.FallbackActive
		return running && sized && p.StorageSizeGiB == p.TargetStorageSizeGiB, err
	}
	w := postgresFamily.waiter(s.conn, "Postgres.WaitResized", location, postgres)
	w.done = resized
	return w.run(ctx, opts)
}

// WaitDeleted waits until a database that was deleted is gone. Its name is free
// then. If another database has taken the name meanwhile, the wait succeeds,
// too. The error is a [*WaitError].
func (s *PostgresService) WaitDeleted(ctx context.Context, location, postgres string, opts ...WaitOption) error {
	return postgresFamily.waitDeleted(ctx, s.conn, location, postgres, opts)
}
