package cloudapi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Progress is what everything that takes longer than a request reports while
// it goes on: the waits, Ensure, Watch and a teardown. One function can draw
// them all: Operation and Resource say what it is about, Done of Total how far
// it has come, State what it looks like.
type Progress struct {
	Operation string        // what goes on, such as "VMs.WaitRunning"
	Resource  string        // what it is about, such as "eu-central-h1/web-1"
	State     string        // the state of the record, or what is being done; "" if there is none
	Done      int           // how much of Total is finished
	Total     int           // 1 for a single resource; 0 for what has no end
	Polls     int           // how often it was looked at
	Elapsed   time.Duration // since the beginning
	Record    any           // the record, such as a *VM; nil if there is none
	Err       error         // why looking or acting failed this time, or nil
}

// WaitOption is a setting of the Wait methods.
type WaitOption func(*waitConfig)

type waitConfig struct {
	first, max time.Duration
	tolerance  int
	progress   func(Progress)
	slots      slots // which the polls take part in
}

// slots bounds how many requests of an undertaking are under way at a time. A
// nil one does not.
type slots chan struct{}

// do calls f once there is a slot, unless the context ends before.
func (s slots) do(ctx context.Context, f func() error) error {
	if s == nil {
		return f()
	}
	select {
	case s <- struct{}{}:
		defer func() { <-s }()
		return f()
	case <-ctx.Done():
		return contextError(ctx)
	}
}

// WaitInterval sets the pause between polls: first at the beginning, growing
// by half each time up to max, both with a random deviation of a fifth. The
// defaults suit the resource: 1 to 5 seconds for VMs and networks, 5 to 15 for
// databases and clusters. They hold for what is not positive.
func WaitInterval(first, max time.Duration) WaitOption {
	return func(c *waitConfig) {
		if first > 0 {
			c.first = first
		}
		if max > 0 {
			c.max = max
		}
	}
}

// WaitTolerance sets how many polls in a row may fail in a way that another
// poll can mend, such as a server error, before the wait ends with the last
// failure. The default is 5. Each poll has the client's retries of its own.
func WaitTolerance(polls int) WaitOption {
	return func(c *waitConfig) { c.tolerance = polls }
}

// WaitProgress sets a function that is called after each poll, on the
// goroutine of the wait. The last poll of a wait that succeeds is reported with
// Done 1.
func WaitProgress(report func(Progress)) WaitOption {
	return func(c *waitConfig) { c.progress = report }
}

var (
	waitQuick = waitConfig{first: time.Second, max: 5 * time.Second, tolerance: 5}
	waitSlow  = waitConfig{first: 5 * time.Second, max: 15 * time.Second, tolerance: 5}
)

// WaitError says that a wait ended without what was waited for. The reason is
// wrapped: the context's error, the failure of a poll, or [ErrWaitFailed].
type WaitError struct {
	Operation string        // what was waited for, such as "VMs.WaitRunning"
	Resource  string        // the location and reference that was waited for
	Polls     int           // how often it was looked at
	Elapsed   time.Duration // since the wait began
	State     string        // the last record's state; "" if there is none
	Record    any           // the last record, such as a *VM, or nil
	Err       error         // why the wait ended
}

// Error describes the end of the wait in one line.
func (e *WaitError) Error() string {
	state := ""
	if e.State != "" {
		state = fmt.Sprintf(", last state %q", e.State)
	}
	return fmt.Sprintf("cloudapi: %s of %s ended after %v and %d polls%s: %v",
		e.Operation, e.Resource, e.Elapsed.Round(time.Millisecond), e.Polls, state, within{e.Err})
}

// Unwrap returns why the wait ended.
func (e *WaitError) Unwrap() error { return e.Err }

// ErrWaitFailed: the resource is in a state from which it cannot get to the
// one that is waited for, such as being deleted.
var ErrWaitFailed = errors.New("the state cannot be reached any more")

// stater is a record with a state.
type stater interface{ stateText() string }

// stateDeleting is the one state that all families with states share.
const stateDeleting = "deleting"

