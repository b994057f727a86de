package families

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOperationsAreUniqueAndAnswered(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, op := range operations() {
		if seen[op.Target()] || op.Handle == nil || !strings.HasPrefix(op.Route, "/project") {
			t.Errorf("%s: a second row, or one without a handler or a proper route", op.Target())
		}
		seen[op.Target()] = true
	}
}

func TestEveryOperationOfTheContractIsServed(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "contract.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(contract)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		name := f[2]
		if strings.HasSuffix(name, ".List") && strings.Contains(f[1], "/location/") {
			name += "InLocation"
		}
		want = append(want, f[0]+" "+f[1]+" "+name)
	}
	for _, op := range operations() {
		got = append(got, op.Target()+" "+op.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("served are %d operations:\n%s\nwant %d:\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
}
