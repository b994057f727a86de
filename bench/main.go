// Command bench compares the SDK with the same calls by hand: a careful program that
// uses net/http and encoding/json with a pooled body buffer, and decodes into the
// same types. Beside it stands what that program becomes with a timeout, or with
// retries.
//
//	go -C bench run .                # prints the table, in a few minutes
//	go -C bench run . -run '^GET'    # only some workloads
//	go -C bench run . -docs          # writes it to docs/performance.md
//
// All responses come from memory, except where the table says loopback, and all
// clients use default options.
//
// In each round every client runs for a millisecond, or for one call if that
// takes longer, immediately before or after the calls by hand. The figures are medians
// of the ratios of all rounds. Other load on the machine hardly changes them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
)

// nextGo is the newest release of the Go version after the one in go.mod. Tests
// in .ci/run also use it.
const nextGo = "go1.27.4"

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 1000, "rounds of the short workloads; long ones have fewer")
	flag.StringVar(&o.run, "run", "", "only the workloads whose names match the regular expression")
	docs := flag.Bool("docs", false, "write the table to "+document)
	child := flag.Bool("child", false, "only compare the SDK, and print JSON")
	flag.Parse()
	ctx := context.Background()
	err := func() error {
		selected, err := regexp.Compile(o.run)
		if err != nil {
			return err
		}
		if *child {
			rows, err := measureCalls(ctx, clients[:1], o.rounds, selected)
			if err != nil {
				return err
			}
			return json.NewEncoder(os.Stdout).Encode(rows)
		}
		r, err := measure(ctx, o, selected)
		if err != nil {
			return err
		}
		r.write(os.Stdout)
		if *docs {
			return r.publish()
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds int
	run    string
}

func measure(ctx context.Context, o options, selected *regexp.Regexp) (*report, error) {
	r := &report{machine: fmt.Sprintf("%s, %s/%s, %d processors, %d rounds",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds)}
	var err error
	if r.rows, err = measureCalls(ctx, clients, o.rounds, selected); err != nil {
		return nil, err
	}
	if r.next, err = withNextGo(ctx, o); err != nil {
		return nil, err
	}
	if o.run == "" {
		if r.crowds, err = measureConcurrency(ctx, max(o.rounds/50, 3)); err != nil {
			return nil, err
		}
	}
	r.size, err = measureSize(ctx)
	return r, err
}

func withNextGo(ctx context.Context, o options) (rows []row, err error) {
	child := exec.CommandContext(ctx, "go", "run", ".", "-child", "-rounds", strconv.Itoa(o.rounds), "-run", o.run)
	child.Env = append(os.Environ(), "GOTOOLCHAIN="+nextGo)
	child.Stderr = os.Stderr
	output, err := child.Output()
	if err != nil {
		return nil, fmt.Errorf("with %s: %w", nextGo, err)
	}
	return rows, json.Unmarshal(output, &rows)
}

// measureSize returns the size of a small program that gets a VM with the SDK,
// divided by that of one with only net/http.
func measureSize(ctx context.Context) (float64, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	var sizes [2]float64
	for i, name := range []string{"sdk", "byhand"} {
		file := filepath.Join(dir, name)
		if output, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", file, "./internal/programs/"+name).CombinedOutput(); err != nil {
			return 0, fmt.Errorf("building %s: %w\n%s", name, err, output)
		}
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		sizes[i] = float64(info.Size())
	}
	return sizes[0] / sizes[1], nil
}
