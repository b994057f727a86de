package ensure_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// model is an Ensure: of a family, or the function, which compares nothing.
type model struct {
	name     string // of the service, or "Ensure"
	kind     cloudapi.Kind
	location string // "" for a family without locations
	request  any    // a pointer to a request that the server accepts
	fields   []modelField

	equivalent map[string]any // other values that make no difference
	unshown    []string       // the other fields of the request, which no record shows
	needs      []string       // fields of the record without which Ensure can't compare at all
	keeps      []string       // fields of the record that an update sends as they are
	changes    map[string]int // how many requests update a field, if not one
}

// modelField is a field of a request that Ensure compares.
type modelField struct {
	name    string // in JSON; that of a field in an object has the object's name before it
	other   any    // a value that makes a difference
	remedy  string // a cloudapi.Remedy, or the name of a method
	shownBy string // the fields of the record that show it, if every full record has one of them
	traits  trait
}

type trait int

const (
	service trait = 1 << iota // only with the service
	hidden                    // the record has it in another form, so that Compare can't compare it
	sticky                    // after an update, the resource still matches the original request
)

const update, replace = string(cloudapi.RemedyUpdate), string(cloudapi.RemedyReplace)

// modelWorld has what requests refer to: IDs.
type modelWorld struct {
	firewall, otherFirewall, subnet, otherSubnet string
	vm                                           string // stopped
	ownSubnet, otherOwnSubnet                    string // in the private location "own"
	database, otherDatabase                      string
	versions                                     [2]string // of a cluster, the older one first
	openRules                                    int       // of a new database: for each range, and with the service also for each port
}

func publicKey(of string) string {
	return strings.Replace(stub.PublicKey, "dev@", of+"@", 1)
}

