package diff

import (
	"fmt"
	"strings"
	"testing"
)

// TestSets: items are compared by the key, their first letter here. An item of
// two halves is partial if there is only one.
func TestSets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		set, wanted string
		halves      bool
		want        Set[string]
	}{
		{"", "", false, Set[string]{}},
		{"a1 b1", "b2 a2", false, Set[string]{Kept: []string{"a1", "b1"}}},
		{"a1 a2 b1", "a3 c1 c2", false, Set[string]{Kept: []string{"a1", "a2"}, Unwanted: []string{"b1"}, Missing: []int{1}}},
		{"a1 b1 b2 c1", "b3 a3", true, Set[string]{Kept: []string{"b1", "b2"}, Partial: []string{"a1"}, Unwanted: []string{"c1"}, Missing: []int{1}}},
	} {
		var isPartial func([]string) bool
		if tt.halves {
			isPartial = func(items []string) bool { return len(items) < 2 }
		}
		got := Sets(strings.Fields(tt.set), strings.Fields(tt.wanted), func(s string) string { return s[:1] }, isPartial)
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s to %s: %+v, want %+v", tt.set, tt.wanted, got, tt.want)
		}
	}
}
