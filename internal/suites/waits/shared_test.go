package waits_test

import (
	"context"
	"errors"
	"fmt"
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
)

// sentBy counts the requests that arrive while f runs, by the operation's name.
func sentBy(srv *cloudapitest.Server, f func()) map[string]int {
	before := len(srv.Requests())
	f()
	counts := map[string]int{}
	for _, request := range srv.Requests()[before:] {
		counts[request.Name]++
	}
	return counts
}

func createVMs(t *testing.T, client *cloudapi.Client, n int) []*cloudapi.VM {
	t.Helper()
	created := make([]*cloudapi.VM, n)
	for i := range created {
		created[i] = stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, fmt.Sprintf("vm-%d", i), &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "burstable-1"}))(t)
	}
	return created
}

// TestWaitsSharePolls: many waits read a few lists instead of sending a Get
// each. They end with the full record, and no later than a single wait.
func TestWaitsSharePolls(t *testing.T) {
	t.Parallel()
	const n = 25
	alone, together := time.Duration(0), time.Duration(0)
	delays := cloudapitest.DefaultDelays()
	delays.Create = 40 * time.Second
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t, cloudapitest.WithDelays(delays)).Client()
		vm := createVMs(t, client, 1)[0]
		start := time.Now()
		stub.Must(client.VMs.WaitRunning(t.Context(), vm.Location, vm.ID, &cloudapi.WaitOptions{Interval: 5 * time.Second, MaxInterval: 5 * time.Second}))(t)
		alone = time.Since(start)
	})
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
		client := srv.Client()
		created := createVMs(t, client, n)
		start := time.Now()
		counts := sentBy(srv, func() {
			vms, err := cloudapi.WaitAll(t.Context(), created, func(ctx context.Context, vm *cloudapi.VM) (*cloudapi.VM, error) {
				return client.VMs.WaitRunning(ctx, vm.Location, vm.ID, &cloudapi.WaitOptions{Interval: 5 * time.Second, MaxInterval: 5 * time.Second})
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, vm := range vms {
				if vm.ID != created[i].ID || vm.State != cloudapi.VMStateRunning || vm.Subnet == "" {
					t.Errorf("the VM %d is %+v, want the full record of %s", i, vm, created[i].ID)
				}
			}
		})
		together = time.Since(start)
		// The shortest pause is 4 s. At the beginning, a wait that begins while
		// others read the list needs another list.
		rounds := int(delays.Create/(4*time.Second)) + 10
		if lists, gets := counts["VMs.ListInLocation"], counts["VMs.Get"]; lists > rounds || gets > n+n/5 {
			t.Errorf("%d waits sent %d lists and %d gets, want at most %d and about one each", n, lists, gets, rounds)
		}
	})
	if together > alone+2*time.Second { // the deviation of one pause
		t.Errorf("waiting took %v together, %v alone", together, alone)
	}
}

// TestSharedPollsOfDeletions: waits for deletions share their polls as well, by
// ID and by name.
func TestSharedPollsOfDeletions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Delete = 40 * time.Second
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
		client := srv.Client()
		created := createVMs(t, client, 20)
		for _, vm := range created {
			if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, vm.ID); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		counts := sentBy(srv, func() {
			stub.Must(cloudapi.WaitAll(t.Context(), created, func(ctx context.Context, vm *cloudapi.VM) (*cloudapi.VM, error) {
				reference := vm.ID
				if strings.HasSuffix(vm.Name, "0") {
					reference = vm.Name
				}
				return nil, client.VMs.WaitDeleted(ctx, sdktest.Somewhere, reference, &cloudapi.WaitOptions{Interval: 5 * time.Second, MaxInterval: 5 * time.Second})
			}, nil))(t)
		})
		if took := time.Since(start); took < 40*time.Second || took > 50*time.Second {
			t.Errorf("it took %v", took)
		}
		if counts["VMs.Get"] > 3*20 { // alone each would poll about 9 times
			t.Errorf("20 waits sent %v", counts)
		}
	})
}

