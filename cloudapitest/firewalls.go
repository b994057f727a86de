package cloudapitest

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
)

func firewallOperations() []operation {
	const (
		all   = projectRoute + "/firewall"
		local = locationRoute + "/firewall"
		one   = local + "/{firewall_reference}"
		rules = one + "/firewall-rule"
		rule  = rules + "/{firewall_rule_id}"
	)
	var (
		named    = closed(required("name", text))
		create   = closed(required("name", text), optional("description", text))
		createAt = closed(optional("description", text))
		subnet   = closed(required("private_subnet_id", text))
		ruleBody = closed(required("cidr", text), optional("port_range", text),
			optional("firewall_id", text), optional("project_id", text)) // the last two do nothing
	)
	return []operation{
		{name: "Firewalls.List", method: http.MethodGet, route: all, list: pagedUndeclared, handle: listFirewalls},
		{name: "Firewalls.CreateInProject", method: http.MethodPost, route: all, body: create, handle: describedOnly},
		{name: "Firewalls.ListInLocation", method: http.MethodGet, route: local, list: pagedUndeclared, handle: listFirewalls},
		{name: "Firewalls.Get", method: http.MethodGet, route: one, handle: getFirewall},
		{name: "Firewalls.Create", method: http.MethodPost, route: one, body: createAt, handle: createFirewall},
		{name: "Firewalls.Delete", method: http.MethodDelete, route: one, handle: deleteFirewall},
		{name: "Firewalls.AttachSubnet", method: http.MethodPost, route: one + "/attach-subnet", body: subnet, handle: attachSubnet},
		{name: "Firewalls.DetachSubnet", method: http.MethodPost, route: one + "/detach-subnet", body: subnet, handle: detachSubnet},
		{name: "Firewalls.Rename", method: http.MethodPost, route: one + "/rename", body: named, handle: renameFirewall},
		{name: "Firewalls.CreateRule", method: http.MethodPost, route: rules, body: ruleBody, handle: createFirewallRule},
		{name: "Firewalls.GetRule", method: http.MethodGet, route: rule, handle: getFirewallRule},
		{name: "Firewalls.UpdateRule", method: http.MethodPost, route: rule, body: ruleBody, handle: describedOnly},
		{name: "Firewalls.DeleteRule", method: http.MethodDelete, route: rule, handle: deleteFirewallRule},
	}
}

// describedOnly answers operations that are in the contract and that the real
// server never had.
func describedOnly(*call) (any, error) { return nil, notFound() }

// firewall guards the subnets that have it among their firewalls.
type firewall struct {
	object
	description string
	rules       []*firewallRule // in the order of compareRules
}

type firewallRule struct {
	id    string
	cidr  netip.Prefix
	ports portRange
}

// everyPort is the range of a rule that is created without one.
var everyPort = portRange{0, maxPort}

type firewallRecord struct {
	ID            string               `json:"id"`
	Name          string               `json:"name"`
	Description   string               `json:"description"`
	Location      string               `json:"location"`
	FirewallRules []firewallRuleRecord `json:"firewall_rules"`
	Path          string               `json:"path,omitempty"` // only in the record of a VM
}

type firewallDetails struct {
	firewallRecord
	PrivateSubnets []privateSubnetRecord `json:"private_subnets"`
}

type firewallRuleRecord struct {
	ID        string `json:"id"`
	CIDR      string `json:"cidr"`
	PortRange string `json:"port_range"`
}

func recordFirewall(f *firewall) firewallRecord {
	return firewallRecord{
		ID:            f.id,
		Name:          f.name,
		Description:   f.description,
		Location:      f.location.name,
		FirewallRules: records(f.rules, recordFirewallRule),
	}
}

func recordFirewallRule(r *firewallRule) firewallRuleRecord {
	return firewallRuleRecord{r.id, r.cidr.String(), r.ports.String()}
}

func (c *call) firewallDetails(f *firewall) firewallDetails {
	return firewallDetails{recordFirewall(f), records(c.guardedBy(f), recordPrivateSubnet)}
}

// guardedBy returns the subnets that have the firewall.
func (c *call) guardedBy(f *firewall) []*privateSubnet {
	return slices.DeleteFunc(inProject[*privateSubnet](c.state, cloudapi.KindPrivateSubnet, f.project), func(s *privateSubnet) bool {
		return !slices.Contains(s.firewalls, f)
	})
}

func findFirewall(c *call) (*firewall, error) {
	return find[*firewall](c, cloudapi.KindFirewall, "firewall_reference")
}

func listFirewalls(c *call) (any, error) {
	return paginate(c, listed(c, cloudapi.KindFirewall), objectName, recordFirewall)
}

