package cloudapitest

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
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

// TestPermissionsBelongToTheServer: permissions don't change if the caller
// changes its slice after the call.
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

// TestDelaysOfKindsAndObjects: SetDelays applies to one object, or to all
// others of its kind. A creation that has begun keeps its delay.
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
	srv.SetClusterService(db.ID, 80, 80)
	srv.SetSerialLog(db.ID, "text")
	srv.FailSerialLog("web-1")
	srv.SetState("web-1", "running")
	srv.SetState(srv.ProjectID(), "running")
	srv.SetState(srv.IDs(cloudapi.KindGitHubCacheEntry, "")[0], "uploaded")
	srv.AddLogLine("orders", cloudapi.PostgresLogEntry{})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{StreamName: "stdout"})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{SeverityLevel: "info"})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{ServerRole: "replica"})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{ServerID: "pv0"})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{Timestamp: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
	srv.AddLogLine(db.ID, cloudapi.PostgresLogEntry{Timestamp: time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))})
	if len(tb.reports) != 28 {
		t.Errorf("%d mistakes are reported, want 28: %q", len(tb.reports), tb.reports)
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
	vm := stub.Must(c.VMs.Create(ctx, here, "web-1", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))(t)
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
		if vm, err := c.VMs.Get(ctx, here, vm.ID); err != nil || vm.State != step.state || outage.Left() != step.left {
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

// TestLastYear: certificates and other times that would end after the year 9999.
func TestLastYear(t *testing.T) {
	t.Parallel()
	now := time.Date(9998, 6, 1, 0, 0, 0, 0, time.UTC)
	srv := New(t, immediate, WithClock(func() time.Time { return now }))
	c, ctx := srv.Client(), t.Context()
	stub.Must(c.Postgres.Create(ctx, here, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	for range 2 {
		stub.Must(c.Postgres.Get(ctx, here, "orders"))(t)
		file := stub.Must(c.Postgres.CreateClientKeyPair(ctx, here, "orders", "app", 366*24*time.Hour))(t)
		block, _ := pem.Decode(file.Content)
		if end := stub.Must(x509.ParseCertificate(block.Bytes))(t).NotAfter; end.Year() != 9999 {
			t.Errorf("its end is %v", end)
		}
		now = time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC)
	}
}
