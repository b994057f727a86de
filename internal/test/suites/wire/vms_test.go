package wire_test

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func vmCases() []wireCase {
	const (
		base = locationPath + "/vm"
		vm   = base + "/web-1"
		item = `{"id":"` + stub.VMID + `","name":"web-1","state":"running","location":"eu-central-h1","size":"standard-2","unix_user":"ubi",` +
			`"storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17"}`
		full = `{"id":"` + stub.VMID + `","name":"web-1","state":"creating","location":"eu-central-h1","size":"standard-2","unix_user":"ubi",` +
			`"storage_size_gib":0,"ip6":null,"ip4_enabled":false,"ip4":null,"firewalls":[{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge",` +
			`"description":"d","location":"eu-central-h1","firewall_rules":[{"id":"frhgen1ff6864nrqg8etdv647m","cidr":"0.0.0.0/0","port_range":"22..22"}],` +
			`"path":"/location/eu-central-h1/firewall/edge"}],"private_ipv4":"10.23.41.69","private_ipv6":"fd4c:91aa:7be0:12d:8c62::2",` +
			`"subnet":"backend","gpu":"1x NVIDIA A100 80GB PCIe","boot_image":"golden@v1"}`
	)
	create := func(request cloudapi.VMCreateRequest) sdktest.Call {
		return do("VMs.Create", location, "web-1", &request)
	}
	return []wireCase{
		{do("VMs.List", &cloudapi.ListOptions{}), "GET " + projectPath + "/vm", list(item)},
		{do("VMs.List", &cloudapi.ListOptions{Location: location, StartAfter: "web", PageSize: 1, OrderColumn: cloudapi.OrderByName}),
			"GET " + base + "?order_column=name&page_size=1&start_after=web", list(item)},
		{do("VMs.All", &cloudapi.ListOptions{Location: location}), "GET " + base + "?page_size=1000", list(item)},
		{do("VMs.Get", location, "web-1"), "GET " + vm, full},
		{create(cloudapi.VMCreateRequest{PublicKey: "laptop"}), "POST " + vm + ` {"public_key":"laptop"}`, full},
		{
			create(cloudapi.VMCreateRequest{
				PublicKey: "laptop", BootImage: "debian-12", Size: "standard-4", StorageSize: 160,
				PrivateSubnetID: "ps6336kqkb6j4qf8813xfx1bw0", EnableIPv4: new(false), UnixUser: "deploy", GPU: "1:20b5",
				InitScript: "bootstrap", InitScriptArgs: "--role web",
			}),
			"POST " + vm + ` {"public_key":"laptop","boot_image":"debian-12","size":"standard-4","storage_size":160,` +
				`"private_subnet_id":"ps6336kqkb6j4qf8813xfx1bw0","enable_ip4":false,"unix_user":"deploy","gpu":"1:20b5",` +
				`"init_script":"bootstrap","init_script_args":"--role web"}`,
			full,
		},
		{create(cloudapi.VMCreateRequest{PublicKey: "laptop", InitScript: "bootstrap"}),
			"POST " + vm + ` {"public_key":"laptop","init_script":"bootstrap","init_script_args":""}`, full},
		{create(cloudapi.VMCreateRequest{PublicKey: "laptop", Size: "standard-4", InitScriptText: "#!/bin/sh\nreboot\n"}),
			"POST " + vm + ` {"public_key":"laptop","size":"standard-4","init_script":"#!/bin/sh\nreboot\n"}`, full},
		{do("VMs.Start", location, "web-1"), "POST " + vm + "/start", full},
		{do("VMs.Stop", location, "web-1"), "POST " + vm + "/stop", full},
		{do("VMs.Restart", location, "web-1"), "POST " + vm + "/restart", full},
		{do("VMs.Delete", location, "web-1"), "DELETE " + vm, nil},
		{do("VMs.Rename", location, stub.VMID, "web-1"), "POST " + base + "/" + stub.VMID + `/rename {"name":"web-1"}`, item},
		{do("VMs.Rename", location, "web-0", "web-1"), "POST " + base + `/web-0/rename {"name":"web-1"}`, item},
		{do("VMs.SetMaintenanceWindow", location, "web-1", &cloudapi.VMMaintenanceWindowRequest{StartAt: new(0)}),
			"POST " + vm + `/set-maintenance-window {"maintenance_window_start_at":0}`, with(item, `"maintenance_window_start_at":0`)},
		{do("VMs.SetMaintenanceWindow", location, "web-1", nil),
			"POST " + vm + `/set-maintenance-window {"maintenance_window_start_at":null}`, with(item, `"maintenance_window_start_at":null`)},
		{do("VMs.SerialLog", location, "web-1", &cloudapi.VMSerialLogOptions{Refresh: true}),
			"GET " + vm + "/serial-log?refresh=true", `{"status":"created","output":null,"timestamp":"2026-11-23T08:05:31Z"}`},
		{do("VMs.SerialLog", location, "web-1", nil),
			"GET " + vm + "/serial-log", `{"status":"succeeded","output":"[\u001b[0;32m  OK  \u001b[0m] Reached\r\n","timestamp":"2026-11-23T08:05:34Z"}`},
	}
}

func TestVMWaits(t *testing.T) {
	t.Parallel()
	vm := func(state string) string {
		return `{"id":"` + stub.VMID + `","name":"web-1","state":"` + state + `"}`
	}
	stopped, running := do("VMs.WaitStopped", location, "web-1"), do("VMs.WaitRunning", location, "web-1")
	runWaits(t, quick, locationPath+"/vm/web-1", []waitCase{
		{"stopped", stopped, polls{vm("running"), vm("stopping"), vm("stopped")}, nil, ""},
		{"stopped by the provider first", stopped, polls{vm("stopping"), vm("stopped by admin"), vm("unavailable"), vm("stopped")}, nil, ""},
		{"deleted before it stops", stopped, polls{vm("stopping"), vm("deleting")}, cloudapi.ErrWaitFailed, ""},
		{"started", running, polls{vm("starting"), vm("starting"), vm("running")}, nil, ""},
	})
	log := func(status, output string) string { return `{"status":"` + status + `","output":` + output + `}` }
	serialLog := do("VMs.WaitSerialLog", location, "web-1")
	runWaits(t, quick, locationPath+"/vm/web-1/serial-log", []waitCase{
		{"no serial log", serialLog, polls{log("created", "null"), log("created", "null"), log("failed", "null")}, cloudapi.ErrWaitFailed, ""},
		{"serial log", serialLog, polls{log("created", "null"), stub.Envelope(500), log("succeeded", `"login:"`)}, nil, ""},
		{"empty serial log", serialLog, polls{log("succeeded", `""`)}, nil, ""},
		{"serial log of a VM without a host", serialLog, polls{stub.Envelope(400)}, cloudapi.ErrInvalidRequest, ""},
	})
}
