package cloudapi_test

import (
	"context"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// everything is a project with all kinds of resources in it.
type everything struct {
	srv    *cloudapitest.Server
	client *cloudapi.Client

	subnet     *cloudapi.PrivateSubnet
	vm         *cloudapi.VM
	stray      *cloudapi.VM // in the default subnet
	firewall   *cloudapi.Firewall
	rule       *cloudapi.FirewallRule
	balancer   *cloudapi.LoadBalancer
	postgres   *cloudapi.Postgres
	replica    *cloudapi.Postgres
	cluster    *cloudapi.KubernetesCluster
	location   *cloudapi.PrivateLocation
	key        *cloudapi.SSHPublicKey
	script     *cloudapi.VMInitScript
	inference  *cloudapi.InferenceAPIKey
	otherPlace *cloudapi.PrivateSubnet
}

const (
	somewhere = "eu-central-h1"
	elsewhere = "eu-north-h1"
)

// balancerIn returns the request for a load balancer in the subnet with an ID.
func balancerIn(subnetID string) *cloudapi.LoadBalancerCreateRequest {
	return &cloudapi.LoadBalancerCreateRequest{
		Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 80,
		HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckHTTP, PrivateSubnetID: subnetID,
	}
}

// newEverything makes a resource of each kind of the contract, and reads each in
// its full form.
func newEverything(t *testing.T, opts ...cloudapitest.Option) *everything {
	t.Helper()
	p := &everything{srv: cloudapitest.New(t, append([]cloudapitest.Option{cloudapitest.WithAPI(cloudapitest.Contract)}, opts...)...)}
	p.client = p.srv.Client()
	ctx, c := t.Context(), p.client
	p.key = stub.Must(c.SSHPublicKeys.Create(ctx, &cloudapi.SSHPublicKeyCreateRequest{Name: "laptop", PublicKey: stub.PublicKey}))(t)
	p.script = stub.Must(c.VMInitScripts.Create(ctx, &cloudapi.VMInitScriptCreateRequest{Name: "setup", Script: "#!/bin/sh\ntrue\n"}))(t)
	p.inference = stub.Must(c.InferenceAPIKeys.Create(ctx))(t)
	p.location = stub.Must(c.PrivateLocations.Create(ctx, &cloudapi.PrivateLocationCreateRequest{Name: "own",
		ProviderLocationName: cloudapi.ProviderLocationUSEast1, AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}))(t)
	p.firewall = stub.Must(c.Firewalls.Create(ctx, somewhere, "fw-1", nil))(t)
	p.rule = stub.Must(c.Firewalls.CreateRule(ctx, somewhere, "fw-1", &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "22"}))(t)
	p.subnet = stub.Must(c.PrivateSubnets.Create(ctx, somewhere, "net-1", &cloudapi.PrivateSubnetCreateRequest{FirewallID: p.firewall.ID}))(t)
	p.otherPlace = stub.Must(c.PrivateSubnets.Create(ctx, elsewhere, "net-1", nil))(t)
	p.vm = stub.Must(c.VMs.Create(ctx, somewhere, "web-1", &cloudapi.VMCreateRequest{
		PublicKey: "laptop", PrivateSubnetID: p.subnet.ID, EnableIP4: new(true)}))(t)
	p.stray = stub.Must(c.VMs.Create(ctx, somewhere, "stray", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
	p.balancer = stub.Must(c.LoadBalancers.Create(ctx, somewhere, "lb-1", &cloudapi.LoadBalancerCreateRequest{
		Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 8080,
		HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckHTTP, PrivateSubnetID: p.subnet.ID}))(t)
	p.balancer = stub.Must(c.LoadBalancers.AttachVM(ctx, somewhere, p.balancer.ID, p.vm.ID))(t)
	p.postgres = stub.Must(c.Postgres.Create(ctx, somewhere, "db-1", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	stub.Must(c.Postgres.CreateMetricDestination(ctx, somewhere, "db-1", &cloudapi.PostgresMetricDestinationCreateRequest{
		URL: "https://metrics.example.com", Username: "u", Password: cloudapi.NewSecret("secret")}))(t)
	p.cluster = stub.Must(c.Kubernetes.Create(ctx, somewhere, "k8s-1", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-2"}))(t)
	stub.Must(c.Postgres.WaitRunning(ctx, somewhere, "db-1"))(t)
	stub.Must(cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Postgres, error) {
		return c.Postgres.Get(ctx, somewhere, "db-1")
	}, func(db *cloudapi.Postgres) (bool, error) { return !db.EarliestRestoreTime.IsZero(), nil }))(t)
	p.replica = stub.Must(c.Postgres.CreateReadReplica(ctx, somewhere, "db-1", "db-2"))(t)

	p.vm = stub.Must(c.VMs.WaitRunning(ctx, somewhere, "web-1"))(t)
	p.stray = stub.Must(c.VMs.WaitRunning(ctx, somewhere, "stray"))(t)
	p.cluster = stub.Must(c.Kubernetes.WaitRunning(ctx, somewhere, "k8s-1"))(t)
	p.replica = stub.Must(c.Postgres.WaitRunning(ctx, somewhere, "db-2"))(t)
	p.postgres = stub.Must(c.Postgres.Get(ctx, somewhere, "db-1"))(t)
	p.firewall = stub.Must(c.Firewalls.Get(ctx, somewhere, "fw-1"))(t)
	p.subnet = stub.Must(c.PrivateSubnets.Get(ctx, somewhere, "net-1"))(t)
	p.balancer = stub.Must(c.LoadBalancers.Get(ctx, somewhere, "lb-1"))(t)
	p.otherPlace = stub.Must(c.PrivateSubnets.Get(ctx, elsewhere, "net-1"))(t)
	return p
}
