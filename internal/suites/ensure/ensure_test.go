// Package ensure_test checks what Ensure promises, for each family.
package ensure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// ensureCase is the Ensure of a family, independent of its types. Each variant
// is a request that differs in one field from the first one, which the server
// accepts.
type ensureCase struct {
	name   string
	kind   cloudapi.Kind
	ensure func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (id string, created bool, err error)
	count  func(ctx context.Context, c *cloudapi.Client) (int, error)
	remove func(ctx context.Context, c *cloudapi.Client) error

	fixed     []string // variants that no update can reach
	updatable []string
}

func ensureCases(t *testing.T, c *cloudapi.Client) []ensureCase {
	t.Helper()
	ctx := t.Context()
	firewall := stub.Must(c.Firewalls.Create(ctx, sdktest.Somewhere, "own-rules", nil))(t)
	other := stub.Must(c.Firewalls.Create(ctx, sdktest.Somewhere, "other-rules", nil))(t)
	subnet := stub.Must(c.PrivateSubnets.Create(ctx, sdktest.Somewhere, "own-net", nil))(t)
	otherNet := stub.Must(c.PrivateSubnets.Create(ctx, sdktest.Somewhere, "other-net", nil))(t)
	key := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForExamplesOnlyxxxxxxxxxxxxxxxx %s@example.com\n"
	return []ensureCase{
		newEnsureCase("VMs", cloudapi.KindVM,
			func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (*cloudapi.VM, cloudapi.EnsureOutcome, error) {
				r := cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "standard-2", StorageSize: 40, PrivateSubnetID: subnet.ID, EnableIP4: new(false)}
				switch variant {
				case "size":
					r.Size, r.StorageSize = "burstable-2", 0
				case "storage_size":
					r.StorageSize = 80
				case "unix_user":
					r.UnixUser = "admin"
				case "enable_ip4":
					r.EnableIP4 = new(true)
				case "private_subnet_id":
					r.PrivateSubnetID = otherNet.ID
				case "same, in another order":
					r.StorageSize = -1 // the default
				}
				return c.VMs.Ensure(ctx, sdktest.Somewhere, "x-1", &r, opts)
			},
			func(vm *cloudapi.VM) (string, string) { return vm.ID, vm.Name },
			func(c *cloudapi.Client) listing[cloudapi.VM] { return c.VMs },
			func(ctx context.Context, c *cloudapi.Client) error {
				return c.VMs.Delete(ctx, sdktest.Somewhere, "x-1")
			},
			[]string{"size", "storage_size", "unix_user", "enable_ip4", "private_subnet_id"}, nil),
		newEnsureCase("PrivateSubnets", cloudapi.KindPrivateSubnet,
			func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (*cloudapi.PrivateSubnet, cloudapi.EnsureOutcome, error) {
				r := cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}
				if variant == "firewall_id" {
					r.FirewallID = other.ID
				}
				return c.PrivateSubnets.Ensure(ctx, sdktest.Somewhere, "x-1", &r, opts)
			},
			func(s *cloudapi.PrivateSubnet) (string, string) { return s.ID, s.Name },
			func(c *cloudapi.Client) listing[cloudapi.PrivateSubnet] { return c.PrivateSubnets },
			nil, nil, []string{"firewall_id"}),
		newEnsureCase("Firewalls", cloudapi.KindFirewall,
			func(ctx context.Context, c *cloudapi.Client, _ string, opts *cloudapi.EnsureOptions) (*cloudapi.Firewall, cloudapi.EnsureOutcome, error) {
				r := cloudapi.FirewallCreateRequest{Description: "web"}
				return c.Firewalls.Ensure(ctx, sdktest.Somewhere, "x-1", &r, opts)
			},
			func(f *cloudapi.Firewall) (string, string) { return f.ID, f.Name },
			func(c *cloudapi.Client) listing[cloudapi.Firewall] { return c.Firewalls },
			func(ctx context.Context, c *cloudapi.Client) error {
				return c.Firewalls.Delete(ctx, sdktest.Somewhere, "x-1")
			},
			nil, nil), // for the description see TestEnsureFirewallDescription
		newEnsureCase("LoadBalancers", cloudapi.KindLoadBalancer,
			func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (*cloudapi.LoadBalancer, cloudapi.EnsureOutcome, error) {
				r := cloudapi.LoadBalancerCreateRequest{Algorithm: "round_robin", SrcPort: 80, DstPort: 8080, HealthCheckProtocol: "http",
					PrivateSubnetID: subnet.ID, Stack: "dual", HealthCheckEndpoint: "/up"}
				switch variant {
				case "algorithm":
					r.Algorithm = "hash_based"
				case "src_port":
					r.SrcPort = 81
				case "dst_port":
					r.DstPort = 8081
				case "health_check_protocol":
					r.HealthCheckProtocol = "tcp"
				case "stack":
					r.Stack = "ipv6"
				case "health_check_endpoint":
					r.HealthCheckEndpoint = "/health"
				}
				return c.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "x-1", &r, opts)
			},
			func(l *cloudapi.LoadBalancer) (string, string) { return l.ID, l.Name },
			func(c *cloudapi.Client) listing[cloudapi.LoadBalancer] { return c.LoadBalancers },
			nil, []string{"health_check_protocol", "stack"}, []string{"algorithm", "src_port", "dst_port", "health_check_endpoint"}),
		newEnsureCase("Postgres", cloudapi.KindPostgres,
			func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (*cloudapi.Postgres, cloudapi.EnsureOutcome, error) {
				r := cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: "none", Flavor: "standard", Version: "16",
					Tags: []cloudapi.PostgresTag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}}
				switch variant {
				case "same, in another order":
					slices.Reverse(r.Tags)
				case "size":
					r.Size, r.StorageSize = "standard-4", 0
				case "storage_size":
					r.StorageSize = 128
				case "ha_type":
					r.HAType = "async"
				case "flavor":
					r.Flavor = "paradedb"
				case "version":
					r.Version = "17"
				case "tags":
					r.Tags = []cloudapi.PostgresTag{}
				}
				return c.Postgres.Ensure(ctx, sdktest.Somewhere, "x-1", &r, opts)
			},
			func(p *cloudapi.Postgres) (string, string) { return p.ID, p.Name },
			func(c *cloudapi.Client) listing[cloudapi.Postgres] { return c.Postgres },
			func(ctx context.Context, c *cloudapi.Client) error {
				return c.Postgres.Delete(ctx, sdktest.Somewhere, "x-1")
			},
			[]string{"flavor", "version"}, []string{"storage_size", "ha_type", "tags"}),
		newEnsureCase("Kubernetes", cloudapi.KindKubernetesCluster,
			func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (*cloudapi.KubernetesCluster, cloudapi.EnsureOutcome, error) {
				r := cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-2", CPNodes: 1, WorkerNodes: 2}
				switch variant {
				case "version":
					r.Version = "v1.33"
				case "worker_size":
					r.WorkerSize = "standard-4"
				case "cp_nodes":
					r.CPNodes = 3
				case "worker_nodes":
					r.WorkerNodes = 3
				}
				return c.Kubernetes.Ensure(ctx, sdktest.Somewhere, "x-1", &r, opts)
			},
			func(k *cloudapi.KubernetesCluster) (string, string) { return k.ID, k.Name },
			func(c *cloudapi.Client) listing[cloudapi.KubernetesCluster] { return c.Kubernetes },
			func(ctx context.Context, c *cloudapi.Client) error {
				return c.Kubernetes.Delete(ctx, sdktest.Somewhere, "x-1")
			},
			[]string{"version", "worker_size", "cp_nodes"}, []string{"worker_nodes"}),
		newEnsureCase("PrivateLocations", cloudapi.KindPrivateLocation,
			func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (*cloudapi.PrivateLocation, cloudapi.EnsureOutcome, error) {
				r := cloudapi.PrivateLocationCreateRequest{Name: "x-1", ProviderLocationName: "us-east-1",
					AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}
				if variant == "provider_location_name" {
					r.ProviderLocationName = "us-west-2"
				}
				return c.PrivateLocations.Ensure(ctx, &r, opts)
			},
			func(l *cloudapi.PrivateLocation) (string, string) { return l.ID, l.UIName },
			func(c *cloudapi.Client) listing[cloudapi.PrivateLocation] { return c.PrivateLocations },
			func(ctx context.Context, c *cloudapi.Client) error { return c.PrivateLocations.Delete(ctx, "x-1") },
			[]string{"provider_location_name"}, nil),
		newEnsureCase("SSHPublicKeys", cloudapi.KindSSHPublicKey,
			func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (*cloudapi.SSHPublicKey, cloudapi.EnsureOutcome, error) {
				r := cloudapi.SSHPublicKeyCreateRequest{Name: "x-1", PublicKey: fmt.Sprintf(key, "a")}
				if variant == "public_key" {
					r.PublicKey = fmt.Sprintf(key, "b")
				}
				return c.SSHPublicKeys.Ensure(ctx, &r, opts)
			},
			func(k *cloudapi.SSHPublicKey) (string, string) { return k.ID, k.Name },
			func(c *cloudapi.Client) listing[cloudapi.SSHPublicKey] { return c.SSHPublicKeys },
			func(ctx context.Context, c *cloudapi.Client) error { return c.SSHPublicKeys.Delete(ctx, "x-1") },
			nil, []string{"public_key"}),
		newEnsureCase("VMInitScripts", cloudapi.KindVMInitScript,
			func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (*cloudapi.VMInitScript, cloudapi.EnsureOutcome, error) {
				r := cloudapi.VMInitScriptCreateRequest{Name: "x-1", Script: "export PASSWORD=one"}
				if variant == "script" {
					r.Script = "export PASSWORD=another"
				}
				return c.VMInitScripts.Ensure(ctx, &r, opts)
			},
			func(s *cloudapi.VMInitScript) (string, string) { return s.ID, s.Name },
			func(c *cloudapi.Client) listing[cloudapi.VMInitScript] { return c.VMInitScripts },
			func(ctx context.Context, c *cloudapi.Client) error { return c.VMInitScripts.Delete(ctx, "x-1") },
			nil, []string{"script"}),
	}
}

