// Package apitables contains two tables of the API's operations, those in the
// contract and those that only the service has, and a table of values, such as
// states. Tests compare the SDK, the test server and the documents with the
// tables.
//
// A row of operations is an HTTP method, a route, and the methods of the SDK
// that use both. A row of the contract ends with a ‡ if the service lacks the
// operation.
package apitables

import (
	"cmp"
	_ "embed"
	"net/http"
	"slices"
	"strings"
)

var (
	//go:embed contract.txt
	contract string

	//go:embed service.txt
	added string

	//go:embed values.txt
	values string
)

// Row is an operation.
type Row struct {
	Method, Route string
	Names         []string // the methods of the SDK, such as "VMs.List"
	ServiceOnly   bool     // whether the contract lacks the operation (†)
	ContractOnly  bool     // whether the service lacks the operation (‡)
}

// Rows returns the rows of both tables.
func Rows() []Row { return append(Contract(), read(added, true)...) }

// Contract returns the operations of the contract.
func Contract() []Row { return read(contract, false) }

// Service returns the operations of the service.
func Service() []Row {
	return slices.DeleteFunc(Rows(), func(r Row) bool { return r.ContractOnly })
}

func read(table string, serviceOnly bool) (rows []Row) {
	for line := range strings.Lines(table) {
		line, contractOnly := strings.CutSuffix(strings.TrimSpace(line), " ‡")
		if fields := strings.Fields(line); fields[0] != "#" {
			rows = append(rows, Row{fields[0], fields[1], fields[2:], serviceOnly, contractOnly})
		}
	}
	return rows
}

// Marks of what only the service or only the contract has.
const (
	ServiceMark  = "†"
	ContractMark = "‡"
)

// Values returns the marks of the values for which the SDK has constants, by
// what has the value, such as "VM.State", and the value. The mark of what both
// the contract and the service have is "".
func Values() map[string]map[string]string {
	table := map[string]map[string]string{}
	for line := range strings.Lines(values) {
		subject, list, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue // a comment
		}
		subject, all := cutMark(subject)
		table[subject] = map[string]string{}
		for value := range strings.SplitSeq(list, ", ") {
			value, own := cutMark(value)
			table[subject][value] = cmp.Or(own, all)
		}
	}
	return table
}

// cutMark returns text without the mark at its end, and the mark, or "".
func cutMark(text string) (before, mark string) {
	for _, mark := range []string{ServiceMark, ContractMark} {
		if before, ok := strings.CutSuffix(text, " "+mark); ok {
			return before, mark
		}
	}
	return text, ""
}

// String returns the HTTP method and the route.
func (r Row) String() string { return r.Method + " " + r.Route }

// Operation returns the operation's name: the method's name, or, if it lists one
// location, a name of its own such as "VMs.ListInLocation".
func (r Row) Operation() string {
	if strings.HasSuffix(r.Names[0], ".List") && strings.Contains(r.Route, "/location/") {
		return r.Names[0] + "InLocation"
	}
	return r.Names[0]
}

// Service returns the part of the client that has the operation, such as "VMs".
func (r Row) Service() string {
	service, _, _ := strings.Cut(r.Names[0], ".")
	return service
}

// Once reports whether the operation must not be sent twice.
func (r Row) Once() bool { return Once(r.Method, r.Names[0]) }

// Once reports whether an operation must not be sent twice, because the second
// request would create another object, repeat an action, or fail because of the
// first request.
func Once(method, name string) bool {
	return method == http.MethodPost && !slices.Contains(idempotentPosts, name)
}

// Switchable reports whether the service has the operation only in projects for
// which a feature is switched on.
func (r Row) Switchable() bool { return strings.Contains(r.Route, "/private-link-service") }

// Composite reports whether a method calls other methods, and so has no
// operation of its own.
func Composite(method string) bool {
	return strings.HasPrefix(method, "Wait") || slices.Contains([]string{"Ensure", "Watch", "SetRules", "SetFirewallRules", "SetFirewalls", "SetVMs", "GetInSubnet", "FollowLogs", "Follow"}, method)
}

// idempotentPosts are the POSTs that set a value, or have no effect the second
// time. A Rename is idempotent only if the path has the ID.
var idempotentPosts = []string{
	"Firewalls.DetachSubnet", "Firewalls.Rename",
	"Kubernetes.Rename", "Kubernetes.RenameNodePool", "Kubernetes.ResizeNodePool",
	"LoadBalancers.DetachVM", "LoadBalancers.Rename", "LoadBalancers.SetSSLCertificate",
	"MachineImages.Rename",
	"Postgres.AddCertificateUser", "Postgres.RemoveCertificateUser",
	"Postgres.Rename", "Postgres.ReplaceConfig", "Postgres.ResetSuperuserPassword", "Postgres.SetMaintenanceWindow",
	"PrivateSubnets.Disconnect", "PrivateSubnets.Rename",
	"SSHPublicKeys.Update",
	"VMInitScripts.Update",
	"VMs.Rename", "VMs.SetMaintenanceWindow",
}
