package cloudapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// PostgresLogEntry is a line in the logs of a database.
type PostgresLogEntry struct {
	Timestamp     time.Time `json:"timestamp"`      // with a precision of one nanosecond
	StreamName    string    `json:"stream_name"`    // one of the PostgresLogStream constants
	SeverityLevel string    `json:"severity_level"` // one of the PostgresLogSeverity constants
	Message       string    `json:"message"`
	ServerUBID    string    `json:"server_ubid"` // the ID of the server, prefix pv
	ServerRole    string    `json:"server_role"` // one of the PostgresServerRole constants

	Context map[string]string `json:"context"` // of a connection: any of "user", "dbname", "pid" and "remote_host_port"
}

func (e *PostgresLogEntry) lacks() string {
	if e.Timestamp.IsZero() {
		return "timestamp"
	}
	return ""
}

// hash identifies a line. It leaves out the role of the server, which can
// change before the line is read again. It's cryptographic, so that an attacker
// who writes messages can't give one the hash of another line.
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

	// PaginationKey is [Page.Next] of the previous page. The other options must be
	// the same as for that page. Set Start and End: their defaults depend on the
	// time.
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
// in the options, in the order in which the server received them; timestamps
// may be out of order. [Page.Next] is the PaginationKey of the next page, which
// has older lines. Logs returns [ErrInvalidRequest] if the server keeps no
// logs, and [ErrServer] if it can't reach them.
//
// † Only the service has this.
func (s *PostgresService) Logs(ctx context.Context, location, postgres string, opts *PostgresLogsOptions) (*Page[PostgresLogEntry], error) {
	o := opts.inUTC()
	return listByKey[PostgresLogEntry](ctx, s.conn, &opPostgresLogs, o, o.PageSize, location, postgres)
}

// AllLogs iterates over the logs of a database, the newest line first. The
// default End is the time at which it begins, by this machine's clock.
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

// PostgresLogMarker is a position in the logs of a database, from which
// [PostgresService.FollowLogs] continues with the same filters. Its text and
// JSON can be stored. They have 11 characters for each line of the last minute
// or so, and while FollowLogs catches up, for each line of up to a day.
type PostgresLogMarker struct {
	from    time.Time
	yielded map[uint64]int // by hash, how many lines since from were yielded; never changed, since markers share it
}

// IsZero reports whether the marker is empty.
func (m PostgresLogMarker) IsZero() bool { return m.from.IsZero() }

// String returns the text of the marker, "" for the zero marker.
func (m PostgresLogMarker) String() string {
	if m.IsZero() {
		return ""
	}
	var hashes []byte
	for _, hash := range slices.Sorted(maps.Keys(m.yielded)) {
		for range m.yielded[hash] {
			hashes = binary.BigEndian.AppendUint64(hashes, hash)
		}
	}
	return m.from.Format(time.RFC3339Nano) + "," + base64.RawURLEncoding.EncodeToString(hashes)
}

func (m PostgresLogMarker) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a marker's text. Others lead to an [*ArgumentError].
func (m *PostgresLogMarker) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*m = PostgresLogMarker{}
		return nil
	}
	at, encoded, ok := strings.Cut(string(text), ",")
	from, notTime := time.Parse(time.RFC3339Nano, at)
	hashes, notHashes := base64.RawURLEncoding.DecodeString(encoded)
	if !ok || notTime != nil || notHashes != nil || len(hashes)%8 != 0 {
		return argumentError(followLogs, "marker", string(text), "is not the text of a PostgresLogMarker")
	}
	m.from, m.yielded = from, map[uint64]int{}
	for hash := range slices.Chunk(hashes, 8) {
		m.yielded[binary.BigEndian.Uint64(hash)]++
	}
	return nil
}

// PostgresFollowLogsOptions are settings of FollowLogs; nil means defaults.
type PostgresFollowLogsOptions struct {
	Marker PostgresLogMarker // the position to continue from
	Start  time.Time         // the time to begin at if there is no Marker
	Since  time.Duration     // how old the first line may be if there is no Marker and no Start; default 30 minutes

	// These select lines as in [PostgresLogsOptions].
	StreamName    string
	SeverityLevel string
	ServerRole    string
	QueryPattern  string

	UntilNow              bool          // ends with the lines up to now, and at any error
	Overlap               time.Duration // how late a line may appear in the logs; default 1 minute, maximum 12 hours
	Interval, MaxInterval time.Duration // the pauses, as in WatchOptions

	// Progress is called on the goroutine of the loop when the program has processed
	// the lines of a poll. Done is the number of lines, Polls the number of polls,
	// and Err the error of the poll. Record is a PostgresLogMarker, the position
	// after the last complete poll. Err is [ErrLogsExpired] if the server no longer
	// keeps the lines after the Marker or Start; the oldest lines that remain follow.
	Progress func(Progress)

	maxHeld int // the limit for the lines of one range, in bytes
}

