package tally

import (
	"fmt"
	"strings"
	"testing"
)

// TestTally walks over pages of items, which are letters, and their counts.
func TestTally(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ordered  bool
		walks    []string // each has pages such as "abc/3", "abc" without a count
		want     string   // the new items
		complete bool
	}{
		"nothing":                    {true, []string{""}, "", true},
		"one page":                   {true, []string{"abc/3"}, "abc", true},
		"pages without counts":       {true, []string{"abc def"}, "abcdef", true},
		"a missing item":             {true, []string{"abc/4 d/5"}, "abcd", true},
		"two missing items":          {true, []string{"abc/5 d/5"}, "abcd", false},
		"found by the second walk":   {true, []string{"ac/3", "abc/3"}, "acb", true},
		"one goes during the walk":   {true, []string{"abc/5 d/4"}, "abcd", true},
		"not found":                  {true, []string{"ac/3", "ac/3"}, "ac", false},
		"again on the next page":     {true, []string{"abc/4 cd/4"}, "abcd", true},
		"again, and one is missing":  {true, []string{"abc/4 c/4"}, "abc", false},
		"any order":                  {false, []string{"cab/4 bd/4"}, "cabd", true},
		"any order, again":           {false, []string{"cab/4", "dcab/4"}, "cabd", true},
		"added before the forgotten": {true, []string{"bcdef/6 g/7", "abcdef/7 g/7"}, "bcdefg", true},
		"counted with the forgotten": {true, []string{"bcdef/7 g/7", "abcdef/7 g/7"}, "bcdefg", true},
		"ordered in word only":       {true, []string{"fedcba/7 g/7"}, "fedcbag", true},
	} {
		tally := New(tt.ordered, 4)
		got := ""
		for _, walk := range tt.walks {
			tally.Begin()
			for page := range strings.FieldsSeq(walk) {
				items, count, counted := strings.Cut(page, "/")
				for _, id := range items {
					if tally.Add(string(id)) {
						got += string(id)
					}
				}
				var n int
				if counted {
					_, _ = fmt.Sscan(count, &n)
					tally.EndPage(&n)
				} else {
					tally.EndPage(nil)
				}
			}
		}
		items, _ := tally.Reached()
		if got != tt.want || tally.IsComplete() != tt.complete || items != len(got) {
			t.Errorf("%s: %q, complete %v, %d items; want %q, %v", name, got, tally.IsComplete(), items, tt.want, tt.complete)
		}
	}
}

// TestMemory: a long list whose IDs ascend takes no more memory.
func TestMemory(t *testing.T) {
	t.Parallel()
	const most, page = 100, 50
	for _, tt := range []struct {
		ordered bool
		want    int
	}{{true, most + page}, {false, 1000 * page}} {
		tally := New(tt.ordered, most)
		tally.Begin()
		for i := range 1000 * page {
			if !tally.Add(fmt.Sprintf("%08d", i)) {
				t.Fatalf("item %d is not new", i)
			}
			if i%page == page-1 {
				tally.EndPage(nil)
			}
			if n := len(tally.known) + len(tally.recent); n > tt.want {
				t.Fatalf("%d IDs are remembered after %d items, want at most %d", n, i+1, tt.want)
			}
		}
	}
}
