package resolve_test

import (
	"context"
	"errors"
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

// TestFetchFinds: Fetch returns the full record by the ID, wherever the resource
// is, and asks further only if it isn't where it should be.
func TestFetchFinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		for name, tt := range map[string]struct {
			location string
			requests int
		}{
			"in its location":           {sdktest.Somewhere, 1},
			"without a location":        {"", 2},
			"in another location":       {"us-east-a2", 3},
			"in a location that is not": {"nowhere", 3},
		} {
			p.Server.ClearRequests()
			vm, err := cloudapi.Fetch[cloudapi.VM](t.Context(), p.Client, cloudapi.Resource{ID: p.VM.ID, Location: tt.location})
			if err != nil || vm.ID != p.VM.ID || vm.Subnet == "" || vm.Location != sdktest.Somewhere {
				t.Errorf("%s: %+v, %v", name, vm, err)
			}
			if n := len(p.Server.Requests()); n != tt.requests {
				t.Errorf("%s: %d requests, want %d", name, n, tt.requests)
			}
		}
		_, err := cloudapi.Fetch[cloudapi.VM](t.Context(), p.Client, p.Firewall.Resource())
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Operation != "Fetch" {
			t.Errorf("of another kind: %v", err)
		}
		for _, location := range []string{sdktest.Somewhere, "us-east-a2", "nowhere", ""} {
			rule, err := cloudapi.Fetch[cloudapi.FirewallRule](t.Context(), p.Client, cloudapi.Resource{ID: p.Rule.ID,
				Parent: &cloudapi.Resource{ID: p.Firewall.ID, Location: location}})
			if err != nil || rule.ID != p.Rule.ID {
				t.Errorf("a rule of a firewall in %q: %v, %v", location, rule, err)
			}
		}
		if record, err := p.Client.Fetch(t.Context(), cloudapi.Resource{ID: p.VM.ID}); err != nil || record.(*cloudapi.VM).ID != p.VM.ID {
			t.Errorf("without a kind: %v, %v", record, err)
		}
	})
}

// TestFetchRefuses: an ID that no resource of the kind can have isn't gone.
func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	client := sdktest.SendingNothing(t)
	vm, rule, mistyped := cloudapitest.NewID(cloudapi.KindVM).String(), cloudapitest.NewID(cloudapi.KindFirewallRule).String(), ""
	for _, c := range "0123456789abcdef" {
		if id := vm[:20] + string(c) + vm[21:]; mistyped == "" {
			if _, err := cloudapi.ParseID(id); err != nil {
				mistyped = id
			}
		}
	}
	for _, r := range []cloudapi.Resource{
		{Kind: cloudapi.KindFirewall, ID: vm, Location: sdktest.Somewhere},
		{Kind: cloudapi.KindVM, ID: mistyped, Location: sdktest.Somewhere},
		{Kind: cloudapi.KindVM, ID: "web-1", Location: sdktest.Somewhere},
		{Kind: cloudapi.KindVM, Location: sdktest.Somewhere, Name: "web-1"},
		{Kind: cloudapi.KindPrivateLocation, ID: vm, Name: "own"},
		{Kind: cloudapi.KindFirewallRule, ID: vm, Parent: &cloudapi.Resource{ID: cloudapitest.NewID(cloudapi.KindFirewall).String()}},
		{Kind: cloudapi.KindFirewallRule, ID: rule, Parent: &cloudapi.Resource{ID: vm}},
		{Kind: cloudapi.KindFirewallRule, ID: rule},
		{},
	} {
		calls := map[string]error{"Delete": client.Delete(t.Context(), r), "WaitDeleted": client.WaitDeleted(t.Context(), r, nil)}
		_, calls["Fetch"] = client.Fetch(t.Context(), r)
		for name, err := range calls {
			if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Operation != name || cloudapi.IsGone(err) {
				t.Errorf("%s of %v: %v", name, r, err)
			}
		}
	}
	if _, err := cloudapi.Fetch[cloudapi.Firewall](t.Context(), client, cloudapi.Resource{ID: vm}); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("another kind: %v", err)
	}
	type embedding struct{ cloudapi.VM }
	_, fetchErr := cloudapi.Fetch[embedding](t.Context(), client, cloudapi.Resource{ID: vm})
	_, lookupErr := cloudapi.Lookup[embedding](t.Context(), client, vm)
	for name, err := range map[string]error{"Fetch": fetchErr, "Lookup": lookupErr} {
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Operation != name || e.Name != "T" {
			t.Errorf("%s of a type that embeds a record: %v", name, err)
		}
	}
}

