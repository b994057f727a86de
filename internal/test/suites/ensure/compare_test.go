package ensure_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestCompareLeavesNothingOut: each field that a request sets is either compared
// with the record, or among those that aren't. That also holds for a record that
// has only an ID.
func TestCompareLeavesNothingOut(t *testing.T) {
	t.Parallel()
	others := strings.NewReplacer(`"cidr":"x"`, `"cidr":"::/0"`, `"x"`, `"other"`, ":1", ":2", "true", "false", "[redacted]", "other")
	families := 0
	for service := range reflect.TypeFor[cloudapi.Client]().Fields() {
		ensure, ok := service.Type.MethodByName("Ensure")
		if !ok {
			continue
		}
		families++
		full := reflect.New(ensure.Type.Out(0).Elem())
		if err := json.Unmarshal([]byte(others.Replace(string(stub.JSON(sdktest.Fill(ensure.Type.Out(0), "x").Interface())))), full.Interface()); err != nil {
			t.Fatal(err)
		}
		requestType := ensure.Type.In(ensure.Type.NumIn() - 2).Elem()
		compare := func(request, record reflect.Value) (fields, uncompared []string) {
			method := request.MethodByName("Compare")
			if !method.IsValid() {
				t.Fatalf("%v has no method Compare", request.Type())
			}
			out := method.Call([]reflect.Value{record})
			for _, d := range out[0].Interface().([]cloudapi.Drift) {
				fields = append(fields, d.Field)
				if d.Remedy == "" || (d.Remedy == cloudapi.RemedyMethod) != hasMethod(d.Method) || d.Remedy != cloudapi.RemedyMethod && d.Method != "" {
					t.Errorf("%s: the remedy for %q is %q, %q", service.Name, d.Field, d.Remedy, d.Method)
				}
			}
			return fields, out[1].Interface().([]string)
		}
		if fields, uncompared := compare(reflect.Zero(reflect.PointerTo(requestType)), full); len(uncompared) > 0 || len(fields) > 0 && service.Name != "Postgres" {
			t.Errorf("%s: without a request: %q, %q", service.Name, fields, uncompared)
		}
		for name, field := range requestFields(requestType) {
			if field.Name == "InitScriptText" {
				name = "init_script"
			}
			request := reflect.New(requestType)
			request.Elem().FieldByIndex(field.Index).Set(sdktest.Fill(field.Type, "x"))
			for what, record := range map[string]reflect.Value{"a full record": full, "a record with only an ID": reflect.New(full.Type().Elem())} {
				fields, uncompared := compare(request, record)
				if all := slices.Concat(fields, uncompared); !slices.Equal(all, []string{name}) {
					t.Errorf("%s: %s: with only %q: differences in %q, and %q isn't compared", service.Name, what, name, fields, uncompared)
				}
			}
		}
	}
	if families < 10 {
		t.Errorf("only %d families were compared", families)
	}
}

// hasMethod reports whether the client has a method such as "Postgres.Upgrade".
func hasMethod(name string) bool {
	service, method, _ := strings.Cut(name, ".")
	field, ok := reflect.TypeFor[cloudapi.Client]().FieldByName(service)
	if ok {
		_, ok = field.Type.MethodByName(method)
	}
	return ok
}

