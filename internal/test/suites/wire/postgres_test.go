package wire_test

//lint:file-ignore SA1019 the contract has only Promote

import (
	"fmt"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const (
	pgID         = "pggk8wzevxhe1gh7zjzfx5jn70"
	replicaID    = "pgjr8qs5yp5p3k1g8gfpp0s9av"
	pgRuleID     = "pfkvg0ffxbpj5pkddz9xsn95pc"
	sinkID       = "mdjkkf8b165j4krraw7xr99b53"
	postgresPath = locationPath + "/postgres"
	orders       = postgresPath + "/orders-db"

	pgItem = `{"id":"` + pgID + `","name":"orders-db","state":"running","location":"eu-central-h1",` +
		`"vm_size":"standard-2","target_vm_size":"standard-4","storage_size_gib":64,"target_storage_size_gib":128,` +
		`"version":"17","ha_type":"async","flavor":"standard","ca_certificates":"-----BEGIN","maintenance_window_start_at":3,` +
		`"read_replica":false,"parent":null,"tags":[{"key":"team","value":"payments"}]}`
	replicaItem = `{"id":"` + replicaID + `","name":"orders-ro","state":"creating","location":"eu-central-h1",` +
		`"vm_size":"standard-2","target_vm_size":"standard-2","storage_size_gib":0,"target_storage_size_gib":64,` +
		`"version":"17","ha_type":"none","flavor":"standard","ca_certificates":null,"maintenance_window_start_at":null,` +
		`"read_replica":true,"parent":"/location/eu-central-h1/postgres/orders-db","tags":[]}`
	pgRule = `{"id":"` + pgRuleID + `","cidr":"203.0.113.0/24","description":"office"}`
)

var (
	pgFull = with(pgItem, `"connection_string":"postgres://postgres:s3cr%2Fet@orders-db.example.net:5432/postgres?sslmode=require","primary":true,`+
		`"firewall_rules":[`+pgRule+`],"metric_destinations":[{"id":"`+sinkID+`","username":"writer","url":"https://prom.example.org/write","auth_methods":["basic_auth"]}],`+
		`"read_replicas":[`+replicaItem+`],"earliest_restore_time":"2025-10-01T02:15:09Z","latest_restore_time":"2025-10-03T17:40:00.25Z"`)

	pgService = with(pgFull, `"target_version":"18","target_server_count":2,"fallback_active":true,"created_at":"2025-10-01T02:00:09Z",`+
		`"maintenance_window_days":["mon"],"private_connection_string":"postgres://postgres:s3cr%2Fet@private.orders-db.example.net:5432/postgres",`+
		`"hostname":"orders-db.example.net","username":"postgres","password":"s3cr/et",`+
		`"log_destinations":[{"id":"1d8mzs2pcd3t6kd0ywtvkz9v2c","name":"logs","type":"otlp","url":"https://logs.example.org"}]`)

	// A replica has no restore times. Values that aren't known yet are null.
	replicaFull = with(replicaItem, `"connection_string":null,"primary":null,"firewall_rules":[],"metric_destinations":[],"read_replicas":[]`)
)

func postgresCases() []wireCase {
	create := func(request cloudapi.PostgresCreateRequest) sdktest.Call {
		return do("Postgres.Create", location, "orders-db", &request)
	}
	update := func(request cloudapi.PostgresUpdateRequest) sdktest.Call {
		return do("Postgres.Update", location, "orders-db", &request)
	}
	restore := func(request cloudapi.PostgresRestoreRequest) sdktest.Call {
		return do("Postgres.Restore", location, "orders-db", "orders-db", &request)
	}
	replica := func(request *cloudapi.PostgresReadReplicaCreateRequest) sdktest.Call {
		return do("Postgres.CreateReadReplica", location, "orders-db", "orders-ro", request)
	}
	window := func(hour *int, days ...string) sdktest.Call {
		return do("Postgres.SetMaintenanceWindow", location, "orders-db",
			&cloudapi.PostgresMaintenanceWindowRequest{StartAt: hour, Days: days})
	}
	tags := []cloudapi.PostgresTag{{Key: "team", Value: "payments"}}
	half := time.Date(2025, 10, 3, 10, 30, 0, 0, time.UTC)
	return []wireCase{
		{do("Postgres.List", nil), "GET " + projectPath + "/postgres", list(pgItem, replicaItem)},
		{do("Postgres.List", &cloudapi.ListOptions{Location: location, OrderColumn: cloudapi.OrderByName, StartAfter: "a"}),
			"GET " + postgresPath + "?order_column=name&start_after=a", list(pgItem, replicaItem)},
		{do("Postgres.All", &cloudapi.ListOptions{Location: location}), "GET " + postgresPath + "?page_size=1000", list(pgItem, replicaItem)},
		{do("Postgres.Get", location, "orders-db"), "GET " + orders, pgFull},
		{do("Postgres.Get", location, pgID), "GET " + postgresPath + "/" + pgID, pgService},
		{do("Postgres.Get", location, replicaID), "GET " + postgresPath + "/" + replicaID, replicaFull},
		{create(cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}), "POST " + orders + ` {"size":"standard-2","storage_size":64}`, pgFull},
		{
			create(cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, Flavor: cloudapi.PostgresFlavorParadeDB,
				HAType: cloudapi.PostgresHATypeSync, Version: "16", RestrictByDefault: new(false), Tags: tags}),
			"POST " + orders + ` {"size":"standard-2","storage_size":64,"flavor":"paradedb","ha_type":"sync","version":"16",` +
				`"restrict_by_default":false,"tags":[{"key":"team","value":"payments"}]}`,
			pgFull,
		},
		{
			create(cloudapi.PostgresCreateRequest{Size: "hobby-1", StorageSize: 16, PrivateSubnetName: "db-net",
				PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("8MB"), "max_connections": {}}, PgBouncerConfig: cloudapi.PostgresSettings{"pool_mode": cloudapi.NewPostgresSetting("session")}}),
			"POST " + orders + ` {"size":"hobby-1","storage_size":16,"private_subnet_name":"db-net",` +
				`"pg_config":{"work_mem":"8MB"},"pgbouncer_config":{"pool_mode":"session"}}`,
			pgFull,
		},
		{do("Postgres.Update", location, "orders-db", nil), "PATCH " + orders + " {}", pgFull},
		{update(cloudapi.PostgresUpdateRequest{Size: "standard-4", StorageSize: 128, HAType: cloudapi.PostgresHATypeNone, Tags: tags}),
			"PATCH " + orders + ` {"size":"standard-4","storage_size":128,"ha_type":"none","tags":[{"key":"team","value":"payments"}]}`, pgFull},
		{update(cloudapi.PostgresUpdateRequest{Tags: []cloudapi.PostgresTag{}}), "PATCH " + orders + ` {"tags":[]}`, pgFull},
		{do("Postgres.Delete", location, "orders-db"), "DELETE " + orders, nil},
		{do("Postgres.Rename", location, "old", "orders-db"), "POST " + postgresPath + `/old/rename {"name":"orders-db"}`, pgItem},
		{do("Postgres.Restart", location, "orders-db"), "POST " + orders + "/restart", pgFull},
		{do("Postgres.ResetSuperuserPassword", location, "orders-db", cloudapi.NewSecret(`Corr3ct-"Horse"`)),
			"POST " + orders + `/reset-superuser-password {"password":"Corr3ct-\"Horse\""}`, pgFull},
		{do("Postgres.Promote", location, "orders-ro"), "POST " + postgresPath + "/orders-ro/promote", replicaItem},
		{do("Postgres.PromoteReadReplica", location, "orders-ro"), "POST " + postgresPath + "/orders-ro/promote-read-replica", replicaItem},
		{replica(nil), "POST " + orders + `/read-replica {"name":"orders-ro"}`, replicaFull},
		{replica(&cloudapi.PostgresReadReplicaCreateRequest{PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting(4096)}, PgBouncerConfig: cloudapi.PostgresSettings{}, Tags: tags}),
			"POST " + orders + `/read-replica {"name":"orders-ro","pg_config":{"work_mem":"4096"},"pgbouncer_config":{},"tags":[{"key":"team","value":"payments"}]}`, replicaFull},

		{do("Postgres.Restore", location, "orders-db", "", nil), "POST " + orders + `/restore {"name":"","restore_target":"0001-01-01T00:00:00Z"}`, pgFull},
		{
			restore(cloudapi.PostgresRestoreRequest{RestoreTarget: half, Tags: []cloudapi.PostgresTag{},
				PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("8MB")}, PgBouncerConfig: cloudapi.PostgresSettings{"pool_mode": cloudapi.NewPostgresSetting("session")}}),
			"POST " + orders + `/restore {"name":"orders-db","restore_target":"2025-10-03T10:30:00Z","pg_config":{"work_mem":"8MB"},"pgbouncer_config":{"pool_mode":"session"},"tags":[]}`,
			pgFull,
		},
		{restore(cloudapi.PostgresRestoreRequest{RestoreTarget: half.Add(123456789).In(time.FixedZone("", 2*60*60))}),
			"POST " + orders + `/restore {"name":"orders-db","restore_target":"2025-10-03T10:30:00.123456789Z"}`, pgFull},
		{window(nil), "POST " + orders + "/set-maintenance-window {}", pgFull},
		{window(new(0)), "POST " + orders + `/set-maintenance-window {"maintenance_window_start_at":0}`, pgFull},
		{window(new(22), "mon", "thu"), "POST " + orders + `/set-maintenance-window {"maintenance_window_start_at":22,"maintenance_window_days":["mon","thu"]}`, pgFull},
	}
}