type listing[T any] interface {
	List(ctx context.Context, opts *cloudapi.ListOptions) (*cloudapi.Page[T], error)
}

func newEnsureCase[T any](name string, kind cloudapi.Kind,
	ensure func(context.Context, *cloudapi.Client, string, *cloudapi.EnsureOptions) (*T, cloudapi.EnsureOutcome, error),
	identity func(*T) (id, name string), service func(*cloudapi.Client) listing[T],
	remove func(context.Context, *cloudapi.Client) error, fixed, updatable []string) ensureCase {
	return ensureCase{
		name:   name,
		kind:   kind,
		remove: remove,
		ensure: func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (string, bool, error) {
			record, outcome, err := ensure(ctx, c, variant, opts)
			created := outcome == cloudapi.EnsureCreated
			if (record == nil) == (err == nil) {
				return "", false, fmt.Errorf("Ensure returned %v and %w", record, err)
			}
			if err != nil {
				return "", created, err
			}
			id, _ := identity(record)
			return id, created, nil
		},
		count: func(ctx context.Context, c *cloudapi.Client) (int, error) {
			page, err := service(c).List(ctx, nil)
			if err != nil {
				return 0, err
			}
			n := 0
			for _, item := range page.Items {
				if _, name := identity(item); name == "x-1" {
					n++
				}
			}
			return n, nil
		},
		fixed:     fixed,
		updatable: updatable,
	}
}

// forEachEnsure runs a test for each family of the contract, in its own bubble
// and with its own server.
func forEachEnsure(t *testing.T, test func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase), opts ...cloudapitest.Option) {
	t.Helper()
	srv := cloudapitest.New(t)
	for i, c := range ensureCases(t, srv.Client()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, append([]cloudapitest.Option{cloudapitest.WithAPI(cloudapitest.Contract)}, opts...)...)
				client := srv.Client()
				test(t, srv, client, ensureCases(t, client)[i])
			})
		})
	}
}

// TestEnsureDryRun compares, for each family, what a dry run says with what an
// Ensure then does.
func TestEnsureDryRun(t *testing.T) {
	t.Parallel()
	forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
		before := sdktest.Changes(srv)
		dry := func(variant string, update, wantCreated bool) error {
			t.Helper()
			id, created, err := c.ensure(t.Context(), client, variant, &cloudapi.EnsureOptions{DryRun: true, Update: update})
			if created != wantCreated || created && id != "" || sdktest.Changes(srv) != before {
				t.Errorf("%q: created %v with ID %q, %v, after %d changes", variant, created, id, err, sdktest.Changes(srv)-before)
			}
			return err
		}
		if err := dry("", false, true); err != nil {
			t.Errorf("without a resource: %v", err)
		}
		if _, created, err := c.ensure(t.Context(), client, "", nil); !created || err != nil {
			t.Fatalf("after the dry run: %v, %v", created, err)
		}
		stub.Elapse(time.Hour)
		before = sdktest.Changes(srv)
		if err := dry("", true, false); err != nil {
			t.Errorf("with the resource: %v", err)
		}
		for _, variant := range c.fixed {
			if _, ok := errors.AsType[*cloudapi.DriftError](dry(variant, true, false)); !ok {
				t.Errorf("%s does not differ", variant)
			}
		}
		for _, variant := range c.updatable {
			if drift, ok := errors.AsType[*cloudapi.DriftError](dry(variant, false, false)); !ok || !drift.Fields[0].Updatable {
				t.Errorf("%s, without Update: %v", variant, drift)
			}
			if err := dry(variant, true, false); err != nil {
				t.Errorf("%s, with Update: %v", variant, err)
			}
		}
		for _, variant := range c.updatable {
			if _, _, err := c.ensure(t.Context(), client, variant, &cloudapi.EnsureOptions{Update: true}); err != nil {
				t.Errorf("%s, after the dry run: %v", variant, err)
			}
		}
		c.wantOne(t, client)
		if c.remove == nil {
			return // its record doesn't show the deletion
		}
		if err := c.remove(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		before = sdktest.Changes(srv)
		start := time.Now()
		if err := dry("", true, true); err != nil || time.Since(start) != 0 {
			t.Errorf("during or after a deletion: %v, after %v", err, time.Since(start))
		}
	})
}

