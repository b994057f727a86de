package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
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
type WaitOption func(*waitConfig)

type waitConfig struct {
	first, max time.Duration
	tolerance  int
	progress   func(Progress)
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
// has the client's retries.
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
		e.Operation, e.Resource, e.Elapsed.Round(time.Millisecond), e.Polls, polls, state, unprefixed{e.Err})
}

// Unwrap returns why the wait ended.
func (e *WaitError) Unwrap() error { return e.Err }

// stateful is a record with a state.
type stateful interface{ stateText() string }

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

// WaitAllOption is a setting of [WaitAll].
type WaitAllOption func(*waitAllConfig)

type waitAllConfig struct {
	atOnce   *int
	failFast bool
}

// WaitConcurrency sets how many waits run at the same time, at least 1. Others
// begin in the order of the items as soon as one has ended. By default all run
// at the same time.
func WaitConcurrency(waits int) WaitAllOption {
	return func(c *waitAllConfig) { c.atOnce = &waits }
}

// WaitFailFast lets the first wait that fails end the others. Their context is
// canceled, and its cause is the error of the failed wait. Waits that have not
// begun are not called. WaitAll returns when all that had begun have ended, with
// the records of those that succeeded and the error of the first failure alone.
func WaitFailFast() WaitAllOption {
	return func(c *waitAllConfig) { c.failFast = true }
}

// WaitAll calls wait for each of the items concurrently, and returns when all
// calls have ended. The records are in the order of the items; the record of a
// failed wait is nil. The error joins the errors of all failed waits in the
// order of the items, and is nil if none failed.
//
//	names := []string{"web-1", "web-2", "web-3"}
//	vms, err := cloudapi.WaitAll(ctx, names, func(ctx context.Context, name string) (*cloudapi.VM, error) {
//		return client.VMs.WaitRunning(ctx, location, name)
//	})
//
// Waits of one client for resources of one family in one location share lists,
// if that takes fewer requests than a Get for each. This applies to waits for a
// deletion, and for a state that lists show. A list only tells a wait that it is
// not over: the full record decides. Before that, the records in [Progress] can
// be in the short form of a list. A wait never waits for a list longer than one
// of its own pauses, and a list that fails ends no wait. Waits share lists only
// if they get the context that WaitAll passes, and not one derived from it: set
// a deadline for all on the context of WaitAll.
//
// WaitAll returns an [*ArgumentError], and calls nothing, if wait is nil or a
// [WaitConcurrency] is less than 1.
func WaitAll[S, T any](ctx context.Context, items []S, wait func(context.Context, S) (*T, error), opts ...WaitAllOption) ([]*T, error) {
	const operation = "WaitAll"
	c := waitAllConfig{}
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	atOnce := len(items)
	if c.atOnce != nil {
		atOnce = *c.atOnce
	}
	switch {
	case ctx == nil:
		return nil, noContext(operation)
	case wait == nil:
		return nil, &ArgumentError{Operation: operation, Name: "wait", Reason: "must not be nil"}
	case c.atOnce != nil && atOnce < 1:
		return nil, argumentError(operation, "WaitConcurrency", strconv.Itoa(atOnce), "must be at least 1")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	shared := &sharing{Context: ctx, atOnce: atOnce, calls: len(items), lists: map[listKey]interface{ end() }{}}
	defer shared.end()
	defer cancel(nil)
	records, errs := make([]*T, len(items)), make([]error, len(items))
	var isOver atomic.Bool // a wait has failed, and ends the others
	var first error        // of that wait
	parallel.Do(len(items), atOnce, func(i int) {
		defer shared.called()
		if isOver.Load() {
			return
		}
		ended := false
		defer func() {
			if !ended { // a panic, which ends all
				cancel(nil)
			}
		}()
		records[i], errs[i] = wait(shared, items[i])
		ended = true
		if errs[i] == nil {
			return
		}
		records[i] = nil
		if c.failFast && isOver.CompareAndSwap(false, true) {
			first = errs[i]
			cancel(first)
		}
	})
	if c.failFast {
		return records, first
	}
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

	// isNotYet reports whether the short form of a record shows that the wait is
	// not over. If it is not nil, the wait shares the list that join returns,
	// unless that is nil, and looks there for the reference.
	isNotYet  func(*T) bool
	join      func(context.Context) *sharedList[T]
	reference string
}

// maxListed is how many lists in a row may say that a wait is not over. Then the
// wait looks for itself, since a list can be stale.
const maxListed = 16

func (w *waiter[T]) run(ctx context.Context, opts []WaitOption) (*T, error) {
	if ctx == nil {
		return nil, noContext(w.operation)
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&w.config)
		}
	}
	var list *sharedList[T]
	if w.isNotYet != nil {
		list = w.join(ctx)
	}
	if list != nil {
		defer list.leave()
	}
	start := time.Now()
	progress := Progress{Operation: w.operation, Resource: w.resource, Total: 1}
	var last *T
	fail := func(err error) (*T, error) {
		return nil, &WaitError{
			Operation: w.operation,
			Resource:  w.resource,
			Polls:     progress.Polls,
			Elapsed:   time.Since(start),
			State:     stateOf(last),
			Record:    recordOf(last),
			Err:       err,
		}
	}
	pauses, pause := w.config.pauses(), w.config.first
	polled, due := start.Add(-pause), start
	var paced time.Time      // when the pause was chosen; lists may come before its end
	failures, listed := 0, 0 // in a row
	for {
		var record *T // if a list shows that the wait is not over
		var err, end error
		if list != nil && failures == 0 && listed < maxListed {
			var records map[string]*T
			records, end = list.await(ctx, polled, due, pause)
			if r := records[w.reference]; r != nil && w.isNotYet(r) {
				record = r
			}
		} else {
			end = pace.Sleep(ctx, time.Until(due))
		}
		if end != nil {
			return fail(end)
		}

		finished := false
		progress.Polls++
		if listed++; record == nil {
			listed = 0
			record, err = w.fetch(ctx)
			switch {
			case err == nil:
				finished, end = w.done(record)
			case w.gone && IsGone(err):
				record, err, finished = nil, nil, true
			case ctx.Err() == nil && w.tolerates(err) && failures < w.config.tolerance:
				record = nil
				failures++
			default:
				record, end = nil, err
			}
		}
		if record != nil {
			last, failures = record, 0
		}
		finished = finished && end == nil
		if finished {
			progress.Done = 1
		}
		progress.State, progress.Record = stateOf(record), recordOf(record)
		progress.Elapsed, progress.Err = time.Since(start), err
		if w.config.progress != nil {
			w.config.progress(progress)
		}
		switch {
		case end != nil:
			return fail(end)
		case finished:
			return record, nil
		}

		polled = time.Now()
		if polled.Sub(paced) >= pause/3*2 { // the shortest pause is two thirds of the longest
			pause, paced = pauses.Next(), polled
		}
		due = polled.Add(pause)
	}
}

