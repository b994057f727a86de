package cloudapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// FollowOptions are settings of [PostgresService.FollowLogs] and
// [AuditLogService.Follow]; nil means defaults.
type FollowOptions struct {
	// Marker is the position to continue from. To begin at a time, set only its
	// Start; default half an hour ago. A Start in the future begins now.
	Marker LogMarker

	UntilNow              bool          // end after the entries up to now, or at any error but ErrLogsExpired
	Overlap               time.Duration // how late an entry may appear in the log; default 1 minute, maximum 12 hours
	Interval, MaxInterval time.Duration // the pauses, as in WatchOptions

	// Checkpoint is called on the goroutine of the loop with the position after
	// the entries that the program has processed: after each complete poll, and
	// when the loop ends in the middle of a poll, because the program leaves it or
	// the context ends. The entry at which the program leaves the loop counts as
	// not processed. The marker is the program's own copy.
	Checkpoint func(LogMarker)

	// Progress is called on the goroutine of the loop when the program has processed
	// the entries of a poll. Done is the number of entries, Polls the number of
	// polls, and Err the error of the poll. Err is [ErrLogsExpired] if the server no
	// longer keeps the entries after the Marker; the oldest that remain follow.
	Progress func(Progress)
}

// LogMarker is a position in the logs of a database or in an audit log, from
// which [PostgresService.FollowLogs] or [AuditLogService.Follow] continues.
// Store it as JSON, which has about 16 characters for each entry that may come
// again: the entries of about two minutes, and up to 20,000 while the loop
// catches up.
//
// The loop yields what matches its filters since Start, except the entries that
// were already yielded. With other filters, or in another log, it can also yield
// entries from before the end of the earlier loop.
//
// Experimental: the fields may change, and a new version may need new markers.
type LogMarker struct {
	Start time.Time `json:"start,omitzero"`

	// Seen says how many entries with which hash were yielded, by the Unix time
	// until which Start must be before they can't come again.
	Seen map[int64]map[string]int `json:"seen"`
}

// clone returns a marker that shares nothing with m.
func (m LogMarker) clone() LogMarker {
	seen := maps.Clone(m.Seen)
	for until, hashes := range seen {
		seen[until] = maps.Clone(hashes)
	}
	return LogMarker{Start: m.Start, Seen: seen}
}

// add counts yielded entries, which can come again until a time.
func (m LogMarker) add(until int64, hash string, n int) {
	if m.Seen[until] == nil {
		m.Seen[until] = map[string]int{}
	}
	m.Seen[until][hash] += n
}

const (
	logsSpan     = 30 * time.Minute // how long ago a loop begins by default
	logsOverlap  = time.Minute
	maxOverlap   = 12 * time.Hour
	logsArriving = 30 * time.Second // how long a request may take to reach the server
	maxHeldLogs  = 64 << 20
	logEntrySize = 512 // an estimate of the bytes of an entry without its text

	// maxRangeLines is how many entries a range can have that isn't as short as
	// possible. After a crash, a program gets the entries of a range again.
	maxRangeLines = 10_000
)

// follower is one run of FollowLogs or AuditLog.Follow. Entries have no ID: it
// reads overlapping ranges of time, and recognizes entries by their hashes.
type follower[T any] struct {
	operation, resource string // in errors and in Progress
	op                  Operation
	options             FollowOptions

	// pages returns the pages of a range, the newest entry first. If the start is
	// zero, the entries and their number don't matter.
	pages    func(op *Operation, start, end time.Time) pageSeq[T]
	hash     func(*T) string // of what doesn't change when an entry is read again
	textSize func(*T) int
	oldest   func(now time.Time) time.Time // returns the earliest start of a range
	isSilent bool                          // a response doesn't say that the start is too old: it leaves out entries
	maxSpan  time.Duration                 // the longest range
	maxHeld  int                           // the limit for the entries of one range, in bytes

	marker LogMarker     // the position after the last range
	span   time.Duration // the length of the next range

	// The clock is the Date of the last response that had one. These add it to this
	// machine's time.
	last  func() *Exchange // returns the exchange of the last request
	ahead time.Duration    // how far the clock is ahead of this machine's, at least; 0 without a Date
	sent  time.Time        // when the first page of the last range was requested, by this machine's clock
	heard time.Time        // the time of the last response, at most
	until time.Time        // the time of the first response, at most
}

// now returns the time by the clock, or an earlier one.
func (f *follower[T]) now() time.Time { return localNow().Add(f.ahead) }

// localNow returns this machine's time without the monotonic clock, which can
// stop while the machine sleeps.
func localNow() time.Time { return time.Now().Round(0).UTC() }

