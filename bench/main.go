// Command bench compares the SDK with other clients and with the floor: a
// careful program that uses net/http and encoding/json with a pooled body
// buffer, and decodes into the same struct.
//
//	go -C bench run .                    # prints tables; takes some minutes
//	go -C bench run . -quick             # takes one minute
//	go -C bench run . -docs -builds 3    # writes ../docs; also builds programs from scratch
//
// Every contestant has its own floor, which decodes the same bytes into the
// contestant's type: a peer gets the responses of its own API, padded to the
// size of ours. All responses come from memory, except where a table says
// loopback, and all clients use default options.
//
// In each round every contestant runs for a millisecond, or for one call that
// takes longer, immediately before or after its floor. The figures are medians
// of the ratios of all rounds, on which other load on the machine has hardly
// any influence.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 1000, "rounds of the short workloads; long ones have fewer")
	quick := flag.Bool("quick", false, "a tenth of the rounds, to see that it works")
	calls := flag.String("run", "", "only the calls whose names match the regular expression")
	contestants := flag.String("peers", "", "only the contestants whose names match the regular expression")
	flag.BoolVar(&o.docs, "docs", false, "write "+document+" and "+picture)
	flag.IntVar(&o.builds, "builds", 0, "how often to build programs from nothing, which takes a minute or more")
	flag.StringVar(&o.save, "save", "", "file for what the SDK has, such as "+beforeFile)
	child := flag.String("child", "", "used by the program itself")
	flag.Parse()
	if *quick {
		o.rounds = max(o.rounds/10, 3)
	}
	o.partial = *calls != ""
	err := selectPeers(*contestants)
	if err == nil {
		o.calls, err = regexp.Compile(*calls)
	}
	switch {
	case err != nil:
	case *child != "":
		err = runChild(context.Background(), *child)
	default:
		err = run(context.Background(), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds  int
	calls   *regexp.Regexp
	partial bool // only calls are wanted
	builds  int
	docs    bool
	save    string
}

func run(ctx context.Context, o options) error {
	r := report{machine: fmt.Sprintf("%s, %s/%s, %d processors, %d rounds",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds)}
	if err := measureCalls(ctx, &r, o.rounds, o.calls); err != nil {
		return err
	}
	others := []func(context.Context, *report, int) error{
		measureConcurrency, measurePageSize, measurePrefetch, measureMemory, measureHooks, measureNextGo,
	}
	if o.partial {
		others = nil
	}
	for _, measure := range others {
		if err := measure(ctx, &r, o.rounds); err != nil {
			return err
		}
	}
	if o.builds > 0 {
		if err := measurePrograms(ctx, &r, o.builds); err != nil {
			return err
		}
	}
	r.write(os.Stdout)
	if o.save != "" {
		if err := r.save(o.save); err != nil {
			return err
		}
	}
	if o.docs {
		return r.publish()
	}
	return nil
}
