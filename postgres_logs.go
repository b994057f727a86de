package cloudapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"
)

// PostgresLogEntry is a line in the logs of a database.
type PostgresLogEntry struct {
	Timestamp     time.Time `json:"timestamp"`      // with a precision of one nanosecond
	StreamName    string    `json:"stream_name"`    // one of the PostgresLogStream constants
	SeverityLevel string    `json:"severity_level"` // one of the PostgresLogSeverity constants
	Message       string    `json:"message"`
	ServerUBID    string    `json:"server_ubid"` // the ID of the server, prefix pv
	ServerRole    string    `json:"server_role"` // one of the PostgresServerRole constants

	// Context has details of a connection if the line is about one: any of "user",
	// "dbname", "pid" and "remote_host_port".
	Context map[string]string `json:"context"`
}

func (e *PostgresLogEntry) lacks() string {
	if e.Timestamp.IsZero() {
		return "timestamp"
	}
	return ""
}

// hash returns the same number for a line whenever it is read: a server's role
// can change meanwhile. Messages may be an attacker's, who must not be able to
// choose the hash of another line.
func (e *PostgresLogEntry) hash() uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %q %q %q %q", e.Timestamp.Unix(), e.Timestamp.Nanosecond(), e.StreamName, e.ServerUBID, e.Message, e.Context))
	return binary.BigEndian.Uint64(sum[:])
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
	PostgresLogSeverityUnspecified = "UNSPECIFIED" // not valid in PostgresLogsOptions
)

// PostgresLogsOptions select what Logs and AllLogs return.
type PostgresLogsOptions struct {
	// Start and End limit the time. The defaults are half an hour ago and now.
	// Start can be up to 7 days ago, and End up to 24 hours after Start.
	Start time.Time `url:"start,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`
	End   time.Time `url:"end,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`

	StreamName    string `url:"stream_name,omitempty"`    // one of the PostgresLogStream constants
	SeverityLevel string `url:"severity_level,omitempty"` // a PostgresLogSeverity constant; only this level, no higher
	ServerRole    string `url:"server_role,omitempty"`    // one of the PostgresServerRole constants
	QueryPattern  string `url:"query_pattern,omitempty"`  // a literal part of the message, up to 200 characters
	PageSize      int    `url:"max_log_lines,omitempty"`  // up to 500; default 50 in Logs and 500 in AllLogs

	// PaginationKey is [Page.NextStartAfter] of the previous page. The other
	// options must be those of that page: set Start and End, whose defaults move.
	PaginationKey string `url:"pagination_key,omitempty"`
}

// Defaults of the options.
const (
	maxLogLines = 500
	logsSpan    = 30 * time.Minute
)

// inUTC returns the options with times in UTC, as the server writes them.
func (o *PostgresLogsOptions) inUTC() PostgresLogsOptions {
	options := orZero(o)
	options.Start, options.End = options.Start.UTC(), options.End.UTC()
	return options
}

var opPostgresLogs = Operation{"Postgres.Logs", "GET", postgresRoute + "/logs", idempotent | serviceOnly}

// Logs returns one page of the logs of a database: the newest lines of the time
// in the options, in the order in which the server received them. Timestamps
// may be out of order. [Page.NextStartAfter] is the PaginationKey of the next
// page, which has older lines. Logs returns [ErrInvalidRequest] if the server
// keeps no logs, and [ErrServer] if it can't reach them.
//
// † Only the service has this.
func (s *PostgresService) Logs(ctx context.Context, location, postgres string, opts *PostgresLogsOptions) (*Page[PostgresLogEntry], error) {
	o := opts.inUTC()
	return listByKey[PostgresLogEntry](ctx, s.conn, &opPostgresLogs, o, o.PageSize, location, postgres)
}

// AllLogs iterates over the logs of a database, the newest page first. The
// default End is the time at which it begins, by this machine's clock. It
// yields [ErrPaginationStalled] if a page has the key of an earlier page.
//
// † Only the service has this.
func (s *PostgresService) AllLogs(ctx context.Context, location, postgres string, opts *PostgresLogsOptions) iter.Seq2[*PostgresLogEntry, error] {
	start := opts.inUTC()
	return newestFirst(ctx, s.conn, &opPostgresLogs, func(now time.Time) (string, func(context.Context, string) (*Page[PostgresLogEntry], error)) {
		o := start
		o.PageSize = cmp.Or(o.PageSize, maxLogLines)
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
