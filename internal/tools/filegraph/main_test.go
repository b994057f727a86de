package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCircles(t *testing.T) {
	t.Parallel()
	g := graph{
		"a.go": {"b.go": {"B"}},
		"b.go": {"c.go": {"C"}},
		"c.go": {"a.go": {"A"}, "d.go": {"D"}},
		"d.go": {"e.go": {"E"}, "f.go": {"F", "G"}},
		"e.go": {"d.go": {"D"}},
		"f.go": {},
	}
	want := [][]string{{"a.go", "b.go", "c.go"}, {"d.go", "e.go"}}
	if got := g.circles(); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the circles are %q, want %q", got, want)
	}
	var text strings.Builder
	g.print(&text, true)
	for _, line := range []string{"c.go: a.go (A), d.go (D)\n", "f.go: \n", "6 files, 2 circles\n", "a circle of 3: a.go, b.go, c.go\n"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("it does not print %q:\n%s", line, &text)
		}
	}
}

// TestSDK tests that no files of the SDK use each other in a circle.
func TestSDK(t *testing.T) {
	t.Parallel()
	g, err := load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	uses := append(g["vms.go"]["operation.go"], g["vms.go"]["call.go"]...)
	if !slices.Contains(uses, "fetch") || !slices.Contains(uses, "Operation") {
		t.Errorf("vms.go uses %q of operation.go and call.go, want fetch and Operation among them", uses)
	}
	for _, circle := range g.circles() {
		t.Errorf("%s use each other in a circle; 'go -C internal/tools run ./filegraph -dir ../.. -names' says why", strings.Join(circle, ", "))
	}
}