const (
	followLogs  = "Postgres.FollowLogs" // in errors and progress
	logsOverlap = time.Minute
	logsMaxSpan = 24 * time.Hour // the longest span that a request can have
	logsKept    = 7 * 24 * time.Hour
	logsMargin  = time.Minute // subtracted from logsKept: a request takes time to reach the server

	maxHeldLogs = 64 << 20
	logLineSize = 512 // bytes of a line without its message
)

// FollowLogs yields the lines of a database's logs as the server receives them:
// first the lines since the marker or time in the options, and then new ones,
// until the context ends. It yields each line once, in the server's order. A
// program that stores the markers that Progress gets, and passes the last one
// to its next FollowLogs, gets each line at least once: after a crash, the
// lines since that marker come again.
//
// FollowLogs continues after transient failures ([IsTransient]), which it
// reports to Progress, and after [ErrPaginationStalled], [ErrLogsExpired] or a
// gateway's 404, but not the third time in a row. Any other error ends it.
//
// Lines have no ID: FollowLogs asks for overlapping ranges of time, and
// recognizes lines by their contents. It can miss a line that appears later
// than Overlap. It expects that either this machine's clock or the Date of the
// server's responses is right. It holds up to about 64 MiB of lines in memory,
// and yields ErrPaginationStalled if a time of two Overlaps has more.
//
// † Only the service has this.
func (s *PostgresService) FollowLogs(ctx context.Context, location, postgres string, opts *PostgresFollowLogsOptions) iter.Seq2[*PostgresLogEntry, error] {
	o := orZero(opts)
	if o.Overlap <= 0 {
		o.Overlap = logsOverlap
	}
	if o.Since <= 0 {
		o.Since = logsSpan
	}
	o.maxHeld = cmp.Or(o.maxHeld, maxHeldLogs)
	pauses := (&WatchOptions{Interval: o.Interval, MaxInterval: o.MaxInterval}).withDefaults()
	return func(yield func(*PostgresLogEntry, error) bool) {
		switch {
		case ctx == nil:
			yield(nil, noContext(followLogs))
			return
		case o.Overlap > logsMaxSpan/2:
			yield(nil, argumentError(followLogs, "Overlap", o.Overlap.String(), "must be at most 12 hours"))
			return
		}
		ctx, last := CaptureExchange(ctx)
		f := logFollower{
			PostgresFollowLogsOptions: o,
			conn:                      s.conn,
			op:                        &opPostgresLogs,
			location:                  location,
			postgres:                  postgres,
			last:                      last,
			span:                      logsMaxSpan,
			pauses:                    pace.Pauses{First: pauses.Interval, Longest: pauses.MaxInterval},
			began:                     time.Now(),
		}
		if err := f.run(ctx, yield); err != nil {
			yield(nil, err)
		}
	}
}

// logFollower is the state of one loop over the lines that FollowLogs yields.
// Its Marker is the position after the last complete poll.
type logFollower struct {
	PostgresFollowLogsOptions
	conn               *conn
	op                 *Operation
	location, postgres string
	last               func() *Exchange // returns the exchange of the last request

	date, now time.Time     // date is the last response's Date; now is date, or this machine's time if earlier
	isDated   bool          // whether any response had a Date
	until     time.Time     // the value of now after the first response, where UntilNow ends; zero before
	span      time.Duration // the length of the next range

	pauses pace.Pauses
	began  time.Time
	polls  int
	lines  int  // yielded so far
	left   bool // whether the consumer has left the loop
	tolerance
}

// run yields lines until the consumer leaves the loop, or an error ends it.
func (f *logFollower) run(ctx context.Context, yield func(*PostgresLogEntry, error) bool) error {
	for {
		caughtUp, err := f.poll(ctx, yield)
		if f.left {
			return nil
		}
		f.polls++
		f.report(err)
		switch tolerated := f.tolerates(err); {
		case errors.Is(err, ErrLogsExpired) && tolerated, err == nil && !caughtUp:
			continue
		case err != nil && (f.UntilNow || !tolerated):
			return err
		case err == nil && f.UntilNow:
			return nil
		}
		if err := pace.Sleep(ctx, max(f.pauses.Next(), f.conn.retryAfter(err))); err != nil {
			return err
		}
	}
}

