package cloudapi

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/logtail"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// PostgresLogLine is a line that [PostgresService.FollowLogs] yields. Store its
// Marker when the line has been processed, and pass it to the next FollowLogs.
type PostgresLogLine struct {
	*PostgresLogEntry
	Marker PostgresLogMarker `json:"-"` // the place after this line
}

// PostgresLogMarker is a place in the logs of a database, from which
// [PostgresService.FollowLogs] continues with the same filters. Its text and
// JSON can be stored. They contain times, and 8 characters for each line of the
// last minute or so, or of up to a day of old lines: tens of kilobytes.
type PostgresLogMarker struct{ place logtail.Place }

// IsZero reports whether the marker is no place.
func (m PostgresLogMarker) IsZero() bool { return m.place.IsZero() }

// String returns the text of the marker, "" for the zero marker.
func (m PostgresLogMarker) String() string { return m.place.String() }

// MarshalText returns the text of the marker.
func (m PostgresLogMarker) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the text of a marker. It returns an [*ArgumentError] for
// other text, or for one that has been changed or cut off.
func (m *PostgresLogMarker) UnmarshalText(text []byte) error {
	place, ok := logtail.Parse(string(text))
	if !ok {
		return argumentError(followLogs, "marker", string(text), "is not the text of a PostgresLogMarker")
	}
	m.place = place
	return nil
}

// key returns the hash of what equal compares.
func (e *PostgresLogEntry) key() logtail.Key {
	texts := []string{e.StreamName, e.ServerUBID, e.Message}
	for _, name := range slices.Sorted(maps.Keys(e.Context)) {
		texts = append(texts, name, e.Context[name])
	}
	return logtail.KeyOf(e.Timestamp, texts...)
}

// PostgresFollowLogsOptions are the settings of [PostgresService.FollowLogs]. A
// nil *PostgresFollowLogsOptions means the defaults.
type PostgresFollowLogsOptions struct {
	Marker PostgresLogMarker // the place to continue from
	Start  time.Time         // the time to begin at if there is no Marker
	Since  time.Duration     // how old the first line may be if neither is set, by the server's clock; default 30 minutes

	// These select lines as in [PostgresLogsOptions].
	StreamName    string
	SeverityLevel string
	ServerRole    string
	QueryPattern  string

	UntilNow              bool          // ends with the lines up to now, and at any error
	Overlap               time.Duration // how late a line may appear in the logs; default 1 minute, maximum 12 hours
	Interval, MaxInterval time.Duration // the pauses, as in WatchOptions

	// Progress, if not nil, is called on the goroutine of the loop when the program
	// has processed the lines of a round of requests. Done is the number of lines
	// so far, Polls the number of rounds, and Err the error of the round. Record is
	// a PostgresLogMarker, the place after all lines up to now. If the server no
	// longer keeps the lines after the Marker or Start, the first Err is
	// [ErrLogsExpired], and the oldest lines that remain follow.
	Progress func(Progress)
}

const (
	followLogs    = "Postgres.FollowLogs" // in errors and progress
	logsOverlap   = time.Minute
	logsMaxSpan   = 24 * time.Hour               // of a request
	logsKept      = 7*24*time.Hour - time.Minute // less than a week, since time passes until the server reads the request
	logsFirstSpan = time.Hour                    // of the first request for old lines
)

// FollowLogs yields the lines of a database's logs as the server receives them:
// first the lines since the marker or time in the options, and then new ones,
// until the context ends. It yields each line once, in the server's order, even
// across restarts of a program that stores markers:
//
//	var marker cloudapi.PostgresLogMarker // or one that was stored
//	for line, err := range client.Postgres.FollowLogs(ctx, location, "orders", &cloudapi.PostgresFollowLogsOptions{Marker: marker}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(line.Timestamp, line.Message)
//		marker = line.Marker // store its JSON or text
//	}
//
// If lines may come again after a crash, store only the markers that Progress
// gets after each round of requests.
//
// FollowLogs continues after transient failures ([IsTransient]), which it
// reports to Progress, and after [ErrPaginationStalled] or a gateway's 404, but
// not the third time in a row. Any other error is the last element.
//
// Lines have no ID: FollowLogs asks for overlapping ranges of time, and
// recognizes lines by their contents. It can miss a line that appears later
// than Overlap, and repeats a line that disappears from the logs and comes
// back. It holds the lines of one range in memory: of a minute, or, for old
// lines, of an hour to a day.
//
// † Only the service has this.
func (s *PostgresService) FollowLogs(ctx context.Context, location, postgres string, opts *PostgresFollowLogsOptions) iter.Seq2[*PostgresLogLine, error] {
	o := orZero(opts)
	if o.Overlap <= 0 {
		o.Overlap = logsOverlap
	}
	if o.Since <= 0 {
		o.Since = logsSpan
	}
	pauses := (&WatchOptions{Interval: o.Interval, MaxInterval: o.MaxInterval}).withDefaults()
	return func(yield func(*PostgresLogLine, error) bool) {
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
			location:                  location,
			postgres:                  postgres,
			last:                      last,
			pauses:                    pace.Pauses{First: pauses.Interval, Longest: pauses.MaxInterval},
			began:                     time.Now(),
		}
		f.tail = logtail.Tail[*PostgresLogEntry]{
			Read:    f.read,
			Key:     (*PostgresLogEntry).key,
			Place:   o.Marker.place,
			Overlap: o.Overlap,
			Span:    max(logsFirstSpan, 2*o.Overlap),
			MaxSpan: logsMaxSpan,
			Few:     maxLogLines,
			Many:    10 * maxLogLines,
		}
		if err := f.run(ctx, yield); err != nil {
			yield(nil, err)
		}
	}
}

