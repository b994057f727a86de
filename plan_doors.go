package cloudapi

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// planDoors are the places where a client that plans differs from other clients.
// They're functions, so that a program that doesn't plan links none of what they
// do; see [NewPlan], and plan_layer.go.
type planDoors struct {
	// record returns the record of an operation, which has the type of to. ask sends
	// the request.
	record func(ctx context.Context, in *invocation, to any, ask func() (any, error)) (any, error)

	// remove plans an operation whose response is a 204.
	remove func(ctx context.Context, in *invocation) error

	// list says how a list of records of a kind differs from that of the server.
	list func(ctx context.Context, c *conn, op *Operation, args []string, kind Kind) *plannedList

	// check returns an error if a request mustn't be sent, and owns reports whether
	// the plan has a planned ID.
	check func(ctx context.Context, in *invocation) error
	owns  func(c *conn, id string) bool

	// In an Ensure: update returns the context of the requests of an update, and a
	// function for its success; gone says that nothing is left of a resource that is
	// being deleted.
	update func(ctx context.Context, record any, differences drift) (inner context.Context, done func())
	gone   func(record any)
}

// plannedList is how the plan's list differs from that of the server.
type plannedList struct {
	isWhole bool  // the server isn't asked
	added   []any // records that the server's list doesn't have
	removes bool  // whether the plan has deleted what the server's list may have

	// see returns an item of the server's list as the plan has it, or nil if the plan
	// has deleted it.
	see func(item any) any
}

// plannedGone is the error of a plan's client for a resource that the plan has
// deleted, which needs no other proof.
type plannedGone struct{ missing *Error }

func (e plannedGone) Error() string { return e.missing.Error() }
func (e plannedGone) Unwrap() error { return e.missing }

// plannedPage returns a page of a list of a client that plans. An added item is on
// the page that has its place in the order of the cursors. Only the last page can
// be empty.
func plannedPage[T any](ctx context.Context, c *conn, routes *listRoutes, op *Operation, o ListOptions, args []string) (*Page[T], error) {
	var kind Kind
	if r := recordOf(new(T)); r != nil {
		kind = r.Resource().Kind
	}
	plan := c.config.plan.list(ctx, c, op, args, kind)
	page, hasAll, isLast := &Page[T]{}, true, true
	if !plan.isWhole {
		var err error
		if page, err = serverPage[T](ctx, c, routes, op, o, args); err != nil {
			return nil, err
		}
		hasAll = page.hasAll(o.PageSize)
		isLast = hasAll || len(page.Items) == 0 || page.Next == ""
	}
	items := []*T{}
	for _, item := range page.Items {
		if seen := plan.see(item); seen != nil {
			items = append(items, seen.(*T))
		}
	}
	for _, item := range plan.added {
		if at := cursorOf(item, o.OrderColumn); at > o.StartAfter && (isLast || at <= page.Next) {
			items = append(items, item.(*T))
			if !routes.unpaged {
				page.Next = max(page.Next, at)
			}
		}
	}
	switch {
	case len(items) == 0 && !isLast:
		o.StartAfter = page.Next
		return plannedPage[T](ctx, c, routes, op, o, args)
	case page.Count == nil:
	case hasAll:
		*page.Count = len(items)
	case plan.removes: // which of them, only the server's pages show
		page.Count = nil
	default:
		*page.Count += len(plan.added)
	}
	page.Items = items
	return page, nil
}

// look finds out whether calls with a context ask a client that plans. A wait
// then polls only once, since time doesn't pass in a plan.
type look struct{ plan atomic.Pointer[planDoors] }

type lookKey struct{}

func withLook(ctx context.Context) context.Context {
	return context.WithValue(ctx, lookKey{}, &look{})
}

// planOf returns the doors of the client that plans, if a call with the context
// has asked one, or nil.
func planOf(ctx context.Context) *planDoors {
	l, _ := ctx.Value(lookKey{}).(*look)
	if l == nil {
		return nil
	}
	return l.plan.Load()
}

// checkPlanned returns an error if an argument or the request has the ID of a
// resource that exists only in a plan, unless it's the plan of the client.
func (c *conn) checkPlanned(op *Operation, request any, body []byte, args []string) error {
	check := func(name string, _ referenceRule, id string) *ArgumentError {
		if !ubid.IsPlanned(id) || c.config.plan != nil && c.config.plan.owns(c, id) {
			return nil
		}
		return argumentError(op.Name, name, id, "is the ID of a resource that exists only in a plan: use it with the client of that plan and project")
	}
	for _, arg := range args {
		if err := check("id", anyReference, arg); err != nil {
			return err
		}
	}
	if !ubid.HasPlanned(body) {
		return nil
	}
	if err := eachID(reflect.ValueOf(request), check); err != nil {
		return err
	}
	return nil
}
