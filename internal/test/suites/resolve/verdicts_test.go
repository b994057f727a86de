package resolve_test

import (
	"context"
	"errors"
	"fmt"
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

// tool does what docs/terraform.md and docs/controller.md show, for any kind.
type tool struct{ client *cloudapi.Client }

// read returns "gone" only if the resource's state can be removed.
func (t tool) read(ctx context.Context, r cloudapi.Resource) string {
	_, err := t.client.Fetch(ctx, r)
	switch {
	case cloudapi.IsGone(err):
		return "gone"
	case err != nil:
		return "error"
	}
	return "exists"
}

func (t tool) delete(ctx context.Context, r cloudapi.Resource) string {
	record, err := t.client.Fetch(ctx, r)
	if cloudapi.IsGone(err) {
		return "gone"
	}
	if err == nil {
		r = record.(interface{ Resource() cloudapi.Resource }).Resource()
		if err = t.client.Delete(ctx, r); err == nil {
			err = t.client.WaitDeleted(ctx, r, nil)
		}
	}
	if err != nil {
		return "error"
	}
	return "deleted"
}

// plan returns what an apply would do.
func (t tool) plan(ctx context.Context, r cloudapi.Resource) string {
	record, err := t.client.Fetch(ctx, r)
	switch vm, isVM := record.(*cloudapi.VM); {
	case cloudapi.IsGone(err):
		return "create"
	case err != nil:
		return "error"
	case isVM:
		if differences, _ := (&cloudapi.VMCreateRequest{Size: "burstable-1"}).Compare(vm); len(differences) > 0 {
			return "replace"
		}
	}
	return "nothing"
}

// instanceExists has only an ID.
func (t tool) instanceExists(ctx context.Context, r cloudapi.Resource) string {
	switch verdict := t.read(ctx, cloudapi.Resource{Kind: r.Kind, ID: r.ID}); verdict {
	case "exists":
		return "yes"
	case "gone":
		return "no"
	default:
		return verdict
	}
}

// TestVerdicts is the table of what a provider and a controller conclude. What
// exists is never created again, and what isn't proven is an error.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	vmIn := func(location string) func(*cloudapitest.Server) cloudapi.Resource {
		return func(srv *cloudapitest.Server) cloudapi.Resource {
			return cloudapi.Resource{Kind: cloudapi.KindVM, ID: srv.AddVMs(sdktest.Somewhere, "web", 1)[0], Location: location}
		}
	}
	missing := func(srv *cloudapitest.Server) cloudapi.Resource {
		return cloudapi.Resource{Kind: cloudapi.KindVM, ID: cloudapitest.NewID(cloudapi.KindVM).String(), Location: sdktest.Somewhere}
	}
	fail := func(fault cloudapitest.Fault) func(*cloudapitest.Server, *cloudapi.Client) *cloudapi.Client {
		return func(srv *cloudapitest.Server, c *cloudapi.Client) *cloudapi.Client {
			srv.Fail(cloudapitest.Match{}, fault.Repeating())
			return c
		}
	}
	for _, tt := range []struct {
		name     string
		resource func(*cloudapitest.Server) cloudapi.Resource
		then     func(*cloudapitest.Server, *cloudapi.Client) *cloudapi.Client // or nil
		want     string                                                        // of read, delete, plan and instanceExists
	}{
		{"there", vmIn(sdktest.Somewhere), nil, "exists deleted nothing yes"},
		{"without a location", vmIn(""), nil, "exists deleted nothing yes"},
		{"wrong location", vmIn("us-east-a2"), nil, "exists deleted nothing yes"},
		{"location that doesn't exist", vmIn("nowhere"), nil, "exists deleted nothing yes"},
		{"hidden", vmIn(sdktest.Somewhere), func(srv *cloudapitest.Server, c *cloudapi.Client) *cloudapi.Client {
			srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view")
			return c
		}, "error error error error"},
		{"hidden, and wrong location", vmIn("us-east-a2"), func(srv *cloudapitest.Server, c *cloudapi.Client) *cloudapi.Client {
			srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view")
			return c
		}, "error error error error"},
		{"gone", missing, nil, "gone gone create no"},
		{"gone, and the token sees nothing else", missing, func(srv *cloudapitest.Server, c *cloudapi.Client) *cloudapi.Client {
			srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view")
			return c
		}, "gone gone create no"},
		{"replaced by another of the same name", func(srv *cloudapitest.Server) cloudapi.Resource {
			r := missing(srv)
			r.Name = "web-1"
			srv.AddVMs(sdktest.Somewhere, "web", 1)
			return r
		}, nil, "gone gone create no"},
		{"mistyped project", vmIn(sdktest.Somewhere), func(_ *cloudapitest.Server, c *cloudapi.Client) *cloudapi.Client {
			return c.InProject(cloudapitest.NewID(cloudapi.KindProject).String())
		}, "error error error error"},
		{"another project of the account, where the token has no role", vmIn(sdktest.Somewhere), func(srv *cloudapitest.Server, c *cloudapi.Client) *cloudapi.Client {
			other := srv.AddProject("other")
			srv.SetPermissions(other, srv.Token())
			return c.InProject(other)
		}, "error error error error"},
		{"project that is no longer the token's", vmIn(sdktest.Somewhere), func(srv *cloudapitest.Server, c *cloudapi.Client) *cloudapi.Client {
			srv.SetPermissions(srv.ProjectID(), srv.Token())
			return c
		}, "error error error error"},
		{"project gone", missing, func(srv *cloudapitest.Server, c *cloudapi.Client) *cloudapi.Client {
			if err := c.Projects.Delete(context.Background(), c.Project()); err != nil {
				panic(err)
			}
			return c
		}, "error error error error"},
		{"gateway's 404", vmIn(sdktest.Somewhere), fail(cloudapitest.Reply(404, nil, "<html>not found</html>")), "error error error error"},
		{"only in the contract", func(*cloudapitest.Server) cloudapi.Resource {
			return cloudapi.Resource{Kind: cloudapi.KindVMInitScript, ID: cloudapitest.NewID(cloudapi.KindVMInitScript).String()}
		}, nil, "error error error error"},
		{"outage", vmIn(sdktest.Somewhere), fail(cloudapitest.Reply(503, nil, "")), "error error error error"},
		{"no connection", missing, fail(cloudapitest.DropBefore()), "error error error error"},
	} {
		var got []string
		for i := range 4 { // each with its own server
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
				client := srv.Client(cloudapi.WithSharedWaits())
				r := tt.resource(srv)
				existing := len(srv.IDs(cloudapi.KindVM, ""))
				if tt.then != nil {
					client = tt.then(srv, client)
				}
				tool := tool{client}
				call := []func(context.Context, cloudapi.Resource) string{tool.read, tool.delete, tool.plan, tool.instanceExists}[i]
				verdict := call(t.Context(), r)
				got = append(got, verdict)
				if left := len(srv.IDs(cloudapi.KindVM, "")); (verdict == "deleted") != (left < existing) && tt.name != "project gone" {
					t.Errorf("%s: %q, and %d of %d VMs are left", tt.name, verdict, left, existing)
				}
			})
		}
		if verdicts := strings.Join(got, " "); verdicts != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, verdicts, tt.want)
		}
	}
}

