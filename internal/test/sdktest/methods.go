package sdktest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// Method is an exported method of one of a client's services, found by
// reflection, with valid arguments.
type Method struct {
	Name      string // such as "VMs.Get"
	Args      []reflect.Value
	Strings   []StringArg        // arguments in the path
	Operation cloudapi.Operation // the operation that a call with Args performs
	Target    string             // the path and query that a call with Args requests

	// InLocation is the operation that the method performs with
	// ListOptions.Location. It has no name if the method refuses a location.
	InLocation cloudapi.Operation

	service     int // index of the field in Client
	method      int // index of the method in the service
	listOptions int // index of the *ListOptions among the arguments, or -1
}

// StringArg is an argument of type string.
type StringArg struct {
	Index int
	Kind  cloudapi.Kind // the kind of ID that it accepts; "" if it accepts names
}

// Call calls the method. For a sequence, it returns the first error.
func (m *Method) Call(ctx context.Context, c *cloudapi.Client, args []reflect.Value) (result any, err error) {
	fn := reflect.ValueOf(c).Elem().Field(m.service).Method(m.method)
	out := fn.Call(append([]reflect.Value{reflect.ValueOf(ctx)}, args...))
	last := out[len(out)-1]
	if last.Type().CanSeq2() {
		for _, e := range last.Seq2() {
			if err, _ = e.Interface().(error); err != nil {
				break
			}
		}
		return nil, err
	}
	err, _ = last.Interface().(error)
	if len(out) == 1 || out[0].IsZero() {
		return nil, err
	}
	return out[0].Interface(), err
}

// With returns the method's arguments with one replaced.
func (m *Method) With(index int, value any) []reflect.Value {
	args := append([]reflect.Value(nil), m.Args...)
	args[index] = reflect.ValueOf(value)
	return args
}

// WithLocation returns the method's arguments with a location in ListOptions.
// The method must have ListOptions.
func (m *Method) WithLocation(location string) []reflect.Value {
	return m.With(m.listOptions, &cloudapi.ListOptions{Location: location})
}

// Types returns the types of the method's arguments and results. For a sequence
// it returns the type of the items.
func (m *Method) Types() (types []reflect.Type) {
	fn := reflect.TypeFor[cloudapi.Client]().Field(m.service).Type.Method(m.method).Type
	for i := 2; i < fn.NumIn(); i++ {
		types = append(types, fn.In(i))
	}
	for out := range fn.Outs() {
		if out.CanSeq2() {
			out = out.In(0).In(0)
		}
		types = append(types, out)
	}
	return types
}

// Methods returns all methods of all services, except Ensure. It calls them to
// find out which of their arguments are in the path, and what these accept.
func Methods(t *testing.T) []Method {
	t.Helper()
	var methods []Method
	client := reflect.TypeFor[cloudapi.Client]()
	for i := range client.NumField() {
		field := client.Field(i)
		if !field.IsExported() {
			continue
		}
		found := 0
		for j := range field.Type.NumMethod() {
			fn := field.Type.Method(j)
			if fn.Type.NumIn() < 2 || fn.Type.In(1) != reflect.TypeFor[context.Context]() {
				t.Errorf("%s.%s does not take a context first", field.Name, fn.Name)
				continue
			}
			if fn.Name == "Ensure" {
				continue // it accepts no ID, and doesn't send every field of its request
			}
			m := Method{Name: field.Name + "." + fn.Name, service: i, method: j, listOptions: -1}
			m.prepare(t, fn.Type)
			methods = append(methods, m)
			found++
		}
		if found == 0 {
			t.Errorf("the service %s has no methods", field.Name)
		}
	}
	if len(methods) == 0 {
		t.Fatal("the client has no services")
	}
	return methods
}

func (m *Method) prepare(t *testing.T, fn reflect.Type) {
	t.Helper()
	var network stub.Recorder
	client := Recorded(t, &network)
	texts := m.fillArguments(fn)
	m.findKinds(t, client, &network, texts)
	m.findLocation(t, client, &network)
	m.findStrings(t, texts)
}

