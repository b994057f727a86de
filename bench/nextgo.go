package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// nextGo is the newest release of the Go version after the one in go.mod. Tests
// in .ci/run also use it.
const nextGo = "go1.27.4"

// nextSample compares the SDK and its floor, built with this Go, with both
// built with the next one.
type nextSample struct {
	what       string
	this, next sample
	time       float64 // the time of a call of the SDK with the next Go, relative to this one
}

// measureNextGo builds this program with the next Go, and alternates the rounds
// of both.
func measureNextGo(ctx context.Context, r *report, rounds int) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := dir + "/bench"
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "GOTOOLCHAIN="+nextGo)
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building with %s: %w\n%s", nextGo, err, output)
	}
	child := exec.CommandContext(ctx, program, "-child", "rounds")
	child.Stderr = os.Stderr
	questions, err := child.StdinPipe()
	if err != nil {
		return err
	}
	output, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	answers := json.NewDecoder(output)
	err = eachDuel(ctx, func(w workload, d *duel) error {
		var times []float64
		for range max(rounds/w.rounds, 3) {
			if err := d.round(ctx); err != nil {
				return err
			}
			var took float64
			if err := ask(questions, answers, "round", &took); err != nil {
				return err
			}
			times = append(times, took/d.last())
		}
		n := nextSample{what: w.name, time: median(times)}
		var err error
		if n.this, err = d.result(ctx); err != nil {
			return err
		}
		if err := ask(questions, answers, "result", &n.next); err != nil {
			return err
		}
		r.next = append(r.next, n)
		return nil
	})
	if err != nil {
		return err
	}
	questions.Close()
	return child.Wait()
}

func ask(questions io.Writer, answers *json.Decoder, question string, answer any) error {
	if _, err := fmt.Fprintln(questions, question); err != nil {
		return err
	}
	return answers.Decode(answer)
}

// eachDuel calls a function with the SDK's duel in each workload.
func eachDuel(ctx context.Context, do func(workload, *duel) error) error {
	server := newServer()
	defer server.Close()
	for _, w := range workloads(server) {
		client, floor, err := w.duel(&ourPeer)
		if err != nil {
			return err
		}
		d, err := newDuel(ctx, client, floor)
		if err == nil {
			err = do(w, d)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// serveRounds runs a round of a workload for each request, and responds with
// the time of a call, until the result is requested. Then it continues with the
// next workload.
func serveRounds(ctx context.Context) error {
	questions, answers := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	return eachDuel(ctx, func(_ workload, d *duel) error {
		for questions.Scan() && questions.Text() == "round" {
			if err := d.round(ctx); err != nil {
				return err
			}
			if err := answers.Encode(d.last()); err != nil {
				return err
			}
		}
		s, err := d.result(ctx)
		if err != nil {
			return err
		}
		return answers.Encode(s)
	})
}
