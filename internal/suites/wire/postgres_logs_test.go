package wire_test

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

func postgresLogCases() []wireCase {
	const (
		location = "eu-central-h1"
		target   = postgresPath + "/orders-db/logs"
		key      = "6b025f15-6969-7033-8000-000000000033"
		older    = `{"timestamp":"2026-11-22T03:19:23.431768204Z","stream_name":"postgres","severity_level":"DEBUG","message":"autovacuum",` +
			`"server_ubid":"pvjey6g253fa4n1dbgbsps0nk8","server_role":"primary"}`
		newer = `{"timestamp":"2026-11-22T03:19:24.5Z","stream_name":"postgres","severity_level":"ERROR","message":"relation \"t\" does not exist",` +
			`"server_ubid":"pvbpky0hzb0e5parw9jwz3427n","server_role":"standby","context":{"dbname":"postgres","pid":"4089","user":"postgres"}}`
	)
	entries := []*cloudapi.PostgresLogEntry{
		{
			Timestamp: time.Date(2026, 11, 22, 3, 19, 23, 431768204, time.UTC), StreamName: cloudapi.PostgresLogStreamPostgres, SeverityLevel: cloudapi.PostgresLogSeverityDebug,
			Message: "autovacuum", ServerUBID: "pvjey6g253fa4n1dbgbsps0nk8", ServerRole: cloudapi.PostgresServerRolePrimary,
		},
		{
			Timestamp: time.Date(2026, 11, 22, 3, 19, 24, 5e8, time.UTC), StreamName: cloudapi.PostgresLogStreamPostgres, SeverityLevel: cloudapi.PostgresLogSeverityError,
			Message: `relation "t" does not exist`, ServerUBID: "pvbpky0hzb0e5parw9jwz3427n", ServerRole: cloudapi.PostgresServerRoleStandby,
			Context: map[string]string{"dbname": "postgres", "pid": "4089", "user": "postgres"},
		},
	}
	start := time.Date(2026, 11, 22, 4, 51, 10, 1, time.FixedZone("", 2*60*60))
	return []wireCase{
		{
			name: "logs", method: "GET", target: target, reply: `{"logs":[` + older + `,` + newer + `]}`,
			call: calls("Postgres.Logs", location, "orders-db", nil),
			want: &cloudapi.Page[cloudapi.PostgresLogEntry]{Items: entries},
		},
		{
			name: "a page of some logs", method: "GET",
			target: target + "?end=2026-11-22T03%3A51%3A10.000000001Z&max_log_lines=2&pagination_key=" + key +
				"&query_pattern=100%25+o%27x&server_role=primary&severity_level=ERROR&start=2026-11-22T02%3A51%3A10.000000001Z&stream_name=pgbouncer",
			reply: `{"logs":[` + newer + `],"pagination_key":"` + key + `"}`,
			call: calls("Postgres.Logs", location, "orders-db", &cloudapi.PostgresLogsOptions{
				Start: start, End: start.Add(time.Hour), StreamName: cloudapi.PostgresLogStreamPgBouncer, SeverityLevel: cloudapi.PostgresLogSeverityError,
				ServerRole: cloudapi.PostgresServerRolePrimary, QueryPattern: "100% o'x", PageSize: 2, PaginationKey: key,
			}),
			want: &cloudapi.Page[cloudapi.PostgresLogEntry]{Items: entries[1:], Next: key},
		},
		{
			name: "all logs", method: "GET",
			target: target + "?end=2026-11-22T02%3A51%3A10.000000001Z&max_log_lines=500&start=2026-11-22T02%3A21%3A10.000000001Z",
			reply:  `{"logs":[` + older + `,` + newer + `]}`,
			call:   calls("Postgres.AllLogs", location, "orders-db", &cloudapi.PostgresLogsOptions{End: start}),
			want:   []*cloudapi.PostgresLogEntry{entries[1], entries[0]},
		},
	}
}
