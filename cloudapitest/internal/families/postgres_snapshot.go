package families

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// postgresCopy is a database in a snapshot.
type postgresCopy struct {
	postgresDetails
	ReadReplicas []reference            `json:"read_replicas"`
	Config       settingsCopy           `json:"config"`
	Servers      []postgresServerRecord `json:"servers,omitempty"` // none in the contract
}

type settingsCopy struct {
	Postgres  map[string]json.RawMessage `json:"pg_config"`
	PgBouncer map[string]json.RawMessage `json:"pgbouncer_config"`
	Defaults  map[string]invented        `json:"default_pg_config,omitempty"`
	Message   invented                   `json:"message,omitempty"`
}

// clean sorts the replicas and servers, whose order doesn't mean anything. It
// removes the values of settings that the server doesn't know: it would refuse
// each change of the others, and a value could be a secret.
func (r *postgresCopy) clean(c *cleaner) {
	slices.SortFunc(r.ReadReplicas, func(a, b reference) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Servers, func(a, b postgresServerRecord) int { return strings.Compare(a.Role+a.ID, b.Role+b.ID) }) // the primary first
	for i := range r.MetricDestinations {
		c.url(&r.MetricDestinations[i].URL)
	}
	if r.PostgresServiceDetails != nil {
		for i := range r.LogDestinations {
			c.url(&r.LogDestinations[i].URL)
		}
	}
	r.Config.Defaults = nil
	for _, group := range []struct {
		field  string
		values map[string]json.RawMessage
		known  settings
	}{{"pg_config", r.Config.Postgres, postgresSettings}, {"pgbouncer_config", r.Config.PgBouncer, pgBouncerSettings}} {
		for name := range group.values {
			if group.known[name] == nil {
				delete(group.values, name)
				c.found[cloudapi.KindPostgres.String()+".config."+group.field+"."+name] = true
			}
		}
	}
}

func (r *postgresCopy) load(l *loader) error {
	o, err := l.objectIn(r.Location, r.ID, r.Name)
	if err != nil {
		return err
	}
	p := &postgres{
		Object: o, flavor: r.Flavor, password: rand.Text(), tags: orEmpty(r.Tags), users: []string{},
		destinations: orEmpty(r.MetricDestinations), logs: []postgresLogDestination{},
		config: postgresConfig{fieldsOf(r.Config.Postgres), fieldsOf(r.Config.PgBouncer)},
		window: windowOf(r.MaintenanceWindowStartAt, nil),
	}
	if f := r.PostgresServiceFields; f != nil && f.MaintenanceWindowDays != nil {
		p.window = windowOf(r.MaintenanceWindowStartAt, *f.MaintenanceWindowDays)
		if !slices.Contains(l.Project.Features, FeatureMaintenanceWindowDays) {
			l.Project.Features = append(l.Project.Features, FeatureMaintenanceWindowDays)
		}
	}
	if r.PostgresServiceDetails != nil {
		p.logs = orEmpty(r.LogDestinations)
	}
	if err := r.loadNetwork(l, p); err != nil {
		return err
	}
	r.loadTimes(l, p)
	r.loadServers(l, p)
	l.State.Add(p)
	if r.Parent != nil || !r.Primary {
		l.later = append(l.later, func() { r.loadParent(l, p) })
	}
	l.show(p, r.State, "running", "restarting", "creating", "restoring_backup", "replaying_wal", "finalizing_restore")
	return nil
}

func fieldsOf(values map[string]json.RawMessage) schema.Fields {
	fields := schema.Fields{}
	for name, value := range values {
		fields[name] = value
	}
	return fields
}

// loadNetwork finds the subnet of a database. If no GET shows the subnet, as in
// the contract, the record of the database has the rules of its firewall.
func (r *postgresCopy) loadNetwork(l *loader, p *postgres) error {
	if l.Config.Version == version.Service {
		p.subnet = l.networkOf(p.ID)
	}
	if p.subnet != nil {
		return nil
	}
	f := &firewall{Object: api.Object{Name: p.firewallName()}}
	p.subnet = &privateSubnet{firewalls: []*firewall{f}}
	return f.loadRules(api.Records(r.FirewallRules, func(r postgresFirewallRuleRecord) firewallRuleRecord {
		ports := everyPort
		if r.Port != 0 {
			ports = portRange{r.Port, r.Port}
		}
		return firewallRuleRecord{ID: r.ID, CIDR: r.CIDR, PortRange: ports.String(), Description: &r.Description}
	}))
}

// loadTimes supposes that a creation is in the middle of the stage that the
// record shows.
func (r *postgresCopy) loadTimes(l *loader, p *postgres) {
	delays := l.Delays(&p.Object)
	p.created = l.Now.Add(-24 * time.Hour)
	if f := r.PostgresServiceFields; f != nil {
		if t, err := time.Parse(time.RFC3339, f.CreatedAt); err == nil {
			p.created = t
		}
	}
	p.ordered, p.running = p.created, p.created
	stages := postgresStages(r.State == "finalizing_restore")
	i, n := slices.Index(stages, r.State), len(stages)
	if i >= 0 && r.Primary { // the database itself has only one stage, but its servers have two
		i, n = 0, 2
		if slices.ContainsFunc(r.Servers, func(s postgresServerRecord) bool { return s.State == "creating" }) {
			i = 1
		}
	}
	if i >= 0 {
		p.ordered, p.running = stageTimes(l.Now, delays.Create, i, n)
	}
	if r.State == "restarting" {
		p.restarted = l.Now.Add(delays.Restart)
	}
	var earliest string
	json.Unmarshal(r.EarliestRestoreTime, &earliest) // null before the first backup
	t, err := time.Parse(time.RFC3339, earliest)
	if p.backup = t.Add(-5 * time.Minute); err != nil {
		p.backup = latest(l.Now, p.running).Add(max(0, delays.Backup))
	}
}

