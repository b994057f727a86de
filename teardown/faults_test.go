package teardown_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
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
	t.Run("runs", func(t *testing.T) {
		for seed := range uint64(12) {
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
	if complete.Load() == 0 || incomplete.Load() == 0 {
		t.Errorf("%d runs were complete, %d were not", complete.Load(), incomplete.Load())
	}
}

// TestTeardownIsNotBlind: Run doesn't delete a resource if it can't find out
// what needs the resource, or which private location has the name in the
// resource's path.
func TestTeardownIsNotBlind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		match cloudapitest.Match // the request that would find it out
		fault cloudapitest.Fault
		safe  []string // parts of the paths of what must stay
		want  string   // a failure in the report
		err   error
	}{
		{"users, forbidden", cloudapitest.Match{Operation: "LoadBalancers.ListInLocation"}, sdktest.Refusal(403, "Forbidden"),
			[]string{"/private-subnet/"}, "failed private subnet eu-central-h1/net-1", cloudapi.ErrForbidden},
		{"users, without a list that every server has", cloudapitest.Match{Operation: "LoadBalancers.ListInLocation"}, sdktest.Refusal(404, "ResourceNotFound"),
			[]string{"/private-subnet/"}, "failed private subnet eu-central-h1/net-1", cloudapi.ErrInvalidResponse},
		{"users, without their only list", cloudapitest.Match{Operation: "PrivateSubnets.ListInLocation"}, sdktest.Refusal(404, "ResourceNotFound"),
			[]string{"/private-subnet/", "/firewall/"}, "failed firewall eu-central-h1/fw-1", cloudapi.ErrInvalidResponse},
		{"users, broken", cloudapitest.Match{Operation: "PrivateSubnets.ListInLocation"}, sdktest.Refusal(500, "UnexceptedError"),
			[]string{"/private-subnet/", "/firewall/"}, "failed firewall eu-central-h1/fw-1", cloudapi.ErrServer},
		{"users, in time", cloudapitest.Match{Operation: "LoadBalancers.ListInLocation"}, cloudapitest.Delay(2 * time.Hour),
			[]string{"/private-subnet/"}, "not tried private subnet eu-central-h1/net-1", context.DeadlineExceeded},
		{"private location, forbidden", cloudapitest.Match{Operation: "PrivateLocations.List"}, sdktest.Refusal(403, "Forbidden"),
			[]string{"/location/own/", "/private-location/"}, "failed VM own/far", cloudapi.ErrForbidden},
		{"private location, broken", cloudapitest.Match{Operation: "PrivateLocations.List"}, sdktest.Refusal(500, "UnexceptedError"),
			[]string{"/location/own/", "/private-location/"}, "failed VM own/far", cloudapi.ErrServer},
		{"private location, in time", cloudapitest.Match{Operation: "PrivateLocations.List"}, cloudapitest.Delay(2 * time.Hour),
			[]string{"/location/own/", "/private-location/"}, "not tried VM own/far", context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				last := map[string]cloudapi.Progress{} // the last event of each resource
				plan := planTeardown(t, stub.Must(p.Client.With(cloudapi.WithTimeout(3*time.Hour)))(t),
					&teardown.Options{Progress: func(e cloudapi.Progress) { last[e.Resource] = e }})
				var over atomic.Bool
				tt.match.Func = func(cloudapitest.Request) bool { return !over.Load() }
				p.Server.Fail(tt.match, tt.fault.Repeating())
				before := len(p.Server.Requests())
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := plan.Run(ctx)
				over.Store(true)
				report := checkReport(t, p, plan, err)
				if got := failures(report); !slices.Contains(got, tt.want) || !errors.Is(report, tt.err) {
					t.Errorf("%q, want %q: %v", got, tt.want, report)
				}
				for _, r := range p.Server.Requests()[before:] {
					for _, part := range tt.safe {
						if r.Method == http.MethodDelete && strings.Contains(r.Path, part) {
							t.Errorf("%s %s was sent", r.Method, r.Path)
						}
					}
				}
				for _, f := range report.Failed {
					if e := last[f.Resource.String()]; e.State != string(f.State) || e.Err != f.Err {
						t.Errorf("the last event of %v is %+v", f, e)
					}
				}
			})
		})
	}
}

