package teardown

import (
	"context"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// gate limits the number of concurrent requests. As an observer of a client it
// sees every call.
type gate chan struct{}

// insideKey is the key of the contexts of those who hold a place.
type insideKey struct{}

// observe lets a call pass when there is a free place, unless its context has
// one already.
func (g gate) observe(ctx context.Context, _ cloudapi.Operation) (context.Context, func(error)) {
	if isInside(ctx) || g.enter(ctx) != nil { // a call whose context has ended sends nothing
		return ctx, nil
	}
	return ctx, func(error) { <-g }
}

// hold calls f when there is a free place, which all calls with f's context use.
func (g gate) hold(ctx context.Context, f func(context.Context) error) error {
	if isInside(ctx) {
		return f(ctx)
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer func() { <-g }()
	return f(context.WithValue(ctx, insideKey{}, true))
}

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return pace.Err(ctx)
	}
}

func isInside(ctx context.Context) bool { return ctx.Value(insideKey{}) != nil }

// each calls f for each item: concurrently, or one after the other if the
// context has only one place.
func each[S, T any](ctx context.Context, items []S, f func(context.Context, S) *T) []*T {
	if !isInside(ctx) {
		results, _ := cloudapi.WaitAll(ctx, items, func(ctx context.Context, item S) (*T, error) { return f(ctx, item), nil })
		return results
	}
	results := make([]*T, len(items))
	for i, item := range items {
		results[i] = f(ctx, item)
	}
	return results
}
