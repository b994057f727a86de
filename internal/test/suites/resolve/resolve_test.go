// Package resolve_test finds, lists and deletes resources of any kind.
package resolve_test

import (
	"errors"
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

// resolved is a resource, what Resolve returns for it, and the Lookup of its type.
type resolved struct {
	record any
	want   cloudapi.Resource
	name   string // the reference by name; "" if it has none
	lookup func(reference string) (any, error)
}

// of describes a resource that may be referred to by its name.
func of[T any, P interface {
	*T
	Resource() cloudapi.Resource
}](t *testing.T, client *cloudapi.Client, record P, kind cloudapi.Kind, id, reference string) resolved {
	location, name, _ := strings.Cut(reference, "/")
	if name == "" {
		location, name = "", reference
	}
	return resolved{record, cloudapi.Resource{Kind: kind, ID: id, Location: location, Name: name}, reference, func(reference string) (any, error) {
		return cloudapi.Lookup[T, P](t.Context(), client, reference)
	}}
}

// in describes a resource that is found only by its ID, and its parent, if it
// has one.
func (r resolved) in(parent *cloudapi.Resource) resolved {
	r.want.Parent, r.name = parent, ""
	return r
}

// check resolves a resource by all of its references, and fetches it.
func (r resolved) check(t *testing.T, client *cloudapi.Client) {
	t.Helper()
	references := []string{r.want.ID}
	if r.name != "" {
		references = append(references, r.name)
	}
	if r.want.Location != "" {
		references = append(references, r.want.Location+"/"+r.want.ID)
	}
	for _, reference := range references {
		got, err := client.Resolve(t.Context(), reference)
		if err != nil || !reflect.DeepEqual(*got, r.want) {
			t.Errorf("Resolve(%q) = %v, %v; want %v", reference, got, err, r.want)
			continue
		}
		if record, err := client.Fetch(t.Context(), *got); err != nil || !reflect.DeepEqual(record, r.record) {
			t.Errorf("Fetch(%v) = %+v, %v; want %+v", got, record, err, r.record)
		}
		if record, err := r.lookup(reference); err != nil || !reflect.DeepEqual(record, r.record) {
			t.Errorf("Lookup(%q) = %+v, %v; want %+v", reference, record, err, r.record)
		}
	}
}

// TestResolve resolves a resource of every kind by ID and, if it has one, by
// name, and fetches it.
func TestResolve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		c := p.Client
		project := stub.Must(c.Projects.Get(t.Context(), c.Project()))(t)
		subnet := of(t, c, p.Subnet, cloudapi.KindPrivateSubnet, p.Subnet.ID, "eu-central-h1/net-1")
		firewall := of(t, c, p.Firewall, cloudapi.KindFirewall, p.Firewall.ID, "eu-central-h1/fw-1")
		db := of(t, c, p.Postgres, cloudapi.KindPostgres, p.Postgres.ID, "eu-central-h1/db-1")
		cluster := of(t, c, p.Cluster, cloudapi.KindKubernetesCluster, p.Cluster.ID, "eu-central-h1/k8s-1")
		nic, pool, rule, metrics := &p.Subnet.NICs[0], &p.Cluster.NodePools[0], &p.Postgres.FirewallRules[0], &p.Postgres.MetricDestinations[0]
		for _, resource := range []resolved{
			subnet, firewall, db, cluster,
			of(t, c, p.VM, cloudapi.KindVM, p.VM.ID, "eu-central-h1/web-1"),
			of(t, c, p.OtherPlace, cloudapi.KindPrivateSubnet, p.OtherPlace.ID, "eu-north-h1/net-1"),
			of(t, c, p.Balancer, cloudapi.KindLoadBalancer, p.Balancer.ID, "eu-central-h1/lb-1"),
			of(t, c, p.Location, cloudapi.KindPrivateLocation, p.Location.ID, "own"),
			of(t, c, p.Key, cloudapi.KindSSHPublicKey, p.Key.ID, "laptop"),
			of(t, c, p.Script, cloudapi.KindVMInitScript, p.Script.ID, "setup"),
			of(t, c, p.Inference, cloudapi.KindInferenceAPIKey, p.Inference.ID, "").in(nil),
			of(t, c, project, cloudapi.KindProject, project.ID, project.Name).in(nil),
			of(t, c, p.Rule, cloudapi.KindFirewallRule, p.Rule.ID, "").in(&firewall.want),
			of(t, c, nic, cloudapi.KindNIC, nic.ID, nic.Name).in(&subnet.want),
			of(t, c, pool, cloudapi.KindKubernetesNodePool, pool.ID, "k8s-1-np").in(&cluster.want),
			of(t, c, rule, cloudapi.KindPostgresFirewallRule, rule.ID, "").in(&db.want),
			of(t, c, metrics, cloudapi.KindPostgresMetricDestination, metrics.ID, "").in(&db.want),
		} {
			resource.check(t, c)
		}
	})
}

