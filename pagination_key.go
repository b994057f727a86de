package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// listByKey fetches one page of a list that goes on with a key of the server's
// own, which comes with each page but the last. The options are its query.
func listByKey[T any, P record[T]](ctx context.Context, c *Client, op *Operation, options any, args ...string) (*Page[T], error) {
	cl, err := c.newCall(op, nil, args)
	if err != nil {
		return nil, err
	}
	if err := cl.setQuery(options); err != nil {
		return nil, err
	}
	var page *Page[T]
	err = cl.do(ctx, acceptFunc(func(r reply) error {
		var body struct {
			Items         []*T   `json:"items"`
			Logs          []*T   `json:"logs"` // in place of items
			PaginationKey string `json:"pagination_key"`
		}
		if err := r.records(&body); err != nil {
			return err
		}
		if body.Items == nil {
			body.Items = body.Logs
		}
		if body.Items == nil {
			return errors.New("it has no items")
		}
		page = &Page[T]{Items: body.Items, NextStartAfter: body.PaginationKey}
		return checkItems[T, P](body.Items)
	}))
	if err != nil {
		return nil, err
	}
	return page, nil
}

// newestFirst yields the items of a list by key, in which no page has anything
// newer than the page before it: a server that ignores a key begins anew, and
// would do so again and again. For each walk, begin fixes at the given time what
// the options leave open, and returns the key to begin with and what fetches the
// page of a key.
func newestFirst[T any](ctx context.Context, c *Client, op *Operation, at func(*T) time.Time,
	begin func(now time.Time) (key string, fetch func(context.Context, string) (*Page[T], error))) iter.Seq2[*T, error] {
	return items(ctx, c, func(ctx context.Context) iter.Seq2[*Page[T], error] {
		return func(yield func(*Page[T], error) bool) {
			key, fetch := begin(time.Now().UTC())
			var oldest time.Time
			for page, err := range follow(op.Name, key, fetch)(ctx) {
				if err == nil && len(page.Items) > 0 {
					if newest := at(page.Items[0]); !oldest.IsZero() && newest.After(oldest) {
						err = fmt.Errorf("cloudapi: %s: %w: behind what is of %v there is something of %v", op.Name, ErrPaginationStalled, oldest, newest)
					}
					oldest = at(page.Items[len(page.Items)-1])
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(page, nil) {
					return
				}
			}
		}
	})
}
