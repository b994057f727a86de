package families_test

import (
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

var (
	contractOnly = cloudapitest.WithAPI(cloudapitest.Contract)
	serviceOnly  = cloudapitest.WithAPI(cloudapitest.Service)
)

// delays returns different delays, so that a script sees which one applies.
func delays() cloudapitest.Option {
	return cloudapitest.WithDelays(cloudapitest.Delays{
		Create: time.Minute, Backup: time.Hour, Resize: 10 * time.Minute, Promote: 2 * time.Minute, Restart: 30 * time.Second,
		Detach: 20 * time.Second, Delete: 40 * time.Second, Vacate: 15 * time.Second,
	})
}

func TestPostgres(t *testing.T) {
	run(t, map[string]func(*testing.T){
		"a life": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} -> "state":"creating" & "storage_size_gib":0 & "ca_certificates":null & "earliest_restore_time":null & "latest_restore_time":"2000-01-01T00:00:00Z"
			GET L/postgres/db -> same
			GET L/postgres/db/ca-certificates -> 404 ResourceNotFound
			POST L/postgres/db/read-replica {"name":"copy"} -> 400 There are no backups, yet.
			POST L/postgres/db/promote -> 400 Non read replica servers cannot be promoted.
			wait 59s
			GET L/postgres/db -> "state":"creating"
			wait 1s
			GET L/postgres/db -> "state":"running" & "storage_size_gib":64 & "earliest_restore_time":null & "latest_restore_time":"2000-01-01T00:01:00Z"
			state {pg db} unavailable
			GET L/postgres/db -> "state":"unavailable"
			state {pg db}
			GET L/postgres/db/ca-certificates -> BEGIN CERTIFICATE
			GET L/postgres/db/ca-certificates -> same
			wait 1h
			GET L/postgres/db -> "earliest_restore_time":"2000-01-01T01:06:00Z"
			DELETE . -> 409 DependencyError
			GET object-info/{pg db} -> {"type":"postgres resource","location":"eu-central-h1","name":"db"}
			DELETE L/postgres/db ->
			wait 39s
			GET L/postgres/db -> "state":"deleting"
			POST L/postgres/db {"size":"standard-2","storage_size":64} -> 400 project_id and location_id and name is already taken
			wait 1s
			GET L/postgres/db -> 404
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->`, contractOnly, delays()),
		"resizing": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			wait 61m
			POST L/postgres/db/read-replica {"name":"copy"} ->
			PATCH L/postgres/db {"size":"standard-4","storage_size":128} -> "vm_size":"standard-2" & "target_vm_size":"standard-4"
			GET L/postgres/copy -> "vm_size":"standard-2" & "target_vm_size":"standard-4"
			wait 5m
			PATCH L/postgres/db {"size":"standard-4"} ->
			wait 4m59s
			GET L/postgres/db -> "vm_size":"standard-2" & "storage_size_gib":64
			wait 1s
			GET L/postgres/db -> "vm_size":"standard-4" & "storage_size_gib":128
			wait 1m
			GET L/postgres/copy -> "vm_size":"standard-4" & "storage_size_gib":128
			# it is 01:12
			POST L/postgres/db/set-maintenance-window {"maintenance_window_start_at":20} ->
			PATCH L/postgres/db {"size":"standard-8","storage_size":256} ->
			wait 18h
			GET L/postgres/db -> "vm_size":"standard-4"
			POST L/postgres/db/set-maintenance-window {"maintenance_window_start_at":21} ->
			wait 1h
			GET L/postgres/db -> "vm_size":"standard-4"
			wait 1h
			GET L/postgres/db -> "vm_size":"standard-8"
			POST L/postgres/db/set-maintenance-window {"maintenance_window_start_at":0} -> "vm_size":"standard-8"`, contractOnly, delays()),
		"the window of new servers": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64,"ha_type":"sync"} ->
			POST L/postgres/db/set-maintenance-window {"maintenance_window_start_at":12} ->
			wait 1h
			POST L/postgres/more {"size":"standard-2","storage_size":64} -> 400 currently used vCPU count: 6,`,
			cloudapitest.WithQuota(cloudapitest.Quota{Postgres: 7})),
		"replicas": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			wait 2h
			POST L/postgres/db/read-replica {"name":"copy"} -> "state":"creating" & "read_replica":true & "parent":"/location/eu-central-h1/postgres/db" & !latest_restore_time
			POST L/postgres/copy/read-replica {"name":"copy-of-copy"} ->
			POST L/postgres/db/rename {"name":"db2"} ->
			GET L/postgres/copy -> "parent":"/location/eu-central-h1/postgres/db2"
			GET L/postgres/db2 -> "name":"copy" & !"name":"copy-of-copy"
			wait 1m
			POST L/postgres/copy/promote -> "read_replica":true
			wait 1m
			POST L/postgres/copy/promote ->
			wait 1m
			GET L/postgres/copy -> "read_replica":false & "parent":null & latest_restore_time
			GET L/postgres/db2 -> "read_replicas":[]
			POST L/postgres/copy/promote -> 400 Non read replica servers cannot be promoted.`, contractOnly, delays()),
		"copies": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			wait 2h
			POST L/postgres/db/restore {"name":"restored","restore_target":"2000-01-01T01:05:59Z"} -> 400 must be between 2000-01-01 01:06:00 +0000 and 2000-01-01 02:00:00 +0000
			POST L/postgres/db/restore {"name":"restored","restore_target":"2000-01-01T02:00:01Z"} -> 400 must be between
			POST L/postgres/db/restore {"name":"restored","restore_target":"2000-13-01"} -> 400 is not a valid date
			POST L/postgres/db/restore {"name":"restored","restore_target":" "} -> 400 empty string provided for parameter restore_target
			POST L/postgres/db/restore {"name":"restored","restore_target":"2000-01-01 03:00:00+01"} -> "read_replica":false & !latest_restore_time
			POST L/postgres/db/read-replica {"name":"copy"} ->
			wait 1h
			GET L/postgres/restored -> "parent":"/location & latest_restore_time
			DELETE L/postgres/db ->
			GET L/postgres/copy -> "parent":"/location
			wait 1h
			GET L/postgres/copy -> "parent":null & "read_replica":true & "state":"running"
			GET L/postgres/restored -> "parent":null
			POST L/postgres/copy/promote ->
			wait 2m
			GET L/postgres/copy -> "read_replica":false`, contractOnly, delays()),
		"immediate": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":256} -> "state":"running"
			state {pg db} unavailable
			PATCH L/postgres/db {"storage_size":64} -> 400 Database is not ready for update
			state {pg db}
			PATCH L/postgres/db {"storage_size":64} -> "storage_size_gib":64
			POST L/postgres/db/read-replica {"name":"copy"} -> "state":"running"
			POST L/postgres/copy/promote -> "read_replica":false
			GET L/postgres/db/logs?max_log_lines=500&start=1999-12-31T22:00:00Z&end=2000-01-01T00:00:00Z -> 1999-12-31T23:00:00 & !1999-12-31T22:59
			DELETE L/postgres/db ->
			GET L/postgres/db -> 404`, cloudapitest.WithDelays(cloudapitest.Delays{Backup: -time.Hour})),
		"quota": script(`
			POST L/postgres/a {"size":"standard-2","storage_size":64,"ha_type":"sync"} ->
			POST L/postgres/big {"size":"standard-4","storage_size":128,"ha_type":"sync"} -> 400 Requested vCPU count: 12, currently used vCPU count: 2, maximum allowed vCPU count: 12, remaining vCPU count: 10
			wait 1h
			POST L/postgres/a/read-replica {"name":"b"} ->
			PATCH L/postgres/a {"size":"standard-4","storage_size":128} -> 400 Requested vCPU count: 6, currently used vCPU count: 8
			DELETE L/postgres/a ->
			POST L/postgres/c {"size":"standard-2","storage_size":64,"ha_type":"sync"} -> 400 currently used vCPU count: 8
			wait 1h
			POST L/postgres/c {"size":"standard-2","storage_size":64,"ha_type":"sync"} ->`,
			cloudapitest.WithQuota(cloudapitest.Quota{Postgres: 12})),
		"passwords": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			POST L/postgres/db/reset-superuser-password {"password":"Sh0rt-passw"} -> 400 12 characters minimum
			POST L/postgres/db/reset-superuser-password {"password":"NO-LOWERCASE-1"} -> 400 one lowercase letter
			POST L/postgres/db/reset-superuser-password {"password":"no-uppercase-1"} -> 400 one uppercase letter
			POST L/postgres/db/reset-superuser-password {"password":"Not-any-digit"} -> 400 one digit
			POST L/postgres/db/reset-superuser-password {"password":"Right/passw0rd"} -> postgres://postgres:Right%2Fpassw0rd@db.{pg db}.`),
		"passwords of replicas": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			wait 1h
			POST L/postgres/db/read-replica {"name":"replica"} ->
			wait 1h
			POST L/postgres/db/reset-superuser-password {"password":"Right/passw0rd"} ->
			GET L/postgres/replica -> postgres://postgres:Right%2Fpassw0rd@replica.`, serviceOnly),
		"firewall rules": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			rule = POST L/postgres/db/firewall-rule {"cidr":"2001:db8::1/48","description":" a "} -> "cidr":"2001:db8::/48","description":"a"
			POST L/postgres/db/firewall-rule {"cidr":"10.9.9.9/8"} -> "cidr":"10.0.0.0/8"
			POST L/postgres/db/firewall-rule {"cidr":"10.0.0.0/8"} -> 400 postgres_resource_id and cidr is already taken
			PATCH L/postgres/db/firewall-rule/$rule {"cidr":"2001:db8::2/48"} ->
			PATCH L/postgres/db/firewall-rule/$rule {"cidr":"10.0.0.0/8"} -> 400 is already taken
			DELETE L/postgres/db/firewall-rule/$rule ->
			DELETE L/postgres/db/firewall-rule/$rule ->
			GET L/postgres/db/firewall-rule -> "count":3
			DELETE L/postgres/nothing/firewall-rule/$rule -> 404
			POST L/postgres/closed {"size":"standard-2","storage_size":64,"restrict_by_default":true} -> "firewall_rules":[]`, contractOnly),
		"today's firewall rules": script(`
			rule = POST L/postgres/db {"size":"standard-2","storage_size":64} -> "port":5432 & "port":6432
			DELETE L/postgres/db/firewall-rule/$rule -> 400
			POST L/postgres/db/firewall-rule {"cidr":"::/0/0"} -> 400 Invalid CIDR
			POST L/postgres/db/firewall-rule {"cidr":"192.0.2.1"} -> "cidr":"192.0.2.1/32"
			POST L/postgres/db/firewall-rule {"cidr":"2001:db8::1"} -> "cidr":"2001:db8::/64"
			POST L/postgres/db/firewall-rule {"cidr":"::"} -> "cidr":"::/128"`, serviceOnly, cloudapitest.Lenient()),
		"metric destinations": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			POST L/postgres/db/metric-destination {"url":"https://a.example","username":"u","password":"p"} -> "auth_methods":["basic_auth"]
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":{"credentials":"x"}}} -> "auth_methods":["authorization"]
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":{"type":" Bearer ","credentials":"x"}}} ->
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"headers":{"X-Scope":"a"}}} -> "auth_methods":["headers"]
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":{"credentials":"c","x":"y"}}} -> 400 {"options":"options.authorization must be an object
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":{"credentials":"c","type":"t","x":"y"}}} -> 400 {"options":
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":{"type":" ","credentials":"x"}}} -> 400 type must be a non-empty string
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":{"type":" BASIC","credentials":"x"}}} -> 400 cannot be basic
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":{"credentials":""}}} -> 400 non-empty string 'credentials'
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"headers":{"Connection":"close"}}} -> 400 cannot set Connection
			POST L/postgres/db/metric-destination {"url":"https://a.example","username":"","password":""} -> 400 no credentials given
			POST L/postgres/db/metric-destination {"url":"https://a.example","username":"u","password":"p","options":{"x":1}} -> 400 {"options":"options may only contain 'authorization' and 'headers'"}
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":"x"}} -> 400 {"options":"options.authorization must be
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":{"type":"Bearer"}}} -> 400 {"options":"options.authorization must be
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"authorization":{"credentials":1}}} -> 400 {"options":"options.authorization must be
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"headers":["a"]}} -> 400 {"options":"options.headers must be a flat object with string values"}
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":{"headers":{"a":null}}} -> 400 {"options":"options.headers must be a flat object with string values"}
			POST L/postgres/db/metric-destination {"url":"https://a.example","options":[]} -> 400 expected object
			POST L/postgres/db/metric-destination {"url":"https://a.example","username":"u"} -> 400 together
			POST L/postgres/db/metric-destination {"url":"https://a.example","username":"u","password":" "} -> 400 empty string provided for parameter password
			POST L/postgres/db/metric-destination {"url":"https://","username":"u","password":"p"} -> 400 Invalid URL"
			POST L/postgres/db/metric-destination {"url":"a.example","username":"u","password":"p"} -> 400 Invalid URL scheme
			POST L/postgres/db/metric-destination {"url":"https://a b","username":"u","password":"p"} -> 400 Invalid URL"`),
		"log destinations": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			d = POST L/postgres/db/log-destination {"name":"a","type":"otlp","url":"https://a.example"} ->
			GET L/postgres/db -> "log_destinations":[{"id":"$d"
			POST L/postgres/db/log-destination {"name":"a","type":"syslog","url":"tcp://a.example"} -> 400 Invalid URL
			DELETE L/postgres/db/log-destination/$d ->
			DELETE L/postgres/db/log-destination/$d ->
			GET L/postgres/db -> "log_destinations":[]
			POST L/postgres/db/log-destination {"name":"a","type":"otlp","url":"https://a.example","options":{"headers":null}} ->
			POST L/postgres/db/log-destination {"name":"a","type":"otlp","url":"https://a.example","options":{"headers":{"a":1}}} -> 400 {"options":"options.headers must be a flat object with string values"}
			POST L/postgres/db/log-destination {"name":"a","type":"otlp","url":"https://a.example","options":{"x":1}} -> 400 {"options":"options may only contain 'headers' for otlp"}
			POST L/postgres/db/log-destination {"name":"a","type":"syslog","url":"tcp://a.example:1","options":{"structured_data":{"a":{"b":"c"}}}} ->
			POST L/postgres/db/log-destination {"name":"a","type":"syslog","url":"tcp://a.example:1","options":{"structured_data":{"a":"b"}}} -> 400 {"options":"options.structured_data must be an object mapping SD-IDs to key/value objects"}
			POST L/postgres/db/log-destination {"name":"a","type":"syslog","url":"tcp://a.example:1","options":{"structured_data":{"a":{"b":1}}}} -> 400 mapping SD-IDs`),
		"metrics": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			GET L/postgres/db/metrics?start=2000-01-01T00:00:00Z&end=2000-01-01T00:00:00Z -> "values":[[946684800,
			GET L/postgres/db/metrics?start=1999-12-31T22:00:00Z&end=2000-01-01T00:00:00Z&key=disk_io -> [946677600," & [946677615,"
			GET L/postgres/db/metrics?start=1999-12-31T22:00:00Z&end=2000-01-01T00:00:00Z&key=disk_io -> same
			GET L/postgres/db/metrics?start=1999-12-31T21:00:00Z&end=2000-01-01T00:00:00Z&key=disk_io -> [946674000," & [946674030," & ![946674015,
			GET L/postgres/db/metrics?start=2000-01-01T00:00:01Z&end=2000-01-01T00:00:00Z -> 400 End timestamp must be greater than start timestamp
			GET L/postgres/db/metrics?start=1999-12-01T00:00:00Z&end=2000-01-01T00:05:00Z -> 
			GET L/postgres/db/metrics?start=1999-12-01T00:00:00Z&end=2000-01-01T00:05:01Z -> 400 Maximum time range is 31 days
			GET L/postgres/db/metrics?start=1999-11-30T23:59:59Z&end=2000-01-01T00:00:00Z -> 400 Cannot query metrics older than 31 days
			GET L/postgres/db/metrics?start=now -> 400 is not a valid date`),
		"settings": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			PATCH L/postgres/db/config {"pg_config":{"work_mem":"8MB","my.setting":"x"}} ->
			PATCH L/postgres/db/config {"pg_config":{"work_mem":null},"pgbouncer_config":{"pool_mode":"session"}} ->
			GET L/postgres/db/config -> {"pg_config":{"my.setting":"x"},"pgbouncer_config":{"pool_mode":"session"} & "max_connections":"500" & "shared_buffers":"2048MB"
			POST L/postgres/db/config {"pg_config":{"work_mem":"8"},"pgbouncer_config":{"work_mem":"8"}} -> 400 pgbouncer_config.work_mem
			GET L/postgres/db/config -> {"pg_config":{"my.setting":"x"}
			PATCH L/postgres/db/config {"pg_config":{"ubicloud.shared_memory_percent":"60"}} -> 400 "pg_config.ubicloud.shared_memory_percent":["must be between 25 and 50"]
			wait 2h
			PATCH L/postgres/db {"size":"standard-8","storage_size":256} ->
			wait 2h
			POST L/postgres/db/read-replica {"name":"copy"} ->
			PATCH L/postgres/db/config {"pg_config":{"ubicloud.shared_memory_percent":"60"}} -> "message":"The changes in the following parameters require a database restart to take effect: ubicloud.shared_memory_percent
			PATCH L/postgres/copy/config {"pg_config":{"ubicloud.shared_memory_percent":"75"}} ->
			PATCH L/postgres/db {"size":"standard-4"} ->
			GET L/postgres/db/config -> "ubicloud.shared_memory_percent":"50"
			GET L/postgres/copy/config -> "ubicloud.shared_memory_percent":"50"`, delays()),
		"private locations": script(`
			POST private-location {"name":"mine","provider_location_name":"us-east-1","access_key":"a","secret_key":"b"} ->
			POST location/mine/postgres/a {"size":"m6id.large","storage_size":118} -> "storage_size_gib":118
			POST location/mine/postgres/b {"size":"m6id.large","storage_size":119} -> 400 Invalid storage size. Available options: 118
			POST location/mine/postgres/b {"size":"standard-2","storage_size":64} -> 400 Invalid size.
			POST location/mine/postgres/b {"size":"m6id.large","storage_size":118,"flavor":"paradedb"} -> 400 Invalid location. Available options: eu-central-h1, us-east-a2"
			POST L/postgres/b {"size":"m6id.large","storage_size":118} -> 400 Invalid size.
			POST location/eu-north-h1/postgres/b {"size":"standard-2","storage_size":64} -> 400 Invalid location. Available options: eu-central-h1, us-east-a2, mine`, contractOnly),
		"backups": script(`
			POST private-location {"name":"mine","provider_location_name":"us-west-2","access_key":"a","secret_key":"b"} ->
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			GET L/postgres/db/backup -> "count":0
			wait 25h
			GET L/postgres/db/backup -> "count":2
			POST L/postgres/db/backup-credentials -> 400 Backup downloads are not available
			POST location/mine/postgres/db {"size":"m8gd.large","storage_size":118} -> !earliest_restore_time
			POST location/mine/postgres/db/backup-credentials -> "region":"us-west-2" & "expiration":"2000-01-03T13:00:00Z"`),
		"certificates of clients": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			POST L/postgres/db/cert/create-client-keypair {"common_name":"app","duration":3600} -> 500
			wait 1h
			POST L/postgres/db/cert/create-client-keypair {"common_name":"app","duration":3600} -> BEGIN CERTIFICATE & BEGIN EC PRIVATE KEY
			POST L/postgres/db/cert/create-client-keypair {"common_name":"postgres","duration":3600} -> 400 Common Name must not be postgres
			POST L/postgres/db/cert/add-auth-user {"name":"app"} ->
			POST L/postgres/db/cert/add-auth-user {"name":"app"} -> {"items":["app"]}
			POST L/postgres/db/cert/add-auth-user {"name":"an app"} -> 400 {"name":"Name must only
			POST L/postgres/db/cert/add-auth-user {"name":"all"} -> 400 {"name":"Name must not be
			POST L/postgres/db/cert/remove-auth-user {"name":"app"} -> {"items":[]}`),
		"states": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64,"version":"15"} -> 400
			POST L/postgres/db {"size":"standard-2","storage_size":64} -> "storage_size_gib":64 & "version":"18" & "target_server_count":1 & "hostname":"db. & .pg.localhost"
			GET L/postgres/db -> "state":"creating"
			wait 2h
			POST L/postgres/db/restart -> "state":"restarting"
			wait 30s
			GET L/postgres/db -> "state":"running"
			POST L/postgres/db/restore {"name":"restored","restore_target":"2000-01-01T01:30:00Z"} ->
			POST L/postgres/db/read-replica {"name":"copy"} -> "state":"creating"
			wait 20s
			GET L/postgres/copy -> "state":"restoring_backup"
			wait 20s
			GET L/postgres/copy -> "state":"replaying_wal"
			GET L/postgres/restored -> "state":"finalizing_restore"
			wait 20s
			GET L/postgres/copy -> "state":"running"
			PATCH L/postgres/copy {"storage_size":128} -> 400 Read replicas cannot be modified directly!
			POST L/postgres/copy/promote-read-replica -> "read_replica":false & "parent":"/location
			POST L/postgres/copy/promote -> 400 Non read replica servers cannot be promoted.`, serviceOnly, delays()),
		"upgrades": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64,"version":"17"} ->
			GET L/postgres/db/upgrade -> 400 Database is not upgrading
			wait 2h
			POST L/postgres/db/read-replica {"name":"copy"} ->
			wait 1h
			POST L/postgres/copy/upgrade -> 400 Read replicas cannot be upgraded
			POST L/postgres/db/upgrade -> {"current_version":"17","target_version":"18","upgrade_status":"running","upgrade_stage":null}
			POST L/postgres/db/upgrade -> 400 needs_convergence
			wait 4m
			GET L/postgres/db/upgrade -> "provision_servers"
			wait 3m
			GET L/postgres/db/upgrade -> "wait_servers_to_be_ready"
			wait 3m
			GET L/postgres/db/upgrade -> "wait_fence_primary"
			wait 150s
			GET L/postgres/db/upgrade -> "upgrade_standby"
			wait 150s
			GET L/postgres/db/upgrade -> "update_metadata"
			wait 150s
			GET L/postgres/db/upgrade -> "recycle_representative_server"
			wait 150s
			GET L/postgres/db/upgrade -> 400 Database is not upgrading
			GET L/postgres/db -> "version":"18"
			GET L/postgres/copy -> "version":"18"
			POST L/postgres/db/upgrade -> 400 Database is already at the latest version`, delays()),
		"servers": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			wait 1h
			PATCH L/postgres/db {"ha_type":"async"} -> "target_server_count":2
			wait 1h
			primary = GET L/postgres/db/servers -> "count":2 & !creating
			POST L/postgres/db/recycle ->
			wait 11m
			GET L/postgres/db/servers -> $primary & failing_over
			wait 1h
			GET L/postgres/db/servers -> "count":2 & !$primary`, delays()),
		"the network": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			POST L/postgres/named {"size":"standard-2","storage_size":64,"private_subnet_name":"db-net"} ->
			GET L/private-subnet/{pg db}-subnet -> "name":"{pg db}-firewall" & "port_range":"5432" & "port_range":"6432"
			DELETE L/private-subnet/{pg db}-subnet -> 409
			POST L/firewall/{pg db}-firewall/firewall-rule {"cidr":"10.0.0.0/8","port_range":"22"} ->
			POST L/firewall/{pg db}-firewall/firewall-rule {"cidr":"10.0.0.0/8","port_range":"5432"} ->
			GET L/postgres/db/firewall-rule -> "count":5
			DELETE L/firewall/{pg named}-firewall ->
			GET L/postgres/named/firewall-rule -> 400 PostgreSQL firewall was deleted
			DELETE L/postgres/db ->
			DELETE L/postgres/named ->
			wait 1h
			GET private-subnet -> "count":1 & "name":"db-net"
			GET firewall -> "count":0`, serviceOnly),
		"servers that are gone after the record": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			POST L/postgres/named {"size":"standard-2","storage_size":64,"private_subnet_name":"db-net"} ->
			db = GET L/private-subnet/{pg db}-subnet -> "state":"available"
			DELETE L/postgres/db ->
			DELETE L/postgres/named ->
			wait 39s
			GET L/private-subnet/$db -> "state":"available"
			DELETE L/private-subnet/$db -> 409 has VMs attached
			wait 1s
			GET postgres -> "count":0
			GET firewall -> "count":0
			GET L/private-subnet/$db -> "state":"deleting" & "firewalls":[]
			GET L/private-subnet/db-net -> "state":"available"
			wait 14s
			DELETE L/private-subnet/$db -> 409 DependencyError & has VMs attached
			DELETE L/private-subnet/db-net -> 409 DependencyError & has VMs attached
			wait 1s
			GET L/private-subnet/$db -> 404
			DELETE L/private-subnet/db-net ->
			GET L/private-subnet/db-net -> "state":"deleting"`, serviceOnly, delays()),
		"capabilities": script(`
			GET postgres/capabilities -> "hobby-1":{"storage_size":{"16":{"ha_type":{"async":{},"none":{},"sync":{}}} & "hetzner-fsn1":{"display_name":"eu-central-h1" & "standard-8":{"memory_gib":32,"vcpu":8} & "version":{"16":{},"17":{},"18":{}}`),
		"files": script(`
			POST L/postgres/main-db {"size":"standard-2","storage_size":64} ->
			GET L/postgres/main-db/ca-certificates -> attachment; filename="main-db.pem"; filename*=UTF-8''main%2Ddb.pem
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			GET L/postgres/db/ca-certificates -> attachment; filename="db.pem" & !UTF-8
			POST L/postgres/db/cert/create-client-keypair {"common_name":"web-1","duration":60} -> attachment; filename="web-1.pem" & !UTF-8
			GET L/postgres/db -> no-store
			PATCH L/postgres/db {} -> !no-store
			GET L/postgres/db/config -> !no-store
			GET postgres -> !no-store`, cloudapitest.WithDelays(cloudapitest.Delays{})),
		"files of the contract": script(`
			POST L/postgres/main-db {"size":"standard-2","storage_size":64} ->
			GET L/postgres/main-db/ca-certificates -> attachment; filename="main-db.pem" & !UTF-8
			GET L/postgres/main-db -> no-store`, contractOnly, cloudapitest.WithDelays(cloudapitest.Delays{})),
		"permissions": script(`
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			token pat-other
			GET L/postgres/db -> 403 Forbidden
			DELETE L/postgres/db/firewall-rule/pfk4gjb2c1ay5p1v6h5xvm4k2y -> 403 Forbidden
			GET postgres -> "count":0
			allow Postgres:view
			GET postgres -> "count":1
			POST L/postgres/db/restore {"name":"restored","restore_target":"2000-01-01T00:00:00Z"} -> 403`,
			contractOnly, cloudapitest.WithTokenAccess("pat-other", cloudapitest.AccessNone)),
	})
}

func TestFeaturesOfAProject(t *testing.T) {
	const window = `POST L/postgres/db/set-maintenance-window {"maintenance_window_start_at":3,"maintenance_window_days":["sun","thu","sun"]} -> `
	const lantern = `POST L/postgres/lantern {"size":"standard-2","storage_size":64,"flavor":"lantern"} -> `
	t.Parallel()
	srv := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{}))
	play(t, srv, `
		POST L/postgres/db {"size":"standard-2","storage_size":64} -> !maintenance_window_days
		`+window+`400 Maintenance window days are not enabled
		`+lantern+`400 Available options: standard
		POST L/postgres/db/backup-credentials -> 400 Backup downloads are not available`)
	srv.SetFeatures(srv.ProjectID(), cloudapitest.FeatureBackupDownloads, cloudapitest.FeatureLantern, cloudapitest.FeatureMaintenanceWindowDays)
	play(t, srv, window+`"maintenance_window_days":["thu","sun"]
		`+lantern+`"version":"17" & "flavor":"lantern"
		POST L/postgres/lantern/upgrade -> 400 Lantern Postgres instances cannot be upgraded
		POST L/postgres/db/backup-credentials -> "region":"us-east-1"
		GET postgres/capabilities -> "lantern":{"location"`)
}
