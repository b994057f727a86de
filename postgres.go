package cloudapi

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/attachment"
	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// PostgresService manages databases. Create, CreateReadReplica and Restore
// return [ErrAlreadyExists] if the name is taken, even by a database being
// deleted. They and Update return [ErrQuotaExceeded] if the project lacks
// vCPUs.
type PostgresService service

// Postgres is a Postgres database. Times that the server doesn't send in RFC
// 3339 format are zero. Target fields have the requested values, which differ
// from the actual values while a resize or an upgrade is pending.
type Postgres struct {
	ID                   string `json:"id"`       // prefix pg
	Name                 string `json:"name"`     // unique in its project and location
	State                string `json:"state"`    // a constant such as [PostgresStateRunning], or another value
	Location             string `json:"location"` // such as "eu-central-h1"
	VMSize               string `json:"vm_size"`  // such as "standard-2"
	TargetVMSize         string `json:"target_vm_size"`
	StorageSizeGiB       int    `json:"storage_size_gib"` // 0 until the database's VM is placed on a host
	TargetStorageSizeGiB int    `json:"target_storage_size_gib"`
	Version              string `json:"version"` // the major version, such as "17"
	HAType               string `json:"ha_type"` // a constant such as [PostgresHATypeNone]
	Flavor               string `json:"flavor"`  // a constant such as [PostgresFlavorStandard]

	// † Only the service has these.
	TargetVersion     string    `json:"target_version,omitzero"`      // differs from Version during an upgrade, and after a failed one
	TargetServerCount int       `json:"target_server_count,omitzero"` // 1 to 3: the primary and its standbys
	FallbackActive    bool      `json:"fallback_active,omitzero"`     // whether the primary has another instance type than requested
	CreatedAt         time.Time `json:"created_at,omitzero"`

	// MaintenanceWindowStartAt is the hour in UTC, 0 to 23, at which the two-hour
	// maintenance window begins. The server interrupts the database only then; nil
	// means at any time. MaintenanceWindowDays are "mon" to "sun", or empty for
	// every day. Only some projects can choose days. † Only the service has days.
	MaintenanceWindowStartAt *int     `json:"maintenance_window_start_at"`
	MaintenanceWindowDays    []string `json:"maintenance_window_days,omitzero"`

	CACertificates string        `json:"ca_certificates"` // PEM; "" until they exist, or with a publicly signed certificate
	ReadReplica    bool          `json:"read_replica"`    // whether it follows another database
	Parent         string        `json:"parent"`          // the path of the database that it copies, "/location/<location>/postgres/<name>", or ""
	Tags           []PostgresTag `json:"tags"`

	// ConnectionString is a URL with the superuser's name and password. Renaming
	// the database changes the URL's host. Lists, ReadReplicas, Rename, Promote and
	// PromoteReadReplica return neither it nor the fields below.
	ConnectionString Secret `json:"connection_string"`

	// PrivateConnectionString is for the private network. Hostname, Username and
	// Password are parts of ConnectionString. † Only the service has these.
	PrivateConnectionString Secret `json:"private_connection_string,omitzero"`
	Hostname                string `json:"hostname,omitzero"`
	Username                string `json:"username,omitzero"` // of the superuser
	Password                Secret `json:"password,omitzero"`

	Primary            bool                        `json:"primary"` // whether its server accepts writes
	FirewallRules      []PostgresFirewallRule      `json:"firewall_rules"`
	MetricDestinations []PostgresMetricDestination `json:"metric_destinations"`
	LogDestinations    []PostgresLogDestination    `json:"log_destinations,omitzero"` // † only the service
	ReadReplicas       []Postgres                  `json:"read_replicas"`             // as lists return them

	// Restore accepts times from EarliestRestoreTime, 5 minutes after the oldest
	// backup, to LatestRestoreTime. EarliestRestoreTime is zero before the first
	// backup; LatestRestoreTime isn't. Both are zero for replicas and restored
	// databases, and if the server doesn't know them.
	EarliestRestoreTime time.Time `json:"earliest_restore_time,omitzero"`
	LatestRestoreTime   time.Time `json:"latest_restore_time,omitzero"`
}

