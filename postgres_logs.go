package cloudapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
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
// change before the line is read again. It's cryptographic, so that nobody can
// write a message with the hash of another line.
func (e *PostgresLogEntry) hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %q %q %q %q", e.Timestamp.Unix(), e.Timestamp.Nanosecond(), e.StreamName, e.ServerID, e.Message, e.Context))
	return base64.RawStdEncoding.EncodeToString(sum[:8])
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

// Defaults of the options, and limits of the server.
const (
	maxLogLines  = 500
	logsSpan     = 30 * time.Minute
	logsMaxSpan  = 24 * time.Hour                // the longest span that a request can have
	logsKept     = 7*24*time.Hour - logsArriving // how old a Start can be
	logsArriving = 30 * time.Second              // how long a request may take to reach the server
)

var opPostgresListLogs = Operation{"Postgres.ListLogs", "GET", postgresRoute + "/logs", idempotent | serviceOnly}

// ListLogs returns one page of the logs of a database: the newest lines between
// Start and End, in the order in which the server received them; timestamps may
// be out of order. [Page.Next] is the PaginationKey of the next page, with
// older lines. ListLogs returns [ErrInvalidRequest] if the server keeps no logs,
// and [ErrServer] if it can't reach them. † Only the service has this.
func (s *PostgresService) ListLogs(ctx context.Context, location, postgres string, opts *PostgresLogsOptions) (*Page[PostgresLogEntry], error) {
	o := orZero(opts)
	o.Start, o.End = o.Start.UTC(), o.End.UTC() // as in the server's records
	return listByKey[PostgresLogEntry](ctx, s.conn, &opPostgresListLogs, o, o.PageSize, location, postgres)
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
		pages := follow(opPostgresListLogs.Name, o.PaginationKey, func(ctx context.Context, key string) (*Page[PostgresLogEntry], error) {
			o.PaginationKey = key
			page, err := s.ListLogs(ctx, location, postgres, &o)
			if err == nil {
				slices.Reverse(page.Items)
			}
			return page, err
		})
		items(ctx, s.conn, pages)(yield)
	}
}

// PostgresLogMarker is a position in the logs of a database, from which
// [PostgresService.FollowLogs] continues with the same filters. Store it as
// JSON, which has about 16 characters for each line of the last poll. A poll
// covers about a minute, and up to a day or 10,000 lines while FollowLogs
// catches up.
type PostgresLogMarker struct {
	Start time.Time      `json:"start,omitzero"`
	End   time.Time      `json:"end,omitzero"`
	Seen  map[string]int `json:"seen"` // how many lines from Start to End were yielded, by hash
}

// PostgresFollowLogsOptions are settings of FollowLogs; nil means defaults.
type PostgresFollowLogsOptions struct {
	// Marker is the position to continue from. To begin at a time, set only its
	// Start; default half an hour ago. A Start in the future begins now.
	Marker PostgresLogMarker

	// These select lines as in [PostgresLogsOptions].
	StreamName    string
	SeverityLevel string
	ServerRole    string
	QueryPattern  string

	UntilNow              bool          // end after the lines up to now, or at any error but ErrLogsExpired
	Overlap               time.Duration // how late a line may appear in the logs; default 1 minute, maximum 12 hours
	Interval, MaxInterval time.Duration // the pauses, as in WatchOptions

	// Progress is called on the goroutine of the loop when the program has processed
	// the lines of a poll. Done is the number of lines, Polls the number of polls,
	// and Err the error of the poll. Record is a PostgresLogMarker, the position
	// after the last complete poll. Err is [ErrLogsExpired] if the server no longer
	// keeps the lines after the Marker; the oldest lines that remain follow.
	Progress func(Progress)

	maxHeld int // the limit for the lines of one range, in bytes
}

const (
	followLogs  = "Postgres.FollowLogs" // the operation's name in errors and in Progress
	logsOverlap = time.Minute
	maxHeldLogs = 64 << 20
	logLineSize = 512 // an estimate of the bytes of a line without its message

	// maxRangeLines is how many lines a range can have that isn't as short as
	// possible. A program that ends in the middle of a range gets its lines again.
	maxRangeLines = 10_000
)

