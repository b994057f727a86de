package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Files with the results, and with the results of an earlier version.
const (
	document   = "../docs/performance.md"
	picture    = "../docs/performance.svg"
	beforeFile = "before.json"
)

// report contains the results.
type report struct {
	machine string
	targets []target
	contest []contest
	next    []nextSample
	spread  []spread
}

// target is the value that the SDK should reach, if there is one.
type target struct {
	What     string
	Target   string
	Measured string
}

// contest compares all contestants at one workload.
type contest struct {
	what    string
	entries map[string]entry // by contestant; missing if the contestant doesn't have the call
}

// entry is the time of a contestant as a multiple of its floor, with other
// results.
type entry struct {
	ratio float64
	more  string
}

// spread shows the variation of a workload's figures.
type spread struct {
	what   string
	sample sample
}

// write prints all tables.
func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", r.machine)
	before := readBefore()
	fmt.Fprint(w, "| workload | target | before | now |\n|---|---|---|---|\n")
	for _, t := range r.targets {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", t.What, t.Target, before[t.What], t.Measured)
	}
	fmt.Fprint(w, "\n| time beside the same by hand (allocations, of how many by hand) |")
	for _, p := range peers {
		fmt.Fprintf(w, " %s |", p.name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(peers)))
	for _, c := range r.contest {
		fmt.Fprintf(w, "| %s |", c.what)
		for _, p := range peers {
			if e, ok := c.entries[p.name]; ok {
				fmt.Fprintf(w, " %.2f (%s)", e.ratio, e.more)
			}
			fmt.Fprint(w, " |")
		}
		fmt.Fprintln(w)
	}
	if len(r.next) > 0 {
		fmt.Fprintf(w, "\n| cloudapi, beside the same by hand with the same Go | %s | %s | a call with the latter, beside the former |\n|---|---|---|---|\n",
			runtime.Version(), nextGo)
		for _, n := range r.next {
			fmt.Fprintf(w, "| %s | %v | %v | %.2f |\n", n.what, n.this, n.next, n.time)
		}
	}
	fmt.Fprint(w, "\n| cloudapi | a call | by hand | ratio | its quartiles |\n|---|---|---|---|---|\n")
	for _, s := range r.spread {
		took := float64(s.sample.Time.Nanoseconds()) / 1e3
		fmt.Fprintf(w, "| %s | %.1f µs | %.1f µs | %.2f | %.2f to %.2f |\n",
			s.what, took, took/s.sample.Ratio, s.sample.Ratio, s.sample.Low, s.sample.High)
	}
}

// save writes the results of the SDK into a file.
func (r *report) save(file string) error {
	text, err := json.MarshalIndent(r.targets, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// readBefore returns the results of an earlier version of the SDK, if the file
// exists.
func readBefore() map[string]string {
	before := map[string]string{}
	text, err := os.ReadFile(beforeFile)
	if err != nil {
		return before
	}
	var targets []target
	if err := json.Unmarshal(text, &targets); err != nil {
		return before
	}
	for _, t := range targets {
		before[t.What] = t.Measured
	}
	return before
}

// publish writes the tables between two marks of the document, and the picture.
func (r *report) publish() error {
	const begin, end = "<!-- measured -->\n", "<!-- /measured -->\n"
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	head, rest, begun := bytes.Cut(text, []byte(begin))
	_, tail, ended := bytes.Cut(rest, []byte(end))
	if !begun || !ended {
		return fmt.Errorf("%s has no place for tables", document)
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(begin)
	r.write(&b)
	b.WriteString(end)
	b.Write(tail)
	if err := os.WriteFile(document, b.Bytes(), 0o644); err != nil {
		return err
	}
	return r.plot(picture)
}

// thousands writes a whole number with commas.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
