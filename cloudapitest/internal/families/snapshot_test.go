package families

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const there = "eu-central-h1"

// project is a project of a service of its own.
type project struct {
	*testing.T
	service *api.Service
	client  *cloudapi.Client
	id      string
	gets    int
}

// RoundTrip executes a request.
func (p *project) RoundTrip(r *http.Request) (response *http.Response, err error) {
	op, _ := p.service.Match(r.Method, r.URL.EscapedPath())
	if op == nil && r.Method != http.MethodGet {
		p.Errorf("%s %s is no operation", r.Method, r.URL)
	}
	p.service.Do(func(at *api.Moment) {
		p.gets++
		var body bytes.Buffer
		if r.Body != nil {
			body.ReadFrom(r.Body)
		}
		response, err = itself{p.service, at, body.Bytes()}.RoundTrip(r)
	})
	return response, err
}

// newProject returns an empty project, or a copy.
func newProject(t *testing.T, v version.API, copied *Snapshot, change ...func(*api.Config)) *project {
	t.Helper()
	const d = 3 * time.Second
	cfg := api.Config{
		API: v, Locations: []string{"eu-central-h1", "eu-north-h1", "us-east-a2"}, PageCap: 1000,
		Delays: api.Delays{Create: d, Backup: d, Restart: d, Resize: d, Promote: d, Detach: d, Delete: d, Vacate: d, SerialLog: d},
		Quota:  api.Quota{VM: 500, Postgres: 500, Kubernetes: 500, MachineImageVersions: 50, Projects: 10},
	}
	for _, f := range change {
		f(&cfg)
	}
	p := &project{T: t, service: New(cfg), id: api.NewID(cloudapi.KindProject).String()}
	if copied != nil {
		p.id = copied.Project.ID
	}
	p.service.Do(func(at *api.Moment) {
		owner := api.NewAccount("own")
		own := at.AddProject(p.id, "main", owner)
		own.Permissions[at.State.AddToken("pat-own", owner)] = api.Permissions{"*"}
		if copied != nil {
			for _, f := range copied.Load(at, own) {
				t.Error(f)
			}
		} else if v.Version == version.Service {
			own.Features = []string{FeatureMaintenanceWindowDays}
			if !cfg.PortlessBalancers { // one of the APIs lacks them
				own.Features = append(own.Features, FeaturePrivateLinkServices)
			}
			AddGitHub(at, own)
		}
	})
	p.client = stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL("http://api.localhost"), cloudapi.WithToken("pat-own"),
		cloudapi.WithProject(p.id), cloudapi.WithHTTPClient(&http.Client{Transport: p})))(t)
	return p
}

func (p *project) snapshot() (s *Snapshot) {
	p.service.Do(func(at *api.Moment) { s = ReadItself(p.service, at, at.State.Project(p.id)) })
	return s
}

// settled returns a snapshot of the project as it will be.
func (p *project) settled() (s *Snapshot) {
	p.service.Do(func(at *api.Moment) { s = ReadItself(p.service, at.Settled(), at.State.Project(p.id)) })
	return s
}

func (p *project) named(kind cloudapi.Kind, name string) (o api.Stored) {
	p.service.Do(func(at *api.Moment) {
		o = at.State.Index.Named(api.Scope{Kind: kind, Project: at.State.Project(p.id)}, name)[0]
	})
	return o
}

