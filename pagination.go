package cloudapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// ListOptions selects and orders what a list holds. A nil *ListOptions is the
// list of the whole project.
//
// Four lists have no parameters in the contract: SSH public keys, VM init
// scripts, inference API keys, and the firewall rules of a database. Each comes
// whole in one response, whatever the PageSize. StartAfter and OrderColumn,
// which would select and order what comes, are refused with an
// [*ArgumentError].
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
	// items at page borders, which All reports as ErrPaginationStalled if the
	// server counts the list.
	OrderColumn string `url:"order_column,omitempty"`

	// Tags restrict a list of Postgres databases to those that have all of them.
	// The service of August 2026 selects them itself in the list of a project; of
	// what other servers and lists send, the SDK leaves the rest out. Other
	// families refuse it with an [*ArgumentError].
	Tags []PostgresTag `url:"tags,omitempty,comma"`
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
	// without it. The server counts in a statement of its own, so what comes
	// and goes meanwhile can make it differ from what the pages hold. One that
	// counts the items of each page instead is believed: All then takes a first
	// page that is not full for the whole list.
	Count *int

	// NextStartAfter is the cursor for the page behind this one: the last
	// item's ID or name. It is "" for an empty page, which is how a list ends,
	// and for the page of a list without parameters, which is all of it.
	//
	// The audit log and the logs of a database go on with a key of the server's
	// own, which is the PaginationKey of their options. It is "" for the last page.
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

// maxPageSize is the number of items in the largest page of the real server,
// and what All asks for.
const maxPageSize = 1000

// listRoutes are the operations that list one family.
type listRoutes struct {
	project  *Operation
	location *Operation // nil: the family has no locations
	whole    bool       // the list has no parameters: one response is all of it
}

// list fetches one page. args are what the routes need besides the location.
func list[T any, P listItem[T]](ctx context.Context, c *Client, routes *listRoutes, opts *ListOptions, args ...string) (*Page[T], error) {
	op := routes.project
	var o ListOptions
	if opts != nil {
		o = *opts
	}
	if err := routes.check(&o); err != nil {
		return nil, err
	}
	if o.Location != "" {
		op, args = routes.location, []string{o.Location}
	}
	if routes.whole {
		o = ListOptions{}
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
	if routes.whole {
		page.NextStartAfter = ""
	}
	return page, nil
}

// check refuses options that the list does not have.
func (routes *listRoutes) check(o *ListOptions) error {
	refuse := func(name, value, reason string) error {
		return &ArgumentError{Operation: routes.project.Name, Name: name, Value: value, Reason: reason}
	}
	const none = "does not apply to this list"
	switch {
	case o.PageSize < 0:
		return refuse("PageSize", fmt.Sprint(o.PageSize), "must not be negative")
	case o.Location != "" && routes.location == nil:
		return refuse("Location", o.Location, none)
	case len(o.Tags) > 0 && routes != &listPostgres:
		return refuse("Tags", fmt.Sprint(o.Tags), none)
	case o.StartAfter != "" && routes.whole:
		return refuse("StartAfter", o.StartAfter, none+", which comes whole")
	case o.OrderColumn != "" && routes.whole:
		return refuse("OrderColumn", o.OrderColumn, none+", which comes whole")
	}
	return nil
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
	// Room for the page that was asked for, as far as the response can fill it.
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
	if n := len(page.Items); n > 0 {
		if err := checkItems[T, P](page.Items); err != nil {
			return nil, err
		}
		page.NextStartAfter = P(page.Items[n-1]).cursor(o.OrderColumn)
	}
	return page, nil
}

// checkItems returns what is wrong with the items of a page, or nil.
func checkItems[T any, P record[T]](items []*T) error {
	for i, item := range items {
		if item == nil {
			return fmt.Errorf("item %d is null", i)
		}
		if field := P(item).missing(); field != "" {
			return fmt.Errorf("item %d has no %s", i, field)
		}
	}
	return nil
}

// all yields every item of a list.
func all[T any, P listItem[T]](ctx context.Context, c *Client, routes *listRoutes, opts *ListOptions, args ...string) iter.Seq2[*T, error] {
	var o ListOptions
	if opts != nil {
		o = *opts
	}
	if o.PageSize == 0 {
		o.PageSize = maxPageSize
	}
	return items(ctx, c, walk[T, P](c, routes, o, args))
}

// pageSeq yields pages until an error, which is its last element.
type pageSeq[T any] func(context.Context) iter.Seq2[*Page[T], error]

// items yields the items of pages. It holds one page at a time, and asks for
// the next when the consumer gets there, or earlier with prefetch.
func items[T any](ctx context.Context, c *Client, pages pageSeq[T]) iter.Seq2[*T, error] {
	if n := c.config.prefetch; n > 0 && ctx != nil {
		pages = ahead(pages, n)
	}
	return func(yield func(*T, error) bool) {
		for page, err := range pages(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i, item := range page.Items {
				if ctx.Err() != nil {
					yield(nil, contextError(ctx))
					return
				}
				page.Items[i] = nil // so that a kept record keeps only itself
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// follow fetches page after page, from a cursor on, until one has no cursor for
// the next. It takes cursors as they are. A page whose cursor was asked for
// before does not lead on, and is an error.
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
						err = fmt.Errorf("cloudapi: %s: %w: the page after %q does not lead on", operation, ErrPaginationStalled, cursor)
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
			var fetched ending
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
				fetched.run(fetch)
			})
			defer func() {
				cancel()
				close(stopped)
				fetcher.Wait()
				fetched.repeat()
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
