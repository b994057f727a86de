package cloudapi

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// EventType is what happened to a record.
type EventType string

// Values of [Event.Type].
const (
	EventAdded    EventType = "added"    // it is new in the list
	EventModified EventType = "modified" // it is not as it was
	EventDeleted  EventType = "deleted"  // it is in the list no more
)

// Event is a change that a Watch method has seen.
//
// Records belong to the program that gets them. The watch keeps each until the
// next event of it, where the same pointer is Old, or Record if it was deleted;
// until then it neither reads nor changes it. What the program changes in it
// neither causes an event nor hides one.
type Event[T any] struct {
	Type   EventType
	Record *T // as it is; if it was deleted, as it was seen last
	Old    *T // as it was before, if it was modified; or nil
}

// WatchOptions are the settings of the Watch methods. A nil *WatchOptions is
// the whole project and the defaults.
//
// A watch reads the list again and again. The first round yields every record as
// [EventAdded]; each later round yields what has changed since the round before. A
// watch does not see what appears and disappears between two rounds, nor a change
// in a field that lists do not show: items have the short form of their record.
// Another order of the elements of an array is no change.
//
// A watch tells records apart by ID. If a resource is deleted and another one is
// made with the same name, the watch may yield the new one as added before it
// yields the old one as deleted: a round yields additions while it reads the list,
// and deletions at its end. A record that the token may not see any more is
// yielded as deleted, too.
//
// A failure that may pass, such as a server error, does not end a watch. The watch
// reports it to Progress and tries again after a pause. A round that fails on its
// way yields no deletions; the changes that it has yielded before count. Any other
// error is yielded as the last element, and so is the error of the context when it
// ends. A list that stalls ([ErrPaginationStalled]) may have changed
// while the server looked, so only the third time without a complete round in
// between is the end.
//
// A watch holds one copy of the records, and some 60 bytes beside each. Every
// range over the sequence is a watch of its own, which starts with nothing.
// It has no goroutine that outlives the loop.
type WatchOptions struct {
	// Location restricts the list to a location. Families that have no
	// locations refuse it with an [*ArgumentError].
	Location string

	// PageSize is the number of items in a page; 0 is 1000, the most that the
	// real server gives. Lists without parameters have one page.
	PageSize int

	// Interval is the pause after the first round, and after each round that saw
	// a change. After each round that saw none, or that failed, the pause grows by
	// half, up to MaxInterval. Every pause varies at random by a fifth. The
	// defaults, for 0 or less, are 5 and 30 seconds. If the server asks for a
	// longer pause in Retry-After, the watch takes that, up to
	// [RetryPolicy.MaxRetryAfter].
	Interval, MaxInterval time.Duration

	// Progress, if not nil, is called after each round, on the goroutine of
	// the loop: Polls is the number of rounds, Done that of the records, Total
	// 0, and Err why the round failed. Each round has the client's retries for
	// each of its pages. Without it a watch that fails again and again looks
	// like one that sees no change.
	Progress func(Progress)
}

const (
	watchInterval    = 5 * time.Second
	watchMaxInterval = 30 * time.Second

	// maxStalls is how often a list stalls before that is the end. Once may be
	// chance: much has come and gone while it was walked.
	maxStalls = 3
)

// withDefaults returns the options with the defaults for what is not set.
func (o *WatchOptions) withDefaults() WatchOptions {
	var d WatchOptions
	if o != nil {
		d = *o
	}
	if d.Interval <= 0 {
		d.Interval = watchInterval
	}
	if d.MaxInterval <= 0 {
		d.MaxInterval = watchMaxInterval
	}
	return d
}

// watch yields what changes in a list.
func watch[T any, P listItem[T]](ctx context.Context, c *Client, routes *listRoutes, opts *WatchOptions) iter.Seq2[Event[T], error] {
	o := opts.withDefaults()
	list := all[T, P](ctx, c, routes, &ListOptions{Location: o.Location, PageSize: o.PageSize})
	operation := strings.TrimSuffix(routes.project.Name, "List") + "Watch"
	return func(yield func(Event[T], error) bool) {
		w := watcher[T, P]{list: list, records: map[string]*sighting[T]{}, seed: maphash.MakeSeed()}
		start, pauses := time.Now(), pauses{o.Interval, o.MaxInterval}
		for {
			changed, err := w.look(yield)
			if w.left {
				return
			}
			if o.Progress != nil {
				o.Progress(Progress{
					Operation: operation,
					Resource:  o.Location,
					Done:      len(w.records),
					Polls:     w.round,
					Elapsed:   time.Since(start),
					Err:       err,
				})
			}
			if !w.tolerates(err) {
				yield(Event[T]{}, err)
				return
			}
			if changed && err == nil {
				pauses.pause = o.Interval
			}
			if err := sleep(ctx, max(pauses.next(), c.retryAfter(err))); err != nil {
				yield(Event[T]{}, err)
				return
			}
		}
	}
}

