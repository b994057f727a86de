package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// The sizes of the jobs.
const (
	provisioned = 50
	watched     = 10_000
	tornDown    = 1_000
	listed      = 5_000
)

var vmRequest = &cloudapi.VMCreateRequest{PublicKey: publicKey}

// names returns the names of the VMs to provision.
func names() (names []string) {
	for i := range provisioned {
		names = append(names, fmt.Sprintf("web-%d", i+1))
	}
	return names
}

// expect returns an error unless a job has handled as many resources as it
// should.
func expect(want, got int) error {
	if got != want {
		return fmt.Errorf("%d instead of %d", got, want)
	}
	return nil
}

func provision(ctx context.Context, w *world) error {
	client := w.sdk()
	vms, err := cloudapi.WaitAll(ctx, names(), func(ctx context.Context, name string) (*cloudapi.VM, error) {
		if _, err := client.VMs.Create(ctx, location, name, vmRequest); err != nil {
			return nil, err
		}
		return client.VMs.WaitRunning(ctx, location, name, nil)
	}, nil)
	return errors.Join(err, expect(provisioned, len(vms)))
}

const (
	watching = time.Hour
	interval = 30 * time.Second // of the loops; also the longest interval of Watch
	renames  = 9                // spread over the time
)

func watch(ctx context.Context, w *world) error {
	var renaming sync.WaitGroup
	defer renaming.Wait()
	ctx, cancel := context.WithTimeout(ctx, watching)
	defer cancel()
	renaming.Go(func() { w.rename(ctx) })
	events := map[cloudapi.EventType]int{}
	for event, err := range w.sdk().VMs.Watch(ctx, nil) {
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return err
		}
		events[event.Type]++
	}
	return errors.Join(expect(watched, events[cloudapi.EventAdded]), expect(renames, events[cloudapi.EventModified]))
}

// rename renames a VM now and then.
func (w *world) rename(ctx context.Context) {
	for i := range renames {
		if pause(ctx, watching/(renames+1)) == nil {
			_, _ = w.uncounted.VMs.Rename(ctx, location, fmt.Sprintf("web-%d", i+1), fmt.Sprintf("renamed-%d", i+1)) // watch counts the events
		}
	}
}

func tearDown(ctx context.Context, w *world) error {
	plan, err := teardown.NewPlan(ctx, w.sdk(), nil)
	if err != nil {
		return err
	}
	return errors.Join(plan.Run(ctx), expect(tornDown, len(slices.Concat(plan.Stages()...))))
}

func list(ctx context.Context, w *world) error {
	vms, err := cloudapi.Collect(w.sdk().VMs.All(ctx, nil))
	return errors.Join(err, expect(listed, len(vms)))
}
