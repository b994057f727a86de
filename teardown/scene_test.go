package teardown_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// scene is the project of a scenario.
type scene struct {
	*sdktest.Everything
	options teardown.Options
	owner   string                       // the ID of the cluster or database whose network the scenario is about
	there   map[string]cloudapi.Resource // all resources that ever existed, by ID
}

// scenario is a run of a plan, and what happens around it. Whatever happens,
// the run deletes what is in the plan and nothing else, and reports all of it.
type scenario struct {
	project func(t *testing.T) *scene
	keep    func(p *scene, r cloudapi.Resource) bool
	kept    []string                               // what the plan keeps, if keep isn't nil
	before  func(t *testing.T, p *scene)           // called before the plan
	between func(t *testing.T, p *scene)           // called between the plan and the run
	at      func(p *scene, req *http.Request) bool // matches a request of the plan's client
	then    func(t *testing.T, p *scene)           // called immediately before the first such request
	runs    int                                    // number of concurrent runs; 0 means 1
	want    []string                               // the failures in the report
	err     error                                  // an error that the report wraps
	deleted []cloudapi.Kind                        // the only kinds that the report lists as deleted; replaces want
	blocker string                                 // what blocks the first failure in the report
	others  func(cloudapi.Resource) bool           // what is deleted although it isn't in the plan
	again   func(t *testing.T, p *scene)           // called after the run; then the plan runs again, completely
}

func (p *scene) vm(t *testing.T, location, name, subnet string) *cloudapi.VM {
	return stub.Must(p.Client.VMs.Create(t.Context(), location, name, &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet}))(t)
}

func (p *scene) subnet(t *testing.T, location, name, firewall string) *cloudapi.PrivateSubnet {
	return stub.Must(p.Client.PrivateSubnets.Create(t.Context(), location, name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall}))(t)
}

func (p *scene) balancer(t *testing.T, name, subnet string) *cloudapi.LoadBalancer {
	return stub.Must(p.Client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, name, sdktest.BalancerIn(subnet)))(t)
}

func (p *scene) firewall(t *testing.T, location, name string) *cloudapi.Firewall {
	return stub.Must(p.Client.Firewalls.Create(t.Context(), location, name, nil))(t)
}

