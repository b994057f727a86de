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
			do("Postgres.UpdateConfig", location, "orders-db", nil), do("Postgres.UpdateConfig", location, "orders-db", &cloudapi.PostgresConfigUpdateRequest{})}},
		{"public_key", keys},
		{"config", []sdktest.Call{do("Postgres.ReplaceConfig", location, "orders-db", nil)}},
		{"private_subnet_id", []sdktest.Call{do("LoadBalancers.Create", location, "web-lb", nil), vm(create{InitScriptText: script, PrivateSubnetID: "../x"})}},
		// Records from a list have no VMs, so an update based on one would remove
		// all VMs.
		{"vms", []sdktest.Call{do("LoadBalancers.Update", location, "web-lb", nil),
			do("LoadBalancers.Update", location, "web-lb", &cloudapi.LoadBalancerUpdateRequest{Algorithm: "round_robin", SrcPort: 443, DstPort: 8443})}},
		// The ID is of another kind.
		{"firewall_rule_id", []sdktest.Call{do("Postgres.DeleteFirewallRule", location, "orders-db", sinkID)}},
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
			do("VMInitScripts.Update", "bootstrap", &cloudapi.VMInitScriptUpdateRequest{Script: "#cloud-config\n"})}},
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

// TestUnusableResponses: if a response lacks essential fields, the call returns
// an error and no record.
func TestUnusableResponses(t *testing.T) {
	t.Parallel()
	addUser, removeUser := do("Postgres.AddCertificateUser", location, "orders-db", "app"), do("Postgres.RemoveCertificateUser", location, "orders-db", "app")
	pages := []string{`{}`, `{"items":null}`, `{"logs":null}`, `[]`, `{"items":[null]}`, `{"logs":[{}]}`, `{"items":[{"action":""}]}`, `x`} // none of these is the end of a list
	users := []string{`{"items":[null]}`, `{"items":["app",null]}`, `{"items":[""]}`, `{"items":null}`, `{}`}
	const rule, other = `{"id":"frhgen1ff6864nrqg8etdv647m"}`, `{"id":"fr8sc97tx16t6n0ychazn0zkpq"}`
	for _, tt := range []struct {
		call    sdktest.Call
		replies []string
	}{
		// Other arrays don't show which rules were created.
		{do("Firewalls.CreateRule", location, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "backend"}),
			[]string{`[]`, "[" + rule + "]", "[" + rule + ",{}]", "[{}," + rule + "]", "[1,2]"}},
		{do("Firewalls.GetRule", location, "edge", "frhgen1ff6864nrqg8etdv647m"), []string{"[" + rule + "," + other + "]"}},
		{do("Postgres.CreateBackupCredentials", location, "orders-db"), []string{`{"bucket":"b"}`}},
		{do("AuditLog.List"), pages},
		{do("VMs.List", nil), []string{`{"logs":[]}`, `{"items":null,"logs":[` + stub.VM + `]}`}},            // items of another list
		{do("VMs.List", &cloudapi.ListOptions{OrderColumn: cloudapi.OrderByName}), []string{`[{"id":"a"}]`}}, // the next page isn't known
		{do("Postgres.ListLogs", location, "orders-db"), pages},
		{addUser, users},
		{removeUser, users},
		{do("Postgres.GetConfig", location, "orders-db"), []string{`{"pg_config":{}}`, `{"pgbouncer_config":{}}`, `{"pg_config":null,"pgbouncer_config":{}}`,
			`{"pg_config":[],"pgbouncer_config":{}}`, `{"pg_config":{"a":{}},"pgbouncer_config":{}}`, `{"pg_config":{"a":["b"]},"pgbouncer_config":{}}`, `[]`}},
		{do("Postgres.Metrics", location, "orders-db", nil), []string{`{}`, `{"metrics":null}`, `[]`, `{"metrics":[{"series":[{"values":[["1759512000","1"]]}]}]}`}},
		{do("Projects.ObjectInfo", stub.Project, stub.VMID), []string{`{"location":"l","name":"n"}`, `{"type":"vm","location":"l"}`}},
	} {
		for _, reply := range tt.replies {
			result, err := tt.call.On(t.Context(), sdktest.Answering(t, 200, "application/json", reply))
			creates := strings.Contains(tt.call.Name, ".Create")
			if result != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) || errors.Is(err, cloudapi.ErrOutcomeUnknown) != creates {
				t.Errorf("%s of %s: %v, %v", tt.call, reply, result, err)
			}
		}
	}
}