// fill creates resources of all families. Unless busy is negative, some are in
// the middle of something, which began so long ago.
func fill(t *testing.T, p *project, busy time.Duration) {
	t.Helper()
	ctx, c := t.Context(), p.client
	contract := p.service.Config.Version == version.Contract
	kubernetes := "v1.36"
	if contract {
		kubernetes = "v1.34"
	}
	settle := func() {
		stub.Elapse(time.Hour)
	}
	stub.Must(c.SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: "ssh-ed25519 AAAA me"}))(t)
	stub.Must(c.InferenceAPIKeys.Create(ctx))(t)
	stub.Must(c.PrivateLocations.Create(ctx, "own-aws", &cloudapi.PrivateLocationCreateRequest{
		ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("access-secret"), SecretKey: cloudapi.NewSecret("secret-secret"),
	}))(t)
	stub.Must(c.VMs.Create(ctx, "own-aws", "far", &cloudapi.VMCreateRequest{PublicKey: "laptop", StorageSize: 80}))(t)
	links := slices.Contains(p.service.State.Project(p.id).Features, FeaturePrivateLinkServices)
	link := &cloudapi.PrivateLinkServiceCreateRequest{
		PrivateSubnetID: p.named(cloudapi.KindPrivateSubnet, "default-own-aws").Core().ID, Ports: []int{443}, TargetPorts: []int{8443}, IPAddressType: "dual",
		AWS: cloudapi.PrivateLinkServiceAWSCreateRequest{
			AllowedPrincipals: []string{"*"}, AllowedVPCEndpoints: []cloudapi.PrivateLinkServiceVPCEndpoint{{VPCEndpointID: "vpce-0123456789abcdef0", Description: "reports"}}, SupportedRegions: []string{"us-west-2"},
		},
	}
	if links {
		stub.Must(c.Postgres.Create(ctx, "own-aws", "linked", &cloudapi.PostgresCreateRequest{Size: "m8gd.large", StorageSize: 118, PrivateSubnetName: "linked-net"}))(t)
		for _, name := range []string{"vms", "leaving"} {
			stub.Must(c.PrivateLinkServices.Create(ctx, "own-aws", name, link))(t)
		}
		stub.Must(c.Postgres.CreatePrivateLinkService(ctx, "own-aws", "linked", "to-linked", &cloudapi.PostgresPrivateLinkServiceCreateRequest{AWS: link.AWS}))(t)
	}
	subnet := stub.Must(c.PrivateSubnets.Create(ctx, there, "net", nil))(t)
	stub.Must(c.Firewalls.Create(ctx, there, "edge", &cloudapi.FirewallCreateRequest{Description: "the edge"}))(t)
	stub.Must(c.Firewalls.CreateRule(ctx, there, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "192.0.2.0/24", PortRange: "22"}))(t)
	stub.Must(c.Firewalls.AttachSubnet(ctx, there, "edge", subnet.ID))(t)
	for _, name := range []string{"a", "b", "stopped", "starting", "stopping", "restarting", "leaving", "lost"} {
		stub.Must(c.VMs.Create(ctx, there, name, &cloudapi.VMCreateRequest{PublicKey: "laptop", PrivateSubnetID: subnet.ID, EnableIPv4: new(name != "b")}))(t)
	}
	balancer := stub.Must(c.LoadBalancers.Create(ctx, there, "lb", &cloudapi.LoadBalancerCreateRequest{
		PrivateSubnetID: subnet.ID, Algorithm: "round_robin", HealthCheckProtocol: "http", SrcPort: 80, DstPort: 8080, Stack: "dual",
	}))(t)
	stub.Must(c.LoadBalancers.AttachVM(ctx, there, balancer.ID, p.named(cloudapi.KindVM, "a").Core().ID))(t)
	stub.Must(c.Kubernetes.Create(ctx, there, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: kubernetes, WorkerSize: "standard-2", WorkerNodeCount: 2}))(t)
	stub.Must(c.Kubernetes.Create(ctx, there, "leaving", &cloudapi.KubernetesClusterCreateRequest{Version: kubernetes, WorkerSize: "standard-2", WorkerNodeCount: 1}))(t)
	stub.Must(c.Kubernetes.Create(ctx, there, "odd", &cloudapi.KubernetesClusterCreateRequest{Version: kubernetes, WorkerSize: "standard-2", WorkerNodeCount: 1}))(t)
	stub.Must(c.PrivateSubnets.Create(ctx, there, "leaving", nil))(t)
	grown := stub.Must(c.Kubernetes.Create(ctx, there, "grown", &cloudapi.KubernetesClusterCreateRequest{Version: kubernetes, WorkerSize: "standard-2", WorkerNodeCount: 2}))(t)
	for _, name := range []string{"orders", "resized", "leaving", "upgraded", "restarting", "odd", "grown", "shrunk", "recycled", "gone"} {
		request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: "async", Version: "17", Tags: []cloudapi.PostgresTag{{Key: "env", Value: "demo"}}}
		if name == "upgraded" || contract {
			request.Version = "16"
		}
		stub.Must(c.Postgres.Create(ctx, there, name, request))(t)
	}
	settle()
	stub.Must(c.Postgres.UpdateConfig(ctx, there, "orders", &cloudapi.PostgresConfigUpdateRequest{PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("64MB")}}))(t)
	stub.Must(c.Postgres.SetMaintenanceWindow(ctx, there, "orders", &cloudapi.PostgresMaintenanceWindowRequest{StartAt: new(3)}))(t)
	stub.Must(c.Postgres.CreateMetricDestination(ctx, there, "orders", &cloudapi.PostgresMetricDestinationCreateRequest{
		URL: "https://me:url-secret@metrics.example.com/write?key=query-secret", Username: "me", Password: cloudapi.NewSecret("metric-secret"),
	}))(t)
	stub.Must(c.Postgres.CreateReadReplica(ctx, there, "orders", "orders-copy", nil))(t)
	stub.Must(c.Postgres.CreateReadReplica(ctx, there, "orders", "promoted", nil))(t)
	stub.Must(c.Postgres.CreateReadReplica(ctx, there, "leaving", "orphan", nil))(t)
	stub.Must(c.Postgres.CreateReadReplica(ctx, there, "gone", "promoted-orphan", nil))(t)
	settle()
	if err := c.Postgres.Delete(ctx, there, "gone"); err != nil {
		t.Fatal(err)
	}
	settle()
	if !contract {
		for _, name := range []string{"stopped", "starting"} {
			stub.Must(c.VMs.Stop(ctx, there, name))(t)
		}
		settle()
		stub.Must(c.MachineImages.Create(ctx, there, "golden", &cloudapi.MachineImageCreateRequest{VMID: p.named(cloudapi.KindVM, "stopped").Core().ID, Version: "v0"}))(t)
		settle()
		stub.Must(c.MachineImages.CreateVersion(ctx, there, "golden", "v1", &cloudapi.MachineImageVersionCreateRequest{VMID: p.named(cloudapi.KindVM, "stopped").Core().ID}))(t)
		p.service.Do(func(at *api.Moment) { SetClusterService(at, grown.ID, 80, 30080) })
		settle()
	}
	// What no GET shows:
	stub.Must(c.Kubernetes.Kubeconfig(ctx, there, "apps"))(t)
	other := stub.Must(c.PrivateSubnets.Create(ctx, there, "other", nil))(t)
	stub.Must(c.PrivateSubnets.Connect(ctx, there, "net", other.ID))(t)
	p.service.Do(func(at *api.Moment) {
		AddLogLine(at, at.State.Index.Named(api.Scope{Kind: cloudapi.KindPostgres, Project: at.State.Project(p.id)}, "orders")[0].Core().ID, cloudapi.PostgresLogEntry{Message: "line"})
		SetSerialLog(at, p.service.State.Index.Named(api.Scope{Kind: cloudapi.KindVM, Project: at.State.Project(p.id)}, "a")[0].Core().ID, "text", true)
	})
	stub.Must(c.Postgres.CreateFirewallRule(ctx, there, "orders", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "198.51.100.7/32", Description: "office"}))(t)
	if !contract {
		stub.Must(c.LoadBalancers.SetSSLCertificate(ctx, there, "lb", true))(t)
		stub.Must(c.Postgres.AddCertificateUser(ctx, there, "orders", "alice"))(t)
		stub.Must(c.VMs.SetMaintenanceWindow(ctx, there, "a", &cloudapi.VMMaintenanceWindowRequest{StartAt: new(5)}))(t)
		stub.Must(c.Postgres.SetMaintenanceWindow(ctx, there, "orders", &cloudapi.PostgresMaintenanceWindowRequest{StartAt: new(3), Days: []string{"mon"}}))(t)
		stub.Must(c.Postgres.CreateLogDestination(ctx, there, "orders", "logs", &cloudapi.PostgresLogDestinationCreateRequest{
			Type: "otlp", URL: "https://me:log-secret@logs.example.com/write?key=log-query-secret",
		}))(t)
		stub.Must(c.Firewalls.CreateRule(ctx, there, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "192.0.2.0/24", Protocol: "udp", Description: "DNS"}))(t)
		stub.Must(c.Postgres.UpdateConfig(ctx, there, "orders", &cloudapi.PostgresConfigUpdateRequest{
			PgBouncerConfig: cloudapi.PostgresSettings{"max_client_conn": cloudapi.NewPostgresSetting("100")},
		}))(t)
		for _, o := range api.InProject[*githubCacheEntry](p.service.State, cloudapi.KindGitHubCacheEntry, p.service.State.Project(p.id)) {
			o.accessed = time.Now()
			p.service.Do(func(at *api.Moment) {
				id := api.NewID(cloudapi.KindGitHubCacheEntry).String()
				at.State.Add(&githubCacheEntry{Object: api.Object{ID: id, Project: o.Project}, repository: o.repository, key: "npm-1", scope: "main", uploading: true})
			})
		}
	} else {
		stub.Must(c.VMInitScripts.Create(ctx, "setup", &cloudapi.VMInitScriptCreateRequest{Script: "apt-get update"}))(t)
	}
	if busy < 0 {
		return
	}
	if links {
		stub.Must(c.PrivateLinkServices.Create(ctx, "own-aws", "young", link))(t)
		if err := c.PrivateLinkServices.Delete(ctx, "own-aws", "leaving"); err != nil {
			t.Fatal(err)
		}
	}
	stub.Must(c.LoadBalancers.DetachVM(ctx, there, "lb", p.named(cloudapi.KindVM, "a").Core().ID))(t)
	if !contract {
		stub.Must(c.VMs.SerialLog(ctx, there, "b", nil))(t)
		stub.Must(c.VMs.Start(ctx, there, "starting"))(t)
		stub.Must(c.VMs.Stop(ctx, there, "stopping"))(t)
		if err := c.MachineImages.DeleteVersion(ctx, there, "golden", "v0"); err != nil {
			t.Fatal(err)
		}
		stub.Must(c.MachineImages.CreateVersion(ctx, there, "golden", "v2", &cloudapi.MachineImageVersionCreateRequest{VMID: p.named(cloudapi.KindVM, "stopped").Core().ID}))(t)
		stub.Must(c.Postgres.Upgrade(ctx, there, "upgraded"))(t)
		stub.Must(c.Postgres.Recycle(ctx, there, "recycled"))(t)
		stub.Must(c.Kubernetes.Upgrade(ctx, there, "apps"))(t)
		pools := stub.Must(c.Kubernetes.Get(ctx, there, "grown"))(t).NodePools
		stub.Must(c.Kubernetes.ResizeNodePool(ctx, there, "grown", pools[0].ID, 3))(t)
	}
	lost := p.named(cloudapi.KindVM, "lost")
	for _, name := range []string{"promoted", "promoted-orphan"} {
		if status, text := p.send(request{method: http.MethodPost, path: "/location/" + there + "/postgres/" + name + "/promote"}); status != 200 {
			t.Fatal(status, text)
		}
	}
	stub.Must(c.Postgres.Update(ctx, there, "grown", &cloudapi.PostgresUpdateRequest{HAType: "sync"}))(t)
	stub.Must(c.Postgres.Update(ctx, there, "shrunk", &cloudapi.PostgresUpdateRequest{HAType: "none"}))(t)
	stub.Must(c.VMs.Restart(ctx, there, "restarting"))(t)
	stub.Must(c.Postgres.Restart(ctx, there, "restarting"))(t)
	stub.Must(c.Postgres.Update(ctx, there, "resized", &cloudapi.PostgresUpdateRequest{Size: "standard-4", StorageSize: 128}))(t)
	stub.Must(c.Postgres.Restore(ctx, there, "orders", "restored", &cloudapi.PostgresRestoreRequest{RestoreTarget: time.Now().Add(-30 * time.Minute)}))(t)
	stub.Must(c.Postgres.CreateReadReplica(ctx, there, "orders", "young-copy", nil))(t)
	stub.Must(c.Kubernetes.Create(ctx, there, "young", &cloudapi.KubernetesClusterCreateRequest{Version: kubernetes, WorkerSize: "standard-2", WorkerNodeCount: 1}))(t)
	stub.Must(c.VMs.Create(ctx, there, "young", &cloudapi.VMCreateRequest{PublicKey: "laptop", PrivateSubnetID: subnet.ID, EnableIPv4: new(true)}))(t)
	stub.Must(c.Postgres.Create(ctx, there, "young", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: "sync"}))(t)
	p.service.Do(func(at *api.Moment) { SetState(at, lost.Core().ID, "unavailable") })
	odd := []api.Stored{p.named(cloudapi.KindPostgres, "odd"), p.named(cloudapi.KindKubernetesCluster, "odd"), p.named(cloudapi.KindPrivateSubnet, "other")}
	if links {
		odd = append(odd, p.named(cloudapi.KindPrivateLinkService, "vms"))
	}
	if !contract {
		odd = append(odd, p.named(cloudapi.KindMachineImageVersion, "v1"))
	}
	p.service.Do(func(at *api.Moment) {
		for _, o := range odd {
			SetState(at, o.Core().ID, "odd")
		}
		if !contract { // which doesn't show servers
			SetState(at, odd[0].(*postgres).fleet[1], "odd")
		}
	})
	if err := errors.Join(c.VMs.Delete(ctx, there, "leaving"), c.Postgres.Delete(ctx, there, "leaving"), c.Kubernetes.Delete(ctx, there, "leaving")); err != nil {
		t.Fatal(err)
	}
	if !contract { // its records don't show the deletion
		if err := c.PrivateSubnets.Delete(ctx, there, "leaving"); err != nil {
			t.Fatal(err)
		}
	}
	stub.Elapse(busy)
}

