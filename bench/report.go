package main

import (
	"fmt"
	"io"
	"strings"
)

// writeCalls prints the first table: for each contestant the time of its calls
// as a multiple of its floor, and the allocations of both.
func writeCalls(w io.Writer, results []callResult) {
	fmt.Fprint(w, "| workload | target |")
	for _, p := range peers {
		fmt.Fprintf(w, " %s |", p.name)
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|", len(peers)))
	for _, r := range results {
		fmt.Fprintf(w, "| %s | %s |", r.workload.name, r.workload.target)
		for _, p := range peers {
			s, ok := r.samples[p.name]
			if !ok {
				fmt.Fprint(w, " |")
				continue
			}
			fmt.Fprintf(w, " %.2f (%s of %s) |", s.ratio, thousands(s.allocs), thousands(s.of))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "| cloudapi | time | floor | quartiles of the ratio | bytes | of the floor |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, r := range results {
		s := r.samples[peers[0].name]
		fmt.Fprintf(w, "| %s | %.1f µs | %.1f µs | %.2f to %.2f | %s | %.2f |\n", r.workload.name,
			float64(s.time.Nanoseconds())/1e3, float64(s.time.Nanoseconds())/1e3/s.ratio, s.low, s.high, thousands(s.bytes), s.bytes/s.floorBytes)
	}
	fmt.Fprintln(w)
}

// row is one of the second table.
type row struct{ what, target, measured string }

func writeRest(w io.Writer, rows []row) {
	fmt.Fprintln(w, "| what | target | measured |\n|---|---|---|")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %s | %s |\n", r.what, r.target, r.measured)
	}
}

// thousands writes a whole number with commas.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
