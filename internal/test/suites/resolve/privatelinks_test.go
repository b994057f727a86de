package resolve_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestPrivateLinksThatAreOff: where private link services are off, no method
// takes its 404 for a resource that doesn't exist, and methods for resources of
// any kind take the list for empty. Neither leaves a line in the server's log.
func TestPrivateLinksThatAreOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewPrivateLinks(t)
		links, ctx := p.Client.PrivateLinkServices, t.Context()
		link := cloudapi.Resource{Kind: cloudapi.KindPrivateLinkService, ID: cloudapitest.NewID(cloudapi.KindPrivateLinkService).String(), Location: "own", Name: "link"}
		request := &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: p.Subnet.ID}
		for name, call := range map[string]func() error{
			"List": func() error { _, err := links.List(ctx, nil); return err },
			"All": func() error {
				_, err := cloudapi.Collect(links.All(ctx, &cloudapi.ListOptions{Location: "own"}))
				return err
			},
			"Watch":  func() error { _, err := sdktest.Do("PrivateLinkServices.Watch", nil).On(ctx, p.Client); return err },
			"Get":    func() error { _, err := links.Get(ctx, "own", "link"); return err },
			"Create": func() error { _, err := links.Create(ctx, "own", "link", request); return err },
			"Ensure": func() error { _, _, err := links.Ensure(ctx, "own", "link", request, nil); return err },
			"Ensure, planned": func() error {
				_, _, err := cloudapi.NewPlan(p.Client).Client().PrivateLinkServices.Ensure(ctx, "own", "link", request, nil)
				return err
			},
			"Update":        func() error { _, err := links.Update(ctx, "own", "link", nil); return err },
			"Delete":        func() error { return links.Delete(ctx, "own", "link") },
			"WaitAvailable": func() error { _, err := links.WaitAvailable(ctx, "own", "link", nil); return err },
			"WaitDeleted":   func() error { return links.WaitDeleted(ctx, "own", "link", nil) },
			"of a database": func() error { _, err := p.Client.Postgres.PrivateLinkService(ctx, "own", "db"); return err },
			"for a database": func() error {
				_, err := p.Client.Postgres.CreatePrivateLinkService(ctx, "own", "db", "link", nil)
				return err
			},
			"Resolve":        func() error { _, err := p.Client.Resolve(ctx, link.ID); return err },
			"Resolve a name": func() error { _, err := p.Client.Resolve(ctx, "own/link", cloudapi.KindPrivateLinkService); return err },
			"Lookup": func() error {
				_, err := cloudapi.Lookup[cloudapi.PrivateLinkService](ctx, p.Client, "own/link")
				return err
			},
			"Fetch": func() error { _, err := p.Client.Fetch(ctx, link); return err },
			"DeleteExisting": func() error {
				_, err := p.Client.DeleteExisting(ctx, "own/link", cloudapi.KindPrivateLinkService)
				return err
			},
			"Client.Delete": func() error { return p.Client.Delete(ctx, link) },
		} {
			if err := call(); !errors.Is(err, cloudapi.ErrMaybeUnsupported) || !errors.Is(err, cloudapi.ErrNotFound) || cloudapi.IsGone(err) || !strings.Contains(err.Error(), "off by default") {
				t.Errorf("%s: %v; gone: %v", name, err, cloudapi.IsGone(err))
			}
		}
		all := sdktest.Described(stub.Must(collected(t, p.Client, nil))(t))
		if !slices.Contains(all, "Postgres database own/db") || len(all) != 4 {
			t.Errorf("the resources are %q", all)
		}
		if _, err := p.Client.Resolve(ctx, "own/none"); !errors.Is(err, cloudapi.ErrNotFound) || errors.Is(err, cloudapi.ErrMaybeUnsupported) {
			t.Errorf("a name that no kind has: %v", err)
		}
		if _, err := p.Client.DeleteExisting(ctx, "own/db"); err != nil {
			t.Errorf("deleting the database: %v", err)
		}
	})
}

