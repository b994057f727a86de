package families

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
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

// clean removes the values of settings that the server doesn't know: it would
// refuse each change of the others, and a value could be a secret.
func (r *postgresCopy) clean(c *cleaner) {
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
	o, err := l.object(r.ID, r.Name, r.Location)
	if err != nil {
		return err
	}
	if l.Location == nil {
		return fmt.Errorf("it lacks a location")
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
	if r.Parent != nil || r.ReadReplica {
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

// loadNetwork finds the subnet of a database. In the contract, the record of the
// database has the rules of its firewall.
func (r *postgresCopy) loadNetwork(l *loader, p *postgres) error {
	if l.Config.Version == version.Contract {
		f := &firewall{Object: api.Object{Name: p.firewallName()}}
		for _, rule := range r.FirewallRules {
			loaded, err := (&firewallRuleRecord{ID: rule.ID, CIDR: rule.CIDR, PortRange: everyPort.String(), Description: &rule.Description}).load()
			if err != nil {
				return err
			}
			f.rules = append(f.rules, loaded)
		}
		f.sort()
		p.subnet = &privateSubnet{firewalls: []*firewall{f}}
		return nil
	}
	if p.subnet = l.networkOf(p.ID); p.subnet == nil {
		p.subnet = &privateSubnet{Object: api.Object{ID: api.NewID(cloudapi.KindPrivateSubnet).String(), Name: p.defaultSubnetName(), Project: l.Project}}
	}
	return nil
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
	if i >= 0 && r.Parent == nil { // the database itself has only one stage, but its servers have two
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
// present and the target size or version, or the states and the number of the
// servers.
func (r *postgresCopy) loadServers(l *loader, p *postgres) {
	standbys := max(0, slices.Index(postgresHATypes, r.HAType))
	p.target = postgresServers{r.Version, r.TargetVMSize, r.TargetStorageSizeGiB, standbys}
	if f := r.PostgresServiceFields; f != nil {
		p.target.version = f.TargetVersion
	}
	slices.SortStableFunc(r.Servers, func(a, b postgresServerRecord) int { return strings.Compare(a.Role, b.Role) }) // the primary first
	stages := []string{"updating", "creating", "synchronizing"}
	var leaving, old, added []string
	begun, failingOver := len(stages), false
	for _, s := range r.Servers {
		i := slices.Index(stages, s.State)
		switch {
		case s.State == "deleting":
			leaving = append(leaving, s.ID)
		case i >= 0, s.State == "failing_over", s.VMSize == r.TargetVMSize && r.VMSize != r.TargetVMSize:
			added, failingOver = append(added, s.ID), failingOver || s.State == "failing_over"
			if i >= 0 {
				begun = min(begun, i)
			}
		default:
			old = append(old, s.ID)
		}
	}
	pad := func(ids []string) []string {
		ids = ids[:min(len(ids), standbys+1)]
		return append(slices.Clip(ids), newServerIDs(standbys+1-len(ids))...)
	}
	if l.Now.Before(p.running) {
		p.built, p.due, p.fleet = p.target.withoutStandbys(), p.running, pad(append(old, added...))
		return
	}
	p.built = postgresServers{r.Version, r.VMSize, cmp.Or(r.StorageSizeGiB, p.target.storage), max(0, len(old)-1)}
	sameSize := p.built.withoutStandbys() == p.target.withoutStandbys()
	if sameSize && leaving == nil && added == nil && (len(old) == standbys+1 || r.Servers == nil) {
		p.built, p.fleet = p.target, pad(old)
		return
	}
	delay := l.Delays(&p.Object).Resize
	p.step, p.former = delay/4, old
	switch kept := standbys + 1 - len(added); {
	case leaving != nil: // the new servers have taken over
		p.fleet, p.former, p.built.standbys = pad(append(old, added...)), leaving, len(leaving)-1
	case sameSize && kept > 0 && len(old) > 0: // standbys are added, or the primary is replaced
		p.fleet = pad(append(slices.Clip(old[max(0, len(old)-kept):]), added...))
		if len(old) > kept {
			p.fleet = pad(append(added, old[len(old)-kept:]...))
		}
	default:
		p.fleet = pad(added)
	}
	switch {
	case leaving != nil:
		p.begun, p.ready, p.due = l.Now, l.Now, l.Now.Add(-p.step-p.step/2)
	case failingOver:
		p.begun, p.ready, p.due = l.Now, l.Now, l.Now.Add(-p.step/2)
	case begun < len(stages) || added == nil:
		p.begun, p.ready = stageTimes(l.Now, delay, begun%len(stages), len(stages))
		p.due = p.inWindow(p.ready)
	default: // ready
		p.begun, p.ready = l.Now, l.Now
		p.due = latest(p.inWindow(l.Now), l.Now.Add(p.step))
	}
}

// loadParent tells replicas and restored copies apart. A replica whose parent
// isn't in the snapshot gets one that isn't in the project.
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
		p.parent = &postgres{Object: api.Object{Project: l.Project, Location: p.Location}, backup: p.created}
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
