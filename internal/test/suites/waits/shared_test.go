package waits_test

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
)

func createVMs(t *testing.T, client *cloudapi.Client, n int) []*cloudapi.VM {
	t.Helper()
	created := make([]*cloudapi.VM, n)
	for i := range created {
		created[i] = stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, fmt.Sprintf("vm-%d", i), &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "burstable-1"}))(t)
	}
	return created
}

// TestSharedPollsOfDeletions: waits for deletions also share their polls, by ID
// and by name. If several load balancers have the name, a wait is for the one
// that the server returns for that name.
func TestSharedPollsOfDeletions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Delete: 40 * time.Second}))
		client := srv.Client()
		for i := range 4 {
			subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, fmt.Sprintf("net-%d", i), nil))(t)
			stub.Must(client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "lb", sdktest.BalancerIn(subnet.ID)))(t)
		}
		meant := stub.Must(client.LoadBalancers.Get(t.Context(), sdktest.Somewhere, "lb"))(t)
		stub.Must(0, client.LoadBalancers.Delete(t.Context(), sdktest.Somewhere, meant.ID))(t)
		waits := slices.Repeat([]cloudapi.Resource{{Kind: cloudapi.KindLoadBalancer, Name: "lb"}}, 10)
		for i, vm := range createVMs(t, client, 20) {
			stub.Must(0, client.VMs.Delete(t.Context(), sdktest.Somewhere, vm.ID))(t)
			waits = append(waits, cloudapi.Resource{Kind: cloudapi.KindVM, Name: []string{vm.Name, vm.ID}[i%2]})
		}
		srv.ClearRequests()
		stub.Must(cloudapi.WaitAll(t.Context(), waits, func(ctx context.Context, r cloudapi.Resource) (*int, error) {
			wait, start := client.VMs.WaitDeleted, time.Now()
			if r.Kind == cloudapi.KindLoadBalancer {
				wait = client.LoadBalancers.WaitDeleted
			}
			err := wait(ctx, sdktest.Somewhere, r.Name, &cloudapi.WaitOptions{Interval: 5 * time.Second, MaxInterval: 5 * time.Second})
			if took := time.Since(start); took < 40*time.Second || took > 50*time.Second {
				t.Errorf("the wait for %v took %v", r, took)
			}
			return nil, err
		}, nil))(t)
		gets := 0
		for _, request := range srv.Requests() {
			if request.Name == "VMs.Get" {
				gets++
			}
		}
		if gets > 35 { // each wait alone would poll about 9 times; by name, it gets the ID first
			t.Errorf("20 waits sent %d gets", gets)
		}
	})
}

// TestSharedPollsEndWithTheFullRecord: even a wait that fails returns the
// record with all its fields.
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

// TestSharedPollsKeepWaitsApart: waits that share polls end independently: by
// name or ID, with their own states and contexts, or for a missing VM.
func TestSharedPollsKeepWaitsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create, delays.Delete = time.Minute, 20*time.Second
		client := cloudapitest.New(t, cloudapitest.WithDelays(delays)).Client()
		created := createVMs(t, client, 4)
		stub.Must(0, client.VMs.Delete(t.Context(), sdktest.Somewhere, created[3].ID))(t)
		start := time.Now()
		running := func(reference string) func(context.Context) (*cloudapi.VM, error) {
			return func(ctx context.Context) (*cloudapi.VM, error) {
				return client.VMs.WaitRunning(ctx, sdktest.Somewhere, reference, nil)
			}
		}
		type apart struct {
			wait func(context.Context) (*cloudapi.VM, error)
			id   string // of the VM
			want error
			took time.Duration // at least, and at most ten seconds more
		}
		stub.Must(cloudapi.WaitAll(t.Context(), []apart{
			{running(created[0].ID), created[0].ID, nil, time.Minute},
			{running("vm-1"), created[1].ID, nil, time.Minute},
			{running(created[3].ID), "", cloudapi.ErrWaitFailed, 0},
			{running("none"), "", cloudapi.ErrNotFound, 0},
			{func(ctx context.Context) (*cloudapi.VM, error) {
				return nil, client.VMs.WaitDeleted(ctx, sdktest.Somewhere, created[3].ID, nil)
			}, "", nil, 20 * time.Second},
			{func(ctx context.Context) (*cloudapi.VM, error) {
				ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				return running(created[2].ID)(ctx)
			}, "", context.DeadlineExceeded, 10 * time.Second},
		}, func(ctx context.Context, a apart) (*cloudapi.VM, error) {
			vm, err := a.wait(ctx)
			took := time.Since(start)
			if !errors.Is(err, a.want) || took < a.took || took > a.took+10*time.Second || (vm != nil) != (a.id != "") || vm != nil && vm.ID != a.id {
				t.Errorf("%v, %v after %v, want %+v", vm, err, took, a)
			}
			if e, ok := errors.AsType[*cloudapi.WaitError](err); ok != (a.want != nil) || a.took > 0 && ok && e.Record == nil {
				t.Errorf("the error is %+v", err)
			}
			return nil, nil
		}, nil))(t)
	})
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
		full := record(number, false)
		full["subnet"] = "net-1"
		return stub.Respond(200, string(stub.JSON(full))), nil
	}
	f.lists.Add(1)
	fmt.Sscanf(req.URL.Query().Get("start_after"), "vm%d", &number)
	items := []any{}
	for i := number + 1; i <= f.n && len(items) < 1000; i++ {
		items = append(items, record(i, f.stale))
	}
	return stub.Respond(200, string(stub.JSON(map[string]any{"items": items, "count": f.n}))), nil
}

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
		ctx, cancel := context.WithTimeout(ctx, time.Hour) // a context of its own
		defer cancel()
		return client.VMs.WaitRunning(ctx, sdktest.Somewhere, name, opts)
	}, nil)
	if err != nil {
		t.Errorf("%d waits: %.200v", vms, err)
		return time.Since(start)
	}
	for i, vm := range got {
		if vm.Name != names[i] || vm.State != cloudapi.VMStateRunning || vm.Subnet == "" {
			t.Errorf("the record of %s is %+v", names[i], vm)
		}
	}
	return time.Since(start)
}