// stageTimes returns the beginning and the end of a change that takes the given
// time and is in the middle of stage i of n.
func stageTimes(now time.Time, takes time.Duration, i, n int) (begun, end time.Time) {
	begun = now.Add(-takes * time.Duration(2*i+1) / time.Duration(2*n))
	return begun, begun.Add(takes)
}

// loadServers recognizes a change of the servers by what is different: the
// present and the target size or version, the states and sizes of the servers,
// and their number.
func (r *postgresCopy) loadServers(l *loader, p *postgres) {
	n := max(0, slices.Index(postgresHATypes, r.HAType)) + 1 // the number of servers after the change
	p.target = postgresServers{r.Version, r.TargetVMSize, r.TargetStorageSizeGiB, n - 1}
	if f := r.PostgresServiceFields; f != nil {
		p.target.version = f.TargetVersion
	}
	pad := func(ids []string) []string {
		return append(slices.Clone(ids[:min(len(ids), n)]), newServerIDs(n-min(len(ids), n))...)
	}
	stages := []string{"updating", "creating", "synchronizing"}
	var old, added, leaving []string // the primary comes first
	stage, failingOver, size := len(stages), false, r.VMSize
	for i, s := range r.Servers {
		if i == 0 || s.State == "deleting" {
			size = s.VMSize // of the servers before the change
		}
		if !slices.Contains(append(stages, "running", "failing_over", "deleting"), s.State) {
			p.showServer(s.ID, s.State)
		}
		switch own := slices.Index(stages, s.State); {
		case s.State == "deleting":
			leaving = append(leaving, s.ID)
		case s.State == "failing_over":
			added, failingOver = append([]string{s.ID}, added...), true
		case own >= 0:
			added, stage = append(added, s.ID), min(stage, own)
		case s.VMSize != r.Servers[0].VMSize:
			added = append(added, s.ID)
		default:
			old = append(old, s.ID)
		}
	}
	if l.Now.Before(p.running) {
		p.built, p.due, p.fleet = p.target.withoutStandbys(), p.running, pad(append(old, added...))
		return
	}
	p.built = postgresServers{r.Version, size, cmp.Or(r.StorageSizeGiB, p.target.storage), max(1, len(old)) - 1}
	alike := p.built.withoutStandbys() == p.target.withoutStandbys()
	if alike && leaving == nil && added == nil && (len(old) == n || r.Servers == nil) {
		p.built, p.fleet = p.target, pad(old)
		return
	}
	delay := l.Delays(&p.Object).Resize
	p.step, p.begun, p.ready = delay/4, l.Now, l.Now
	if leaving != nil { // the new servers have taken over
		p.former, p.fleet = leaving, pad(append(old, added...))
		p.due = l.Now.Add(-p.step * 3 / 2)
		return
	}
	if more := min(n-len(added), len(old)-n); !alike && more > 0 { // an upgrade: the new servers have the same size, and some are ready
		old, added = old[:len(old)-more], append(added, old[len(old)-more:]...)
	}
	switch kept := n - len(added); {
	case !alike:
		p.fleet = pad(added)
	case len(old) > kept && added != nil: // the primary is replaced
		p.fleet = pad(append(added, old[len(old)-max(0, kept):]...))
	default: // only the number of standbys changes
		p.fleet = pad(append(slices.Clone(old), added...))
	}
	if p.former = old; old == nil {
		p.former = newServerIDs(1) // with the contract, no GET shows them
	}
	switch {
	case failingOver:
		p.due = l.Now.Add(-p.step / 2)
	case stage < len(stages) || added == nil:
		p.begun, p.ready = stageTimes(l.Now, delay, stage%len(stages), len(stages))
		p.due = p.inWindow(p.ready)
	default:
		p.due = latest(p.inWindow(l.Now), l.Now.Add(p.step))
	}
}

// loadParent tells replicas, promoted replicas and restored copies apart. One
// whose parent isn't in the snapshot gets a parent that isn't in the project.
func (r *postgresCopy) loadParent(l *loader, p *postgres) {
	if r.Parent != nil {
		parts := strings.Split(*r.Parent, "/") // "", "location", its name, "postgres", the parent's name
		if len(parts) == 5 && l.EnterLocation(parts[2]) == nil {
			p.parent, _ = api.FindByName[*postgres](l.Call, cloudapi.KindPostgres, parts[4])
		}
	}
	circle := false
	for ancestor := p.parent; ancestor != nil && !circle; ancestor = ancestor.parent {
		circle = ancestor == p
	}
	if p.parent == nil || circle {
		p.parent = &postgres{Object: api.Object{Project: l.Project, Location: p.Location}, backup: p.created, password: p.password}
	}
	delays := l.Delays(&p.Object)
	switch {
	case r.ReadReplica:
		p.password = p.parent.password
	case r.State == "running" && !r.Primary:
		p.released, p.promoted = l.Now, l.Now.Add(delays.Promote)
		p.backup = p.promoted.Add(max(0, delays.Backup))
	default:
		p.restored = p.created
	}
}
