package families

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, want string }{ // "" is no problem
		{"max_connections", `"1"`, ""},
		{"max_connections", `10000`, ""},
		{"max_connections", `0`, "[must be between 1 and 10000]"},
		{"max_connections", `"10001"`, "[must be between 1 and 10000]"},
		{"max_connections", `"99.9"`, "[must be an integer]"},
		{"seq_page_cost", `"0"`, ""},
		{"checkpoint_completion_target", `1.5`, "[must be between 0.0 and 1.0]"},
		{"recursive_worktable_factor", `"0"`, "[must be between 0.001 and 1e+06]"},
		{"checkpoint_completion_target", `"half"`, "[must be a float]"},
		{"checkpoint_completion_target", `"Inf"`, "[must be a float]"},
		{"temp_file_limit", `"-1"`, ""},
		{"pg_stat_statements.max", `"1"`, "[must be between 100 and 2147483647]"},
		{"wal_level", `"logical"`, ""},
		{"wal_level", `"high"`, "[must be one of: minimal, replica, logical]"},
		{"work_mem", `"64MB"`, ""},
		{"work_mem", `"64 MB"`, "[must match pattern: ^[0-9]+(kB|MB|GB|TB)?$]"},
		{"work_mem", `64`, "[must match pattern: ^[0-9]+(kB|MB|GB|TB)?$]"},
		{"statement_timeout", `"10s"`, ""},
		{"statement_timeout", `15000`, "[must match pattern: ^[0-9]+(us|ms|s|min|h|d)?$]"},
		{"statement_timeout", `"-1"`, "[must match pattern: ^[0-9]+(us|ms|s|min|h|d)?$]"},
		{"jit", `"OF"`, ""},
		{"jit", `"o"`, "[must be 'on' or 'off' or 'true' or 'false' or '1' or '0' or any unambiguous prefix of these values (case-insensitive)]"},
		{"TimeZone", `"Europe/Berlin"`, ""},
		{"timezone", `"Europe/Berlin"`, "Unknown configuration parameter"},
		{"TimeZone", `"'Europe/Berlin'"`, "[must not be wrapped in single quotes - quoting is handled automatically]"},
		{"TimeZone", `"'"`, ""},
		{"TimeZone", `"a\nb"`, "Value cannot contain newlines"},
		{"ssl", `"off"`, "[Modifying this parameter is not allowed]"},
		{"shared_buffers", `"4GB"`, "[Modifying this parameter is not allowed]"},
		{"log_line_prefix", `"%m"`, "[Modifying this parameter is not allowed]"},
		{"log_timezone", `"UTC"`, "[Modifying this parameter is not allowed]"},
		{"allow_alter_system", `"off"`, "[Modifying this parameter is not allowed]"},
		{"bouncer auth_query", `"x"`, "[Modifying this parameter is not allowed]"},
		{"bouncer ssl", `"off"`, "Unknown configuration parameter"},
		{"shared_buffers", `""`, "Value cannot be empty"},
		{"shared_memory_percent", `"30"`, "Unknown configuration parameter"},
		{"ubicloud.shared_memory_percent", `76`, "[must be between 25 and 75]"},
		{"ubicloud.shared_memory_percent", `"25"`, ""},
		{"work_mem", `""`, "Value cannot be empty"},
		{"any.thing", `"x"`, ""},
		{"any.thing", `null`, "Value cannot be empty"},
		{"too.many.dots", `"x"`, "Unknown configuration parameter"},
		{"bouncer query_timeout", `"1"`, "Unknown configuration parameter"},
		{"bouncer default_pool_size", `"0"`, "[must be between 1 and 65535]"},
		{"wal_compression", `"lz4"`, ""},
		{"wal_compression", `"0"`, "[must be one of: on, off, pglz, lz4, zstd]"},
		{"bouncer stats_period", `"4"`, "[must be between 5 and 65535]"},
		{"bouncer min_pool_size", `"0"`, ""},
	} {
		field, known := "pg_config", postgresSettings
		name, bouncer := strings.CutPrefix(tt.name, "bouncer ")
		if bouncer {
			field, known = "pgbouncer_config", pgBouncerSettings
		}
		want := "[]"
		if tt.want != "" {
			want = fmt.Sprintf("[{%s.%s %s}]", field, name, tt.want)
		}
		if got := fmt.Sprint(settingProblems(field, known, schema.Fields{name: json.RawMessage(tt.value)})); got != want {
			t.Errorf("%s = %s: %s, want %s", tt.name, tt.value, got, want)
		}
	}
}
