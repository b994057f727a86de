package cloudapi_test

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestResolve resolves the ID and, if it has one, the name of a resource of
// every kind, and fetches it.
func TestResolve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newEverything(t)
		project := stub.Must(p.client.Projects.Get(t.Context(), p.client.Project()))(t)
		cases := []struct {
			record any
			want   cloudapi.Resource
			name   string // "": it has none
		}{
			{p.vm, cloudapi.Resource{Kind: cloudapi.KindVM, ID: p.vm.ID, Location: somewhere, Name: "web-1"}, "eu-central-h1/web-1"},
			{p.subnet, cloudapi.Resource{Kind: cloudapi.KindPrivateSubnet, ID: p.subnet.ID, Location: somewhere, Name: "net-1"}, "eu-central-h1/net-1"},
			{p.otherPlace, cloudapi.Resource{Kind: cloudapi.KindPrivateSubnet, ID: p.otherPlace.ID, Location: elsewhere, Name: "net-1"}, "eu-north-h1/net-1"},
			{p.firewall, cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: p.firewall.ID, Location: somewhere, Name: "fw-1"}, "eu-central-h1/fw-1"},
			{p.balancer, cloudapi.Resource{Kind: cloudapi.KindLoadBalancer, ID: p.balancer.ID, Location: somewhere, Name: "lb-1"}, "eu-central-h1/lb-1"},
			{p.postgres, cloudapi.Resource{Kind: cloudapi.KindPostgres, ID: p.postgres.ID, Location: somewhere, Name: "db-1"}, "eu-central-h1/db-1"},
			{p.cluster, cloudapi.Resource{Kind: cloudapi.KindKubernetesCluster, ID: p.cluster.ID, Location: somewhere, Name: "k8s-1"}, "eu-central-h1/k8s-1"},
			{p.location, cloudapi.Resource{Kind: cloudapi.KindPrivateLocation, ID: p.location.ID, Name: "own"}, "own"},
			{p.key, cloudapi.Resource{Kind: cloudapi.KindSSHPublicKey, ID: p.key.ID, Name: "laptop"}, "laptop"},
			{p.script, cloudapi.Resource{Kind: cloudapi.KindVMInitScript, ID: p.script.ID, Name: "setup"}, "setup"},
			{p.inference, cloudapi.Resource{Kind: cloudapi.KindInferenceAPIKey, ID: p.inference.ID}, ""},
			{project, cloudapi.Resource{Kind: cloudapi.KindProject, ID: project.ID, Name: project.Name}, ""},
			{p.rule, cloudapi.Resource{Kind: cloudapi.KindFirewallRule, ID: p.rule.ID,
				Parent: &cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: p.firewall.ID, Location: somewhere, Name: "fw-1"}}, ""},
			{&p.subnet.NICs[0], cloudapi.Resource{Kind: cloudapi.KindNIC, ID: p.subnet.NICs[0].ID, Name: p.subnet.NICs[0].Name,
				Parent: &cloudapi.Resource{Kind: cloudapi.KindPrivateSubnet, ID: p.subnet.ID, Location: somewhere, Name: "net-1"}}, ""},
			{&p.cluster.NodePools[0], cloudapi.Resource{Kind: cloudapi.KindKubernetesNodePool, ID: p.cluster.NodePools[0].ID, Name: "k8s-1-np",
				Parent: &cloudapi.Resource{Kind: cloudapi.KindKubernetesCluster, ID: p.cluster.ID, Location: somewhere, Name: "k8s-1"}}, ""},
			{&p.postgres.FirewallRules[0], cloudapi.Resource{Kind: cloudapi.KindPostgresFirewallRule, ID: p.postgres.FirewallRules[0].ID,
				Parent: &cloudapi.Resource{Kind: cloudapi.KindPostgres, ID: p.postgres.ID, Location: somewhere, Name: "db-1"}}, ""},
			{&p.postgres.MetricDestinations[0], cloudapi.Resource{Kind: cloudapi.KindPostgresMetricDestination, ID: p.postgres.MetricDestinations[0].ID,
				Parent: &cloudapi.Resource{Kind: cloudapi.KindPostgres, ID: p.postgres.ID, Location: somewhere, Name: "db-1"}}, ""},
		}
		for _, c := range cases {
			references := []string{c.want.ID}
			if c.name != "" {
				references = append(references, c.name)
			}
			if c.want.Location != "" {
				references = append(references, c.want.Location+"/"+c.want.ID)
			}
			for _, reference := range references {
				got, err := p.client.Resolve(t.Context(), reference)
				if err != nil || !reflect.DeepEqual(*got, c.want) {
					t.Errorf("Resolve(%q) = %v, %v; want %v", reference, got, err, c.want)
					continue
				}
				record, err := p.client.Fetch(t.Context(), *got)
				if err != nil || !reflect.DeepEqual(record, c.record) {
					t.Errorf("Fetch(%v) = %+v, %v; want %+v", got, record, err, c.record)
				}
				record, err = lookup(t, p.client, reference, c.record)
				if err != nil || !reflect.DeepEqual(record, c.record) {
					t.Errorf("Lookup(%q) = %+v, %v; want %+v", reference, record, err, c.record)
				}
			}
		}
	})
}

