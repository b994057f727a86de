package teardown

import (
	"context"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// gate limits the number of concurrent requests. As an observer of the client,
// it sees every call.
type gate struct {
	slots chan struct{} // holds one value per taken slot

	// queue limits how many deletions wait for a slot. So a poll waits behind a
	// few requests, and not behind a thousand deletions.
	queue chan struct{}
}

func newGate(size int) gate {
	return gate{make(chan struct{}, size), make(chan struct{}, size)}
}

// insideKey is the context key that marks the holder of a slot.
type insideKey struct{}

// observe waits for a free slot, unless the context already has one.
func (g gate) observe(ctx context.Context, _ cloudapi.Operation) (context.Context, func(error)) {
	if isInside(ctx) || enter(ctx, g.slots) != nil { // if enter fails, the context has ended, and the call sends nothing
		return ctx, nil
	}
	return ctx, func(error) { <-g.slots }
}

// withSlot calls f once a slot is free. All calls with f's context use that
// slot.
func (g gate) withSlot(ctx context.Context, f func(context.Context) error) error {
	if isInside(ctx) {
		return f(ctx)
	}
	for _, c := range []chan struct{}{g.queue, g.slots} {
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

// forEach calls f for each item: concurrently, or one by one if the context
// already has a slot.
func forEach[S, T any](ctx context.Context, items []S, f func(context.Context, S) *T) []*T {
	if !isInside(ctx) {
		results, _ := cloudapi.WaitAll(ctx, items, func(ctx context.Context, item S) (*T, error) { return f(ctx, item), nil }, nil)
		return results
	}
	results := make([]*T, len(items))
	for i, item := range items {
		results[i] = f(ctx, item)
	}
	return results
}