// TestCompareFindsNoDifference: a resource doesn't differ from the request that
// created it, even if the server writes values in another way.
func TestCompareFindsNoDifference(t *testing.T) {
	t.Parallel()
	const location = sdktest.Somewhere
	client := cloudapitest.New(t).Client()
	subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), location, "net", nil))(t)
	vmRequest := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "burstable-1", UnixUser: "me", EnableIPv4: new(true), PrivateSubnetID: subnet.ID, StorageSize: 10}
	vm := stub.Must(client.VMs.Create(t.Context(), location, "vm", vmRequest))(t)
	if d, uncompared := vmRequest.Compare(vm); len(d) != 0 || fmt.Sprint(uncompared) != "[private_subnet_id public_key]" {
		t.Errorf("VM: %v, %q", d, uncompared)
	}
	dbRequest := &cloudapi.PostgresCreateRequest{Size: "burstable-1", StorageSize: 16, Tags: []cloudapi.PostgresTag{{Key: "b"}, {Key: "a"}}, PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("8MB")}}
	db := stub.Must(client.Postgres.Create(t.Context(), location, "db", dbRequest))(t)
	if d, uncompared := dbRequest.Compare(db); len(d) != 0 || fmt.Sprint(uncompared) != "[pg_config]" {
		t.Errorf("database: %v, %q", d, uncompared)
	}
	if db.VMSize != "hobby-1" || cloudapi.CanonicalPostgresSize(db.VMSize) != "burstable-1" {
		t.Errorf("the size is %q, canonical %q", db.VMSize, cloudapi.CanonicalPostgresSize(db.VMSize))
	}
	firewall := stub.Must(client.Firewalls.Create(t.Context(), location, "edge", nil))(t)
	for _, wanted := range []cloudapi.FirewallRuleCreateRequest{
		{CIDR: "10.1.2.3"}, {CIDR: "fd00::1", PortRange: "22"}, {CIDR: "10.0.0.9/8", PortRange: "80..90", Protocol: "UDP"}, {CIDR: "1.2.3.4/32", PortRange: "22..22", Description: "ssh"},
	} {
		rule := stub.Must(client.Firewalls.CreateRule(t.Context(), location, firewall.ID, &wanted))(t)
		if !wanted.Matches(rule) {
			t.Errorf("%+v doesn't match %+v", wanted, rule)
		}
		other := *rule
		other.PortRange = "1"
		if wanted.Matches(&other) {
			t.Errorf("%+v matches %+v", wanted, other)
		}
	}
	if other := (cloudapi.FirewallRuleCreateRequest{CIDR: "net"}); other.Matches(&cloudapi.FirewallRule{CIDR: "net", PortRange: "0..65535"}) {
		t.Error("the name of a subnet matches")
	}
}