// logFollower is one range over the lines that FollowLogs yields.
type logFollower struct {
	PostgresFollowLogsOptions
	conn               *conn
	location, postgres string

	tail  logtail.Tail[*PostgresLogEntry]
	last  func() *Exchange // of the last request
	clock logtail.Clock    // of the server
	now   time.Time        // when the sequence or, later, the round began

	pauses pace.Pauses
	began  time.Time
	rounds int
	lines  int  // yielded so far
	left   bool // whether the consumer has left the loop
	tolerance
}

// run yields lines until the consumer leaves the loop, or an error ends it.
func (f *logFollower) run(ctx context.Context, yield func(*PostgresLogLine, error) bool) error {
	for {
		caughtUp, err := f.round(ctx, yield)
		if f.left {
			return nil
		}
		f.rounds++
		f.report(err)
		switch tolerated := f.tolerates(err); {
		case err != nil && (f.UntilNow || !tolerated):
			return err
		case err == nil && !caughtUp:
			continue
		case err == nil && f.UntilNow:
			return nil
		}
		if err := pace.Sleep(ctx, max(f.pauses.Next(), f.conn.retryAfter(err))); err != nil {
			return err
		}
	}
}

// round yields the new lines of the next range. It reports whether the range
// reaches the present or, for UntilNow, the time at which the sequence began.
func (f *logFollower) round(ctx context.Context, yield func(*PostgresLogLine, error) bool) (caughtUp bool, err error) {
	if err := f.begin(ctx); err != nil {
		return false, err
	}
	return f.tail.Next(ctx, f.now, func(entry *PostgresLogEntry, at logtail.Place) bool {
		f.lines++
		f.pauses.Reset()
		f.left = !yield(&PostgresLogLine{entry, PostgresLogMarker{at}}, nil)
		return !f.left
	})
}

// read returns the lines of a range, in the order of the server.
func (f *logFollower) read(ctx context.Context, start, end time.Time) ([]*PostgresLogEntry, error) {
	lines, err := Collect(allLogs(ctx, f.conn, &opPostgresLogs, f.location, f.postgres, PostgresLogsOptions{
		Start: start, End: end,
		StreamName: f.StreamName, SeverityLevel: f.SeverityLevel, ServerRole: f.ServerRole, QueryPattern: f.QueryPattern,
	}))
	if err != nil {
		return nil, err
	}
	f.clock.Set(f.last().Header)
	slices.Reverse(lines) // they come newest first
	return lines, nil
}

// begin reads the server's clock, and determines where the round begins.
func (f *logFollower) begin(ctx context.Context) error {
	if !f.clock.IsSet() {
		if _, err := listByKey[PostgresLogEntry](ctx, f.conn, &opPostgresLogs, PostgresLogsOptions{PageSize: 1}, 1, f.location, f.postgres); err != nil {
			return err
		}
		f.clock.Set(f.last().Header)
	}
	if f.now.IsZero() || !f.UntilNow {
		f.now = f.clock.Now()
	}
	oldest := f.clock.Now().Add(-logsKept)
	switch from := &f.tail.Place.From; {
	case from.IsZero() && f.Start.IsZero():
		*from = logtail.Latest(f.now.Add(-f.Since), oldest)
		return nil
	case from.IsZero():
		*from = f.Start.UTC()
	}
	if from := f.tail.Place.From; from.Before(oldest) {
		f.tail.Place.From = oldest
		f.report(fmt.Errorf("cloudapi: %s: %w: those from %s to %s", followLogs, ErrLogsExpired, from.Format(time.RFC3339), oldest.Format(time.RFC3339)))
	}
	return nil
}

// report calls Progress.
func (f *logFollower) report(err error) {
	if f.Progress == nil {
		return
	}
	p := Progress{Operation: followLogs, Resource: place(f.location, f.postgres), Done: f.lines, Polls: f.rounds, Elapsed: time.Since(f.began), Err: err}
	if !f.tail.Place.IsZero() {
		p.Record = PostgresLogMarker{f.tail.Place}
	}
	f.Progress(p)
}
