package cloudapi

import (
	"context"
	"errors"
	"fmt"
)

// Confirm finds out what became of a create that ended in [ErrOutcomeUnknown],
// by looking up what it should have made. It fits every create whose result can
// be found by something the caller chose, which mostly is the name; where only
// a list shows it, find returns [ErrNotFound] if the list does not.
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
// It looks once, and creates nothing:
//
//   - There is one, and same says that it is what was asked for: it is
//     returned. Whether that call made it or another with the same wish is for
//     same to tell, if it matters. A nil same accepts whatever find returns.
//   - There is one that same does not accept: the error matches
//     [ErrAlreadyExists] too.
//   - There is none: the error matches [ErrNotFound] too. It may still appear,
//     for a request can outlive its connection. Where names are unique the
//     caller may create it again nevertheless: at worst that is
//     ErrAlreadyExists. Names of projects are not unique, and those of load
//     balancers only in their subnet.
//   - It could not be looked up: the error wraps that failure.
//
// The error is always the one of the create with what the lookup adds, and
// still matches ErrOutcomeUnknown. One that does not is returned as it is,
// without a lookup. A nil find is an [*ArgumentError] beside the error of the
// create, and a nil error an ArgumentError alone.
func Confirm[T any](ctx context.Context, unknown error, find func(context.Context) (*T, error), same func(*T) bool) (*T, error) {
	switch {
	case unknown == nil:
		return nil, &ArgumentError{Operation: "Confirm", Name: "unknown", Reason: "must be the error of a create"}
	case !errors.Is(unknown, ErrOutcomeUnknown):
		return nil, unknown
	case find == nil:
		return nil, lookedUp(unknown, &ArgumentError{Operation: "Confirm", Name: "find", Reason: "must not be nil"})
	}
	found, err := find(ctx)
	switch {
	case err != nil:
		return nil, lookedUp(unknown, err)
	case found == nil:
		return nil, fmt.Errorf("%w; looked up: find returned neither a record nor an error", unknown)
	case same != nil && !same(found):
		return nil, fmt.Errorf("%w, and is another one", lookedUp(unknown, ErrAlreadyExists))
	}
	return found, nil
}

// lookedUp adds to the failure of a create what looking it up gave. Without
// such a failure that is all.
func lookedUp(failure, err error) error {
	if failure == nil {
		return err
	}
	return fmt.Errorf("%w; looked up: %w", failure, within{err})
}