const quiet = -1

// apis are the versions of the API, and the service with load balancers that it
// can't list.
var apis = map[string]func(*testing.T) *project{
	"service":  func(t *testing.T) *project { return newProject(t, version.API{Version: version.Service}, nil) },
	"contract": func(t *testing.T) *project { return newProject(t, version.API{Version: version.Contract}, nil) },
	"default": func(t *testing.T) *project {
		return newProject(t, version.API{Version: version.Service, Both: true}, nil, func(cfg *api.Config) { cfg.PageCap = 3 })
	},
	"portless": func(t *testing.T) *project {
		return newProject(t, version.API{Version: version.Service}, nil, func(cfg *api.Config) { cfg.PortlessBalancers = true })
	},
}

// forEachCopy calls f with a project and its copy, for each API.
func forEachCopy(t *testing.T, f func(t *testing.T, source, copied *project, s *Snapshot), busy ...time.Duration) {
	t.Parallel()
	for name, create := range apis {
		for _, d := range busy {
			t.Run(fmt.Sprint(name, " ", d), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					source := create(t)
					fill(t, source, d)
					s := source.snapshot()
					f(t, source, newProject(t, s.Version(), s, func(cfg *api.Config) { cfg.PageCap = source.service.Config.PageCap }), s)
				})
			})
		}
	}
}

// TestEveryListIsCopied checks that each list of a project is in the table.
func TestEveryListIsCopied(t *testing.T) {
	t.Parallel()
	rows := map[string]bool{"audit-log": true, "inference-endpoint": true, "postgres/capabilities": true} // these list no resources of the project
	for _, k := range copied {
		rows[k.path] = true
	}
	lists := 0
	for _, op := range operations() {
		path, inProject := strings.CutPrefix(op.Route, api.ProjectRoute+"/")
		if path = strings.TrimPrefix(path, "location/{location}/"); op.Method != http.MethodGet || !inProject || strings.Contains(path, "{") {
			continue
		}
		if lists++; !rows[path] {
			t.Errorf("%s has no row", op.Name)
		}
	}
	if lists < len(rows) {
		t.Errorf("there are %d lists, but %d rows", lists, len(rows))
	}
}

// tree returns the JSON of a snapshot, with the records of each kind by their names.
func tree(t *testing.T, s *Snapshot) any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(stub.Must(json.Marshal(s))(t), &all); err != nil {
		t.Fatal(err)
	}
	for kind, records := range all["objects"].(map[string]any) {
		named := map[string]any{}
		for i, r := range records.([]any) {
			named[fmt.Sprint(i, " ", r.(map[string]any)["name"])] = r
		}
		all["objects"].(map[string]any)[kind] = named
	}
	return all
}

// TestEveryFieldOfARecord checks that the copies of the tests set each field of each
// record in a snapshot, so that it finds a field that isn't loaded.
func TestEveryFieldOfARecord(t *testing.T) {
	t.Parallel()
	set := map[string]bool{}
	for _, k := range copied {
		markSet(k.kind.String(), reflect.ValueOf(k.new()), set)
	}
	for _, create := range apis {
		synctest.Test(t, func(t *testing.T) {
			source := create(t)
			fill(t, source, 700*time.Millisecond)
			s := source.snapshot()
			for i := range copied {
				for _, raw := range s.Objects[copied[i].kind] {
					markSet(copied[i].kind.String(), reflect.ValueOf(stub.Must(copied[i].decode(raw, nil))(t)), set)
				}
			}
		})
	}
	never := []string{ // a test server never sets them
		"Kubernetes cluster.cp_vms.maintenance_window_start_at", "Kubernetes cluster.nodepools.vms.maintenance_window_start_at",
		"Postgres database.fallback_active", "Postgres database.servers.fallback_active", "firewall.path",
	}
	for path, isSet := range set {
		if isSet == slices.Contains(never, path) {
			t.Errorf("%s is set: %t", path, isSet)
		}
	}
	if len(set) < 100 {
		t.Errorf("there are only %d fields", len(set))
	}
}

// markSet adds the paths of the fields of a record, and whether they're set.
func markSet(path string, v reflect.Value, set map[string]bool) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		markSet(path, v.Elem(), set)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		set[path] = set[path] || v.Len() > 0
		for i := range v.Len() {
			markSet(path, v.Index(i), set)
		}
	case v.Kind() == reflect.Struct && !v.Type().Implements(reflect.TypeFor[fmt.Stringer]()) && v.Type() != reflect.TypeFor[timestamp]():
		for _, f := range reflect.VisibleFields(v.Type()) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			field, err := v.FieldByIndexErr(f.Index)
			if name == "" || err != nil || strings.Contains(f.Type.String(), "invented") {
				continue
			}
			markSet(path+"."+name, field, set)
		}
	default:
		set[path] = set[path] || !v.IsZero()
	}
}

