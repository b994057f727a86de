package cloudapitest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryOperationOfTheContractIsServed(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile(filepath.Join("..", "testdata", "contract.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(contract)) {
		if f := strings.Fields(line); len(f) > 1 {
			want = append(want, f[0]+" "+f[1])
		}
	}
	for _, op := range operations() {
		got = append(got, op.name())
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("served are %d operations:\n%s\nwant %d:\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
}
