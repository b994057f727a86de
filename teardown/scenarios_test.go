package teardown_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// scene is the project of a scenario.
type scene struct {
	*sdktest.Everything
	options teardown.Options
	owner   string                       // the ID of the cluster or database whose network the scenario is about
	over    atomic.Bool                  // whether the run has ended
	there   map[string]cloudapi.Resource // what has been there, by ID
}

// scenario is a run of a plan, and what happens around it. Whatever happens,
// the run deletes what is in the plan and nothing else, and reports all of it.
type scenario struct {
	project func(t *testing.T) *scene
	keep    func(p *scene, r cloudapi.Resource) bool
	kept    []string                               // what the plan keeps, if keep isn't nil
	before  func(t *testing.T, p *scene)           // the plan
	between func(t *testing.T, p *scene)           // the plan and the run
	at      func(p *scene, req *http.Request) bool // a request of the plan's client
	then    func(t *testing.T, p *scene)           // immediately before the first such request
	runs    int                                    // at the same time; 0 means 1
	want    []string                               // the outcomes in the report
	err     error                                  // in the report
	deleted []cloudapi.Kind                        // in the report, which lists all others as failed; replaces want
	blocker string                                 // what blocks the first in the report
	others  func(cloudapi.Resource) bool           // what is deleted although it isn't in the plan
	again   func(t *testing.T, p *scene)           // after the run; then the plan runs again, completely
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
	stub.Must(p.Client.SSHPublicKeys.Create(t.Context(), &cloudapi.SSHPublicKeyCreateRequest{Name: "laptop", PublicKey: stub.PublicKey}))(t)
}

