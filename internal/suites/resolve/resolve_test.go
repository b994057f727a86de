// Package resolve_test finds, lists and deletes resources of any kind.
package resolve_test

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestResolve resolves the ID and, if it has one, the name of a resource of
// every kind, and fetches it.
func TestResolve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		project := stub.Must(p.Client.Projects.Get(t.Context(), p.Client.Project()))(t)
		cases := []struct {
			record any
			want   cloudapi.Resource
			name   string // "" if it has none
		}{
			{p.VM, cloudapi.Resource{Kind: cloudapi.KindVM, ID: p.VM.ID, Location: sdktest.Somewhere, Name: "web-1"}, "eu-central-h1/web-1"},
			{p.Subnet, cloudapi.Resource{Kind: cloudapi.KindPrivateSubnet, ID: p.Subnet.ID, Location: sdktest.Somewhere, Name: "net-1"}, "eu-central-h1/net-1"},
			{p.OtherPlace, cloudapi.Resource{Kind: cloudapi.KindPrivateSubnet, ID: p.OtherPlace.ID, Location: sdktest.Elsewhere, Name: "net-1"}, "eu-north-h1/net-1"},
			{p.Firewall, cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: p.Firewall.ID, Location: sdktest.Somewhere, Name: "fw-1"}, "eu-central-h1/fw-1"},
			{p.Balancer, cloudapi.Resource{Kind: cloudapi.KindLoadBalancer, ID: p.Balancer.ID, Location: sdktest.Somewhere, Name: "lb-1"}, "eu-central-h1/lb-1"},
			{p.Postgres, cloudapi.Resource{Kind: cloudapi.KindPostgres, ID: p.Postgres.ID, Location: sdktest.Somewhere, Name: "db-1"}, "eu-central-h1/db-1"},
			{p.Cluster, cloudapi.Resource{Kind: cloudapi.KindKubernetesCluster, ID: p.Cluster.ID, Location: sdktest.Somewhere, Name: "k8s-1"}, "eu-central-h1/k8s-1"},
			{p.Location, cloudapi.Resource{Kind: cloudapi.KindPrivateLocation, ID: p.Location.ID, Name: "own"}, "own"},
			{p.Key, cloudapi.Resource{Kind: cloudapi.KindSSHPublicKey, ID: p.Key.ID, Name: "laptop"}, "laptop"},
			{p.Script, cloudapi.Resource{Kind: cloudapi.KindVMInitScript, ID: p.Script.ID, Name: "setup"}, "setup"},
			{p.Inference, cloudapi.Resource{Kind: cloudapi.KindInferenceAPIKey, ID: p.Inference.ID}, ""},
			{project, cloudapi.Resource{Kind: cloudapi.KindProject, ID: project.ID, Name: project.Name}, ""},
			{p.Rule, cloudapi.Resource{Kind: cloudapi.KindFirewallRule, ID: p.Rule.ID,
				Parent: &cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: p.Firewall.ID, Location: sdktest.Somewhere, Name: "fw-1"}}, ""},
			{&p.Subnet.NICs[0], cloudapi.Resource{Kind: cloudapi.KindNIC, ID: p.Subnet.NICs[0].ID, Name: p.Subnet.NICs[0].Name,
				Parent: &cloudapi.Resource{Kind: cloudapi.KindPrivateSubnet, ID: p.Subnet.ID, Location: sdktest.Somewhere, Name: "net-1"}}, ""},
			{&p.Cluster.NodePools[0], cloudapi.Resource{Kind: cloudapi.KindKubernetesNodePool, ID: p.Cluster.NodePools[0].ID, Name: "k8s-1-np",
				Parent: &cloudapi.Resource{Kind: cloudapi.KindKubernetesCluster, ID: p.Cluster.ID, Location: sdktest.Somewhere, Name: "k8s-1"}}, ""},
			{&p.Postgres.FirewallRules[0], cloudapi.Resource{Kind: cloudapi.KindPostgresFirewallRule, ID: p.Postgres.FirewallRules[0].ID,
				Parent: &cloudapi.Resource{Kind: cloudapi.KindPostgres, ID: p.Postgres.ID, Location: sdktest.Somewhere, Name: "db-1"}}, ""},
			{&p.Postgres.MetricDestinations[0], cloudapi.Resource{Kind: cloudapi.KindPostgresMetricDestination, ID: p.Postgres.MetricDestinations[0].ID,
				Parent: &cloudapi.Resource{Kind: cloudapi.KindPostgres, ID: p.Postgres.ID, Location: sdktest.Somewhere, Name: "db-1"}}, ""},
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
				got, err := p.Client.Resolve(t.Context(), reference)
				if err != nil || !reflect.DeepEqual(*got, c.want) {
					t.Errorf("Resolve(%q) = %v, %v; want %v", reference, got, err, c.want)
					continue
				}
				record, err := p.Client.Fetch(t.Context(), *got)
				if err != nil || !reflect.DeepEqual(record, c.record) {
					t.Errorf("Fetch(%v) = %+v, %v; want %+v", got, record, err, c.record)
				}
				record, err = lookup(t, p.Client, reference, c.record)
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
			{"a name of any kind", 7, func() error { _, err := p.Client.Resolve(t.Context(), "eu-central-h1/web-1"); return err }},
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
		if _, err := p.Client.Resolve(t.Context(), "nowhere/web-1"); !strings.Contains(err.Error(), "eu-central-h1") {
			t.Errorf("the error does not name the locations: %v", err)
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
			Parent: &cloudapi.Resource{Kind: cloudapi.KindFirewall, Location: sdktest.Somewhere, ID: p.Firewall.ID}}
		if got, err := p.Client.Fetch(t.Context(), lost); got != nil || !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("Fetch(%v) = %v, %v", lost, got, err)
		}

		// A visible resource is found although others are forbidden. After a
		// failure, it's unknown whether the name is ambiguous.
		forbidden := cloudapitest.Reply(403, http.Header{"Content-Type": {"application/json"}},
			`{"error":{"code":403,"type":"Forbidden","message":"x"}}`)
		p.Server.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool { return !strings.Contains(r.Path, "/vm/") }}, forbidden.Repeating())
		if got, err := p.Client.Resolve(t.Context(), "eu-central-h1/web-1"); err != nil || got.ID != p.VM.ID {
			t.Errorf("with 403 for other kinds it is %v, %v", got, err)
		}
		if got, err := cloudapi.Lookup[cloudapi.Firewall](t.Context(), p.Client, "eu-central-h1/fw-1"); got != nil || !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("403 for the only kind is %v, %v", got, err)
		}
	})
}

