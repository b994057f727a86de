package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

const document = "../docs/performance.md"

type report struct {
	machine string
	rows    []row
	next    []row // the SDK's results with nextGo
	crowds  map[string]crowd
	size    float64
}

func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n| time beside the same by hand (allocations, of how many by hand) |", r.machine)
	for _, c := range clients {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprintf(w, " %s with %s |\n|---|---|%s\n", clients[0].name, nextGo, strings.Repeat("---|", len(clients)))
	for i, row := range r.rows {
		fmt.Fprintf(w, "| %s |", row.Workload)
		for _, c := range clients {
			if s, ok := row.Samples[c.name]; ok {
				fmt.Fprintf(w, " %v", s)
			}
			fmt.Fprint(w, " |")
		}
		fmt.Fprintf(w, " %v |\n", r.next[i].Samples[clients[0].name])
	}
	if r.crowds != nil {
		fmt.Fprintf(w, "| %d callers over loopback |", callers)
		for _, c := range clients {
			crowd := r.crowds[c.name]
			fmt.Fprintf(w, " %.2f (%s connections, p99 %.2f) |", crowd.total, withCommas(uint64(crowd.connections)), crowd.p99)
		}
		fmt.Fprintln(w, " |")
	}
	fmt.Fprintf(w, "\nThe smallest program is %.2f times as large as one with net/http alone.\n", r.size)
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
		return fmt.Errorf("%s has no place for the table", document)
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(begin)
	r.write(&b)
	b.WriteString(end)
	b.Write(tail)
	return os.WriteFile(document, b.Bytes(), 0o644)
}
