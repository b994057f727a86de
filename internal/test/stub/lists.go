package stub

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
)

// Item is an item of a list.
type Item struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Key returns the cursor of the page after the item.
func (i Item) Key(orderColumn string) string {
	if orderColumn == "name" {
		return i.Name
	}
	return i.ID
}

// Numbered returns n items in the order of their IDs and of their names.
func Numbered(n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{fmt.Sprintf("vm%024d", i), fmt.Sprintf("web-%06d", i)}
	}
	return items
}

// IDsOf returns the IDs of items.
func IDsOf(items []Item) (ids []string) {
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	return ids
}

// List answers list requests like a server of this API, unless its fields make
// it differ.
type List struct {
	Items   []Item // sorted both by ID and by name
	Max     int    // maximum number of items in a page, even if more are requested; 0: no limit
	NoCount bool
	Bare    bool // the response is an array, not an object
	Whole   bool // the response has all items, whatever page is requested

	Between func() // called after the items of a page are chosen, and before the count
}

// Answer returns the response to a request.
func (l *List) Answer(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	page := l.Items
	if !l.Whole {
		column, after := query.Get("order_column"), query.Get("start_after")
		for len(page) > 0 && after != "" && page[0].Key(column) <= after {
			page = page[1:]
		}
		size, err := strconv.Atoi(query.Get("page_size"))
		if err != nil {
			return nil, err
		}
		if l.Max > 0 {
			size = min(size, l.Max)
		}
		page = page[:min(size, len(page))]
	}
	if page == nil {
		page = []Item{}
	}
	if l.Between != nil {
		l.Between()
	}
	body := map[string]any{"items": page, "count": len(l.Items)}
	switch {
	case l.Bare:
		return Respond(200, string(JSON(page))), nil
	case l.NoCount:
		delete(body, "count")
	}
	return Respond(200, string(JSON(body))), nil
}

// Polled answers the nth request with the nth response, and then always with
// the last. A response is the JSON of a record, the status of an error, a
// BadNotFound, or the error of a transport without a response.
func Polled(replies ...any) *Recorder {
	served := 0
	return &Recorder{Answer: func(*http.Request) (*http.Response, error) {
		reply := replies[min(served, len(replies)-1)]
		served++
		switch reply := reply.(type) {
		case int:
			return Respond(reply, Envelope(reply)), nil
		case error:
			return nil, reply
		case BadNotFound:
			return Respond(404, string(reply)), nil
		default:
			return Respond(200, reply.(string)), nil
		}
	}}
}

// BadNotFound is the body of a 404 that isn't the API's, or that is incomplete.
type BadNotFound string

// Limiter makes a function a rate limiter for a client.
type Limiter func(context.Context) error

// Wait calls the function.
func (f Limiter) Wait(ctx context.Context) error { return f(ctx) }