// TestNothingElseIsLost compares the objects of a project and of its copy field by field.
// The fields that differ must be those that neverShown lists. Each field of an
// object must have a value in one of the projects, except for what all objects have.
func TestNothingElseIsLost(t *testing.T) {
	t.Parallel()
	compared := stateComparison{map[string]string{}, map[string]bool{}}
	for _, create := range apis {
		for _, busy := range []time.Duration{quiet, 700 * time.Millisecond, 2500 * time.Millisecond, 3300 * time.Millisecond, 4200 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				source := create(t)
				fill(t, source, busy)
				source.service.State.Project(source.id).Unpaid = true
				s := source.snapshot()
				target := newProject(t, s.Version(), s)
				for id, o := range source.service.State.ByID {
					c := target.service.State.ByID[id]
					if l, ok := o.(*loadBalancer); ok && l.portless() {
						continue // the server doesn't show its ID
					}
					if c == nil || reflect.TypeOf(c) != reflect.TypeOf(o) {
						if _, isProject := o.(*api.Project); !isProject {
							t.Errorf("the copy lacks the %T %s", o, o.Core().Name)
						}
						continue
					}
					compared.compare(reflect.TypeOf(o).Elem().Name(), reflect.ValueOf(o).Elem(), reflect.ValueOf(c).Elem())
				}
			})
		}
	}
	listed := map[string]bool{}
	for _, n := range neverShown {
		for _, f := range strings.Fields(n.fields) {
			if listed[f] = true; compared.lost[f] == "" {
				t.Errorf("%s, in %q, is in the copy", f, n.what)
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(compared.lost)) {
		if !listed[f] {
			t.Errorf("%s isn't in the copy, or differs: %s", f, compared.lost[f])
		}
	}
	for _, f := range slices.Sorted(maps.Keys(compared.set)) {
		_, name, _ := strings.Cut(f, ".")
		if _, common := reflect.TypeFor[api.Object]().FieldByName(name); !compared.set[f] && !common {
			t.Errorf("no object has a value in the field %s", f)
		}
	}
}

// timeOf returns the seconds and nanoseconds of a time in an unexported field.
func timeOf(v reflect.Value) string { return fmt.Sprint(v.Field(0), v.Field(1)) }

// stateComparison has the paths of the fields of objects.
type stateComparison struct {
	lost map[string]string // those that differ, with the values
	set  map[string]bool   // whether the first of the objects has a value there
}

// compare compares two values at a path. A pointer to another object is compared by
// the object's ID.
func (s stateComparison) compare(path string, a, b reflect.Value) {
	differs := func(differs bool) {
		if differs && s.lost[path] == "" {
			s.lost[path] = fmt.Sprintf("%v, want %v", b, a)
		}
	}
	s.set[path] = s.set[path] || !a.IsZero()
	switch t := a.Type(); a.Kind() {
	case reflect.Pointer:
		switch object := t.Elem(); {
		case a.IsNil() || b.IsNil():
			differs(a.IsNil() != b.IsNil())
		case object == reflect.TypeFor[api.Location]():
			s.compare("Location.InUse", a.Elem().FieldByName("InUse"), b.Elem().FieldByName("InUse")) // its name is in each record
		case object.Kind() == reflect.Struct && object.NumField() > 0 && object.Field(0).Type == reflect.TypeFor[api.Object]():
			differs(a.Elem().Field(0).FieldByName("ID").String() != b.Elem().Field(0).FieldByName("ID").String())
		default:
			s.compare(path, a.Elem(), b.Elem())
		}
	case reflect.Struct:
		switch {
		case t == reflect.TypeFor[time.Time]():
			differs(timeOf(a) != timeOf(b))
		case strings.HasPrefix(t.PkgPath(), "net/"):
			differs(fmt.Sprint(a) != fmt.Sprint(b))
		default:
			for i := range a.NumField() {
				name := path + "." + t.Field(i).Name
				if t.Field(i).Anonymous {
					name = path
				}
				s.compare(name, a.Field(i), b.Field(i))
			}
		}
	case reflect.Slice:
		if differs(a.Len() != b.Len()); a.Len() == b.Len() {
			for i := range a.Len() {
				s.compare(path, a.Index(i), b.Index(i))
			}
		}
	case reflect.Map:
		differs(a.Len() != b.Len() || t.Elem().Kind() != reflect.Bool && fmt.Sprint(a) != fmt.Sprint(b))
	case reflect.Interface:
		differs(fmt.Sprint(a) != fmt.Sprint(b))
	case reflect.Func:
	default:
		differs(!a.Equal(b))
	}
}

// TestReadsOfACopy sends each GET that concerns the objects of a project to the project and
// to its copy: by ID, by name, and in pages of all sizes. Only the fields below may
// differ.
func TestReadsOfACopy(t *testing.T) {
	differs := map[string]int{}
	reads := 0
	forEachCopy(t, func(t *testing.T, source, copied *project, s *Snapshot) {
		if changes := s.Changes(copied.snapshot()); len(changes) > 0 {
			t.Errorf("changes: %v", changes)
		}
		for _, path := range source.paths() {
			if strings.Contains(path, "/load-balancer?") && source.service.Config.PortlessBalancers {
				continue // the ID of the load balancer that can't be listed determines which pages fail
			}
			status, want := source.read(path)
			gotStatus, got := copied.read(path)
			if status != gotStatus {
				t.Errorf("%s: %d, want %d: %v, want %v", path, gotStatus, status, got, want)
			}
			counting.Lock()
			reads++
			for field, what := range compareReads(path, want, got, map[string]string{}) {
				field = strings.TrimPrefix(field, path)
				differs[field]++
				leaving := field == ".hostname" && strings.Contains(path, "/load-balancer") // of a deleted cluster
				if !leaving && !slices.ContainsFunc(madeUp, func(m string) bool { return strings.HasSuffix(field, m) }) {
					t.Errorf("%s: %s: %s", path, field, what)
				}
				if strings.HasPrefix(what, ",") {
					t.Errorf("%s: %s is empty%s", path, field, what)
				}
			}
			counting.Unlock()
		}
	}, quiet, 700*time.Millisecond, 2500*time.Millisecond, 3300*time.Millisecond, 4200*time.Millisecond)
	t.Cleanup(func() {
		t.Logf("%d reads; the fields that differ: %v", reads, differs)
		for _, m := range madeUp {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(differs)), func(field string) bool { return strings.HasSuffix(field, m) }) {
				t.Errorf("%s is nowhere different", m)
			}
		}
	})
}

var counting sync.Mutex

// madeUp are the ends of the fields that a copy makes up.
var madeUp = []string{
	".key", ".password", "connection_string", ".ca_certificates", ".file", // secrets
	"_destinations.url",                       // without credentials
	".last_modified",                          // of the backups of a replica's parent that is gone
	".option_tree.flavor", ".metadata.flavor", // a copy allows the flavor lantern
}

// references has the kinds that the parameters of paths refer to.
var references = map[string]cloudapi.Kind{
	"vm_reference": cloudapi.KindVM, "firewall_reference": cloudapi.KindFirewall, "private_subnet_reference": cloudapi.KindPrivateSubnet,
	"load_balancer_reference": cloudapi.KindLoadBalancer, "postgres_database_reference": cloudapi.KindPostgres,
	"kubernetes_cluster_reference": cloudapi.KindKubernetesCluster, "machine_image_reference": cloudapi.KindMachineImage,
	"private_link_service_reference": cloudapi.KindPrivateLinkService,
	"private_location_name":          cloudapi.KindPrivateLocation, "ssh_public_key_reference": cloudapi.KindSSHPublicKey,
	"vm_init_script_reference": cloudapi.KindVMInitScript, "inference_api_key_id": cloudapi.KindInferenceAPIKey,
	"github_installation_reference": cloudapi.KindGitHubInstallation, "object_id": cloudapi.KindVM,
}

