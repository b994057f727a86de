// Package ensure_test checks what Ensure promises, for each family.
package ensure_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// ensureCase is the Ensure of a family, independent of its types. A variant is a
// request that differs in the named fields from the one of "", which the server
// accepts.
type ensureCase struct {
	name   string
	kind   cloudapi.Kind
	ensure func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (id string, created bool, err error)
	count  func(ctx context.Context, c *cloudapi.Client) (int, error)
	ends   bool // whether its record shows a deletion, or ends with it

	fixed     []string // variants that no update can reach
	updatable []string
}

// service is a service of the client whose resources have locations.
type service[T, R any] interface {
	Ensure(ctx context.Context, location, name string, request *R, opts *cloudapi.EnsureOptions) (*T, cloudapi.EnsureOutcome, error)
	List(ctx context.Context, opts *cloudapi.ListOptions) (*cloudapi.Page[T], error)
}

// projectService is a service of the client whose resources have no locations.
type projectService[T, R any] interface {
	Ensure(ctx context.Context, request *R, opts *cloudapi.EnsureOptions) (*T, cloudapi.EnsureOutcome, error)
	List(ctx context.Context, opts *cloudapi.ListOptions) (*cloudapi.Page[T], error)
}

// anywhere makes a service of a projectService.
type anywhere[T, R any] struct{ projectService[T, R] }

func (a anywhere[T, R]) Ensure(ctx context.Context, _, _ string, request *R, opts *cloudapi.EnsureOptions) (*T, cloudapi.EnsureOutcome, error) {
	return a.projectService.Ensure(ctx, request, opts)
}

