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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestEnsureRaces runs many concurrent Ensures of one resource, with lost
// responses: one creates it, and all get it.
func TestEnsureRaces(t *testing.T) {
	t.Parallel()
	const callers = 16
	type fault func() cloudapitest.Fault
	var total struct {
		sync.Mutex
		runs, calls, creates, created, requests int
	}
	for _, tt := range []struct {
		name   string
		faults []fault
	}{
		{"no faults", nil},
		{"lost replies", []fault{cloudapitest.DropAfter}},
		{"lost requests", []fault{cloudapitest.DropBefore}},
		{"mixed faults", []fault{cloudapitest.DropAfter, cloudapitest.DropBefore,
			func() cloudapitest.Fault { return cloudapitest.Truncate(10) },
			func() cloudapitest.Fault { return cloudapitest.Reply(503, nil, "") },
			func() cloudapitest.Fault { return cloudapitest.Reply(502, nil, "") }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
				for i := range tt.faults {
					for n := range 3 {
						srv.Fail(cloudapitest.Match{Method: "POST", Nth: 1 + n*(1+rand.IntN(2)) + i}, tt.faults[i]().Optional())
					}
				}
				// Requests take time, so many Ensures look before the resource
				// exists.
				srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(2*time.Millisecond).Repeating())
				before, changesBefore := len(srv.Requests()), sdktest.Changes(srv)
				ids, created := make([]string, callers), make([]bool, callers)
				var group sync.WaitGroup
				for i := range callers {
					group.Go(func() {
						if i%2 == 0 {
							stub.Elapse(rand.N(3 * time.Millisecond))
						}
						var err error
						if ids[i], created[i], err = c.ensure(t.Context(), client, "", nil); err != nil {
							t.Errorf("caller %d: %v", i, err)
						}
					})
				}
				group.Wait()
				if slices.Sort(ids); ids[0] != ids[callers-1] {
					t.Errorf("the callers got %v", slices.Compact(ids))
				}
				n := 0
				for _, c := range created {
					if c {
						n++
					}
				}
				if n == 0 || tt.faults == nil && n != 1 {
					t.Errorf("%d of the callers created it", n)
				}
				c.wantOne(t, client)
				total.Lock()
				defer total.Unlock()
				total.runs++
				total.calls += callers
				total.creates += sdktest.Changes(srv) - changesBefore
				total.created += n
				total.requests += len(srv.Requests()) - before
			})
		})
	}
	t.Cleanup(func() {
		if total.creates < 4*total.runs {
			t.Errorf("there was hardly a race: %d creates in %d runs", total.creates, total.runs)
		}
		t.Logf("%d races of %d callers, %d calls, %d requests, %d of them creates: one object each, %d callers were told that they created it",
			total.runs, callers, total.calls, total.requests, total.creates, total.created)
	})
}

