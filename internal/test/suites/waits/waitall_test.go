// Package waits_test checks what waits promise, one by one and together.
package waits_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestWaitAll(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	got, err := cloudapi.WaitAll(t.Context(), []int{1, 2, 3}, func(_ context.Context, i int) (*int, error) {
		if i == 2 {
			return new(int), boom
		}
		return new(i * 10), nil
	}, nil)
	if err == nil || err.Error() != "cloudapi: WaitAll: item 1: boom" || !errors.Is(err, boom) || len(got) != 3 || *got[0] != 10 || got[1] != nil || *got[2] != 30 {
		t.Errorf("it is %v, %v", got, err)
	}
	if got, err := cloudapi.WaitAll(t.Context(), nil, func(context.Context, int) (*int, error) { return nil, boom }, nil); err != nil || len(got) != 0 {
		t.Errorf("for nothing it is %v, %v", got, err)
	}
}

// TestWaitAllPanics: a panic ends the waits in progress, and reaches the caller.
func TestWaitAllPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		defer func() {
			if r := recover(); r != boom {
				t.Errorf("recovered %v, want %v", r, boom)
			}
		}()
		_, _ = cloudapi.WaitAll(t.Context(), []int{1, 2}, func(ctx context.Context, i int) (*int, error) {
			if i == 1 {
				stub.Elapse(time.Second) // the other wait begins in this time
				panic(boom)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil)
	})
}

// TestWaitAllNamesTheItem: an error says which item failed. It doesn't print
// other values in the item, which may be secret.
func TestWaitAllNamesTheItem(t *testing.T) {
	t.Parallel()
	fails := errors.New("no")
	failing := func(items ...any) string {
		_, err := cloudapi.WaitAll(t.Context(), items, func(context.Context, any) (*int, error) { return nil, fails }, nil)
		return err.Error()
	}
	vm := &cloudapi.VM{ID: stub.VMID, Name: "web-1", Location: "l"}
	for want, item := range map[string]any{
		`item 0, "a\nb"`: "a\nb", "item 0, VM l/web-1 (" + stub.VMID + ")": vm, "item 0, VM l/web-2": cloudapi.Resource{Kind: cloudapi.KindVM, Location: "l", Name: "web-2"},
		"item 0": struct{ password string }{"secret"},
	} {
		if got := failing(item); got != "cloudapi: WaitAll: "+want+": no" {
			t.Errorf("%v: %s", item, got)
		}
	}
	if got := failing((*cloudapi.VM)(nil)); got != "cloudapi: WaitAll: item 0: no" { // for example a result of another WaitAll
		t.Errorf("a nil record: %s", got)
	}
}

// TestWaitConcurrency: Concurrency is the number of waits that run at the same
// time. By default all do.
func TestWaitConcurrency(t *testing.T) {
	t.Parallel()
	for atOnce, want := range map[int]time.Duration{0: time.Second, 3: 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			stub.Must(cloudapi.WaitAll(t.Context(), make([]int, 7), func(context.Context, int) (*int, error) {
				stub.Elapse(time.Second)
				return nil, nil
			}, &cloudapi.WaitAllOptions{Concurrency: atOnce}))(t)
			if took := time.Since(start); took != want {
				t.Errorf("Concurrency %d: 7 waits of a second took %v", atOnce, took)
			}
		})
	}
	_, err := cloudapi.WaitAll(t.Context(), make([]int, 7), func(context.Context, int) (*int, error) {
		t.Error("a wait was called")
		return nil, nil
	}, &cloudapi.WaitAllOptions{Concurrency: -1})
	if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "Concurrency" || e.Value != "-1" {
		t.Errorf("-1 at once: %v", err)
	}
}

// TestWaitFailFast: the first failure ends the waits in progress, and no other
// wait begins. The error contains only the first failure.
func TestWaitFailFast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		var began atomic.Int32
		start := time.Now()
		got, err := cloudapi.WaitAll(t.Context(), []int{0, 1, 2, 3, 4, 5}, func(ctx context.Context, i int) (*int, error) {
			began.Add(1)
			pauses := []time.Duration{1, 2, 1000, 1000}
			select {
			case <-ctx.Done():
				if !errors.Is(context.Cause(ctx), boom) {
					t.Errorf("the cause is %v", context.Cause(ctx))
				}
				<-time.After(time.Second)
				return nil, ctx.Err()
			case <-time.After(pauses[i] * time.Second):
			}
			if i == 1 {
				return nil, boom
			}
			return &i, nil
		}, &cloudapi.WaitAllOptions{FailFast: true, Concurrency: 3})
		if !errors.Is(err, boom) || err.Error() != "cloudapi: WaitAll: item 1: boom" || got[0] == nil || *got[0] != 0 || slices.ContainsFunc(got[1:], func(i *int) bool { return i != nil }) {
			t.Errorf("it is %v, %v", got, err)
		}
		if took := time.Since(start); took != 3*time.Second || began.Load() != 4 {
			t.Errorf("after %v, %d waits had begun", took, began.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = cloudapi.WaitAll(ctx, []int{1, 2}, func(ctx context.Context, _ int) (*int, error) { return nil, ctx.Err() }, &cloudapi.WaitAllOptions{FailFast: true})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that ended before: %v", err)
		}
	})
}
