package cloudapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// ListOptions selects and orders what a list holds. A nil *ListOptions is the
// list of the whole project.
type ListOptions struct {
	// Location restricts the list to a location. Families that have no
	// locations refuse it with an [*ArgumentError].
	Location string `url:"-"`

	// StartAfter is the cursor: the list begins behind the item with this ID,
	// or, with OrderColumn "name", behind this name. The item need not exist.
	StartAfter string `url:"start_after,omitempty"`

	// PageSize is the number of items in a page. 0 leaves it to the server in
	// List (10 in the contract; the real server takes 1000) and is 1000 in
	// All. The real server gives at most 1000, whatever is asked for.
	PageSize int `url:"page_size,omitempty"`

	// OrderColumn is "id", the default, or for some lists "name". IDs are
	// random, so the order by ID says nothing about age. Names may repeat
	// across locations; walking a whole project in their order can then lose
	// items at page borders, which All reports as ErrPaginationStalled.
	OrderColumn string `url:"order_column,omitempty"`
}

// Values of [ListOptions.OrderColumn].
const (
	OrderByID   = "id"
	OrderByName = "name"
)

// Page is one page of a list. Items are in the short form of their record,
// without the fields that only a single record carries.
type Page[T any] struct {
	Items []*T

	// Count is the size of the whole list, of which this is a page; nil if
	// the server does not tell. SSH keys, init scripts and inference keys come
	// without it.
	Count *int

	// NextStartAfter is the cursor for the page behind this one: the last
	// item's ID or name. It is "" for an empty page, which is how a list ends.
	NextStartAfter string
}

// listItem is a record of which there are lists.
type listItem[T any] interface {
	record[T]

	// cursor returns the start_after for the page behind the record: its ID,
	// or what a list in the order of the given column continues from.
	cursor(orderColumn string) string
}

// minItemSize is less than the JSON of a record with an ID takes.
const minItemSize = len(`{"id":""},`) + ubid.Length

// defaultPageSize is what All asks for: the largest page of the real server.
const defaultPageSize = 1000

// listRoutes are the operations that list one family.
type listRoutes struct {
	project  *Operation
	location *Operation // nil: the family has no locations

	// whole: the real server sends everything at once and ignores page size
	// and cursor. A page of another size than the one asked for is the list,
	// and so is the first one if it comes again.
	whole bool

	// toEnd: a list of several pages ends with an empty one. Its count does not
	// tell: it stays the same when, between two pages, an item goes that was
	// seen and another comes that was not, and one that was there all the time
	// is then left out. Lists that may be whole end as ever if they do not count.
	toEnd bool
}

// list fetches one page. args are what the routes need besides the location.
func list[T any, P listItem[T]](ctx context.Context, c *Client, routes *listRoutes, opts *ListOptions, args ...string) (*Page[T], error) {
	op := routes.project
	var o ListOptions
	if opts != nil {
		o = *opts
	}
	if o.PageSize < 0 {
		return nil, &ArgumentError{Operation: op.Name, Name: "PageSize", Value: fmt.Sprint(o.PageSize), Reason: "must not be negative"}
	}
	if o.Location != "" {
		if op = routes.location; op == nil {
			return nil, &ArgumentError{Operation: routes.project.Name, Name: "Location", Value: o.Location, Reason: "does not apply to this list"}
		}
		args = []string{o.Location}
	}
	cl, err := c.newCall(op, nil, args)
	if err != nil {
		return nil, err
	}
	if err := cl.setQuery(o); err != nil {
		return nil, err
	}
	var page *Page[T]
	err = cl.do(ctx, acceptFunc(func(r reply) (err error) {
		page, err = decodePage[T, P](r, &o)
		return err
	}))
	if err != nil {
		return nil, err
	}
	return page, nil
}

// decodePage reads a list in any of the forms that the contract leaves open:
// an object with items, with or without a count, or a bare array.
func decodePage[T any, P listItem[T]](r reply, o *ListOptions) (*Page[T], error) {
	var body struct {
		Items []*T `json:"items"`
		Count *int `json:"count"`
	}
	decode := func() error { return r.records(&body) }
	if bytes.HasPrefix(bytes.TrimLeft(r.body, " \t\r\n"), []byte("[")) {
		decode = func() error { return r.records(&body.Items) }
	}
	// Room for the page that was asked for, as far as the reply can fill it.
	body.Items = make([]*T, 0, min(o.PageSize, len(r.body)/minItemSize))
	err := decode()
	if err == nil && len(body.Items) == 0 {
		body.Items = nil // to tell an empty list from none
		err = decode()
	}
	if err != nil {
		return nil, err
	}
	if body.Items == nil {
		return nil, errors.New("it has no items")
	}
	page := &Page[T]{Items: body.Items, Count: body.Count}
	for i, item := range page.Items {
		if item == nil {
			return nil, fmt.Errorf("item %d is null", i)
		}
		if field := P(item).missing(); field != "" {
			return nil, fmt.Errorf("item %d has no %s", i, field)
		}
		page.NextStartAfter = P(item).cursor(o.OrderColumn)
	}
	return page, nil
}

