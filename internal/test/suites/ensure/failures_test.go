package ensure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
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
)

// TestEnsureRaces runs many concurrent Ensures of one resource, with lost
// responses: one creates it, and all get it.
func TestEnsureRaces(t *testing.T) {
	t.Parallel()
	const callers = 16
	var runs, creates atomic.Int64
	t.Cleanup(func() {
		if creates.Load() < 4*runs.Load() {
			t.Errorf("there was hardly a race: %d creates in %d runs", creates.Load(), runs.Load())
		}
	})
	for name, faults := range map[string][]func() cloudapitest.Fault{
		"no faults":     nil,
		"lost replies":  {cloudapitest.DropAfter},
		"lost requests": {cloudapitest.DropBefore},
		"mixed faults": {cloudapitest.DropAfter, cloudapitest.DropBefore,
			func() cloudapitest.Fault { return cloudapitest.Truncate(10) },
			func() cloudapitest.Fault { return cloudapitest.Reply(503, nil, "") },
			func() cloudapitest.Fault { return cloudapitest.Reply(502, nil, "") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c model) {
				for i, fault := range faults {
					for n := range 3 {
						srv.Fail(cloudapitest.Match{Method: "POST", Nth: 1 + n*(1+rand.IntN(2)) + i}, fault().Optional())
					}
				}
				// Requests take time, so many Ensures look before the resource
				// exists.
				srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(2*time.Millisecond).Repeating())
				before := sdktest.Changes(srv)
				var created atomic.Int64
				ids := stub.Must(cloudapi.WaitAll(t.Context(), make([]int, callers), func(ctx context.Context, _ int) (*string, error) {
					stub.Elapse(rand.N(3 * time.Millisecond))
					id, outcome, err := c.ensure(ctx, client, "", nil)
					if outcome == cloudapi.EnsureCreated || outcome == cloudapi.EnsureFound && faults != nil {
						created.Add(1)
					}
					return &id, err
				}, nil))(t)
				for _, id := range ids {
					if *id != *ids[0] {
						t.Errorf("the callers got %s and %s", *id, *ids[0])
					}
				}
				if n := created.Load(); n == 0 || faults == nil && n != 1 {
					t.Errorf("%d of the callers created it", n)
				}
				c.wantOne(t, client)
				runs.Add(1)
				creates.Add(int64(sdktest.Changes(srv) - before))
			})
		})
	}
}