// TestTeardownReportsTheLastTry: the server refuses a deletion, and the context
// ends before the next attempt. Both are then the reason. Another deletion gets
// no response, so nobody knows that the server accepted it.
func TestTeardownReportsTheLastTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, stub.Must(p.Client.With(cloudapi.WithTimeout(3*time.Hour)))(t), nil)
		p.Server.Fail(deletes(p.Key.ID), cloudapitest.Delay(2*time.Hour))
		var refused atomic.Bool
		refusal := deletes(p.OtherPlace.ID)
		p.Server.Fail(cloudapitest.Match{Method: http.MethodDelete, Func: func(r cloudapitest.Request) bool {
			return refusal.Func(r) && !refused.Swap(true)
		}}, sdktest.Refusal(409, "DependencyError"))
		p.Server.Fail(cloudapitest.Match{Operation: "LoadBalancers.ListInLocation", Func: func(r cloudapitest.Request) bool {
			return refused.Load() && strings.Contains(r.Path, sdktest.Elsewhere)
		}}, cloudapitest.Delay(2*time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		report := checkReport(t, p, plan, plan.Run(ctx))
		want := []string{"failed private subnet eu-north-h1/net-1", "not tried firewall eu-north-h1/net-1-default", "failed SSH public key laptop"}
		if got := failures(report); !slices.Equal(got, want) || !errors.Is(report.Failed[0].Err, cloudapi.ErrConflict) || !errors.Is(report.Failed[0].Err, context.DeadlineExceeded) ||
			!errors.Is(report.Failed[2].Err, context.DeadlineExceeded) {
			t.Errorf("%q, want %q: %v", got, want, report)
		}
	})
}

// TestTeardownAtADeadline: if all attempts fail until the context ends, the
// report says how they failed, besides that the context has ended.
func TestTeardownAtADeadline(t *testing.T) {
	t.Parallel()
	isStatus := func(status int) func(error) bool {
		return func(err error) bool {
			e, ok := errors.AsType[*cloudapi.Error](err)
			return ok && e.StatusCode == status
		}
	}
	isTransport := func(err error) bool { _, ok := errors.AsType[*cloudapi.TransportError](err); return ok }
	look := cloudapitest.Match{Operation: "LoadBalancers.ListInLocation"}
	hangs := cloudapitest.Delay(time.Hour)
	for name, tt := range map[string]struct {
		match  func(*sdktest.Everything) cloudapitest.Match
		faults []cloudapitest.Fault // the last one repeats
		want   string
		is     func(error) bool // finds the failure
		text   string
	}{
		"a deletion that fails":                 {nil, []cloudapitest.Fault{sdktest.Refusal(503, "ServiceUnavailable")}, "failed", isStatus(503), "503"},
		"a deletion without a response":         {nil, []cloudapitest.Fault{cloudapitest.DropBefore()}, "failed", isTransport, "EOF"},
		"a deletion that is refused":            {nil, []cloudapitest.Fault{sdktest.Refusal(409, "DependencyError")}, "failed", isStatus(409), "409 DependencyError"},
		"a deletion that fails, and then hangs": {nil, []cloudapitest.Fault{cloudapitest.Reply(502, nil, "<html>"), hangs}, "failed", isStatus(502), "502"},
		"a look that fails": {func(*sdktest.Everything) cloudapitest.Match { return look },
			[]cloudapitest.Fault{cloudapitest.Reply(502, nil, "<html>")}, "failed", isStatus(502), "LoadBalancers.ListInLocation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const limit = 8 * time.Second
				p := newFullProject(t)
				plan := planTeardown(t, stub.Must(p.Client.With(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 2})))(t), nil)
				match := deletes(p.OtherPlace.ID)
				if tt.match != nil {
					match = tt.match(p)
				}
				tt.faults[len(tt.faults)-1] = tt.faults[len(tt.faults)-1].Repeating()
				p.Server.Fail(match, tt.faults...)
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				start := time.Now()
				err := plan.Run(ctx)
				if took := time.Since(start); took != limit {
					t.Errorf("took %v", took)
				}
				report, ok := errors.AsType[*teardown.Error](err)
				if !ok {
					t.Fatal(err)
				}
				i := slices.IndexFunc(report.Failed, func(f teardown.Failure) bool { return f.Resource.ID == p.OtherPlace.ID })
				if i < 0 {
					t.Fatal(report)
				}
				f := report.Failed[i]
				if string(f.State) != tt.want || !errors.Is(f.Err, context.DeadlineExceeded) || cloudapi.IsTransient(err) || cloudapi.IsTransient(f.Err) || !tt.is(f.Err) || !strings.Contains(f.String(), tt.text) ||
					!strings.Contains(f.String(), "context deadline exceeded") || strings.Contains(f.String(), "\n") {
					t.Errorf("%v", f)
				}
			})
		})
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