// TestSharedPollsWithEqualNames: several load balancers have the name, so only
// the server knows which one it means. Waits for its deletion end with it.
func TestSharedPollsWithEqualNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t).Client()
		for i := range 8 {
			subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, fmt.Sprintf("net-%d", i), nil))(t)
			stub.Must(client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "lb", sdktest.BalancerIn(subnet.ID)))(t)
		}
		meant := stub.Must(client.LoadBalancers.Get(t.Context(), sdktest.Somewhere, "lb"))(t)
		time.AfterFunc(time.Minute, func() {
			if err := client.LoadBalancers.Delete(t.Context(), sdktest.Somewhere, meant.ID); err != nil {
				t.Error(err)
			}
		})
		start := time.Now()
		stub.Must(cloudapi.WaitAll(t.Context(), make([]int, 10), func(ctx context.Context, _ int) (*int, error) {
			err := client.LoadBalancers.WaitDeleted(ctx, sdktest.Somewhere, "lb", nil)
			if took := time.Since(start); took < time.Minute {
				t.Errorf("a wait ended after %v", took)
			}
			return nil, err
		}, nil))(t)
	})
}

// TestSharedPollsEndWithTheFullRecord: the record of a wait that fails is in
// its full form as well.
func TestSharedPollsEndWithTheFullRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create, delays.Delete = time.Hour, time.Hour
		client := cloudapitest.New(t, cloudapitest.WithDelays(delays)).Client()
		created := createVMs(t, client, 10)
		time.AfterFunc(time.Minute, func() {
			for _, vm := range created {
				if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, vm.ID); err != nil {
					t.Error(err)
				}
			}
		})
		stub.Must(cloudapi.WaitAll(t.Context(), created, func(ctx context.Context, vm *cloudapi.VM) (*cloudapi.VM, error) {
			_, err := client.VMs.WaitRunning(ctx, sdktest.Somewhere, vm.ID, nil)
			e, ok := errors.AsType[*cloudapi.WaitError](err)
			if !ok || !errors.Is(err, cloudapi.ErrWaitFailed) || e.Record.(*cloudapi.VM).Subnet == "" {
				t.Errorf("it is %+v", err)
			}
			return nil, nil
		}, nil))(t)
	})
}

// Each wait has its own end: it waits by name or by ID, for another state,
// until its context ends, or for a VM that doesn't exist.
func TestSharedPollsKeepWaitsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create, delays.Delete = time.Minute, 20*time.Second
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
		client := srv.Client()
		created := createVMs(t, client, 4)
		if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, created[3].ID); err != nil {
			t.Fatal(err)
		}
		waits := map[string]func(context.Context) error{
			"by ID": func(ctx context.Context) error {
				_, err := client.VMs.WaitRunning(ctx, sdktest.Somewhere, created[0].ID, nil)
				return err
			},
			"by name": func(ctx context.Context) error {
				vm, err := client.VMs.WaitRunning(ctx, sdktest.Somewhere, "vm-1", nil)
				if err == nil && vm.ID != created[1].ID {
					return fmt.Errorf("it is %s", vm.ID)
				}
				return err
			},
			"of a deletion": func(ctx context.Context) error {
				return client.VMs.WaitDeleted(ctx, sdktest.Somewhere, created[3].ID, nil)
			},
			"of what is deleted": func(ctx context.Context) error {
				if _, err := client.VMs.WaitRunning(ctx, sdktest.Somewhere, created[3].ID, nil); !errors.Is(err, cloudapi.ErrWaitFailed) {
					return fmt.Errorf("it is %w, want ErrWaitFailed", err)
				}
				return nil
			},
			"of nothing": func(ctx context.Context) error {
				if _, err := client.VMs.WaitRunning(ctx, sdktest.Somewhere, "none", nil); !errors.Is(err, cloudapi.ErrNotFound) {
					return fmt.Errorf("it is %w, want ErrNotFound", err)
				}
				return nil
			},
			"with little time": func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				start := time.Now()
				_, err := client.VMs.WaitRunning(ctx, sdktest.Somewhere, created[2].ID, nil)
				if e, ok := errors.AsType[*cloudapi.WaitError](err); !ok || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 10*time.Second || e.Record == nil {
					return fmt.Errorf("it is %w after %v", err, time.Since(start))
				}
				return nil
			},
		}
		names := make([]string, 0, len(waits))
		for name := range waits {
			names = append(names, name)
		}
		_, err := cloudapi.WaitAll(t.Context(), names, func(ctx context.Context, name string) (*cloudapi.VM, error) {
			if err := waits[name](ctx); err != nil {
				return nil, fmt.Errorf("the wait %s: %w", name, err)
			}
			return nil, nil
		}, nil)
		if err != nil {
			t.Error(err)
		}
	})
}

