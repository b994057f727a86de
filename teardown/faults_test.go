package teardown_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// TestTeardownTellsTheTruth: the report of a run is true even if requests fail
// at random, some of them for good, or if the run ends early.
func TestTeardownTellsTheTruth(t *testing.T) {
	t.Parallel()
	var complete, incomplete atomic.Int32
	seeds := uint64(12)
	if testing.Short() {
		seeds = 2
	}
	t.Run("runs", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newFullProject(t)
					random := rand.New(rand.NewPCG(seed, 0))
					plan := planTeardown(t, p.Client, &teardown.Options{Concurrency: 1 + int(seed%5)})
					limit, rate := time.Duration(5+random.IntN(120))*time.Second, random.Float64()/2
					var over atomic.Bool
					for _, fault := range []cloudapitest.Fault{
						cloudapitest.DropAfter(), cloudapitest.DropBefore(), sdktest.Refusal(500, "UnexceptedError"),
						sdktest.Refusal(409, "DependencyError"), cloudapitest.Delay(2 * time.Second), sdktest.Refusal(403, "Forbidden"),
					} {
						p.Server.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool {
							return !over.Load() && random.Float64() < rate/6
						}}, fault.Repeating())
					}
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					start := time.Now()
					err := plan.Run(ctx)
					if took := time.Since(start); took > limit+time.Second {
						t.Errorf("took %v of %v", took, limit)
					}
					over.Store(true)
					checkReport(t, p, plan, err)
					if err == nil {
						complete.Add(1)
					} else {
						incomplete.Add(1)
					}
				})
			})
		}
	})
	if !testing.Short() && (complete.Load() == 0 || incomplete.Load() == 0) {
		t.Errorf("%d runs were complete, %d were not", complete.Load(), incomplete.Load())
	}
}

// TestLooksImmediatelyBefore: however many subnets there are, the list of load
// balancers is current when each is deleted.
func TestLooksImmediatelyBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const perRequest = 50 * time.Millisecond
		srv, ids := newSubnets(t, 100)
		srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(perRequest).Repeating())
		plan := stub.Must(teardown.NewPlan(t.Context(), srv.Client(), nil))(t)
		before := len(srv.Requests())
		if err := plan.Run(t.Context()); err != nil {
			t.Error(err)
		}
		var looked time.Time
		var oldest time.Duration
		deleted := 0
		for _, r := range srv.Requests()[before:] {
			switch {
			case r.Name == "LoadBalancers.ListInLocation":
				looked = r.Time
			case r.Name == "PrivateSubnets.Delete":
				deleted++
				oldest = max(oldest, r.Time.Sub(looked))
			}
		}
		if deleted != len(ids) || oldest > perRequest {
			t.Errorf("%d subnets were deleted, after a look of up to %v before", deleted, oldest)
		}
	})
}
