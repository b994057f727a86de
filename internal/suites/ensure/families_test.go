package ensure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestEnsureOfBothAPIs: fields that only the service shows or updates are
// compared and updated if it's the service, and the record is complete.
func TestEnsureOfBothAPIs(t *testing.T) {
	t.Parallel()
	type ensured struct {
		record  any
		outcome cloudapi.EnsureOutcome
		err     error
	}
	firewall := func(t *testing.T, c *cloudapi.Client, opts *cloudapi.EnsureOptions) ensured {
		r, outcome, err := c.Firewalls.Ensure(t.Context(), sdktest.Somewhere, "fw", &cloudapi.FirewallCreateRequest{Description: "new"}, opts)
		if err != nil {
			return ensured{nil, outcome, err}
		}
		return ensured{fmt.Sprint(r.Description, len(r.PrivateSubnets)), outcome, err}
	}
	image := func(name string) func(*testing.T, *cloudapi.Client, *cloudapi.EnsureOptions) ensured {
		return func(t *testing.T, c *cloudapi.Client, opts *cloudapi.EnsureOptions) ensured {
			_, outcome, err := c.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, BootImage: name}, opts)
			return ensured{nil, outcome, err}
		}
	}
	balancer := func(t *testing.T, c *cloudapi.Client, opts *cloudapi.EnsureOptions) ensured {
		request := sdktest.BalancerIn(stub.Must(c.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, "net"))(t).ID)
		request.CertEnabled = new(true)
		r, outcome, err := c.LoadBalancers.Ensure(t.Context(), sdktest.Somewhere, "lb", request, opts)
		if err != nil {
			return ensured{nil, outcome, err}
		}
		return ensured{fmt.Sprint(r.CertEnabled, len(r.VMs), r.Algorithm, r.SrcPort), outcome, err}
	}
	for _, tt := range []struct {
		name   string
		api    cloudapitest.API
		ensure func(*testing.T, *cloudapi.Client, *cloudapi.EnsureOptions) ensured
		plain  string // the end of the error without Update
		drift  string // the end of the error with Update, or "" if it has the next outcome and record
		want   ensured
	}{
		{"description", cloudapitest.Service, firewall, `description is "old", wanted "new"`, "", ensured{"new1", cloudapi.EnsureUpdated, nil}},
		{"description of the contract", cloudapitest.Contract, firewall, `description is "old", wanted "new"`,
			`description is "old", wanted "new" (which no update can change)`, ensured{}},
		{"other image", cloudapitest.Service, image("debian-12"), `boot_image is "ubuntu-noble", wanted "debian-12" (which no update can change)`,
			`boot_image is "ubuntu-noble", wanted "debian-12" (which no update can change)`, ensured{}},
		{"same image", cloudapitest.Service, image("ubuntu-noble"), "", "", ensured{nil, cloudapi.EnsureUnchanged, nil}},
		{"image of the contract", cloudapitest.Contract, image("debian-12"), "", "", ensured{nil, cloudapi.EnsureUnchanged, nil}},
		{"certificate", cloudapitest.Service, balancer, "cert_enabled is false, wanted true", "", ensured{"true 1round_robin80", cloudapi.EnsureUpdated, nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, ctx := cloudapitest.New(t, cloudapitest.WithAPI(tt.api), cloudapitest.Lenient()).Client(), t.Context()
			fw := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "fw", &cloudapi.FirewallCreateRequest{Description: "old"}))(t)
			subnet := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net", nil))(t)
			stub.Must(client.Firewalls.AttachSubnet(ctx, sdktest.Somewhere, fw.ID, subnet.ID))(t)
			vm := stub.Must(client.VMs.Create(ctx, sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, BootImage: "ubuntu-noble", PrivateSubnetID: subnet.ID, EnableIP4: new(true)}))(t)
			stub.Must(client.LoadBalancers.Create(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn(subnet.ID)))(t)
			stub.Must(client.LoadBalancers.AttachVM(ctx, sdktest.Somewhere, "lb", vm.ID))(t)

			if got := tt.ensure(t, client, nil); tt.plain != "" && (!errors.Is(got.err, cloudapi.ErrAlreadyExists) || !strings.HasSuffix(got.err.Error(), tt.plain)) || tt.plain == "" && got != tt.want {
				t.Errorf("without Update: %+v", got)
			}
			got := tt.ensure(t, client, &cloudapi.EnsureOptions{Update: true})
			if _, ok := errors.AsType[*cloudapi.DriftError](got.err); ok != (tt.drift != "") || ok && !strings.HasSuffix(got.err.Error(), tt.drift) || !ok && got != tt.want {
				t.Errorf("with Update: %+v", got)
			}
		})
	}
}

