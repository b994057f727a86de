package families_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestFirewallRulesAreSorted(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract)).Client()
	stub.Must(client.Firewalls.Create(t.Context(), here, "web", nil))(t)
	for _, cidr := range []string{"::/0", "9.0.0.0/8", "fd00::/8", "10.0.0.0/8", "2001:db8::/32"} {
		stub.Must(client.Firewalls.CreateRule(t.Context(), here, "web", &cloudapi.FirewallRuleCreateRequest{CIDR: cidr}))(t)
	}
	f := stub.Must(client.Firewalls.Get(t.Context(), here, "web"))(t)
	var got []string
	for _, r := range f.FirewallRules {
		got = append(got, r.CIDR)
	}
	if want := []string{"9.0.0.0/8", "10.0.0.0/8", "::/0", "2001:db8::/32", "fd00::/8"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the rules are for %q, want %q", got, want)
	}
}

func TestDeletedFirewallLeavesItsSubnets(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	f := stub.Must(client.Firewalls.Create(t.Context(), here, "web", nil))(t)
	s, err := client.PrivateSubnets.Create(t.Context(), here, "net", &cloudapi.PrivateSubnetCreateRequest{FirewallID: f.ID})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Firewalls) != 1 || s.Firewalls[0].ID != f.ID {
		t.Errorf("the subnet is created with %v, want only %s", s.Firewalls, f.ID)
	}
	if err := client.Firewalls.Delete(t.Context(), here, "web"); err != nil {
		t.Fatal(err)
	}
	s, err = client.PrivateSubnets.Get(t.Context(), here, "net")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Firewalls) != 0 {
		t.Errorf("the subnet still has %v", s.Firewalls)
	}
}

// TestOperationsOfNoServer: the server reports requests that aren't
// in the contract.
func TestOperationsOfNoServer(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract)).Client()
	f := stub.Must(client.Firewalls.Create(t.Context(), here, "web", nil))(t)
	r, err := client.Firewalls.CreateRule(t.Context(), here, f.ID, &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Firewalls.CreateInProject(t.Context(), &cloudapi.FirewallCreateInProjectRequest{Name: "other"})
	if !errors.Is(err, cloudapi.ErrNotFound) {
		t.Errorf("CreateInProject: %v, want %v", err, cloudapi.ErrNotFound)
	}
	_, err = client.Firewalls.UpdateRule(t.Context(), here, "web", r.ID, &cloudapi.FirewallRuleUpdateRequest{CIDR: "10.0.0.0/9"})
	if !errors.Is(err, cloudapi.ErrNotFound) {
		t.Errorf("UpdateRule: %v, want %v", err, cloudapi.ErrNotFound)
	}
}

func TestMissingFirewallRulesComeBeforePermissions(t *testing.T) {
	t.Parallel()
	powerless := "pat-another"
	srv := cloudapitest.New(t, cloudapitest.WithTokenAccess(powerless, cloudapitest.AccessNone))
	f := stub.Must(srv.Client().Firewalls.Create(t.Context(), here, "web", nil))(t)
	r := stub.Must(srv.Client().Firewalls.CreateRule(t.Context(), here, f.ID, &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8"}))(t)
	missing := cloudapitest.NewID(cloudapi.KindFirewallRule).String()
	firewalls := srv.Client(cloudapi.WithToken(powerless)).Firewalls
	for rule, want := range map[string]struct{ get, del error }{
		r.ID:    {cloudapi.ErrForbidden, cloudapi.ErrForbidden},
		missing: {cloudapi.ErrNotFound, nil},
	} {
		if _, err := firewalls.GetRule(t.Context(), here, "web", rule); !errors.Is(err, want.get) {
			t.Errorf("get %s: %v, want %v", rule, err, want.get)
		}
		if err := firewalls.DeleteRule(t.Context(), here, "web", rule); !errors.Is(err, want.del) {
			t.Errorf("delete %s: %v, want %v", rule, err, want.del)
		}
	}
}
