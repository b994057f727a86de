package cloudapitest

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
)

func TestDefaultFirewallsOutliveTheirSubnets(t *testing.T) {
	t.Parallel()
	client := New(t, WithDelays(Delays{})).Client()
	name := strings.Repeat("n", 63)
	for _, want := range []string{`^n{55}-default$`, `^n{47}-default-[a-z0-9]{7}$`} {
		s, err := client.PrivateSubnets.Create(t.Context(), here, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Firewalls[0].Name; !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("the firewall is called %s, want %s", got, want)
		}
		if err := client.PrivateSubnets.Delete(t.Context(), here, name); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := client.Firewalls.List(t.Context(), nil); err != nil || len(page.Items) != 2 {
		t.Errorf("%v firewalls, %v, want 2", page, err)
	}
}

func TestSubnetsHaveNetworksOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	for bits, l := range map[int]*location{26: c.location, 16: {name: "mine", owner: c.project}} {
		c.location = l
		nets := map[netip.Prefix]bool{}
		for _, subnet := range []string{"a", "b", "c"} {
			s, err := c.addPrivateSubnet(subnet, nil)
			if err != nil {
				t.Fatal(err)
			}
			nets[s.net4], nets[s.net6] = true, true
			if !s.net4.Addr().IsPrivate() || s.net4.Bits() != bits || !s.net6.Addr().IsPrivate() || s.net6.Bits() != 64 {
				t.Errorf("%s: the networks are %s and %s", l.name, s.net4, s.net6)
			}
		}
		if len(nets) != 6 {
			t.Errorf("%s: networks are shared: %v", l.name, nets)
		}
	}
}

func TestSubnetsRunOutOfAddresses(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	s, err := c.addPrivateSubnet("net", nil)
	if err != nil {
		t.Fatal(err)
	}
	var vms []*vm
	for range subnetVMs { // 64 without the first four and the last
		v := &vm{object: c.newObject(cloudapi.KindVM, "vm"), subnet: s}
		if v.nic, err = newNIC(s, "nic"); err != nil {
			t.Fatal(err)
		}
		if !s.net4.Contains(v.nic.ip4) || !s.net6.Contains(v.nic.ip6) {
			t.Errorf("%s and %s are not in %s and %s", v.nic.ip4, v.nic.ip6, s.net4, s.net6)
		}
		c.state.add(v)
		vms = append(vms, v)
	}
	if nic, err := newNIC(s, "nic"); err == nil {
		t.Errorf("one more VM gets %s", nic.ip4)
	}
	c.remove(vms[7], 0, nil)
	if nic, err := newNIC(s, "nic"); err != nil || nic.ip4 != vms[7].nic.ip4 || nic.ip6 != vms[7].nic.ip6 {
		t.Errorf("after a deletion a VM gets %v, %v, want %v", nic, err, vms[7].nic)
	}
}

func TestConnectionsHaveTwoEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		subnets := New(t).Client().PrivateSubnets
		a, err := subnets.Create(t.Context(), here, "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := subnets.Create(t.Context(), "us-east-a2", "b", nil)
		if err != nil {
			t.Fatal(err)
		}
		connect := func(s, other *cloudapi.PrivateSubnet) error {
			_, err := subnets.Connect(t.Context(), s.Location, s.Name, other.ID)
			return err
		}
		disconnect := func(s, other *cloudapi.PrivateSubnet) error {
			_, err := subnets.Disconnect(t.Context(), s.Location, s.Name, other.ID)
			return err
		}
		for i, step := range []struct {
			do    func(s, other *cloudapi.PrivateSubnet) error
			s, to *cloudapi.PrivateSubnet
			want  error
		}{
			{connect, a, b, nil}, {connect, b, a, cloudapi.ErrAlreadyExists},
			{disconnect, b, a, nil}, {disconnect, a, b, nil},
			{connect, b, a, nil}, {connect, a, b, cloudapi.ErrAlreadyExists},
		} {
			if err := step.do(step.s, step.to); !errors.Is(err, step.want) {
				t.Errorf("step %d: %v, want %v", i, err, step.want)
			}
		}

		if err := subnets.Delete(t.Context(), a.Location, a.ID); err != nil {
			t.Fatal(err)
		}
		if s, err := subnets.Get(t.Context(), a.Location, a.ID); err != nil || s.State != "available" {
			t.Errorf("%v, %v, want no sign of the deletion yet", s, err)
		}
		elapse(DefaultDelays().Delete)
		if _, err := subnets.Get(t.Context(), a.Location, a.ID); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("%v, want %v", err, cloudapi.ErrNotFound)
		}
		if err := connect(b, a); !errors.Is(err, cloudapi.ErrInvalidRequest) || errors.Is(err, cloudapi.ErrAlreadyExists) {
			t.Errorf("connecting to a subnet that is gone: %v", err)
		}
	})
}
