package families

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/internal/cidr"
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

type postgresFirewallRuleRecord struct {
	ID          string `json:"id"`
	CIDR        string `json:"cidr"`
	Port        int    `json:"port,omitempty"` // not in the contract, in which a rule is for all ports
	Description string `json:"description"`
}

func recordPostgresRule(r *firewallRule) postgresFirewallRuleRecord {
	port := r.ports.first
	if r.ports == everyPort {
		port = 0
	}
	return postgresFirewallRuleRecord{r.id, cidr.Format(r.cidr), port, r.description}
}

// firewall returns the firewall that was created with the database, or nil if
// it was deleted, renamed or detached.
func (p *postgres) firewall() *firewall {
	i := slices.IndexFunc(p.subnet.firewalls, func(f *firewall) bool { return f.Name == p.firewallName() })
	if i < 0 {
		return nil
	}
	return p.subnet.firewalls[i]
}

func (p *postgres) ownFirewall() (*firewall, error) {
	f := p.firewall()
	if f == nil {
		return nil, reply.InvalidRequest("PostgreSQL firewall was deleted, manage firewall rules using an appropriate firewall "+
			"on the %s private subnet (id: %s)", p.subnet.Name, p.subnet.ID)
	}
	return f, nil
}

func (p *postgres) rules(at *api.Moment) []*firewallRule {
	f := p.firewall()
	if f == nil {
		return nil
	}
	ports := postgresTermsOf(at).rulePorts
	return slices.DeleteFunc(slices.Clone(f.rules), func(r *firewallRule) bool { return !slices.Contains(ports, r.ports) })
}

func (f *firewall) allowPostgres(at *api.Moment, cidr netip.Prefix, description string) ([]*firewallRule, error) {
	terms := postgresTermsOf(at)
	rules := api.Records(terms.rulePorts, func(ports portRange) *firewallRule {
		return &firewallRule{api.NewID(terms.ruleKind).String(), strings.TrimSpace(description), allowed{cidr, ports, tcp}}
	})
	for _, r := range rules {
		if err := f.checkUnique(r.allowed, nil, terms.ruleUnique); err != nil {
			return nil, err
		}
	}
	f.rules = append(f.rules, rules...)
	f.sort()
	return rules, nil
}

// findPostgresRule returns a nil rule if the firewall has no rule with the ID
// in the path.
func findPostgresRule(c *api.Call) (*firewall, *firewallRule, error) {
	id := c.Params["firewall_rule_id"]
	p, err := findPostgres(c)
	if err == nil && !api.ValidID(id) {
		err = reply.NotFound()
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := p.ownFirewall()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range p.rules(c.Moment) {
		if r.id == id {
			return f, r, nil
		}
	}
	return f, nil, nil
}

func (p *postgres) listRules(c *api.Call) (any, error) {
	if _, err := p.ownFirewall(); err != nil {
		return nil, err
	}
	rules := api.Records(p.rules(c.Moment), recordPostgresRule)
	return api.Page{Items: rules, Count: len(rules)}, nil
}

func (p *postgres) createRule(c *api.Call) (any, error) {
	f, err := p.ownFirewall()
	if err != nil {
		return nil, err
	}
	cidr, err := cidrInBody(c)
	if err != nil {
		return nil, err
	}
	rules, err := f.allowPostgres(c.Moment, cidr, c.Body.Text("description"))
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		c.Log("create", r.id, f.ID, p.ID)
	}
	return recordPostgresRule(rules[0]), nil
}

// updatePostgresRule ignores fields that are null.
func updatePostgresRule(c *api.Call) (any, error) {
	f, r, err := findPostgresRule(c)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, reply.NotFound()
	}
	err = api.Change(r, func(changed *firewallRule) (err error) {
		if c.Body.Has("description") {
			changed.description = strings.TrimSpace(c.Body.Text("description"))
		}
		if !c.Body.Has("cidr") {
			return nil
		}
		if changed.cidr, err = cidrInBody(c); err != nil {
			return err
		}
		return f.checkUnique(changed.allowed, r, postgresTermsOf(c.Moment).ruleUnique)
	})
	if err != nil {
		return nil, err
	}
	f.sort()
	c.Log("update", r.id)
	return recordPostgresRule(r), nil
}

func deletePostgresRule(c *api.Call) (any, error) {
	f, r, err := findPostgresRule(c)
	if err != nil {
		return nil, err
	}
	if r != nil {
		f.rules = slices.DeleteFunc(f.rules, func(other *firewallRule) bool { return other == r })
		c.Log("destroy", r.id)
	}
	return reply.NoContent{}, nil
}

func cidrInBody(c *api.Call) (netip.Prefix, error) {
	text, err := c.Body.NonEmpty("cidr")
	if err != nil {
		return netip.Prefix{}, err
	}
	return parseCIDR(text)
}
