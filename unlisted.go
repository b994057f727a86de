package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/around"
)

// UnlistedError says that the server can't show some resources in a list. It's
// the last element of the list. Only one kind of resource leads to it: the load
// balancer of a Kubernetes cluster without a Service. The server responds with
// 500 to every list that contains it, and to its Get, until the cluster has a
// Service of type LoadBalancer.
type UnlistedError struct {
	Operation string     // the operation's name, such as "LoadBalancers.List"
	Resources []Resource // without their IDs, which aren't known; at least one
}

// Error names the resources in one line.
func (e *UnlistedError) Error() string {
	names := make([]string, len(e.Resources))
	for i, r := range e.Resources {
		names[i] = r.String()
	}
	return fmt.Sprintf("cloudapi: %s: the server cannot show %s while its Kubernetes cluster has no Service; all others were listed",
		e.Operation, strings.Join(names, ", "))
}

// isUnlisted reports whether an error at the end of a list says that the list
// is complete, as far as the server can show it.
func isUnlisted(err error) bool {
	_, ok := errors.AsType[*UnlistedError](err)
	return ok
}

// isBesides reports whether an error at the end of a list says nothing about the
// resources with a name: the list has all of them.
func isBesides(err error, name string) bool {
	e, ok := errors.AsType[*UnlistedError](err)
	return ok && !slices.ContainsFunc(e.Resources, func(r Resource) bool { return r.Name == name })
}

// isUnexpected is [Error.isUnexpected] for any error.
func isUnexpected(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.isUnexpected()
}

// allListed yields every item of a list that the server may be unable to show.
// In that case, it yields the items that the server can show, in the same
// order, and ends with an [*UnlistedError].
func allListed[T any, P listItem[T]](ctx context.Context, c *conn, routes *listRoutes, o ListOptions) iter.Seq2[*T, error] {
	once := *routes
	once.finalOn500 = true
	return func(yield func(*T, error) bool) {
		yielded := map[string]bool{}
		left := false // whether the consumer has left the loop
		pass := func(list iter.Seq2[*T, error]) error {
			for item, err := range list {
				if err != nil {
					return err
				}
				id := P(item).cursor(OrderByID)
				if yielded[id] {
					continue
				}
				yielded[id] = true
				if left = !yield(item, nil); left {
					return nil
				}
			}
			return nil
		}
		err := pass(items(ctx, c, walk[T, P](c, &once, o, nil)))
		if isUnexpected(err) {
			unlisted, lookup := routes.unlisted(ctx, c, o.Location)
			switch {
			case lookup != nil:
				err = withLookup(err, lookup)
			case len(unlisted) == 0: // it may be transient
				err = pass(items(ctx, c, walk[T, P](c, routes, o, nil)))
			default:
				err = pass(listAround[T, P](ctx, c, &once, o, unlisted))
			}
		}
		if err != nil && !left {
			yield(nil, err)
		}
	}
}

// listAround yields the items of a list except some that the server can't show,
// and then an [*UnlistedError]. It reads the list by name, since only the names
// of those are known, but yields the items in the order that the options ask
// for.
func listAround[T any, P listItem[T]](ctx context.Context, c *conn, routes *listRoutes, o ListOptions, unlisted []Resource) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		whole := around.List[*T]{
			Fetch: func(after string, size int) (p around.Page[*T], err error) {
				page, err := list[T, P](ctx, c, routes, &ListOptions{Location: o.Location, StartAfter: after, PageSize: size, OrderColumn: OrderByName})
				if err == nil {
					p = around.Page[*T]{Items: page.Items, Next: page.NextStartAfter, Count: orZero(page.Count)}
				}
				return p, err
			},
			Refused: isUnexpected,
			ID:      func(item *T) string { return P(item).cursor(OrderByID) },
			MaxSize: maxPageSize,
		}
		slices.SortFunc(unlisted, func(a, b Resource) int { return cmp.Compare(a.Name, b.Name) })
		var hidden []string
		for _, r := range unlisted {
			hidden = append(hidden, r.Name)
		}
		found, count, err := whole.Read(hidden)
		if err != nil {
			yield(nil, err)
			return
		}
		var listed []*T
		names := map[string]bool{}
		for _, item := range found {
			names[P(item).cursor(OrderByName)] = true
			if o.StartAfter == "" || P(item).cursor(o.OrderColumn) > o.StartAfter {
				listed = append(listed, item)
			}
		}
		unlisted = slices.DeleteFunc(unlisted, func(r Resource) bool { return names[r.Name] })
		if n := len(found) + len(unlisted); n < count {
			yield(nil, fmt.Errorf("cloudapi: %s: %w: %d of %d items reached", routes.project.Name, ErrPaginationStalled, n, count))
			return
		}
		slices.SortFunc(listed, func(a, b *T) int {
			return cmp.Or(cmp.Compare(P(a).cursor(o.OrderColumn), P(b).cursor(o.OrderColumn)),
				cmp.Compare(P(a).cursor(OrderByID), P(b).cursor(OrderByID)))
		})
		for _, item := range listed {
			if !yield(item, nil) {
				return
			}
		}
		if len(unlisted) > 0 {
			yield(nil, &UnlistedError{Operation: routes.project.Name, Resources: unlisted})
		}
	}
}
