package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/sharedlist"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// fetcher looks for a resource in the places where it can be, and for a proof if
// it's in none. A 404 is no proof: the location can be wrong, the project can be
// another, and what the token can't see is missing from searches.
type fetcher struct {
	operation string
	conn      *conn
	family    anyFamily
	resource  Resource

	missing error // the last 404, or nil
	isStale bool  // whether the location that the last search by ID found doesn't have the resource

	began time.Time         // when the call of the operation began
	scope *sharedlist.Scope // shares requests with other calls; or nil
}

func (c *conn) fetcher(operation string, scope *sharedlist.Scope, f anyFamily, r Resource) *fetcher {
	return &fetcher{operation: operation, conn: c, family: f, resource: r, began: time.Now(), scope: scope}
}

// fetch returns the resource's record. The error matches ErrNotFound without
// errNotShown only if it's proven that the resource isn't in the project.
func (f *fetcher) fetch(ctx context.Context) (Record, error) {
	return f.look(ctx, f.own, f.byID, f.byIDAgain, f.everywhere)
}

// look asks places, of which everywhere is the last, until one has the resource
// or fails. A place that doesn't have it returns neither a record nor an error.
func (f *fetcher) look(ctx context.Context, places ...func(context.Context) (Record, error)) (Record, error) {
	for _, place := range places {
		if record, err := place(ctx); record != nil || err != nil {
			return record, f.failed(err)
		}
	}
	return nil, f.verdict()
}

// own gets the resource in its location, if it has one.
func (f *fetcher) own(ctx context.Context) (Record, error) {
	r := f.resource
	isUnnamed := r.ID != "" && addressOf(f.family, r) == "" // of a family that takes only names
	if r.Location == "" && (f.family.hasLocations() || isUnnamed) {
		return nil, nil
	}
	record, err := f.read(ctx, r.Location)
	switch {
	case errors.Is(err, ErrMaybeUnsupported) && !IsGone(err): // the server lacks the list, too
		return nil, err
	case errors.Is(err, ErrNotFound):
		f.missing = err
		return nil, nil
	case err == nil && r.ID != "" && record.Resource().ID != r.ID: // another resource has taken the name
		return nil, nil
	}
	return record, err
}

// byID looks up where the resource is, and gets it there.
func (f *fetcher) byID(ctx context.Context) (Record, error) {
	if !f.family.hasLocations() {
		return nil, nil
	}
	at, err := f.family.resolve(ctx, f.conn, f.resource.ID)
	switch {
	case isMissing(err) && !errors.Is(err, ErrMaybeUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	record, err := f.readIn(ctx, at.Location)
	f.isStale = record == nil && err == nil
	return record, err
}

// byIDAgain repeats a search by ID that has found a location without the
// resource: the location may have been renamed meanwhile. A second time, a
// private location has the name of the resource's location.
func (f *fetcher) byIDAgain(ctx context.Context) (Record, error) {
	if !f.isStale {
		return nil, nil
	}
	f.isStale = false
	record, err := f.byID(ctx)
	if f.isStale {
		return nil, f.unproven(f.missing)
	}
	return record, err
}

// everywhere gets the resource in all locations but its own.
func (f *fetcher) everywhere(ctx context.Context) (Record, error) {
	if err := f.seesProject(ctx); err != nil {
		return nil, err
	}
	if err := f.hasList(ctx); errors.Is(err, ErrNotFound) { // the server lacks the family
		return nil, f.unproven(err)
	} else if err != nil {
		return nil, err
	}
	if !f.family.takesIDs() && f.resource.ID != "" { // it may have been renamed
		record, err := f.family.searchAny(ctx, f.conn, f.resource.ID)
		if errors.Is(err, errNotShown) {
			f.missing, err = nil, nil
		}
		return record, err
	}
	if !f.family.hasLocations() || ubid.IsPlanned(f.resource.ID) { // the plan has looked in all locations
		return nil, nil
	}
	locations, err := f.locations(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(locations) == 0:
		return nil, f.unproven(ErrLocationNotFound) // the server doesn't say which locations there are
	}
	for _, location := range locations {
		if location == f.resource.Location {
			continue
		}
		if record, err := f.readIn(ctx, location); record != nil || err != nil {
			return record, err
		}
	}
	return nil, nil
}

// verdict says what it means that no place has the resource.
func (f *fetcher) verdict() error {
	missing := f.missing
	if f.family.hides() {
		return f.failed(f.unproven(missing))
	}
	if missing == nil || errors.Is(missing, ErrLocationNotFound) || errors.Is(missing, ErrMaybeUnsupported) {
		missing = ErrNotFound
	}
	return fmt.Errorf("cloudapi: %s: %v isn't in the project: %w", f.operation, f.resource, unprefixed{missing})
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

// readIn is read for a location that the server has named. It returns neither a
// record nor an error if the location doesn't have the resource.
func (f *fetcher) readIn(ctx context.Context, location string) (Record, error) {
	record, err := f.read(ctx, location)
	if IsGone(err) {
		f.missing = err
		return nil, nil
	}
	return record, err
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
		return err
	}
	return nil
}

// hasList returns an error unless the server has the list of the family, and so
// its other operations. It asks only if the service alone has the family: for
// others, a read has found out.
func (f *fetcher) hasList(ctx context.Context) error {
	if !f.family.isServiceOnly() {
		return nil
	}
	_, err := shared(ctx, f, f.family.kind(), func(ctx context.Context) (any, error) {
		return nil, f.family.hasList(ctx, f.conn)
	})
	return err
}

// noLocation is in the place of a location. The server's error for it lists the
// locations. No private location can have the name, because of its underscore.
const noLocation = "no_location"

// locations returns the locations of the project, or none if the server doesn't
// list them.
func (f *fetcher) locations(ctx context.Context) ([]string, error) {
	missing := f.missing
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
			return nil, err
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

// unproven returns an error that matches ErrNotFound, although the resource may
// exist.
func (f *fetcher) unproven(err error) error {
	return fmt.Errorf("%w: %w", errNotShown, unprefixed{err})
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