// A list that can't be read doesn't end a wait, however often it fails, as long
// as a Get works.
func TestSharedPollsWithFailingLists(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]cloudapitest.Fault{
		"forbidden": cloudapitest.Reply(403, nil, `{"error":{"code":403,"type":"Forbidden","message":"no"}}`),
		"outage":    cloudapitest.Reply(500, nil, outage),
		"no list":   cloudapitest.Reply(200, nil, `{}`),
		"dropped":   cloudapitest.DropAfter(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for faults, tolerance := range map[string]int{"two": 0, "all": 5, "all, without tolerance": -1} {
				synctest.Test(t, func(t *testing.T) {
					delays := cloudapitest.DefaultDelays()
					delays.Create = 2 * time.Minute
					srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
					client := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
					created := createVMs(t, client, 10)
					if lists := (cloudapitest.Match{Operation: "VMs.ListInLocation"}); faults == "two" {
						srv.Fail(lists, fault, fault)
					} else {
						srv.Fail(lists, fault.Repeating())
					}
					vms, err := cloudapi.WaitAll(t.Context(), created, func(ctx context.Context, vm *cloudapi.VM) (*cloudapi.VM, error) {
						return client.VMs.WaitRunning(ctx, vm.Location, vm.ID, &cloudapi.WaitOptions{Tolerance: tolerance})
					}, nil)
					if err != nil || vms[9].State != cloudapi.VMStateRunning {
						t.Errorf("%s: %v, %v", faults, vms, err)
					}
				})
			}
		})
	}
}

const outage = `{"error":{"code":500,"type":"UnexceptedError","message":"no"}}`

// fleet is a server with n VMs, web-1 to web-n, which are running after some
// time.
type fleet struct {
	n            int
	runs         time.Time
	stale        bool // lists show all VMs as they were at the beginning
	lists, gets  atomic.Int32
	requestOwner func(*http.Request) string
}

func (f *fleet) RoundTrip(req *http.Request) (*http.Response, error) {
	owner := ""
	if f.requestOwner != nil {
		owner = f.requestOwner(req)
	}
	record := func(i int, isStale bool) map[string]any {
		state := cloudapi.VMStateCreating
		if !isStale && !time.Now().Before(f.runs) {
			state = cloudapi.VMStateRunning
		}
		return map[string]any{"id": fmt.Sprintf("vm%024d", i), "name": fmt.Sprintf("web-%d", i), "state": state, "unix_user": owner}
	}
	number := 0
	if _, name, found := strings.Cut(req.URL.Path, "/vm/web-"); found {
		f.gets.Add(1)
		fmt.Sscan(name, &number)
		return stub.Respond(200, string(stub.JSON(record(number, false)))), nil
	}
	f.lists.Add(1)
	fmt.Sscanf(req.URL.Query().Get("start_after"), "vm%d", &number)
	items := []any{}
	for i := number + 1; i <= f.n && len(items) < 1000; i++ {
		items = append(items, record(i, f.stale))
	}
	return stub.Respond(200, string(stub.JSON(map[string]any{"items": items, "count": f.n}))), nil
}