// TestResolveForbidden: the token may see nothing, so existing resources are
// forbidden.
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

// TestResolveDuringDestruction: a cluster is forbidden, as it may be while it's
// being destroyed, and the node pool belongs to a later cluster of the list.
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

// TestResolveTwins: two load balancers in a location have the same name. The
// server may return either.
func TestResolveTwins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t).Client()
		for _, name := range []string{"one", "two"} {
			subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, name, nil))(t)
			stub.Must(client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "lb-1", sdktest.BalancerIn(subnet.ID)))(t)
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
		p := sdktest.NewEverything(t)
		p.Server.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool { return strings.Contains(r.Path, "/firewall/") }},
			cloudapitest.Reply(500, nil, "").Repeating())
		if got, err := p.Client.Resolve(t.Context(), "eu-central-h1/web-1"); got != nil || !errors.Is(err, cloudapi.ErrServer) {
			t.Errorf("with a failure it is %v, %v", got, err)
		}
	})
}

func TestParseReference(t *testing.T) {
	t.Parallel()
	id := cloudapitest.NewID(cloudapi.KindVM).String()
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

const (
	projectPath     = "/project/" + stub.Project
	testImageID     = "m14f5v56byre4n6hhfmcm0thd1"
	testImageJSON   = `{"id":"` + testImageID + `","name":"golden","location":"eu-central-h1","arch":"x64","latest_version":"v1","created_at":"2026-11-22T03:07:36Z"}`
	testOtherImage  = "m1rq4vgtndee2mdnmbckfjjg7y"
	testVersionID   = "mv3jb6qjryhy2gznk3ksvganvv"
	testVersionJSON = `{"id":"` + testVersionID + `","version":"v1","state":"ready","actual_size_mib":40960,"archive_size_mib":5123,"created_at":"2026-11-22T03:07:36Z","latest":true}`
)

// TestResolveMachineImages: an image is found by name and by ID, and a version
// by its ID, which only the list of versions contains.
func TestResolveMachineImages(t *testing.T) {
	t.Parallel()
	network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
		switch path := strings.TrimPrefix(req.URL.Path, projectPath); path {
		case "/machine-image":
			return stub.Respond(200, `{"items":[{"id":"`+testOtherImage+`","name":"tin","location":"eu-north-h1"},`+testImageJSON+`],"count":2}`), nil
		case "/location/eu-central-h1/machine-image":
			return stub.Respond(200, `{"items":[`+testImageJSON+`],"count":1}`), nil
		case "/location/eu-central-h1/machine-image/golden", "/location/eu-central-h1/machine-image/" + testImageID:
			return stub.Respond(200, testImageJSON), nil
		case "/location/eu-north-h1/machine-image/" + testOtherImage + "/version":
			return stub.Respond(200, `{"items":[],"count":0}`), nil
		case "/location/eu-central-h1/machine-image/" + testImageID + "/version":
			return stub.Respond(200, `{"items":[`+testVersionJSON+`],"count":1}`), nil
		case "/object-info/" + testImageID:
			return stub.Respond(200, `{"type":"machine image","location":"eu-central-h1","name":"golden"}`), nil
		}
		return stub.Respond(404, stub.Envelope(404)), nil
	}}
	client := sdktest.Recorded(t, &network)
	image := cloudapi.Resource{Kind: cloudapi.KindMachineImage, ID: testImageID, Location: "eu-central-h1", Name: "golden"}
	for _, reference := range []string{testImageID, "eu-central-h1/golden", "eu-central-h1/" + testImageID} {
		if got, err := client.Resolve(t.Context(), reference); err != nil || *got != image {
			t.Errorf("%s is %v, %v", reference, got, err)
		}
		if got, err := cloudapi.Lookup[cloudapi.MachineImage](t.Context(), client, reference); err != nil || got.LatestVersion != "v1" {
			t.Errorf("%s is %+v, %v", reference, got, err)
		}
	}
	for _, reference := range []string{testVersionID, "eu-central-h1/" + testVersionID} {
		got, err := client.Resolve(t.Context(), reference)
		if err != nil || got.Kind != cloudapi.KindMachineImageVersion || got.Name != "v1" || *got.Parent != image {
			t.Errorf("%s is %v, %v", reference, got, err)
			continue
		}
		if version, err := client.Fetch(t.Context(), *got); err != nil || version.(*cloudapi.MachineImageVersion).ArchiveSizeMiB != 5123 {
			t.Errorf("%s is %+v, %v", reference, version, err)
		}
	}
}
