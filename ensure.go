package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// EnsureOptions are settings of the Ensure methods, of [Ensure], and of
// [EnsureChange], which says what it does. Nil means the defaults.
//
// Ensure looks for a resource with the name, which must not be an ID. If there
// is none, Ensure creates one, and returns before it's ready. Otherwise, it
// compares the record with the fields that the request sets, and returns a
// [*DriftError] if any differ: after an upgrade or resize, pass the new values.
//
// It returns [ErrInvalidResponse], and changes nothing, if the record lacks a
// field that it compares and that every full record has.
//
// Ensure waits while a resource with the name is being deleted, while the server
// refuses an update because of another change, and while the name is taken but
// there's no resource with the name: set a deadline. It returns a [*WaitError]
// if a wait fails. If a create's response is lost, it pauses, looks for the
// resource, and sends up to 4 creates if there's none. Several programs may
// ensure the same name.
type EnsureOptions struct {
	// Update lets Ensure update a resource that differs from the request, if that
	// can remove all differences. Each Ensure method lists what it can update.
	Update bool

	// Progress is called at each step, on the caller's goroutine. Its State
	// is "creating", "updating" or "deleting", and at the end the record's state.
	// Err says why the step is repeated, such as ErrAlreadyExists.
	Progress func(Progress)
}

// EnsureOutcome says what an Ensure did, or would do in a [Plan].
type EnsureOutcome string

// Values of [EnsureOutcome].
const (
	EnsureCreated   EnsureOutcome = "created"   // the resource didn't exist, and Ensure created it
	EnsureFound     EnsureOutcome = "found"     // it didn't exist, the response to a create was lost, and now it exists: Ensure or another program has created it
	EnsureUpdated   EnsureOutcome = "updated"   // the resource differed, and Ensure changed it
	EnsureUnchanged EnsureOutcome = "unchanged" // the resource matches the request in all that Ensure compares
)

// Ensure creates a resource unless it exists, for creates that have no Ensure
// method. find looks for the resource, and must return [ErrNotFound] if there is
// none:
//
//	db, outcome, err := cloudapi.Ensure(ctx, func(ctx context.Context) (*cloudapi.Postgres, error) {
//		return client.Postgres.Get(ctx, location, "orders-copy")
//	}, func(ctx context.Context) (*cloudapi.Postgres, error) {
//		return client.Postgres.Restore(ctx, location, "orders", "orders-copy", &cloudapi.PostgresRestoreRequest{RestoreTarget: time.Now().Add(-time.Hour)})
//	}, nil)
//
// Ensure does what [EnsureOptions] says, but compares nothing: a resource that
// exists before the first create is [EnsureUnchanged], whoever created it. So
// Update has no effect. If find never finds what create creates, Ensure creates
// up to 4. The page docs/retries.md says what find can look for after each
// create.
func Ensure[T any](ctx context.Context, find, create func(context.Context) (*T, error), opts *EnsureOptions) (*T, EnsureOutcome, error) {
	const operation = "Ensure"
	switch {
	case ctx == nil:
		return nil, "", noContext(operation)
	case find == nil:
		return nil, "", &ArgumentError{Operation: operation, Name: "find", Reason: "must not be nil"}
	case create == nil:
		return nil, "", &ArgumentError{Operation: operation, Name: "create", Reason: "must not be nil"}
	}
	return ensureSpec[T]{
		operation: operation,
		pauses:    &waitQuick,
		find:      either("find", find),
		create:    either("create", create),
		compare:   func(context.Context, *T) (comparison, error) { return comparison{}, nil },
	}.run(ctx, orZero(opts))
}

// ensureSpec describes one call of [Ensure] or of an Ensure method.
type ensureSpec[T any] struct {
	operation string
	location  string // "" for families without locations
	name      string // "" if only find knows it
	request   any    // what create sends
	pauses    *WaitOptions

	find   func(context.Context) (*T, error)
	create func(context.Context) (*T, error)

	// compare compares a record with the request. A full record that lacks a field
	// of the request is invalid, unless the field is one of unshown. update removes
	// the updatable differences; update is nil if there can't be any.
	compare func(context.Context, *T) (comparison, error)
	unshown []string
	update  func(context.Context, *T, drift) (*T, error)

	// limitTaken makes a create that finds the name taken count as a lost one. Else
	// the number of such creates has no limit, but the context's end.
	limitTaken bool
}

