package cloudapitest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestProjectsOfOneAccount(t *testing.T) {
	t.Parallel()
	srv := New(t, WithProjectName("first"))
	client := srv.Client()
	second := srv.AddProject("second")
	page := stub.Must(client.Projects.List(t.Context(), nil))(t)
	var names []string
	for _, p := range page.Items {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	if want := []string{"first", "second"}; !slices.Equal(names, want) {
		t.Errorf("the projects are %q, want %q", names, want)
	}
	if _, err := client.InProject(second).Firewalls.Create(t.Context(), here, "fw", nil); err != nil {
		t.Errorf("in the second project: %v", err)
	}
	if page, err := client.Firewalls.List(t.Context(), nil); err != nil || len(page.Items) != 0 {
		t.Errorf("the first project has %v, %v, want no firewalls", page, err)
	}
}

// TestPermissions tries the same requests with different permissions.
func TestPermissions(t *testing.T) {
	t.Parallel()
	const token = "pat-other"
	srv := New(t, WithTokenAccess(token, AccessNone), WithDelays(Delays{}))
	srv.AddVMs(here, "load", 1)
	c, ctx := srv.Client(cloudapi.WithToken(token)), t.Context()
	subnet := func() string {
		s, err := srv.Client().PrivateSubnets.Get(ctx, here, "load-net-1")
		if err != nil {
			t.Fatal(err)
		}
		return s.ID
	}()
	srv.SetDelays(cloudapi.KindPostgres, "", Delays{Backup: -time.Hour})
	stub.Must(srv.Client().Postgres.Create(ctx, here, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	stub.Must(srv.Client().PrivateSubnets.Create(ctx, here, "own", nil))(t)
	requests := []struct {
		name string
		do   func() error
	}{
		{"list VMs", func() error {
			page, err := c.VMs.List(ctx, nil)
			if err == nil && len(page.Items) == 0 {
				err = errors.New("an empty list")
			}
			return err
		}},
		{"get VM", func() error { _, err := c.VMs.Get(ctx, here, "load-1"); return err }},
		{"restart VM", func() error { _, err := c.VMs.Restart(ctx, here, "load-1"); return err }},
		{"create VM", func() error {
			name := fmt.Sprint("vm-", len(srv.Requests()))
			_, err := c.VMs.Create(ctx, here, name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", PrivateSubnetID: subnet})
			return err
		}},
		{"delete VM", func() error { return c.VMs.Delete(ctx, here, "load-1") }},
		{"get subnet", func() error { _, err := c.PrivateSubnets.Get(ctx, here, "load-net-1"); return err }},
		{"get firewall", func() error { _, err := c.Firewalls.Get(ctx, here, "load-net-1-default"); return err }},
		{"detach firewall", func() error {
			_, err := c.Firewalls.DetachSubnet(ctx, here, "load-net-1-default", subnet)
			return err
		}},
		{"delete firewall", func() error {
			name := fmt.Sprint("net-", len(srv.Requests()))
			if _, err := srv.Client().PrivateSubnets.Create(ctx, here, name, nil); err != nil {
				t.Error(err)
			}
			return c.Firewalls.Delete(ctx, here, name+"-default")
		}},
		{"delete unused firewall", func() error {
			name := fmt.Sprint("fw-", len(srv.Requests()))
			if _, err := srv.Client().Firewalls.Create(ctx, here, name, nil); err != nil {
				t.Error(err)
			}
			return c.Firewalls.Delete(ctx, here, name)
		}},
		{"get VM by its ID", func() error {
			_, err := c.Projects.ObjectInfo(ctx, srv.ProjectID(), srv.AddVMs(here, fmt.Sprint("more-", len(srv.Requests())), 1)[0])
			return err
		}},
		{"register key", func() error {
			_, err := c.SSHPublicKeys.Create(ctx, &cloudapi.SSHPublicKeyCreateRequest{
				Name: fmt.Sprint("k", len(srv.Requests())), PublicKey: "ssh-ed25519 AAAA",
			})
			return err
		}},
		{"restore database", func() error {
			name := fmt.Sprint("copy-", len(srv.Requests()))
			_, err := c.Postgres.Restore(ctx, here, "db", &cloudapi.PostgresRestoreRequest{Name: name, RestoreTarget: time.Now().Add(-time.Minute)})
			return err
		}},
		{"connect subnets", func() error {
			_, err := c.PrivateSubnets.Connect(ctx, here, "own", subnet)
			return err
		}},
		{"disconnect subnets", func() error {
			_, err := c.PrivateSubnets.Disconnect(ctx, here, "own", subnet)
			return err
		}},
		{"list private locations", func() error { _, err := c.PrivateLocations.List(ctx, nil); return err }},
		{"get project", func() error { _, err := c.Projects.Get(ctx, srv.ProjectID()); return err }},
	}
	for _, tt := range []struct {
		permissions []string
		want        string
	}{
		{nil, ""},
		{[]string{"Vm:view"}, "list VMs, get VM, get VM by its ID"},
		{[]string{"Vm:*"}, "list VMs, get VM, restart VM, delete VM, get VM by its ID"},
		{[]string{"Vm:create", "PrivateSubnet:view"}, "create VM, get subnet"},
		{[]string{"*:view"}, "list VMs, get VM, get subnet, get firewall, get VM by its ID, list private locations, get project"},
		{[]string{"Firewall:*"}, "get firewall, delete unused firewall"}, // subnets need a permission as well
		{[]string{"Firewall:*", "PrivateSubnet:*"}, "get subnet, get firewall, detach firewall, delete firewall, delete unused firewall, connect subnets, disconnect subnets"},
		{[]string{"PrivateSubnet:view"}, "get subnet"},
		{[]string{"PrivateSubnet:connect"}, "connect subnets"},
		{[]string{"PrivateSubnet:disconnect"}, "disconnect subnets"},
		{[]string{"PrivateSubnet:*@" + subnet}, "get subnet"}, // the other subnet needs a permission as well
		{[]string{"PrivateSubnet:connect@" + subnet, "PrivateSubnet:connect@" + srv.IDs(cloudapi.KindPrivateSubnet, "own")[0]}, "connect subnets"},
		{[]string{"Postgres:create"}, ""},
		{[]string{"Postgres:view"}, ""},
		{[]string{"Postgres:view", "Postgres:create"}, "restore database"},
		{[]string{"Postgres:view@" + srv.IDs(cloudapi.KindPostgres, "db")[0], "Postgres:create"}, "restore database"},
		{[]string{"Project:edit"}, "register key"},
		{[]string{"Location:view", "Project:view"}, "list private locations, get project"},
		{nil, ""},
	} {
		srv.SetPermissions(srv.ProjectID(), token, tt.permissions...)
		var permitted []string
		for _, r := range requests {
			if _, _, err := srv.Client().VMs.Ensure(ctx, here, "load-1", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}, nil); err != nil {
				t.Error(err)
			}
			if r.do() == nil {
				permitted = append(permitted, r.name)
			}
		}
		if got := strings.Join(permitted, ", "); got != tt.want {
			t.Errorf("with %q it can %s, want %s", tt.permissions, got, tt.want)
		}
	}
}

// TestPermissionsForSingleObjects: a token sees three of six firewalls, and one
// of two images.
func TestPermissionsForSingleObjects(t *testing.T) {
	t.Parallel()
	const token = "pat-other"
	srv := New(t, WithTokenAccess(token, AccessNone), WithDelays(Delays{}))
	full, c, ctx := srv.Client(), srv.Client(cloudapi.WithToken(token)), t.Context()
	var firewalls, permissions []string
	for i := range 6 {
		f := stub.Must(full.Firewalls.Create(ctx, here, fmt.Sprint("fw-", i), nil))(t)
		if firewalls = append(firewalls, f.ID); i%2 == 0 {
			permissions = append(permissions, "Firewall:view@"+f.ID)
		}
	}
	vm := srv.AddVMs(here, "load", 1)[0]
	stub.Must(full.VMs.Stop(ctx, here, vm))(t)
	for _, name := range []string{"golden", "other"} {
		stub.Must(full.MachineImages.Create(ctx, here, name, &cloudapi.MachineImageCreateRequest{VM: vm, Version: "v1"}))(t)
	}
	permissions = append(permissions, "Firewall:edit@"+firewalls[0], "*@"+srv.IDs(cloudapi.KindMachineImage, "golden")[0])
	srv.SetPermissions(srv.ProjectID(), token, permissions...)

	for _, size := range []int{0, 1, 2} {
		var names []string
		for f, err := range c.Firewalls.All(ctx, &cloudapi.ListOptions{PageSize: size}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, f.Name)
		}
		slices.Sort(names)
		if want := []string{"fw-0", "fw-2", "fw-4"}; !slices.Equal(names, want) {
			t.Errorf("in pages of %d the list has %q, want %q", size, names, want)
		}
	}
	for i, id := range firewalls {
		if _, err := c.Firewalls.Get(ctx, here, id); errors.Is(err, cloudapi.ErrForbidden) != (i%2 == 1) {
			t.Errorf("firewall %d: %v", i, err)
		}
		if _, err := c.Firewalls.CreateRule(ctx, here, id, &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8"}); errors.Is(err, cloudapi.ErrForbidden) != (i > 0) {
			t.Errorf("a rule of firewall %d: %v", i, err)
		}
	}
	if _, err := c.Firewalls.Create(ctx, here, "new", nil); !errors.Is(err, cloudapi.ErrForbidden) {
		t.Errorf("a new firewall: %v", err)
	}
	if page, err := c.MachineImages.ListVersions(ctx, here, "golden", nil); err != nil || len(page.Items) != 1 {
		t.Errorf("the versions of an image: %v, %v", page, err)
	}
	if err := c.MachineImages.DeleteVersion(ctx, here, "other", "v1"); !errors.Is(err, cloudapi.ErrForbidden) {
		t.Errorf("a version of another image: %v", err)
	}
}

// TestHidingAnObject hides one of two firewalls from a token during a watch.
func TestHidingAnObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t)
		c, ctx := srv.Client(), t.Context()
		var resources []cloudapi.Resource
		for _, name := range []string{"shown", "hidden"} {
			f := stub.Must(c.Firewalls.Create(ctx, here, name, nil))(t)
			resources = append(resources, cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: f.ID, Name: name, Location: here})
		}
		events := 0
		var ended error
		for event, err := range c.Firewalls.Watch(ctx, nil) {
			if ended = err; err != nil {
				break
			}
			if event.Type != cloudapi.EventAdded {
				t.Errorf("%s: %v", event.Type, event.Record)
			}
			if events++; events == 2 {
				srv.SetPermissions(srv.ProjectID(), srv.Token(), "Firewall:view@"+resources[0].ID)
			}
		}
		if !errors.Is(ended, cloudapi.ErrForbidden) {
			t.Errorf("the watch ended with %v", ended)
		}
		if existing, err := c.CheckAccess(ctx, resources[0]); err != nil || len(existing) != 1 {
			t.Errorf("%v, %v for the firewall that is shown", existing, err)
		}
		if _, err := c.CheckAccess(ctx, resources...); !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("%v for both", err)
		}
	})
}

