package families

import (
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
)

func TestEveryOperationIsServed(t *testing.T) {
	t.Parallel()
	t.Run("contract", func(t *testing.T) { testRows(t, version.API{Version: version.Contract}, apitables.Contract()) })
	t.Run("service", func(t *testing.T) { testRows(t, version.API{Version: version.Service}, apitables.Service()) })
	t.Run("default", func(t *testing.T) { testRows(t, version.API{Version: version.Service, Both: true}, apitables.Rows()) })
}

func testRows(t *testing.T, a version.API, rows []apitables.Row) {
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
		t.Errorf("not served:\n%s\nunknown:\n%s", strings.Join(without(want, got), "\n"), strings.Join(without(got, want), "\n"))
	}
}

// without returns the lines that aren't among the others.
func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}

// TestPermissionsOfOperations checks some permissions, mostly those that don't
// follow from the method.
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
		if p, ok := want[op.Name]; ok && p != op.Permission || op.Permission != "" && !KnowsPermission(op.Permission) { // some operations need no permission in the project
			t.Errorf("%s needs %q, want %q", op.Name, op.Permission, p)
		}
		delete(want, op.Name)
	}
	if len(want) > 0 {
		t.Errorf("there are no operations %v", want)
	}
}