func (p *Postgres) Resource() Resource {
	return Resource{Kind: KindPostgres, ID: p.ID, Location: p.Location, Name: p.Name}
}

func (p *Postgres) stateText() string { return p.State }

// Known values of [Postgres.State]. A database stays "running" during a resize,
// a promotion or a password change. With the contract, it also stays "running"
// during a restart, and it's "creating" during all steps of a restore.
const (
	PostgresStateCreating    = "creating" // the server is setting it up, or doing brief maintenance
	PostgresStateRunning     = "running"
	PostgresStateUnavailable = "unavailable" // it fails its health check, or a failover is in progress
	PostgresStateDeleting    = "deleting"    // until it's gone

	// † Only the service has these.
	PostgresStateRestarting        = "restarting"
	PostgresStateRestoringBackup   = "restoring_backup" // the first step of a restore or a new read replica
	PostgresStateReplayingWAL      = "replaying_wal"
	PostgresStateFinalizingRestore = "finalizing_restore"
)

var postgresPhases = map[string]Phase{
	PostgresStateCreating:          PhasePending,
	PostgresStateRestoringBackup:   PhasePending,
	PostgresStateReplayingWAL:      PhasePending,
	PostgresStateFinalizingRestore: PhasePending,
	PostgresStateRunning:           PhaseUsable,
	PostgresStateRestarting:        PhaseInterrupted,
	PostgresStateUnavailable:       PhaseInterrupted,
	PostgresStateDeleting:          PhaseDeleting,
}

// Phase returns the phase of a database. All steps of a restore are
// [PhasePending].
func (p *Postgres) Phase() Phase { return cmp.Or(postgresPhases[p.State], PhasePending) }

// Values of [Postgres.HAType].
const (
	PostgresHATypeNone  = "none"  // no standby server
	PostgresHATypeAsync = "async" // one standby, replicated asynchronously
	PostgresHATypeSync  = "sync"  // two standbys, replicated synchronously
)

// Known values of [Postgres.Flavor].
const (
	PostgresFlavorStandard = "standard"
	PostgresFlavorParadeDB = "paradedb" // ‡ only the contract
	PostgresFlavorLantern  = "lantern"
)

// PostgresMetricDestination is a server to which a database sends its metrics.
type PostgresMetricDestination struct {
	ID          string   `json:"id"`                    // prefix md; et for old ones
	Username    string   `json:"username"`              // for basic authentication; "" if there is none
	URL         string   `json:"url"`                   // of a server that accepts Prometheus remote writes
	AuthMethods []string `json:"auth_methods,omitzero"` // "basic_auth", "authorization" or "headers"; † only the service
}

func (d *PostgresMetricDestination) Resource() Resource {
	return Resource{Kind: KindPostgresMetricDestination, ID: d.ID}
}

// PostgresLogDestination is a server to which a database sends its logs.
type PostgresLogDestination struct {
	ID   string `json:"id"` // prefix 1d
	Name string `json:"name"`
	Type string `json:"type"` // a constant such as [PostgresLogDestinationTypeOTLP]
	URL  string `json:"url"`
}

// Values of [PostgresLogDestination.Type]. † Only the service has these.
const (
	PostgresLogDestinationTypeOTLP   = "otlp"
	PostgresLogDestinationTypeSyslog = "syslog"
)

func (d *PostgresLogDestination) Resource() Resource {
	return Resource{Kind: KindPostgresLogDestination, ID: d.ID, Name: d.Name}
}

// PostgresFirewallRule allows a range of addresses to connect to a database.
type PostgresFirewallRule struct {
	ID          string `json:"id"`   // prefix fr with the service, pf with the contract
	CIDR        string `json:"cidr"` // normalized: with a prefix length, host bits cleared
	Description string `json:"description"`
	Port        int    `json:"port,omitzero"` // 5432, or 6432 for the connection pooler; † only the service
}

