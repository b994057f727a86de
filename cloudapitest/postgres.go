package cloudapitest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

const (
	postgresDatabases = projectRoute + "/location/{location}/postgres"
	postgresDatabase  = postgresDatabases + "/{postgres_database_reference}"
)

func postgresOperations() []operation {
	var (
		tags   = optional("tags", arrayOf(closed(required("key", text), required("value", text))))
		name   = required("name", text)
		create = closed(required("size", text), required("storage_size", integer), optional("flavor", text),
			optional("ha_type", text), optional("version", text), optional("restrict_by_default", boolean), tags)
		update  = closed(optional("ha_type", text), optional("size", text), optional("storage_size", integer), tags)
		restore = closed(name, required("restore_target", text))
		reset   = closed(required("password", text))
		window  = closed(optional("maintenance_window_start_at", integer))
	)
	return slices.Concat(
		[]operation{
			{name: "Postgres.List", method: http.MethodGet, route: projectRoute + "/postgres", list: pagedDeclared, handle: listPostgres},
			{name: "Postgres.ListInLocation", method: http.MethodGet, route: postgresDatabases, list: pagedDeclared, handle: listPostgres},
			{name: "Postgres.Get", method: http.MethodGet, route: postgresDatabase, handle: getPostgres},
			{name: "Postgres.Create", method: http.MethodPost, route: postgresDatabase, body: create, handle: createPostgres},
			{name: "Postgres.Update", method: http.MethodPatch, route: postgresDatabase, body: update, handle: updatePostgres},
			{name: "Postgres.Delete", method: http.MethodDelete, route: postgresDatabase, handle: deletePostgres},
			{name: "Postgres.CACertificates", method: http.MethodGet, route: postgresDatabase + "/ca-certificates", handle: getPostgresCertificates},
		},
		postgresConfigOperations(),
		postgresFirewallOperations(),
		postgresMetricsOperations(),
		[]operation{
			{name: "Postgres.Promote", method: http.MethodPost, route: postgresDatabase + "/promote", handle: promotePostgres},
			{name: "Postgres.CreateReadReplica", method: http.MethodPost, route: postgresDatabase + "/read-replica", body: closed(name), handle: replicatePostgres},
			{name: "Postgres.Rename", method: http.MethodPost, route: postgresDatabase + "/rename", body: closed(name), handle: renamePostgres},
			{name: "Postgres.ResetSuperuserPassword", method: http.MethodPost, route: postgresDatabase + "/reset-superuser-password", body: reset, handle: resetPostgresPassword},
			{name: "Postgres.Restart", method: http.MethodPost, route: postgresDatabase + "/restart", handle: restartPostgres},
			{name: "Postgres.Restore", method: http.MethodPost, route: postgresDatabase + "/restore", body: restore, handle: restorePostgres},
			{name: "Postgres.SetMaintenanceWindow", method: http.MethodPost, route: postgresDatabase + "/set-maintenance-window", body: window, handle: setPostgresWindow},
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

// recordPostgres is the record of a database at the time of the call.
func (c *call) recordPostgres(p *postgres) postgresRecord {
	own := "creating"
	if !c.now.Before(p.running) {
		own = "running"
	}
	current := p.current(c.now)
	return postgresRecord{
		ID:                       p.id,
		Name:                     p.name,
		State:                    p.shown(own),
		Location:                 p.location.name,
		VMSize:                   current.vm,
		TargetVMSize:             p.target.vm,
		StorageSizeGiB:           current.storage,
		TargetStorageSizeGiB:     p.target.storage,
		Version:                  p.version,
		HAType:                   postgresHATypes[p.target.standbys],
		Flavor:                   p.flavor,
		CACertificates:           p.caCertificates(c.now),
		MaintenanceWindowStartAt: p.window,
		ReadReplica:              p.isReplica(c.now),
		Parent:                   c.pathOfParent(p),
		Tags:                     p.tags,
	}
}

// pathOfParent returns the path of the database from which one was replicated or
// restored, while that is there and still counts.
func (c *call) pathOfParent(p *postgres) *string {
	if p.parent == nil || c.state.byID[p.parent.id] == nil || !p.restored && !p.isReplica(c.now) {
		return nil
	}
	path := fmt.Sprintf("/location/%s/postgres/%s", p.parent.location.name, p.parent.name)
	return &path
}

func (c *call) detailPostgres(p *postgres) postgresDetails {
	rules := slices.Clone(p.rules)
	slices.SortFunc(rules, func(a, b postgresFirewallRule) int { return compareCIDRs(a.CIDR, b.CIDR) })
	d := postgresDetails{
		postgresRecord:     c.recordPostgres(p),
		ConnectionString:   p.connectionString(),
		Primary:            p.isPrimary(c.now),
		FirewallRules:      rules,
		MetricDestinations: p.destinations,
		ReadReplicas:       records(c.replicasOf(p), c.recordPostgres),
	}
	if !d.Primary {
		return d
	}
	d.LatestRestoreTime = c.now.UTC().Format(time.RFC3339)
	switch earliest, ok := p.earliestRestore(c.now); {
	case ok:
		d.EarliestRestoreTime = jsonReply(0, earliest.UTC().Format(time.RFC3339)).body
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
		Host:     fmt.Sprintf("%s.%s.postgres.localhost:5432", p.name, p.id),
		Path:     "/postgres",
		RawQuery: "sslmode=require",
	}
	return u.String()
}

// replicasOf returns the read replicas of a database.
func (c *call) replicasOf(p *postgres) []*postgres {
	return slices.DeleteFunc(inProject[*postgres](c.state, cloudapi.KindPostgres, c.project), func(r *postgres) bool {
		return r.parent != p || !r.isReplica(c.now)
	})
}

func findPostgres(c *call) (*postgres, error) {
	return find[*postgres](c, cloudapi.KindPostgres, "postgres_database_reference")
}

func listPostgres(c *call) (any, error) {
	return paginate(c, listed(c, cloudapi.KindPostgres), objectName[*postgres], c.recordPostgres)
}

func getPostgres(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	r := jsonReply(http.StatusOK, c.detailPostgres(p))
	r.header.Set("Cache-Control", "no-store")
	return r, nil
}

func createPostgres(c *call) (any, error) {
	name, err := c.newReference(cloudapi.KindPostgres, "postgres_database_reference")
	if err != nil {
		return nil, err
	}
	size, err := c.body.nonEmpty("size")
	if err != nil {
		return nil, err
	}
	choice := postgresChoice{
		flavor:  c.choice("flavor", "standard"),
		version: c.choice("version", postgresVersions[0]),
		size:    size,
		storage: c.body.number("storage_size"),
		haType:  c.choice("ha_type", postgresHATypes[0]),
	}
	servers, err := c.checkPostgres(choice)
	if err == nil {
		err = c.checkPostgresQuota(servers.vcpus())
	}
	if err == nil {
		err = checkName[*postgres](c, cloudapi.KindPostgres, name, nil)
	}
	if err != nil {
		return nil, err
	}
	p := c.newPostgres(name, choice, servers)
	p.tags = bodyTags(c.body)
	if c.body.flag("restrict_by_default") {
		p.rules = []postgresFirewallRule{}
	}
	c.state.add(p)
	return c.detailPostgres(p), nil
}

func bodyTags(body fields) []postgresTag {
	return records(body.list("tags"), func(tag any) postgresTag {
		f := fields(tag.(map[string]any))
		return postgresTag{f.text("key"), f.text("value")}
	})
}

// updatePostgres changes what the body names, on the read replicas too as far as
// they have it.
func updatePostgres(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	choice := postgresChoice{
		flavor:  p.flavor,
		version: p.version,
		size:    c.choice("size", p.target.vm),
		storage: p.target.storage,
		haType:  c.choice("ha_type", postgresHATypes[p.target.standbys]),
	}
	if storage, err := c.body.positive("storage_size"); err == nil {
		choice.storage = storage
	}
	servers, err := c.checkPostgres(choice)
	if err != nil {
		return nil, err
	}
	// The server asks the database how much it holds before it takes storage away.
	if now := c.recordPostgres(p); servers.storage < now.StorageSizeGiB && now.State != "running" {
		err := invalidRequest("Database is not ready for update")
		err.Details = json.RawMessage("{}")
		return nil, err
	}
	if err := c.checkPostgresQuota(servers.vcpus() - p.target.vcpus()); err != nil {
		return nil, err
	}
	for _, r := range c.replicasOf(p) {
		r.resize(c, postgresServers{servers.vm, servers.storage, r.target.standbys})
	}
	p.resize(c, servers)
	if c.body.has("tags") {
		p.tags = bodyTags(c.body)
	}
	return c.detailPostgres(p), nil
}

func deletePostgres(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return deletedOr(err)
	}
	c.remove(p, c.config.delays.Delete, nil)
	return noContent{}, nil
}

func promotePostgres(c *call) (any, error) {
	p, err := findPostgres(c)
	switch {
	case err != nil:
		return nil, err
	case !p.isReplica(c.now):
		return nil, invalidRequest("Non read replica servers cannot be promoted.")
	case p.promoted.IsZero():
		p.promoted = later(c.now, p.running).Add(c.config.delays.Promote)
		p.backup = p.promoted.Add(c.config.delays.Backup)
	}
	return c.recordPostgres(p), nil
}

func replicatePostgres(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	name, err := c.newPostgresName(p)
	if err != nil {
		return nil, err
	}
	if _, ok := p.earliestRestore(c.now); !ok {
		return nil, invalidRequest("Parent server is not ready for read replicas. There are no backups, yet.")
	}
	return c.derivePostgres(p, name, false)
}

func restorePostgres(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	name, err := c.newPostgresName(p)
	if err != nil {
		return nil, err
	}
	text, err := c.body.nonEmpty("restore_target")
	if err != nil {
		return nil, err
	}
	target, ok := parseDate(text)
	if !ok {
		return nil, invalidDate("restore_target", text)
	}
	earliest, ok := p.earliestRestore(c.now)
	if !ok || target.Before(earliest) || target.After(c.now) {
		return nil, invalidField("restore_target", "Restore target must be between %s and %s",
			rubyTime(earliest), rubyTime(c.now))
	}
	return c.derivePostgres(p, name, true)
}

// newPostgresName returns the name in the body under which a copy of a database
// is to be created, after a look at the quota.
func (c *call) newPostgresName(p *postgres) (string, error) {
	name, err := c.body.nonEmpty("name")
	if err == nil {
		err = checkNewName(name)
	}
	if err == nil {
		err = c.checkPostgresQuota(p.target.alone().vcpus())
	}
	return name, err
}

// derivePostgres creates a read replica or a restored copy. Neither takes over
// standbys, firewall rules, tags or settings.
func (c *call) derivePostgres(parent *postgres, name string, restored bool) (any, error) {
	if err := checkName[*postgres](c, cloudapi.KindPostgres, name, nil); err != nil {
		return nil, err
	}
	p := c.newPostgres(name, postgresChoice{flavor: parent.flavor, version: parent.version}, parent.target.alone())
	p.parent, p.restored, p.password = parent, restored, parent.password
	c.state.add(p)
	return c.detailPostgres(p), nil
}

func renamePostgres(c *call) (any, error) {
	p, err := findPostgres(c)
	if err == nil {
		err = rename(c, cloudapi.KindPostgres, p)
	}
	if err != nil {
		return nil, err
	}
	return c.recordPostgres(p), nil
}

func resetPostgresPassword(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	if p.isReplica(c.now) {
		return nil, invalidRequest("Superuser password cannot be updated for read replicas!")
	}
	password := c.body.text("password")
	if problems := passwordProblems(password); problems != nil {
		return nil, invalidFields(problem{"password", problems})
	}
	p.password = password
	return c.detailPostgres(p), nil
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
func restartPostgres(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	return c.detailPostgres(p), nil
}

// setPostgresWindow removes the window if the body has none.
func setPostgresWindow(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	hour := c.body.number("maintenance_window_start_at")
	if hour < 0 || hour > 23 {
		return nil, invalidRequest("maintenance_window_start_at must be between 0 and 23")
	}
	p.window = nil
	if c.body.has("maintenance_window_start_at") {
		p.window = &hour
	}
	p.reschedule(c.now)
	return c.detailPostgres(p), nil
}

// getPostgresCertificates does not know a database without certificates yet.
func getPostgresCertificates(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	certificates := p.caCertificates(c.now)
	if certificates == nil {
		return nil, notFound()
	}
	return file{"application/x-pem-file", p.name + ".pem", []byte(*certificates)}, nil
}

// newPostgres returns a database with a password of its own that is open to all
// addresses, as they are unless the request says otherwise.
func (c *call) newPostgres(name string, choice postgresChoice, servers postgresServers) *postgres {
	running := c.now.Add(c.config.delays.Create)
	return &postgres{
		object:       c.newObject(cloudapi.KindPostgres, name),
		flavor:       choice.flavor,
		version:      choice.version,
		built:        servers.alone(),
		target:       servers,
		running:      running,
		due:          running,
		backup:       running.Add(c.config.delays.Backup),
		password:     rand.Text(),
		tags:         []postgresTag{},
		rules:        openRules(),
		destinations: []postgresMetricDestination{},
	}
}

// parseDate reads a date in one of the forms that people write. It is in UTC if
// it does not say otherwise.
func parseDate(s string) (time.Time, bool) {
	s = spaceBeforeClock(strings.TrimSpace(s))
	for _, clock := range []string{"", " 15:04", " 15:04:05"} {
		for _, zone := range []string{"", "Z07:00", "Z0700", "Z07", " UTC", " Z07:00", " Z0700"} {
			if t, err := time.Parse(time.DateOnly+clock+zone, s); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// rubyTime is a time in the spelling of messages, "" if there is none.
func rubyTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime + " -0700")
}
