package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const (
	testPgID      = "pggk8wzevxhe1gh7zjzfx5jn70"
	testReplicaID = "pgjr8qs5yp5p3k1g8gfpp0s9av"
	testRuleID    = "pfkvg0ffxbpj5pkddz9xsn95pc"
	testSinkID    = "mdjkkf8b165j4krraw7xr99b53"
	postgresPath  = locationPath + "/postgres"

	testConnection = "postgres://postgres:s3cr%2Fet@orders-db.example.net:5432/postgres?sslmode=require"

	testPgShort = `"id":"` + testPgID + `","name":"orders-db","state":"running","location":"eu-central-h1",` +
		`"vm_size":"standard-2","target_vm_size":"standard-4","storage_size_gib":64,"target_storage_size_gib":128,` +
		`"version":"17","ha_type":"async","flavor":"standard","ca_certificates":"-----BEGIN","maintenance_window_start_at":3,` +
		`"read_replica":false,"parent":null,"tags":[{"key":"team","value":"payments"}]`

	testReplicaShort = `"id":"` + testReplicaID + `","name":"orders-ro","state":"creating","location":"eu-central-h1",` +
		`"vm_size":"standard-2","target_vm_size":"standard-2","storage_size_gib":0,"target_storage_size_gib":64,` +
		`"version":"17","ha_type":"none","flavor":"standard","ca_certificates":null,"maintenance_window_start_at":null,` +
		`"read_replica":true,"parent":"/location/eu-central-h1/postgres/orders-db","tags":[]`

	testRuleJSON = `{"id":"` + testRuleID + `","cidr":"203.0.113.0/24","description":"office"}`

	testPgFull = `{` + testPgShort + `,"connection_string":"` + testConnection + `","primary":true,"firewall_rules":[` + testRuleJSON + `],` +
		`"metric_destinations":[{"id":"` + testSinkID + `","username":"writer","url":"https://prom.example.org/write"}],` +
		`"read_replicas":[{` + testReplicaShort + `}],` +
		`"earliest_restore_time":"2025-10-01T02:15:09Z","latest_restore_time":"2025-10-03T17:40:00.25Z"}`

	// Replicas have no restore times, and null for values that aren't known
	// yet.
	testReplicaFull = `{` + testReplicaShort + `,"connection_string":null,"primary":null,"firewall_rules":[],` +
		`"metric_destinations":[],"read_replicas":[]}`
)

func testPostgresShort() *cloudapi.Postgres {
	return &cloudapi.Postgres{
		ID: testPgID, Name: "orders-db", State: "running", Location: "eu-central-h1",
		VMSize: "standard-2", TargetVMSize: "standard-4", StorageSizeGiB: 64, TargetStorageSizeGiB: 128,
		Version: "17", HAType: "async", Flavor: "standard", CACertificates: "-----BEGIN",
		MaintenanceWindowStartAt: new(3), Tags: []cloudapi.PostgresTag{{Key: "team", Value: "payments"}},
	}
}

func testReplica() *cloudapi.Postgres {
	return &cloudapi.Postgres{
		ID: testReplicaID, Name: "orders-ro", State: "creating", Location: "eu-central-h1",
		VMSize: "standard-2", TargetVMSize: "standard-2", TargetStorageSizeGiB: 64,
		Version: "17", HAType: "none", Flavor: "standard",
		ReadReplica: true, Parent: "/location/eu-central-h1/postgres/orders-db", Tags: []cloudapi.PostgresTag{},
	}
}

func testReplicaDetailed() *cloudapi.Postgres {
	p := testReplica()
	p.FirewallRules, p.MetricDestinations, p.ReadReplicas = []cloudapi.PostgresFirewallRule{}, []cloudapi.PostgresMetricDestination{}, []cloudapi.Postgres{}
	return p
}

func testRule() *cloudapi.PostgresFirewallRule {
	return &cloudapi.PostgresFirewallRule{ID: testRuleID, CIDR: "203.0.113.0/24", Description: "office"}
}

func testPostgresFull() *cloudapi.Postgres {
	p := testPostgresShort()
	p.ConnectionString = cloudapi.NewSecret(testConnection)
	p.Primary = true
	p.FirewallRules = []cloudapi.PostgresFirewallRule{*testRule()}
	p.MetricDestinations = []cloudapi.PostgresMetricDestination{{ID: testSinkID, Username: "writer", URL: "https://prom.example.org/write"}}
	p.ReadReplicas = []cloudapi.Postgres{*testReplica()}
	p.EarliestRestoreTime = time.Date(2025, 10, 1, 2, 15, 9, 0, time.UTC)
	p.LatestRestoreTime = time.Date(2025, 10, 3, 17, 40, 0, 250_000_000, time.UTC)
	return p
}