// TestEnsureWhenCreatesFail: responses to creates are lost, or creates are
// refused. A create that may have been executed isn't sent again before a
// lookup and a pause. If the outcome stays unknown, the error says so.
func TestEnsureWhenCreatesFail(t *testing.T) {
	t.Parallel()
	reply := func(status int) cloudapitest.Fault { return cloudapitest.Reply(status, nil, "") }
	kinds := []error{cloudapi.ErrAlreadyExists, cloudapi.ErrOutcomeUnknown, cloudapi.ErrForbidden, cloudapi.ErrInvalidRequest, cloudapi.ErrNotFound, cloudapi.ErrServer}
	for _, tt := range []struct {
		name   string
		method string
		faults []cloudapitest.Fault
		want   []error // all kinds of the error; none if the resource is created
		posts  int
	}{
		{"executed", "POST", []cloudapitest.Fault{cloudapitest.DropAfter()}, nil, 1},
		{"not executed", "POST", []cloudapitest.Fault{cloudapitest.DropBefore()}, nil, 2},
		{"a server error", "POST", []cloudapitest.Fault{reply(502)}, nil, 2},
		{"taken for a moment", "POST", []cloudapitest.Fault{taken}, nil, 2},
		{"taken until the end", "POST", []cloudapitest.Fault{taken.Repeating()}, []error{cloudapi.ErrAlreadyExists, cloudapi.ErrInvalidRequest}, 1},
		{"broken", "POST", []cloudapitest.Fault{reply(500).Repeating()}, []error{cloudapi.ErrOutcomeUnknown, cloudapi.ErrServer, cloudapi.ErrNotFound}, 4},
		{"forbidden", "POST", []cloudapitest.Fault{reply(403).Repeating()}, []error{cloudapi.ErrForbidden}, 1},
		{"refused", "POST", []cloudapitest.Fault{reply(400).Repeating()}, []error{cloudapi.ErrInvalidRequest}, 1},
		{"lost, then refused", "POST", []cloudapitest.Fault{cloudapitest.DropBefore(), reply(400).Repeating()}, []error{cloudapi.ErrInvalidRequest, cloudapi.ErrOutcomeUnknown}, 2},
		{"lost, then forbidden", "POST", []cloudapitest.Fault{cloudapitest.DropBefore(), reply(403).Repeating()}, []error{cloudapi.ErrForbidden, cloudapi.ErrOutcomeUnknown}, 2},
		{"a lookup that fails", "GET", []cloudapitest.Fault{reply(500).Repeating()}, []error{cloudapi.ErrServer}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c model) {
				srv.Fail(cloudapitest.Match{Method: tt.method}, tt.faults...)
				before, start := sdktest.Changes(srv), time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.name == "taken until the end" {
					time.AfterFunc(time.Second/2, cancel) // in the pause before the second create
				}
				_, outcome, err := c.ensure(ctx, client, "", nil)
				want := cloudapi.EnsureCreated
				switch {
				case tt.want != nil:
					want = ""
				case tt.name == "executed":
					want = cloudapi.EnsureFound
				}
				if posts := sdktest.Changes(srv) - before; outcome != want || posts != tt.posts {
					t.Errorf("%q, %v, after %d POSTs", outcome, err, posts)
				}
				if tt.posts > 1 && time.Since(start) == 0 {
					t.Error("it tried again without a pause")
				}
				if err == nil {
					c.wantOne(t, client)
					return
				}
				for _, kind := range kinds {
					if errors.Is(err, kind) != slices.Contains(tt.want, kind) {
						t.Errorf("%v matches %q: %v", err, kind, errors.Is(err, kind))
					}
				}
				if strings.Contains(err.Error(), "earlier create") != strings.HasPrefix(tt.name, "lost") {
					t.Errorf("whether an earlier create was executed: %v", err)
				}
			})
		})
	}
}

var taken = cloudapitest.Reply(400, http.Header{"Content-Type": {"application/json"}},
	`{"error":{"code":400,"type":"InvalidRequest","message":"project_id and location_id and name is already taken","details":null}}`)

// TestEnsureWaitsForTheName: while lookups find nothing, but creates find the
// name taken, Ensure waits until the context ends, and reports that.
func TestEnsureWaitsForTheName(t *testing.T) {
	t.Parallel()
	const while = time.Minute
	forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c model) {
		for _, limit := range []time.Duration{while / 2, 2 * while} {
			srv.ClearFaults()
			srv.Fail(cloudapitest.Match{Method: "POST"}, taken.For(while).Optional())
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			start, reported := time.Now(), 0
			id, outcome, err := c.ensure(ctx, client, "", &cloudapi.EnsureOptions{Progress: func(p cloudapi.Progress) {
				if p.State == "creating" && errors.Is(p.Err, cloudapi.ErrAlreadyExists) && p.Record == nil {
					reported++
				}
			}})
			took := time.Since(start)
			if reported < 2 {
				t.Errorf("%d reports", reported)
			}
			if limit > while {
				if outcome != cloudapi.EnsureCreated || took < while || took > while+20*time.Second {
					t.Errorf("%q, %q, %v after %v", id, outcome, err, took)
				}
				continue
			}
			e, ok := errors.AsType[*cloudapi.WaitError](err)
			if !ok || took != limit || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cloudapi.ErrAlreadyExists) || cloudapi.IsTransient(err) ||
				!c.reported(e.Operation, e.Resource) || e.Polls < 3 || e.Record != nil {
				t.Errorf("%v after %v", err, took)
			}
		}
	})
}

