package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// nextCalls are what is measured with the JSON engine of the next Go.
var nextCalls = []struct {
	name, target string
	transport    func() http.RoundTripper
	pick         func(*calls) call
	rounds       int // one in so many of all rounds
}{
	{"GET a VM", "0.65", func() http.RoundTripper { return vmReply(&our) }, func(c *calls) call { return c.vm }, 1},
	{"10,000 VMs by 1,000", "0.65", func() http.RoundTripper { return newList(&our, listLength, 0) }, func(c *calls) call { return c.list }, 20},
	{"metrics, 7 MB", "0.50", func() http.RoundTripper { return fixed{http.StatusOK, our.metrics()} }, func(c *calls) call { return c.metrics }, 50},
}

// measureNextJSON builds this program with the JSON engine of the next Go, and
// compares the SDK in it with the floor in this one, slice by slice.
func measureNextJSON(ctx context.Context, r *report, rounds int) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := dir + "/bench"
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "GOEXPERIMENT=jsonv2")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building with GOEXPERIMENT=jsonv2: %w\n%s", err, output)
	}
	child := exec.CommandContext(ctx, program, "-child", "times")
	child.Stderr = os.Stderr
	questions, err := child.StdinPipe()
	if err != nil {
		return err
	}
	answers, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	for i, next := range nextCalls {
		floor := next.pick(floorCalls(newFloor(inProcess, next.transport())))
		d, err := newDuel(ctx, floor, floor) // for the number of calls in a slice
		if err != nil {
			return err
		}
		var ratios []float64
		for range max(rounds/next.rounds, 3) {
			byHand, err := timed(ctx, floor, d.n)
			if err != nil {
				return err
			}
			var took time.Duration
			if _, err := fmt.Fprintln(questions, i, d.n); err != nil {
				return err
			}
			if _, err := fmt.Fscanln(answers, &took); err != nil {
				return err
			}
			ratios = append(ratios, float64(took)/float64(byHand))
		}
		r.targets = append(r.targets, target{"built with GOEXPERIMENT=jsonv2, beside the floor of the plain build: " + next.name,
			next.target, fmt.Sprintf("%.2f", median(ratios))})
	}
	questions.Close()
	return child.Wait()
}

// serveTimes reads what to call and how often, and answers how long that took.
func serveTimes(ctx context.Context) error {
	var all []call
	for _, next := range nextCalls {
		c, err := openSDK(inProcess, next.transport())
		if err != nil {
			return err
		}
		all = append(all, next.pick(c))
	}
	for input := bufio.NewReader(os.Stdin); ; {
		var i, n int
		if _, err := fmt.Fscanln(input, &i, &n); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		took, err := timed(ctx, all[i], n)
		if err != nil {
			return err
		}
		fmt.Println(took.Nanoseconds())
	}
}