// TestEnsureWhenCreatesFail: responses to creates are lost, or creates are
// refused. A create that may have been executed isn't sent again before a lookup
// and a pause, and the error says so if the outcome stays unknown.
func TestEnsureWhenCreatesFail(t *testing.T) {
	t.Parallel()
	taken := cloudapitest.Reply(400, http.Header{"Content-Type": {"application/json"}},
		`{"error":{"code":400,"type":"InvalidRequest","message":"project_id and location_id and name is already taken","details":null}}`)
	reply := func(status int) cloudapitest.Fault { return cloudapitest.Reply(status, nil, "") }
	kinds := []error{cloudapi.ErrAlreadyExists, cloudapi.ErrOutcomeUnknown, cloudapi.ErrForbidden, cloudapi.ErrInvalidRequest, cloudapi.ErrNotFound, cloudapi.ErrServer}
	for _, tt := range []struct {
		name   string
		method string
		faults []cloudapitest.Fault
		want   []error // all of the kinds that the error has, or none if it's created
		posts  int
	}{
		{"executed", "POST", []cloudapitest.Fault{cloudapitest.DropAfter()}, nil, 1},
		{"not executed", "POST", []cloudapitest.Fault{cloudapitest.DropBefore()}, nil, 2},
		{"a server error", "POST", []cloudapitest.Fault{reply(502)}, nil, 2},
		{"taken for a moment", "POST", []cloudapitest.Fault{taken}, nil, 2},
		{"taken", "POST", []cloudapitest.Fault{taken.Repeating()}, []error{cloudapi.ErrAlreadyExists, cloudapi.ErrInvalidRequest, cloudapi.ErrNotFound}, 4},
		{"broken", "POST", []cloudapitest.Fault{reply(500).Repeating()}, []error{cloudapi.ErrOutcomeUnknown, cloudapi.ErrServer, cloudapi.ErrNotFound}, 4},
		{"forbidden", "POST", []cloudapitest.Fault{reply(403).Repeating()}, []error{cloudapi.ErrForbidden}, 1},
		{"refused", "POST", []cloudapitest.Fault{reply(400).Repeating()}, []error{cloudapi.ErrInvalidRequest}, 1},
		{"lost, then refused", "POST", []cloudapitest.Fault{cloudapitest.DropBefore(), reply(400).Repeating()}, []error{cloudapi.ErrInvalidRequest, cloudapi.ErrOutcomeUnknown}, 2},
		{"lost, then forbidden", "POST", []cloudapitest.Fault{cloudapitest.DropBefore(), reply(403).Repeating()}, []error{cloudapi.ErrForbidden, cloudapi.ErrOutcomeUnknown}, 2},
		{"a lookup that fails", "GET", []cloudapitest.Fault{reply(500).Repeating()}, []error{cloudapi.ErrServer}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
				srv.Fail(cloudapitest.Match{Method: tt.method}, tt.faults...)
				before, start := sdktest.Changes(srv), time.Now()
				_, created, err := c.ensure(t.Context(), client, "", nil)
				if posts := sdktest.Changes(srv) - before; created != (tt.want == nil) || created != (err == nil) || posts != tt.posts {
					t.Errorf("%v, %v, after %d POSTs", created, err, posts)
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

// TestEnsureCannotUpdate: the attachment of a firewall, which isn't retried, or
// the lookup after one whose response was lost, fails, or the attachment has no
// effect.
func TestEnsureCannotUpdate(t *testing.T) {
	t.Parallel()
	forbidden, pause := sdktest.Refusal(http.StatusForbidden, "Forbidden"), cloudapitest.Delay(time.Second)
	for _, tt := range []struct {
		name   string
		update cloudapitest.Fault
		lookup cloudapitest.Fault // of the first Get after it
		want   []error            // none if the update succeeds
		drift  bool
	}{
		{"lost, but executed", cloudapitest.DropAfter(), pause, nil, false},
		{"lost", cloudapitest.DropBefore(), pause, []error{cloudapi.ErrOutcomeUnknown}, false},
		{"refused", forbidden, pause, []error{cloudapi.ErrForbidden}, false},
		{"lost, and the lookup is refused", cloudapitest.DropAfter(), forbidden, []error{cloudapi.ErrOutcomeUnknown, cloudapi.ErrForbidden}, false},
		{"without an effect", cloudapitest.Handle(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":%q,"name":"fw-1"}`, path.Base(path.Dir(r.URL.Path)))
		}), pause, []error{cloudapi.ErrAlreadyExists}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				client := srv.Client()
				firewall := stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, "fw-1", nil))(t)
				stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
				srv.Fail(cloudapitest.Match{Method: "POST"}, tt.update)
				srv.Fail(cloudapitest.Match{Operation: "PrivateSubnets.Get", Nth: 2}, tt.lookup.Optional())
				subnet, outcome, err := client.PrivateSubnets.Ensure(t.Context(), sdktest.Somewhere, "net-1",
					&cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}, &cloudapi.EnsureOptions{Update: true})
				if tt.want == nil {
					if err != nil || outcome != cloudapi.EnsureUpdated || len(subnet.Firewalls) != 1 || subnet.Firewalls[0].ID != firewall.ID {
						t.Errorf("%+v, %q, %v", subnet, outcome, err)
					}
					return
				}
				if subnet != nil || outcome != "" {
					t.Errorf("%+v, %q", subnet, outcome)
				}
				for _, want := range tt.want {
					if !errors.Is(err, want) {
						t.Errorf("the error is %v, want %v", err, want)
					}
				}
				if _, ok := errors.AsType[*cloudapi.DriftError](err); ok != tt.drift {
					t.Errorf("the error is %#v", err)
				}
			})
		})
	}
}

