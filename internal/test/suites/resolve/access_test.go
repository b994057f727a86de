package resolve_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// existing returns those of the resources that still exist, as they are now.
func existing(ctx context.Context, client *cloudapi.Client, known ...cloudapi.Resource) ([]cloudapi.Resource, error) {
	found, err := cloudapi.WaitAll(ctx, known, func(ctx context.Context, r cloudapi.Resource) (*cloudapi.Resource, error) {
		record, err := client.Fetch(ctx, r)
		switch {
		case cloudapi.IsGone(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		r = record.(interface{ Resource() cloudapi.Resource }).Resource()
		return &r, nil
	}, nil)
	if err != nil {
		return nil, err
	}
	var resources []cloudapi.Resource
	for _, r := range found {
		if r != nil {
			resources = append(resources, *r)
		}
	}
	return resources, nil
}

// TestAccess: without a permission, lists are empty. CheckAccess and Fetch
// distinguish that from a project that is empty and resources that are gone.
func TestAccess(t *testing.T) {
	t.Parallel()
	const location, other = "eu-central-h1", "pjahbwgme82j3qbwnsn4b3w1e9"
	vmGone := cloudapi.Resource{Kind: cloudapi.KindVM, ID: stub.VMID, Location: location, Name: "web-0"}
	for _, tt := range []struct {
		name        string
		permissions []string
		project     string // "" for the server's
		known       []string
		want        error
		requests    int
	}{
		{"all permissions", []string{"*"}, "", nil, nil, 1},
		{"all permissions, and resources", []string{"*"}, "", []string{"vm", "firewall", "gone"}, nil, 8},
		{"no permission", nil, "", nil, cloudapi.ErrForbidden, 1},
		{"none for a VM", []string{"Project:view", "Firewall:view"}, "", []string{"gone", "firewall", "vm"}, cloudapi.ErrForbidden, 9},
		{"none for a VM that the program does not know", []string{"Project:view", "Firewall:view"}, "", []string{"firewall"}, nil, 1},
		{"none for the project", []string{"Vm:view"}, "", []string{"vm"}, nil, 1},
		{"none for the project, and a VM that is gone", []string{"Vm:view"}, "", []string{"gone"}, cloudapi.ErrForbidden, 3},
		{"of another account", nil, other, []string{"vm"}, cloudapi.ErrNotFound, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				client := srv.Client()
				vm := stub.Must(client.VMs.Create(t.Context(), location, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
				firewall := stub.Must(client.Firewalls.Create(t.Context(), location, "edge", nil))(t)
				resources := map[string]cloudapi.Resource{
					"vm":       {Kind: cloudapi.KindVM, ID: vm.ID, Location: location, Name: vm.Name},
					"firewall": {Kind: cloudapi.KindFirewall, ID: firewall.ID, Location: location, Name: firewall.Name},
					"gone":     vmGone,
				}
				var known []cloudapi.Resource
				for _, name := range tt.known {
					known = append(known, resources[name])
				}
				srv.SetPermissions(client.Project(), srv.Token(), tt.permissions...)
				if tt.project != "" {
					client = client.InProject(tt.project)
				}
				before := len(srv.Requests())
				var found []cloudapi.Resource
				var err error
				if known == nil {
					err = client.CheckAccess(t.Context())
				} else {
					found, err = existing(t.Context(), client, known...)
				}
				if !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				wanted := slices.DeleteFunc(slices.Clone(known), func(r cloudapi.Resource) bool { return r == vmGone })
				if err == nil && !slices.Equal(found, wanted) {
					t.Errorf("%v exist, want %v", found, wanted)
				}
				if n := len(srv.Requests()) - before; n != tt.requests {
					t.Errorf("%d requests, want %d", n, tt.requests)
				}
			})
		})
	}
}

// TestFetchLooksElsewhere: Fetch finds a resource even if its location is
// wrong.
func TestFetchLooksElsewhere(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client()
	vm := stub.Must(client.VMs.Create(t.Context(), "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
	firewall := stub.Must(client.Firewalls.Create(t.Context(), "us-east-a2", "edge", nil))(t)
	found, err := existing(t.Context(), client,
		cloudapi.Resource{Kind: cloudapi.KindVM, ID: vm.ID, Location: "us-east-a2"},
		cloudapi.Resource{Kind: cloudapi.KindVM, ID: stub.VMID, Location: "us-east-a2"},
		cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: firewall.ID, Location: "eu-central-h1"},
		cloudapi.Resource{Kind: cloudapi.KindVM, ID: vm.ID, Location: "us-east-a9"}, // a location that doesn't exist
	)
	want := []cloudapi.Resource{
		{Kind: cloudapi.KindVM, ID: vm.ID, Location: "eu-central-h1", Name: "web-1"},
		{Kind: cloudapi.KindFirewall, ID: firewall.ID, Location: "us-east-a2", Name: "edge"},
		{Kind: cloudapi.KindVM, ID: vm.ID, Location: "eu-central-h1", Name: "web-1"},
	}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%v exist, %v, want %v", found, err, want)
	}
	nowhere := cloudapi.Resource{Kind: cloudapi.KindVM, ID: stub.VMID, Location: "us-east-a9"}
	if found, err := existing(t.Context(), client, nowhere); err != nil || found != nil {
		t.Errorf("in a location that doesn't exist: %v, %v", found, err)
	}
	cut := cloudapi.Resource{Kind: cloudapi.KindVM, ID: vm.ID[:20], Location: "eu-central-h1"}
	if found, err := existing(t.Context(), client, cut); err == nil {
		t.Errorf("an ID that is cut off: %v exist", found)
	}
	srv.Fail(cloudapitest.Match{Operation: "Projects.ObjectInfo"}, cloudapitest.Reply(500, nil, stub.Envelope(500)).Repeating())
	once := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
	_, err = existing(t.Context(), once, cloudapi.Resource{Kind: cloudapi.KindVM, ID: vm.ID, Location: "us-east-a2"})
	if !errors.Is(err, cloudapi.ErrServer) {
		t.Errorf("a lookup that fails: %v", err)
	}
}

// TestFetchLooksAgain: a resource that is being destroyed can be forbidden for a
// moment.
func TestFetchLooksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		srv.Fail(cloudapitest.Match{Operation: "VMs.Get"}, cloudapitest.Reply(403, nil, stub.Envelope(403)))
		start := time.Now()
		_, err := srv.Client().Fetch(t.Context(), cloudapi.Resource{Kind: cloudapi.KindVM, ID: stub.VMID, Location: "eu-central-h1"})
		if !cloudapi.IsGone(err) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v, want a proof after 1s", time.Since(start), err)
		}
	})
}