// TestEnsureDryRunRecord: the record of a resource that would be created has
// only its location and name, and the record of a resource that would be
// updated is unchanged.
func TestEnsureDryRunRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t).Client()
		dry := &cloudapi.EnsureOptions{DryRun: true, Update: true}
		request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}
		planned, outcome, err := client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", request, dry)
		if want := (&cloudapi.Postgres{Location: sdktest.Somewhere, Name: "db-1"}); err != nil || outcome != cloudapi.EnsureCreated || !reflect.DeepEqual(planned, want) {
			t.Errorf("it would be %s: %+v, %v", outcome, planned, err)
		}
		key, _, err := client.SSHPublicKeys.Ensure(t.Context(), &cloudapi.SSHPublicKeyCreateRequest{Name: "laptop", PublicKey: stub.PublicKey}, dry)
		if err != nil || *key != (cloudapi.SSHPublicKey{Name: "laptop"}) {
			t.Errorf("the key would be %+v, %v", key, err)
		}
		private, _, err := client.PrivateLocations.Ensure(t.Context(), &cloudapi.PrivateLocationCreateRequest{Name: "own",
			ProviderLocationName: cloudapi.ProviderLocationUSEast1, AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}, dry)
		if err != nil || *private != (cloudapi.PrivateLocation{UIName: "own"}) {
			t.Errorf("the private location would be %+v, %v", private, err)
		}
		stub.Must(client.Postgres.Create(t.Context(), sdktest.Somewhere, "db-1", request))(t)
		stub.Must(client.Postgres.WaitRunning(t.Context(), sdktest.Somewhere, "db-1", nil))(t)
		request.StorageSize = 128
		db, outcome, err := client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", request, dry)
		if err != nil || outcome != cloudapi.EnsureUpdated || db.StorageSizeGiB != 64 {
			t.Errorf("the update would be %s: %+v, %v", outcome, db, err)
		}
	})
}

func (c *ensureCase) wantOne(t *testing.T, client *cloudapi.Client) {
	t.Helper()
	if n, err := c.count(t.Context(), client); n != 1 || err != nil {
		t.Errorf("there are %d, %v", n, err)
	}
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
		start := time.Now()
		id, created, err := c.ensure(t.Context(), client, "", nil)
		if err != nil || !created || time.Since(start) != 0 {
			t.Fatalf("the first Ensure: %v, %v, after %v", created, err, time.Since(start))
		}
		stub.Elapse(time.Hour) // for fields that are known later
		before := sdktest.Changes(srv)
		for _, variant := range []string{"", "same, in another order"} {
			if again, created, err := c.ensure(t.Context(), client, variant, &cloudapi.EnsureOptions{Update: true}); again != id || created || err != nil {
				t.Errorf("%q again: %s, %v, %v; want %s", variant, again, created, err, id)
			}
		}
		drifts := func(variant string, updatable bool, opts *cloudapi.EnsureOptions) {
			t.Helper()
			_, created, err := c.ensure(t.Context(), client, variant, opts)
			drift, ok := errors.AsType[*cloudapi.DriftError](err)
			if created || !ok || !errors.Is(err, cloudapi.ErrAlreadyExists) || errors.Is(err, cloudapi.ErrConflict) {
				t.Errorf("%s: %v, %v", variant, created, err)
				return
			}
			if len(drift.Fields) != 1 || drift.Fields[0].Field != variant || drift.Fields[0].Updatable != updatable ||
				reflect.DeepEqual(drift.Fields[0].Wanted, drift.Fields[0].Found) || drift.Resource.ID != id || drift.Resource.Kind != c.kind ||
				drift.Record == nil || drift.Operation != c.name+".Ensure" {
				t.Errorf("%s: %+v", variant, drift)
			}
			if text := err.Error(); !strings.Contains(text, variant) || !strings.Contains(text, id) || strings.Contains(text, "PASSWORD") {
				t.Errorf("%s: %s", variant, text)
			}
		}
		for _, variant := range c.fixed {
			drifts(variant, false, nil)
			drifts(variant, false, &cloudapi.EnsureOptions{Update: true})
		}
		for _, variant := range c.updatable {
			drifts(variant, true, nil)
		}
		if n := sdktest.Changes(srv) - before; n != 0 {
			t.Errorf("%d requests that change something", n)
		}
		for _, variant := range c.updatable {
			for range 2 {
				if again, created, err := c.ensure(t.Context(), client, variant, &cloudapi.EnsureOptions{Update: true}); again != id || created || err != nil {
					t.Errorf("an update of %s: %s, %v, %v", variant, again, created, err)
				}
			}
			if _, _, err := c.ensure(t.Context(), client, "", &cloudapi.EnsureOptions{Update: true}); err != nil {
				t.Errorf("back from %s: %v", variant, err)
			}
		}
		want := 2 * len(c.updatable)
		if c.kind == cloudapi.KindPrivateSubnet {
			want *= 2 // an update attaches a firewall and detaches another
		}
		if n := sdktest.Changes(srv) - before; n != want {
			t.Errorf("%d requests that change something, want %d", n, want)
		}
		c.wantOne(t, client)
	})
}

// TestEnsureRaces runs many concurrent Ensures of one resource, with lost
// responses: one creates it, and all get it.
func TestEnsureRaces(t *testing.T) {
	t.Parallel()
	const callers = 16
	type fault func() cloudapitest.Fault
	var total struct {
		sync.Mutex
		runs, calls, creates, created, requests int
	}
	for _, tt := range []struct {
		name   string
		faults []fault
	}{
		{"no faults", nil},
		{"lost replies", []fault{cloudapitest.DropAfter}},
		{"lost requests", []fault{cloudapitest.DropBefore}},
		{"mixed faults", []fault{cloudapitest.DropAfter, cloudapitest.DropBefore,
			func() cloudapitest.Fault { return cloudapitest.Truncate(10) },
			func() cloudapitest.Fault { return cloudapitest.Reply(503, nil, "") },
			func() cloudapitest.Fault { return cloudapitest.Reply(502, nil, "") }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
				for i := range tt.faults {
					for n := range 3 {
						srv.Fail(cloudapitest.Match{Method: "POST", Nth: 1 + n*(1+rand.IntN(2)) + i}, tt.faults[i]().Optional())
					}
				}
				// Requests take time, so many Ensures look before the resource
				// exists.
				srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(2*time.Millisecond).Repeating())
				before, changesBefore := len(srv.Requests()), sdktest.Changes(srv)
				ids, created := make([]string, callers), make([]bool, callers)
				var group sync.WaitGroup
				for i := range callers {
					group.Go(func() {
						if i%2 == 0 {
							stub.Elapse(rand.N(3 * time.Millisecond))
						}
						var err error
						if ids[i], created[i], err = c.ensure(t.Context(), client, "", nil); err != nil {
							t.Errorf("caller %d: %v", i, err)
						}
					})
				}
				group.Wait()
				if slices.Sort(ids); ids[0] != ids[callers-1] {
					t.Errorf("the callers got %v", slices.Compact(ids))
				}
				n := 0
				for _, c := range created {
					if c {
						n++
					}
				}
				if n == 0 || tt.faults == nil && n != 1 {
					t.Errorf("%d of the callers created it", n)
				}
				c.wantOne(t, client)
				total.Lock()
				defer total.Unlock()
				total.runs++
				total.calls += callers
				total.creates += sdktest.Changes(srv) - changesBefore
				total.created += n
				total.requests += len(srv.Requests()) - before
			})
		})
	}
	t.Cleanup(func() {
		if total.creates < 4*total.runs {
			t.Errorf("there was hardly a race: %d creates in %d runs", total.creates, total.runs)
		}
		t.Logf("%d races of %d callers, %d calls, %d requests, %d of them creates: one object each, %d callers were told that they created it",
			total.runs, callers, total.calls, total.requests, total.creates, total.created)
	})
}

