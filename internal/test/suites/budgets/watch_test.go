//go:build !race

// The race detector changes how much memory is allocated.

package budgets_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

const (
	watchedPages   = 50
	watchedRecords = watchedPages * 1000
)

// rounds watches the list for n rounds, and calls between after each round.
func (p pages) rounds(t *testing.T, n int, between func(round int)) (events int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range sdktest.Client(t, p).VMs.Watch(ctx, &cloudapi.WatchOptions{Interval: time.Millisecond, MaxInterval: time.Millisecond, Progress: func(progress cloudapi.Progress) {
		if between(progress.Polls); progress.Polls == n {
			cancel()
		}
	}}) {
		if err == nil {
			events++
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	return events
}

// TestWatchMemory: between rounds a watch needs little more memory than the
// records, after any number of rounds.
func TestWatchMemory(t *testing.T) {
	const budget = 128 // bytes for each record, besides the record itself
	list := newPages(watchedPages)
	before := liveHeap()
	records := make([]*cloudapi.VM, 0, watchedRecords)
	for vm, err := range sdktest.Client(t, list).VMs.All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, vm)
	}
	records = records[:watchedRecords:watchedRecords]
	alone := liveHeap() - before - 8*watchedRecords
	clear(records)
	records = nil

	before = liveHeap()
	var held []int64
	start, took := time.Now(), []time.Duration{}
	events := list.rounds(t, 4, func(int) {
		took = append(took, time.Since(start))
		held = append(held, liveHeap()-before)
		start = time.Now()
	})
	if events != watchedRecords {
		t.Errorf("%d events", events)
	}
	t.Logf("%d records of %d bytes; a watch holds %d bytes more for each", watchedRecords, alone/watchedRecords, (held[0]-alone)/watchedRecords)
	for i := range held {
		t.Logf("round %d took %v, and left %.1f MB", i+1, took[i].Round(time.Millisecond), float64(held[i])/1e6)
		if beside := (held[i] - alone) / watchedRecords; beside > budget {
			t.Errorf("after round %d it holds %d bytes for each record beside it, where the budget is %d", i+1, beside, budget)
		}
	}
	if held[3] > held[0]+1<<20 { // there may be one pooled buffer more
		t.Errorf("after 4 rounds it holds %d bytes, and after one %d", held[3], held[0])
	}
}

// TestWatchRoundBudget: comparing allocates nothing, so a round without a
// change allocates hardly more than reading the list.
func TestWatchRoundBudget(t *testing.T) {
	list := newPages(1)
	client := sdktest.Client(t, list)
	walk := allocations(t, func() error {
		_, err := cloudapi.Collect(client.VMs.All(t.Context(), nil))
		return err
	})
	const rounds = 20
	var first, last runtime.MemStats
	list.rounds(t, rounds+1, func(round int) {
		switch round {
		case 1:
			runtime.ReadMemStats(&first)
		case rounds + 1:
			runtime.ReadMemStats(&last)
		}
	})
	if round := float64(last.Mallocs-first.Mallocs) / rounds; round > walk*1.05 {
		t.Errorf("a round of 1000 records has %v allocations, and walking the list %v", round, walk)
	}
}