// TestHiddenVM: a VM that the token can't see isn't gone, whatever a private
// location is called.
func TestHiddenVM(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		stub.Must(client.PrivateLocations.Create(t.Context(), "unknown-location", &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("k"), SecretKey: cloudapi.NewSecret("s")}))(t)
		id := srv.AddVMs(sdktest.Somewhere, "web", 1)[0]
		srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view")
		for _, location := range []string{"", sdktest.Somewhere, "us-east-a2", "nowhere"} {
			if _, err := cloudapi.Fetch[cloudapi.VM](t.Context(), client, cloudapi.Resource{ID: id, Location: location}); !errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("in %q: %v", location, err)
			}
		}
	})
}

// TestFetchByName: the name of a private location may be another's, or have
// changed.
func TestFetchByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t).Client()
		create := func(name string) *cloudapi.PrivateLocation {
			return stub.Must(client.PrivateLocations.Create(t.Context(), name, &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSEast1,
				AccessKey: cloudapi.NewSecret("AKIA"), SecretKey: cloudapi.NewSecret("secret")}))(t)
		}
		created := create("mine")
		stub.Must(client.PrivateLocations.Rename(t.Context(), "mine", "ours"))(t)
		other := create("mine")
		fetched, err := cloudapi.Fetch[cloudapi.PrivateLocation](t.Context(), client, created.Resource())
		if err != nil || fetched.ID != created.ID || fetched.UIName != "ours" {
			t.Errorf("renamed: %+v, %v", fetched, err)
		}
		stub.Must(0, client.PrivateLocations.Delete(t.Context(), "ours"))(t)
		stub.Must(0, client.PrivateLocations.WaitDeleted(t.Context(), "ours", nil))(t)
		if _, err := cloudapi.Fetch[cloudapi.PrivateLocation](t.Context(), client, created.Resource()); !cloudapi.IsGone(err) {
			t.Errorf("deleted: %v", err)
		}
		if fetched, err := cloudapi.Fetch[cloudapi.PrivateLocation](t.Context(), client, cloudapi.Resource{Name: "mine"}); err != nil || fetched.ID != other.ID {
			t.Errorf("without an ID: %v, %v", fetched, err)
		}
		if _, err := cloudapi.Fetch[cloudapi.PrivateLocation](t.Context(), client, cloudapi.Resource{Name: "ours"}); !cloudapi.IsGone(err) {
			t.Errorf("without an ID, deleted: %v", err)
		}
	})
}

