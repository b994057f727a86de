package families

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/ruby"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
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

// postgresFirewallRule is a rule as stored and as in records.
type postgresFirewallRule struct {
	ID          string       `json:"id"`
	CIDR        ruby.Network `json:"cidr"`
	Port        int          `json:"port,omitempty"` // since August 2026; before that a rule was for all ports
	Description string       `json:"description"`
}

// openRules returns rules that allow connections from everywhere.
func openRules(c *api.Call) []postgresFirewallRule {
	return append(newPostgresRules(c, everyIP4, ""), newPostgresRules(c, everyIP6, "")...)
}

// newPostgresRules returns the rules for a range.
func newPostgresRules(c *api.Call, cidr ruby.Network, description string) []postgresFirewallRule {
	terms := postgresTermsOf(c)
	return api.Records(terms.rulePorts, func(port int) postgresFirewallRule {
		return postgresFirewallRule{cloudapi.NewID(terms.ruleKind).String(), cidr, port, strings.TrimSpace(description)}
	})
}

// comparePostgresRules orders rules as in records.
func comparePostgresRules(a, b postgresFirewallRule) int {
	return cmp.Or(compareCIDRs(a.CIDR, b.CIDR), cmp.Compare(a.Port, b.Port))
}

// findPostgresRule returns the database in the path and the index of the rule,
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

// listRules returns the rules in the order of their creation. In August 2026
// the order is that of the database's record.
func (p *postgres) listRules(c *api.Call) (any, error) {
	rules := p.rules
	if c.Config.Version >= version.August2026 {
		rules = p.details(c).FirewallRules
	}
	return api.Page{Items: rules, Count: len(rules)}, nil
}

func (p *postgres) createRule(c *api.Call) (any, error) {
	cidr, err := p.ruleCIDR(c)
	if err != nil {
		return nil, err
	}
	rules := newPostgresRules(c, cidr, c.Body.Text("description"))
	for _, r := range rules {
		if err := p.checkUnique(c, r); err != nil {
			return nil, err
		}
	}
	p.rules = append(p.rules, rules...)
	for _, r := range rules {
		c.Log("create", r.ID, p.ID)
	}
	return rules[0], nil
}

// updatePostgresRule changes the fields that are neither absent nor null.
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
		if changed.CIDR, err = p.ruleCIDR(c); err != nil {
			return nil, err
		}
		if err := p.checkUnique(c, changed); err != nil {
			return nil, err
		}
	}
	if c.Body.Has("description") {
		changed.Description = strings.TrimSpace(c.Body.Text("description"))
	}
	p.rules[i] = changed
	c.Log("update", changed.ID)
	return changed, nil
}

func deletePostgresRule(c *api.Call) (any, error) {
	p, i, err := findPostgresRule(c)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		c.Log("destroy", p.rules[i].ID)
		p.rules = slices.Delete(p.rules, i, i+1)
	}
	return reply.NoContent{}, nil
}

// ruleCIDR returns the CIDR in the body.
func (p *postgres) ruleCIDR(c *api.Call) (ruby.Network, error) {
	text, err := c.Body.NonEmpty("cidr")
	if err != nil {
		return ruby.Network{}, err
	}
	return parseCIDR(text)
}

// checkUnique checks that no other rule is equal.
func (p *postgres) checkUnique(c *api.Call, rule postgresFirewallRule) error {
	if slices.ContainsFunc(p.rules, func(r postgresFirewallRule) bool {
		return r.CIDR == rule.CIDR && r.Port == rule.Port && r.ID != rule.ID
	}) {
		return reply.InvalidRecord(reply.Taken(postgresTermsOf(c).ruleUnique))
	}
	return nil
}
