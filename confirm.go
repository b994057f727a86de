package cloudapi

import (
	"context"
	"errors"
	"fmt"
)

// Confirm looks for the resource of a create that returned [ErrOutcomeUnknown].
// If find searches a list, it must return [ErrNotFound] for a missing resource.
//
// Confirm calls find once. It returns the resource if same accepts it, or if
// same is nil, although another program may have created it. Otherwise, it
// returns the create's error, to which it adds [ErrAlreadyExists] if same
// rejects the resource, or find's error if find fails. After ErrNotFound, the
// server may still be executing the request; where names are unique, you can
// create again. An error that doesn't match ErrOutcomeUnknown is returned
// unchanged, and nil is an [*ArgumentError]. If the create's context has ended,
// pass a new context, such as [context.WithoutCancel] with a timeout. [Ensure]
// also creates again.
func Confirm[T any](ctx context.Context, unknown error, find func(context.Context) (*T, error), same func(*T) bool) (*T, error) {
	if unknown == nil {
		return nil, &ArgumentError{Operation: "Confirm", Name: "unknown", Reason: "must be the error of a create"}
	}
	if !errors.Is(unknown, ErrOutcomeUnknown) {
		return nil, unknown
	}
	return confirm(ctx, "Confirm", unknown, find, func(found *T) error {
		if same != nil && !same(found) {
			return fmt.Errorf("%w, but is a different resource", withLookup(unknown, ErrAlreadyExists))
		}
		return nil
	})
}

// confirm returns the record that find returns. If find fails, it returns the
// failure with find's error. If check refuses the record, it returns check's
// error.
func confirm[T any](ctx context.Context, operation string, failure error, find func(context.Context) (*T, error), check func(*T) error) (*T, error) {
	if find == nil {
		return nil, withLookup(failure, &ArgumentError{Operation: operation, Name: "find", Reason: "must not be nil"})
	}
	found, err := either("find", find)(ctx)
	if err != nil {
		return nil, withLookup(failure, err)
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