// TestResolveMachineImages: an image is found by name and by ID, and a version
// by its ID, which only the list of versions contains.
func TestResolveMachineImages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, ctx := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service)).Client(), t.Context()
		vm := stub.Must(c.VMs.Create(ctx, sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		stub.Must(c.VMs.WaitRunning(ctx, sdktest.Somewhere, vm.ID, nil))(t)
		stub.Must(c.VMs.Stop(ctx, sdktest.Somewhere, vm.ID))(t)
		stub.Must(c.VMs.WaitStopped(ctx, sdktest.Somewhere, vm.ID, nil))(t)
		for _, name := range []string{"golden", "tin"} {
			stub.Must(c.MachineImages.Create(ctx, sdktest.Somewhere, name, &cloudapi.MachineImageCreateRequest{VMID: vm.ID, Version: "v1"}))(t)
			stub.Must(c.MachineImages.WaitVersion(ctx, sdktest.Somewhere, name, "v1", nil))(t)
		}
		for _, name := range []string{"golden", "tin"} {
			image := stub.Must(c.MachineImages.Get(ctx, sdktest.Somewhere, name))(t)
			version := stub.Must(cloudapi.Collect(c.MachineImages.AllVersions(ctx, sdktest.Somewhere, name, nil)))(t)[0]
			golden := of(t, c, image, cloudapi.KindMachineImage, image.ID, "eu-central-h1/"+name)
			golden.check(t, c)
			of(t, c, version, cloudapi.KindMachineImageVersion, version.ID, "v1").in(&golden.want).check(t, c)
		}
	})
}

// TestResolveRequests counts the requests that the documentation promises.
func TestResolveRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		requests := func(f func() error) int {
			t.Helper()
			before := len(p.Server.Requests())
			if err := f(); err != nil {
				t.Error(err)
			}
			return len(p.Server.Requests()) - before
		}
		for _, c := range []struct {
			what string
			want int
			f    func() error
		}{
			{"an ID", 1, func() error { _, err := p.Client.Resolve(t.Context(), p.VM.ID); return err }},
			{"a name of any kind", 8, func() error { _, err := p.Client.Resolve(t.Context(), "eu-central-h1/web-1"); return err }},
			{"a name of two kinds", 2, func() error {
				_, err := p.Client.Resolve(t.Context(), "eu-central-h1/web-1", cloudapi.KindVM, cloudapi.KindPostgres)
				return err
			}},
			{"a record by ID", 2, func() error { _, err := cloudapi.Lookup[cloudapi.VM](t.Context(), p.Client, p.VM.ID); return err }},
			{"a record by location and ID", 1, func() error {
				_, err := cloudapi.Lookup[cloudapi.VM](t.Context(), p.Client, "eu-central-h1/"+p.VM.ID)
				return err
			}},
			{"a record by name", 1, func() error {
				_, err := cloudapi.Lookup[cloudapi.VM](t.Context(), p.Client, "eu-central-h1/web-1")
				return err
			}},
			{"a load balancer by name", 2, func() error {
				_, err := cloudapi.Lookup[cloudapi.LoadBalancer](t.Context(), p.Client, "eu-central-h1/lb-1")
				return err
			}},
			{"a key by name", 1, func() error {
				_, err := cloudapi.Lookup[cloudapi.SSHPublicKey](t.Context(), p.Client, "laptop")
				return err
			}},
		} {
			if got := requests(c.f); got != c.want {
				t.Errorf("%s takes %d requests, want %d", c.what, got, c.want)
			}
		}
	})
}

func TestResolveFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		stub.Must(p.Client.VMs.Create(t.Context(), sdktest.Somewhere, "db-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		unbound := p.Client.InProject("")
		for _, c := range []struct {
			what      string
			client    *cloudapi.Client
			reference string
			kinds     []cloudapi.Kind
			want      error
		}{
			{"two of one name", p.Client, "eu-central-h1/db-1", nil, cloudapi.ErrAmbiguous},
			{"nobody's ID", p.Client, cloudapitest.NewID(cloudapi.KindVM).String(), nil, cloudapi.ErrNotFound},
			{"nobody's rule", p.Client, cloudapitest.NewID(cloudapi.KindPostgresFirewallRule).String(), nil, cloudapi.ErrNotFound},
			{"nobody's private location", p.Client, cloudapitest.NewID(cloudapi.KindPrivateLocation).String(), nil, cloudapi.ErrNotFound},
			{"an old ID of a metric destination", p.Client, cloudapitest.NewID(cloudapi.KindOther).String(), nil, cloudapi.ErrNotFound},
			{"an ID of a kind without a list", p.Client, cloudapitest.NewID(cloudapi.KindGitHubRepository).String(), nil, cloudapi.ErrInvalidArgument},
			{"nobody's name", p.Client, "eu-central-h1/nobody", nil, cloudapi.ErrNotFound},
			{"no location", p.Client, "nowhere/web-1", nil, cloudapi.ErrNotFound},
			{"a name of what is in a location", p.Client, "web-1", nil, cloudapi.ErrNotFound},
			{"another kind's name", p.Client, "eu-central-h1/web-1", []cloudapi.Kind{cloudapi.KindFirewall}, cloudapi.ErrNotFound},
			{"another kind's ID", p.Client, p.VM.ID, []cloudapi.Kind{cloudapi.KindFirewall}, cloudapi.ErrInvalidArgument},
			{"a kind that has no names", p.Client, "key", []cloudapi.Kind{cloudapi.KindInferenceAPIKey}, cloudapi.ErrInvalidArgument},
			{"a location for what is in none", p.Client, "eu-central-h1/laptop", []cloudapi.Kind{cloudapi.KindSSHPublicKey}, cloudapi.ErrInvalidArgument},
			{"a location for the ID of what is in none", p.Client, "eu-central-h1/" + p.Key.ID, nil, cloudapi.ErrInvalidArgument},
			{"what can be no name", p.Client, "eu-central-h1/Web_1", nil, cloudapi.ErrInvalidRequest},
			{"what can be no name in no location", p.Client, "Laptop", nil, cloudapi.ErrInvalidRequest},
			{"nothing", p.Client, "", nil, cloudapi.ErrInvalidArgument},
			{"no name", p.Client, "eu-central-h1/", nil, cloudapi.ErrInvalidArgument},
			{"no location", p.Client, "/web-1", nil, cloudapi.ErrInvalidArgument},
			{"too much", p.Client, "eu-central-h1/vm/web-1", nil, cloudapi.ErrInvalidArgument},
			{"a way out", p.Client, "../web-1", nil, cloudapi.ErrInvalidArgument},
			{"no project", unbound, p.VM.ID, nil, cloudapi.ErrNoProject},
			{"no project", unbound, "eu-central-h1/web-1", nil, cloudapi.ErrNoProject},
		} {
			got, err := c.client.Resolve(t.Context(), c.reference, c.kinds...)
			if got != nil || !errors.Is(err, c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: Resolve(%q) = %v, %v; want %v", c.what, c.reference, got, err, c.want)
			}
		}
		for reference, text := range map[string]string{"nowhere/web-1": "eu-central-h1", "web-1": "by location/name"} {
			if _, err := p.Client.Resolve(t.Context(), reference); !strings.Contains(err.Error(), text) {
				t.Errorf("the error does not have %q: %v", text, err)
			}
		}
		if _, err := cloudapi.Lookup[cloudapi.Postgres](t.Context(), p.Client, "db-1"); !strings.Contains(err.Error(), `["Postgres database"]`) {
			t.Errorf("the error does not name the kind: %v", err)
		}
		if _, err := cloudapi.Lookup[cloudapi.VM](t.Context(), p.Client, p.Server.Token()); strings.Contains(err.Error(), p.Server.Token()) {
			t.Errorf("the error has the token: %v", err)
		}
		if got, err := p.Client.Resolve(t.Context(), "eu-central-h1/db-1", cloudapi.KindPostgres); err != nil || got.ID != p.Postgres.ID {
			t.Errorf("with a kind it is %v, %v", got, err)
		}
		for _, r := range []cloudapi.Resource{
			{}, {Kind: "zz"}, {Kind: cloudapi.KindFirewallRule, ID: p.Rule.ID},
		} {
			if got, err := p.Client.Fetch(t.Context(), r); got != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
				t.Errorf("Fetch(%#v) = %v, %v", r, got, err)
			}
		}
		lost := cloudapi.Resource{Kind: cloudapi.KindFirewallRule, ID: cloudapitest.NewID(cloudapi.KindFirewallRule).String(),
			Parent: &cloudapi.Resource{Kind: cloudapi.KindFirewall, Location: sdktest.Somewhere}}
		for _, parent := range []string{p.Firewall.ID, cloudapitest.NewID(cloudapi.KindFirewall).String()} {
			lost.Parent.ID = parent
			if got, err := p.Client.Fetch(t.Context(), lost); got != nil || !errors.Is(err, cloudapi.ErrNotFound) {
				t.Errorf("Fetch(%v) = %v, %v", lost, got, err)
			}
		}

		// If a request fails, it's unknown whether the name is ambiguous, so Resolve
		// fails. If it's forbidden, Resolve still finds the resources that the token
		// may see.
		pool := cloudapitest.NewID(cloudapi.KindKubernetesNodePool).String()
		for operation, reference := range map[string]string{"Firewalls.Get": "eu-central-h1/web-1", "LoadBalancers.ListInLocation": "eu-central-h1/lb-1", "Kubernetes.Get": pool, "Kubernetes.List": pool} {
			p.Server.Fail(cloudapitest.Match{Operation: operation}, slices.Repeat([]cloudapitest.Fault{cloudapitest.Reply(500, nil, "")}, 4)...)
			if got, err := p.Client.Resolve(t.Context(), reference); got != nil || !errors.Is(err, cloudapi.ErrServer) {
				t.Errorf("with a failure %s is %v, %v", reference, got, err)
			}
		}
		forbidden := sdktest.Refusal(403, "Forbidden").Repeating()
		p.Server.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool { return !strings.Contains(r.Path, "/vm/") }}, forbidden)
		if got, err := p.Client.Resolve(t.Context(), "eu-central-h1/web-1"); err != nil || got.ID != p.VM.ID {
			t.Errorf("with 403 for other kinds it is %v, %v", got, err)
		}
		if got, err := cloudapi.Lookup[cloudapi.Firewall](t.Context(), p.Client, "eu-central-h1/fw-1"); got != nil || !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("403 for the only kind is %v, %v", got, err)
		}
	})
}

