package cloudapitest

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// paging says what an operation makes of the page parameters.
type paging int

const (
	notAList        paging = iota
	pagedDeclared          // pages; parameters of a wrong type are refused
	pagedUndeclared        // pages, though its description says nothing of it; such parameters are ignored
	unpaged                // always answers with the complete list
)

// parameters are those that a client may send. The contract gives them to all
// lists.
func (p paging) parameters() []string {
	if p == notAList {
		return nil
	}
	return []string{"start_after", "page_size", "order_column"}
}

// check checks the parameters as the description has them.
func (p paging) check(query url.Values) error {
	if p != pagedDeclared {
		return nil
	}
	const expected = "#/components/parameters/page_size/schema expected integer, but received "
	if array, ok := query["page_size[]"]; ok {
		return badRequest("%sArray: %s", expected, rubyStrings(array))
	}
	if size, ok := last(query, "page_size"); ok && !integerForm.MatchString(size) {
		return badRequest("%sString: %s", expected, strconv.Quote(size))
	}
	return nil
}

var integerForm = regexp.MustCompile(`^\s*[+-]?[0-9]+\s*$`)

// last returns the value of a query parameter; the last one counts.
func last(query url.Values, name string) (string, bool) {
	values, ok := query[name]
	if !ok {
		return "", false
	}
	return values[len(values)-1], true
}

// page is the reply of a list that counts. Count is the number of all items,
// not only of those on the page.
type page[R any] struct {
	Items []R `json:"items"`
	Count int `json:"count"`
}

// items is the reply of a list that does not count.
type items[R any] struct {
	Items []R `json:"items"`
}

// records renders rows; it never returns nil, since lists are never null.
func records[T, R any](rows []T, record func(T) R) []R {
	rendered := make([]R, len(rows))
	for i, row := range rows {
		rendered[i] = record(row)
	}
	return rendered
}

// objectName is the order of most lists by name.
func objectName[T stored](o T) string { return o.core().name }

// paginate answers with the page of rows, which come in the order of IDs, that
// the query asks for. NameOf is the column "name", or nil if the list cannot be
// ordered by it.
func paginate[T stored, R any](c *call, rows []stored, nameOf func(T) string, record func(T) R) (any, error) {
	if err := c.checkUploaded(); err != nil {
		return nil, err
	}
	column, ok := last(c.query, "order_column")
	if !ok {
		column = "id"
	}
	count := len(rows)
	start, started := last(c.query, "start_after")
	switch {
	case column == "id" && started:
		id, err := cloudapi.ParseID(start)
		if err != nil {
			return nil, invalidField("start_after", "%s is not a valid ID", start)
		}
		rows = rows[after(rows, id.UUID()):]
	case column == "id":
	case column == "name" && nameOf != nil:
		name := func(o stored) string { return nameOf(o.(T)) }
		rows = slices.DeleteFunc(slices.Clone(rows), func(o stored) bool { return started && name(o) <= start })
		slices.SortStableFunc(rows, func(a, b stored) int { return strings.Compare(name(a), name(b)) })
	case nameOf == nil:
		return nil, invalidField("order_column", "Supported ordering columns: id")
	default:
		return nil, invalidField("order_column", "Supported ordering columns: id, name")
	}
	rows = rows[:min(len(rows), c.pageSize())]
	return page[R]{records(as[T](rows), record), count}, nil
}

// checkUploaded checks the body of a request that should have none. The real
// server looks there too for the parameters of a query.
func (c *call) checkUploaded() error {
	if len(c.raw) > 0 && !json.Valid(c.raw) {
		return invalidRequest("invalid JSON uploaded")
	}
	return nil
}

// pageSize is the page that the query asks for, within the server's largest one.
func (c *call) pageSize() int {
	size, _ := last(c.query, "page_size")
	n, err := strconv.Atoi(strings.TrimSpace(size))
	if err != nil || n < 1 {
		return c.config.pageCap
	}
	return min(n, c.config.pageCap)
}