// TestEnsureMachineImage: an update adds the version, and changes no other.
func TestEnsureMachineImage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
		client := srv.Client()
		vm := stub.Must(client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		stub.Must(client.VMs.WaitRunning(t.Context(), sdktest.Somewhere, "web-1", nil))(t)
		stub.Must(client.VMs.Stop(t.Context(), sdktest.Somewhere, "web-1"))(t)
		stub.Must(client.VMs.WaitStopped(t.Context(), sdktest.Somewhere, "web-1", nil))(t)
		id := ""
		for _, tt := range []struct {
			version string
			update  bool
			outcome cloudapi.EnsureOutcome // "" for a DriftError
			change  string                 // the only request other than GET
		}{
			{"v1", false, cloudapi.EnsureCreated, `MachineImages.Create {"vm":"` + vm.ID + `","version":"v1"}`},
			{"v1", true, cloudapi.EnsureUnchanged, ""},
			{"", true, cloudapi.EnsureUnchanged, ""},
			{"v2", false, "", ""},
			{"v2", true, cloudapi.EnsureUpdated, `MachineImages.CreateVersion {"vm":"` + vm.ID + `"}`},
			{"v2", false, cloudapi.EnsureUnchanged, ""},
		} {
			before := len(srv.Requests())
			image, outcome, err := client.MachineImages.Ensure(t.Context(), sdktest.Somewhere, "golden",
				&cloudapi.MachineImageCreateRequest{VM: vm.ID, Version: tt.version}, &cloudapi.EnsureOptions{Update: tt.update})
			drift, drifts := errors.AsType[*cloudapi.DriftError](err)
			if outcome != tt.outcome || drifts != (tt.outcome == "") || !drifts && (err != nil || id != "" && image.ID != id) {
				t.Fatalf("%+v: %v, %v, %v", tt, image, outcome, err)
			}
			if drifts && (drift.Fields[0].Field != "version" || !drift.Fields[0].Updatable) {
				t.Errorf("%+v: %v", tt, drift)
			}
			var changes []string
			for _, r := range srv.Requests()[before:] {
				if r.Method != http.MethodGet {
					changes = append(changes, r.Name+" "+string(r.Body))
				}
			}
			if got := strings.Join(changes, ", "); got != tt.change {
				t.Errorf("%+v: sent %s", tt, got)
			}
			if image != nil {
				id = image.ID
			}
			stub.Elapse(time.Hour)
		}
	})
}

// TestEnsureClosesASubnet: a subnet also has firewalls that the request doesn't
// name, one of which allows everything. An update attaches the wanted one first.
func TestEnsureClosesASubnet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		attached bool // whether it has the wanted firewall as well
		deleted  bool // whether somebody else deletes the other one before the detachment
		want     []string
	}{
		{"open", false, false, []string{"Firewalls.AttachSubnet", "Firewalls.DetachSubnet"}},
		{"open and closed", true, false, []string{"Firewalls.DetachSubnet"}},
		{"open, but not for long", false, true, []string{"Firewalls.AttachSubnet", "Firewalls.Delete", "Firewalls.DetachSubnet"}},
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
			if tt.deleted {
				client = stub.Must(client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						if strings.HasSuffix(req.URL.Path, "/detach-subnet") {
							if err := srv.Client().Firewalls.Delete(ctx, sdktest.Somewhere, open.ID); err != nil {
								t.Error(err)
							}
						}
						return next.RoundTrip(req)
					})
				})))(t)
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