// maxLost is how many creates of one Ensure may have an unknown outcome. It's a
// limit for what a server may create if it never shows its resources.
const maxLost = 4

// ensure creates or updates a resource if necessary. Callers leave out e's
// operation, location, name and pauses.
func (f *family[T]) ensure(ctx context.Context, c *conn, location, name string, e ensureSpec[T], opts *EnsureOptions) (*T, EnsureOutcome, error) {
	e.operation, e.location, e.name, e.pauses = strings.TrimSuffix(f.get.Name, "Get")+"Ensure", location, name, f.pauses
	if e.find == nil {
		e.find = func(ctx context.Context) (*T, error) { return f.read(ctx, c, location, name) }
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
	if err := checkRequest(e.operation, e.request); err != nil {
		return nil, "", err
	}
	return e.run(ctx, orZero(opts))
}

func (e *ensureSpec[T]) resource() string {
	return cmp.Or(qualify(e.location, e.name), "the resource")
}

// ensuring is one call of [Ensure] or of an Ensure method.
type ensuring[T any] struct {
	ensureSpec[T]
	options EnsureOptions
	p       *poller
	failure error // of the last create, or nil
	unknown error // of the last create that may have succeeded, or nil
	lost    int   // how many creates may have succeeded
	refused bool  // whether the server refused the last create as invalid
}

// run takes turns until the outcome is settled.
func (spec ensureSpec[T]) run(ctx context.Context, o EnsureOptions) (*T, EnsureOutcome, error) {
	e := ensuring[T]{ensureSpec: spec, options: o, p: newPoller(spec.operation, spec.resource(), spec.pauses.pauses(), o.Progress)}
	e.p.progress.Total = 1
	for {
		record, outcome, err := e.turn(ctx)
		if err != nil {
			return nil, "", err
		}
		if outcome != "" {
			e.p.progress.Done = 1
			e.say(stateOf(record), record, nil)
			return record, outcome, nil
		}
	}
}

// turn looks for the resource, and creates or updates it if necessary. Without
// an outcome and an error, another turn must follow.
func (e *ensuring[T]) turn(ctx context.Context) (*T, EnsureOutcome, error) {
	e.p.progress.Polls++
	ctx = withLook(ctx)
	found, err := e.find(ctx)
	switch plan := planOf(ctx); {
	case plan != nil && isDeleting(found):
		plan.gone(found)
	case isDeleting(found):
		return nil, "", e.failed(e.waitForDeletion(ctx))
	case err == nil:
		return e.settle(ctx, found)
	case e.refused && isMissing(err):
		return nil, "", e.failed(e.failure)
	case !isMissing(err) || e.lost == maxLost:
		return nil, "", e.failed(withLookup(e.failure, err))
	}
	return e.tryToCreate(ctx)
}

// tryToCreate creates the resource. A pause follows a create that fails, and
// then a turn that looks for the resource.
func (e *ensuring[T]) tryToCreate(ctx context.Context) (*T, EnsureOutcome, error) {
	if e.failure == nil {
		e.say("creating", nil, nil)
	}
	record, err := e.create(ctx)
	switch e.failure = err; {
	case err == nil:
		return record, EnsureCreated, nil
	case errors.Is(err, ErrAlreadyExists): // lookups don't show the resource yet, or it's gone but its name isn't free yet
		if e.limitTaken {
			e.lost++
		}
	case errors.Is(err, ErrOutcomeUnknown):
		e.unknown, e.lost = err, e.lost+1
	case errors.Is(err, ErrInvalidRequest):
		// The server checks quotas before names. A concurrent Ensure may have just
		// created the resource and used up the quota, so look again, without a pause.
		e.refused = true
		return nil, "", nil
	default:
		return nil, "", e.failed(err)
	}
	e.say("creating", nil, err)
	return nil, "", e.failed(e.wait(ctx, "the last create failed", err))
}

// settle compares the existing resource with the request, and updates it if
// necessary. It waits if the resource is busy.
func (e *ensuring[T]) settle(ctx context.Context, found *T) (*T, EnsureOutcome, error) {
	record, outcome, err := e.reconcile(ctx, found)
	switch {
	case isBusy(err):
		e.say("updating", found, err)
		return nil, "", e.failed(e.wait(ctx, "the server refused the update", err))
	case err != nil:
		return nil, "", err
	case e.unknown != nil && outcome == EnsureUnchanged:
		outcome = EnsureFound
	}
	return record, outcome, nil
}

// say reports a step, its record, and why it failed, if it did.
func (e *ensuring[T]) say(state string, record *T, err error) {
	show(e.p, state, record)
	e.p.tell(err)
}

// wait pauses after a failure that another turn may cure. If the context ends,
// wait returns a [*WaitError] that says what has failed.
func (e *ensuring[T]) wait(ctx context.Context, what string, failure error) error {
	e.p.choosePause(failure)
	if end := e.p.pause(ctx); end != nil {
		return e.p.waitError(endedWhile(end, what, failure))
	}
	return nil
}

// failed adds to an error, if any, that a create may have succeeded.
func (e *ensuring[T]) failed(err error) error {
	if err != nil && e.unknown != nil && !errors.Is(err, ErrOutcomeUnknown) {
		err = fmt.Errorf("%w; an earlier create may have succeeded: %w", err, unprefixed{e.unknown})
	}
	return err
}

// waitForDeletion waits until a resource that is being deleted has released its
// name. It returns a [*WaitError] if the wait fails.
func (e *ensuring[T]) waitForDeletion(ctx context.Context) error {
	w := waiter[T]{
		operation: e.operation,
		resource:  e.resource(),
		config:    *e.pauses,
		get: func(ctx context.Context) (*T, error) {
			record, err := e.find(ctx)
			if isMissing(err) {
				err = ErrNotFound // the resource was found before, so it's gone
			}
			return record, err
		},
		done: func(record *T) (bool, error) { return !isDeleting(record), nil },
		gone: true,
	}
	_, err := w.run(ctx, &WaitOptions{Progress: func(p Progress) {
		if e.p.progress.Polls++; p.Done < p.Total {
			last, _ := any(p.Record).(*T)
			e.say(stateDeleting, last, p.Err)
		}
	}})
	return err
}

// reconcile returns the existing resource if it matches the request, after an
// update if one is needed and allowed.
func (e *ensuring[T]) reconcile(ctx context.Context, found *T) (*T, EnsureOutcome, error) {
	outcome := EnsureUnchanged
	differences, err := e.differences(ctx, found)
	if err == nil && e.options.Update && len(differences) > 0 && differences.updatable() {
		outcome = EnsureUpdated
		e.say("updating", found, nil)
		inner, done := ctx, func() {}
		if plan := planOf(ctx); plan != nil {
			inner, done = plan.update(ctx, found, differences)
		}
		var failure error
		found, failure = e.update(inner, found, differences)
		if errors.Is(failure, ErrOutcomeUnknown) {
			found, err = e.find(ctx)
		} else {
			err, failure = failure, nil
		}
		if err == nil {
			differences, err = e.differences(ctx, found)
		}
		switch {
		case err != nil:
			return nil, "", withLookup(failure, err)
		case failure != nil && len(differences) > 0:
			return nil, "", failure
		case len(differences) == 0:
			done()
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
			Record:    recordOf(found),
		}
	}
	return found, outcome, nil
}

// differences compares a record with the request. A planned record lacks what
// only the server fills in.
func (e *ensuring[T]) differences(ctx context.Context, record *T) (drift, error) {
	c, err := e.compare(ctx, record)
	if err != nil || planOf(ctx) != nil && ubid.IsPlanned(resourceOf(record).ID) {
		return c.drift, err
	}
	for _, field := range c.uncompared {
		if !slices.Contains(e.unshown, field) {
			return nil, lacksField(e.operation, field)
		}
	}
	return c.drift, nil
}

// DriftError says that a resource differs from the request of an Ensure, even
// after an update. It matches [ErrAlreadyExists].
type DriftError struct {
	Operation string   // such as "VMs.Ensure"
	Resource  Resource // the existing resource
	Fields    []Drift  // the differences; at least one
	Record    Record   // the resource's record, such as a *VM
}

func (e *DriftError) Error() string {
	return fmt.Sprintf("cloudapi: %s: %v differs from the request: %v", e.Operation, e.Resource, drift(e.Fields))
}

func (e *DriftError) Is(target error) bool { return target == ErrAlreadyExists }
