package families

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
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
		Delays: api.Delays{Create: d, Backup: d, Restart: d, Resize: d, Promote: d, Detach: d, Delete: d, SerialLog: d},
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
	stub.Must(c.SSHPublicKeys.Create(ctx, &cloudapi.SSHPublicKeyCreateRequest{Name: "laptop", PublicKey: "ssh-ed25519 AAAA me"}))(t)
	stub.Must(c.InferenceAPIKeys.Create(ctx))(t)
	stub.Must(c.PrivateLocations.Create(ctx, &cloudapi.PrivateLocationCreateRequest{
		Name: "own-aws", ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("access-secret"), SecretKey: cloudapi.NewSecret("secret-secret"),
	}))(t)
	stub.Must(c.VMs.Create(ctx, "own-aws", "far", &cloudapi.VMCreateRequest{PublicKey: "laptop"}))(t)
	subnet := stub.Must(c.PrivateSubnets.Create(ctx, there, "net", nil))(t)
	stub.Must(c.Firewalls.Create(ctx, there, "edge", &cloudapi.FirewallCreateRequest{Description: "the edge"}))(t)
	stub.Must(c.Firewalls.CreateRule(ctx, there, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "192.0.2.0/24", PortRange: "22"}))(t)
	stub.Must(c.Firewalls.AttachSubnet(ctx, there, "edge", subnet.ID))(t)
	for _, name := range []string{"a", "b", "stopped", "starting", "stopping", "restarting", "leaving", "lost"} {
		stub.Must(c.VMs.Create(ctx, there, name, &cloudapi.VMCreateRequest{PublicKey: "laptop", PrivateSubnetID: subnet.ID, EnableIP4: new(name != "b")}))(t)
	}
	balancer := stub.Must(c.LoadBalancers.Create(ctx, there, "lb", &cloudapi.LoadBalancerCreateRequest{
		PrivateSubnetID: subnet.ID, Algorithm: "round_robin", HealthCheckProtocol: "http", SrcPort: 80, DstPort: 8080, Stack: "dual",
	}))(t)
	stub.Must(c.LoadBalancers.AttachVM(ctx, there, balancer.ID, p.named(cloudapi.KindVM, "a").Core().ID))(t)
	stub.Must(c.Kubernetes.Create(ctx, there, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: kubernetes, WorkerSize: "standard-2", WorkerNodes: 2}))(t)
	grown := stub.Must(c.Kubernetes.Create(ctx, there, "grown", &cloudapi.KubernetesClusterCreateRequest{Version: kubernetes, WorkerSize: "standard-2", WorkerNodes: 2}))(t)
	for _, name := range []string{"orders", "resized", "leaving", "upgraded", "restarting"} {
		request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: "async", Version: "17", Tags: []cloudapi.PostgresTag{{Key: "env", Value: "demo"}}}
		if name == "upgraded" || contract {
			request.Version = "16"
		}
		stub.Must(c.Postgres.Create(ctx, there, name, request))(t)
	}
	settle()
	stub.Must(c.Postgres.UpdateConfig(ctx, there, "orders", &cloudapi.PostgresConfigUpdateRequest{PGConfig: map[string]*string{"work_mem": new("64MB")}}))(t)
	stub.Must(c.Postgres.SetMaintenanceWindow(ctx, there, "orders", new(3)))(t)
	stub.Must(c.Postgres.CreateMetricDestination(ctx, there, "orders", &cloudapi.PostgresMetricDestinationCreateRequest{
		URL: "https://me:url-secret@metrics.example.com/write?key=query-secret", Username: "me", Password: cloudapi.NewSecret("metric-secret"),
	}))(t)
	stub.Must(c.Postgres.CreateReadReplica(ctx, there, "orders", "orders-copy", nil))(t)
	settle()
	if !contract {
		for _, name := range []string{"stopped", "starting"} {
			stub.Must(c.VMs.Stop(ctx, there, name))(t)
		}
		settle()
		stub.Must(c.MachineImages.Create(ctx, there, "golden", &cloudapi.MachineImageCreateRequest{VM: p.named(cloudapi.KindVM, "stopped").Core().ID, Version: "v1"}))(t)
		p.service.Do(func(at *api.Moment) { SetClusterService(at, grown.ID, 80, 30080) })
		settle()
	}
	if busy < 0 {
		return
	}
	if !contract {
		stub.Must(c.VMs.Start(ctx, there, "starting"))(t)
		stub.Must(c.VMs.Stop(ctx, there, "stopping"))(t)
		stub.Must(c.MachineImages.CreateVersion(ctx, there, "golden", "v2", &cloudapi.MachineImageVersionCreateRequest{VM: p.named(cloudapi.KindVM, "stopped").Core().ID}))(t)
		stub.Must(c.Postgres.Upgrade(ctx, there, "upgraded"))(t)
		pools := stub.Must(c.Kubernetes.Get(ctx, there, "grown"))(t).NodePools
		stub.Must(c.Kubernetes.ResizeNodePool(ctx, there, "grown", pools[0].ID, 3))(t)
	}
	lost := p.named(cloudapi.KindVM, "lost")
	stub.Must(c.VMs.Restart(ctx, there, "restarting"))(t)
	stub.Must(c.Postgres.Restart(ctx, there, "restarting"))(t)
	stub.Must(c.Postgres.Update(ctx, there, "resized", &cloudapi.PostgresUpdateRequest{Size: "standard-4", StorageSize: 128}))(t)
	stub.Must(c.Postgres.Restore(ctx, there, "orders", &cloudapi.PostgresRestoreRequest{Name: "restored", RestoreTarget: time.Now().Add(-30 * time.Minute)}))(t)
	stub.Must(c.VMs.Create(ctx, there, "young", &cloudapi.VMCreateRequest{PublicKey: "laptop", PrivateSubnetID: subnet.ID}))(t)
	stub.Must(c.Postgres.Create(ctx, there, "young", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: "sync"}))(t)
	p.service.Do(func(at *api.Moment) { SetState(at, lost.Core().ID, "unavailable") })
	for _, err := range []error{c.VMs.Delete(ctx, there, "leaving"), c.Postgres.Delete(ctx, there, "leaving")} {
		if err != nil {
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
					f(t, source, newProject(t, s.Version(), s), s)
				})
			})
		}
	}
}

func TestSnapshotIsTheSameAfterLoading(t *testing.T) {
	forEachCopy(t, func(t *testing.T, _, copied *project, s *Snapshot) {
		again := copied.snapshot()
		want, got := lines(t, s), lines(t, again)
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Errorf("line %d: %s, want %s", i, got[i], want[i])
			}
		}
		if len(want) != len(got) {
			t.Errorf("%d lines instead of %d", len(got), len(want))
		}
		if changes := s.Changes(again); len(changes) > 0 {
			t.Errorf("changes: %v", changes)
		}
	}, quiet, 700*time.Millisecond, 2500*time.Millisecond)
}

func lines(t *testing.T, s *Snapshot) []string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, stub.Must(json.Marshal(s))(t), "", " "); err != nil {
		t.Fatal(err)
	}
	return strings.Split(b.String(), "\n")
}

var (
	_ = context.Background
	_ = maps.Keys[map[int]int]
	_ = reflect.TypeOf
	_ = slices.Max[[]int]
)