// newEnsureCase returns the case of a service: a request for x-1, and how a field
// of it differs in a variant.
func newEnsureCase[T, R any](name string, kind cloudapi.Kind, of func(*cloudapi.Client) service[T, R], request R, vary func(r *R, field string), fixed, updatable []string) ensureCase {
	resource := func(record *T) cloudapi.Resource {
		return any(record).(interface{ Resource() cloudapi.Resource }).Resource()
	}
	return ensureCase{
		name: name, kind: kind, fixed: fixed, updatable: updatable,
		ends: kind != cloudapi.KindPrivateSubnet && kind != cloudapi.KindLoadBalancer,
		ensure: func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (string, bool, error) {
			r := request
			for field := range strings.FieldsSeq(variant) {
				vary(&r, field)
			}
			record, outcome, err := of(c).Ensure(ctx, sdktest.Somewhere, "x-1", &r, opts)
			created := outcome == cloudapi.EnsureCreated
			if (record == nil) == (err == nil) {
				return "", false, fmt.Errorf("Ensure returned %v and %w", record, err)
			}
			if err != nil {
				return "", created, err
			}
			return resource(record).ID, created, nil
		},
		count: func(ctx context.Context, c *cloudapi.Client) (n int, err error) {
			page, err := of(c).List(ctx, nil)
			if err != nil {
				return 0, err
			}
			for _, item := range page.Items {
				if resource(item).Name == "x-1" {
					n++
				}
			}
			return n, nil
		},
	}
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
			func(c *cloudapi.Client) service[cloudapi.VM, cloudapi.VMCreateRequest] { return c.VMs },
			cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "standard-2", StorageSize: 40, PrivateSubnetID: subnet.ID, EnableIP4: new(false)},
			func(r *cloudapi.VMCreateRequest, field string) {
				switch field {
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
				case "equivalent":
					r.StorageSize = -1 // the default
				}
			}, []string{"size", "storage_size", "unix_user", "enable_ip4", "private_subnet_id"}, nil),
		newEnsureCase("PrivateSubnets", cloudapi.KindPrivateSubnet,
			func(c *cloudapi.Client) service[cloudapi.PrivateSubnet, cloudapi.PrivateSubnetCreateRequest] {
				return c.PrivateSubnets
			},
			cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID},
			func(r *cloudapi.PrivateSubnetCreateRequest, field string) {
				if field == "firewall_id" {
					r.FirewallID = other.ID
				}
			}, nil, []string{"firewall_id"}),
		newEnsureCase("Firewalls", cloudapi.KindFirewall,
			func(c *cloudapi.Client) service[cloudapi.Firewall, cloudapi.FirewallCreateRequest] {
				return c.Firewalls
			},
			cloudapi.FirewallCreateRequest{Description: "web"},
			func(*cloudapi.FirewallCreateRequest, string) {}, nil, nil), // for the description see TestEnsureOfBothAPIs
		newEnsureCase("LoadBalancers", cloudapi.KindLoadBalancer,
			func(c *cloudapi.Client) service[cloudapi.LoadBalancer, cloudapi.LoadBalancerCreateRequest] {
				return c.LoadBalancers
			},
			cloudapi.LoadBalancerCreateRequest{Algorithm: "round_robin", SrcPort: 80, DstPort: 8080, HealthCheckProtocol: "http",
				PrivateSubnetID: subnet.ID, Stack: "dual", HealthCheckEndpoint: "/up"},
			func(r *cloudapi.LoadBalancerCreateRequest, field string) {
				switch field {
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
			}, []string{"health_check_protocol", "stack"}, []string{"algorithm", "src_port", "dst_port", "health_check_endpoint"}),
		newEnsureCase("Postgres", cloudapi.KindPostgres,
			func(c *cloudapi.Client) service[cloudapi.Postgres, cloudapi.PostgresCreateRequest] { return c.Postgres },
			cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: "none", Flavor: "standard", Version: "16",
				Tags: []cloudapi.PostgresTag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}},
			func(r *cloudapi.PostgresCreateRequest, field string) {
				switch field {
				case "equivalent":
					r.Tags = []cloudapi.PostgresTag{r.Tags[1], r.Tags[0]}
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
			}, []string{"flavor", "version"}, []string{"storage_size", "ha_type", "tags"}),
		newEnsureCase("Kubernetes", cloudapi.KindKubernetesCluster,
			func(c *cloudapi.Client) service[cloudapi.KubernetesCluster, cloudapi.KubernetesClusterCreateRequest] {
				return c.Kubernetes
			},
			cloudapi.KubernetesClusterCreateRequest{Version: "v1.34", WorkerSize: "standard-2", CPNodes: 1, WorkerNodes: 2},
			func(r *cloudapi.KubernetesClusterCreateRequest, field string) {
				switch field {
				case "version":
					r.Version = "v1.33"
				case "worker_size":
					r.WorkerSize = "standard-4"
				case "cp_nodes":
					r.CPNodes = 3
				case "worker_nodes":
					r.WorkerNodes = 3
				}
			}, []string{"version", "worker_size", "cp_nodes"}, []string{"worker_nodes"}),
		newEnsureCase("PrivateLocations", cloudapi.KindPrivateLocation,
			func(c *cloudapi.Client) service[cloudapi.PrivateLocation, cloudapi.PrivateLocationCreateRequest] {
				return anywhere[cloudapi.PrivateLocation, cloudapi.PrivateLocationCreateRequest]{c.PrivateLocations}
			},
			cloudapi.PrivateLocationCreateRequest{Name: "x-1", ProviderLocationName: "us-east-1",
				AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")},
			func(r *cloudapi.PrivateLocationCreateRequest, field string) {
				if field == "provider_location_name" {
					r.ProviderLocationName = "us-west-2"
				}
			}, []string{"provider_location_name"}, nil),
		newEnsureCase("SSHPublicKeys", cloudapi.KindSSHPublicKey,
			func(c *cloudapi.Client) service[cloudapi.SSHPublicKey, cloudapi.SSHPublicKeyCreateRequest] {
				return anywhere[cloudapi.SSHPublicKey, cloudapi.SSHPublicKeyCreateRequest]{c.SSHPublicKeys}
			},
			cloudapi.SSHPublicKeyCreateRequest{Name: "x-1", PublicKey: fmt.Sprintf(key, "a")},
			func(r *cloudapi.SSHPublicKeyCreateRequest, field string) {
				if field == "public_key" {
					r.PublicKey = fmt.Sprintf(key, "b")
				}
			}, nil, []string{"public_key"}),
		newEnsureCase("VMInitScripts", cloudapi.KindVMInitScript,
			func(c *cloudapi.Client) service[cloudapi.VMInitScript, cloudapi.VMInitScriptCreateRequest] {
				return anywhere[cloudapi.VMInitScript, cloudapi.VMInitScriptCreateRequest]{c.VMInitScripts}
			},
			cloudapi.VMInitScriptCreateRequest{Name: "x-1", Script: "export PASSWORD=one"},
			func(r *cloudapi.VMInitScriptCreateRequest, field string) {
				if field == "script" {
					r.Script = "export PASSWORD=another"
				}
			}, nil, []string{"script"}),
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

func (c *ensureCase) wantOne(t *testing.T, client *cloudapi.Client) {
	t.Helper()
	if n, err := c.count(t.Context(), client); n != 1 || err != nil {
		t.Errorf("there are %d, %v", n, err)
	}
}

func (c *ensureCase) resource(id string) cloudapi.Resource {
	r := cloudapi.Resource{Kind: c.kind, Location: sdktest.Somewhere, ID: id, Name: "x-1"}
	switch c.kind {
	case cloudapi.KindPrivateLocation, cloudapi.KindSSHPublicKey, cloudapi.KindVMInitScript:
		r.Location = ""
	}
	return r
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
		for _, variant := range []string{"", "equivalent"} {
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
		if len(c.fixed) > 0 && len(c.updatable) > 0 { // an update changes all or nothing
			both := c.fixed[0] + " " + c.updatable[0]
			_, _, err := c.ensure(t.Context(), client, both, &cloudapi.EnsureOptions{Update: true})
			if drift, ok := errors.AsType[*cloudapi.DriftError](err); !ok || len(drift.Fields) != 2 || drift.Fields[0].Updatable == drift.Fields[1].Updatable {
				t.Errorf("%s: %v", both, err)
			}
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
		id, created, err := c.ensure(t.Context(), client, "", nil)
		if !created || err != nil {
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
		if !c.ends {
			return
		}
		if err := client.Delete(t.Context(), c.resource(id)); err != nil {
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
