package sets_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// balancers returns a client, load balancers in one subnet, and VMs that have
// IPv4 addresses.
func balancers(t *testing.T, delays cloudapitest.Delays, names []string, n int) (*cloudapitest.Server, *cloudapi.Client, []*cloudapi.LoadBalancer, []string) {
	t.Helper()
	const location = sdktest.Somewhere
	srv := cloudapitest.New(t, cloudapitest.WithDelays(delays), cloudapitest.WithQuota(cloudapitest.Quota{VM: 100}))
	client := srv.Client()
	subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), location, "net", nil))(t)
	var all []*cloudapi.LoadBalancer
	for _, name := range names {
		all = append(all, stub.Must(client.LoadBalancers.Create(t.Context(), location, name, sdktest.BalancerIn(subnet.ID)))(t))
	}
	var ids []string
	for i := range n {
		request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "burstable-1", EnableIPv4: new(true), PrivateSubnetID: subnet.ID}
		ids = append(ids, stub.Must(client.VMs.Create(t.Context(), location, fmt.Sprintf("vm-%d", i), request))(t).ID)
	}
	return srv, client, all, ids
}

// TestSetVMs: SetVMs attaches what is missing, detaches the rest, and returns
// when that is done.
func TestSetVMs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const location = sdktest.Somewhere
		srv, client, all, ids := balancers(t, cloudapitest.Delays{Detach: 30 * time.Second}, []string{"lb"}, 4)
		lb := all[0]
		for _, step := range []struct {
			wanted  []string
			took    time.Duration
			changes string
		}{
			{ids[:2], 0, "+ VM eu-central-h1/vm-0\n+ VM eu-central-h1/vm-1"},
			{ids[:2], 0, ""},
			{[]string{ids[2], ids[1], ids[2]}, 30 * time.Second, "+ VM eu-central-h1/vm-2\n- VM eu-central-h1/vm-0"},
			{[]string{}, 30 * time.Second, "- VM eu-central-h1/vm-1\n- VM eu-central-h1/vm-2"},
		} {
			before := sdktest.Changes(srv)
			dry := stub.Must(sdktest.Planning(client, true).LoadBalancers.SetVMs(t.Context(), location, lb.ID, step.wanted))(t)
			if n := sdktest.Changes(srv) - before; n != 0 {
				t.Errorf("a plan sends %d changes", n)
			}
			start := time.Now()
			changes := stub.Must(client.LoadBalancers.SetVMs(t.Context(), location, "lb", step.wanted))(t)
			if took := time.Since(start); took < step.took || took > step.took+10*time.Second {
				t.Errorf("%q took %v, want %v", step.wanted, took, step.took)
			}
			text := changes.String()
			for i, id := range ids {
				text = strings.ReplaceAll(text, "VM "+id, fmt.Sprintf("VM eu-central-h1/vm-%d", i))
			}
			if lines := strings.Split(text, "\n"); !sameLines(lines, strings.Split(step.changes, "\n")) || strings.Count(dry.String(), "\n") != strings.Count(text, "\n") {
				t.Errorf("the changes are %q, want %q; in a plan %q", text, step.changes, dry)
			}
			now := stub.Must(client.LoadBalancers.Get(t.Context(), location, lb.ID))(t)
			if !sameLines(now.VMs, slices.Compact(slices.Sorted(slices.Values(step.wanted)))) {
				t.Errorf("the members are %q, want %q", now.VMs, step.wanted)
			}
		}
	})
}

func sameLines(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// TestGetInSubnet: two subnets have a load balancer with the same name.
func TestGetInSubnet(t *testing.T) {
	t.Parallel()
	const location = sdktest.Somewhere
	client := cloudapitest.New(t).Client()
	for _, name := range []string{"net-1", "net-2"} {
		subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), location, name, nil))(t)
		created := stub.Must(client.LoadBalancers.Create(t.Context(), location, "lb", sdktest.BalancerIn(subnet.ID)))(t)
		if got, err := client.LoadBalancers.GetInSubnet(t.Context(), location, subnet.ID, "lb"); err != nil || got.ID != created.ID || got.Subnet != name {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if _, err := client.LoadBalancers.GetInSubnet(t.Context(), location, subnet.ID, "other"); !cloudapi.IsGone(err) {
			t.Errorf("another name: %v", err)
		}
		if _, err := client.LoadBalancers.GetInSubnet(t.Context(), "us-east-a2", subnet.ID, "lb"); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("in another location: %v", err)
		}
	}
	if _, err := client.LoadBalancers.GetInSubnet(t.Context(), location, "net-1", "lb"); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("by the name of the subnet: %v", err)
	}
}

