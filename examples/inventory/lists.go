package main

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/cloudapi-sdk/cloudapi"
	"golang.org/x/sync/errgroup"
)

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