// waitFor waits for the first VMs of a fleet.
func (f *fleet) waitFor(t *testing.T, client *cloudapi.Client, vms int, opts *cloudapi.WaitOptions) (took time.Duration) {
	t.Helper()
	names := make([]string, vms)
	for i := range names {
		names[i] = fmt.Sprintf("web-%d", i+1)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	got, err := cloudapi.WaitAll(ctx, names, func(ctx context.Context, name string) (*cloudapi.VM, error) {
		return client.VMs.WaitRunning(ctx, sdktest.Somewhere, name, opts)
	}, nil)
	if err != nil {
		t.Errorf("%d waits: %.200v", vms, err)
		return time.Since(start)
	}
	for i, vm := range got {
		if vm.Name != names[i] || vm.State != cloudapi.VMStateRunning {
			t.Errorf("the record of %s is %+v", names[i], vm)
		}
	}
	return time.Since(start)
}

// TestWaitsSendFewRequests limits the requests and the time of waits for the
// first VMs of a fleet that is running after 40 seconds. Whatever the lists do, a
// wait takes little longer than alone. A later wait is alone again.
func TestWaitsSendFewRequests(t *testing.T) {
	t.Parallel()
	hangs := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	for name, tt := range map[string]struct {
		vms, waits  int
		latency     time.Duration
		stale       bool                                        // lists show all VMs as they were at the beginning
		fail        func(*http.Request) (*http.Response, error) // the lists
		lists, gets int32
		took        time.Duration
	}{
		"one":                         {3, 1, 0, false, nil, 0, 15, 46 * time.Second},
		"500":                         {500, 500, 0, false, nil, 16, 501, 46 * time.Second},
		"500 with a slow server":      {500, 500, 30 * time.Millisecond, false, nil, 16, 501, 46 * time.Second},
		"4 among 50":                  {50, 4, 0, false, nil, 4, 60, 46 * time.Second},
		"2 among many":                {20_000, 2, 0, false, nil, 1, 30, 46 * time.Second},                                 // the first page shows how many
		"lists that hang":             {10, 10, 0, false, hangs, 100, 150, 53 * time.Second},                               // one pause longer
		"lists that can't be read":    {10, 10, 0, false, stub.Always(403, stub.Envelope(403)), 20, 150, 46 * time.Second}, // once in a round
		"lists that are always stale": {10, 10, 0, true, nil, 40, 40, 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{n: tt.vms, runs: time.Now().Add(40 * time.Second), stale: tt.stale}
				var failed atomic.Int32 // lists
				client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					<-time.After(tt.latency)
					if strings.HasSuffix(req.URL.Path, "/vm") && tt.fail != nil {
						failed.Add(1)
						return tt.fail(req)
					}
					return f.RoundTrip(req)
				}))
				took := f.waitFor(t, client, tt.waits, nil)
				if n := f.lists.Load() + failed.Load(); n > tt.lists || f.gets.Load() > tt.gets || took > tt.took {
					t.Errorf("%d lists and %d gets in %v, want at most %d, %d and %v", n, f.gets.Load(), took, tt.lists, tt.gets, tt.took)
				}
				f.runs = time.Now().Add(40 * time.Second)
				before := f.lists.Load()
				if f.waitFor(t, client, 1, nil); f.lists.Load() != before {
					t.Error("a wait after others read a list")
				}
			})
		})
	}
}

type ownerKey struct{}

