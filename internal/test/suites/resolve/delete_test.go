package resolve_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestDeleteExisting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
		client := srv.Client()
		ctx := t.Context()
		firewall := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "edge", nil))(t)
		location := stub.Must(client.PrivateLocations.Create(ctx, "own", &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("k"), SecretKey: cloudapi.NewSecret("s"),
		}))(t)
		key := stub.Must(client.SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}))(t)
		paris := stub.Must(client.SSHPublicKeys.Create(ctx, "france", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}))(t)

		for reference, want := range map[string]string{
			"eu-central-h1/edge": firewall.ID,
			location.ID:          location.ID,
			"laptop":             key.ID,
			"france":             paris.ID, // its name begins like the ID of a firewall rule
		} {
			before := len(srv.Requests())
			deleted, err := client.DeleteExisting(ctx, reference)
			if err != nil || deleted.ID != want {
				t.Errorf("%s: it deleted %v, %v, want %s", reference, deleted, err, want)
			}
			deletes := 0
			for _, request := range srv.Requests()[before:] {
				if request.Method == "DELETE" {
					deletes++
				}
			}
			if deletes != 1 {
				t.Errorf("%s: it sent %d deletes, want 1", reference, deletes)
			}
			before = len(srv.Requests())
			if deleted, err := client.DeleteExisting(ctx, reference); !errors.Is(err, cloudapi.ErrNotFound) {
				t.Errorf("%s: the second time it is %v, %v, want ErrNotFound", reference, deleted, err)
			}
			for _, request := range srv.Requests()[before:] {
				if request.Method == "DELETE" {
					t.Errorf("%s: the second time it sent a delete of %s", reference, request.Path)
				}
			}
		}
	})
}

func TestDeleteExistingRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		ctx := t.Context()
		stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "edge", nil))(t)
		rule := stub.Must(client.Firewalls.CreateRule(ctx, sdktest.Somewhere, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8"}))(t)
		for _, test := range []struct {
			reference string
			kinds     []cloudapi.Kind
		}{
			{rule.ID, nil},
			{rule.ID, []cloudapi.Kind{cloudapi.KindVM}},
			{sdktest.Somewhere + "/" + rule.ID, nil},
			{strings.ToUpper(rule.ID), nil},
			{cloudapitest.NewID(cloudapi.KindOther).String(), nil},
			{"../edge", nil},
			{"", nil},
		} {
			before := len(srv.Requests())
			deleted, err := client.DeleteExisting(ctx, test.reference, test.kinds...)
			if sent := len(srv.Requests()) - before; !errors.Is(err, cloudapi.ErrInvalidArgument) || sent > 0 {
				t.Errorf("%q: it is %v, %v after %d requests, want an ArgumentError and none", test.reference, deleted, err, sent)
			}
		}
		if firewall, err := client.Firewalls.Get(ctx, sdktest.Somewhere, "edge"); err != nil || len(firewall.FirewallRules) != 1 {
			t.Errorf("something was deleted: %v, %v", firewall, err)
		}
	})
}

// TestDeleteExistingDuringAnotherDeletion: DeleteExisting tries again after a
// 403, with which the service responds while somebody else deletes the
// resource.
func TestDeleteExistingDuringAnotherDeletion(t *testing.T) {
	t.Parallel()
	for refusals, want := range []error{nil, nil, cloudapi.ErrForbidden} {
		srv := cloudapitest.New(t)
		client := srv.Client()
		stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, "fw", nil))(t)
		for range refusals {
			srv.Fail(cloudapitest.Match{Operation: "Firewalls.Delete"}, sdktest.Refusal(403, "Forbidden"))
		}
		resource, err := client.DeleteExisting(t.Context(), sdktest.Somewhere+"/fw", cloudapi.KindFirewall)
		if !errors.Is(err, want) || (resource == nil) != (want != nil) {
			t.Errorf("after %d refusals: %v, %v, want %v", refusals, resource, err, want)
		}
		if _, err := client.Firewalls.Get(t.Context(), sdktest.Somewhere, "fw"); cloudapi.IsGone(err) != (want == nil) {
			t.Errorf("after %d refusals there is it: %v", refusals, err)
		}
	}
}

// TestDeleteExistingDisagrees: the 404 of a deletion proves nothing while the
// server still shows the resource, or finds it by its ID.
func TestDeleteExistingDisagrees(t *testing.T) {
	t.Parallel()
	missing := sdktest.Refusal(404, "ResourceNotFound").Repeating()
	for name, tt := range map[string]struct {
		missing []string // the operations that say 404
		deletes bool     // whether another program deletes it meanwhile
	}{
		"only the deletion says so":      {[]string{"VMs.Delete"}, false},
		"only the search by ID has it":   {[]string{"VMs.Delete", "VMs.Get"}, false},
		"another program has deleted it": {[]string{"VMs.Delete"}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			srv := cloudapitest.New(t)
			id := srv.AddVMs(sdktest.Somewhere, "web", 1)[0]
			client := srv.Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
				return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					if tt.deletes && req.Method == http.MethodDelete {
						other := srv.Client()
						stub.Must(0, other.VMs.Delete(t.Context(), sdktest.Somewhere, id))(t)
						stub.Must(0, other.VMs.WaitDeleted(t.Context(), sdktest.Somewhere, id, nil))(t)
						for _, operation := range tt.missing {
							srv.Fail(cloudapitest.Match{Operation: operation}, missing)
						}
					}
					return next.RoundTrip(req)
				})
			}))
			if !tt.deletes {
				for _, operation := range tt.missing {
					srv.Fail(cloudapitest.Match{Operation: operation}, missing)
				}
			}
			resource, err := client.DeleteExisting(t.Context(), id)
			if resource != nil || err == nil || cloudapi.IsGone(err) != tt.deletes || strings.Count(err.Error(), "cloudapi: ") != 1 {
				t.Errorf("%s: %v, %v; gone: %v", name, resource, err, cloudapi.IsGone(err))
			}
		})
	}
}

