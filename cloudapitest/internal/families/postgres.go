package families

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

const (
	postgresDatabases = api.LocationRoute + "/postgres"
	postgresDatabase  = postgresDatabases + "/{postgres_database_reference}"
)

func postgresOperations() []api.Operation {
	var (
		tags = schema.Optional("tags", schema.ArrayOf(schema.Closed(schema.Required("key", schema.Text), schema.Required("value", schema.Text)).Named("PostgresTag")))
		name = schema.Required("name", schema.Text)

		pgConfig      = schema.Optional("pg_config", configValues).Only(version.Service)
		bouncerConfig = schema.Optional("pgbouncer_config", configValues).Only(version.Service)

		create = schema.Closed(schema.Required("size", schema.Text), schema.Required("storage_size", schema.Integer), schema.Optional("flavor", schema.Text),
			schema.Optional("ha_type", schema.Text), schema.Optional("restrict_by_default", schema.Boolean), tags,
			schema.Optional("version", schema.Text).Only(version.Contract),
			schema.Optional("version", schema.OneOf("16", "17", "18")).Only(version.Service),
			schema.Optional("private_subnet_name", schema.Text).Only(version.Service),
			pgConfig, bouncerConfig)
		update  = schema.Closed(schema.Optional("ha_type", schema.Text), schema.Optional("size", schema.Text), schema.Optional("storage_size", schema.Integer), tags)
		newTags = tags.Only(version.Service)
		replica = schema.Closed(name, pgConfig, bouncerConfig, newTags)
		restore = schema.Closed(name, schema.Required("restore_target", schema.Text).Only(version.Contract),
			schema.Required("restore_target", schema.Moment).Only(version.Service), pgConfig, bouncerConfig, newTags)
		reset  = schema.Closed(schema.Required("password", schema.Text))
		day    = schema.OneOf("mon", "tue", "wed", "thu", "fri", "sat", "sun").Named("MaintenanceWindowDay")
		window = schema.Closed(schema.Optional("maintenance_window_start_at", schema.Integer),
			schema.Optional("maintenance_window_days", schema.ArrayOf(day)).Only(version.Service))
		list = api.GET("Postgres.List", api.ProjectRoute+"/postgres", listPostgres).Paged(api.PagedDeclared)

		resetPassword = api.POST("Postgres.ResetSuperuserPassword", postgresDatabase+"/reset-superuser-password", reset, api.On(findPostgres, (*postgres).resetPassword))
	)
	return slices.Concat(
		[]api.Operation{
			list.Only(version.Contract), list.Takes(schema.Texts("tags")...).Only(version.Service),
			api.GET("Postgres.ListInLocation", postgresDatabases, api.List(cloudapi.KindPostgres, (*postgres).record)).Paged(api.PagedDeclared),
			api.GET("Postgres.Get", postgresDatabase, api.On(findPostgres, (*postgres).show)),
			api.POST("Postgres.Create", postgresDatabase, create, createPostgres),
			api.PATCH("Postgres.Update", postgresDatabase, update, api.On(findPostgres, (*postgres).update)),
			api.DELETE("Postgres.Delete", postgresDatabase, api.Delete(findPostgres, (*postgres).delete)),
		},
		postgresCapabilityOperations(),
		postgresCertificateOperations(),
		postgresConfigOperations(),
		postgresFirewallOperations(),
		postgresMetricsOperations(),
		postgresDestinationOperations(),
		postgresServerOperations(),
		postgresUpgradeOperations(),
		postgresBackupOperations(),
		postgresLogOperations(),
		[]api.Operation{
			api.POST("Postgres.Promote", postgresDatabase+"/promote", api.NoBody, api.On(findPostgres, (*postgres).promote)),
			api.POST("Postgres.PromoteReadReplica", postgresDatabase+"/promote-read-replica", api.NoBody, api.On(findPostgres, (*postgres).promote)).Only(version.Service),
			api.POST("Postgres.CreateReadReplica", postgresDatabase+"/read-replica", replica, api.On(findPostgres, (*postgres).replicate)),
			api.POST("Postgres.Rename", postgresDatabase+"/rename", nameOnly, api.Renames(cloudapi.KindPostgres, findPostgres, (*postgres).record)),
			resetPassword.Needs("Postgres:view").Only(version.Contract), resetPassword.Only(version.Service),
			api.POST("Postgres.Restart", postgresDatabase+"/restart", api.NoBody, api.On(findPostgres, (*postgres).restart)),
			api.POST("Postgres.Restore", postgresDatabase+"/restore", restore, api.On(findPostgres, (*postgres).restore)).Needs("Postgres:view"),
			api.POST("Postgres.SetMaintenanceWindow", postgresDatabase+"/set-maintenance-window", window, api.On(findPostgres, (*postgres).setWindow)),
		},
	)
}

