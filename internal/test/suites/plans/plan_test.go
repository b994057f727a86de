package plans_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const location = sdktest.Somewhere

// TestPrints: a reviewer sees what changes, by name, and no secret, setting or
// script.
func TestPrints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, ctx := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service)).Client(), t.Context()
		subnet := stub.Must(client.PrivateSubnets.Create(ctx, location, "apps", nil))(t)
		lb := stub.Must(client.LoadBalancers.Create(ctx, location, "apps", sdktest.BalancerIn(subnet.ID)))(t)
		old := stub.Must(client.VMs.Create(ctx, location, "apps-0", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID, EnableIPv4: new(true)}))(t)
		stub.Must(client.LoadBalancers.AttachVM(ctx, location, lb.ID, old.ID))(t)
		db := stub.Must(client.Postgres.Create(ctx, location, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
		stub.Must(client.Postgres.WaitRunning(ctx, location, db.ID, nil))(t)

		plan := cloudapi.NewPlan(client)
		c := plan.Client()
		firewall, _, err := c.Firewalls.Ensure(ctx, location, "web", &cloudapi.FirewallCreateRequest{Description: "for the web, and\nmore"}, nil)
		check(t, err)
		_, err = c.PrivateSubnets.SetFirewalls(ctx, location, "apps", []string{firewall.ID})
		check(t, err)
		web, _, err := c.PrivateSubnets.Ensure(ctx, location, "web", nil, nil)
		check(t, err)
		_, err = c.Firewalls.SetRules(ctx, location, "web", []cloudapi.FirewallRuleCreateRequest{{CIDR: "0.0.0.0/0", PortRange: "443"}, {CIDR: web.Net4, Description: "own"}})
		check(t, err)
		rule, err := c.Firewalls.CreateRule(ctx, location, "web", &cloudapi.FirewallRuleCreateRequest{CIDR: "203.0.113.0/24", PortRange: "22"})
		check(t, err)
		vm, _, err := c.VMs.Ensure(ctx, location, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: web.ID, EnableIPv4: new(true), InitScriptText: "#!/bin/sh\nPASSWORD=hush true"}, nil)
		check(t, err)
		_, err = c.LoadBalancers.SetVMs(ctx, location, "apps", []string{vm.ID})
		check(t, err)
		_, _, err = c.Postgres.Ensure(ctx, location, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-4", StorageSize: 128, RestrictByDefault: new(true),
			PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("64MB")}}, &cloudapi.EnsureOptions{Update: true})
		check(t, err)
		_, err = c.Postgres.SetFirewallRules(ctx, location, "orders", []cloudapi.PostgresFirewallRuleCreateRequest{{CIDR: web.Net6}})
		check(t, err)
		_, err = c.Postgres.ResetSuperuserPassword(ctx, location, "orders", cloudapi.NewSecret("hush-Hush-123"))
		check(t, err)
		_, err = c.Postgres.SetMaintenanceWindow(ctx, location, "orders", &cloudapi.PostgresMaintenanceWindowRequest{StartAt: new(3)})
		check(t, err)
		_, err = c.Postgres.UpdateConfig(ctx, location, "orders", &cloudapi.PostgresConfigUpdateRequest{PGConfig: cloudapi.PostgresSettings{"max_connections": cloudapi.NewPostgresSetting("111")}})
		check(t, err)
		_, err = c.VMs.Rename(ctx, location, "apps-0", "apps-old")
		check(t, err)
		check(t, c.VMs.Delete(ctx, location, "nobody")) // as the server
		_, err = c.SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey})
		check(t, err)
		_, err = c.Firewalls.ModifyRule(ctx, location, "web", rule.ID, &cloudapi.FirewallRuleModifyRequest{PortRange: "2222"})
		check(t, err)
		_, err = c.LoadBalancers.AttachVM(ctx, location, "apps", old.ID)
		check(t, err)
		_, err = c.LoadBalancers.Update(ctx, location, "apps", &cloudapi.LoadBalancerUpdateRequest{
			Algorithm: lb.Algorithm, SrcPort: lb.SrcPort, DstPort: lb.DstPort + 1, HealthCheckEndpoint: lb.HealthCheckEndpoint, VMs: []string{vm.ID},
		})
		check(t, err)
		_, err = c.PrivateSubnets.Disconnect(ctx, location, "apps", web.ID)
		check(t, err)
		_, err = c.Postgres.CreateLogDestination(ctx, location, "orders", "logs", &cloudapi.PostgresLogDestinationCreateRequest{
			Type: cloudapi.PostgresLogDestinationTypeOTLP, URL: "https://logs.example/hush?token=hush",
		})
		check(t, err)
		metrics, err := c.Postgres.CreateMetricDestination(ctx, location, "orders", &cloudapi.PostgresMetricDestinationCreateRequest{URL: "https://metrics.example/hush", Username: "orders", Password: cloudapi.NewSecret("hush")})
		check(t, err)
		check(t, c.Postgres.DeleteMetricDestination(ctx, location, "orders", metrics.MetricDestinations[0].ID))
		check(t, c.VMs.Delete(ctx, location, "apps-old"))
		check(t, c.Postgres.Delete(ctx, location, "orders"))
		for r, err := range c.Resources(ctx, nil) {
			if check(t, err); r.MadeFor() != "" {
				t.Errorf("the plan still has %v of a database that it has deleted", r)
			}
		}
		_, err = c.PrivateLocations.Create(ctx, "own", &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("hush"), SecretKey: cloudapi.NewSecret("hush")})
		check(t, err)

		const want = `+ firewall eu-central-h1/web: description "for the web, and more"
~ private subnet eu-central-h1/apps: + firewall eu-central-h1/web
~ private subnet eu-central-h1/apps: - firewall eu-central-h1/apps-default
+ private subnet eu-central-h1/web: new firewall web-default that allows all traffic
~ firewall eu-central-h1/web: + 443 from 0.0.0.0/0
~ firewall eu-central-h1/web: + all ports from the IPv4 range of web "own"
~ firewall eu-central-h1/web: + 22 from 203.0.113.0/24
+ VM eu-central-h1/web-1: public_key KEY, private_subnet_id web, enable_ip4 true, init_script
~ load balancer eu-central-h1/apps: + VM eu-central-h1/web-1
~ load balancer eu-central-h1/apps: - VM eu-central-h1/apps-0
~ Postgres database eu-central-h1/orders: size standard-2 -> standard-4, storage_size 64 -> 128, restrict_by_default [0.0.0.0/0 ::/0] -> true, pg_config work_mem
~ Postgres database eu-central-h1/orders: + from the IPv6 range of web
! Postgres database eu-central-h1/orders: Postgres.ResetSuperuserPassword password
! Postgres database eu-central-h1/orders: Postgres.SetMaintenanceWindow maintenance_window_start_at 3
! Postgres database eu-central-h1/orders: Postgres.UpdateConfig pg_config max_connections
! VM eu-central-h1/apps-0: VMs.Rename name apps-old
+ SSH public key laptop: public_key KEY
~ firewall eu-central-h1/web: ~ 22 from 203.0.113.0/24 -> 2222 from 203.0.113.0/24
~ load balancer eu-central-h1/apps: + VM eu-central-h1/apps-old
! load balancer eu-central-h1/apps: LoadBalancers.Update algorithm round_robin, src_port 80, dst_port 80 -> 81, health_check_endpoint /up, vms [web-1 apps-old] -> [web-1]
! private subnet eu-central-h1/apps: PrivateSubnets.Disconnect web
~ Postgres database eu-central-h1/orders: + Postgres log destination logs: type otlp, url https://logs.example
~ Postgres database eu-central-h1/orders: + Postgres metric destination https://metrics.example: url https://metrics.example, username orders, password
~ Postgres database eu-central-h1/orders: - Postgres metric destination https://metrics.example
- VM eu-central-h1/apps-old
- Postgres database eu-central-h1/orders
+ private location own: provider_location_name us-east-1, access_key, secret_key`
		key := fmt.Sprintf("%q", stub.PublicKey)
		if len(stub.PublicKey) > 80 {
			key = fmt.Sprintf("%q…", stub.PublicKey[:80])
		}
		if got := strings.ReplaceAll(plan.String(), key, "KEY"); got != want {
			t.Errorf("the plan is\n%s\n\nwant\n%s", got, want)
		}
		for _, change := range plan.Changes() {
			if isNew := change.Resource.Name == "web" || change.Resource.Name == "web-1"; isNew != (change.Resource.ID == "") && change.Resource.Location != "" {
				t.Errorf("%v has the ID %q", change, change.Resource.ID)
			}
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// TestSeesItself: a plan's client sees what it planned with methods other than
// Ensure, and fails where the server would.
func TestSeesItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		ctx, real := t.Context(), srv.Client()
		stub.Must(real.PrivateSubnets.Create(ctx, location, "there", nil))(t)
		keep := stub.Must(real.VMs.Create(ctx, location, "keep", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		plan := cloudapi.NewPlan(real)
		c := plan.Client()
		subnet := stub.Must(c.PrivateSubnets.Create(ctx, location, "net", nil))(t)
		for _, name := range []string{"net", "there"} {
			if _, err := c.PrivateSubnets.Create(ctx, location, name, nil); !errors.Is(err, cloudapi.ErrAlreadyExists) {
				t.Errorf("creating %s again: %v", name, err)
			}
		}
		if _, err := c.VMs.Create(ctx, "nowhere", "x", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}); !errors.Is(err, cloudapi.ErrLocationNotFound) {
			t.Errorf("creating a VM in no location: %v", err)
		}
		lb := stub.Must(c.LoadBalancers.Create(ctx, location, "lb", sdktest.BalancerIn(subnet.ID)))(t)
		for i := range 5 {
			vm := stub.Must(c.VMs.Create(ctx, location, fmt.Sprint("vm-", i), &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID, EnableIPv4: new(true)}))(t)
			stub.Must(c.LoadBalancers.AttachVM(ctx, location, lb.ID, vm.ID))(t)
		}
		check(t, c.VMs.Delete(ctx, location, "vm-3"))
		check(t, c.Delete(ctx, keep.Resource()))
		check(t, c.VMs.WaitDeleted(ctx, location, keep.ID, nil))
		stub.Must(c.VMs.Rename(ctx, location, "vm-4", "last"))(t)
		if _, err := c.VMs.Get(ctx, location, "vm-4"); !cloudapi.IsGone(err) {
			t.Errorf("the old name: %v", err)
		}
		var names []string
		for vm, err := range c.VMs.All(ctx, nil) {
			check(t, err)
			names = append(names, vm.Name)
		}
		if slices.Sort(names); !slices.Equal(names, []string{"last", "vm-0", "vm-1", "vm-2"}) {
			t.Errorf("all VMs are %q", names)
		}
		for _, size := range []int{0, 1, 2} {
			var paged []string
			opts := cloudapi.ListOptions{PageSize: size}
			for range 10 {
				page := stub.Must(c.VMs.List(ctx, &opts))(t)
				for _, vm := range page.Items {
					paged = append(paged, vm.Name)
				}
				if opts.StartAfter = page.Next; len(page.Items) == 0 { // programs also end at page.Next == ""
					break
				}
			}
			if slices.Sort(paged); !slices.Equal(paged, names) {
				t.Errorf("pages of %d have %q", size, paged)
			}
		}
		got := stub.Must(c.LoadBalancers.Get(ctx, location, "lb"))(t)
		if len(got.VMs) != 4 {
			t.Errorf("the load balancer has %q", got.VMs)
		}
		// A condition of the program's own holds, or ends after one look.
		_, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.VM, error) { return c.VMs.Get(ctx, location, "last") },
			func(vm *cloudapi.VM) (bool, error) { return vm.IPv4 != "", nil }, nil)
		check(t, err)
		vm, outcome, err := cloudapi.Ensure(ctx, func(ctx context.Context) (*cloudapi.VM, error) { return c.VMs.Get(ctx, location, "new") },
			func(ctx context.Context) (*cloudapi.VM, error) {
				return c.VMs.Create(ctx, location, "new", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey})
			}, nil)
		if err != nil || outcome != cloudapi.EnsureCreated || vm.Name != "new" {
			t.Errorf("the function Ensure: %v, %q, %v", vm, outcome, err)
		}
		if changes, err := c.LoadBalancers.SetVMs(ctx, location, "lb", got.VMs); err != nil || changes.Changed() {
			t.Errorf("the VMs that are attached change: %v, %v", changes, err)
		}
		// What is in a location that exists only in the plan.
		if _, err := c.Postgres.Get(ctx, "own", "db"); !errors.Is(err, cloudapi.ErrLocationNotFound) {
			t.Errorf("a database in no location: %v", err)
		}
		stub.Must(c.PrivateLocations.Create(ctx, "own", &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("k"), SecretKey: cloudapi.NewSecret("s")}))(t)
		_, outcome, err = c.Postgres.Ensure(ctx, "own", "db", &cloudapi.PostgresCreateRequest{Size: "m6id.large", StorageSize: 118}, nil)
		if list := stub.Must(cloudapi.Collect(c.Postgres.All(ctx, &cloudapi.ListOptions{Location: "own"})))(t); err != nil || outcome != cloudapi.EnsureCreated || len(list) != 1 {
			t.Errorf("a database in a planned location: %q, %v; the list has %v", outcome, err, list)
		}
		check(t, c.PrivateSubnets.Delete(ctx, location, "net"))
		if _, err := c.LoadBalancers.Get(ctx, location, lb.ID); !cloudapi.IsGone(err) {
			t.Errorf("the load balancer of a subnet that is deleted: %v", err)
		}
		if n := sdktest.Changes(srv); n != 2 {
			t.Errorf("%d requests change something, want the two before the plan", n)
		}
	})
}

