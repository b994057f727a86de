package api

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// Paging says how an operation treats the page parameters.
type Paging int

const (
	notAList        Paging = iota
	PagedDeclared          // has pages; parameters of a wrong type are refused
	PagedUndeclared        // has pages, although the API description doesn't say so; parameters of a wrong type are ignored
	Unpaged                // always returns the complete list
)

// pageParameters are the parameters of lists, in the order of the API
// description.
var pageParameters = []schema.Field{
	schema.Optional("start_after", schema.Text), schema.Optional("page_size", schema.Integer), schema.Optional("order_column", schema.Text),
}

// parameters returns the page parameters. The contract declares them even for
// lists that ignore them.
func (p Paging) parameters() []string {
	if p == notAList {
		return nil
	}
	return Records(pageParameters, func(f schema.Field) string { return f.Name })
}

// size returns the size of a page for a query that has none.
func (p Paging) size(cfg *Config) int {
	if p == PagedDeclared && cfg.Version == version.Contract {
		return min(10, cfg.PageCap)
	}
	return cfg.PageCap
}

// check refuses arrays, such as "page_size[]=1", also for operations that aren't
// lists.
func (p Paging) check(query url.Values) error {
	for _, f := range pageParameters {
		if values, ok := query[f.Name+"[]"]; ok {
			return reply.BadRequest("#/components/parameters/%s/schema expected %s, but received Array: %s", f.Name, f.Schema.Type, reply.List(values))
		}
	}
	if p != PagedDeclared {
		return nil
	}
	size, ok := Last(query, "page_size")
	if _, err := strconv.Atoi(size); ok && err != nil {
		return reply.BadRequest("#/components/parameters/page_size/schema expected integer, but received String: %q", size)
	}
	return nil
}

// Page is the response of a list with a count. Count is the number of all
// items, not only of those on the page.
type Page struct {
	Items any `json:"items"` // a slice, or its JSON
	Count int `json:"count"`
}

// Items is the response of a list without a count.
type Items[R any] struct {
	Items []R `json:"items"`
}

func (list Items[R]) empty() bool { return len(list.Items) == 0 }

// At returns a function that passes its argument and the [Moment] to record.
func At[T, R any](at *Moment, record func(T, *Moment) R) func(T) R {
	return func(row T) R { return record(row, at) }
}

// Records returns the record of each row. It never returns nil, since JSON
// lists are never null.
func Records[T, R any](rows []T, record func(T) R) []R {
	rendered := make([]R, len(rows))
	for i, row := range rows {
		rendered[i] = record(row)
	}
	return rendered
}

// ObjectName returns an object's value in the column "name", by which most
// lists can be sorted.
func ObjectName[T Stored](o T) string { return o.Core().Name }

// Paginate returns the page that the query asks for. list returns all rows in
// the order of IDs. Paginate calls list twice, since the real server also reads
// the items and their count separately. nameOf returns a row's value in the
// column "name"; it's nil if the list can't be sorted by name.
func Paginate[T Stored, R any](c *Call, list func(*Call) []Stored, nameOf func(T) string, record func(T, *Moment) R) (any, error) {
	column, ok := Last(c.Query, "order_column")
	if !ok {
		column = "id"
	}
	rows := list(c)
	start, started := Last(c.Query, "start_after")
	switch {
	case column == "id" && started:
		id, err := cloudapi.ParseID(start)
		if err != nil {
			return nil, reply.InvalidField("start_after", "%s is not a valid ID", start)
		}
		rows = rows[indexAfter(rows, id.UUID()):]
	case column == "id":
	case column == "name" && nameOf != nil:
		name := func(o Stored) string { return nameOf(o.(T)) }
		rows = slices.DeleteFunc(slices.Clone(rows), func(o Stored) bool { return started && name(o) <= start })
		slices.SortStableFunc(rows, func(a, b Stored) int { return strings.Compare(name(a), name(b)) })
	case nameOf == nil:
		return nil, reply.InvalidField("order_column", "Supported ordering columns: id")
	default:
		return nil, reply.InvalidField("order_column", "Supported ordering columns: id, name")
	}
	rows = rows[:min(len(rows), c.pageSize())]
	page := Page{Items: Records(As[T](rows), At(c.Moment, record))}
	if c.beforeCount != nil {
		page.Items = json.RawMessage(reply.Encode(page.Items)) // encoded now, since beforeCount may change the objects
		c.beforeCount()
	}
	page.Count = len(list(c))
	return page, nil
}

func (c *Call) pageSize() int {
	size, _ := Last(c.Query, "page_size")
	n, _ := strconv.Atoi(size)
	if n < 1 {
		return c.page
	}
	return min(n, c.Config.PageCap)
}