// paths returns the paths of GETs, below the project.
func (p *project) paths() []string {
	var paths []string
	for _, op := range p.service.Operations {
		route, inProject := strings.CutPrefix(op.Route, api.ProjectRoute)
		if op.Method != http.MethodGet || !inProject || strings.HasSuffix(route, "/logs") || strings.HasSuffix(route, "serial-log") || strings.HasSuffix(route, "/audit-log") {
			continue
		}
		params := routeParam.FindAllString(strings.ReplaceAll(route, "{location}", ""), -1)
		switch {
		case len(params) > 1:
		case len(params) == 0:
			for _, size := range []string{"", "?page_size=1", "?page_size=2", "?page_size=3", "?page_size=1000"} {
				if strings.HasSuffix(op.Name, "List") || strings.HasSuffix(op.Name, "ListInLocation") || size == "" {
					paths = append(paths, strings.ReplaceAll(route, "{location}", there)+size)
				}
			}
		default:
			kind := references[strings.Trim(params[0], "{}")]
			for _, o := range p.service.State.Index.All(api.Scope{Kind: kind, Project: p.service.State.Project(p.id)}) {
				core := o.Core()
				if l, ok := o.(*loadBalancer); ok && l.portless() {
					continue // the copy can't have its ID
				}
				for _, ref := range []string{core.ID, core.Name} {
					path := strings.ReplaceAll(route, params[0], ref)
					if core.Location != nil {
						path = strings.ReplaceAll(path, "{location}", core.Location.Name)
					}
					if ref != "" {
						paths = append(paths, path)
					}
				}
			}
		}
	}
	return paths
}

var routeParam = regexp.MustCompile(`\{\w+\}`)

// read returns the status and the JSON of a GET, of all pages if it's a list.
func (p *project) read(path string) (status int, value any) {
	var items []any
	for start := ""; ; {
		target := "http://api.localhost/project/" + p.id + path
		if start != "" {
			target += "&start_after=" + start
		}
		request := stub.Must(http.NewRequestWithContext(p.Context(), http.MethodGet, target, nil))(p.T)
		request.Header = http.Header{"Authorization": {"Bearer pat-own"}, "Accept": {"application/json"}}
		response := stub.Must(p.RoundTrip(request))(p.T)
		text := stub.Must(io.ReadAll(response.Body))(p.T)
		value = nil
		if json.Unmarshal(text, &value) != nil {
			return response.StatusCode, map[string]any{"file": string(text)}
		}
		page, _ := value.(map[string]any)["items"].([]any)
		if items = append(items, page...); len(page) == 0 || !strings.Contains(path, "page_size") {
			if items != nil {
				value = items
			}
			return response.StatusCode, value
		}
		if _, paged := value.(map[string]any)["count"]; !paged {
			return response.StatusCode, items
		}
		start = page[len(page)-1].(map[string]any)["id"].(string)
	}
}

func sortedByID(records []any) []any {
	id := func(record any) string { return record.(map[string]any)["id"].(string) }
	return slices.SortedFunc(slices.Values(records), func(a, b any) int { return strings.Compare(id(a), id(b)) })
}

// compareReads returns the paths of the values that differ.
func compareReads(path string, want, got any, found map[string]string) map[string]string {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok && len(g) == len(w) {
			for name := range w {
				compareReads(path+"."+name, w[name], g[name], found)
			}
			return found
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			if strings.HasSuffix(path, ".read_replicas") || strings.HasSuffix(path, "/servers") { // their order doesn't mean anything
				w, g = sortedByID(w), sortedByID(g)
			}
			for i := range w {
				compareReads(path, w[i], g[i], found)
			}
			return found
		}
	}
	if !reflect.DeepEqual(want, got) {
		found[path] = fmt.Sprintf("%.70v, want %.70v", fmt.Sprint(got), fmt.Sprint(want))
	}
	return found
}

func TestSnapshotHasNoSecrets(t *testing.T) {
	t.Parallel()
	for _, create := range apis {
		synctest.Test(t, func(t *testing.T) {
			p := create(t)
			fill(t, p, 700*time.Millisecond)
			secrets := []string{"url-secret", "query-secret", "log-secret", "metric-secret", "access-secret", "secret-secret", "pat-own"}
			if p.service.Config.Version == version.Service {
				stub.Must(p.client.Postgres.UpdateConfig(t.Context(), there, "orders", &cloudapi.PostgresConfigUpdateRequest{
					PGConfig: cloudapi.PostgresSettings{"app.jwt_secret": cloudapi.NewPostgresSetting("setting-secret")},
				}))(t)
				secrets = append(secrets, "setting-secret")
			}
			for _, o := range p.service.State.ByID {
				switch o := o.(type) {
				case *postgres:
					secrets = append(secrets, o.password, string(o.certificates)[:min(100, len(o.certificates))])
				case *inferenceAPIKey:
					secrets = append(secrets, o.key)
				case *kubernetesCluster:
					secrets = append(secrets, strings.SplitAfter(o.kubeconfig, "token: ")[1:]...)
				}
			}
			text := string(stub.Must(json.Marshal(p.snapshot()))(t))
			for _, secret := range secrets {
				if secret = strings.TrimSpace(secret); secret != "" && strings.Contains(text, secret) {
					t.Errorf("the snapshot contains %q", secret)
				}
			}
			if len(secrets) < 15 || p.service.Config.Version == version.Service && !strings.Contains(text, "app.jwt_secret") {
				t.Errorf("%d secrets; want at least 15, and a gap for the setting", len(secrets))
			}
		})
	}
}

// TestTimeAlone: only what no record shows to be about to change is a change.
func TestTimeAlone(t *testing.T) {
	t.Parallel()
	for _, create := range apis {
		for _, busy := range []time.Duration{700 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				p := create(t)
				fill(t, p, busy)
				before := p.snapshot()
				stub.Elapse(time.Hour)
				for _, c := range before.Changes(p.snapshot()) {
					promoted := strings.HasPrefix(c.Resource.Name, "promoted") && before.API == string(version.Contract)
					if c.Resource.Name != "lb" && c.Resource.Name != "golden" && !promoted {
						t.Errorf("after %v: %s %v: %v", busy, c.Action, c.Resource, c.Fields)
					}
				}
			})
		}
	}
}

