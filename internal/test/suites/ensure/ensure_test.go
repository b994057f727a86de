// Package ensure_test checks what Ensure promises, for each family.
package ensure_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// ensureCase is the Ensure of a family, or the function Ensure, independent of
// its types. A variant is
// a request, named by the fields in which it differs from the request "". The
// server accepts that one.
type ensureCase struct {
	name   string
	kind   cloudapi.Kind
	ensure func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (id string, outcome cloudapi.EnsureOutcome, err error)
	ends   bool // whether Get shows that the resource is being deleted, by its state or with a 404

	fixed     []string // variants that no update can reach
	updatable []string
}

type ensureFunc[T, R any] func(ctx context.Context, location, name string, request *R, opts *cloudapi.EnsureOptions) (*T, cloudapi.EnsureOutcome, error)

// anywhere converts the Ensure of a family without locations to an ensureFunc.
func anywhere[T, R any](ensure func(context.Context, string, *R, *cloudapi.EnsureOptions) (*T, cloudapi.EnsureOutcome, error)) ensureFunc[T, R] {
	return func(ctx context.Context, _, name string, request *R, opts *cloudapi.EnsureOptions) (*T, cloudapi.EnsureOutcome, error) {
		return ensure(ctx, name, request, opts)
	}
}

// variants are changes to a request, by the name of the changed field.
// "equivalent" is a change that makes no difference.
type variants[R any] map[string]func(*R)

