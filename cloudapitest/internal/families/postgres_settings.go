package families

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type settings map[string]settingRule

// settingRule returns what is wrong with a value, or "". isNumber is set if the
// request had the value as a JSON number, and not as a string.
type settingRule func(text string, isNumber bool) string

// highestCost is PostgreSQL's maximum for costs, nearly the largest float64.
const highestCost = 1.79769e+308

// postgresSettings are the common settings of all versions of PostgreSQL; the
// real server knows about 180 more.
var postgresSettings = newSettings(func(s settings) {
	s.add(booleans, "array_nulls autovacuum check_function_bodies default_transaction_deferrable "+
		"default_transaction_read_only enable_async_append enable_bitmapscan enable_gathermerge enable_hashagg "+
		"enable_group_by_reordering enable_hashjoin enable_incremental_sort enable_indexonlyscan enable_indexscan enable_material "+
		"enable_memoize enable_mergejoin enable_nestloop enable_parallel_append enable_parallel_hash "+
		"enable_partition_pruning enable_partitionwise_aggregate enable_partitionwise_join "+
		"enable_presorted_aggregate enable_seqscan enable_sort enable_tidscan escape_string_warning event_triggers fsync "+
		"full_page_writes geqo hot_standby hot_standby_feedback jit jit_expressions jit_tuple_deforming "+
		"lo_compat_privileges log_checkpoints log_connections log_disconnections log_duration log_hostname "+
		"log_lock_waits log_recovery_conflict_waits log_replication_commands parallel_leader_participation "+
		"quote_all_identifiers row_security standard_conforming_strings summarize_wal sync_replication_slots synchronize_seqscans track_activities "+
		"track_commit_timestamp track_counts track_io_timing track_wal_io_timing transform_null_equals "+
		"wal_init_zero wal_log_hints wal_recycle")
	s.add(integers(-1, math.MaxInt32), "autovacuum_vacuum_insert_threshold log_min_duration_sample "+
		"log_min_duration_statement log_temp_files")
	s.add(integers(0, math.MaxInt32), "autovacuum_analyze_threshold autovacuum_vacuum_threshold geqo_generations max_pred_locks_per_page tcp_keepalives_count")
	s.add(integers(0, 262143), "max_logical_replication_workers max_prepared_transactions max_replication_slots "+
		"max_sync_workers_per_subscription max_wal_senders max_worker_processes")
	s.add(integers(0, 1024), "max_parallel_apply_workers_per_subscription max_parallel_maintenance_workers "+
		"max_parallel_workers max_parallel_workers_per_gather")
	s.add(integers(0, 1000), "commit_siblings effective_io_concurrency maintenance_io_concurrency")
	s.add(integers(1, 10000), "default_statistics_target max_connections")
	s.add(integers(10, math.MaxInt32), "max_locks_per_transaction max_pred_locks_per_transaction")
	s.add(integers(64, math.MaxInt32), "max_files_per_process")
	s.add(integers(0, 10000), "vacuum_cost_page_dirty vacuum_cost_page_hit vacuum_cost_page_miss")
	s.add(integers(0, 100000), "commit_delay")
	s.add(integers(0, 100), "vacuum_cost_delay")
	s.add(integers(-1, math.MaxInt32), "temp_file_limit")
	s.add(integers(1, 262143), "autovacuum_max_workers")
	s.add(integers(1, 10), "geqo_effort")
	s.add(integers(2, math.MaxInt32), "geqo_threshold")
	s.add(integers(-15, 3), "extra_float_digits")
	s.add(integers(100000, 2000000000), "autovacuum_freeze_max_age")
	s.add(integers(100, math.MaxInt32), "pg_stat_statements.max")
	s.add(integers(1, 32), "cron.max_running_jobs")
	s.add(integers(leastSharedMemory, mostSharedMemory), sharedMemory)
	s.add(floats(0, 1), "checkpoint_completion_target cursor_tuple_fraction")
	s.add(floats(0, 100), "autovacuum_analyze_scale_factor autovacuum_vacuum_insert_scale_factor "+
		"autovacuum_vacuum_scale_factor")
	s.add(floats(0, highestCost), "cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost "+
		"parallel_tuple_cost random_page_cost seq_page_cost")
	s.add(floats(0.001, 1e6), "recursive_worktable_factor")
	s.add(byteSizes, "autovacuum_work_mem bgwriter_flush_after checkpoint_flush_after effective_cache_size "+
		"gin_pending_list_limit io_combine_limit hash_mem_multiplier log_rotation_size logical_decoding_work_mem "+
		"maintenance_work_mem max_slot_wal_keep_size max_stack_depth max_wal_size min_dynamic_shared_memory "+
		"min_parallel_index_scan_size min_parallel_table_scan_size min_wal_size shared_buffers temp_buffers "+
		"track_activity_query_size wal_buffers wal_keep_size work_mem")
	s.add(durations, "archive_timeout authentication_timeout autovacuum_naptime autovacuum_vacuum_cost_delay "+
		"bgwriter_delay checkpoint_timeout checkpoint_warning client_connection_check_interval deadlock_timeout "+
		"idle_in_transaction_session_timeout idle_session_timeout lock_timeout log_autovacuum_min_duration "+
		"post_auth_delay pre_auth_delay recovery_min_apply_delay tcp_keepalives_idle tcp_keepalives_interval "+
		"tcp_user_timeout transaction_timeout log_rotation_age log_startup_progress_interval max_standby_archive_delay max_standby_streaming_delay "+
		"statement_timeout wal_receiver_timeout wal_retrieve_retry_interval wal_sender_timeout wal_writer_delay")
	s.add(texts, "DateStyle TimeZone application_name autovacuum_vacuum_cost_limit client_encoding cron.timezone "+
		"default_text_search_config from_collapse_limit join_collapse_limit lc_messages lc_monetary lc_numeric "+
		"lc_time log_line_prefix log_timezone pg_stat_statements.track search_path session_preload_libraries "+
		"shared_preload_libraries temp_tablespaces")
	s.add(oneOfValues("on", "off"), "cron.enable_superuser_jobs cron.launch_active_jobs "+
		"cron.log_run cron.log_statement cron.use_background_workers pg_stat_statements.save "+
		"pg_stat_statements.track_planning pg_stat_statements.track_utility")
	s.add(oneOfValues("postgres", "postgres_verbose", "sql_standard", "iso_8601"), "IntervalStyle")
	s.add(oneOfValues("hex", "escape"), "bytea_output")
	s.add(oneOfValues("pglz", "lz4"), "default_toast_compression")
	s.add(oneOfValues("auto", "regress", "on", "off"), "compute_query_id")
	s.add(oneOfValues("partition", "on", "off"), "constraint_exclusion")
	s.add(oneOfValues("read uncommitted", "read committed", "repeatable read", "serializable"),
		"default_transaction_isolation")
	s.add(oneOfValues("default", "verbose", "terse"), "log_error_verbosity")
	s.add(oneOfValues("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"),
		"client_min_messages")
	s.add(oneOfValues("debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error",
		"log", "fatal", "panic"), "log_min_error_statement log_min_messages")
	s.add(oneOfValues("none", "ddl", "mod", "all"), "log_statement")
	s.add(oneOfValues("md5", "scram-sha-256"), "password_encryption")
	s.add(oneOfValues("auto", "force_generic_plan", "force_custom_plan"), "plan_cache_mode")
	s.add(oneOfValues("local", "remote_write", "remote_apply", "on", "off"), "synchronous_commit")
	s.add(oneOfValues("none", "pl", "all"), "track_functions")
	s.add(oneOfValues("on", "off", "pglz", "lz4", "zstd"), "wal_compression")
	s.add(oneOfValues("minimal", "replica", "logical"), "wal_level")
})

