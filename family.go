package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/sharedlist"
)

// family is what the SDK knows about the resources of one kind: how they are
// listed, read and deleted, and how fast they change. Waits, Ensure, Watch and
// the methods for resources of any kind use it.
type family[T any] struct {
	lists  *listRoutes
	get    *Operation
	del    *Operation
	pauses *WaitOptions // the default pauses of waits; nil for waitQuick

	hidden   bool // whether the server also returns a 404 for a resource that the token can't see
	homonyms bool // whether a location can have two resources of one name

	// each iterates over the list. If it's nil, [all] is used.
	each func(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[*T, error]
}

// anyFamily is a family of records of any type. A record is passed as a
// pointer, such as a *VM.
type anyFamily interface {
	kind() Kind
	hasLocations() bool
	isServiceOnly() bool
	takesNames() bool  // whether a name is a valid reference
	takesIDs() bool    // whether an ID is a valid reference
	hasHomonyms() bool // whether a location can have two resources of one name
	hides() bool       // whether the server also returns a 404 for a resource that the token can't see

	all(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[Record, error]
	readAny(ctx context.Context, c *conn, location, reference string) (Record, error)
	readOnce(ctx context.Context, c *conn, location, reference string) (Record, error) // a 404 may not prove that the resource is missing
	exists(ctx context.Context, c *conn, r Resource) (bool, error)
	resolve(ctx context.Context, c *conn, id string) (*Resource, error)
	hasList(ctx context.Context, c *conn) error
	searchAny(ctx context.Context, c *conn, id string) (Record, error)
	remove(ctx context.Context, c *conn, location, reference string) error
	waitDeleted(ctx context.Context, c *conn, location, reference string, opts *WaitOptions) error
}

func (f *family[T]) kind() Kind          { return kindOf[T]() }
func (f *family[T]) hasLocations() bool  { return strings.Contains(f.get.Route, "{location}") }
func (f *family[T]) isServiceOnly() bool { return f.get.traits&serviceOnly != 0 }
func (f *family[T]) takesNames() bool    { return !f.get.lastRule().idOnly }
func (f *family[T]) takesIDs() bool      { return f.get.lastRule().takesIDs() }
func (f *family[T]) hasHomonyms() bool   { return f.homonyms }
func (f *family[T]) hides() bool         { return f.hidden }

func (f *family[T]) all(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[Record, error] {
	return untyped(f.items(ctx, c, opts))
}

func (f *family[T]) items(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[*T, error] {
	if f.each != nil {
		return f.each(ctx, c, opts)
	}
	return all[T](ctx, c, f.lists, opts)
}

func (f *family[T]) readAny(ctx context.Context, c *conn, location, reference string) (Record, error) {
	return untypedRecord(f.read(ctx, c, location, reference))
}

func (f *family[T]) readOnce(ctx context.Context, c *conn, location, reference string) (Record, error) {
	return untypedRecord(perform[T](ctx, c, f.get, f.args(location, reference)...))
}

// getReferred gets a resource to which the argument called field refers by its ID.
// It returns an ArgumentError if the resource isn't in the location.
func getReferred(ctx context.Context, c *conn, f anyFamily, operation, location, field, id string) (Record, error) {
	record, err := f.readOnce(ctx, c, location, id)
	if isMissing(err) {
		return nil, notInLocation(f, operation, field, id)
	}
	return record, err
}

func notInLocation(f anyFamily, operation, field, id string) error {
	return argumentError(operation, field, id, "is not the ID of a "+f.kind().String()+" in the location")
}

// read gets a resource. If the service may lack the operation, a 404 doesn't
// prove that the resource is missing. In that case, read also reads the list: a
// server that has the list has the operation.
func (f *family[T]) read(ctx context.Context, c *conn, location, reference string) (*T, error) {
	record, err := perform[T](ctx, c, f.get, f.args(location, reference)...)
	if e, ok := errors.AsType[*Error](err); ok && f.get.traits&unproven != 0 && e.isMaybeUnsupported() {
		if f.hasList(ctx, c) == nil {
			proven := *e
			proven.traits &^= serviceOnly | unproven
			return nil, &proven
		}
	}
	return record, err
}

// hasList returns an error unless the server has the family's list, and so its
// other operations.
func (f *family[T]) hasList(ctx context.Context, c *conn) error {
	_, err := list[T](ctx, c, f.lists, nil)
	return err
}

// exists reports whether a resource exists. It returns [ErrForbidden] if the
// token may not see it. If r has no ID, only the name must match.
func (f *family[T]) exists(ctx context.Context, c *conn, r Resource) (bool, error) {
	record, err := f.read(ctx, c, r.Location, addressOf(f, r))
	if IsGone(err) {
		return false, nil
	}
	return err == nil && (r.ID == "" || resourceOf(record).ID == r.ID), err
}

// resolve returns the resource with an ID, in any location of the project.
func (f *family[T]) resolve(ctx context.Context, c *conn, id string) (*Resource, error) {
	if opProjectsObjectInfo.lastRule().kinds.has(f.kind()) {
		r, err := resolveID(ctx, c, f.kind(), id)
		if f.get.traits&serviceOnly != 0 && errors.Is(err, ErrInvalidRequest) { // the contract's operation refuses IDs of kinds that it lacks
			err = fmt.Errorf("%w: %w", ErrMaybeUnsupported, unprefixed{err})
		}
		return r, err
	}
	record, err := f.search(ctx, c, id)
	if err != nil {
		return nil, err
	}
	r := resourceOf(record)
	return &r, nil
}

// search returns the item with an ID in the list of all locations.
func (f *family[T]) search(ctx context.Context, c *conn, id string) (*T, error) {
	for record, err := range f.items(ctx, c, nil) {
		if err != nil {
			return nil, err
		}
		if resourceOf(record).ID == id {
			return record, nil
		}
	}
	return nil, fmt.Errorf("cloudapi: %s: %s: %w", f.lists.project.Name, id, errNotShown)
}

func (f *family[T]) searchAny(ctx context.Context, c *conn, id string) (Record, error) {
	return untypedRecord(f.search(ctx, c, id))
}

func (f *family[T]) remove(ctx context.Context, c *conn, location, reference string) error {
	return remove(ctx, c, f.del, f.args(location, reference)...)
}

func (f *family[T]) args(location, reference string) []string {
	if f.hasLocations() {
		return []string{location, reference}
	}
	return []string{reference}
}

// addressOf returns the ID of a resource, or its name if the family takes no IDs.
func addressOf(f anyFamily, r Resource) string {
	if f.takesIDs() {
		return r.ID
	}
	return r.Name
}

func untyped[T any](seq iter.Seq2[*T, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for item, err := range seq {
			if !yield(untypedRecord(item, err)) {
				return
			}
		}
	}
}

func untypedRecord[T any](record *T, err error) (Record, error) { return recordOf(record), err }

// waiter returns a waiter that gets the resource with the reference at each
// poll. The caller sets the condition.
func (f *family[T]) waiter(c *conn, operation, location, ref string) waiter[T] {
	return waiter[T]{
		operation: operation,
		resource:  qualify(location, ref),
		config:    *cmp.Or(f.pauses, &waitQuick),
		get:       func(ctx context.Context) (*T, error) { return f.read(ctx, c, location, ref) },
		join:      func(ctx context.Context) *sharedlist.List[T] { return f.join(ctx, c, location) },
		reference: ref,
	}
}

// listKey identifies a list that waits share.
type listKey struct {
	peers    peers
	routes   *listRoutes
	location string
}

// join lets a wait share the list of a location with other waits of a WaitAll,
// or of the client if it has [WithSharedWaits]. It returns nil if the family has
// no list, or if the wait shares nothing.
func (f *family[T]) join(ctx context.Context, c *conn, location string) *sharedlist.List[T] {
	if f.lists == nil || c.config.plan != nil {
		return nil
	}
	open := func() sharedlist.Source[T] {
		var failure error       // of the last reading that failed
		var notBefore time.Time // when the list may be read again, after a Retry-After
		return sharedlist.Source[T]{
			Read: func(ctx context.Context) iter.Seq2[*T, error] {
				return func(yield func(*T, error) bool) {
					if time.Now().Before(notBefore) {
						yield(nil, failure)
						return
					}
					for record, err := range all[T](ctx, c, f.lists, &ListOptions{Location: location}) {
						if err != nil {
							failure, notBefore = err, time.Now().Add(retryAfter(err))
						}
						if !yield(record, err) {
							return
						}
					}
				}
			},
			Keys: func(record *T) (id, name string) { r := resourceOf(record); return r.ID, r.Name },
		}
	}
	return sharedlist.Join(c.scope(ctx), listKey{c.peers(), f.lists, location}, open)
}

// waitState waits until done reports true for a resource's record. An error of
// done ends the wait. The items of a list can lack fields: if done is false for
// an item, it must also be false for the record from Get.
func (f *family[T]) waitState(ctx context.Context, c *conn, operation, location, ref string, done func(*T) (bool, error), opts *WaitOptions) (*T, error) {
	w := f.waiter(c, operation, location, ref)
	w.done = done
	w.isNotYet = func(record *T) bool {
		finished, err := done(record)
		return !finished && err == nil
	}
	return w.run(ctx, opts)
}