func (p *scene) key(t *testing.T) {
	stub.Must(p.Client.SSHPublicKeys.Create(t.Context(), "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}))(t)
}

func (p *scene) location(t *testing.T, name string) {
	stub.Must(p.Client.PrivateLocations.Create(t.Context(), name, &cloudapi.PrivateLocationCreateRequest{
		ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSEast1, AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s")}))(t)
}

// replaceLocation renames the private location "own", and gives its name to
// another one.
func replaceLocation(t *testing.T, p *scene) {
	stub.Must(p.Client.PrivateLocations.Rename(t.Context(), "own", "old"))(t)
	p.location(t, "own")
}

func renameLocation(t *testing.T, p *scene) {
	stub.Must(p.Client.PrivateLocations.Rename(t.Context(), "own", "old"))(t)
}

// net returns the ID of the subnet net-1.
func (p *scene) net(t *testing.T) string {
	return stub.Must(p.Client.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, "net-1"))(t).ID
}

// attach attaches a firewall of the owner to the subnet net-1.
func attach(t *testing.T, p *scene) {
	stub.Must(p.Client.Firewalls.AttachSubnet(t.Context(), sdktest.Somewhere, p.owner+"-firewall", p.net(t)))(t)
}

// renameSubnet renames the subnet of the owner.
func renameSubnet(t *testing.T, p *scene) {
	stub.Must(p.Client.PrivateSubnets.Rename(t.Context(), sdktest.Somewhere, p.owner+"-subnet", "renamed"))(t)
}

// newFullScene returns the project of most scenarios.
func newFullScene(t *testing.T) *scene { return &scene{Everything: newFullProject(t)} }

// newScene returns a project with the subnet net-1.
func newScene(t *testing.T) *scene { return newSceneOn(t, cloudapitest.WithAPI(cloudapitest.Service)) }

func newSceneOn(t *testing.T, option cloudapitest.Option) *scene {
	srv := cloudapitest.New(t, option)
	p := &scene{Everything: &sdktest.Everything{Server: srv, Client: srv.Client()}}
	p.subnet(t, sdktest.Somewhere, "net-1", "")
	return p
}

// newCluster returns a project with a cluster with a Service, a VM in the
// cluster's subnet, to which the firewall fw-1 also applies, and the subnet
// net-1.
func newCluster(t *testing.T) *scene {
	p, ctx := newScene(t), t.Context()
	p.cluster(t)
	p.Server.SetClusterService(p.owner, 80, 30080)
	p.Subnet = stub.Must(p.Client.PrivateSubnets.Get(ctx, sdktest.Somewhere, p.owner+"-subnet"))(t)
	p.Firewall = p.firewall(t, sdktest.Somewhere, "fw-1")
	stub.Must(p.Client.Firewalls.AttachSubnet(ctx, sdktest.Somewhere, p.Firewall.ID, p.Subnet.ID))(t)
	p.VM = p.vm(t, sdktest.Somewhere, "inside", p.Subnet.ID)
	return p
}

// newStray returns a project with a VM in the default subnet, and the subnet
// net-1.
func newStray(t *testing.T) *scene {
	p := newScene(t)
	p.VM = p.vm(t, sdktest.Somewhere, "web-1", "")
	return p
}

// newUnlisted returns a project with a cluster without a Service, whose load
// balancer the server can't list, and a load balancer in the subnet net-1.
func newUnlisted(t *testing.T) *scene {
	p := newSceneOn(t, cloudapitest.WithPortlessBalancers())
	p.balancer(t, "lb-1", p.net(t))
	p.cluster(t)
	return p
}

// cluster creates the cluster that a scenario is about.
func (p *scene) cluster(t *testing.T) {
	stub.Must(p.Client.Kubernetes.Create(t.Context(), sdktest.Somewhere, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
	p.Cluster = stub.Must(p.Client.Kubernetes.WaitRunning(t.Context(), sdktest.Somewhere, "apps", nil))(t)
	p.owner = p.Cluster.ID
}

// newDatabase returns a project with a database and the subnet net-1.
func newDatabase(t *testing.T) *scene {
	p := newScene(t)
	stub.Must(p.Client.Postgres.Create(t.Context(), sdktest.Somewhere, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	p.owner = stub.Must(p.Client.Postgres.WaitRunning(t.Context(), sdktest.Somewhere, "orders", nil))(t).ID
	p.Subnet = stub.Must(p.Client.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, p.owner+"-subnet"))(t)
	return p
}

// newImage returns a project with a machine image, the VM that it's a copy of,
// and a VM that was created from the image's first version. The second version
// is being deleted.
func newImage(t *testing.T) *scene {
	p, ctx := newScene(t), t.Context()
	images := p.Client.MachineImages
	p.VM = stub.Must(p.Client.VMs.Create(ctx, sdktest.Somewhere, "source", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "burstable-1"}))(t)
	stub.Must(p.Client.VMs.WaitRunning(ctx, sdktest.Somewhere, "source", nil))(t)
	stub.Must(p.Client.VMs.Stop(ctx, sdktest.Somewhere, "source"))(t)
	stub.Must(p.Client.VMs.WaitStopped(ctx, sdktest.Somewhere, "source", nil))(t)
	stub.Must(images.Create(ctx, sdktest.Somewhere, "golden", &cloudapi.MachineImageCreateRequest{VMID: p.VM.ID, Version: "v1"}))(t)
	stub.Must(images.WaitVersion(ctx, sdktest.Somewhere, "golden", "v1", nil))(t)
	stub.Must(images.CreateVersion(ctx, sdktest.Somewhere, "golden", "v2", &cloudapi.MachineImageVersionCreateRequest{VMID: p.VM.ID}))(t)
	stub.Must(images.WaitVersion(ctx, sdktest.Somewhere, "golden", "v2", nil))(t)
	stub.Must(p.Client.VMs.Create(ctx, sdktest.Somewhere, "copy", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, BootImage: "golden@v1"}))(t)
	p.Server.SetDelays(cloudapi.KindMachineImageVersion, "", cloudapitest.Delays{Delete: 10 * time.Second})
	if err := images.DeleteVersion(ctx, sdktest.Somewhere, "golden", "v2"); err != nil {
		t.Fatal(err)
	}
	return p
}

// refuse fails the test if the operation is requested with a path that ends
// with suffix.
func refuse(t *testing.T, p *scene, operation, suffix string) {
	p.Server.Fail(cloudapitest.Match{Operation: operation, Func: func(r cloudapitest.Request) bool {
		if strings.HasSuffix(r.Path, suffix) {
			t.Errorf("%s %s was sent", r.Method, r.Path)
		}
		return false
	}}, cloudapitest.DropBefore().Repeating())
}

func named(name string) func(*scene, cloudapi.Resource) bool {
	return func(_ *scene, r cloudapi.Resource) bool { return r.Name == name }
}

func isOwner(p *scene, r cloudapi.Resource) bool { return r.ID == p.owner }

// permit gives the token all permissions except those of some families.
func permit(t *testing.T, p *scene, without ...string) {
	p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), slices.DeleteFunc([]string{"Firewall:*", "InferenceApiKey:*", "KubernetesCluster:*",
		"LoadBalancer:*", "Location:*", "MachineImage:*", "Postgres:*", "PrivateSubnet:*", "Project:*", "Vm:*"},
		func(permission string) bool { return slices.Contains(without, strings.TrimSuffix(permission, ":*")) })...)
}

// deletion matches the requests that delete something at a path.
func deletion(path string) func(*scene, *http.Request) bool {
	return func(_ *scene, req *http.Request) bool {
		return req.Method == http.MethodDelete && strings.Contains(req.URL.Path, path)
	}
}

func deleteProject(_ *testing.T, p *scene) { p.options.DeleteProject = true }

// failing lets the first n deletions of each resource fail.
func failing(n int, fault cloudapitest.Fault) func(*testing.T, *scene) {
	return func(_ *testing.T, p *scene) {
		seen := map[string]int{}
		p.Server.Fail(cloudapitest.Match{Method: http.MethodDelete, Func: func(r cloudapitest.Request) bool {
			seen[r.Path]++
			return seen[r.Path] <= n
		}}, fault.Repeating())
	}
}

// listOf matches the lists of a kind in one location.
func listOf(service string) cloudapitest.Match {
	return cloudapitest.Match{Operation: service + ".ListInLocation",
		Func: func(r cloudapitest.Request) bool { return strings.Contains(r.Path, sdktest.Somewhere) }}
}

func answer(body string) cloudapitest.Fault {
	return cloudapitest.Reply(200, http.Header{"Content-Type": {"application/json"}}, body)
}

// deleting is the record of a VM that is being deleted.
func deleting(vm *cloudapi.VM) cloudapitest.Fault {
	return answer(`{"id":"` + vm.ID + `","name":"web-1","state":"deleting","location":"` + sdktest.Somewhere + `"}`)
}

// foreignFirewall renames the firewall of a cluster, and creates another one
// with its name.
func foreignFirewall(t *testing.T, p *scene) {
	stub.Must(p.Client.Firewalls.Rename(t.Context(), sdktest.Somewhere, p.owner+"-firewall", "renamed"))(t)
	p.firewall(t, sdktest.Somewhere, p.owner+"-firewall")
}

// isListOfFirewalls matches the list of the firewalls in the private location
// "own". Only the deletion of that location needs this list.
func isListOfFirewalls(_ *scene, req *http.Request) bool {
	return strings.HasSuffix(req.URL.Path, "/location/own/firewall")
}

// TestScenarios: whatever happens around a run, it deletes what is in the plan
// and nothing else.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for name, tt := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if tt.project == nil {
					tt.project = newFullScene
				}
				p := tt.project(t)
				do := func(f func(*testing.T, *scene)) {
					if f != nil {
						f(t, p)
					}
					p.look(t)
				}
				do(nil)
				do(tt.before)
				if tt.keep != nil {
					p.options.Keep = func(r cloudapi.Resource) bool { return tt.keep(p, r) }
				}
				var once sync.Once
				client := stub.Must(p.Client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						if tt.at != nil && tt.at(p, req) {
							once.Do(func() { do(tt.then) })
						}
						return next.RoundTrip(req)
					})
				})))(t)
				plan := planTeardown(t, client, &p.options)
				if tt.keep != nil {
					equalTexts(t, "kept", plan.Kept(), p.named(tt.kept)...)
				}
				do(tt.between)
				report := p.run(t, plan, max(tt.runs, 1), tt)
				if want := p.named(tt.want); tt.deleted == nil && !slices.Equal(failures(report), want) {
					t.Errorf("%q, want %q: %v", failures(report), want, report)
				} else if tt.blocker != "" {
					equalTexts(t, "the first is blocked by", report.Failed[0].BlockedBy, tt.blocker)
				}
				if tt.err != nil && !errors.Is(report, tt.err) {
					t.Errorf("%v isn't %v", report, tt.err)
				}
				if tt.at != nil {
					once.Do(func() { t.Error("the request wasn't sent") })
				}
				if tt.again != nil {
					do(tt.again)
					if report := p.run(t, plan, 1, scenario{}); len(report.Failed) > 0 {
						t.Errorf("the second run: %v", report)
					}
				}
			})
		})
	}
}

