package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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

	mu     sync.Mutex // of what follows
	rows   [][]string
	drifts map[string]error // how what exists differs from the file, by kind and name
}

// run makes what is missing. What exists and differs is left as it is, unless
// it can be updated. Nothing is put behind a firewall or into a subnet that is
// not as the file says.
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
	if len(p.drifts) > 0 {
		return nil
	}
	return p.machines(ctx, subnetIDs)
}

func (p *provisioner) keys(ctx context.Context) error {
	for _, key := range p.env.SSHKeys {
		opts := &cloudapi.EnsureOptions{Update: p.update}
		record, outcome, err := p.client.SSHPublicKeys.Ensure(ctx, &cloudapi.SSHPublicKeyCreateRequest{Name: key.Name, PublicKey: key.PublicKey}, opts)
		if record, err = accept(p, "SSH key", key.Name, record, err); err != nil {
			return err
		}
		p.row("SSH key", record.Name, outcome, false, "", record.ID)
	}
	return nil
}

// firewalls returns the IDs of the firewalls by name.
func (p *provisioner) firewalls(ctx context.Context) (map[string]string, error) {
	ids := map[string]string{}
	for _, firewall := range p.env.Firewalls {
		opts := &cloudapi.EnsureOptions{Update: p.update}
		record, outcome, err := p.client.Firewalls.Ensure(ctx, p.env.Location, firewall.Name, &cloudapi.FirewallCreateRequest{Description: firewall.Description}, opts)
		if record, err = accept(p, "firewall", firewall.Name, record, err); err != nil {
			return nil, err
		}
		changed, err := p.rules(ctx, record, firewall.Rules)
		if err != nil {
			return nil, fmt.Errorf("rules of firewall %s: %w", firewall.Name, err)
		}
		ids[record.Name] = record.ID
		p.row("firewall", record.Name, outcome, changed, "", fmt.Sprint(len(firewall.Rules), " rules"))
	}
	return ids, nil
}

// rules adds the rules that a firewall lacks, and with --update takes away
// those that are not in the file.
func (p *provisioner) rules(ctx context.Context, firewall *cloudapi.Firewall, wanted []rule) (changed bool, err error) {
	var found []rule
	ids := map[rule]string{}
	for _, r := range firewall.FirewallRules {
		found = append(found, rule{r.CIDR, r.PortRange})
		ids[rule{r.CIDR, r.PortRange}] = r.ID
	}
	add, remove := missing(wanted, found), missing(found, wanted)
	if len(remove) > 0 && !p.update {
		p.differs("firewall", firewall.Name, fmt.Errorf("firewall %s has rules that the file has not, for %s: --update deletes them", firewall.Name, sorted(remove)))
		remove = nil
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
		opts := &cloudapi.EnsureOptions{Update: p.update}
		record, outcome, err := p.client.PrivateSubnets.Ensure(ctx, p.env.Location, subnet.Name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewallIDs[subnet.Firewall]}, opts)
		if record, err = accept(p, "subnet", subnet.Name, record, err); err != nil {
			return nil, err
		}
		ids[record.Name] = record.ID
		p.row("subnet", record.Name, outcome, false, record.State, record.Net4)
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
			opts := &cloudapi.EnsureOptions{Update: p.update}
			record, outcome, err := p.client.VMs.Ensure(ctx, p.env.Location, vm.Name, &cloudapi.VMCreateRequest{
				PublicKey:       vm.SSHKey,
				PrivateSubnetID: subnetIDs[vm.Subnet],
				Size:            vm.Size,
				StorageSize:     vm.Storage,
				BootImage:       vm.Image,
				EnableIP4:       &vm.PublicIPv4,
			}, opts)
			if record, err = accept(p, "VM", vm.Name, record, err); err != nil {
				return err
			}
			record, err = p.client.VMs.WaitRunning(ctx, record.Location, record.ID, p.progress.of("VM "+vm.Name), soon)
			if err != nil {
				return err
			}
			p.row("VM", record.Name, outcome, false, record.State, strings.TrimSpace(record.IP4+" "+record.PrivateIPv4))
			return nil
		})
	}
	for _, db := range p.env.Databases {
		tasks.Go(func() error {
			opts := &cloudapi.EnsureOptions{Update: p.update}
			record, outcome, err := p.client.Postgres.Ensure(ctx, p.env.Location, db.Name, &cloudapi.PostgresCreateRequest{
				Size:              db.Size,
				StorageSize:       db.Storage,
				Version:           db.Version,
				HAType:            db.HighAvailability,
				RestrictByDefault: new(true), // to be opened to those in the file
			}, opts)
			if record, err = accept(p, "database", db.Name, record, err); err != nil {
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
			p.row("database", record.Name, outcome, changed, record.State, "version "+record.Version)
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
		p.differs("database", db.Name, fmt.Errorf("database %s lets %s connect, which the file does not: --update shuts them out", db.Name, sorted(remove)))
		remove = nil
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

// accept takes what an Ensure found as it is if it differs from the file.
func accept[T any](p *provisioner, kind, name string, record *T, err error) (*T, error) {
	drift, ok := errors.AsType[*cloudapi.DriftError](err)
	if !ok {
		return record, err
	}
	advice := "--update changes that"
	switch {
	case slices.ContainsFunc(drift.Fields, func(f cloudapi.Drift) bool { return !f.Updatable }):
		advice = "change the file" // an update is made only if it can change all
	case p.update:
		advice = "--update has not changed that"
	}
	p.differs(kind, name, fmt.Errorf("%w: %s", err, advice))
	return drift.Record.(*T), nil
}

// sorted lists what the server has in any order.
func sorted[T any](items []T) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = fmt.Sprint(item)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// differs notes that something is not as the file says.
func (p *provisioner) differs(kind, name string, how error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drifts == nil {
		p.drifts = map[string]error{}
	}
	p.drifts[kind+" "+name] = errors.Join(p.drifts[kind+" "+name], how)
}

// drift returns everything that is not as the file says, or nil.
func (p *provisioner) drift() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.drifts)) {
		errs = append(errs, p.drifts[name])
	}
	return errors.Join(errs...)
}

func (p *provisioner) row(kind, name string, outcome cloudapi.EnsureOutcome, changed bool, state, details string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	result := "was there"
	switch {
	case p.drifts[kind+" "+name] != nil:
		result = "differs"
	case outcome == cloudapi.EnsureCreated:
		result = "created"
	case changed || outcome == cloudapi.EnsureUpdated:
		result = "changed"
	}
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
