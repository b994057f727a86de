package cloudapi

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// maxWalks is how often a list is walked until it shows as many items as it
// counts.
const maxWalks = 4

// walk fetches the pages of a list, and yields of each what no page before it
// had.
//
// A list ends with an empty page, and otherwise only with a first page that
// [Page.isWhole]. The number of items seen and the length of a page are no sign:
// the server counts in a statement of its own, it may send fewer items than it
// is asked for, and items come and go.
//
// A list that ends although every page counted more items than were seen is
// walked again, after the delay of a retry. On the real server that is chance:
// an item came between the page and its count, or one went ahead of the cursor
// while another came behind it.
func walk[T any, P listItem[T]](c *Client, routes *listRoutes, o ListOptions, args []string) pageSeq[T] {
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
					err = sleep(ctx, c.config.retry.delay(walks, 0))
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
// as it counts, and another number than that at which pages are cut off.
func (p *Page[T]) isWhole(pageSize int) bool {
	n := len(p.Items)
	return p.Count != nil && *p.Count == n && n != pageSize && n != maxPageSize
}

// maxKnown is how many IDs of one list are remembered, if they ascend.
const maxKnown = 2 * maxPageSize

// tally is what was seen of a list.
type tally struct {
	known     map[string]struct{} // the IDs of the items, but for those up to passed
	passed    string              // IDs up to this one are taken for known
	ascending bool                // whether the IDs of every walk have ascended
	items     int                 // how many were new
	least     *int                // the smallest count of a page; nil: none has one

	// Of the walk under way.
	last    string // the greatest ID
	inOrder int    // items whose ID was greater than all before
}

func newTally(orderColumn string) *tally {
	return &tally{known: map[string]struct{}{}, ascending: orderColumn == "" || orderColumn == OrderByID}
}

// begin takes note that the list is walked from its beginning.
func (t *tally) begin() { t.last, t.inOrder = "", 0 }

// add takes note of an item, and reports whether it is new.
func (t *tally) add(id string) bool {
	if id > t.last {
		t.last = id
		t.inOrder++
	} else {
		t.ascending = false
	}
	if _, known := t.known[id]; known || id <= t.passed {
		return false
	}
	t.known[id] = struct{}{}
	t.items++
	return true
}

// count takes note of what a page counts.
func (t *tally) count(count *int) {
	if count != nil && (t.least == nil || *count < *t.least) {
		t.least = count
	}
}

// forget keeps a long list from being remembered as a whole: if IDs ascend, those
// that are no greater than the last were seen.
func (t *tally) forget() {
	if t.ascending && len(t.known) > maxKnown {
		t.passed = t.last
		maps.DeleteFunc(t.known, func(id string, _ struct{}) bool { return id <= t.passed })
	}
}

// complete reports whether as many items were seen as a page counted: what was
// in the list all the time was counted by every page. In a long list, of which
// not all is remembered, the items of one walk are enough. A server that counts
// the items of each page in place of those of the list is believed.
func (t *tally) complete() bool { return t.least == nil || max(t.items, t.inOrder) >= *t.least }

// stalled is the error for a list that does not get complete.
func (t *tally) stalled(operation, orderColumn string) error {
	hint := ""
	if orderColumn == OrderByName {
		hint = "; of items with the same name some may be left out: order by ID"
	}
	return fmt.Errorf("cloudapi: %s: %w: %d of %d items were reached%s", operation, ErrPaginationStalled, t.items, *t.least, hint)
}