// TestEnsureCannotCompare: without the subnet, Ensure can't know whether the VM
// matches the request, so it doesn't say that it does, even in a dry run.
func TestEnsureCannotCompare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
		request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID}
		stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
		srv.Fail(cloudapitest.Match{Operation: "Projects.ObjectInfo"}, sdktest.Refusal(http.StatusForbidden, "Forbidden").Repeating())
		for _, opts := range []*cloudapi.EnsureOptions{nil, {DryRun: true}} {
			if got, outcome, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", request, opts); got != nil || outcome != "" || !errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("Ensure is %v, %q, %v", got, outcome, err)
			}
		}
	})
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
		var ids [2]string
		var group sync.WaitGroup
		for i := range ids {
			group.Go(func() {
				vm, _, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = vm.ID
			})
		}
		group.Wait()
		if ids[0] != ids[1] || sdktest.Changes(srv) != 2 {
			t.Errorf("%v after %d POSTs", ids, sdktest.Changes(srv))
		}
		vm, created, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-2", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil)
		if vm != nil || created == cloudapi.EnsureCreated || !errors.Is(err, cloudapi.ErrInvalidRequest) || errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("another one: %v, %v, %v", vm, created, err)
		}
	})
}

// TestEnsureAfterAPredecessor: many Ensures wait until a VM is gone. One of
// them creates the next VM, and all return it, although the name is never free
// for the others.
func TestEnsureAfterAPredecessor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}
		before := stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
		if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, "web-1"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		vms := stub.Must(cloudapi.WaitAll(ctx, make([]int, 10), func(ctx context.Context, _ int) (*cloudapi.VM, error) {
			vm, _, err := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", request, nil)
			return vm, err
		}, nil))(t)
		for _, vm := range vms {
			if vm.ID != vms[0].ID || vm.ID == before.ID {
				t.Errorf("it is %s, want %s", vm.ID, vms[0].ID)
			}
		}
	})
}

// TestEnsureWaitsForAPredecessor deletes the resource with the name, and
// immediately ensures it.
func TestEnsureWaitsForAPredecessor(t *testing.T) {
	t.Parallel()
	forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
		if !c.ends {
			return
		}
		id, _, err := c.ensure(t.Context(), client, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		stub.Elapse(time.Hour)
		if err := client.Delete(t.Context(), c.resource(id)); err != nil {
			t.Fatal(err)
		}
		var events []cloudapi.Progress
		next, created, err := c.ensure(t.Context(), client, "", &cloudapi.EnsureOptions{Progress: func(p cloudapi.Progress) { events = append(events, p) }})
		if err != nil || !created || next == id {
			t.Errorf("%s, %v, %v; before it was %s", next, created, err, id)
		}
		c.wantOne(t, client)
		last := events[len(events)-1]
		if last.Done != 1 || last.Total != 1 || last.Record == nil || last.Operation != c.name+".Ensure" || !strings.HasSuffix(last.Resource, "x-1") {
			t.Errorf("the last event is %+v", last)
		}
		for _, e := range events[:len(events)-1] {
			if e.Done != 0 || e.State != "creating" && (e.State != "deleting" || e.Record == nil) {
				t.Errorf("an event before the end is %+v", e)
			}
		}
	})
}

// TestEnsureOutlastsFailures: reading the predecessor fails for a moment, as it
// may while the predecessor is being destroyed.
func TestEnsureOutlastsFailures(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]cloudapitest.Fault{
		"forbidden": sdktest.Refusal(403, "Forbidden"),
		"broken":    sdktest.Refusal(500, "UnexceptedError"),
		"lost":      cloudapitest.DropBefore(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
				client := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
				request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}
				stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
				if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, "web-1"); err != nil {
					t.Fatal(err)
				}
				srv.Fail(cloudapitest.Match{Operation: "VMs.Get", Nth: 3}, fault)
				var events []cloudapi.Progress
				vm, created, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", request,
					&cloudapi.EnsureOptions{Progress: func(p cloudapi.Progress) { events = append(events, p) }})
				if vm == nil || created != cloudapi.EnsureCreated || err != nil {
					t.Fatalf("%v, %v, %v", vm, created, err)
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
				if failures != 1 {
					t.Errorf("%d failures were reported", failures)
				}
			})
		})
	}
}

func TestEnsureEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Delete: time.Hour}))
		client := srv.Client()
		request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}
		stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
		if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, "web-1"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		vm, created, err := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", request, nil)
		if vm != nil || created == cloudapi.EnsureCreated || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v, %v, %v after %v", vm, created, err, time.Since(start))
		}
		if e, ok := errors.AsType[*cloudapi.WaitError](err); !ok || e.Operation != "VMs.Ensure" || e.State != "deleting" {
			t.Errorf("%#v", e)
		}
	})
}
