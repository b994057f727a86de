package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestRefusedArguments: for an invalid argument, the error names the argument,
// and nothing is sent.
func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	type create = cloudapi.VMCreateRequest
	vm := func(request create) sdktest.Call { return do("VMs.Create", location, "web-1", &request) }
	pool := func(method string, args ...any) sdktest.Call {
		return do("Kubernetes."+method, append([]any{location, "apps"}, args...)...)
	}
	const script = "#!/bin/sh\nPASSWORD=secret reboot\n"
	const bom, private = "\uFEFF", "-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n-----END OPENSSH PRIVATE KEY-----\n"
	var keys []sdktest.Call // with a text that is no public key
	for _, text := range []string{private, stub.PublicKey + "\n" + private, "-----BEGIN RSA PRIVATE KEY-----\nsecret", "PuTTY-User-Key-File-3: ssh-ed25519\nsecret\n",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\nsecret", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nsecret",
		bom + stub.PublicKey, "# secret\n " + bom + stub.PublicKey + "\n"} {
		keys = append(keys, do("SSHPublicKeys.Ensure", "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: text}, nil),
			do("VMs.Ensure", location, "web-1", &create{PublicKey: text}, nil), vm(create{PublicKey: text}), vm(create{PublicKey: text, InitScriptText: script}),
			do("SSHPublicKeys.Create", "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: text}),
			do("SSHPublicKeys.Update", "laptop", &cloudapi.SSHPublicKeyUpdateRequest{PublicKey: text}))
	}
	for _, tt := range []struct {
		argument string
		calls    []sdktest.Call
	}{
		// A server may keep the old name if the new one is blank, and respond as if
		// it had changed.
		{"request", []sdktest.Call{do("VMInitScripts.Update", "bootstrap", nil), do("VMInitScripts.Update", "bootstrap", &cloudapi.VMInitScriptUpdateRequest{}),
			do("SSHPublicKeys.Update", "laptop", nil), do("SSHPublicKeys.Update", "laptop", &cloudapi.SSHPublicKeyUpdateRequest{})}},
		{"name", []sdktest.Call{do("VMInitScripts.Update", "bootstrap", &cloudapi.VMInitScriptUpdateRequest{Name: " \t"}),
			do("SSHPublicKeys.Update", "laptop", &cloudapi.SSHPublicKeyUpdateRequest{Name: " \t"})}},
		{"request", []sdktest.Call{do("Firewalls.ModifyRule", location, "edge", "frhgen1ff6864nrqg8etdv647m", nil),
			do("Firewalls.ModifyRule", location, "edge", "frhgen1ff6864nrqg8etdv647m", &cloudapi.FirewallRuleModifyRequest{}),
			do("VMs.SetMaintenanceWindow", location, "web-1", nil), do("Postgres.SetMaintenanceWindow", location, "orders-db", nil), // {} removes the window
			do("Postgres.UpdateConfig", location, "orders-db", nil), do("Postgres.UpdateConfig", location, "orders-db", &cloudapi.PostgresConfigUpdateRequest{})}},
		{"public_key", keys},
		{"config", []sdktest.Call{do("Postgres.ReplaceConfig", location, "orders-db", nil)}},
		{"private_subnet_id", []sdktest.Call{do("LoadBalancers.Create", location, "web-lb", nil), vm(create{InitScriptText: script, PrivateSubnetID: "../x"})}},
		// Records from a list have no VMs, so an update based on one would remove
		// all VMs.
		{"vms", []sdktest.Call{do("LoadBalancers.Update", location, "web-lb", nil),
			do("LoadBalancers.Update", location, "web-lb", &cloudapi.LoadBalancerUpdateRequest{Algorithm: "round_robin", SrcPort: 443, DstPort: 8443})}},
		// The ID is of another kind.
		{"firewall_rule_id", []sdktest.Call{do("Postgres.DeleteFirewallRule", location, "orders-db", lbID)}},
		// The location is already an argument.
		{"Location", []sdktest.Call{do("Postgres.ListFirewallRules", location, "orders-db", &cloudapi.ListOptions{Location: "us-east-a2"})}},
		{"Tags", []sdktest.Call{do("VMs.List", &cloudapi.ListOptions{Tags: []cloudapi.PostgresTag{{Key: "env", Value: "prod"}}})}},
		// init_script is the name of a registered script in the contract, and the
		// script itself in the service.
		{"init_script", []sdktest.Call{vm(create{InitScript: script}), vm(create{InitScript: "apt-get update"}), vm(create{InitScript: "bootstrap\n"}),
			vm(create{InitScriptText: "bootstrap"}), vm(create{InitScriptText: cloudapitest.NewID(cloudapi.KindVMInitScript).String()}),
			vm(create{InitScript: "bootstrap", InitScriptText: script}), vm(create{InitScriptText: script, InitScriptArgs: "--role web"}),
			vm(create{InitScriptText: "#!/bin/sh\r\necho a\r\n"}), vm(create{InitScriptText: bom + script}), vm(create{InitScriptText: "#cloud-config\nruncmd: []\n"}),
			vm(create{InitScriptText: "echo \xff\n"})}}, // not UTF-8
		{"script", []sdktest.Call{do("VMInitScripts.Create", "bootstrap", &cloudapi.VMInitScriptCreateRequest{Script: "echo a\r\n"}),
			do("VMInitScripts.Update", "bootstrap", &cloudapi.VMInitScriptUpdateRequest{Script: "\n#cloud-config\n"})}},
		{"tags[1].value", []sdktest.Call{do("Postgres.Create", location, "orders-db", &cloudapi.PostgresCreateRequest{Tags: []cloudapi.PostgresTag{{Key: "a"}, {Key: "b", Value: "\xff"}}})}},
		// A wait for a deletion would immediately succeed for something that can't
		// exist.
		{"vm_id", []sdktest.Call{do("LoadBalancers.WaitVMDetached", location, "web-lb", ""), do("LoadBalancers.WaitVMDetached", location, "web-lb", "web-1"),
			do("LoadBalancers.WaitVMDetached", location, "web-lb", lbID)}},
		{"server_id", []sdktest.Call{do("Postgres.WaitRecycled", location, "orders-db", ""), do("Postgres.WaitRecycled", location, "orders-db", "web-1"),
			do("Postgres.WaitRecycled", location, "orders-db", lbID, &cloudapi.WaitOptions{Tolerance: -1})}},
		{"kubernetes_nodepool_reference", []sdktest.Call{pool("WaitNodePoolDeleted", ""), pool("WaitNodePoolDeleted", "kn"+strings.Repeat("z", 24)), pool("WaitNodePoolDeleted", stub.VMID)}},
		{"upgraded", []sdktest.Call{pool("WaitNodePoolUpgraded", nil)}},
		{"version", []sdktest.Call{do("MachineImages.WaitVersionDeleted", location, "golden", ""), do("MachineImages.WaitVersionDeleted", location, "golden", "v 2"),
			do("MachineImages.WaitVersionDeleted", location, "golden", "mv3jb6qjryhy2gznk3ksvganvv")}},
		{"reference", []sdktest.Call{do("PrivateLocations.WaitDeleted", stub.VMID)}},
	} {
		for _, c := range tt.calls {
			result, err := c.On(t.Context(), sdktest.SendingNothing(t))
			e, ok := errors.AsType[*cloudapi.ArgumentError](err)
			if !ok || result != nil || e.Name != tt.argument || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, %v", c, result, err)
			}
		}
	}
}
