package families

import (
	"net/http"
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/ruby"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func firewallOperations() []api.Operation {
	const (
		all   = api.ProjectRoute + "/firewall"
		local = api.LocationRoute + "/firewall"
		one   = local + "/{firewall_reference}"
		rules = one + "/firewall-rule"
		rule  = rules + "/{firewall_rule_id}"
	)
	var (
		named    = schema.Closed(schema.Required("name", schema.Text))
		create   = schema.Closed(schema.Required("name", schema.Text), schema.Optional("description", schema.Text))
		createAt = schema.Closed(schema.Optional("description", schema.Text))
		subnet   = schema.Closed(schema.Required("private_subnet_id", schema.Text))
		ruleBody = schema.Closed(schema.Required("cidr", schema.Text), schema.Optional("port_range", schema.Text),
			schema.Optional("firewall_id", schema.Text), schema.Optional("project_id", schema.Text)) // the last two do nothing
	)
	return []api.Operation{
		{Name: "Firewalls.List", Method: http.MethodGet, Route: all, List: api.PagedUndeclared, Handle: listFirewalls},
		{Name: "Firewalls.CreateInProject", Method: http.MethodPost, Route: all, Body: create, Handle: describedOnly},
		{Name: "Firewalls.ListInLocation", Method: http.MethodGet, Route: local, List: api.PagedUndeclared, Handle: listFirewalls},
		{Name: "Firewalls.Get", Method: http.MethodGet, Route: one, Handle: getFirewall},
		{Name: "Firewalls.Create", Method: http.MethodPost, Route: one, Body: createAt, Handle: createFirewall},
		{Name: "Firewalls.Delete", Method: http.MethodDelete, Route: one, Handle: deleteFirewall},
		{Name: "Firewalls.AttachSubnet", Permission: "Firewall:view", Method: http.MethodPost, Route: one + "/attach-subnet", Body: subnet, Handle: attachSubnet},
		{Name: "Firewalls.DetachSubnet", Permission: "Firewall:view", Method: http.MethodPost, Route: one + "/detach-subnet", Body: subnet, Handle: detachSubnet},
		{Name: "Firewalls.Rename", Method: http.MethodPost, Route: one + "/rename", Body: named, Handle: renameFirewall},
		{Name: "Firewalls.CreateRule", Method: http.MethodPost, Route: rules, Body: ruleBody, Handle: createFirewallRule},
		{Name: "Firewalls.GetRule", Method: http.MethodGet, Route: rule, Handle: getFirewallRule},
		{Name: "Firewalls.UpdateRule", Method: http.MethodPost, Route: rule, Body: ruleBody, Handle: describedOnly},
		{Name: "Firewalls.DeleteRule", Permission: "Firewall:edit", Method: http.MethodDelete, Route: rule, Handle: deleteFirewallRule},
	}
}

// describedOnly answers operations that are in the contract and that the real
// server never had.
func describedOnly(*api.Call) (any, error) { return nil, reply.NotFound() }

// firewall guards the subnets that have it among their firewalls.
type firewall struct {
	api.Object
	description string
	rules       []*firewallRule // in the order of compareRules
}