// TestWaitsSendFewRequests limits the requests and the time of waits for the
// first VMs of a fleet that is running after 40 seconds. Whatever the lists
// respond, a wait takes little longer than it would alone, and gets the full
// record. A later wait polls alone again.
func TestWaitsSendFewRequests(t *testing.T) {
	t.Parallel()
	hangs := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		<-time.After(time.Millisecond)
		return nil, req.Context().Err()
	}
	for name, tt := range map[string]struct {
		vms, waits  int
		latency     time.Duration
		stale       bool                                        // lists show all VMs as they were at the beginning
		fail        func(*http.Request) (*http.Response, error) // responds to requests for lists, if not nil
		lists, gets int32
		took        time.Duration
	}{
		"one":                         {3, 1, 0, false, nil, 0, 15, 46 * time.Second},
		"500":                         {500, 500, 0, false, nil, 16, 501, 46 * time.Second},
		"500 with a slow server":      {500, 500, 30 * time.Millisecond, false, nil, 16, 501, 46 * time.Second},
		"4 among 50":                  {50, 4, 0, false, nil, 4, 60, 46 * time.Second},
		"2 among many":                {20_000, 2, 0, false, nil, 1, 30, 46 * time.Second},                                 // the first page shows how many VMs there are
		"lists that hang":             {10, 10, 0, false, hangs, 1, 150, 46 * time.Second},                                 // only the first poll waits for it
		"lists that can't be read":    {10, 10, 0, false, stub.Always(403, stub.Envelope(403)), 20, 150, 46 * time.Second}, // each list is tried once in a round
		"lists that are none":         {10, 10, 0, false, stub.Always(200, `{}`), 20, 150, 46 * time.Second},
		"lists that are always stale": {10, 10, 0, true, nil, 40, 40, 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{n: tt.vms, runs: time.Now().Add(40 * time.Second), stale: tt.stale}
				var failed, inProgress atomic.Int32 // number of failed lists
				client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					<-time.After(tt.latency)
					if strings.HasSuffix(req.URL.Path, "/vm") && tt.fail != nil {
						failed.Add(1)
						inProgress.Add(1)
						defer inProgress.Add(-1)
						return tt.fail(req)
					}
					return f.RoundTrip(req)
				}))
				took := f.waitFor(t, client, tt.waits, &cloudapi.WaitOptions{Tolerance: -1}) // no failed Get is tolerated, and none fails
				if n := f.lists.Load() + failed.Load(); n > tt.lists || f.gets.Load() > tt.gets || took > tt.took || inProgress.Load() != 0 {
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

// TestLateWaitsSendFewRequests: on a busy machine, where lists take long and
// waits are late, 1,000 waits send hardly more requests than on an idle one.
func TestLateWaitsSendFewRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const vms = 1000
		late := func(most time.Duration) { stub.Elapse(rand.N(most)) }
		f := &fleet{n: vms, runs: time.Now().Add(40 * time.Second)}
		client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			late(2 * time.Second) // a list takes one page, and an empty one
			return f.RoundTrip(req)
		}), cloudapi.WithLimiter(stub.Limiter(func(context.Context) error {
			late(time.Second / 2)
			return nil
		})))
		took := f.waitFor(t, client, vms, &cloudapi.WaitOptions{Progress: func(cloudapi.Progress) { late(4 * time.Second) }})
		if lists, gets := f.lists.Load(), f.gets.Load(); lists > 64 || gets > vms+vms/100 || took > 70*time.Second {
			t.Errorf("%d lists and %d gets in %v", lists, gets, took)
		}
	})
}

