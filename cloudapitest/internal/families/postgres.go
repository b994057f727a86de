package families

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
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
			api.GET("Postgres.List", api.ProjectRoute+"/postgres", api.List(cloudapi.KindPostgres, (*postgres).record)).Paged(api.PagedDeclared),
			api.GET("Postgres.ListInLocation", postgresDatabases, api.List(cloudapi.KindPostgres, (*postgres).record)).Paged(api.PagedDeclared),
			api.GET("Postgres.Get", postgresDatabase, api.On(findPostgres, (*postgres).show)),
			api.POST("Postgres.Create", postgresDatabase, create, createPostgres),
			api.PATCH("Postgres.Update", postgresDatabase, update, api.On(findPostgres, (*postgres).update)),
			api.DELETE("Postgres.Delete", postgresDatabase, api.Delete(findPostgres, (*postgres).delete)),
			api.GET("Postgres.CACertificates", postgresDatabase+"/ca-certificates", api.On(findPostgres, (*postgres).file)),
		},
		postgresConfigOperations(),
		postgresFirewallOperations(),
		postgresMetricsOperations(),
		[]api.Operation{
			api.POST("Postgres.Promote", postgresDatabase+"/promote", api.NoBody, api.On(findPostgres, (*postgres).promote)),
			api.POST("Postgres.CreateReadReplica", postgresDatabase+"/read-replica", schema.Closed(name), api.On(findPostgres, (*postgres).replicate)),
			api.POST("Postgres.Rename", postgresDatabase+"/rename", schema.Closed(name), api.Renames(cloudapi.KindPostgres, findPostgres, (*postgres).record)),
			api.POST("Postgres.ResetSuperuserPassword", postgresDatabase+"/reset-superuser-password", reset, api.On(findPostgres, (*postgres).resetPassword)).Needs("Postgres:view"),
			// A restart shows nowhere, as with the real server.
			api.POST("Postgres.Restart", postgresDatabase+"/restart", api.NoBody, api.Show(findPostgres, (*postgres).details)),
			api.POST("Postgres.Restore", postgresDatabase+"/restore", restore, api.On(findPostgres, (*postgres).restore)).Needs("Postgres:create"),
			api.POST("Postgres.SetMaintenanceWindow", postgresDatabase+"/set-maintenance-window", window, api.On(findPostgres, (*postgres).setWindow)),
		},
	)
}

func findPostgres(c *api.Call) (*postgres, error) {
	return api.Find[*postgres](c, cloudapi.KindPostgres, "postgres_database_reference")
}

func (p *postgres) show(c *api.Call) (any, error) {
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

// update changes what the body names, on the read replicas too as far as they have
// it.
func (p *postgres) update(c *api.Call) (any, error) {
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

func (p *postgres) delete(c *api.Call) error {
	after := c.Delays(&p.Object).Delete
	c.Remove(p, after, func() { p.Location.InUse = later(p.Location.InUse, c.Now.Add(after+keepBackups)) })
	return nil
}

func (p *postgres) promote(c *api.Call) (any, error) {
	switch {
	case !p.isReplica(c.Now):
		return nil, reply.InvalidRequest("Non read replica servers cannot be promoted.")
	case p.promoted.IsZero():
		p.promoted = later(c.Now, p.running).Add(c.Delays(&p.Object).Promote)
		p.backup = p.promoted.Add(c.Delays(&p.Object).Backup)
	}
	return p.record(c), nil
}

func (p *postgres) replicate(c *api.Call) (any, error) {
	name, err := p.newName(c)
	if err != nil {
		return nil, err
	}
	if _, ok := p.earliestRestore(c.Now); !ok {
		return nil, reply.InvalidRequest("Parent server is not ready for read replicas. There are no backups, yet.")
	}
	return p.derive(c, name, false)
}

func (p *postgres) restore(c *api.Call) (any, error) {
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

// newName returns the name in the body under which a copy of a database is to be
// created, after a look at the quota.
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

// derive creates a read replica or a restored copy. Neither takes over standbys,
// firewall rules, tags or settings.
func (p *postgres) derive(c *api.Call, name string, restored bool) (any, error) {
	if err := api.CheckName[*postgres](c, cloudapi.KindPostgres, name, nil); err != nil {
		return nil, err
	}
	copied := newPostgres(c, name, postgresChoice{flavor: p.flavor, version: p.version}, p.target.alone())
	copied.parent, copied.restored, copied.password = p, restored, p.password
	c.State.Add(copied)
	return copied.details(c), nil
}

func (p *postgres) resetPassword(c *api.Call) (any, error) {
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

// setWindow removes the window if the body has none.
func (p *postgres) setWindow(c *api.Call) (any, error) {
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

// file does not know a database without certificates yet.
func (p *postgres) file(c *api.Call) (any, error) {
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
