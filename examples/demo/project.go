package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

const (
	europe   = "eu-central-h1"
	america  = "us-east-a2"
	anywhere = "0.0.0.0/0"
	office   = "203.0.113.0/24"
)

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
		subnet, name, vms, stack string
		source, target           int
	}{
		{"web", "www", "web", cloudapi.LoadBalancerStackDual, 443, 8080},
		{"app", "api", "api", cloudapi.LoadBalancerStackIPv6, 80, 8000}, // its VMs have no IPv4 addresses
	}
)

// fill creates the resources. They're ready immediately, since the server has no
// delays yet.
func fill(ctx context.Context, server *cloudapitest.Server, c *cloudapi.Client) error {
	if err := fillSettings(ctx, c); err != nil {
		return err
	}
	subnetIDs, err := fillNetworks(ctx, c)
	if err != nil {
		return err
	}
	vmIDs, err := fillVMs(ctx, c, subnetIDs)
	if err != nil {
		return err
	}
	server.SetState(vmIDs["render"][2], cloudapi.VMStateStopped)
	return errors.Join(fillBalancers(ctx, c, subnetIDs, vmIDs), fillManaged(ctx, c))
}

// fillNetworks returns the IDs of the subnets by name.
func fillNetworks(ctx context.Context, c *cloudapi.Client) (map[string]string, error) {
	firewallIDs, subnetIDs := map[string]string{}, map[string]string{}
	for _, f := range firewalls {
		firewall, err := c.Firewalls.Create(ctx, f.location, f.name, nil)
		if err != nil {
			return nil, err
		}
		firewallIDs[f.name] = firewall.ID
		if _, err := c.Firewalls.SetRules(ctx, f.location, firewall.ID, f.rules); err != nil {
			return nil, err
		}
	}
	for _, s := range subnets {
		subnet, err := c.PrivateSubnets.Create(ctx, s.location, s.name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewallIDs[s.firewalls[0]]})
		if err != nil {
			return nil, err
		}
		subnetIDs[s.name] = subnet.ID
		for _, name := range s.firewalls[1:] {
			if _, err := c.Firewalls.AttachSubnet(ctx, s.location, name, subnet.ID); err != nil {
				return nil, err
			}
		}
	}
	return subnetIDs, nil
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

// fillVMs returns the IDs of the VMs by the prefix of their names.
func fillVMs(ctx context.Context, c *cloudapi.Client, subnetIDs map[string]string) (map[string][]string, error) {
	ids := map[string][]string{}
	for _, v := range vms {
		for i := range v.count {
			vm, err := c.VMs.Create(ctx, v.location, fmt.Sprintf("%s-%d", v.prefix, i+1), &cloudapi.VMCreateRequest{
				PublicKey:       "operations",
				Size:            v.size,
				PrivateSubnetID: subnetIDs[v.subnet],
				EnableIPv4:      &v.ip4,
			})
			if err != nil {
				return nil, err
			}
			ids[v.prefix] = append(ids[v.prefix], vm.ID)
		}
	}
	return ids, nil
}

func fillBalancers(ctx context.Context, c *cloudapi.Client, subnetIDs map[string]string, vmIDs map[string][]string) error {
	for _, b := range balancers {
		balancer, err := c.LoadBalancers.Create(ctx, europe, b.name, &cloudapi.LoadBalancerCreateRequest{
			Algorithm:           cloudapi.LoadBalancerAlgorithmRoundRobin,
			Stack:               b.stack,
			SrcPort:             b.source,
			DstPort:             b.target,
			HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckProtocolHTTP,
			PrivateSubnetID:     subnetIDs[b.subnet],
		})
		if err != nil {
			return err
		}
		for _, vm := range vmIDs[b.vms] {
			if _, err := c.LoadBalancers.AttachVM(ctx, europe, balancer.ID, vm); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillManaged creates what has VMs that the service manages.
func fillManaged(ctx context.Context, c *cloudapi.Client) error {
	if _, err := c.Postgres.Create(ctx, europe, "orders", &cloudapi.PostgresCreateRequest{
		Size: "standard-4", StorageSize: 256, HAType: cloudapi.PostgresHATypeAsync, Version: "17"}); err != nil {
		return err
	}
	if _, err := c.Postgres.CreateReadReplica(ctx, europe, "orders", "orders-reports", nil); err != nil {
		return err
	}
	for _, database := range []string{"orders", "orders-reports"} { // both are open to everybody before
		if _, err := c.Postgres.SetFirewallRules(ctx, europe, database, []cloudapi.PostgresFirewallRuleCreateRequest{{CIDR: office}}); err != nil {
			return err
		}
	}
	_, err := c.Kubernetes.Create(ctx, america, "staging", &cloudapi.KubernetesClusterCreateRequest{
		Version: "v1.36", WorkerSize: "standard-2", WorkerNodeCount: 3})
	return err
}