// TestPermissionsBelongToTheServer changes the caller's slice after the call.
func TestPermissionsBelongToTheServer(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.AddVMs(here, "load", 1)
	permissions := []string{"Vm:view"}
	srv.SetPermissions(srv.ProjectID(), srv.Token(), permissions...)
	permissions[0] = "Firewall:view"
	if _, err := srv.Client().VMs.Get(t.Context(), here, "load-1"); err != nil {
		t.Error(err)
	}
}

func TestBilling(t *testing.T) {
	t.Parallel()
	srv := New(t, WithDelays(Delays{}))
	c, ctx := srv.Client(), t.Context()
	create := map[string]func() error{
		"vm": func() error {
			_, err := c.VMs.Create(ctx, here, "a", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"})
			return err
		},
		"database": func() error {
			_, err := c.Postgres.Create(ctx, here, "a", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
			return err
		},
		"cluster": func() error {
			_, err := c.Kubernetes.Create(ctx, here, "a", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"})
			return err
		},
	}
	for name, create := range create {
		srv.SetBilling(srv.ProjectID(), false)
		if err := create(); !errors.Is(err, cloudapi.ErrBillingRequired) {
			t.Errorf("%s: %v, want %v", name, err, cloudapi.ErrBillingRequired)
		}
		srv.SetBilling(srv.ProjectID(), true)
		if err := create(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	srv.SetBilling(srv.ProjectID(), false)
	if _, err := c.Firewalls.Create(ctx, here, "free", nil); err != nil {
		t.Errorf("a firewall: %v", err)
	}
}

// TestDelaysOfKindsAndObjects creates VMs and a database that take different times.
func TestDelaysOfKindsAndObjects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t)
		c, ctx := srv.Client(), t.Context()
		srv.SetDelays(cloudapi.KindVM, "", Delays{Create: time.Minute})
		srv.SetDelays(cloudapi.KindVM, "slow", Delays{Create: time.Hour, Delete: time.Hour})
		for _, name := range []string{"any", "slow"} {
			stub.Must(c.VMs.Create(ctx, here, name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))(t)
		}
		stub.Must(c.Postgres.Create(ctx, here, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
		srv.SetDelays(cloudapi.KindVM, "", Delays{Create: 24 * time.Hour}) // for VMs that are created later
		start := time.Now()
		for _, wait := range []struct {
			name string
			for_ func() error
			want time.Duration
		}{
			{"database", func() error { _, err := c.Postgres.WaitRunning(ctx, here, "db", nil); return err }, 3 * time.Second},
			{"VM", func() error { _, err := c.VMs.WaitRunning(ctx, here, "any", nil); return err }, time.Minute},
			{"slow VM", func() error { _, err := c.VMs.WaitRunning(ctx, here, "slow", nil); return err }, time.Hour},
		} {
			if err := wait.for_(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took < wait.want || took > 2*wait.want {
				t.Errorf("the %s takes %v, want %v", wait.name, took, wait.want)
			}
		}
		vm := stub.Must(c.VMs.Get(ctx, here, "slow"))(t)
		srv.SetDelays(cloudapi.KindVM, vm.ID, Delays{Delete: time.Second})
		start = time.Now()
		if err := errors.Join(c.VMs.Delete(ctx, here, "slow"), c.VMs.WaitDeleted(ctx, here, "slow", nil)); err != nil || time.Since(start) > time.Minute {
			t.Errorf("deleted in %v: %v", time.Since(start), err)
		}
	})
}

func TestSettersRefuseWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	tb := &recorder{TB: t}
	srv := New(tb)
	db := stub.Must(srv.Client().Postgres.Create(t.Context(), here, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 128}))(t)
	srv.AddProject("no name")
	srv.SetPermissions(srv.ProjectID(), "pat-unknown")
	srv.SetPermissions("pj0", srv.Token())
	srv.SetPermissions(srv.ProjectID(), srv.Token(), "*", "vm:view")
	srv.SetPermissions(srv.ProjectID(), srv.Token(), "Vm")
	srv.SetPermissions(srv.ProjectID(), srv.Token(), "Vm:start")
	srv.SetPermissions(srv.ProjectID(), srv.Token(), "Postgres:view@orders")
	srv.SetPermissions(srv.AddProject("other"), srv.Token(), "Postgres:view@"+db.ID)
	srv.SetBilling("pj0", true)
	srv.SetFeatures("pj0")
	srv.SetFeatures(srv.ProjectID(), "arm")
	srv.SetDelays(cloudapi.KindSSHPublicKey, "", Delays{})
	srv.SetDelays(cloudapi.KindVM, "", Delays{Create: -1})
	srv.SetDelays("", "web-1", Delays{})
	srv.SetQuota(Quota{VM: -1})
	srv.SetSerialLog(db.ID, "text")
	srv.FailSerialLog("web-1")
	srv.SetState(srv.IDs(cloudapi.KindGitHubCacheEntry, "")[0], "uploaded")
	srv.AddLogLine("orders", cloudapi.PostgresLogEntry{})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{StreamName: "stdout"})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{SeverityLevel: "info"})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{ServerRole: "replica"})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{ServerUBID: "pv0"})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{Timestamp: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{Timestamp: time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))})
	if len(tb.reports) != 25 {
		t.Errorf("%d mistakes are reported, want 25: %q", len(tb.reports), tb.reports)
	}
	for _, report := range tb.reports {
		if !strings.HasPrefix(report, "cloudapitest: ") || strings.Contains(report, "pat-") {
			t.Errorf("reported %q", report)
		}
	}
}