func TestPostgresWire(t *testing.T) {
	t.Parallel()
	const (
		location = "eu-central-h1"
		item     = postgresPath + "/orders-db"
		page     = `{"items":[{` + testPgShort + `},{` + testReplicaShort + `}],"count":2}`
	)
	full, short := testPostgresFull(), testPostgresShort()
	items := []*cloudapi.Postgres{short, testReplica()}
	cases := []wireCase{
		{
			method: "GET", target: projectPath + "/postgres", reply: page,
			call: calls("Postgres.List", nil),
			want: &cloudapi.Page[cloudapi.Postgres]{Items: items, Count: new(2), Next: testReplicaID},
		},
		{
			name: "list by name", method: "GET", target: postgresPath + "?order_column=name&start_after=a", reply: page,
			call: calls("Postgres.List", &cloudapi.ListOptions{Location: location, OrderColumn: cloudapi.OrderByName, StartAfter: "a"}),
			want: &cloudapi.Page[cloudapi.Postgres]{Items: items, Count: new(2), Next: "orders-ro"},
		},
		{
			name: "all", method: "GET", target: postgresPath + "?page_size=1000", reply: page,
			call: calls("Postgres.All", &cloudapi.ListOptions{Location: location}),
			want: items,
		},
		{
			name: "get", method: "GET", target: item, reply: testPgFull, want: full,
			call: calls("Postgres.Get", location, "orders-db"),
		},
		{
			name: "get a replica", method: "GET", target: postgresPath + "/" + testReplicaID, reply: testReplicaFull, want: testReplicaDetailed(),
			call: calls("Postgres.Get", location, testReplicaID),
		},
		{
			name: "create", method: "POST", target: item, reply: testPgFull, want: full,
			body: `{"size":"standard-2","storage_size":64}`,
			call: calls("Postgres.Create", location, "orders-db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}),
		},
		{
			name: "create with everything", method: "POST", target: item, reply: testPgFull, want: full,
			body: `{"size":"standard-2","storage_size":64,"flavor":"paradedb","ha_type":"sync","version":"16",` +
				`"restrict_by_default":false,"tags":[{"key":"team","value":"payments"}]}`,
			call: calls("Postgres.Create", location, "orders-db", &cloudapi.PostgresCreateRequest{
				Size: "standard-2", StorageSize: 64, Flavor: cloudapi.PostgresFlavorParadeDB, HAType: cloudapi.PostgresHATypeSync, Version: "16",
				RestrictByDefault: new(false), Tags: []cloudapi.PostgresTag{{Key: "team", Value: "payments"}},
			}),
		},
		{
			name: "create with everything, service", method: "POST", target: item, reply: testPgFull, want: full,
			body: `{"size":"hobby-1","storage_size":16,"private_subnet_name":"db-net","pg_config":{"work_mem":"8MB"},"pgbouncer_config":{"pool_mode":"session"}}`,
			call: calls("Postgres.Create", location, "orders-db", &cloudapi.PostgresCreateRequest{
				Size: "hobby-1", StorageSize: 16, PrivateSubnetName: "db-net",
				PGConfig: map[string]string{"work_mem": "8MB"}, PgBouncerConfig: map[string]string{"pool_mode": "session"},
			}),
		},
		{
			name: "update nothing", method: "PATCH", target: item, reply: testPgFull, want: full,
			body: `{}`,
			call: calls("Postgres.Update", location, "orders-db", nil),
		},
		{
			name: "update everything", method: "PATCH", target: item, reply: testPgFull, want: full,
			body: `{"size":"standard-4","storage_size":128,"ha_type":"none","tags":[{"key":"team","value":"payments"}]}`,
			call: calls("Postgres.Update", location, "orders-db", &cloudapi.PostgresUpdateRequest{
				Size: "standard-4", StorageSize: 128, HAType: cloudapi.PostgresHATypeNone, Tags: []cloudapi.PostgresTag{{Key: "team", Value: "payments"}},
			}),
		},
		{
			name: "update to no tags", method: "PATCH", target: item, reply: testPgFull, want: full,
			body: `{"tags":[]}`,
			call: calls("Postgres.Update", location, "orders-db", &cloudapi.PostgresUpdateRequest{Tags: []cloudapi.PostgresTag{}}),
		},
		{
			name: "delete", method: "DELETE", target: item,
			call: calls("Postgres.Delete", location, "orders-db"),
		},
		{
			name: "CA certificates", method: "GET", target: item + "/ca-certificates", reply: testPEM,
			header: http.Header{
				"Content-Type":        {"application/x-pem-file"},
				"Content-Disposition": {`attachment; filename="orders-db.pem"`},
			},
			call: calls("Postgres.CACertificates", location, "orders-db"),
			want: &cloudapi.File{Name: "orders-db.pem", ContentType: "application/x-pem-file", Content: []byte(testPEM)},
		},
		{
			name: "promote", method: "POST", target: postgresPath + "/orders-ro/promote", reply: `{` + testReplicaShort + `}`, want: testReplica(),
			call: calls("Postgres.Promote", location, "orders-ro"),
		},
		{
			name: "create a read replica", method: "POST", target: item + "/read-replica", reply: testReplicaFull, want: testReplicaDetailed(),
			body: `{"name":"orders-ro"}`,
			call: calls("Postgres.CreateReadReplica", location, "orders-db", "orders-ro", nil),
		},
		{
			name: "promote by the new name", method: "POST", target: postgresPath + "/orders-ro/promote-read-replica",
			reply: `{` + testReplicaShort + `}`, want: testReplica(),
			call: calls("Postgres.PromoteReadReplica", location, "orders-ro"),
		},
		{
			name: "create a read replica that differs", method: "POST", target: item + "/read-replica", reply: testReplicaFull, want: testReplicaDetailed(),
			body: `{"name":"orders-ro","pg_config":{"work_mem":"4MB"},"pgbouncer_config":{},"tags":[{"key":"r","value":"1"}]}`,
			call: calls("Postgres.CreateReadReplica", location, "orders-db", "orders-ro", &cloudapi.PostgresReadReplicaOptions{
				PGConfig: map[string]string{"work_mem": "4MB"}, PgBouncerConfig: map[string]string{}, Tags: []cloudapi.PostgresTag{{Key: "r", Value: "1"}},
			}),
		},
		{
			name: "restore with everything", method: "POST", target: item + "/restore", reply: testPgFull, want: full,
			body: `{"name":"orders-db","restore_target":"2025-10-03T10:30:00Z","pg_config":{"work_mem":"8MB"},"pgbouncer_config":{"pool_mode":"session"},"tags":[]}`,
			call: calls("Postgres.Restore", location, "orders-db", &cloudapi.PostgresRestoreRequest{
				Name: "orders-db", RestoreTarget: time.Date(2025, 10, 3, 10, 30, 0, 0, time.UTC), Tags: []cloudapi.PostgresTag{},
				PGConfig: map[string]string{"work_mem": "8MB"}, PgBouncerConfig: map[string]string{"pool_mode": "session"},
			}),
		},
		{
			name: "maintenance window on some days", method: "POST", target: item + "/set-maintenance-window", reply: testPgFull, want: full,
			body: `{"maintenance_window_start_at":22,"maintenance_window_days":["mon","thu"]}`,
			call: calls("Postgres.SetMaintenanceWindow", location, "orders-db", new(22), "mon", "thu"),
		},
		{
			name: "rename", byName: true, method: "POST", target: locationPath + "/postgres/old/rename", reply: `{` + testPgShort + `}`, want: short,
			body: `{"name":"orders-db"}`,
			call: calls("Postgres.Rename", location, "old", "orders-db"),
		},
		{
			name: "reset the password", method: "POST", target: item + "/reset-superuser-password", reply: testPgFull, want: full,
			body: `{"password":"Corr3ct-\"Horse\""}`,
			call: calls("Postgres.ResetSuperuserPassword", location, "orders-db", cloudapi.NewSecret(`Corr3ct-"Horse"`)),
		},
		{
			name: "restart", method: "POST", target: item + "/restart", reply: testPgFull, want: full,
			call: calls("Postgres.Restart", location, "orders-db"),
		},
		{
			name: "restore with nil", method: "POST", target: item + "/restore", reply: testPgFull, want: full,
			body: `{"name":"","restore_target":"0001-01-01T00:00:00Z"}`,
			call: calls("Postgres.Restore", location, "orders-db", nil),
		},
	}
	for body, target := range map[string]time.Time{
		"2025-10-03T10:30:00Z":           time.Date(2025, 10, 3, 10, 30, 0, 0, time.UTC),
		"2025-10-03T08:30:00Z":           time.Date(2025, 10, 3, 10, 30, 0, 0, time.FixedZone("", 2*60*60)),
		"2025-10-03T10:30:00.123456789Z": time.Date(2025, 10, 3, 10, 30, 0, 123456789, time.UTC),
	} {
		cases = append(cases, wireCase{
			name: "restore to " + body, method: "POST", target: item + "/restore", reply: testPgFull, want: full,
			body: `{"name":"orders-db","restore_target":"` + body + `"}`,
			call: calls("Postgres.Restore", location, "orders-db", &cloudapi.PostgresRestoreRequest{Name: "orders-db", RestoreTarget: target}),
		})
	}
	for body, hour := range map[string]*int{
		`{}`:                                 nil,
		`{"maintenance_window_start_at":0}`:  new(0),
		`{"maintenance_window_start_at":23}`: new(23),
	} {
		cases = append(cases, wireCase{
			name: "maintenance window " + body, method: "POST", target: item + "/set-maintenance-window", reply: testPgFull, want: full,
			body: body,
			call: calls("Postgres.SetMaintenanceWindow", location, "orders-db", hour),
		})
	}
	cases = append(cases, postgresConfigCases()...)
	cases = append(cases, postgresFirewallCases()...)
	cases = append(cases, postgresMetricsCases()...)
	cases = append(cases, postgresDestinationCases()...)
	cases = append(cases, postgresBackupCases()...)
	cases = append(cases, postgresCapabilityCases()...)
	cases = append(cases, postgresCertificateCases()...)
	cases = append(cases, postgresLogCases()...)
	cases = append(cases, postgresServerCases()...)
	cases = append(cases, postgresUpgradeCases()...)
	runWireCases(t, "Postgres", cases)
}

func TestPostgresNullAndZero(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*int{
		`{"maintenance_window_start_at":null}`: nil,
		`{}`:                                   nil,
		`{"maintenance_window_start_at":0}`:    new(0),
	} {
		var p cloudapi.Postgres
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		got := p.MaintenanceWindowStartAt
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("of %s the maintenance window is %v", text, got)
		}
	}
	var p cloudapi.Postgres
	if err := json.Unmarshal([]byte(`{"earliest_restore_time":null,"latest_restore_time":"2025-10-03T17:40:00Z"}`), &p); err != nil {
		t.Fatal(err)
	}
	if !p.EarliestRestoreTime.IsZero() || p.LatestRestoreTime.Unix() != 1759513200 {
		t.Errorf("before the first backup the restore times are %v and %v", p.EarliestRestoreTime, p.LatestRestoreTime)
	}
}

func TestPostgresSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const password = `Corr3ct-"Horse"`
	sink := &cloudapi.PostgresMetricDestinationCreateRequest{URL: "https://prom.example.org", Username: "writer", Password: cloudapi.NewSecret(password)}
	logs := &cloudapi.PostgresLogDestinationCreateRequest{Options: &cloudapi.PostgresLogDestinationOptions{
		Headers: map[string]cloudapi.Secret{"a": cloudapi.NewSecret(password)}, StructuredData: map[string]map[string]cloudapi.Secret{"a": {"b": cloudapi.NewSecret(password)}}}}
	token := &cloudapi.PostgresMetricDestinationCreateRequest{Options: &cloudapi.PostgresMetricDestinationOptions{
		Authorization: &cloudapi.PostgresMetricAuthorization{Credentials: cloudapi.NewSecret(password)}}}
	header := &cloudapi.PostgresMetricDestinationCreateRequest{Options: &cloudapi.PostgresMetricDestinationOptions{Headers: map[string]cloudapi.Secret{"a": cloudapi.NewSecret(password)}}}
	texts := []string{
		fmt.Sprintf("%v %+v %#v", testPostgresFull(), testPostgresFull(), *testPostgresFull()),
		fmt.Sprintf("%v %+v %#v", logs, token, *header),
		string(stub.JSON([]any{logs, token, header})),
		string(stub.JSON(testPostgresFull())),
		fmt.Sprintf("%v %+v %#v", sink, sink, *sink),
		string(stub.JSON(sink)),
	}
	// A server may repeat the body that it refuses.
	client := sdktest.Answering(t, 400, "application/json",
		`{"error":{"code":400,"type":"BadRequest","message":"Corr3ct-\"Horse\" is too short","details":{"password":["Corr3ct-\"Horse\""]}}}`)
	for _, call := range []func() error{
		func() error {
			_, err := client.Postgres.ResetSuperuserPassword(t.Context(), "eu-central-h1", "orders-db", cloudapi.NewSecret(password))
			return err
		},
		func() error {
			_, err := client.Postgres.CreateMetricDestination(t.Context(), "eu-central-h1", "orders-db", sink)
			return err
		},
		func() error {
			_, err := client.Postgres.CreateMetricDestination(t.Context(), "eu-central-h1", "orders-db", token)
			return err
		},
		func() error {
			_, err := client.Postgres.CreateMetricDestination(t.Context(), "eu-central-h1", "orders-db", header)
			return err
		},
		func() error {
			_, err := client.Postgres.CreateLogDestination(t.Context(), "eu-central-h1", "orders-db", logs)
			return err
		},
	} {
		e, ok := errors.AsType[*cloudapi.Error](call())
		if !ok || e.Message != "[redacted] is too short" {
			t.Fatalf("the error is %v", e)
		}
		texts = append(texts, e.Error(), fmt.Sprintf("%+v", *e), string(e.Details))
	}
	for _, text := range texts {
		if strings.Contains(text, "Corr3ct") || strings.Contains(text, "s3cr") {
			t.Errorf("a secret shows in %s", text)
		}
	}
}