// models returns the models of a server. Each is for a resource x-1.
func models(w *modelWorld, api cloudapitest.API) []model {
	const here = sdktest.Somewhere
	const root, endpoint = "arn:aws:iam::123456789012:root", "vpce-0123456789abcdef0"
	type endpoints = []cloudapi.PrivateLinkServiceVPCEndpoint
	setting := func(name, value string) cloudapi.PostgresSettings {
		return cloudapi.PostgresSettings{name: cloudapi.NewPostgresSetting(value)}
	}
	tags := []cloudapi.PostgresTag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}
	all := []model{
		{
			name: "VMs", kind: cloudapi.KindVM, location: here,
			request: &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "standard-2", StorageSize: 40, BootImage: "ubuntu-noble", UnixUser: "me",
				PrivateSubnetID: w.subnet, EnableIPv4: new(false)},
			fields: []modelField{
				{"size", "burstable-2", replace, "size", 0},
				{"storage_size", 80, replace, "", 0}, // 0 until the VM has a host
				{"boot_image", "debian-12", replace, "", service},
				{"unix_user", "admin", replace, "unix_user", 0},
				{"enable_ip4", new(true), replace, "", 0},
				{"private_subnet_id", w.otherSubnet, replace, "subnet", hidden},
			},
			equivalent: map[string]any{"storage_size": -1}, // the default
			unshown:    []string{"public_key", "gpu", "init_script", "init_script_args", "-"},
		},
		{
			name: "PrivateSubnets", kind: cloudapi.KindPrivateSubnet, location: here, request: &cloudapi.PrivateSubnetCreateRequest{FirewallID: w.firewall},
			fields:  []modelField{{"firewall_id", w.otherFirewall, update, "firewalls", 0}},
			changes: map[string]int{"firewall_id": 2}, // attach and detach
		},
		{
			name: "Firewalls", kind: cloudapi.KindFirewall, location: here, request: &cloudapi.FirewallCreateRequest{Description: "web"},
			fields: []modelField{{"description", "other", update, "", service}},
		},
		{
			name: "LoadBalancers", kind: cloudapi.KindLoadBalancer, location: here,
			request: &cloudapi.LoadBalancerCreateRequest{Algorithm: "round_robin", SrcPort: 80, DstPort: 8080, HealthCheckProtocol: "http", PrivateSubnetID: w.subnet,
				Stack: "dual", HealthCheckEndpoint: "/up", CertEnabled: new(false)},
			fields: []modelField{
				{"algorithm", "hash_based", update, "algorithm", 0},
				{"src_port", 81, update, "src_port", 0},
				{"dst_port", 8081, update, "dst_port", 0},
				{"health_check_endpoint", "/health", update, "health_check_endpoint", 0},
				{"health_check_protocol", "tcp", replace, "health_check_protocol", 0},
				{"stack", "ipv6", replace, "stack", 0},
				{"cert_enabled", new(true), update, "", service},
			},
			unshown: []string{"private_subnet_id"}, // Ensure finds the load balancer by it
			needs:   []string{"subnet"},
			keeps:   []string{"vms", "algorithm", "src_port", "dst_port", "health_check_endpoint"},
		},
		{
			name: "Postgres", kind: cloudapi.KindPostgres, location: here,
			request: &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 128, HAType: "none", Flavor: "standard", Version: "16", Tags: tags,
				PGConfig: setting("work_mem", "4MB"), PgBouncerConfig: setting("pool_mode", "session"), RestrictByDefault: new(false)},
			fields: []modelField{
				{"size", "standard-4", update, "vm_size,target_vm_size", 0},
				{"storage_size", 256, update, "storage_size_gib,target_storage_size_gib", 0},
				{"ha_type", "async", update, "ha_type", 0},
				{"flavor", "paradedb", replace, "flavor", 0},
				{"version", "17", "Postgres.Upgrade", "version,target_version", 0},
				{"tags", []cloudapi.PostgresTag{}, update, "tags", 0},
				{"pg_config", setting("work_mem", "8MB"), update, "pg_config", service | hidden},
				{"pgbouncer_config", setting("pool_mode", "transaction"), update, "pgbouncer_config", service | hidden},
				{"restrict_by_default", new(true), update, "", sticky},
			},
			equivalent: map[string]any{"tags": []cloudapi.PostgresTag{tags[1], tags[0]}},
			unshown:    []string{"private_subnet_name"},
			changes:    map[string]int{"restrict_by_default": w.openRules},
		},
		{
			name: "Kubernetes", kind: cloudapi.KindKubernetesCluster, location: here,
			request: &cloudapi.KubernetesClusterCreateRequest{Version: w.versions[1], WorkerSize: "standard-2", CPNodeCount: 1, WorkerNodeCount: 2},
			fields: []modelField{
				{"version", w.versions[0], replace, "version", 0},
				{"worker_size", "standard-4", "Kubernetes.CreateNodePool", "nodepools.node_size", 0},
				{"cp_nodes", 3, replace, "cp_node_count", 0},
				{"worker_nodes", 3, update, "nodepools.node_count", 0},
			},
			needs: []string{"nodepools"},
		},
		{
			name: "PrivateLocations", kind: cloudapi.KindPrivateLocation,
			request: &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")},
			fields:  []modelField{{"provider_location_name", "us-west-2", replace, "name", 0}},
			unshown: []string{"access_key", "secret_key"},
		},
		{
			name: "SSHPublicKeys", kind: cloudapi.KindSSHPublicKey, request: &cloudapi.SSHPublicKeyCreateRequest{PublicKey: publicKey("a")},
			fields:     []modelField{{"public_key", publicKey("b"), update, "public_key", 0}},
			equivalent: map[string]any{"public_key": publicKey("a") + "\n"},
		},
		{
			name: "VMInitScripts", kind: cloudapi.KindVMInitScript, request: &cloudapi.VMInitScriptCreateRequest{Script: "export PASSWORD=one"},
			fields: []modelField{{"script", "export PASSWORD=another", update, "script", 0}},
		},
		{
			name: "Ensure", kind: cloudapi.KindPostgres, location: here, request: &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64},
			equivalent: map[string]any{"storage_size": 128},
		},
	}
	if api == cloudapitest.Contract {
		for _, m := range all {
			for _, f := range m.fields {
				if f.traits&service != 0 {
					reflect.ValueOf(m.request).Elem().FieldByIndex(requestFields(reflect.TypeOf(m.request).Elem())[f.name].Index).SetZero()
				}
			}
		}
		return all
	}
	all = slices.DeleteFunc(all, func(m model) bool { return m.name == "VMInitScripts" }) // only in the contract
	return append(all,
		model{
			name: "MachineImages", kind: cloudapi.KindMachineImage, location: here, request: &cloudapi.MachineImageCreateRequest{VMID: w.vm, Version: "v1"},
			fields:     []modelField{{"version", "v2", update, "version", hidden | sticky}},
			equivalent: map[string]any{"version": ""},
			unshown:    []string{"vm", "destroy_source"},
		},
		model{
			name: "PrivateLinkServices", kind: cloudapi.KindPrivateLinkService, location: "own",
			request: &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: w.ownSubnet, PostgresResourceID: w.database, Ports: []int{6000, 7000}, TargetPorts: []int{5432, 6432},
				IPAddressType: "dual", AWS: cloudapi.PrivateLinkServiceAWSCreateRequest{AllowedPrincipals: []string{root, "*"},
					AllowedVPCEndpoints: endpoints{{VPCEndpointID: endpoint, Description: "a"}}, SupportedRegions: []string{"us-west-2", "us-east-1"}}},
			fields: []modelField{
				{"private_subnet_id", w.otherOwnSubnet, replace, "private_subnet", hidden},
				{"postgres_resource_id", w.otherDatabase, replace, "", 0},
				{"ports", []int{6000, 8000}, replace, "ports", 0},
				{"ip_address_type", "ipv6", replace, "ip_address_type", 0},
				{"aws.allowed_principals", []string{root}, update, "allowed_principals", 0},
				{"aws.allowed_vpc_endpoints", endpoints{{VPCEndpointID: endpoint, Description: "b"}}, update, "aws.allowed_vpc_endpoints", 0},
				{"aws.supported_regions", []string{}, update, "aws.supported_regions", 0},
			},
			equivalent: map[string]any{"ports": []int{7000, 6000}, "target_ports": []int{6432, 5432}, "aws.allowed_principals": []string{" *", root, "*"},
				"aws.supported_regions": []string{"us-east-1"}, "aws.allowed_vpc_endpoints": endpoints{{VPCEndpointID: " "}, {VPCEndpointID: endpoint + " ", Description: " a"}}},
			unshown: []string{"target_ports"}, // the server ignores them without ports
			needs:   []string{"aws"},
		})
}

