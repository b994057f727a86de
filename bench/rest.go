package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/floor"
)

const latency = 10 * time.Millisecond

// measurePageSize compares All with its own page size and with the contract's
// default, at some latency.
func measurePageSize(ctx context.Context, r *report, _ int) error {
	transport := newList(&our, listLength, latency)
	client, err := openSDK(inProcess, transport)
	if err != nil {
		return err
	}
	floor := newFloor(inProcess, transport)
	var ratios []float64
	for range 3 {
		took, err := timed(ctx, client.list, 1)
		if err != nil {
			return err
		}
		byHand, err := timed(ctx, func(ctx context.Context) error { return floorList(ctx, floor, defaultPage) }, 1)
		if err != nil {
			return err
		}
		ratios = append(ratios, float64(took)/float64(byHand))
	}
	r.targets = append(r.targets, target{"All over 10,000 with nil options at 10 ms, beside pages of the contract's default of 10", "0.02",
		fmt.Sprintf("%.3f", median(ratios))})
	return nil
}

// measurePrefetch compares a list with and without prefetch, for a consumer
// that takes 5 ms for a page.
func measurePrefetch(ctx context.Context, r *report, rounds int) error {
	const length = 3 * listLength // so that the first page, which can't be prefetched, has little weight
	transport := newList(&our, length, latency)
	consume := func(pages int) (call, error) {
		client, err := openSDKClient(inProcess, transport, cloudapi.WithPrefetch(pages))
		return func(ctx context.Context) error {
			n := 0
			for _, err := range client.VMs.All(ctx, nil) {
				if err != nil {
					return err
				}
				if n++; n%largePage == 0 {
					if err := pause(ctx, latency/2); err != nil {
						return err
					}
				}
			}
			return counted(n, length, nil)
		}, err
	}
	var ratios []float64
	for range max(rounds/100, 3) {
		var took [2]time.Duration
		for pages := range took {
			list, err := consume(pages)
			if err != nil {
				return err
			}
			if took[pages], err = timed(ctx, list, 1); err != nil {
				return err
			}
		}
		ratios = append(ratios, float64(took[1])/float64(took[0]))
	}
	r.targets = append(r.targets, target{"prefetch of one page, 5 ms of work on each, 10 ms latency, beside none", "0.75",
		fmt.Sprintf("%.2f", median(ratios))})
	return nil
}

// runChild runs the work of another process of this program.
func runChild(ctx context.Context, what string) error {
	switch what {
	case "memory-0", "memory-1":
		prefetch, _ := strconv.Atoi(what[len("memory-"):])
		h, err := listMemory(ctx, prefetch)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(h)
	case "rounds":
		return serveRounds(ctx)
	}
	return fmt.Errorf("no child %q", what)
}

// heap is the additional memory of a list of 100,000 items.
type heap struct{ Live, Peak int64 }

// measureMemory runs lists in separate processes.
func measureMemory(ctx context.Context, r *report, _ int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	for prefetch, aim := range []string{"live 1 MB, peak 8 MB", "live 2 MB, peak 8 MB"} {
		child := exec.CommandContext(ctx, program, "-child", fmt.Sprintf("memory-%d", prefetch))
		child.Stderr = os.Stderr
		output, err := child.Output()
		if err != nil {
			return err
		}
		var h heap
		if err := json.Unmarshal(output, &h); err != nil {
			return err
		}
		r.targets = append(r.targets, target{fmt.Sprintf("All over 100,000, nothing kept, prefetch %d", prefetch), aim,
			fmt.Sprintf("live %.2f MB, peak %.1f MB", float64(h.Live)/1e6, float64(h.Peak)/1e6)})
	}
	return nil
}

// rendered renders each page of a list when it is requested, so that only the
// last page is in memory.
type rendered struct{ total int }

func (r *rendered) RoundTrip(req *http.Request) (*http.Response, error) {
	first := our.first(req.URL.Query())
	return floor.Respond(req, http.StatusOK, our.page(first, min(largePage, r.total-first), r.total))
}

func listMemory(ctx context.Context, prefetch int) (h heap, err error) {
	const length = 10 * listLength
	client, err := openSDKClient(inProcess, &rendered{length}, cloudapi.WithPrefetch(prefetch))
	if err != nil {
		return h, err
	}
	// Once with garbage collections, for live memory, and once without.
	for _, collect := range []bool{true, false} {
		runtime.GC()
		before, n := heapObjects(), 0
		for _, err := range client.VMs.All(ctx, nil) {
			if err != nil {
				return h, err
			}
			if n++; n%500 != 0 {
				continue
			}
			if collect {
				runtime.GC()
				h.Live = max(h.Live, heapObjects()-before)
			} else {
				h.Peak = max(h.Peak, heapObjects())
			}
		}
		if err := counted(n, length, nil); err != nil {
			return h, err
		}
	}
	return h, nil
}

// heapObjects returns the bytes of objects that are live or not yet collected.
func heapObjects() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// measureHooks compares a client with hooks that do nothing with one without
// hooks. Checking for hooks that aren't set costs less.
func measureHooks(ctx context.Context, r *report, rounds int) error {
	transport := vmReply(&our)
	get := func(opts ...cloudapi.Option) (call, error) {
		client, err := openSDKClient(inProcess, transport, opts...)
		return func(ctx context.Context) error { return keep(client.VMs.Get(ctx, location, vmName)) }, err
	}
	without, err := get()
	if err != nil {
		return err
	}
	with, err := get(cloudapi.WithLogger(slog.New(slog.DiscardHandler)), cloudapi.WithLimiter(unlimited{}),
		cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return middleware{next} }),
		cloudapi.WithObserver(func(ctx context.Context, _ cloudapi.Operation) (context.Context, func(error)) { return ctx, nil }))
	if err != nil {
		return err
	}
	d, err := newDuel(ctx, with, without)
	if err != nil {
		return err
	}
	for range 2 * rounds {
		if err := d.round(ctx); err != nil {
			return err
		}
	}
	s, err := d.result(ctx)
	if err != nil {
		return err
	}
	const what = "logger, limiter, middleware and observer that do nothing, beside none"
	r.targets = append(r.targets, target{what, "1.03, 2 allocations more", fmt.Sprintf("%.2f, %.0f more", s.Ratio, s.Allocs-s.Of)})
	r.spread = append(r.spread, spread{what, s})
	return nil
}

type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

type middleware struct{ http.RoundTripper }
