package families

import (
	"cmp"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func postgresServerOperations() []api.Operation {
	return []api.Operation{
		api.GET("Postgres.ListServers", postgresDatabase+"/servers", api.On(findPostgres, (*postgres).listServers)).Only(version.Service),
		api.POST("Postgres.Recycle", postgresDatabase+"/recycle", api.NoBody, api.On(findPostgres, (*postgres).recycle)).Only(version.Service),
	}
}

func newServerIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = api.NewID(cloudapi.KindPostgresServer).String()
	}
	return ids
}

type postgresServerRecord struct {
	ID             string `json:"id"`
	Role           string `json:"role"`
	State          string `json:"state"`
	Status         string `json:"synchronization_status"`
	VMSize         string `json:"vm_size"`
	FallbackActive bool   `json:"fallback_active"`
}

const (
	primaryRole = "primary"
	standbyRole = "standby"
)

func (p *postgres) listServers(c *api.Call) (any, error) {
	servers := p.servers(c.Now)
	return api.Page{Items: servers, Count: len(servers)}, nil
}

func (p *postgres) failingOver(now time.Time) bool {
	return p.replacesPrimary() && !now.Before(p.due) && now.Before(p.due.Add(p.step))
}

func (p *postgres) replacesPrimary() bool { return len(p.former) > 0 && p.former[0] != p.fleet[0] }

// servers returns the servers from before the last change, then the new ones.
// The old primary keeps its role until the failover is over.
func (p *postgres) servers(now time.Time) []postgresServerRecord {
	settled := !now.Before(p.due) && !p.failingOver(now)
	primary := p.fleet[0]
	if !settled && p.former != nil {
		primary = p.former[0]
	}
	var records []postgresServerRecord
	add := func(id, state, status, size string) {
		role := standbyRole
		if id == primary {
			role = primaryRole
		}
		records = append(records, postgresServerRecord{id, role, cmp.Or(p.shown[id], state), status, size, false})
	}
	for _, id := range p.former {
		switch {
		case !settled || slices.Contains(p.fleet, id):
			add(id, "running", p.status(now, id == primary), p.built.vm)
		case now.Before(p.due.Add(2 * p.step)):
			add(id, "deleting", "ready", p.built.vm)
		}
	}
	for _, id := range p.fleet {
		if slices.Contains(p.former, id) {
			continue
		}
		state, status := p.newServerState(now, id == primary)
		if id == p.fleet[0] && p.failingOver(now) {
			state = "failing_over"
		}
		add(id, state, status, p.target.vm)
	}
	return records
}

// showServer makes a server show a state instead of its own.
func (p *postgres) showServer(id, state string) {
	if p.shown == nil {
		p.shown = map[string]string{}
	}
	p.shown[id] = state
}

func (p *postgres) status(now time.Time, primary bool) string {
	if primary && p.isReplica(now) {
		return "catching_up"
	}
	return "ready"
}

func (p *postgres) newServerState(now time.Time, primary bool) (state, status string) {
	if p.ready.IsZero() { // no change since the creation
		if !now.Before(p.running) {
			return "running", p.status(now, primary)
		}
		status := "catching_up"
		if primary {
			status = p.status(now, primary)
		}
		return stageAt(now, p.ordered, p.running, []string{"updating", "creating"}), status
	}
	if !now.Before(p.ready) {
		return "running", p.status(now, primary)
	}
	return stageAt(now, p.begun, p.ready, []string{"updating", "creating", "synchronizing"}), "catching_up"
}

// converging reports whether a change of the servers is in progress.
func (p *postgres) converging(now time.Time) bool {
	end := p.due
	if slices.ContainsFunc(p.former, func(id string) bool { return !slices.Contains(p.fleet, id) }) {
		end = end.Add(2 * p.step) // until the old servers are gone
	}
	return !p.ready.IsZero() && now.Before(end) || p.upgrading(now)
}

func (p *postgres) recycle(c *api.Call) (any, error) {
	if !p.converging(c.Now) {
		p.replace(c, p.target, append(newServerIDs(1), p.fleet[1:]...))
	}
	c.Log("recycle", p.ID)
	return p.details(c.Moment), nil
}
