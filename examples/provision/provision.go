package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/sync/errgroup"
)

// provisioner makes an environment.
type provisioner struct {
	client   *cloudapi.Client
	env      *environment
	update   bool
	progress *progress

	mu   sync.Mutex // of the rows
	rows [][]string
}

func (p *provisioner) run(ctx context.Context) error {
	if err := p.keys(ctx); err != nil {
		return err
	}
	firewallIDs, err := p.firewalls(ctx)
	if err != nil {
		return err
	}
	subnetIDs, err := p.subnets(ctx, firewallIDs)
	if err != nil {
		return err
	}
	return p.machines(ctx, subnetIDs)
}

func (p *provisioner) keys(ctx context.Context) error {
	for _, key := range p.env.SSHKeys {
		opts, updated := p.options()
		record, created, err := p.client.SSHPublicKeys.Ensure(ctx, &cloudapi.SSHPublicKeyCreateRequest{Name: key.Name, PublicKey: key.PublicKey}, opts)
		if err != nil {
			return err
		}
		p.row("SSH key", record.Name, created, *updated, "", record.ID)
	}
	return nil
}

// firewalls returns the IDs of the firewalls by name.
func (p *provisioner) firewalls(ctx context.Context) (map[string]string, error) {
	ids := map[string]string{}
	for _, firewall := range p.env.Firewalls {
		opts, _ := p.options()
		record, created, err := p.client.Firewalls.Ensure(ctx, p.env.Location, firewall.Name, &cloudapi.FirewallCreateRequest{Description: firewall.Description}, opts)
		if err != nil {
			return nil, err
		}
		changed, err := p.rules(ctx, record, firewall.Rules, created)
		if err != nil {
			return nil, fmt.Errorf("rules of firewall %s: %w", firewall.Name, err)
		}
		ids[record.Name] = record.ID
		p.row("firewall", record.Name, created, changed, "", fmt.Sprint(len(firewall.Rules), " rules"))
	}
	return ids, nil
}

// rules adds the rules that a firewall lacks, and with --update takes away
// those that are not in the file.
func (p *provisioner) rules(ctx context.Context, firewall *cloudapi.Firewall, wanted []rule, created bool) (changed bool, err error) {
	var found []rule
	ids := map[rule]string{}
	for _, r := range firewall.FirewallRules {
		found = append(found, rule{r.CIDR, r.PortRange})
		ids[rule{r.CIDR, r.PortRange}] = r.ID
	}
	add, remove := missing(wanted, found), missing(found, wanted)
	if len(remove) > 0 && !p.update {
		return false, fmt.Errorf("there are some that the file does not have, such as %s from %s: add them to the file, or run with --update to delete them", remove[0].Ports, remove[0].From)
	}
	for _, r := range add {
		if _, err := p.client.Firewalls.CreateRule(ctx, p.env.Location, firewall.ID, &cloudapi.FirewallRuleCreateRequest{CIDR: r.From, PortRange: r.Ports}); err != nil {
			return false, err
		}
	}
	for _, r := range remove {
		if err := p.client.Firewalls.DeleteRule(ctx, p.env.Location, firewall.ID, ids[r]); err != nil {
			return false, err
		}
	}
	return len(add)+len(remove) > 0, nil
}

// subnets returns the IDs of the subnets by name.
func (p *provisioner) subnets(ctx context.Context, firewallIDs map[string]string) (map[string]string, error) {
	ids := map[string]string{}
	for _, subnet := range p.env.Subnets {
		opts, updated := p.options()
		record, created, err := p.client.PrivateSubnets.Ensure(ctx, p.env.Location, subnet.Name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewallIDs[subnet.Firewall]}, opts)
		if err != nil {
			return nil, err
		}
		ids[record.Name] = record.ID
		p.row("subnet", record.Name, created, *updated, record.State, record.Net4)
	}
	return ids, nil
}