// hear reads the clock from the last response, if there was one.
func (f *follower[T]) hear() {
	exchange := f.last()
	if exchange == nil {
		return
	}
	if date, err := http.ParseTime(exchange.Header.Get("Date")); err == nil {
		f.ahead = date.Sub(localNow())
	}
	f.heard = later(f.heard, f.now().Add(time.Second)) // a Date has whole seconds
	if f.until.IsZero() {
		f.until = f.heard
	}
}

// run yields entries until something ends it, and returns the error, if any.
func (f *follower[T]) run(ctx context.Context, yield func(*T, error) bool) error {
	o := &f.options
	o.Overlap = cmp.Or(max(o.Overlap, 0), logsOverlap)
	switch {
	case ctx == nil:
		return noContext(f.operation)
	case o.Overlap > maxOverlap:
		return argumentError(f.operation, "Overlap", o.Overlap.String(), "must be at most 12 hours")
	}
	ctx, f.last = CaptureExchange(ctx)
	if f.marker = o.Marker.clone(); f.marker.Start.IsZero() {
		f.marker.Seen = nil // it's no position
	}
	watch := (&WatchOptions{Interval: o.Interval, MaxInterval: o.MaxInterval}).withDefaults()
	p := newPoller(f.operation, f.resource, pace.Pauses{First: watch.Interval, Longest: watch.MaxInterval}, o.Progress)
	p.tolerated = f.tolerated
	return p.run(ctx, func() (step, error) {
		found, next, wait, err := f.poll(ctx)
		for i, entry := range found {
			if ctx.Err() != nil {
				f.mark(f.after(found[:i], next))
				return left, pace.Err(ctx)
			}
			p.progress.Done++
			p.pauses.Reset()
			if !yield(entry, nil) {
				f.mark(f.after(found[:i], next))
				return left, nil
			}
		}
		if f.marker = next; err == nil {
			f.mark(next)
		}
		switch {
		case !wait:
			return immediately, err
		case o.UntilNow && err == nil:
			return finished, nil
		}
		return again, err
	})
}

// mark passes a copy of a marker to the program.
func (f *follower[T]) mark(m LogMarker) {
	if f.options.Checkpoint != nil {
		f.options.Checkpoint(m.clone())
	}
}

// after returns the position after the first entries of a range, if next is the
// position after all of them.
func (f *follower[T]) after(first []*T, next LogMarker) LogMarker {
	m := f.marker.clone()
	until := slices.Max(slices.Collect(maps.Keys(next.Seen)))
	for _, entry := range first {
		m.add(until, f.hash(entry), 1)
	}
	return m
}

// tolerated returns how many failures like err may follow each other.
func (f *follower[T]) tolerated(err error) int {
	if f.options.UntilNow && !errors.Is(err, ErrLogsExpired) {
		return 0
	}
	return toleratedByWatch(err)
}

// poll reads the next range. It returns the new entries, the position after the
// range, and whether to wait before the next poll, as after most errors and once
// the range reaches the present.
func (f *follower[T]) poll(ctx context.Context) (entries []*T, next LogMarker, wait bool, err error) {
	if f.marker.Seen == nil { // the program chose the Start
		if err := f.begin(ctx); err != nil {
			return nil, f.marker, true, err
		}
	}
	start, end, isLast := f.nextRange(f.now())
	entries, err = f.read(ctx, start, end)
	switch oldest := f.oldest(f.heard); {
	case start.Before(oldest) && (f.isSilent || errors.Is(err, ErrInvalidRequest)):
		next = LogMarker{Start: oldest, Seen: f.marker.Seen}
		return nil, next, false, fmt.Errorf("cloudapi: %s: %w: those from %s to %s", f.operation, ErrLogsExpired, start.Format(time.RFC3339), next.Start.Format(time.RFC3339))
	case errors.Is(err, ErrPaginationStalled) && !f.isShortest():
		f.span /= 8
		return nil, f.marker, false, nil
	case err != nil:
		return nil, f.marker, true, err
	}
	f.span = f.nextSpan(len(entries))
	entries, next = f.advance(start, end, entries)
	if f.options.UntilNow { // new entries can arrive faster than the program processes them
		isLast = !end.Before(f.until)
	}
	return entries, next, isLast, nil
}