// TestWaitDeletedChecksItsArguments: an ID that no deleted resource can have
// isn't taken for gone, even where a deletion takes no time.
func TestWaitDeletedChecksItsArguments(t *testing.T) {
	t.Parallel()
	client := sdktest.SendingNothing(t)
	for _, r := range []cloudapi.Resource{
		{Kind: cloudapi.KindFirewall, ID: "../edge", Location: sdktest.Somewhere},
		{Kind: cloudapi.KindFirewall, ID: cloudapitest.NewID(cloudapi.KindFirewall).String()}, // no location
		{Kind: cloudapi.KindSSHPublicKey, Name: "laptop"},
		{Kind: cloudapi.KindInferenceAPIKey, ID: cloudapitest.NewID(cloudapi.KindVM).String()},
		{Kind: cloudapi.KindVM, ID: "../web-1", Location: sdktest.Somewhere},
	} {
		if err := client.WaitDeleted(t.Context(), r, nil); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("%v: %v", r, err)
		}
	}
}

// TestDeletePrivateLocation: Delete and WaitDeleted of a private location with an
// ID take neither another one that has its name nor a name that it no longer has.
func TestDeletePrivateLocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, ctx := cloudapitest.New(t).Client(), t.Context()
		create := func() cloudapi.Resource {
			return stub.Must(client.PrivateLocations.Create(ctx, "aws", &cloudapi.PrivateLocationCreateRequest{
				ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("k"), SecretKey: cloudapi.NewSecret("s")}))(t).Resource()
		}
		mine := create()
		stub.Must(client.PrivateLocations.Rename(ctx, "aws", "old"))(t)
		theirs := create()
		wait, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		go func() {
			stub.Elapse(5 * time.Second)
			stub.Must(client.PrivateLocations.Rename(ctx, "old", "older"))(t)
		}()
		if err := client.WaitDeleted(wait, mine, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it was renamed twice, and WaitDeleted returns %v", err)
		}
		for _, missing := range []cloudapi.Resource{{Kind: cloudapi.KindPrivateLocation}, {Kind: cloudapi.KindPrivateLocation, Location: "aws"}} {
			if _, err := client.Fetch(ctx, missing); !errors.Is(err, cloudapi.ErrInvalidArgument) || cloudapi.IsGone(err) {
				t.Errorf("without a name and an ID: %v", err)
			}
		}
		mine.Name = "" // the ID is enough
		for range 2 {  // once it exists, and once only another has its name
			if err := errors.Join(client.Delete(ctx, mine), client.WaitDeleted(ctx, mine, nil)); err != nil {
				t.Error(err)
			}
			left := stub.Must(cloudapi.Collect(client.PrivateLocations.All(ctx, nil)))(t)
			if len(left) != 1 || left[0].ID != theirs.ID {
				t.Errorf("%d are left", len(left))
			}
		}
		if err := client.Delete(ctx, cloudapi.Resource{Kind: cloudapi.KindPrivateLocation, Name: "aws"}); err != nil {
			t.Errorf("without an ID: %v", err)
		}
	})
}

// TestDeleteExistingBesideAHiddenOne: a name is ambiguous if the token sees only
// one of two resources that have it. With the kind, it isn't.
func TestDeleteExistingBesideAHiddenOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		srv.AddVMs(sdktest.Somewhere, "web", 1)
		firewall := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "web-1", nil))(t)
		srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view", "Firewall:*")
		if r, err := client.DeleteExisting(ctx, sdktest.Somewhere+"/web-1"); !errors.Is(err, cloudapi.ErrAmbiguous) || !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("deleted %v, %v", r, err)
		}
		if r, err := client.Resolve(ctx, sdktest.Somewhere+"/web-1"); err != nil || r.ID != firewall.ID {
			t.Errorf("resolved %v, %v", r, err)
		}
		if r, err := client.DeleteExisting(ctx, sdktest.Somewhere+"/web-1", cloudapi.KindFirewall); err != nil || r.ID != firewall.ID {
			t.Errorf("deleted %v, %v", r, err)
		}
		// The server refuses keys and scripts whatever the name.
		srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view", "Location:*")
		place := stub.Must(client.PrivateLocations.Create(ctx, "own", &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("k"), SecretKey: cloudapi.NewSecret("s")}))(t)
		if r, err := client.DeleteExisting(ctx, "own"); err != nil || r.ID != place.ID {
			t.Errorf("deleted %v, %v", r, err)
		}
		missing := cloudapitest.NewID(cloudapi.KindPrivateLocation).String()
		if _, err := client.Resolve(ctx, missing); !errors.Is(err, cloudapi.ErrNotFound) || !strings.HasPrefix(err.Error(), "cloudapi: Resolve: "+missing) {
			t.Errorf("a private location that doesn't exist: %v", err)
		}
	})
}