// Wait polls with fetch until done reports true, and returns the record with
// which it did. It is what all Wait methods are made of, for conditions of the
// caller's own:
//
//	vm, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.VM, error) {
//		return client.VMs.Get(ctx, location, id)
//	}, func(vm *cloudapi.VM) (bool, error) {
//		return vm.IP4 != "", nil
//	})
//
// The first poll is at once. The context bounds the wait; without a deadline it
// goes on until the condition holds. Failures of fetch that another poll can
// mend are tolerated ([WaitTolerance]); others, and an error of done, end it.
// The error is a [*WaitError], which holds the last record.
func Wait[T any](ctx context.Context, fetch func(context.Context) (*T, error), done func(*T) (bool, error), opts ...WaitOption) (*T, error) {
	switch {
	case fetch == nil:
		return nil, &ArgumentError{Operation: "Wait", Name: "fetch", Reason: "must not be nil"}
	case done == nil:
		return nil, &ArgumentError{Operation: "Wait", Name: "done", Reason: "must not be nil"}
	}
	w := waiter[T]{operation: "Wait", resource: "the resource", config: waitQuick, done: done, fetch: func(ctx context.Context) (*T, error) {
		record, err := fetch(ctx)
		if record == nil && err == nil {
			err = errors.New("fetch returned neither a record nor an error")
		}
		return record, err
	}}
	return w.run(ctx, opts)
}

// waiter is the one poller.
type waiter[T any] struct {
	operation string
	resource  string
	config    waitConfig
	fetch     func(context.Context) (*T, error)
	done      func(*T) (bool, error)

	// gone: the wait is for the end of the resource, so not finding it is
	// success, and being forbidden to see it may precede that for a moment.
	gone bool
}

func (w *waiter[T]) run(ctx context.Context, opts []WaitOption) (*T, error) {
	if ctx == nil {
		return nil, noContext(w.operation)
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&w.config)
		}
	}
	start := time.Now()
	pauses := w.config.pauses()
	var last *T
	failures := 0
	for polls := 1; ; polls++ {
		progress := Progress{Operation: w.operation, Resource: w.resource, Total: 1, Polls: polls}
		var record *T
		err := w.config.slots.do(ctx, func() (err error) {
			record, err = w.fetch(ctx)
			return err
		})
		var end error // why the wait ends now, unless it is finished
		switch {
		case err == nil:
			var finished bool
			if finished, end = w.done(record); finished && end == nil {
				progress.Done = 1
			}
			last, failures = record, 0
			progress.Record, progress.State = recordOf(record), stateOf(record)
		case w.gone && isGone(err):
			record, err, progress.Done = nil, nil, 1
		case ctx.Err() == nil && w.tolerates(err) && failures < w.config.tolerance:
			failures++
		default:
			end = err
		}
		progress.Elapsed, progress.Err = time.Since(start), err
		if w.config.progress != nil {
			w.config.progress(progress)
		}
		if progress.Done == 1 {
			return record, nil
		}
		if end == nil {
			end = sleep(ctx, pauses.next())
		}
		if end != nil {
			return nil, &WaitError{
				Operation: w.operation,
				Resource:  w.resource,
				Polls:     polls,
				Elapsed:   time.Since(start),
				State:     stateOf(last),
				Record:    recordOf(last),
				Err:       end,
			}
		}
	}
}

// tolerates reports whether another poll may succeed where one failed. Behind
// the end of a resource that is also a 404 which is not the API's own, or was cut
// off.
func (w *waiter[T]) tolerates(err error) bool {
	return isTransient(err) ||
		w.gone && (errors.Is(err, ErrForbidden) || errors.Is(err, ErrNotFound) && !isInvalidLocation(err))
}

// isTransient reports whether a failure of a poll is one that another poll can
// mend.
func isTransient(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Is(ErrServer) || e.Is(ErrRateLimited) || e.StatusCode == 408 // which a call repeats, too
	}
	if e, ok := errors.AsType[*DecodeError](err); ok {
		return e.truncated
	}
	e, ok := errors.AsType[*TransportError](err)
	return ok && !errors.Is(e, errNotSent)
}

// isGone reports whether a poll says that the resource does not exist. A
// location that does not exist says nothing about it, and neither does a 404
// that is not the API's own. A project that the token cannot see looks the
// same as a resource that is gone.
func isGone(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Is(ErrNotFound) && e.Type != "" && !isInvalidLocation(err)
}

