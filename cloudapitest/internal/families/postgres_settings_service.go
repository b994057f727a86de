package families

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

// deniedSettings are settings that the real server refuses, since it sets them
// itself. It may refuse other settings as well.
var deniedSettings = []string{"ssl"}

// restartSettings are the settings that a database reads only at its start.
var restartSettings = []string{
	"shared_memory_percent", "autovacuum_freeze_max_age", "autovacuum_max_workers", "cron.launch_active_jobs", "cron.log_run", "cron.log_statement",
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
		case slices.Contains(deniedSettings, name):
			what = []string{"Modifying this parameter is not allowed"}
		case value == "":
			what = "Value cannot be empty"
		case strings.ContainsAny(value, "\r\n"):
			what = "Value cannot contain newlines"
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
