package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// EnsureOptions are settings of the Ensure methods. Nil is fine.
//
// All Ensure methods work alike. They look the name up, and create what is not
// there; created is then true. What exists is returned as it is if it is what
// the request asks for, as far as its record shows, and is a [*DriftError]
// otherwise. A field that the request leaves to the server is not compared.
//
// What is being deleted still has its name: they wait until it is gone, which
// the context bounds and a [*WaitError] ends. Several may run at once: one
// creates, and all return the same. A create whose reply was lost is looked up,
// and repeated if it left nothing, which is safe where names are unique; if it
// is found, created is true, although another program may have made it in that
// moment. What was created is as new as after Create: wait for it where that is
// asynchronous.
type EnsureOptions struct {
	// Update allows to change what exists and differs, with the update
	// operation that the family has. It is made only if it can mend all
	// differences; fields that it can change are named at each method.
	Update bool

	// Progress is called at each step, on the goroutine of the caller. State is
	// "creating", "updating" or "deleting" while that goes on. The last call of
	// an Ensure that succeeds has Done 1, and the state of the record.
	Progress func(Progress)
}

// DriftError says that what exists under a name is not what an Ensure asked
// for. [ErrAlreadyExists] matches it. Nothing was changed, unless an update was
// made and the server's reply to it still differs.
type DriftError struct {
	Operation string   // such as "VMs.Ensure"
	Resource  Resource // what exists
	Fields    []Drift  // in what it differs; at least one
	Record    any      // the record of what exists, such as a *VM
}

// Drift is a difference between a request and what exists.
type Drift struct {
	Field     string // the name in the JSON of the request; for what no request can ask for, in that of the record
	Wanted    any    // the value in the request
	Found     any    // what the record shows in its place
	Updatable bool   // whether EnsureOptions.Update could change it
}

// Error lists the differences in one line.
func (e *DriftError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cloudapi: %s: %v differs from the request:", e.Operation, e.Resource)
	for i, f := range e.Fields {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s is %s, wanted %s", f.Field, driftText(f.Found), driftText(f.Wanted))
		if !f.Updatable {
			b.WriteString(" (which no update can change)")
		}
	}
	return b.String()
}

func driftText(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}

// Is matches [ErrAlreadyExists].
func (e *DriftError) Is(target error) bool { return target == ErrAlreadyExists }

// ensurer is what an Ensure needs of a family.
type ensurer[T any] struct {
	operation string
	resource  string // the location and name that are asked for
	config    waitConfig

	find   func(context.Context) (*T, error)
	create func(context.Context) (*T, error)

	// compare returns in what a record differs from the request. update mends
	// what is updatable of that; it is nil if nothing is.
	compare func(context.Context, *T) (drift, error)
	update  func(context.Context, *T, drift) (*T, error)
}

// ensureTries is how often an Ensure tries to create what is not there although
// the server said that the name was taken, or may have created it.
const ensureTries = 4

// ensure runs an ensurer, unless what is asked for can be no name.
func ensure[T any](ctx context.Context, operation, location, name string, opts *EnsureOptions, e ensurer[T]) (record *T, created bool, err error) {
	reason := checkSegment(name)
	if IsID(name, kindOf[T]()) {
		reason = "must be a name and not an ID"
	}
	if reason != "" {
		return nil, false, &ArgumentError{Operation: operation, Name: "name", Value: withoutToken(name), Reason: reason}
	}
	e.operation, e.resource = operation, place(location, name)
	return e.run(ctx, opts)
}

func (e *ensurer[T]) run(ctx context.Context, opts *EnsureOptions) (record *T, created bool, err error) {
	var o EnsureOptions
	if opts != nil {
		o = *opts
	}
	progress := Progress{Operation: e.operation, Resource: e.resource, Total: 1}
	start := time.Now()
	report := func(state string, record *T, err error) {
		progress.State, progress.Record, progress.Err, progress.Elapsed = state, recordOf(record), err, time.Since(start)
		if o.Progress != nil {
			o.Progress(progress)
		}
	}
	done := func(record *T, created bool) (*T, bool, error) {
		progress.Done = 1
		report(stateOf(record), record, nil)
		return record, created, nil
	}
	var failure error // why the last create did not settle it
	refused := false  // whether the server said why it cannot be created
	unknown := false  // whether a create may have been carried out
	pauses := e.config.pauses()
	for tries := 0; ; {
		progress.Polls++
		found, err := e.find(ctx)
		switch {
		case err == nil && stateOf(found) == stateDeleting:
			err := e.outlast(ctx, func(p Progress) {
				if progress.Polls++; p.Done < p.Total {
					last, _ := p.Record.(*T)
					report(stateDeleting, last, p.Err)
				}
			})
			if err != nil {
				return nil, false, err
			}
			continue
		case err == nil:
			if found, err = e.mend(ctx, found, o.Update, report); err != nil {
				return nil, false, err
			}
			return done(found, unknown)
		case refused && isGone(err):
			return nil, false, failure
		case !isGone(err) || tries == ensureTries:
			return nil, false, lookedUp(failure, err)
		}
		report("creating", nil, failure)
		if tries++; tries > 1 {
			if err := sleep(ctx, pauses.next()); err != nil {
				return nil, false, lookedUp(failure, err)
			}
		}
		record, err := e.create(ctx)
		switch {
		case err == nil:
			return done(record, true)
		case errors.Is(err, ErrAlreadyExists):
			failure = err
		case errors.Is(err, ErrOutcomeUnknown):
			failure, unknown = err, true
		case errors.Is(err, ErrInvalidRequest):
			// The server looks at quotas before names: what a concurrent call
			// has just made may be why this one would be too much.
			failure, refused = err, true
		default:
			return nil, false, err
		}
	}
}

// outlast waits until what is being deleted has given up its name. The error is
// a [*WaitError].
func (e *ensurer[T]) outlast(ctx context.Context, progress func(Progress)) error {
	w := waiter[T]{
		operation: e.operation,
		resource:  e.resource,
		config:    e.config,
		fetch:     e.find,
		done:      func(record *T) (bool, error) { return stateOf(record) != stateDeleting, nil },
		gone:      true,
	}
	_, err := w.run(ctx, []WaitOption{WaitProgress(progress)})
	return err
}

// mend returns what exists if it is what is asked for, if need be after an
// update.
func (e *ensurer[T]) mend(ctx context.Context, found *T, update bool, report func(string, *T, error)) (*T, error) {
	differences, err := e.compare(ctx, found)
	if err == nil && update && len(differences) > 0 && differences.updatable() {
		report("updating", found, nil)
		var failure error
		found, failure = e.update(ctx, found, differences)
		if errors.Is(failure, ErrOutcomeUnknown) {
			found, err = e.find(ctx)
		} else {
			err, failure = failure, nil
		}
		if err == nil {
			differences, err = e.compare(ctx, found)
		}
		switch {
		case failure != nil && err != nil:
			return nil, lookedUp(failure, err)
		case failure != nil && len(differences) > 0:
			return nil, failure
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(differences) > 0:
		return nil, &DriftError{
			Operation: e.operation,
			Resource:  any(found).(identified).identity(),
			Fields:    differences,
			Record:    found,
		}
	}
	return found, nil
}
