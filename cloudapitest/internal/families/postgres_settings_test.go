package families

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		want        any // what is wrong
	}{
		{"max_connections", `"1"`, nil},
		{"max_connections", `10000`, nil},
		{"max_connections", `99.9`, nil},
		{"max_connections", `"0x10"`, nil},
		{"max_connections", `0`, []string{"must be between 1 and 10000"}},
		{"max_connections", `"99.9"`, []string{"must be an integer"}},
		{"max_connections", `true`, []string{"must be an integer"}},
		{"random_page_cost", `"1.1"`, nil},
		{"checkpoint_completion_target", `1.5`, []string{"must be between 0.0 and 1.0"}},
		{"checkpoint_completion_target", `"half"`, []string{"must be a float"}},
		{"checkpoint_completion_target", `"Inf"`, []string{"must be a float"}},
		{"wal_level", `"logical"`, nil},
		{"wal_level", `"high"`, []string{"must be one of: minimal, replica, logical"}},
		{"wal_level", `1`, []string{"must be one of: minimal, replica, logical"}},
		{"work_mem", `"64MB"`, nil},
		{"work_mem", `"64 MB"`, []string{"must match pattern: ^[0-9]+(kB|MB|GB|TB)?$"}},
		{"deadlock_timeout", `"2min"`, nil},
		{"deadlock_timeout", `"2m"`, []string{"must match pattern: ^[0-9]+(us|ms|s|min|h|d)?$"}},
		{"jit", `"OF"`, nil},
		{"jit", `"tru"`, nil},
		{"jit", `"o"`, []string{"must be 'on' or 'off' or 'true' or 'false' or '1' or '0' " +
			"or any unambiguous prefix of these values (case-insensitive)"}},
		{"jit", `true`, "500"},
		{"work_mem", `8`, "500"},
		{"TimeZone", `"Europe/Berlin"`, nil},
		{"timezone", `"Europe/Berlin"`, "Unknown configuration parameter"},
		{"work_mem", `""`, "Value cannot be empty"},
		{"any.thing", `"x"`, nil},
		{"any.thing", `null`, "Value cannot be empty"},
		{"pg_stat_statements.max", `"1"`, []string{"must be between 100 and 2147483647"}},
		{"too.many.dots", `"x"`, "Unknown configuration parameter"},
		{"dot.", `"x"`, "Unknown configuration parameter"},
		{"transaction_timeout", `"1"`, nil},
		{"old_snapshot_threshold", `"1"`, "Unknown configuration parameter"},
		{"parallel_setup_cost", `"1"`, "Unknown configuration parameter"},
		{"statement_timeout", `"10s"`, nil},
		{"statement_timeout", `"-1"`, []string{"must match pattern: ^[0-9]+(us|ms|s|min|h|d)?$"}},
		{"temp_file_limit", `"-1"`, nil},
		{"vacuum_cost_delay", `"2ms"`, []string{"must be an integer"}},
		{"wal_compression", `"lz4"`, nil},
		{"wal_compression", `"0"`, []string{"must be one of: on, off, pglz, lz4, zstd"}},
		{"cron.launch_active_jobs", `"0"`, []string{"must be one of: on, off"}},
		{"default_toast_compression", `"zstd"`, []string{"must be one of: pglz, lz4"}},
		{"seq_page_cost", `"0"`, nil},
		{"recursive_worktable_factor", `"0"`, []string{"must be between 0.001 and 1000000.0"}},
	} {
		problems, err := settingProblems("pg_config", postgresSettings("17"), schema.Fields{tt.name: json.RawMessage(tt.value)})
		var got any
		switch {
		case err != nil:
			got = fmt.Sprint(err.(*reply.Error).Code)
		case len(problems) > 0:
			got = problems[0].What
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s = %s: %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
	for _, tt := range []struct{ name, value, want string }{
		{"old_snapshot_threshold", `"1"`, ""},
		{"transaction_timeout", `"1"`, "Unknown configuration parameter"},
		{"jit", `"on"`, ""},
		{"parallel_setup_cost", `"1"`, ""},
		{"default_toast_compression", `"any"`, ""},
		{"seq_page_cost", `"0"`, "must be between 1.0 and 1.79769e+308"},
	} {
		problems, err := settingProblems("pg_config", postgresSettings("16"), schema.Fields{tt.name: json.RawMessage(tt.value)})
		if got := fmt.Sprint(problems); err != nil || (len(problems) > 0) != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("version 16: %s = %s: %s, %v, want %q", tt.name, tt.value, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ name, value, want string }{
		{"query_timeout", `"1"`, "Unknown configuration parameter"},
		{"server_fast_close", `"1"`, "Unknown configuration parameter"},
		{"default_pool_size", `"0"`, "must be between 1 and 65535"},
		{"stats_period", `"4"`, "must be between 5 and 65535"},
		{"min_pool_size", `"0"`, ""},
	} {
		problems, err := settingProblems("pgbouncer_config", pgBouncerSettings, schema.Fields{tt.name: json.RawMessage(tt.value)})
		if got := fmt.Sprint(problems); err != nil || (len(problems) > 0) != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("PgBouncer: %s = %s: %s, %v, want %q", tt.name, tt.value, got, err, tt.want)
		}
	}
}
