package cloudapi

import (
	"context"
	"iter"
	"strings"
)

// family is what the SDK knows about the resources of one kind: how they are
// listed, read and deleted, and how fast they change. Waits, Ensure, Watch and
// the methods for resources of any kind read it.
type family[T any, P listItem[T]] struct {
	lists  *listRoutes
	get    *Operation
	del    *Operation
	pauses waitConfig // of waits

	lingers  bool // whether a deleted resource exists until its deletion is over
	homonyms bool // whether a location can have two resources of one name

	// each replaces the walk of the list, if the list has parameters of its own.
	each func(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[*T, error]
}

// anyFamily is a family, independent of the type of its records. Records are
// pointers.
type anyFamily interface {
	kind() Kind
	hasLocations() bool
	takesNames() bool  // names are references
	takesIDs() bool    // IDs are references
	hasHomonyms() bool // a location can have two resources of one name

	all(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[any, error]
	read(ctx context.Context, c *conn, location, reference string) (any, error)
	remove(ctx context.Context, c *conn, location, reference string) error
	waitGone(ctx context.Context, c *conn, location, reference string, opts []WaitOption) error
}

func (f *family[T, P]) kind() Kind         { return kindOf[T]() }
func (f *family[T, P]) hasLocations() bool { return strings.Contains(f.get.Route, "{location}") }
func (f *family[T, P]) takesNames() bool   { return !f.get.lastParam().idOnly }
func (f *family[T, P]) takesIDs() bool     { return f.get.lastParam().takesIDs() }
func (f *family[T, P]) hasHomonyms() bool  { return f.homonyms }

func (f *family[T, P]) all(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[any, error] {
	if f.each != nil {
		return untyped(f.each(ctx, c, opts))
	}
	return untyped(all[T, P](ctx, c, f.lists, opts))
}

func (f *family[T, P]) read(ctx context.Context, c *conn, location, reference string) (any, error) {
	return untypedRecord(fetch[T, P](ctx, c, f.get, f.args(location, reference)...))
}

func (f *family[T, P]) remove(ctx context.Context, c *conn, location, reference string) error {
	return remove(ctx, c, f.del, f.args(location, reference)...)
}

// waitGone waits until a deleted resource is gone, which it is immediately
// unless it lingers.
func (f *family[T, P]) waitGone(ctx context.Context, c *conn, location, reference string, opts []WaitOption) error {
	if !f.lingers {
		return nil
	}
	return f.waitDeleted(ctx, c, location, reference, opts)
}

// args returns the arguments of the operations on one resource.
func (f *family[T, P]) args(location, reference string) []string {
	if f.hasLocations() {
		return []string{location, reference}
	}
	return []string{reference}
}

// addressOf returns the reference to a resource that its family takes.
func addressOf(f anyFamily, r Resource) string {
	if f.takesIDs() {
		return r.ID
	}
	return r.Name
}

func untyped[T any](seq iter.Seq2[*T, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for item, err := range seq {
			if !yield(untypedRecord(item, err)) {
				return
			}
		}
	}
}

// untypedRecord returns what a method has returned, without its type.
func untypedRecord[T any](record *T, err error) (any, error) { return recordOf(record), err }