// TestCopies: a planned copy of a database has what a copy inherits.
func TestCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, client := t.Context(), cloudapitest.New(t).Client()
		source := stub.Must(client.Postgres.Create(ctx, location, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: cloudapi.PostgresHATypeAsync,
			Tags: []cloudapi.PostgresTag{{Key: "env", Value: "prod"}}, PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("32MB")}}))(t)
		source = stub.Must(cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Postgres, error) {
			return client.Postgres.Get(ctx, location, "orders")
		},
			func(p *cloudapi.Postgres) (bool, error) {
				return !p.EarliestRestoreTime.IsZero() && !p.LatestRestoreTime.Before(p.EarliestRestoreTime), nil
			}, &cloudapi.WaitOptions{Interval: time.Minute}))(t)
		plan := cloudapi.NewPlan(client).Client()
		copies := func(c *cloudapi.Client, suffix string) (texts []string) {
			restored := stub.Must(c.Postgres.Restore(ctx, location, source.ID, "restored"+suffix, &cloudapi.PostgresRestoreRequest{RestoreTarget: source.EarliestRestoreTime}))(t)
			replica := stub.Must(c.Postgres.CreateReadReplica(ctx, location, "orders", "replica"+suffix, nil))(t)
			for _, db := range []*cloudapi.Postgres{restored, replica} {
				db = stub.Must(c.Postgres.WaitRunning(ctx, location, db.ID, nil))(t)
				config := stub.Must(c.Postgres.GetConfig(ctx, location, db.ID))(t)
				texts = append(texts, fmt.Sprint(config.PGConfig, config.PgBouncerConfig, db.VMSize, db.TargetVMSize, db.StorageSizeGiB, db.TargetStorageSizeGiB,
					db.Version, db.Flavor, db.HAType, db.Tags, db.Parent, db.ReadReplica, db.Primary, len(db.FirewallRules)))
			}
			return texts
		}
		if planned, run := copies(plan, "-planned"), copies(client, "-run"); !slices.Equal(planned, run) {
			t.Errorf("planned:\n%q\nrun:\n%q", planned, run)
		}
		renamed := cloudapi.NewPlan(client).Client()
		stub.Must(renamed.Postgres.Rename(ctx, location, "orders", "old"))(t)
		stub.Must(renamed.Postgres.CreateReadReplica(ctx, location, "old", "again", nil))(t)
		// What the database has goes with it, also what the plan has changed.
		stub.Must(plan.PrivateSubnets.Connect(ctx, location, source.ID+"-subnet", stub.Must(plan.PrivateSubnets.Create(ctx, location, "net", nil))(t).ID))(t)
		check(t, plan.Postgres.Delete(ctx, location, source.ID))
		if _, err := plan.PrivateSubnets.Get(ctx, location, source.ID+"-subnet"); !cloudapi.IsGone(err) {
			t.Errorf("the subnet of a database that is deleted: %v", err)
		}
	})
}