// TestWaitsForOwners: a wait never gets a record from the list of another
// project, or of another tenant for whom a token source or a middleware returns
// or sets another token. Without either, a context with other values shares.
func TestWaitsForOwners(t *testing.T) {
	t.Parallel()
	type key struct{}
	token := func(ctx context.Context) string { return fmt.Sprint("token-", ctx.Value(key{})) }
	tokenOf := func(req *http.Request) string {
		return strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer token-")
	}
	tenant := func(ctx context.Context, c *cloudapi.Client, owner string) (context.Context, *cloudapi.Client) {
		return context.WithValue(ctx, key{}, owner), c
	}
	for name, tt := range map[string]struct {
		owners  []string
		ownerOf func(*http.Request) string
		as      func(context.Context, *cloudapi.Client, string) (context.Context, *cloudapi.Client)
		option  cloudapi.Option
		shares  bool
	}{
		"a token source": {[]string{"a", "b"}, tokenOf, tenant, cloudapi.WithTokenSource(func(ctx context.Context) (string, error) {
			return token(ctx), nil
		}), false},
		"a middleware": {[]string{"a", "b"}, tokenOf, tenant, cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				req = req.Clone(req.Context())
				req.Header.Set("Authorization", "Bearer "+token(req.Context()))
				return next.RoundTrip(req)
			})
		}), false},
		"projects": {[]string{stub.Project, "pj00000000021g000000000001"}, func(req *http.Request) string {
			return strings.Split(req.URL.Path, "/")[2]
		}, func(ctx context.Context, c *cloudapi.Client, owner string) (context.Context, *cloudapi.Client) {
			return ctx, c.InProject(owner)
		}, cloudapi.WithTimeout(time.Minute), true},
		"values that nothing uses": {[]string{"a", "b"}, func(*http.Request) string { return "" }, tenant, cloudapi.WithTimeout(time.Minute), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{n: 1, runs: time.Now().Add(20 * time.Second), requestOwner: tt.ownerOf}
			client := sdktest.Client(t, f, tt.option)
			stub.Must(cloudapi.WaitAll(t.Context(), slices.Repeat(tt.owners, 3), func(ctx context.Context, owner string) (*cloudapi.VM, error) {
				ctx, c := tt.as(ctx, client, owner)
				return c.VMs.WaitRunning(ctx, sdktest.Somewhere, "web-1", &cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) {
					if vm := p.Record.(*cloudapi.VM); vm.UnixUser != "" && vm.UnixUser != owner {
						t.Errorf("%s: the wait of %s got a record of %s", name, owner, vm.UnixUser)
					}
				}})
			}, nil))(t)
			if (f.lists.Load() > 0) != tt.shares {
				t.Errorf("%s: %d lists", name, f.lists.Load())
			}
		})
	}
}

// TestWaitsBehindAHangingList: a list that hangs delays waits by MaxInterval, and
// by 10 seconds at most.
func TestWaitsBehindAHangingList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ runs, longest, delay time.Duration }{
		{300 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
		{300 * time.Millisecond, 0, 5 * time.Second}, // the default
		{time.Minute, time.Hour, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{n: 10, runs: time.Now().Add(tt.runs)}
			client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, "/vm") {
					f.lists.Add(1)
					<-req.Context().Done()
					return nil, req.Context().Err()
				}
				return f.RoundTrip(req)
			}))
			opts := &cloudapi.WaitOptions{Interval: 100 * time.Millisecond, MaxInterval: tt.longest}
			alone := f.waitFor(t, client, 1, opts)
			f.runs = time.Now().Add(tt.runs)
			if took := f.waitFor(t, client, 10, opts); took > alone*3/2+tt.delay || f.lists.Load() == 0 {
				t.Errorf("MaxInterval %v: ten waits took %v behind %d lists; one alone took %v", tt.longest, took, f.lists.Load(), alone)
			}
		})
	}
}

// TestSharedPollsKeepThePace: the polls of a fast wait don't make the pauses of
// a slow wait longer.
func TestSharedPollsKeepThePace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create = time.Minute
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
		client := srv.Client()
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
		// Alone, the slow wait would take less than 2 minutes, since each pause is
		// about half of the time waited so far.
		if took := time.Since(start); err != nil || took > 2*time.Minute {
			t.Errorf("it took %v, %v", took, err)
		}
		for _, r := range srv.Requests() {
			if strings.HasSuffix(r.Path, "/vm") && r.Time.After(start.Add(35*time.Second)) {
				t.Error("the slow wait read a list after the fast one had ended")
			}
		}
	})
}

// TestSharedPollsKeepTheTolerance: the failed polls of a fast wait don't use up
// the Tolerance of a slow wait.
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

// TestSharedPollsEndAfterFailures: waits fail if the VMs can't be read, even if
// their list can.
func TestSharedPollsEndAfterFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
		created := createVMs(t, client, 2)
		for _, vm := range created {
			srv.SetState(vm.ID, cloudapi.VMStateNoCapacityAvailable)
		}
		srv.Fail(cloudapitest.Match{Operation: "VMs.Get"}, cloudapitest.Reply(500, nil, outage).Repeating())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		_, err := cloudapi.WaitAll(ctx, created, func(ctx context.Context, vm *cloudapi.VM) (*cloudapi.VM, error) {
			return client.VMs.WaitRunning(ctx, vm.Location, vm.ID, nil)
		}, nil)
		// Each wait reads 16 lists, and then the record six times.
		if took := time.Since(start); !errors.Is(err, cloudapi.ErrServer) || errors.Is(err, context.DeadlineExceeded) || took > 5*time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
