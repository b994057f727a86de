package cloudapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
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

// newEverything makes one of each kind, and finds each in its full form.
func newEverything(t *testing.T, opts ...cloudapitest.Option) *everything {
	t.Helper()
	p := &everything{srv: cloudapitest.New(t, opts...)}
	p.client = p.srv.Client()
	ctx, c := t.Context(), p.client
	p.key = must(c.SSHPublicKeys.Create(ctx, &cloudapi.SSHPublicKeyCreateRequest{Name: "laptop", PublicKey: publicKey}))(t)
	p.script = must(c.VMInitScripts.Create(ctx, &cloudapi.VMInitScriptCreateRequest{Name: "setup", Script: "#!/bin/sh\ntrue\n"}))(t)
	p.inference = must(c.InferenceAPIKeys.Create(ctx))(t)
	p.location = must(c.PrivateLocations.Create(ctx, &cloudapi.PrivateLocationCreateRequest{Name: "own",
		ProviderLocationName: cloudapi.ProviderLocationUSEast1, AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}))(t)
	p.firewall = must(c.Firewalls.Create(ctx, somewhere, "fw-1", nil))(t)
	p.rule = must(c.Firewalls.CreateRule(ctx, somewhere, "fw-1", &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "22"}))(t)
	p.subnet = must(c.PrivateSubnets.Create(ctx, somewhere, "net-1", &cloudapi.PrivateSubnetCreateRequest{FirewallID: p.firewall.ID}))(t)
	p.otherPlace = must(c.PrivateSubnets.Create(ctx, elsewhere, "net-1", nil))(t)
	p.vm = must(c.VMs.Create(ctx, somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop", PrivateSubnetID: p.subnet.ID}))(t)
	p.stray = must(c.VMs.Create(ctx, somewhere, "stray", &cloudapi.VMCreateRequest{PublicKey: publicKey}))(t)
	p.balancer = must(c.LoadBalancers.Create(ctx, somewhere, "lb-1", &cloudapi.LoadBalancerCreateRequest{
		Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 8080,
		HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckHTTP, PrivateSubnetID: p.subnet.ID}))(t)
	p.balancer = must(c.LoadBalancers.AttachVM(ctx, somewhere, p.balancer.ID, p.vm.ID))(t)
	p.postgres = must(c.Postgres.Create(ctx, somewhere, "db-1", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	must(c.Postgres.CreateMetricDestination(ctx, somewhere, "db-1", &cloudapi.PostgresMetricDestinationCreateRequest{
		URL: "https://metrics.example.com", Username: "u", Password: cloudapi.NewSecret("secret")}))(t)
	p.cluster = must(c.Kubernetes.Create(ctx, somewhere, "k8s-1", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-2"}))(t)
	must(c.Postgres.WaitRunning(ctx, somewhere, "db-1"))(t)
	must(cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Postgres, error) {
		return c.Postgres.Get(ctx, somewhere, "db-1")
	}, func(db *cloudapi.Postgres) (bool, error) { return !db.EarliestRestoreTime.IsZero(), nil }))(t)
	p.replica = must(c.Postgres.CreateReadReplica(ctx, somewhere, "db-1", "db-2"))(t)

	p.vm = must(c.VMs.WaitRunning(ctx, somewhere, "web-1"))(t)
	p.stray = must(c.VMs.WaitRunning(ctx, somewhere, "stray"))(t)
	p.cluster = must(c.Kubernetes.WaitRunning(ctx, somewhere, "k8s-1"))(t)
	p.replica = must(c.Postgres.WaitRunning(ctx, somewhere, "db-2"))(t)
	p.postgres = must(c.Postgres.Get(ctx, somewhere, "db-1"))(t)
	p.firewall = must(c.Firewalls.Get(ctx, somewhere, "fw-1"))(t)
	p.subnet = must(c.PrivateSubnets.Get(ctx, somewhere, "net-1"))(t)
	p.balancer = must(c.LoadBalancers.Get(ctx, somewhere, "lb-1"))(t)
	p.otherPlace = must(c.PrivateSubnets.Get(ctx, elsewhere, "net-1"))(t)
	return p
}

// must returns a function that returns the value, or fails the test.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// elapse lets time go by, in a bubble.
func elapse(d time.Duration) { <-time.After(d) }
