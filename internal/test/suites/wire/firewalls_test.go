package wire_test

import (
	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

func firewallCases() []wireCase {
	const (
		all      = projectPath + "/firewall"
		base     = locationPath + "/firewall"
		edge     = base + "/edge"
		id       = "fw8ww2xa7brt1qrn9hgzbc7efq"
		ruleID   = "frhgen1ff6864nrqg8etdv647m"
		rules    = edge + "/firewall-rule"
		rule     = rules + "/" + ruleID
		subnetID = "ps6336kqkb6j4qf8813xfx1bw0"
		ruleJSON = `{"id":"` + ruleID + `","cidr":"10.0.0.0/8","port_range":"80..443"}`
		newRule  = `{"id":"` + ruleID + `","cidr":"10.0.0.0/8","port_range":"53","protocol":"udp","description":"dns"}`
		newRule6 = `{"id":"fr8sc97tx16t6n0ychazn0zkpq","cidr":"fd6e:ab26:47e:d704::/64","port_range":"53","protocol":"udp","description":"dns"}`
		fields   = `"id":"` + id + `","name":"edge","description":"public entry","location":"eu-central-h1","firewall_rules":[` + ruleJSON + `]`
		item     = `{` + fields + `}`
		full     = `{` + fields + `,"private_subnets":[{"id":"` + subnetID + `","name":"backend","state":"available","location":"eu-central-h1",` +
			`"net4":"10.23.41.64/26","net6":"fd4c:91aa:7be0:12d::/64","firewalls":[` + item + `],"nics":[]}]}`
	)
	create := func(request cloudapi.FirewallRuleCreateRequest) sdktest.Call {
		return do("Firewalls.CreateRule", location, "edge", &request)
	}
	modify := func(request cloudapi.FirewallRuleModifyRequest) sdktest.Call {
		return do("Firewalls.ModifyRule", location, "edge", ruleID, &request)
	}
	return []wireCase{
		{do("Firewalls.List", nil), "GET " + all, list(item)},
		{do("Firewalls.List", &cloudapi.ListOptions{Location: location}), "GET " + base, list(item)},
		{do("Firewalls.All", nil), "GET " + all + "?page_size=1000", list(item)},
		{do("Firewalls.CreateInProject", "edge", &cloudapi.FirewallCreateRequest{Description: "public entry"}),
			"POST " + all + ` {"name":"edge","description":"public entry"}`, item},
		{do("Firewalls.Get", location, "edge"), "GET " + edge, full},
		{do("Firewalls.Create", location, "edge", nil), "POST " + edge + " {}", item},
		{do("Firewalls.Create", location, "edge", &cloudapi.FirewallCreateRequest{Description: "public entry"}),
			"POST " + edge + ` {"description":"public entry"}`, item},
		{do("Firewalls.Update", location, "edge", &cloudapi.FirewallUpdateRequest{Description: "public entry"}),
			"PATCH " + edge + ` {"description":"public entry"}`, item},
		{do("Firewalls.Delete", location, "edge"), "DELETE " + edge, nil},
		{do("Firewalls.AttachSubnet", location, "edge", subnetID), "POST " + edge + `/attach-subnet {"private_subnet_id":"` + subnetID + `"}`, full},
		{do("Firewalls.DetachSubnet", location, "edge", subnetID), "POST " + edge + `/detach-subnet {"private_subnet_id":"` + subnetID + `"}`, full},
		{do("Firewalls.Rename", location, id, "edge"), "POST " + base + "/" + id + `/rename {"name":"edge"}`, item},
		{do("Firewalls.Rename", location, "old", "edge"), "POST " + base + `/old/rename {"name":"edge"}`, item},

		{do("Firewalls.GetRule", location, "edge", ruleID), "GET " + rule, ruleJSON},
		{create(cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8"}), "POST " + rules + ` {"cidr":"10.0.0.0/8"}`, ruleJSON},
		{create(cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "80..443", FirewallID: id, ProjectID: "pjx"}),
			"POST " + rules + ` {"cidr":"10.0.0.0/8","port_range":"80..443","firewall_id":"` + id + `","project_id":"pjx"}`, ruleJSON},
		{create(cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "53", Protocol: cloudapi.FirewallRuleProtocolUDP, Description: "dns"}),
			"POST " + rules + ` {"cidr":"10.0.0.0/8","port_range":"53","protocol":"udp","description":"dns"}`, newRule},
		{create(cloudapi.FirewallRuleCreateRequest{CIDR: "backend"}), "POST " + rules + ` {"cidr":"backend"}`, " \n[" + newRule + "," + newRule6 + "]"},
		{modify(cloudapi.FirewallRuleModifyRequest{CIDR: "10.0.0.0/8", PortRange: "53", Protocol: "udp", Description: new("dns")}),
			"PATCH " + rule + ` {"cidr":"10.0.0.0/8","port_range":"53","protocol":"udp","description":"dns"}`, newRule},
		{modify(cloudapi.FirewallRuleModifyRequest{Description: new("")}), "PATCH " + rule + ` {"description":""}`, ruleJSON},
		{do("Firewalls.UpdateRule", location, "edge", ruleID, &cloudapi.FirewallRuleUpdateRequest{CIDR: "10.0.0.0/8", PortRange: "80..443", FirewallID: id, ProjectID: "pjx"}),
			"POST " + rule + ` {"cidr":"10.0.0.0/8","port_range":"80..443","firewall_id":"` + id + `","project_id":"pjx"}`, ruleJSON},
		{do("Firewalls.DeleteRule", location, "edge", ruleID), "DELETE " + rule, nil},
	}
}