// TestResolveForbidden: with a token that may see nothing, an existing resource
// is forbidden, and another name isn't found.
func TestResolveForbidden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t, cloudapitest.WithTokenAccess("pat-blind", cloudapitest.AccessNone))
		blind := stub.Must(p.Client.With(cloudapi.WithToken("pat-blind")))(t)
		for reference, want := range map[string]error{
			"eu-central-h1/web-1":  cloudapi.ErrForbidden,
			"eu-central-h1/nobody": cloudapi.ErrNotFound,
		} {
			if got, err := blind.Resolve(t.Context(), reference); got != nil || !errors.Is(err, want) {
				t.Errorf("Resolve(%q) = %v, %v; want %v", reference, got, err, want)
			}
		}
	})
}

// TestResolveDuringDestruction: Resolve finds a node pool even if an earlier
// cluster is forbidden, as it may be while it's being destroyed.
func TestResolveDuringDestruction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		for _, name := range []string{"one", "two"} {
			stub.Must(client.Kubernetes.Create(t.Context(), sdktest.Somewhere, name, &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
		}
		clusters := stub.Must(cloudapi.Collect(client.Kubernetes.All(t.Context(), nil)))(t)
		wanted := stub.Must(client.Kubernetes.Get(t.Context(), sdktest.Somewhere, clusters[1].ID))(t)
		srv.Fail(cloudapitest.Match{Operation: "Kubernetes.Get"}, sdktest.Refusal(403, "Forbidden"))
		got, err := client.Resolve(t.Context(), wanted.NodePools[0].ID)
		if err != nil || got.Parent.ID != wanted.ID {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestResourceString(t *testing.T) {
	t.Parallel()
	firewall := cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: "fw1", Location: "eu", Name: "web"}
	for want, r := range map[string]cloudapi.Resource{
		"firewall eu/web (fw1)":                      firewall,
		"firewall rule fr1 of firewall eu/web (fw1)": {Kind: cloudapi.KindFirewallRule, ID: "fr1", Parent: &firewall},
		"SSH public key laptop (sk1)":                {Kind: cloudapi.KindSSHPublicKey, ID: "sk1", Name: "laptop"},
		"inference API key ak1":                      {Kind: cloudapi.KindInferenceAPIKey, ID: "ak1"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