// newEnsureCase returns the case of a family, with a request for x-1.
func newEnsureCase[T, R any](name string, kind cloudapi.Kind, of func(*cloudapi.Client) ensureFunc[T, R], request R, fixed, updatable variants[R]) ensureCase {
	return ensureCase{
		name: name, kind: kind, ends: kind != cloudapi.KindPrivateSubnet && kind != cloudapi.KindLoadBalancer,
		fixed:     slices.DeleteFunc(slices.Sorted(maps.Keys(fixed)), func(variant string) bool { return variant == "equivalent" }),
		updatable: slices.Sorted(maps.Keys(updatable)),
		ensure: func(ctx context.Context, c *cloudapi.Client, variant string, opts *cloudapi.EnsureOptions) (string, cloudapi.EnsureOutcome, error) {
			r := request
			for field := range strings.FieldsSeq(variant) {
				for _, change := range []func(*R){fixed[field], updatable[field]} {
					if change != nil {
						change(&r)
					}
				}
			}
			record, outcome, err := of(c)(ctx, sdktest.Somewhere, "x-1", &r, opts)
			if (record == nil) == (err == nil) || (outcome == "") == (err == nil) {
				return "", "", fmt.Errorf("Ensure returned %v, %q and %w", record, outcome, err)
			}
			if err != nil {
				return "", "", err
			}
			return any(record).(interface{ Resource() cloudapi.Resource }).Resource().ID, outcome, nil
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
	type (
		vm       = cloudapi.VMCreateRequest
		net      = cloudapi.PrivateSubnetCreateRequest
		rules    = cloudapi.FirewallCreateRequest
		balancer = cloudapi.LoadBalancerCreateRequest
		db       = cloudapi.PostgresCreateRequest
		cluster  = cloudapi.KubernetesClusterCreateRequest
		place    = cloudapi.PrivateLocationCreateRequest
		pubkey   = cloudapi.SSHPublicKeyCreateRequest
		script   = cloudapi.VMInitScriptCreateRequest
	)
	return []ensureCase{
		newEnsureCase("VMs", cloudapi.KindVM, func(c *cloudapi.Client) ensureFunc[cloudapi.VM, vm] { return c.VMs.Ensure },
			vm{PublicKey: stub.PublicKey, Size: "standard-2", StorageSize: 40, PrivateSubnetID: subnet.ID, EnableIPv4: new(false)},
			variants[vm]{
				"size":              func(r *vm) { r.Size, r.StorageSize = "burstable-2", 0 },
				"storage_size":      func(r *vm) { r.StorageSize = 80 },
				"unix_user":         func(r *vm) { r.UnixUser = "admin" },
				"enable_ip4":        func(r *vm) { r.EnableIPv4 = new(true) },
				"private_subnet_id": func(r *vm) { r.PrivateSubnetID = otherNet.ID },
				"equivalent":        func(r *vm) { r.StorageSize = -1 }, // the default
			}, nil),
		newEnsureCase("PrivateSubnets", cloudapi.KindPrivateSubnet, func(c *cloudapi.Client) ensureFunc[cloudapi.PrivateSubnet, net] { return c.PrivateSubnets.Ensure },
			net{FirewallID: firewall.ID}, nil,
			variants[net]{"firewall_id": func(r *net) { r.FirewallID = other.ID }}),
		newEnsureCase("Firewalls", cloudapi.KindFirewall, func(c *cloudapi.Client) ensureFunc[cloudapi.Firewall, rules] { return c.Firewalls.Ensure },
			rules{Description: "web"}, nil, nil), // TestEnsureOfBothAPIs changes the description
		newEnsureCase("LoadBalancers", cloudapi.KindLoadBalancer, func(c *cloudapi.Client) ensureFunc[cloudapi.LoadBalancer, balancer] { return c.LoadBalancers.Ensure },
			balancer{Algorithm: "round_robin", SrcPort: 80, DstPort: 8080, HealthCheckProtocol: "http", PrivateSubnetID: subnet.ID, Stack: "dual", HealthCheckEndpoint: "/up"},
			variants[balancer]{
				"health_check_protocol": func(r *balancer) { r.HealthCheckProtocol = "tcp" },
				"stack":                 func(r *balancer) { r.Stack = "ipv6" },
			},
			variants[balancer]{
				"algorithm":             func(r *balancer) { r.Algorithm = "hash_based" },
				"src_port":              func(r *balancer) { r.SrcPort = 81 },
				"dst_port":              func(r *balancer) { r.DstPort = 8081 },
				"health_check_endpoint": func(r *balancer) { r.HealthCheckEndpoint = "/health" },
			}),
		newEnsureCase("Postgres", cloudapi.KindPostgres, func(c *cloudapi.Client) ensureFunc[cloudapi.Postgres, db] { return c.Postgres.Ensure },
			db{Size: "standard-2", StorageSize: 64, HAType: "none", Flavor: "standard", Version: "16", Tags: []cloudapi.PostgresTag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}},
			variants[db]{
				"flavor":     func(r *db) { r.Flavor = "paradedb" },
				"version":    func(r *db) { r.Version = "17" },
				"equivalent": func(r *db) { r.Tags = []cloudapi.PostgresTag{r.Tags[1], r.Tags[0]} },
			},
			variants[db]{
				"storage_size": func(r *db) { r.StorageSize = 128 },
				"ha_type":      func(r *db) { r.HAType = "async" },
				"tags":         func(r *db) { r.Tags = []cloudapi.PostgresTag{} },
			}),
		newEnsureCase("Kubernetes", cloudapi.KindKubernetesCluster, func(c *cloudapi.Client) ensureFunc[cloudapi.KubernetesCluster, cluster] { return c.Kubernetes.Ensure },
			cluster{Version: "v1.34", WorkerSize: "standard-2", CPNodeCount: 1, WorkerNodeCount: 2},
			variants[cluster]{
				"version":     func(r *cluster) { r.Version = "v1.33" },
				"worker_size": func(r *cluster) { r.WorkerSize = "standard-4" },
				"cp_nodes":    func(r *cluster) { r.CPNodeCount = 3 },
			},
			variants[cluster]{"worker_nodes": func(r *cluster) { r.WorkerNodeCount = 3 }}),
		newEnsureCase("PrivateLocations", cloudapi.KindPrivateLocation, func(c *cloudapi.Client) ensureFunc[cloudapi.PrivateLocation, place] {
			return anywhere(c.PrivateLocations.Ensure)
		},
			place{ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")},
			variants[place]{"provider_location_name": func(r *place) { r.ProviderLocationName = "us-west-2" }}, nil),
		newEnsureCase("SSHPublicKeys", cloudapi.KindSSHPublicKey, func(c *cloudapi.Client) ensureFunc[cloudapi.SSHPublicKey, pubkey] {
			return anywhere(c.SSHPublicKeys.Ensure)
		},
			pubkey{PublicKey: fmt.Sprintf(key, "a")}, nil,
			variants[pubkey]{"public_key": func(r *pubkey) { r.PublicKey = fmt.Sprintf(key, "b") }}),
		newEnsureCase("VMInitScripts", cloudapi.KindVMInitScript, func(c *cloudapi.Client) ensureFunc[cloudapi.VMInitScript, script] {
			return anywhere(c.VMInitScripts.Ensure)
		},
			script{Script: "export PASSWORD=one"}, nil,
			variants[script]{"script": func(r *script) { r.Script = "export PASSWORD=another" }}),
		newEnsureCase("Ensure", cloudapi.KindPostgres, func(c *cloudapi.Client) ensureFunc[cloudapi.Postgres, db] {
			return func(ctx context.Context, location, name string, request *db, opts *cloudapi.EnsureOptions) (*cloudapi.Postgres, cloudapi.EnsureOutcome, error) {
				return cloudapi.Ensure(ctx, func(ctx context.Context) (*cloudapi.Postgres, error) { return c.Postgres.Get(ctx, location, name) },
					func(ctx context.Context) (*cloudapi.Postgres, error) {
						return c.Postgres.Create(ctx, location, name, request)
					}, opts)
			}
		},
			db{Size: "standard-2", StorageSize: 64}, variants[db]{"equivalent": func(r *db) { r.StorageSize = 128 }}, nil), // it compares nothing
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

// reported reports whether the operation and the resource are those in the
// reports and errors of the case.
func (c *ensureCase) reported(operation, resource string) bool {
	if c.name == "Ensure" {
		return operation == "Ensure" && resource == "the resource"
	}
	return operation == c.name+".Ensure" && strings.HasSuffix(resource, "x-1")
}

func (c *ensureCase) wantOne(t *testing.T, client *cloudapi.Client) {
	t.Helper()
	n := 0
	for r, err := range client.Resources(t.Context(), nil, c.kind) {
		if err != nil {
			t.Error(err)
		} else if r.Name == "x-1" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("there are %d", n)
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

// TestEnsure creates a resource of each family, compares it with each variant,
// updates it, and creates it again while it's being deleted. Before each Ensure,
// a plan says what it will do, immediately.
func TestEnsure(t *testing.T) {
	t.Parallel()
	forEachEnsure(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, c ensureCase) {
		var events []cloudapi.Progress
		ensure := func(variant string, update bool) (string, cloudapi.EnsureOutcome, error) {
			t.Helper()
			before, start := sdktest.Changes(srv), time.Now()
			plan := cloudapi.NewPlan(client)
			dryID, dry, dryErr := c.ensure(t.Context(), plan.Client(), variant, &cloudapi.EnsureOptions{Update: update})
			if sdktest.Changes(srv) != before || time.Since(start) != 0 {
				t.Errorf("%q: a plan changes something, or takes %v", variant, time.Since(start))
			}
			events = nil
			id, outcome, err := c.ensure(t.Context(), client, variant, &cloudapi.EnsureOptions{Update: update,
				Progress: func(p cloudapi.Progress) { events = append(events, p) }})
			changes := map[cloudapi.EnsureOutcome]string{cloudapi.EnsureCreated: "+ ", cloudapi.EnsureUpdated: "~ "}[outcome]
			if dry != outcome || fmt.Sprint(dryErr) != fmt.Sprint(err) || (dryID != "") != (err == nil) || ubid.IsPlanned(dryID) != (outcome == cloudapi.EnsureCreated) ||
				!strings.HasPrefix(plan.String(), changes) || (plan.String() == "") != (changes == "") {
				t.Errorf("%q: it is %q, %v, and before it in a plan %q with the ID %q, %v:\n%v", variant, outcome, err, dry, dryID, dryErr, plan)
			}
			return id, outcome, err
		}
		start := time.Now()
		id, outcome, err := ensure("", false)
		if outcome != cloudapi.EnsureCreated || time.Since(start) != 0 {
			t.Fatalf("the first Ensure: %q, %v, after %v", outcome, err, time.Since(start))
		}
		stub.Elapse(time.Hour) // for fields that are known later
		is := func(variant string, want cloudapi.EnsureOutcome) {
			t.Helper()
			if again, outcome, err := ensure(variant, true); again != id || outcome != want {
				t.Errorf("%q: %s, %q, %v; want %s, %q", variant, again, outcome, err, id, want)
			}
		}
		drifts := func(variant string, update, updatable bool) {
			t.Helper()
			_, _, err := ensure(variant, update)
			drift, ok := errors.AsType[*cloudapi.DriftError](err)
			if !ok || !errors.Is(err, cloudapi.ErrAlreadyExists) || errors.Is(err, cloudapi.ErrConflict) {
				t.Errorf("%s: %v", variant, err)
				return
			}
			if len(drift.Fields) != 1 || drift.Fields[0].Field != variant || (drift.Fields[0].Remedy == cloudapi.RemedyUpdate) != updatable ||
				reflect.DeepEqual(drift.Fields[0].Wanted, drift.Fields[0].Found) || drift.Resource.ID != id || drift.Resource.Kind != c.kind ||
				drift.Record == nil || drift.Operation != c.name+".Ensure" {
				t.Errorf("%s: %+v", variant, drift)
			}
			if text := err.Error(); !strings.Contains(text, variant) || !strings.Contains(text, id) || strings.Contains(text, "PASSWORD") {
				t.Errorf("%s: %s", variant, text)
			}
		}
		before := sdktest.Changes(srv)
		is("", cloudapi.EnsureUnchanged)
		is("equivalent", cloudapi.EnsureUnchanged)
		for _, variant := range c.fixed {
			drifts(variant, false, false)
			drifts(variant, true, false)
		}
		for _, variant := range c.updatable {
			drifts(variant, false, true)
		}
		if len(c.fixed) > 0 && len(c.updatable) > 0 { // an update changes all or nothing
			both := c.fixed[0] + " " + c.updatable[0]
			_, _, err := ensure(both, true)
			if drift, ok := errors.AsType[*cloudapi.DriftError](err); !ok || len(drift.Fields) != 2 || drift.Fields[0].Remedy == drift.Fields[1].Remedy {
				t.Errorf("%s: %v", both, err)
			}
		}
		if n := sdktest.Changes(srv) - before; n != 0 {
			t.Errorf("%d requests that change something", n)
		}
		for _, variant := range c.updatable {
			is(variant, cloudapi.EnsureUpdated)
			is(variant, cloudapi.EnsureUnchanged)
			is("", cloudapi.EnsureUpdated)
		}
		want := 2 * len(c.updatable)
		if c.kind == cloudapi.KindPrivateSubnet {
			want *= 2 // an update attaches a firewall and detaches another
		}
		if n := sdktest.Changes(srv) - before; n != want {
			t.Errorf("%d requests that change something, want %d", n, want)
		}
		c.wantOne(t, client)
		if !c.ends {
			return
		}
		stub.Must(0, client.Delete(t.Context(), c.resource(id)))(t)
		if next, outcome, err := ensure("", true); outcome != cloudapi.EnsureCreated || next == id {
			t.Errorf("after a deletion: %s, %q, %v; before it was %s", next, outcome, err, id)
		}
		c.wantOne(t, client)
		last := events[len(events)-1]
		if last.Done != 1 || last.Total != 1 || last.Record == nil || !c.reported(last.Operation, last.Resource) {
			t.Errorf("the last event is %+v", last)
		}
		for _, e := range events[:len(events)-1] {
			if e.Done != 0 || e.State != "creating" && (e.State != "deleting" || e.Record == nil) {
				t.Errorf("an event before the end is %+v", e)
			}
		}
	})
}

// TestEnsurePlannedRecord: the record of a resource to create has what the
// request sets, and the record of a resource to update has the new values.
func TestEnsurePlannedRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t).Client()
		request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("32MB")}}
		planning := cloudapi.NewPlan(client).Client()
		planned, outcome, err := planning.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", request, nil)
		if err != nil || outcome != cloudapi.EnsureCreated || planned.VMSize != "standard-2" || planned.TargetStorageSizeGiB != 64 || len(planned.FirewallRules) != 4 {
			t.Errorf("it would be %s: %+v, %v", outcome, planned, err)
		}
		planned.FirewallRules[0].CIDR = "mine" // a record belongs to the program
		again, outcome, err := planning.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", request, nil)
		if err != nil || outcome != cloudapi.EnsureUnchanged || again.ID != planned.ID || again.FirewallRules[0].CIDR != "0.0.0.0/0" {
			t.Errorf("again it would be %s: %+v, %v", outcome, again, err)
		}
		key, _, err := planning.SSHPublicKeys.Ensure(t.Context(), "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}, nil)
		if err != nil || *key != (cloudapi.SSHPublicKey{ID: key.ID, Name: "laptop", PublicKey: stub.PublicKey}) {
			t.Errorf("the key would be %+v, %v", key, err)
		}
		private, _, err := planning.PrivateLocations.Ensure(t.Context(), "own", &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSEast1, AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}, nil)
		if err != nil || *private != (cloudapi.PrivateLocation{ID: private.ID, UIName: "own", Name: "us-east-1", Path: "/private-location/own"}) {
			t.Errorf("the private location would be %+v, %v", private, err)
		}
		stub.Must(client.Postgres.Create(t.Context(), sdktest.Somewhere, "db-1", request))(t)
		stub.Must(client.Postgres.WaitRunning(t.Context(), sdktest.Somewhere, "db-1", nil))(t)
		request.StorageSize = 128
		db, outcome, err := cloudapi.NewPlan(client).Client().Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", request, &cloudapi.EnsureOptions{Update: true})
		if err != nil || outcome != cloudapi.EnsureUpdated || db.StorageSizeGiB != 64 || db.TargetStorageSizeGiB != 128 {
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
		_, _, errKey := client.SSHPublicKeys.Ensure(ctx, "laptop", nil, nil)
		_, _, errScript := client.VMInitScripts.Ensure(ctx, "setup", nil, nil)
		_, _, errLocation := client.PrivateLocations.Ensure(ctx, "own", nil, nil)
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
		if _, _, err := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", nil, nil); !errors.Is(err, cloudapi.ErrInvalidRequest) { // the server's error, not the SDK's
			t.Errorf("a VM without a request: %v", err)
		}
		if _, created, err := client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", nil, nil); created != cloudapi.EnsureCreated || err != nil {
			t.Errorf("a request that may be nil: %v, %v", created, err)
		}
		if _, created, err := client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", nil, nil); created == cloudapi.EnsureCreated || err != nil {
			t.Errorf("a request that may be nil, again: %v, %v", created, err)
		}
	})
}
