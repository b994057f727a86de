package families_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func createSubnet(t *testing.T, client *cloudapi.Client, location, name string) *cloudapi.PrivateSubnet {
	t.Helper()
	return must(client.PrivateSubnets.Create(t.Context(), location, name, nil))
}

func createVMIn(t *testing.T, client *cloudapi.Client, s *cloudapi.PrivateSubnet, name string) *cloudapi.VM {
	t.Helper()
	request := &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", PrivateSubnetID: s.ID, EnableIP4: new(true)}
	return must(client.VMs.Create(t.Context(), s.Location, name, request))
}

func createBalancer(t *testing.T, client *cloudapi.Client, s *cloudapi.PrivateSubnet, name string) *cloudapi.LoadBalancer {
	t.Helper()
	return must(client.LoadBalancers.Create(t.Context(), s.Location, name, balancerRequest(s)))
}

func balancerRequest(s *cloudapi.PrivateSubnet) *cloudapi.LoadBalancerCreateRequest {
	return &cloudapi.LoadBalancerCreateRequest{
		Algorithm: "round_robin", SrcPort: 80, DstPort: 8080, HealthCheckProtocol: "http", PrivateSubnetID: s.ID,
	}
}

func TestVMsAreDetachedInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx, balancers := t.Context(), client.LoadBalancers
		s := createSubnet(t, client, here, "net")
		v, other := createVMIn(t, client, s, "vm"), createVMIn(t, client, s, "other")
		createBalancer(t, client, s, "a")
		createBalancer(t, client, s, "b")
		members := func() []string { return must(balancers.Get(ctx, here, "a")).VMs }

		must(balancers.AttachVM(ctx, here, "a", v.ID))
		must(balancers.AttachVM(ctx, here, "a", other.ID))
		must(balancers.DetachVM(ctx, here, "b", v.ID)) // does nothing
		must(balancers.DetachVM(ctx, here, "a", v.ID))
		stub.Elapse(30 * time.Second)
		must(balancers.DetachVM(ctx, here, "a", v.ID)) // doesn't begin again
		stub.Elapse(30*time.Second - 1)
		if got, want := members(), []string{v.ID, other.ID}; !reflect.DeepEqual(got, want) {
			t.Errorf("the VMs are %q while one leaves, want %q", got, want)
		}
		for _, name := range []string{"a", "b"} {
			_, err := balancers.AttachVM(ctx, here, name, v.ID)
			refused(t, err, "VM is already attached to a load balancer")
		}
		stub.Elapse(time.Nanosecond)
		if got, want := members(), []string{other.ID}; !reflect.DeepEqual(got, want) {
			t.Errorf("the VMs are %q, want %q", got, want)
		}
		must(balancers.AttachVM(ctx, here, "b", v.ID))
		if l := must(balancers.DetachVM(ctx, here, "b", v.ID)); len(l.VMs) != 1 {
			t.Errorf("the reply to detaching is %+v, want the VM in it", l)
		}
		began := time.Now()
		if l, err := balancers.WaitVMDetached(ctx, here, "b", v.ID, nil); err != nil || len(l.VMs) != 0 || time.Since(began) < time.Minute {
			t.Errorf("%+v, %v after %v", l, err, time.Since(began))
		}
	}, cloudapitest.WithDelays(cloudapitest.Delays{Detach: time.Minute}))
}

