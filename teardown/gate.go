package teardown

import (
	"context"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// gate limits the number of concurrent requests. As an observer of a client it
// sees every call.
type gate struct {
	places chan struct{} // has a value for each that is taken

	// turns has a value for each deletion that has a place or waits for one. The
	// other deletions wait for a turn, so that a poll waits for a few requests
	// at most, and not for a thousand deletions.
	turns chan struct{}
}

func newGate(places int) gate {
	return gate{make(chan struct{}, places), make(chan struct{}, places)}
}

// insideKey is the key of the contexts of those who hold a place.
type insideKey struct{}

// observe lets a call pass when there is a free place, unless its context has
// one already.
func (g gate) observe(ctx context.Context, _ cloudapi.Operation) (context.Context, func(error)) {
	if isInside(ctx) || enter(ctx, g.places) != nil { // a call whose context has ended sends nothing
		return ctx, nil
	}
	return ctx, func(error) { <-g.places }
}

// hold calls f when there is a free place, which all calls with f's context use.
func (g gate) hold(ctx context.Context, f func(context.Context) error) error {
	if isInside(ctx) {
		return f(ctx)
	}
	for _, c := range []chan struct{}{g.turns, g.places} {
		if err := enter(ctx, c); err != nil {
			return err
		}
		defer func() { <-c }()
	}
	return f(context.WithValue(ctx, insideKey{}, true))
}

func enter(ctx context.Context, c chan struct{}) error {
	select {
	case c <- struct{}{}:
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
