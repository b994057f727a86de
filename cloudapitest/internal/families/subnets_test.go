package families_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestDefaultFirewallsOutliveTheirSubnets(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{})).Client()
	name := strings.Repeat("n", 63)
	for _, want := range []string{`^n{55}-default$`, `^n{47}-default-[a-z0-9]{7}$`} {
		s := stub.Must(client.PrivateSubnets.Create(t.Context(), here, name, nil))(t)
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

func TestConnectionsHaveTwoEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		subnets := cloudapitest.New(t).Client().PrivateSubnets
		a := stub.Must(subnets.Create(t.Context(), here, "a", nil))(t)
		b := stub.Must(subnets.Create(t.Context(), here, "b", nil))(t)
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
		if s, err := subnets.Get(t.Context(), a.Location, a.ID); err != nil || s.State != "deleting" {
			t.Errorf("%v, %v, want a subnet that is being deleted", s, err)
		}
		stub.Elapse(cloudapitest.DefaultDelays().Delete)
		if _, err := subnets.Get(t.Context(), a.Location, a.ID); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("%v, want %v", err, cloudapi.ErrNotFound)
		}
		if err := connect(b, a); !errors.Is(err, cloudapi.ErrInvalidRequest) || errors.Is(err, cloudapi.ErrAlreadyExists) {
			t.Errorf("connecting to a subnet that is gone: %v", err)
		}
	})
}
