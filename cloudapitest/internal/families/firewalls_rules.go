package families

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/cidr"
)

type firewallRule struct {
	id, description string
	allowed
}

// allowed is the traffic that a rule allows. It is unique among the rules of a
// firewall.
type allowed struct {
	cidr     netip.Prefix
	ports    portRange
	protocol string
}

const tcp, udp = "tcp", "udp"

// uniqueRule is the beginning of the service's message for a duplicate rule.
const uniqueRule = "cidr and port_range and firewall_id and protocol"

var everyPort = portRange{0, maxPort}

// firewallTerms contains the differences between the versions of the API in
// firewall rules.
type firewallTerms struct {
	protocols []string // the protocols for which allowAll adds rules
	unique    string   // the beginning of the message for a duplicate rule
	ports     func(portRange) string
	subnets   bool // whether a rule can name a subnet instead of the subnet's networks
}

func firewallTermsOf(at *api.Moment) firewallTerms {
	if at.Config.Version == version.Contract {
		return firewallTerms{[]string{tcp}, "cidr and port_range and firewall_id", portRange.String, false}
	}
	return firewallTerms{[]string{tcp, udp}, uniqueRule, portRange.short, true}
}

func compareRules(a, b *firewallRule) int {
	return cmp.Or(
		a.cidr.Addr().Compare(b.cidr.Addr()),
		cmp.Compare(a.cidr.Bits(), b.cidr.Bits()),
		cmp.Compare(a.protocol, b.protocol),
		cmp.Compare(a.ports.first, b.ports.first),
		cmp.Compare(a.ports.last, b.ports.last),
	)
}

type firewallRuleRecord struct {
	ID          string  `json:"id"`
	CIDR        string  `json:"cidr"`
	PortRange   string  `json:"port_range"`
	Protocol    *string `json:"protocol,omitempty"`    // not in the contract
	Description *string `json:"description,omitempty"` // not in the contract
}

func (r *firewallRule) record(at *api.Moment) firewallRuleRecord {
	return firewallRuleRecord{
		ID:          r.id,
		CIDR:        cidr.Format(r.cidr),
		PortRange:   firewallTermsOf(at).ports(r.ports),
		Protocol:    api.InService(at, r.protocol),
		Description: api.InService(at, r.description),
	}
}

func (r *firewallRuleRecord) load() (*firewallRule, error) {
	rule := &firewallRule{id: r.ID, allowed: allowed{protocol: tcp}}
	var err error
	if rule.cidr, err = parseCIDR(r.CIDR); err == nil {
		rule.ports, err = parsePortRange(r.PortRange)
	}
	if r.Protocol != nil {
		rule.protocol = *r.Protocol
	}
	if r.Description != nil {
		rule.description = *r.Description
	}
	if err != nil {
		return nil, fmt.Errorf("rule %s, of %q and %q: %w", r.ID, r.CIDR, r.PortRange, err)
	}
	return rule, nil
}

// ruleChange returns the schema of a body with at least one of the fields.
func ruleChange() schema.Schema {
	fields := []string{"cidr", "port_range", "protocol", "description"}
	var alternatives []schema.Schema
	for i, required := range fields {
		s := schema.Closed(schema.Required(required, schema.Text))
		for _, name := range fields[i+1:] {
			s.Fields = append(s.Fields, schema.Optional(name, schema.Text))
		}
		alternatives = append(alternatives, s)
	}
	return schema.AnyOf(alternatives...).Named("FirewallRuleUpdate")
}

// createRule creates one rule, or two for a subnet.
func (f *firewall) createRule(c *api.Call) (any, error) {
	networks, err := f.networksInBody(c)
	if err != nil {
		return nil, err
	}
	var rules []*firewallRule
	for _, n := range networks {
		r := &firewallRule{allowed: allowed{n, everyPort, tcp}}
		if err := r.setFields(c); err != nil {
			return nil, err
		}
		if err := f.checkUnique(r.allowed, nil, firewallTermsOf(c.Moment).unique); err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	for _, r := range rules {
		f.add(c.Moment, r)
		c.Log("create", r.id, f.ID)
	}
	if len(rules) == 1 {
		return rules[0].record(c.Moment), nil
	}
	return api.Records(rules, api.At(c.Moment, (*firewallRule).record)), nil
}

// networksInBody returns the network in "cidr". In the service, "cidr" can
// instead be the ID or name of a subnet in the firewall's location.
// networksInBody then returns the subnet's two networks.
func (f *firewall) networksInBody(c *api.Call) ([]netip.Prefix, error) {
	text := c.Body.Text("cidr")
	if firewallTermsOf(c.Moment).subnets && !looksLikeNetwork(text) {
		s, ok := api.FindByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, text)
		if !ok {
			s, ok = api.FindByName[*privateSubnet](c, cloudapi.KindPrivateSubnet, text)
			ok = ok && c.AllowedOn(s, "PrivateSubnet:view")
		}
		if ok && s.Location == f.Location {
			return []netip.Prefix{s.net4, s.net6}, nil
		}
	}
	n, err := parseCIDR(text)
	return []netip.Prefix{n}, err
}

