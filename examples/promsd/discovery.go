package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"golang.org/x/sync/errgroup"
)

// discovery follows the lists of a project.
type discovery struct {
	client   *cloudapi.Client
	port     int
	every    time.Duration
	complain func(error) // about what a later round tries again
	publish  func(targets []byte) error

	mu sync.Mutex // guards the fields below
	known
	knownFile string // "" if nothing is kept
	read      int    // number of lists that have been read
	published []byte
}

// known is what the program knows about a project, by ID.
type known struct {
	Project   string                             `json:"project"`
	VMs       map[string]*cloudapi.VM            `json:"vms"`
	Subnets   map[string]*cloudapi.PrivateSubnet `json:"subnets"`
	Databases map[string]*cloudapi.Postgres      `json:"databases"`
}

// load reads what an earlier run has kept in a file.
func (d *discovery) load(file string) error {
	d.knownFile = file
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		d.Project = d.client.Project()
		return nil
	}
	if err != nil {
		return err
	}
	err = json.Unmarshal(text, &d.known)
	if err == nil && d.Project != d.client.Project() {
		err = fmt.Errorf("it belongs to another project, %q", d.Project)
	}
	if err = cmp.Or(err, check(d.VMs, vmID), check(d.Subnets, subnetID), check(d.Databases, databaseID)); err != nil {
		return fmt.Errorf("%s: %w: remove it to start over", file, err)
	}
	return nil
}

// check returns an error if a record from a file isn't the one with its ID.
func check[T any](records map[string]*T, idOf func(*T) string) error {
	for id, record := range records {
		if record == nil || idOf(record) != id {
			return fmt.Errorf("%q doesn't have the record with that ID", id)
		}
	}
	return nil
}

func vmID(vm *cloudapi.VM) string               { return vm.ID }
func subnetID(s *cloudapi.PrivateSubnet) string { return s.ID }
func databaseID(db *cloudapi.Postgres) string   { return db.ID }

// keep writes what is known to the file from which the next run reads it.
func (d *discovery) keep() error {
	if d.knownFile == "" {
		return nil
	}
	text, err := json.Marshal(d.known)
	if err != nil {
		return err
	}
	return cloudapi.File{Content: text}.Replace(d.knownFile)
}

// run follows the project until the context ends.
func (d *discovery) run(ctx context.Context) error {
	// A file that somebody has changed may lack any of them.
	d.VMs, d.Subnets, d.Databases = orEmpty(d.VMs), orEmpty(d.Subnets), orEmpty(d.Databases)
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.Go(func() error { return follow(ctx, d, d.client.VMs.Watch, d.VMs, vmID) })
	tasks.Go(func() error { return follow(ctx, d, d.client.PrivateSubnets.Watch, d.Subnets, subnetID) })
	tasks.Go(func() error {
		return follow(ctx, d, d.client.Postgres.Watch, d.Databases, func(db *cloudapi.Postgres) string {
			if old := d.Databases[db.ID]; old != nil && old.Name == db.Name {
				db.Hostname = old.Hostname // which lists don't contain
			}
			return db.ID
		})
	})
	return tasks.Wait()
}

func orEmpty[T any](records map[string]*T) map[string]*T {
	if records == nil {
		return map[string]*T{}
	}
	return records
}

// follow applies the changes of a list to the records, and publishes the
// targets after each round. A watch that has ended, for example because the
// token has lost a permission, is started again with what is known.
func follow[T any](ctx context.Context, d *discovery, watch func(context.Context, *cloudapi.WatchOptions, ...*T) iter.Seq2[cloudapi.Event[T], error],
	records map[string]*T, id func(*T) string) error {
	isRead := false
	opts := &cloudapi.WatchOptions{Interval: min(5*time.Second, d.every), MaxInterval: d.every, Progress: func(p cloudapi.Progress) {
		if isRead || cloudapi.IsTransient(p.Err) { // otherwise the error may be the watch's last
			d.report(ctx, p.Err)
		}
		d.nameHosts(ctx)
		d.mu.Lock()
		defer d.mu.Unlock()
		if p.Err == nil && !isRead {
			isRead = true
			d.read++
		}
		if d.read == 3 {
			d.report(ctx, d.update())
		}
	}}
	for {
		var known []*T
		d.mu.Lock()
		for _, record := range records {
			known = append(known, new(*record)) // since nameHosts may change the record
		}
		d.mu.Unlock()
		for event, err := range watch(ctx, opts, known...) {
			if err != nil && (ctx.Err() != nil || !isRead) {
				return err
			}
			if err != nil {
				break // Progress has already reported it
			}
			d.mu.Lock()
			if key := id(event.Record); event.Type == cloudapi.EventDeleted {
				delete(records, key)
			} else {
				records[key] = event.Record
			}
			d.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d.every):
		}
	}
}