type firewallRule struct {
	id    string
	cidr  ruby.Network
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

func (f *firewall) record(c *api.Call) firewallRecord {
	return firewallRecord{
		ID:            f.ID,
		Name:          f.Name,
		Description:   f.description,
		Location:      f.Location.Name,
		FirewallRules: api.Records(f.rules, api.At(c, (*firewallRule).record)),
	}
}

func (r *firewallRule) record(*api.Call) firewallRuleRecord {
	return firewallRuleRecord{r.id, r.cidr.String(), r.ports.String()}
}

func (f *firewall) details(c *api.Call) firewallDetails {
	return firewallDetails{f.record(c), api.Records(f.subnets(c), api.At(c, (*privateSubnet).record))}
}

// subnets returns the subnets that have the firewall.
func (f *firewall) subnets(c *api.Call) []*privateSubnet {
	return slices.DeleteFunc(api.InProject[*privateSubnet](c.State, cloudapi.KindPrivateSubnet, f.Project), func(s *privateSubnet) bool {
		return !slices.Contains(s.firewalls, f)
	})
}

func findFirewall(c *api.Call) (*firewall, error) {
	return api.Find[*firewall](c, cloudapi.KindFirewall, "firewall_reference")
}

func listFirewalls(c *api.Call) (any, error) {
	return api.Paginate(c, api.Listed(cloudapi.KindFirewall), api.ObjectName, (*firewall).record)
}

func getFirewall(c *api.Call) (any, error) {
	f, err := findFirewall(c)
	if err != nil {
		return nil, err
	}
	return f.details(c), nil
}

func createFirewall(c *api.Call) (any, error) {
	name, err := c.NewReference(cloudapi.KindFirewall, "firewall_reference")
	if err != nil {
		return nil, err
	}
	if err := api.CheckName[*firewall](c, cloudapi.KindFirewall, name, nil); err != nil {
		return nil, err
	}
	f := &firewall{Object: c.NewObject(cloudapi.KindFirewall, name), description: c.Body.Text("description")}
	c.State.Add(f)
	return f.record(c), nil
}

func deleteFirewall(c *api.Call) (any, error) {
	f, err := findFirewall(c)
	if err != nil {
		return reply.DeletedOr(err)
	}
	subnets := f.subnets(c)
	if len(subnets) > 0 && !c.Allowed("PrivateSubnet:edit") {
		return nil, reply.Forbidden()
	}
	for _, s := range subnets {
		s.drop(f)
	}
	c.Remove(f, 0, nil)
	return reply.NoContent{}, nil
}

// attachSubnet fails where the subnet has the firewall already, as the real
// server does.
func attachSubnet(c *api.Call) (any, error) {
	f, s, err := findFirewallAndSubnet(c)
	switch {
	case err != nil:
		return nil, err
	case slices.Contains(s.firewalls, f):
		return nil, reply.Unexpected()
	}
	s.firewalls = append(s.firewalls, f)
	return f.details(c), nil
}

func detachSubnet(c *api.Call) (any, error) {
	f, s, err := findFirewallAndSubnet(c)
	if err != nil {
		return nil, err
	}
	s.drop(f)
	return f.details(c), nil
}

// findFirewallAndSubnet returns the firewall of the path and the subnet of the
// body.
func findFirewallAndSubnet(c *api.Call) (*firewall, *privateSubnet, error) {
	f, err := findFirewall(c)
	if err != nil {
		return nil, nil, err
	}
	id := c.Body.Text("private_subnet_id")
	s, ok := api.FindByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, id)
	if !ok || s.Location != c.Location {
		return nil, nil, reply.InvalidField("private_subnet_id",
			"Private subnet with the given id \"%s\" and the location \"%s\" is not found", id, c.Location.Name)
	}
	if !c.Allowed("PrivateSubnet:edit") {
		return nil, nil, reply.Forbidden()
	}
	return f, s, nil
}

func renameFirewall(c *api.Call) (any, error) {
	f, err := findFirewall(c)
	if err == nil {
		err = api.Rename(c, cloudapi.KindFirewall, f)
	}
	if err != nil {
		return nil, err
	}
	return f.record(c), nil
}

func createFirewallRule(c *api.Call) (any, error) {
	f, err := findFirewall(c)
	if err != nil {
		return nil, err
	}
	cidr, err := parseCIDR(c.Body.Text("cidr"))
	if err != nil {
		return nil, err
	}
	ports := everyPort
	if c.Body.Has("port_range") {
		if ports, err = parsePortRange(c.Body.Text("port_range")); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(f.rules, func(r *firewallRule) bool { return r.cidr == cidr && r.ports == ports }) {
		return nil, reply.InvalidRecord(reply.Taken("cidr and port_range and firewall_id"))
	}
	return f.allow(cidr, ports).record(c), nil
}

// allow adds a rule.
func (f *firewall) allow(cidr ruby.Network, ports portRange) *firewallRule {
	r := &firewallRule{cloudapi.NewID(cloudapi.KindFirewallRule).String(), cidr, ports}
	f.rules = append(f.rules, r)
	slices.SortStableFunc(f.rules, compareRules)
	return r
}

func compareRules(a, b *firewallRule) int { return compareCIDRs(a.cidr, b.cidr) }

// getFirewallRule and deleteFirewallRule look for the rule before they ask for
// permissions in its firewall.
func getFirewallRule(c *api.Call) (any, error) {
	f, i, err := findFirewallRule(c)
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, reply.NotFound()
	case !c.Permitted():
		return nil, reply.Forbidden()
	}
	return f.rules[i].record(c), nil
}

func deleteFirewallRule(c *api.Call) (any, error) {
	f, i, err := findFirewallRule(c)
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return reply.NoContent{}, nil
	case !c.Permitted():
		return nil, reply.Forbidden()
	}
	f.rules = slices.Delete(f.rules, i, i+1)
	return reply.NoContent{}, nil
}

// findFirewallRule returns the firewall of the path and the index of its rule,
// which is -1 if it has no rule with the ID.
func findFirewallRule(c *api.Call) (*firewall, int, error) {
	f, ok := api.LookUp[*firewall](c, cloudapi.KindFirewall, "firewall_reference")
	id := c.Params["firewall_rule_id"]
	if !ok || !api.ValidID(id) {
		return nil, 0, reply.NotFound()
	}
	return f, slices.IndexFunc(f.rules, func(r *firewallRule) bool { return r.id == id }), nil
}
