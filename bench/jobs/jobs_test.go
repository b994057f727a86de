package jobs

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

var update = flag.Bool("update", false, "write the table into "+document)

const document = "README.md"

// job is something to do, and several ways to do it.
type job struct {
	what string
	vms  int // the number of VMs that exist before
	ways []way
}

type way struct {
	by string
	do func(context.Context, *world) error
}

var jobs = []job{
	{"create 50 VMs and wait until they run", 0, []way{
		{"`VMs.Create` and `WaitRunning` in `WaitAll`", provision},
		{"a loop: `VMs.Get` of each every 5 s", provisionAsking},
		{"a loop: `VMs.Get` of one after the other", provisionInTurn},
	}},
	{"watch 10,000 VMs for an hour", watched, []way{
		{"`VMs.Watch`", watch},
		{"a loop: `VMs.All` every 30 s", watchAsking},
	}},
	{"tear down 1,000 resources", tornDown - 34, []way{
		{"`teardown.NewPlan` and `Run`", tearDown},
		{"a loop: `Delete` of each, then `Get` until it is gone", tearDownAsking},
	}},
	{"an inventory of 5,000 VMs", listed, []way{
		{"`VMs.All`", list},
		{"a loop: `VMs.All`, `VMs.Get` of each", listAsking},
	}},
}

// figures are the requests, bytes and time that a job took.
type figures struct {
	requests, megabytes, seconds float64
}

func (f figures) String() string {
	return fmt.Sprintf("%s | %s MB | %s s", number(f.requests, 0), number(f.megabytes, 2), number(f.seconds, 1))
}

// TestJobs compares the table in the document with what it measures, or writes
// the table.
func TestJobs(t *testing.T) {
	documented := readTable(t)
	var table strings.Builder
	table.WriteString("| job | by | requests | received | time |\n|---|---|---|---|---|\n")
	for _, job := range jobs {
		what := job.what
		for _, way := range job.ways {
			var took figures
			synctest.Test(t, func(t *testing.T) {
				w, start := newWorld(t, job.vms), time.Now()
				if err := way.do(t.Context(), w); err != nil {
					t.Fatalf("%s, %s: %v", job.what, way.by, err)
				}
				took = figures{float64(w.requests.Load()), float64(w.bytes.Load()) / 1e6, time.Since(start).Seconds()}
			})
			fmt.Fprintf(&table, "| %s | %s | %v |\n", what, way.by, took)
			if was := documented[way.by]; !*update && !took.resembles(was) {
				t.Errorf("%s, %s: %v, but the document says %v: go -C bench test ./jobs -update", job.what, way.by, took, was)
			}
			what = ""
		}
	}
	t.Logf("\n%s", &table)
	if *update {
		writeTable(t, table.String())
	}
}

// resembles reports whether figures differ by at most 20%, by which pauses are
// randomized.
func (f figures) resembles(other figures) bool {
	near := func(a, b float64) bool { return math.Abs(a-b) <= max(a, b)/5 }
	return near(f.requests, other.requests) && near(f.megabytes, other.megabytes) && near(f.seconds, other.seconds)
}

// Marks around the table in the document.
const begin, end = "<!-- jobs: go -C bench test ./jobs -update -->\n", "<!-- /jobs -->\n"

// readTable returns the figures in the document by way of doing the job.
func readTable(t *testing.T) map[string]figures {
	_, rest, _ := strings.Cut(readDocument(t), begin)
	table, _, _ := strings.Cut(rest, end)
	all := map[string]figures{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) != 5 {
			continue
		}
		value := func(cell string) float64 {
			digits, _, _ := strings.Cut(strings.ReplaceAll(cell, ",", ""), " ")
			v, _ := strconv.ParseFloat(digits, 64) // 0 in the table's header
			return v
		}
		all[cells[1]] = figures{value(cells[2]), value(cells[3]), value(cells[4])}
	}
	return all
}

func writeTable(t *testing.T, table string) {
	head, rest, begun := strings.Cut(readDocument(t), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !begun || !ended {
		t.Fatalf("%s has no place for the table", document)
	}
	if err := os.WriteFile(document, []byte(head+begin+table+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readDocument(t *testing.T) string {
	return string(stub.Must(os.ReadFile(document))(t))
}

// number writes a number with commas, and one below 10 with some decimals.
func number(v float64, decimals int) string {
	if v < 10 {
		return fmt.Sprintf("%.*f", decimals, v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
