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
// All Ensure methods work alike. They look for a resource of the name. If there is
// none they create it. If there is one that is what the request asks for, as far
// as its record shows, they return it as it is. Otherwise the error is a
// [*DriftError]. A field that the request leaves to the server is not compared.
// The [EnsureOutcome] says what was done. The Plan method of the same service says
// what Ensure would do. Compare compares a record that the caller has already.
//
// A resource that is being deleted still has its name. Ensure waits until it is
// gone and then creates another; the context bounds the wait, whose error is a
// [*WaitError]. Several Ensures of one name may run at the same time: one of them
// creates the resource, and all return it.
//
// If the response to the create is lost, Ensure looks for the resource, and
// repeats the create if there is none. That is safe where names are unique. If it
// finds the resource the outcome is EnsureCreated, although another program may
// have created it in that moment.
//
// A resource that was created may not be ready: the Wait methods wait for that, as
// after Create.
type EnsureOptions struct {
	// Update lets Ensure change a resource that differs from the request, by the
	// update operation of its family. Ensure makes the update only if it can
	// remove all differences. The comment of each method names the fields that
	// it can change.
	Update bool

	// Progress is called at each step, on the goroutine of the caller. State is
	// "creating", "updating" or "deleting" while Ensure does or awaits that. The
	// last call of an Ensure that succeeds has Done 1 and the state of the record.
	Progress func(Progress)
}

// DriftError says that what exists under a name is not what an Ensure asked
// for. [ErrAlreadyExists] matches it. Nothing was changed, unless an update was
// made and the server's response to it still differs.
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

// EnsureOutcome says what an Ensure did, or, in an [EnsurePlan], would do.
type EnsureOutcome string

// Values of [EnsureOutcome].
const (
	EnsureCreated   EnsureOutcome = "created"   // there was none; a create whose response was lost counts as one
	EnsureUpdated   EnsureOutcome = "updated"   // it differed, and was changed
	EnsureUnchanged EnsureOutcome = "unchanged" // it is what the request asks for
	EnsureDrifted   EnsureOutcome = "drifted"   // it differs, and would be a [*DriftError]; in plans only
)

// EnsurePlan says what an Ensure would do, and why.
type EnsurePlan[T any] struct {
	Outcome EnsureOutcome
	Record  *T      // what exists; nil if there is nothing. What is being deleted would be created again
	Drift   []Drift // in what it differs from the request
}