// TestReset changes everything that methods of a server can change, and looks
// for what is left of it.
func TestReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t, WithQuota(Quota{VM: 2, Projects: 9}), WithDelays(Delays{}))
		c, ctx := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})), t.Context()
		create := func(name string) (string, error) {
			vm, err := c.VMs.Create(ctx, here, name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", Size: "standard-2"})
			if err == nil {
				vm, err = c.VMs.Get(ctx, here, vm.ID)
			}
			if err != nil {
				return "", err
			}
			return vm.State, nil
		}
		for round := range 2 {
			if state, err := create("web-1"); state != cloudapi.VMStateRunning || err != nil {
				t.Errorf("round %d: %q, %v, want it running", round, state, err)
			}
			if _, err := create("web-2"); !errors.Is(err, cloudapi.ErrInvalidRequest) {
				t.Errorf("round %d: %v, want the quota of the option", round, err)
			}
			if ids := srv.IDs(cloudapi.KindVM, "web-1"); len(ids) != 1 || len(srv.IDs(cloudapi.KindVM, "")) != 1 || srv.IDs(cloudapi.KindVM, "web-2") != nil {
				t.Errorf("round %d: the IDs are %q", round, ids)
			} else if srv.SetState(ids[0], "stopped"); srv.Requests() == nil {
				t.Errorf("round %d: no request", round)
			}
			srv.SetQuota(Quota{VM: 4})
			srv.SetDelays("", "", Delays{Create: time.Hour})
			if state, err := create("web-3"); state != cloudapi.VMStateCreating || err != nil {
				t.Errorf("round %d: %q, %v, want a VM that takes an hour", round, state, err)
			}
			srv.SetDelays(cloudapi.KindVM, "web-1", Delays{Create: time.Hour})
			srv.SetBilling(srv.ProjectID(), false)
			srv.SetFeatures(srv.ProjectID(), FeatureLantern)
			other := srv.AddProject("other")
			outage := srv.Fail(Match{}, Reply(503, nil, "").Repeating())
			srv.SetPermissions(srv.ProjectID(), srv.Token())

			srv.Reset()
			if n, ids := len(srv.Requests()), srv.IDs(cloudapi.KindVM, ""); n != 0 || ids != nil || outage.Left() != 0 {
				t.Errorf("round %d: %d requests, the VMs %q and %d faults are left", round, n, ids, outage.Left())
			}
			if _, err := c.Projects.Get(ctx, other); !errors.Is(err, cloudapi.ErrNotFound) {
				t.Errorf("round %d: %v, want no other project", round, err)
			}
		}
	})
}

