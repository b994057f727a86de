package wire_test

import "github.com/cloudapi-sdk/cloudapi"

func subnetCases() []wireCase {
	const (
		all   = projectPath + "/private-subnet"
		base  = locationPath + "/private-subnet"
		net   = base + "/backend"
		id    = "ps6336kqkb6j4qf8813xfx1bw0"
		other = "ps09hr0db5ft4gg5411j1yk190"
		full  = `{"id":"` + id + `","name":"backend","state":"available","location":"eu-central-h1","net4":"10.23.41.64/26",` +
			`"net6":"fd4c:91aa:7be0:12d::/64","firewalls":[{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge","description":"",` +
			`"location":"eu-central-h1","firewall_rules":[]}],"nics":[{"id":"nc7wx113bj067hc28ebhm4n4xb","name":"web-1-nic",` +
			`"private_ipv4":"10.23.41.69","private_ipv6":"fd4c:91aa:7be0:12d:8c62::2","vm_name":"web-1"},` +
			`{"id":"ncmyrc8pz91j0n5rjg6yva2ar1","name":"spare","private_ipv4":"10.23.41.77","private_ipv6":"fd4c:91aa:7be0:12d:1f00::2","vm_name":null}]}`
	)
	return []wireCase{
		{do("PrivateSubnets.List", nil), "GET " + all, list(full)},
		{do("PrivateSubnets.List", &cloudapi.ListOptions{Location: location, StartAfter: other, PageSize: 5, OrderColumn: cloudapi.OrderByID}),
			"GET " + base + "?order_column=id&page_size=5&start_after=" + other, list(full)},
		{do("PrivateSubnets.All", nil), "GET " + all + "?page_size=1000", list(full)},
		{do("PrivateSubnets.Get", location, "backend"), "GET " + net, full},
		{do("PrivateSubnets.Create", location, "backend", nil), "POST " + net + " {}", full},
		{do("PrivateSubnets.Create", location, "backend", &cloudapi.PrivateSubnetCreateRequest{FirewallID: "fw8ww2xa7brt1qrn9hgzbc7efq"}),
			"POST " + net + ` {"firewall_id":"fw8ww2xa7brt1qrn9hgzbc7efq"}`, full},
		{do("PrivateSubnets.Delete", location, id), "DELETE " + base + "/" + id, nil},
		{do("PrivateSubnets.Connect", location, "backend", other), "POST " + net + `/connect {"connected-subnet-id":"` + other + `"}`, full},
		{do("PrivateSubnets.Disconnect", location, "backend", other), "POST " + net + "/disconnect/" + other, full},
		{do("PrivateSubnets.Rename", location, id, "backend"), "POST " + base + "/" + id + `/rename {"name":"backend"}`, full},
		{do("PrivateSubnets.Rename", location, "old", "backend"), "POST " + base + `/old/rename {"name":"backend"}`, full},
	}
}
