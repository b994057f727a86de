package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// EnsureOptions are settings of the Ensure methods. Nil means the defaults.
//
// Ensure looks for a resource with the name, which must not be an ID. If there
// is none, Ensure creates one, and returns before it's ready. Otherwise, it
// compares the record with the fields that the request sets, and returns a
// [*DriftError] if any differ: after an upgrade or resize, pass the new values.
//
// Ensure waits while a resource with the name is being deleted, and while the
// server refuses an update because of another change. It returns a [*WaitError]
// if a wait fails. If a create's response is lost, it looks for the resource,
// and retries if there's none. Several programs may ensure the same name.
type EnsureOptions struct {
	// Update lets Ensure update a resource that differs from the request, if that
	// can remove all differences. Each Ensure method lists what it can update.
	Update bool

	// DryRun makes Ensure change nothing. Ensure returns the outcome or the
	// [*DriftError] that it would return without DryRun. If it would create a
	// resource, the record has only a location and a name. Ensure doesn't wait.
	DryRun bool

	// Progress is called at each step, on the caller's goroutine. Its State
	// is "creating", "updating" or "deleting", and at the end the record's state.
	Progress func(Progress)
}

// EnsureOutcome says what an Ensure did, or would do in a dry run.
type EnsureOutcome string

// Values of [EnsureOutcome].
const (
	EnsureCreated   EnsureOutcome = "created"   // the resource didn't exist, and Ensure created it; the create's response may have been lost
	EnsureUpdated   EnsureOutcome = "updated"   // the resource differed, and Ensure changed it
	EnsureUnchanged EnsureOutcome = "unchanged" // the resource matches the request
)

// ensureSpec describes one call of an Ensure method.
type ensureSpec[T any] struct {
	operation string
	location  string // "" for families without locations
	name      string
	pauses    *WaitOptions

	find   func(context.Context) (*T, error)
	create func(context.Context) (*T, error)

	// compare returns the differences between a record and the request. update
	// removes the updatable differences; update is nil if there can't be any.
	compare func(context.Context, *T) (drift, error)
	update  func(context.Context, *T, drift) (*T, error)

	// isBusy reports whether the server refused an update only because another
	// change is in progress. isBusy is nil if the server never refuses an update
	// for that reason.
	isBusy func(error) bool
}

// ensureTries is how often Ensure tries to create a resource that it doesn't
// find. It tries again if the server says that the name is taken, or if the
// outcome of a create is unknown.
const ensureTries = 4

// ensure creates or updates a resource if necessary. Callers leave out e's
// operation, location, name and pauses.
func (f *family[T]) ensure(ctx context.Context, c *conn, location, name string, e ensureSpec[T], opts *EnsureOptions) (*T, EnsureOutcome, error) {
	e.operation, e.location, e.name, e.pauses = strings.TrimSuffix(f.get.Name, "Get")+"Ensure", location, name, f.pauses
	if e.find == nil {
		e.find = func(ctx context.Context) (*T, error) { return f.find(ctx, c, location, name) }
	}
	if ctx == nil {
		return nil, "", noContext(e.operation)
	}
	id, reason := referenceRule{kinds: kinds{f.kind()}}.parse(name)
	if id != "" {
		reason = "must be a name and not an ID"
	}
	if reason != "" {
		return nil, "", argumentError(e.operation, "name", name, reason)
	}
	return e.run(ctx, orZero(opts))
}

func (e *ensureSpec[T]) resource() string { return qualify(e.location, e.name) }

// run looks for the resource, and creates or updates it if necessary. It
// repeats both until the outcome is settled.
func (e *ensureSpec[T]) run(ctx context.Context, o EnsureOptions) (*T, EnsureOutcome, error) {
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
	var failure error // the error of the last create
	var lost error    // the error of a create that may have succeeded
	refused := false  // whether the server refused a create as invalid
	failed := func(err error) (*T, EnsureOutcome, error) {
		if lost != nil && !errors.Is(err, ErrOutcomeUnknown) {
			err = fmt.Errorf("%w; an earlier create may have succeeded: %w", err, unprefixed{lost})
		}
		return nil, "", err
	}
	pauses := e.pauses.pauses()
	for tries := 0; ; {
		progress.Polls++
		found, err := e.find(ctx)
		switch {
		case o.DryRun && (IsGone(err) || stateOf(found) == stateDeleting):
			return done(e.planned(), EnsureCreated)
		case stateOf(found) == stateDeleting:
			err := e.waitForDeletion(ctx, func(p Progress) {
				if progress.Polls++; p.Done < p.Total {
					last, _ := p.Record.(*T)
					report(stateDeleting, last, p.Err)
				}
			})
			if err != nil {
				return failed(err)
			}
			continue
		case err == nil:
			record, outcome, err := e.reconcile(ctx, found, o, report)
			switch {
			case e.isBusy != nil && e.isBusy(err):
				report("updating", found, err)
				if end := pace.Sleep(ctx, pauses.Next()); end != nil {
					return failed(&WaitError{
						Operation: e.operation,
						Resource:  e.resource(),
						Polls:     progress.Polls,
						Elapsed:   time.Since(start),
						State:     stateOf(found),
						Record:    found,
						Err:       fmt.Errorf("%w; the server refused the update: %w", end, unprefixed{err}),
					})
				}
				continue
			case err != nil:
				return nil, "", err
			case lost != nil:
				outcome = EnsureCreated
			}
			return done(record, outcome)
		case refused && isMissing(err):
			return failed(failure)
		case !isMissing(err) || o.DryRun || tries == ensureTries:
			return failed(withLookup(failure, err))
		}
		report("creating", nil, failure)
		if tries++; tries > 1 {
			if err := pace.Sleep(ctx, pauses.Next()); err != nil {
				return failed(withLookup(failure, err))
			}
		}
		record, err := e.create(ctx)
		switch {
		case err == nil:
			return done(record, EnsureCreated)
		case errors.Is(err, ErrAlreadyExists):
			failure = err
		case errors.Is(err, ErrOutcomeUnknown):
			failure, lost = err, err
		case errors.Is(err, ErrInvalidRequest):
			// The server checks quotas before names. A concurrent Ensure may
			// have just created the resource and used up the quota.
			failure, refused = err, true
		default:
			return failed(err)
		}
	}
}

