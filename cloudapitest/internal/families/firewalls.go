package families

import (
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
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
		create   = schema.Closed(schema.Required("name", schema.Text), schema.Optional("description", schema.Text))
		createAt = schema.Closed(schema.Optional("description", schema.Text))
		subnet   = schema.Closed(schema.Required("private_subnet_id", schema.Text))
		ruleBody = schema.Closed(schema.Required("cidr", schema.Text), schema.Optional("port_range", schema.Text),
			schema.Optional("firewall_id", schema.Text), schema.Optional("project_id", schema.Text)) // the last two have no effect
		newRule = schema.Closed(append(slices.Clip(ruleBody.Fields),
			schema.Optional("protocol", schema.Text).Only(version.Service),
			schema.Optional("description", schema.Text).Only(version.Service))...)
		described = schema.Closed(schema.Required("description", schema.Text))
	)
	return []api.Operation{
		api.GET("Firewalls.List", all, api.List(cloudapi.KindFirewall, (*firewall).record)).Paged(api.PagedUndeclared),
		api.POST("Firewalls.CreateInProject", all, create, createFirewallInProject).Needs("Firewall:create").Guarded().Only(version.Contract),
		api.GET("Firewalls.ListInLocation", local, api.List(cloudapi.KindFirewall, (*firewall).record)).Paged(api.PagedUndeclared),
		api.GET("Firewalls.Get", one, api.Show(findFirewall, (*firewall).details)),
		api.POST("Firewalls.Create", one, createAt, createFirewall),
		api.PATCH("Firewalls.Update", one, described, api.On(findFirewall, (*firewall).describe)).Only(version.Service),
		api.DELETE("Firewalls.Delete", one, api.Delete(findFirewall, (*firewall).delete)),
		api.POST("Firewalls.AttachSubnet", one+"/attach-subnet", subnet, api.On(findFirewall, (*firewall).attach)).Needs("Firewall:view"),
		api.POST("Firewalls.DetachSubnet", one+"/detach-subnet", subnet, api.On(findFirewall, (*firewall).detach)).Needs("Firewall:view"),
		api.POST("Firewalls.Rename", one+"/rename", nameOnly, api.Renames(cloudapi.KindFirewall, findFirewall, (*firewall).record)),
		api.POST("Firewalls.CreateRule", rules, newRule, api.On(findFirewall, (*firewall).createRule)),
		api.GET("Firewalls.GetRule", rule, getFirewallRule),
		api.POST("Firewalls.UpdateRule", rule, ruleBody, modifyFirewallRule).Only(version.Contract),
		api.PATCH("Firewalls.ModifyRule", rule, ruleChange(), modifyFirewallRule).Only(version.Service),
		api.DELETE("Firewalls.DeleteRule", rule, deleteFirewallRule).Needs("Firewall:edit"),
	}
}

type firewall struct {
	api.Object
	description string
	rules       []*firewallRule // in the order of compareRules
}

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

func (f *firewall) record(at *api.Moment) firewallRecord {
	return firewallRecord{
		ID:            f.ID,
		Name:          f.Name,
		Description:   f.description,
		Location:      f.Location.Name,
		FirewallRules: api.Records(f.rules, api.At(at, (*firewallRule).record)),
	}
}

func (r *firewallRecord) load(l *loader) error {
	o, err := l.objectIn(r.Location, r.ID, r.Name)
	if err != nil {
		return err
	}
	f := &firewall{Object: o, description: r.Description}
	l.State.Add(f)
	return f.loadRules(r.FirewallRules)
}

func (f *firewall) loadRules(records []firewallRuleRecord) error {
	for _, r := range records {
		rule, err := r.load()
		if err != nil {
			return err
		}
		f.rules = append(f.rules, rule)
	}
	f.sort()
	return nil
}

func (f *firewall) details(at *api.Moment) firewallDetails {
	return firewallDetails{f.record(at), api.Records(f.subnets(at), api.At(at, (*privateSubnet).record))}
}

func (f *firewall) subnets(at *api.Moment) []*privateSubnet {
	return api.Where(at.State, cloudapi.KindPrivateSubnet, f.Project, func(s *privateSubnet) bool { return slices.Contains(s.firewalls, f) })
}

func findFirewall(c *api.Call) (*firewall, error) {
	return api.Find[*firewall](c, cloudapi.KindFirewall, "firewall_reference")
}

func createFirewall(c *api.Call) (any, error) {
	name, err := c.NewReference(cloudapi.KindFirewall, "firewall_reference")
	if err != nil {
		return nil, err
	}
	return addFirewall(c, name)
}

// createFirewallInProject creates the firewall in the first public location,
// since the request names none.
func createFirewallInProject(c *api.Call) (any, error) {
	c.Location = c.State.Locations[0]
	name, err := c.NewName()
	if err != nil {
		return nil, err
	}
	return addFirewall(c, name)
}

func addFirewall(c *api.Call, name string) (any, error) {
	if err := api.CheckNameIsFree[*firewall](c, cloudapi.KindFirewall, name, nil); err != nil {
		return nil, err
	}
	f := &firewall{Object: c.NewObject(cloudapi.KindFirewall, name), description: c.Body.Text("description")}
	c.State.Add(f)
	c.Log("create", f.ID)
	return f.record(c.Moment), nil
}

func (f *firewall) describe(c *api.Call) (any, error) {
	before := f.description
	err := api.Change(f, func(changed *firewall) error { return api.SetText(&changed.description, "description")(c) })
	if err != nil {
		return nil, err
	}
	if f.description != before {
		c.Log("update", f.ID)
	}
	return f.record(c.Moment), nil
}

func (f *firewall) delete(c *api.Call) error {
	subnets := f.subnets(c.Moment)
	if slices.ContainsFunc(subnets, func(s *privateSubnet) bool { return !c.AllowedOn(s, "PrivateSubnet:edit") }) {
		return reply.Forbidden()
	}
	for _, s := range subnets {
		s.drop(f)
	}
	c.Remove(f, 0)
	c.Log("destroy", f.ID)
	return nil
}

// attach fails, as on the real server, if the firewall is already attached to
// the subnet.
func (f *firewall) attach(c *api.Call) (any, error) {
	s, err := subnetInBody(c)
	switch {
	case err != nil:
		return nil, err
	case slices.Contains(s.firewalls, f):
		return nil, reply.Unexpected()
	}
	s.firewalls = append(s.firewalls, f)
	c.Log("associate", f.ID, s.ID)
	return f.details(c.Moment), nil
}

func (f *firewall) detach(c *api.Call) (any, error) {
	s, err := subnetInBody(c)
	if err != nil {
		return nil, err
	}
	s.drop(f)
	c.Log("disassociate", f.ID, s.ID)
	return f.details(c.Moment), nil
}

// subnetInBody doesn't find a subnet that the token may not edit.
func subnetInBody(c *api.Call) (*privateSubnet, error) {
	id := c.Body.Text("private_subnet_id")
	s, ok := api.FindByIDFor[*privateSubnet](c, cloudapi.KindPrivateSubnet, id, "edit")
	if !ok || s.Location != c.Location {
		return nil, reply.InvalidField("private_subnet_id",
			"Private subnet with the given id \"%s\" and the location \"%s\" is not found", id, c.Location.Name)
	}
	return s, nil
}