// TestProvider: a provider creates 200 VMs in parallel, each in a call with its
// own context, waits for them and reads them.
func TestProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, perSubnet = 200, 50
		delays := cloudapitest.DefaultDelays()
		delays.Create = 40 * time.Second
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays), cloudapitest.WithQuota(cloudapitest.Quota{VM: 1000}))
		client := srv.Client(cloudapi.WithSharedWaits())
		var subnets []*cloudapi.PrivateSubnet
		for i := range n / perSubnet {
			firewall := stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, fmt.Sprintf("net-%d", i), nil))(t)
			subnets = append(subnets, stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, fmt.Sprintf("net-%d", i), &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}))(t))
		}
		srv.ClearRequests()
		count := func(what string, call func(ctx context.Context, i int) error) (requests int) {
			var calls sync.WaitGroup
			for i := range n {
				calls.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					if err := call(ctx, i); err != nil {
						t.Errorf("%s: %v", what, err)
					}
				})
			}
			calls.Wait()
			requests = len(srv.Requests())
			srv.ClearRequests()
			t.Logf("%s: %d requests", what, requests)
			return requests
		}
		resources := make([]cloudapi.Resource, n)
		created := count("created and waited for", func(ctx context.Context, i int) error {
			request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "burstable-1", PrivateSubnetID: subnets[i/perSubnet].ID}
			vm, err := client.VMs.Create(ctx, sdktest.Somewhere, fmt.Sprintf("web-%d", i), request)
			if err != nil {
				return err
			}
			resources[i] = vm.Resource()
			_, err = client.VMs.WaitRunning(ctx, vm.Location, vm.ID, nil)
			return err
		})
		read := count("read", func(ctx context.Context, i int) error {
			vm, err := cloudapi.Fetch[cloudapi.VM](ctx, client, resources[i])
			if err == nil && vm.Subnet == "" {
				err = errors.New("the record lacks fields")
			}
			return err
		})
		for _, r := range resources {
			stub.Must(0, client.VMs.Delete(t.Context(), r.Location, r.ID))(t)
		}
		deleted := count("waited for until deleted", func(ctx context.Context, i int) error { return client.WaitDeleted(ctx, resources[i], nil) })
		srv.ClearRequests()
		gone := count("read when gone", func(ctx context.Context, i int) error {
			_, err := cloudapi.Fetch[cloudapi.VM](ctx, client, resources[i])
			if cloudapi.IsGone(err) {
				return nil
			}
			return fmt.Errorf("not gone: %w", err)
		})
		if created > 3*n+n/4 || read != n || deleted > 3*n || gone > 4*n+n/10 {
			t.Errorf("%d requests to create and wait, %d to read, %d to wait for deletions, %d to read what is gone", created, read, deleted, gone)
		}
	})
}

// TestThousands: a controller with thousands of instances reads one list, and
// fetches what is missing there.
func TestThousands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, gone = 3000, 100
		srv := cloudapitest.New(t)
		client := srv.Client()
		known := srv.AddVMs(sdktest.Somewhere, "web", n)
		for range gone {
			known = append(known, cloudapitest.NewID(cloudapi.KindVM).String())
		}
		srv.ClearRequests()
		listed := map[string]bool{}
		for vm, err := range client.VMs.All(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			listed[vm.ID] = true
		}
		missing := slices.DeleteFunc(known, func(id string) bool { return listed[id] })
		found, err := cloudapi.WaitAll(t.Context(), missing, func(ctx context.Context, id string) (*cloudapi.VM, error) {
			vm, err := cloudapi.Fetch[cloudapi.VM](ctx, client, cloudapi.Resource{ID: id, Location: sdktest.Somewhere})
			if cloudapi.IsGone(err) {
				return nil, nil
			}
			return vm, err
		}, nil)
		if err != nil || len(found) != gone || slices.ContainsFunc(found, func(vm *cloudapi.VM) bool { return vm != nil }) {
			t.Errorf("%d were missing: %v", len(found), err)
		}
		requests := len(srv.Requests())
		t.Logf("%d instances, and %d that are gone: %d requests", n, gone, requests)
		if requests > 4*gone+n/500 {
			t.Errorf("%d requests", requests)
		}
	})
}