// named replaces "ID" in texts with the ID of the owner.
func (p *scene) named(texts []string) (named []string) {
	for _, text := range texts {
		named = append(named, strings.ReplaceAll(text, "/ID-", "/"+p.owner+"-"))
	}
	return named
}

// look adds the existing resources to p.there.
func (p *scene) look(t *testing.T) {
	if p.there == nil {
		p.there = map[string]cloudapi.Resource{}
	}
	for _, kind := range []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPrivateSubnet, cloudapi.KindFirewall, cloudapi.KindLoadBalancer, cloudapi.KindPostgres, cloudapi.KindMachineImage,
		cloudapi.KindKubernetesCluster, cloudapi.KindPrivateLocation, cloudapi.KindSSHPublicKey, cloudapi.KindVMInitScript, cloudapi.KindInferenceAPIKey} {
		for r, err := range p.Client.Resources(t.Context(), nil, kind) {
			if err == nil { // an error means that the token may not see the kind
				p.there[r.ID] = r
			}
		}
	}
}

// run runs a plan, perhaps several times concurrently. It checks the report,
// that all deletions sent are in the plan, and that what isn't in it is still
// there.
func (p *scene) run(t *testing.T, plan *teardown.Plan, runs int, tt scenario) *teardown.Error {
	t.Helper()
	sent := len(p.Server.Requests())
	errs, start := make([]error, runs), time.Now()
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = plan.Run(t.Context()) })
	}
	all.Wait()
	if took := time.Since(start); took > 5*time.Minute {
		t.Errorf("the run took %v", took)
	}
	p.Server.ClearFaults()
	if _, err := p.Client.Projects.Get(t.Context(), p.Client.Project()); !cloudapi.IsGone(err) {
		p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), "*")
	}
	planned := map[string]bool{}
	for _, r := range slices.Concat(plan.Stages()...) {
		planned[r.ID] = true
	}
	for _, r := range p.Server.Requests()[sent:] {
		id := r.Path[strings.LastIndex(r.Path, "/")+1:]
		if _, ok := p.there[id]; ok && r.Method == http.MethodDelete && !planned[id] {
			t.Errorf("DELETE %s was sent, which isn't in the plan", r.Path)
		}
	}
	left := sdktest.Contents(t, p.Client)
	for id, r := range p.there {
		if isGone := left[id] == ""; !planned[id] && isGone != (tt.others != nil && tt.others(r)) {
			t.Errorf("%v isn't in the plan, and is gone: %v", r, isGone)
		}
	}
	report := checkReport(t, p.Everything, plan, errors.Join(errs...), tt.deleted...)
	if tt.deleted != nil && !slices.EqualFunc(report.Deleted, tt.deleted, func(r cloudapi.Resource, kind cloudapi.Kind) bool { return r.Kind == kind }) {
		t.Errorf("%v is reported as deleted, want %v", report.Deleted, tt.deleted)
	}
	return report
}
