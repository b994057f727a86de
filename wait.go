package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// Progress is a report of an operation that takes longer than one request: a
// wait, an Ensure, a Watch or a teardown. One function can display all of them:
// Operation and Resource say what is in progress, Done and Total how far it is,
// and State its present state.
type Progress struct {
	Operation string        // such as "VMs.WaitRunning"
	Resource  string        // such as "eu-central-h1/web-1"
	State     string        // the state of the record, or the present step; "" if there is none
	Done      int           // how many of Total are finished
	Total     int           // 1 for a single resource; 0 if there is no end
	Polls     int           // the number of polls
	Elapsed   time.Duration // time since the beginning
	Record    any           // the record, such as a *VM; nil if there is none
	Err       error         // why this poll or step failed, or nil
}

// WaitOption is a setting of the Wait methods.
//
// Waits of one client that run at the same time, for resources of one family in
// one location, share their polls if that takes fewer requests. This applies to
// waits for a state that lists show, and to waits for a deletion. They read one
// list for all instead of a Get for each. A shared wait polls at least as often
// as it would alone, and the full record always decides its end. Before that,
// the records in [Progress] can be in the short form of a list. A list that
// fails does not end a wait if it can get the resource itself.
type WaitOption func(*waitConfig)

type waitConfig struct {
	first, max time.Duration
	tolerance  int
	progress   func(Progress)
	slots      pace.Slots // which limit the polls
}

// WaitInterval sets the pauses between polls. The first pause is first; each
// later one is longer by half, up to max. Every pause varies at random by a
// fifth. The defaults depend on the resource: 1 to 5 seconds for VMs and
// networks, 5 to 15 for databases, clusters and machine images. A value of 0 or
// less means the default.
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

// WaitTolerance sets how many polls in a row may fail with a transient error,
// such as a server error, before the wait ends with the last error. The default
// is 5, and 20 for the servers of a database, which fail over. Each poll also
// has the client's retries. A shared poll counts only if it is not earlier than
// the wait would have polled by itself.
func WaitTolerance(polls int) WaitOption {
	return func(c *waitConfig) { c.tolerance = polls }
}

// WaitProgress sets a function that is called after each poll, on the goroutine
// of the wait. The last poll of a successful wait has Done 1.
func WaitProgress(report func(Progress)) WaitOption {
	return func(c *waitConfig) { c.progress = report }
}

var (
	waitQuick = waitConfig{first: time.Second, max: 5 * time.Second, tolerance: 5}
	waitSlow  = waitConfig{first: 5 * time.Second, max: 15 * time.Second, tolerance: 5}
)

// WaitError says that a wait failed. It wraps the reason: the context's error,
// the failure of a poll, or [ErrWaitFailed].
type WaitError struct {
	Operation string        // the wait, such as "VMs.WaitRunning"
	Resource  string        // the location and reference of the resource
	Polls     int           // the number of polls
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

// Wait polls with fetch until done reports true, and returns that record. All
// Wait methods use it. Call it for your own conditions:
//
//	vm, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.VM, error) {
//		return client.VMs.Get(ctx, location, id)
//	}, func(vm *cloudapi.VM) (bool, error) {
//		return vm.IP4 != "", nil
//	})
//
// The first poll is immediate. The context limits the wait; without a deadline
// it goes on until the condition holds. Transient errors of fetch are tolerated
// ([WaitTolerance]). Other errors of fetch, and any error of done, end the
// wait. The error is a [*WaitError], which contains the last record.
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

// WaitAll runs a wait for each of the items concurrently, and returns when all
// have ended. The records are in the order of the items; the record of a failed
// wait is nil. The error joins the errors of all failed waits, and is nil if
// none failed.
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
	parallel.Do(len(items), 0, func(i int) { records[i], errs[i] = wait(ctx, items[i]) })
	return records, errors.Join(errs...)
}