func getFirewall(c *call) (any, error) {
	f, err := findFirewall(c)
	if err != nil {
		return nil, err
	}
	return c.firewallDetails(f), nil
}

func createFirewall(c *call) (any, error) {
	name, err := c.newReference(cloudapi.KindFirewall, "firewall_reference")
	if err != nil {
		return nil, err
	}
	if err := checkName[*firewall](c, cloudapi.KindFirewall, name, nil); err != nil {
		return nil, err
	}
	f := &firewall{object: c.newObject(cloudapi.KindFirewall, name), description: c.body.text("description")}
	c.state.add(f)
	return recordFirewall(f), nil
}

func deleteFirewall(c *call) (any, error) {
	f, err := findFirewall(c)
	if err != nil {
		return deletedOr(err)
	}
	for _, s := range c.guardedBy(f) {
		s.drop(f)
	}
	c.remove(f, 0, nil)
	return noContent{}, nil
}

// attachSubnet fails where the subnet has the firewall already, as the real
// server does.
func attachSubnet(c *call) (any, error) {
	f, s, err := findFirewallAndSubnet(c)
	switch {
	case err != nil:
		return nil, err
	case slices.Contains(s.firewalls, f):
		return nil, unexpected()
	}
	s.firewalls = append(s.firewalls, f)
	return c.firewallDetails(f), nil
}

func detachSubnet(c *call) (any, error) {
	f, s, err := findFirewallAndSubnet(c)
	if err != nil {
		return nil, err
	}
	s.drop(f)
	return c.firewallDetails(f), nil
}

// findFirewallAndSubnet returns the firewall of the path and the subnet of the
// body.
func findFirewallAndSubnet(c *call) (*firewall, *privateSubnet, error) {
	f, err := findFirewall(c)
	if err != nil {
		return nil, nil, err
	}
	id := c.body.text("private_subnet_id")
	s, ok := findByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, id)
	if !ok || s.location != c.location {
		return nil, nil, invalidField("private_subnet_id",
			"Private subnet with the given id \"%s\" and the location \"%s\" is not found", id, c.location.name)
	}
	return f, s, nil
}

func renameFirewall(c *call) (any, error) {
	f, err := findFirewall(c)
	if err == nil {
		err = rename(c, cloudapi.KindFirewall, f)
	}
	if err != nil {
		return nil, err
	}
	return recordFirewall(f), nil
}

func createFirewallRule(c *call) (any, error) {
	f, err := findFirewall(c)
	if err != nil {
		return nil, err
	}
	ports := everyPort
	if c.body.has("port_range") {
		if ports, err = parsePortRange(c.body.text("port_range")); err != nil {
			return nil, err
		}
	}
	cidr, err := parseCIDR(c.body.text("cidr"))
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(f.rules, func(r *firewallRule) bool { return r.cidr == cidr && r.ports == ports }) {
		return nil, alreadyTaken("cidr and port_range and firewall_id")
	}
	return recordFirewallRule(f.allow(cidr, ports)), nil
}

// allow adds a rule.
func (f *firewall) allow(cidr netip.Prefix, ports portRange) *firewallRule {
	r := &firewallRule{cloudapi.NewID(cloudapi.KindFirewallRule).String(), cidr, ports}
	f.rules = append(f.rules, r)
	slices.SortStableFunc(f.rules, compareRules)
	return r
}

func compareRules(a, b *firewallRule) int { return compareCIDRs(a.cidr, b.cidr) }

// getFirewallRule and deleteFirewallRule look for the rule before they ask for
// permissions in its firewall.
func getFirewallRule(c *call) (any, error) {
	f, i, err := findFirewallRule(c)
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, notFound()
	case !c.permitted():
		return nil, forbidden()
	}
	return recordFirewallRule(f.rules[i]), nil
}

func deleteFirewallRule(c *call) (any, error) {
	f, i, err := findFirewallRule(c)
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return noContent{}, nil
	case !c.permitted():
		return nil, forbidden()
	}
	f.rules = slices.Delete(f.rules, i, i+1)
	return noContent{}, nil
}

// findFirewallRule returns the firewall of the path and the index of its rule,
// which is -1 if it has no rule with the ID.
func findFirewallRule(c *call) (*firewall, int, error) {
	f, ok := lookUp[*firewall](c, cloudapi.KindFirewall, "firewall_reference")
	id := c.params["firewall_rule_id"]
	if !ok || !validID(id) {
		return nil, 0, notFound()
	}
	return f, slices.IndexFunc(f.rules, func(r *firewallRule) bool { return r.id == id }), nil
}