// ruleText describes the rule in one line, such as "from 203.0.113.0/24".
func (r *PostgresFirewallRule) ruleText() string {
	return describe(plain.OneLine("from "+r.CIDR), r.Description)
}

func (r *PostgresFirewallRule) Resource() Resource {
	return Resource{Kind: KindPostgresFirewallRule, ID: r.ID}
}

// PostgresCreateRequest is the body of [PostgresService.Create].
type PostgresCreateRequest struct {
	// Size is "standard-" followed by 2, 4, 8, 16, 30 or 60 vCPUs, or
	// "burstable-" followed by 1 or 2 ("hobby-" in the service's records). In a
	// private location, it's one of the provider's sizes, such as "m8gd.large", or
	// "m6id.large" with the contract. [PostgresService.Capabilities] returns the
	// sizes. Required.
	Size string `json:"size"`

	// StorageSize is in GiB: 32, 64 or 128 per vCPU, or half as much for
	// "burstable-"; with 30 or 60 vCPUs, it's 1024, 2048 or 4096. In a private
	// location, each Size allows only one value. Required.
	StorageSize int `json:"storage_size"`

	Flavor            string        `json:"flavor,omitzero"`              // a constant such as [PostgresFlavorStandard]; default "standard"
	HAType            string        `json:"ha_type,omitzero"`             // a constant such as [PostgresHATypeNone]; default "none"
	Version           string        `json:"version,omitzero"`             // the major version; default "18", or "17" with the contract
	RestrictByDefault *bool         `json:"restrict_by_default,omitzero"` // true: no firewall rules, so no connections; by default, all are allowed
	Tags              []PostgresTag `json:"tags,omitzero"`

	// † Only the service has these. PrivateSubnetName is the name of the subnet that
	// the server creates. The default is the database's ID followed by "-subnet"; a
	// subnet with another name stays after the database is deleted.
	PrivateSubnetName string           `json:"private_subnet_name,omitzero"`
	PGConfig          PostgresSettings `json:"pg_config,omitzero"` // as in PostgresConfig; {}, the default, isn't sent
	PgBouncerConfig   PostgresSettings `json:"pgbouncer_config,omitzero"`
}

// PostgresUpdateRequest is the body of [PostgresService.Update]. Fields that
// aren't set stay unchanged. A new Size may need a new StorageSize as well.
type PostgresUpdateRequest struct {
	Size        string        `json:"size,omitzero"`         // of the servers
	StorageSize int           `json:"storage_size,omitzero"` // in GiB; can shrink if the data fills less than 80% of the new size
	HAType      string        `json:"ha_type,omitzero"`      // a constant such as [PostgresHATypeNone]
	Tags        []PostgresTag `json:"tags,omitzero"`         // replaces all tags; an empty slice removes them
}

// passwordRequest is the body of ResetSuperuserPassword.
type passwordRequest struct {
	Password Secret `json:"password"`
}

