package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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
//
// Waits of one client that go on at the same time, for resources of one family
// in one location, share their polls where that takes fewer requests: those for
// a state that lists show, and those for a deletion. One list is read for all of
// them in place of a Get for each. A wait is polled as often as by itself, or
// more often, and what ends it is always the full record. Before that, the
// records in [Progress] can be in the short form of a list.
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

// WaitInterval sets the pauses between polls. The first pause is first; each one
// after it is longer by half, up to max. Every pause varies at random by a fifth.
// The defaults depend on the resource: 1 to 5 seconds for VMs and networks, 5 to 15 for
// databases and clusters. A value of 0 or less stands for the default.
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
	polls := "polls"
	if e.Polls == 1 {
		polls = "poll"
	}
	return fmt.Sprintf("cloudapi: %s of %s ended after %v and %d %s%s: %v",
		e.Operation, e.Resource, e.Elapsed.Round(time.Millisecond), e.Polls, polls, state, within{e.Err})
}

// Unwrap returns why the wait ended.
func (e *WaitError) Unwrap() error { return e.Err }

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

// WaitAll runs a wait for each of the items at the same time, and returns when
// all of them have ended. The records are in the order of the items; that of a
// wait that failed is nil. The error joins those of all waits that failed, and
// is nil if none did.
//
//	names := []string{"web-1", "web-2", "web-3"}
//	vms, err := cloudapi.WaitAll(ctx, names, func(ctx context.Context, name string) (*cloudapi.VM, error) {
//		return client.VMs.WaitRunning(ctx, location, name)
//	})
//
// Waits of one client for resources of one family and location share their
// polls: see [WaitOption].
func WaitAll[S, T any](ctx context.Context, items []S, wait func(context.Context, S) (*T, error)) ([]*T, error) {
	switch {
	case ctx == nil:
		return nil, noContext("WaitAll")
	case wait == nil:
		return nil, &ArgumentError{Operation: "WaitAll", Name: "wait", Reason: "must not be nil"}
	}
	records, errs := make([]*T, len(items)), make([]error, len(items))
	inParallel(len(items), func(i int) { records[i], errs[i] = wait(ctx, items[i]) })
	return records, errors.Join(errs...)
}

// waiter is the one poller.
type waiter[T any] struct {
	operation string
	resource  string
	config    waitConfig
	fetch     func(context.Context) (*T, error)
	done      func(*T) (bool, error)

	// gone: the wait is for the end of the resource. If the resource is not found
	// the wait has succeeded.
	gone bool

	// join makes the wait share its polls with others; nil: it does not. Then
	// done must be able to tell from the short form of a record that the wait is
	// not over, and reference is what the record goes by in a list.
	join      func() (group *pollGroup[T], leave func())
	reference string
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
	next := func(pause time.Duration) (*round[map[string]*T], error) { return nil, sleep(ctx, pause) }
	if w.join != nil {
		group, leave := w.join()
		defer leave()
		next = func(pause time.Duration) (*round[map[string]*T], error) {
			return group.await(ctx, pause, w.config.slots)
		}
	}
	start := time.Now()
	pauses := w.config.pauses()
	var last *T
	failures := 0
	round, err := next(0)
	for polls := 1; ; polls++ {
		progress := Progress{Operation: w.operation, Resource: w.resource, Total: 1, Polls: polls}
		var record *T
		if err == nil {
			record, err = w.look(ctx, round)
		}
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
			round, end = next(pauses.next())
			err = nil
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

// look returns the record as it is in the round, or, if that does not settle
// it, as the server says.
func (w *waiter[T]) look(ctx context.Context, round *round[map[string]*T]) (record *T, err error) {
	if round != nil {
		if isTransient(round.err) {
			return nil, round.err
		}
		if record = round.value[w.reference]; record != nil {
			if finished, end := w.done(record); !finished && end == nil {
				return record, nil
			}
		}
	}
	err = w.config.slots.do(ctx, func() (err error) {
		record, err = w.fetch(ctx)
		return err
	})
	return record, err
}

// tolerates reports whether another poll may succeed where one failed.
func (w *waiter[T]) tolerates(err error) bool {
	return isTransient(err) || w.gone && isVanishing(err)
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

// waitDeleted waits until the resource that a reference names is gone, which it
// is not for what no such resource can have. If it is a name, and another resource
// takes it over, the first one is gone too. routes are those of the list that waits
// share, or nil.
func waitDeleted[T any, P listItem[T]](ctx context.Context, c *Client, routes *listRoutes, operation, location, ref string, config waitConfig,
	get func(context.Context, string, string) (*T, error), opts []WaitOption) error {
	if reason := (pathParam{kinds: kindSet(kindOf[T]())}).checkDeletion(ref); reason != "" {
		return &ArgumentError{Operation: operation, Name: "reference", Value: ref, Reason: reason}
	}
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
	if routes != nil {
		w.join, w.reference = sharedPolls[T, P](c, routes, location), ref
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

// waitShared is waitState for a condition that the short form of a record in a
// list can show not to hold yet, so that waits share their polls.
func waitShared[T any, P listItem[T]](ctx context.Context, c *Client, routes *listRoutes, operation, location, ref string, config waitConfig,
	get func(context.Context, string, string) (*T, error), done func(*T) (bool, error), opts []WaitOption) (*T, error) {
	w := waiter[T]{
		operation: operation,
		resource:  place(location, ref),
		config:    config,
		fetch:     func(ctx context.Context) (*T, error) { return get(ctx, location, ref) },
		done:      done,
		join:      sharedPolls[T, P](c, routes, location),
		reference: ref,
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