// waiter is the poller of all waits.
type waiter[T any] struct {
	operation string
	resource  string
	config    waitConfig
	fetch     func(context.Context) (*T, error)
	done      func(*T) (bool, error)

	// gone: the wait is for a deletion, and succeeds if the resource is not
	// found.
	gone bool

	// join makes the wait share its polls with others; nil: it does not. With
	// join, done must see from the short form of a record that the wait is not
	// over, and reference is the key of the record in a list.
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
	next := func(pause time.Duration) (*round[map[string]*T], error) { return nil, pace.Sleep(ctx, pause) }
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
	// Shared polls can be earlier than the wait's own. Those do not count as
	// failures, and do not make the pause longer.
	isDue := true // whether the poll is not earlier
	var pause time.Duration
	var paused time.Time // when the wait last polled by its own pace
	round, err := next(0)
	for polls := 1; ; polls++ {
		progress := Progress{Operation: w.operation, Resource: w.resource, Total: 1, Polls: polls}
		var record *T
		if err == nil {
			// The first failure of a list is a failed poll, since the service
			// may be down. After that the resource itself is decisive.
			record, err = w.look(ctx, round, !isDue || failures == 0 && w.config.tolerance > 0)
		}
		var end error // why the wait ends, unless it is finished
		switch {
		case err == nil:
			var finished bool
			if finished, end = w.done(record); finished && end == nil {
				progress.Done = 1
			}
			last, failures = record, 0
			progress.Record, progress.State = recordOf(record), stateOf(record)
		case w.gone && IsGone(err):
			record, err, progress.Done = nil, nil, 1
		case ctx.Err() == nil && w.tolerates(err) && !isDue:
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
			if isDue {
				pause, paused = pauses.Next(), time.Now()
			}
			round, end = next(pause)
			isDue = time.Since(paused) >= pause/3*2 // the shortest pause is two thirds of the longest
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

// look returns the record from the round, or, if that may be the end of the
// wait, from the server. If mayFail is false it also asks the server after a
// round that failed with a transient error.
func (w *waiter[T]) look(ctx context.Context, round *round[map[string]*T], mayFail bool) (record *T, err error) {
	if round != nil {
		if mayFail && IsTransient(round.err) {
			return nil, round.err
		}
		if record = round.value[w.reference]; record != nil {
			if finished, end := w.done(record); !finished && end == nil {
				return record, nil
			}
		}
	}
	err = w.config.slots.Do(ctx, func() (err error) {
		record, err = w.fetch(ctx)
		return err
	})
	return record, err
}

// tolerates reports whether another poll may succeed after an error.
func (w *waiter[T]) tolerates(err error) bool {
	return IsTransient(err) || w.gone && isVanishing(err)
}

func stateOf[T any](record *T) string {
	if s, ok := any(record).(stater); ok && record != nil {
		return s.stateText()
	}
	return ""
}

func (c *waitConfig) pauses() *pace.Pauses { return &pace.Pauses{First: c.first, Longest: c.max} }

// recordOf keeps a nil pointer from becoming an interface that is not nil.
func recordOf[T any](record *T) any {
	if record == nil {
		return nil
	}
	return record
}

// newWaiter returns a waiter for the resource with a reference. routes are those
// of the list that waits share, or nil.
func newWaiter[T any, P listItem[T]](c *conn, routes *listRoutes, operation, location, ref string, config waitConfig,
	get func(context.Context, string, string) (*T, error)) waiter[T] {
	w := waiter[T]{
		operation: operation,
		resource:  place(location, ref),
		config:    config,
		fetch:     func(ctx context.Context) (*T, error) { return get(ctx, location, ref) },
	}
	if routes != nil {
		w.join, w.reference = sharedPolls[T, P](c, routes, location), ref
	}
	return w
}

// waitDeleted waits until the resource with a reference is gone. A reference
// that no such resource can have is an error. If the reference is a name, and
// another resource takes it, the first one is gone too.
func waitDeleted[T any, P listItem[T]](ctx context.Context, c *conn, routes *listRoutes, operation, location, ref string, config waitConfig,
	get func(context.Context, string, string) (*T, error), opts []WaitOption) error {
	if reason := (pathParam{kinds: kindSet(kindOf[T]())}).checkDeletion(ref); reason != "" {
		return argumentError(operation, "reference", ref, reason)
	}
	w := newWaiter[T, P](c, routes, operation, location, ref, config, get)
	w.gone = true
	var id string
	w.done = func(record *T) (bool, error) {
		current := P(record).cursor(OrderByID)
		if id == "" {
			id = current
		}
		return current != id, nil
	}
	_, err := w.run(ctx, opts)
	return err
}

// waitState waits until a resource satisfies done, and fails if done returns an
// error, because it never will. Waits share a list if the short form of a record
// can disprove done.
func waitState[T any, P listItem[T]](ctx context.Context, c *conn, routes *listRoutes, operation, location, ref string, config waitConfig,
	get func(context.Context, string, string) (*T, error), done func(*T) (bool, error), opts []WaitOption) (*T, error) {
	w := newWaiter[T, P](c, routes, operation, location, ref, config, get)
	w.done = done
	return w.run(ctx, opts)
}

// reaches returns the condition of having a state. It fails for a resource that
// is being deleted.
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
