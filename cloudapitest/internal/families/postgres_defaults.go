package families

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/ruby"
)

// commonDefaults are the settings with which the real server starts all
// servers.
var commonDefaults = map[string]string{
	connections:                        strconv.Itoa(defaultConnections),
	"listen_addresses":                 "'*'",
	"superuser_reserved_connections":   "3",
	"max_parallel_workers":             "4",
	"max_parallel_workers_per_gather":  "2",
	"max_parallel_maintenance_workers": "2",
	"min_wal_size":                     "80MB",
	"wal_keep_size":                    "96MB",
	"wal_compression":                  "lz4",
	"default_toast_compression":        "lz4",
	"recovery_init_sync_method":        "syncfs",
	"random_page_cost":                 "1.1",
	"effective_io_concurrency":         "200",
	"tcp_keepalives_count":             "4",
	"tcp_keepalives_idle":              "2",
	"tcp_keepalives_interval":          "2",
	"ssl":                              "on",
	"ssl_min_protocol_version":         "TLSv1.3",
	"ssl_ca_file":                      "'/etc/ssl/certs/ca.crt'",
	"ssl_cert_file":                    "'/etc/ssl/certs/server.crt'",
	"ssl_key_file":                     "'/etc/ssl/certs/server.key'",
	"log_timezone":                     "'UTC'",
	"log_directory":                    "'pg_log'",
	"log_filename":                     "'postgresql-%a.log'",
	"log_truncate_on_rotation":         "true",
	"log_rotation_age":                 "1440",
	"logging_collector":                "on",
	"log_destination":                  "'stderr'",
	"log_line_prefix":                  "'%m [%p:%l] (%x,%v): host=%r,db=%d,user=%u,app=%a,client=%h '",
	"timezone":                         "'UTC'",
	"lc_messages":                      "'C.UTF-8'",
	"lc_monetary":                      "'C.UTF-8'",
	"lc_numeric":                       "'C.UTF-8'",
	"lc_time":                          "'C.UTF-8'",
	"shared_preload_libraries":         "'pg_cron,pg_stat_statements'",
	"cron.use_background_workers":      "on",
	"autovacuum_vacuum_cost_delay":     "2ms",
	"archive_mode":                     "on",
	"archive_timeout":                  "60",
	"archive_command":                  "'/usr/bin/walg-daemon-client /tmp/wal-g wal-push %f'",
}

// defaults returns the settings with which the real server starts the present
// servers.
func (p *postgres) defaults(now time.Time) map[string]string {
	servers := p.current(now)
	defaults := servers.defaults()
	switch {
	case !p.isPrimary(now):
		defaults["restore_command"] = "'/usr/bin/wal-g wal-fetch %f %p --config /etc/postgresql/wal-g.env'"
	case servers.version >= "17":
		defaults["synchronized_standby_slots"] = "'" + strings.Join(p.fleet[1:], ",") + "'"
	}
	if !p.restored.IsZero() && now.Before(p.running) {
		defaults["recovery_target_time"] = "'" + ruby.FormatTime(p.restored) + "'"
	}
	return defaults
}

// defaults returns the settings that depend on the size and version of the
// servers.
func (s postgresServers) defaults() map[string]string {
	size := s.size()
	memory := size.memory << 10 // MiB
	workers := 3
	megabytes := func(n int) string { return fmt.Sprintf("%dMB", n) }
	defaults := maps.Clone(commonDefaults)
	if s.version >= "17" {
		defaults["allow_alter_system"] = "off"
	}
	if s.version >= "18" {
		workers = min(max(size.vcpus, 3), 8)
		defaults["autovacuum_max_workers"] = strconv.Itoa(workers)
		defaults["autovacuum_vacuum_max_threshold"] = "50000000"
	}
	defaults["autovacuum_naptime"] = "60s"
	if size.vcpus > 3 {
		defaults["autovacuum_naptime"] = "30s"
	}
	defaults["autovacuum_vacuum_cost_limit"] = strconv.Itoa(min(max(50*size.vcpus, 200), 2400))
	defaults["autovacuum_work_mem"] = megabytes(memory / 4 / workers)
	defaults["effective_cache_size"] = megabytes(memory * 3 / 4)
	defaults["maintenance_work_mem"] = megabytes(memory / 16)
	defaults["max_wal_size"] = fmt.Sprintf("%dGB", min(max(s.storage*4/100, 5), 256))
	defaults["shared_buffers"] = megabytes(memory / 4)
	defaults["work_mem"] = megabytes(max(1, size.memory/8))
	return defaults
}