// PostgresMaintenanceWindowRequest is the body of
// [PostgresService.SetMaintenanceWindow]. The fields are as in [Postgres].
type PostgresMaintenanceWindowRequest struct {
	StartAt *int     `json:"maintenance_window_start_at,omitzero"` // such as new(3); nil removes the window
	Days    []string `json:"maintenance_window_days,omitempty"`    // † only the service
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
	opPostgresMetrics                = Operation{"Postgres.Metrics", "GET", postgresRoute + "/metrics", idempotent}
	opPostgresResetSuperuserPassword = Operation{"Postgres.ResetSuperuserPassword", "POST", postgresRoute + "/reset-superuser-password", idempotent}
	opPostgresRestart                = Operation{"Postgres.Restart", "POST", postgresRoute + "/restart", once}
	opPostgresSetMaintenanceWindow   = Operation{"Postgres.SetMaintenanceWindow", "POST", postgresRoute + "/set-maintenance-window", idempotent}

	listPostgres = listRoutes{project: &opPostgresList, location: &opPostgresListInLocation, tags: true}

	postgresFamily = family[Postgres]{lists: &listPostgres, get: &opPostgresGet, del: &opPostgresDelete, pauses: &waitSlow,
		each: func(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[*Postgres, error] {
			return (&PostgresService{c}).All(ctx, opts) // PostgresService.All filters by tags; the function [all] doesn't
		}}

	caCertificatesFile = fileFormat{name: "ca-certificates.pem", accept: acceptPEM, pem: []string{attachment.Certificate}}
)

// List returns one page of the databases that have all [ListOptions.Tags].
func (s *PostgresService) List(ctx context.Context, opts *ListOptions) (*Page[Postgres], error) {
	page, err := list[Postgres](ctx, s.conn, &listPostgres, opts.serverFilters())
	if err == nil && opts != nil {
		opts.selectTags(page)
	}
	return page, err
}

// All iterates over the databases that have all [ListOptions.Tags].
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

// Watch yields the databases and then their changes; see [WatchOptions].
func (s *PostgresService) Watch(ctx context.Context, opts *WatchOptions, known ...*Postgres) iter.Seq2[Event[Postgres], error] {
	return postgresFamily.watch(ctx, s.conn, opts, known)
}

// serverFilters returns the options with only the tags that the server can
// filter by. The service filters only the list of a project. It can't parse a
// tag with a comma or a second colon, and trims spaces around keys and values.
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

// selectTags removes the databases without the tags from a page. If it removes
// any, it also removes the page's Count, which includes them.
func (o *ListOptions) selectTags(page *Page[Postgres]) {
	sent := len(page.Items)
	page.Items = slices.DeleteFunc(page.Items, func(p *Postgres) bool { return !hasTags(p.Tags, o.Tags) })
	if len(page.Items) < sent {
		page.Count = nil
	}
}

// Get returns a database with all its fields, including the password.
func (s *PostgresService) Get(ctx context.Context, location, postgres string) (*Postgres, error) {
	return perform[Postgres](ctx, s.conn, &opPostgresGet, location, postgres)
}

// Create creates a database. It returns while the database is "creating";
// [PostgresService.WaitRunning] waits, which takes minutes. Create returns
// [ErrBillingRequired] if the project has no billing information.
func (s *PostgresService) Create(ctx context.Context, location, name string, request *PostgresCreateRequest) (*Postgres, error) {
	body := orZero(request)
	body.PGConfig, body.PgBouncerConfig = body.PGConfig.texts(), body.PgBouncerConfig.texts()
	for _, settings := range []PostgresSettings{body.PGConfig, body.PgBouncerConfig} { // the server refuses null
		maps.DeleteFunc(settings, func(_ string, setting PostgresSetting) bool { return setting == PostgresSetting{} })
	}
	return send[Postgres](ctx, s.conn, &opPostgresCreate, body, location, name)
}

// Ensure creates a database unless one with the name exists. It compares
// flavor, ha_type, tags in any order, the settings in pg_config and
// pgbouncer_config, and size, storage_size and version, or their new values
// while a change is in progress. A read replica is always a difference; if
// restrict_by_default is true, so is a firewall rule for all IPv4 or all IPv6
// addresses. Ensure can update size, storage_size, ha_type, tags and settings,
// and delete such rules. [PostgresService.WaitResized] waits for the new size,
// and [PostgresService.WaitServers] for the new ha_type.
func (s *PostgresService) Ensure(ctx context.Context, location, name string, request *PostgresCreateRequest, opts *EnsureOptions) (postgres *Postgres, outcome EnsureOutcome, err error) {
	e := postgresEnsure{s, location, request}
	return postgresFamily.ensure(ctx, s.conn, location, name, ensureSpec[Postgres]{
		request: request,
		create:  func(ctx context.Context) (*Postgres, error) { return s.Create(ctx, location, name, request) },
		compare: e.compare,
		unshown: []string{"restrict_by_default", "private_subnet_name"},
		update:  e.update,
	}, opts)
}

// postgresEnsure is what an Ensure does with a database that exists.
type postgresEnsure struct {
	*PostgresService
	location string
	request  *PostgresCreateRequest
}

// compare also compares the settings, which the record doesn't show.
func (e postgresEnsure) compare(ctx context.Context, p *Postgres) (comparison, error) {
	c, r := compared(e.request.Compare(p)), orZero(e.request)
	c.skip("firewall_rules", orZero(r.RestrictByDefault) && slices.Contains(c.uncompared, "restrict_by_default"))
	if len(r.PGConfig)+len(r.PgBouncerConfig) == 0 {
		return c, nil
	}
	c.uncompared = slices.DeleteFunc(c.uncompared, func(field string) bool { return field == "pg_config" || field == "pgbouncer_config" })
	config, err := e.GetConfig(ctx, e.location, p.ID)
	if err != nil {
		return c, err
	}
	wantsSettings(&c, "pg_config", r.PGConfig, config.PGConfig)
	wantsSettings(&c, "pgbouncer_config", r.PgBouncerConfig, config.PgBouncerConfig)
	return c, nil
}

func (e postgresEnsure) update(ctx context.Context, p *Postgres, d drift) (*Postgres, error) {
	if d.has("restrict_by_default") {
		for _, rule := range openRules(p) {
			if err := e.DeleteFirewallRule(ctx, e.location, p.ID, rule.ID); err != nil {
				return nil, err
			}
		}
	}
	if d.has("pg_config", "pgbouncer_config") {
		config := PostgresConfigUpdateRequest{e.request.PGConfig, e.request.PgBouncerConfig}
		if _, err := e.UpdateConfig(ctx, e.location, p.ID, &config); err != nil {
			return nil, err
		}
	}
	if !d.has("size", "storage_size", "ha_type", "tags") {
		return e.Get(ctx, e.location, p.ID)
	}
	var update PostgresUpdateRequest
	if d.has("size", "storage_size") { // each limits the other
		update.Size, update.StorageSize = e.request.Size, e.request.StorageSize
	}
	if d.has("ha_type") {
		update.HAType = e.request.HAType
	}
	if d.has("tags") {
		update.Tags = e.request.Tags
	}
	return e.Update(ctx, e.location, p.ID, &update)
}

// Compare returns the differences between a database and the request. An update
// removes most of them, Upgrade (†) those of an older version, PromoteReadReplica
// makes a replica a database of its own, and others need a replacement. Compare
// can't compare pg_config, pgbouncer_config and private_subnet_name, and in an
// item of a list restrict_by_default.
func (r *PostgresCreateRequest) Compare(p *Postgres) (differences []Drift, uncompared []string) {
	var c comparison
	if p.ReadReplica {
		c.drift = drift{{Field: "read_replica", Wanted: false, Found: true, Remedy: RemedyMethod, Method: "Postgres.PromoteReadReplica"}}
	}
	if r == nil {
		return c.result()
	}
	if size := cmp.Or(p.TargetVMSize, p.VMSize); CanonicalPostgresSize(r.Size) != CanonicalPostgresSize(size) {
		wantsUpdatable(&c, "size", r.Size, size)
	}
	wantsUpdatable(&c, "storage_size", r.StorageSize, cmp.Or(p.TargetStorageSizeGiB, p.StorageSizeGiB))
	wantsUpdatable(&c, "ha_type", r.HAType, p.HAType)
	wants(&c, "flavor", r.Flavor, p.Flavor)
	version := cmp.Or(p.TargetVersion, p.Version)
	remedy := upgradeOr("Postgres.Upgrade", r.Version, version)
	if p.Flavor == PostgresFlavorLantern && remedy.Remedy != RemedyNone {
		remedy = Drift{Remedy: RemedyReplace} // the server upgrades no database of this flavor
	}
	wantsBy(&c, remedy, "version", r.Version, version)
	c.skip("tags", r.Tags != nil && p.Tags == nil)
	if r.Tags != nil && p.Tags != nil && !slices.Equal(sortedTags(r.Tags), sortedTags(p.Tags)) {
		c.drift = append(c.drift, Drift{Field: "tags", Wanted: r.Tags, Found: p.Tags, Remedy: RemedyUpdate})
	}
	isRestricted := orZero(r.RestrictByDefault)
	if open := openRules(p); isRestricted && len(open) > 0 {
		ranges := []string{}
		for _, rule := range open {
			ranges = append(ranges, rule.CIDR)
		}
		c.drift = append(c.drift, Drift{Field: "restrict_by_default", Wanted: true, Found: slices.Compact(ranges), Remedy: RemedyUpdate})
	}
	lacksRange := slices.ContainsFunc(p.FirewallRules, func(rule PostgresFirewallRule) bool { return rule.CIDR == "" })
	c.skip("restrict_by_default", r.RestrictByDefault != nil && (!isRestricted || p.FirewallRules == nil || lacksRange))
	c.skip("pg_config", len(r.PGConfig) > 0)
	c.skip("pgbouncer_config", len(r.PgBouncerConfig) > 0)
	c.skip("private_subnet_name", r.PrivateSubnetName != "")
	return c.result()
}

// openRules returns the firewall rules that allow all IPv4 or IPv6 addresses.
func openRules(p *Postgres) (open []PostgresFirewallRule) {
	for _, rule := range p.FirewallRules {
		if prefix, err := ParseCIDR(rule.CIDR); err == nil && prefix.Bits() == 0 {
			open = append(open, rule)
		}
	}
	return open
}

// CanonicalPostgresSize returns the name that requests use for a size: the
// service accepts "burstable-1" as well as "hobby-1", and shows "hobby-1", and
// the contract has only "burstable-1".
func CanonicalPostgresSize(size string) string {
	if cpus, found := strings.CutPrefix(size, "hobby-"); found {
		return "burstable-" + cpus
	}
	return size
}

// wantsSettings adds a difference to c unless all wanted settings are found.
func wantsSettings(c *comparison, field string, wanted, found PostgresSettings) {
	if c.skip(field, len(wanted) > 0 && found == nil); found == nil {
		return
	}
	for name, value := range wanted {
		if other, isSet := found[name]; other.String() != value.String() || isSet == (value == PostgresSetting{}) {
			c.drift = append(c.drift, Drift{Field: field, Wanted: wanted, Found: found, Remedy: RemedyUpdate})
			return
		}
	}
}

// Update changes a database, in its maintenance window if any, and resizes its
// read replicas. [PostgresService.WaitResized] waits for new sizes, and
// [PostgresService.WaitServers] for a new HAType. A read replica, or sizes that
// don't fit each other or the data, lead to [ErrInvalidRequest].
func (s *PostgresService) Update(ctx context.Context, location, postgres string, request *PostgresUpdateRequest) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresUpdate, request, location, postgres)
}

