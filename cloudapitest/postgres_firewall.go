package cloudapitest

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

func postgresFirewallOperations() []operation {
	const (
		rules = postgresDatabase + "/firewall-rule"
		rule  = rules + "/{firewall_rule_id}"
	)
	description := optional("description", text.orNull())
	create := closed(required("cidr", text), description)
	update := closed(optional("cidr", text.orNull()), description)
	return []operation{
		{name: "Postgres.ListFirewallRules", method: http.MethodGet, route: rules, list: unpaged, handle: listPostgresRules},
		{name: "Postgres.CreateFirewallRule", method: http.MethodPost, route: rules, body: create, handle: createPostgresRule},
		{name: "Postgres.UpdateFirewallRule", method: http.MethodPatch, route: rule, body: update, handle: updatePostgresRule},
		{name: "Postgres.DeleteFirewallRule", method: http.MethodDelete, route: rule, handle: deletePostgresRule},
	}
}

// postgresFirewallRule is a rule as the database holds it and as records show it.
type postgresFirewallRule struct {
	ID          string       `json:"id"`
	CIDR        netip.Prefix `json:"cidr"`
	Description string       `json:"description"`
}

// openRules are those of a database that takes connections from everywhere.
func openRules() []postgresFirewallRule {
	return []postgresFirewallRule{
		newPostgresRule(netip.PrefixFrom(netip.IPv4Unspecified(), 0), ""),
		newPostgresRule(netip.PrefixFrom(netip.IPv6Unspecified(), 0), ""),
	}
}

func newPostgresRule(cidr netip.Prefix, description string) postgresFirewallRule {
	return postgresFirewallRule{cloudapi.NewID(cloudapi.KindPostgresFirewallRule).String(), cidr, strings.TrimSpace(description)}
}

// findPostgresRule returns the database and the index of the path's rule in it,
// which is negative if there is none.
func findPostgresRule(c *call) (*postgres, int, error) {
	p, err := findPostgres(c)
	if err == nil && !validID(c.params["firewall_rule_id"]) {
		err = notFound()
	}
	if err != nil {
		return nil, -1, err
	}
	return p, slices.IndexFunc(p.rules, func(r postgresFirewallRule) bool { return r.ID == c.params["firewall_rule_id"] }), nil
}

// listPostgresRules shows the rules in the order of their creation, other than
// the record of the database.
func listPostgresRules(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	return page[postgresFirewallRule]{p.rules, len(p.rules)}, nil
}

func createPostgresRule(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	cidr, err := c.postgresRuleCIDR(p, -1)
	if err != nil {
		return nil, err
	}
	rule := newPostgresRule(cidr, c.body.text("description"))
	p.rules = append(p.rules, rule)
	return rule, nil
}

// updatePostgresRule leaves unchanged what is absent or null.
func updatePostgresRule(c *call) (any, error) {
	p, i, err := findPostgresRule(c)
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, notFound()
	}
	changed := p.rules[i]
	if c.body["cidr"] != nil {
		if changed.CIDR, err = c.postgresRuleCIDR(p, i); err != nil {
			return nil, err
		}
	}
	if c.body["description"] != nil {
		changed.Description = strings.TrimSpace(c.body.text("description"))
	}
	p.rules[i] = changed
	return changed, nil
}

func deletePostgresRule(c *call) (any, error) {
	p, i, err := findPostgresRule(c)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		p.rules = slices.Delete(p.rules, i, i+1)
	}
	return noContent{}, nil
}

// postgresRuleCIDR returns the CIDR in the body, if no rule but that at the index
// has it already.
func (c *call) postgresRuleCIDR(p *postgres, self int) (netip.Prefix, error) {
	text, err := c.body.nonEmpty("cidr")
	if err != nil {
		return netip.Prefix{}, err
	}
	cidr, err := parseCIDR(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	for i, r := range p.rules {
		if r.CIDR == cidr && i != self {
			return netip.Prefix{}, alreadyTaken("postgres_resource_id and cidr")
		}
	}
	return cidr, nil
}