// TestGetInSubnetHidden: two of three subnets have a load balancer with the
// name, and the token can see one of them. The other isn't gone, whichever of
// them the server takes for the name.
func TestGetInSubnetHidden(t *testing.T) {
	t.Parallel()
	const location = sdktest.Somewhere
	srv := cloudapitest.New(t)
	client := srv.Client()
	var subnets, balancers []string
	for _, name := range []string{"net-1", "net-2", "net-3"} {
		subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), location, name, nil))(t)
		subnets = append(subnets, subnet.ID)
		if len(balancers) < 2 {
			balancers = append(balancers, stub.Must(client.LoadBalancers.Create(t.Context(), location, "lb", sdktest.BalancerIn(subnet.ID)))(t).ID)
		}
	}
	for visible, id := range balancers {
		srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view", "PrivateSubnet:view", "LoadBalancer:view@"+id)
		for i, subnet := range subnets {
			got, err := client.LoadBalancers.GetInSubnet(t.Context(), location, subnet, "lb")
			if i == visible && (err != nil || got.ID != id) || i != visible && (got != nil || err == nil || cloudapi.IsGone(err)) {
				t.Errorf("%d is visible, and %d is %v, %v", visible, i, got, err)
			}
		}
	}
	srv.SetPermissions(srv.ProjectID(), srv.Token(), "*")
	for _, plans := range []bool{true, false} {
		_, outcome, err := sdktest.Planning(client, plans).LoadBalancers.Ensure(t.Context(), location, "lb", sdktest.BalancerIn(subnets[2]), nil)
		if outcome != cloudapi.EnsureCreated {
			t.Errorf("Ensure in the third subnet, plan %v: %q, %v", plans, outcome, err)
		}
	}
}

// TestSetVMsRefusals: an error says which VM can't be attached, and why.
func TestSetVMsRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const location = sdktest.Somewhere
		srv, client, all, ids := balancers(t, cloudapitest.Delays{Detach: 8 * time.Second}, []string{"lb", "other"}, 3)
		lb, other := all[0], all[1]
		noAddress := stub.Must(client.VMs.Create(t.Context(), location, "no-address", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t).ID
		stub.Must(client.LoadBalancers.AttachVM(t.Context(), location, other.ID, ids[0]))(t)
		stub.Must(client.LoadBalancers.AttachVM(t.Context(), location, other.ID, ids[1]))(t)
		stub.Must(client.LoadBalancers.DetachVM(t.Context(), location, other.ID, ids[1]))(t)

		for _, tt := range []struct {
			name   string
			wanted []string
			want   error
			took   time.Duration
		}{
			{"attached elsewhere", []string{ids[0]}, cloudapi.ErrAlreadyExists, 25 * time.Second},
			{"not there", []string{stub.VMID}, cloudapi.ErrInvalidArgument, 0},
			{"one not there", []string{ids[2], stub.VMID}, cloudapi.ErrInvalidArgument, 0},
			{"without an address", []string{ids[2], noAddress}, cloudapi.ErrInvalidArgument, 0},
			{"a name", []string{"vm-0"}, cloudapi.ErrInvalidArgument, 0},
			{"nothing", nil, cloudapi.ErrInvalidArgument, 0},
			{"being detached elsewhere", []string{ids[1]}, nil, 20 * time.Second},
		} {
			if tt.want == nil { // the detachment above is over
				stub.Must(client.LoadBalancers.SetVMs(t.Context(), location, other.ID, []string{ids[1], ids[0]}))(t)
				stub.Must(client.LoadBalancers.DetachVM(t.Context(), location, other.ID, ids[1]))(t)
			}
			start := time.Now()
			changes, err := client.LoadBalancers.SetVMs(t.Context(), location, lb.ID, tt.wanted)
			if took := time.Since(start); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) || took > tt.took {
				t.Errorf("%s: %v after %v, want %v", tt.name, err, took, tt.want)
			}
			if err != nil && (changes != nil || cloudapi.IsGone(err) || len(tt.wanted) > 0 && !strings.Contains(err.Error(), tt.wanted[len(tt.wanted)-1])) {
				t.Errorf("%s: %v, %v; gone: %v", tt.name, changes, err, cloudapi.IsGone(err))
			}
			if now := stub.Must(client.LoadBalancers.Get(t.Context(), location, lb.ID))(t); err != nil && len(now.VMs) > 0 {
				t.Errorf("%s: the members are %q", tt.name, now.VMs)
			}
		}
		if _, err := sdktest.Planning(client, true).LoadBalancers.SetVMs(t.Context(), location, lb.ID, []string{stub.VMID}); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("in a plan: %v", err)
		}
		if _, err := client.LoadBalancers.SetVMs(t.Context(), location, "nobody", []string{}); !cloudapi.IsGone(err) {
			t.Errorf("of no load balancer: %v", err)
		}
		onlyIPv6 := stub.Must(client.LoadBalancers.Create(t.Context(), location, "ipv6", &cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: subnetOf(t, client, lb),
			Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 80, HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckProtocolTCP, Stack: cloudapi.LoadBalancerStackIPv6}))(t)
		if changes, err := client.LoadBalancers.SetVMs(t.Context(), location, onlyIPv6.ID, []string{noAddress}); err != nil || len(changes.Added) != 1 {
			t.Errorf("without an address, for IPv6: %v, %v", changes, err)
		}
		srv.Fail(cloudapitest.Match{Operation: "LoadBalancers.AttachVM"}, cloudapitest.DropAfter())
		if changes, err := client.LoadBalancers.SetVMs(t.Context(), location, lb.ID, []string{ids[1], ids[2]}); err != nil || len(changes.Kept) != 1 || len(changes.Added) != 1 {
			t.Errorf("after a lost response: %v, %v", changes, err)
		}
	})
}

