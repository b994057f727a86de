package cloudapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// PostgresLogLine is a line that [PostgresService.FollowLogs] yields.
type PostgresLogLine struct {
	*PostgresLogEntry

	// Marker is the place after this line. Store it when the line has been
	// processed, and pass it to the next FollowLogs.
	Marker PostgresLogMarker `json:"-"`
}

// PostgresLogMarker is a place in the logs of a database, from which
// [PostgresService.FollowLogs] continues. A program can store its text or its
// JSON. They contain a range of time and, for each line in it that FollowLogs has
// yielded, a hash of 8 bytes, but no text of a line. The range is a minute or so,
// or up to a day while FollowLogs catches up with old lines; a marker can then
// take tens of kilobytes. A marker applies only to the same database and the same
// filters. The zero marker is no place.
type PostgresLogMarker struct {
	from, until time.Time // the range; the next request has all of it
	seen        []lineKey // the yielded lines of the range; shared, so not to be changed
}

// lineKey is a hash of a line. Equal lines have the same key.
type lineKey [6]byte

// IsZero reports whether the marker is no place.
func (m PostgresLogMarker) IsZero() bool { return m.from.IsZero() }

// markerVersion begins the text of a marker.
const markerVersion = "1"

// String returns the text of the marker, "" for the zero marker.
func (m PostgresLogMarker) String() string {
	if m.IsZero() {
		return ""
	}
	var seen []byte
	for _, key := range m.seen {
		seen = append(seen, key[:]...)
	}
	text := fmt.Sprintf("%s.%d.%d.%s", markerVersion, m.from.UnixNano(), m.until.UnixNano(), base64.RawURLEncoding.EncodeToString(seen))
	return text + "." + checksum(text)
}

// checksum returns the end of a marker's text. It detects a text that a database
// has cut off, for example.
func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:len(lineKey{})])
}

// MarshalText returns the text of the marker.
func (m PostgresLogMarker) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the text of a marker. It returns an [*ArgumentError] for
// other text, or for one that has been changed or cut off.
func (m *PostgresLogMarker) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*m = PostgresLogMarker{}
		return nil
	}
	parts := strings.Split(string(text), ".")
	if len(parts) != 5 || parts[0] != markerVersion || checksum(strings.Join(parts[:4], ".")) != parts[4] {
		return notMarker(text)
	}
	from, err := strconv.ParseInt(parts[1], 10, 64)
	until, untilErr := strconv.ParseInt(parts[2], 10, 64)
	seen, seenErr := base64.RawURLEncoding.DecodeString(parts[3])
	if err != nil || untilErr != nil || seenErr != nil || len(seen)%len(lineKey{}) != 0 {
		return notMarker(text)
	}
	*m = PostgresLogMarker{from: time.Unix(0, from).UTC(), until: time.Unix(0, until).UTC()}
	for key := range slices.Chunk(seen, len(lineKey{})) {
		m.seen = append(m.seen, lineKey(key))
	}
	return nil
}

func notMarker(text []byte) error {
	return argumentError(followLogs, "marker", string(text), "is not the text of a PostgresLogMarker")
}

// key returns the hash of what equal compares.
func (e *PostgresLogEntry) key() lineKey {
	h := sha256.New()
	text := func(s string) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(e.Timestamp.Unix())))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(e.Timestamp.Nanosecond())))
	text(e.StreamName)
	text(e.ServerUBID)
	text(e.Message)
	for _, name := range slices.Sorted(maps.Keys(e.Context)) {
		text(name)
		text(e.Context[name])
	}
	return lineKey(h.Sum(nil))
}

// PostgresFollowLogsOptions are the settings of [PostgresService.FollowLogs]. A
// nil *PostgresFollowLogsOptions means the defaults.
type PostgresFollowLogsOptions struct {
	// Marker is the place to continue from: the marker of the last line that the
	// program has processed.
	Marker PostgresLogMarker

	// Start is the time to begin at if there is no Marker.
	Start time.Time

	// Since is how old the first line may be, by the server's clock, if there is
	// neither Marker nor Start. The default, for 0 or less, is half an hour.
	Since time.Duration

	// These select lines as in [PostgresLogsOptions].
	StreamName    string
	SeverityLevel string
	ServerRole    string
	QueryPattern  string

	// UntilNow ends the sequence after the lines up to the time at which it
	// begins, and at any error.
	UntilNow bool

	// Overlap is how late a line may appear in the logs. Each request asks again
	// for the lines of that time, but FollowLogs doesn't yield them again. The
	// default, for 0 or less, is a minute; the maximum is 12 hours.
	Overlap time.Duration

	// Interval and MaxInterval are the pauses, as in [WatchOptions]. The pauses
	// grow while there are no new lines.
	Interval, MaxInterval time.Duration

	// Progress, if not nil, is called after each round of requests, on the
	// goroutine of the loop, when the program has processed the lines of the
	// round. Done is the number of lines so far, Polls the number of rounds, and
	// Err the error of the round. Record is a PostgresLogMarker, the place after
	// all lines up to now, which a program can store if there are no lines for
	// long.
	//
	// If the server no longer keeps the lines after the Marker or Start, Progress
	// is first called with [ErrLogsExpired], and the sequence begins with the
	// oldest lines that remain.
	Progress func(Progress)
}

const (
	followLogs    = "Postgres.FollowLogs" // in errors and progress
	logsOverlap   = time.Minute
	logsMaxSpan   = 24 * time.Hour               // of a request
	logsKept      = 7*24*time.Hour - time.Minute // less than a week, since time passes until the server reads the request
	logsFirstSpan = time.Hour                    // of the first request for old lines
	logsManyLines = 10 * maxLogLines             // in one span
)