// TestRemedies is the table of what removes which difference.
func TestRemedies(t *testing.T) {
	t.Parallel()
	const update, replace = cloudapi.RemedyUpdate, cloudapi.RemedyReplace
	pools := func(names ...string) (pools []cloudapi.KubernetesNodePool) {
		for _, name := range names {
			pools = append(pools, cloudapi.KubernetesNodePool{Name: name, NodeSize: "standard-2", NodeCount: 1})
		}
		return pools
	}
	compare := func(differences []cloudapi.Drift, _ []string) []cloudapi.Drift { return differences }
	for _, tt := range []struct {
		name        string
		differences []cloudapi.Drift
		want        map[string]cloudapi.Remedy
	}{
		{"VM", compare((&cloudapi.VMCreateRequest{Size: "standard-4", StorageSize: 80, BootImage: "b", UnixUser: "b", EnableIPv4: new(true)}).Compare(
			&cloudapi.VM{Size: "standard-2", StorageSizeGiB: 40, BootImage: "a", UnixUser: "a"})),
			map[string]cloudapi.Remedy{"size": replace, "storage_size": replace, "boot_image": replace, "unix_user": replace, "enable_ip4": replace}},
		{"database", compare((&cloudapi.PostgresCreateRequest{Size: "standard-4", StorageSize: 128, HAType: "sync", Flavor: "lantern", Version: "18",
			Tags: []cloudapi.PostgresTag{{Key: "k"}}, RestrictByDefault: new(true)}).Compare(&cloudapi.Postgres{VMSize: "standard-2", StorageSizeGiB: 64,
			HAType: "none", Flavor: "standard", Version: "17", Tags: []cloudapi.PostgresTag{}, ReadReplica: true, FirewallRules: []cloudapi.PostgresFirewallRule{{CIDR: "0.0.0.0/0"}}})),
			map[string]cloudapi.Remedy{"size": update, "storage_size": update, "ha_type": update, "flavor": replace, "version": "Postgres.Upgrade",
				"tags": update, "restrict_by_default": update, "read_replica": "Postgres.PromoteReadReplica"}},
		{"database of a newer version", compare((&cloudapi.PostgresCreateRequest{Version: "9"}).Compare(&cloudapi.Postgres{Version: "17"})),
			map[string]cloudapi.Remedy{"version": replace}},
		{"database that can't be upgraded", compare((&cloudapi.PostgresCreateRequest{Version: "17"}).Compare(&cloudapi.Postgres{Version: "16", Flavor: cloudapi.PostgresFlavorLantern})),
			map[string]cloudapi.Remedy{"version": replace}},
		{"database, of a later version", compare((&cloudapi.PostgresCreateRequest{Version: "18"}).Compare(&cloudapi.Postgres{Version: "16"})),
			map[string]cloudapi.Remedy{"version": "Postgres.Upgrade"}},
		{"cluster", compare((&cloudapi.KubernetesClusterCreateRequest{Version: "v1.37", CPNodeCount: 3, WorkerSize: "standard-4", WorkerNodeCount: 2}).Compare(
			&cloudapi.KubernetesCluster{Version: "v1.9", CPNodeCount: 1, NodePools: pools("np")})),
			map[string]cloudapi.Remedy{"version": "Kubernetes.Upgrade", "cp_nodes": replace, "worker_size": "Kubernetes.CreateNodePool", "worker_nodes": update}},
		{"cluster with other node pools", compare((&cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerNodeCount: 2}).Compare(
			&cloudapi.KubernetesCluster{Version: "v1.37", NodePools: pools("a", "b")})),
			map[string]cloudapi.Remedy{"version": replace, "worker_nodes": "Kubernetes.CreateNodePool"}},
		{"load balancer", compare((&cloudapi.LoadBalancerCreateRequest{Algorithm: "b", SrcPort: 2, DstPort: 2, HealthCheckProtocol: "b", Stack: "b", HealthCheckEndpoint: "b",
			CertEnabled: new(true)}).Compare(&cloudapi.LoadBalancer{Algorithm: "a", SrcPort: 1, DstPort: 1, HealthCheckProtocol: "a", Stack: "a", HealthCheckEndpoint: "a"})),
			map[string]cloudapi.Remedy{"algorithm": update, "src_port": update, "dst_port": update, "health_check_protocol": replace, "stack": replace,
				"health_check_endpoint": update, "cert_enabled": update}},
		{"firewall", compare((&cloudapi.FirewallCreateRequest{Description: "b"}).Compare(&cloudapi.Firewall{})), map[string]cloudapi.Remedy{"description": update}},
		{"subnet", compare((&cloudapi.PrivateSubnetCreateRequest{FirewallID: "b"}).Compare(&cloudapi.PrivateSubnet{Firewalls: []cloudapi.Firewall{}})), map[string]cloudapi.Remedy{"firewall_id": update}},
		{"SSH key", compare((&cloudapi.SSHPublicKeyCreateRequest{PublicKey: "b"}).Compare(&cloudapi.SSHPublicKey{Name: "a", PublicKey: "a"})),
			map[string]cloudapi.Remedy{"public_key": update}},
		{"init script", compare((&cloudapi.VMInitScriptCreateRequest{Script: "b"}).Compare(&cloudapi.VMInitScript{Name: "a", Script: "a"})),
			map[string]cloudapi.Remedy{"script": update}},
		{"private location", compare((&cloudapi.PrivateLocationCreateRequest{ProviderLocationName: "b"}).Compare(&cloudapi.PrivateLocation{UIName: "a", Name: "a"})),
			map[string]cloudapi.Remedy{"provider_location_name": replace}},
	} {
		got := map[string]cloudapi.Remedy{}
		for _, d := range tt.differences {
			got[d.Field] = cmp.Or(cloudapi.Remedy(d.Method), d.Remedy)
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for _, version := range []string{"abc", "017", "17.2", "v18", "-1", "1 8"} {
		for _, flavor := range []string{cloudapi.PostgresFlavorStandard, cloudapi.PostgresFlavorLantern} {
			d, _ := (&cloudapi.PostgresCreateRequest{Version: version}).Compare(&cloudapi.Postgres{Version: "17", Flavor: flavor})
			if len(d) != 1 || d[0].Remedy != cloudapi.RemedyNone {
				t.Errorf("version %q of a database: %v", version, d)
			}
		}
	}
	for _, version := range []string{"latest", "1.37", "v1", "v1.037"} {
		if d, _ := (&cloudapi.KubernetesClusterCreateRequest{Version: version}).Compare(&cloudapi.KubernetesCluster{Version: "v1.36"}); len(d) != 1 || d[0].Remedy != cloudapi.RemedyNone {
			t.Errorf("version %q of a cluster: %v", version, d)
		}
	}
}