func (m *Method) fillArguments(fn reflect.Type) (texts []*StringArg) {
	last := fn.NumIn()
	if fn.IsVariadic() {
		last--
	}
	for i := 2; i < last; i++ {
		index := i - 2
		switch in := fn.In(i); in {
		case reflect.TypeFor[string]():
			m.Args = append(m.Args, reflect.ValueOf(fmt.Sprintf("argument-%d", index)))
			texts = append(texts, &StringArg{Index: index})
		case reflect.TypeFor[*cloudapi.ListOptions]():
			m.Args = append(m.Args, reflect.ValueOf(&cloudapi.ListOptions{}))
			m.listOptions = index
		case reflect.TypeFor[*cloudapi.WatchOptions]():
			m.Args = append(m.Args, reflect.ValueOf(&cloudapi.WatchOptions{}))
		case reflect.TypeFor[[]cloudapi.FirewallRuleCreateRequest](), reflect.TypeFor[[]cloudapi.PostgresFirewallRuleCreateRequest](), reflect.TypeFor[[]string]():
			m.Args = append(m.Args, reflect.MakeSlice(in, 0, 0)) // "x" is neither a CIDR nor an ID
		case reflect.TypeFor[*cloudapi.VMCreateRequest]():
			request := Fill(in, "x")
			request.Elem().FieldByName("InitScriptText").SetZero() // it can't be combined with InitScript
			m.Args = append(m.Args, request)
		case reflect.TypeFor[*cloudapi.PostgresLogsOptions](), reflect.TypeFor[*cloudapi.AuditLogOptions]():
			options := Fill(in, "x")
			if strings.Contains(m.Name, ".Follow") { // the marker says where to begin
				for _, name := range []string{"Start", "End", "PageSize", "PaginationKey"} {
					options.Elem().FieldByName(name).SetZero()
				}
			}
			m.Args = append(m.Args, options)
		default:
			m.Args = append(m.Args, Fill(in, "x"))
		}
	}
	return texts
}

// findKinds finds out which arguments must be IDs, and of which kind. Where the
// method refuses a name, it tries an ID of each kind until the method sends a
// request.
func (m *Method) findKinds(t *testing.T, client *cloudapi.Client, network *stub.Recorder, texts []*StringArg) {
	t.Helper()
	for kinds := knownKinds(); ; {
		_, err := m.Call(t.Context(), client, m.Args)
		if sent := network.Take(); len(sent) > 0 {
			m.Operation, _ = cloudapi.OperationFromContext(sent[0].Context)
			m.Target = sent[0].Target
			return
		}
		argErr, ok := errors.AsType[*cloudapi.ArgumentError](err)
		if !ok {
			t.Fatalf("%s sends nothing: %v", m.Name, err)
		}
		refused := false
		for _, arg := range texts {
			if argErr.Value != m.Args[arg.Index].String() {
				continue
			}
			refused = true
			if arg.Kind == "" {
				kinds = knownKinds()
			}
			if len(kinds) == 0 {
				t.Fatalf("%s accepts neither a name nor any ID: %v", m.Name, err)
			}
			arg.Kind, kinds = kinds[0], kinds[1:]
			m.Args[arg.Index] = reflect.ValueOf(cloudapitest.NewID(arg.Kind).String())
		}
		if !refused {
			t.Fatalf("%s refuses arguments that are filled: %v", m.Name, err)
		}
	}
}

func (m *Method) findLocation(t *testing.T, client *cloudapi.Client, network *stub.Recorder) {
	t.Helper()
	if m.listOptions < 0 {
		return
	}
	_, err := m.Call(t.Context(), client, m.WithLocation("location-1"))
	if sent := network.Take(); len(sent) > 0 {
		m.InLocation, _ = cloudapi.OperationFromContext(sent[0].Context)
	} else if argErr, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || argErr.Name != "Location" {
		t.Fatalf("%s refuses a location with %v", m.Name, err)
	}
}

func (m *Method) findStrings(t *testing.T, texts []*StringArg) {
	t.Helper()
	path, _, _ := strings.Cut(m.Target, "?")
	for _, arg := range texts {
		switch n := CountSegments(path, m.Args[arg.Index].String()); n {
		case 0: // it is in the body
		case 1:
			m.Strings = append(m.Strings, *arg)
		default:
			t.Fatalf("%s: an argument occurs %d times in %s", m.Name, n, path)
		}
	}
}

// References maps each placeholder that accepts an ID or a name to its kind.
var References = map[string]cloudapi.Kind{
	"firewall_reference":             cloudapi.KindFirewall,
	"github_installation_reference":  cloudapi.KindGitHubInstallation,
	"github_repository_reference":    cloudapi.KindGitHubRepository,
	"kubernetes_cluster_reference":   cloudapi.KindKubernetesCluster,
	"kubernetes_nodepool_reference":  cloudapi.KindKubernetesNodePool,
	"load_balancer_reference":        cloudapi.KindLoadBalancer,
	"machine_image_reference":        cloudapi.KindMachineImage,
	"postgres_database_reference":    cloudapi.KindPostgres,
	"private_link_service_reference": cloudapi.KindPrivateLinkService,
	"private_subnet_reference":       cloudapi.KindPrivateSubnet,
	"ssh_public_key_reference":       cloudapi.KindSSHPublicKey,
	"vm_init_script_reference":       cloudapi.KindVMInitScript,
	"vm_reference":                   cloudapi.KindVM,
}

func knownKinds() (kinds []cloudapi.Kind) {
	const characters = "0123456789abcdefghijklmnopqrstuvwxyz"
	for _, first := range characters {
		for _, second := range characters {
			if kind := cloudapi.Kind(string(first) + string(second)); kind.Known() {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// CountSegments returns how many segments of a path equal the given one.
func CountSegments(path, segment string) (n int) {
	for s := range strings.SplitSeq(path, "/") {
		if s == segment {
			n++
		}
	}
	return n
}
