package cloudapi

import (
	"context"
	"iter"
	"net/http"
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

	// list says how a list differs from that of the server.
	list func(ctx context.Context, c *conn, op *Operation, args []string) (*plannedList, error)

	// check returns an error if a request mustn't be sent.
	check func(in *invocation) error

	// In an Ensure: update returns the context of the requests of an update, and a
	// function for its success; gone says that nothing is left of a resource that is
	// being deleted.
	update func(ctx context.Context, record any, differences drift) (inner context.Context, done func())
	gone   func(record any)

	// set plans the changes of the elements of a resource's set. all is a slice of
	// pointers to what the set then contains.
	set func(ctx context.Context, c *conn, op *Operation, location, reference string, changes []plannedElement, all any) error
}

// PlannedAction is the sign of a [PlannedChange].
type PlannedAction string

// Values of [PlannedAction].
const (
	PlannedCreate PlannedAction = "+" // the resource is created
	PlannedUpdate PlannedAction = "~" // the resource changes until it's as the program wants it
	PlannedDelete PlannedAction = "-" // the resource is deleted
	PlannedCall   PlannedAction = "!" // the program calls a method of the resource, whatever its state is, such as VMs.Restart
)

// plannedElement is a change of a set.
type plannedElement struct {
	sign    PlannedAction
	element any // a pointer to the element's record
}

// plannedList is how the plan's list differs from that of the server.
type plannedList struct {
	isWhole bool  // the server isn't asked
	added   []any // records that the server's list doesn't have
	removed int   // how many records of the server's list are deleted, at least

	// see returns an item of the server's list as the plan has it, or nil if the plan
	// has deleted it.
	see func(item any) any
}

// plannedGone is the error of a plan's client for a resource that the plan has
// deleted, which needs no other proof.
type plannedGone struct{ missing *Error }

func (e plannedGone) Error() string { return e.missing.Error() }
func (e plannedGone) Unwrap() error { return e.missing }

// plannedPage is a page of a list of a client that plans. real returns the page
// of the server.
func plannedPage[T any](ctx context.Context, c *conn, op *Operation, args []string, o ListOptions, real func() (*Page[T], error)) (*Page[T], error) {
	plan, err := c.config.plan.list(ctx, c, op, args)
	if err != nil {
		return nil, err
	}
	page, isLast := &Page[T]{Items: []*T{}}, true
	if !plan.isWhole {
		if page, err = real(); err != nil {
			return nil, err
		}
		isLast = len(page.Items) == 0 || page.Next == "" || page.hasAll(o.PageSize)
	}
	items := []*T{}
	for _, item := range page.Items {
		if seen := plan.see(item); seen != nil {
			items = append(items, seen.(*T))
		}
	}
	for _, item := range plan.added {
		at := cursorOf(item, o.OrderColumn)
		if o.StartAfter < at && (isLast || at <= page.Next) {
			items = append(items, item.(*T))
		}
	}
	if page.Count != nil {
		page.Count = new(max(*page.Count+len(plan.added)-plan.removed, len(items)))
	}
	if n := len(items); n > len(page.Items) && isLast && page.Next != "" {
		page.Next = max(page.Next, cursorOf(items[n-1], o.OrderColumn))
	}
	page.Items = items
	return page, nil
}

// plannedItems are the items of a list of a client that plans: first those of
// the server, and then those that only the plan has.
func plannedItems[T any](ctx context.Context, c *conn, op *Operation, args []string, o ListOptions, real iter.Seq2[*T, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if ctx == nil {
			yield(nil, noContext(op.Name))
			return
		}
		plan, err := c.config.plan.list(ctx, c, op, args)
		if err != nil {
			yield(nil, err)
			return
		}
		var partial error
		if !plan.isWhole {
			for item, err := range real {
				if isPartial(err) {
					partial = err
					break
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if seen := plan.see(item); seen != nil && !yield(seen.(*T), nil) {
					return
				}
			}
			if plan, err = c.config.plan.list(ctx, c, op, args); err != nil { // the loop may have planned more
				yield(nil, err)
				return
			}
		}
		for _, item := range plan.added {
			if cursorOf(item, o.OrderColumn) > o.StartAfter && !yield(item.(*T), nil) {
				return
			}
		}
		if partial != nil {
			yield(nil, partial)
		}
	}
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

// checkNotPlanned returns an error if a client that doesn't plan is to send the
// ID of a resource that exists only in a plan.
func (c *conn) checkNotPlanned(op *Operation, request any, body []byte, args []string) error {
	if c.config.plan != nil {
		return nil
	}
	for _, arg := range args {
		if ubid.IsPlanned(arg) {
			return argumentError(op.Name, "id", arg, onlyPlanned)
		}
	}
	if !ubid.HasPlanned(body) {
		return nil
	}
	for field, text := range textsOf(reflect.ValueOf(request)) {
		if field.Tag.Get("id") != "" && ubid.IsPlanned(text) {
			name, _ := jsonName(field)
			return argumentError(op.Name, name, text, onlyPlanned)
		}
	}
	return nil
}

const onlyPlanned = "is the ID of a resource that exists only in a plan: use it with the plan's client"

// isRead reports whether an operation changes nothing.
func (op *Operation) isRead() bool { return op.Method == http.MethodGet }