func TestChangesOfSnapshots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := apis["service"](t)
		fill(t, p, 700*time.Millisecond)
		before := p.snapshot()
		c, ctx := p.client, t.Context()
		settled := func() []string {
			stub.Elapse(time.Hour)
			var texts []string
			for _, c := range before.Changes(p.snapshot()) {
				text := fmt.Sprint(c.Action, " ", c.Resource.Kind, " ", c.Resource.Location, "/", c.Resource.Name)
				for _, f := range c.Fields {
					text += fmt.Sprintf("; %s: %s -> %s", f.Field, encoded(f.Before), encoded(f.After))
				}
				texts = append(texts, text)
			}
			return texts
		}
		vm := p.named(cloudapi.KindVM, "a").Core().ID
		if got := settled(); !slices.Equal(got, []string{ // no record shows that these are about to change
			`modified load balancer eu-central-h1/lb; vms: ["` + vm + `"] -> []`,
			`modified machine image eu-central-h1/golden; latest_version: "v1" -> "v2"`,
		}) {
			t.Errorf("time has changed %q", got)
		}
		before = p.snapshot()
		stub.Must(c.VMs.Create(ctx, there, "new", &cloudapi.VMCreateRequest{PublicKey: "laptop"}))(t)
		for _, e := range api.InProject[*githubCacheEntry](p.service.State, cloudapi.KindGitHubCacheEntry, p.service.State.Project(p.id)) {
			e.accessed, e.size, e.uploading = time.Now(), 7, false
		}
		stub.Must(c.PrivateLocations.Create(ctx, "second-aws", &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s"),
		}))(t)
		apiServer := p.named(cloudapi.KindKubernetesCluster, "apps").Core().ID + "-apiserver"
		if err := c.LoadBalancers.Delete(ctx, there, apiServer); err != nil {
			t.Fatal(err)
		}
		stub.Must(c.VMs.Stop(ctx, there, "b"))(t)
		stub.Must(c.PrivateLinkServices.Update(ctx, "own-aws", "young", &cloudapi.PrivateLinkServiceUpdateRequest{
			AWS: cloudapi.PrivateLinkServiceAWSUpdateRequest{SupportedRegions: []string{"us-east-2", "us-west-2"}},
		}))(t)
		stub.Must(c.VMs.Rename(ctx, there, "a", "renamed"))(t)
		stub.Must(c.Firewalls.CreateRule(ctx, there, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "203.0.113.0/24", PortRange: "443"}))(t)
		stub.Must(c.Postgres.UpdateConfig(ctx, there, "orders", &cloudapi.PostgresConfigUpdateRequest{PGConfig: cloudapi.PostgresSettings{"work_mem": {}, "jit": cloudapi.NewPostgresSetting("off")}}))(t)
		stub.Must(c.Postgres.CreateReadReplica(ctx, there, "orders", "second-copy", nil))(t)
		stub.Must(c.Postgres.Update(ctx, there, "orders", &cloudapi.PostgresUpdateRequest{Size: "standard-4", StorageSize: 128, HAType: "sync"}))(t)
		stub.Must(c.Postgres.CreateFirewallRule(ctx, there, "orders", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "203.0.113.0/24"}))(t)
		pool := stub.Must(c.Kubernetes.Get(ctx, there, "apps"))(t).NodePools[0]
		stub.Must(c.Kubernetes.ResizeNodePool(ctx, there, "apps", pool.ID, 4))(t)
		if err := errors.Join(c.Postgres.Delete(ctx, there, "restarting"), c.Kubernetes.Delete(ctx, there, "grown"), c.VMs.Delete(ctx, there, "stopping")); err != nil {
			t.Fatal(err)
		}
		during := before.Changes(p.snapshot())
		want := []string{
			"modified Kubernetes cluster eu-central-h1/apps; nodepools[apps-np].node_count: 2 -> 4",
			"deleted Kubernetes cluster eu-central-h1/grown",
			`modified Postgres database eu-central-h1/orders; config.pg_config.jit: null -> "off"; config.pg_config.work_mem: "64MB" -> null; ha_type: "async" -> "sync"; ` +
				`target_storage_size_gib: 64 -> 128; target_vm_size: "standard-2" -> "standard-4"`,
			`modified Postgres database eu-central-h1/orders-copy; target_storage_size_gib: 64 -> 128; target_vm_size: "standard-2" -> "standard-4"`,
			"deleted Postgres database eu-central-h1/restarting",
			"created Postgres database eu-central-h1/second-copy",
			`modified Postgres database eu-central-h1/young-copy; target_storage_size_gib: 64 -> 128; target_vm_size: "standard-2" -> "standard-4"`,
			`modified VM eu-central-h1/b; state: "running" -> "stopped"`,
			"created VM eu-central-h1/new",
			`modified VM eu-central-h1/renamed; name: "a" -> "renamed"`,
			"deleted VM eu-central-h1/stopping",
			"created firewall eu-central-h1/default-eu-central-h1-default",
			"modified firewall eu-central-h1/edge; firewall_rules: 2 -> 3",
			"modified firewall eu-central-h1/" + p.named(cloudapi.KindPostgres, "orders").Core().ID + "-firewall; firewall_rules: 6 -> 8",
			"deleted load balancer eu-central-h1/" + apiServer,
			`modified private link service own-aws/young; aws.supported_regions: ["us-west-2"] -> ["us-east-2","us-west-2"]`,
			"created private location /second-aws",
			"created private subnet eu-central-h1/default-eu-central-h1",
		}
		if got := settled(); !slices.Equal(got, want) || len(during) != len(want)-1 { // the load balancer doesn't show its deletion
			t.Errorf("%d changes at first, want %d; then\n%s", len(during), len(want)-1, strings.Join(got, "\n"))
		}
	})
}

// TestPrivateLinkServiceInAPublicLocation: a copy has one in a location of AWS that the test
// server takes for another one.
func TestPrivateLinkServiceInAPublicLocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := apis["service"](t)
		fill(t, source, quiet)
		s := source.snapshot()
		delete(s.Objects, cloudapi.KindPrivateLocation)
		for kind, records := range s.Objects {
			for i, raw := range records {
				s.Objects[kind][i] = json.RawMessage(strings.ReplaceAll(string(raw), `"own-aws"`, `"us-west-2"`))
			}
		}
		p := newProject(t, s.Version(), s)
		link := stub.Must(p.client.PrivateLinkServices.Get(t.Context(), "us-west-2", "to-linked"))(t)
		if !strings.HasPrefix(link.AWS.ServiceName, "com.amazonaws.vpce.us-west-2.") {
			t.Errorf("its name at AWS is %q", link.AWS.ServiceName)
		}
		if err := p.client.Postgres.Delete(t.Context(), "us-west-2", "linked"); err != nil {
			t.Errorf("deleting its database: %v", err)
		}
		if link := stub.Must(p.client.PrivateLinkServices.Get(t.Context(), "us-west-2", "to-linked"))(t); link.State != "deleting" {
			t.Errorf("then it is %s", link.State)
		}
	})
}

// TestUnknownValuesInASnapshot sends requests to a copy with sizes, versions and locations that
// the test server doesn't know. None may fail with a 500.
func TestUnknownValuesInASnapshot(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"service", "contract"} {
		synctest.Test(t, func(t *testing.T) {
			source := apis[name](t)
			fill(t, source, 700*time.Millisecond)
			s := source.snapshot()
			unknown := strings.NewReplacer(`"standard-2"`, `"exotic-2"`, `"standard-4"`, `"exotic-4"`, `"v1.36"`, `"v1.34"`, `"v1.34"`, `"v1.30"`,
				`"17"`, `"15"`, `"16"`, `"14"`, `"async"`, `"triple"`, `"standard"`, `"baroque"`, `"updating"`, `"pondering"`, `"tcp"`, `"sctp"`,
				`"round_robin"`, `"by_weight"`, `"running"`, `"walking"`, there, "far-away-9")
			for kind, records := range s.Objects {
				for i, raw := range records {
					s.Objects[kind][i] = json.RawMessage(unknown.Replace(string(raw)))
				}
			}
			p := newProject(t, s.Version(), s)
			for _, path := range p.paths() {
				if status, got := p.read(strings.ReplaceAll(path, there, "far-away-9")); status >= 500 && !strings.HasSuffix(path, "/kubeconfig") { // which is a 500 while a cluster is being created
					t.Errorf("GET %s: %d %v", path, status, got)
				}
			}
			for _, r := range p.changing() {
				status, text := p.send(r)
				if status >= 500 {
					t.Errorf("%s: %d %s", r, status, text)
				}
				if isTagged := strings.HasPrefix(r.body, `{"tags"`); r.operation == "Postgres.Update" && isTagged && status != 200 && !strings.Contains(text, "Read replicas") {
					t.Errorf("%s: %d %s", r, status, text)
				}
			}
			stub.Elapse(time.Hour)
			p.snapshot()
		})
	}
}