// isInvalidLocation reports whether the server knows no such location, or no
// more.
func isInvalidLocation(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Is(ErrNotFound) && e.Type == "InvalidLocation"
}

// pauses are those between polls.
type pauses struct{ pause, max time.Duration }

func (c *waitConfig) pauses() *pauses { return &pauses{c.first, c.max} }

// next returns the next pause, with a random deviation of a fifth. The one
// behind it is longer by half, up to max.
func (p *pauses) next() time.Duration {
	d := min(p.pause, math.MaxInt64/2)
	p.pause = max(p.pause, min(d+d/2+1, p.max))
	return d - d/5 + rand.N(d/5*2+1)
}

// sleep pauses for d or until the context ends, which is its error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return contextError(ctx)
	case <-timer.C:
		return nil
	}
}

func stateOf[T any](record *T) string {
	if s, ok := any(record).(stater); ok && record != nil {
		return s.stateText()
	}
	return ""
}

// recordOf keeps a nil pointer from becoming an interface that is not nil.
func recordOf[T any](record *T) any {
	if record == nil {
		return nil
	}
	return record
}

// waitDeleted waits until the resource that a reference names is gone. If it
// is a name, and another resource takes it over, the first one is gone too.
func waitDeleted[T any, P listItem[T]](ctx context.Context, operation, location, ref string, config waitConfig,
	get func(context.Context, string, string) (*T, error), opts []WaitOption) error {
	var id string
	w := waiter[T]{
		operation: operation,
		resource:  place(location, ref),
		config:    config,
		gone:      true,
		fetch:     func(ctx context.Context) (*T, error) { return get(ctx, location, ref) },
		done: func(record *T) (bool, error) {
			current := P(record).cursor(OrderByID)
			if id == "" {
				id = current
			}
			return current != id, nil
		},
	}
	_, err := w.run(ctx, opts)
	return err
}

// waitState waits until a resource has one state, and fails if it gets into
// another from which it will not.
func waitState[T any](ctx context.Context, operation, location, ref string, config waitConfig,
	get func(context.Context, string, string) (*T, error), done func(*T) (bool, error), opts []WaitOption) (*T, error) {
	w := waiter[T]{
		operation: operation,
		resource:  place(location, ref),
		config:    config,
		fetch:     func(ctx context.Context) (*T, error) { return get(ctx, location, ref) },
		done:      done,
	}
	return w.run(ctx, opts)
}

// reaches returns the condition of having a state, which a resource that is
// being deleted will not have any more.
func reaches[P stater](want string) func(P) (bool, error) {
	return func(record P) (bool, error) {
		switch record.stateText() {
		case want:
			return true, nil
		case stateDeleting:
			return false, fmt.Errorf("%w: it is being deleted", ErrWaitFailed)
		default:
			return false, nil
		}
	}
}

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
// A watch polls the list. The first round yields everything as [EventAdded],
// those that follow what has changed since the one before. What comes and goes
// between two of them is not seen, and neither is what lists do not show: items
// have the short form of their record. The order within an array, which the
// server does not promise, does not count.
//
// Records are told apart by ID. Of a resource that was deleted and made again
// with the same name, the new one can be added before the old one is deleted,
// for a round yields what is in the list as it walks it, and then what is no
// longer there. What the token is not allowed to see any more is deleted too.
//
// A failure that another poll can mend, such as a server error, does not end a
// watch: it is reported to Progress, and the next round comes later. Of a round
// that fails on its way, what it has yielded counts, and nothing is deleted by
// it. Any other error is yielded, and is the last element; so is the context's
// when it ends. A list that stalls ([ErrPaginationStalled]) may have changed
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
	// real server gives.
	PageSize int

	// Interval is the pause after the first round and each that saw a change. It
	// grows by half after each that saw none, or failed, up to MaxInterval, and
	// varies at random by a fifth. The defaults, for what is not positive, are 5
	// and 30 seconds. A longer Retry-After of the server is honored, up to
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
	// chance: a server that counts items and then fetches them may find that
	// they are gone.
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
	exact := *routes
	exact.toEnd = true
	list := all[T, P](ctx, c, &exact, &ListOptions{Location: o.Location, PageSize: o.PageSize})
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
