package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
	"github.com/cloudapi-sdk/cloudapi/internal/sharedlist"
)

// Progress is a report of a wait, an Ensure, a Watch or a teardown.
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

// WaitInterval sets the pauses between polls: first, then longer by half each
// time, up to max, each randomized by up to 20%. The defaults, for 0 or less,
// are 1 and 5 seconds for VMs and networks, and 5 and 15 seconds for others.
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

// WaitTolerance sets how many polls in a row may fail transiently, after
// retries, before the wait ends; default 5.
func WaitTolerance(polls int) WaitOption {
	return func(c *waitConfig) { c.tolerance = polls }
}

// WaitProgress sets a function that is called after each poll, on the goroutine
// of the wait. The last poll of a successful wait has Done 1.
func WaitProgress(report func(Progress)) WaitOption {
	return func(c *waitConfig) { c.progress = report }
}

// Families point to these. A copy would be made when the program starts, and
// would link every family into every program.
var (
	waitQuick = waitConfig{first: time.Second, max: 5 * time.Second, tolerance: 5}
	waitSlow  = waitConfig{first: 5 * time.Second, max: 15 * time.Second, tolerance: 5}
)

// WaitError says that a wait failed: the context ended, a poll failed, or the
// resource can't reach the state ([ErrWaitFailed]).
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
		e.Operation, e.named(), e.Elapsed.Round(time.Millisecond), e.Polls, polls, state, unprefixed{e.Err})
}

// named returns the resource, with its name if it's given by its ID and a
// record shows the name.
func (e *WaitError) named() string {
	if record, ok := e.Record.(identified); ok {
		r := record.identity()
		if place, isByID := strings.CutSuffix(e.Resource, r.ID); isByID && r.ID != "" && r.Name != "" {
			return fmt.Sprintf("%s%s (%s)", mask.OneLine(place), mask.Name(r.Name), mask.Name(r.ID))
		}
	}
	return mask.OneLine(e.Resource)
}

// Unwrap returns why the wait ended.
func (e *WaitError) Unwrap() error { return e.Err }

// stateful is a record with a state.
type stateful interface{ stateText() string }

// stateDeleting is the one state that all families with states share.
const stateDeleting = "deleting"

// Wait polls with fetch until done reports true, and returns that record. The
// Wait methods use it; call it for your own conditions:
//
//	vm, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.VM, error) {
//		return client.VMs.Get(ctx, location, id)
//	}, func(vm *cloudapi.VM) (bool, error) {
//		return vm.IP4 != "", nil
//	})
//
// The first poll is immediate. Wait tolerates transient errors of fetch
// ([WaitTolerance]). After any other error of fetch, or any error of done, it
// returns a [*WaitError] with the last record. Only the context limits its
// time.
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

// waiter is the poller of all waits.
type waiter[T any] struct {
	operation string
	resource  string
	config    waitConfig
	fetch     func(context.Context) (*T, error)
	done      func(*T) (bool, error)

	// lacks, if not nil, returns the name of a field that the record lacks and
	// that done depends on, or "". A zero value could look like success.
	lacks func(*T) string

	// gone: the wait is for a deletion, and succeeds if the resource isn't
	// found.
	gone bool

	// isNotYet reports whether the short form of a record shows that the wait
	// isn't over. If it isn't nil, the wait shares the list that join returns,
	// unless that is nil, and looks there for the reference.
	isNotYet  func(*T) bool
	join      func(context.Context) *sharedlist.List[T]
	reference string
}

// maxListed is how many lists in a row may say that a wait isn't over. Then the
// wait gets the record itself, since a list can be stale.
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
	var list *sharedlist.List[T]
	if w.isNotYet != nil {
		list = w.join(ctx)
	}
	if list != nil {
		defer list.Leave()
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
		var record *T // if a list shows that the wait isn't over
		var err, end error
		if list != nil && failures == 0 && listed < maxListed {
			var records map[string]*T
			records, end = list.Await(ctx, polled, due, pause)
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
				if finished && end == nil && w.lacks != nil && w.lacks(record) != "" {
					end = fmt.Errorf("%w: the record has no %s", ErrInvalidResponse, w.lacks(record))
				}
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
	return IsTransient(err) || isStray(err) || w.gone && isVanishing(err)
}

func stateOf[T any](record *T) string {
	if s, ok := any(record).(stateful); ok && record != nil {
		return s.stateText()
	}
	return ""
}

func (c *waitConfig) pauses() *pace.Pauses { return &pace.Pauses{First: c.first, Longest: c.max} }

// recordOf keeps a nil pointer from becoming an interface that isn't nil.
func recordOf[T any](record *T) any {
	if record == nil {
		return nil
	}
	return record
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

// WaitAllOption is a setting of [WaitAll].
type WaitAllOption func(*waitAllConfig)

type waitAllConfig struct {
	atOnce   *int
	failFast bool
}

// WaitConcurrency sets the number of parallel waits, at least 1; default all.
func WaitConcurrency(waits int) WaitAllOption {
	return func(c *waitAllConfig) { c.atOnce = &waits }
}

// WaitFailFast lets the first wait that fails cancel the others, with its error
// as the cause. WaitAll returns when all have ended, with the records of those
// that succeeded and only this error.
func WaitFailFast() WaitAllOption {
	return func(c *waitAllConfig) { c.failFast = true }
}

// WaitAll calls wait for each of the items concurrently, and returns when all
// calls have ended. The records are in the order of the items, nil for a failed
// wait. The error joins the errors of all failed waits in that order.
//
//	names := []string{"web-1", "web-2", "web-3"}
//	vms, err := cloudapi.WaitAll(ctx, names, func(ctx context.Context, name string) (*cloudapi.VM, error) {
//		return client.VMs.WaitRunning(ctx, location, name)
//	})
//
// Waits of one client for deletions, or for states that lists show, share the
// lists of a family and location if that takes fewer requests than getting each
// resource; the records in [Progress] can then have the short form. A list may
// be stale, so after 16 of them a wait gets its resource. Waits must use the
// context that WaitAll passes: set a deadline on WaitAll's own.
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
	group := sharedlist.NewGroup(ctx, len(items), atOnce)
	defer group.End()
	defer cancel(nil)
	records, errs := make([]*T, len(items)), make([]error, len(items))
	var isOver atomic.Bool // a wait has failed, and ends the others
	var first error        // of that wait
	parallel.Do(len(items), atOnce, func(i int) {
		defer group.EndCall()
		if isOver.Load() {
			return
		}
		ended := false
		defer func() {
			if !ended { // a panic, which ends all
				cancel(nil)
			}
		}()
		records[i], errs[i] = wait(group, items[i])
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
