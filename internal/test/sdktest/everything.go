package sdktest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// Everything is a project with resources of every kind in the contract.
type Everything struct {
	Server *cloudapitest.Server
	Client *cloudapi.Client

	Subnet     *cloudapi.PrivateSubnet
	VM         *cloudapi.VM
	Stray      *cloudapi.VM // in the default subnet
	Firewall   *cloudapi.Firewall
	Rule       *cloudapi.FirewallRule
	Balancer   *cloudapi.LoadBalancer
	Postgres   *cloudapi.Postgres
	Replica    *cloudapi.Postgres
	Cluster    *cloudapi.KubernetesCluster
	Location   *cloudapi.PrivateLocation
	Key        *cloudapi.SSHPublicKey
	Script     *cloudapi.VMInitScript
	Inference  *cloudapi.InferenceAPIKey
	OtherPlace *cloudapi.PrivateSubnet
}

// Locations of the server.
const (
	Somewhere = "eu-central-h1"
	Elsewhere = "eu-north-h1"
)

// BalancerIn returns the request for a load balancer in the given subnet.
func BalancerIn(subnetID string) *cloudapi.LoadBalancerCreateRequest {
	return &cloudapi.LoadBalancerCreateRequest{
		Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 80,
		HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckProtocolHTTP, PrivateSubnetID: subnetID,
	}
}

// NewEverything creates a resource of each kind in the contract, and waits until
// the VMs, databases and clusters are running.
func NewEverything(t *testing.T, opts ...cloudapitest.Option) *Everything {
	t.Helper()
	p := &Everything{Server: cloudapitest.New(t, append([]cloudapitest.Option{cloudapitest.WithAPI(cloudapitest.Contract)}, opts...)...)}
	p.Client = p.Server.Client()
	ctx, c := t.Context(), p.Client
	p.Key = stub.Must(c.SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}))(t)
	p.Script = stub.Must(c.VMInitScripts.Create(ctx, "setup", &cloudapi.VMInitScriptCreateRequest{Script: "#!/bin/sh\ntrue\n"}))(t)
	p.Inference = stub.Must(c.InferenceAPIKeys.Create(ctx))(t)
	p.Location = stub.Must(c.PrivateLocations.Create(ctx, "own", &cloudapi.PrivateLocationCreateRequest{
		ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSEast1, AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}))(t)
	p.Firewall = stub.Must(c.Firewalls.Create(ctx, Somewhere, "fw-1", nil))(t)
	p.Rule = stub.Must(c.Firewalls.CreateRule(ctx, Somewhere, "fw-1", &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "22"}))(t)
	p.Subnet = stub.Must(c.PrivateSubnets.Create(ctx, Somewhere, "net-1", &cloudapi.PrivateSubnetCreateRequest{FirewallID: p.Firewall.ID}))(t)
	p.OtherPlace = stub.Must(c.PrivateSubnets.Create(ctx, Elsewhere, "net-1", nil))(t)
	p.VM = stub.Must(c.VMs.Create(ctx, Somewhere, "web-1", &cloudapi.VMCreateRequest{
		PublicKey: "laptop", PrivateSubnetID: p.Subnet.ID, EnableIPv4: new(true)}))(t)
	p.Stray = stub.Must(c.VMs.Create(ctx, Somewhere, "stray", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
	p.Balancer = stub.Must(c.LoadBalancers.Create(ctx, Somewhere, "lb-1", &cloudapi.LoadBalancerCreateRequest{
		Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 8080,
		HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckProtocolHTTP, PrivateSubnetID: p.Subnet.ID}))(t)
	p.Balancer = stub.Must(c.LoadBalancers.AttachVM(ctx, Somewhere, p.Balancer.ID, p.VM.ID))(t)
	p.Postgres = stub.Must(c.Postgres.Create(ctx, Somewhere, "db-1", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	stub.Must(c.Postgres.CreateMetricDestination(ctx, Somewhere, "db-1", &cloudapi.PostgresMetricDestinationCreateRequest{
		URL: "https://metrics.example.com", Username: "u", Password: cloudapi.NewSecret("secret")}))(t)
	p.Cluster = stub.Must(c.Kubernetes.Create(ctx, Somewhere, "k8s-1", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-2"}))(t)
	stub.Must(c.Postgres.WaitRunning(ctx, Somewhere, "db-1", nil))(t)
	stub.Must(cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Postgres, error) {
		return c.Postgres.Get(ctx, Somewhere, "db-1")
	}, func(db *cloudapi.Postgres) (bool, error) { return !db.EarliestRestoreTime.IsZero(), nil }, nil))(t)
	p.Replica = stub.Must(c.Postgres.CreateReadReplica(ctx, Somewhere, "db-1", "db-2", nil))(t)

	p.VM = stub.Must(c.VMs.WaitRunning(ctx, Somewhere, "web-1", nil))(t)
	p.Stray = stub.Must(c.VMs.WaitRunning(ctx, Somewhere, "stray", nil))(t)
	p.Cluster = stub.Must(c.Kubernetes.WaitRunning(ctx, Somewhere, "k8s-1", nil))(t)
	p.Replica = stub.Must(c.Postgres.WaitRunning(ctx, Somewhere, "db-2", nil))(t)
	p.Postgres = stub.Must(c.Postgres.Get(ctx, Somewhere, "db-1"))(t)
	p.Firewall = stub.Must(c.Firewalls.Get(ctx, Somewhere, "fw-1"))(t)
	p.Subnet = stub.Must(c.PrivateSubnets.Get(ctx, Somewhere, "net-1"))(t)
	p.Balancer = stub.Must(c.LoadBalancers.Get(ctx, Somewhere, "lb-1"))(t)
	p.OtherPlace = stub.Must(c.PrivateSubnets.Get(ctx, Elsewhere, "net-1"))(t)
	return p
}

// Contents returns the resources in the lists of the project: their IDs, and
// texts such as "vm eu-central-h1 web-1".
func Contents(t *testing.T, client *cloudapi.Client) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, family := range []string{"vm", "private-subnet", "firewall", "load-balancer", "postgres", "kubernetes-cluster",
		"private-location", "ssh-public-key", "vm-init-script", "inference-api-key", "machine-image", "private-link-service"} {
		var page struct {
			Items []struct{ ID, Name, Location string }
		}
		err := client.Do(t.Context(), http.MethodGet, []string{"project", client.Project(), family}, nil, nil, &page)
		if err != nil && !errors.Is(err, cloudapi.ErrNotFound) { // the project may be gone
			t.Fatal(err)
		}
		for _, item := range page.Items {
			found[item.ID] = strings.TrimSpace(family + " " + item.Location + " " + item.Name)
		}
	}
	return found
}

// Described returns the texts of resources without their IDs, which are random.
func Described(resources []cloudapi.Resource) []string {
	var texts []string
	for _, r := range resources {
		text, _, _ := strings.Cut(r.String(), " (")
		if r.Name == "" {
			text = r.Kind.String()
		}
		texts = append(texts, text)
	}
	return texts
}

// Refusal is a fault that answers with an error of the API.
func Refusal(status int, kind string) cloudapitest.Fault {
	return cloudapitest.Reply(status, http.Header{"Content-Type": {"application/json"}},
		fmt.Sprintf(`{"error":{"code":%d,"type":%q,"message":"x","details":null}}`, status, kind))
}

// Changes returns how many requests other than GETs a server has received.
func Changes(srv *cloudapitest.Server) (n int) {
	for _, r := range srv.Requests() {
		if r.Method != http.MethodGet {
			n++
		}
	}
	return n
}
