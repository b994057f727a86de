package teardown_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

var (
	cluster  = "Kubernetes cluster eu-central-h1/apps"
	balancer = []string{"load balancer eu-central-h1/ID-apiserver", "load balancer eu-central-h1/ID-services"}
	network  = []string{"private subnet eu-central-h1/ID-subnet", "firewall eu-central-h1/ID-firewall"}
	database = "Postgres database eu-central-h1/orders"
)

// blocked returns the failures of resources that are all blocked.
func blocked(resources ...string) []string {
	for i := range resources {
		resources[i] = "blocked " + resources[i]
	}
	return resources
}

// everythingOfTheCluster returns the cluster and its network, which all stay.
func everythingOfTheCluster(before ...string) []string {
	return slices.Concat(before, []string{cluster}, balancer, network[:1], []string{"firewall eu-central-h1/fw-1"}, network[1:])
}

var scenarios = map[string]scenario{
	"nothing happens": {},
	"a Keep of what the token may not see": {
		keep:   func(_ *scene, r cloudapi.Resource) bool { return r.Kind == cloudapi.KindInferenceAPIKey },
		before: func(t *testing.T, p *scene) { permit(t, p, "InferenceApiKey") },
	},
	"a load balancer that the token may not see": { // the server deletes it with its subnet, so it needn't be in the plan
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
			if err := errors.Join(c.VMs.Delete(ctx, sdktest.Somewhere, p.Stray.ID), c.VMs.WaitDeleted(ctx, sdktest.Somewhere, p.Stray.ID, nil),
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
		deleted: []cloudapi.Kind{}, // not even the inference API key, although the service answers 204
	},
	"no project any more": {
		between: func(_ *testing.T, p *scene) {
			p.Server.Fail(cloudapitest.Match{}, sdktest.Refusal(404, "ResourceNotFound").Repeating())
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

	// A new resource that the run would delete or damage blocks the deletion.
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
	"a new firewall in a private location, which is renamed": {
		between: func(t *testing.T, p *scene) { p.firewall(t, "own", "new"); renameLocation(t, p) },
		want:    blocked("private location own"),
		blocker: "firewall old/new",
	},
	"a new key in the project": {
		before:  deleteProject,
		between: func(t *testing.T, p *scene) { stub.Must(p.Client.InferenceAPIKeys.Create(t.Context()))(t) },
		want:    blocked("project main"),
		blocker: "inference API key",
	},

	// The server fails.
	"lost responses": {before: deleteProject, between: failing(1, cloudapitest.DropAfter())},
	"lost requests": {before: deleteProject, between: func(_ *testing.T, p *scene) {
		seen := map[string]bool{}
		p.Server.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool {
			first := !seen[r.Operation]
			seen[r.Operation] = true
			return first
		}}, cloudapitest.DropBefore().Repeating())
	}},
	"server errors": {before: deleteProject, between: failing(5, sdktest.Refusal(500, "UnexceptedError"))},
	"conflicts":     {before: deleteProject, between: failing(4, sdktest.Refusal(409, "DependencyError"))},
	"failing polls": {between: func(_ *testing.T, p *scene) {
		p.Server.Fail(cloudapitest.Match{Operation: "Kubernetes.Get"}, cloudapitest.Truncate(9), sdktest.Refusal(403, "Forbidden"), cloudapitest.Reply(502, nil, "<html>"))
	}},
	"a pause of a day": {between: failing(1, cloudapitest.Reply(503, http.Header{"Retry-After": {"86400"}}, stub.Envelope(503)))},
	"a deletion that takes minutes": {between: func(_ *testing.T, p *scene) {
		polls := 0
		p.Server.Fail(cloudapitest.Match{Method: http.MethodGet, Func: func(r cloudapitest.Request) bool {
			if strings.HasSuffix(r.Path, p.VM.ID) {
				polls++
			}
			return strings.HasSuffix(r.Path, p.VM.ID) && polls < 30
		}}, deleting(p.VM).Repeating())
	}},
	"a load balancer that is forbidden for a moment": {between: func(t *testing.T, p *scene) { // when Run looks for it, and polls
		p.Server.Fail(cloudapitest.Match{Operation: "LoadBalancers.Get"}, sdktest.Refusal(403, "Forbidden"), sdktest.Refusal(403, "Forbidden"))
	}},
	"a load balancer that is created while its subnet's deletion fails": {
		at: func(p *scene, req *http.Request) bool {
			return req.Method == http.MethodDelete && strings.HasSuffix(req.URL.Path, p.Subnet.ID)
		},
		then: func(t *testing.T, p *scene) {
			p.balancer(t, "new", p.Subnet.ID)
			p.Server.Fail(deletes(p.Subnet.ID), cloudapitest.Reply(503, nil, ""))
		},
		want: []string{"failed private subnet eu-central-h1/net-1", "blocked firewall eu-central-h1/fw-1"}, // it may have been executed
	},
	"a load balancer that is only in the list": { // it may be in any subnet
		between: func(t *testing.T, p *scene) {
			p.balancer(t, "new", p.Subnet.ID)
			p.Server.Fail(cloudapitest.Match{Operation: "LoadBalancers.Get"}, sdktest.Refusal(404, "ResourceNotFound").Repeating())
		},
		want: blocked("private subnet eu-central-h1/default-eu-central-h1", "private subnet eu-central-h1/net-1",
			"firewall eu-central-h1/default-eu-central-h1-default", "firewall eu-central-h1/fw-1"),
	},
	"a load balancer whose subnet is in no list": { // it may be in any subnet, but not elsewhere
		between: func(t *testing.T, p *scene) {
			p.balancer(t, "new", p.Subnet.ID)
			p.Server.Fail(listOf("PrivateSubnets"), answer(`{"items":[],"count":0}`).Repeating())
		},
		want: blocked("private subnet eu-central-h1/default-eu-central-h1", "private subnet eu-central-h1/net-1",
			"firewall eu-central-h1/default-eu-central-h1-default", "firewall eu-central-h1/fw-1"),
	},
	"a load balancer whose subnet is in no list under its new name": {
		before: func(t *testing.T, p *scene) { p.subnet(t, sdktest.Elsewhere, "renamed", "") },
		between: func(t *testing.T, p *scene) {
			p.balancer(t, "new", p.Subnet.ID)
			stub.Must(p.Client.PrivateSubnets.Rename(t.Context(), sdktest.Somewhere, p.Subnet.ID, "renamed"))(t)
			p.Server.Fail(listOf("PrivateSubnets"), answer(`{"items":[],"count":0}`).Repeating())
		},
		want: blocked("private subnet eu-central-h1/default-eu-central-h1", "private subnet eu-central-h1/net-1",
			"firewall eu-central-h1/default-eu-central-h1-default", "firewall eu-central-h1/fw-1"),
	},
	"a list of something else": {
		between: func(t *testing.T, p *scene) {
			p.Server.Fail(listOf("LoadBalancers"), answer(`{"items":[`+stub.VM+`],"count":1}`).Repeating())
		},
		want: slices.Concat([]string{"failed Kubernetes cluster eu-central-h1/k8s-1", "failed Postgres database eu-central-h1/db-1",
			"failed Postgres database eu-central-h1/db-2", "failed private subnet eu-central-h1/default-eu-central-h1", "failed private subnet eu-central-h1/net-1"},
			blocked("firewall eu-central-h1/default-eu-central-h1-default", "firewall eu-central-h1/fw-1")),
	},
	"a load balancer that is deleted when Run looks for its subnet, and another": {
		between: func(t *testing.T, p *scene) { p.balancer(t, "new", p.Subnet.ID); p.balancer(t, "brief", p.Subnet.ID) },
		at: func(p *scene, req *http.Request) bool {
			return req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/load-balancer/") && !strings.HasSuffix(req.URL.Path, p.Balancer.ID)
		},
		then: func(t *testing.T, p *scene) {
			if err := p.Client.LoadBalancers.Delete(t.Context(), sdktest.Somewhere, "brief"); err != nil {
				t.Error(err)
			}
		},
		others:  func(r cloudapi.Resource) bool { return r.Name == "brief" },
		want:    blocked("private subnet eu-central-h1/net-1", "firewall eu-central-h1/fw-1"),
		blocker: "load balancer eu-central-h1/new",
	},

	// A private location is renamed, and perhaps another one gets its old name.
	// What was in the first one is deleted, and nothing in the other. For the
	// location itself, Run can only check the name immediately before its
	// deletion.
	"a location that is renamed during a wait": {at: func(_ *scene, req *http.Request) bool {
		return req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/location/own/vm/")
	}, then: renameLocation},
	"a location that is replaced during a wait": {at: func(_ *scene, req *http.Request) bool {
		return req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/location/own/vm/")
	}, then: replaceLocation},
	"a location that is renamed before a VM's deletion":         {at: deletion("/location/own/vm/"), then: renameLocation},
	"a location that is renamed before a firewall's deletion":   {at: deletion("/location/own/firewall/"), then: renameLocation},
	"a location that is renamed before its deletion":            {at: deletion("/private-location/own"), then: renameLocation},
	"a location that is replaced before a VM's deletion":        {at: deletion("/location/own/vm/"), then: replaceLocation},
	"a location that is replaced before a subnet's deletion":    {at: deletion("/location/own/private-subnet/"), then: replaceLocation},
	"a location that is replaced while Run looks for its users": {at: isListOfFirewalls, then: replaceLocation},

	"a location whose name can't be looked up again": {
		at: isListOfFirewalls,
		then: func(t *testing.T, p *scene) {
			p.Server.Fail(cloudapitest.Match{Operation: "PrivateLocations.List"}, sdktest.Refusal(403, "Forbidden").Repeating())
			refuse(t, p, "PrivateLocations.Delete", "")
		},
		want: []string{"failed private location own"},
		err:  cloudapi.ErrForbidden,
	},
	"a location that somebody else deletes meanwhile": {at: isListOfFirewalls, then: func(t *testing.T, p *scene) {
		if err := p.Client.PrivateLocations.Delete(t.Context(), "own"); err != nil {
			t.Error(err)
		}
	}},

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

	"a location with backups, which the server refuses to delete": {
		project: newScene,
		before:  databaseInOwnLocation,
		between: func(t *testing.T, p *scene) {
			p.Server.Fail(cloudapitest.Match{Operation: "PrivateLocations.Delete"}, sdktest.Refusal(409, "DependencyError").Repeating())
		},
		want: []string{"failed private location own", "blocked project main"},
		err:  cloudapi.ErrConflict,
	},

	"a cluster": {project: newCluster},
	"a cluster whose load balancer the server can't list": {project: newUnlisted, before: deleteProject},
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
		kept: slices.Concat([]string{"load balancer eu-central-h1/kept", cluster}, balancer, // the firewall would be deleted with the cluster
			[]string{"private subnet eu-central-h1/renamed", "firewall eu-central-h1/fw-1", "firewall eu-central-h1/ID-firewall"}),
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
			p.subnet(t, sdktest.Elsewhere, p.owner+"-subnet", "")
			p.subnet(t, sdktest.Somewhere, p.owner+"-firewall", "")
			in := p.subnet(t, sdktest.Somewhere, p.owner+"-services", "")
			p.balancer(t, p.owner+"-subnet", in.ID)
		},
		keep: isOwner,
		kept: everythingOfTheCluster(),
	},
	"a kept firewall of a cluster's subnet": {
		project: newCluster,
		before: func(t *testing.T, p *scene) {
			firewall := p.firewall(t, sdktest.Somewhere, p.owner+"-subnet")
			stub.Must(p.Client.Firewalls.AttachSubnet(t.Context(), sdktest.Somewhere, firewall.ID, p.Subnet.ID))(t)
		},
		keep: func(p *scene, r cloudapi.Resource) bool {
			return r.Kind == cloudapi.KindFirewall && r.Name == p.owner+"-subnet"
		},
		kept: []string{"firewall eu-central-h1/ID-subnet"},
	},

	"a machine image": {project: newImage, between: func(t *testing.T, p *scene) { refuse(t, p, "MachineImages.DeleteVersion", "/v2") }},
	"a machine image that a kept VM needs": {
		project: newImage,
		keep:    named("copy"),
		kept: []string{"VM eu-central-h1/copy", "machine image eu-central-h1/golden", "private subnet eu-central-h1/default-eu-central-h1",
			"firewall eu-central-h1/default-eu-central-h1-default"},
	},
	"a machine image that is being copied from a VM, which the server doesn't delete": {
		project: newImage,
		between: func(t *testing.T, p *scene) {
			p.Server.SetDelays(cloudapi.KindMachineImageVersion, "", cloudapitest.Delays{Create: 5 * time.Second})
			stub.Must(p.Client.MachineImages.CreateVersion(t.Context(), sdktest.Somewhere, "golden", "v3", &cloudapi.MachineImageVersionCreateRequest{VMID: p.VM.ID}))(t)
		},
	},
	"a machine image that VMs may need": { // then its versions stay as well
		project: newImage,
		between: func(t *testing.T, p *scene) {
			refuse(t, p, "MachineImages.DeleteVersion", "")
			p.Server.Fail(listOf("VMs"), sdktest.Refusal(403, "Forbidden").Repeating())
		},
		want: []string{"failed machine image eu-central-h1/golden", "failed private subnet eu-central-h1/default-eu-central-h1", "failed private subnet eu-central-h1/net-1",
			"blocked firewall eu-central-h1/default-eu-central-h1-default", "blocked firewall eu-central-h1/net-1-default"},
		err: cloudapi.ErrForbidden,
	},

	"a database": {project: newDatabase},
	"a database in whose subnet a load balancer is kept": {
		project: newDatabase,
		before:  func(t *testing.T, p *scene) { p.balancer(t, "kept", p.Subnet.ID) },
		keep:    named("kept"),
		kept:    slices.Concat([]string{"load balancer eu-central-h1/kept", database}, network),
	},
	"a database in whose subnet there is a new load balancer": {
		project: newDatabase,
		between: func(t *testing.T, p *scene) { p.balancer(t, "new", p.Subnet.ID) },
		want:    blocked(database, network[0], network[1]),
		blocker: "load balancer eu-central-h1/new",
	},
	"a load balancer that is merely called like a database's": {
		project: newDatabase,
		before: func(t *testing.T, p *scene) {
			p.balancer(t, p.owner+"-services", p.net(t))
		},
	},
	"databases in a renamed location, with new load balancers in their subnets": { // the first that reads the lists reads them for all
		project: newScene,
		before: func(t *testing.T, p *scene) {
			p.location(t, "own")
			for _, name := range []string{"a", "b", "c"} {
				stub.Must(p.Client.Postgres.Create(t.Context(), "own", name, &cloudapi.PostgresCreateRequest{Size: "m8gd.large", StorageSize: 118}))(t)
				stub.Must(p.Client.Postgres.WaitRunning(t.Context(), "own", name, nil))(t)
			}
		},
		between: func(t *testing.T, p *scene) {
			renameLocation(t, p)
			for _, id := range p.Server.IDs(cloudapi.KindPostgres, "") {
				subnet := stub.Must(p.Client.PrivateSubnets.Get(t.Context(), "old", id+"-subnet"))(t)
				stub.Must(p.Client.LoadBalancers.Create(t.Context(), "old", "new", sdktest.BalancerIn(subnet.ID)))(t)
			}
			p.Server.Fail(cloudapitest.Match{}, cloudapitest.Delay(time.Second).Repeating()) // so that one read serves several
		},
		deleted: []cloudapi.Kind{cloudapi.KindPrivateSubnet, cloudapi.KindFirewall}, // net-1 and its default
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
	stub.Must(p.Client.Postgres.WaitRunning(t.Context(), "own", "orders", nil))(t)
}
