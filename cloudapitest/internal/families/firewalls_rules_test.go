package families_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestRulesForAllOperations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scheme, query string
		want          string // in the response; "" for success
	}{
		{"bearer", "", ""},
		{"BEARER", "", ""},
		{"Basic", "", "MissingCredentials"},
		{"Bearer", "?x=%zz", `invalid %-encoding (%zz)`},
		{"Bearer", "?%=1", `invalid %-encoding (%)`},
		{"Bearer", "?a=1&a[]=2", "expected Array (got String) for param `a'"},
		{"Bearer", "?a=1&a[b]=2", "expected Hash (got String) for param `a'"},
		{"Bearer", "?a[]=2&a=1&;=;", ""},
	} {
		srv := cloudapitest.New(t, cloudapitest.Lenient())
		req := stub.Must(http.NewRequestWithContext(t.Context(), "GET", srv.URL()+"/project/"+srv.ProjectID()+"/firewall", nil))(t)
		req.URL.RawQuery = strings.TrimPrefix(tt.query, "?")
		req.Header.Set("Authorization", tt.scheme+" "+srv.Token())
		resp := stub.Must(srv.HTTPClient().Do(req))(t)
		var body strings.Builder
		resp.Write(&body)
		resp.Body.Close()
		if (resp.StatusCode != 200 || tt.want != "") && !strings.Contains(body.String(), tt.want) || (resp.StatusCode == 200) != (tt.want == "") {
			t.Errorf("%s %q: %s", tt.scheme, tt.query, body.String())
		}
	}
}

// TestDeletionsAreShown deletes a subnet, an empty private location, and one with a
// subnet, which stays.
func TestDeletionsAreShown(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx, places := t.Context(), client.PrivateLocations
		createPlace(t, client, "empty", "us-east-1")
		createPlace(t, client, "used", "us-west-2")
		must(client.PrivateSubnets.Create(ctx, "used", "net", nil))
		must(client.PrivateSubnets.Create(ctx, here, "gone", nil))
		if err := client.PrivateSubnets.Delete(ctx, here, "gone"); err != nil {
			t.Error(err)
		}
		if s := must(client.PrivateSubnets.Get(ctx, here, "gone")); s.State != "deleting" {
			t.Errorf("the subnet is %s", s.State)
		}
		for _, name := range []string{"empty", "used"} {
			if err := places.Delete(ctx, name); err != nil {
				t.Error(err)
			}
			must(places.Get(ctx, name))
		}
		if err := places.WaitDeleted(ctx, "empty", nil); err != nil {
			t.Error(err)
		}
		stub.Elapse(time.Hour)
		must(places.Get(ctx, "used"))
	}, cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.WithDelays(cloudapitest.Delays{Delete: time.Minute}))
}

func TestVersionsOfImagesHaveAQuota(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		vm := must(client.VMs.Create(ctx, here, "source", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))
		must(client.VMs.Stop(ctx, here, vm.ID))
		must(client.MachineImages.Create(ctx, here, "golden", &cloudapi.MachineImageCreateRequest{VM: vm.ID, Version: "v1"}))
		_, err := client.MachineImages.CreateVersion(ctx, here, "golden", "v2", &cloudapi.MachineImageVersionCreateRequest{VM: vm.ID})
		refused(t, err, "Insufficient quota for machine image versions. Requested: 2, maximum allowed: 1")
		if !errors.Is(err, cloudapi.ErrQuotaExceeded) {
			t.Errorf("%v, want %v", err, cloudapi.ErrQuotaExceeded)
		}
	}, cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.WithDelays(cloudapitest.Delays{}),
		cloudapitest.WithQuota(cloudapitest.Quota{VM: 2, MachineImageVersions: 1}))
}

func TestNullBytesInChangesOfRules(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
	firewalls := srv.Client().Firewalls
	must(firewalls.Create(t.Context(), here, "web", nil))
	rule := must(firewalls.CreateRule(t.Context(), here, "web", &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8"})).ID
	for id, want := range map[string]struct {
		status int
		text   string
	}{
		rule: {400, "string parameter contains null byte"},
		cloudapitest.NewID(cloudapi.KindFirewallRule).String(): {404, "ResourceNotFound"},
	} {
		path := "/project/" + srv.ProjectID() + "/location/" + here + "/firewall/web/firewall-rule/" + id
		status, body := stub.Do(t, srv, "PATCH", path, `{"description":"\u0000"}`)
		if status != want.status || !strings.Contains(body, want.text) {
			t.Errorf("%d %s, want %d %s", status, body, want.status, want.text)
		}
	}
}