// tolerates reports whether another poll may succeed after an error.
func (w *waiter[T]) tolerates(err error) bool {
	return IsTransient(err) || w.gone && isVanishing(err)
}

func stateOf[T any](record *T) string {
	if s, ok := any(record).(stateful); ok && record != nil {
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

// waiter returns a waiter for the resource with a reference, which gets it at
// each poll. It has no condition yet.
func (f *family[T, P]) waiter(c *conn, operation, location, ref string) waiter[T] {
	args := f.args(location, ref)
	lists := f.lists
	if !f.takesIDs() {
		lists = nil // items are found by ID
	}
	return waiter[T]{
		operation: operation,
		resource:  place(location, ref),
		config:    f.pauses,
		fetch:     func(ctx context.Context) (*T, error) { return fetch[T, P](ctx, c, f.get, args...) },
		join:      func(ctx context.Context) *sharedList[T] { return joinList[T, P](ctx, c, lists, location) },
		reference: ref,
	}
}

// waitDeleted waits until the resource with a reference is gone. A reference
// that no such resource can have is an error. If the reference is a name, and
// another resource takes it, the first one is gone too.
func (f *family[T, P]) waitDeleted(ctx context.Context, c *conn, location, ref string, opts []WaitOption) error {
	operation, kind := strings.TrimSuffix(f.del.Name, "Delete")+"WaitDeleted", f.kind()
	if reason := f.get.lastParam().checkDeletion(ref); reason != "" {
		return argumentError(operation, "reference", ref, reason)
	}
	id := "" // of the resource that was there first
	if IsID(ref, kind) {
		id = ref
	}
	current := func(record *T) string { return P(record).cursor(OrderByID) }
	w := f.waiter(c, operation, location, ref)
	w.gone = true
	w.done = func(record *T) (bool, error) {
		id = cmp.Or(id, current(record))
		return current(record) != id, nil
	}
	w.isNotYet = func(record *T) bool { return current(record) == id }
	_, err := w.run(ctx, opts)
	return err
}

// waitState waits until a resource satisfies done, which also sees from the
// short form of a record that it does not. It fails if done returns an error,
// because then the resource never will.
func (f *family[T, P]) waitState(ctx context.Context, c *conn, operation, location, ref string, done func(*T) (bool, error), opts []WaitOption) (*T, error) {
	w := f.waiter(c, operation, location, ref)
	w.done = done
	w.isNotYet = func(record *T) bool {
		finished, err := done(record)
		return !finished && err == nil
	}
	return w.run(ctx, opts)
}

// reaches returns the condition of having a state. It fails for a resource that
// is being deleted.
func reaches[P stateful](want string) func(P) (bool, error) {
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
