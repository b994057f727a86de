package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// location is where -demo and -vms add resources.
const location = "eu-central-h1"

// addDemo adds resources that are ready immediately, and a database that can be
// restored as if it were a day old.
func addDemo(ctx context.Context, srv *cloudapitest.Server, o options) error {
	srv.SetDelays("", "", cloudapitest.Delays{Backup: -24 * time.Hour})
	defer srv.SetDelays("", "", o.delays())
	return create(ctx, srv.Client(), cloudapitest.API(o.api))
}

func create(ctx context.Context, c *cloudapi.Client, api cloudapitest.API) error {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForTheDemoOnlyxxxxxxxxxxxxxxx dev@example.com"
	_, keyErr := c.SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: key})
	var scriptErr error
	kubernetes := "v1.36"
	if api == cloudapitest.Contract { // the service has no registered scripts
		_, scriptErr = c.VMInitScripts.Create(ctx, "setup", &cloudapi.VMInitScriptCreateRequest{Script: "apt-get update"})
		kubernetes = "v1.34"
	}
	_, inferenceErr := c.InferenceAPIKeys.Create(ctx)
	_, placeErr := c.PrivateLocations.Create(ctx, "own-aws", &cloudapi.PrivateLocationCreateRequest{
		ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("demo"), SecretKey: cloudapi.NewSecret("demo"),
	})
	_, databaseErr := c.Postgres.Create(ctx, location, "orders", &cloudapi.PostgresCreateRequest{
		Size: "standard-2", StorageSize: 64, Tags: []cloudapi.PostgresTag{{Key: "env", Value: "demo"}},
	})
	_, clusterErr := c.Kubernetes.Create(ctx, location, "apps", &cloudapi.KubernetesClusterCreateRequest{
		Version: kubernetes, WorkerSize: "standard-2", WorkerNodeCount: 2,
	})
	if err := errors.Join(keyErr, scriptErr, inferenceErr, placeErr, databaseErr, clusterErr); err != nil {
		return err
	}
	return createWebsite(ctx, c)
}

func createWebsite(ctx context.Context, c *cloudapi.Client) error {
	subnet, err := c.PrivateSubnets.Create(ctx, location, "web-net", nil)
	if err != nil {
		return err
	}
	balancer, err := c.LoadBalancers.Create(ctx, location, "web", &cloudapi.LoadBalancerCreateRequest{
		PrivateSubnetID: subnet.ID, Algorithm: "round_robin", HealthCheckProtocol: "http", SrcPort: 80, DstPort: 8080,
	})
	if err != nil {
		return err
	}
	for i := range 2 {
		vm, err := c.VMs.Create(ctx, location, fmt.Sprintf("web-%d", i+1), &cloudapi.VMCreateRequest{
			PublicKey: "laptop", Size: "burstable-1", PrivateSubnetID: subnet.ID, EnableIPv4: new(true),
		})
		if err != nil {
			return err
		}
		if _, err := c.LoadBalancers.AttachVM(ctx, location, balancer.ID, vm.ID); err != nil {
			return err
		}
	}
	return nil
}
