package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

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

func collect(ctx context.Context, client *cloudapi.Client) (*inventory, error) {
	inv := &inventory{}
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.Go(func() (err error) {
		inv.Project, err = client.Projects.Get(ctx, client.Project())
		return err
	})

	// These lists contain all fields.
	list(tasks, &inv.PrivateSubnets, client.PrivateSubnets.All(ctx, nil))
	list(tasks, &inv.Firewalls, client.Firewalls.All(ctx, nil))
	list(tasks, &inv.PrivateLocations, client.PrivateLocations.All(ctx, nil))
	list(tasks, &inv.SSHPublicKeys, client.SSHPublicKeys.All(ctx, nil))
	list(tasks, &inv.InferenceAPIKeys, client.InferenceAPIKeys.All(ctx, nil))
	list(tasks, &inv.VMInitScripts, orNone(client.VMInitScripts.All(ctx, nil)))

	// The other lists need a request per item.
	listFull(ctx, tasks, &inv.VMs, client.VMs.All(ctx, nil), func(vm *cloudapi.VM) (*cloudapi.VM, error) {
		return client.VMs.Get(ctx, vm.Location, vm.ID)
	})
	listFull(ctx, tasks, &inv.LoadBalancers, client.LoadBalancers.All(ctx, nil), func(lb *cloudapi.LoadBalancer) (*cloudapi.LoadBalancer, error) {
		return client.LoadBalancers.Get(ctx, lb.Location, lb.ID)
	})
	listFull(ctx, tasks, &inv.Postgres, client.Postgres.All(ctx, nil), func(db *cloudapi.Postgres) (*cloudapi.Postgres, error) {
		return client.Postgres.Get(ctx, db.Location, db.ID)
	})
	listFull(ctx, tasks, &inv.KubernetesClusters, client.Kubernetes.All(ctx, nil), func(k *cloudapi.KubernetesCluster) (*cloudapi.KubernetesCluster, error) {
		return client.Kubernetes.Get(ctx, k.Location, k.ID)
	})
	if err := tasks.Wait(); err != nil {
		return nil, err
	}
	inv.sort()
	return inv, nil
}

func list[T any](tasks *errgroup.Group, to *[]*T, items iter.Seq2[*T, error]) {
	tasks.Go(func() (err error) {
		*to, err = cloudapi.Collect(items)
		return err
	})
}

// listFull gets each listed item again, since the list lacks some fields.
func listFull[T any](ctx context.Context, tasks *errgroup.Group, to *[]*T, items iter.Seq2[*T, error], get func(*T) (*T, error)) {
	tasks.Go(func() error {
		short, err := cloudapi.Collect(items)
		if err != nil {
			return err
		}
		full := make([]*T, len(short))
		gets, ctx := errgroup.WithContext(ctx)
		gets.SetLimit(16)
		for i, item := range short {
			gets.Go(func() (err error) {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				full[i], err = get(item)
				if errors.Is(err, cloudapi.ErrNotFound) {
					return nil // deleted since it was listed
				}
				return err
			})
		}
		err = gets.Wait()
		*to = slices.DeleteFunc(full, func(item *T) bool { return item == nil })
		return err
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
