package cloudapi

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// maxWalks is how often a list is walked until it contains as many items as it
// counts.
const maxWalks = 4

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
			seen := newTally(o.OrderColumn)
			for walks := 1; ; walks++ {
				seen.begin()
				for page, err := range pages(ctx) {
					if err == nil {
						page.Items = slices.DeleteFunc(page.Items, func(item *T) bool { return !seen.add(P(item).cursor(OrderByID)) })
						seen.count(page.Count)
						seen.forget()
					}
					if !yield(page, err) || err != nil {
						return
					}
				}
				if o.StartAfter != "" || seen.complete() {
					return
				}
				err := seen.stalled(routes.project.Name, o.OrderColumn)
				if walks < maxWalks {
					err = pace.Sleep(ctx, c.config.retry.delay(walks, 0))
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

// tally is a record of the items seen in a list.
type tally struct {
	known     map[string]struct{} // the IDs of the items after passed, except recent
	recent    []string            // IDs of the first walk, as long as they ascend and need no lookup
	passed    string              // IDs up to this one count as known
	ascending bool                // whether the IDs of every walk have ascended
	items     int                 // number of new items
	least     *int                // the smallest count of a page; nil: no page had one

	// Of the walk in progress.
	walks   int    // its number, from 1
	last    string // the greatest ID
	inOrder int    // items whose ID was greater than all before
}

func newTally(orderColumn string) *tally {
	return &tally{known: map[string]struct{}{}, ascending: orderColumn == "" || orderColumn == OrderByID}
}

// begin starts another walk from the beginning of the list.
func (t *tally) begin() {
	t.walks, t.last, t.inOrder = t.walks+1, "", 0
}

// index moves recent to known.
func (t *tally) index() {
	for _, id := range t.recent {
		t.known[id] = struct{}{}
	}
	t.recent = nil
}

// add records an item, and reports whether it is new.
func (t *tally) add(id string) bool {
	if id > t.last {
		t.last = id
		t.inOrder++
	} else {
		t.ascending = false
	}
	if t.ascending && t.walks == 1 { // it is greater than all before
		t.recent = append(t.recent, id)
		t.items++
		return true
	}
	t.index()
	if _, known := t.known[id]; known || id <= t.passed {
		return false
	}
	t.known[id] = struct{}{}
	t.items++
	return true
}

// count records the count of a page.
func (t *tally) count(count *int) {
	if count != nil && (t.least == nil || *count < *t.least) {
		t.least = count
	}
}

// forget limits the memory for a long list: if IDs ascend, those up to the last
// one were seen.
func (t *tally) forget() {
	if t.ascending && len(t.known)+len(t.recent) > maxKnown {
		t.passed, t.recent = t.last, t.recent[:0]
		maps.DeleteFunc(t.known, func(id string, _ struct{}) bool { return id <= t.passed })
	}
}

// complete reports whether no item is missing. Every page counts the items that
// stay in the list, so the smallest count is enough. An item that was added
// before passed is not counted as new, so as many items in one walk are enough,
// too. A server that sends the number of items of each page in place of the
// list's is believed.
func (t *tally) complete() bool { return t.least == nil || max(t.items, t.inOrder) >= *t.least }

// stalled returns the error for a list that does not become complete.
func (t *tally) stalled(operation, orderColumn string) error {
	hint := ""
	if orderColumn == OrderByName {
		hint = "; of items with the same name some may be left out: order by ID"
	}
	return fmt.Errorf("cloudapi: %s: %w: %d of %d items reached%s", operation, ErrPaginationStalled, t.items, *t.least, hint)
}