// TestEnsureAfterALostResponse loses the response to the create.
func TestEnsureAfterALostResponse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault cloudapitest.Fault
		posts int
	}{
		{"executed", cloudapitest.DropAfter(), 1},
		{"not executed", cloudapitest.DropBefore(), 2},
		{"a server error", cloudapitest.Reply(502, nil, ""), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
				srv.Fail(cloudapitest.Match{Method: "POST"}, tt.fault)
				before := sdktest.Changes(srv)
				_, created, err := c.ensure(t.Context(), client, "", nil)
				if err != nil || !created || sdktest.Changes(srv)-before != tt.posts {
					t.Errorf("%v, %v, after %d POSTs", created, err, sdktest.Changes(srv)-before)
				}
				c.wantOne(t, client)
			})
		})
	}
}

// TestEnsureAfterALostCreate: the response to a create is lost, and the next
// create is refused. The server may nevertheless have executed the first one.
func TestEnsureAfterALostCreate(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 403} {
		forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
			srv.Fail(cloudapitest.Match{Method: "POST"}, cloudapitest.DropBefore(), cloudapitest.Reply(status, nil, "").Repeating())
			_, _, err := c.ensure(t.Context(), client, "", nil)
			if e, ok := errors.AsType[*cloudapi.Error](err); !ok || e.StatusCode != status || !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
				t.Errorf("%v, want a %d that also matches ErrOutcomeUnknown", err, status)
			}
		})
	}
}

// TestEnsureGivesUp: Ensure gives up if the server keeps saying that a name is
// taken although no resource has it, or if every create fails.
func TestEnsureGivesUp(t *testing.T) {
	t.Parallel()
	taken := cloudapitest.Reply(400, http.Header{"Content-Type": {"application/json"}},
		`{"error":{"code":400,"type":"InvalidRequest","message":"project_id and location_id and name is already taken","details":null}}`)
	for _, tt := range []struct {
		name  string
		fault cloudapitest.Fault
		want  error
		posts int
	}{
		{"taken", taken.Repeating(), cloudapi.ErrAlreadyExists, 4},
		{"broken", cloudapitest.Reply(500, nil, "").Repeating(), cloudapi.ErrOutcomeUnknown, 4},
		{"forbidden", cloudapitest.Reply(403, nil, "").Repeating(), cloudapi.ErrForbidden, 1},
		{"refused", cloudapitest.Reply(400, nil, "").Repeating(), cloudapi.ErrInvalidRequest, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
				srv.Fail(cloudapitest.Match{Method: "POST"}, tt.fault)
				before, start := sdktest.Changes(srv), time.Now()
				_, created, err := c.ensure(t.Context(), client, "", nil)
				if waited := time.Since(start); waited == 0 && tt.posts > 1 {
					t.Error("it tried again without a pause")
				}
				if created || !errors.Is(err, tt.want) || sdktest.Changes(srv)-before != tt.posts {
					t.Errorf("%v, %v, after %d POSTs", created, err, sdktest.Changes(srv)-before)
				}
				if errors.Is(err, cloudapi.ErrOutcomeUnknown) != (tt.name == "broken") || strings.Contains(err.Error(), "earlier create") {
					t.Errorf("whether a create was executed isn't the point of %v", err)
				}
				if errors.Is(err, cloudapi.ErrNotFound) != (tt.posts > 1) {
					t.Errorf("whether it exists is not the point of %v", err)
				}
			})
		})
	}
	t.Run("taken for a moment", func(t *testing.T) {
		t.Parallel()
		forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
			srv.Fail(cloudapitest.Match{Method: "POST"}, taken)
			if _, created, err := c.ensure(t.Context(), client, "", nil); !created || err != nil {
				t.Errorf("%v, %v", created, err)
			}
			c.wantOne(t, client)
		})
	})
	t.Run("a lookup that fails", func(t *testing.T) {
		t.Parallel()
		forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
			before := sdktest.Changes(srv)
			srv.Fail(cloudapitest.Match{Method: "GET"}, cloudapitest.Reply(500, nil, "").Repeating())
			if _, created, err := c.ensure(t.Context(), client, "", nil); created || !errors.Is(err, cloudapi.ErrServer) || sdktest.Changes(srv) != before {
				t.Errorf("%v, %v, %d POSTs", created, err, sdktest.Changes(srv)-before)
			}
		})
	})
}

// TestEnsureClosesASubnet: a subnet also has firewalls that the request doesn't
// name, one of which allows everything. An update attaches the wanted one first.
func TestEnsureClosesASubnet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		attached bool // whether it has the wanted firewall as well
		want     []string
	}{
		{"open", false, []string{"Firewalls.AttachSubnet", "Firewalls.DetachSubnet"}},
		{"open and closed", true, []string{"Firewalls.DetachSubnet"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := cloudapitest.New(t)
			client, ctx := srv.Client(), t.Context()
			closed := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "closed", nil))(t)
			open := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net-1", nil))(t).Firewalls[0]
			if tt.attached {
				subnet := stub.Must(client.PrivateSubnets.Get(ctx, sdktest.Somewhere, "net-1"))(t)
				stub.Must(client.Firewalls.AttachSubnet(ctx, sdktest.Somewhere, closed.ID, subnet.ID))(t)
			}
			before := len(srv.Requests())
			ensure := func(o cloudapi.EnsureOptions) (*cloudapi.PrivateSubnet, cloudapi.EnsureOutcome, error) {
				return client.PrivateSubnets.Ensure(ctx, sdktest.Somewhere, "net-1", &cloudapi.PrivateSubnetCreateRequest{FirewallID: closed.ID}, &o)
			}
			_, _, err := ensure(cloudapi.EnsureOptions{DryRun: true})
			if drift, ok := errors.AsType[*cloudapi.DriftError](err); !ok || drift.Fields[0].Field != "firewall_id" || !slices.Contains(drift.Fields[0].Found.([]string), open.ID) {
				t.Errorf("a dry run: %v", err)
			}
			if _, outcome, err := ensure(cloudapi.EnsureOptions{DryRun: true, Update: true}); outcome != cloudapi.EnsureUpdated || err != nil {
				t.Errorf("a dry run of an update: %q, %v", outcome, err)
			}
			subnet, outcome, err := ensure(cloudapi.EnsureOptions{Update: true})
			if outcome != cloudapi.EnsureUpdated || err != nil || len(subnet.Firewalls) != 1 || subnet.Firewalls[0].ID != closed.ID {
				t.Errorf("an update: %q, %v, %+v", outcome, err, subnet)
			}
			var changes []string
			for _, r := range srv.Requests()[before:] {
				if r.Method != http.MethodGet {
					changes = append(changes, r.Name)
				}
			}
			if !slices.Equal(changes, tt.want) {
				t.Errorf("it sends %q, want %q", changes, tt.want)
			}
		})
	}
}

