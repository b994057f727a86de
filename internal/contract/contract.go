// Package contract contains the tables of the API's operations: the contract's,
// and the others of the August 2026 API. Tests compare the SDK, the test server
// and the documents with them.
//
// A row is an HTTP method, a route, and the methods of the SDK that send it.
package contract

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"
)

var (
	//go:embed contract.txt
	agreed string

	//go:embed 2026.txt
	later string
)

// Row is an operation.
type Row struct {
	Method, Route string
	Names         []string // the methods of the SDK, such as "VMs.List"
	Later         bool     // whether the contract lacks it
}

// Rows returns the rows of both tables.
func Rows() []Row { return append(Agreed(), Later()...) }

// Agreed returns the rows of the contract.
func Agreed() []Row { return read(agreed, false) }

// Later returns the rows that aren't in the contract.
func Later() []Row { return read(later, true) }

func read(table string, later bool) (rows []Row) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if fields[0] != "#" {
			rows = append(rows, Row{Method: fields[0], Route: fields[1], Names: fields[2:], Later: later})
		}
	}
	return rows
}

// String returns the HTTP method and the route.
func (r Row) String() string { return r.Method + " " + r.Route }

// Operation returns the name of the operation: the method's name, or a separate
// name for the list of a location.
func (r Row) Operation() string {
	if strings.HasSuffix(r.Names[0], ".List") && strings.Contains(r.Route, "/location/") {
		return r.Names[0] + "InLocation"
	}
	return r.Names[0]
}

// Service returns the name of the service that has the operation.
func (r Row) Service() string {
	service, _, _ := strings.Cut(r.Names[0], ".")
	return service
}

// Unserved reports whether no real server has the operation.
func (r Row) Unserved() bool {
	return r.Service() == "VMInitScripts" || slices.Contains([]string{"Firewalls.CreateInProject", "Firewalls.UpdateRule"}, r.Names[0])
}

// Once reports whether the operation must not be sent twice.
func (r Row) Once() bool { return Once(r.Method, r.Names[0]) }

// Once reports whether an operation must not be sent twice, because the second
// request would create another object, act again, or fail because of the first.
func Once(method, name string) bool {
	return method == http.MethodPost && !slices.Contains(idempotentPosts, name)
}

// Composite reports whether a method calls other methods, and so has no
// operation of its own.
func Composite(method string) bool {
	return strings.HasPrefix(method, "Wait") || slices.Contains([]string{"Ensure", "Watch", "SetRules", "SetFirewallRules", "FollowLogs"}, method)
}

// idempotentPosts are the POSTs that set a value, or have no effect the second
// time.
var idempotentPosts = []string{
	"Firewalls.DetachSubnet", "Firewalls.Rename",
	"Kubernetes.Rename", "Kubernetes.RenameNodePool", "Kubernetes.ResizeNodePool",
	"LoadBalancers.DetachVM", "LoadBalancers.Rename", "LoadBalancers.ToggleSSLCertificate",
	"MachineImages.Rename",
	"Postgres.AddCertificateUser", "Postgres.RemoveCertificateUser",
	"Postgres.Rename", "Postgres.ReplaceConfig", "Postgres.ResetSuperuserPassword", "Postgres.SetMaintenanceWindow",
	"PrivateSubnets.Disconnect", "PrivateSubnets.Rename",
	"SSHPublicKeys.Update",
	"VMInitScripts.Update",
	"VMs.Rename",
}
