package teardown_test

import (
	"context"
	"errors"
	"fmt"
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

// Resources of the scenarios, as [short] describes them.
const (
	net1    = "private subnet net-1; firewall fw-1" // of the full scene
	unnamed = "private subnet default-eu-central-h1; private subnet net-1; firewall default-eu-central-h1-default; firewall fw-1"
	cluster = "Kubernetes cluster apps; load balancer ID-apiserver; load balancer ID-services; private subnet ID-subnet; firewall fw-1; firewall ID-firewall"
	network = "private subnet ID-subnet; firewall ID-firewall" // of a database
)

// blocked returns the failures of resources that are all blocked.
func blocked(resources string) string {
	return "blocked " + strings.ReplaceAll(resources, "; ", "; blocked ")
}

func is(errs ...error) []error { return errs }

// scenarios returns all scenarios, by name.
func scenarios() map[string]scenario {
	all := map[string]scenario{}
	for _, group := range []struct {
		project func(*testing.T) *scene
		rows    map[string]scenario
	}{
		{newFullScene, wholeProjects()}, {newFullScene, keeps()}, {newFullScene, blindness()}, {newFullScene, failingServers()}, {newFullScene, deadlines()},
		{newFullScene, locations()}, {newCluster, clusters()}, {newImage, images()}, {newDatabase, databases()}, {newDatabase, vacating()},
		{newLinks, links()}, {newSubnetPair, takenNames()},
	} {
		for name, row := range group.rows {
			if row.project == nil {
				row.project = group.project
			}
			all[name] = row
		}
	}
	return all
}

func wholeProjects() map[string]scenario {
	return map[string]scenario{
		"nothing happens":                      {},
		"many runs":                            {runs: 4},
		"a Keep of what the token may not see": {keep: ofKind(cloudapi.KindInferenceAPIKey), before: permitsAllBut("InferenceApiKey")},
		// The server deletes it with its subnet, so it needn't be in the plan.
		"a load balancer that the token may not see": {before: permitsAllBut("LoadBalancer"), others: called("lb-1")},
		"another environment after the run": {again: func(t *testing.T, p *scene) {
			p.key(t)
			p.vm(t, sdktest.Somewhere, "web-1", "")
			p.firewall(t, sdktest.Somewhere, "fw-1")
		}},
		"renamed": {between: func(t *testing.T, p *scene) {
			stub.Must(p.Client.VMs.Rename(t.Context(), sdktest.Somewhere, p.VM.ID, "renamed"))(t)
			stub.Must(p.Client.PrivateSubnets.Rename(t.Context(), sdktest.Somewhere, p.Subnet.ID, "renamed"))(t)
			stub.Must(p.Client.LoadBalancers.Rename(t.Context(), sdktest.Somewhere, p.Balancer.ID, "renamed"))(t)
			stub.Must(p.Client.Firewalls.Rename(t.Context(), sdktest.Somewhere, p.Firewall.ID, "renamed"))(t)
			renameLocation(t, p)
		}},
		"replaced": {between: func(t *testing.T, p *scene) {
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
		}},
		"deleted by somebody else, with its location": {between: func(t *testing.T, p *scene) {
			if err := planTeardown(t, p.Client, nil).Run(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		// Not even the inference API key is gone, although the service answers 204.
		"no permission any more": {between: func(_ *testing.T, p *scene) { p.Server.SetPermissions(p.Client.Project(), p.Server.Token()) },
			errs: is(cloudapi.ErrForbidden), deleted: []cloudapi.Kind{}},
		"no project any more": {between: fails(cloudapitest.Match{}, missing), errs: is(cloudapi.ErrNotFound), deleted: []cloudapi.Kind{}},
		"a permission less": {between: permitsAllBut("LoadBalancer"),
			want: "failed load balancer lb-1; " + blocked(net1), errs: is(cloudapi.ErrForbidden)},
		"somebody else deletes it at the same time": {between: func(_ *testing.T, p *scene) { p.Server.Fail(deletes(p.VM.ID), forbidden) }},

		// What can't be deleted blocks only what it needs. For the VM there is nothing to
		// wait for.
		"a VM that the token may not delete": {before: deleteProject, between: failsToDelete(theVM, forbidden),
			want: "failed VM web-1; " + blocked(net1+"; project main"), errs: is(cloudapi.ErrForbidden), attempts: 2, most: 20 * time.Second},
		"a subnet that the server refuses to delete": {between: failsToDelete(theOtherPlace, conflict), // for a reason that no record shows
			want: "failed private subnet eu-north-h1/net-1; blocked firewall eu-north-h1/net-1-default", errs: is(cloudapi.ErrConflict), attempts: 6},

		// A new resource that the run would delete or damage blocks the deletion.
		"a new load balancer": {between: newBalancer, want: blocked(net1), blocker: "load balancer new"},
		"a new VM":            {between: newVM, want: blocked(net1), blocker: "VM new"},
		"a new subnet": {between: func(t *testing.T, p *scene) { p.subnet(t, sdktest.Somewhere, "new", p.Firewall.ID) },
			want: "blocked firewall fw-1", blocker: "private subnet new"},
		"a new subnet, for a moment": {between: func(t *testing.T, p *scene) {
			p.subnet(t, sdktest.Elsewhere, "new", p.OtherPlace.Firewalls[0].ID)
			time.AfterFunc(8*time.Second, func() {
				if err := p.Client.PrivateSubnets.Delete(t.Context(), sdktest.Elsewhere, "new"); err != nil {
					t.Error(err)
				}
			})
		}, others: called("new")},
		"a new firewall in a private location, which is renamed": {between: func(t *testing.T, p *scene) { p.firewall(t, "own", "new"); renameLocation(t, p) },
			want: "blocked private location own", blocker: "firewall old/new"},
		"a new key in the project": {before: deleteProject, between: func(t *testing.T, p *scene) { stub.Must(p.Client.InferenceAPIKeys.Create(t.Context()))(t) },
			want: "blocked project main", blocker: "inference API key"},
	}
}

// keeps has scenarios in which one resource is kept, with what it needs and the
// project.
func keeps() map[string]scenario {
	all := map[string]scenario{}
	for name, kept := range map[string]string{
		"web-1":  "VM web-1; " + net1 + "; ",
		"lb-1":   "load balancer lb-1; " + net1 + "; ",
		"stray":  "VM stray; private subnet default-eu-central-h1; firewall default-eu-central-h1-default; ",
		"far":    "VM own/far; private subnet own/default-own; firewall own/default-own-default; private location own; ",
		"fw-1":   "firewall fw-1; ",
		"db-2":   "Postgres database db-2; ",
		"laptop": "SSH public key laptop; ",
		"own":    "private location own; ",
		"main":   "",
	} {
		all["kept: "+name] = scenario{before: deleteProject, keep: named(name), kept: kept + "project main"}
	}
	return all
}

// blindness has scenarios in which Run deletes no resource of which it can't find
// out what needs it, or which private location has the name in its path.
func blindness() map[string]scenario {
	all := map[string]scenario{}
	firewalls, subnets, location := []string{"/private-subnet/", "/firewall/"}, []string{"/private-subnet/"}, []string{"/location/own/", "/private-location/"}
	for _, tt := range []struct {
		list  string
		fault cloudapitest.Fault
		safe  []string
		among string
		err   error
	}{
		{"LoadBalancers.ListInLocation", forbidden, subnets, "failed private subnet net-1", cloudapi.ErrForbidden},
		{"LoadBalancers.ListInLocation", missing, subnets, "failed private subnet net-1", cloudapi.ErrInvalidResponse}, // every server has this list
		{"LoadBalancers.ListInLocation", hangs, subnets, "not tried private subnet net-1", context.DeadlineExceeded},
		{"PrivateSubnets.ListInLocation", missing, firewalls, "failed firewall fw-1", cloudapi.ErrInvalidResponse},
		{"PrivateSubnets.ListInLocation", broken, firewalls, "failed firewall fw-1", cloudapi.ErrServer},
		{"PrivateLocations.List", forbidden, location, "failed VM own/far", cloudapi.ErrForbidden},
		{"PrivateLocations.List", broken, location, "failed VM own/far", cloudapi.ErrServer},
		{"PrivateLocations.List", hangs, location, "not tried VM own/far", context.DeadlineExceeded},
	} {
		all[fmt.Sprintf("blind: %s, %v", tt.list, tt.err)] = scenario{between: fails(operation(tt.list), tt.fault), limit: time.Hour, safe: tt.safe, among: tt.among, errs: is(tt.err)}
	}
	return all
}

func failingServers() map[string]scenario {
	list := answer(`{"items":[],"count":0}`)
	return map[string]scenario{
		"lost responses":   {before: deleteProject, between: failing(1, cloudapitest.DropAfter())},
		"lost requests":    {before: deleteProject, between: firstOfEachOperation(cloudapitest.DropBefore())},
		"server errors":    {before: deleteProject, between: failing(5, broken)},
		"conflicts":        {before: deleteProject, between: failing(4, conflict)},
		"a pause of a day": {between: failing(1, cloudapitest.Reply(503, http.Header{"Retry-After": {"86400"}}, stub.Envelope(503)))},
		"failing polls": {between: func(_ *testing.T, p *scene) {
			p.Server.Fail(operation("Kubernetes.Get"), cloudapitest.Truncate(9), forbidden, gateway)
		}},
		"a deletion that takes minutes": {between: showsDeleting(30)},
		"a load balancer that is forbidden for a moment": {between: func(_ *testing.T, p *scene) { // when Run looks for it, and polls
			p.Server.Fail(operation("LoadBalancers.Get"), forbidden, forbidden)
		}},
		"a load balancer that is created while its subnet's deletion fails": { // which may have been executed
			at: func(p *scene, req *http.Request) bool {
				return req.Method == http.MethodDelete && strings.HasSuffix(req.URL.Path, p.Subnet.ID)
			},
			then: acts(newBalancer, func(_ *testing.T, p *scene) { p.Server.Fail(deletes(p.Subnet.ID), cloudapitest.Reply(503, nil, "")) }),
			want: "failed private subnet net-1; blocked firewall fw-1"},

		// These load balancers may be in any subnet, but not elsewhere.
		"a load balancer that is only in the list":   {between: acts(newBalancer, fails(operation("LoadBalancers.Get"), missing)), want: blocked(unnamed)},
		"a load balancer whose subnet is in no list": {between: acts(newBalancer, fails(listOf("PrivateSubnets"), list)), want: blocked(unnamed)},
		"a load balancer whose subnet is in no list under its new name": {
			before: func(t *testing.T, p *scene) { p.subnet(t, sdktest.Elsewhere, "renamed", "") },
			between: acts(newBalancer, func(t *testing.T, p *scene) {
				stub.Must(p.Client.PrivateSubnets.Rename(t.Context(), sdktest.Somewhere, p.Subnet.ID, "renamed"))(t)
			}, fails(listOf("PrivateSubnets"), list)),
			want: blocked(unnamed)},
		"a list of something else": {between: fails(listOf("LoadBalancers"), answer(`{"items":[`+stub.VM+`],"count":1}`)),
			want: "failed Kubernetes cluster k8s-1; failed Postgres database db-1; failed Postgres database db-2; " +
				strings.ReplaceAll(blocked(unnamed), "blocked private subnet", "failed private subnet")},
		"a load balancer that is deleted when Run looks for its subnet, and another": {
			between: acts(newBalancer, func(t *testing.T, p *scene) { p.balancer(t, "brief", p.Subnet.ID) }),
			at: func(p *scene, req *http.Request) bool {
				return req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/load-balancer/") && !strings.HasSuffix(req.URL.Path, p.Balancer.ID)
			},
			then: func(t *testing.T, p *scene) {
				if err := p.Client.LoadBalancers.Delete(t.Context(), sdktest.Somewhere, "brief"); err != nil {
					t.Error(err)
				}
			},
			others: called("brief"), want: blocked(net1), blocker: "load balancer new"},
	}
}

// deadlines has scenarios in which attempts fail until the context ends. The
// report says how they failed, besides that the context has ended.
func deadlines() map[string]scenario {
	unavailable, unread := sdktest.Refusal(503, "ServiceUnavailable"), cloudapitest.DropBefore()
	all := map[string]scenario{
		"deadline: a deletion that never ends": {between: showsDeleting(1e6), limit: time.Hour, least: time.Hour, text: `"deleting"`, errs: is(context.DeadlineExceeded),
			want: "under way VM web-1; not tried private subnet net-1; not tried firewall fw-1"},
		"deadline: a deletion without a response": {between: failsToDelete(theKey, hangs), limit: time.Hour, least: time.Hour,
			want: "failed SSH public key laptop", errs: is(context.DeadlineExceeded)},
	}
	for name, tt := range map[string]scenario{
		"a deletion that fails":                 {between: failsToDelete(theOtherPlace, unavailable), text: "503", errs: is(cloudapi.ErrServer)},
		"a deletion that is lost":               {between: failsToDelete(theOtherPlace, unread), text: "EOF"},
		"a deletion that is refused":            {between: failsToDelete(theOtherPlace, conflict), text: "409 DependencyError", errs: is(cloudapi.ErrConflict)},
		"a deletion that fails, and then hangs": {between: failsToDelete(theOtherPlace, gateway, hangs), text: "502", errs: is(cloudapi.ErrServer)},
		"a look that fails":                     {between: fails(operation("LoadBalancers.ListInLocation"), gateway), text: "LoadBalancers.ListInLocation", errs: is(cloudapi.ErrServer)},
		"a refusal, and then a look that hangs": {between: acts(failsToDelete(theOtherPlace, conflict), looksHangAfterADeletion), errs: is(cloudapi.ErrConflict)},
	} {
		tt.limit, tt.least, tt.among, tt.errs = 8*time.Second, 8*time.Second, "failed private subnet eu-north-h1/net-1", append(tt.errs, context.DeadlineExceeded)
		all["deadline: "+name] = tt
	}
	return all
}

// locations has scenarios in which a private location is renamed, and perhaps
// another one gets its old name. What was in the first one is deleted, and
// nothing in the other. For the location itself, Run can only check the name
// immediately before its deletion.
func locations() map[string]scenario {
	poll := func(_ *scene, req *http.Request) bool {
		return req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/location/own/vm/")
	}
	return map[string]scenario{
		"a location that is renamed during a wait":                  {at: poll, then: renameLocation},
		"a location that is replaced during a wait":                 {at: poll, then: replaceLocation},
		"a location that is renamed before a VM's deletion":         {at: deletion("/location/own/vm/"), then: renameLocation},
		"a location that is renamed before a firewall's deletion":   {at: deletion("/location/own/firewall/"), then: renameLocation},
		"a location that is renamed before its deletion":            {at: deletion("/private-location/own"), then: renameLocation},
		"a location that is replaced before a VM's deletion":        {at: deletion("/location/own/vm/"), then: replaceLocation},
		"a location that is replaced before a subnet's deletion":    {at: deletion("/location/own/private-subnet/"), then: replaceLocation},
		"a location that is replaced while Run looks for its users": {at: isListOfFirewalls, then: replaceLocation},
		"a location whose name can't be looked up again": {at: isListOfFirewalls, then: fails(operation("PrivateLocations.List"), forbidden),
			safe: []string{"/private-location/"}, want: "failed private location own", errs: is(cloudapi.ErrForbidden)},
		"a location that somebody else deletes meanwhile": {at: isListOfFirewalls, then: func(t *testing.T, p *scene) {
			if err := p.Client.PrivateLocations.Delete(t.Context(), "own"); err != nil {
				t.Error(err)
			}
		}},

		// The server keeps these locations for days, for their backups.
		"a location with backups": {project: newScene, before: databaseInOwnLocation, want: "under way private location own; blocked project main"},
		"a location with backups, which the server doesn't promise to delete": {before: databaseInOwnLocation,
			want: "failed private location own; blocked project main", errs: is(cloudapi.ErrServer)},
		"a location with backups, which the server refuses to delete": {project: newScene, before: databaseInOwnLocation,
			between: fails(operation("PrivateLocations.Delete"), conflict), want: "failed private location own; blocked project main", errs: is(cloudapi.ErrConflict)},
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
			deleted: []cloudapi.Kind{cloudapi.KindPrivateSubnet, cloudapi.KindFirewall}}, // net-1 and its default
	}
}

func clusters() map[string]scenario {
	return map[string]scenario{
		"a cluster": {},
		"a cluster whose load balancer the server can't list": {project: newUnlisted, before: deleteProject},
		"a cluster that is kept":                              {keep: isOwner, kept: cluster},
		"a cluster with a firewall that is kept":              {keep: isOwnersFirewall, kept: cluster},
		"a cluster in whose subnet a VM is kept":              {keep: named("inside"), kept: "VM inside; " + cluster},
		"a cluster that the token may not see": {keep: ofKind(""), before: permitsAllBut("KubernetesCluster"),
			kept: strings.Replace(cluster, "cluster apps", "cluster", 1)},
		"a cluster in whose subnet there is a new load balancer": {between: newBalancer, want: blocked(cluster), blocker: "load balancer new"},
		// The server keeps the subnet of the first, and the firewall of the second.
		"a cluster in whose subnet there is a new VM": {between: newVM, want: "blocked private subnet ID-subnet; blocked firewall fw-1", blocker: "VM new"},
		"a cluster whose firewall a new subnet uses": {between: func(t *testing.T, p *scene) {
			firewall := stub.Must(p.Client.Firewalls.Get(t.Context(), sdktest.Somewhere, p.owner+"-firewall"))(t)
			p.subnet(t, sdktest.Somewhere, "new", firewall.ID)
		}, want: "blocked firewall ID-firewall", blocker: "private subnet new"},
		"a cluster whose firewall a subnet uses": {before: attach},
		"a cluster whose firewall a kept subnet uses": {before: attach, keep: named("net-1"),
			kept: strings.Replace(cluster, "firewall fw-1", "private subnet net-1; firewall fw-1", 1) + "; firewall net-1-default"},
		"a cluster whose subnet was renamed":               {before: renameSubnet},
		"a cluster whose subnet is renamed after the plan": {between: renameSubnet},
		"a cluster in whose renamed subnet something is kept": { // the firewall would be deleted with the cluster
			before: acts(renameSubnet, func(t *testing.T, p *scene) { p.balancer(t, "kept", p.Subnet.ID) }),
			keep:   named("kept"), kept: "load balancer kept; " + strings.Replace(cluster, "subnet ID-subnet", "subnet renamed", 1)},
		"a firewall that is merely called like a cluster's":      {before: foreignFirewall},
		"a kept firewall that is merely called like a cluster's": {before: foreignFirewall, keep: isOwnersFirewall, kept: "firewall ID-firewall"},
		"names like those of the network of another cluster": {before: func(t *testing.T, p *scene) {
			other := cloudapitest.NewID(cloudapi.KindKubernetesCluster).String()
			p.balancer(t, other+"-services", p.subnet(t, sdktest.Somewhere, other+"-subnet", "").ID)
			p.firewall(t, sdktest.Elsewhere, p.owner+"-firewall")
			p.subnet(t, sdktest.Elsewhere, p.owner+"-subnet", "")
			p.subnet(t, sdktest.Somewhere, p.owner+"-firewall", "")
			in := p.subnet(t, sdktest.Somewhere, p.owner+"-services", "")
			p.balancer(t, p.owner+"-subnet", in.ID)
		}, keep: isOwner, kept: cluster},
		"a kept firewall of a cluster's subnet": {before: func(t *testing.T, p *scene) {
			firewall := p.firewall(t, sdktest.Somewhere, p.owner+"-subnet")
			stub.Must(p.Client.Firewalls.AttachSubnet(t.Context(), sdktest.Somewhere, firewall.ID, p.Subnet.ID))(t)
		}, keep: func(p *scene, r cloudapi.Resource) bool {
			return r.Kind == cloudapi.KindFirewall && r.Name == p.owner+"-subnet"
		},
			kept: "firewall ID-subnet"},
	}
}

func images() map[string]scenario {
	return map[string]scenario{
		"a machine image": {between: refuses("MachineImages.DeleteVersion", "/v2")},
		"a machine image that a kept VM needs": {keep: named("copy"),
			kept: "VM copy; machine image golden; private subnet default-eu-central-h1; firewall default-eu-central-h1-default"},
		"a machine image that is being copied from a VM, which the server doesn't delete": {between: func(t *testing.T, p *scene) {
			p.Server.SetDelays(cloudapi.KindMachineImageVersion, "", cloudapitest.Delays{Create: 5 * time.Second})
			stub.Must(p.Client.MachineImages.CreateVersion(t.Context(), sdktest.Somewhere, "golden", "v3", &cloudapi.MachineImageVersionCreateRequest{VMID: p.VM.ID}))(t)
		}},
		"a machine image that VMs may need": { // then its versions stay as well
			between: fails(listOf("VMs"), forbidden), safe: []string{"/version/"}, errs: is(cloudapi.ErrForbidden),
			want: "failed machine image golden; failed private subnet default-eu-central-h1; failed private subnet net-1; " +
				blocked("firewall default-eu-central-h1-default; firewall net-1-default")},
	}
}

func databases() map[string]scenario {
	// A subnet gets 6 attempts if the server refuses to delete it although there can
	// be no servers of a deleted database in it.
	far := scenario{project: newDatabaseAndVM, among: "failed private subnet eu-north-h1/far", errs: is(cloudapi.ErrConflict), attempts: 6}
	unread, undeleted := far, far
	far.between = failsToDelete(theOtherPlace, conflict)
	unread.between = acts(far.between, fails(operation("PrivateSubnets.Get"), forbidden))
	undeleted.between = acts(fails(operation("Postgres.Delete"), forbidden), func(t *testing.T, p *scene) {
		p.Server.Fail(deletes(p.net(t)), conflict.Repeating())
	})
	undeleted.among = "failed private subnet net-1"
	return map[string]scenario{
		"a database": {},
		"a database in whose subnet a load balancer is kept": {before: newBalancer, keep: named("new"), kept: "load balancer new; Postgres database orders; " + network},
		"a database in whose subnet there is a new load balancer": {between: newBalancer,
			want: blocked("Postgres database orders; " + network), blocker: "load balancer new"},
		"a load balancer that is merely called like a database's": {before: func(t *testing.T, p *scene) { p.balancer(t, p.owner+"-services", p.net(t)) }},
		"a database whose subnet was renamed":                     {before: renameSubnet},
		"a subnet that isn't in the database's location":          far,
		"a subnet whose record can't be read":                     unread,
		"a subnet beside a database that can't be deleted":        undeleted,
	}
}

// vacating has scenarios in which the servers of a deleted database stay in its
// subnet. Run waits until the context ends if the subnet shows "deleting", and
// otherwise for two minutes. The database itself takes 3 s, and a renamed subnet
// another 3 s.
func vacating() map[string]scenario {
	const second, never, renamed = time.Second, 1000 * time.Hour, "under way private subnet renamed"
	const unfinished = renamed + "; not tried firewall ID-firewall" // for which there was no time
	late, refused := is(context.DeadlineExceeded), is(cloudapi.ErrConflict, context.DeadlineExceeded)
	slow := func(_ *testing.T, p *scene) {
		p.Server.SetDelays(cloudapi.KindPrivateSubnet, p.Subnet.ID, cloudapitest.Delays{Delete: never})
	}
	return map[string]scenario{
		"servers that take 20 s":                      {before: vacates(20 * second), least: 23 * second, most: 38 * second},
		"servers that take 20 s, in a renamed subnet": {before: acts(renameSubnet, vacates(20*second)), least: 23 * second, most: 48 * second},
		"servers that take 110 s, in a renamed subnet, and an outage": {before: acts(renameSubnet, vacates(110*second), tenth(gateway)),
			least: 113 * second, most: 138 * second},
		"servers that never go": {before: vacates(never), limit: time.Hour, least: time.Hour, errs: late,
			want: "under way private subnet ID-subnet; not tried firewall ID-firewall"},
		"servers that never go, in a renamed subnet": {before: acts(renameSubnet, vacates(never)), least: 123 * second, most: 173 * second,
			want: renamed, errs: refused[:1]},
		"servers that never go, in a renamed subnet, until a deadline": {before: acts(renameSubnet, vacates(never)), limit: 63 * second, least: 63 * second,
			want: unfinished, errs: refused},
		"servers that never go, in a renamed subnet, and no response at the deadline": {before: acts(renameSubnet, vacates(never), tenth(hangs)),
			limit: 63 * second, least: 63 * second, want: unfinished, errs: refused},
		"servers that take 20 s, in a renamed subnet whose own deletion never ends": {before: acts(renameSubnet, vacates(20*second), slow),
			limit: 63 * second, least: 63 * second, want: unfinished, errs: late, not: cloudapi.ErrConflict},
	}
}

// links has scenarios in which a private link service goes before its database
// and its subnet, however long that takes.
func links() map[string]scenario {
	const most = 20 * time.Minute
	return map[string]scenario{
		"private link services": {keep: ofKind(cloudapi.KindPrivateLocation), kept: "private location own", most: most}, // it has backups
		"a database whose private link service is kept": {keep: named("link-of-db"), most: most,
			kept: "private link service own/link-of-db; Postgres database own/db; private subnet own/net; firewall own/ID-firewall; private location own"},
		"a subnet whose private link service is kept": {keep: named("link-of-vms"), most: most,
			kept: "private link service own/link-of-vms; private subnet own/vms; firewall own/vms-default; private location own"},
	}
}

// takenNames has scenarios in which a subnet gets the name of one that Run or
// somebody else has just deleted. It keeps the load balancer that isn't in the
// plan, whenever it gets the name.
func takenNames() map[string]scenario {
	all := map[string]scenario{}
	for name, deleted := range map[string]act{
		"deleted":                           func(*testing.T, *scene) {},
		"deleted, and the response is lost": func(_ *testing.T, p *scene) { p.Server.Fail(deletes(p.OtherPlace.ID), cloudapitest.DropAfter()) },
		"gone": func(t *testing.T, p *scene) {
			subnets := p.Client.PrivateSubnets
			if err := errors.Join(subnets.Delete(t.Context(), sdktest.Somewhere, "b"), subnets.WaitDeleted(t.Context(), sdktest.Somewhere, "b", nil)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for after := range int32(3) { // lists of load balancers
			all[fmt.Sprintf("a subnet with the name of one that is %s, after %d lists", name, after)] = scenario{
				between: acts(newBalancer, deleted),
				at: func(p *scene, req *http.Request) bool {
					if !strings.HasSuffix(req.URL.Path, "/location/"+sdktest.Somewhere+"/load-balancer") {
						return false
					}
					_, err := p.Client.PrivateSubnets.Get(context.Background(), sdktest.Somewhere, p.OtherPlace.ID)
					return cloudapi.IsGone(err) && p.lists.Add(1) == after+1
				},
				then: func(t *testing.T, p *scene) {
					stub.Must(p.Client.PrivateSubnets.Rename(t.Context(), sdktest.Somewhere, p.Subnet.ID, "b"))(t)
				},
				want: blocked("private subnet a; firewall a-default"), blocker: "load balancer new"}
		}
	}
	return all
}

// looksHangAfterADeletion lets the lists of load balancers hang elsewhere, once the
// subnet there has been requested to be deleted.
func looksHangAfterADeletion(t *testing.T, p *scene) {
	fails(cloudapitest.Match{Operation: "LoadBalancers.ListInLocation", Func: func(r cloudapitest.Request) bool {
		return strings.Contains(r.Path, sdktest.Elsewhere) && slices.ContainsFunc(p.Server.Requests(), func(r cloudapitest.Request) bool {
			return r.Method == http.MethodDelete && strings.HasSuffix(r.Path, p.OtherPlace.ID)
		})
	}}, hangs)(t, p)
}