// TestEnsureClosesADatabase: a database that should be restricted is open to
// all addresses. An update deletes the rules for them, and no others.
func TestEnsureClosesADatabase(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client, ctx := srv.Client(), t.Context()
	request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}
	stub.Must(client.Postgres.Create(ctx, sdktest.Somewhere, "db-1", request))(t)
	stub.Must(client.Postgres.CreateFirewallRule(ctx, sdktest.Somewhere, "db-1", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "203.0.113.0/24"}))(t)
	ensure := func(restrict *bool, o cloudapi.EnsureOptions) (*cloudapi.Postgres, cloudapi.EnsureOutcome, error) {
		request.RestrictByDefault = restrict
		return client.Postgres.Ensure(ctx, sdktest.Somewhere, "db-1", request, &o)
	}
	_, _, err := ensure(new(true), cloudapi.EnsureOptions{DryRun: true})
	want := cloudapi.Drift{Field: "restrict_by_default", Wanted: true, Found: []string{"0.0.0.0/0", "::/0"}, Updatable: true}
	if drift, ok := errors.AsType[*cloudapi.DriftError](err); !ok || len(drift.Fields) != 1 || !reflect.DeepEqual(drift.Fields[0], want) {
		t.Errorf("a dry run: %v", err)
	}
	for _, step := range []struct {
		restrict *bool
		want     cloudapi.EnsureOutcome
		rules    string
	}{
		{new(false), cloudapi.EnsureUnchanged, "0.0.0.0/0 203.0.113.0/24 ::/0"},
		{nil, cloudapi.EnsureUnchanged, "0.0.0.0/0 203.0.113.0/24 ::/0"},
		{new(true), cloudapi.EnsureUpdated, "203.0.113.0/24"},
		{new(true), cloudapi.EnsureUnchanged, "203.0.113.0/24"},
		{new(false), cloudapi.EnsureUnchanged, "203.0.113.0/24"},
	} {
		db, outcome, err := ensure(step.restrict, cloudapi.EnsureOptions{Update: true})
		if outcome != step.want || err != nil {
			t.Fatalf("%q, %v, want %s", outcome, err, step.want)
		}
		var ranges []string
		for _, rule := range db.FirewallRules {
			ranges = append(ranges, rule.CIDR)
		}
		slices.Sort(ranges)
		if got := strings.Join(slices.Compact(ranges), " "); got != step.rules {
			t.Errorf("the rules are %s, want %s", got, step.rules)
		}
	}
}

// TestEnsureCannotUpdate: the attachment of a firewall, which isn't retried, or
// the lookup after one whose response was lost, fails, or the attachment has no
// effect.
func TestEnsureCannotUpdate(t *testing.T) {
	t.Parallel()
	forbidden, pause := sdktest.Refusal(http.StatusForbidden, "Forbidden"), cloudapitest.Delay(time.Second)
	for _, tt := range []struct {
		name   string
		update cloudapitest.Fault
		lookup cloudapitest.Fault // of the first Get after it
		want   []error            // none if the update succeeds
		drift  bool
	}{
		{"lost, but executed", cloudapitest.DropAfter(), pause, nil, false},
		{"lost", cloudapitest.DropBefore(), pause, []error{cloudapi.ErrOutcomeUnknown}, false},
		{"refused", forbidden, pause, []error{cloudapi.ErrForbidden}, false},
		{"lost, and the lookup is refused", cloudapitest.DropAfter(), forbidden, []error{cloudapi.ErrOutcomeUnknown, cloudapi.ErrForbidden}, false},
		{"without an effect", cloudapitest.Handle(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":%q,"name":"fw-1"}`, path.Base(path.Dir(r.URL.Path)))
		}), pause, []error{cloudapi.ErrAlreadyExists}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				client := srv.Client()
				firewall := stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, "fw-1", nil))(t)
				stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
				srv.Fail(cloudapitest.Match{Method: "POST"}, tt.update)
				srv.Fail(cloudapitest.Match{Operation: "PrivateSubnets.Get", Nth: 2}, tt.lookup.Optional())
				subnet, outcome, err := client.PrivateSubnets.Ensure(t.Context(), sdktest.Somewhere, "net-1",
					&cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}, &cloudapi.EnsureOptions{Update: true})
				if tt.want == nil {
					if err != nil || outcome != cloudapi.EnsureUpdated || len(subnet.Firewalls) != 1 || subnet.Firewalls[0].ID != firewall.ID {
						t.Errorf("%+v, %q, %v", subnet, outcome, err)
					}
					return
				}
				if subnet != nil || outcome != "" {
					t.Errorf("%+v, %q", subnet, outcome)
				}
				for _, want := range tt.want {
					if !errors.Is(err, want) {
						t.Errorf("the error is %v, want %v", err, want)
					}
				}
				if _, ok := errors.AsType[*cloudapi.DriftError](err); ok != tt.drift {
					t.Errorf("the error is %#v", err)
				}
			})
		})
	}
}

// TestEnsureCannotCompare: without the subnet, Ensure can't know whether the VM
// matches the request, so it doesn't say that it does, even in a dry run.
func TestEnsureCannotCompare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
		request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID}
		stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
		srv.Fail(cloudapitest.Match{Operation: "Projects.ObjectInfo"}, sdktest.Refusal(http.StatusForbidden, "Forbidden").Repeating())
		for _, opts := range []*cloudapi.EnsureOptions{nil, {DryRun: true}} {
			if got, outcome, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", request, opts); got != nil || outcome != "" || !errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("Ensure is %v, %q, %v", got, outcome, err)
			}
		}
	})
}

// TestEnsureAfterAPredecessor: many Ensures wait until a VM is gone. One of
// them creates the next VM, and all return it, although the name is never free
// for the others.
func TestEnsureAfterAPredecessor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}
		before := stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
		if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, "web-1"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		vms, err := cloudapi.WaitAll(ctx, make([]int, 10), func(ctx context.Context, _ int) (*cloudapi.VM, error) {
			vm, _, err := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", request, nil)
			return vm, err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, vm := range vms {
			if vm.ID != vms[0].ID || vm.ID == before.ID {
				t.Errorf("it is %s, want %s", vm.ID, vms[0].ID)
			}
		}
	})
}

