package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
	"github.com/cloudapi-sdk/cloudapi/internal/tally"
)

// ListOptions selects and orders the items of a list. Nil means all of them.
//
// The lists of SSH public keys, VM init scripts, inference API keys and the
// firewall rules of a database aren't paginated: their only page has all items,
// and StartAfter and OrderColumn must be empty.
type ListOptions struct {
	Location   string `url:"-"`                     // must be empty for families without locations
	StartAfter string `url:"start_after,omitempty"` // the list begins after this ID, or this name with OrderByName; no item has to have it

	// PageSize is the number of items in a page, up to 1000. The default is 1000;
	// for List with the contract, it's 10.
	PageSize int `url:"page_size,omitempty"`

	// OrderColumn is [OrderByID], the default, or for some lists [OrderByName]. With
	// the latter, All can miss resources with the same name in two locations, and
	// then yields [ErrPaginationStalled].
	OrderColumn string        `url:"order_column,omitempty"`
	Tags        []PostgresTag `url:"tags,omitempty,comma"` // selects databases with all of these; only for databases
}

// Page is one page of a list. Items can lack fields; see the comment of T.
type Page[T any] struct {
	Items []*T
	Count *int // the size of the list; nil if the server sends none, as for SSH keys

	// Next is the StartAfter of the next page: the last item's ID or name, also on
	// the last page with items, or "" if the page is empty or the list isn't
	// paginated. In the audit log and the logs
	// of a database, it's the PaginationKey of the next page, or "".
	Next string
}

// cursorOf returns the start_after of the page that follows an item, in a list
// ordered by the column: the item's name or ID, or the result of the item's
// method cursor, if it has one.
func cursorOf(item any, orderColumn string) string {
	if i, ok := item.(interface {
		cursor(orderColumn string) string
	}); ok {
		return i.cursor(orderColumn)
	}
	r := resourceOf(item)
	if orderColumn == OrderByName {
		return r.Name
	}
	return r.ID
}

// maxPageSize is the size of the server's largest page, and of All's pages.
const maxPageSize = 1000

// listRoutes are the operations that list the resources of a family.
type listRoutes struct {
	project      *Operation
	location     *Operation // nil if the family has no locations
	unpaged      bool       // the list has no parameters: one response has all items
	tags         bool       // the list can be filtered by tags
	noRetryOn500 bool       // a 500 isn't retried
}

// list fetches one page. args are the values of the route's placeholders,
// except the project and the location.
func list[T any](ctx context.Context, c *conn, routes *listRoutes, opts *ListOptions, args ...string) (*Page[T], error) {
	op, o, args, err := routes.resolve(opts, args)
	if err != nil {
		return nil, err
	}
	return readList[T](ctx, c, routes, op, o, args)
}

// resolve returns the operation, the options and the arguments of a list.
func (routes *listRoutes) resolve(opts *ListOptions, args []string) (*Operation, ListOptions, []string, error) {
	o := orZero(opts)
	if err := routes.check(&o); err != nil {
		return nil, o, nil, err
	}
	if o.Location != "" {
		return routes.location, o, []string{o.Location}, nil
	}
	return routes.project, o, args, nil
}

// readList fetches one page of a list.
func readList[T any](ctx context.Context, c *conn, routes *listRoutes, op *Operation, o ListOptions, args []string) (*Page[T], error) {
	if routes.unpaged {
		o = ListOptions{}
	}
	if c.config.plan != nil && ctx != nil {
		return plannedPage[T](ctx, c, routes, op, o, args)
	}
	return serverPage[T](ctx, c, routes, op, o, args)
}

// serverPage fetches one page from the server.
func serverPage[T any](ctx context.Context, c *conn, routes *listRoutes, op *Operation, o ListOptions, args []string) (*Page[T], error) {
	in, err := c.ask(op, o, args)
	if err != nil {
		return nil, err
	}
	in.request.NoRetryOn500 = routes.noRetryOn500
	page, err := readPage(ctx, in, decodePage[T])
	if err != nil {
		return nil, err
	}
	if n := len(page.Items); n > 0 && !routes.unpaged {
		if page.Next = cursorOf(page.Items[n-1], o.OrderColumn); page.Next == "" {
			return nil, fmt.Errorf("cloudapi: %s: %w: the last item has no %s", op.Name, ErrInvalidResponse, o.OrderColumn)
		}
	}
	return page, nil
}

