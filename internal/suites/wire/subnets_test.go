package wire_test

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

func TestPrivateSubnetsWire(t *testing.T) {
	t.Parallel()
	const (
		location = "eu-central-h1"
		base     = locationPath + "/private-subnet"
		id       = "ps6336kqkb6j4qf8813xfx1bw0"
		other    = "ps09hr0db5ft4gg5411j1yk190"
		full     = `{"id":"` + id + `","name":"backend","state":"available","location":"eu-central-h1","net4":"10.23.41.64/26",` +
			`"net6":"fd4c:91aa:7be0:12d::/64","firewalls":[{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge","description":"",` +
			`"location":"eu-central-h1","firewall_rules":[]}],"nics":[{"id":"nc7wx113bj067hc28ebhm4n4xb","name":"web-1-nic",` +
			`"private_ipv4":"10.23.41.69","private_ipv6":"fd4c:91aa:7be0:12d:8c62::2","vm_name":"web-1"},` +
			`{"id":"ncmyrc8pz91j0n5rjg6yva2ar1","name":"spare","private_ipv4":"10.23.41.77","private_ipv6":"fd4c:91aa:7be0:12d:1f00::2","vm_name":null}]}`
	)
	record := &cloudapi.PrivateSubnet{
		ID: id, Name: "backend", State: cloudapi.PrivateSubnetStateAvailable, Location: location,
		Net4: "10.23.41.64/26", Net6: "fd4c:91aa:7be0:12d::/64",
		Firewalls: []cloudapi.Firewall{{ID: "fw8ww2xa7brt1qrn9hgzbc7efq", Name: "edge", Location: location, FirewallRules: []cloudapi.FirewallRule{}}},
		NICs: []cloudapi.NIC{
			{ID: "nc7wx113bj067hc28ebhm4n4xb", Name: "web-1-nic", PrivateIPv4: "10.23.41.69", PrivateIPv6: "fd4c:91aa:7be0:12d:8c62::2", VMName: "web-1"},
			{ID: "ncmyrc8pz91j0n5rjg6yva2ar1", Name: "spare", PrivateIPv4: "10.23.41.77", PrivateIPv6: "fd4c:91aa:7be0:12d:1f00::2"},
		},
	}
	page := &cloudapi.Page[cloudapi.PrivateSubnet]{Items: []*cloudapi.PrivateSubnet{record}, Count: new(1), Next: id}
	runWireCases(t, "PrivateSubnets", []wireCase{
		{
			method: "GET", target: projectPath + "/private-subnet", reply: `{"items":[` + full + `],"count":1}`,
			call: calls("PrivateSubnets.List", nil),
			want: page,
		},
		{
			name: "list a location", method: "GET", target: base + "?order_column=id&page_size=5&start_after=" + other, reply: `{"items":[` + full + `],"count":1}`,
			call: calls("PrivateSubnets.List", &cloudapi.ListOptions{Location: location, StartAfter: other, PageSize: 5, OrderColumn: cloudapi.OrderByID}),
			want: page,
		},
		{
			name: "all", method: "GET", target: projectPath + "/private-subnet?page_size=1000", reply: `{"items":[` + full + `],"count":1}`,
			call: calls("PrivateSubnets.All", nil),
			want: []*cloudapi.PrivateSubnet{record},
		},
		{
			method: "GET", target: base + "/backend", reply: full,
			call: calls("PrivateSubnets.Get", location, "backend"),
			want: record,
		},
		{
			name: "create", method: "POST", target: base + "/backend", body: `{}`, reply: full,
			call: calls("PrivateSubnets.Create", location, "backend", nil),
			want: record,
		},
		{
			name: "create with a firewall", method: "POST", target: base + "/backend", body: `{"firewall_id":"fw8ww2xa7brt1qrn9hgzbc7efq"}`, reply: full,
			call: calls("PrivateSubnets.Create", location, "backend", &cloudapi.PrivateSubnetCreateRequest{FirewallID: "fw8ww2xa7brt1qrn9hgzbc7efq"}),
			want: record,
		},
		{
			method: "DELETE", target: base + "/" + id,
			call: calls("PrivateSubnets.Delete", location, id),
		},
		{
			method: "POST", target: base + "/backend/connect", body: `{"connected-subnet-id":"` + other + `"}`, reply: full,
			call: calls("PrivateSubnets.Connect", location, "backend", other),
			want: record,
		},
		{
			method: "POST", target: base + "/backend/disconnect/" + other, reply: full,
			call: calls("PrivateSubnets.Disconnect", location, "backend", other),
			want: record,
		},
		{
			name: "rename by the ID", method: "POST", target: base + "/" + id + "/rename", body: `{"name":"backend"}`, reply: full,
			call: calls("PrivateSubnets.Rename", location, id, "backend"),
			want: record,
		},
		{
			name: "rename by the name", byName: true, method: "POST", target: base + "/old/rename", body: `{"name":"backend"}`, reply: full,
			call: calls("PrivateSubnets.Rename", location, "old", "backend"),
			want: record,
		},
	})
}
