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

// LogMarker is a position in the logs of a database or in an audit log, from
// which [PostgresService.FollowLogs] or [AuditLogService.Follow] continues.
// Store it as JSON, which has about 16 characters for each entry of the last
// poll: the entries of about a minute, and up to 10,000 while the loop catches
// up.
//
// The loop yields what matches its filters since Start, except the entries that
// were already yielded. With other filters, or in another log, it can also yield
// entries from before the end of the earlier loop.
//
// Experimental: the fields may change, and a new version may need new markers.
type LogMarker struct {
	Start time.Time      `json:"start,omitzero"`
	End   time.Time      `json:"end,omitzero"`
	Seen  map[string]int `json:"seen"` // how many entries from Start to End were yielded, by hash
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

	// pages returns the pages of a range, the newest entry first. If the start is
	// zero, the entries and their number don't matter.
	pages    func(op *Operation, start, end time.Time) pageSeq[T]
	hash     func(*T) string // of what doesn't change when an entry is read again
	textSize func(*T) int
	kept     time.Duration // how old the start of a range can be
	slack    time.Duration // how much younger the start is after a gap, since a poll takes time
	isSilent bool          // a response doesn't say that the start is too old: it leaves out entries
	maxSpan  time.Duration // the longest range

	// The options.
	marker     LogMarker // the position after the last range
	untilNow   bool
	overlap    time.Duration
	watch      WatchOptions    // its Interval and MaxInterval
	checkpoint func(LogMarker) // or nil
	progress   func(Progress)  // or nil
	maxHeld    int             // the limit for the entries of one range, in bytes; 0 means maxHeldLogs

	last     func() *Exchange // returns the exchange of the last request
	span     time.Duration    // the length of the next range
	sent     time.Time        // when the first page of the last range was requested, by this machine's clock
	answered time.Time        // when that page arrived
	until    time.Time        // for untilNow: the time of the first response
	behind   time.Duration    // how far this machine's clock is behind the Date of the last response; 0 before the first
}

// now returns when the last range was requested, by this machine's clock or the
// server's, whichever is behind. Before the first request, it's zero.
func (f *follower[T]) now() time.Time { return f.sent.Add(min(f.behind, 0)) }

// latest is like now, for the clock that is ahead.
func (f *follower[T]) latest() time.Time { return f.sent.Add(max(f.behind, 0)) }

// run yields entries until something ends it, and returns the error, if any.
func (f *follower[T]) run(ctx context.Context, yield func(*T, error) bool) error {
	f.overlap = cmp.Or(max(f.overlap, 0), logsOverlap)
	f.maxHeld = cmp.Or(f.maxHeld, maxHeldLogs)
	switch {
	case ctx == nil:
		return noContext(f.operation)
	case f.overlap > maxOverlap:
		return argumentError(f.operation, "Overlap", f.overlap.String(), "must be at most 12 hours")
	}
	ctx, f.last = CaptureExchange(ctx)
	if f.marker.Start.IsZero() {
		f.marker.Seen = nil // it's no position
	}
	if f.marker.Seen == nil {
		f.marker.Start = earlier(f.marker.Start, time.Now()) // a Start in the future would skip entries
	}
	watch := f.watch.withDefaults()
	p := newPoller(f.operation, f.resource, pace.Pauses{First: watch.Interval, Longest: watch.MaxInterval}, f.progress)
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
		case f.untilNow && err == nil:
			return finished, nil
		}
		return again, err
	})
}

// mark passes a marker to the program.
func (f *follower[T]) mark(m LogMarker) {
	if f.checkpoint != nil {
		f.checkpoint(m)
	}
}

// after returns the position after the first entries of a range, if next is the
// position after all of them.
func (f *follower[T]) after(first []*T, next LogMarker) LogMarker {
	m := LogMarker{Start: f.marker.Start, End: next.End, Seen: maps.Clone(f.marker.Seen)}
	for _, entry := range first {
		m.Seen[f.hash(entry)]++
	}
	return m
}

// tolerated returns how many failures like err may follow each other.
func (f *follower[T]) tolerated(err error) int {
	if f.untilNow && !errors.Is(err, ErrLogsExpired) {
		return 0
	}
	return toleratedByWatch(err)
}