// lookup calls Lookup for the type of the record.
func lookup(t *testing.T, client *cloudapi.Client, reference string, record any) (any, error) {
	t.Helper()
	switch record.(type) {
	case *cloudapi.Firewall:
		return cloudapi.Lookup[cloudapi.Firewall](t.Context(), client, reference)
	case *cloudapi.FirewallRule:
		return cloudapi.Lookup[cloudapi.FirewallRule](t.Context(), client, reference)
	case *cloudapi.InferenceAPIKey:
		return cloudapi.Lookup[cloudapi.InferenceAPIKey](t.Context(), client, reference)
	case *cloudapi.KubernetesCluster:
		return cloudapi.Lookup[cloudapi.KubernetesCluster](t.Context(), client, reference)
	case *cloudapi.KubernetesNodePool:
		return cloudapi.Lookup[cloudapi.KubernetesNodePool](t.Context(), client, reference)
	case *cloudapi.LoadBalancer:
		return cloudapi.Lookup[cloudapi.LoadBalancer](t.Context(), client, reference)
	case *cloudapi.NIC:
		return cloudapi.Lookup[cloudapi.NIC](t.Context(), client, reference)
	case *cloudapi.Postgres:
		return cloudapi.Lookup[cloudapi.Postgres](t.Context(), client, reference)
	case *cloudapi.PostgresFirewallRule:
		return cloudapi.Lookup[cloudapi.PostgresFirewallRule](t.Context(), client, reference)
	case *cloudapi.PostgresMetricDestination:
		return cloudapi.Lookup[cloudapi.PostgresMetricDestination](t.Context(), client, reference)
	case *cloudapi.PrivateLocation:
		return cloudapi.Lookup[cloudapi.PrivateLocation](t.Context(), client, reference)
	case *cloudapi.PrivateSubnet:
		return cloudapi.Lookup[cloudapi.PrivateSubnet](t.Context(), client, reference)
	case *cloudapi.Project:
		return cloudapi.Lookup[cloudapi.Project](t.Context(), client, reference)
	case *cloudapi.SSHPublicKey:
		return cloudapi.Lookup[cloudapi.SSHPublicKey](t.Context(), client, reference)
	case *cloudapi.VM:
		return cloudapi.Lookup[cloudapi.VM](t.Context(), client, reference)
	case *cloudapi.VMInitScript:
		return cloudapi.Lookup[cloudapi.VMInitScript](t.Context(), client, reference)
	}
	t.Fatalf("no Lookup for %T", record)
	return nil, nil
}