func TestLoadBalancerUpdatesAreAllOrNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx, balancers := t.Context(), client.LoadBalancers
		s, far := createSubnet(t, client, here, "net"), createSubnet(t, client, "us-east-a2", "net")
		a, b, taken := createVMIn(t, client, s, "a"), createVMIn(t, client, far, "b"), createVMIn(t, client, s, "taken")
		createBalancer(t, client, s, "lb")
		createBalancer(t, client, s, "other")
		must(balancers.AttachVM(ctx, here, "other", taken.ID))

		before := must(balancers.AttachVM(ctx, here, "lb", a.ID))
		for want, change := range map[string]func(*cloudapi.LoadBalancerUpdateRequest){
			"VM is already attached to a load balancer": func(r *cloudapi.LoadBalancerUpdateRequest) { r.VMs = []string{a.ID, taken.ID} },
			"VM not found": func(r *cloudapi.LoadBalancerUpdateRequest) { r.VMs = []string{taken.ID, a.ID, a.ID} },
			"dst_port":     func(r *cloudapi.LoadBalancerUpdateRequest) { r.DstPort = 65536 },
			"src_port":     func(r *cloudapi.LoadBalancerUpdateRequest) { r.SrcPort = -1 },
			"algorithm is not one of the supported values": func(r *cloudapi.LoadBalancerUpdateRequest) { r.Algorithm, r.DstPort = "x", 65536 },
			"parameter health_check_endpoint":              func(r *cloudapi.LoadBalancerUpdateRequest) { r.HealthCheckEndpoint = " " },
		} {
			request := &cloudapi.LoadBalancerUpdateRequest{Algorithm: "hash_based", SrcPort: 1, DstPort: 65535, HealthCheckEndpoint: "/", VMs: []string{a.ID}}
			change(request)
			_, err := balancers.Update(ctx, here, "lb", request)
			refused(t, err, want)
			if got := must(balancers.Get(ctx, here, "lb")); !reflect.DeepEqual(got, before) {
				t.Errorf("%s: the load balancer is %+v, want %+v", want, got, before)
			}
		}

		_, err := balancers.AttachVM(ctx, here, "lb", b.ID)
		refused(t, err, "No matching VM found in "+here)
		must(balancers.DetachVM(ctx, here, "lb", a.ID))
		after := must(balancers.Update(ctx, here, "lb", &cloudapi.LoadBalancerUpdateRequest{
			Algorithm: "hash_based", SrcPort: 1, DstPort: 65535, HealthCheckEndpoint: "/", VMs: []string{b.ID, a.ID}, Stack: "ipv4",
		}))
		want := *before
		want.Algorithm, want.SrcPort, want.DstPort, want.HealthCheckEndpoint, want.VMs = "hash_based", 1, 65535, "/", []string{b.ID, a.ID}
		if !reflect.DeepEqual(after, &want) {
			t.Errorf("updated to %+v, want %+v", after, want)
		}
		stub.Elapse(cloudapitest.DefaultDelays().Detach)
		if got := must(balancers.Get(ctx, here, "lb")).VMs; !reflect.DeepEqual(got, []string{b.ID}) {
			t.Errorf("the VMs are %q, want the detached one gone", got)
		}
		must(balancers.Update(ctx, here, "lb", &cloudapi.LoadBalancerUpdateRequest{
			Algorithm: "hash_based", SrcPort: 1, DstPort: 1, HealthCheckEndpoint: "/", VMs: []string{},
		}))
		if got := must(balancers.Get(ctx, here, "lb")).VMs; len(got) != 0 {
			t.Errorf("the VMs are %q, want none at once", got)
		}
	})
}

func TestRefusedLoadBalancers(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	s := createSubnet(t, client, here, "net")
	for _, tt := range []struct {
		name, want string
		change     func(*cloudapi.LoadBalancerCreateRequest)
	}{
		{"lb", "dst_port", func(r *cloudapi.LoadBalancerCreateRequest) { r.DstPort = 65536 }},
		{"lb", "Private subnet not found", func(r *cloudapi.LoadBalancerCreateRequest) { r.PrivateSubnetID, r.Stack = "net", "x" }},
		{"lb", "stack option", func(r *cloudapi.LoadBalancerCreateRequest) { r.Stack, r.Algorithm = "x", "x" }},
		{"lb", "algorithm is not one of the supported values (hash_based, round_robin), " +
			"health_check_protocol is not one of the supported values (http, https, tcp)",
			func(r *cloudapi.LoadBalancerCreateRequest) { r.Algorithm, r.HealthCheckProtocol = "x", "x" }},
		{"1b164pbm96ba3grq6vbsvjb3ax", "name cannot be exactly 26", func(*cloudapi.LoadBalancerCreateRequest) {}},
	} {
		request := balancerRequest(s)
		tt.change(request)
		_, err := client.LoadBalancers.Create(t.Context(), here, tt.name, request)
		refused(t, err, tt.want)
	}
	if page := must(client.LoadBalancers.List(t.Context(), nil)); len(page.Items) != 0 {
		t.Errorf("%d load balancers, want none", len(page.Items))
	}
}

