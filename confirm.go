package cloudapi

import (
	"context"
	"errors"
	"fmt"
)

// Confirm looks for the resource of a create that ended in [ErrOutcomeUnknown],
// to find out whether the create was carried out. It works for every create
// whose result the caller can find, mostly by name. If only a list shows the
// resource, find must return [ErrNotFound] when it is not in the list.
//
//	vm, err := client.VMs.Create(ctx, location, "web-1", request)
//	if errors.Is(err, cloudapi.ErrOutcomeUnknown) {
//		vm, err = cloudapi.Confirm(ctx, err, func(ctx context.Context) (*cloudapi.VM, error) {
//			return client.VMs.Get(ctx, location, "web-1")
//		}, func(vm *cloudapi.VM) bool {
//			return vm.Size == request.Size
//		})
//	}
//
// Confirm looks once, and creates nothing:
//
//   - If find returns a resource and same accepts it, Confirm returns it.
//     Another program may have made it; same must detect that if it matters. A
//     nil same accepts every resource.
//   - If same rejects the resource, the error also matches [ErrAlreadyExists].
//   - If there is no resource, the error also matches [ErrNotFound]. The
//     resource may still appear, since the server may still work on the
//     request. If names are unique the caller can retry the create: the worst
//     result is ErrAlreadyExists. Names of projects are not unique; names of
//     load balancers are unique in their subnet.
//   - If find fails, the error also wraps the error of find.
//
// If the create was interrupted because its context ended, pass another
// context, such as one of [context.WithoutCancel] with a timeout: with one that
// has ended, Confirm cannot look.
//
// The error is always that of the create, with the result of the lookup added,
// and matches ErrOutcomeUnknown. Confirm returns any other error unchanged,
// without a lookup. If find is nil, the error also wraps an [*ArgumentError].
// If the given error is nil, Confirm returns an ArgumentError.
func Confirm[T any](ctx context.Context, unknown error, find func(context.Context) (*T, error), same func(*T) bool) (*T, error) {
	if unknown == nil {
		return nil, &ArgumentError{Operation: "Confirm", Name: "unknown", Reason: "must be the error of a create"}
	}
	if !errors.Is(unknown, ErrOutcomeUnknown) {
		return nil, unknown
	}
	return lookUp(ctx, "Confirm", unknown, find, func(found *T) error {
		if same != nil && !same(found) {
			return fmt.Errorf("%w, but is a different resource", withLookup(unknown, ErrAlreadyExists))
		}
		return nil
	})
}

// ConfirmChange looks at the resource of an operation that failed but may have
// been carried out, to find out whether it was. It works for every operation
// whose effect a record shows: those that stop, start, resize, upgrade, rename
// or attach something.
//
//	vm, err := client.VMs.Stop(ctx, location, "web-1")
//	if err != nil {
//		vm, err = cloudapi.ConfirmChange(ctx, err, func(ctx context.Context) (*cloudapi.VM, error) {
//			return client.VMs.Get(ctx, location, "web-1")
//		}, func(vm *cloudapi.VM) bool {
//			return vm.State == cloudapi.VMStateStopping || vm.State == cloudapi.VMStateStopped
//		})
//	}
//
// ConfirmChange looks once, and changes nothing:
//
//   - If changed accepts the record that find returns, ConfirmChange returns it.
//     Another program may have made the change.
//   - If changed rejects the record, the error also matches [ErrUnchanged]. The
//     change may still come, since the server may still work on the request, and
//     a short state such as "restarting" may be over. If the change sets a state,
//     the caller can try again: the worst result is [ErrInvalidRequest].
//   - If find fails, the error also wraps the error of find.
//
// The error is always that of the operation, with the result of the lookup
// added. ConfirmChange looks after [ErrOutcomeUnknown], and after a failed
// idempotent operation whose attempts may have been carried out. It returns any
// other error unchanged, without a lookup, such as that of a server that
// refused the only attempt. If find or changed is nil, the error also wraps an
// [*ArgumentError]. If the given error is nil, ConfirmChange returns an
// ArgumentError.
func ConfirmChange[T any](ctx context.Context, failure error, find func(context.Context) (*T, error), changed func(*T) bool) (*T, error) {
	if failure == nil {
		return nil, &ArgumentError{Operation: "ConfirmChange", Name: "failure", Reason: "must be the error of a change"}
	}
	if !mayHaveRun(failure) {
		return nil, failure
	}
	if changed == nil {
		return nil, withLookup(failure, &ArgumentError{Operation: "ConfirmChange", Name: "changed", Reason: "must not be nil"})
	}
	return lookUp(ctx, "ConfirmChange", failure, find, func(found *T) error {
		if !changed(found) {
			return withLookup(failure, ErrUnchanged)
		}
		return nil
	})
}

// mayHaveRun reports whether the operation with an error may have been carried
// out.
func mayHaveRun(err error) bool {
	open, ok := errors.AsType[interface {
		error
		isOpen() bool
	}](err)
	return ok && open.isOpen() || errors.Is(err, ErrOutcomeUnknown)
}

// lookUp returns what find returns, if check has nothing against it, or the
// failure with the result of the lookup.
func lookUp[T any](ctx context.Context, operation string, failure error, find func(context.Context) (*T, error), check func(*T) error) (*T, error) {
	if find == nil {
		return nil, withLookup(failure, &ArgumentError{Operation: operation, Name: "find", Reason: "must not be nil"})
	}
	found, err := find(ctx)
	if err != nil {
		return nil, withLookup(failure, err)
	}
	if found == nil {
		return nil, fmt.Errorf("%w; looked up: find returned neither a record nor an error", failure)
	}
	if err := check(found); err != nil {
		return nil, err
	}
	return found, nil
}

// withLookup adds the error of a lookup to the failure that led to it. Without a
// failure it returns the lookup's error.
func withLookup(failure, lookup error) error {
	if failure == nil {
		return lookup
	}
	return fmt.Errorf("%w; looked up: %w", failure, unprefixed{lookup})
}
