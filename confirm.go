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
	switch {
	case unknown == nil:
		return nil, &ArgumentError{Operation: "Confirm", Name: "unknown", Reason: "must be the error of a create"}
	case !errors.Is(unknown, ErrOutcomeUnknown):
		return nil, unknown
	case find == nil:
		return nil, withLookup(unknown, &ArgumentError{Operation: "Confirm", Name: "find", Reason: "must not be nil"})
	}
	found, err := find(ctx)
	switch {
	case err != nil:
		return nil, withLookup(unknown, err)
	case found == nil:
		return nil, fmt.Errorf("%w; looked up: find returned neither a record nor an error", unknown)
	case same != nil && !same(found):
		return nil, fmt.Errorf("%w, but is a different resource", withLookup(unknown, ErrAlreadyExists))
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