// TestEnsureInAnotherSubnet: the request names a subnet that doesn't exist, or
// one of another location that has the same name.
func TestEnsureInAnotherSubnet(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	here := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
	there := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Elsewhere, "net-1", nil))(t)
	request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: here.ID}
	stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
	for _, id := range []string{there.ID, cloudapitest.NewID(cloudapi.KindPrivateSubnet).String()} {
		request.PrivateSubnetID = id
		_, _, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", request, nil)
		if drift, ok := errors.AsType[*cloudapi.DriftError](err); !ok || drift.Fields[0].Field != "private_subnet_id" {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// changed is a transport that changes the records in responses.
func changed(change func(record map[string]any)) cloudapi.Option {
	return cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusOK {
				return resp, err
			}
			defer resp.Body.Close()
			var record map[string]any
			if err := json.NewDecoder(resp.Body).Decode(&record); err != nil {
				return nil, err
			}
			change(record)
			body, err := json.Marshal(record)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			return resp, err
		})
	})
}

// TestEnsurePostgresOfALaterServer: the server shows the size under its later
// name.
func TestEnsurePostgresOfALaterServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client(changed(func(record map[string]any) {
			for _, field := range []string{"vm_size", "target_vm_size"} {
				record[field] = strings.Replace(record[field].(string), "burstable", "hobby", 1)
			}
		}))
		for i, size := range []string{"burstable-1", "burstable-1", "hobby-1"} {
			_, created, err := client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1",
				&cloudapi.PostgresCreateRequest{Size: size, StorageSize: 16}, &cloudapi.EnsureOptions{Update: true})
			if (created == cloudapi.EnsureCreated) != (i == 0) || err != nil {
				t.Errorf("%s: %v, %v", size, created, err)
			}
		}
		_, _, err := client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", &cloudapi.PostgresCreateRequest{Size: "burstable-2", StorageSize: 16}, nil)
		if drift, ok := errors.AsType[*cloudapi.DriftError](err); !ok || len(drift.Fields) != 1 || drift.Fields[0].Found != "hobby-1" {
			t.Errorf("another size: %v", err)
		}
		if n := sdktest.Changes(srv); n != 1 {
			t.Errorf("%d requests that change something", n)
		}
	})
}

// TestEnsurePostgresSettings: settings of an existing database are compared one
// by one, and changed without the others.
func TestEnsurePostgresSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		request := cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}
		stub.Must(client.Postgres.Create(t.Context(), sdktest.Somewhere, "db-1", &request))(t)
		stub.Must(client.Postgres.ReplaceConfig(t.Context(), sdktest.Somewhere, "db-1", &cloudapi.PostgresConfig{
			PGConfig: map[string]cloudapi.PostgresSetting{"work_mem": cloudapi.Setting("4MB"), "max_connections": cloudapi.Setting(250)}}))(t)
		request.PGConfig = map[string]string{"work_mem": "8MB", "max_connections": "250"} // the same as the number 250
		request.PgBouncerConfig = map[string]string{"pool_mode": "session"}
		before := sdktest.Changes(srv)
		_, _, err := client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", &request, nil)
		if drift, ok := errors.AsType[*cloudapi.DriftError](err); !ok || len(drift.Fields) != 2 ||
			drift.Fields[0].Field != "pg_config" || drift.Fields[1].Field != "pgbouncer_config" || !drift.Fields[0].Updatable {
			t.Errorf("other settings: %v", err)
		}
		for range 2 {
			if _, created, err := client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", &request, &cloudapi.EnsureOptions{Update: true}); created == cloudapi.EnsureCreated || err != nil {
				t.Errorf("an update of settings: %v, %v", created, err)
			}
		}
		config := stub.Must(client.Postgres.GetConfig(t.Context(), sdktest.Somewhere, "db-1"))(t)
		if fmt.Sprint(config.PGConfig, config.PgBouncerConfig) != "map[max_connections:250 work_mem:8MB] map[pool_mode:session]" {
			t.Errorf("the settings are %v", config)
		}
		if n := sdktest.Changes(srv) - before; n != 1 {
			t.Errorf("%d requests that change something", n)
		}
	})
}

// TestEnsureIsNoReplica: the database with the name is a read replica, which is
// its only difference from the request.
func TestEnsureIsNoReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		before := sdktest.Changes(p.Server)
		for _, request := range []*cloudapi.PostgresCreateRequest{nil, {Size: "standard-2", StorageSize: 64}} {
			_, _, err := p.Client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-2", request, &cloudapi.EnsureOptions{Update: true})
			if drift, ok := errors.AsType[*cloudapi.DriftError](err); !ok || len(drift.Fields) != 1 || drift.Fields[0].Field != "read_replica" {
				t.Errorf("%v", err)
			}
		}
		if n := sdktest.Changes(p.Server) - before; n != 0 {
			t.Errorf("%d requests that change something", n)
		}
	})
}

// TestEnsureAmongNodePools: Ensure finds the right node pool although the
// cluster has a second one, which is listed first.
func TestEnsureAmongNodePools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
		client := srv.Client(changed(func(record map[string]any) {
			if pools, found := record["nodepools"].([]any); found {
				other := map[string]any{"id": cloudapitest.NewID(cloudapi.KindKubernetesNodePool), "name": "other", "node_count": 7, "node_size": "standard-8"}
				record["nodepools"] = append([]any{other}, pools...)
			}
		}))
		ensure := func(name string, nodes int) (bool, error) {
			_, created, err := client.Kubernetes.Ensure(t.Context(), sdktest.Somewhere, name, &cloudapi.KubernetesClusterCreateRequest{
				Version: "v1.34", WorkerSize: "standard-2", WorkerNodes: nodes}, &cloudapi.EnsureOptions{Update: true})
			return created == cloudapi.EnsureCreated, err
		}
		for i, nodes := range []int{1, 1, 2, 2} {
			if created, err := ensure("k8s-1", nodes); created != (i == 0) || err != nil {
				t.Errorf("%d nodes: %v, %v", nodes, created, err)
			}
		}
		if n := sdktest.Changes(srv); n != 2 { // the creation and the resize
			t.Errorf("%d requests that change something", n)
		}
		if _, err := client.Kubernetes.Rename(t.Context(), sdktest.Somewhere, "k8s-1", "renamed"); err != nil { // so that either node pool may be the one that is meant
			t.Error(err)
		}
		_, err := ensure("renamed", 3)
		if drift, ok := errors.AsType[*cloudapi.DriftError](err); !ok || len(drift.Fields) != 2 || drift.Fields[1].Updatable || sdktest.Changes(srv) != 3 {
			t.Errorf("%v after %d requests that change something", err, sdktest.Changes(srv))
		}
	})
}

