package families

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/ruby"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

const (
	postgresDatabases = api.ProjectRoute + "/location/{location}/postgres"
	postgresDatabase  = postgresDatabases + "/{postgres_database_reference}"
)

func postgresOperations() []api.Operation {
	var (
		tags   = schema.Optional("tags", schema.ArrayOf(schema.Closed(schema.Required("key", schema.Text), schema.Required("value", schema.Text)).Named("PostgresTag")))
		name   = schema.Required("name", schema.Text)
		create = schema.Closed(schema.Required("size", schema.Text), schema.Required("storage_size", schema.Integer), schema.Optional("flavor", schema.Text),
			schema.Optional("ha_type", schema.Text), schema.Optional("version", schema.Text), schema.Optional("restrict_by_default", schema.Boolean), tags)
		update  = schema.Closed(schema.Optional("ha_type", schema.Text), schema.Optional("size", schema.Text), schema.Optional("storage_size", schema.Integer), tags)
		restore = schema.Closed(name, schema.Required("restore_target", schema.Text))
		reset   = schema.Closed(schema.Required("password", schema.Text))
		window  = schema.Closed(schema.Optional("maintenance_window_start_at", schema.Integer))
	)
	return slices.Concat(
		[]api.Operation{
			{Name: "Postgres.List", Method: http.MethodGet, Route: api.ProjectRoute + "/postgres", List: api.PagedDeclared, Handle: listPostgres},
			{Name: "Postgres.ListInLocation", Method: http.MethodGet, Route: postgresDatabases, List: api.PagedDeclared, Handle: listPostgres},
			{Name: "Postgres.Get", Method: http.MethodGet, Route: postgresDatabase, Handle: getPostgres},
			{Name: "Postgres.Create", Method: http.MethodPost, Route: postgresDatabase, Body: create, Handle: createPostgres},
			{Name: "Postgres.Update", Method: http.MethodPatch, Route: postgresDatabase, Body: update, Handle: updatePostgres},
			{Name: "Postgres.Delete", Method: http.MethodDelete, Route: postgresDatabase, Handle: deletePostgres},
			{Name: "Postgres.CACertificates", Method: http.MethodGet, Route: postgresDatabase + "/ca-certificates", Handle: getPostgresCertificates},
		},
		postgresConfigOperations(),
		postgresFirewallOperations(),
		postgresMetricsOperations(),
		[]api.Operation{
			{Name: "Postgres.Promote", Method: http.MethodPost, Route: postgresDatabase + "/promote", Handle: promotePostgres},
			{Name: "Postgres.CreateReadReplica", Method: http.MethodPost, Route: postgresDatabase + "/read-replica", Body: schema.Closed(name), Handle: replicatePostgres},
			{Name: "Postgres.Rename", Method: http.MethodPost, Route: postgresDatabase + "/rename", Body: schema.Closed(name), Handle: renamePostgres},
			{Name: "Postgres.ResetSuperuserPassword", Permission: "Postgres:view", Method: http.MethodPost, Route: postgresDatabase + "/reset-superuser-password", Body: reset, Handle: resetPostgresPassword},
			{Name: "Postgres.Restart", Method: http.MethodPost, Route: postgresDatabase + "/restart", Handle: restartPostgres},
			{Name: "Postgres.Restore", Permission: "Postgres:create", Method: http.MethodPost, Route: postgresDatabase + "/restore", Body: restore, Handle: restorePostgres},
			{Name: "Postgres.SetMaintenanceWindow", Method: http.MethodPost, Route: postgresDatabase + "/set-maintenance-window", Body: window, Handle: setPostgresWindow},
		},
	)
}

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

func findPostgres(c *api.Call) (*postgres, error) {
	return api.Find[*postgres](c, cloudapi.KindPostgres, "postgres_database_reference")
}

func listPostgres(c *api.Call) (any, error) {
	return api.Paginate(c, api.Listed(cloudapi.KindPostgres), api.ObjectName[*postgres], (*postgres).record)
}

func getPostgres(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	r := reply.JSON(http.StatusOK, p.details(c))
	r.Header.Set("Cache-Control", "no-store")
	return r, nil
}

