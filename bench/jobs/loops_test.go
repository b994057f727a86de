package jobs

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// provisionAsking creates the VMs, and every 5 seconds gets each one that isn't
// running yet.
func provisionAsking(ctx context.Context, w *world) error {
	client := w.sdk()
	for _, name := range names() {
		if _, err := client.VMs.Create(ctx, location, name, vmRequest); err != nil {
			return err
		}
	}
	for waiting := names(); len(waiting) > 0; {
		var still []string
		for _, name := range waiting {
			vm, err := client.VMs.Get(ctx, location, name)
			if err != nil {
				return err
			}
			if vm.State != cloudapi.VMStateRunning {
				still = append(still, name)
			}
		}
		if waiting = still; len(waiting) > 0 {
			if err := pause(ctx, 5*time.Second); err != nil {
				return err
			}
		}
	}
	return nil
}

// provisionInTurn creates the VMs, and waits for one after another.
func provisionInTurn(ctx context.Context, w *world) error {
	client := w.sdk()
	for _, name := range names() {
		if _, err := client.VMs.Create(ctx, location, name, vmRequest); err != nil {
			return err
		}
	}
	for _, name := range names() {
		for {
			vm, err := client.VMs.Get(ctx, location, name)
			if err != nil {
				return err
			}
			if vm.State == cloudapi.VMStateRunning {
				break
			}
			if err := pause(ctx, 5*time.Second); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachInterval stands for a loop that watches by reading everything at
// intervals. All its rounds are alike, so it runs one and multiplies the
// figures.
func (w *world) eachInterval(ctx context.Context, look func() error) error {
	start := time.Now()
	err := look()
	for _, counter := range []*atomic.Int64{&w.requests, &w.bytes} {
		counter.Store(counter.Load() * int64(watching/interval))
	}
	return errors.Join(err, pause(ctx, watching-time.Since(start)))
}

func watchAsking(ctx context.Context, w *world) error {
	client := w.sdk()
	return w.eachInterval(ctx, func() error {
		vms, err := cloudapi.Collect(client.VMs.All(ctx, nil))
		return errors.Join(err, expect(watched, len(vms)))
	})
}

// tearDownAsking deletes what it lists, family by family, and gets each
// resource until it's gone; a firewall is gone with its deletion.
func tearDownAsking(ctx context.Context, w *world) error {
	client := w.sdk()
	vms, err := deleteAll(ctx, client.VMs.All(ctx, nil), client.VMs.Delete, client.VMs.Get)
	if err != nil {
		return err
	}
	subnets, err := deleteAll(ctx, client.PrivateSubnets.All(ctx, nil), client.PrivateSubnets.Delete, client.PrivateSubnets.Get)
	if err != nil {
		return err
	}
	firewalls, err := deleteAll(ctx, client.Firewalls.All(ctx, nil), client.Firewalls.Delete, nil)
	return errors.Join(err, expect(tornDown, vms+subnets+firewalls))
}

// deleteAll deletes what a list yields, and returns how many that are.
func deleteAll[T any, P interface {
	*T
	Resource() cloudapi.Resource
}](ctx context.Context, list iter.Seq2[*T, error], remove func(context.Context, string, string) error, get func(context.Context, string, string) (*T, error)) (int, error) {
	records, err := cloudapi.Collect(list)
	for _, record := range records {
		r := P(record).Resource()
		err = errors.Join(err, remove(ctx, r.Location, r.ID))
	}
	for _, record := range records {
		if get == nil || err != nil {
			break
		}
		r := P(record).Resource()
		err = untilGone(ctx, r.Location, r.ID, get)
	}
	return len(records), err
}

func untilGone[T any](ctx context.Context, location, id string, get func(context.Context, string, string) (*T, error)) error {
	for {
		_, err := get(ctx, location, id)
		switch {
		case errors.Is(err, cloudapi.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// listAsking lists the VMs, and gets each one.
func listAsking(ctx context.Context, w *world) error {
	client := w.sdk()
	n := 0
	for vm, err := range client.VMs.All(ctx, nil) {
		if err != nil {
			return err
		}
		if _, err := client.VMs.Get(ctx, vm.Location, vm.ID); err != nil {
			return err
		}
		n++
	}
	return expect(listed, n)
}