// TestEnsureOfABusyCluster: the server refuses a resize for a while after the
// last one, even though no record shows that any more. Ensure waits until it's
// accepted.
func TestEnsureOfABusyCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
		client := srv.Client()
		ensure := func(ctx context.Context, nodes int, progress func(cloudapi.Progress)) (cloudapi.EnsureOutcome, error) {
			k, outcome, err := client.Kubernetes.Ensure(ctx, sdktest.Somewhere, "apps", &cloudapi.KubernetesClusterCreateRequest{
				Version: "v1.36", WorkerSize: "standard-2", WorkerNodes: nodes}, &cloudapi.EnsureOptions{Update: true, Progress: progress})
			if err == nil && len(k.NodePools) == 1 && k.NodePools[0].NodeCount != nodes {
				t.Errorf("the cluster has %d nodes, want %d", k.NodePools[0].NodeCount, nodes)
			}
			return outcome, err
		}
		resizes := func() (statuses []int) {
			for _, r := range srv.Requests() {
				if r.Name == "Kubernetes.ResizeNodePool" {
					statuses = append(statuses, r.Status)
				}
			}
			return statuses
		}
		srv.SetDelays(cloudapi.KindKubernetesCluster, "", cloudapitest.Delays{Create: time.Minute, Resize: time.Minute})
		stub.Must(ensure(t.Context(), 1, nil))(t)
		stub.Must(client.Kubernetes.WaitRunning(t.Context(), sdktest.Somewhere, "apps", nil))(t)
		stub.Must(ensure(t.Context(), 2, nil))(t)
		stub.Must(client.Kubernetes.WaitNodePool(t.Context(), sdktest.Somewhere, "apps", "apps-np", nil))(t)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := ensure(short, 3, nil)
		wait, ok := errors.AsType[*cloudapi.WaitError](err)
		if !ok || !errors.Is(err, context.DeadlineExceeded) || wait.Operation != "Kubernetes.Ensure" || wait.Polls != 1 || wait.State != "running" ||
			!strings.Contains(err.Error(), "422 UnprocessableContent") {
			t.Errorf("within a second: %v", err)
		}
		var refusals, last int
		outcome, err := ensure(t.Context(), 3, func(p cloudapi.Progress) {
			if p.State == "updating" && p.Err != nil && errors.Is(p.Err, cloudapi.ErrInvalidRequest) {
				refusals++
			}
			last = p.Done
		})
		if outcome != cloudapi.EnsureUpdated || err != nil || last != 1 {
			t.Errorf("the next resize: %q, %v, done %d", outcome, err, last)
		}
		want := append([]int{200, 422}, slices.Repeat([]int{422}, refusals)...)
		if got := resizes(); refusals == 0 || refusals > 6 || !slices.Equal(got, append(want, 200)) {
			t.Errorf("%d refusals were reported, and the resizes were answered with %v", refusals, got)
		}

		for name, body := range map[string]string{
			"a gateway's 422":    `<html>unprocessable</html>`,
			"a field that fails": `{"error":{"code":422,"type":"UnprocessableContent","message":"x","details":{"node_count":"x"}}}`,
		} {
			before := len(resizes())
			srv.Fail(cloudapitest.Match{Operation: "Kubernetes.ResizeNodePool"}, cloudapitest.Reply(422, http.Header{"Content-Type": {"application/json"}}, body))
			if _, err := ensure(t.Context(), 4, nil); !errors.Is(err, cloudapi.ErrInvalidRequest) || len(resizes()) != before+1 {
				t.Errorf("%s: %v after %d resizes", name, err, len(resizes())-before)
			}
		}
	})
}

// TestEnsureAfterARefusedResend: the response to the resize is lost, and the
// server refuses the retry, because the resize has begun.
func TestEnsureAfterARefusedResend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
		client := srv.Client()
		request := &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2", WorkerNodes: 1}
		stub.Must(client.Kubernetes.Create(t.Context(), sdktest.Somewhere, "apps", request))(t)
		stub.Must(client.Kubernetes.WaitRunning(t.Context(), sdktest.Somewhere, "apps", nil))(t)
		srv.SetDelays(cloudapi.KindKubernetesCluster, "", cloudapitest.Delays{Resize: time.Hour})
		srv.Fail(cloudapitest.Match{Operation: "Kubernetes.ResizeNodePool"}, cloudapitest.DropAfter())
		request.WorkerNodes = 2
		k, outcome, err := client.Kubernetes.Ensure(t.Context(), sdktest.Somewhere, "apps", request, &cloudapi.EnsureOptions{Update: true})
		if err != nil || outcome != cloudapi.EnsureUpdated || k.NodePools[0].NodeCount != 2 {
			t.Errorf("%q, %v", outcome, err)
		}
	})
}

// TestEnsureAtTheQuota: two concurrent Ensures want the VM that uses up the
// quota. The server tells the second one that the quota is exceeded, not that
// the name is taken.
func TestEnsureAtTheQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithQuota(cloudapitest.Quota{VM: 2, Postgres: 1, Kubernetes: 1, Projects: 1}))
		client := srv.Client()
		srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(time.Millisecond).Repeating())
		var ids [2]string
		var group sync.WaitGroup
		for i := range ids {
			group.Go(func() {
				vm, _, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = vm.ID
			})
		}
		group.Wait()
		if ids[0] != ids[1] || sdktest.Changes(srv) != 2 {
			t.Errorf("%v after %d POSTs", ids, sdktest.Changes(srv))
		}
		vm, created, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-2", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil)
		if vm != nil || created == cloudapi.EnsureCreated || !errors.Is(err, cloudapi.ErrInvalidRequest) || errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("another one: %v, %v, %v", vm, created, err)
		}
	})
}

// TestEnsureWaitsForAPredecessor deletes the resource with the name, and
// immediately ensures it.
func TestEnsureWaitsForAPredecessor(t *testing.T) {
	t.Parallel()
	forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
		if c.remove == nil {
			t.Skip("its record does not show that it is being deleted")
		}
		id, _, err := c.ensure(t.Context(), client, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		stub.Elapse(time.Hour)
		if err := c.remove(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		var events []cloudapi.Progress
		next, created, err := c.ensure(t.Context(), client, "", &cloudapi.EnsureOptions{Progress: func(p cloudapi.Progress) { events = append(events, p) }})
		if err != nil || !created || next == id {
			t.Errorf("%s, %v, %v; before it was %s", next, created, err, id)
		}
		c.wantOne(t, client)
		last := events[len(events)-1]
		if last.Done != 1 || last.Total != 1 || last.Record == nil || last.Operation != c.name+".Ensure" || !strings.HasSuffix(last.Resource, "x-1") {
			t.Errorf("the last event is %+v", last)
		}
		for _, e := range events[:len(events)-1] {
			if e.Done != 0 || e.State != "deleting" && e.State != "creating" {
				t.Errorf("an event before the end is %+v", e)
			}
		}
	})
}