func createPostgres(c *api.Call) (any, error) {
	name, err := newBilled(c, cloudapi.KindPostgres, "postgres_database_reference")
	if err != nil {
		return nil, err
	}
	size, err := c.Body.NonEmpty("size")
	if err != nil {
		return nil, err
	}
	choice := postgresChoice{
		flavor:  c.Choice("flavor", "standard"),
		version: c.Choice("version", postgresVersions[0]),
		size:    size,
		storage: c.Body.Number("storage_size"),
		haType:  c.Choice("ha_type", postgresHATypes[0]),
	}
	servers, err := checkPostgres(c, choice)
	if err == nil {
		err = checkPostgresQuota(c, servers.vcpus())
	}
	if err == nil {
		err = api.CheckName[*postgres](c, cloudapi.KindPostgres, name, nil)
	}
	if err != nil {
		return nil, err
	}
	p := newPostgres(c, name, choice, servers)
	p.tags = bodyTags(c.Body)
	if c.Body.Flag("restrict_by_default") {
		p.rules = []postgresFirewallRule{}
	}
	c.State.Add(p)
	return p.details(c), nil
}

func bodyTags(body schema.Fields) []postgresTag {
	return api.Records(body.List("tags"), func(tag any) postgresTag {
		f := schema.Fields(tag.(map[string]any))
		return postgresTag{f.Text("key"), f.Text("value")}
	})
}

// updatePostgres changes what the body names, on the read replicas too as far as
// they have it.
func updatePostgres(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	choice := postgresChoice{
		flavor:  p.flavor,
		version: p.version,
		size:    c.Choice("size", p.target.vm),
		storage: p.target.storage,
		haType:  c.Choice("ha_type", postgresHATypes[p.target.standbys]),
	}
	if storage, err := c.Body.Positive("storage_size"); err == nil {
		choice.storage = storage
	}
	servers, err := checkPostgres(c, choice)
	if err != nil {
		return nil, err
	}
	// The server asks the database how much it holds before it takes storage away.
	if now := p.record(c); servers.storage < now.StorageSizeGiB && now.State != "running" {
		err := reply.InvalidRequest("Database is not ready for update")
		err.Details = json.RawMessage("{}")
		return nil, err
	}
	if err := checkPostgresQuota(c, servers.vcpus()-p.target.vcpus()); err != nil {
		return nil, err
	}
	for _, r := range p.replicas(c) {
		r.resize(c, postgresServers{servers.vm, servers.storage, r.target.standbys})
	}
	p.resize(c, servers)
	if c.Body.Has("tags") {
		p.tags = bodyTags(c.Body)
	}
	return p.details(c), nil
}

// keepBackups is how long the service keeps the backups of a database that is
// gone.
const keepBackups = 10 * 24 * time.Hour

func deletePostgres(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return reply.DeletedOr(err)
	}
	after := c.Delays(&p.Object).Delete
	c.Remove(p, after, func() { p.Location.InUse = later(p.Location.InUse, c.Now.Add(after+keepBackups)) })
	return reply.NoContent{}, nil
}

func promotePostgres(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	switch {
	case err != nil:
		return nil, err
	case !p.isReplica(c.Now):
		return nil, reply.InvalidRequest("Non read replica servers cannot be promoted.")
	case p.promoted.IsZero():
		p.promoted = later(c.Now, p.running).Add(c.Delays(&p.Object).Promote)
		p.backup = p.promoted.Add(c.Delays(&p.Object).Backup)
	}
	return p.record(c), nil
}

func replicatePostgres(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	name, err := p.newName(c)
	if err != nil {
		return nil, err
	}
	if _, ok := p.earliestRestore(c.Now); !ok {
		return nil, reply.InvalidRequest("Parent server is not ready for read replicas. There are no backups, yet.")
	}
	return p.derive(c, name, false)
}

func restorePostgres(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	name, err := p.newName(c)
	if err != nil {
		return nil, err
	}
	text, err := c.Body.NonEmpty("restore_target")
	if err != nil {
		return nil, err
	}
	target, ok := ruby.ParseDate(text)
	if !ok {
		return nil, invalidDate("restore_target", text)
	}
	earliest, ok := p.earliestRestore(c.Now)
	if !ok || target.Before(earliest) || target.After(c.Now) {
		return nil, reply.InvalidField("restore_target", "Restore target must be between %s and %s",
			ruby.FormatTime(earliest), ruby.FormatTime(c.Now))
	}
	return p.derive(c, name, true)
}

