// Package logtail follows a log that is read by ranges of time, and whose lines
// have no IDs. Lines may be late, so each range overlaps the previous one.
package logtail

import (
	"context"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// Tail yields the lines of a log.
type Tail[L any] struct {
	// Read returns the lines of a range, in order.
	Read func(ctx context.Context, start, end time.Time) ([]L, error)

	// Key returns the same for equal lines, and something else for others.
	Key func(L) Key

	// Place is the place after the lines that Next has yielded.
	Place Place

	// Overlap is how late a line may appear.
	Overlap time.Duration

	// Span is the length of the next range, if that is in the past. It grows up
	// to MaxSpan while ranges have fewer than Few lines, and shrinks, to not less
	// than two overlaps, while they have more than Many.
	Span, MaxSpan time.Duration
	Few, Many     int
}

// Next reads the next range, which ends at the given time at the latest, and
// yields those of its lines that it hasn't yielded before, each with the place
// after it. It reports whether the range reaches that time. It returns after a
// line if yield returns false, and with an error if the context has ended.
func (t *Tail[L]) Next(ctx context.Context, now time.Time, yield func(L, Place) bool) (caughtUp bool, err error) {
	if now.Before(t.Place.From) && !t.Place.Until.IsZero() { // an earlier call had a wrong time
		t.Place.From, t.Place.Until = now.Add(-t.Overlap), now
	}
	start, until := t.Place.From, t.Place.Until
	end := Latest(start.Add(t.Span), until)
	if caughtUp = !end.Before(now); caughtUp {
		end = Latest(now, until)
	}
	if !end.After(start) {
		return caughtUp, nil // it begins in the future
	}
	lines, err := t.Read(ctx, start, end)
	if err != nil {
		return false, err
	}
	switch {
	case caughtUp:
	case len(lines) < t.Few:
		t.Span = min(2*t.Span, t.MaxSpan)
	case len(lines) > t.Many:
		t.Span = max(t.Span/2, 2*t.Overlap)
	}

	// The place after a line has the keys of the known lines, and of the new ones
	// up to it.
	seen, fresh := t.split(lines)
	for _, line := range fresh {
		seen = append(seen, t.Key(line))
		t.Place = Place{start, end, slices.Clip(seen)}
		if !yield(line, t.Place) {
			return false, nil
		}
		if ctx.Err() != nil {
			return false, pace.Err(ctx)
		}
	}
	t.Place = Place{Latest(start, end.Add(-t.Overlap)), end, seen}
	return caughtUp, nil
}

// split returns the keys of the lines that have been yielded, and the others.
func (t *Tail[L]) split(lines []L) (seen []Key, fresh []L) {
	known := map[Key]int{}
	for _, key := range t.Place.Seen {
		known[key]++
	}
	seen = make([]Key, 0, len(lines))
	for _, line := range lines {
		key := t.Key(line)
		if known[key] == 0 {
			fresh = append(fresh, line)
			continue
		}
		known[key]--
		seen = append(seen, key)
	}
	return seen, fresh
}

// Latest returns the later one of two times.
func Latest(t, u time.Time) time.Time {
	if t.Before(u) {
		return u
	}
	return t
}