// TestParts: what is inside a resource changes in a plan as in a run.
func TestParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, client := t.Context(), cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service)).Client()
		steps := func(c *cloudapi.Client, name string) (texts []string) {
			say := func(values ...any) { texts = append(texts, strings.ReplaceAll(fmt.Sprint(values...), name, "")) }
			firewall := stub.Must(c.Firewalls.Create(ctx, location, "fw"+name, nil))(t)
			subnet := stub.Must(c.PrivateSubnets.Create(ctx, location, "net"+name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}))(t)
			var rules []*cloudapi.FirewallRule
			for _, cidr := range []string{"203.0.113.0/24", "203.0.113.0/24", subnet.ID, subnet.ID} {
				rule, err := c.Firewalls.CreateRule(ctx, location, firewall.ID, &cloudapi.FirewallRuleCreateRequest{CIDR: cidr, PortRange: "22"})
				if say(errors.Is(err, cloudapi.ErrAlreadyExists), err == nil); err == nil {
					rules = append(rules, rule)
					say(rule.PortRange)
				}
			}
			say(len(stub.Must(c.Firewalls.Get(ctx, location, firewall.ID))(t).FirewallRules))
			for range 2 {
				say(c.Firewalls.DeleteRule(ctx, location, firewall.ID, rules[0].ID))
			}
			db := stub.Must(c.Postgres.Create(ctx, location, "db"+name, &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, RestrictByDefault: new(true)}))(t)
			db = stub.Must(c.Postgres.WaitRunning(ctx, location, db.ID, nil))(t)
			for range 2 {
				_, err := c.Postgres.CreateFirewallRule(ctx, location, db.ID, &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "203.0.113.0/24"})
				say(errors.Is(err, cloudapi.ErrAlreadyExists), err == nil)
			}
			for _, value := range []cloudapi.PostgresSetting{cloudapi.NewPostgresSetting("64MB"), {}} {
				settings := cloudapi.PostgresSettings{"work_mem": value, "max_connections": cloudapi.NewPostgresSetting("250")}
				say(stub.Must(c.Postgres.UpdateConfig(ctx, location, db.ID, &cloudapi.PostgresConfigUpdateRequest{PGConfig: settings}))(t).PGConfig)
			}
			say(stub.Must(c.Postgres.GetConfig(ctx, location, db.ID))(t).PGConfig)
			for _, start := range []*int{new(3), nil} {
				db = stub.Must(c.Postgres.SetMaintenanceWindow(ctx, location, db.ID, &cloudapi.PostgresMaintenanceWindowRequest{StartAt: start}))(t)
				say(db.MaintenanceWindowStartAt == nil)
			}
			db = stub.Must(c.Postgres.Get(ctx, location, db.ID))(t)
			say(len(db.FirewallRules), db.MaintenanceWindowStartAt == nil)
			return texts
		}
		if planned, run := steps(cloudapi.NewPlan(client).Client(), "-planned"), steps(client, "-run"); !slices.Equal(planned, run) {
			t.Errorf("planned:\n%q\nrun:\n%q", planned, run)
		}
	})
}