// TestClock: states, the log and the Date of responses follow the given clock.
func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	srv := New(t, WithClock(func() time.Time { return now }), WithDelays(Delays{Create: time.Hour}))
	c, ctx := srv.Client(), t.Context()
	vm, err := c.VMs.Create(ctx, here, "web-1", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"})
	if err != nil {
		t.Fatal(err)
	}
	outage := srv.Fail(Match{Operation: "VMs.List"}, Reply(422, nil, "").For(time.Hour))
	if _, err := c.VMs.List(ctx, nil); !errors.Is(err, cloudapi.ErrInvalidRequest) {
		t.Errorf("%v, want a 422", err)
	}
	for _, step := range []struct {
		by    time.Duration
		state string
		left  int
	}{{0, "creating", 1}, {time.Hour - 1, "creating", 1}, {1, "running", 0}} {
		now = now.Add(step.by)
		if vm, err = c.VMs.Get(ctx, here, vm.ID); err != nil || vm.State != step.state || outage.Left() != step.left {
			t.Errorf("at %v: %v, %v, want it %s; %d faults are left, want %d", now, vm, err, step.state, outage.Left(), step.left)
		}
	}
	response := stub.Must(srv.HTTPClient().Get(srv.URL() + "/project"))(t)
	response.Body.Close()
	requests := srv.Requests()
	if date, at := response.Header.Get("Date"), requests[len(requests)-1].Time; date != "Sat, 02 Jan 2027 04:04:05 GMT" || !at.Equal(now) {
		t.Errorf("the response is of %q, and logged at %v", date, at)
	}
}