func (p *scene) location(t *testing.T, name string) {
	stub.Must(p.Client.PrivateLocations.Create(t.Context(), &cloudapi.PrivateLocationCreateRequest{Name: name,
		ProviderLocationName: cloudapi.ProviderLocationUSEast1, AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s")}))(t)
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

// attach attaches a firewall of the owner to the subnet net-1.
func attach(t *testing.T, p *scene) {
	subnet := stub.Must(p.Client.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, "net-1"))(t)
	stub.Must(p.Client.Firewalls.AttachSubnet(t.Context(), sdktest.Somewhere, p.owner+"-firewall", subnet.ID))(t)
}

// renameSubnet renames the subnet of the owner.
func renameSubnet(t *testing.T, p *scene) {
	stub.Must(p.Client.PrivateSubnets.Rename(t.Context(), sdktest.Somewhere, p.owner+"-subnet", "renamed"))(t)
}

// newFullScene returns the project of most scenarios.
func newFullScene(t *testing.T) *scene { return &scene{Everything: newFullProject(t)} }

// newScene returns a project with the subnet net-1.
func newScene(t *testing.T) *scene {
	srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
	p := &scene{Everything: &sdktest.Everything{Server: srv, Client: srv.Client()}}
	p.subnet(t, sdktest.Somewhere, "net-1", "")
	return p
}

// newCluster returns a project with a cluster with a Service, a VM in the
// cluster's subnet, to which the firewall fw-1 also applies, and the subnet
// net-1.
func newCluster(t *testing.T) *scene {
	p, ctx := newScene(t), t.Context()
	stub.Must(p.Client.Kubernetes.Create(ctx, sdktest.Somewhere, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
	p.Cluster = stub.Must(p.Client.Kubernetes.WaitRunning(ctx, sdktest.Somewhere, "apps"))(t)
	p.owner = p.Cluster.ID
	p.Server.SetClusterService(p.owner, 80, 30080)
	p.Subnet = stub.Must(p.Client.PrivateSubnets.Get(ctx, sdktest.Somewhere, p.owner+"-subnet"))(t)
	p.Firewall = p.firewall(t, sdktest.Somewhere, "fw-1")
	stub.Must(p.Client.Firewalls.AttachSubnet(ctx, sdktest.Somewhere, p.Firewall.ID, p.Subnet.ID))(t)
	p.VM = p.vm(t, sdktest.Somewhere, "inside", p.Subnet.ID)
	return p
}

// newDatabase returns a project with a database and the subnet net-1.
func newDatabase(t *testing.T) *scene {
	p := newScene(t)
	stub.Must(p.Client.Postgres.Create(t.Context(), sdktest.Somewhere, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	p.owner = stub.Must(p.Client.Postgres.WaitRunning(t.Context(), sdktest.Somewhere, "orders"))(t).ID
	p.Subnet = stub.Must(p.Client.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, p.owner+"-subnet"))(t)
	return p
}

func named(name string) func(*scene, cloudapi.Resource) bool {
	return func(_ *scene, r cloudapi.Resource) bool { return r.Name == name }
}

func isOwner(p *scene, r cloudapi.Resource) bool { return r.ID == p.owner }

// permit leaves the token all permissions but those for some kinds.
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

var (
	cluster  = "Kubernetes cluster eu-central-h1/apps"
	balancer = []string{"load balancer eu-central-h1/ID-apiserver", "load balancer eu-central-h1/ID-services"}
	network  = []string{"private subnet eu-central-h1/ID-subnet", "firewall eu-central-h1/ID-firewall"}
	database = "Postgres database eu-central-h1/orders"
	ownNet   = []string{"private subnet own/default-own", "firewall own/default-own-default", "private location own"}
)

// blocked returns the outcomes of resources that are all blocked.
func blocked(resources ...string) []string {
	for i := range resources {
		resources[i] = "blocked " + resources[i]
	}
	return resources
}

// everythingOfTheCluster is the network of a kept cluster, with the cluster.
func everythingOfTheCluster(before ...string) []string {
	return slices.Concat(before, []string{cluster}, balancer, network[:1], []string{"firewall eu-central-h1/fw-1"}, network[1:])
}

var scenarios = map[string]scenario{
	"nothing happens": {},
	"a Keep after the plan, which nobody calls": {
		between: func(t *testing.T, p *scene) {
			p.options.Keep = func(cloudapi.Resource) bool { t.Error("called"); return true }
		},
	},
	"a Keep of parts, for which nobody calls it": {
		keep: func(_ *scene, r cloudapi.Resource) bool {
			return cloudapi.IsID(r.ID, cloudapi.KindFirewallRule, cloudapi.KindNIC, cloudapi.KindKubernetesNodePool)
		},
	},
	"a Keep of what the token may not see": {
		keep:   func(_ *scene, r cloudapi.Resource) bool { return r.Kind == cloudapi.KindInferenceAPIKey },
		before: func(t *testing.T, p *scene) { permit(t, p, "InferenceApiKey") },
	},
	"a load balancer that the token may not see": { // the one exception
		before: func(t *testing.T, p *scene) { permit(t, p, "LoadBalancer") },
		others: func(r cloudapi.Resource) bool { return r.Name == "lb-1" },
	},
	"many runs": {runs: 4},
	"another environment after the run": {
		again: func(t *testing.T, p *scene) {
			p.key(t)
			p.vm(t, sdktest.Somewhere, "web-1", "")
			p.firewall(t, sdktest.Somewhere, "fw-1")
		},
	},
	"renamed": {
		between: func(t *testing.T, p *scene) {
			stub.Must(p.Client.VMs.Rename(t.Context(), sdktest.Somewhere, p.VM.ID, "renamed"))(t)
			stub.Must(p.Client.PrivateSubnets.Rename(t.Context(), sdktest.Somewhere, p.Subnet.ID, "renamed"))(t)
			stub.Must(p.Client.LoadBalancers.Rename(t.Context(), sdktest.Somewhere, p.Balancer.ID, "renamed"))(t)
			stub.Must(p.Client.Firewalls.Rename(t.Context(), sdktest.Somewhere, p.Firewall.ID, "renamed"))(t)
			renameLocation(t, p)
		},
	},
	"replaced": {
		between: func(t *testing.T, p *scene) {
			ctx, c := t.Context(), p.Client
			if err := errors.Join(c.VMs.Delete(ctx, sdktest.Somewhere, p.Stray.ID), c.VMs.WaitDeleted(ctx, sdktest.Somewhere, p.Stray.ID),
				c.SSHPublicKeys.Delete(ctx, p.Key.ID)); err != nil {
				t.Fatal(err)
			}
			stub.Must(c.Firewalls.Rename(ctx, sdktest.Somewhere, p.Firewall.ID, "renamed"))(t)
			replaceLocation(t, p)
			p.vm(t, "own", "far", "")
			p.vm(t, sdktest.Elsewhere, "stray", "")
			p.subnet(t, sdktest.Somewhere, "stray", "")
			p.firewall(t, sdktest.Somewhere, "fw-1")
			p.key(t)
		},
	},
	"deleted by somebody else, with its location": {
		between: func(t *testing.T, p *scene) {
			if err := planTeardown(t, p.Client, nil).Run(t.Context()); err != nil {
				t.Error(err)
			}
		},
	},
	"no permission any more": {
		between: func(_ *testing.T, p *scene) { p.Server.SetPermissions(p.Client.Project(), p.Server.Token()) },
		err:     cloudapi.ErrForbidden,
		deleted: []cloudapi.Kind{cloudapi.KindInferenceAPIKey}, // although it's still there: the service answers 204
	},
	"no project any more": {
		between: func(_ *testing.T, p *scene) {
			p.Server.Fail(cloudapitest.Match{Func: func(cloudapitest.Request) bool { return !p.over.Load() }}, sdktest.Refusal(404, "ResourceNotFound").Repeating())
		},
		err:     cloudapi.ErrNotFound,
		deleted: []cloudapi.Kind{},
	},
	"a permission less": {
		between: func(t *testing.T, p *scene) { permit(t, p, "LoadBalancer") },
		want: []string{"failed load balancer eu-central-h1/lb-1",
			"blocked private subnet eu-central-h1/net-1", "blocked firewall eu-central-h1/fw-1"},
		err: cloudapi.ErrForbidden,
	},
	"somebody else deletes it at the same time": {
		between: func(_ *testing.T, p *scene) { p.Server.Fail(deletes(p.VM.ID), sdktest.Refusal(403, "Forbidden")) },
	},

	// What is new would be deleted or damaged by the run, or blocks it.
	"a new load balancer": {
		between: func(t *testing.T, p *scene) { p.balancer(t, "new", p.Subnet.ID) },
		want:    blocked("private subnet eu-central-h1/net-1", "firewall eu-central-h1/fw-1"),
		blocker: "load balancer eu-central-h1/new",
	},
	"a new VM": {
		between: func(t *testing.T, p *scene) { p.vm(t, sdktest.Somewhere, "new", p.Subnet.ID) },
		want:    blocked("private subnet eu-central-h1/net-1", "firewall eu-central-h1/fw-1"),
		blocker: "VM eu-central-h1/new",
	},
	"a new subnet": {
		between: func(t *testing.T, p *scene) { p.subnet(t, sdktest.Somewhere, "new", p.Firewall.ID) },
		want:    blocked("firewall eu-central-h1/fw-1"),
		blocker: "private subnet eu-central-h1/new",
	},
	"a new subnet, for a moment": {
		between: func(t *testing.T, p *scene) {
			p.subnet(t, sdktest.Elsewhere, "new", p.OtherPlace.Firewalls[0].ID)
			time.AfterFunc(8*time.Second, func() {
				if err := p.Client.PrivateSubnets.Delete(t.Context(), sdktest.Elsewhere, "new"); err != nil {
					t.Error(err)
				}
			})
		},
		others: func(r cloudapi.Resource) bool { return r.Name == "new" },
	},
	"a new firewall in a private location": {
		between: func(t *testing.T, p *scene) { p.firewall(t, "own", "new") },
		want:    blocked("private location own"),
		blocker: "firewall own/new",
	},
	"a new key in the project": {
		before:  func(_ *testing.T, p *scene) { p.options.DeleteProject = true },
		between: func(t *testing.T, p *scene) { stub.Must(p.Client.InferenceAPIKeys.Create(t.Context()))(t) },
		want:    blocked("project main"),
		blocker: "inference API key",
	},

	// A private location changes its name, and perhaps another takes it. What is
	// in it is deleted, but only there; its own name can't be checked later than
	// immediately before the request.
	"a location that is renamed during a wait": {at: func(_ *scene, req *http.Request) bool {
		return req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/location/own/vm/")
	}, then: renameLocation},
	"a location that is replaced during a wait": {at: func(_ *scene, req *http.Request) bool {
		return req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/location/own/vm/")
	}, then: replaceLocation},
	"a location that is renamed before a VM's deletion":         {at: deletion("/location/own/vm/"), then: renameLocation},
	"a location that is renamed before a subnet's deletion":     {at: deletion("/location/own/private-subnet/"), then: renameLocation},
	"a location that is renamed before a firewall's deletion":   {at: deletion("/location/own/firewall/"), then: renameLocation},
	"a location that is renamed before its deletion":            {at: deletion("/private-location/own"), then: renameLocation},
	"a location that is replaced before a VM's deletion":        {at: deletion("/location/own/vm/"), then: replaceLocation},
	"a location that is replaced before a subnet's deletion":    {at: deletion("/location/own/private-subnet/"), then: replaceLocation},
	"a location that is replaced before a firewall's deletion":  {at: deletion("/location/own/firewall/"), then: replaceLocation},
	"a location that is replaced while Run looks for its users": {at: isListOfFirewalls, then: replaceLocation},

	"a location with backups, which the server keeps for days": {
		project: newScene,
		before:  databaseInOwnLocation,
		want:    []string{"under way private location own", "blocked project main"},
	},
	"a location with backups, which the server keeps for days and doesn't promise to delete": {
		before: databaseInOwnLocation,
		want:   []string{"failed private location own", "blocked project main"},
		err:    cloudapi.ErrServer,
	},

	"a cluster": {project: newCluster},
	"a cluster that is kept": {
		project: newCluster,
		keep:    isOwner,
		kept:    everythingOfTheCluster(),
	},
	"a cluster with a firewall that is kept": {
		project: newCluster,
		keep:    func(p *scene, r cloudapi.Resource) bool { return r.Name == p.owner+"-firewall" },
		kept:    everythingOfTheCluster(),
	},
	"a cluster in whose subnet a VM is kept": {
		project: newCluster,
		keep:    named("inside"),
		kept:    everythingOfTheCluster("VM eu-central-h1/inside"),
	},
	"a cluster that the token may not see": {
		project: newCluster,
		keep:    func(*scene, cloudapi.Resource) bool { return false },
		before:  func(t *testing.T, p *scene) { permit(t, p, "KubernetesCluster") },
		kept:    slices.Replace(everythingOfTheCluster(), 0, 1, "Kubernetes cluster"),
	},
	"a cluster in whose subnet there is a new load balancer": {
		project: newCluster,
		between: func(t *testing.T, p *scene) { p.balancer(t, "new", p.Subnet.ID) },
		want:    blocked(everythingOfTheCluster()...),
		blocker: "load balancer eu-central-h1/new",
	},
	"a cluster in whose subnet there is a new VM": { // so the server keeps the subnet
		project: newCluster,
		between: func(t *testing.T, p *scene) { p.vm(t, sdktest.Somewhere, "new", p.Subnet.ID) },
		want:    blocked("private subnet eu-central-h1/ID-subnet", "firewall eu-central-h1/fw-1"),
		blocker: "VM eu-central-h1/new",
	},
	"a cluster whose firewall a subnet uses":      {project: newCluster, before: attach},
	"a cluster whose firewall a kept subnet uses": {project: newCluster, before: attach, keep: named("net-1"), kept: slices.Concat([]string{cluster}, balancer, network[:1], []string{"private subnet eu-central-h1/net-1", "firewall eu-central-h1/fw-1"}, network[1:], []string{"firewall eu-central-h1/net-1-default"})},
	"a cluster whose firewall a new subnet uses": { // so the server keeps the firewall
		project: newCluster,
		between: func(t *testing.T, p *scene) {
			firewall := stub.Must(p.Client.Firewalls.Get(t.Context(), sdktest.Somewhere, p.owner+"-firewall"))(t)
			p.subnet(t, sdktest.Somewhere, "new", firewall.ID)
		},
		want:    blocked("firewall eu-central-h1/ID-firewall"),
		blocker: "private subnet eu-central-h1/new",
	},
	"a cluster whose subnet was renamed":               {project: newCluster, before: renameSubnet},
	"a cluster whose subnet is renamed after the plan": {project: newCluster, between: renameSubnet},
	"a cluster in whose renamed subnet something is kept": {
		project: newCluster,
		before: func(t *testing.T, p *scene) {
			renameSubnet(t, p)
			p.balancer(t, "kept", p.Subnet.ID)
		},
		keep: named("kept"),
		kept: slices.Concat([]string{"load balancer eu-central-h1/kept", cluster}, balancer, // with which its firewall would go
			[]string{"private subnet eu-central-h1/renamed", "firewall eu-central-h1/fw-1", "firewall eu-central-h1/ID-firewall"}),
	},
	"a cluster in whose renamed subnet there is a new load balancer": {
		project: newCluster,
		before:  renameSubnet,
		between: func(t *testing.T, p *scene) { p.balancer(t, "new", p.Subnet.ID) },
		want:    blocked("private subnet eu-central-h1/renamed", "firewall eu-central-h1/fw-1"),
		blocker: "load balancer eu-central-h1/new",
	},
	"a firewall that is merely called like a cluster's": {
		project: newCluster,
		before:  foreignFirewall,
	},
	"a kept firewall that is merely called like a cluster's": {
		project: newCluster,
		before:  foreignFirewall,
		keep:    func(p *scene, r cloudapi.Resource) bool { return r.Name == p.owner+"-firewall" },
		kept:    network[1:],
	},
	"names like those of the network of another cluster": {
		project: newCluster,
		before: func(t *testing.T, p *scene) {
			other := cloudapitest.NewID(cloudapi.KindKubernetesCluster).String()
			p.balancer(t, other+"-services", p.subnet(t, sdktest.Somewhere, other+"-subnet", "").ID)
			p.firewall(t, sdktest.Elsewhere, p.owner+"-firewall")
		},
		keep: isOwner,
		kept: everythingOfTheCluster(),
	},

	"a database": {project: newDatabase},
	"a database that is kept": {
		project: newDatabase,
		keep:    isOwner,
		kept:    slices.Concat([]string{database}, network),
	},
	"a database in whose subnet a load balancer is kept": {
		project: newDatabase,
		before:  func(t *testing.T, p *scene) { p.balancer(t, "kept", p.Subnet.ID) },
		keep:    named("kept"),
		kept:    slices.Concat([]string{"load balancer eu-central-h1/kept", database}, network),
	},
	"a database in whose subnet a VM is kept": {
		project: newDatabase,
		before:  func(t *testing.T, p *scene) { p.vm(t, sdktest.Somewhere, "kept", p.Subnet.ID) },
		keep:    named("kept"),
		kept:    slices.Concat([]string{"VM eu-central-h1/kept", database}, network),
	},
	"a database whose firewall a kept subnet uses": {
		project: newDatabase,
		before:  attach,
		keep:    named("net-1"),
		kept:    []string{database, "private subnet eu-central-h1/net-1", network[0], "firewall eu-central-h1/net-1-default", network[1]},
	},
	"a database in whose subnet there is a new load balancer": {
		project: newDatabase,
		between: func(t *testing.T, p *scene) { p.balancer(t, "new", p.Subnet.ID) },
		want:    blocked(database, network[0], network[1]),
		blocker: "load balancer eu-central-h1/new",
	},
	"a database whose subnet was renamed": {project: newDatabase, before: renameSubnet},
}

// databaseInOwnLocation creates a database in a private location.
func databaseInOwnLocation(t *testing.T, p *scene) {
	p.options.DeleteProject = true
	if p.Location == nil {
		p.location(t, "own")
	}
	request := cloudapi.PostgresCreateRequest{Size: "m8gd.large", StorageSize: 118}
	if p.Key != nil { // the contract
		request.Size = "m6id.large"
	}
	stub.Must(p.Client.Postgres.Create(t.Context(), "own", "orders", &request))(t)
	stub.Must(p.Client.Postgres.WaitRunning(t.Context(), "own", "orders"))(t)
}

// foreignFirewall renames the firewall of a cluster, and creates another one
// with its name.
func foreignFirewall(t *testing.T, p *scene) {
	stub.Must(p.Client.Firewalls.Rename(t.Context(), sdktest.Somewhere, p.owner+"-firewall", "renamed"))(t)
	p.firewall(t, sdktest.Somewhere, p.owner+"-firewall")
}

// isListOfFirewalls matches the list of the firewalls in the private location
// "own", which only its own deletion needs.
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
				if want := p.named(tt.want); tt.deleted == nil && !slices.Equal(outcomes(report), want) {
					t.Errorf("%q, want %q: %v", outcomes(report), want, report)
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

// named puts the ID of the owner into texts.
func (p *scene) named(texts []string) (named []string) {
	for _, text := range texts {
		named = append(named, strings.ReplaceAll(text, "/ID-", "/"+p.owner+"-"))
	}
	return named
}

// look notes what is there.
func (p *scene) look(t *testing.T) {
	if p.there == nil {
		p.there = map[string]cloudapi.Resource{}
	}
	for _, kind := range []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPrivateSubnet, cloudapi.KindFirewall, cloudapi.KindLoadBalancer, cloudapi.KindPostgres,
		cloudapi.KindKubernetesCluster, cloudapi.KindPrivateLocation, cloudapi.KindSSHPublicKey, cloudapi.KindVMInitScript, cloudapi.KindInferenceAPIKey} {
		for r, err := range p.Client.Resources(t.Context(), nil, kind) {
			if err == nil { // the token may not see it
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
	p.over.Store(false)
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
	p.over.Store(true)
	p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), "*")
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
