package families

import (
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/contract"
)

func TestOperationsAreUniqueAndAnswered(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, op := range operations() {
		if seen[op.Target()] || !strings.HasPrefix(op.Route, "/project") {
			t.Errorf("%s: a second row, or one without a handler or a proper route", op.Target())
		}
		seen[op.Target()] = true
	}
}

func TestEveryOperationOfTheContractIsServed(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, row := range contract.Agreed() {
		want = append(want, row.String()+" "+row.Operation())
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