// request is a request that changes an object.
type request struct{ operation, method, path, body string }

func (r request) String() string { return r.operation + " " + r.path + " " + r.body }

// changing returns requests that change the objects of a project, with several
// bodies each.
func (p *project) changing() (requests []request) {
	restore := time.Now().Add(-20 * time.Minute).Format(time.RFC3339)
	bodies := []string{
		`{}`, `{"tags":[{"key":"a","value":"b"}]}`, `{"name":"other"}`, `{"node_count":3}`, `{"name":"pool","node_count":1,"node_size":"standard-2"}`,
		`{"size":"standard-4","storage_size":128}`, `{"ha_type":"sync"}`, `{"name":"restored-2","restore_target":"` + restore + `"}`,
		`{"cidr":"198.51.100.0/24","port_range":"80"}`, `{"cidr":"198.51.100.0/24"}`, `{"description":"new"}`, `{"password":"Pl4ceholder-s3cret"}`,
		`{"pg_config":{"max_connections":"700"},"pgbouncer_config":{}}`, `{"maintenance_window_start_at":7}`, `{"cert_enabled":true}`,
	}
	for _, kind := range []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPrivateSubnet, cloudapi.KindFirewall, cloudapi.KindLoadBalancer, cloudapi.KindPostgres} {
		for _, o := range api.InProject[api.Stored](p.service.State, kind, p.service.State.Project(p.id)) {
			field := map[cloudapi.Kind]string{cloudapi.KindVM: "vm_id", cloudapi.KindPrivateSubnet: "private_subnet_id"}[kind]
			if field != "" {
				bodies = append(bodies, `{"`+field+`":"`+o.Core().ID+`"}`)
			}
		}
	}
	for _, op := range p.service.Operations {
		route, inProject := strings.CutPrefix(op.Route, api.ProjectRoute)
		for _, param := range slices.Sorted(maps.Keys(references)) {
			kind := references[param]
			if !inProject || op.Method == http.MethodGet || !strings.Contains(route, "{"+param+"}") {
				continue
			}
			for _, o := range api.InProject[api.Stored](p.service.State, kind, p.service.State.Project(p.id)) {
				if l, ok := o.(*loadBalancer); ok && l.portless() || o.Core().Name == "stopped" {
					continue // no GET shows the ID, or that it is being captured
				}
				path := strings.ReplaceAll(route, "{"+param+"}", o.Core().ID)
				if kind == cloudapi.KindPrivateLocation {
					path = strings.ReplaceAll(route, "{"+param+"}", o.Core().Name)
				}
				if o.Core().Location != nil {
					path = strings.ReplaceAll(path, "{location}", o.Core().Location.Name)
				}
				if strings.Contains(path, "{") {
					continue
				}
				for i, body := range bodies {
					if i == 0 || !strings.HasPrefix(body, `{"vm_id"`) && !strings.HasPrefix(body, `{"private_subnet_id"`) || strings.Contains(path, "tach-") {
						requests = append(requests, request{op.Name, op.Method, path, body})
					}
				}
			}
		}
	}
	return requests
}

func (p *project) send(r request) (status int, text string) {
	out := stub.Must(http.NewRequestWithContext(p.Context(), r.method, "http://api.localhost/project/"+p.id+r.path, strings.NewReader(r.body)))(p.T)
	out.Header = http.Header{"Authorization": {"Bearer pat-own"}, "Content-Type": {"application/json"}, "Accept": {"application/json"}}
	response := stub.Must(p.RoundTrip(out))(p.T)
	return response.StatusCode, string(stub.Must(io.ReadAll(response.Body))(p.T))
}

// TestWhatRequestsLeadTo sends requests of each operation, and compares the changes that are
// to be expected after each request with those an hour later.
func TestWhatRequestsLeadTo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"service", "contract"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := apis[name](t)
				fill(t, p, 700*time.Millisecond)
				now, expected := tree(t, p.snapshot()), p.settled()
				for path, what := range compareReads("", now, tree(t, p.snapshot()), map[string]string{}) {
					t.Errorf("expecting the changes changes %s: %s", path, what)
				}
				// settle compares the project, after an hour, with what was expected.
				settle := func(what any) {
					stub.Elapse(time.Hour)
					now := p.settled()
					for _, c := range expected.Changes(now) {
						t.Errorf("%v: an hour later: %s %v: %v", what, c.Action, c.Resource, c.Fields)
					}
					expected = now
				}
				settle("nothing")
				slow, requests := p.slow(), p.changing()
				random := rand.New(rand.NewPCG(1, 2))
				random.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
				for _, r := range slow {
					status, text := p.send(r)
					before := expected
					if expected = p.settled(); status >= 300 || len(before.Changes(expected)) == 0 {
						t.Errorf("%v changes nothing: %d %s", r, status, text)
					}
					settle(r)
				}
				sent := map[string]bool{}
				for _, r := range requests {
					if sent[r.operation] {
						continue
					}
					if status, _ := p.send(r); status < 300 {
						sent[r.operation] = true
						expected = p.settled()
						settle(r)
					}
				}
			})
		})
	}
}

// TestExpectedLatestVersion: the version that is ready last becomes the latest, whether or not
// somebody reads the image in between.
func TestExpectedLatestVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t, version.API{Version: version.Service}, nil)
		c, ctx := p.client, t.Context()
		capture := func(label string, takes time.Duration) {
			vm := stub.Must(c.VMs.Create(ctx, there, "for-"+label, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA me"}))(t)
			stub.Elapse(time.Minute)
			stub.Must(c.VMs.Stop(ctx, there, vm.Name))(t)
			stub.Elapse(time.Minute)
			p.service.State.SetDelays(cloudapi.KindMachineImageVersion, label, api.Delays{Create: takes})
			if label == "v1" {
				stub.Must(c.MachineImages.Create(ctx, there, "golden", &cloudapi.MachineImageCreateRequest{VMID: vm.ID, Version: label}))(t)
			} else {
				stub.Must(c.MachineImages.CreateVersion(ctx, there, "golden", label, &cloudapi.MachineImageVersionCreateRequest{VMID: vm.ID}))(t)
			}
		}
		capture("v1", 24*time.Hour)
		capture("v2", time.Hour)
		expected := p.settled()
		stub.Elapse(48 * time.Hour)
		image := stub.Must(c.MachineImages.Get(ctx, there, "golden"))(t)
		if changes := expected.Changes(p.snapshot()); len(changes) > 0 || image.LatestVersion != "v1" {
			t.Errorf("the latest version is %q, and different from what was expected: %v", image.LatestVersion, changes)
		}
	})
}