// TestResolveRequests counts the requests that the documentation promises.
func TestResolveRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newEverything(t)
		requests := func(f func() error) int {
			t.Helper()
			before := len(p.srv.Requests())
			if err := f(); err != nil {
				t.Error(err)
			}
			return len(p.srv.Requests()) - before
		}
		for _, c := range []struct {
			what string
			want int
			f    func() error
		}{
			{"an ID", 1, func() error { _, err := p.client.Resolve(t.Context(), p.vm.ID); return err }},
			{"a name of any kind", 7, func() error { _, err := p.client.Resolve(t.Context(), "eu-central-h1/web-1"); return err }},
			{"a name of two kinds", 2, func() error {
				_, err := p.client.Resolve(t.Context(), "eu-central-h1/web-1", cloudapi.KindVM, cloudapi.KindPostgres)
				return err
			}},
			{"a record by ID", 2, func() error { _, err := cloudapi.Lookup[cloudapi.VM](t.Context(), p.client, p.vm.ID); return err }},
			{"a record by location and ID", 1, func() error {
				_, err := cloudapi.Lookup[cloudapi.VM](t.Context(), p.client, "eu-central-h1/"+p.vm.ID)
				return err
			}},
			{"a record by name", 1, func() error {
				_, err := cloudapi.Lookup[cloudapi.VM](t.Context(), p.client, "eu-central-h1/web-1")
				return err
			}},
			{"a load balancer by name", 2, func() error {
				_, err := cloudapi.Lookup[cloudapi.LoadBalancer](t.Context(), p.client, "eu-central-h1/lb-1")
				return err
			}},
			{"a key by name", 1, func() error {
				_, err := cloudapi.Lookup[cloudapi.SSHPublicKey](t.Context(), p.client, "laptop")
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
		p := newEverything(t)
		stub.Must(p.client.VMs.Create(t.Context(), somewhere, "db-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		unbound := p.client.InProject("")
		for _, c := range []struct {
			what      string
			client    *cloudapi.Client
			reference string
			kinds     []cloudapi.Kind
			want      error
		}{
			{"two of one name", p.client, "eu-central-h1/db-1", nil, cloudapi.ErrAmbiguous},
			{"nobody's ID", p.client, cloudapi.NewID(cloudapi.KindVM).String(), nil, cloudapi.ErrNotFound},
			{"nobody's rule", p.client, cloudapi.NewID(cloudapi.KindPostgresFirewallRule).String(), nil, cloudapi.ErrNotFound},
			{"nobody's private location", p.client, cloudapi.NewID(cloudapi.KindPrivateLocation).String(), nil, cloudapi.ErrNotFound},
			{"an old ID of a metric destination", p.client, cloudapi.NewID(cloudapi.KindOther).String(), nil, cloudapi.ErrNotFound},
			{"an ID of a kind without a list", p.client, cloudapi.NewID(cloudapi.KindGitHubRepository).String(), nil, cloudapi.ErrInvalidArgument},
			{"nobody's name", p.client, "eu-central-h1/nobody", nil, cloudapi.ErrNotFound},
			{"no location", p.client, "nowhere/web-1", nil, cloudapi.ErrNotFound},
			{"a name of what is in a location", p.client, "web-1", nil, cloudapi.ErrNotFound},
			{"another kind's name", p.client, "eu-central-h1/web-1", []cloudapi.Kind{cloudapi.KindFirewall}, cloudapi.ErrNotFound},
			{"another kind's ID", p.client, p.vm.ID, []cloudapi.Kind{cloudapi.KindFirewall}, cloudapi.ErrInvalidArgument},
			{"a kind that has no names", p.client, "key", []cloudapi.Kind{cloudapi.KindInferenceAPIKey}, cloudapi.ErrInvalidArgument},
			{"a location for what is in none", p.client, "eu-central-h1/laptop", []cloudapi.Kind{cloudapi.KindSSHPublicKey}, cloudapi.ErrInvalidArgument},
			{"a location for the ID of what is in none", p.client, "eu-central-h1/" + p.key.ID, nil, cloudapi.ErrInvalidArgument},
			{"what can be no name", p.client, "eu-central-h1/Web_1", nil, cloudapi.ErrInvalidRequest},
			{"what can be no name in no location", p.client, "Laptop", nil, cloudapi.ErrInvalidRequest},
			{"nothing", p.client, "", nil, cloudapi.ErrInvalidArgument},
			{"no name", p.client, "eu-central-h1/", nil, cloudapi.ErrInvalidArgument},
			{"no location", p.client, "/web-1", nil, cloudapi.ErrInvalidArgument},
			{"too much", p.client, "eu-central-h1/vm/web-1", nil, cloudapi.ErrInvalidArgument},
			{"a way out", p.client, "../web-1", nil, cloudapi.ErrInvalidArgument},
			{"no project", unbound, p.vm.ID, nil, cloudapi.ErrNoProject},
			{"no project", unbound, "eu-central-h1/web-1", nil, cloudapi.ErrNoProject},
		} {
			got, err := c.client.Resolve(t.Context(), c.reference, c.kinds...)
			if got != nil || !errors.Is(err, c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: Resolve(%q) = %v, %v; want %v", c.what, c.reference, got, err, c.want)
			}
		}
		if _, err := p.client.Resolve(t.Context(), "nowhere/web-1"); !strings.Contains(err.Error(), "eu-central-h1") {
			t.Errorf("the error does not name the locations: %v", err)
		}
		if _, err := cloudapi.Lookup[cloudapi.Postgres](t.Context(), p.client, "db-1"); !strings.Contains(err.Error(), `["Postgres database"]`) {
			t.Errorf("the error does not name the kind: %v", err)
		}
		if _, err := cloudapi.Lookup[cloudapi.VM](t.Context(), p.client, p.srv.Token()); strings.Contains(err.Error(), p.srv.Token()) {
			t.Errorf("the error has the token: %v", err)
		}
		if got, err := p.client.Resolve(t.Context(), "eu-central-h1/db-1", cloudapi.KindPostgres); err != nil || got.ID != p.postgres.ID {
			t.Errorf("with a kind it is %v, %v", got, err)
		}
		for _, r := range []cloudapi.Resource{
			{}, {Kind: "zz"}, {Kind: cloudapi.KindFirewallRule, ID: p.rule.ID},
		} {
			if got, err := p.client.Fetch(t.Context(), r); got != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
				t.Errorf("Fetch(%#v) = %v, %v", r, got, err)
			}
		}
		lost := cloudapi.Resource{Kind: cloudapi.KindFirewallRule, ID: cloudapi.NewID(cloudapi.KindFirewallRule).String(),
			Parent: &cloudapi.Resource{Kind: cloudapi.KindFirewall, Location: somewhere, ID: p.firewall.ID}}
		if got, err := p.client.Fetch(t.Context(), lost); got != nil || !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("Fetch(%v) = %v, %v", lost, got, err)
		}

		// A visible resource is found although others are forbidden. After a
		// failure it is not known whether the name is ambiguous.
		forbidden := cloudapitest.Reply(403, http.Header{"Content-Type": {"application/json"}},
			`{"error":{"code":403,"type":"Forbidden","message":"x"}}`)
		p.srv.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool { return !strings.Contains(r.Path, "/vm/") }}, forbidden.Repeating())
		if got, err := p.client.Resolve(t.Context(), "eu-central-h1/web-1"); err != nil || got.ID != p.vm.ID {
			t.Errorf("with 403 for other kinds it is %v, %v", got, err)
		}
		if got, err := cloudapi.Lookup[cloudapi.Firewall](t.Context(), p.client, "eu-central-h1/fw-1"); got != nil || !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("403 for the only kind is %v, %v", got, err)
		}
	})
}

