package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
	"github.com/cloudapi-sdk/cloudapi/internal/sharedlist"
)

// WaitOptions are settings of a wait; nil means the defaults. A wait has no limit
// of its own: give its context a deadline.
type WaitOptions struct {
	// Interval is the pause after the first poll. Each further pause is 50%
	// longer, up to MaxInterval. If Interval is longer than MaxInterval, all
	// pauses are Interval. Pauses are randomized by up to 20%, but not shorter than
	// a Retry-After. The defaults are 5 and 15 seconds for databases, Kubernetes,
	// versions of machine images and private link services, and 1 and 5 seconds for
	// other resources.
	Interval, MaxInterval time.Duration

	// Tolerance is how many polls in a row may fail, after retries, before the
	// wait ends, if another poll may succeed: after a transient failure
	// ([IsTransient]) or a gateway's 404, and after ErrForbidden in a wait for a
	// deletion. The default is 5; a negative value means none.
	Tolerance int

	// FailWithoutCapacity ends [VMsService.WaitRunning] with [ErrNoCapacity] once
	// the VM is in the state "no capacity available": the server has found no host
	// for 15 minutes. It keeps trying, so delete the VM if you create another.
	FailWithoutCapacity bool

	// Progress is called after each poll, on the goroutine of the wait. Err is the
	// error of the poll or of the condition. The last poll of a successful wait has
	// Done 1.
	Progress func(Progress)
}

// Families have pointers to these. The initialization of copies would link
// every family into every program.
var (
	waitQuick = WaitOptions{Interval: time.Second, MaxInterval: 5 * time.Second, Tolerance: 5}
	waitSlow  = WaitOptions{Interval: 5 * time.Second, MaxInterval: 15 * time.Second, Tolerance: 5}
)

// over returns the options, with the defaults for fields that aren't set.
func (o *WaitOptions) over(defaults WaitOptions) WaitOptions {
	if o == nil {
		return defaults
	}
	return WaitOptions{
		Interval:            cmp.Or(max(o.Interval, 0), defaults.Interval),
		MaxInterval:         cmp.Or(max(o.MaxInterval, 0), defaults.MaxInterval),
		Tolerance:           cmp.Or(o.Tolerance, defaults.Tolerance),
		FailWithoutCapacity: o.FailWithoutCapacity,
		Progress:            o.Progress,
	}
}

// stateDeleting is the one state that all families with states share.
const stateDeleting = "deleting"

// Wait polls with get until done reports true, and returns that record. It's
// for conditions that no Wait method has. The first poll is immediate. Wait
// tolerates transient errors of get as the options say. After any other error
// of get, or any error of done, it returns a [*WaitError] with the last
// record. Only the context limits the wait.
func Wait[T any](ctx context.Context, get func(context.Context) (*T, error), done func(*T) (bool, error), opts *WaitOptions) (*T, error) {
	switch {
	case get == nil:
		return nil, &ArgumentError{Operation: "Wait", Name: "get", Reason: "must not be nil"}
	case done == nil:
		return nil, &ArgumentError{Operation: "Wait", Name: "done", Reason: "must not be nil"}
	}
	w := waiter[T]{operation: "Wait", resource: "the resource", config: waitQuick, done: done, get: either("get", get)}
	return w.run(ctx, opts)
}

// either returns a caller's function so that it returns either a record or an
// error.
func either[T any](name string, f func(context.Context) (*T, error)) func(context.Context) (*T, error) {
	return func(ctx context.Context) (*T, error) {
		record, err := f(ctx)
		switch {
		case err != nil:
			return nil, err
		case record == nil:
			return nil, fmt.Errorf("%s returned neither a record nor an error", name)
		}
		return record, nil
	}
}