// newName returns the name in the body under which a copy of a database
// is to be created, after a look at the quota.
func (p *postgres) newName(c *api.Call) (string, error) {
	name, err := c.Body.NonEmpty("name")
	if err == nil {
		err = api.CheckNewName(name)
	}
	if err == nil {
		err = checkPostgresQuota(c, p.target.alone().vcpus())
	}
	return name, err
}

// derive creates a read replica or a restored copy. Neither takes over
// standbys, firewall rules, tags or settings.
func (p *postgres) derive(c *api.Call, name string, restored bool) (any, error) {
	if err := api.CheckName[*postgres](c, cloudapi.KindPostgres, name, nil); err != nil {
		return nil, err
	}
	copied := newPostgres(c, name, postgresChoice{flavor: p.flavor, version: p.version}, p.target.alone())
	copied.parent, copied.restored, copied.password = p, restored, p.password
	c.State.Add(copied)
	return copied.details(c), nil
}

func renamePostgres(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err == nil {
		err = api.Rename(c, cloudapi.KindPostgres, p)
	}
	if err != nil {
		return nil, err
	}
	return p.record(c), nil
}

func resetPostgresPassword(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	if p.isReplica(c.Now) {
		return nil, reply.InvalidRequest("Superuser password cannot be updated for read replicas!")
	}
	password := c.Body.Text("password")
	if problems := passwordProblems(password); problems != nil {
		return nil, reply.InvalidFields(reply.Problem{Field: "password", What: problems})
	}
	p.password = password
	return p.details(c), nil
}

func passwordProblems(password string) []string {
	const digits, lower = "0123456789", "abcdefghijklmnopqrstuvwxyz"
	var problems []string
	if len([]rune(password)) < 12 {
		problems = append(problems, "Password must have 12 characters minimum.")
	}
	for _, need := range []struct{ one, of string }{
		{"lowercase letter", lower}, {"uppercase letter", strings.ToUpper(lower)}, {"digit", digits},
	} {
		if !strings.ContainsAny(password, need.of) {
			problems = append(problems, fmt.Sprintf("Password must have at least one %s.", need.one))
		}
	}
	return problems
}

// restartPostgres shows nothing of the restart, as the real server does not.
func restartPostgres(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	return p.details(c), nil
}

// setPostgresWindow removes the window if the body has none.
func setPostgresWindow(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	hour := c.Body.Number("maintenance_window_start_at")
	if hour < 0 || hour > 23 {
		var problems []string
		if hour > math.MaxInt32 {
			problems = append(problems, "maintenance_window_start_at is greater than maximum allowed value")
		}
		return nil, reply.InvalidRecord(append(problems, "maintenance_window_start_at must be between 0 and 23")...)
	}
	p.window = nil
	if c.Body.Has("maintenance_window_start_at") {
		p.window = &hour
	}
	p.reschedule(c.Now)
	return p.details(c), nil
}

// getPostgresCertificates does not know a database without certificates yet.
func getPostgresCertificates(c *api.Call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	certificates := p.caCertificates(c.Now)
	if certificates == nil {
		return nil, reply.NotFound()
	}
	return reply.File{ContentType: "application/x-pem-file", Name: p.Name + ".pem", Content: []byte(*certificates)}, nil
}

// newPostgres returns a database with a password of its own that is open to all
// addresses, as they are unless the request says otherwise.
func newPostgres(c *api.Call, name string, choice postgresChoice, servers postgresServers) *postgres {
	object := c.NewObject(cloudapi.KindPostgres, name)
	delays := c.Delays(&object)
	running := c.Now.Add(delays.Create)
	return &postgres{
		Object:       object,
		flavor:       choice.flavor,
		version:      choice.version,
		built:        servers.alone(),
		target:       servers,
		running:      running,
		due:          running,
		backup:       running.Add(delays.Backup),
		password:     rand.Text(),
		tags:         []postgresTag{},
		rules:        openRules(),
		destinations: []postgresMetricDestination{},
	}
}