// TestPrivateLinks: the methods for resources of any kind find a private link
// service by its ID, although the API's object-info doesn't know it, and take a
// 404 of one that is missing for what it is.
func TestPrivateLinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices)
		links, ctx := p.Client.PrivateLinkServices, t.Context()
		created := stub.Must(p.Client.Postgres.CreatePrivateLinkService(ctx, "own", "db", "link", nil))(t)
		if created.State != cloudapi.PrivateLinkServiceStateCreating || created.AWS == nil || created.PostgresResourceID != p.Postgres.ID {
			t.Errorf("created is %+v", created)
		}
		link := stub.Must(links.WaitAvailable(ctx, "own", "link", nil))(t)
		if link.State != cloudapi.PrivateLinkServiceStateAvailable || link.AWS.ServiceName == "" {
			t.Errorf("it is %+v", link)
		}
		for _, item := range stub.Must(cloudapi.Collect(links.All(ctx, nil)))(t) {
			if item.ID != link.ID || item.AWS != nil {
				t.Errorf("the list has %+v", item)
			}
		}
		for _, reference := range []string{link.ID, "own/" + link.ID, "own/link"} {
			r := stub.Must(p.Client.Resolve(ctx, reference))(t)
			record := stub.Must(cloudapi.Lookup[cloudapi.PrivateLinkService](ctx, p.Client, reference))(t)
			if r.ID != link.ID || r.Location != "own" && reference == link.ID || record.AWS == nil {
				t.Errorf("%s is %v, %+v", reference, r, record)
			}
		}
		wrong := link.Resource()
		wrong.Location = "eu-central-h1"
		missing := cloudapi.Resource{Kind: cloudapi.KindPrivateLinkService, ID: cloudapitest.NewID(cloudapi.KindPrivateLinkService).String(), Location: "own"}
		if found, err := existing(ctx, p.Client, wrong, missing); err != nil || !slices.Equal(found, []cloudapi.Resource{link.Resource()}) {
			t.Errorf("Fetch: %v, %v", found, err)
		}
		_, unproven := links.Get(ctx, "own", missing.ID)
		_, proven := p.Client.Fetch(ctx, missing)
		_, resolved := p.Client.Resolve(ctx, missing.ID)
		if _, err := p.Client.Resolve(ctx, "own/none", cloudapi.KindPrivateLinkService); !errors.Is(err, cloudapi.ErrNotFound) || errors.Is(err, cloudapi.ErrMaybeUnsupported) {
			t.Errorf("a name that none has: %v", err)
		}
		if cloudapi.IsGone(unproven) || !errors.Is(unproven, cloudapi.ErrMaybeUnsupported) {
			t.Errorf("a 404 without a proof: %v", unproven)
		}
		if !cloudapi.IsGone(proven) || errors.Is(proven, cloudapi.ErrMaybeUnsupported) {
			t.Errorf("a 404 with a proof: %v", proven)
		}
		if !cloudapi.IsGone(resolved) || errors.Is(resolved, cloudapi.ErrMaybeUnsupported) {
			t.Errorf("by ID: %v", resolved)
		}

		if err := p.Client.PrivateSubnets.Delete(ctx, "own", "net"); !errors.Is(err, cloudapi.ErrConflict) {
			t.Errorf("deleting its subnet: %v", err)
		}
		if !slices.Contains(sdktest.Described(stub.Must(collected(t, p.Client, nil))(t)), "private link service own/link") {
			t.Error("Resources lacks it")
		}
		deleted := stub.Must(p.Client.DeleteExisting(ctx, link.ID))(t)
		if got := stub.Must(links.Get(ctx, "own", link.ID))(t); got.State != cloudapi.PrivateLinkServiceStateDeleting {
			t.Errorf("after Delete, it is %+v", got)
		}
		if err := p.Client.WaitDeleted(ctx, *deleted, nil); err != nil {
			t.Error(err)
		}
		stub.Must(0, p.Client.Postgres.Delete(ctx, "own", "db"))(t)
	})
}

// TestPrivateLinksGoOff: a private link service isn't gone if its feature goes
// off after Fetch has found where it is.
func TestPrivateLinksGoOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ctx := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices), t.Context()
		link := stub.Must(p.Client.PrivateLinkServices.Create(ctx, "own", "link", &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: p.Subnet.ID}))(t)
		client := stub.Must(p.Client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, link.ID) {
					p.Server.SetFeatures(p.Server.ProjectID())
				}
				return next.RoundTrip(req)
			})
		})))(t)
		_, err := client.Fetch(ctx, cloudapi.Resource{Kind: cloudapi.KindPrivateLinkService, ID: link.ID})
		if !errors.Is(err, cloudapi.ErrMaybeUnsupported) || cloudapi.IsGone(err) {
			t.Errorf("%v", err)
		}
	})
}
