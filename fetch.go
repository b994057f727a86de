package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// Fetch returns the full record of a resource, in whichever location it is, or
// proves that it's gone:
//
//	vm, err := cloudapi.Fetch[cloudapi.VM](ctx, client, cloudapi.Resource{ID: id, Location: location})
//	switch {
//	case cloudapi.IsGone(err): // proven: the VM isn't in the client's project
//	case err != nil: // nothing is proven
//	}
//
// Only the ID is required, or for a private location the name instead. The
// Location saves requests if it's right. The Kind can be empty. For a missing resource,
// Fetch also looks for the ID in the project and in each of its locations, and
// gets the project, which the token must be able to see; in a [WaitAll], or with
// [WithSharedWaits], calls at the same time share what they can. It returns
// [ErrForbidden] if the server refuses the token the resource twice, a second
// apart, and an [ErrNotFound] for which [IsGone] is false if the project is gone
// or is another account's. That is also its error for missing projects and
// inference API keys, which look like hidden ones.
//
// The VM of a node of a Kubernetes cluster is gone for Fetch: the API shows it
// only in the cluster's record.
func Fetch[T any, P interface {
	*T
	Record
}](ctx context.Context, c *Client, resource Resource) (*T, error) {
	const operation = "Fetch"
	if err := checkRecord[T](operation); err != nil {
		return nil, err
	}
	kind := kindOf[T]()
	if resource.Kind == "" {
		resource.Kind = kind
	}
	if !kind.includes(resource.Kind) {
		return nil, argumentError(operation, "resource", resource.String(), "is not a "+kind.String())
	}
	record, err := c.fetch(ctx, operation, resource)
	if err != nil {
		return nil, err
	}
	return any(record).(*T), nil
}

// checkRecord returns an error unless T is a type of this package: a type that
// embeds one would also be accepted by the compiler.
func checkRecord[T any](operation string) error {
	if t := reflect.TypeFor[T](); t.PkgPath() != reflect.TypeFor[Resource]().PkgPath() {
		return argumentError(operation, "T", t.String(), "is not a record of the SDK")
	}
	return nil
}

// Fetch is the function [Fetch] for resources of any kind: it returns a *[VM]
// for [KindVM], and so on. An empty Kind is that of the ID. For a resource inside
// another, such as a rule, Parent must be set.
func (c *Client) Fetch(ctx context.Context, resource Resource) (Record, error) {
	return c.fetch(ctx, "Fetch", resource)
}

// fetch returns a resource's record. operation names the function in errors.
func (c *conn) fetch(ctx context.Context, operation string, r Resource) (Record, error) {
	if ctx == nil {
		return nil, noContext(operation)
	}
	scope := c.scope(ctx)
	defer scope.Use()()
	if r.Kind == "" {
		r.Kind = ID(r.ID).Kind()
	}
	f, child := familyOf(r.Kind)
	if f == nil {
		return nil, argumentError(operation, "resource", r.String(), "is of an unknown kind")
	}
	if err := checkID(operation, f, r); err != nil {
		return nil, err
	}
	if child == nil {
		return c.fetcher(operation, scope, f, r).fetch(ctx)
	}
	if r.Parent == nil {
		return nil, argumentError(operation, "resource", r.String(), "must have its Parent")
	}
	parent := *r.Parent
	parent.Kind = f.kind()
	if err := checkID(operation, f, parent); err != nil {
		return nil, err
	}
	container, err := any(nil), ErrNotFound
	if parent.Location != "" {
		container, err = child.container(ctx, c, f, parent)
	}
	if errors.Is(err, ErrNotFound) {
		found, lookup := c.fetcher(operation, scope, f, parent).fetch(ctx)
		if lookup != nil {
			return nil, lookup
		}
		container, err = child.container(ctx, c, f, resourceOf(found))
	}
	if err != nil {
		return nil, err
	}
	record := child.pick(container, r.ID)
	if record == nil {
		return nil, fmt.Errorf("cloudapi: %s: %v: %w", operation, r, ErrNotFound)
	}
	return record, nil
}
