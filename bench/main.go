// Command bench measures the SDK beside other clients and beside the floor:
// what a careful program does by hand with net/http and encoding/json, with a
// body buffer from a pool, into the same struct.
//
//	go -C bench run .                            # prints tables
//	go -C bench run . -out ../docs/performance.svg # and draws the first one
//	go -C bench run . size                       # programs: how large, how long to build
//
// Every contestant is compared with a floor of its own, which decodes the same
// bytes into the contestant's own type: a peer's replies are those of its API,
// in the size of ours. All of them are served from memory unless it says
// loopback, and run with their default options.
//
// In each round every contestant runs for some milliseconds right before or
// after its floor. The figures are medians of the ratios of all rounds.
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
	rounds := flag.Int("rounds", 300, "rounds of the short workloads; long ones have fewer")
	pattern := flag.String("run", "", "only the calls whose names match the regular expression, and no second table")
	quick := flag.Bool("quick", false, "a tenth of the rounds, to see that it works")
	out := flag.String("out", "", "file for the plot: .svg or .png")
	child := flag.String("child", "", "used by the program itself")
	flag.Parse()
	if *quick {
		*rounds = max(*rounds/10, 3)
	}
	if err := run(*rounds, *pattern, *out, *child, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(rounds int, pattern, out, child string, args []string) error {
	ctx := context.Background()
	switch {
	case child != "":
		return runChild(ctx, child)
	case len(args) == 1 && args[0] == "size":
		return measurePrograms(os.Stdout)
	case len(args) > 0:
		return fmt.Errorf("unknown argument %q", args[0])
	}

	fmt.Printf("%s, %s/%s, %d CPUs, %d rounds\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), rounds)
	selected, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	results, err := measureCalls(ctx, rounds, selected)
	if err != nil {
		return err
	}
	writeCalls(os.Stdout, results)
	if out != "" {
		if err := plotCalls(out, results); err != nil {
			return err
		}
	}
	if pattern != "" {
		return nil
	}
	rows, err := measureRest(ctx, rounds)
	if err != nil {
		return err
	}
	writeRest(os.Stdout, rows)
	return nil
}
