package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"golang.org/x/sync/errgroup"
)

const (
	europe   = "eu-central-h1"
	america  = "us-east-a2"
	anywhere = "0.0.0.0/0"
	office   = "203.0.113.0/24"
)

// PublicKey is a valid SSH public key whose private key nobody has.
const PublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForExamplesOnlyxxxxxxxxxxxxxxxx examples"

// The embedded server's project belongs to a shop: it has a web tier, an API
// and a database in Europe, and compute VMs in America.
var (
	firewalls = []struct {
		location, name string
		rules          []cloudapi.FirewallRuleCreateRequest
	}{
		{europe, "public-web", []cloudapi.FirewallRuleCreateRequest{
			{CIDR: anywhere, PortRange: "80"}, {CIDR: anywhere, PortRange: "443"}, {CIDR: "::/0", PortRange: "443"}}},
		{europe, "admin", []cloudapi.FirewallRuleCreateRequest{{CIDR: office, PortRange: "22"}}},
		{europe, "internal", []cloudapi.FirewallRuleCreateRequest{{CIDR: "10.0.0.0/8", PortRange: "8000..8999"}}},
		{america, "batch", []cloudapi.FirewallRuleCreateRequest{{CIDR: office, PortRange: "22"}}},
	}
	subnets = []struct {
		location, name string
		firewalls      []string
	}{
		{europe, "web", []string{"public-web", "admin"}},
		{europe, "app", []string{"internal", "admin"}},
		{america, "batch", []string{"batch"}},
	}
	vms = []struct {
		location, subnet, prefix, size string
		count                          int
		ip4                            bool
	}{
		{europe, "web", "web", "standard-2", 3, true},
		{europe, "web", "bastion", "burstable-1", 1, true},
		{europe, "app", "api", "standard-4", 4, false},
		{europe, "app", "worker", "standard-8", 2, false},
		{america, "batch", "render", "standard-16", 3, false},
	}
	balancers = []struct {
		location, subnet, name, vms, stack string
		source, target                     int
	}{
		{europe, "web", "www", "web", cloudapi.LoadBalancerStackDual, 443, 8080},
		{europe, "app", "api", "api", cloudapi.LoadBalancerStackIPv6, 80, 8000}, // its VMs have no IPv4 addresses
	}
)

func fill(ctx context.Context, server *cloudapitest.Server, c *cloudapi.Client) error {
	if err := fillSettings(ctx, c); err != nil {
		return err
	}
	subnetIDs, err := fillNetworks(ctx, c)
	if err != nil {
		return err
	}
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.Go(func() error {
		vmIDs, err := fillVMs(ctx, c, subnetIDs)
		if err != nil {
			return err
		}
		server.SetState(vmIDs["render-3"], cloudapi.VMStateStopped)
		return fillBalancers(ctx, c, subnetIDs, vmIDs)
	})
	tasks.Go(func() error { return fillDatabases(ctx, c) })
	tasks.Go(func() error { return fillCluster(ctx, c) })
	return tasks.Wait()
}

func fillSettings(ctx context.Context, c *cloudapi.Client) error {
	_, err := c.SSHPublicKeys.Create(ctx, "operations", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: PublicKey})
	_, err2 := c.VMInitScripts.Create(ctx, "install-agent", &cloudapi.VMInitScriptCreateRequest{Script: "#!/bin/sh\napt-get install -y agent\n"})
	_, err3 := c.InferenceAPIKeys.Create(ctx)
	_, err4 := c.PrivateLocations.Create(ctx, "own-account", &cloudapi.PrivateLocationCreateRequest{
		ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSEast1,
		AccessKey:            cloudapi.NewSecret("made-up"),
		SecretKey:            cloudapi.NewSecret("made-up"),
	})
	return errors.Join(err, err2, err3, err4)
}

