package wire_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestVMsWire(t *testing.T) {
	t.Parallel()
	const (
		location = "eu-central-h1"
		base     = locationPath + "/vm"
		short    = `{"id":"` + stub.VMID + `","name":"web-1","state":"running","location":"eu-central-h1","size":"standard-2","unix_user":"ubi",` +
			`"storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17"}`
		full = `{"id":"` + stub.VMID + `","name":"web-1","state":"creating","location":"eu-central-h1","size":"standard-2","unix_user":"ubi",` +
			`"storage_size_gib":0,"ip6":null,"ip4_enabled":false,"ip4":null,"firewalls":[{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge",` +
			`"description":"d","location":"eu-central-h1","firewall_rules":[{"id":"frhgen1ff6864nrqg8etdv647m","cidr":"0.0.0.0/0","port_range":"22..22"}],` +
			`"path":"/location/eu-central-h1/firewall/edge"}],"private_ipv4":"10.23.41.69","private_ipv6":"fd4c:91aa:7be0:12d:8c62::2",` +
			`"subnet":"backend","gpu":null,"boot_image":"golden@v1","quirks":"a field that a later server adds"}`
	)
	item := &cloudapi.VM{
		ID: stub.VMID, Name: "web-1", State: cloudapi.VMStateRunning, Location: location, Size: "standard-2", UnixUser: "ubi",
		StorageSizeGiB: 40, IP6: "2a01:db8:40:1ed3:aa7c::2", IP4Enabled: true, IP4: "198.51.100.17",
	}
	record := &cloudapi.VM{
		ID: stub.VMID, Name: "web-1", State: cloudapi.VMStateCreating, Location: location, Size: "standard-2", UnixUser: "ubi", BootImage: "golden@v1",
		Firewalls: []cloudapi.Firewall{{
			ID: "fw8ww2xa7brt1qrn9hgzbc7efq", Name: "edge", Description: "d", Location: location,
			FirewallRules: []cloudapi.FirewallRule{{ID: "frhgen1ff6864nrqg8etdv647m", CIDR: "0.0.0.0/0", PortRange: "22..22"}},
			Path:          "/location/eu-central-h1/firewall/edge",
		}},
		PrivateIPv4: "10.23.41.69", PrivateIPv6: "fd4c:91aa:7be0:12d:8c62::2", Subnet: "backend",
	}
	windowed := *item
	windowed.MaintenanceWindowStartAt = new(0)
	window := func(hour *int) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("VMs.SetMaintenanceWindow", location, "web-1", hour)
	}
	serialLog := func(opts *cloudapi.VMSerialLogOptions) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("VMs.SerialLog", location, "web-1", opts)
	}
	page := &cloudapi.Page[cloudapi.VM]{Items: []*cloudapi.VM{item}, Count: new(1), Next: stub.VMID}
	runWireCases(t, "VMs", []wireCase{
		{
			method: "GET", target: projectPath + "/vm", reply: `{"items":[` + short + `],"count":1}`,
			call: calls("VMs.List", &cloudapi.ListOptions{}),
			want: page,
		},
		{
			name: "list a location by name", method: "GET", target: base + "?order_column=name&page_size=1&start_after=web", reply: `{"items":[` + short + `],"count":1}`,
			call: calls("VMs.List", &cloudapi.ListOptions{Location: location, StartAfter: "web", PageSize: 1, OrderColumn: cloudapi.OrderByName}),
			want: &cloudapi.Page[cloudapi.VM]{Items: []*cloudapi.VM{item}, Count: new(1), Next: "web-1"},
		},
		{
			name: "all in a location", method: "GET", target: base + "?page_size=1000", reply: `{"items":[` + short + `],"count":1}`,
			call: calls("VMs.All", &cloudapi.ListOptions{Location: location}),
			want: []*cloudapi.VM{item},
		},
		{
			method: "GET", target: base + "/web-1", reply: full,
			call: calls("VMs.Get", location, "web-1"),
			want: record,
		},
		{
			name: "create", method: "POST", target: base + "/web-1", body: `{"public_key":"laptop"}`, reply: full,
			call: calls("VMs.Create", location, "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop"}),
			want: record,
		},
		{
			name: "create with all fields", method: "POST", target: base + "/web-1", reply: full,
			body: `{"public_key":"laptop","boot_image":"debian-12","size":"standard-4","storage_size":160,` +
				`"private_subnet_id":"ps6336kqkb6j4qf8813xfx1bw0","enable_ip4":false,"unix_user":"deploy","gpu":"1:20b5",` +
				`"init_script":"bootstrap","init_script_args":"--role web"}`,
			call: calls("VMs.Create", location, "web-1", &cloudapi.VMCreateRequest{
				PublicKey: "laptop", BootImage: "debian-12", Size: "standard-4", StorageSize: 160,
				PrivateSubnetID: "ps6336kqkb6j4qf8813xfx1bw0", EnableIP4: new(false), UnixUser: "deploy", GPU: "1:20b5",
				InitScript: "bootstrap", InitScriptArgs: "--role web",
			}),
			want: record,
		},
		{
			name: "create with the name of a script", method: "POST", target: base + "/web-1", reply: full,
			body: `{"public_key":"laptop","init_script":"bootstrap","init_script_args":""}`,
			call: calls("VMs.Create", location, "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop", InitScript: "bootstrap"}),
			want: record,
		},
		{
			name: "create with a script", method: "POST", target: base + "/web-1", reply: full,
			body: `{"public_key":"laptop","size":"standard-4","init_script":"#!/bin/sh\nreboot\n"}`,
			call: calls("VMs.Create", location, "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop", Size: "standard-4", InitScriptText: "#!/bin/sh\nreboot\n"}),
			want: record,
		},
		{
			method: "POST", target: base + "/web-1/start", reply: full,
			call: calls("VMs.Start", location, "web-1"),
			want: record,
		},
		{
			method: "POST", target: base + "/web-1/stop", reply: full,
			call: calls("VMs.Stop", location, "web-1"),
			want: record,
		},
		{
			method: "DELETE", target: base + "/web-1",
			call: calls("VMs.Delete", location, "web-1"),
		},
		{
			name: "rename by the ID", method: "POST", target: base + "/" + stub.VMID + "/rename", body: `{"name":"web-1"}`, reply: short,
			call: calls("VMs.Rename", location, stub.VMID, "web-1"),
			want: item,
		},
		{
			name: "rename by the name", byName: true, method: "POST", target: base + "/web-0/rename", body: `{"name":"web-1"}`, reply: short,
			call: calls("VMs.Rename", location, "web-0", "web-1"),
			want: item,
		},
		{
			method: "POST", target: base + "/web-1/restart", reply: full,
			call: calls("VMs.Restart", location, "web-1"),
			want: record,
		},
		{
			name: "set the maintenance window", method: "POST", target: base + "/web-1/set-maintenance-window", body: `{"maintenance_window_start_at":0}`,
			reply: short[:len(short)-1] + `,"maintenance_window_start_at":0}`,
			call:  window(new(0)), want: &windowed,
		},
		{
			name: "remove the maintenance window", method: "POST", target: base + "/web-1/set-maintenance-window", body: `{"maintenance_window_start_at":null}`,
			reply: short[:len(short)-1] + `,"maintenance_window_start_at":null}`,
			call:  window(nil), want: item,
		},
		{
			name: "serial log, being fetched", method: "GET", target: base + "/web-1/serial-log?refresh=true", status: http.StatusAccepted,
			reply: `{"status":"created","output":null,"timestamp":"2026-11-23T08:05:31Z"}`,
			call:  serialLog(&cloudapi.VMSerialLogOptions{Refresh: true}),
			want:  &cloudapi.VMSerialLog{Status: cloudapi.VMSerialLogStatusCreated, Timestamp: time.Date(2026, 11, 23, 8, 5, 31, 0, time.UTC)},
		},
		{
			name: "serial log", method: "GET", target: base + "/web-1/serial-log",
			reply: `{"status":"succeeded","output":"[\u001b[0;32m  OK  \u001b[0m] Reached\r\n","timestamp":"2026-11-23T08:05:34Z"}`,
			call:  serialLog(nil),
			want: &cloudapi.VMSerialLog{Status: cloudapi.VMSerialLogStatusSucceeded, Output: "[\x1b[0;32m  OK  \x1b[0m] Reached\r\n",
				Timestamp: time.Date(2026, 11, 23, 8, 5, 34, 0, time.UTC)},
		},
	})
}

