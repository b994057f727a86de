package reliability

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/contract"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

const (
	token     = "pat-akreliabilityreliabil1234567-0123456789abcdefghijABCDEFGHIJ01"
	projectID = "pjahbwgme82j3qbwnsn4b3w1e9"
	location  = "eu-central-h1"
)

// kind is the kind of a successful response.
type kind string

const (
	record kind = "record"
	list   kind = "list"
	file   kind = "file"
	none   kind = "nothing" // a 204
)

// operation is one row of the contract, ready to be called.
type operation struct {
	name   string // such as "VMs.Get", or "VMs.List in location"
	method string
	kind   kind

	// creates means that the server must not execute the operation twice;
	// idempotentPosts in package contract has the other POSTs.
	creates bool

	// reply is the body of a good response.
	reply string

	call func(context.Context, *cloudapi.Client) (any, error)
}

// Bodies of good responses. The record has all fields that any record requires,
// and the name that the requests use.
const (
	goodID     = "vmy9n10s8q164j473ra7pj9nqz"
	goodRecord = `{"id":"` + goodID + `","name":"x","type":"vm","location":"eu-central-h1","pg_config":{},"pgbouncer_config":{},"metrics":[],` +
		`"action":"vm/create","at":"2026-01-02T03:04:05Z","items":[],"key":"k","option_tree":{},"secret_access_key":"s","timestamp":"2026-01-02T03:04:05Z",` +
		`"upgrade_status":"running","status":"succeeded"}`
	goodList = `{"items":[` + goodRecord + `],"count":1}`
	goodFile = "-----BEGIN CERTIFICATE-----\nAAECAwQFBgcICQ==\n-----END CERTIFICATE-----\n"
	goodKey  = "-----BEGIN EC PRIVATE KEY-----\nAAECAwQFBgcICQ==\n-----END EC PRIVATE KEY-----\n"
)

// operations returns all rows of the tables of operations. It checks that they
// are complete, and contain all methods of the services.
func operations(t testing.TB) []operation {
	t.Helper()
	var ops []operation
	known := map[string]bool{}
	for _, row := range contract.Rows() {
		for _, name := range row.Names {
			known[name] = true
		}
		ops = append(ops, newOperation(t, row.Method, row.Route, row.Names[0]))
	}
	client := reflect.TypeFor[cloudapi.Client]()
	for _, service := range reflect.VisibleFields(client) {
		if !service.IsExported() {
			continue
		}
		for i := range service.Type.NumMethod() {
			method := service.Type.Method(i).Name
			if name := service.Name + "." + method; !known[name] && !contract.Composite(method) {
				t.Fatalf("%s is not in the contract", name)
			}
		}
	}
	return ops
}

func newOperation(t testing.TB, httpMethod, route, name string) operation {
	t.Helper()
	service, method, _ := strings.Cut(name, ".")
	field, ok := reflect.TypeFor[cloudapi.Client]().FieldByName(service)
	if !ok {
		t.Fatalf("the client has no service %s", service)
	}
	fn, ok := field.Type.MethodByName(method)
	if !ok {
		t.Fatalf("there is no method %s", name)
	}
	op := operation{name: name, method: httpMethod, creates: contract.Once(httpMethod, name)}
	switch out := fn.Type.Out(0); {
	case fn.Type.NumOut() == 1:
		op.kind = none
	case out == reflect.TypeFor[*cloudapi.File]():
		op.kind, op.reply = file, goodFile
		if method == "CreateClientKeyPair" {
			op.reply += goodKey
		}
	case strings.HasPrefix(out.Elem().Name(), "Page[") && !goesOnByKey(fn.Type):
		op.kind, op.reply = list, goodList
	default:
		op.kind, op.reply = record, goodRecord
	}
	args := arguments(fn.Type, route, service == "Projects")
	if op.kind == list && strings.Contains(route, "/location/{location}/") && fn.Type.NumIn() == 3 {
		args[0] = reflect.ValueOf(&cloudapi.ListOptions{Location: location})
		op.name += " in location"
	}
	for _, arg := range slices.Backward(args) {
		if arg.Kind() == reflect.String && cloudapi.IsID(arg.String()) {
			op.reply = strings.ReplaceAll(op.reply, goodID, arg.String())
			break
		}
	}
	op.call = func(ctx context.Context, c *cloudapi.Client) (any, error) {
		bound := reflect.ValueOf(c).Elem().FieldByName(service).MethodByName(method)
		out := bound.Call(append([]reflect.Value{reflect.ValueOf(ctx)}, args...))
		err, _ := out[len(out)-1].Interface().(error)
		if len(out) == 1 || out[0].IsNil() {
			return nil, err
		}
		return out[0].Interface(), err
	}
	return op
}

