package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"golang.org/x/sync/errgroup"
)

// keys adapts the service of SSH keys, which have no location, to [service].
type keys struct{ *cloudapi.SSHPublicKeysService }

func (k keys) Ensure(ctx context.Context, _, name string, request *cloudapi.SSHPublicKeyCreateRequest, opts *cloudapi.EnsureOptions) (*cloudapi.SSHPublicKey, cloudapi.EnsureOutcome, error) {
	return k.SSHPublicKeysService.Ensure(ctx, name, request, opts)
}

func (p *provisioner) keys(ctx context.Context) error {
	for _, key := range p.env.SSHKeys {
		of := subject{cloudapi.KindSSHPublicKey, key.Name}
		request := &cloudapi.SSHPublicKeyCreateRequest{PublicKey: key.PublicKey}
		record, outcome, err := settle(ctx, p, of, keys{p.client.SSHPublicKeys}, request)
		if err != nil {
			return err
		}
		p.show(of, outcome, "", record.ID)
	}
	return nil
}

// firewalls returns the IDs of the firewalls by name.
func (p *provisioner) firewalls(ctx context.Context) (map[string]string, error) {
	ids := map[string]string{}
	for _, firewall := range p.env.Firewalls {
		of := subject{cloudapi.KindFirewall, firewall.Name}
		request := &cloudapi.FirewallCreateRequest{Description: firewall.Description}
		record, outcome, err := settle(ctx, p, of, p.client.Firewalls, request)
		if err != nil {
			return nil, err
		}
		p.report.show(of, "", fmt.Sprint("rules: ", len(firewall.Rules)))
		ids[firewall.Name] = record.ID
		rules := []cloudapi.FirewallRuleCreateRequest{}
		for _, r := range firewall.Rules {
			rules = append(rules, cloudapi.FirewallRuleCreateRequest{CIDR: r.From, PortRange: r.Ports})
		}
		err = setRules(p, of, outcome,
			func(r *cloudapi.FirewallRule) string { return r.PortRange + " from " + r.CIDR },
			func(client *cloudapi.Client) (*cloudapi.SetChanges[cloudapi.FirewallRule], error) {
				return client.Firewalls.SetRules(ctx, p.env.Location, record.ID, rules)
			})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// setRules sets the rules of a firewall or a database to those in the file, if
// the firewall or database was just created or may be updated. Otherwise
// setRules reports the differences.
func setRules[R any](p *provisioner, of subject, outcome cloudapi.EnsureOutcome, text func(*R) string,
	set func(*cloudapi.Client) (*cloudapi.SetChanges[R], error)) error {
	isNew := outcome == cloudapi.EnsureCreated || outcome == cloudapi.EnsureFound
	allowed := p.update || isNew
	client := p.client
	if !allowed {
		client = cloudapi.NewPlan(client).Client() // which only finds out what differs
	}
	changes, err := set(client)
	if err != nil || !changes.Changed() {
		return err
	}
	switch {
	case !allowed:
		again := ""
		if len(changes.Removed) == 0 { // so another run may be between its requests
			again = ", as does another run that has just created it: run this again"
		}
		p.report.differs(of, fmt.Errorf("%v differs from the file: it %s: --update changes that%s", of, ruleText(changes, text), again))
	case isNew, p.plan != nil: // already reported as created, or in the plan
	default:
		p.report.result(of, done[cloudapi.EnsureUpdated])
	}
	return nil
}

// subnets returns the IDs of the subnets by name.
func (p *provisioner) subnets(ctx context.Context, firewallIDs map[string]string) (map[string]string, error) {
	ids := map[string]string{}
	for _, subnet := range p.env.Subnets {
		of := subject{cloudapi.KindPrivateSubnet, subnet.Name}
		request := &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewallIDs[subnet.Firewall]}
		record, outcome, err := settle(ctx, p, of, p.client.PrivateSubnets, request)
		if err != nil {
			return nil, err
		}
		ids[subnet.Name] = record.ID
		p.show(of, outcome, record.State, record.Net4)
	}
	return ids, nil
}

func (p *provisioner) machines(ctx context.Context, subnetIDs map[string]string) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(16)
	for _, vm := range p.env.VMs {
		tasks.Go(func() error { return p.vm(ctx, vm, subnetIDs[vm.Subnet]) })
	}
	for _, db := range p.env.Databases {
		tasks.Go(func() error { return p.database(ctx, db) })
	}
	return tasks.Wait()
}

func (p *provisioner) vm(ctx context.Context, vm vm, subnetID string) error {
	of := subject{cloudapi.KindVM, vm.Name}
	record, outcome, err := settle(ctx, p, of, p.client.VMs, &cloudapi.VMCreateRequest{
		PublicKey:       vm.SSHKey,
		PrivateSubnetID: subnetID,
		Size:            vm.Size,
		StorageSize:     vm.Storage,
		BootImage:       vm.Image,
		EnableIPv4:      &vm.PublicIPv4,
	})
	if err != nil {
		return err
	}
	p.show(of, outcome, record.State, record.ID)
	if p.plan != nil {
		return nil
	}
	record, err = p.client.VMs.WaitRunning(ctx, record.Location, record.ID, p.wait(of))
	if err != nil {
		return err
	}
	p.report.show(of, record.State, strings.TrimSpace(record.IPv4+" "+record.PrivateIPv4))
	return nil
}

func (p *provisioner) database(ctx context.Context, db database) error {
	of := subject{cloudapi.KindPostgres, db.Name}
	// If the file opens the database only for some ranges, Ensure creates it
	// closed. With --update, Ensure also closes an existing database to all
	// addresses, before setRules opens it to the ranges.
	restricted := !slices.ContainsFunc(db.Allow, func(cidr string) bool {
		prefix, err := cloudapi.ParseCIDR(cidr)
		return err == nil && prefix.Bits() == 0
	})
	record, outcome, err := settle(ctx, p, of, p.client.Postgres, &cloudapi.PostgresCreateRequest{
		Size:              db.Size,
		StorageSize:       db.Storage,
		Version:           db.Version,
		HAType:            db.HighAvailability,
		RestrictByDefault: &restricted, // opened below to the ranges in the file
	})
	if err != nil {
		return err
	}
	p.show(of, outcome, record.State, record.ID)
	rules := []cloudapi.PostgresFirewallRuleCreateRequest{}
	for _, cidr := range db.Allow {
		rules = append(rules, cloudapi.PostgresFirewallRuleCreateRequest{CIDR: cidr})
	}
	err = setRules(p, of, outcome,
		func(r *cloudapi.PostgresFirewallRule) string { return r.CIDR },
		func(client *cloudapi.Client) (*cloudapi.SetChanges[cloudapi.PostgresFirewallRule], error) {
			return client.Postgres.SetFirewallRules(ctx, p.env.Location, record.ID, rules)
		})
	if err != nil || p.plan != nil {
		return err
	}
	// Wait until the database is running and has the sizes in the file.
	record, err = p.client.Postgres.WaitResized(ctx, record.Location, record.ID, p.wait(of))
	if err != nil {
		return err
	}
	p.report.show(of, record.State, "version "+record.Version)
	return nil
}

// wait returns options that print each change of a resource's state.
func (p *provisioner) wait(of subject) *cloudapi.WaitOptions {
	last := ""
	return &cloudapi.WaitOptions{Interval: time.Second, Progress: func(step cloudapi.Progress) {
		if step.State == last {
			return
		}
		last = step.State
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprintf(p.stderr, "%7.1fs  %v is %s\n", time.Since(p.start).Seconds(), of, step.State)
	}}
}