// TestFetchProves: IsGone is true for an error of Fetch only if it's proven that
// the resource isn't in the project.
func TestFetchProves(t *testing.T) {
	t.Parallel()
	lost := func(kind cloudapi.Kind) cloudapi.Resource {
		r := cloudapi.Resource{Kind: kind, ID: cloudapitest.NewID(kind).String()}
		if kind == cloudapi.KindPrivateLocation {
			r.Name = "lost"
		}
		return r
	}
	rule := lost(cloudapi.KindFirewallRule)
	rule.Parent = &cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: lost(cloudapi.KindFirewall).ID, Location: sdktest.Somewhere}
	other := func(c *cloudapi.Client) *cloudapi.Client { return c.InProject(lost(cloudapi.KindProject).ID) }
	same := func(c *cloudapi.Client) *cloudapi.Client { return c }
	unknownLocation := strings.Replace(stub.Envelope(404), "ResourceNotFound", "InvalidLocation", 1)
	for name, tt := range map[string]struct {
		resource cloudapi.Resource
		api      cloudapitest.API
		client   func(*cloudapi.Client) *cloudapi.Client
		fail     map[string]cloudapitest.Fault // by operation
		isGone   bool
		want     error
	}{
		"a VM":                             {lost(cloudapi.KindVM), "", same, nil, true, cloudapi.ErrNotFound},
		"a load balancer":                  {lost(cloudapi.KindLoadBalancer), "", same, nil, true, cloudapi.ErrNotFound},
		"a machine image":                  {lost(cloudapi.KindMachineImage), "", same, nil, true, cloudapi.ErrNotFound},
		"a machine image of the contract":  {lost(cloudapi.KindMachineImage), cloudapitest.Contract, same, nil, false, cloudapi.ErrMaybeUnsupported},
		"an init script":                   {lost(cloudapi.KindVMInitScript), cloudapitest.Contract, same, nil, true, cloudapi.ErrNotFound},
		"an init script of the service":    {lost(cloudapi.KindVMInitScript), cloudapitest.Service, same, nil, false, cloudapi.ErrMaybeUnsupported},
		"a key":                            {lost(cloudapi.KindSSHPublicKey), "", same, nil, true, cloudapi.ErrNotFound},
		"a private location":               {lost(cloudapi.KindPrivateLocation), "", same, nil, true, cloudapi.ErrNotFound},
		"a rule of a firewall that is not": {rule, "", same, nil, true, cloudapi.ErrNotFound},
		"an inference API key":             {lost(cloudapi.KindInferenceAPIKey), "", same, nil, false, cloudapi.ErrNotFound},
		"a VM of another project":          {lost(cloudapi.KindVM), "", other, nil, false, cloudapi.ErrNotFound},
		"a key of another project":         {lost(cloudapi.KindSSHPublicKey), "", other, nil, false, cloudapi.ErrNotFound},
		"a rule of another project":        {rule, "", other, nil, false, cloudapi.ErrNotFound},
		"no project":                       {lost(cloudapi.KindProject), "", other, nil, false, cloudapi.ErrNotFound},
		"without a list of locations": {lost(cloudapi.KindVM), "", same,
			map[string]cloudapitest.Fault{"VMs.Get": cloudapitest.Reply(404, nil, unknownLocation)}, false, cloudapi.ErrNotFound},
		"without a list of locations, in one": {cloudapi.Resource{Kind: cloudapi.KindVM, ID: lost(cloudapi.KindVM).ID, Location: sdktest.Somewhere}, "", same,
			map[string]cloudapitest.Fault{"VMs.Get": cloudapitest.Reply(404, nil, stub.Envelope(404))}, false, cloudapi.ErrNotFound},
		"with a failing project":   {lost(cloudapi.KindVM), "", same, map[string]cloudapitest.Fault{"Projects.Get": cloudapitest.Reply(503, nil, "")}, false, cloudapi.ErrServer},
		"with a failing search":    {lost(cloudapi.KindVM), "", same, map[string]cloudapitest.Fault{"Projects.ObjectInfo": cloudapitest.Reply(503, nil, "")}, false, cloudapi.ErrServer},
		"with failing locations":   {lost(cloudapi.KindVM), "", same, map[string]cloudapitest.Fault{"VMs.Get": cloudapitest.Reply(503, nil, "")}, false, cloudapi.ErrServer},
		"with a gateway's project": {lost(cloudapi.KindVM), "", same, map[string]cloudapitest.Fault{"Projects.Get": cloudapitest.Reply(404, nil, "")}, false, nil},
		"in a hidden project":      {lost(cloudapi.KindVM), "", same, map[string]cloudapitest.Fault{"Projects.Get": cloudapitest.Reply(403, nil, stub.Envelope(403))}, false, cloudapi.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opts []cloudapitest.Option
			if tt.api != "" {
				opts = append(opts, cloudapitest.WithAPI(tt.api))
			}
			srv := cloudapitest.New(t, opts...)
			client := tt.client(srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})))
			for operation, fault := range tt.fail {
				srv.Fail(cloudapitest.Match{Operation: operation}, fault.Repeating())
			}
			record, err := client.Fetch(t.Context(), tt.resource)
			if record != nil || err == nil || cloudapi.IsGone(err) != tt.isGone || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, %v; gone: %v", record, err, cloudapi.IsGone(err))
			}
			if tt.isGone && errors.Is(err, cloudapi.ErrMaybeUnsupported) || err != nil && strings.Count(err.Error(), "cloudapi: ") != 1 {
				t.Errorf("it is %q", err)
			}
		})
	}
}