// retryAfter returns the pause that the server asks for with an error.
func (c *Client) retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return min(e.RetryAfter, c.config.retry.MaxRetryAfter)
	}
	return 0
}

// watcher compares a list with what it was.
type watcher[T any, P listItem[T]] struct {
	list    iter.Seq2[*T, error]
	records map[string]*sighting[T] // by ID
	round   int
	stalls  int  // rounds that stalled since the last complete one
	left    bool // whether the consumer has left the loop

	seed   maphash.Seed
	buffer []byte // of digest
}

// sighting is what was seen of a record last.
type sighting[T any] struct {
	record *T     // as it was yielded
	digest uint64 // of what it was then
	round  int
}

// look walks the list once and yields what differs from the rounds before. It
// reports whether it has yielded anything.
func (w *watcher[T, P]) look(yield func(Event[T], error) bool) (changed bool, err error) {
	w.round++
	emit := func(e Event[T]) bool {
		changed = true
		w.left = !yield(e, nil)
		return !w.left
	}
	for record, err := range w.list {
		if err != nil {
			return changed, err
		}
		if event, ok := w.compare(record); ok && !emit(event) {
			return changed, nil
		}
	}
	for _, id := range w.missing() {
		record := w.records[id].record
		delete(w.records, id)
		if !emit(Event[T]{Type: EventDeleted, Record: record}) {
			return changed, nil
		}
	}
	return changed, nil
}

// compare takes note of a record, and returns the event that it makes.
func (w *watcher[T, P]) compare(record *T) (event Event[T], changed bool) {
	id, digest := P(record).cursor(OrderByID), w.digest(record)
	known := w.records[id]
	if known == nil {
		w.records[id] = &sighting[T]{record, digest, w.round}
		return Event[T]{Type: EventAdded, Record: record}, true
	}
	known.round = w.round
	if known.digest == digest {
		return event, false
	}
	event = Event[T]{Type: EventModified, Record: record, Old: known.record}
	known.record, known.digest = record, digest
	return event, true
}

// missing returns the IDs of the records that this round has not seen.
func (w *watcher[T, P]) missing() (ids []string) {
	for id, s := range w.records {
		if s.round != w.round {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// tolerates reports whether there is another round after one that ended so.
func (w *watcher[T, P]) tolerates(err error) bool {
	switch {
	case err == nil:
		w.stalls = 0
	case errors.Is(err, ErrPaginationStalled):
		w.stalls++
		return w.stalls < maxStalls
	}
	return err == nil || isTransient(err)
}

// digest returns a number that two records have in common if they are alike;
// that others have it too is as likely as one in 2^64. Unlike a record to
// compare with, it stays what it is when the program changes the record.
func (w *watcher[T, P]) digest(record *T) uint64 {
	w.buffer = appendContent(w.buffer[:0], w.seed, reflect.ValueOf(record).Elem())
	return maphash.Bytes(w.seed, w.buffer)
}

// appendContent appends bytes that stand for a value, behind pointers and in
// unexported fields too. Those of a list are the same in whatever order its
// elements are: their number and the sum of their hashes.
func appendContent(b []byte, seed maphash.Seed, v reflect.Value) []byte {
	number := binary.LittleEndian.AppendUint64
	switch v.Kind() {
	case reflect.String:
		b = number(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int:
		return number(b, uint64(v.Int()))
	case reflect.Float64:
		return number(b, math.Float64bits(v.Float()))
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return appendContent(append(b, 1), seed, v.Elem())
	case reflect.Slice, reflect.Array:
		sum, start := uint64(0), len(b)
		for i := range v.Len() {
			b = appendContent(b[:start], seed, v.Index(i))
			sum += maphash.Bytes(seed, b[start:])
		}
		return number(number(b[:start], uint64(v.Len())), sum)
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok { // the moment counts, not its zone
			return number(number(b, uint64(t.Unix())), uint64(t.Nanosecond()))
		}
		for i := range v.NumField() {
			b = appendContent(b, seed, v.Field(i))
		}
		return b
	}
	panic("cloudapi: Watch cannot compare values of type " + v.Type().String())
}