// machines makes the VMs and the databases, all at the same time, and waits for
// them.
func (p *provisioner) machines(ctx context.Context, subnetIDs map[string]string) error {
	defer p.progress.begin(len(p.env.VMs) + len(p.env.Databases))()
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(16)
	for _, vm := range p.env.VMs {
		tasks.Go(func() error {
			opts, _ := p.options()
			record, created, err := p.client.VMs.Ensure(ctx, p.env.Location, vm.Name, &cloudapi.VMCreateRequest{
				PublicKey:       vm.SSHKey,
				PrivateSubnetID: subnetIDs[vm.Subnet],
				Size:            vm.Size,
				StorageSize:     vm.Storage,
				BootImage:       vm.Image,
				EnableIP4:       &vm.PublicIPv4,
			}, opts)
			if err != nil {
				return err
			}
			record, err = p.client.VMs.WaitRunning(ctx, record.Location, record.ID, p.progress.of("VM "+vm.Name), soon)
			if err != nil {
				return err
			}
			p.row("VM", record.Name, created, false, record.State, strings.TrimSpace(record.IP4+" "+record.PrivateIPv4))
			return nil
		})
	}
	for _, db := range p.env.Databases {
		tasks.Go(func() error {
			opts, updated := p.options()
			record, created, err := p.client.Postgres.Ensure(ctx, p.env.Location, db.Name, &cloudapi.PostgresCreateRequest{
				Size:              db.Size,
				StorageSize:       db.Storage,
				Version:           db.Version,
				HAType:            db.HighAvailability,
				RestrictByDefault: new(true), // to be opened to those in the file
			}, opts)
			if err != nil {
				return err
			}
			// That it has its sizes and is running.
			record, err = p.client.Postgres.WaitResized(ctx, record.Location, record.ID, p.progress.of("database "+db.Name), soon)
			if err != nil {
				return err
			}
			changed, err := p.allow(ctx, record, db.Allow)
			if err != nil {
				return fmt.Errorf("firewall of database %s: %w", db.Name, err)
			}
			p.row("database", record.Name, created, changed || *updated, record.State, "version "+record.Version)
			return nil
		})
	}
	return tasks.Wait()
}

// soon makes waits look after a second, and more rarely later.
var soon = cloudapi.WaitInterval(time.Second, 15*time.Second)

// allow does for a database what rules does for a firewall.
func (p *provisioner) allow(ctx context.Context, db *cloudapi.Postgres, wanted []string) (changed bool, err error) {
	var found []string
	ids := map[string]string{}
	for _, r := range db.FirewallRules {
		found = append(found, r.CIDR)
		ids[r.CIDR] = r.ID
	}
	add, remove := missing(wanted, found), missing(found, wanted)
	if len(remove) > 0 && !p.update {
		return false, fmt.Errorf("%s may connect and is not in the file: add it there, or run with --update to shut it out", remove[0])
	}
	for _, cidr := range add {
		if _, err := p.client.Postgres.CreateFirewallRule(ctx, db.Location, db.ID, &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: cidr}); err != nil {
			return false, err
		}
	}
	for _, cidr := range remove {
		if err := p.client.Postgres.DeleteFirewallRule(ctx, db.Location, db.ID, ids[cidr]); err != nil {
			return false, err
		}
	}
	return len(add)+len(remove) > 0, nil
}

// options are those of an Ensure. The bool is true after one that changed what
// existed.
func (p *provisioner) options() (*cloudapi.EnsureOptions, *bool) {
	updated := new(bool)
	return &cloudapi.EnsureOptions{Update: p.update, Progress: func(step cloudapi.Progress) {
		if step.State == "updating" {
			*updated = true
		}
	}}, updated
}

func (p *provisioner) row(kind, name string, created, changed bool, state, details string) {
	result := "was there"
	switch {
	case created:
		result = "created"
	case changed:
		result = "changed"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows = append(p.rows, []string{kind, name, result, state, details})
}

// summary is a table of what there is now.
func (p *provisioner) summary() string {
	// What was made at the same time came in any order.
	order := []string{"SSH key", "firewall", "subnet", "VM", "database"}
	slices.SortFunc(p.rows, func(a, b []string) int {
		return cmp.Or(slices.Index(order, a[0])-slices.Index(order, b[0]), cmp.Compare(a[1], b[1]))
	})
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"Kind", "Name", "Result", "State", "Details"})
	for _, row := range p.rows {
		t.AppendRow(table.Row{row[0], row[1], row[2], row[3], row[4]})
	}
	return t.Render()
}
