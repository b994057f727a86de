//go:build !race

// The race detector changes how much memory is allocated.

package budgets_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const (
	watchedPages   = 50
	watchedRecords = watchedPages * 1000
)

// largeList responds with the pages of a list of 50,000 VMs. It creates them
// beforehand, so that only the client is measured.
type largeList []string

func newLargeList() largeList {
	list := make(largeList, watchedPages+1)
	for i := range list {
		list[i] = vmsPage(i, watchedPages)
	}
	return list
}

func (l largeList) RoundTrip(req *http.Request) (*http.Response, error) {
	page := 0
	if after := req.URL.Query().Get("start_after"); after != "" {
		last, err := strconv.Atoi(after[2:])
		if err != nil {
			return nil, err
		}
		page = (last + 1) / 1000
	}
	resp := stub.Respond(http.StatusOK, "")
	resp.Body = io.NopCloser(strings.NewReader(l[page]))
	resp.ContentLength = int64(len(l[page]))
	return resp, nil
}

func (l largeList) client(tb testing.TB) *cloudapi.Client {
	client, err := cloudapi.NewClient(cloudapi.WithBaseURL(stub.BaseURL), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project), cloudapi.WithHTTPClient(&http.Client{Transport: l}))
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// rounds watches the list for some rounds, calling between after each.
func (l largeList) rounds(tb testing.TB, n int, between func(round int)) (events int) {
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	for _, err := range l.client(tb).VMs.Watch(ctx, &cloudapi.WatchOptions{Interval: time.Millisecond, MaxInterval: time.Millisecond, Progress: func(p cloudapi.Progress) {
		if between(p.Polls); p.Polls == n {
			cancel()
		}
	}}) {
		if err == nil {
			events++
		} else if !errors.Is(err, context.Canceled) {
			tb.Fatal(err)
		}
	}
	return events
}

// TestWatchMemory: between rounds a watch needs little more memory than the
// records, after any number of rounds.
func TestWatchMemory(t *testing.T) {
	const budget = 72 // bytes for each record, besides the record itself
	list := newLargeList()
	before := liveHeap()
	records := make([]*cloudapi.VM, 0, watchedRecords)
	for vm, err := range list.client(t).VMs.All(t.Context(), nil) {
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
// change allocates hardly more than walking the list.
func TestWatchRoundBudget(t *testing.T) {
	list := largeList{vmsPage(0, 1), vmsPage(1, 1)}
	client := list.client(t)
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

// BenchmarkWatch compares a round over 50,000 records in which nothing changes
// with walking the list.
func BenchmarkWatch(b *testing.B) {
	list := newLargeList()
	perRecord := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/watchedRecords, "ns/record")
	}
	b.Run("All", func(b *testing.B) {
		b.ReportAllocs()
		client := list.client(b)
		for b.Loop() {
			for _, err := range client.VMs.All(b.Context(), nil) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		perRecord(b)
	})
	b.Run("round", func(b *testing.B) {
		b.ReportAllocs()
		list.rounds(b, b.N+1, func(round int) {
			if round == 1 {
				b.ResetTimer() // the first round adds all records
			}
		})
		perRecord(b)
	})
}
