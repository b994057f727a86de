package cloudapi

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"
)

// PostgresLogEntry is a line in the logs of a database.
type PostgresLogEntry struct {
	Timestamp     time.Time `json:"timestamp"`      // to the nanosecond
	StreamName    string    `json:"stream_name"`    // one of the PostgresLogStream constants
	SeverityLevel string    `json:"severity_level"` // one of the PostgresLogSeverity constants
	Message       string    `json:"message"`
	ServerUBID    string    `json:"server_ubid"` // the ID of the server, prefix pv
	ServerRole    string    `json:"server_role"` // one of the PostgresServerRole constants

	// Context says more where the line is about a connection: "user", "dbname",
	// "pid" and "remote_host_port". Any of them may not be there.
	Context map[string]string `json:"context"`
}

func (e *PostgresLogEntry) missing() string {
	if e.Timestamp.IsZero() {
		return "timestamp"
	}
	return ""
}

// Values of [PostgresLogEntry.StreamName].
const (
	PostgresLogStreamPostgres  = "postgres"
	PostgresLogStreamPgBouncer = "pgbouncer" // the connection pooler
	PostgresLogStreamUpgrade   = "upgrade"
)

// Values of [PostgresLogEntry.SeverityLevel].
const (
	PostgresLogSeverityDebug       = "DEBUG"
	PostgresLogSeverityInfo        = "INFO"
	PostgresLogSeverityWarn        = "WARN"
	PostgresLogSeverityError       = "ERROR"
	PostgresLogSeverityFatal       = "FATAL"
	PostgresLogSeverityUnspecified = "UNSPECIFIED" // which cannot be asked for
)

// PostgresLogsOptions select what [PostgresService.Logs] and
// [PostgresService.AllLogs] return.
type PostgresLogsOptions struct {
	// Start and End bound the time. The defaults are half an hour before now, and
	// now. Start can be up to 7 days ago, and End up to 24 hours behind it.
	Start time.Time `url:"start,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`
	End   time.Time `url:"end,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`

	StreamName    string `url:"stream_name,omitempty"`    // one of the PostgresLogStream constants
	SeverityLevel string `url:"severity_level,omitempty"` // one of the PostgresLogSeverity constants; others, also higher ones, are left out
	ServerRole    string `url:"server_role,omitempty"`    // one of the PostgresServerRole constants
	QueryPattern  string `url:"query_pattern,omitempty"`  // a part of the message, to the letter: up to 200 characters

	// MaxLogLines is the number of lines in a page, up to 500. The default is 50
	// in Logs and 500 in AllLogs.
	MaxLogLines int `url:"max_log_lines,omitempty"`

	// PaginationKey is [Page.NextStartAfter] of the page before, which came with
	// the same options, Start and End among them.
	PaginationKey string `url:"pagination_key,omitempty"`
}

// Defaults of the options.
const (
	maxLogLines = 500
	logsSpan    = 30 * time.Minute
)

// inUTC returns the options with times as the server writes them.
func (o *PostgresLogsOptions) inUTC() PostgresLogsOptions {
	if o == nil {
		return PostgresLogsOptions{}
	}
	options := *o
	options.Start, options.End = options.Start.UTC(), options.End.UTC()
	return options
}

var opPostgresLogs = Operation{"Postgres.Logs", "GET", postgresRoute + "/logs", safe}

// Logs returns one page of the logs of a database: the newest lines of the time
// that the options give, the oldest of them first. [Page.NextStartAfter] is the
// PaginationKey for the page of the lines before them, or "" if there are none.
// Set Start and End to go on from page to page, since their defaults move.
//
// It is [ErrInvalidRequest] if the service keeps no logs. If it cannot reach them
// it is [ErrServer], for which the request is repeated.
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/logs
func (s *PostgresService) Logs(ctx context.Context, location, postgres string, opts *PostgresLogsOptions) (*Page[PostgresLogEntry], error) {
	return listByKey[PostgresLogEntry](ctx, s.client, &opPostgresLogs, opts.inUTC(), location, postgres)
}

// AllLogs returns the logs of a database, the newest lines first, page by page;
// see [PostgresService.Logs]. An End that the options leave open is the time at
// which it begins, by the clock of this machine, and a Start half an hour before
// End. A server that does not go on behind a page is [ErrPaginationStalled].
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/logs
func (s *PostgresService) AllLogs(ctx context.Context, location, postgres string, opts *PostgresLogsOptions) iter.Seq2[*PostgresLogEntry, error] {
	start := opts.inUTC()
	at := func(e *PostgresLogEntry) time.Time { return e.Timestamp }
	return newestFirst(ctx, s.client, &opPostgresLogs, at, func(now time.Time) (string, func(context.Context, string) (*Page[PostgresLogEntry], error)) {
		o := start
		o.MaxLogLines = cmp.Or(o.MaxLogLines, maxLogLines)
		if o.End.IsZero() {
			o.End = now
		}
		if o.Start.IsZero() {
			o.Start = o.End.Add(-logsSpan)
		}
		return o.PaginationKey, func(ctx context.Context, key string) (*Page[PostgresLogEntry], error) {
			asked := o
			asked.PaginationKey = key
			page, err := s.Logs(ctx, location, postgres, &asked)
			if err == nil {
				slices.Reverse(page.Items)
			}
			return page, err
		}
	})
}
