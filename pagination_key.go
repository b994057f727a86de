package cloudapi

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
)

// listByKey fetches one page of a list that continues with a key from the
// server. Each page but the last has such a key. The options are the query, with
// the page size among them.
func listByKey[T any, P record[T]](ctx context.Context, c *conn, op *Operation, options any, pageSize int, args ...string) (*Page[T], error) {
	if err := checkPageSize(op, pageSize); err != nil {
		return nil, err
	}
	in, err := c.invoke(op, nil, args)
	if err != nil {
		return nil, err
	}
	if err := in.setQuery(options); err != nil {
		return nil, err
	}
	var page *Page[T]
	err = in.do(ctx, func(r call.Response) (err error) {
		page, err = decodePageByKey[T, P](r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// decodePageByKey decodes a page with the key of the next page.
func decodePageByKey[T any, P record[T]](r call.Response) (*Page[T], error) {
	var body struct {
		Items         []*T   `json:"items"`
		Logs          []*T   `json:"logs"` // in place of items
		PaginationKey string `json:"pagination_key"`
	}
	if err := decodeRecords(r, &body); err != nil {
		return nil, err
	}
	if body.Items == nil {
		body.Items = body.Logs
	}
	if body.Items == nil {
		return nil, errors.New("it has no items")
	}
	if err := checkItems[T, P](body.Items); err != nil {
		return nil, err
	}
	return &Page[T]{Items: body.Items, NextStartAfter: body.PaginationKey}, nil
}

// newestFirst yields the items of a list by key, the newest first. For each
// walk, begin fixes defaults of the options at the time when the walk begins,
// and returns the first key and the function that fetches the page of a key.
func newestFirst[T any](ctx context.Context, c *conn, op *Operation,
	begin func(now time.Time) (key string, fetch func(context.Context, string) (*Page[T], error))) iter.Seq2[*T, error] {
	return items(ctx, c, func(ctx context.Context) iter.Seq2[*Page[T], error] {
		key, fetch := begin(time.Now().UTC())
		return follow(op.Name, key, fetch)(ctx)
	})
}
