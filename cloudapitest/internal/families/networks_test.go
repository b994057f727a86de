package families_test

import (
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func TestSubnetsAndFirewalls(t *testing.T) {
	long := strings.Repeat("n", 63)
	missing := cloudapitest.NewID(cloudapi.KindFirewallRule).String()
	other := cloudapitest.WithTokenAccess("pat-other", cloudapitest.AccessNone)
	ofTheContract := `
		POST firewall {"name":"edge","description":"public"} -> "name":"edge","description":"public","location":"eu-central-h1","firewall_rules":[]
		POST firewall {"name":"edge"} -> 400 project_id and location_id and name is already taken
		POST firewall {"name":"Edge"} -> 400 Validation failed for following fields: name
		POST firewall {"name":" "} -> 400 empty string provided for parameter name
		POST firewall {"name":"{fw edge}"} -> 400 name cannot be exactly 26
		POST firewall {"description":"public"} -> 400 required parameters: name
		rule = POST L/firewall/edge/firewall-rule {"cidr":"10.0.0.0/8","port_range":"80"} ->
		POST L/firewall/edge/firewall-rule {"cidr":"9.0.0.0/8"} ->
		POST L/firewall/edge/firewall-rule/$rule {"cidr":"11.1.0.0/8"} -> "id":"$rule","cidr":"11.0.0.0/8","port_range":"80
		POST L/firewall/edge/firewall-rule/$rule {"cidr":"11.0.0.0/8","port_range":"81..82"} -> "port_range":"81..82"
		POST L/firewall/edge/firewall-rule/$rule {"cidr":"9.0.0.0/8","port_range":"0..65535"} -> 400 is already taken
		POST L/firewall/edge/firewall-rule/$rule {"cidr":"9.0.0.0/8","port_range":"x"} -> 400 "port_range"
		POST L/firewall/edge/firewall-rule/$rule {"port_range":"80"} -> 400 required parameters: cidr
		POST L/firewall/edge/firewall-rule/$rule {"cidr":"9.0.0.0/8","protocol":"udp"} -> 400 unrecognized parameters: protocol
		POST L/firewall/edge/firewall-rule/` + missing + ` {"cidr":"9.0.0.0/8"} -> 404
		GET L/firewall/edge/firewall-rule/$rule -> "cidr":"11.0.0.0/8","port_range":"81..82"
		token pat-other
		POST firewall {"name":"more"} -> 403
		allow Firewall:view Firewall:create
		POST firewall {"name":"more"} ->
		POST L/firewall/edge/firewall-rule/$rule {"cidr":"12.0.0.0/8"} -> 403
		allow Firewall:edit
		POST L/firewall/edge/firewall-rule/$rule {"cidr":"12.0.0.0/8"} ->`
	run(t, map[string]func(*testing.T){
		"default firewalls": script(`
			POST L/private-subnet/`+long+` -> "name":"`+long[:55]+`-default" & "cidr":"0.0.0.0/0" & "cidr":"::/0"
			DELETE L/private-subnet/`+long+` ->
			POST L/private-subnet/`+long+` -> "name":"`+long[:47]+`-default-
			GET firewall -> "count":2`, cloudapitest.WithDelays(cloudapitest.Delays{})),
		"connections": script(`
			POST L/private-subnet/a ->
			POST L/private-subnet/b ->
			POST L/private-subnet/a/connect {"connected-subnet-id":"{ps b}"} ->
			POST L/private-subnet/b/connect {"connected-subnet-id":"{ps a}"} -> 400 is already taken
			POST L/private-subnet/b/disconnect/{ps a} ->
			POST L/private-subnet/a/disconnect/{ps b} ->
			b = POST L/private-subnet/b/connect {"connected-subnet-id":"{ps a}"} ->
			POST L/private-subnet/a/connect {"connected-subnet-id":"{ps b}"} -> 400 is already taken
			POST L/private-subnet/a/connect {"connected-subnet-id":"{ps a}"} -> 400 to itself
			DELETE L/private-subnet/b ->
			wait 39s
			GET L/private-subnet/b -> "state":"deleting"
			wait 1s
			GET L/private-subnet/b -> 404
			POST L/private-subnet/a/connect {"connected-subnet-id":"$b"} -> 400 Subnet to be connected not found`, delays()),
		"disconnecting": script(`
			POST L/private-subnet/a ->
			POST L/private-subnet/b ->
			allow PrivateSubnet:disconnect
			POST L/private-subnet/a/disconnect/{ps b} ->
			POST L/private-subnet/a/connect {"connected-subnet-id":"{ps b}"} -> 403`),
		"rules": script(`
			POST L/firewall/web {"description":"<a> & b"} -> "description":"<a>
			POST L/private-subnet/net {"firewall_id":"{fw web}"} -> "firewalls":[{"id":"{fw web}" & !default
			rule = POST L/firewall/web/firewall-rule {"cidr":" 10.1.2.3/8 "} -> "cidr":"10.0.0.0/8","port_range":"0..65535","protocol":"tcp"
			POST L/firewall/web/firewall-rule {"cidr":"9.0.0.1","port_range":"80"} -> "cidr":"9.0.0.1/32","port_range":"80",
			POST L/firewall/web/firewall-rule {"cidr":"net","port_range":"80..81"} -> "port_range":"80..81" & },{
			GET L/firewall/web -> "firewall_rules":[{"id":"fr & "private_subnets":[{"id":"{ps net}"
			POST L/firewall/web/firewall-rule {"cidr":"011.2.3.4 255.255.0.0","port_range":"80"} -> "cidr":"11.2.0.0/16"
			POST L/firewall/web/firewall-rule {"cidr":"::ffff:102:304/128","port_range":"80"} -> "cidr":"::ffff:102:304/128"
			POST L/firewall/web/firewall-rule {"cidr":"nothing"} -> 400 Invalid CIDR
			POST L/firewall/web/firewall-rule {"cidr":"10.0.0.0/33"} -> 400 Invalid CIDR
			PATCH L/firewall/web/firewall-rule/$rule {"description":" b "} -> "description":"b"
			PATCH L/firewall/web/firewall-rule/$rule {"cidr":"9.0.0.1","port_range":"80"} -> 400 is already taken
			PATCH L/firewall/web/firewall-rule/$rule {"protocol":"icmp"} -> 400 must be tcp or udp
			PATCH L/firewall/web/firewall-rule/`+missing+` {"description":"b"} -> 404
			token pat-other
			GET L/firewall/web/firewall-rule/$rule -> 403
			DELETE L/firewall/web/firewall-rule/$rule -> 403
			GET L/firewall/web/firewall-rule/`+missing+` -> 404
			DELETE L/firewall/web/firewall-rule/`+missing+` ->
			allow Firewall:*
			DELETE L/firewall/web -> 403
			allow Firewall:* PrivateSubnet:edit
			DELETE L/firewall/web ->
			allow *:view
			GET L/private-subnet/net -> "firewalls":[]`, serviceOnly, other),
		"the contract's rules": script(`
			POST L/firewall/web ->
			POST L/firewall/web/firewall-rule {"cidr":"fd00::/8","port_range":"80"} -> "port_range":"80..80" & !protocol
			POST L/firewall/web/firewall-rule {"cidr":"10.0.0.0/8"} ->
			GET L/firewall/web -> "cidr":"10.0.0.0/8","port_range":"0..65535"},{
			POST L/firewall/web/firewall-rule {"cidr":"10.0.0.0/8","protocol":"udp"} -> 400 unrecognized parameters: protocol
			PATCH L/firewall/web/firewall-rule/`+missing+` {"cidr":"10.0.0.0/9"} -> 404`, contractOnly, cloudapitest.Lenient()),
		"the contract's operations, in the contract": script(ofTheContract, contractOnly, cloudapitest.Lenient(), other),
		"the contract's operations, by default": script(ofTheContract+`
			allow Project:auditlog
			GET audit-log?action=fw/create -> "object_ids":["{fw edge}"]
			GET audit-log?action=fr/update -> "object_ids":["$rule"]`, cloudapitest.Lenient(), other),
		"the contract's operations, in the service": script(`
			POST L/firewall/edge ->
			POST firewall {"name":"other"} -> 404 ResourceNotFound
			rule = POST L/firewall/edge/firewall-rule {"cidr":"10.0.0.0/8"} ->
			POST L/firewall/edge/firewall-rule/$rule {"cidr":"11.0.0.0/8"} -> 404 ResourceNotFound
			GET L/firewall/edge/firewall-rule/$rule -> "cidr":"10.0.0.0/8"`, serviceOnly, cloudapitest.Lenient()),
	})
}

func TestPrivateLocations(t *testing.T) {
	create := func(name, region string) string {
		return `POST private-location {"name":"` + name + `","provider_location_name":"` + region + `","access_key":"a","secret_key":"b"} -> `
	}
	run(t, map[string]func(*testing.T){
		"are locations": script(create("mine", "us-east-1")+`"name":"us-east-1","ui_name":"mine","provider":"aws","path":"/private-location/mine"
			POST location/mine/private-subnet/net -> "net4":"10. & /16"
			POST L/private-subnet/net -> "net4":"10. & /26" & "net6":"fd
			POST location/mine/vm/web {"public_key":"ssh-ed25519 AAAA","private_subnet_id":"{ps net}"} -> "location":"mine"
			POST private-location/mine {"name":"ours"} -> "ui_name":"ours"
			GET location/ours/vm/web -> "location":"ours"
			GET location/mine/vm/web -> 404 Available locations: eu-central-h1, eu-north-h1, ours, us-east-a2
			GET private-location/mine -> 404
			`+create("a", "us-west-2")+`
			`+create("b", "ap-southeast-2")+`
			GET private-location?order_column=name&page_size=1 -> "ui_name":"b"
			POST private-location/a {"name":"ours"} -> 400 project_id and display_name is already taken, project_id and ui_name is already taken
			POST private-location/a {"name":"-"} -> 400 must only contain lowercase letters
			POST private-location/a {"name":"a"} ->`, serviceOnly),
		"in use": script(create("mine", "us-west-2")+`
			POST location/mine/postgres/db {"size":"m8gd.large","storage_size":118} ->
			POST location/mine/firewall/fw ->
			DELETE private-location/mine -> 409 Private location 'mine' has some resources
			DELETE location/mine/postgres/db ->
			DELETE private-location/mine -> 409
			wait 1h
			DELETE location/mine/firewall/fw ->
			DELETE private-location/mine ->
			wait 238h
			GET private-location/mine ->
			wait 2h
			GET private-location/mine -> 404
			GET location/mine/vm -> 404 InvalidLocation`, serviceOnly),
		"with a firewall, in the contract": script(create("mine", "us-west-2")+`
			POST location/mine/firewall/fw ->
			DELETE private-location/mine -> 500 UnexceptedError
			DELETE location/mine/firewall/fw ->
			DELETE private-location/mine ->
			GET private-location/mine -> 404`, contractOnly),
		"with a firewall": script(create("mine", "us-west-2")+`
			POST location/mine/firewall/fw ->
			DELETE private-location/mine ->
			wait 1h
			DELETE private-location/mine ->
			GET private-location/mine ->
			DELETE location/mine/firewall/fw ->
			GET private-location/mine -> 404`, serviceOnly),
	})
}

func TestPrivateLocationsBelongToAProject(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t, cloudapitest.WithTokenAccess("pat-foreign", cloudapitest.AccessForeign))
	const body = `{"name":"theirs","provider_location_name":"us-east-1","access_key":"a","secret_key":"b"}`
	play(t, srv, `
		token pat-foreign
		POST /`+srv.OtherProjectID()+`/private-location `+body+` ->`)
	play(t, srv, `
		GET location/theirs/vm -> 404 InvalidLocation & !theirs
		POST private-location `+body+` ->
		GET location/theirs/vm -> "count":0`)
}