// ensurer is what an Ensure needs of a family.
type ensurer[T any] struct {
	operation string
	location  string // "" for what is in none
	name      string
	invalid   *ArgumentError // what is wrong with the arguments, or nil
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

// ensure makes what is asked for be there.
func (e ensurer[T]) ensure(ctx context.Context, operation string, opts *EnsureOptions) (*T, EnsureOutcome, error) {
	if err := e.check(ctx, operation); err != nil {
		return nil, "", err
	}
	if err := e.checkName(); err != nil {
		return nil, "", err
	}
	return e.run(ctx, opts)
}

// plan finds out what ensure would do.
func (e ensurer[T]) plan(ctx context.Context, operation string, opts *EnsureOptions) (*EnsurePlan[T], error) {
	if err := e.check(ctx, operation); err != nil {
		return nil, err
	}
	if err := e.checkName(); err != nil {
		return nil, err
	}
	found, err := e.find(ctx)
	switch {
	case isGone(err):
		return &EnsurePlan[T]{Outcome: EnsureCreated}, nil
	case err != nil:
		return nil, err
	case stateOf(found) == stateDeleting:
		return &EnsurePlan[T]{Outcome: EnsureCreated, Record: found}, nil
	}
	differences, err := e.compare(ctx, found)
	if err != nil {
		return nil, err
	}
	plan := &EnsurePlan[T]{Outcome: EnsureUnchanged, Record: found, Drift: differences}
	switch {
	case len(differences) == 0:
	case opts != nil && opts.Update && differences.updatable():
		plan.Outcome = EnsureUpdated
	default:
		plan.Outcome = EnsureDrifted
	}
	return plan, nil
}

// differences compares a record with the request.
func (e ensurer[T]) differences(ctx context.Context, operation string, record *T) ([]Drift, error) {
	if err := e.check(ctx, operation); err != nil {
		return nil, err
	}
	if record == nil {
		return nil, &ArgumentError{Operation: operation, Name: "record", Reason: "must not be nil"}
	}
	return e.compare(ctx, record)
}

// check returns what is wrong with the arguments.
func (e *ensurer[T]) check(ctx context.Context, operation string) error {
	e.operation = operation
	if ctx == nil {
		return noContext(operation)
	}
	if e.invalid != nil {
		e.invalid.Operation = operation
		return e.invalid
	}
	return nil
}

// checkName returns why what is asked for cannot be a name.
func (e *ensurer[T]) checkName() error {
	reason := checkSegment(e.name)
	if IsID(e.name, kindOf[T]()) {
		reason = "must be a name and not an ID"
	}
	if reason != "" {
		return &ArgumentError{Operation: e.operation, Name: "name", Value: withoutToken(e.name), Reason: reason}
	}
	return nil
}

// resource is what is asked for, for messages.
func (e *ensurer[T]) resource() string { return place(e.location, e.name) }

// run looks the name up and creates what is not there, until one of them settles
// it.
func (e *ensurer[T]) run(ctx context.Context, opts *EnsureOptions) (*T, EnsureOutcome, error) {
	var o EnsureOptions
	if opts != nil {
		o = *opts
	}
	progress := Progress{Operation: e.operation, Resource: e.resource(), Total: 1}
	start := time.Now()
	report := func(state string, record *T, err error) {
		progress.State, progress.Record, progress.Err, progress.Elapsed = state, recordOf(record), err, time.Since(start)
		if o.Progress != nil {
			o.Progress(progress)
		}
	}
	done := func(record *T, outcome EnsureOutcome) (*T, EnsureOutcome, error) {
		progress.Done = 1
		report(stateOf(record), record, nil)
		return record, outcome, nil
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
				return nil, "", err
			}
			continue
		case err == nil:
			record, outcome, err := e.mend(ctx, found, o.Update, report)
			if err != nil {
				return nil, "", err
			}
			if unknown {
				outcome = EnsureCreated
			}
			return done(record, outcome)
		case refused && isGone(err):
			return nil, "", failure
		case !isGone(err) || tries == ensureTries:
			return nil, "", lookedUp(failure, err)
		}
		report("creating", nil, failure)
		if tries++; tries > 1 {
			if err := sleep(ctx, pauses.next()); err != nil {
				return nil, "", lookedUp(failure, err)
			}
		}
		record, err := e.create(ctx)
		switch {
		case err == nil:
			return done(record, EnsureCreated)
		case errors.Is(err, ErrAlreadyExists):
			failure = err
		case errors.Is(err, ErrOutcomeUnknown):
			failure, unknown = err, true
		case errors.Is(err, ErrInvalidRequest):
			// The server looks at quotas before names: what a concurrent call
			// has just made may be why this one would be too much.
			failure, refused = err, true
		default:
			return nil, "", err
		}
	}
}

// outlast waits until what is being deleted has given up its name. The error is
// a [*WaitError].
func (e *ensurer[T]) outlast(ctx context.Context, progress func(Progress)) error {
	w := waiter[T]{
		operation: e.operation,
		resource:  e.resource(),
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
func (e *ensurer[T]) mend(ctx context.Context, found *T, update bool, report func(string, *T, error)) (*T, EnsureOutcome, error) {
	outcome := EnsureUnchanged
	differences, err := e.compare(ctx, found)
	if err == nil && update && len(differences) > 0 && differences.updatable() {
		outcome = EnsureUpdated
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
			return nil, "", lookedUp(failure, err)
		case failure != nil && len(differences) > 0:
			return nil, "", failure
		}
	}
	switch {
	case err != nil:
		return nil, "", err
	case len(differences) > 0:
		return nil, "", &DriftError{
			Operation: e.operation,
			Resource:  any(found).(identified).identity(),
			Fields:    differences,
			Record:    found,
		}
	}
	return found, outcome, nil
}
