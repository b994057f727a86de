package waits_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestIndependentWaitsShareLists: with WithSharedWaits, waits with contexts of
// their own cost about as many requests as in one WaitAll.
func TestIndependentWaitsShareLists(t *testing.T) {
	t.Parallel()
	const n = 200
	requests := func(t *testing.T, opts ...cloudapi.Option) (sent int) {
		synctest.Test(t, func(t *testing.T) {
			delays := cloudapitest.DefaultDelays()
			delays.Create = 40 * time.Second
			srv := cloudapitest.New(t, cloudapitest.WithDelays(delays), cloudapitest.WithQuota(cloudapitest.Quota{VM: 1000}))
			client := srv.Client(opts...)
			var created []*cloudapi.VM
			for i := range n {
				location := sdktest.Somewhere
				if i%50 == 0 { // a subnet has room for 59 VMs
					stub.Must(client.PrivateSubnets.Create(t.Context(), location, fmt.Sprintf("net-%d", i/50), nil))(t)
				}
				request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "burstable-1", PrivateSubnetID: srv.IDs(cloudapi.KindPrivateSubnet, fmt.Sprintf("net-%d", i/50))[0]}
				created = append(created, stub.Must(client.VMs.Create(t.Context(), location, fmt.Sprintf("vm-%d", i), request))(t))
			}
			srv.ClearRequests()
			var calls sync.WaitGroup
			for _, vm := range created {
				calls.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					copied := client.InProject(client.Project()) // as a tool does that keeps the project with each ID
					if vm, err := copied.VMs.WaitRunning(ctx, sdktest.Somewhere, vm.ID, nil); err != nil || vm.Subnet == "" {
						t.Errorf("it is %+v, %v", vm, err)
					}
				})
			}
			calls.Wait()
			sent = len(srv.Requests())
		})
		return sent
	}
	alone, sharing := requests(t), requests(t, cloudapi.WithSharedWaits())
	t.Logf("%d waits send %d requests alone, and %d with WithSharedWaits", n, alone, sharing)
	if sharing > alone/4 {
		t.Errorf("%d waits send %d requests alone, and %d with WithSharedWaits", n, alone, sharing)
	}
}

// TestIndependentWaitsDoNoHarm: a wait that is canceled, fails, or is for what
// is missing, and one that begins later, don't affect the others, and no
// goroutine outlives the waits.
func TestIndependentWaitsDoNoHarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create, delays.Delete = time.Minute, 20*time.Second
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
		client := srv.Client(cloudapi.WithSharedWaits())
		created := createVMs(t, client, 10)
		start := time.Now()
		wait := func(id string, limit time.Duration, want error, took time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := client.VMs.WaitRunning(ctx, sdktest.Somewhere, id, nil)
			if elapsed := time.Since(start); !errors.Is(err, want) || elapsed < took || elapsed > took+10*time.Second {
				t.Errorf("after %v: %v, want %v after %v", elapsed, err, want, took)
			}
		}
		var calls sync.WaitGroup
		for i, vm := range created {
			switch {
			case i < 3:
				calls.Go(func() { wait(vm.ID, 10*time.Second, context.DeadlineExceeded, 10*time.Second) })
			case i < 6:
				calls.Go(func() { wait(vm.ID, time.Hour, nil, time.Minute) })
			case i < 7:
				calls.Go(func() {
					stub.Elapse(30 * time.Second)
					wait(vm.ID, time.Hour, nil, time.Minute)
				})
			case i < 8:
				calls.Go(func() {
					stub.Elapse(20 * time.Second)
					if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, vm.ID); err != nil {
						t.Error(err)
					}
				})
				calls.Go(func() { wait(vm.ID, time.Hour, cloudapi.ErrWaitFailed, 20*time.Second) })
			default:
				calls.Go(func() { wait(stub.VMID, time.Hour, cloudapi.ErrNotFound, 0) })
			}
		}
		time.AfterFunc(40*time.Second, func() { // the lists fail for a while
			srv.Fail(cloudapitest.Match{Operation: "VMs.ListInLocation"}, cloudapitest.Reply(500, nil, ""), cloudapitest.DropAfter(), cloudapitest.Delay(20*time.Second))
		})
		calls.Wait()
		synctest.Wait() // no goroutine is left that could still send a request
		sent := len(srv.Requests())
		stub.Elapse(time.Hour)
		if n := len(srv.Requests()); n != sent {
			t.Errorf("after the waits, the client sent %d requests", n-sent)
		}
	})
}

// TestPanicOfASharedList: a panic on the goroutine that reads a shared list
// reaches the waits, whose callers can recover from it.
func TestPanicOfASharedList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create = time.Minute
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
		created := createVMs(t, srv.Client(), 5)
		client := srv.Client(cloudapi.WithSharedWaits(), cloudapi.WithObserver(func(ctx context.Context, op cloudapi.Operation) (context.Context, func(error)) {
			if op.Name == "VMs.ListInLocation" {
				panic("no lists")
			}
			return ctx, nil
		}))
		var calls sync.WaitGroup
		panics := make(chan any, len(created))
		for _, vm := range created {
			calls.Go(func() {
				defer func() { panics <- recover() }()
				_, err := client.VMs.WaitRunning(t.Context(), sdktest.Somewhere, vm.ID, nil)
				if err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		seen := 0
		for range created {
			if p := <-panics; p != nil {
				seen++
				if fmt.Sprint(p) != "no lists" {
					t.Errorf("panic: %v", p)
				}
			}
		}
		if seen == 0 {
			t.Error("no wait panicked")
		}
	})
}