// TestEnsureCannotUpdate: an update attaches a firewall. The request fails, its
// response is lost and then perhaps the lookup fails, or it has no effect.
func TestEnsureCannotUpdate(t *testing.T) {
	t.Parallel()
	forbidden, pause := sdktest.Refusal(http.StatusForbidden, "Forbidden"), cloudapitest.Delay(time.Second)
	for _, tt := range []struct {
		name   string
		update cloudapitest.Fault
		lookup cloudapitest.Fault // of the first Get after it
		want   []error            // none if the update succeeds
	}{
		{"lost, but executed", cloudapitest.DropAfter(), pause, nil},
		{"lost", cloudapitest.DropBefore(), pause, nil},
		{"refused", forbidden, pause, []error{cloudapi.ErrForbidden}},
		{"lost, and the lookup is refused", cloudapitest.DropAfter(), forbidden, []error{cloudapi.ErrOutcomeUnknown, cloudapi.ErrForbidden}},
		{"without an effect", cloudapitest.Handle(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":%q,"name":"fw-1"}`, path.Base(path.Dir(r.URL.Path)))
		}), pause, []error{cloudapi.ErrAlreadyExists}}, // a DriftError
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				client := srv.Client()
				firewall := stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, "fw-1", nil))(t)
				stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
				srv.Fail(cloudapitest.Match{Method: "POST"}, tt.update)
				srv.Fail(cloudapitest.Match{Operation: "PrivateSubnets.Get", Nth: 3}, tt.lookup.Optional())
				subnet, outcome, err := client.PrivateSubnets.Ensure(t.Context(), sdktest.Somewhere, "net-1",
					&cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}, &cloudapi.EnsureOptions{Update: true})
				if (subnet == nil) != (tt.want != nil) || (outcome == cloudapi.EnsureUpdated) != (tt.want == nil) || (err == nil) != (tt.want == nil) {
					t.Errorf("%+v, %q, %v", subnet, outcome, err)
				} else if err == nil && (len(subnet.Firewalls) != 1 || subnet.Firewalls[0].ID != firewall.ID) {
					t.Errorf("the firewalls are %v", subnet.Firewalls)
				}
				for _, want := range tt.want {
					if !errors.Is(err, want) {
						t.Errorf("the error is %v, want %v", err, want)
					}
				}
				if _, ok := errors.AsType[*cloudapi.DriftError](err); ok != slices.Contains(tt.want, cloudapi.ErrAlreadyExists) {
					t.Errorf("the error is %#v", err)
				}
			})
		})
	}
}

// TestEnsureCannotCompare: if Ensure can't read the VM's subnet, it returns an
// error, even in a plan.
func TestEnsureCannotCompare(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client()
	subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
	request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID}
	stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
	srv.Fail(cloudapitest.Match{Operation: "Projects.ObjectInfo"}, sdktest.Refusal(http.StatusForbidden, "Forbidden").Repeating())
	for _, plans := range []bool{true, false} {
		if got, outcome, err := sdktest.Planning(client, plans).VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", request, nil); got != nil || outcome != "" || !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("Ensure is %v, %q, %v", got, outcome, err)
		}
	}
}

func ensureTogether(t *testing.T, client *cloudapi.Client, n int) string {
	t.Helper()
	vms := stub.Must(cloudapi.WaitAll(t.Context(), make([]int, n), func(ctx context.Context, _ int) (*cloudapi.VM, error) {
		vm, _, err := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil)
		return vm, err
	}, nil))(t)
	for _, vm := range vms {
		if vm.ID != vms[0].ID {
			t.Errorf("it is %s, want %s", vm.ID, vms[0].ID)
		}
	}
	return vms[0].ID
}

// TestEnsureAtTheQuota: two concurrent Ensures want the VM that uses up the
// quota. The server tells the second one that the quota is exceeded, not that
// the name is taken.
func TestEnsureAtTheQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithQuota(cloudapitest.Quota{VM: 2, Postgres: 1, Kubernetes: 1, Projects: 1}))
		client := srv.Client()
		srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(time.Millisecond).Repeating())
		if ensureTogether(t, client, 2); sdktest.Changes(srv) != 2 {
			t.Errorf("%d POSTs", sdktest.Changes(srv))
		}
		vm, outcome, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-2", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil)
		if vm != nil || outcome != "" || !errors.Is(err, cloudapi.ErrInvalidRequest) || errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("another one: %v, %q, %v", vm, outcome, err)
		}
	})
}