// newModelWorld creates a server, and what the requests for it refer to. Call it
// inside a synctest bubble.
func newModelWorld(t *testing.T, api cloudapitest.API, opts ...cloudapitest.Option) (*cloudapitest.Server, *modelWorld) {
	t.Helper()
	w, ctx := &modelWorld{versions: [2]string{"v1.33", "v1.34"}, openRules: 2}, t.Context()
	var srv *cloudapitest.Server
	if api == cloudapitest.Contract {
		srv = cloudapitest.New(t, append([]cloudapitest.Option{cloudapitest.WithAPI(api)}, opts...)...)
	} else {
		p := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices)
		w.otherDatabase = cloudapitest.NewID(cloudapi.KindPostgres).String()
		srv, w.ownSubnet, w.database, w.versions = p.Server, p.Subnet.ID, p.Postgres.ID, [2]string{"v1.36", "v1.37"}
		w.openRules = 4
	}
	c := srv.Client()
	w.firewall = stub.Must(c.Firewalls.Create(ctx, sdktest.Somewhere, "own-rules", nil))(t).ID
	w.otherFirewall = stub.Must(c.Firewalls.Create(ctx, sdktest.Somewhere, "other-rules", nil))(t).ID
	w.subnet = stub.Must(c.PrivateSubnets.Create(ctx, sdktest.Somewhere, "own-net", nil))(t).ID
	w.otherSubnet = stub.Must(c.PrivateSubnets.Create(ctx, sdktest.Somewhere, "other-net", nil))(t).ID
	if api == cloudapitest.Service {
		w.otherOwnSubnet = stub.Must(c.PrivateSubnets.Create(ctx, "own", "other-net", nil))(t).ID
		w.vm = stub.Must(c.VMs.Create(ctx, sdktest.Somewhere, "source", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t).ID
		stub.Must(c.VMs.WaitRunning(ctx, sdktest.Somewhere, w.vm, nil))(t)
		stub.Must(c.VMs.Stop(ctx, sdktest.Somewhere, w.vm))(t)
		stub.Must(c.VMs.WaitStopped(ctx, sdktest.Somewhere, w.vm, nil))(t)
	}
	return srv, w
}

// forEachModel runs a test for each model of a server, in its own bubble and with
// its own server.
func forEachModel(t *testing.T, api cloudapitest.API, test func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, m model), opts ...cloudapitest.Option) {
	t.Helper()
	for i, m := range models(&modelWorld{}, api) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv, w := newModelWorld(t, api, opts...)
				test(t, srv, srv.Client(), models(w, api)[i])
			})
		})
	}
}

// forEachEnsure is forEachModel with a server of the contract.
func forEachEnsure(t *testing.T, test func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, m model), opts ...cloudapitest.Option) {
	t.Helper()
	forEachModel(t, cloudapitest.Contract, test, opts...)
}

// in returns the fields that the server shows and updates.
func (m *model) in(api cloudapitest.API) (fields []modelField) {
	return slices.DeleteFunc(slices.Clone(m.fields), func(f modelField) bool { return f.traits&service != 0 && api == cloudapitest.Contract })
}

// field returns the field with the name.
func (m *model) field(name string) (modelField, bool) {
	i := slices.IndexFunc(m.fields, func(f modelField) bool { return f.name == name })
	if i < 0 {
		return modelField{}, false
	}
	return m.fields[i], true
}