// fillNetworks returns the IDs of the subnets by location and name.
func fillNetworks(ctx context.Context, c *cloudapi.Client) (map[string]string, error) {
	firewallIDs, subnetIDs := map[string]string{}, map[string]string{}
	for _, f := range firewalls {
		firewall, err := c.Firewalls.Create(ctx, f.location, f.name, nil)
		if err != nil {
			return nil, err
		}
		firewallIDs[f.location+"/"+f.name] = firewall.ID
		for _, rule := range f.rules {
			if _, err := c.Firewalls.CreateRule(ctx, f.location, firewall.ID, &rule); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range subnets {
		request := &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewallIDs[s.location+"/"+s.firewalls[0]]}
		subnet, err := c.PrivateSubnets.Create(ctx, s.location, s.name, request)
		if err != nil {
			return nil, err
		}
		subnetIDs[s.location+"/"+s.name] = subnet.ID
		for _, name := range s.firewalls[1:] {
			if _, err := c.Firewalls.AttachSubnet(ctx, s.location, name, subnet.ID); err != nil {
				return nil, err
			}
		}
	}
	return subnetIDs, nil
}

// fillVMs returns the IDs of the VMs by name.
func fillVMs(ctx context.Context, c *cloudapi.Client, subnetIDs map[string]string) (map[string]string, error) {
	ids := map[string]string{}
	waits, waitCtx := errgroup.WithContext(ctx)
	for _, v := range vms {
		for i := range v.count {
			vm, err := c.VMs.Create(ctx, v.location, fmt.Sprintf("%s-%d", v.prefix, i+1), &cloudapi.VMCreateRequest{
				PublicKey:       "operations",
				Size:            v.size,
				PrivateSubnetID: subnetIDs[v.location+"/"+v.subnet],
				EnableIPv4:      &v.ip4,
			})
			if err != nil {
				return nil, errors.Join(err, waits.Wait())
			}
			ids[vm.Name] = vm.ID
			waits.Go(func() error {
				_, err := c.VMs.WaitRunning(waitCtx, vm.Location, vm.ID, often)
				return err
			})
		}
	}
	return ids, waits.Wait()
}

func fillBalancers(ctx context.Context, c *cloudapi.Client, subnetIDs, vmIDs map[string]string) error {
	for _, b := range balancers {
		balancer, err := c.LoadBalancers.Create(ctx, b.location, b.name, &cloudapi.LoadBalancerCreateRequest{
			Algorithm:           cloudapi.LoadBalancerAlgorithmRoundRobin,
			Stack:               b.stack,
			SrcPort:             b.source,
			DstPort:             b.target,
			HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckProtocolHTTP,
			PrivateSubnetID:     subnetIDs[b.location+"/"+b.subnet],
		})
		if err != nil {
			return err
		}
		for i := 1; vmIDs[fmt.Sprintf("%s-%d", b.vms, i)] != ""; i++ {
			if _, err := c.LoadBalancers.AttachVM(ctx, b.location, balancer.ID, vmIDs[fmt.Sprintf("%s-%d", b.vms, i)]); err != nil {
				return err
			}
		}
	}
	return nil
}

func fillDatabases(ctx context.Context, c *cloudapi.Client) error {
	_, err := c.Postgres.Create(ctx, europe, "orders", &cloudapi.PostgresCreateRequest{
		Size: "standard-4", StorageSize: 256, HAType: cloudapi.PostgresHATypeAsync, Version: "17"})
	if err != nil {
		return err
	}
	if _, err := c.Postgres.WaitRunning(ctx, europe, "orders", often); err != nil {
		return err
	}
	if _, err := c.Postgres.CreateReadReplica(ctx, europe, "orders", "orders-reports", nil); err != nil {
		return err
	}
	_, err = c.Postgres.WaitRunning(ctx, europe, "orders-reports", often)
	return err
}

func fillCluster(ctx context.Context, c *cloudapi.Client) error {
	request := &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2", WorkerNodeCount: 3}
	_, err := c.Kubernetes.Create(ctx, america, "staging", request)
	if err != nil {
		return err
	}
	_, err = c.Kubernetes.WaitRunning(ctx, america, "staging", often)
	return err
}

// often is the interval for polling the embedded server.
var often = &cloudapi.WaitOptions{Interval: 10 * time.Millisecond, MaxInterval: 10 * time.Millisecond}