// poll reads the next range. It returns the new entries, the position after the
// range, and whether to wait before the next poll, as after most errors and once
// the range reaches the present.
func (f *follower[T]) poll(ctx context.Context) (entries []*T, next LogMarker, wait bool, err error) {
	if f.marker.Seen == nil { // the program chose the Start: ask for the time of the server first, since the program's clock can be ahead
		if _, err := f.read(ctx, time.Time{}, time.Time{}, 0, 0); err != nil {
			return nil, f.marker, true, err
		}
		if f.marker.Start.IsZero() {
			f.marker.Start = f.now().Add(-logsSpan)
		}
		f.marker = LogMarker{Start: earlier(f.marker.Start, f.now()), Seen: map[string]int{}}
	}
	// A range that ends before the marker's End would yield the entries after it twice.
	start := f.marker.Start.UTC()
	shortest := max(2*f.overlap, f.marker.End.Sub(start))
	// The next range starts no later than the clock that is behind allows. So if
	// that clock limits this one, it must reach the other clock.
	isLatest := !f.sent.IsZero() && !start.Before(f.now().Add(-f.overlap))
	if isLatest {
		shortest = max(shortest, f.latest().Add(f.overlap).Sub(start))
	}
	shortest = min(shortest, f.maxSpan)
	f.span = max(f.span, shortest)
	// If the program leaves the loop in a range, the next loop reads all of it
	// again, and entries that were late. So a range that could be shorter takes
	// half of the memory.
	end, most, held := start.Add(f.span), maxRangeLines, f.maxHeld/2
	if f.span == shortest {
		most, held = math.MaxInt, f.maxHeld
	}
	entries, err = f.read(ctx, start, end, most, held)
	switch oldest := f.sent.Add(f.behind - f.kept); {
	case start.Before(oldest) && (f.isSilent || errors.Is(err, ErrInvalidRequest)):
		next = LogMarker{Start: oldest.Add(f.slack), Seen: map[string]int{}}
		return nil, next, false, fmt.Errorf("cloudapi: %s: %w: those from %s to %s", f.operation, ErrLogsExpired, start.Format(time.RFC3339), next.Start.Format(time.RFC3339))
	case errors.Is(err, ErrPaginationStalled) && f.span > shortest:
		f.span /= 8
		return nil, f.marker, false, nil
	case err != nil:
		return nil, f.marker, true, err
	}
	f.span = f.nextSpan(len(entries))
	next = LogMarker{
		Start: earlier(f.now(), end).Add(-f.overlap),
		End:   earlier(f.answered.Add(max(f.behind, 0)+time.Second), end), // a Date has whole seconds
		Seen:  map[string]int{},
	}
	if next.Start.Before(start) {
		next.Start = earlier(start, f.latest())
	}
	entries = slices.DeleteFunc(entries, func(entry *T) bool {
		hash := f.hash(entry)
		next.Seen[hash]++
		return next.Seen[hash] <= f.marker.Seen[hash]
	})
	present := f.latest()
	if f.untilNow {
		present = f.until // new entries can arrive faster than the program processes them
	}
	return entries, next, isLatest || !end.Before(present), nil
}

// nextSpan returns the length of the range that follows one with n entries. The
// next one may have twice as many, at least 100 and at most half of what a range
// can have, but it's at most four times as long: there can be a burst of entries.
func (f *follower[T]) nextSpan(n int) time.Duration {
	want := min(max(2*n, 100), maxRangeLines/2)
	return min(f.span/time.Duration(max(n, want/4))*time.Duration(want), f.maxSpan)
}

// read returns the entries of a range, the oldest first. It returns
// ErrPaginationStalled if there are more entries than most, or if they have more
// bytes than held. It also records when it sent the request for the first page:
// entries written later aren't in the range's pages.
func (f *follower[T]) read(ctx context.Context, start, end time.Time, most, held int) ([]*T, error) {
	var entries []*T // the newest first
	size := 0
	sent, isFirst := time.Now().Round(0).UTC(), true // without the monotonic clock, which can stop while the machine sleeps
	for page, err := range f.pages(&f.op, start, end)(ctx) {
		if isFirst {
			isFirst = false
			f.hear(sent)
		}
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

// hear records the times of the last request and of its response, if there was
// one.
func (f *follower[T]) hear(sent time.Time) {
	exchange := f.last()
	if exchange == nil {
		return
	}
	f.sent, f.answered = sent, time.Now().Round(0).UTC()
	if date, err := http.ParseTime(exchange.Header.Get("Date")); err == nil {
		f.behind = date.Sub(sent)
	}
	if f.until.IsZero() {
		f.until = f.latest()
	}
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