// nameHosts gets missing host names of databases. If that fails, the next round
// tries again.
func (d *discovery) nameHosts(ctx context.Context) {
	d.mu.Lock()
	unnamed := map[string]string{} // locations by ID
	for id, db := range d.Databases {
		if db.Hostname == "" {
			unnamed[id] = db.Location
		}
	}
	d.mu.Unlock()
	for id, location := range unnamed {
		full, err := d.client.Postgres.Get(ctx, location, id)
		if err != nil {
			d.report(ctx, err)
			continue
		}
		d.mu.Lock()
		u, err := url.Parse(full.ConnectionString.Reveal()) // Hostname requires the August 2026 API
		if db := d.Databases[id]; err == nil && db != nil && db.Name == full.Name {
			db.Hostname = u.Hostname()
		}
		d.mu.Unlock()
	}
}

// report reports an error, unless the program ends anyway.
func (d *discovery) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.complain(err)
	}
}

// update publishes the targets if they have changed. If that fails, the next
// round tries again.
func (d *discovery) update() error {
	targets, err := json.MarshalIndent(d.targets(), "", "  ")
	if err != nil || bytes.Equal(targets, d.published) {
		return err
	}
	if err := d.keep(); err != nil {
		return err
	}
	if err := d.publish(append(targets, '\n')); err != nil {
		return err
	}
	d.published = targets
	return nil
}

// target is a target with its labels, as Prometheus reads it.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// unfit matches characters that the name of a label can't contain.
var unfit = regexp.MustCompile("[^a-zA-Z0-9]")

// targets returns all targets, in the order of their IDs.
func (d *discovery) targets() []target {
	targets := []target{}
	add := func(host string, port int, labels map[string]string) {
		if host == "" {
			return // it has no address yet
		}
		t := target{[]string{net.JoinHostPort(host, strconv.Itoa(port))}, map[string]string{}}
		for name, value := range labels {
			if value != "" {
				t.Labels["__meta_ubicloud_"+name] = value
			}
		}
		targets = append(targets, t)
	}
	type nic struct{ subnet, ip4, ip6 string }
	nics := map[string]nic{} // by location and name of the VM
	for _, s := range d.Subnets {
		for _, n := range s.NICs {
			ip4, _, _ := strings.Cut(n.PrivateIPv4, "/")
			ip6, _, _ := strings.Cut(n.PrivateIPv6, "/")
			nics[s.Location+"/"+n.VMName] = nic{s.Name, ip4, ip6}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.VMs)) {
		vm := d.VMs[id]
		nic := nics[vm.Location+"/"+vm.Name]
		add(cmp.Or(vm.IP4, vm.IP6), d.port, map[string]string{
			"role": "vm", "id": id, "name": vm.Name, "location": vm.Location, "state": vm.State, "size": vm.Size, "image": vm.BootImage,
			"public_ipv4": vm.IP4, "public_ipv6": vm.IP6, "private_ipv4": nic.ip4, "private_ipv6": nic.ip6, "subnet": nic.subnet,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(d.Databases)) {
		db := d.Databases[id]
		labels := map[string]string{
			"role": "postgres", "id": id, "name": db.Name, "location": db.Location, "state": db.State, "size": db.VMSize,
			"version": db.Version, "flavor": db.Flavor, "ha_type": db.HAType, "read_replica": strconv.FormatBool(db.ReadReplica),
		}
		for _, tag := range db.Tags {
			labels["tag_"+unfit.ReplaceAllString(tag.Key, "_")] = tag.Value
		}
		add(db.Hostname, 5432, labels)
	}
	return targets
}