func TestLoadBalancerNamesAreThoseOfASubnet(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx, balancers := t.Context(), client.LoadBalancers
		s, other := createSubnet(t, client, here, "net"), createSubnet(t, client, here, "other")
		first := createBalancer(t, client, s, "lb")
		createBalancer(t, client, s, "second")
		twin := createBalancer(t, client, other, "lb")
		if first.ID == twin.ID || first.Hostname == twin.Hostname {
			t.Errorf("%+v and %+v", first, twin)
		}
		_, err := balancers.Create(ctx, here, "lb", balancerRequest(s))
		refused(t, err, "private_subnet_id and name is already taken")
		_, err = balancers.Rename(ctx, here, first.ID, "second")
		refused(t, err, "private_subnet_id and name is already taken")
		must(balancers.Rename(ctx, here, first.ID, "lb")) // the name that it already has

		renamed := must(balancers.Rename(ctx, here, twin.ID, "second"))
		if want := "second" + strings.TrimPrefix(twin.Hostname, "lb"); renamed.Hostname != want || renamed.VMs != nil {
			t.Errorf("renamed to %+v, want the host name %s and the short form", renamed, want)
		}

		far := createSubnet(t, client, "us-east-a2", "net")
		if l := must(balancers.Create(ctx, here, "far", balancerRequest(far))); l.Location != "us-east-a2" {
			t.Errorf("in %s, want the location of the subnet", l.Location)
		}
		if _, err := balancers.Get(ctx, here, "far"); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("in the location of the path: %v, want %v", err, cloudapi.ErrNotFound)
		}
	})
}

func TestLoadBalancersFollowSubnetsAndVMs(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx, balancers := t.Context(), client.LoadBalancers
		used, unused := createSubnet(t, client, here, "used"), createSubnet(t, client, here, "unused")
		quick, slow := createVMIn(t, client, used, "quick"), createVMIn(t, client, used, "slow")
		createBalancer(t, client, used, "a")
		gone := createBalancer(t, client, unused, "b")
		must(balancers.AttachVM(ctx, here, "a", quick.ID))
		must(balancers.AttachVM(ctx, here, "b", slow.ID))
		members := func() []string { return must(balancers.Get(ctx, here, "a")).VMs }

		if err := client.PrivateSubnets.Delete(ctx, here, "unused"); err != nil {
			t.Fatal(err)
		}
		if got := must(balancers.Get(ctx, here, "b")).VMs; !reflect.DeepEqual(got, []string{slow.ID}) {
			t.Errorf("a load balancer that is being deleted has %q", got)
		}
		_, err := balancers.AttachVM(ctx, here, "a", slow.ID)
		refused(t, err, "already attached")
		if err := balancers.WaitDeleted(ctx, here, gone.ID, nil); err != nil {
			t.Fatal(err)
		}
		must(balancers.AttachVM(ctx, here, "a", slow.ID))

		err = client.PrivateSubnets.Delete(ctx, here, "used")
		refused(t, err, "has VMs attached")
		for _, v := range []*cloudapi.VM{quick, slow} {
			if err := client.VMs.Delete(ctx, here, v.ID); err != nil {
				t.Fatal(err)
			}
		}
		if got := members(); len(got) != 2 {
			t.Errorf("the VMs are %q while they leave", got)
		}
		stub.Elapse(time.Minute)
		if got := members(); len(got) != 0 {
			t.Errorf("the VMs are %q when they have left", got)
		}
		if _, err := client.VMs.Get(ctx, here, "quick"); err != nil {
			t.Errorf("the VM: %v, want it there longer", err)
		}
		if err := client.PrivateSubnets.Delete(ctx, here, "used"); err != nil {
			t.Errorf("deleting a subnet whose VMs are being deleted: %v", err)
		}
		stub.Elapse(time.Hour)
		if page := must(balancers.List(ctx, nil)); len(page.Items) != 0 {
			t.Errorf("%d load balancers outlive their subnets", len(page.Items))
		}
	}, cloudapitest.WithDelays(cloudapitest.Delays{Detach: time.Minute, Delete: 10 * time.Minute}))
}

// TestDeletedVMsAreNotMembers: a VM is gone before it is detached.
func TestDeletedVMsAreNotMembers(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		s := createSubnet(t, client, here, "net")
		v := createVMIn(t, client, s, "vm")
		createBalancer(t, client, s, "lb")
		must(client.LoadBalancers.AttachVM(t.Context(), here, "lb", v.ID))
		if err := client.VMs.Delete(t.Context(), here, "vm"); err != nil {
			t.Fatal(err)
		}
		if l := must(client.LoadBalancers.Get(t.Context(), here, "lb")); len(l.VMs) != 0 {
			t.Errorf("the VMs are %q, want none", l.VMs)
		}
	}, cloudapitest.WithDelays(cloudapitest.Delays{Detach: time.Minute}))
}