// all yields every item of a list. It holds one page at a time, and asks for
// the next when the consumer gets there, or earlier with prefetch.
func all[T any, P listItem[T]](ctx context.Context, c *Client, routes *listRoutes, opts *ListOptions, args ...string) iter.Seq2[*T, error] {
	var o ListOptions
	if opts != nil {
		o = *opts
	}
	if o.PageSize == 0 {
		o.PageSize = defaultPageSize
	}
	return func(yield func(*T, error) bool) {
		pages := walk[T, P](routes, o, func(ctx context.Context, o *ListOptions) (*Page[T], error) {
			return list[T, P](ctx, c, routes, o, args...)
		})
		if c.config.prefetch > 0 {
			pages = ahead(pages, c.config.prefetch)
		}
		for page, err := range pages(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i, item := range page.Items {
				page.Items[i] = nil // so that a kept record keeps only itself
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// pageSeq yields pages until an error, which is its last element.
type pageSeq[T any] func(context.Context) iter.Seq2[*Page[T], error]

// walk fetches page after page until the list is complete.
func walk[T any, P listItem[T]](routes *listRoutes, o ListOptions, fetch func(context.Context, *ListOptions) (*Page[T], error)) pageSeq[T] {
	return func(ctx context.Context) iter.Seq2[*Page[T], error] {
		return func(yield func(*Page[T], error) bool) {
			w := walker{
				routes:    routes,
				options:   o,
				fromStart: o.StartAfter == "",
				steady:    true,
				cursors:   map[string]bool{o.StartAfter: true},
			}
			for !w.done {
				page, err := fetch(ctx, &w.options)
				fresh := false
				if err == nil {
					repeats := slices.ContainsFunc(page.Items, func(item *T) bool {
						return P(item).cursor(o.OrderColumn) == w.options.StartAfter
					})
					fresh, err = w.advance(len(page.Items), page.Count, page.NextStartAfter, repeats)
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if fresh && !yield(page, nil) {
					return
				}
			}
		}
	}
}

// walker decides where a list goes on and when it ends.
type walker struct {
	routes    *listRoutes
	options   ListOptions // of the next page
	fromStart bool        // whether the walk began at the list's beginning
	done      bool

	pages   int
	seen    int
	count   *int // what the first page counted
	steady  bool // whether all pages counted the same
	cursors map[string]bool
}

// advance takes note of a page: its number of items, what it counts, the
// cursor behind it, and whether it repeats the item that it should follow. It
// returns whether the page has items that are new.
//
// A list ends with an empty page; or when as many items as it counts were
// seen, if that number stayed the same; or, if it does not count, with a page
// that is not full. A page that is not full is not the end of a list that
// counts more, since a server may send less than it is asked for. A page that
// has more than is counted is none either: it may have been counted alone.
func (w *walker) advance(items int, count *int, next string, repeats bool) (fresh bool, err error) {
	first := w.pages == 0
	if first {
		w.count = count
	}
	w.pages++
	w.seen += items
	w.steady = w.steady && (count == nil) == (w.count == nil) && (count == nil || *count == *w.count)
	stuck := repeats && !first || w.cursors[next]
	switch {
	case items == 0:
		w.done = true
		return false, w.checkComplete()
	case w.routes.whole && (stuck || first && items > w.options.PageSize):
		w.done = true
		return first, nil
	case stuck:
		return false, fmt.Errorf("cloudapi: %s: %w: the page after %q does not lead on",
			w.routes.project.Name, ErrPaginationStalled, w.options.StartAfter)
	case w.routes.toEnd && (count != nil || !w.routes.whole):
		w.done = first && count != nil && items == *count
	case count == nil:
		w.done = items < w.options.PageSize
	default:
		w.done = w.steady && w.seen == *count
	}
	w.cursors[next] = true
	w.options.StartAfter = next
	return true, nil
}

// checkComplete finds out at an empty page whether the list lost items: those
// that a first page counts and does not have, or, in an order that is not
// unique, those between two pages.
func (w *walker) checkComplete() error {
	if !w.fromStart || !w.steady || w.count == nil || w.seen >= *w.count {
		return nil
	}
	switch {
	case w.pages == 1:
		return fmt.Errorf("cloudapi: %s: %w: the first page has none of %d items",
			w.routes.project.Name, ErrPaginationStalled, *w.count)
	case w.options.OrderColumn == OrderByName:
		return fmt.Errorf("cloudapi: %s: %w: %d of %d items were reached, since several have the same name; order by ID",
			w.routes.project.Name, ErrPaginationStalled, w.seen, *w.count)
	}
	return nil
}

// ahead fetches up to n pages before they are asked for. When the consumer
// stops, the request under way is cancelled and waited for. A panic while
// fetching, or an exit of the goroutine, becomes one of the consumer, who would
// take it for the end of the list, or could not recover from it.
func ahead[T any](pages pageSeq[T], n int) pageSeq[T] {
	type result struct {
		page *Page[T]
		err  error
	}
	return func(ctx context.Context) iter.Seq2[*Page[T], error] {
		return func(yield func(*Page[T], error) bool) {
			ctx, cancel := context.WithCancel(ctx)
			results := make(chan result, n-1)
			stopped := make(chan struct{})
			var fetcher sync.WaitGroup
			var panicked any
			returned := false
			fetch := func() {
				for page, err := range pages(ctx) {
					select {
					case results <- result{page, err}:
					case <-stopped:
						return
					}
				}
			}
			fetcher.Go(func() {
				defer close(results)
				defer func() { panicked = recover() }()
				fetch()
				returned = true
			})
			defer func() {
				cancel()
				close(stopped)
				fetcher.Wait()
				switch {
				case panicked != nil:
					panic(panicked)
				case !returned:
					runtime.Goexit()
				}
			}()
			for r := range results {
				if !yield(r.page, r.err) {
					return
				}
			}
		}
	}
}

// Collect returns all items of a sequence as a slice, which is not nil, or the
// error that ended it.
//
//	vms, err := cloudapi.Collect(client.VMs.All(ctx, nil))
//
// A nil sequence is an [*ArgumentError]: to take it for an empty list could
// look like the news that nothing is there.
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
