package families_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestMeasured sends requests whose responses were measured on the real server,
// most of them with unusual values that it accepts.
func TestMeasured(t *testing.T) {
	t.Parallel()
	const (
		vm       = "/location/eu-central-h1/vm/"
		cluster  = "/location/eu-central-h1/kubernetes-cluster/"
		postgres = "/location/eu-central-h1/postgres/db"
		balancer = "/location/eu-central-h1/load-balancer/lb"
		rules    = "/location/eu-central-h1/firewall/fw/firewall-rule"
		keys     = "/ssh-public-key"
		places   = "/private-location"
		good     = "ssh-ed25519 AAAA"
		nul      = "\\u0000"
	)
	type exchange struct {
		method, path, body string
		status             int
		want               string // in the body
	}
	create := func(key string) exchange {
		return exchange{"POST", vm + "web", fmt.Sprintf(`{"public_key":%q}`, key), 400, `"public_key invalid SSH public key format","details":null`}
	}
	register := func(key string) exchange {
		return exchange{"POST", keys, fmt.Sprintf(`{"name":"k%d","public_key":%q}`, len(key), key), 200, `"id":"sk`}
	}
	rule := func(cidr, normal string) exchange {
		return exchange{"POST", rules, fmt.Sprintf(`{"cidr":%q,"port_range":"22"}`, cidr), 200, `"cidr":"` + normal + `"`}
	}
	refuseRule := func(cidr string, status int, want string) exchange {
		return exchange{"POST", rules, fmt.Sprintf(`{"cidr":%q}`, cidr), status, want}
	}
	tests := map[string][]exchange{
		"public keys of VMs": {
			create("a"), create("laptpo"), create(" a"), create("a "), create("c\nd"), create("ssh-ed25519"), create("x #"), create("a\tb"),
			create("ssh-rsa A=A"), create("ssh-rsa !!!!"), create("ssh-rsa é"), create("a\rb"),
			{"POST", vm + "web", `{"public_key":"# c"}`, 400, "public_key must contain at least one valid SSH public key"},
			{"POST", vm + "web", `{"public_key":"not a key"}`, 200, ""},
			{"POST", vm + "web", `{"public_key":"a"}`, 400,
				"project_id and location_id and name is already taken, public_key invalid SSH public key format"},
			{"POST", keys, `{"name":"laptop","public_key":"` + good + `"}`, 200, ""},
			{"POST", vm + "web-2", `{"public_key":"laptop"}`, 200, ""},
		},
		"registered keys": {
			register("x y"), register("A B c"), register("not a key"), register("a b c d"), register(`command="a b" ssh-rsa AAAA`),
			register("ssh-rsa AAAA===="), register("\ta b"), register("!!! AAAA"),
			{"POST", keys, `{"name":"b","public_key":"  "}`, 400, "public_key is not present"},
			{"POST", keys, `{"name":" ","public_key":"` + good + `"}`, 400, "name is not present"},
			{"POST", keys, `{"name":"B","public_key":"x"}`, 400, "public_key invalid SSH public key format, name must only"},
		},
		"names of projects": {
			{"POST", "/..", `{"name":"pj` + strings.Repeat("a", 24) + `"}`, 400,
				"name cannot be exactly 26 numbers/lowercase characters starting with pj"},
		},
		"IDs of projects": {
			{"DELETE", "/../pj164pbm96ba3grq6vbsvjb3ax", "", 404, "ResourceNotFound"}, // of wrong parity
			{"DELETE", "/../pj8r0dvyb26y6ma6y7n1sw0nzz", "", 204, ""},
			{"GET", "/../pj8r0dvyb26y6ma6y7n1sw0nzz", "", 404, "ResourceNotFound"},
		},
		"VMs in private locations": {
			{"POST", places, `{"name":"west","provider_location_name":"us-west-2","access_key":"a","secret_key":"b"}`, 200, ""},
			{"POST", "/location/west/vm/a", `{"public_key":"` + good + `"}`, 200, `"storage_size_gib":40`},
			{"POST", "/location/west/vm/b", `{"public_key":"` + good + `","size":"burstable-1"}`, 400,
				"Resource family burstable is not available in location west"},
			{"POST", "/location/eu-north-h1/vm/b", `{"public_key":"` + good + `","size":"burstable-1","unix_user":"0"}`, 400, `"details":{"user"`},
			{"POST", places, `{"name":"","provider_location_name":"us-west-2","access_key":"","secret_key":""}`, 400,
				"empty string provided for parameter name"},
		},
		"hidden locations": {
			{"GET", "/location/hetzner-ai/vm", "", 200, `{"items":[],"count":0}`},
			{"GET", "/location/latitude-ai/vm/a", "", 404, "ResourceNotFound"},
			{"POST", "/location/eu-central-a1/vm/a/rename", `{"name":"b"}`, 404, "ResourceNotFound"},
			{"DELETE", "/location/eu-central-a1/vm/a", "", 204, ""},
			{"POST", "/location/eu-central-a1/vm/a", `{"public_key":"` + good + `"}`, 404, "InvalidLocation"},
		},
		"integers": {
			{"POST", postgres, `{"size":"standard-2","storage_size":"64"}`, 200, ""},
			{"POST", postgres + "/set-maintenance-window", `{"maintenance_window_start_at":"0x10"}`, 200, `"maintenance_window_start_at":0`},
			{"POST", postgres + "/set-maintenance-window", `{"maintenance_window_start_at":"08"}`, 400, "expected integer"},
			{"POST", postgres + "/set-maintenance-window", `{"maintenance_window_start_at":1000000000000000000000000000000}`, 200,
				`"maintenance_window_start_at":null`},
			{"POST", postgres + "/set-maintenance-window", `{"maintenance_window_start_at":2147483648}`, 400,
				"is greater than maximum allowed value, maintenance_window_start_at must be between 0 and 23"},
			{"POST", postgres + "/set-maintenance-window", `{"maintenance_window_start_at":-1}`, 400,
				`"maintenance_window_start_at must be between 0 and 23"`},
			{"PATCH", postgres, `{"storage_size":1000000000000000000000000000000}`, 200, ""},
			{"PATCH", postgres, `{"tags":[5]}`, 400, "#/components/schemas/PostgresTag expected object"},
			{"POST", cluster + "a", `{"version":"v1.34","worker_size":"standard-2","cp_nodes":2147483648}`, 400,
				"Requested vCPU count: 4294967298"},
			{"POST", vm + "web", `{"public_key":"` + good + `","storage_size":9223372036854775807}`, 400, "Storage size must be one of"},
			{"POST", vm + "web", `{"public_key":"` + good + `","storage_size":"0b1"}`, 200, ""},
			{"POST", balancer, `{"algorithm":"round_robin","dst_port":80,"src_port":9223372036854775808,` +
				`"health_check_protocol":"http","private_subnet_id":"x","stack":"dual"}`, 400,
				"Value must be an integer greater than 0 for parameter src_port"},
		},
		"page sizes": {
			{"POST", "/location/eu-central-h1/firewall/a", `{}`, 200, ""},
			{"POST", "/location/eu-central-h1/firewall/b", `{}`, 200, ""},
			{"POST", "/location/eu-central-h1/firewall/c", `{}`, 200, ""},
			{"GET", "/firewall?page_size=0&order_column=name", "", 200, `"name":"c"`},
			{"GET", "/firewall?page_size=2.0&order_column=name&start_after=a", "", 200, `"name":"c"`},
			{"GET", "/firewall?page_size=2,3&order_column=name&start_after=b", "", 200, `{"items":[{"id"`},
			{"GET", "/vm?page_size=0x10", "", 200, `{"items":[],"count":0}`},
			{"GET", "/vm?page_size=08", "", 400, "expected integer, but received String"},
		},
		"CIDRs": {
			{"POST", "/location/eu-central-h1/firewall/fw", `{}`, 200, ""},
			refuseRule("1.2.3.4/", 500, "UnexceptedError"), refuseRule("2001:db8::/", 500, "UnexceptedError"),
			refuseRule("1.2.3.4/08", 400, "Invalid CIDR"),
			rule("1.2.3.4/255.255.0.0", "1.2.0.0/16"), rule("2.2.3.4/0x8", "2.0.0.0/8"), rule("3.2.3.4/+8", "3.0.0.0/8"), rule("1..3.4", "1.0.3.4/32"),
			rule("::ffff:102:304/128", "::ffff:102:304/128"), rule("::ffff:0:0/96", "::ffff:0:0/96"),
			{"POST", rules, `{"cidr":"x","port_range":"y"}`, 400, `"details":{"cidr"`},
			{"POST", postgres, `{"size":"standard-2","storage_size":64}`, 200, ""},
			{"POST", postgres + "/firewall-rule", `{"cidr":"0.0.0.0/"}`, 500, "UnexceptedError"},
			{"POST", postgres + "/firewall-rule", `{"cidr":"::/0/0"}`, 400, "postgres_resource_id and cidr is already taken"},
		},
		"null bytes": {
			{"POST", vm + "nope/rename", `{"name":"` + nul + `"}`, 404, "ResourceNotFound"},
			{"POST", "/location/nowhere/vm/a", `{"public_key":"` + nul + `"}`, 404, "InvalidLocation"},
			{"POST", vm + "web", `{"public_key":"` + nul + `"}`, 400, "string parameter contains null byte"},
			{"POST", keys, `{"name":"a","public_key":"` + good + `"}`, 200, ""},
			{"POST", keys + "/a", `{"name":"` + nul + `"}`, 400, "string parameter contains null byte"},
			{"POST", places, `{"name":"own","provider_location_name":"us-west-2","access_key":"a","secret_key":"b"}`, 200, ""},
			{"POST", places + "/own", `{"name":"` + nul + `"}`, 400, "string parameter contains null byte"},
			{"POST", keys, `{"name":"` + nul + `","public_key":"x"}`, 400, "string parameter contains null byte"},
			{"POST", "/..", `{"name":"` + nul + `"}`, 400, "string parameter contains null byte"},
			{"POST", postgres, `{"size":"standard-2","storage_size":64}`, 200, ""},
			{"POST", postgres + "/config", `{"pg_config":"` + nul + `","pgbouncer_config":{}}`, 400, `received String: \"\\u0000\"`},
		},
		"texts": {
			{"POST", "/location/eu-central-h1/firewall/fw", `{"description":"<a> & b"}`, 200, `"description":"<a> & b"`},
		},
		"descriptions of rules": {
			{"POST", postgres, `{"size":"standard-2","storage_size":64,"restrict_by_default":true}`, 200, ""},
			{"POST", postgres + "/firewall-rule", `{"cidr":"::/0","description":" a "}`, 200, `"description":"a"`},
			{"POST", postgres + "/firewall-rule", `{"cidr":"::/0"}`, 400, "is already taken"},
		},
		"names of clusters": {
			{"POST", cluster + "a", `{"version":"v1.34","worker_size":"standard-2"}`, 200, ""},
			{"POST", cluster + "a/rename", `{"name":"A"}`, 400, "Kubernetes cluster name must only contain"},
			{"POST", cluster + "a/rename", `{"name":" 80 "}`, 400, "Kubernetes cluster name must only contain"},
			{"POST", cluster + "a/rename", `{"name":" "}`, 400, "empty string provided for parameter name"},
		},
		"several problems": {
			{"GET", rules + "/x", "", 400, `Parameter \"x\" does not match pattern ^fr`},
			{"GET", "/../x/location/eu-central-h1/vm/A", "", 400, `Parameter \"A\" does not match`},
		},
	}
	for name, exchanges := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.Lenient(), cloudapitest.WithDelays(cloudapitest.Delays{}))
			for _, x := range exchanges {
				if strconv.IntSize < 64 && strings.Contains(x.body, ":2147483648") {
					continue // the embedded server uses int; the real one has no limit
				}
				path := "/project/" + srv.ProjectID() + x.path
				if above, ok := strings.CutPrefix(x.path, "/.."); ok {
					path = "/project" + above
				}
				if status, body := stub.Do(t, srv, x.method, path, x.body); status != x.status || !strings.Contains(body, x.want) {
					t.Errorf("%s %s %s: %d %s, want %d and %s", x.method, x.path, x.body, status, body, x.status, x.want)
				}
			}
		})
	}
}
