package wire_test

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

func postgresLogCases() []wireCase {
	const (
		path  = orders + "/logs"
		key   = "6b025f15-6969-7033-8000-000000000033"
		older = `{"timestamp":"2026-11-22T03:19:23.431768204Z","stream_name":"postgres","severity_level":"DEBUG","message":"autovacuum",` +
			`"server_ubid":"pvjey6g253fa4n1dbgbsps0nk8","server_role":"primary"}`
		newer = `{"timestamp":"2026-11-22T03:19:24.5Z","stream_name":"postgres","severity_level":"ERROR","message":"relation \"t\" does not exist",` +
			`"server_ubid":"pvbpky0hzb0e5parw9jwz3427n","server_role":"standby","context":{"dbname":"postgres","pid":"4089","user":"postgres"}}`
	)
	start := time.Date(2026, 11, 22, 4, 51, 10, 1, time.FixedZone("", 2*60*60))
	return []wireCase{
		{do("Postgres.ListLogs", location, "orders-db", nil), "GET " + path, `{"logs":[` + older + `,` + newer + `]}`},
		{
			do("Postgres.ListLogs", location, "orders-db", &cloudapi.PostgresLogsOptions{
				Start: start, End: start.Add(time.Hour), StreamName: cloudapi.PostgresLogEntryStreamNamePgBouncer, SeverityLevel: cloudapi.PostgresLogEntrySeverityLevelError,
				ServerRole: cloudapi.PostgresServerRolePrimary, QueryPattern: "100% o'x", PageSize: 2, PaginationKey: key,
			}),
			"GET " + path + "?end=2026-11-22T03%3A51%3A10.000000001Z&max_log_lines=2&pagination_key=" + key +
				"&query_pattern=100%25+o%27x&server_role=primary&severity_level=ERROR&start=2026-11-22T02%3A51%3A10.000000001Z&stream_name=pgbouncer",
			`{"logs":[` + newer + `],"pagination_key":"` + key + `"}`,
		},
		{do("Postgres.AllLogs", location, "orders-db", &cloudapi.PostgresLogsOptions{End: start}),
			"GET " + path + "?end=2026-11-22T02%3A51%3A10.000000001Z&max_log_lines=500&start=2026-11-22T02%3A21%3A10.000000001Z", `{"logs":[` + newer + `]}`},
	}
}