// TestFetchWithoutTheFamily: a 404 of a server that lacks all operations of a
// family proves nothing, although the server's search knows such IDs. That holds
// beside a Fetch that finds out which locations there are.
func TestFetchWithoutTheFamily(t *testing.T) {
	t.Parallel()
	lost := func(kind cloudapi.Kind, location string) cloudapi.Resource {
		return cloudapi.Resource{Kind: kind, ID: cloudapitest.NewID(kind).String(), Location: location}
	}
	for _, location := range []string{"", sdktest.Somewhere} {
		synctest.Test(t, func(t *testing.T) {
			srv := cloudapitest.New(t)
			isImages := func(path string) bool { return strings.Contains(path, "/machine-image") }
			srv.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool { return isImages(r.Path) }}, sdktest.Refusal(404, "ResourceNotFound").Repeating())
			client := srv.Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
				return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					stub.Elapse(10 * time.Millisecond)
					if isImages(req.URL.Path) {
						stub.Elapse(100 * time.Millisecond) // the other call is first
					}
					return next.RoundTrip(req)
				})
			}))
			both := []cloudapi.Resource{lost(cloudapi.KindMachineImage, location), lost(cloudapi.KindVM, location)}
			_, _ = cloudapi.WaitAll(t.Context(), both, func(ctx context.Context, r cloudapi.Resource) (*cloudapi.Record, error) {
				_, err := client.Fetch(ctx, r)
				if !errors.Is(err, cloudapi.ErrNotFound) || cloudapi.IsGone(err) != (r.Kind == cloudapi.KindVM) {
					t.Errorf("%v: %v; gone: %v", r, err, cloudapi.IsGone(err))
				}
				return nil, err
			}, nil)
		})
	}
}

// TestFetchesShareProofs: with WithSharedWaits, or in a WaitAll, calls at the
// same time share the requests that don't depend on the resource.
func TestFetchesShareProofs(t *testing.T) {
	t.Parallel()
	const n = 200
	itself := func(c *cloudapi.Client) *cloudapi.Client { return c }
	copied := func(c *cloudapi.Client) *cloudapi.Client { return c.InProject(c.Project()) }
	count := func(inWaitAll bool, of func(*cloudapi.Client) *cloudapi.Client, opts ...cloudapi.Option) (requests int) {
		synctest.Test(t, func(t *testing.T) {
			srv := cloudapitest.New(t)
			client := srv.Client(opts...)
			ids := srv.AddVMs(sdktest.Somewhere, "web", n/2)
			for range n / 2 {
				ids = append(ids, cloudapitest.NewID(cloudapi.KindVM).String())
			}
			srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(50*time.Millisecond).Repeating())
			check := func(i int, err error, isCanceled bool) {
				if (err == nil) != (i < n/2 && !isCanceled) || cloudapi.IsGone(err) != (i >= n/2 && !isCanceled) {
					t.Errorf("call %d: %v", i, err)
				}
			}
			if inWaitAll {
				cloudapi.WaitAll(t.Context(), ids, func(ctx context.Context, id string) (*cloudapi.VM, error) {
					vm, err := cloudapi.Fetch[cloudapi.VM](ctx, of(client), cloudapi.Resource{ID: id, Location: sdktest.Somewhere})
					check(slices.Index(ids, id), err, false)
					return vm, err
				}, nil)
				requests = len(srv.Requests())
				return
			}
			var calls sync.WaitGroup
			for i, id := range ids {
				calls.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if i%40 == 39 {
						cancel() // doesn't affect the others
					}
					_, err := cloudapi.Fetch[cloudapi.VM](ctx, of(client), cloudapi.Resource{ID: id, Location: sdktest.Somewhere})
					check(i, err, i%40 == 39)
				})
			}
			calls.Wait()
			requests = len(srv.Requests())
		})
		return requests
	}
	alone, inWaitAll := count(false, itself), count(true, copied)
	sharing, copies := count(false, itself, cloudapi.WithSharedWaits()), count(false, copied, cloudapi.WithSharedWaits())
	t.Logf("%d calls, half of them for what is gone, send %d requests alone, %d with WithSharedWaits, and %d in a WaitAll", n, alone, sharing, inWaitAll)
	if sharing > alone-n/2 || copies != sharing || inWaitAll > n+n/2*3+2 { // each that is gone takes 3 more; the project and the locations are shared
		t.Errorf("%d requests alone, %d with WithSharedWaits, %d by copies, %d in a WaitAll", alone, sharing, copies, inWaitAll)
	}
}