// TestInitScriptsAreNotMixedUp: init_script is the name of a registered script
// in the contract, and the script itself in the service.
func TestInitScriptsAreNotMixedUp(t *testing.T) {
	t.Parallel()
	client := sdktest.SendingNothing(t)
	const text = "#!/bin/sh\nPASSWORD=secret reboot\n"
	for name, request := range map[string]cloudapi.VMCreateRequest{
		"a script as a name":          {InitScript: text},
		"a line as a name":            {InitScript: "apt-get update"},
		"a line break behind a name":  {InitScript: "bootstrap\n"},
		"a name as a script":          {InitScriptText: "bootstrap"},
		"an ID as a script":           {InitScriptText: cloudapitest.NewID(cloudapi.KindVMInitScript).String()},
		"both":                        {InitScript: "bootstrap", InitScriptText: text},
		"a script with arguments":     {InitScriptText: text, InitScriptArgs: "--role web"},
		"a script and a wrong subnet": {InitScriptText: text, PrivateSubnetID: "../x"},
	} {
		_, err := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", &request)
		e, ok := errors.AsType[*cloudapi.ArgumentError](err)
		if !ok || e.Operation != "VMs.Create" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVMWaits(t *testing.T) {
	t.Parallel()
	vm := func(state string) string {
		return `{"id":"` + stub.VMID + `","name":"web-1","state":"` + state + `"}`
	}
	log := func(status, output string) string { return `{"status":"` + status + `","output":` + output + `}` }
	serialLog := calls("VMs.WaitSerialLog", "eu-central-h1", "web-1")
	stopped := calls("VMs.WaitStopped", "eu-central-h1", "web-1")
	running := calls("VMs.WaitRunning", "eu-central-h1", "web-1")
	runWaitCases(t, locationPath+"/vm/web-1", []waitCase{
		{name: "stopped", wait: stopped, polls: []string{vm("running"), vm("stopping"), vm("stopped")},
			want: &cloudapi.VM{ID: stub.VMID, Name: "web-1", State: cloudapi.VMStateStopped}},
		{name: "stopped by the provider first", wait: stopped, polls: []string{vm("stopping"), vm("stopped by admin"), vm("unavailable"), vm("stopped")},
			want: &cloudapi.VM{ID: stub.VMID, Name: "web-1", State: cloudapi.VMStateStopped}},
		{name: "deleted before it stops", wait: stopped, polls: []string{vm("stopping"), vm("deleting")}, err: cloudapi.ErrWaitFailed},
		{name: "gone before it stops", wait: stopped, polls: []string{vm("stopping"), stub.Envelope(404)}, err: cloudapi.ErrNotFound},
		{name: "started", wait: running, polls: []string{vm("starting"), vm("starting"), vm("running")},
			want: &cloudapi.VM{ID: stub.VMID, Name: "web-1", State: cloudapi.VMStateRunning}},
		{name: "no serial log", path: "/serial-log", wait: serialLog, polls: []string{log("created", "null"), log("created", "null"), log("failed", "null")},
			err: cloudapi.ErrWaitFailed},
		{name: "serial log", path: "/serial-log", wait: serialLog, polls: []string{log("created", "null"), stub.Envelope(500), log("succeeded", `"login:"`)},
			want: &cloudapi.VMSerialLog{Status: cloudapi.VMSerialLogStatusSucceeded, Output: "login:"}},
		{name: "empty serial log", path: "/serial-log", wait: serialLog, polls: []string{log("succeeded", `""`)},
			want: &cloudapi.VMSerialLog{Status: cloudapi.VMSerialLogStatusSucceeded}},
		{name: "serial log of a VM without a host", path: "/serial-log", wait: serialLog, polls: []string{stub.Envelope(400)}, err: cloudapi.ErrInvalidRequest},
		{name: "restarted", wait: running, polls: []string{vm("restarting"), vm("running")},
			want: &cloudapi.VM{ID: stub.VMID, Name: "web-1", State: cloudapi.VMStateRunning}},
	})
}
