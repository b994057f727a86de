package cloudapi

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/tally"
)

// maxWalks is how often a list is walked until it contains as many items as it
// counts.
const maxWalks = 4

// all yields every item of a list.
func all[T any, P listItem[T]](ctx context.Context, c *conn, routes *listRoutes, opts *ListOptions, args ...string) iter.Seq2[*T, error] {
	var o ListOptions
	if opts != nil {
		o = *opts
	}
	if o.PageSize == 0 {
		o.PageSize = maxPageSize
	}
	if routes.unlisted != nil {
		return allListed[T, P](ctx, c, routes, o)
	}
	return items(ctx, c, walk[T, P](c, routes, o, args))
}

// walk fetches the pages of a list, and yields from each page the items that no
// page before had.
//
// A list ends with an empty page, or with a first page that is the whole list,
// as isWhole reports. The number of items and the length of a page do not mark
// the end: the server counts in a separate statement, it may send fewer items
// than requested, and items come and go.
//
// If every page counted more items than the walk has seen, the list is walked
// again, after the delay of a retry. On the real server that is chance: an item
// came between the page and its count, or one after the cursor was deleted
// while another was added before it.
func walk[T any, P listItem[T]](c *conn, routes *listRoutes, o ListOptions, args []string) pageSeq[T] {
	pages := follow(routes.project.Name, o.StartAfter, func(ctx context.Context, cursor string) (*Page[T], error) {
		asked := o
		asked.StartAfter = cursor
		page, err := list[T, P](ctx, c, routes, &asked, args...)
		if err == nil && cursor == o.StartAfter && page.isWhole(o.PageSize) {
			page.NextStartAfter = ""
		}
		return page, err
	})
	return func(ctx context.Context) iter.Seq2[*Page[T], error] {
		return func(yield func(*Page[T], error) bool) {
			seen := tally.New(o.OrderColumn == "" || o.OrderColumn == OrderByID, maxKnown)
			for walks := 1; ; walks++ {
				seen.Begin()
				for page, err := range pages(ctx) {
					if err == nil {
						page.Items = slices.DeleteFunc(page.Items, func(item *T) bool { return !seen.Add(P(item).cursor(OrderByID)) })
						seen.EndPage(page.Count)
					}
					if !yield(page, err) || err != nil {
						return
					}
				}
				if o.StartAfter != "" || seen.IsComplete() {
					return
				}
				err := stalled(seen, routes.project.Name, o.OrderColumn)
				if walks < maxWalks {
					err = pace.Sleep(ctx, c.calls.Retry.Delay(walks, 0))
				}
				if err != nil {
					yield(nil, err)
					return
				}
			}
		}
	}
}

// isWhole reports whether a first page is the whole list: it has as many items
// as it counts, and was not cut off at the page size.
func (p *Page[T]) isWhole(pageSize int) bool {
	n := len(p.Items)
	return p.Count != nil && *p.Count == n && n != pageSize && n != maxPageSize
}

// maxKnown is the maximum number of IDs to remember, if the IDs of a list
// ascend.
const maxKnown = 2 * maxPageSize

// stalled returns the error for a list that does not become complete.
func stalled(t *tally.Tally, operation, orderColumn string) error {
	reached, count := t.Reached()
	hint := ""
	if orderColumn == OrderByName {
		hint = "; of items with the same name some may be left out: order by ID"
	}
	return fmt.Errorf("cloudapi: %s: %w: %d of %d items reached%s", operation, ErrPaginationStalled, reached, count, hint)
}