func looksLikeNetwork(s string) bool { return strings.ContainsAny(s, ".:") }

// setFields sets the rule's fields from the body, except for the network.
func (r *firewallRule) setFields(c *api.Call) (err error) {
	if c.Body.Has("port_range") {
		if r.ports, err = parsePortRange(c.Body.Text("port_range")); err != nil {
			return err
		}
	}
	if c.Body.Has("protocol") {
		if r.protocol = strings.ToLower(c.Body.Text("protocol")); r.protocol != tcp && r.protocol != udp {
			return reply.InvalidField("protocol", "Invalid protocol, must be tcp or udp")
		}
	}
	if c.Body.Has("description") {
		r.description = strings.TrimSpace(c.Body.Text("description"))
	}
	return nil
}

// checkUnique checks that no rule other than self, which may be nil, allows the
// same traffic. The error's message names the given columns.
func (f *firewall) checkUnique(what allowed, self *firewallRule, columns string) error {
	if slices.ContainsFunc(f.rules, func(r *firewallRule) bool { return r.allowed == what && r != self }) {
		return reply.InvalidRecord(reply.Taken(columns))
	}
	return nil
}

func (f *firewall) allowAll(at *api.Moment) {
	for _, n := range []netip.Prefix{everyIP4, everyIP6} {
		for _, protocol := range firewallTermsOf(at).protocols {
			f.add(at, &firewallRule{allowed: allowed{n, everyPort, protocol}})
		}
	}
}

func (f *firewall) add(at *api.Moment, r *firewallRule) {
	r.id = api.NewID(cloudapi.KindFirewallRule).String()
	f.rules = append(f.rules, r)
	f.sort()
}

func (f *firewall) sort() { slices.SortStableFunc(f.rules, compareRules) }

func getFirewallRule(c *api.Call) (any, error) {
	f, i, err := findFirewallRule(c)
	if err != nil {
		return nil, err
	}
	return f.rules[i].record(c.Moment), nil
}

// modifyFirewallRule keeps what the body lacks. It doesn't accept a subnet,
// unlike createRule.
func modifyFirewallRule(c *api.Call) (any, error) {
	f, i, err := findFirewallRule(c)
	if err != nil {
		return nil, err
	}
	r := f.rules[i]
	err = api.Change(r, func(changed *firewallRule) (err error) {
		if c.Body.Has("cidr") {
			if changed.cidr, err = parseCIDR(c.Body.Text("cidr")); err != nil {
				return err
			}
		}
		if err := changed.setFields(c); err != nil {
			return err
		}
		return f.checkUnique(changed.allowed, r, firewallTermsOf(c.Moment).unique)
	})
	if err != nil {
		return nil, err
	}
	f.sort()
	c.Log("update", r.id)
	return r.record(c.Moment), nil
}

// deleteFirewallRule also succeeds if the rule doesn't exist, but not if the
// firewall doesn't exist.
func deleteFirewallRule(c *api.Call) (any, error) {
	if _, err := firewallOfRule(c); err != nil {
		return nil, err
	}
	f, i, err := findFirewallRule(c)
	if err != nil {
		return reply.DeletedOr(err)
	}
	c.Log("destroy", f.rules[i].id, f.ID)
	f.rules = slices.Delete(f.rules, i, i+1)
	return reply.NoContent{}, nil
}

// findFirewallRule returns a firewall and the index of its rule. It looks for
// the rule before it checks the permission, as the real server does.
func findFirewallRule(c *api.Call) (*firewall, int, error) {
	f, err := firewallOfRule(c)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(f.rules, func(r *firewallRule) bool { return r.id == c.Params["firewall_rule_id"] })
	return f, i, c.Admit(f, i >= 0)
}

// firewallOfRule returns the firewall in the path of a request for a rule. It
// fails if the rule's ID is invalid.
func firewallOfRule(c *api.Call) (*firewall, error) {
	f, ok := api.FindUnchecked[*firewall](c, cloudapi.KindFirewall, "firewall_reference")
	if !ok || !api.ValidID(c.Params["firewall_rule_id"]) {
		return nil, reply.NotFound()
	}
	return f, nil
}