// listByKey fetches one page of a list that continues with a key from the
// server. The options are the query, including the page size.
func listByKey[T any](ctx context.Context, c *conn, op *Operation, options any, pageSize int, args ...string) (*Page[T], error) {
	if err := checkPageSize(op, pageSize); err != nil {
		return nil, err
	}
	in, err := c.ask(op, options, args)
	if err != nil {
		return nil, err
	}
	return readPage(ctx, in, decodeKeyedPage[T])
}

// check refuses options that the list doesn't support.
func (routes *listRoutes) check(o *ListOptions) error {
	refuse := func(name, value, reason string) error {
		return argumentError(routes.project.Name, name, value, reason)
	}
	const none = "does not apply to this list"
	if err := checkPageSize(routes.project, o.PageSize); err != nil {
		return err
	}
	switch {
	case o.Location != "" && routes.location == nil:
		return refuse("Location", o.Location, none)
	case len(o.Tags) > 0 && !routes.tags:
		return refuse("Tags", fmt.Sprint(o.Tags), none)
	case o.StartAfter != "" && routes.unpaged:
		return refuse("StartAfter", o.StartAfter, none+", which comes whole")
	case o.OrderColumn != "" && routes.unpaged:
		return refuse("OrderColumn", o.OrderColumn, none+", which comes whole")
	}
	return nil
}

// checkPageSize refuses a negative page size.
func checkPageSize(op *Operation, size int) error {
	if size < 0 {
		return argumentError(op.Name, "PageSize", strconv.Itoa(size), "must not be negative")
	}
	return nil
}