// waiter implements all waits. It polls until the wait is over.
type waiter[T any] struct {
	operation string
	resource  string
	config    WaitOptions
	get       func(context.Context) (*T, error)
	done      func(*T) (bool, error)

	// lacks, if not nil, returns the name of a field that done needs and the
	// record doesn't have, or "". The field's zero value could look like success.
	lacks func(*T) string

	// gone: the wait is for a deletion, and succeeds if nothing is found.
	gone bool

	// isNotYet reports whether a record from a list shows that the wait isn't over.
	// If it's set, the wait has its records from the list that join returns, if
	// any, as long as isNotYet returns true.
	isNotYet  func(*T) bool
	join      func(context.Context) *sharedlist.List[T]
	reference string
}

func (w *waiter[T]) run(ctx context.Context, opts *WaitOptions) (*T, error) {
	if ctx == nil {
		return nil, noContext(w.operation)
	}
	w.config = opts.over(w.config)
	p := newPoller(w.operation, w.resource, w.config.pauses(), w.config.Progress)
	p.progress.Total, p.tolerated = 1, w.tolerated
	src := source[T]{wait: w, read: p.polled}
	if w.isNotYet != nil {
		if src.list = w.join(ctx); src.list != nil {
			defer src.list.Leave()
		}
	}
	var record *T // the last one, or nil after a failed poll
	ctx = withLook(ctx)
	err := p.run(ctx, func() (next step, err error) {
		var fromList bool
		record, fromList, err = src.next(ctx)
		if p.read = (time.Time{}); fromList {
			p.read = src.read
		} else {
			next, err = w.judge(ctx, record, err)
		}
		show(p, stateOf(record), record)
		if next == finished && err == nil {
			p.progress.Done = 1
		}
		return next, err
	})
	if err != nil {
		return nil, p.waitError(err)
	}
	return record, nil
}

// judge finds out from a record, or an error, whether the wait is over.
func (w *waiter[T]) judge(ctx context.Context, record *T, err error) (step, error) {
	switch {
	case w.gone && IsGone(err):
		return finished, nil
	case err != nil:
		return again, err
	}
	done, err := w.done(record)
	switch {
	case planOf(ctx) != nil: // no time passes in a plan
		return finished, err
	case err == nil && !done:
		return again, nil
	case err == nil && w.lacks != nil && w.lacks(record) != "":
		err = fmt.Errorf("%w: the record has no %s", ErrInvalidResponse, w.lacks(record))
	}
	return finished, err
}

// source is where a wait has its records from: a list that it shares with other
// waits, as long as that shows that the wait isn't over, or else the server.
type source[T any] struct {
	wait    *waiter[T]
	list    *sharedlist.List[T] // or nil
	read    time.Time           // when the last record was read
	inLists int                 // how many records in a row are from the list
	failed  bool                // whether the last record couldn't be read
}

const (
	// maxListed is how many lists in a row may say that a wait isn't over. Then the
	// wait gets the record itself, since a list can be stale.
	maxListed = 16

	// maxPatience is how long a poll waits for a list, unless MaxInterval is shorter.
	// On a busy machine, waits that give up make it busier: then the next list takes
	// even longer.
	maxPatience = 10 * time.Second
)

// next returns the next record, and whether it's from the list.
func (s *source[T]) next(ctx context.Context) (record *T, fromList bool, err error) {
	if s.list != nil && !s.failed && s.inLists < maxListed {
		patience := min(max(s.wait.config.Interval, s.wait.config.MaxInterval), maxPatience)
		records, at, err := s.list.Read(ctx, s.read, patience)
		if err != nil {
			return nil, false, err
		}
		if record = records[s.wait.reference]; record != nil && s.wait.isNotYet(record) {
			s.read, s.inLists = at, s.inLists+1
			return record, true, nil
		}
	}
	record, err = s.wait.get(ctx)
	s.read, s.inLists, s.failed = time.Now(), 0, err != nil
	if err != nil {
		record = nil
	}
	return record, false, err
}

// tolerated returns how many failures like err may follow each other. While a
// resource is being deleted, getting it can return ErrForbidden for a moment.
func (w *waiter[T]) tolerated(err error) int {
	if classOf(err) >= call.Stray || w.gone && errors.Is(err, ErrForbidden) {
		return max(w.config.Tolerance, 0)
	}
	return 0
}