// TestEnsureDuringADeletion: Ensure waits until the VM that has the name is
// gone, even if reading it fails for a moment. Of several Ensures, one then
// creates the new VM, and all return it.
func TestEnsureDuringADeletion(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]cloudapitest.Fault{
		"nothing fails": cloudapitest.Delay(time.Second),
		"forbidden":     sdktest.Refusal(403, "Forbidden"),
		"broken":        sdktest.Refusal(500, "UnexceptedError"),
		"lost":          cloudapitest.DropBefore(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
				client := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
				request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}
				first := stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
				stub.Must(0, client.VMs.Delete(t.Context(), sdktest.Somewhere, "web-1"))(t)

				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				start := time.Now()
				vm, outcome, err := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", request, nil)
				if e, ok := errors.AsType[*cloudapi.WaitError](err); vm != nil || outcome != "" || !errors.Is(err, context.DeadlineExceeded) ||
					time.Since(start) != time.Millisecond || !ok || e.Operation != "VMs.Ensure" || e.State != "deleting" {
					t.Errorf("until the context ends: %v, %q, %v after %v", vm, outcome, err, time.Since(start))
				}
				srv.Fail(cloudapitest.Match{Operation: "VMs.Get", Nth: 3}, fault)
				var events []cloudapi.Progress
				vm, outcome, err = client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", request,
					&cloudapi.EnsureOptions{Progress: func(p cloudapi.Progress) { events = append(events, p) }})
				if err != nil || outcome != cloudapi.EnsureCreated || vm.ID == first.ID {
					t.Fatalf("%v, %q, %v", vm, outcome, err)
				}
				failures := 0
				for i, e := range events {
					if e.Err != nil {
						failures++
					}
					if e.Done != i/(len(events)-1) || i > 0 && e.Polls < events[i-1].Polls {
						t.Errorf("event %d is %+v", i, e)
					}
				}
				if (failures == 1) != (name != "nothing fails") {
					t.Errorf("%d failures were reported", failures)
				}
				stub.Must(0, client.VMs.Delete(t.Context(), sdktest.Somewhere, "web-1"))(t)
				if id := ensureTogether(t, client, 10); id == vm.ID {
					t.Errorf("10 of them got the VM that was deleted")
				}
			})
		})
	}
}

// TestEnsureReturnsRefusals: whichever request of an Ensure the server refuses,
// Ensure fails with the refusal, and the next Ensure does the rest.
func TestEnsureReturnsRefusals(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, client *cloudapi.Client, name string, ensure func(*cloudapi.Client) (cloudapi.EnsureOutcome, error)) {
		t.Helper()
		for n, refused := 1, true; refused; n++ {
			sent := 0
			refusing := stub.Must(client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
				return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					// Ensure also works without these lists, which only tell what a 404 means, and without this load balancer, which may be another subnet's.
					if last := path.Base(req.URL.Path); req.Method == http.MethodGet && (last == "vm-init-script" || last == "private-link-service" || strings.HasSuffix(req.URL.Path, "/load-balancer/x-1")) {
						return next.RoundTrip(req)
					}
					if sent++; sent == n {
						return stub.Respond(http.StatusForbidden, stub.Envelope(http.StatusForbidden)), nil
					}
					return next.RoundTrip(req)
				})
			})))(t)
			outcome, err := ensure(refusing)
			if refused = sent >= n; refused != errors.Is(err, cloudapi.ErrForbidden) || refused == (err == nil) {
				t.Errorf("%s: request %d is refused: %v, and the result is %q, %v", name, n, refused, outcome, err)
			}
		}
	}
	for _, api := range []cloudapitest.API{cloudapitest.Contract, cloudapitest.Service} {
		t.Run(fmt.Sprint(api), func(t *testing.T) {
			t.Parallel()
			forEachModel(t, api, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client, m model) {
				for _, variant := range append([]string{""}, m.updatable(api)...) {
					check(t, client, variant, func(client *cloudapi.Client) (cloudapi.EnsureOutcome, error) {
						_, outcome, err := m.ensure(t.Context(), client, variant, &cloudapi.EnsureOptions{Update: true})
						return outcome, err
					})
					stub.Elapse(time.Hour)
				}
			})
		})
	}
}
