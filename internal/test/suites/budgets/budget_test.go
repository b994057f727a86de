//go:build !race

// With the race detector, sync.Pool drops values at random, so the number of
// allocations varies.

package budgets_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"weak"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/byhand"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// The tests in this file measure memory, so none of them runs in parallel.

// TestAllocationBudgets: a call allocates little more than a hand-written one.
func TestAllocationBudgets(t *testing.T) {
	for _, w := range workloads {
		client, byHand := clients(t, w.reply)
		sdk := allocations(t, func() error { return w.sdk(t.Context(), client) })
		least := allocations(t, func() error { return w.byHand(t.Context(), byHand) })
		if sdk > least*w.most {
			t.Errorf("%s: %v allocations, which is more than %v times the %v of the code by hand", w.name, sdk, w.most, least)
		}
	}
}

// TestHooksBudget: hooks that do nothing allocate little.
func TestHooksBudget(t *testing.T) {
	without, _ := clients(t, workloads[0].reply)
	with := stub.Must(without.With(cloudapi.WithLogger(slog.New(slog.DiscardHandler)), cloudapi.WithLimiter(unlimited{}),
		cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return next }),
		cloudapi.WithObserver(func(ctx context.Context, _ cloudapi.Operation) (context.Context, func(error)) { return ctx, nil })))(t)
	got := allocations(t, func() error { return workloads[0].sdk(t.Context(), with) })
	want := allocations(t, func() error { return workloads[0].sdk(t.Context(), without) })
	if got > want*1.25 {
		t.Errorf("%v allocations, and %v without hooks", got, want)
	}
}

type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

// TestNewClientIsIdle: a client that makes no calls starts no goroutine.
func TestNewClientIsIdle(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL(stub.BaseURL), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project), cloudapi.WithPrefetch(3)))(t)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, and %d before", after, before)
	}
}

// TestUnwantedResponses: an endless or highly compressed response allocates at
// most four times the limit of memory in all, and almost none if no response is expected.
func TestUnwantedResponses(t *testing.T) {
	const limit = 16 << 20
	var bomb bytes.Buffer
	compressor := gzip.NewWriter(&bomb)
	stub.Must(io.CopyN(compressor, endless{}, 4*limit))(t)
	compressor.Close()
	for name, body := range map[string]func() io.Reader{
		"endless": func() io.Reader { return endless{} },
		"gzip": func() io.Reader {
			r := stub.Must(gzip.NewReader(bytes.NewReader(bomb.Bytes())))(t)
			return r
		},
	} {
		for _, call := range []struct {
			name string
			call func(*cloudapi.Client) error
			most uint64
		}{
			{"Get", func(c *cloudapi.Client) error { _, err := c.VMs.Get(t.Context(), "eu-central-h1", "web-1"); return err }, limit*4 + 256<<10},
			{"Delete", func(c *cloudapi.Client) error { return c.VMs.Delete(t.Context(), "eu-central-h1", "web-1") }, 320 << 10},
		} {
			client := sdktest.Client(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) {
				resp := stub.Respond(200, "")
				resp.Body, resp.ContentLength = io.NopCloser(body()), -1
				return resp, nil
			}), cloudapi.WithResponseLimit(limit))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := call.call(client)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, cloudapi.ErrInvalidResponse) {
				t.Errorf("%s, %s: %v", name, call.name, err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > call.most {
				t.Errorf("%s, %s: %d bytes were allocated, at most %d are needed", name, call.name, n, call.most)
			}
		}
	}
}

// TestNewClientBudget: a new client is cheap, and so is a changed copy, which a
// program may need for a single call.
func TestNewClientBudget(t *testing.T) {
	const budget = 50
	if got := allocations(t, func() error { clients(t, byhand.Fixed{}); return nil }); got > budget {
		t.Errorf("%v allocations, the budget is %v", got, budget)
	}
}

// TestMetricsBudget: a response of 7 MB takes memory for its samples, and
// hardly any more.
func TestMetricsBudget(t *testing.T) {
	const budget = 2_000 // for 200,000 samples
	client, _ := clients(t, byhand.Fixed{Status: http.StatusOK, Body: byhand.Metrics(20)})
	got := testing.AllocsPerRun(1, func() {
		metrics, err := client.Postgres.Metrics(t.Context(), "eu-central-h1", "orders-db", nil)
		if err != nil || len(metrics.Metrics) != 20 || len(metrics.Metrics[19].Series[4].Values) != 2000 {
			t.Fatal(metrics, err)
		}
	})
	if got > budget {
		t.Errorf("%v allocations, the budget is %v", got, budget)
	}
}

func allocations(t *testing.T, f func() error) float64 {
	return testing.AllocsPerRun(20, func() {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	})
}

// pages are the pages of a list of VMs, which are created beforehand, so that
// only the client is measured.
type pages []string

// newPages returns n pages of 1000 VMs, and the empty page after them.
func newPages(n int) pages {
	list := make(pages, n+1)
	for i := range list {
		list[i] = vmsPage(i, n)
	}
	return list
}

func (p pages) RoundTrip(req *http.Request) (*http.Response, error) {
	page := 0
	if after := req.URL.Query().Get("start_after"); after != "" {
		last, err := strconv.Atoi(after[2:])
		if err != nil {
			return nil, err
		}
		page = (last + 1) / 1000
	}
	resp := stub.Respond(http.StatusOK, "")
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(p[page])), int64(len(p[page]))
	return resp, nil
}

// TestListMemory: a longer list takes no more memory. All of its records
// together would take several times the limit.
func TestListMemory(t *testing.T) {
	const n = 20
	for prefetch, limit := range []int64{2 << 20, 4 << 20} {
		client := sdktest.Client(t, newPages(n), cloudapi.WithPrefetch(prefetch))
		before := liveHeap()
		most, items := int64(0), 0
		for _, err := range client.VMs.All(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if items++; items%700 == 0 {
				most = max(most, liveHeap()-before)
			}
		}
		if items != n*1000 || most > limit {
			t.Errorf("with prefetch %d, %d items took up to %d bytes, where the limit is %d", prefetch, items, most, limit)
		}
	}
}

// TestRecordsOfAPage: a record is in memory only as long as the program keeps
// it. Neither its page nor another record of the page keeps it there.
func TestRecordsOfAPage(t *testing.T) {
	var kept *cloudapi.VM
	var others []weak.Pointer[cloudapi.VM]
	goneTo := func(end int) {
		t.Helper()
		runtime.GC()
		for i, other := range others[:end] {
			if other.Value() != nil {
				t.Fatalf("record %d of %d is still there", i, len(others))
			}
		}
	}
	for vm, err := range sdktest.Client(t, newPages(1)).VMs.All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if kept == nil {
			kept = vm
			continue
		}
		if others = append(others, weak.Make(vm)); len(others) == 500 {
			goneTo(450)
		}
	}
	if goneTo(999); kept.Name != "web-0000" {
		t.Errorf("the record that was kept is %v", kept)
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // sync.Pool keeps values until the second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// endless is a JSON string without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '"'
	}
	return len(p), nil
}