// FollowLogs yields the lines of a database's logs as the server receives them:
// first the lines since the marker in the options, and then new ones, until the
// context ends. It yields each line once, in the server's order. A program that
// stores the markers that Progress gets, and passes the last one to its next
// FollowLogs, gets each line at least once: after a crash, the lines since that
// marker come again.
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
// than Overlap. This machine's clock or the Date of the server's responses must
// be right, and the two must differ by less than a day. FollowLogs holds up to
// about 64 MiB of lines in memory. If a range has more, or more than 10,000
// lines, it requests shorter ranges, but none shorter than twice the Overlap. It
// yields ErrPaginationStalled if even that has more than 64 MiB. † Only the
// service has this.
func (s *PostgresService) FollowLogs(ctx context.Context, location, postgres string, opts *PostgresFollowLogsOptions) iter.Seq2[*PostgresLogEntry, error] {
	o := orZero(opts)
	o.Overlap = cmp.Or(max(o.Overlap, 0), logsOverlap)
	o.maxHeld = cmp.Or(o.maxHeld, maxHeldLogs)
	return func(yield func(*PostgresLogEntry, error) bool) {
		f := logFollower{PostgresFollowLogsOptions: o, conn: s.conn, op: opPostgresListLogs, location: location, postgres: postgres}
		if err := f.run(ctx, yield); err != nil {
			yield(nil, err)
		}
	}
}

// logFollower is one run of FollowLogs.
type logFollower struct {
	PostgresFollowLogsOptions // its Marker is the position after the last range
	conn                      *conn
	op                        Operation
	location, postgres        string
	last                      func() *Exchange // returns the exchange of the last request

	span     time.Duration // the length of the next range
	sent     time.Time     // when the first page of the last range was requested, by this machine's clock
	answered time.Time     // when that page arrived
	until    time.Time     // for UntilNow: the time of the first response
	behind   time.Duration // how far this machine's clock is behind the Date of the last response; 0 before the first
}

// now returns when the last range was requested, by this machine's clock or the
// server's, whichever is behind.
func (f *logFollower) now() time.Time { return f.sent.Add(min(f.behind, 0)) }

// run yields lines until something ends it, and returns the error, if any.
func (f *logFollower) run(ctx context.Context, yield func(*PostgresLogEntry, error) bool) error {
	switch {
	case ctx == nil:
		return noContext(followLogs)
	case f.Overlap > logsMaxSpan/2:
		return argumentError(followLogs, "Overlap", f.Overlap.String(), "must be at most 12 hours")
	}
	ctx, f.last = CaptureExchange(ctx)
	f.Marker.Start = earlier(f.Marker.Start, time.Now()) // a Start in the future would skip lines
	watch := (&WatchOptions{Interval: f.Interval, MaxInterval: f.MaxInterval}).withDefaults()
	p := newPoller(followLogs, qualify(f.location, f.postgres), pace.Pauses{First: watch.Interval, Longest: watch.MaxInterval}, f.Progress)
	p.tolerated = f.tolerated
	return p.run(ctx, func() (step, error) {
		found, wait, err := f.poll(ctx)
		for _, line := range found {
			if ctx.Err() != nil {
				return left, pace.Err(ctx)
			}
			p.progress.Done++
			p.pauses.Reset()
			if !yield(line, nil) {
				return left, nil
			}
		}
		p.progress.Record = f.Marker
		switch {
		case !wait:
			return immediately, err
		case f.UntilNow && err == nil:
			return finished, nil
		}
		return again, err
	})
}

// tolerated returns how many failures like err may follow each other.
func (f *logFollower) tolerated(err error) int {
	if f.UntilNow && !errors.Is(err, ErrLogsExpired) {
		return 0
	}
	return toleratedByWatch(err)
}

