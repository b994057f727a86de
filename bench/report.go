package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

const document = "../docs/performance.md"

type report struct {
	machine  string
	rows     []row
	next     []row // the SDK's results with nextGo
	crowds   map[string]crowd
	programs *programs
}

func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n| time beside the same by hand (allocations, of how many by hand) |", r.machine)
	for _, c := range clients {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(clients)))
	for _, row := range r.rows {
		fmt.Fprintf(w, "| %s |", row.Workload)
		for _, c := range clients {
			if s, ok := row.Samples[c.name]; ok {
				fmt.Fprintf(w, " %v", s)
			}
			fmt.Fprint(w, " |")
		}
		fmt.Fprintln(w)
	}
	if r.crowds != nil {
		fmt.Fprintf(w, "| %d callers over loopback |", callers)
		for _, c := range clients {
			crowd := r.crowds[c.name]
			fmt.Fprintf(w, " %.2f (%s connections, p99 %.2f) |", crowd.total, withCommas(crowd.connections), crowd.p99)
		}
		fmt.Fprintln(w)
	}

	fmt.Fprintf(w, "\n| cloudapi, beside the same by hand with the same Go | %s | quartiles | bytes | %s | quartiles | bytes |\n|---|%s\n",
		runtime.Version(), nextGo, strings.Repeat("---|", 6))
	for i, row := range r.rows {
		fmt.Fprintf(w, "| %s |", row.Workload)
		for _, s := range []sample{row.Samples[clients[0].name], r.next[i].Samples[clients[0].name]} {
			fmt.Fprintf(w, " %v | %.2f to %.2f | %.2f |", s, s.Low, s.High, s.Bytes/s.HandBytes)
		}
		fmt.Fprintln(w)
	}
	if p := r.programs; p != nil {
		fmt.Fprintf(w, "\nThe smallest program, beside one with net/http alone: size %.2f, processor time of a build from nothing %.2f.\n", p.size, p.work)
	}
}

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
	return os.WriteFile(document, b.Bytes(), 0o644)
}

func withCommas(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