func TestCheckAccessRefuses(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client()
	if err := client.InProject("").CheckAccess(t.Context()); !errors.Is(err, cloudapi.ErrNoProject) {
		t.Errorf("without a project: %v", err)
	}
	var none context.Context
	if err := client.CheckAccess(none); err == nil || err.Error() != "cloudapi: CheckAccess: ctx must not be nil" {
		t.Errorf("without a context: %v", err)
	}
	if sent := srv.Requests(); len(sent) != 0 {
		t.Errorf("%d requests were sent", len(sent))
	}
}

// TestHiddenIsNotMissing: what the token can't see is forbidden and not missing,
// also if only its ID is known. A search for a rule can't tell the two apart.
func TestHiddenIsNotMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const location = "us-east-a2"
		srv := cloudapitest.New(t)
		id := srv.AddVMs(location, "web", 1)[0]
		client := srv.Client()
		look := func(id string) map[string]error {
			_, byID := cloudapi.Lookup[cloudapi.VM](t.Context(), client, id)
			_, inLocation := cloudapi.Lookup[cloudapi.VM](t.Context(), client, location+"/"+id)
			_, resolved := client.Resolve(t.Context(), id)
			_, deleted := client.DeleteExisting(t.Context(), id)
			return map[string]error{"Lookup": byID, "Lookup in its location": inLocation, "Resolve": resolved, "DeleteExisting": deleted}
		}
		for name, err := range look(stub.VMID) {
			if !cloudapi.IsGone(err) || errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("%s of what is gone: %v", name, err)
			}
		}
		srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view")
		for name, err := range look(id) {
			if !errors.Is(err, cloudapi.ErrForbidden) || errors.Is(err, cloudapi.ErrNotFound) {
				t.Errorf("%s of what is hidden: %v", name, err)
			}
		}
		if _, err := client.Resolve(t.Context(), "fr"+stub.VMID[2:]); !errors.Is(err, cloudapi.ErrNotFound) || cloudapi.IsGone(err) {
			t.Errorf("a rule: %v; gone: %v", err, cloudapi.IsGone(err))
		}
		if n := len(srv.IDs(cloudapi.KindVM, "")); n != 1 {
			t.Errorf("%d VMs are left", n)
		}
	})
}
