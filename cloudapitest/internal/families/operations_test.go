package families

import (
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/contract"
)

var (
	october  = version.API{Version: version.October2025}
	august   = version.API{Version: version.August2026}
	agreed   = version.API{Version: version.October2025, Contract: true} // the contract
	standard = version.API{Version: version.August2026, Contract: true}
)

func TestOperationsAreUnique(t *testing.T) {
	t.Parallel()
	for _, a := range []version.API{october, august, agreed, standard} {
		seen := map[string]bool{}
		for _, op := range api.In(a, operations()) {
			if seen[op.Target()] || !strings.HasPrefix(op.Route, "/project") {
				t.Errorf("%s in %v: a second row, or one without a proper route", op.Target(), a)
			}
			seen[op.Target()] = true
		}
	}
}

// registered are the operations of the contract that no version has.
func registered(row contract.Row) bool { return row.Service() == "VMInitScripts" }

// ended are the operations of the October 2025 API that the August 2026 API
// doesn't have.
func ended(row contract.Row) bool {
	return slices.Contains([]string{"Firewalls.CreateInProject", "Firewalls.UpdateRule"}, row.Operation())
}

func TestEveryOperationIsServed(t *testing.T) {
	t.Parallel()
	without := func(rows []contract.Row, missing ...func(contract.Row) bool) []contract.Row {
		return slices.DeleteFunc(slices.Clone(rows), func(row contract.Row) bool {
			return slices.ContainsFunc(missing, func(m func(contract.Row) bool) bool { return m(row) })
		})
	}
	t.Run("October 2025", func(t *testing.T) { testRows(t, october, without(contract.Agreed(), registered)) })
	t.Run("August 2026", func(t *testing.T) { testRows(t, august, without(contract.Rows(), registered, ended)) })
	t.Run("contract", func(t *testing.T) { testRows(t, agreed, contract.Agreed()) })
	t.Run("default", func(t *testing.T) { testRows(t, standard, without(contract.Rows(), ended)) })
}

func testRows(t *testing.T, a version.API, rows []contract.Row) {
	t.Parallel()
	var want, got []string
	for _, row := range rows {
		want = append(want, row.String()+" "+row.Operation())
	}
	for _, op := range api.In(a, operations()) {
		got = append(got, op.Target()+" "+op.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("served are %d operations:\n%s\nwant %d:\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
}

// TestPermissionsOfOperations looks at those that don't follow from the method.
func TestPermissionsOfOperations(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"VMs.List":                        "Vm:view",
		"VMs.Create":                      "Vm:create",
		"VMs.Delete":                      "Vm:delete",
		"VMs.Rename":                      "Vm:edit",
		"Firewalls.AttachSubnet":          "Firewall:view",
		"Firewalls.DeleteRule":            "Firewall:edit",
		"InferenceAPIKeys.Create":         "InferenceApiKey:create",
		"Kubernetes.Kubeconfig":           "KubernetesCluster:edit",
		"Postgres.DeleteFirewallRule":     "Postgres:edit",
		"Postgres.ResetSuperuserPassword": "Postgres:view",
		"Postgres.Restore":                "Postgres:view",
		"PrivateLocations.Create":         "Location:create",
		"PrivateSubnets.Connect":          "PrivateSubnet:connect",
		"SSHPublicKeys.Get":               "Project:edit",
		"VMInitScripts.Delete":            "Project:edit",
	}
	for _, op := range operations() {
		if p, ok := want[op.Name]; ok && p != op.Permission || op.Permission != "" && !KnowsPermission(op.Permission) { // some need none beyond the project
			t.Errorf("%s needs %q, want %q", op.Name, op.Permission, p)
		}
		delete(want, op.Name)
	}
	if len(want) > 0 {
		t.Errorf("there are no operations %v", want)
	}
}
