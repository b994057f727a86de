package ensure_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestMatches: a rule matches the request that created it, even if the server
// writes it in another way.
func TestMatches(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	firewall := stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, "edge", nil))(t)
	for _, wanted := range []cloudapi.FirewallRuleCreateRequest{
		{CIDR: "10.1.2.3"}, {CIDR: "fd00::1", PortRange: "22"}, {CIDR: "10.0.0.9/8", PortRange: "80..90", Protocol: "UDP"}, {CIDR: "1.2.3.4/32", PortRange: "22..22", Description: "ssh"},
	} {
		rule := stub.Must(client.Firewalls.CreateRule(t.Context(), sdktest.Somewhere, firewall.ID, &wanted))(t)
		if !wanted.Matches(rule) {
			t.Errorf("%+v doesn't match %+v", wanted, rule)
		}
		other := *rule
		other.PortRange = "1"
		if wanted.Matches(&other) {
			t.Errorf("%+v matches %+v", wanted, other)
		}
	}
	if other := (cloudapi.FirewallRuleCreateRequest{CIDR: "net"}); other.Matches(&cloudapi.FirewallRule{CIDR: "net", PortRange: "0..65535"}) {
		t.Error("the name of a subnet matches")
	}
}

// TestRemedies is the table of what removes a difference, where that depends on the
// record. TestEnsure has the others.
func TestRemedies(t *testing.T) {
	t.Parallel()
	pools := func(names ...string) (pools []cloudapi.KubernetesNodePool) {
		for _, name := range names {
			pools = append(pools, cloudapi.KubernetesNodePool{Name: name, NodeSize: "standard-2", NodeCount: 1})
		}
		return pools
	}
	type (
		db      = cloudapi.PostgresCreateRequest
		cluster = cloudapi.KubernetesClusterCreateRequest
	)
	for _, tt := range []struct {
		request, record any
		want            string // the fields, and the remedies or methods
	}{
		{&db{Version: "18"}, &cloudapi.Postgres{Version: "16", ReadReplica: true}, "read_replica Postgres.PromoteReadReplica version Postgres.Upgrade"},
		{&db{Version: "9"}, &cloudapi.Postgres{Version: "17"}, "version replace"},
		{&db{Version: "17"}, &cloudapi.Postgres{Version: "16", Flavor: cloudapi.PostgresFlavorLantern}, "version replace"}, // can't be upgraded
		{&cluster{Version: "v1.37", WorkerSize: "standard-4", WorkerNodeCount: 2}, &cloudapi.KubernetesCluster{Version: "v1.9", NodePools: pools("np")},
			"version Kubernetes.Upgrade worker_size Kubernetes.CreateNodePool worker_nodes update"},
		{&cluster{Version: "v1.36", WorkerNodeCount: 2}, &cloudapi.KubernetesCluster{Version: "v1.37", NodePools: pools("a", "b")},
			"version replace worker_nodes Kubernetes.CreateNodePool"},
	} {
		var got []string
		differences, _ := compareWith(tt.request, tt.record)
		for _, d := range differences {
			got = append(got, d.Field, cmp.Or(d.Method, string(d.Remedy)))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v of %+v: %q, want %s", tt.request, tt.record, got, tt.want)
		}
	}
	for _, version := range []string{"abc", "017", "17.2", "v18", "-1", "1 8"} {
		for _, flavor := range []string{cloudapi.PostgresFlavorStandard, cloudapi.PostgresFlavorLantern} {
			d, _ := (&cloudapi.PostgresCreateRequest{Version: version}).Compare(&cloudapi.Postgres{Version: "17", Flavor: flavor})
			if len(d) != 1 || d[0].Remedy != cloudapi.RemedyNone {
				t.Errorf("version %q of a database: %v", version, d)
			}
		}
	}
	for _, version := range []string{"latest", "1.37", "v1", "v1.037"} {
		if d, _ := (&cloudapi.KubernetesClusterCreateRequest{Version: version}).Compare(&cloudapi.KubernetesCluster{Version: "v1.36"}); len(d) != 1 || d[0].Remedy != cloudapi.RemedyNone {
			t.Errorf("version %q of a cluster: %v", version, d)
		}
	}
}
