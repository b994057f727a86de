package families_test

import (
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func TestVMs(t *testing.T) {
	long := strings.Repeat("x", 1999) // the limit is 2,000
	const create = `POST L/vm/web {"public_key":"ssh-ed25519 AAAA","enable_ip4":true} -> "state":"creating" & `
	run(t, map[string]func(*testing.T){
		"a life": script(create+`"storage_size_gib":0 & "ip6":null & "ip4":null & "private_ipv4":"10.
			POST L/vm/web/restart -> "state":"restarting"
			wait 30s
			GET L/vm/web -> "state":"creating"
			wait 29s
			GET L/vm/web -> "state":"creating" & "ip6":null
			wait 1s
			GET L/vm/web -> "state":"running" & "storage_size_gib":40 & !"ip6":null & !"ip4":null
			POST L/vm/web/restart ->
			wait 29s
			GET L/vm/web -> "state":"restarting"
			wait 1s
			GET L/vm/web -> "state":"running"
			state {vm web} no capacity available
			GET L/vm/web -> "state":"no capacity available"
			state {vm web}
			DELETE L/vm/web ->
			POST L/vm/web/restart -> "state":"deleting"
			wait 39s
			GET L/vm/web -> "state":"deleting"
			wait 1s
			GET L/vm/web -> 404`, contractOnly, delays()),
		"power": script(create+`"storage_size_gib":40
			POST L/vm/web/restart -> 400 The restart action is not supported
			wait 1m
			POST L/vm/web/restart -> "state":"running"
			POST L/vm/web/stop -> "state":"restarting"
			GET L/vm/web -> "state":"restarting"
			wait 30s
			GET L/vm/web -> "state":"stopped"
			POST L/vm/web/start -> "state":"starting"
			POST L/vm/web/stop -> "state":"starting"
			wait 30s
			GET L/vm/web -> "state":"running"`, serviceOnly, delays()),
		"addresses": script(`
			POST L/vm/a {"public_key":"ssh-ed25519 AAAA","enable_ip4":true} -> "ip4":"198.18.0.1" & "ip6":"2001:db8:0:1::2"
			POST L/vm/b {"public_key":"ssh-ed25519 AAAA","enable_ip4":true} -> "ip4":"198.18.0.2" & "ip6":"2001:db8:0:2::2"
			POST L/vm/a/rename {"name":"z"} ->
			GET L/private-subnet/default-eu-central-h1 -> "name":"a-nic" & "vm_name":"z"`, cloudapitest.WithDelays(cloudapitest.Delays{})),
		"refused": script(`
			POST location/us-east-a2/private-subnet/net {} ->
			POST L/vm/web {"public_key":"key","private_subnet_id":"{ps net}"} -> 400 "private_subnet_id"
			POST L/vm/web {"public_key":"key","gpu":"3:20b5"} -> 400 "gpu"
			POST L/vm/web {"public_key":"key","gpu":"x"} -> 400 count:device_name
			POST location/eu-north-h1/vm/web {"public_key":"key","size":"burstable-1"} -> 400 "location"
			POST L/vm/web {"public_key":"key","unix_user":"0"} -> 400 "user"
			POST L/vm/web {"public_key":"key","size":"standard-60","unix_user":"0"} -> 400 "size"
			POST L/vm/web {"public_key":"key","size":"huge","boot_image":"dos"} -> 400 "boot_image"
			POST L/vm/web {"public_key":"key","size":"huge"} -> 400 Available sizes: [\"standard-2\", 
			POST L/vm/web {"public_key":"key","size":"burstable-2","storage_size":80} -> 400 Storage size must be one of the following: 20, 40
			POST L/vm/web {"public_key":"key","storage_size":1000000000000000000000000000000} -> 400 "public_key invalid SSH public key format"
			POST L/vm/web {"public_key":"ssh-ed25519 AAAA","storage_size":80.5} ->
			POST L/vm/web {"public_key":"a"} -> 400 project_id and location_id and name is already taken, public_key invalid SSH public key format","details":null
			GET private-subnet -> "count":2`),
		"quota": script(`
			POST L/vm/a {"public_key":"ssh-ed25519 AAAA"} ->
			POST L/vm/b {"public_key":"ssh-ed25519 AAAA","size":"burstable-1"} ->
			DELETE L/vm/a ->
			POST L/vm/a {"public_key":"ssh-ed25519 AAAA","size":"burstable-1"} -> 400 Requested vCPU count: 1, currently used vCPU count: 3, maximum allowed vCPU count: 3, remaining vCPU count: 0
			DELETE . -> 409
			wait 1m
			POST L/vm/a {"public_key":"ssh-ed25519 AAAA","size":"burstable-2"} ->`, cloudapitest.WithQuota(cloudapitest.Quota{VM: 3})),
		"private locations": script(`
			POST private-location {"name":"east","provider_location_name":"us-east-1","access_key":"a","secret_key":"b"} ->
			POST private-location {"name":"dublin","provider_location_name":"eu-west-1","access_key":"a","secret_key":"b"} ->
			POST location/east/vm/a {"public_key":"ssh-ed25519 AAAA"} -> "state":"creating" & "storage_size_gib":40 & "ip6":null
			POST location/east/vm/b {"public_key":"ssh-ed25519 AAAA","size":"burstable-1"} -> 400 Resource family burstable is not available in location east
			POST location/dublin/vm/a {"public_key":"ssh-ed25519 AAAA"} -> 400 "location"`, contractOnly),
		"images": script(`
			POST L/vm/source {"public_key":"ssh-ed25519 AAAA"} ->
			POST L/vm/large {"public_key":"ssh-ed25519 AAAA","storage_size":80} ->
			POST location/us-east-a2/vm/far {"public_key":"ssh-ed25519 AAAA"} ->
			wait 1m
			POST L/machine-image/golden {"vm":"{vm source}","version":"v1"} -> 400 Source VM must be stopped
			POST L/vm/source/stop ->
			POST L/vm/large/stop ->
			POST location/us-east-a2/vm/far/stop ->
			wait 30s
			POST L/machine-image/golden {"vm":"{vm large}"} -> 400 storage is larger than 40 GiB
			POST location/us-east-a2/machine-image/golden {"vm":"{vm far}"} -> 400 No machine image store
			POST L/machine-image/m1y2r3n4k5p6q7s8t9v0w1x2yz {"vm":"{vm source}"} -> 400 BadRequest
			POST L/machine-image/golden {"vm":"{vm source}","version":"v1"} -> "latest_version":null
			DELETE L/vm/source -> 400 while it is being captured
			POST L/vm/source/start -> 400 while it is being captured
			wait 1m
			GET L/machine-image/golden -> "latest_version":"v1"
			POST L/machine-image/golden/version/v2 {"vm":"{vm source}"} ->
			POST L/machine-image/golden/version/v3 {"vm":"{vm source}"} -> 400 Insufficient quota for machine image versions. Requested: 3, maximum allowed: 2
			wait 1m
			GET L/machine-image/golden -> "latest_version":"v2"
			DELETE L/machine-image/golden/version/v2 ->
			GET L/machine-image/golden -> "latest_version":"v1"
			POST L/vm/copy {"public_key":"ssh-ed25519 AAAA","boot_image":"golden@latest"} -> "boot_image":"golden@latest"`,
			serviceOnly, delays(), cloudapitest.WithQuota(cloudapitest.Quota{VM: 32, MachineImageVersions: 2})),
		"init scripts": script(`
			POST vm-init-script {"name":"setup","script":"echo"} -> "name":"setup","script":"echo"
			POST vm-init-script {"name":"a","script":"echo a"} ->
			GET vm-init-script -> "name":"a"},{ & !echo
			POST vm-init-script {"name":"setup","script":"x"} -> 400 project_id and name is already taken
			POST vm-init-script {"name":"No","script":""} -> 400 script is not present, name must only contain lowercase letters
			POST vm-init-script {"name":"","script":"x"} -> 400 name is not present
			POST vm-init-script {"name":"1n164pbm96ba3grq6vbsvjb3ax","script":"x"} -> 400 name cannot be exactly 26
			POST vm-init-script/a {"name":"setup"} -> 400 is already taken
			POST vm-init-script/a {"script":"echo b"} -> "name":"a","script":"echo b"
			POST vm-init-script/a {"name":"b","script":" "} -> "name":"b","script":"echo b"
			GET vm-init-script/b -> same
			POST L/vm/a {"public_key":"ssh-ed25519 AAAA","init_script":"b","init_script_args":"--fast"} ->
			POST L/vm/b {"public_key":"ssh-ed25519 AAAA","init_script":"{1n b}"} ->
			DELETE vm-init-script/b ->
			DELETE vm-init-script/b ->
			GET vm-init-script/b -> 404
			POST L/vm/c {"public_key":"ssh-ed25519 AAAA","init_script":"b"} -> 400 VM init script \"b\" is not found
			POST L/vm/c {"public_key":"ssh-ed25519 AAAA","init_script":"#!/bin/sh"} -> 400
			token pat-other
			GET vm-init-script -> 403
			GET vm-init-script/nope -> 403`, contractOnly, cloudapitest.WithTokenAccess("pat-other", cloudapitest.AccessNone)),
		"today's init scripts": script(`
			POST vm-init-script {"name":"setup","script":"x"} -> 404
			POST L/vm/a {"public_key":"ssh-ed25519 AAAA","init_script":"setup","init_script_args":""} -> 400
			POST L/vm/a {"public_key":"ssh-ed25519 AAAA","init_script":"#!`+long+`"} -> 400
			POST L/vm/a {"public_key":"ssh-ed25519 AAAA","init_script":"#!/bin/sh"} ->`, serviceOnly, cloudapitest.Lenient()),
		"either kind of init scripts": script(`
			id = POST vm-init-script {"name":"setup","script":"date"} ->
			POST L/vm/a {"public_key":"ssh-ed25519 AAAA","init_script":"setup","init_script_args":""} ->
			POST L/vm/b {"public_key":"ssh-ed25519 AAAA","init_script":"$id","init_script_args":"--fast"} ->
			POST L/vm/c {"public_key":"ssh-ed25519 AAAA","init_script":"other","init_script_args":"--fast"} -> 400
			POST L/vm/d {"public_key":"ssh-ed25519 AAAA","init_script":"#!/bin/sh"} ->
			POST L/vm/e {"public_key":"ssh-ed25519 AAAA","init_script":"#!` + long + `"} -> 400`),
		"SSH keys": script(`
			POST ssh-public-key {"name":"f","public_key":"not a key"} -> "public_key":"not a key"
			POST ssh-public-key {"name":"e","public_key":"command=\"a b\" ssh-rsa AAAA"} ->
			POST ssh-public-key {"name":"d","public_key":"ssh-rsa AAAA===="} ->
			GET ssh-public-key -> "name":"d"},{ & !AAAA
			POST ssh-public-key {"name":"b","public_key":"  "} -> 400 public_key is not present
			POST ssh-public-key {"name":"b","public_key":"# c"} -> 400 public_key must contain at least one valid SSH public key
			POST ssh-public-key {"name":" ","public_key":"ssh-ed25519 AAAA"} -> 400 name is not present
			POST ssh-public-key {"name":"B","public_key":"x"} -> 400 public_key invalid SSH public key format, name must only
			POST ssh-public-key {"name":"b","public_key":"x\u0000 y"} -> 400 string parameter contains null byte
			POST L/vm/a {"public_key":"d"} ->
			POST L/vm/b {"public_key":"c"} -> 400 invalid SSH public key format`),
	})
}
