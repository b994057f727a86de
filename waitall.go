package cloudapi

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
	"github.com/cloudapi-sdk/cloudapi/internal/sharedlist"
)

// WaitAllOption is a setting of [WaitAll].
type WaitAllOption func(*waitAllConfig)

type waitAllConfig struct {
	atOnce   *int
	failFast bool
}

// WaitConcurrency sets the number of parallel waits, at least 1; default all.
func WaitConcurrency(waits int) WaitAllOption {
	return func(c *waitAllConfig) { c.atOnce = &waits }
}

// WaitFailFast lets the first wait that fails cancel the others, with its error
// as the cause. WaitAll returns when all have ended, with the records of those
// that succeeded and only this error.
func WaitFailFast() WaitAllOption {
	return func(c *waitAllConfig) { c.failFast = true }
}

// WaitAll calls wait for each of the items concurrently, and returns when all
// calls have ended. The records are in the order of the items, nil for a failed
// wait. The error joins the errors of all failed waits in that order.
//
//	names := []string{"web-1", "web-2", "web-3"}
//	vms, err := cloudapi.WaitAll(ctx, names, func(ctx context.Context, name string) (*cloudapi.VM, error) {
//		return client.VMs.WaitRunning(ctx, location, name)
//	})
//
// Waits of one client for deletions, or for states that lists show, share the
// lists of a family and location if that takes fewer requests than getting each
// resource; the records in [Progress] can then have the short form. A list may
// be stale, so after 16 of them a wait gets its resource. Waits must use the
// context that WaitAll passes: set a deadline on WaitAll's own.
func WaitAll[S, T any](ctx context.Context, items []S, wait func(context.Context, S) (*T, error), opts ...WaitAllOption) ([]*T, error) {
	const operation = "WaitAll"
	c := waitAllConfig{}
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	atOnce := len(items)
	if c.atOnce != nil {
		atOnce = *c.atOnce
	}
	switch {
	case ctx == nil:
		return nil, noContext(operation)
	case wait == nil:
		return nil, &ArgumentError{Operation: operation, Name: "wait", Reason: "must not be nil"}
	case c.atOnce != nil && atOnce < 1:
		return nil, argumentError(operation, "WaitConcurrency", strconv.Itoa(atOnce), "must be at least 1")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	group := sharedlist.NewGroup(ctx, len(items), atOnce)
	defer group.End()
	defer cancel(nil)
	records, errs := make([]*T, len(items)), make([]error, len(items))
	var isOver atomic.Bool // a wait has failed, and ends the others
	var first error        // of that wait
	parallel.Do(len(items), atOnce, func(i int) {
		defer group.EndCall()
		if isOver.Load() {
			return
		}
		ended := false
		defer func() {
			if !ended { // a panic, which ends all
				cancel(nil)
			}
		}()
		records[i], errs[i] = wait(group, items[i])
		ended = true
		if errs[i] == nil {
			return
		}
		records[i] = nil
		if c.failFast && isOver.CompareAndSwap(false, true) {
			first = errs[i]
			cancel(first)
		}
	})
	if c.failFast {
		return records, first
	}
	return records, errors.Join(errs...)
}