func TestPostgresWaits(t *testing.T) {
	t.Parallel()
	type change func(*cloudapi.Postgres)
	// show returns the JSON of the database after the changes.
	show := func(changes ...change) string {
		p := cloudapi.Postgres{ID: pgID, Name: "orders-db", Location: location, State: "running",
			VMSize: "standard-2", TargetVMSize: "standard-2", StorageSizeGiB: 64, TargetStorageSizeGiB: 64, Version: "17"}
		for _, c := range changes {
			c(&p)
		}
		return string(stub.JSON(p))
	}
	state := func(s string) change { return func(p *cloudapi.Postgres) { p.State = s } }
	resizing := func(p *cloudapi.Postgres) { p.TargetVMSize = "standard-4" }
	fallback := func(p *cloudapi.Postgres) { p.FallbackActive = true }
	growing := func(p *cloudapi.Postgres) { p.TargetStorageSizeGiB = 128 }
	restored := func(p *cloudapi.Postgres) { p.Parent = "/location/eu-central-h1/postgres/orders-main" }
	orphan := func(p *cloudapi.Postgres) { p.ReadReplica = true }
	replica := func(p *cloudapi.Postgres) { restored(p); orphan(p) }
	creating, deleting := state("creating"), state("deleting")
	wait := func(method string) sdktest.Call { return do("Postgres."+method, location, "orders-db") }
	runWaits(t, slow, orders, []waitCase{
		{"running", wait("WaitRunning"), polls{show(creating), show(state("unavailable")), show(state("restoring_backup")), show()}, nil, ""},
		{"deleted before it runs", wait("WaitRunning"), polls{show(creating), show(deleting)}, cloudapi.ErrWaitFailed, ""},
		{"gone before it runs", wait("WaitRunning"), polls{show(creating), stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"resized", wait("WaitResized"), polls{
			show(resizing, growing), show(resizing), show(growing), show(resizing, creating), show(creating), show(state("unavailable")), show(),
		}, nil, ""},
		{"resized to another instance type", wait("WaitResized"), polls{show(resizing), show(resizing, growing, fallback), show(resizing, fallback)}, nil, ""},
		{"deleted before it is resized", wait("WaitResized"), polls{show(resizing), show(resizing, deleting)}, cloudapi.ErrWaitFailed, ""},
		{"promoted", wait("WaitPromoted"), polls{show(replica), show(replica, creating), show(orphan), show(creating), show()}, nil, ""},
		{"a parent does not make a replica", wait("WaitPromoted"), polls{show(restored)}, nil, ""},
		{"deleted before it is promoted", wait("WaitPromoted"), polls{show(replica), show(replica, deleting)}, cloudapi.ErrWaitFailed, ""},
		{"deleted", wait("WaitDeleted"), polls{show(), show(deleting), show(deleting), stub.Envelope(403), stub.Envelope(404)}, nil, ""},
	})

	upgrade := func(version, state, status string) string {
		target := map[bool]string{true: "18"}[version != ""]
		reply := `{"current_version":"17","target_version":"18","upgrade_status":"` + status + `","upgrade_stage":null}`
		switch status {
		case "": // the response for a database that isn't being upgraded
			reply = stub.Envelope(400)
		case "unknown":
			reply = stub.Envelope(500)
		}
		return `{"id":"` + pgID + `","state":"` + state + `","version":"` + version + `","target_version":"` + target + `"}` + "\n" + reply
	}
	runWaits(t, slow, orders+" "+orders+"/upgrade", []waitCase{
		{"upgraded", wait("WaitUpgraded"), polls{
			upgrade("17", "running", ""), upgrade("17", "running", "running"), upgrade("17", "unavailable", "running"),
			upgrade("18", "running", "unknown"), upgrade("18", "running", "running"), // until the last server is replaced
			upgrade("18", "unavailable", ""), upgrade("18", "running", ""),
		}, nil, ""},
		{"nothing to upgrade", wait("WaitUpgraded"), polls{upgrade("18", "running", "")}, nil, ""},
		{"a failed upgrade", wait("WaitUpgraded"), polls{upgrade("17", "running", "running"), upgrade("17", "running", "failed")}, cloudapi.ErrWaitFailed, ""},
		{"a failed upgrade between unknown versions", wait("WaitUpgraded"), polls{upgrade("", "running", "failed")}, cloudapi.ErrWaitFailed, ""},
		{"deleted during the upgrade", wait("WaitUpgraded"), polls{upgrade("17", "running", "running"), upgrade("17", "deleting", "")}, cloudapi.ErrWaitFailed, ""},
	})

	const a, b = "pvqc6200000000000000000000", "pv3jqr00000000000000000000"
	servers := func(state string, count int, roles ...string) string { // in the order role, state, synchronization_status
		var items []string
		for i, id := range []string{a, b} {
			if len(roles) > 3*i && roles[3*i] != "" {
				items = append(items, fmt.Sprintf(`{"id":%q,"role":%q,"state":%q,"synchronization_status":%q}`, id, roles[3*i], roles[3*i+1], roles[3*i+2]))
			}
		}
		return fmt.Sprintf(`{"id":%q,"state":%q,"target_server_count":%d}`, pgID, state, count) + "\n" + list(items...)
	}
	old := servers("running", 1, "primary", "running", "ready")
	recycled, settled := do("Postgres.WaitRecycled", location, "orders-db", a), wait("WaitServers")
	runWaits(t, slow, orders+" "+orders+"/servers", []waitCase{
		{"recycled", recycled, polls{
			old,
			servers("running", 1, "primary", "running", "ready", "standby", "creating", "catching_up"),
			servers("running", 1, "primary", "running", "ready", "standby", "running", "ready"),
			servers("running", 1, "primary", "running", "ready", "standby", "failing_over", "ready"),
			`{"id":"` + pgID + `","state":"running","target_server_count":1}` + "\n" + stub.Envelope(500),
			servers("running", 1, "primary", "unavailable", "ready", "standby", "failing_over", "ready"),
			servers("running", 1, "standby", "deleting", "ready", "primary", "running", "ready"),
			servers("running", 1, "", "", "", "primary", "running", "ready"),
		}, nil, ""},
		{"more servers", settled, polls{
			servers("running", 2, "primary", "running", "ready"),
			servers("running", 2, "primary", "running", "ready", "standby", "updating", "catching_up"),
			servers("running", 2, "primary", "running", "ready", "standby", "running", "catching_up"),
			servers("running", 2, "primary", "running", "ready", "standby", "running", "ready"),
		}, nil, ""},
		{"a replica, whose primary follows", settled, polls{servers("running", 1, "primary", "running", "catching_up")}, nil, ""},
		{"deleted before it is recycled", recycled, polls{old, servers("deleting", 1, "primary", "running", "ready")}, cloudapi.ErrWaitFailed, ""},
	})
}
