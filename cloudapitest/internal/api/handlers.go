package api

import (
	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// Handler executes the requests of an operation. Its result is passed to
// [reply.New].
type Handler func(*Call) (any, error)

// On returns a handler that calls a method of the object that find returns.
func On[T any](find func(*Call) (T, error), method func(T, *Call) (any, error)) Handler {
	return func(c *Call) (any, error) {
		o, err := find(c)
		if err != nil {
			return nil, err
		}
		return method(o, c)
	}
}

// Show returns a handler for the record of the object that find returns.
func Show[T, R any](find func(*Call) (T, error), record func(T, *Moment) R) Handler {
	return On(find, func(o T, c *Call) (any, error) { return record(o, c.Moment), nil })
}

// Delete returns a handler that deletes the object that find returns. The
// handler also succeeds if the object doesn't exist.
func Delete[T any](find func(*Call) (T, error), remove func(T, *Call) error) Handler {
	return func(c *Call) (any, error) {
		o, err := find(c)
		if err != nil {
			return reply.DeletedOr(err)
		}
		return reply.NoContent{}, remove(o, c)
	}
}

// List returns a handler for pages of the objects of a kind.
func List[T Stored, R any](kind cloudapi.Kind, record func(T, *Moment) R) Handler {
	return func(c *Call) (any, error) { return Paginate(c, Listed(kind), ObjectName[T], record) }
}

// Change calls change with a copy of the object, and stores the copy if change
// succeeds. So an error, even a late one, leaves the object as it was.
func Change[T any](object *T, change func(changed *T) error) error {
	changed := *object
	if err := change(&changed); err != nil {
		return err
	}
	*object = changed
	return nil
}

// Renames returns a handler that renames an object to the name in the body, and
// returns its record. The kind must have locations.
func Renames[T Stored, R any](kind cloudapi.Kind, find func(*Call) (T, error), record func(T, *Moment) R) Handler {
	return On(find, func(o T, c *Call) (any, error) {
		if err := Rename(c, kind, o); err != nil {
			return nil, err
		}
		return record(o, c.Moment), nil
	})
}