// readPage sends a call whose response is a page, and checks the page's items.
func readPage[T any](ctx context.Context, in *invocation, decode func(call.Response) (*Page[T], error)) (page *Page[T], err error) {
	err = in.do(ctx, func(r call.Response) (err error) {
		if page, err = decode(r); err != nil {
			return err
		}
		if page.Items == nil {
			return errors.New("it has no items")
		}
		for i, item := range page.Items {
			if item == nil {
				return fmt.Errorf("item %d is null", i)
			}
			if field := lacks(item); field != "" {
				return fmt.Errorf("item %d has no %s", i, field)
			}
		}
		if i, field := firstMismatch(&in.want, page.Items); field != "" {
			return fmt.Errorf("item %d is of another %s", i, field)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// decodePage decodes a page in any form that the contract allows: an object with
// items, with or without a count, or a bare array.
func decodePage[T any](r call.Response) (*Page[T], error) {
	var body struct {
		Items []*T `json:"items"`
		Count *int `json:"count"`
	}
	var to any = &body
	if isArray(r.Body) {
		to = &body.Items
	}
	err := decodeRecords(r, to)
	return &Page[T]{Items: body.Items, Count: body.Count}, err
}

// decodeKeyedPage decodes a page that may have the key of the next one.
func decodeKeyedPage[T any](r call.Response) (*Page[T], error) {
	var body struct {
		Items         []*T   `json:"items"`
		Logs          []*T   `json:"logs"` // in place of items, in a response of Postgres.ListLogs
		PaginationKey string `json:"pagination_key"`
	}
	err := decodeRecords(r, &body)
	if body.Items == nil {
		body.Items = body.Logs
	}
	return &Page[T]{Items: body.Items, Next: body.PaginationKey}, err
}

// maxWalks is how often walk tries to read all items of a list.
const maxWalks = 4

// all yields every item of a list.
func all[T any](ctx context.Context, c *conn, routes *listRoutes, opts *ListOptions, args ...string) iter.Seq2[*T, error] {
	o := orZero(opts)
	if o.PageSize == 0 {
		o.PageSize = maxPageSize
	}
	return items(ctx, c, walk[T](c, routes, o, args))
}

// walk fetches the pages of a list, and yields each item once.
//
// A list ends with an empty page, or with a first page that has all items; see
// hasAll. Neither the server's count nor a short page marks the end: the server
// counts the items in a separate query, it may send fewer items than requested,
// and items come and go.
//
// If every Count is greater than the number of items found, walk reads the list
// again, after the delay of a retry. Nothing has to be wrong: somebody may have
// created an item between a page and its Count, or before the cursor.
func walk[T any](c *conn, routes *listRoutes, o ListOptions, args []string) pageSeq[T] {
	pages := pagesFrom(routes.project.Name, o.StartAfter, func(ctx context.Context, cursor string) (*Page[T], error) {
		asked := o
		asked.StartAfter = cursor
		op, asked, args, err := routes.resolve(&asked, args)
		if err != nil {
			return nil, err
		}
		page, err := readList[T](ctx, c, routes, op, asked, args)
		if err == nil && cursor == o.StartAfter && page.hasAll(o.PageSize) {
			page.Next = ""
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
						page.Items = slices.DeleteFunc(page.Items, func(item *T) bool { return !seen.Add(cursorOf(item, OrderByID)) })
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

// hasAll reports whether a first page has all items of the list: the page has
// as many items as its Count, and wasn't cut off at the page size.
func (p *Page[T]) hasAll(pageSize int) bool {
	n := len(p.Items)
	return p.Count != nil && *p.Count == n && n != pageSize && n != maxPageSize
}

// maxKnown limits how many IDs of yielded items walk remembers to recognize
// duplicates. The limit applies only to a list that is sorted by ID.
const maxKnown = 2 * maxPageSize

// stalled returns the error for a list that doesn't become complete.
func stalled(t *tally.Tally, operation, orderColumn string) error {
	reached, total := t.Reached()
	hint := ""
	if orderColumn == OrderByName {
		hint = "; of items with the same name some may be left out: order by ID"
	}
	return fmt.Errorf("cloudapi: %s: %w: %d of %d items reached%s", operation, ErrPaginationStalled, reached, total, hint)
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
				page.Items[i] = nil // so that the record can be freed before the loop leaves the page
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// maxEmptyPages is how many pages without items pagesFrom takes in a row.
const maxEmptyPages = 100

// pagesFrom gets pages until one has no next cursor. start is the cursor of the
// first page. It doesn't interpret cursors. It ends with an error if the next
// cursor of a page was already used, or if too many pages have no items.
func pagesFrom[T any](operation, start string, get func(ctx context.Context, cursor string) (*Page[T], error)) pageSeq[T] {
	return func(ctx context.Context) iter.Seq2[*Page[T], error] {
		return func(yield func(*Page[T], error) bool) {
			asked, empty := map[string]bool{}, 0
			for cursor, more := start, true; more; {
				asked[cursor] = true
				page, err := get(ctx, cursor)
				if err == nil {
					more = page.Next != ""
					if empty++; len(page.Items) > 0 {
						empty = 0
					}
					switch {
					case more && empty == maxEmptyPages:
						err = fmt.Errorf("cloudapi: %s: %w: %d pages in a row have no items", operation, ErrPaginationStalled, empty)
					case more && asked[page.Next]:
						err = fmt.Errorf("cloudapi: %s: %w: the page after %q has a cursor that was already used", operation, ErrPaginationStalled, cursor)
					}
				}
				if err != nil {
					yield(nil, err)
					return
				}
				cursor = page.Next
				if !yield(page, nil) {
					return
				}
			}
		}
	}
}

// Collect returns all items of a sequence. If the sequence ends with an error,
// Collect returns the items before it together with the error.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	if seq == nil {
		return nil, &ArgumentError{Operation: "Collect", Name: "seq", Reason: "must not be nil"}
	}
	items := []T{}
	for item, err := range seq {
		if err != nil {
			return items, err
		}
		items = append(items, item)
	}
	return items, nil
}
