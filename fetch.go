package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/sharedlist"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
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
	switch {
	case IsPlanned(r.ID):
		return nil, argumentError(operation, "resource", r.String(), ubid.PlannedReason)
	case f == nil:
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

// fetcher looks for a resource, and for a proof if the resource is gone. A 404
// is no proof: the location can be wrong, the project can be another, and what
// the token can't see is missing from searches.
type fetcher struct {
	operation string
	conn      *conn
	family    anyFamily
	resource  Resource

	began time.Time         // when the call of the operation began
	scope *sharedlist.Scope // shares requests with other calls; or nil
}

func (c *conn) fetcher(operation string, scope *sharedlist.Scope, f anyFamily, r Resource) *fetcher {
	return &fetcher{operation: operation, conn: c, family: f, resource: r, began: time.Now(), scope: scope}
}

// fetch returns the resource's record. The error matches ErrNotFound without
// errNotShown only if it's proven that the resource isn't in the project.
func (f *fetcher) fetch(ctx context.Context) (Record, error) {
	r := f.resource
	var missing error                                       // from the location of the resource
	isUnnamed := r.ID != "" && addressOf(f.family, r) == "" // of a family that takes only names
	if r.Location != "" || !f.family.hasLocations() && !isUnnamed {
		record, err := f.read(ctx, r.Location)
		if !errors.Is(err, ErrNotFound) && !f.isOther(record, err) {
			return record, f.failed(err)
		}
		missing = err
	}
	if errors.Is(missing, ErrMaybeUnsupported) && !IsGone(missing) {
		return nil, f.failed(missing) // the server lacks the list, too
	}
	if f.family.hasLocations() {
		switch elsewhere, err := f.family.resolve(ctx, f.conn, r.ID); {
		case err == nil:
			record, err := f.read(ctx, elsewhere.Location)
			if !IsGone(err) { // the location may have been renamed meanwhile
				return record, f.failed(err)
			}
			switch _, again := f.family.resolve(ctx, f.conn, r.ID); {
			case again == nil: // another location has the name of its location
				return nil, f.unproven(err)
			case !isMissing(again):
				return nil, f.failed(again)
			}
			return nil, f.gone(err)
		case !isMissing(err), errors.Is(err, ErrMaybeUnsupported):
			return nil, f.failed(err)
		}
	}
	return f.prove(ctx, missing)
}

// prove looks for a resource in all locations, after its own location and the
// search by ID have missed it. It returns its record, or an error that says
// whether it's gone. missing is the error from its location, or nil.
func (f *fetcher) prove(ctx context.Context, missing error) (Record, error) {
	r := f.resource
	if err := f.seesProject(ctx); err != nil {
		return nil, err
	}
	switch {
	case f.family.hides():
		return nil, f.unproven(missing)
	case errors.Is(missing, ErrMaybeUnsupported):
		if err := f.hasList(ctx); err != nil {
			return nil, f.unproven(missing)
		}
	case !f.family.takesIDs() && r.ID != "":
		record, err := f.family.searchAny(ctx, f.conn, r.ID) // it may have been renamed
		if errors.Is(err, errNotShown) {
			return nil, f.gone(ErrNotFound)
		}
		return record, f.failed(err)
	}
	if !f.family.hasLocations() {
		return nil, f.gone(missing)
	}
	locations, err := f.locations(ctx, missing)
	switch {
	case err != nil:
		return nil, err
	case len(locations) == 0:
		return nil, f.unproven(ErrLocationNotFound) // the server doesn't say which locations there are
	}
	for _, location := range locations {
		if location == r.Location {
			continue
		}
		record, err := f.read(ctx, location)
		if !IsGone(err) {
			return record, f.failed(err)
		}
		missing = err
	}
	return nil, f.gone(missing)
}

// read gets the resource in a location. It asks twice if the server refuses
// that, since a resource that is being destroyed can be forbidden for a moment.
func (f *fetcher) read(ctx context.Context, location string) (record Record, err error) {
	for range 2 {
		record, err = f.family.readAny(ctx, f.conn, location, addressOf(f.family, f.resource))
		if !errors.Is(err, ErrForbidden) {
			break
		}
		if end := pace.Sleep(ctx, time.Second); end != nil {
			return nil, end
		}
	}
	return record, err
}

// isOther reports whether another resource has taken the name.
func (f *fetcher) isOther(record Record, err error) bool {
	return err == nil && f.resource.ID != "" && resourceOf(record).ID != f.resource.ID
}

// seesProject returns an error unless the token can see the project. Otherwise,
// everything in the project would seem to be gone.
func (f *fetcher) seesProject(ctx context.Context) error {
	_, err := shared(ctx, f, "project", func(ctx context.Context) (*Project, error) {
		return perform[Project](ctx, f.conn, &opProjectsGet)
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return f.unproven(err)
	case err != nil:
		return f.failed(err)
	}
	return nil
}

// hasList returns an error unless the server has the list of the family, and so
// its other operations.
func (f *fetcher) hasList(ctx context.Context) error {
	_, err := shared(ctx, f, f.family.kind(), func(ctx context.Context) (any, error) {
		return nil, f.family.hasList(ctx, f.conn)
	})
	return err
}

// noLocation is in the place of a location. The server's error for it lists the
// locations. No private location can have the name, because of its underscore.
const noLocation = "no_location"

// locations returns the locations of the project, or none if the server doesn't
// list them. missing is the error from the location of the resource, or nil.
func (f *fetcher) locations(ctx context.Context, missing error) ([]string, error) {
	if !errors.Is(missing, ErrLocationNotFound) {
		var err error
		missing, err = shared(ctx, f, "locations", func(ctx context.Context) (error, error) {
			_, err := f.family.readAny(ctx, f.conn, noLocation, f.resource.ID)
			if !errors.Is(err, ErrNotFound) {
				return nil, err
			}
			return err, nil
		})
		if err != nil {
			return nil, f.failed(err)
		}
	}
	if e, ok := errors.AsType[*Error](missing); ok {
		return e.Locations(), nil
	}
	return nil, nil
}

// failed adds to an error, if any, which resource it's about.
func (f *fetcher) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cloudapi: %s: %v: %w", f.operation, f.resource, unprefixed{err})
}

// gone returns the error for a resource that is proven to be gone.
func (f *fetcher) gone(missing error) error {
	if missing == nil || errors.Is(missing, ErrLocationNotFound) || errors.Is(missing, ErrMaybeUnsupported) {
		missing = ErrNotFound
	}
	return fmt.Errorf("cloudapi: %s: %v isn't in the project: %w", f.operation, f.resource, unprefixed{missing})
}

// unproven returns an error that matches ErrNotFound, although the resource may
// exist.
func (f *fetcher) unproven(err error) error {
	return fmt.Errorf("cloudapi: %s: %v: %w: %w", f.operation, f.resource, errNotShown, unprefixed{err})
}

// shared calls do, or returns the result of another fetcher's call with the key,
// by the same client or a copy for the project, if that began after the call of
// f.
func shared[T any](ctx context.Context, f *fetcher, key any, do func(context.Context) (T, error)) (T, error) {
	return sharedlist.Once(ctx, f.scope, fetchKey{f.conn.peers(), key}, f.began, do)
}

// fetchKey identifies a result that fetchers share.
type fetchKey struct {
	peers peers
	key   any
}
