package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// ListOptions selects and orders the items of a list. Nil means all of them.
//
// The lists of SSH public keys, VM init scripts, inference API keys and the
// firewall rules of a database aren't paginated: their only page has all items,
// and StartAfter and OrderColumn must be empty.
type ListOptions struct {
	Location string `url:"-"` // must be empty for families without locations

	// StartAfter is the cursor: the list begins after the item with this ID or,
	// with OrderColumn "name", after this name. The item need not exist.
	StartAfter string `url:"start_after,omitempty"`

	// PageSize is the number of items in a page, up to 1000. The default is 1000 in
	// All and the server's in List: 10 in the contract, 1000 on the real server.
	PageSize int `url:"page_size,omitempty"`

	// OrderColumn is "id", the default, or for some lists "name". Names may occur
	// in several locations, so All by name can miss items of a whole project: it
	// then yields ErrPaginationStalled if the server counts the list.
	OrderColumn string `url:"order_column,omitempty"`

	// Tags restrict a list of Postgres databases to those with all of the tags;
	// where the server doesn't filter, the SDK does. Other families refuse
	// them.
	Tags []PostgresTag `url:"tags,omitempty,comma"`
}

// Page is one page of a list. Items have the short form of their record.
type Page[T any] struct {
	Items []*T
	Count *int // the size of the list; nil for SSH keys, init scripts and inference keys

	// NextStartAfter is the cursor of the next page: the last item's ID or name,
	// or "" if the page is empty or the list isn't paginated. In the audit log and
	// the logs of a database, it's the PaginationKey of the next page, or "".
	NextStartAfter string
}

// listItem is a record that occurs in lists.
type listItem[T any] interface {
	record[T]

	// cursor returns the start_after of the page after the record: its ID, or its
	// value in the given order column.
	cursor(orderColumn string) string
}

// minItemSize is smaller than the JSON of any record with an ID.
const minItemSize = len(`{"id":""},`) + ubid.Length

// maxPageSize is the size of the real server's largest page, and the page size
// that All requests.
const maxPageSize = 1000

// listRoutes are the operations that list one family.
type listRoutes struct {
	project  *Operation
	location *Operation // nil: the family has no locations
	unpaged  bool       // the list has no parameters: one response has all items
	tags     bool       // it can be filtered by tags
	final500 bool       // a 500 isn't retried
}

// list fetches one page. args are the values for the route besides the
// location.
func list[T any, P listItem[T]](ctx context.Context, c *conn, routes *listRoutes, opts *ListOptions, args ...string) (*Page[T], error) {
	op := routes.project
	o := orZero(opts)
	if err := routes.check(&o); err != nil {
		return nil, err
	}
	if o.Location != "" {
		op, args = routes.location, []string{o.Location}
	}
	if routes.unpaged {
		o = ListOptions{}
	}
	in, err := c.invoke(op, nil, args)
	if err != nil {
		return nil, err
	}
	if err := in.setQuery(o); err != nil {
		return nil, err
	}
	in.request.FinalOn500 = routes.final500
	var page *Page[T]
	err = in.do(ctx, func(r call.Response) (err error) {
		if page, err = decodePage[T, P](r, &o); err != nil {
			return err
		}
		if i, field := firstOther(&in.about, page.Items); field != "" {
			return fmt.Errorf("item %d is of another %s", i, field)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if routes.unpaged {
		page.NextStartAfter = ""
	}
	return page, nil
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

// checkPageSize refuses an option that every list has.
func checkPageSize(op *Operation, size int) error {
	if size < 0 {
		return argumentError(op.Name, "PageSize", strconv.Itoa(size), "must not be negative")
	}
	return nil
}

// decodePage decodes a page in any form that the contract allows: an object
// with items, with or without a count, or a bare array.
func decodePage[T any, P listItem[T]](r call.Response, o *ListOptions) (*Page[T], error) {
	var body struct {
		Items []*T `json:"items"`
		Count *int `json:"count"`
	}
	decode := func() error { return decodeRecords(r, &body) }
	if isArray(r.Body) {
		decode = func() error { return decodeRecords(r, &body.Items) }
	}
	// Room for a full page, but no more items than the response can contain.
	body.Items = make([]*T, 0, min(o.PageSize, len(r.Body)/minItemSize))
	err := decode()
	if err == nil && len(body.Items) == 0 {
		body.Items = nil // to tell an empty list from a missing one
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
		if field := P(item).lacks(); field != "" {
			return fmt.Errorf("item %d has no %s", i, field)
		}
	}
	return nil
}
