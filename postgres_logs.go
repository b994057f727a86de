package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// PostgresLogEntry is a line in the logs of a database.
type PostgresLogEntry struct {
	Timestamp     time.Time         `json:"timestamp"`      // with a precision of one nanosecond
	StreamName    string            `json:"stream_name"`    // a constant such as [PostgresLogEntryStreamNamePostgres]
	SeverityLevel string            `json:"severity_level"` // a constant such as [PostgresLogEntrySeverityLevelError]
	Message       string            `json:"message"`
	ServerID      string            `json:"server_ubid"` // the ID of the server, prefix pv
	ServerRole    string            `json:"server_role"` // a constant such as [PostgresServerRolePrimary]
	Context       map[string]string `json:"context"`     // of the connection: any of the keys "user", "dbname", "pid" and "remote_host_port"
}

func (e *PostgresLogEntry) lacks() string { return missing("timestamp", e.Timestamp.IsZero()) }

// hash identifies a line. It leaves out the role of the server, which can
// change before the line is read again.
func (e *PostgresLogEntry) hash() string {
	return hashOf(fmt.Appendf(nil, "%d %d %q %q %q %q", e.Timestamp.Unix(), e.Timestamp.Nanosecond(), e.StreamName, e.ServerID, e.Message, e.Context))
}

// Values of [PostgresLogEntry.StreamName]. † Only the service has these.
const (
	PostgresLogEntryStreamNamePostgres  = "postgres"
	PostgresLogEntryStreamNamePgBouncer = "pgbouncer" // the connection pooler
	PostgresLogEntryStreamNameUpgrade   = "upgrade"
)

// Values of [PostgresLogEntry.SeverityLevel]. † Only the service has these.
const (
	PostgresLogEntrySeverityLevelDebug       = "DEBUG"
	PostgresLogEntrySeverityLevelInfo        = "INFO"
	PostgresLogEntrySeverityLevelWarn        = "WARN"
	PostgresLogEntrySeverityLevelError       = "ERROR"
	PostgresLogEntrySeverityLevelFatal       = "FATAL"
	PostgresLogEntrySeverityLevelUnspecified = "UNSPECIFIED" // not valid in PostgresLogsOptions
)

// PostgresLogsOptions select what ListLogs and AllLogs return.
type PostgresLogsOptions struct {
	// Start and End limit the period. The defaults are half an hour ago and now.
	// Start can be up to 7 days ago, and End up to 24 hours after Start.
	Start time.Time `url:"start,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`
	End   time.Time `url:"end,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`

	StreamName    string `url:"stream_name,omitempty"`    // a constant such as [PostgresLogEntryStreamNamePostgres]
	SeverityLevel string `url:"severity_level,omitempty"` // a constant such as [PostgresLogEntrySeverityLevelError]; selects exactly this level
	ServerRole    string `url:"server_role,omitempty"`    // a constant such as [PostgresServerRolePrimary]
	QueryPattern  string `url:"query_pattern,omitempty"`  // text that the message contains, not a regular expression; up to 200 characters
	PageSize      int    `url:"max_log_lines,omitempty"`  // up to 500; default 50 in ListLogs and 500 in AllLogs

	// PaginationKey is the [Page.Next] of the previous page. Keep the other
	// options, and set Start and End: their defaults depend on the time.
	PaginationKey string `url:"pagination_key,omitempty"`
}

// Limits of the server.
const (
	maxLogLines = 500
	logsMaxSpan = 24 * time.Hour                // the longest span that a request can have
	logsKept    = 7*24*time.Hour - logsArriving // how old a Start can be
)

var opPostgresListLogs = Operation{"Postgres.ListLogs", "GET", postgresRoute + "/logs", idempotent | serviceOnly}

// ListLogs returns one page of the logs of a database: the newest lines between
// Start and End, in the order in which the server received them; timestamps may
// be out of order. [Page.Next] is the PaginationKey of the next page, with
// older lines. ListLogs returns [ErrInvalidRequest] if the server keeps no logs,
// and [ErrServer] if it can't reach them. † Only the service has this.
func (s *PostgresService) ListLogs(ctx context.Context, location, postgres string, opts *PostgresLogsOptions) (*Page[PostgresLogEntry], error) {
	return s.listLogs(ctx, &opPostgresListLogs, location, postgres, orZero(opts))
}

func (s *PostgresService) listLogs(ctx context.Context, op *Operation, location, postgres string, o PostgresLogsOptions) (*Page[PostgresLogEntry], error) {
	o.Start, o.End = o.Start.UTC(), o.End.UTC() // as in the server's records
	return listByKey[PostgresLogEntry](ctx, s.conn, op, o, o.PageSize, location, postgres)
}