// poll yields the new lines of the next range. It reports whether the range
// reaches the present or, for UntilNow, the time at which the sequence began.
func (f *logFollower) poll(ctx context.Context, yield func(*PostgresLogEntry, error) bool) (caughtUp bool, err error) {
	if f.until.IsZero() {
		if err := f.begin(ctx); err != nil {
			return false, err
		}
	}
	start, end := f.Marker.from, f.Marker.from.Add(f.span)
	pages, size, err := f.read(ctx, start, end)
	switch shortest := 2 * f.Overlap; {
	case errors.Is(err, ErrInvalidRequest) && start.Before(f.date.Add(logsMargin/2-logsKept)):
		f.Marker = PostgresLogMarker{from: f.date.Add(logsMargin - logsKept).UTC()}
		return false, fmt.Errorf("cloudapi: %s: %w: those from %s to %s", followLogs, ErrLogsExpired, start.Format(time.RFC3339), f.Marker.from.Format(time.RFC3339))
	case err != nil:
		return false, err
	case size > f.maxHeld && f.span > shortest:
		f.span = max(min(f.span, f.now.Sub(start))/4, shortest)
		return false, nil
	case size > f.maxHeld:
		return false, fmt.Errorf("cloudapi: %s: %w: more than %d MiB of lines from %s to %s; use filters or a shorter Overlap", followLogs,
			ErrPaginationStalled, f.maxHeld>>20, start.Format(time.RFC3339), end.Format(time.RFC3339))
	case size < f.maxHeld/4:
		f.span = min(2*f.span, logsMaxSpan)
	}
	next := PostgresLogMarker{from: earlier(f.now, end).Add(-f.Overlap), yielded: map[uint64]int{}}
	if next.from.Before(start) {
		next.from = start
	}
	for _, page := range slices.Backward(pages) {
		for _, line := range page {
			hash := line.hash()
			if next.yielded[hash]++; next.yielded[hash] <= f.Marker.yielded[hash] {
				continue
			}
			if ctx.Err() != nil {
				return false, pace.Err(ctx)
			}
			f.lines++
			f.pauses.Reset()
			if f.left = !yield(line, nil); f.left {
				return false, nil
			}
		}
	}
	f.Marker = next
	if f.UntilNow {
		return !end.Before(f.until), nil
	}
	return !end.Before(f.now), nil
}

// begin reads the server's clock, and determines where the sequence begins. It
// begins now if the Marker or Start is in the future.
func (f *logFollower) begin(ctx context.Context) error {
	supported := opPostgresLogs
	supported.class &^= serviceOnly // a later 404 says that the database is gone
	if !f.Marker.IsZero() {         // an earlier FollowLogs could read the logs
		f.op = &supported
	}
	if _, err := f.page(ctx, PostgresLogsOptions{PageSize: 1}); err != nil {
		return err
	}
	f.op, f.until = &supported, f.now
	switch from := &f.Marker.from; {
	case from.IsZero() && f.Start.IsZero():
		*from = f.now.Add(-min(f.Since, logsKept-logsMargin))
	case from.IsZero():
		*from = f.Start
	}
	f.Marker.from = earlier(f.Marker.from, f.now).UTC()
	return nil
}

// read returns the pages of a range, the newest first, and their approximate
// size in bytes. It stops when the size exceeds maxHeld.
func (f *logFollower) read(ctx context.Context, start, end time.Time) (pages [][]*PostgresLogEntry, size int, err error) {
	for page, err := range follow(f.op.Name, "", func(ctx context.Context, key string) (*Page[PostgresLogEntry], error) {
		return f.page(ctx, PostgresLogsOptions{
			Start: start, End: end, PaginationKey: key, PageSize: maxLogLines,
			StreamName: f.StreamName, SeverityLevel: f.SeverityLevel, ServerRole: f.ServerRole, QueryPattern: f.QueryPattern,
		})
	})(ctx) {
		if err != nil {
			return nil, 0, err
		}
		pages = append(pages, page.Items)
		size += logLineSize // also of a page without lines
		for _, line := range page.Items {
			size += logLineSize + len(line.Message)
		}
		if size > f.maxHeld {
			break
		}
	}
	return pages, size, nil
}

// page returns one page. The first page of a range sets date and now, since the
// range lacks the lines that are written after it. A response without a Date
// sets them only if no earlier response had a Date.
func (f *logFollower) page(ctx context.Context, o PostgresLogsOptions) (*Page[PostgresLogEntry], error) {
	sent := time.Now().UTC()
	page, err := listByKey[PostgresLogEntry](ctx, f.conn, f.op, o, o.PageSize, f.location, f.postgres)
	if exchange := f.last(); o.PaginationKey == "" && exchange != nil {
		date, notDate := http.ParseTime(exchange.Header.Get("Date"))
		switch {
		case notDate == nil:
			f.date, f.now, f.isDated = date, earlier(date, sent), true
		case !f.isDated:
			f.date, f.now = sent, sent
		}
	}
	return page, err
}

// earlier returns the earlier one of two times.
func earlier(t, u time.Time) time.Time {
	if u.Before(t) {
		return u
	}
	return t
}

// report calls Progress.
func (f *logFollower) report(err error) {
	if f.Progress == nil {
		return
	}
	f.Progress(Progress{
		Operation: followLogs,
		Resource:  qualify(f.location, f.postgres),
		Done:      f.lines,
		Polls:     f.polls,
		Elapsed:   time.Since(f.began),
		Record:    f.Marker,
		Err:       err,
	})
}