func (o *WaitOptions) pauses() pace.Pauses {
	return pace.Pauses{First: o.Interval, Longest: o.MaxInterval}
}

// reaches returns a condition for waits: the record has the state. The
// condition returns an error during a deletion.
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

// WaitAllOptions are settings of [WaitAll]; nil means the defaults.
type WaitAllOptions struct {
	Concurrency int // the number of parallel waits; 0 means all

	// FailFast lets the first wait that fails cancel the other waits. Once all
	// have ended, WaitAll returns the successful records and only the first error.
	FailFast bool
}

// WaitAll calls wait for each of the items concurrently, and returns when all
// calls have ended. The records are in the order of the items, nil for a failed
// wait. The error joins the errors of all failed waits in that order.
//
//	names := []string{"web-1", "web-2", "web-3"}
//	vms, err := cloudapi.WaitAll(ctx, names, func(ctx context.Context, name string) (*cloudapi.VM, error) {
//		return client.VMs.WaitRunning(ctx, location, name, nil)
//	}, nil)
//
// Waits of one client for resources of one family and location share lists
// where that saves requests. The records in [Progress] can then lack fields.
// Calls of [Fetch] share what they can. Each wait must use its context, or one
// derived from it, such as one with a timeout. A derived context may have values
// that a token source or a middleware needs, so a client with either shares only
// with the context itself.
func WaitAll[S, T any](ctx context.Context, items []S, wait func(context.Context, S) (*T, error), opts *WaitAllOptions) ([]*T, error) {
	const operation = "WaitAll"
	o := orZero(opts)
	atOnce := cmp.Or(o.Concurrency, len(items))
	switch {
	case ctx == nil:
		return nil, noContext(operation)
	case wait == nil:
		return nil, &ArgumentError{Operation: operation, Name: "wait", Reason: "must not be nil"}
	case o.Concurrency < 0:
		return nil, argumentError(operation, "Concurrency", strconv.Itoa(o.Concurrency), "must not be negative")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	scope := sharedlist.NewScope(ctx, len(items), atOnce)
	defer scope.Use()()
	defer cancel(nil)
	records, errs := make([]*T, len(items)), make([]error, len(items))
	var isOver atomic.Bool // whether a wait has failed, so that the others stop
	var first error        // the error of the first wait that failed
	parallel.Do(len(items), atOnce, func(i int) {
		defer scope.EndCall()
		if isOver.Load() {
			return
		}
		ended := false
		defer func() {
			if !ended { // wait has panicked, so end the other waits
				cancel(nil)
			}
		}()
		record, err := wait(scope.Context(), items[i])
		ended = true
		if err == nil {
			records[i] = record
			return
		}
		errs[i] = fmt.Errorf("cloudapi: %s: %s: %w", operation, itemName(items, i), unprefixed{err})
		if o.FailFast && isOver.CompareAndSwap(false, true) {
			first = errs[i]
			cancel(first)
		}
	})
	if o.FailFast {
		return records, first
	}
	return records, errors.Join(errs...)
}

// scope returns the scope in which a call shares requests with others, or nil.
func (c *conn) scope(ctx context.Context) *sharedlist.Scope {
	scope, isItself := sharedlist.Of(ctx)
	if scope == nil || !isItself && (c.config.tokenSource != nil || len(c.config.middleware) > 0) {
		return c.config.shared
	}
	return scope
}

// itemName names an item in an error, unless the item may hold secrets.
func itemName[S any](items []S, i int) string {
	switch item := any(items[i]).(type) {
	case string:
		return fmt.Sprintf("item %d, %q", i, item)
	case Resource:
		return fmt.Sprintf("item %d, %v", i, item)
	case Record:
		if !isNil(item) {
			return fmt.Sprintf("item %d, %v", i, item.Resource())
		}
	}
	return fmt.Sprintf("item %d", i)
}