// logPages returns the pages of a period, the newest line first.
func (s *PostgresService) logPages(op *Operation, location, postgres string, o PostgresLogsOptions) pageSeq[PostgresLogEntry] {
	return pagesFrom(op.Name, o.PaginationKey, func(ctx context.Context, key string) (*Page[PostgresLogEntry], error) {
		o.PaginationKey = key
		page, err := s.listLogs(ctx, op, location, postgres, o)
		if err == nil {
			slices.Reverse(page.Items)
		}
		return page, err
	})
}

// AllLogs iterates over the logs of a database, the newest line first. The
// default End is the time at which the iteration begins, by this machine's
// clock. † Only the service has this.
func (s *PostgresService) AllLogs(ctx context.Context, location, postgres string, opts *PostgresLogsOptions) iter.Seq2[*PostgresLogEntry, error] {
	start := orZero(opts)
	return func(yield func(*PostgresLogEntry, error) bool) {
		o := start
		o.PageSize = cmp.Or(o.PageSize, maxLogLines)
		if o.End.IsZero() {
			o.End = time.Now()
		}
		if o.Start.IsZero() {
			o.Start = o.End.Add(-logsSpan)
		}
		items(ctx, s.conn, s.logPages(&opPostgresListLogs, location, postgres, o))(yield)
	}
}

// FollowLogs yields the lines of a database's logs as the server receives them:
// first the lines since the marker in the options, and then new ones, until the
// context ends. The filter, which may be nil, selects lines; its Start, End,
// PageSize and PaginationKey must be zero. It yields each line once, in the server's order. A program that
// stores the markers that Checkpoint gets, and passes the last one to its next
// FollowLogs, gets each line at least once: the line at which it left the loop
// comes again, and after a crash, the lines since that marker do.
//
// FollowLogs reports failed polls to Progress. It continues after transient
// failures ([IsTransient]), however many, except that JSON that the SDK can't
// read, a 501 and a 505 end it when they occur for the sixth time without a
// successful poll in between. [ErrPaginationStalled], [ErrLogsExpired] and a
// gateway's 404 end it when they occur for the third time. Any other error ends
// it immediately. Once the context ends, the error wraps its error and that of
// the last poll, if any.
//
// Lines have no ID: FollowLogs requests overlapping ranges of time, and
// recognizes lines by their contents. It can miss a line that appears later
// than Overlap. The Date of the server's responses must not be ahead of its
// clock; if they have none, this machine's clock must be right. FollowLogs holds up to
// about 64 MiB of lines in memory. If a range has more than 32 MiB or 10,000
// lines, it requests shorter ranges, but none shorter than twice the Overlap. It
// yields ErrPaginationStalled if even that has more than 64 MiB. † Only the
// service has this.
//
// Experimental: see [LogMarker].
func (s *PostgresService) FollowLogs(ctx context.Context, location, postgres string, filter *PostgresLogsOptions, opts *FollowOptions) iter.Seq2[*PostgresLogEntry, error] {
	return s.followLogs(ctx, location, postgres, filter, opts, maxHeldLogs)
}

func (s *PostgresService) followLogs(ctx context.Context, location, postgres string, filter *PostgresLogsOptions, opts *FollowOptions, maxHeld int) iter.Seq2[*PostgresLogEntry, error] {
	asked := orZero(filter)
	return func(yield func(*PostgresLogEntry, error) bool) {
		f := follower[PostgresLogEntry]{
			operation: "Postgres.FollowLogs", resource: qualify(location, postgres), op: opPostgresListLogs, options: orZero(opts),
			hash: (*PostgresLogEntry).hash, textSize: func(e *PostgresLogEntry) int { return len(e.Message) },
			oldest: func(now time.Time) time.Time { return now.Add(-logsKept) }, maxSpan: logsMaxSpan, maxHeld: maxHeld,
		}
		f.pages = func(op *Operation, start, end time.Time) pageSeq[PostgresLogEntry] {
			o := asked
			if o.Start, o.End, o.PageSize = start, end, maxLogLines; start.IsZero() {
				o = PostgresLogsOptions{PageSize: 1}
			}
			return s.logPages(op, location, postgres, o)
		}
		err := notToFollow(f.operation, !asked.Start.IsZero() || !asked.End.IsZero(), asked.PageSize, asked.PaginationKey)
		if err == nil {
			err = f.run(ctx, yield)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}