// Delete deletes a database; see WaitDeleted. Its read replicas stay replicas.
func (s *PostgresService) Delete(ctx context.Context, location, postgres string) error {
	return remove(ctx, s.conn, &opPostgresDelete, location, postgres)
}

// CACertificates returns [Postgres.CACertificates] as a file, for clients that
// verify the server. It returns [ErrNotFound] while there are none.
func (s *PostgresService) CACertificates(ctx context.Context, location, postgres string) (*File, error) {
	return download(ctx, s.conn, &opPostgresCACertificates, caCertificatesFile, nil, location, postgres)
}

// Rename renames a database, which changes the host in
// [Postgres.ConnectionString]. Get returns the new URL.
func (s *PostgresService) Rename(ctx context.Context, location, postgres, newName string) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresRename, renameRequest{newName}, location, postgres)
}

// ResetSuperuserPassword sets the superuser's password: 12 or more characters,
// with a lower-case and an upper-case letter and a digit. The database accepts
// the password seconds later. A read replica leads to [ErrInvalidRequest].
func (s *PostgresService) ResetSuperuserPassword(ctx context.Context, location, postgres string, password Secret) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresResetSuperuserPassword, passwordRequest{password}, location, postgres)
}

// Restart restarts a database's servers, running or not. The database is then
// "restarting"; see [PostgresService.WaitRunning]. With the contract, the
// database stays "running", and no record shows when the restart is over.
func (s *PostgresService) Restart(ctx context.Context, location, postgres string) (*Postgres, error) {
	return perform[Postgres](ctx, s.conn, &opPostgresRestart, location, postgres)
}