// TestWhileDeleting: what the server is deleting is gone in a plan, since a run
// waits for that.
func TestWhileDeleting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, ctx := cloudapitest.New(t).Client(), t.Context()
		request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}
		vm := stub.Must(client.VMs.Create(ctx, location, "web", request))(t)
		stub.Must(client.VMs.WaitRunning(ctx, location, vm.ID, nil))(t)
		check(t, client.VMs.Delete(ctx, location, vm.ID))
		plan := cloudapi.NewPlan(client)
		again, outcome, err := plan.Client().VMs.Ensure(ctx, location, "web", request, nil)
		if err != nil || outcome != cloudapi.EnsureCreated || again.ID == vm.ID || len(plan.Changes()) != 1 {
			t.Errorf("%v, %q, %v:\n%v", again, outcome, err, plan)
		}
		listed := stub.Must(cloudapi.Collect(plan.Client().VMs.All(ctx, nil)))(t)
		if len(listed) != 1 || listed[0].ID != again.ID {
			t.Errorf("the list has %v", listed)
		}
	})
}

// TestProvesWhatItDeletes: the deletion of what a program has created is proven in
// a plan as in a run.
func TestProvesWhatItDeletes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, client := t.Context(), cloudapitest.New(t).Client()
		for name, c := range map[string]*cloudapi.Client{"run": client, "plan": cloudapi.NewPlan(client).Client()} {
			firewall := stub.Must(c.Firewalls.Create(ctx, location, "fw-"+name, nil))(t)
			subnet := stub.Must(c.PrivateSubnets.Create(ctx, location, "net-"+name, nil))(t)
			vm := stub.Must(c.VMs.Create(ctx, location, "vm-"+name, &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
			db := stub.Must(c.Postgres.Create(ctx, location, "db-"+name, &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
			key := stub.Must(c.SSHPublicKeys.Create(ctx, "key-"+name, &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}))(t)
			own := stub.Must(c.PrivateLocations.Create(ctx, "own-"+name, &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("k"), SecretKey: cloudapi.NewSecret("s")}))(t)
			for _, record := range []cloudapi.Record{firewall, subnet, vm, db, key, own} {
				r := record.Resource()
				if _, err := c.Fetch(ctx, cloudapi.Resource{ID: r.ID}); err != nil {
					t.Errorf("%s: before the deletion, a %v is %v", name, r.Kind, err)
				}
				check(t, c.Delete(ctx, r))
				check(t, c.WaitDeleted(ctx, r, nil))
				_, errFetch := c.Fetch(ctx, r)
				_, errAnywhere := c.Fetch(ctx, cloudapi.Resource{ID: r.ID})
				_, errDelete := c.DeleteExisting(ctx, r.ID)
				for i, err := range []error{errFetch, errAnywhere, errDelete} {
					onlyListed := i == 2 && record == own // Resolve searches its ID in the list, which proves nothing
					if onlyListed == cloudapi.IsGone(err) || !errors.Is(err, cloudapi.ErrNotFound) {
						t.Errorf("%s, call %d for a %v: %v", name, i, r.Kind, err)
					}
				}
			}
		}
	})
}

