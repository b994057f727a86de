package families

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
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

func manyRequests() int {
	if testing.Short() {
		return 200
	}
	return 2000
}