// SetMaintenanceWindow replaces the maintenance window of a database; an empty
// request removes it. It returns [ErrInvalidRequest] if the project can't choose
// days.
func (s *PostgresService) SetMaintenanceWindow(ctx context.Context, location, postgres string, request *PostgresMaintenanceWindowRequest) (*Postgres, error) {
	if request == nil {
		return nil, noRequest(opPostgresSetMaintenanceWindow)
	}
	return send[Postgres](ctx, s.conn, &opPostgresSetMaintenanceWindow, request, location, postgres)
}

// postgresRunning reports whether a database is running. It returns an error
// during a deletion.
func postgresRunning(p *Postgres) (bool, error) {
	return reaches[*Postgres](PostgresStateRunning)(p)
}

// WaitRunning waits until a database is running, and returns it.
func (s *PostgresService) WaitRunning(ctx context.Context, location, postgres string, opts *WaitOptions) (*Postgres, error) {
	return postgresFamily.waitState(ctx, s.conn, "Postgres.WaitRunning", location, postgres, postgresRunning, opts)
}

// lacksTarget returns the name of a target that the record lacks, or "".
func (p *Postgres) lacksTarget() string {
	return cmp.Or(missing("target_vm_size", p.TargetVMSize == ""), missing("target_storage_size_gib", p.TargetStorageSizeGiB <= 0))
}

