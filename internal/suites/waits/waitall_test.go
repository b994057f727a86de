// Package waits_test checks what waits promise, one by one and together.
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

func waitRunning(client *cloudapi.Client) func(context.Context, *cloudapi.VM) (*cloudapi.VM, error) {
	return func(ctx context.Context, vm *cloudapi.VM) (*cloudapi.VM, error) {
		return client.VMs.WaitRunning(ctx, vm.Location, vm.ID, nil)
	}
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

// A single wait gets its resource, and reads no list.
func TestWaitAloneReadsNoList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		created := createVMs(t, client, 3)
		counts := sentBy(srv, func() { stub.Must(waitRunning(client)(t.Context(), created[0]))(t) })
		if counts["VMs.ListInLocation"] != 0 || counts["VMs.Get"] == 0 {
			t.Errorf("it sent %v", counts)
		}
	})
}

// A few waits among many resources get their own resource, since the list would
// be many times larger. A wait that follows others is alone again.
func TestFewWaitsReadNoList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create = time.Minute
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays), cloudapitest.WithQuota(cloudapitest.Quota{VM: 1 << 20}))
		client := srv.Client()
		created := createVMs(t, client, 50)
		counts := sentBy(srv, func() {
			stub.Must(cloudapi.WaitAll(t.Context(), created[:4], waitRunning(client), nil))(t)
		})
		if counts["VMs.ListInLocation"] > 4 || counts["VMs.Get"] < 4*10 { // the first lists show the size
			t.Errorf("4 waits among 50 VMs sent %v", counts)
		}
		later := stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "later", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		counts = sentBy(srv, func() { stub.Must(waitRunning(client)(t.Context(), later))(t) })
		if counts["VMs.ListInLocation"] != 0 {
			t.Errorf("a wait after others sent %v", counts)
		}
	})
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

// A list that can't be read doesn't end a wait, and an outage is tolerated as
// with a single wait.
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
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				client := stub.Must(srv.Client().With(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})))(t)
				created := createVMs(t, client, 10)
				srv.Fail(cloudapitest.Match{Operation: "VMs.ListInLocation"}, fault, fault)
				vms, err := cloudapi.WaitAll(t.Context(), created, waitRunning(client), nil)
				if err != nil || vms[9].State != cloudapi.VMStateRunning {
					t.Errorf("%v, %v", vms, err)
				}
			})
		})
	}
}

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

// TestWaitsFor500VMs limits the requests of many waits, with a slow and a fast
// server.
func TestWaitsFor500VMs(t *testing.T) {
	t.Parallel()
	for _, latency := range []time.Duration{0, 30 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{n: 500, runs: time.Now().Add(40 * time.Second)}
			client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				<-time.After(latency)
				return f.RoundTrip(req)
			}))
			took := f.waitFor(t, client, 500, nil)
			if f.lists.Load() > 16 || f.gets.Load() > 501 || took > 46*time.Second {
				t.Errorf("with a latency of %v: %d lists and %d gets in %v, want at most 16, 501 and 46s", latency, f.lists.Load(), f.gets.Load(), took)
			}
		})
	}
}

// TestFewWaitsAmongMany: reading a list that is much larger than the number of
// waits ends after its first page, and isn't tried again.
func TestFewWaitsAmongMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{n: 20_000, runs: time.Now().Add(40 * time.Second)}
		f.waitFor(t, sdktest.Client(t, f), 2, nil)
		if f.lists.Load() > 1 || f.gets.Load() > 30 {
			t.Errorf("2 waits among %d VMs sent %d lists and %d gets", f.n, f.lists.Load(), f.gets.Load())
		}
	})
}

// TestWaitsWithListsThatHang: a wait takes at most one pause longer than alone.
func TestWaitsWithListsThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const longest = 100 * time.Millisecond
		f := &fleet{n: 10, runs: time.Now().Add(300 * time.Millisecond)}
		client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, "/vm") {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return f.RoundTrip(req)
		}))
		if took := f.waitFor(t, client, 10, &cloudapi.WaitOptions{Interval: longest / 2, MaxInterval: longest}); took > 300*time.Millisecond+2*longest*6/5 {
			t.Errorf("10 waits took %v", took)
		}
	})
}

// TestWaitsWithRefusedLists: waits don't read a list again in the same round
// because it couldn't be read.
func TestWaitsWithRefusedLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{n: 10, runs: time.Now().Add(40 * time.Second)}
		client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := f.RoundTrip(req)
			if strings.HasSuffix(req.URL.Path, "/vm") {
				return stub.Respond(403, `{"error":{"code":403,"type":"Forbidden","message":"no"}}`), nil
			}
			return resp, err
		}))
		if took := f.waitFor(t, client, 10, nil); f.lists.Load() > 20 || f.gets.Load() > 150 || took > 46*time.Second {
			t.Errorf("10 waits sent %d lists and %d gets in %v, want at most 20, 150 and 46s", f.lists.Load(), f.gets.Load(), took)
		}
	})
}

// TestWaitsWithStaleLists: a wait now and then gets its own resource.
func TestWaitsWithStaleLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{n: 10, runs: time.Now().Add(20 * time.Second), stale: true}
		if took := f.waitFor(t, sdktest.Client(t, f), 10, nil); took > 90*time.Second {
			t.Errorf("10 waits took %v", took)
		}
	})
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