// TestSerialLog fetches the serial log of a VM: a text, a failure, and the end
// of a long text with bytes that aren't UTF-8.
func TestSerialLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := New(t)
		client, vm := srv.Client(), srv.AddVMs(here, "web", 1)[0]
		fetch := func() string {
			<-time.After(time.Minute) // before that, the service returns the last result
			stub.Must(client.VMs.SerialLog(t.Context(), here, vm, &cloudapi.VMSerialLogOptions{Refresh: true}))(t)
			log, err := client.VMs.WaitSerialLog(t.Context(), here, vm, nil)
			if err != nil {
				return err.Error()
			}
			return log.Status + " " + log.Output
		}
		if got := fetch(); !strings.HasPrefix(got, "succeeded [    0.000000] Linux") || !strings.HasSuffix(got, "web-1 login: ") {
			t.Errorf("by itself: %q", got)
		}
		srv.FailSerialLog(vm)
		if got := fetch(); !strings.Contains(got, "the service couldn't fetch the log") {
			t.Errorf("a failure: %q", got)
		}
		srv.SetSerialLog(vm, strings.Repeat("x", 1<<16)+"y\xff")
		if got, want := fetch(), "succeeded "+strings.Repeat("x", 1<<16-2)+"y\uFFFD"; got != want {
			t.Errorf("a long text: %d bytes, want %d", len(got), len(want))
		}
	})
}

// TestStatesOfParts sets the states of a database's server and of a cache entry.
func TestStatesOfParts(t *testing.T) {
	t.Parallel()
	srv := New(t, WithDelays(Delays{}))
	client, ctx := srv.Client(), t.Context()
	db := stub.Must(client.Postgres.Create(ctx, here, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, HAType: "async"}))(t)
	entry := srv.IDs(cloudapi.KindGitHubCacheEntry, "")[0]
	show := func() string {
		servers := stub.Must(client.Postgres.ListServers(ctx, here, db.ID))(t)
		srv.SetState(servers.Items[1].ID, "failing_over")
		cached := stub.Must(client.GitHub.GetCacheEntry(ctx, "acme", "app", entry))(t)
		srv.SetState(entry, "uploading")
		return fmt.Sprint(servers.Items[0].State, " ", servers.Items[1].State, " ", cached.Size != nil)
	}
	if got := show(); got != "running running true" {
		t.Errorf("at first: %s", got)
	}
	if got := show(); got != "running failing_over false" {
		t.Errorf("then: %s", got)
	}
}