// slow returns requests, in the order in which the project accepts them, whose
// effects no record shows at first, or only some records do.
func (p *project) slow() []request {
	id := func(kind cloudapi.Kind, name string) string { return p.named(kind, name).Core().ID }
	const local, post = "/location/" + there, http.MethodPost
	location := func(name string) string {
		return `{"name":"` + name + `","provider_location_name":"us-east-1","access_key":"a","secret_key":"s"}`
	}
	member := `{"vm_id":"` + id(cloudapi.KindVM, "a") + `"}`
	requests := []request{
		{"LoadBalancers.AttachVM", post, local + "/load-balancer/lb/attach-vm", member},
		{"LoadBalancers.DetachVM", post, local + "/load-balancer/lb/detach-vm", member},
		{"LoadBalancers.AttachVM", post, local + "/load-balancer/lb/attach-vm", member},
		{"VMs.Delete", http.MethodDelete, local + "/vm/a", ""},
		{"LoadBalancers.Delete", http.MethodDelete, local + "/load-balancer/lb", ""},
		{"PrivateSubnets.Delete", http.MethodDelete, local + "/private-subnet/other", ""},
		{"Postgres.Promote", post, local + "/postgres/orders-copy/promote", ""},
		{"PrivateLocations.Create", post, "/private-location", location("empty")},
		{"PrivateLocations.Delete", http.MethodDelete, "/private-location/empty", ""},
	}
	if p.service.Config.Version == version.Contract {
		return requests
	}
	const pools, versions = local + "/kubernetes-cluster/apps/nodepool", local + "/machine-image/golden/version/"
	return append(requests, []request{
		{"PrivateLocations.Create", post, "/private-location", location("in-use")},
		{"VMs.Create", post, "/location/in-use/vm/far", `{"public_key":"laptop"}`},
		{"PrivateLocations.Delete", http.MethodDelete, "/private-location/in-use", ""}, // blocked by the VM
		{"Kubernetes.CreateNodePool", post, pools, `{"name":"more","node_count":1,"node_size":"standard-2"}`},
		{"Kubernetes.DeleteNodePool", http.MethodDelete, pools + "/more", ""},
		{"GitHub.DeleteAllCacheEntries", http.MethodDelete, "/github/acme/repository/app/cache", ""},
		{"MachineImages.CreateVersion", post, versions + "v3", `{"vm":"` + id(cloudapi.KindVM, "stopped") + `","destroy_source":true}`},
		{"MachineImages.DeleteVersion", http.MethodDelete, versions + "v3", ""},
	}...)
}

// TestDeletionsChangeNothingElse deletes all objects of a project, one after the other. Neither
// in the meantime nor later is a deletion a change of another object that refers to the deleted
// one, and time alone completes it.
func TestDeletionsChangeNothingElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"service", "contract"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := apis[name](t)
				fill(t, p, quiet)
				stub.Elapse(time.Hour)
				deleted := 0
				before := p.snapshot()
				for range 5 { // some objects can only be deleted after others
					for _, k := range copied {
						for _, raw := range before.Objects[k.kind] {
							head := headOf(raw)
							path := "/" + k.path + "/" + cmp.Or(head.UIName, head.ID)
							if head.Location != "" {
								path = "/location/" + head.Location + path
							}
							if k.outside || p.service.State.ByID[head.ID] == nil {
								continue
							}
							if status, _ := p.send(request{method: http.MethodDelete, path: path}); status != http.StatusNoContent {
								continue
							}
							during := p.snapshot()
							stub.Elapse(20 * 24 * time.Hour) // the location of a database remains for its backups
							after := p.snapshot()
							isDeleted := false
							for when, changes := range map[string][]Change{"at first": before.Changes(during), "later": during.Changes(after), "in all": before.Changes(after)} {
								for _, c := range changes {
									isDeleted = isDeleted || c.Resource.ID == head.ID
									if c.Action != Deleted {
										t.Errorf("%s %s, %s: %s %v: %v", k.kind, head.Name, when, c.Action, c.Resource, c.Fields)
									}
								}
							}
							if p.service.State.ByID[head.ID] == nil {
								deleted++
								if !isDeleted {
									t.Errorf("%s %s isn't deleted", k.kind, head.Name)
								}
							}
							before = after
						}
					}
				}
				if left := before.Objects; deleted < 30 || len(left) > 2 || len(left[cloudapi.KindMachineImage]) > 1 || len(left[cloudapi.KindGitHubInstallation]) > 1 {
					t.Errorf("%d objects were deleted; left are %s", deleted, encoded(left))
				}
			})
		})
	}
}

func manyRequests() int {
	if testing.Short() {
		return 200
	}
	return 2000
}

// TestChangesOfACopy sends the same requests to a project and to its copy, in random order.
// Both must respond with the same statuses, and be alike an hour later.
func TestChangesOfACopy(t *testing.T) {
	sent := 0
	forEachCopy(t, func(t *testing.T, source, target *project, _ *Snapshot) {
		random := rand.New(rand.NewPCG(1, 2))
		requests := source.changing()
		random.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		requests = requests[:min(len(requests), manyRequests())]
		for i, r := range requests {
			want, wanted := source.send(r)
			got, text := target.send(r)
			if got != want && r.operation != "Postgres.CreateBackupCredentials" { // a copy allows them
				t.Errorf("%d. %s: %d %.200s, want %d %s", i, r, got, text, want, wanted)
			}
		}
		counting.Lock()
		sent += len(requests)
		counting.Unlock()
		stub.Elapse(100 * 24 * time.Hour)
		want, got := source.snapshot(), target.snapshot()
		for i := range copied {
			if k := copied[i].kind; len(want.Objects[k]) != len(got.Objects[k]) {
				t.Errorf("%d objects of kind %v, want %d", len(got.Objects[k]), k, len(want.Objects[k]))
			}
		}
	}, quiet, 700*time.Millisecond)
	t.Cleanup(func() { t.Logf("%d requests", sent) })
}

// TestTimeGoesOnInACopy: what is in progress is complete an hour later, in the project and in
// its copy.
func TestTimeGoesOnInACopy(t *testing.T) {
	forEachCopy(t, func(t *testing.T, source, target *project, s *Snapshot) {
		stub.Elapse(time.Hour)
		want, got := source.snapshot(), target.snapshot()
		for i := range copied {
			if k := copied[i].kind; len(want.Objects[k]) != len(got.Objects[k]) {
				t.Errorf("%d objects of kind %v, want %d", len(got.Objects[k]), k, len(want.Objects[k]))
			}
		}
		for _, c := range want.Changes(got) {
			lasting := c.Resource.Name == "lb"                                                              // it shows that a VM was detached
			promoted := strings.HasPrefix(c.Resource.Name, "promoted") && s.API == string(version.Contract) // shows nothing of it before
			if !promoted && (c.Resource.Kind != cloudapi.KindLoadBalancer || c.Action == Modified && !lasting) {
				t.Errorf("%s %v: %v", c.Action, c.Resource, c.Fields)
			}
		}
		stub.Must(target.client.VMs.Create(t.Context(), there, "later", &cloudapi.VMCreateRequest{PublicKey: "laptop", EnableIPv4: new(true)}))(t)
		stub.Elapse(time.Hour)
		addresses := map[netip.Addr]string{}
		for _, o := range target.service.State.ByID {
			if v, ok := o.(*vm); ok {
				for _, address := range []netip.Addr{v.ip4, v.ip6} {
					if other, taken := addresses[address]; taken {
						t.Errorf("the VMs %s and %s have the address %v", v.Name, other, address)
					}
					addresses[address] = v.Name
				}
			}
		}
		for _, name := range []string{"young", "grown", "apps"} {
			want := stub.Must(source.client.Kubernetes.Get(t.Context(), there, name))(t)
			got := stub.Must(target.client.Kubernetes.Get(t.Context(), there, name))(t)
			nodes := func(k *cloudapi.KubernetesCluster) string {
				return fmt.Sprint(len(k.CPVMs), len(k.NodePools[0].VMs), k.DisplayState)
			}
			if nodes(got) != nodes(want) {
				t.Errorf("cluster %s has %s, want %s", name, nodes(got), nodes(want))
			}
		}
	}, 700*time.Millisecond, 2500*time.Millisecond)
}

// TestURLsOfSnapshots: a URL loses its credentials, and altogether if they can't be
// told from the rest.
func TestURLsOfSnapshots(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://me:hunter2@logs.example.com/write?key=hunter2": "https://logs.example.com/write",
		"https://me:hunter2@logs.example.com:port/":             "",
		"https://me:hunter%2@logs.example.com/":                 "",
		"https:me:hunter2@logs.example.com":                     "",
	} {
		got := text
		if new(cleaner).url(&got); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}
