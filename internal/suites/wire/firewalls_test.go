package wire_test

import (
	"errors"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestFirewallsWire(t *testing.T) {
	t.Parallel()
	const (
		location    = "eu-central-h1"
		base        = locationPath + "/firewall"
		id          = "fw8ww2xa7brt1qrn9hgzbc7efq"
		ruleID      = "frhgen1ff6864nrqg8etdv647m"
		subnetID    = "ps6336kqkb6j4qf8813xfx1bw0"
		ruleJSON    = `{"id":"` + ruleID + `","cidr":"10.0.0.0/8","port_range":"80..443"}`
		newRuleJSON = `{"id":"` + ruleID + `","cidr":"10.0.0.0/8","port_range":"53","protocol":"udp","description":"dns"}`
		fields      = `"id":"` + id + `","name":"edge","description":"public entry","location":"eu-central-h1","firewall_rules":[` + ruleJSON + `]`
		short       = `{` + fields + `}`
		full        = `{` + fields + `,"private_subnets":[{"id":"` + subnetID + `","name":"backend","state":"available","location":"eu-central-h1",` +
			`"net4":"10.23.41.64/26","net6":"fd4c:91aa:7be0:12d::/64","firewalls":[` + short + `],"nics":[]}]}`
	)
	rule := &cloudapi.FirewallRule{ID: ruleID, CIDR: "10.0.0.0/8", PortRange: "80..443"}
	newRule := &cloudapi.FirewallRule{ID: ruleID, CIDR: "10.0.0.0/8", PortRange: "53", Protocol: "udp", Description: "dns"}
	item := cloudapi.Firewall{ID: id, Name: "edge", Description: "public entry", Location: location, FirewallRules: []cloudapi.FirewallRule{*rule}}
	record := item
	record.PrivateSubnets = []cloudapi.PrivateSubnet{{
		ID: subnetID, Name: "backend", State: cloudapi.PrivateSubnetStateAvailable, Location: location,
		Net4: "10.23.41.64/26", Net6: "fd4c:91aa:7be0:12d::/64", Firewalls: []cloudapi.Firewall{item}, NICs: []cloudapi.NIC{},
	}}
	page := &cloudapi.Page[cloudapi.Firewall]{Items: []*cloudapi.Firewall{&item}, Count: new(1), Next: id}
	runWireCases(t, "Firewalls", []wireCase{
		{
			method: "GET", target: projectPath + "/firewall", reply: `{"items":[` + short + `],"count":1}`,
			call: calls("Firewalls.List", nil),
			want: page,
		},
		{
			name: "create in the project", method: "POST", target: projectPath + "/firewall", reply: short,
			body: `{"name":"edge","description":"public entry"}`,
			call: calls("Firewalls.CreateInProject", &cloudapi.FirewallCreateInProjectRequest{Name: "edge", Description: "public entry"}),
			want: &item,
		},
		{
			name: "list a location", method: "GET", target: base, reply: `{"items":[` + short + `],"count":1}`,
			call: calls("Firewalls.List", &cloudapi.ListOptions{Location: location}),
			want: page,
		},
		{
			name: "all", method: "GET", target: projectPath + "/firewall?page_size=1000", reply: `{"items":[` + short + `],"count":1}`,
			call: calls("Firewalls.All", nil),
			want: []*cloudapi.Firewall{&item},
		},
		{
			method: "GET", target: base + "/edge", reply: full,
			call: calls("Firewalls.Get", location, "edge"),
			want: &record,
		},
		{
			name: "create", method: "POST", target: base + "/edge", body: `{}`, reply: short,
			call: calls("Firewalls.Create", location, "edge", nil),
			want: &item,
		},
		{
			name: "create with a description", method: "POST", target: base + "/edge", body: `{"description":"public entry"}`, reply: short,
			call: calls("Firewalls.Create", location, "edge", &cloudapi.FirewallCreateRequest{Description: "public entry"}),
			want: &item,
		},
		{
			method: "DELETE", target: base + "/edge",
			call: calls("Firewalls.Delete", location, "edge"),
		},
		{
			method: "POST", target: base + "/edge/attach-subnet", body: `{"private_subnet_id":"` + subnetID + `"}`, reply: full,
			call: calls("Firewalls.AttachSubnet", location, "edge", subnetID),
			want: &record,
		},
		{
			method: "POST", target: base + "/edge/detach-subnet", body: `{"private_subnet_id":"` + subnetID + `"}`, reply: full,
			call: calls("Firewalls.DetachSubnet", location, "edge", subnetID),
			want: &record,
		},
		{
			name: "rename by the ID", method: "POST", target: base + "/" + id + "/rename", body: `{"name":"edge"}`, reply: short,
			call: calls("Firewalls.Rename", location, id, "edge"),
			want: &item,
		},
		{
			name: "rename by the name", byName: true, method: "POST", target: base + "/old/rename", body: `{"name":"edge"}`, reply: short,
			call: calls("Firewalls.Rename", location, "old", "edge"),
			want: &item,
		},
		{
			name: "create a rule", method: "POST", target: base + "/edge/firewall-rule", body: `{"cidr":"10.0.0.0/8"}`, reply: ruleJSON,
			call: calls("Firewalls.CreateRule", location, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8"}),
			want: rule,
		},
		{
			name: "create a rule with all fields", method: "POST", target: base + "/edge/firewall-rule", reply: ruleJSON,
			body: `{"cidr":"10.0.0.0/8","port_range":"80..443","firewall_id":"` + id + `","project_id":"` + stub.Project + `"}`,
			call: calls("Firewalls.CreateRule", location, "edge", &cloudapi.FirewallRuleCreateRequest{
				CIDR: "10.0.0.0/8", PortRange: "80..443", FirewallID: id, ProjectID: stub.Project,
			}),
			want: rule,
		},
		{
			name: "create a rule, service", method: "POST", target: base + "/edge/firewall-rule", reply: newRuleJSON,
			body: `{"cidr":"10.0.0.0/8","port_range":"53","protocol":"udp","description":"dns"}`,
			call: calls("Firewalls.CreateRule", location, "edge", &cloudapi.FirewallRuleCreateRequest{
				CIDR: "10.0.0.0/8", PortRange: "53", Protocol: cloudapi.FirewallProtocolUDP, Description: "dns",
			}),
			want: newRule,
		},
		{
			name: "create rules for a subnet", method: "POST", target: base + "/edge/firewall-rule", body: `{"cidr":"backend"}`,
			reply: " \n[" + newRuleJSON + `,{"id":"fr8sc97tx16t6n0ychazn0zkpq","cidr":"fd6e:ab26:47e:d704::/64","port_range":"53","protocol":"udp","description":"dns"}]`,
			call:  calls("Firewalls.CreateRule", location, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "backend"}),
			want: &cloudapi.FirewallRule{ID: ruleID, CIDR: "10.0.0.0/8", PortRange: "53", Protocol: "udp", Description: "dns", IPv6Rule: &cloudapi.FirewallRule{
				ID: "fr8sc97tx16t6n0ychazn0zkpq", CIDR: "fd6e:ab26:47e:d704::/64", PortRange: "53", Protocol: "udp", Description: "dns",
			}},
		},
		{
			name: "modify a rule", method: "PATCH", target: base + "/edge/firewall-rule/" + ruleID, reply: newRuleJSON,
			body: `{"cidr":"10.0.0.0/8","port_range":"53","protocol":"udp","description":"dns"}`,
			call: calls("Firewalls.ModifyRule", location, "edge", ruleID, &cloudapi.FirewallRuleModifyRequest{
				CIDR: "10.0.0.0/8", PortRange: "53", Protocol: "udp", Description: new("dns"),
			}),
			want: newRule,
		},
		{
			name: "clear the description of a rule", method: "PATCH", target: base + "/edge/firewall-rule/" + ruleID, body: `{"description":""}`, reply: ruleJSON,
			call: calls("Firewalls.ModifyRule", location, "edge", ruleID, &cloudapi.FirewallRuleModifyRequest{Description: new("")}),
			want: rule,
		},
		{
			name: "update", method: "PATCH", target: base + "/edge", body: `{"description":"public entry"}`, reply: short,
			call: calls("Firewalls.Update", location, "edge", &cloudapi.FirewallUpdateRequest{Description: "public entry"}),
			want: &item,
		},
		{
			method: "GET", target: base + "/edge/firewall-rule/" + ruleID, reply: ruleJSON,
			call: calls("Firewalls.GetRule", location, "edge", ruleID),
			want: rule,
		},
		{
			name: "update a rule", method: "POST", target: base + "/edge/firewall-rule/" + ruleID, body: `{"cidr":"10.0.0.0/8","port_range":"80..443","firewall_id":"fw8ww2xa7brt1qrn9hgzbc7efq","project_id":"` + stub.Project + `"}`, reply: ruleJSON,
			call: calls("Firewalls.UpdateRule", location, "edge", ruleID, &cloudapi.FirewallRuleUpdateRequest{CIDR: "10.0.0.0/8", PortRange: "80..443",
				FirewallID: "fw8ww2xa7brt1qrn9hgzbc7efq", ProjectID: stub.Project}),
			want: rule,
		},
		{
			method: "DELETE", target: base + "/edge/firewall-rule/" + ruleID,
			call: calls("Firewalls.DeleteRule", location, "edge", ruleID),
		},
	})
}

// TestRulesThatAreNotTwo: any other array doesn't say which rules were created.
func TestRulesThatAreNotTwo(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{`[]`, `[{"id":"frhgen1ff6864nrqg8etdv647m"}]`, `[{"id":"frhgen1ff6864nrqg8etdv647m"},{}]`, `[{},{"id":"frhgen1ff6864nrqg8etdv647m"}]`, `[1,2]`} {
		client := sdktest.Answering(t, 200, "application/json", reply)
		rule, err := client.Firewalls.CreateRule(t.Context(), "eu-central-h1", "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "backend"})
		if rule != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) || !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			t.Errorf("%s: %v, %v", reply, rule, err)
		}
	}
	pair := sdktest.Answering(t, 200, "application/json", `[{"id":"frhgen1ff6864nrqg8etdv647m"},{"id":"fr8sc97tx16t6n0ychazn0zkpq"}]`)
	if rule, err := pair.Firewalls.GetRule(t.Context(), "eu-central-h1", "edge", "frhgen1ff6864nrqg8etdv647m"); !errors.Is(err, cloudapi.ErrInvalidResponse) {
		t.Errorf("a rule that is two: %v, %v", rule, err)
	}
}

func TestEmptyModifyRule(t *testing.T) {
	t.Parallel()
	for _, request := range []*cloudapi.FirewallRuleModifyRequest{nil, {}} {
		_, err := sdktest.SendingNothing(t).Firewalls.ModifyRule(t.Context(), "eu-central-h1", "edge", "frhgen1ff6864nrqg8etdv647m", request)
		if !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("%v: %v", request, err)
		}
	}
}