// TestDeletesWhatIsMissing: in every family, as a run does.
func TestDeletesWhatIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, resources := t.Context(), map[cloudapi.Kind]cloudapi.Resource{
			cloudapi.KindMachineImage: {Location: location}, cloudapi.KindPrivateLinkService: {Location: "own"},
		}
		for r := range sdktest.NewEverything(t).Client.Resources(ctx, nil) {
			resources[r.Kind] = r
		}
		for _, api := range []cloudapitest.API{cloudapitest.Contract, cloudapitest.Service} {
			client := cloudapitest.New(t, cloudapitest.WithAPI(api), cloudapitest.Lenient()).Client()
			for kind, r := range resources {
				r.Kind, r.ID, r.Name = kind, cloudapitest.NewID(kind).String(), "none"
				run := client.Delete(ctx, r)
				if err := cloudapi.NewPlan(client).Client().Delete(ctx, r); (err == nil) != (run == nil) {
					t.Errorf("%v, %v: the plan's error is %v, that of a run %v", api, r, err, run)
				}
			}
		}
	})
}

// TestRefusals: nil, IDs of other plans, and ended contexts lead to clear errors.
func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		func() {
			defer func() {
				if r := recover(); r != "cloudapi: NewPlan: client must not be nil" {
					t.Errorf("NewPlan(nil) panics with %v", r)
				}
			}()
			cloudapi.NewPlan(nil)
		}()
		var none *cloudapi.Plan
		if none.String() != "" || none.Changes() != nil {
			t.Errorf("a nil plan is %q", none)
		}
		one, other := cloudapi.NewPlan(client), cloudapi.NewPlan(client)
		subnet := stub.Must(one.Client().PrivateSubnets.Create(ctx, location, "net", nil))(t)
		before := len(srv.Requests())
		for _, c := range []*cloudapi.Client{client, other.Client()} {
			_, errPath := c.PrivateSubnets.Get(ctx, location, subnet.ID)
			_, errBody := c.VMs.Create(ctx, location, "vm", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID})
			_, errFetch := c.Fetch(ctx, subnet.Resource())
			_, errRules := c.Firewalls.SetRules(ctx, location, "fw", []cloudapi.FirewallRuleCreateRequest{{CIDR: subnet.ID}})
			errDelete := c.Delete(ctx, subnet.Resource())
			for i, err := range []error{errPath, errBody, errFetch, errRules, errDelete} {
				if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || !strings.Contains(err.Error(), "exists only in a plan: use it with the client of that plan and project") && !strings.Contains(e.Reason, "is wrong: ") {
					t.Errorf("call %d with another client: %v", i, err)
				}
			}
		}
		if n := len(srv.Requests()) - before; n != 0 {
			t.Errorf("%d requests are sent", n)
		}
		elsewhere := one.Client().InProject(cloudapitest.NewID(cloudapi.KindProject).String())
		if _, err := elsewhere.PrivateSubnets.Get(ctx, location, subnet.ID); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("in another project: %v", err)
		}
		same := stub.Must(one.Client().With(cloudapi.WithPrefetch(2)))(t)
		if got := stub.Must(same.PrivateSubnets.Get(ctx, location, "net"))(t); got.ID != subnet.ID {
			t.Errorf("a copy of the client gets %v", got)
		}
		db := stub.Must(one.Client().Postgres.Create(ctx, location, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
		_, errCredentials := one.Client().Postgres.CreateBackupCredentials(ctx, location, db.ID)
		_, errMetrics := one.Client().Postgres.Metrics(ctx, location, "db", nil)
		_, errFile := one.Client().Postgres.CreateClientKeyPair(ctx, location, db.ID, "user", 1e12)
		errDo := one.Client().Do(ctx, "POST", []string{"project"}, nil, nil, nil)
		_, errSubnet := one.Client().PrivateSubnets.Get(ctx, location, db.ID+"-subnet")
		for i, err := range []error{errCredentials, errMetrics, errFile, errDo, errSubnet} {
			if !errors.Is(err, cloudapi.ErrNotPlanned) || cloudapi.IsTransient(err) || cloudapi.IsGone(err) {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if _, err := one.Client().Postgres.WaitServers(ctx, location, "db", nil); err != nil {
			t.Errorf("a wait: %v", err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, errGet := one.Client().VMs.Get(ended, location, "vm")
		_, errCreate := one.Client().PrivateSubnets.Create(ended, location, "late", nil)
		errDelete := one.Client().VMs.Delete(ended, location, "vm")
		_, errRestart := one.Client().VMs.Restart(ended, location, "vm")
		_, errMetrics = one.Client().Postgres.Metrics(ended, location, "db", nil)
		for i, err := range []error{errGet, errCreate, errDelete, errRestart, errMetrics} {
			if !errors.Is(err, context.Canceled) || errors.Is(err, cloudapi.ErrNotPlanned) {
				t.Errorf("call %d with an ended context: %v", i, err)
			}
		}
		if text := one.String(); strings.Contains(text, "late") || strings.Count(text, "\n") != 1 {
			t.Errorf("the plan is\n%s", text)
		}
		check(t, one.Client().Postgres.Delete(ctx, location, db.ID))
		if err := one.Client().PrivateSubnets.WaitDeleted(ctx, location, db.ID+"-subnet", nil); err != nil {
			t.Errorf("waiting for the subnet of a database that is deleted: %v", err)
		}
	})
}

// TestTogether: goroutines share a plan.
func TestTogether(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	srv.AddVMs(location, "old", 20)
	plan := cloudapi.NewPlan(srv.Client())
	c := plan.Client()
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprint("vm-", i)
	}
	vms := stub.Must(cloudapi.WaitAll(t.Context(), names, func(ctx context.Context, name string) (*cloudapi.VM, error) {
		vm, _, err := c.VMs.Ensure(ctx, location, name, &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil)
		if err != nil {
			return nil, err
		}
		vm.Firewalls = nil // a record belongs to the program
		if _, err := cloudapi.Collect(c.VMs.All(ctx, nil)); err != nil {
			return nil, err
		}
		return c.VMs.WaitRunning(ctx, location, vm.ID, nil)
	}, nil))(t)
	if len(vms) != 40 || len(plan.Changes()) != 40 {
		t.Errorf("%d VMs, %d changes", len(vms), len(plan.Changes()))
	}

	db := stub.Must(srv.Client().Postgres.Create(t.Context(), location, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	stub.Must(cloudapi.WaitAll(t.Context(), names, func(ctx context.Context, name string) (*cloudapi.PostgresConfig, error) {
		if _, err := c.Postgres.Rename(ctx, location, db.ID, name); err != nil {
			return nil, err
		}
		settings := cloudapi.PostgresSettings{strings.ReplaceAll(name, "-", "_"): cloudapi.NewPostgresSetting("1MB")}
		return c.Postgres.UpdateConfig(ctx, location, db.ID, &cloudapi.PostgresConfigUpdateRequest{PGConfig: settings})
	}, nil))(t)
	if settings := stub.Must(c.Postgres.GetConfig(t.Context(), location, db.ID))(t).PGConfig; len(settings) != 40 {
		t.Errorf("of 40 settings, %d are left", len(settings))
	}
}

// TestOldPlan: a plan that another program made old differs from a new one.
func TestOldPlan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, ctx := cloudapitest.New(t).Client(), t.Context()
		provision := func(c *cloudapi.Client) error {
			firewall, _, err := c.Firewalls.Ensure(ctx, location, "web", nil, nil)
			if err != nil {
				return err
			}
			_, err = c.Firewalls.SetRules(ctx, location, firewall.ID, []cloudapi.FirewallRuleCreateRequest{{CIDR: "10.0.0.0/8"}})
			return err
		}
		changes := func() []cloudapi.PlannedChange {
			plan := cloudapi.NewPlan(client)
			check(t, provision(plan.Client()))
			return plan.Changes()
		}
		approved := changes()
		if !slices.Equal(approved, changes()) {
			t.Error("two plans of one program differ")
		}
		stub.Must(client.Firewalls.Create(ctx, location, "web", nil))(t)
		if slices.Equal(approved, changes()) {
			t.Error("another program's firewall doesn't show")
		}
	})
}

// TestLostRequests: a run that loses requests does what the plan says.
func TestLostRequests(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			e := newEnvironment(seed * 2) // of the service
			srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.WithQuota(cloudapitest.Quota{VM: 100, Postgres: 100}))
			e.begin(t, srv.Client())
			plan := &carriedOut{environment: e, ctx: t.Context(), client: cloudapi.NewPlan(srv.Client()).Client()}
			plan.carryOut()
			plan.look()
			for _, method := range []string{"POST", "PATCH", "DELETE"} {
				for _, nth := range []int{1, 3, 6} {
					srv.Fail(cloudapitest.Match{Method: method, Nth: nth}, cloudapitest.DropAfter().Optional())
				}
			}
			run := &carriedOut{environment: e, ctx: t.Context(), client: srv.Client()}
			run.carryOut()
			run.look()
			want, got := plan.results(), run.results()
			want, got = want[len(want)-1:], got[len(got)-1:] // what is there in the end
			if !slices.Equal(want, got) {
				t.Errorf("environment %d: the plan ends with %q, and the run with %q", seed*2, want, got)
			}
		})
	}
}