// planned returns the record that a dry run returns for a resource that it
// would create.
func (e *ensureSpec[T]) planned() *T {
	record := new(T)
	fields := map[string]string{"location": e.location, "name": e.name}
	if kindOf[T]() == KindPrivateLocation {
		fields = map[string]string{"ui_name": e.name} // "name" is the region
	}
	text, _ := json.Marshal(fields)
	json.Unmarshal(text, record)
	return record
}

// waitForDeletion waits until a resource that is being deleted has released its
// name. It returns a [*WaitError] if the wait fails.
func (e *ensureSpec[T]) waitForDeletion(ctx context.Context, progress func(Progress)) error {
	w := waiter[T]{
		operation: e.operation,
		resource:  e.resource(),
		config:    *e.pauses,
		fetch:     e.find,
		done:      func(record *T) (bool, error) { return stateOf(record) != stateDeleting, nil },
		gone:      true,
	}
	_, err := w.run(ctx, &WaitOptions{Progress: progress})
	return err
}

// reconcile returns the existing resource if it matches the request, after an
// update if one is needed and allowed.
func (e *ensureSpec[T]) reconcile(ctx context.Context, found *T, o EnsureOptions, report func(string, *T, error)) (*T, EnsureOutcome, error) {
	outcome := EnsureUnchanged
	differences, err := e.compare(ctx, found)
	if err == nil && o.Update && len(differences) > 0 && differences.updatable() {
		outcome = EnsureUpdated
		if o.DryRun {
			return found, outcome, nil
		}
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
		case err != nil:
			return nil, "", withLookup(failure, err)
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
			Resource:  resourceOf(found),
			Fields:    differences,
			Record:    found,
		}
	}
	return found, outcome, nil
}

// DriftError says that a resource differs from the request of an Ensure, even
// after an update. It matches [ErrAlreadyExists].
type DriftError struct {
	Operation string   // such as "VMs.Ensure"
	Resource  Resource // the existing resource
	Fields    []Drift  // the differences; at least one
	Record    any      // the resource's record, such as a *VM
}

func (e *DriftError) Error() string {
	return fmt.Sprintf("cloudapi: %s: %v differs from the request: %v", e.Operation, e.Resource, drift(e.Fields))
}

func (e *DriftError) Is(target error) bool { return target == ErrAlreadyExists }

// Drift is a difference between a request and the existing resource.
type Drift struct {
	Field     string // the JSON name in the request, or in the record if no request has such a field
	Wanted    any    // the value in the request
	Found     any    // the value in the record
	Updatable bool   // whether EnsureOptions.Update could remove the difference
}

// drift collects the differences between a request and a record.
type drift []Drift

func (d drift) String() string {
	var texts []string
	for _, f := range d {
		text := fmt.Sprintf("%s is %s, wanted %s", f.Field, driftText(f.Found), driftText(f.Wanted))
		if !f.Updatable {
			text += " (which no update can change)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func driftText(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return mask.OneLine(fmt.Sprint(v))
}

// wants adds a field if the request sets it and the record has another value.
func wants[V comparable](d *drift, field string, wanted, found V) {
	if wanted != *new(V) && wanted != found {
		*d = append(*d, Drift{Field: field, Wanted: wanted, Found: found})
	}
}

// wantsUpdatable is like wants, for a field that an update can change.
func wantsUpdatable[V comparable](d *drift, field string, wanted, found V) {
	before := len(*d)
	if wants(d, field, wanted, found); len(*d) > before {
		(*d)[before].Updatable = true
	}
}

func (d drift) has(fields ...string) bool {
	return slices.ContainsFunc(d, func(f Drift) bool { return slices.Contains(fields, f.Field) })
}

func (d drift) updatable() bool {
	return !slices.ContainsFunc(d, func(f Drift) bool { return !f.Updatable })
}
