package families

import (
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/ruby"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func postgresFirewallOperations() []api.Operation {
	const (
		rules = postgresDatabase + "/firewall-rule"
		rule  = rules + "/{firewall_rule_id}"
	)
	description := schema.Optional("description", schema.Text.OrNull())
	create := schema.Closed(schema.Required("cidr", schema.Text), description)
	update := schema.Closed(schema.Optional("cidr", schema.Text.OrNull()), description)
	return []api.Operation{
		api.GET("Postgres.ListFirewallRules", rules, api.On(findPostgres, (*postgres).listRules)).Paged(api.Unpaged),
		api.POST("Postgres.CreateFirewallRule", rules, create, api.On(findPostgres, (*postgres).createRule)),
		api.PATCH("Postgres.UpdateFirewallRule", rule, update, updatePostgresRule),
		api.DELETE("Postgres.DeleteFirewallRule", rule, deletePostgresRule).Needs("Postgres:edit"),
	}
}

// postgresFirewallRule is a rule as the database holds it and as records show it.
type postgresFirewallRule struct {
	ID          string       `json:"id"`
	CIDR        ruby.Network `json:"cidr"`
	Description string       `json:"description"`
}

// openRules are those of a database that takes connections from everywhere.
func openRules() []postgresFirewallRule {
	return []postgresFirewallRule{
		newPostgresRule(everyIP4, ""),
		newPostgresRule(everyIP6, ""),
	}
}

func newPostgresRule(cidr ruby.Network, description string) postgresFirewallRule {
	return postgresFirewallRule{cloudapi.NewID(cloudapi.KindPostgresFirewallRule).String(), cidr, strings.TrimSpace(description)}
}

// findPostgresRule returns the database and the index of the path's rule in it,
// which is negative if there is none.
func findPostgresRule(c *api.Call) (*postgres, int, error) {
	p, err := findPostgres(c)
	if err == nil && !api.ValidID(c.Params["firewall_rule_id"]) {
		err = reply.NotFound()
	}
	if err != nil {
		return nil, -1, err
	}
	return p, slices.IndexFunc(p.rules, func(r postgresFirewallRule) bool { return r.ID == c.Params["firewall_rule_id"] }), nil
}

// listRules shows the rules in the order of their creation, other than the record
// of the database.
func (p *postgres) listRules(c *api.Call) (any, error) {
	return api.Page{Items: p.rules, Count: len(p.rules)}, nil
}

func (p *postgres) createRule(c *api.Call) (any, error) {
	cidr, err := p.newRuleCIDR(c, -1)
	if err != nil {
		return nil, err
	}
	rule := newPostgresRule(cidr, c.Body.Text("description"))
	p.rules = append(p.rules, rule)
	return rule, nil
}

// updatePostgresRule leaves unchanged what is absent or null.
func updatePostgresRule(c *api.Call) (any, error) {
	p, i, err := findPostgresRule(c)
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, reply.NotFound()
	}
	changed := p.rules[i]
	if c.Body.Has("cidr") {
		if changed.CIDR, err = p.newRuleCIDR(c, i); err != nil {
			return nil, err
		}
	}
	if c.Body.Has("description") {
		changed.Description = strings.TrimSpace(c.Body.Text("description"))
	}
	p.rules[i] = changed
	return changed, nil
}

func deletePostgresRule(c *api.Call) (any, error) {
	p, i, err := findPostgresRule(c)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		p.rules = slices.Delete(p.rules, i, i+1)
	}
	return reply.NoContent{}, nil
}

// newRuleCIDR returns the CIDR in the body, if no rule but that at the index has
// it already.
func (p *postgres) newRuleCIDR(c *api.Call, self int) (ruby.Network, error) {
	text, err := c.Body.NonEmpty("cidr")
	if err != nil {
		return ruby.Network{}, err
	}
	cidr, err := parseCIDR(text)
	if err != nil {
		return ruby.Network{}, err
	}
	for i, r := range p.rules {
		if r.CIDR == cidr && i != self {
			return ruby.Network{}, reply.InvalidRecord(reply.Taken("postgres_resource_id and cidr"))
		}
	}
	return cidr, nil
}
