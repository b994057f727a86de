package teardown_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
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
	lists   atomic.Int32                 // for the scenario's own counts
}

// act is something that happens in a scenario.
type act func(t *testing.T, p *scene)

// acts does several things in order.
func acts(all ...act) act {
	return func(t *testing.T, p *scene) {
		for _, do := range all {
			do(t, p)
		}
	}
}

// fails lets requests fail. The last fault repeats.
func fails(match cloudapitest.Match, faults ...cloudapitest.Fault) act {
	return func(_ *testing.T, p *scene) { p.Server.Fail(match, repeating(faults)...) }
}

// failsToDelete lets the deletions of a resource fail. The last fault repeats.
func failsToDelete(id func(*scene) string, faults ...cloudapitest.Fault) act {
	return func(_ *testing.T, p *scene) { p.Server.Fail(deletes(id(p)), repeating(faults)...) }
}

func repeating(faults []cloudapitest.Fault) []cloudapitest.Fault {
	faults = slices.Clone(faults)
	faults[len(faults)-1] = faults[len(faults)-1].Repeating()
	return faults
}

func theVM(p *scene) string         { return p.VM.ID }
func theKey(p *scene) string        { return p.Key.ID }
func theOtherPlace(p *scene) string { return p.OtherPlace.ID }

var (
	forbidden = sdktest.Refusal(403, "Forbidden")
	missing   = sdktest.Refusal(404, "ResourceNotFound")
	conflict  = sdktest.Refusal(409, "DependencyError")
	broken    = sdktest.Refusal(500, "UnexceptedError")
	hangs     = cloudapitest.Delay(2 * time.Hour)
	gateway   = cloudapitest.Reply(502, nil, "<html>")
)

// operation matches the requests of an operation.
func operation(name string) cloudapitest.Match { return cloudapitest.Match{Operation: name} }

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

// newSubnetPair returns a project with the subnets a and b.
func newSubnetPair(t *testing.T) *scene {
	p := newScene(t)
	p.Subnet, p.OtherPlace = p.subnet(t, sdktest.Somewhere, "a", ""), p.subnet(t, sdktest.Somewhere, "b", "")
	return p
}

// newDatabaseAndVM returns a project with a database, and a VM in the subnet far
// of another location.
func newDatabaseAndVM(t *testing.T) *scene {
	p := newDatabase(t)
	p.OtherPlace = p.subnet(t, sdktest.Elsewhere, "far", "")
	p.vm(t, sdktest.Elsewhere, "inside", p.OtherPlace.ID)
	return p
}

// newLinks returns a project with private link services in a private location: of
// a database and of a subnet.
func newLinks(t *testing.T) *scene {
	links := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices)
	p := &scene{Everything: &sdktest.Everything{Server: links.Server, Client: links.Client}, owner: links.Postgres.ID}
	stub.Must(p.Client.Postgres.CreatePrivateLinkService(t.Context(), "own", "db", "link-of-db", nil))(t)
	vms := p.subnet(t, "own", "vms", "")
	stub.Must(p.Client.PrivateLinkServices.Create(t.Context(), "own", "link-of-vms", &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: vms.ID}))(t)
	slow := cloudapitest.DefaultDelays()
	slow.Delete = 5 * time.Minute
	p.Server.SetDelays(cloudapi.KindPrivateLinkService, "", slow)
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

// refuses fails the test if the operation is requested with a path that ends
// with suffix.
func refuses(operation, suffix string) act {
	return func(t *testing.T, p *scene) {
		p.Server.Fail(cloudapitest.Match{Operation: operation, Func: func(r cloudapitest.Request) bool {
			if strings.HasSuffix(r.Path, suffix) {
				t.Errorf("%s %s was sent", r.Method, r.Path)
			}
			return false
		}}, cloudapitest.DropBefore().Repeating())
	}
}

func named(name string) func(*scene, cloudapi.Resource) bool {
	return func(_ *scene, r cloudapi.Resource) bool { return r.Name == name }
}

func ofKind(kind cloudapi.Kind) func(*scene, cloudapi.Resource) bool {
	return func(_ *scene, r cloudapi.Resource) bool { return r.Kind == kind }
}

func called(name string) func(cloudapi.Resource) bool {
	return func(r cloudapi.Resource) bool { return r.Name == name }
}

func isOwnersFirewall(p *scene, r cloudapi.Resource) bool { return r.Name == p.owner+"-firewall" }

func isOwner(p *scene, r cloudapi.Resource) bool { return r.ID == p.owner }

// permit gives the token all permissions except those of some families.
func permit(t *testing.T, p *scene, without ...string) {
	p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), slices.DeleteFunc([]string{"Firewall:*", "InferenceApiKey:*", "KubernetesCluster:*",
		"LoadBalancer:*", "Location:*", "MachineImage:*", "Postgres:*", "PrivateLinkService:*", "PrivateSubnet:*", "Project:*", "Vm:*"},
		func(permission string) bool { return slices.Contains(without, strings.TrimSuffix(permission, ":*")) })...)
}

// permitsAllBut takes the permissions for a family from the token.
func permitsAllBut(family string) act {
	return func(t *testing.T, p *scene) { permit(t, p, family) }
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

// firstOfEachOperation lets the first request of each operation fail.
func firstOfEachOperation(fault cloudapitest.Fault) act {
	return func(_ *testing.T, p *scene) {
		seen := map[string]bool{}
		p.Server.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool {
			first := !seen[r.Operation]
			seen[r.Operation] = true
			return first
		}}, fault.Repeating())
	}
}

// showsDeleting lets the first polls of the VM show that it is being deleted.
func showsDeleting(polls int) act {
	return func(_ *testing.T, p *scene) {
		p.Server.Fail(cloudapitest.Match{Method: http.MethodGet, Func: func(r cloudapitest.Request) bool {
			if !strings.HasSuffix(r.Path, p.VM.ID) {
				return false
			}
			polls--
			return polls > 0
		}}, answer(`{"id":"`+p.VM.ID+`","name":"web-1","state":"deleting","location":"`+sdktest.Somewhere+`"}`).Repeating())
	}
}

// vacates sets how long the servers of deleted databases stay in their subnets.
func vacates(after time.Duration) act {
	return func(_ *testing.T, p *scene) {
		delays := cloudapitest.DefaultDelays()
		delays.Vacate = after
		p.Server.SetDelays(cloudapi.KindPostgres, "", delays)
	}
}

// tenth lets the tenth deletion of the subnet fail.
func tenth(fault cloudapitest.Fault) act {
	return func(_ *testing.T, p *scene) {
		match := deletes(p.Subnet.ID)
		match.Nth = 10
		p.Server.Fail(match, fault)
	}
}

// newBalancer and newVM create a resource in the scenario's subnet.
func newBalancer(t *testing.T, p *scene) { p.balancer(t, "new", p.Subnet.ID) }
func newVM(t *testing.T, p *scene)       { p.vm(t, sdktest.Somewhere, "new", p.Subnet.ID) }

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
	stub.Must(p.Client.Postgres.WaitRunning(t.Context(), "own", "orders", nil))(t)
}

// listOf matches the lists of a kind in one location.
func listOf(service string) cloudapitest.Match {
	return cloudapitest.Match{Operation: service + ".ListInLocation",
		Func: func(r cloudapitest.Request) bool { return strings.Contains(r.Path, sdktest.Somewhere) }}
}

func answer(body string) cloudapitest.Fault {
	return cloudapitest.Reply(200, http.Header{"Content-Type": {"application/json"}}, body)
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