// updatable returns the names of the fields that an update changes.
func (m *model) updatable(api cloudapitest.API) (names []string) {
	for _, f := range m.in(api) {
		if f.remedy == update {
			names = append(names, f.name)
		}
	}
	return names
}

// with returns the request with other values: in the fields of the variant, or if
// it is "equivalent", without a difference.
func (m *model) with(variant string) any {
	values := m.equivalent
	if variant != "equivalent" {
		values = map[string]any{}
		for name := range strings.FieldsSeq(variant) {
			f, _ := m.field(name)
			values[name] = f.other
		}
	}
	request := reflect.New(reflect.TypeOf(m.request).Elem())
	request.Elem().Set(reflect.ValueOf(m.request).Elem())
	set(request, values)
	return request.Interface()
}

// only returns a request with a value in one field, and one that also has the IDs
// that are required.
func (m *model) only(name string, value any) (alone, valid any) {
	of := reflect.TypeOf(m.request).Elem()
	a, v := reflect.New(of), reflect.New(of)
	for field := range of.Fields() {
		if _, isID := field.Tag.Lookup("id"); isID && !strings.HasSuffix(field.Tag.Get("json"), ",omitzero") {
			v.Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(m.request).Elem().FieldByIndex(field.Index))
		}
	}
	set(a, map[string]any{name: value})
	set(v, map[string]any{name: value})
	return a.Interface(), v.Interface()
}

func set(request reflect.Value, values map[string]any) {
	fields := requestFields(request.Type().Elem())
	for name, value := range values {
		request.Elem().FieldByIndex(fields[name].Index).Set(reflect.ValueOf(value))
	}
}

// ensure calls Ensure with a variant of the request.
func (m *model) ensure(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (id string, outcome cloudapi.EnsureOutcome, err error) {
	return m.ensureWith(ctx, c, m.location, m.with(variant), opts)
}

func (m *model) ensureWith(ctx context.Context, c *cloudapi.Client, location string, request any, opts *cloudapi.EnsureOptions) (string, cloudapi.EnsureOutcome, error) {
	fn := reflect.ValueOf(c).Elem().FieldByName(m.name)
	if m.name == "Ensure" {
		fn = reflect.ValueOf(func(ctx context.Context, location, name string, request *cloudapi.PostgresCreateRequest, opts *cloudapi.EnsureOptions) (*cloudapi.Postgres, cloudapi.EnsureOutcome, error) {
			return cloudapi.Ensure(ctx, func(ctx context.Context) (*cloudapi.Postgres, error) { return c.Postgres.Get(ctx, location, name) },
				func(ctx context.Context) (*cloudapi.Postgres, error) {
					return c.Postgres.Create(ctx, location, name, request)
				}, opts)
		})
	} else {
		fn = fn.MethodByName("Ensure")
	}
	in := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(location), reflect.ValueOf("x-1"), reflect.ValueOf(request), reflect.ValueOf(opts)}
	if m.location == "" {
		in = slices.Delete(in, 1, 2)
	}
	out := fn.Call(in)
	outcome, _ := out[1].Interface().(cloudapi.EnsureOutcome)
	err, _ := out[2].Interface().(error)
	if out[0].IsNil() == (err == nil) || (outcome == "") == (err == nil) {
		return "", "", fmt.Errorf("Ensure returned %v, %q and %w", out[0], outcome, err)
	}
	if err != nil {
		return "", "", err
	}
	return out[0].Interface().(cloudapi.Record).Resource().ID, outcome, nil
}

// reported reports whether the operation and the resource are those in the
// reports and errors of the model.
func (m *model) reported(operation, resource string) bool {
	if m.name == "Ensure" {
		return operation == "Ensure" && resource == "the resource"
	}
	return operation == m.name+".Ensure" && strings.HasSuffix(resource, "x-1")
}

func (m *model) wantOne(t *testing.T, client *cloudapi.Client) {
	t.Helper()
	n := 0
	for r, err := range client.Resources(t.Context(), nil, m.kind) {
		if err != nil {
			t.Error(err)
		} else if r.Name == "x-1" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("there are %d", n)
	}
}

func (m *model) resource(id string) cloudapi.Resource {
	return cloudapi.Resource{Kind: m.kind, Location: m.location, ID: id, Name: "x-1"}
}

// requestFields returns the fields of a request by name. The name of a field in
// an object of the request has the object's name before it: "aws.supported_regions".
func requestFields(request reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for field := range request.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !strings.HasSuffix(field.Type.Name(), "Request") {
			fields[name] = field
			continue
		}
		for inner, nested := range requestFields(field.Type) {
			nested.Index = append(slices.Clone(field.Index), nested.Index...)
			fields[name+"."+inner] = nested
		}
	}
	return fields
}