// TestSeesLittle: what the token may not see is the error of the plan, as it's
// that of the run.
func TestSeesLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		subnet := stub.Must(client.PrivateSubnets.Create(ctx, location, "net", nil))(t)
		stub.Must(client.VMs.Create(ctx, location, "vm", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view", "PrivateSubnet:view", "Vm:create", "Firewall:create")
		for _, plans := range []bool{true, false} {
			c := sdktest.Planning(client, plans)
			_, outcome, errVM := c.VMs.Ensure(ctx, location, "vm", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID}, nil)
			_, errRules := c.Firewalls.SetRules(ctx, location, "net-default", []cloudapi.FirewallRuleCreateRequest{})
			_, errGet := c.VMs.Restart(ctx, location, "vm")
			for i, err := range []error{errVM, errRules, errGet} {
				if !errors.Is(err, cloudapi.ErrForbidden) {
					t.Errorf("plan %v, call %d: %q, %v", plans, i, outcome, err)
				}
			}
		}
	})
}

// TestManyVMs: the requests of a plan don't depend on the size of the project,
// and what it takes grows with the plan alone.
func TestManyVMs(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	srv.AddVMs(location, "old", 10_000)
	plan := cloudapi.NewPlan(srv.Client())
	c, ctx := plan.Client(), t.Context()
	before := len(srv.Requests())
	for i := range 200 {
		if _, _, err := c.VMs.Ensure(ctx, location, fmt.Sprint("new-", i), &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(srv.Requests()) - before; n != 200 {
		t.Errorf("%d requests for 200 VMs", n)
	}
	vms := stub.Must(cloudapi.Collect(c.VMs.All(ctx, nil)))(t)
	if len(vms) != 10_200 || len(plan.Changes()) != 200 {
		t.Errorf("%d VMs, %d changes", len(vms), len(plan.Changes()))
	}
}
