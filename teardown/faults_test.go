package teardown_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// TestTeardownWithFaults: each deletion, and some other requests, fail with a
// transient error.
func TestTeardownWithFaults(t *testing.T) {
	t.Parallel()
	conflict, failure := sdktest.Refusal(409, "DependencyError"), sdktest.Refusal(500, "UnexceptedError")
	for name, arrange := range map[string]func(t *testing.T, p *sdktest.Everything){
		"lost replies": func(t *testing.T, p *sdktest.Everything) {
			seen := map[string]bool{}
			p.Server.Fail(cloudapitest.Match{Method: http.MethodDelete, Func: func(r cloudapitest.Request) bool {
				first := !seen[r.Path]
				seen[r.Path] = true
				return first
			}}, cloudapitest.DropAfter().Repeating())
		},
		"lost requests": func(t *testing.T, p *sdktest.Everything) {
			seen := map[string]bool{}
			p.Server.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool {
				first := !seen[r.Operation]
				seen[r.Operation] = true
				return first
			}}, cloudapitest.DropBefore().Repeating())
		},
		"server errors": func(t *testing.T, p *sdktest.Everything) {
			seen := map[string]int{}
			p.Server.Fail(cloudapitest.Match{Method: http.MethodDelete, Func: func(r cloudapitest.Request) bool {
				seen[r.Path]++
				return seen[r.Path] <= 5
			}}, failure.Repeating())
		},
		"conflicts": func(t *testing.T, p *sdktest.Everything) {
			seen := map[string]int{}
			p.Server.Fail(cloudapitest.Match{Method: http.MethodDelete, Func: func(r cloudapitest.Request) bool {
				seen[r.Path]++
				return seen[r.Path] <= 4
			}}, conflict.Repeating())
		},
		"polls": func(t *testing.T, p *sdktest.Everything) {
			p.Server.Fail(cloudapitest.Match{Operation: "GET /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}"},
				cloudapitest.Truncate(9), sdktest.Refusal(403, "Forbidden"), cloudapitest.Reply(502, nil, "<html>"))
		},
		"a deletion that takes hours": func(t *testing.T, p *sdktest.Everything) {
			polls, stop := 0, 1000
			p.Server.Fail(cloudapitest.Match{Method: http.MethodGet, Func: func(r cloudapitest.Request) bool {
				if strings.HasSuffix(r.Path, p.VM.ID) {
					polls++
				}
				return strings.HasSuffix(r.Path, p.VM.ID) && polls < stop
			}}, cloudapitest.Handle(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"id":%q,"name":"web-1","state":"deleting","location":%q}`, p.VM.ID, sdktest.Somewhere)
			}).Repeating())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				plan := planTeardown(t, p.Client, &teardown.Options{DeleteProject: true})
				arrange(t, p)
				if err := plan.Run(t.Context()); err != nil {
					t.Error(err)
				}
				if there := sdktest.Contents(t, p.Client); len(there) > 0 {
					t.Errorf("%v is left", there)
				}
			})
		})
	}
}

// TestTeardownTellsTheTruth: some of all requests fail in ways that may be
// permanent, and some runs end early.
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
// what needs it, or which private location has its name.
func TestTeardownIsNotBlind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		match cloudapitest.Match // a request that finds it out
		fault cloudapitest.Fault
		safe  []string // parts of the paths of what must stay
		want  string   // an outcome in the report
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
				if got := outcomes(report); !slices.Contains(got, tt.want) || !errors.Is(report, tt.err) {
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
					if e := last[f.Resource.String()]; e.State != string(f.Outcome) || e.Err != f.Err {
						t.Errorf("the last event of %v is %+v", f, e)
					}
				}
			})
		})
	}
}

// TestTeardownBelievesLists: a list has a load balancer that Get doesn't find,
// which may be in any subnet; or its subnet is in no list; or the list has
// something else.
func TestTeardownBelievesLists(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		operation string
		fault     cloudapitest.Fault
		want      []string
	}{
		"a Get of another opinion": {"LoadBalancers.Get", sdktest.Refusal(404, "ResourceNotFound"),
			[]string{"blocked private subnet eu-central-h1/default-eu-central-h1", "blocked private subnet eu-central-h1/net-1",
				"blocked firewall eu-central-h1/default-eu-central-h1-default", "blocked firewall eu-central-h1/fw-1"}},
		"a list without subnets": {"PrivateSubnets.ListInLocation", cloudapitest.Reply(200, http.Header{"Content-Type": {"application/json"}}, `{"items":[],"count":0}`),
			[]string{"blocked private subnet eu-central-h1/net-1", "blocked firewall eu-central-h1/fw-1"}},
		"a list of VMs": {"LoadBalancers.ListInLocation", cloudapitest.Reply(200, http.Header{"Content-Type": {"application/json"}}, `{"items":[`+stub.VM+`],"count":1}`),
			[]string{"failed Kubernetes cluster eu-central-h1/k8s-1", "failed Postgres database eu-central-h1/db-1", "failed Postgres database eu-central-h1/db-2",
				"failed private subnet eu-central-h1/default-eu-central-h1", "failed private subnet eu-central-h1/net-1",
				"blocked firewall eu-central-h1/default-eu-central-h1-default", "blocked firewall eu-central-h1/fw-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				plan := planTeardown(t, p.Client, nil)
				stub.Must(p.Client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "new", sdktest.BalancerIn(p.Subnet.ID)))(t)
				p.Server.Fail(cloudapitest.Match{Operation: tt.operation, Func: func(r cloudapitest.Request) bool { return strings.Contains(r.Path, sdktest.Somewhere) }},
					tt.fault.Repeating())
				if got := outcomes(checkReport(t, p, plan, plan.Run(t.Context()))); !slices.Equal(got, tt.want) {
					t.Errorf("%q, want %q", got, tt.want)
				}
				p.Server.ClearFaults()
				if _, err := p.Client.LoadBalancers.Get(t.Context(), sdktest.Somewhere, "new"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestTeardownDuringTheDeletionOfALoadBalancer: two load balancers were created after the
// plan. One disappears while Run looks for them, and the other keeps the
// subnet.
func TestTeardownDuringTheDeletionOfALoadBalancer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, p.Client, nil)
		var ids []string
		for _, name := range []string{"new-1", "new-2"} {
			balancer := stub.Must(p.Client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, name, sdktest.BalancerIn(p.Subnet.ID)))(t)
			ids = append(ids, balancer.ID)
		}
		p.Server.Fail(cloudapitest.Match{Operation: "LoadBalancers.Get", Func: func(r cloudapitest.Request) bool { return strings.HasSuffix(r.Path, ids[0]) }},
			cloudapitest.Handle(func(w http.ResponseWriter, _ *http.Request) {
				if err := p.Client.LoadBalancers.Delete(t.Context(), sdktest.Somewhere, ids[0]); err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(404)
				io.WriteString(w, stub.Envelope(404))
			}))
		report := checkReport(t, p, plan, plan.Run(t.Context()))
		want := []string{"blocked private subnet eu-central-h1/net-1", "blocked firewall eu-central-h1/fw-1"}
		if got := outcomes(report); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		equalTexts(t, "the subnet is blocked by", report.Failed[0].BlockedBy, "load balancer eu-central-h1/new-2")
	})
}

// TestTeardownReportsTheLastTry: the server refuses a deletion, and the context
// ends before the next attempt. The refusal is then the reason. Another
// deletion gets no response, so nobody knows that the server accepted it.
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
		if got := outcomes(report); !slices.Equal(got, want) || !errors.Is(report.Failed[0].Err, cloudapi.ErrConflict) || !errors.Is(report.Failed[2].Err, context.DeadlineExceeded) {
			t.Errorf("%q, want %q: %v", got, want, report)
		}
	})
}

// TestTeardownOutlastsDestruction: a load balancer is forbidden for a moment,
// while Run looks for the users of another subnet.
func TestTeardownOutlastsDestruction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "busy", nil))(t)
		stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "idle", nil))(t)
		stub.Must(client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "lb-1", sdktest.BalancerIn(subnet.ID)))(t)
		plan := planTeardown(t, client, nil)
		moment := sdktest.Refusal(403, "Forbidden") // for the subnet, and for the wait for the load balancer's own end
		srv.Fail(cloudapitest.Match{Operation: "LoadBalancers.Get"}, moment, moment)
		if err := plan.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestRetryAfterIsLimited: a server that asks for a pause of a day doesn't hold
// up a run for a day.
func TestRetryAfterIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
		srv.Fail(cloudapitest.Match{Operation: "PrivateSubnets.Delete"}, cloudapitest.Reply(http.StatusServiceUnavailable,
			http.Header{"Retry-After": {"86400"}}, stub.Envelope(http.StatusServiceUnavailable)))
		plan := planTeardown(t, client, nil)
		start := time.Now()
		if err := plan.Run(t.Context()); err != nil || time.Since(start) > 5*time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestLooksBeforeEachAttempt: a load balancer is created after an attempt to
// delete its subnet has failed without saying whether the server executed it.
func TestLooksBeforeEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, ids := newSubnets(t, 1)
		client := srv.Client()
		plan := stub.Must(teardown.NewPlan(t.Context(), srv.Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			attempts := 0
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if req.Method != http.MethodDelete || !strings.HasSuffix(req.URL.Path, ids[0]) {
					return next.RoundTrip(req)
				}
				if attempts++; attempts == 1 {
					stub.Must(client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "new", sdktest.BalancerIn(ids[0])))(t)
					return stub.Respond(503, ""), nil
				}
				return next.RoundTrip(req)
			})
		})), nil))(t)
		report, ok := errors.AsType[*teardown.Error](plan.Run(t.Context()))
		if !ok || !slices.Equal(outcomes(report), []string{"failed private subnet eu-central-h1/net-0", "blocked firewall eu-central-h1/fw-1"}) {
			t.Errorf("the report is %v", report)
		}
		if _, err := client.LoadBalancers.Get(t.Context(), sdktest.Somewhere, "new"); err != nil {
			t.Errorf("the load balancer: %v", err)
		}
	})
}
