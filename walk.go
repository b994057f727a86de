package cloudapi

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
	"github.com/cloudapi-sdk/cloudapi/internal/tally"
)

// maxWalks is how often a list is walked until it contains as many items as it
// counts.
const maxWalks = 4

// all yields every item of a list.
func all[T any, P listItem[T]](ctx context.Context, c *conn, routes *listRoutes, opts *ListOptions, args ...string) iter.Seq2[*T, error] {
	o := orZero(opts)
	if o.PageSize == 0 {
		o.PageSize = maxPageSize
	}
	return items(ctx, c, walk[T, P](c, routes, o, args))
}

// walk fetches the pages of a list, and yields from each page the items that no
// earlier page had.
//
// A list ends with an empty page, or with a first page that has all items; see
// hasAll. The number of items and the length of a page don't mark the end: the
// server counts in a separate statement, it may send fewer items than
// requested, and items come and go.
//
// If every page counted more items than the walk has found, walk reads the list
// again, after the delay of a retry. On the real server, that happens by
// chance: an item was added between the page and its count, or an item after
// the cursor was deleted while another was added before it.
func walk[T any, P listItem[T]](c *conn, routes *listRoutes, o ListOptions, args []string) pageSeq[T] {
	pages := follow(routes.project.Name, o.StartAfter, func(ctx context.Context, cursor string) (*Page[T], error) {
		asked := o
		asked.StartAfter = cursor
		page, err := list[T, P](ctx, c, routes, &asked, args...)
		if err == nil && cursor == o.StartAfter && page.hasAll(o.PageSize) {
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
					err = pace.Sleep(ctx, c.config.calls.Delay(walks, 0))
				}
				if err != nil {
					yield(nil, err)
					return
				}
			}
		}
	}
}

// hasAll reports whether a first page has all items of the list: it has as many
// as it counts, and wasn't cut off at the page size.
func (p *Page[T]) hasAll(pageSize int) bool {
	n := len(p.Items)
	return p.Count != nil && *p.Count == n && n != pageSize && n != maxPageSize
}

// maxKnown is the maximum number of IDs to remember if the IDs of a list
// ascend.
const maxKnown = 2 * maxPageSize

// stalled returns the error for a list that doesn't become complete.
func stalled(t *tally.Tally, operation, orderColumn string) error {
	reached, count := t.Reached()
	hint := ""
	if orderColumn == OrderByName {
		hint = "; of items with the same name some may be left out: order by ID"
	}
	return fmt.Errorf("cloudapi: %s: %w: %d of %d items reached%s", operation, ErrPaginationStalled, reached, count, hint)
}

// pageSeq yields pages until the last one or an error.
type pageSeq[T any] func(context.Context) iter.Seq2[*Page[T], error]

// items yields the items of pages. It holds one page at a time, and fetches the
// next when the consumer reaches it, or earlier with prefetch.
func items[T any](ctx context.Context, c *conn, pages pageSeq[T]) iter.Seq2[*T, error] {
	if n := c.config.prefetch; n > 0 && ctx != nil {
		one := pages
		pages = func(ctx context.Context) iter.Seq2[*Page[T], error] { return parallel.Ahead(ctx, n, one) }
	}
	return func(yield func(*T, error) bool) {
		for page, err := range pages(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i, item := range page.Items {
				if ctx.Err() != nil {
					yield(nil, pace.Err(ctx))
					return
				}
				page.Items[i] = nil // so that a record that the consumer keeps doesn't keep the page
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// follow fetches pages from a cursor on, until a page has no cursor for the
// next. It doesn't interpret cursors. It ends with an error if the next cursor
// of a page was already used.
func follow[T any](operation, start string, fetch func(ctx context.Context, cursor string) (*Page[T], error)) pageSeq[T] {
	return func(ctx context.Context) iter.Seq2[*Page[T], error] {
		return func(yield func(*Page[T], error) bool) {
			asked := map[string]bool{}
			for cursor, more := start, true; more; {
				asked[cursor] = true
				page, err := fetch(ctx, cursor)
				if err == nil {
					more = page.NextStartAfter != ""
					if more && asked[page.NextStartAfter] {
						err = fmt.Errorf("cloudapi: %s: %w: the page after %q has a cursor that was already used", operation, ErrPaginationStalled, cursor)
					}
				}
				if err != nil {
					yield(nil, err)
					return
				}
				cursor = page.NextStartAfter
				if !yield(page, nil) {
					return
				}
			}
		}
	}
}

// Collect returns all items of a sequence, or the sequence's error.
//
//	vms, err := cloudapi.Collect(client.VMs.All(ctx, nil))
func Collect[T any](seq iter.Seq2[*T, error]) ([]*T, error) {
	if seq == nil {
		return nil, &ArgumentError{Operation: "Collect", Name: "seq", Reason: "must not be nil"}
	}
	items := []*T{}
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