func TestPostgresWaits(t *testing.T) {
	t.Parallel()
	type change func(*cloudapi.Postgres)
	// record returns the database as the server shows it after a change.
	record := func(changes ...change) *cloudapi.Postgres {
		p := testPostgresShort()
		p.TargetVMSize, p.TargetStorageSizeGiB = p.VMSize, p.StorageSizeGiB
		for _, c := range changes {
			c(p)
		}
		return p
	}
	show := func(changes ...change) string { return string(stub.JSON(record(changes...))) }
	state := func(s string) change { return func(p *cloudapi.Postgres) { p.State = s } }
	resizing := func(p *cloudapi.Postgres) { p.TargetVMSize = "standard-4" }
	fallback := func(p *cloudapi.Postgres) { p.FallbackActive = true }
	growing := func(p *cloudapi.Postgres) { p.TargetStorageSizeGiB = 128 }
	replica := func(p *cloudapi.Postgres) {
		p.ReadReplica, p.Parent = true, "/location/eu-central-h1/postgres/orders-main"
	}
	orphan := func(p *cloudapi.Postgres) { p.ReadReplica = true }
	restored := func(p *cloudapi.Postgres) { p.Parent = "/location/eu-central-h1/postgres/orders-main" }

	const location, name = "eu-central-h1", "orders-db"
	running := calls("Postgres.WaitRunning", location, name)
	resized := calls("Postgres.WaitResized", location, name)
	promoted := calls("Postgres.WaitPromoted", location, name)
	deleted := calls("Postgres.WaitDeleted", location, name)

	runWaitCases(t, postgresPath+"/"+name, []waitCase{
		{
			name: "running", wait: running, slow: true, want: record(),
			polls: []string{show(state("creating")), show(state("unavailable")), show(state("restoring_backup")), show()},
		},
		{
			name: "deleted before it runs", wait: running, slow: true, err: cloudapi.ErrWaitFailed,
			polls: []string{show(state("creating")), show(state("deleting"))},
		},
		{
			name: "gone before it runs", wait: running, slow: true, err: cloudapi.ErrNotFound,
			polls: []string{show(state("creating")), stub.Envelope(404)},
		},
		{
			name: "resized", wait: resized, slow: true, want: record(),
			polls: []string{
				show(resizing, growing), show(resizing), show(growing),
				show(resizing, state("creating")), show(state("creating")), show(state("unavailable")), show(),
			},
		},
		{
			name: "resized to another instance type", wait: resized, slow: true, want: record(resizing, fallback),
			polls: []string{show(resizing), show(resizing, growing, fallback), show(resizing, fallback)},
		},
		{
			name: "deleted before it is resized", wait: resized, slow: true, err: cloudapi.ErrWaitFailed,
			polls: []string{show(resizing), show(resizing, state("deleting"))},
		},
		{
			name: "promoted", wait: promoted, slow: true, want: record(),
			polls: []string{show(replica), show(replica, state("creating")), show(orphan), show(state("creating")), show()},
		},
		{
			name: "a parent does not make a replica", wait: promoted, slow: true, want: record(restored),
			polls: []string{show(restored)},
		},
		{
			name: "deleted before it is promoted", wait: promoted, slow: true, err: cloudapi.ErrWaitFailed,
			polls: []string{show(replica), show(replica, state("deleting"))},
		},
		{
			name: "deleted", wait: deleted, slow: true,
			polls: []string{show(), show(state("deleting")), show(state("deleting")), stub.Envelope(403), stub.Envelope(404)},
		},
	})
}

const testPEM = "-----BEGIN CERTIFICATE-----\nUExBQ0VIT0xERVIx\n-----END CERTIFICATE-----\n\n" +
	"-----BEGIN CERTIFICATE-----\nUExBQ0VIT0xERVIy\n-----END CERTIFICATE-----\n"