// TestFetchSharesNothingOlder: in a WaitAll, Fetch uses no response to a request
// that was sent before the call.
func TestFetchSharesNothingOlder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		stub.Must(cloudapi.WaitAll(t.Context(), []time.Duration{0, time.Minute, 2 * time.Minute}, func(ctx context.Context, at time.Duration) (*int, error) {
			stub.Elapse(at)
			_, err := cloudapi.Fetch[cloudapi.VM](ctx, client, cloudapi.Resource{ID: stub.VMID, Location: sdktest.Somewhere})
			if cloudapi.IsGone(err) != (at == 0) { // then the token loses its access
				t.Errorf("after %v: %v", at, err)
			}
			srv.SetPermissions(srv.ProjectID(), srv.Token())
			return nil, nil
		}, nil))(t)
	})
}

// TestUnknownIsNotGone: an error doesn't prove that something is gone if the
// outcome of the request is unknown.
func TestUnknownIsNotGone(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client()
	srv.Fail(cloudapitest.Match{Method: http.MethodPost}, cloudapitest.DropBefore())
	_, err := client.Firewalls.Create(t.Context(), sdktest.Somewhere, "edge", nil)
	_, err = cloudapi.Confirm(t.Context(), err, func(ctx context.Context) (*cloudapi.Firewall, error) {
		return client.Firewalls.Get(ctx, sdktest.Somewhere, "edge")
	}, nil)
	if !errors.Is(err, cloudapi.ErrOutcomeUnknown) || !errors.Is(err, cloudapi.ErrNotFound) || cloudapi.IsGone(err) {
		t.Errorf("it is %v; gone: %v", err, cloudapi.IsGone(err))
	}
}

// TestFetchDuringRenames: a 404 from a private location that was renamed
// meanwhile, or whose name another one has now, proves nothing.
func TestFetchDuringRenames(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		at      string      // part of the path of the request before which the renames are made
		renames [][2]string // from and to
		isBlind bool        // whether the token sees no firewalls
		again   int         // the status of the second search by ID: 0 if it's as usual, 200 if it also finds the resource
	}{
		"the proof":                   {"/location/eu-north-h1/", [][2]string{{"zone-a", "zone-c"}}, true, 0},
		"the read":                    {"/location/zone-a/firewall/", [][2]string{{"zone-a", "zone-c"}}, false, 0},
		"the read, by another's name": {"/location/zone-a/firewall/", [][2]string{{"zone-a", "zone-c"}, {"zone-b", "zone-a"}}, false, 200},
		"the read, by a public name":  {"/location/zone-a/firewall/", [][2]string{{"zone-a", sdktest.Somewhere}}, false, 0},
		"the read, and a 503":         {"/location/zone-a/firewall/", [][2]string{{"zone-a", "zone-c"}, {"zone-b", "zone-a"}}, false, 503},
		"the read, and a 403":         {"/location/zone-a/firewall/", [][2]string{{"zone-a", "zone-c"}, {"zone-b", "zone-a"}}, false, 403},
	} {
		synctest.Test(t, func(t *testing.T) {
			srv := cloudapitest.New(t)
			admin, ctx := srv.Client(), t.Context()
			for _, location := range []string{"zone-a", "zone-b"} {
				stub.Must(admin.PrivateLocations.Create(ctx, location, &cloudapi.PrivateLocationCreateRequest{
					ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("k"), SecretKey: cloudapi.NewSecret("s")}))(t)
			}
			id := stub.Must(admin.Firewalls.Create(ctx, "zone-a", "edge", nil))(t).ID
			done := false
			client := srv.Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
				return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					if !done && strings.Contains(req.URL.Path, tt.at) {
						done = true
						srv.SetPermissions(srv.ProjectID(), srv.Token(), "*")
						for _, r := range tt.renames {
							stub.Must(admin.PrivateLocations.Rename(ctx, r[0], r[1]))(t)
						}
						if tt.isBlind {
							srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view")
						}
					}
					return next.RoundTrip(req)
				})
			}))
			if tt.isBlind {
				srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view")
			}
			if tt.again > 200 {
				srv.Fail(cloudapitest.Match{Operation: "Projects.ObjectInfo", Nth: 2}, cloudapitest.Reply(tt.again, nil, stub.Envelope(tt.again)).Repeating())
			}
			if record, err := client.Fetch(ctx, cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: id}); (err == nil) != (tt.again == 200) || cloudapi.IsGone(err) || !done {
				t.Errorf("%s: %v, %v", name, record, err)
			}
		})
	}
}
