package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// measureRest measures what is not one call beside the same by hand.
func measureRest(ctx context.Context, rounds int) ([]row, error) {
	var rows []row
	for _, measure := range []func(context.Context, int) ([]row, error){
		measurePageSize, measurePrefetch, measureMemory, measureConcurrency, measureNextJSON,
	} {
		more, err := measure(ctx, rounds)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

const latency = 10 * time.Millisecond

// measurePageSize compares All as it is with pages as the contract has them by
// default, at some latency.
func measurePageSize(ctx context.Context, rounds int) ([]row, error) {
	transport := newList(&our, listLength, latency)
	sdk, err := openSDK(inProcess, transport)
	if err != nil {
		return nil, err
	}
	floor := newFloor(inProcess, transport)
	var ratios []float64
	for range min(rounds, 3) {
		took, err := timed(ctx, sdk.list, 1)
		if err != nil {
			return nil, err
		}
		byHand, err := timed(ctx, func(ctx context.Context) error { return floorList(ctx, floor, defaultPage) }, 1)
		if err != nil {
			return nil, err
		}
		ratios = append(ratios, float64(took)/float64(byHand))
	}
	return []row{{"All over 10,000 with nil options at 10 ms, beside pages of the contract's default of 10", "0.02", fmt.Sprintf("%.3f", median(ratios))}}, nil
}

// measurePrefetch compares a list with and without prefetch, for a consumer
// that takes 5 ms for a page.
func measurePrefetch(ctx context.Context, rounds int) ([]row, error) {
	transport := newList(&our, listLength, latency)
	consume := func(pages int) (call, error) {
		client, err := openSDKClient(inProcess, transport, cloudapi.WithPrefetch(pages))
		return func(ctx context.Context) error {
			n := 0
			for _, err := range client.VMs.All(ctx, nil) {
				if err != nil {
					return err
				}
				if n++; n%largePage == 0 {
					time.Sleep(latency / 2)
				}
			}
			return counted(n, listLength, nil)
		}, err
	}
	var ratios []float64
	for range max(rounds/15, 3) {
		var took [2]time.Duration
		for pages := range took {
			list, err := consume(pages)
			if err != nil {
				return nil, err
			}
			if took[pages], err = timed(ctx, list, 1); err != nil {
				return nil, err
			}
		}
		ratios = append(ratios, float64(took[1])/float64(took[0]))
	}
	return []row{{"prefetch of one page, 5 ms of work on each, 10 ms latency, beside none", "0.75", fmt.Sprintf("%.2f", median(ratios))}}, nil
}

// runSelf runs a program of this package, and decodes what it prints.
func runSelf(ctx context.Context, program, child string, v any) error {
	cmd := exec.CommandContext(ctx, program, "-child", child)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", child, err)
	}
	return json.Unmarshal(output, v)
}

// runChild is what the program does for itself in another process.
func runChild(ctx context.Context, what string) error {
	var result any
	var err error
	switch what {
	case "memory-0", "memory-1":
		prefetch, _ := strconv.Atoi(what[len("memory-"):])
		result, err = listMemory(ctx, prefetch)
	case "times":
		result, err = sdkTimes(ctx)
	default:
		return fmt.Errorf("no child %q", what)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// heap is what a list of 100,000 items takes beyond what was there before.
type heap struct{ Live, Peak int64 }

// measureMemory runs lists in processes of their own, with nothing else there.
func measureMemory(ctx context.Context, _ int) ([]row, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var rows []row
	for prefetch, target := range []string{"live 1 MB, peak 8 MB", "live 2 MB, peak 8 MB"} {
		var h heap
		if err := runSelf(ctx, program, fmt.Sprintf("memory-%d", prefetch), &h); err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf("All over 100,000, nothing kept, prefetch %d", prefetch), target,
			fmt.Sprintf("live %.2f MB, peak %.1f MB", float64(h.Live)/1e6, float64(h.Peak)/1e6)})
	}
	return rows, nil
}

// rendered makes each page of a list when it is asked for, so that none but the
// last is in memory.
type rendered struct{ total int }

func (r *rendered) RoundTrip(req *http.Request) (*http.Response, error) {
	first := our.first(req.URL.Query())
	return respond(req, http.StatusOK, our.page(first, min(largePage, r.total-first), r.total))
}

func listMemory(ctx context.Context, prefetch int) (h heap, err error) {
	const length = 10 * listLength
	client, err := openSDKClient(inProcess, &rendered{length}, cloudapi.WithPrefetch(prefetch))
	if err != nil {
		return h, err
	}
	// Once with a collection at hand, for what is live, and once without.
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

// heapObjects are the bytes of objects that are live or not collected yet.
func heapObjects() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// times are those of the SDK's calls, in nanoseconds.
type times struct{ Get, List float64 }

func sdkTimes(ctx context.Context) (t times, err error) {
	get, err := openSDK(inProcess, fixed{http.StatusOK, our.vm})
	if err != nil {
		return t, err
	}
	list, err := openSDK(inProcess, newList(&our, listLength, 0))
	if err != nil {
		return t, err
	}
	if t.Get, err = typicalTime(ctx, get.vm); err == nil {
		t.List, err = typicalTime(ctx, list.list)
	}
	return t, err
}

// typicalTime is the median over slices for half a second.
func typicalTime(ctx context.Context, f call) (float64, error) {
	d, err := newDuel(ctx, f, f)
	if err != nil {
		return 0, err
	}
	for start := time.Now(); time.Since(start) < time.Second/2 || len(d.times) < 3; {
		if err := d.round(ctx); err != nil {
			return 0, err
		}
	}
	return median(d.times), nil
}

// measureNextJSON builds this program with the JSON engine of the next Go, and
// compares its SDK with the floor of this build.
func measureNextJSON(ctx context.Context, rounds int) ([]row, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := dir + "/bench"
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "GOEXPERIMENT=jsonv2")
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building with GOEXPERIMENT=jsonv2: %w\n%s", err, output)
	}
	get := floorCalls(newFloor(inProcess, fixed{http.StatusOK, our.vm}))
	list := floorCalls(newFloor(inProcess, newList(&our, listLength, 0)))
	var gets, lists []float64
	for range max(rounds/40, 3) {
		var t times
		if err := runSelf(ctx, program, "times", &t); err != nil {
			return nil, err
		}
		floorGet, err := typicalTime(ctx, get.vm)
		if err != nil {
			return nil, err
		}
		floorList, err := typicalTime(ctx, list.list)
		if err != nil {
			return nil, err
		}
		gets, lists = append(gets, t.Get/floorGet), append(lists, t.List/floorList)
	}
	const what = "built with GOEXPERIMENT=jsonv2, beside the floor of the plain build: "
	return []row{
		{what + "GET a VM", "0.65", fmt.Sprintf("%.2f", median(gets))},
		{what + "10,000 VMs by 1,000", "0.65", fmt.Sprintf("%.2f", median(lists))},
	}, nil
}
