package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/diff"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// EventType is the kind of a change.
type EventType string

// Values of [Event.Type].
const (
	EventAdded    EventType = "added"    // the record is new in the list
	EventModified EventType = "modified" // the record has changed
	EventDeleted  EventType = "deleted"  // the record is no longer in the list
)

// Event is a change that a Watch method yields; you may change its records.
type Event[T any] struct {
	Type   EventType
	Record *T // the new record; after a deletion, the last known record
	Old    *T // the record before a modification, or nil
}

// WatchOptions are the settings of the Watch methods. Nil means the defaults.
//
// A watch polls the list. The first poll yields every record as [EventAdded],
// or, with known records of an earlier watch, the changes since then. Each
// later poll yields the changes since the previous one, deletions last. Records
// have only a list's fields. A watch doesn't see changes of other fields or of
// an array's order, or records that come and go between polls.
//
// A known record must have its ID and location, and be in Location if that is
// set. The watch yields it as modified if it came from Get or was stored without
// its secrets, and as deleted if it's from another project.
//
// Experimental: which known records a watch takes, and what it yields for them,
// may change.
//
// Lists leave out what the token may not see. So before a watch yields a
// deletion, it gets the record by ID, unless the record was being deleted. The
// watch ends with [ErrForbidden] if the token may not see the record in three
// polls in a row. See also [Fetch].
//
// A watch continues after a transient failure ([IsTransient]), but that poll
// yields no deletions. It also continues after an [*UnlistedError]. JSON that
// the SDK can't read, a 501 and a 505 end it when they occur a sixth time
// without a complete poll in between, [ErrPaginationStalled] and a gateway's 404
// when they occur a third time. Any other error ends it immediately. Once the
// context ends, the error wraps its error and that of the last poll, if any.
type WatchOptions struct {
	Location string // must be empty for families without locations
	PageSize int    // the number of items in a page; default and maximum 1000

	// Interval is the pause after the first poll, and after each poll with a
	// change; default 5 s. Other pauses grow by half, up to MaxInterval; default
	// 30 s. Each is randomized by up to 20%, but not shorter than a Retry-After.
	Interval, MaxInterval time.Duration

	// Poll, if not nil, is a channel that ends pauses: after each value, the next
	// poll begins immediately, or after the present one. It doesn't shorten the
	// delay of a Retry-After. With a capacity of 1, a value can be sent without
	// waiting: select with a default.
	Poll <-chan struct{}

	// Progress is called after each poll, on the goroutine of the loop. Polls is
	// the number of polls, Done the number of records, and Err the error of the
	// poll. Without Progress, a watch that always fails seems idle.
	Progress func(Progress)
}

const (
	watchInterval    = 5 * time.Second
	watchMaxInterval = 30 * time.Second

	// A watch continues after this many polls in a row that find the same record
	// hidden; see hiddenError. The resource may have just been destroyed.
	maxHides = 2

	// A poll looks up no more missing records once it finds maxHidden of them
	// hidden. Thousands can be hidden from a token that has lost a permission.
	maxHidden = 10
)

func (o *WatchOptions) withDefaults() WatchOptions {
	d := orZero(o)
	if d.Interval <= 0 {
		d.Interval = watchInterval
	}
	if d.MaxInterval <= 0 {
		d.MaxInterval = watchMaxInterval
	}
	return d
}

// watch yields how a list differs from the known records, then its changes.
func (f *family[T]) watch(ctx context.Context, c *conn, opts *WatchOptions, known []*T) iter.Seq2[Event[T], error] {
	o := opts.withDefaults()
	list := f.items(ctx, c, &ListOptions{Location: o.Location, PageSize: o.PageSize})
	operation := strings.TrimSuffix(f.lists.project.Name, "List") + "Watch"
	known = slices.Clone(known)
	return func(yield func(Event[T], error) bool) {
		if ctx == nil {
			yield(Event[T]{}, noContext(operation))
			return
		}
		w := watcher[T]{operation: operation, list: list, known: diff.NewList[T, note](),
			exists: func(r Resource) (bool, error) { return f.existsAnywhere(ctx, c, r) }}
		for i, record := range known {
			if err := f.checkKnown(operation, fmt.Sprintf("known[%d]", i), o.Location, record); err != nil {
				yield(Event[T]{}, err)
				return
			}
			w.known.Put(resourceOf(record).ID, record, noteOf(record))
		}
		p := newPoller(operation, o.Location, pace.Pauses{First: o.Interval, Longest: o.MaxInterval}, o.Progress)
		p.tolerated = toleratedByWatch
		p.pause = func(ctx context.Context) error {
			if err := pace.Sleep(ctx, time.Until(p.polled.Add(retryAfter(p.failure)))); err != nil {
				return err
			}
			return pace.SleepOr(ctx, time.Until(p.due), o.Poll)
		}
		if err := p.run(ctx, func() (step, error) {
			changed, err := w.poll(yield)
			if w.left {
				return left, nil
			}
			if changed && (err == nil || isPartial(err)) {
				p.pauses.Reset()
			}
			p.progress.Done = w.known.Len()
			return again, err
		}); err != nil {
			yield(Event[T]{}, err)
		}
	}
}