func TestLoadBalancers(t *testing.T) {
	const body = `{"algorithm":"round_robin","src_port":80,"dst_port":8080,"health_check_protocol":"http","private_subnet_id":"{ps net}"`
	const update = `PATCH L/load-balancer/lb {"algorithm":"hash_based","src_port":1,"dst_port":65535,"health_check_endpoint":"/","cert_enabled":true,"vms":`
	const setUp = `
		POST L/private-subnet/net ->
		POST L/load-balancer/lb ` + body + `,"stack":"dual"} -> "vms":[] & "cert_enabled":false
		POST L/load-balancer/other ` + body + `,"stack":"ipv4"} ->
		POST L/vm/a {"public_key":"ssh-ed25519 AAAA","private_subnet_id":"{ps net}","enable_ip4":true} ->
		POST L/vm/b {"public_key":"ssh-ed25519 AAAA","private_subnet_id":"{ps net}","enable_ip4":true} ->
		`
	run(t, map[string]func(*testing.T){
		"detaching": script(setUp+`
			POST L/load-balancer/lb/attach-vm {"vm_id":"{vm a}"} ->
			POST L/load-balancer/lb/attach-vm {"vm_id":"{vm b}"} -> "vms":["{vm a}","{vm b}"]
			POST L/load-balancer/other/detach-vm {"vm_id":"{vm a}"} ->
			POST L/load-balancer/lb/detach-vm {"vm_id":"{vm a}"} -> "vms":["{vm a}"
			wait 10s
			POST L/load-balancer/lb/detach-vm {"vm_id":"{vm a}"} ->
			wait 9s
			POST L/load-balancer/other/attach-vm {"vm_id":"{vm a}"} -> 400 VM is already attached to a load balancer
			POST L/load-balancer/lb/attach-vm {"vm_id":"{vm a}"} -> 400 VM is already attached to a load balancer
			wait 1s
			GET L/load-balancer/lb -> "vms":["{vm b}"]
			POST L/load-balancer/other/attach-vm {"vm_id":"{vm a}"} ->
			DELETE L/private-subnet/net -> 409 has VMs attached
			DELETE L/vm/a ->
			DELETE L/vm/b ->
			GET L/load-balancer/lb -> "vms":["{vm b}"]
			wait 20s
			GET L/load-balancer/lb -> "vms":[]
			GET L/vm/b ->
			DELETE L/private-subnet/net ->
			wait 1h
			GET load-balancer -> "count":0`, delays()),
		"VMs that are gone first": script(setUp+`
			POST L/load-balancer/lb/attach-vm {"vm_id":"{vm a}"} ->
			DELETE L/vm/a ->
			GET L/load-balancer/lb -> "vms":[]`, cloudapitest.WithDelays(cloudapitest.Delays{Detach: 1})),
		"updates": script(setUp+`
			POST location/us-east-a2/vm/far {"public_key":"ssh-ed25519 AAAA","enable_ip4":true} ->
			POST L/load-balancer/other/attach-vm {"vm_id":"{vm b}"} ->
			POST L/load-balancer/lb/attach-vm {"vm_id":"{vm far}"} -> 400 No matching VM found in eu-central-h1
			POST L/load-balancer/lb/attach-vm {"vm_id":"{vm a}"} -> "vms":["{vm a}"]
			`+update+`["{vm a}","{vm b}"]} -> 400 VM is already attached to a load balancer
			`+update+`["{vm a}","{vm a}"]} -> 400 VM not found
			`+update+`["{vm a}"],"dst_port":65536} -> 400 dst_port
			`+update+`["{vm a}"],"src_port":-1} -> 400 src_port
			`+update+`["{vm a}"],"algorithm":"x","dst_port":65536} -> 400 algorithm is not one of the supported values
			`+update+`["{vm a}"],"health_check_endpoint":" "} -> 400 parameter health_check_endpoint
			GET L/load-balancer/lb -> "algorithm":"round_robin" & "src_port":80 & "vms":["{vm a}"]
			POST L/load-balancer/lb/detach-vm {"vm_id":"{vm a}"} ->
			`+update+`["{vm far}","{vm a}"],"stack":"ipv4"} -> "algorithm":"hash_based" & "stack":"dual" & "src_port":1,"dst_port":65535 & "vms":["{vm far}","{vm a}"] & "cert_enabled":true
			wait 20s
			GET L/load-balancer/lb -> "vms":["{vm far}"]
			`+update+`[]} -> "vms":[]
			POST L/load-balancer/lb/toggle-ssl-certificate {"cert_enabled":false} -> "cert_enabled":false
			GET audit-log?action=disable_ssl -> 1b/disable_ssl`, serviceOnly, delays()),
		"names": script(setUp+`
			POST L/private-subnet/second ->
			twin = POST L/load-balancer/lb {"algorithm":"round_robin","src_port":80,"dst_port":8080,"health_check_protocol":"https","private_subnet_id":"{ps second}","stack":"dual"} -> "cert_enabled":true
			POST L/load-balancer/lb `+body+`,"stack":"dual"} -> 400 private_subnet_id and name is already taken
			POST L/load-balancer/other/rename {"name":"lb"} -> 400 private_subnet_id and name is already taken
			POST L/load-balancer/other/rename {"name":"other"} -> "hostname":"other. & !vms
			POST L/load-balancer/$twin/rename {"name":"other"} -> "hostname":"other.$twin
			POST location/us-east-a2/load-balancer/far `+body+`,"stack":"dual"} -> "location":"eu-central-h1"
			GET location/us-east-a2/load-balancer/far -> 404`, serviceOnly),
		"refused": script(setUp+`
			POST L/load-balancer/a `+body+`,"stack":"dual","dst_port":65536} -> 400 dst_port
			POST L/load-balancer/a `+body+`,"private_subnet_id":"net","stack":"x"} -> 400 Private subnet not found
			POST L/load-balancer/a `+body+`,"stack":"x","algorithm":"x"} -> 400 stack option
			POST L/load-balancer/a `+body+`,"stack":"dual","algorithm":"x","health_check_protocol":"x"} -> 400 algorithm is not one of the supported values (hash_based, round_robin), health_check_protocol is not one of the supported values (http, https, tcp)
			POST L/load-balancer/1b164pbm96ba3grq6vbsvjb3ax `+body+`,"stack":"dual"} -> 400 name cannot be exactly 26
			POST L/vm/without {"public_key":"ssh-ed25519 AAAA"} ->
			POST L/load-balancer/lb/attach-vm {"vm_id":"{vm without}"} -> 400 if the VM does not have IPv4 enabled
			GET load-balancer -> "count":2`, serviceOnly),
	})
}
