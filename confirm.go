package cloudapi

import (
	"context"
	"errors"
	"fmt"
)

// Confirm finds out what became of a create that ended in [ErrOutcomeUnknown],
// by looking for the resource that it should have made. It works for every create
// whose result the caller can find, mostly by its name. Where only a list shows
// the resource, find must return [ErrNotFound] if it is not in the list.
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
//   - If find returns a resource and same accepts it, Confirm returns it. Another
//     program may have made it: same must tell, if that matters. A nil same
//     accepts every resource.
//   - If same does not accept the resource, the error matches
//     [ErrAlreadyExists], too.
//   - If there is no resource, the error matches [ErrNotFound], too. It may still
//     appear, since a request can outlive its connection. Where names are unique
//     the caller may repeat the create: at worst the error is ErrAlreadyExists.
//     Names of projects are not unique; names of load balancers are unique in
//     their subnet.
//   - If find fails, the error wraps its error.
//
// The error is always that of the create, with what the lookup adds, and matches
// ErrOutcomeUnknown. Confirm returns any other error as it is, without a lookup. A
// nil find is an [*ArgumentError] beside the error of the create; a nil error is
// an ArgumentError alone.
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