// TestResolveForbidden: the token may see nothing, so that existing resources
// are forbidden.
func TestResolveForbidden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newEverything(t, cloudapitest.WithTokenAccess("pat-blind", cloudapitest.AccessNone))
		blind := stub.Must(p.client.With(cloudapi.WithToken("pat-blind")))(t)
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

// TestResolveDuringDestruction: a cluster is forbidden, as while it is
// destroyed, and the node pool that is looked for belongs to a later one in the
// list.
func TestResolveDuringDestruction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		for _, name := range []string{"one", "two"} {
			stub.Must(client.Kubernetes.Create(t.Context(), somewhere, name, &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
		}
		clusters := stub.Must(cloudapi.Collect(client.Kubernetes.All(t.Context(), nil)))(t)
		wanted := stub.Must(client.Kubernetes.Get(t.Context(), somewhere, clusters[1].ID))(t)
		srv.Fail(cloudapitest.Match{Operation: "Kubernetes.Get"}, envelope(403, "Forbidden"))
		got, err := client.Resolve(t.Context(), wanted.NodePools[0].ID)
		if err != nil || got.Parent.ID != wanted.ID {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestResolveTwins: two load balancers in a location have the same name. The
// server may return either.
func TestResolveTwins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t).Client()
		for _, name := range []string{"one", "two"} {
			subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), somewhere, name, nil))(t)
			stub.Must(client.LoadBalancers.Create(t.Context(), somewhere, "lb-1", balancerIn(subnet.ID)))(t)
		}
		if got, err := client.Resolve(t.Context(), "eu-central-h1/lb-1"); got != nil || !errors.Is(err, cloudapi.ErrAmbiguous) {
			t.Errorf("Resolve = %v, %v", got, err)
		}
		if got, err := cloudapi.Lookup[cloudapi.LoadBalancer](t.Context(), client, "eu-central-h1/lb-1"); got != nil || !errors.Is(err, cloudapi.ErrAmbiguous) {
			t.Errorf("Lookup = %v, %v", got, err)
		}
	})
}