// WaitResized waits until a database is running with the requested sizes, and
// returns it. The VM size may differ if [Postgres.FallbackActive] is set. The
// wait can last until the next maintenance window.
func (s *PostgresService) WaitResized(ctx context.Context, location, postgres string, opts *WaitOptions) (*Postgres, error) {
	resized := func(p *Postgres) (bool, error) {
		running, err := postgresRunning(p)
		sized := p.VMSize == p.TargetVMSize || p.FallbackActive
		return running && sized && p.StorageSizeGiB == p.TargetStorageSizeGiB, err
	}
	w := postgresFamily.waiter(s.conn, "Postgres.WaitResized", location, postgres)
	w.done, w.lacks = resized, (*Postgres).lacksTarget
	return w.run(ctx, opts)
}

// WaitDeleted waits until a database is gone and its name is free.
func (s *PostgresService) WaitDeleted(ctx context.Context, location, postgres string, opts *WaitOptions) error {
	return postgresFamily.waitDeleted(ctx, s.conn, location, postgres, opts)
}

// Known values of [Metric.Key] for a database.
const (
	PostgresMetricKeyCPUUsage            = "cpu_usage"
	PostgresMetricKeyLoadAverage         = "load_average"
	PostgresMetricKeyMemoryUsage         = "memory_usage"
	PostgresMetricKeyDiskUsage           = "disk_usage"
	PostgresMetricKeyDiskIO              = "disk_io"
	PostgresMetricKeyNetworkTraffic      = "network_traffic"
	PostgresMetricKeyConnectionCount     = "connection_count"
	PostgresMetricKeyCacheHitRatio       = "cache_hit_ratio"
	PostgresMetricKeyOperationThroughput = "operation_throughput"
	PostgresMetricKeyDeadlocks           = "deadlocks"
	PostgresMetricKeyDatabaseSize        = "database_size"
	PostgresMetricKeyTransactions        = "transactions"
)

// Metrics returns the metrics of a database. The options may be nil. A series
// has at most about 480 values; the server chooses their interval. A metric
// that the server can't read has no series, or, if Key selects it, leads to
// [ErrServer]. Metrics returns [ErrNotFound] if the server has no metrics.
func (s *PostgresService) Metrics(ctx context.Context, location, postgres string, opts *MetricsOptions) (*Metrics, error) {
	return metrics(ctx, s.conn, &opPostgresMetrics, opts, location, postgres)
}