// poll reads the next range, and moves the Marker to the end of the range. It
// returns the new lines, and whether to wait before the next poll, as after
// most errors and once the range reaches the present.
func (f *logFollower) poll(ctx context.Context) (lines []*PostgresLogEntry, wait bool, err error) {
	if f.Marker.Seen == nil { // the program chose the Start: ask for the time of the server first, since the program's clock can be ahead
		if _, err := f.page(ctx, PostgresLogsOptions{PageSize: 1}); err != nil {
			return nil, true, err
		}
		if f.Marker.Start.IsZero() {
			f.Marker.Start = f.now().Add(-logsSpan)
		}
		f.Marker = PostgresLogMarker{Start: earlier(f.Marker.Start, f.now()), Seen: map[string]int{}}
	}
	// A range that ends before the Marker's End would yield the lines after it twice.
	start := f.Marker.Start.UTC()
	shortest := min(max(2*f.Overlap, f.Marker.End.Sub(start)), logsMaxSpan)
	f.span = max(f.span, shortest)
	end, most := start.Add(f.span), maxRangeLines
	if f.span == shortest {
		most = math.MaxInt
	}
	lines, err = f.read(ctx, start, end, most)
	switch oldest := f.sent.Add(f.behind - logsKept); {
	case errors.Is(err, ErrInvalidRequest) && start.Before(oldest):
		f.Marker = PostgresLogMarker{Start: oldest.Add(logsArriving), Seen: map[string]int{}}
		return nil, false, fmt.Errorf("cloudapi: %s: %w: those from %s to %s", followLogs, ErrLogsExpired, start.Format(time.RFC3339), f.Marker.Start.Format(time.RFC3339))
	case errors.Is(err, ErrPaginationStalled) && f.span > shortest:
		f.span /= 8
		return nil, false, nil
	case err != nil:
		return nil, true, err
	}
	f.span = nextSpan(f.span, len(lines))
	next := PostgresLogMarker{
		Start: earlier(f.now(), end).Add(-f.Overlap),
		End:   earlier(f.answered.Add(max(f.behind, 0)+time.Second), end), // a Date has whole seconds
		Seen:  map[string]int{},
	}
	if next.Start.Before(start) {
		next.Start = start
	}
	lines = slices.DeleteFunc(lines, func(line *PostgresLogEntry) bool {
		hash := line.hash()
		next.Seen[hash]++
		return next.Seen[hash] <= f.Marker.Seen[hash]
	})
	f.Marker = next
	present := f.now()
	if f.UntilNow {
		present = f.until // not f.now(): new lines can arrive faster than FollowLogs reads them
	}
	return lines, !end.Before(present), nil
}

// nextSpan returns the length of the range that follows one with n lines. The
// next one may have twice as many, at least 100 and at most half of what a range
// can have, but it's at most four times as long: there can be a burst of lines.
func nextSpan(span time.Duration, n int) time.Duration {
	want := min(max(2*n, 100), maxRangeLines/2)
	return min(span/time.Duration(max(n, want/4))*time.Duration(want), logsMaxSpan)
}

// read returns the lines of a range. It returns ErrPaginationStalled if there
// are more lines than most, or than fit into memory.
func (f *logFollower) read(ctx context.Context, start, end time.Time, most int) ([]*PostgresLogEntry, error) {
	var pages [][]*PostgresLogEntry // the newest first
	size, n := 0, 0
	for page, err := range follow(f.op.Name, "", func(ctx context.Context, key string) (*Page[PostgresLogEntry], error) {
		return f.page(ctx, PostgresLogsOptions{
			Start: start, End: end, PaginationKey: key, PageSize: maxLogLines,
			StreamName: f.StreamName, SeverityLevel: f.SeverityLevel, ServerRole: f.ServerRole, QueryPattern: f.QueryPattern,
		})
	})(ctx) {
		if err != nil {
			return nil, err
		}
		pages = append(pages, page.Items)
		size += logLineSize // a page without lines counts too
		for _, line := range page.Items {
			size += logLineSize + len(line.Message)
		}
		if n += len(page.Items); n > most || size > f.maxHeld {
			return nil, fmt.Errorf("cloudapi: %s: %w: more than %d MiB of lines from %s to %s; use filters or a shorter Overlap", followLogs,
				ErrPaginationStalled, f.maxHeld>>20, start.Format(time.RFC3339), end.Format(time.RFC3339))
		}
	}
	slices.Reverse(pages)
	return slices.Concat(pages...), nil
}

// page returns one page. For the first page of a range, it also records when it
// sent the request: lines written later aren't in the range's pages.
func (f *logFollower) page(ctx context.Context, o PostgresLogsOptions) (*Page[PostgresLogEntry], error) {
	sent := time.Now().Round(0).UTC() // without the monotonic clock, which can stop while the machine sleeps
	page, err := listByKey[PostgresLogEntry](ctx, f.conn, &f.op, o, o.PageSize, f.location, f.postgres)
	if err == nil {
		f.op.class &^= serviceOnly // the server has the operation: a later 404 says that the database is gone
	}
	if exchange := f.last(); o.PaginationKey == "" && exchange != nil {
		f.sent, f.answered = sent, time.Now().Round(0).UTC()
		if date, err := http.ParseTime(exchange.Header.Get("Date")); err == nil {
			f.behind = date.Sub(sent)
		}
		if f.until.IsZero() {
			f.until = f.now()
		}
	}
	return page, err
}

func earlier(t, u time.Time) time.Time {
	if u.Before(t) {
		return u
	}
	return t
}
