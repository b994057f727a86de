package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/cloudapi-sdk/cloudapi"
	"golang.org/x/sync/errgroup"
)

// inventory contains the resources of a project, with all their fields.
type inventory struct {
	Project            *cloudapi.Project             `json:"project"`
	PrivateSubnets     []*cloudapi.PrivateSubnet     `json:"private_subnets"`
	Firewalls          []*cloudapi.Firewall          `json:"firewalls"`
	VMs                []*cloudapi.VM                `json:"vms"`
	LoadBalancers      []*cloudapi.LoadBalancer      `json:"load_balancers"`
	Postgres           []*cloudapi.Postgres          `json:"postgres"`
	KubernetesClusters []*cloudapi.KubernetesCluster `json:"kubernetes_clusters"`
	PrivateLocations   []*cloudapi.PrivateLocation   `json:"private_locations"`
	SSHPublicKeys      []*cloudapi.SSHPublicKey      `json:"ssh_public_keys"`
	VMInitScripts      []*cloudapi.VMInitScript      `json:"vm_init_scripts"`
	InferenceAPIKeys   []*cloudapi.InferenceAPIKey   `json:"inference_api_keys"`
}

// collect returns what it can read of the project, and the errors of the rest.
// It returns nil if it can't read the project itself.
func collect(ctx context.Context, client *cloudapi.Client) (*inventory, error) {
	project, err := client.Projects.Get(ctx, client.Project())
	if err != nil {
		return nil, err
	}
	inv, r := &inventory{Project: project}, &reader{}

	// These lists contain all fields.
	list(r, &inv.PrivateSubnets, client.PrivateSubnets.All(ctx, nil))
	list(r, &inv.Firewalls, client.Firewalls.All(ctx, nil))
	list(r, &inv.PrivateLocations, client.PrivateLocations.All(ctx, nil))
	list(r, &inv.SSHPublicKeys, client.SSHPublicKeys.All(ctx, nil))
	list(r, &inv.InferenceAPIKeys, client.InferenceAPIKeys.All(ctx, nil))
	list(r, &inv.VMInitScripts, orNone(client.VMInitScripts.All(ctx, nil)))

	// The other lists need a request per item.
	listFull(r, &inv.VMs, client.VMs.All(ctx, nil), func(vm *cloudapi.VM) (*cloudapi.VM, error) {
		return client.VMs.Get(ctx, vm.Location, vm.ID)
	})
	listFull(r, &inv.LoadBalancers, client.LoadBalancers.All(ctx, nil), func(lb *cloudapi.LoadBalancer) (*cloudapi.LoadBalancer, error) {
		return client.LoadBalancers.Get(ctx, lb.Location, lb.ID)
	})
	listFull(r, &inv.Postgres, client.Postgres.All(ctx, nil), func(db *cloudapi.Postgres) (*cloudapi.Postgres, error) {
		return client.Postgres.Get(ctx, db.Location, db.ID)
	})
	listFull(r, &inv.KubernetesClusters, client.Kubernetes.All(ctx, nil), func(k *cloudapi.KubernetesCluster) (*cloudapi.KubernetesCluster, error) {
		return client.Kubernetes.Get(ctx, k.Location, k.ID)
	})
	err = r.wait()
	inv.sort()
	return inv, err
}

// reader reads lists concurrently. An error of one doesn't stop the others.
type reader struct {
	lists sync.WaitGroup
	mu    sync.Mutex
	errs  []error
}

func (r *reader) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// wait waits until all lists are read, and returns their errors, sorted.
func (r *reader) wait() error {
	r.lists.Wait()
	slices.SortFunc(r.errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(r.errs...)
}

func list[T any](r *reader, to *[]*T, items iter.Seq2[*T, error]) {
	r.lists.Go(func() {
		var err error
		if *to, err = cloudapi.Collect(items); err != nil { // *to has what was read before the error
			r.fail(err)
		}
	})
}

// listFull gets each listed item again, since the list lacks some fields.
func listFull[T any](r *reader, to *[]*T, items iter.Seq2[*T, error], get func(*T) (*T, error)) {
	r.lists.Go(func() {
		short, err := cloudapi.Collect(items)
		if err != nil {
			r.fail(err)
		}
		full := make([]*T, len(short))
		var gets errgroup.Group // a failed one doesn't stop the others
		gets.SetLimit(16)
		for i, item := range short {
			gets.Go(func() (err error) {
				full[i], err = get(item)
				if err != nil && !errors.Is(err, cloudapi.ErrNotFound) { // not deleted since it was listed
					r.fail(err)
				}
				return nil
			})
		}
		_ = gets.Wait()
		*to = slices.DeleteFunc(full, func(item *T) bool { return item == nil })
	})
}

// orNone treats "not found" as an empty list, since not every server has init
// scripts.
func orNone[T any](items iter.Seq2[*T, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for item, err := range items {
			if errors.Is(err, cloudapi.ErrNotFound) || !yield(item, err) {
				return
			}
		}
	}
}

// sort sorts the lists by location and name. They arrive sorted by ID, which is
// random.
func (inv *inventory) sort() {
	sortBy(inv.PrivateSubnets, func(r *cloudapi.PrivateSubnet) (string, string) { return r.Location, r.Name })
	sortBy(inv.Firewalls, func(r *cloudapi.Firewall) (string, string) { return r.Location, r.Name })
	sortBy(inv.VMs, func(r *cloudapi.VM) (string, string) { return r.Location, r.Name })
	sortBy(inv.LoadBalancers, func(r *cloudapi.LoadBalancer) (string, string) { return r.Location, r.Name })
	sortBy(inv.Postgres, func(r *cloudapi.Postgres) (string, string) { return r.Location, r.Name })
	sortBy(inv.KubernetesClusters, func(r *cloudapi.KubernetesCluster) (string, string) { return r.Location, r.Name })
}

func sortBy[T any](items []*T, key func(*T) (location, name string)) {
	slices.SortFunc(items, func(a, b *T) int {
		locationA, nameA := key(a)
		locationB, nameB := key(b)
		// Shorter names first, so that web-2 comes before web-10.
		return cmp.Or(cmp.Compare(locationA, locationB), cmp.Compare(withoutNumber(nameA), withoutNumber(nameB)),
			cmp.Compare(len(nameA), len(nameB)), cmp.Compare(nameA, nameB))
	})
}

func withoutNumber(name string) string { return strings.TrimRight(name, "0123456789") }