// FollowLogs yields the lines of a database's logs as the server receives them:
// first the lines since the marker or time in the options, and then new ones,
// until the context ends. It yields each line once, in the server's order, even
// across restarts of the program if that stores the marker of the last line it
// has processed:
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
// It's enough to store the marker that Progress gets after each round of requests
// if lines may come again after a crash.
//
// After a transient failure ([IsTransient]), such as a server error or a
// gateway's page in place of the logs, FollowLogs reports it to Progress and
// tries again after a pause. It also continues after [ErrPaginationStalled],
// but not the third time in a row. Any other error, or the context's error, is
// the last element.
//
// Lines have no ID. FollowLogs asks for ranges of time that overlap, recognizes
// lines by their time, server, stream, text and context, and counts equal ones.
// It uses the server's clock, which the Date of the responses shows. There are
// limits: it can miss a line that appears later than Overlap, if the server
// selects lines by their timestamps. It yields a line again that disappears
// from the logs and comes back, and a line whose marker the program didn't
// store before it ended. A late line follows newer ones.
//
// FollowLogs holds the lines of one range in memory: of a minute, or for old
// lines of an hour to a day, depending on how many there are. Every range over
// the sequence is separate. No goroutine outlives the loop.
//
// Requires the August 2026 API.
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
		if o.Overlap > logsMaxSpan/2 {
			yield(nil, argumentError(followLogs, "Overlap", o.Overlap.String(), "must be at most 12 hours"))
			return
		}
		f := logFollower{
			PostgresFollowLogsOptions: o,
			conn:                      s.conn,
			location:                  location,
			postgres:                  postgres,
			marker:                    o.Marker,
			span:                      max(logsFirstSpan, 2*o.Overlap),
			pauses:                    pace.Pauses{First: pauses.Interval, Longest: pauses.MaxInterval},
			began:                     time.Now(),
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

	clock  serviceClock
	marker PostgresLogMarker // the place after the yielded lines
	span   time.Duration     // of the next request, if that is for old lines
	now    time.Time         // when the sequence or, later, the round began
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

// round yields the new lines of the next span. It reports whether the span
// reaches the present or, for UntilNow, the time at which the sequence began.
func (f *logFollower) round(ctx context.Context, yield func(*PostgresLogLine, error) bool) (caughtUp bool, err error) {
	if err := f.begin(ctx); err != nil {
		return false, err
	}
	start, until := f.marker.from, f.marker.until
	end := latest(start.Add(f.span), until)
	if caughtUp = !end.Before(f.now); caughtUp {
		end = latest(f.now, until)
	}
	if !end.After(start) {
		return caughtUp, nil // it begins in the future
	}
	lines, err := Collect(allLogs(ctx, f.conn, &opPostgresLogs, f.location, f.postgres, PostgresLogsOptions{
		Start: start, End: end,
		StreamName: f.StreamName, SeverityLevel: f.SeverityLevel, ServerRole: f.ServerRole, QueryPattern: f.QueryPattern,
	}, &f.clock))
	if err != nil {
		return false, err
	}
	slices.Reverse(lines) // they come newest first
	switch {
	case caughtUp:
	case len(lines) < maxLogLines:
		f.span = min(2*f.span, logsMaxSpan)
	case len(lines) > logsManyLines:
		f.span = max(f.span/2, 2*f.Overlap)
	}

	// The marker of a line has the keys of the known lines, and of the new ones up
	// to it.
	known := map[lineKey]int{}
	for _, key := range f.marker.seen {
		known[key]++
	}
	seen := make([]lineKey, 0, len(lines))
	var fresh []*PostgresLogEntry
	for _, line := range lines {
		key := line.key()
		if known[key] == 0 {
			fresh = append(fresh, line)
			continue
		}
		known[key]--
		seen = append(seen, key)
	}
	for _, line := range fresh {
		seen = append(seen, line.key())
		f.marker = PostgresLogMarker{start, end, slices.Clip(seen)}
		f.lines++
		f.pauses.Reset()
		if f.left = !yield(&PostgresLogLine{line, f.marker}, nil); f.left {
			return false, nil
		}
		if ctx.Err() != nil {
			return false, pace.Err(ctx)
		}
	}
	f.marker = PostgresLogMarker{latest(start, end.Add(-f.Overlap)), end, seen}
	return caughtUp, nil
}

// begin reads the server's clock, and determines where the round begins.
func (f *logFollower) begin(ctx context.Context) error {
	if f.clock.at.IsZero() {
		if _, err := listByKey[PostgresLogEntry](ctx, f.conn, &opPostgresLogs, PostgresLogsOptions{PageSize: 1}, 1, &f.clock, f.location, f.postgres); err != nil {
			return err
		}
	}
	if f.now.IsZero() || !f.UntilNow {
		f.now = f.clock.now()
	}
	if f.now.Before(f.marker.from) && !f.marker.until.IsZero() { // the Date of a response was in the future
		f.marker.from, f.marker.until = f.now.Add(-f.Overlap), f.now
	}
	oldest := f.clock.now().Add(-logsKept)
	switch from := f.marker.from; {
	case from.IsZero() && f.Start.IsZero():
		f.marker.from = latest(f.now.Add(-f.Since), oldest)
		return nil
	case from.IsZero():
		f.marker.from = f.Start.UTC()
	}
	if from := f.marker.from; from.Before(oldest) {
		f.marker.from = oldest
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
	if !f.marker.IsZero() {
		p.Record = f.marker
	}
	f.Progress(p)
}

// latest returns the later one of two times.
func latest(t, u time.Time) time.Time {
	if t.Before(u) {
		return u
	}
	return t
}