func TestResolveDoesNotGuess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newEverything(t)
		p.srv.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool { return strings.Contains(r.Path, "/firewall/") }},
			cloudapitest.Reply(500, nil, "").Repeating())
		if got, err := p.client.Resolve(t.Context(), "eu-central-h1/web-1"); got != nil || !errors.Is(err, cloudapi.ErrServer) {
			t.Errorf("with a failure it is %v, %v", got, err)
		}
	})
}

func TestParseReference(t *testing.T) {
	t.Parallel()
	id := cloudapi.NewID(cloudapi.KindVM).String()
	for s, want := range map[string]cloudapi.Reference{
		id:                      {ID: id},
		"eu-central-h1/web-1":   {Location: "eu-central-h1", Name: "web-1"},
		"eu-central-h1/" + id:   {Location: "eu-central-h1", ID: id},
		"laptop":                {Name: "laptop"},
		strings.Repeat("W", 26): {Name: strings.Repeat("W", 26)},

		// This could be an ID, but also a name.
		"vmo64pbm96ba3grq6vbsvjb3ax":               {Name: "vmo64pbm96ba3grq6vbsvjb3ax"},
		"eu-central-h1/lbo9fd2wvdjtih8h6h32k8re7m": {Location: "eu-central-h1", Name: "lbo9fd2wvdjtih8h6h32k8re7m"},
		"Vmo64pbm96ba3grq6vbsvjb3ax":               {Name: "Vmo64pbm96ba3grq6vbsvjb3ax"},
	} {
		got, err := cloudapi.ParseReference(s)
		if err != nil || got != want || got.String() != s {
			t.Errorf("ParseReference(%q) = %#v, %v; as text %q", s, got, err, got)
		}
	}
	for s, want := range map[string]cloudapi.Reference{
		strings.ToUpper(id):                    {ID: id},
		"eu-central-h1/" + strings.ToUpper(id): {ID: id, Location: "eu-central-h1"},
		"VMO64PBM96BA3GRQ6VBSVJB3AX":           {ID: "vm064pbm96ba3grq6vbsvjb3ax"},
	} {
		if got, err := cloudapi.ParseReference(s); err != nil || got != want {
			t.Errorf("ParseReference(%q) = %#v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "/", "a/", "/a", "a/b/c", "a b", ".", "..", "a/..", "../a", "a\x00", "ä"} {
		if got, err := cloudapi.ParseReference(s); got != (cloudapi.Reference{}) || !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("ParseReference(%q) = %#v, %v", s, got, err)
		}
	}
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