func subnetOf(t *testing.T, client *cloudapi.Client, l *cloudapi.LoadBalancer) string {
	t.Helper()
	return stub.Must(client.PrivateSubnets.Get(t.Context(), l.Location, l.Subnet))(t).ID
}

// TestSetVMsAttachedAgain: another program attaches a VM again that SetVMs
// detaches. SetVMs returns an error: once a poll has seen the VM leave and come
// back, or after 10 minutes if no poll has.
func TestSetVMsAttachedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		returns time.Duration // after the start of SetVMs; the VM leaves after 10 seconds
		took    time.Duration
		want    string
	}{
		"after a poll":  {20 * time.Second, 30 * time.Second, "ended with 0 of 0 added and 2 of 2 removed: another program made changes: 0 wanted are missing, and there are 2 others"},
		"between polls": {10 * time.Second, 10*time.Minute + 10*time.Second, "is still a member 10m0s after its detachment; another program may have attached it again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const location = sdktest.Somewhere
				_, client, all, ids := balancers(t, cloudapitest.Delays{Detach: 30 * time.Second}, []string{"lb"}, 3)
				lb := all[0]
				stub.Must(client.LoadBalancers.SetVMs(t.Context(), location, lb.ID, ids))(t)
				stub.Must(client.LoadBalancers.DetachVM(t.Context(), location, lb.ID, ids[0]))(t) // it leaves before the other one
				time.Sleep(20 * time.Second)
				go func() {
					time.Sleep(tt.returns)
					stub.Must(client.LoadBalancers.AttachVM(t.Context(), location, lb.ID, ids[0]))(t)
				}()
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 6*time.Hour)
				defer cancel()
				changes, err := client.LoadBalancers.SetVMs(ctx, location, lb.ID, ids[2:])
				if took := time.Since(start); err == nil || changes != nil || !strings.HasSuffix(err.Error(), tt.want) || took > tt.took {
					t.Errorf("after %v: %v, %v", took, changes, err)
				}
			})
		})
	}
}

// TestSetVMsDeletedMeanwhile: a VM that is deleted just before SetVMs detaches it
// needs no detachment.
func TestSetVMsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const location = sdktest.Somewhere
		_, client, all, ids := balancers(t, cloudapitest.Delays{}, []string{"lb"}, 2)
		lb := all[0]
		stub.Must(client.LoadBalancers.SetVMs(t.Context(), location, lb.ID, ids))(t)
		other := stub.Must(client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, "/detach-vm") {
					if err := errors.Join(client.VMs.Delete(t.Context(), location, ids[0]), client.VMs.WaitDeleted(t.Context(), location, ids[0], nil)); err != nil {
						t.Error(err)
					}
				}
				return next.RoundTrip(req)
			})
		})))(t)
		if _, err := other.LoadBalancers.SetVMs(t.Context(), location, lb.ID, ids[1:]); err != nil {
			t.Error(err)
		}
		if lb = stub.Must(client.LoadBalancers.Get(t.Context(), location, lb.ID))(t); !slices.Equal(lb.VMs, ids[1:]) {
			t.Errorf("the members are %q, want %q", lb.VMs, ids[1:])
		}
	})
}

// TestSetVMsInParallel: ten programs that want the same members succeed, and
// don't each attach each VM.
func TestSetVMsInParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const location = sdktest.Somewhere
		srv, client, all, ids := balancers(t, cloudapitest.Delays{Detach: 5 * time.Second}, []string{"lb"}, 22)
		stub.Must(client.LoadBalancers.AttachVM(t.Context(), location, all[0].ID, ids[20]))(t)
		stub.Must(client.LoadBalancers.AttachVM(t.Context(), location, all[0].ID, ids[21]))(t)
		srv.ClearRequests()
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() {
				if _, err := client.LoadBalancers.SetVMs(t.Context(), location, all[0].ID, ids[:20]); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		attached := 0
		for _, request := range srv.Requests() {
			if request.Name == "LoadBalancers.AttachVM" {
				attached++
			}
		}
		t.Logf("%d requests, %d of them AttachVM", len(srv.Requests()), attached)
		if now := stub.Must(client.LoadBalancers.Get(t.Context(), location, all[0].ID))(t); !sameLines(now.VMs, ids[:20]) {
			t.Errorf("the members are %q, want %q", now.VMs, ids[:20])
		}
		if attached > 170 {
			t.Errorf("%d times AttachVM", attached)
		}
	})
}
