package families

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

// deniedSettings are the settings of PostgreSQL and PgBouncer that the real server
// refuses, since it sets them itself.
var deniedSettings = map[string][]string{
	"pg_config": {
		"allow_alter_system", "huge_page_size", "huge_pages", "log_destination", "log_directory", "log_filename", "log_line_prefix",
		"log_timezone", "logging_collector", "shared_buffers", "ssl",
	},
	"pgbouncer_config": {
		"auth_dbname", "auth_file", "auth_hba_file", "auth_ident_file", "auth_query", "auth_type", "auth_user", "listen_port",
		"unix_socket_dir", "unix_socket_group", "unix_socket_mode", "user",
	},
}

// restartSettings are the settings that a database reads only at its start.
var restartSettings = []string{
	sharedMemory, "autovacuum_freeze_max_age", "autovacuum_max_workers", "cron.launch_active_jobs", "cron.log_run", "cron.log_statement",
	"cron.max_running_jobs", "cron.use_background_workers", "hot_standby", "max_connections", "max_files_per_process",
	"max_locks_per_transaction", "max_logical_replication_workers", "max_pred_locks_per_transaction", "max_prepared_transactions",
	"max_replication_slots", "max_wal_senders", "max_worker_processes", "pg_stat_statements.max", "shared_buffers",
	"shared_preload_libraries", "track_activity_query_size", "track_commit_timestamp", "wal_buffers", "wal_log_hints",
}

var customSettingForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_$]*\.[a-zA-Z_][a-zA-Z0-9_$]*$`)

func settingProblems(field string, known settings, values schema.Fields) []reply.Problem {
	var problems []reply.Problem
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, isNumber := settingText(values[name].(json.RawMessage))
		rule := known[name]
		var what any
		switch {
		case value == "":
			what = "Value cannot be empty"
		case strings.ContainsAny(value, "\r\n"):
			what = "Value cannot contain newlines"
		case slices.Contains(deniedSettings[field], name):
			what = []string{"Modifying this parameter is not allowed"}
		case len(value) > 1 && strings.HasPrefix(value, "'") && strings.HasSuffix(value, "'"):
			what = []string{"must not be wrapped in single quotes - quoting is handled automatically"}
		case rule != nil:
			if problem := rule(value, isNumber); problem != "" {
				what = []string{problem}
			}
		case !customSettingForm.MatchString(name):
			what = "Unknown configuration parameter"
		}
		if what != nil {
			problems = append(problems, reply.Problem{Field: field + "." + name, What: what})
		}
	}
	return problems
}

const (
	connections        = "max_connections"
	defaultConnections = 500
)

func (config postgresConfig) connectionLimit() int {
	limit := defaultConnections
	if raw, ok := config.Postgres[connections].(json.RawMessage); ok {
		value, _ := settingText(raw)
		fmt.Sscan(value, &limit) // settingProblems has checked the value
	}
	return limit
}

// connectionProblems returns a problem if max_connections would be smaller on a
// replica than on its primary.
func (p *postgres) connectionProblems(at *api.Moment, config postgresConfig) []reply.Problem {
	limit := config.connectionLimit()
	refuse := func(format string, args ...any) []reply.Problem {
		return []reply.Problem{{Field: "pg_config." + connections, What: fmt.Sprintf(format, args...)}}
	}
	if p.isReplica(at.Now) {
		if least := p.parent.config.connectionLimit(); limit < least {
			return refuse("must be >= %d to match the primary's current value", least)
		}
	}
	for _, r := range p.replicas(at) {
		if most := r.config.connectionLimit(); limit > most {
			return refuse("must be <= %d to match read replica '%s''s current value", most, r.Name)
		}
	}
	return nil
}

// sharedMemory is the percentage of a server's memory that is shared. Servers with
// at most 16 GiB can share half of it.
const (
	sharedMemory       = "ubicloud.shared_memory_percent"
	leastSharedMemory  = 25
	mostSharedMemory   = 75
	mostOfLittleMemory = 50
)

// sharesTooMuch reports whether the shared memory is more than the servers allow.
func (config postgresConfig) sharesTooMuch(servers postgresServers) bool {
	raw, ok := config.Postgres[sharedMemory].(json.RawMessage)
	if !ok || servers.size().memory == 0 || servers.size().memory > 16 {
		return false
	}
	value, _ := settingText(raw)
	percent, err := strconv.Atoi(value)
	return err == nil && percent > mostOfLittleMemory
}

func (config postgresConfig) memoryProblems(servers postgresServers) []reply.Problem {
	if !config.sharesTooMuch(servers) {
		return nil
	}
	return []reply.Problem{{Field: "pg_config." + sharedMemory, What: []string{fmt.Sprintf("must be between %d and %d", leastSharedMemory, mostOfLittleMemory)}}}
}

// fitted returns the configuration with no more shared memory than the servers
// allow, as the server fits it to a new size.
func (config postgresConfig) fitted(servers postgresServers) postgresConfig {
	if config.sharesTooMuch(servers) {
		config.Postgres = maps.Clone(config.Postgres)
		config.Postgres[sharedMemory] = json.RawMessage(strconv.Quote(strconv.Itoa(mostOfLittleMemory)))
	}
	return config
}

func restartMessage(before, after schema.Fields) string {
	var names []string
	for _, name := range restartSettings {
		was, _ := before[name].(json.RawMessage)
		is, _ := after[name].(json.RawMessage)
		if string(was) != string(is) {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return "The changes in the following parameters require a database restart to take effect: " + strings.Join(names, ", ") +
		". You can restart the database by using the restart endpoint."
}