// TestEnsureOutlastsFailures: reading the predecessor fails for a moment, as it
// may while the predecessor is being destroyed.
func TestEnsureOutlastsFailures(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]cloudapitest.Fault{
		"forbidden": sdktest.Refusal(403, "Forbidden"),
		"broken":    sdktest.Refusal(500, "UnexceptedError"),
		"lost":      cloudapitest.DropBefore(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
				client := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
				request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}
				stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
				if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, "web-1"); err != nil {
					t.Fatal(err)
				}
				srv.Fail(cloudapitest.Match{Operation: "VMs.Get", Nth: 3}, fault)
				var events []cloudapi.Progress
				vm, created, err := client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", request,
					&cloudapi.EnsureOptions{Progress: func(p cloudapi.Progress) { events = append(events, p) }})
				if vm == nil || created != cloudapi.EnsureCreated || err != nil {
					t.Fatalf("%v, %v, %v", vm, created, err)
				}
				failures := 0
				for i, e := range events {
					if e.Err != nil {
						failures++
					}
					if e.Done != i/(len(events)-1) || i > 0 && e.Polls < events[i-1].Polls {
						t.Errorf("event %d is %+v", i, e)
					}
				}
				if failures != 1 {
					t.Errorf("%d failures were reported", failures)
				}
			})
		})
	}
}

func TestEnsureEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Delete: time.Hour}))
		client := srv.Client()
		request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}
		stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", request))(t)
		if err := client.VMs.Delete(t.Context(), sdktest.Somewhere, "web-1"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		vm, created, err := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", request, nil)
		if vm != nil || created == cloudapi.EnsureCreated || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v, %v, %v after %v", vm, created, err, time.Since(start))
		}
		if e, ok := errors.AsType[*cloudapi.WaitError](err); !ok || e.Operation != "VMs.Ensure" || e.State != "deleting" {
			t.Errorf("%#v", e)
		}
	})
}

// TestEnsureLoadBalancerInItsSubnet: another subnet has a load balancer with
// the same name and location, and the given location isn't the subnet's.
func TestEnsureLoadBalancerInItsSubnet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t).Client()
		ctx := t.Context()
		one := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "one", nil))(t)
		two := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "two", nil))(t)
		ids := map[string]bool{}
		for _, subnet := range []string{one.ID, two.ID} {
			for i, location := range []string{sdktest.Somewhere, sdktest.Somewhere, sdktest.Elsewhere} {
				lb, created, err := client.LoadBalancers.Ensure(ctx, location, "lb", sdktest.BalancerIn(subnet), nil)
				if err != nil || (created == cloudapi.EnsureCreated) != (i == 0) {
					t.Fatalf("%v, %v", created, err)
				}
				ids[lb.ID] = true
			}
		}
		if len(ids) != 2 {
			t.Errorf("there are %v", ids)
		}
		if lb, _, err := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn("net-1"), nil); lb != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("with a name for an ID: %v, %v", lb, err)
		}
		nobodys := cloudapitest.NewID(cloudapi.KindPrivateSubnet).String()
		if lb, _, err := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn(nobodys), nil); lb != nil || !errors.Is(err, cloudapi.ErrInvalidRequest) {
			t.Errorf("with nobody's subnet: %v, %v", lb, err)
		}
		dry := &cloudapi.EnsureOptions{DryRun: true}
		if lb, outcome, err := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn(nobodys), dry); lb != nil || !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("a dry run with nobody's subnet: %v, %v, %v", lb, outcome, err)
		}
	})
}

func TestEnsureRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		id := cloudapitest.NewID(cloudapi.KindVM).String()
		for _, name := range []string{"", id, "a/b", "..", "ä"} {
			vm, created, err := client.VMs.Ensure(ctx, sdktest.Somewhere, name, &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil)
			if vm != nil || created == cloudapi.EnsureCreated || !errors.Is(err, cloudapi.ErrInvalidArgument) {
				t.Errorf("%q: %v, %v, %v", name, vm, created, err)
			}
		}
		_, _, errKey := client.SSHPublicKeys.Ensure(ctx, nil, nil)
		_, _, errScript := client.VMInitScripts.Ensure(ctx, nil, nil)
		_, _, errLocation := client.PrivateLocations.Ensure(ctx, nil, nil)
		_, _, errBalancer := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", nil, nil)
		for _, err := range []error{errKey, errScript, errLocation, errBalancer} {
			if !errors.Is(err, cloudapi.ErrInvalidArgument) {
				t.Errorf("without a request: %v", err)
			}
		}
		for _, id := range []string{"net-1", "eu-central-h1/net-1", "pat-secret", id} {
			_, _, errVM := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: id}, nil)
			_, _, errSubnet := client.PrivateSubnets.Ensure(ctx, sdktest.Somewhere, "net-1", &cloudapi.PrivateSubnetCreateRequest{FirewallID: id}, nil)
			_, _, errBalancer := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", &cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: id}, nil)
			for _, err := range []error{errVM, errSubnet, errBalancer} {
				if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || !strings.HasSuffix(e.Operation, ".Ensure") || !strings.HasSuffix(e.Name, "_id") ||
					strings.Contains(err.Error(), "pat-") {
					t.Errorf("%q for an ID: %v", id, err)
				}
			}
		}
		if n := len(srv.Requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		if _, created, err := client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", nil, nil); created != cloudapi.EnsureCreated || err != nil {
			t.Errorf("a request that may be nil: %v, %v", created, err)
		}
		if _, created, err := client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", nil, nil); created == cloudapi.EnsureCreated || err != nil {
			t.Errorf("a request that may be nil, again: %v, %v", created, err)
		}
	})
}

// TestEnsureFirewallDescription: Update changes the description if the service
// can, and with an older service the DriftError says that no update can change
// it. The record is complete.
func TestEnsureFirewallDescription(t *testing.T) {
	t.Parallel()
	request := &cloudapi.FirewallCreateRequest{Description: "new"}
	for version, wanted := range map[cloudapitest.API]struct {
		outcome cloudapi.EnsureOutcome
		drift   string // in the error, or ""
	}{
		cloudapitest.Service:  {cloudapi.EnsureUpdated, ""},
		cloudapitest.Contract: {"", `description is "old", wanted "new" (which no update can change)`},
	} {
		client, ctx := cloudapitest.New(t, cloudapitest.WithAPI(version), cloudapitest.Lenient()).Client(), t.Context()
		firewall := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "fw", &cloudapi.FirewallCreateRequest{Description: "old"}))(t)
		subnet := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net", nil))(t)
		stub.Must(client.Firewalls.AttachSubnet(ctx, sdktest.Somewhere, firewall.ID, subnet.ID))(t)

		_, _, err := client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", request, nil)
		if want := `description is "old", wanted "new"`; !errors.Is(err, cloudapi.ErrAlreadyExists) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, without Update: %v", version, err)
		}
		got, outcome, err := client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", request, &cloudapi.EnsureOptions{Update: true})
		switch drift, ok := errors.AsType[*cloudapi.DriftError](err); {
		case outcome != wanted.outcome || ok != (wanted.drift != ""):
			t.Errorf("%v: %q, %v", version, outcome, err)
		case ok && !strings.HasSuffix(drift.Error(), wanted.drift):
			t.Errorf("%v: %v, want %s", version, drift, wanted.drift)
		case !ok && (got.Description != "new" || got.ID != firewall.ID || len(got.PrivateSubnets) != 1):
			t.Errorf("%v: the record is %+v", version, got)
		}
	}
}