// postgres is a database. The methods compute its state from the times in its
// fields.
type postgres struct {
	api.Object
	flavor       string
	subnet       *privateSubnet
	password     string
	window       *maintenanceWindow // nil if there is none
	tags         []postgresTag
	destinations []postgresMetricDestination
	logs         []postgresLogDestination
	lines        []loggedLine // the lines added with AddLogLine, oldest first
	users        []string     // names of the users who log in with certificates
	config       postgresConfig
	certificates invented // created by the first request for them

	parent   *postgres // parent of a replica or restored copy, even if the parent is deleted
	restored time.Time // the time to which a copy was restored; zero if the database isn't a restored copy
	released time.Time // when a promoted replica stops being a replica; zero without a promotion
	promoted time.Time // when a promoted replica begins to take writes; zero without a promotion

	created   time.Time // as in the record
	ordered   time.Time // beginning of the creation
	running   time.Time // end of the creation
	restarted time.Time // end of the last restart
	backup    time.Time // time of the first backup since the creation or promotion

	// built describes the servers before the last change. target describes the
	// new servers, which take over at the time given by due. During the creation,
	// built is the primary alone.
	built, target postgresServers
	former, fleet []string          // the IDs of the built and the target servers, the primary first
	shown         map[string]string // the states that servers show instead of their own, by ID
	begun         time.Time         // beginning of the last change
	ready         time.Time         // when the new servers are ready; zero before the first change
	due           time.Time         // when the new servers take over
	step          time.Duration     // the duration of one step; a failover takes one step from due on, and an upgrade takes four
}

// onAWS reports whether the database is in a private location, which is a
// region of AWS.
func (p *postgres) onAWS() bool { return p.Location.Owner != nil }

func listPostgres(c *api.Call) (any, error) {
	list := api.Listed(cloudapi.KindPostgres)
	if text, _ := api.Last(c.Query, "tags"); text != "" && c.Config.Version == version.Service {
		var wanted []postgresTag
		for pair := range strings.SplitSeq(text, ",") {
			key, value, ok := strings.Cut(pair, ":")
			if !ok {
				return nil, reply.InvalidField("tags", "Invalid tag format. Expected format: key:value")
			}
			wanted = append(wanted, postgresTag{key, value})
		}
		list = api.Only(list, func(p *postgres) bool {
			return !slices.ContainsFunc(wanted, func(tag postgresTag) bool { return !slices.Contains(p.tags, tag) })
		})
	}
	return api.Paginate(c, list, api.ObjectName, (*postgres).record)
}

func findPostgres(c *api.Call) (*postgres, error) {
	return api.Find[*postgres](c, cloudapi.KindPostgres, "postgres_database_reference")
}

// show forbids caches to store the record, which contains the password.
func (p *postgres) show(c *api.Call) (any, error) {
	r := reply.JSON(http.StatusOK, p.details(c.Moment))
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
	flavor := c.Choice("flavor", "standard")
	choice := postgresChoice{
		flavor:  flavor,
		version: c.Choice("version", postgresTermsOf(c.Moment).versionsOf(flavor)[0]),
		size:    size,
		storage: c.Body.Number("storage_size"),
		haType:  c.Choice("ha_type", postgresHATypes[0]),
	}
	servers, err := postgresServersFor(c, choice)
	if err != nil {
		return nil, err
	}
	p := newPostgres(c, name, choice.flavor, servers)
	err = c.Run(
		p.setConfig, p.checkSubnetName,
		func(c *api.Call) error { return checkPostgresQuota(c, servers.vcpus()) },
		func(c *api.Call) error { return api.CheckNameIsFree[*postgres](c, cloudapi.KindPostgres, name, nil) },
	)
	if err != nil {
		return nil, err
	}
	p.tags = bodyTags(c.Body)
	if err := p.makeNetwork(c, !c.Body.Flag("restrict_by_default")); err != nil {
		return nil, err
	}
	c.State.Add(p)
	c.Log("create", p.ID)
	return p.details(c.Moment), nil
}