// begin asks the server for the time, and chooses the first Start: a later one
// than now would skip entries.
func (f *follower[T]) begin(ctx context.Context) error {
	if _, err := f.read(ctx, time.Time{}, time.Time{}); err != nil {
		return err
	}
	now, start := f.sent.Add(f.ahead), f.marker.Start
	if start.IsZero() {
		start = now.Add(-logsSpan)
	}
	f.marker = LogMarker{Start: earlier(start, now), Seen: map[int64]map[string]int{}}
	return nil
}

// nextRange returns the range to read now, and whether it reaches the present.
func (f *follower[T]) nextRange(now time.Time) (start, end time.Time, isLast bool) {
	start = f.marker.Start.UTC()
	f.span = min(max(f.span, 2*f.options.Overlap), f.maxSpan)
	if end = start.Add(f.span); end.Before(now) {
		return start, end, false
	}
	return start, start.Add(f.maxSpan), true // nothing is after the present, which can be later than now
}

// isShortest reports whether the next range is as short as possible.
func (f *follower[T]) isShortest() bool { return f.span <= 2*f.options.Overlap }

// advance returns the entries of a range that weren't yielded yet, and the
// position after the range. A hash that the range lacks stays in the marker as
// long as the entry could be in a later range: the response can lack entries.
func (f *follower[T]) advance(start, end time.Time, entries []*T) ([]*T, LogMarker) {
	overlap := earlier(f.sent.Add(f.ahead), end).Add(-f.options.Overlap)
	next := LogMarker{Start: later(start, overlap), Seen: map[int64]map[string]int{}}
	yielded, shown := map[string]int{}, map[string]int{}
	for _, hashes := range f.marker.Seen {
		for hash, n := range hashes {
			yielded[hash] += n
		}
	}
	entries = slices.DeleteFunc(entries, func(entry *T) bool {
		hash := f.hash(entry)
		shown[hash]++
		return shown[hash] <= yielded[hash]
	})
	for hash, n := range shown {
		next.add(earlier(f.heard, end).Unix()+1, hash, max(n, yielded[hash]))
	}
	for until, hashes := range f.marker.Seen {
		for hash, n := range hashes {
			if shown[hash] == 0 && until >= next.Start.Unix() {
				next.add(until, hash, n)
			}
		}
	}
	return entries, next
}

// nextSpan returns the length of the range that follows one with n entries. The
// next one may have twice as many, at least 100 and at most half of what a range
// can have, but it's at most four times as long: there can be a burst of entries.
func (f *follower[T]) nextSpan(n int) time.Duration {
	want := min(max(2*n, 100), maxRangeLines/2)
	return min(f.span/time.Duration(max(n, want/4))*time.Duration(want), f.maxSpan)
}

// read returns the entries of a range, the oldest first. It returns
// ErrPaginationStalled if there are too many. It also records when it sent the
// request for the first page: entries written later aren't in the range's pages.
//
// If the program leaves the loop in a range, the next loop reads all of it
// again, and entries that were late. So a range that could be shorter takes half
// of the memory.
func (f *follower[T]) read(ctx context.Context, start, end time.Time) ([]*T, error) {
	most, held := maxRangeLines, f.maxHeld/2
	if f.isShortest() {
		most, held = math.MaxInt, f.maxHeld
	}
	var entries []*T // the newest first
	size, sent := 0, localNow()
	for page, err := range f.pages(&f.op, start, end)(ctx) {
		f.hear()
		f.sent = sent
		if err != nil {
			return nil, err
		}
		f.op.traits &^= serviceOnly // the server has the operation: a later 404 says that the database or project is gone
		if start.IsZero() {
			return nil, nil
		}
		for _, entry := range page.Items {
			size += logEntrySize + f.textSize(entry)
		}
		if entries = append(entries, page.Items...); len(entries) > most || size > held {
			return nil, fmt.Errorf("cloudapi: %s: %w: more than %d MiB of entries from %s to %s; use filters, a shorter Overlap, or a marker with only a Start", f.operation,
				ErrPaginationStalled, f.maxHeld>>20, start.Format(time.RFC3339), end.Format(time.RFC3339))
		}
	}
	slices.Reverse(entries)
	return entries, nil
}

// notToFollow returns an error if a filter says what a marker does.
func notToFollow(operation string, hasTimes bool, pageSize int, key string) error {
	if hasTimes || pageSize != 0 || key != "" {
		return &ArgumentError{Operation: operation, Name: "filter", Reason: "must have no Start, End, PageSize or PaginationKey: the Marker in the options says where to begin"}
	}
	return nil
}

// hashOf returns a hash of a text. It's cryptographic, so that nobody can write
// an entry with the hash of another one.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(sum[:8])
}

func earlier(t, u time.Time) time.Time {
	if u.Before(t) {
		return u
	}
	return t
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
}