// checkKnown checks that the record has what a watch needs to look it up. It
// also checks that the record is in the location, if that isn't empty. name is
// what an error calls the record.
func (f *family[T]) checkKnown(operation, name, location string, record *T) error {
	if record == nil {
		return argumentError(operation, name, "", "must not be nil")
	}
	r := resourceOf(record)
	if err := idOf(r.Kind).check(operation, name+".ID", r.ID); err != nil {
		return err
	}
	if f.hasLocations() {
		if err := anyReference.check(operation, name+".Location", r.Location); err != nil {
			return err
		}
		if location != "" && location != r.Location {
			return argumentError(operation, name+".Location", r.Location, "is not the watch's location, "+location)
		}
	}
	if !f.takesIDs() { // operations take the record's name
		if err := anyReference.check(operation, name+".Name", r.Name); err != nil {
			return err
		}
	}
	return nil
}

// existsAnywhere reports whether a resource that was in the list exists. If its
// location doesn't exist, it may have been renamed, so existsAnywhere looks in
// the locations that the server's error lists.
func (f *family[T]) existsAnywhere(ctx context.Context, c *conn, r Resource) (bool, error) {
	exists, err := f.exists(ctx, c, r)
	e, ok := errors.AsType[*Error](err)
	if !ok || !errors.Is(err, ErrLocationNotFound) || len(e.Locations()) == 0 {
		return exists, err
	}
	for _, r.Location = range e.Locations() {
		if exists, err = f.exists(ctx, c, r); exists || err != nil {
			return exists, err
		}
	}
	return false, nil
}

// watcher reads a list again and again.
type watcher[T any] struct {
	operation string
	list      iter.Seq2[*T, error]
	exists    func(Resource) (bool, error)
	known     *diff.List[T, note]
	hidden    map[string]int // by ID, how many polls in a row found the record hidden
	left      bool           // whether the consumer has left the loop
}

// note is what a watch needs to know of a record that is missing from the list.
// It's a copy, since the program may have changed the record.
type note struct {
	location, name string
	deleting       bool
}

func noteOf[T any](record *T) note {
	r := resourceOf(record)
	n := note{location: r.Location, deleting: stateOf(record) == stateDeleting}
	if r.Kind == KindPrivateLocation { // operations take only its name
		n.name = r.Name
	}
	return n
}

// hiddenError says that a resource is no longer in the list, but may still
// exist: the server doesn't permit the token to look it up.
type hiddenError struct {
	operation string
	resource  Resource
	polls     int // how many polls in a row found it hidden
	err       error
}

func (e *hiddenError) Error() string {
	return fmt.Sprintf("cloudapi: %s: %v is no longer in the list, and may exist: %v", e.operation, e.resource, unprefixed{e.err})
}

func (e *hiddenError) Unwrap() error { return e.err }

// poll walks the list once and yields the changes since the last poll. It
// reports whether it has yielded any.
func (w *watcher[T]) poll(yield func(Event[T], error) bool) (changed bool, err error) {
	w.known.Begin()
	emit := func(e Event[T]) bool {
		changed = true
		w.left = !yield(e, nil)
		return !w.left
	}
	var partial error
	for record, err := range w.list {
		if isPartial(err) {
			partial = err
			break
		}
		if err != nil {
			return changed, err
		}
		old, isNew := w.known.Put(resourceOf(record).ID, record, noteOf(record))
		event := Event[T]{Type: EventModified, Record: record, Old: old}
		if old == nil {
			event.Type = EventAdded
		}
		if isNew && !emit(event) {
			return changed, nil
		}
	}
	hidden, result := map[string]int{}, partial
	for id, last := range w.known.Missing() {
		if len(hidden) == maxHidden {
			break
		}
		r := Resource{Kind: kindOf[T](), ID: id, Location: last.location, Name: last.name}
		exists, err := w.stillExists(r, last)
		switch {
		case partial != nil && IsTransient(err): // the server may be unable to show this resource
			hidden[id] = 0
		case errors.Is(err, ErrForbidden):
			hidden[id] = w.hidden[id] + 1
			result = &hiddenError{w.operation, r, hidden[id], err}
			if hidden[id] > maxHides {
				return changed, result
			}
		case err != nil:
			return changed, err
		case !exists && !emit(Event[T]{Type: EventDeleted, Record: w.known.Remove(id)}):
			return changed, nil
		}
	}
	w.hidden = hidden
	return changed, result
}

// stillExists reports whether a resource that is missing from the list exists.
// It doesn't ask the server about a resource that was being deleted, or whose
// ID or name is invalid.
func (w *watcher[T]) stillExists(r Resource, last note) (bool, error) {
	if last.deleting {
		return false, nil
	}
	exists, err := w.exists(r)
	if errors.Is(err, ErrInvalidArgument) {
		return false, nil
	}
	return exists, err
}

// toleratedByWatch returns how many failures like err may follow each other in a
// watch, FollowLogs or AuditLog.Follow. One or two stalled lists can be chance,
// if many items came and went. What may be an outage can last for any time.
func toleratedByWatch(err error) int {
	if isPartial(err) {
		return complete
	}
	if hidden, ok := errors.AsType[*hiddenError](err); ok {
		if hidden.polls > maxHides {
			return 0
		}
		return complete
	}
	if errors.Is(err, ErrPaginationStalled) || errors.Is(err, ErrLogsExpired) {
		return 2
	}
	switch classOf(err) {
	case call.Stray:
		return 2
	case call.Unreadable:
		return 5
	case call.Later, call.Soon:
		return endless
	}
	return 0
}