// TestWaitsForOwners: a wait never gets a record from the list of another
// project, or of another tenant, whom the token source knows by the context.
func TestWaitsForOwners(t *testing.T) {
	t.Parallel()
	projects := []string{stub.Project, "pj00000000021g000000000001"}
	for name, tt := range map[string]struct {
		owners  []string
		ownerOf func(*http.Request) string
		client  func(context.Context, *cloudapi.Client, string) (context.Context, *cloudapi.Client)
	}{
		"tenants": {
			[]string{"a", "b"},
			func(req *http.Request) string {
				return strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer token-")
			},
			func(ctx context.Context, c *cloudapi.Client, owner string) (context.Context, *cloudapi.Client) {
				return context.WithValue(ctx, ownerKey{}, owner), c
			},
		},
		"projects": {
			projects,
			func(req *http.Request) string { return strings.Split(req.URL.Path, "/")[2] },
			func(ctx context.Context, c *cloudapi.Client, owner string) (context.Context, *cloudapi.Client) {
				return ctx, c.InProject(owner)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{n: 1, runs: time.Now().Add(20 * time.Second), requestOwner: tt.ownerOf}
				client := sdktest.Client(t, f, cloudapi.WithTokenSource(func(ctx context.Context) (string, error) {
					owner, _ := ctx.Value(ownerKey{}).(string)
					return "token-" + owner, nil
				}))
				stub.Must(cloudapi.WaitAll(t.Context(), slices.Repeat(tt.owners, 3), func(ctx context.Context, owner string) (*cloudapi.VM, error) {
					ctx, c := tt.client(ctx, client, owner)
					return c.VMs.WaitRunning(ctx, sdktest.Somewhere, "web-1", &cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) {
						if vm := p.Record.(*cloudapi.VM); vm.UnixUser != owner {
							t.Errorf("the wait of %s got a record of %s", owner, vm.UnixUser)
						}
					}})
				}, nil))(t)
			})
		})
	}
}

// The polls of a fast wait don't make the pauses of a slow one longer.
func TestSharedPollsKeepThePace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create = time.Minute
		client := cloudapitest.New(t, cloudapitest.WithDelays(delays)).Client()
		fast := createVMs(t, client, 1)[0]
		stub.Elapse(30 * time.Second)
		slow := stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "slow", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		start := time.Now()
		_, err := cloudapi.WaitAll(t.Context(), []*cloudapi.VM{fast, slow}, func(ctx context.Context, vm *cloudapi.VM) (*cloudapi.VM, error) {
			longest := time.Second
			if vm == slow {
				longest = time.Hour
			}
			return client.VMs.WaitRunning(ctx, vm.Location, vm.ID, &cloudapi.WaitOptions{Interval: time.Second, MaxInterval: longest})
		}, nil)
		// Alone it would take less than 2 minutes, since each pause is about
		// half of the time waited so far.
		if took := time.Since(start); err != nil || took > 2*time.Minute {
			t.Errorf("it took %v, %v", took, err)
		}
	})
}

// The failed polls of a fast wait don't use up the tolerance of a slow one.
func TestSharedPollsKeepTheTolerance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create = 90 * time.Second
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
		client, err := srv.Client().With(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
		if err != nil {
			t.Fatal(err)
		}
		created := createVMs(t, client, 2)
		start := time.Now()
		srv.Fail(cloudapitest.Match{Method: "GET", Func: func(cloudapitest.Request) bool {
			elapsed := time.Since(start)
			return elapsed > 20*time.Second && elapsed < 40*time.Second
		}}, cloudapitest.Reply(500, nil, outage).Repeating())
		_, err = cloudapi.WaitAll(t.Context(), created, func(ctx context.Context, vm *cloudapi.VM) (*cloudapi.VM, error) {
			opts := &cloudapi.WaitOptions{Interval: 10 * time.Second, MaxInterval: 15 * time.Second}
			if vm == created[0] {
				opts = &cloudapi.WaitOptions{Interval: time.Second, MaxInterval: time.Second, Tolerance: 100}
			}
			return client.VMs.WaitRunning(ctx, vm.Location, vm.ID, opts)
		}, nil)
		if err != nil {
			t.Errorf("in an outage of two of its polls: %v", err)
		}
	})
}