// goesOnByKey reports whether a method finds the next page with a key. Such a
// page has only one form, like a record.
func goesOnByKey(fn reflect.Type) bool {
	for in := range fn.Ins() {
		if in.Kind() == reflect.Pointer && in.Elem().Kind() == reflect.Struct {
			if _, ok := in.Elem().FieldByName("PaginationKey"); ok {
				return true
			}
		}
	}
	return false
}

// arguments returns the arguments of a method after its context: valid values
// for the placeholders of the route, and any values for the rest.
func arguments(fn reflect.Type, route string, ownProject bool) []reflect.Value {
	var values []string
	for segment := range strings.SplitSeq(route, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok && (name != "project_id}" || ownProject) {
			values = append(values, segmentFor(strings.TrimSuffix(name, "}"), route))
		}
	}
	last := fn.NumIn()
	if fn.IsVariadic() {
		last-- // the variadic part may be left out
	}
	var args []reflect.Value
	for i := 2; i < last; i++ {
		in := fn.In(i)
		switch {
		case in.Kind() == reflect.String && len(values) > 0:
			args, values = append(args, reflect.ValueOf(values[0])), values[1:]
		case in == reflect.TypeFor[*cloudapi.ListOptions]():
			args = append(args, reflect.ValueOf(&cloudapi.ListOptions{}))
		default:
			args = append(args, sdktest.Fill(in, "x"))
			if request, ok := args[len(args)-1].Interface().(*cloudapi.VMCreateRequest); ok {
				request.InitScriptText = "" // a request has this or InitScript
			}
		}
	}
	return args
}

// segmentFor returns an ID for a placeholder, so that a rename may be repeated,
// or a name where only names may stand.
func segmentFor(placeholder, route string) string {
	kinds := map[string]cloudapi.Kind{
		"project_id": cloudapi.KindProject, "object_id": cloudapi.KindVM, "firewall_rule_id": cloudapi.KindFirewallRule,
		"inference_api_key_id": cloudapi.KindInferenceAPIKey, "metric_destination_id": cloudapi.KindPostgresMetricDestination,
		"private_subnet_id": cloudapi.KindPrivateSubnet, "firewall_reference": cloudapi.KindFirewall,
		"kubernetes_cluster_reference": cloudapi.KindKubernetesCluster, "kubernetes_nodepool_reference": cloudapi.KindKubernetesNodePool,
		"load_balancer_reference": cloudapi.KindLoadBalancer, "postgres_database_reference": cloudapi.KindPostgres,
		"private_subnet_reference": cloudapi.KindPrivateSubnet, "ssh_public_key_reference": cloudapi.KindSSHPublicKey,
		"vm_init_script_reference": cloudapi.KindVMInitScript, "vm_reference": cloudapi.KindVM,
		"github_cache_entry_id": cloudapi.KindGitHubCacheEntry, "github_installation_reference": cloudapi.KindGitHubInstallation,
		"github_repository_reference": cloudapi.KindGitHubRepository, "log_destination_id": cloudapi.KindPostgresLogDestination,
		"machine_image_reference": cloudapi.KindMachineImage,
	}
	if placeholder == "firewall_rule_id" && strings.Contains(route, "/postgres/") {
		return string(cloudapi.KindPostgresFirewallRule) + strings.Repeat("0", 24)
	}
	if kind, ok := kinds[placeholder]; ok {
		return string(kind) + strings.Repeat("0", 24)
	}
	return location
}