var pgBouncerSettings = newSettings(func(s settings) {
	s.add(integers(1, 65535), "max_client_conn")
	s.add(integers(1, 65535), "default_pool_size max_prepared_statements")
	s.add(integers(5, 65535), "stats_period")
	s.add(integers(0, 65535), "max_db_connections max_user_connections min_pool_size reserve_pool_size")
	s.add(floats(0, 65535), "reserve_pool_timeout server_check_delay")
	s.add(oneOfValues("session", "transaction", "statement"), "pool_mode")
	s.add(oneOfValues("0", "1"), "application_name_add_host disable_pqexec log_connections log_disconnections "+
		"log_pooler_errors log_stats server_reset_query_always server_round_robin")
	s.add(oneOfValues("0", "1", "2", "3"), "verbose")
	s.add(texts, "ignore_startup_parameters server_check_query server_reset_query stats_users "+
		"track_extra_parameters")
})

func newSettings(fill func(settings)) settings {
	s := settings{}
	fill(s)
	return s
}

func (s settings) add(rule settingRule, names string) {
	for name := range strings.FieldsSeq(names) {
		s[name] = rule
	}
}

func settingText(raw json.RawMessage) (s string, isNumber bool) {
	var f float64
	if json.Unmarshal(raw, &s) != nil && json.Unmarshal(raw, &f) == nil {
		return strconv.FormatFloat(f, 'f', -1, 64), true
	}
	return s, false
}

func integers(low, high int64) settingRule {
	return func(text string, _ bool) string {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			return "must be an integer"
		case n < low || n > high:
			return fmt.Sprintf("must be between %d and %d", low, high)
		}
		return ""
	}
}

func floats(low, high float64) settingRule {
	return func(text string, _ bool) string {
		f, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
			return "must be a float"
		case f < low || f > high:
			return fmt.Sprintf("must be between %s and %s", formatFloat(low), formatFloat(high))
		}
		return ""
	}
}

// formatFloat formats a number with a point or an exponent.
func formatFloat(f float64) string {
	if s := strconv.FormatFloat(f, 'g', -1, 64); strings.ContainsAny(s, ".e") {
		return s
	}
	return fmt.Sprintf("%.1f", f)
}

func oneOfValues(values ...string) settingRule {
	return func(text string, _ bool) string {
		if !slices.Contains(values, text) {
			return "must be one of: " + strings.Join(values, ", ")
		}
		return ""
	}
}

func texts(string, bool) string { return "" }

var (
	booleanForm  = regexp.MustCompile(`^(?i:on|off?|t|tr|tru|true|f|fa|fal|fals|false|0|1)$`)
	sizeForm     = regexp.MustCompile(`^[0-9]+(kB|MB|GB|TB)?$`)
	durationForm = regexp.MustCompile(`^[0-9]+(us|ms|s|min|h|d)?$`)

	booleans = matching(booleanForm, "must be 'on' or 'off' or 'true' or 'false' or '1' or '0' "+
		"or any unambiguous prefix of these values (case-insensitive)")
	byteSizes = matching(sizeForm, "must match pattern: "+sizeForm.String())
	durations = matching(durationForm, "must match pattern: "+durationForm.String())
)

func matching(form *regexp.Regexp, problem string) settingRule {
	return func(text string, isNumber bool) string {
		if isNumber || !form.MatchString(text) {
			return problem
		}
		return ""
	}
}