func bodyTags(body schema.Fields) []postgresTag {
	return api.Records(body.List("tags"), func(tag any) postgresTag {
		f := schema.Fields(tag.(map[string]any))
		return postgresTag{f.Text("key"), f.Text("value")}
	})
}

func (p *postgres) update(c *api.Call) (any, error) {
	if postgresTermsOf(c.Moment).explicit && p.isReplica(c.Now) {
		return nil, reply.InvalidRequest("Read replicas cannot be modified directly! Please modify the parent database instead.")
	}
	choice := postgresChoice{
		flavor:  p.flavor,
		version: p.target.version,
		size:    c.Choice("size", p.target.vm),
		storage: p.target.storage,
		haType:  c.Choice("ha_type", postgresHATypes[p.target.standbys]),
	}
	if storage, err := c.Body.Positive("storage_size"); err == nil {
		choice.storage = storage
	}
	servers, err := p.target, error(nil)
	if unchanged := (postgresChoice{p.flavor, servers.version, servers.vm, servers.storage, postgresHATypes[servers.standbys]}); choice != unchanged {
		servers, err = postgresServersFor(c, choice) // a copy can have what isn't offered
	}
	if err != nil {
		return nil, err
	}
	// Before reducing the storage, the real server asks the database how much of
	// it is in use. Only a running database answers.
	if now := p.record(c.Moment); servers.storage < now.StorageSizeGiB && now.State != "running" {
		err := reply.InvalidRequest("Database is not ready for update")
		err.Details = json.RawMessage("{}")
		return nil, err
	}
	if err := checkPostgresQuota(c, servers.vcpus()-p.target.vcpus()); err != nil {
		return nil, err
	}
	for _, r := range p.replicas(c.Moment) {
		resized := servers
		resized.version, resized.standbys = r.target.version, r.target.standbys
		r.resize(c, resized)
	}
	p.resize(c, servers)
	if c.Body.Has("tags") {
		p.tags = bodyTags(c.Body)
	}
	c.Log("update", p.ID)
	return p.details(c.Moment), nil
}

// keepBackups is how long the real server keeps the backups of a deleted
// database.
const keepBackups = 10 * 24 * time.Hour

func (p *postgres) delete(c *api.Call) error {
	delay := c.Delays(&p.Object).Delete
	if l := p.privateLink(c.Moment); l != nil { // the database waits for it
		link := c.Delays(&l.Object).Delete
		c.Remove(l, link)
		delay = max(delay, link)
	}
	c.Remove(p, delay)
	c.Log("destroy", p.ID)
	return nil
}

// Gone keeps the database's location for the backups, and deletes its network.
func (p *postgres) Gone(at *api.Moment) {
	p.Location.InUse = latest(p.Location.InUse, at.Now.Add(keepBackups))
	p.leaveNetwork(at, at.Delays(&p.Object).Vacate)
}

func (p *postgres) restart(c *api.Call) (any, error) {
	p.restarted = latest(c.Now, p.running).Add(c.Delays(&p.Object).Restart)
	c.Log("restart", p.ID)
	return p.details(c.Moment), nil
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
	if postgresTermsOf(c.Moment).explicit {
		for _, r := range p.replicas(c.Moment) {
			r.password = password
		}
	}
	c.Log("reset_superuser_password", p.ID)
	return p.details(c.Moment), nil
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

// newPostgres leaves the subnet and the firewall to makeNetwork.
func newPostgres(c *api.Call, name, flavor string, servers postgresServers) *postgres {
	object := c.NewObject(cloudapi.KindPostgres, name)
	delays := c.Delays(&object)
	running := c.Now.Add(delays.Create)
	return &postgres{
		Object:       object,
		flavor:       flavor,
		created:      c.Now,
		ordered:      c.Now,
		built:        servers.withoutStandbys(),
		target:       servers,
		fleet:        newServerIDs(servers.standbys + 1),
		running:      running,
		due:          running,
		backup:       running.Add(delays.Backup),
		password:     rand.Text(),
		tags:         []postgresTag{},
		logs:         []postgresLogDestination{},
		users:        []string{},
		destinations: []postgresMetricDestination{},
	}
}