// TestEnsureWithoutTheFirewall: if the location doesn't have the firewall, nothing
// says that the subnet is gone.
func TestEnsureWithoutTheFirewall(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client, ctx := srv.Client(), t.Context()
	stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net-1", nil))(t)
	request := &cloudapi.PrivateSubnetCreateRequest{FirewallID: stub.Must(client.Firewalls.Create(ctx, "us-east-a2", "far", nil))(t).ID}
	_, _, err := client.PrivateSubnets.Ensure(ctx, sdktest.Somewhere, "net-1", request, &cloudapi.EnsureOptions{Update: true})
	if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "firewall_id" || cloudapi.IsGone(err) {
		t.Error(err)
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

// TestEnsureWithoutRules: a record that lacks its firewall rules doesn't show
// that a database is restricted.
func TestEnsureWithoutRules(t *testing.T) {
	t.Parallel()
	client := sdktest.Answering(t, http.StatusOK, "application/json", `{"id":"pgn30gjk1d1e2jj34v9x0dq4rp","name":"db-1"}`)
	db, outcome, err := client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", &cloudapi.PostgresCreateRequest{RestrictByDefault: new(true)}, nil)
	if db != nil || outcome != "" || !errors.Is(err, cloudapi.ErrInvalidResponse) {
		t.Errorf("%v, %q, %v", db, outcome, err)
	}
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

// TestEnsureAfterAnUpgrade: from the moment at which an upgrade begins, the new
// version is the one that matches. The old one differs, and no update changes
// that, so Ensure never undoes an upgrade.
func TestEnsureAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	update := &cloudapi.EnsureOptions{Update: true}
	for name, tt := range map[string]struct {
		before, after string
		ensure        func(*testing.T, *cloudapi.Client, string) (cloudapi.EnsureOutcome, error)
		upgrade       func(*testing.T, *cloudapi.Client)
	}{
		"a cluster": {"v1.36", "v1.37", func(t *testing.T, c *cloudapi.Client, version string) (cloudapi.EnsureOutcome, error) {
			_, outcome, err := c.Kubernetes.Ensure(t.Context(), sdktest.Somewhere, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: version, WorkerSize: "standard-2"}, update)
			return outcome, err
		}, func(t *testing.T, c *cloudapi.Client) {
			stub.Must(c.Kubernetes.WaitRunning(t.Context(), sdktest.Somewhere, "apps", nil))(t)
			stub.Must(c.Kubernetes.Upgrade(t.Context(), sdktest.Somewhere, "apps"))(t)
		}},
		"a database": {"17", "18", func(t *testing.T, c *cloudapi.Client, version string) (cloudapi.EnsureOutcome, error) {
			_, outcome, err := c.Postgres.Ensure(t.Context(), sdktest.Somewhere, "orders", &cloudapi.PostgresCreateRequest{Version: version, Size: "standard-2", StorageSize: 64}, update)
			return outcome, err
		}, func(t *testing.T, c *cloudapi.Client) {
			stub.Must(c.Postgres.WaitRunning(t.Context(), sdktest.Somewhere, "orders", nil))(t)
			stub.Must(c.Postgres.Upgrade(t.Context(), sdktest.Somewhere, "orders"))(t)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				client := srv.Client()
				if outcome, err := tt.ensure(t, client, tt.before); outcome != cloudapi.EnsureCreated || err != nil {
					t.Fatal(outcome, err)
				}
				tt.upgrade(t, client)
				before := sdktest.Changes(srv)
				for _, pause := range []time.Duration{0, 24 * time.Hour} { // during and after the upgrade
					stub.Elapse(pause)
					if outcome, err := tt.ensure(t, client, tt.after); outcome != cloudapi.EnsureUnchanged || err != nil {
						t.Errorf("after %v, the new version: %q, %v", pause, outcome, err)
					}
					_, err := tt.ensure(t, client, tt.before)
					want := cloudapi.Drift{Field: "version", Wanted: tt.before, Found: tt.after}
					if e, ok := errors.AsType[*cloudapi.DriftError](err); !ok || len(e.Fields) != 1 || e.Fields[0] != want {
						t.Errorf("after %v, the old version: %v", pause, err)
					}
				}
				if n := sdktest.Changes(srv) - before; n != 0 {
					t.Errorf("%d requests that change something", n)
				}
			})
		})
	}
}