func TestWaitAll(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	got, err := cloudapi.WaitAll(t.Context(), []int{1, 2, 3}, func(_ context.Context, i int) (*int, error) {
		if i == 2 {
			return new(int), boom
		}
		return new(i * 10), nil
	}, nil)
	if err == nil || err.Error() != "cloudapi: WaitAll: item 1: boom" || !errors.Is(err, boom) || len(got) != 3 || *got[0] != 10 || got[1] != nil || *got[2] != 30 {
		t.Errorf("it is %v, %v", got, err)
	}
	if got, err := cloudapi.WaitAll(t.Context(), nil, func(context.Context, int) (*int, error) { return nil, boom }, nil); err != nil || len(got) != 0 {
		t.Errorf("for nothing it is %v, %v", got, err)
	}
}

// TestWaitAllPanics: a panic reaches the caller, and ends the other waits.
func TestWaitAllPanics(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	defer func() {
		if r := recover(); r != boom {
			t.Errorf("recovered %v, want %v", r, boom)
		}
	}()
	_, _ = cloudapi.WaitAll(t.Context(), []int{1, 2}, func(ctx context.Context, i int) (*int, error) {
		if i == 1 {
			panic(boom)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}, nil)
}

// TestWaitAllNamesTheItem: an error says which item failed, but not what is in
// it, which may be secret.
func TestWaitAllNamesTheItem(t *testing.T) {
	t.Parallel()
	fails := errors.New("no")
	failing := func(items ...any) string {
		_, err := cloudapi.WaitAll(t.Context(), items, func(context.Context, any) (*int, error) { return nil, fails }, nil)
		return err.Error()
	}
	vm := &cloudapi.VM{ID: stub.VMID, Name: "web-1", Location: "l"}
	for want, item := range map[string]any{
		`item 0, "a\nb"`: "a\nb", "item 0, VM l/web-1 (" + stub.VMID + ")": vm, "item 0, VM l/web-2": cloudapi.Resource{Kind: cloudapi.KindVM, Location: "l", Name: "web-2"},
		"item 0": struct{ password string }{"secret"},
	} {
		if got := failing(item); got != "cloudapi: WaitAll: "+want+": no" {
			t.Errorf("%v: %s", item, got)
		}
	}
}

// TestWaitConcurrency: waits begin in the order of the items, each as soon as
// another one has ended.
func TestWaitConcurrency(t *testing.T) {
	t.Parallel()
	items := []int{0, 1, 2, 3, 4, 5, 6}
	for atOnce, want := range map[int]time.Duration{1: 7, 3: 3, 7: 1, 100: 1} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := cloudapi.WaitAll(t.Context(), items, func(_ context.Context, i int) (*int, error) {
				if began := time.Since(start); began != time.Duration(i/atOnce)*time.Second {
					t.Errorf("%d at once: item %d began after %v", atOnce, i, began)
				}
				<-time.After(time.Second)
				return nil, nil
			}, &cloudapi.WaitAllOptions{Concurrency: atOnce})
			if took := time.Since(start); took != want*time.Second || err != nil {
				t.Errorf("%d at once took %v: %v", atOnce, took, err)
			}
		})
	}
	_, err := cloudapi.WaitAll(t.Context(), items, func(context.Context, int) (*int, error) {
		t.Error("a wait was called")
		return nil, nil
	}, &cloudapi.WaitAllOptions{Concurrency: -1})
	if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "Concurrency" || e.Value != "-1" {
		t.Errorf("-1 at once: %v", err)
	}
}

// TestWaitFailFast: the first failure ends the waits in progress, no other
// begins, and the error is only the first one's.
func TestWaitFailFast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		var began atomic.Int32
		start := time.Now()
		got, err := cloudapi.WaitAll(t.Context(), []int{0, 1, 2, 3, 4, 5}, func(ctx context.Context, i int) (*int, error) {
			began.Add(1)
			pauses := []time.Duration{1, 2, 1000, 1000}
			select {
			case <-ctx.Done():
				if !errors.Is(context.Cause(ctx), boom) {
					t.Errorf("the cause is %v", context.Cause(ctx))
				}
				<-time.After(time.Second)
				return nil, ctx.Err()
			case <-time.After(pauses[i] * time.Second):
			}
			if i == 1 {
				return nil, boom
			}
			return &i, nil
		}, &cloudapi.WaitAllOptions{FailFast: true, Concurrency: 3})
		if !errors.Is(err, boom) || got[0] == nil || *got[0] != 0 || slices.ContainsFunc(got[1:], func(i *int) bool { return i != nil }) {
			t.Errorf("it is %v, %v", got, err)
		}
		if took := time.Since(start); took != 3*time.Second || began.Load() != 4 {
			t.Errorf("after %v, %d waits had begun", took, began.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = cloudapi.WaitAll(ctx, []int{1, 2}, func(ctx context.Context, _ int) (*int, error) { return nil, ctx.Err() }, &cloudapi.WaitAllOptions{FailFast: true})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that ended before: %v", err)
		}
	})
}

const outage = `{"error":{"code":500,"type":"UnexceptedError","message":"no"}}`

// A list that always fails doesn't end a wait as long as a GET works.
func TestSharedPollsWithoutAList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create = 2 * time.Minute
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
		client := srv.Client()
		created := createVMs(t, client, 10)
		srv.Fail(cloudapitest.Match{Operation: "VMs.ListInLocation"}, cloudapitest.Reply(500, nil, outage).Repeating())
		for _, tolerance := range []int{5, -1} {
			_, err := cloudapi.WaitAll(t.Context(), created, func(ctx context.Context, vm *cloudapi.VM) (*cloudapi.VM, error) {
				return client.VMs.WaitRunning(ctx, vm.Location, vm.ID, &cloudapi.WaitOptions{Tolerance: tolerance})
			}, nil)
			if err != nil {
				t.Errorf("with a tolerance of %d: %v", tolerance, err)
			}
		}
	})
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
