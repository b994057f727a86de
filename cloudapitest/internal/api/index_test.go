package api

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestIndexMatchesAllObjects changes objects at random, and compares the index
// with the objects themselves.
func TestIndexMatchesAllObjects(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	c := newCall(t)
	var there []*thing // in the order of their creation
	for step := range 3000 {
		switch pick := random.IntN(10); {
		case pick < 5 || len(there) == 0:
			o := &thing{Object: c.NewObject(cloudapi.KindVM, fmt.Sprint("n", random.IntN(50)))}
			o.Location = c.State.Locations[random.IntN(2)]
			c.State.Add(o)
			there = append(there, o)
		case pick < 7:
			c.State.Index.Rename(there[random.IntN(len(there))], fmt.Sprint("n", random.IntN(50)))
		default:
			i := random.IntN(len(there))
			c.State.Drop(there[i])
			there = slices.Delete(there, i, i+1)
		}
		if step%20 != 0 {
			continue
		}
		for _, l := range []*Location{nil, c.State.Locations[0], c.State.Locations[1]} {
			sc := Scope{cloudapi.KindVM, c.Project, l}
			want := slices.DeleteFunc(slices.Clone(there), func(o *thing) bool { return l != nil && o.Location != l })
			if got := As[*thing](c.State.Index.All(sc)); !slices.Equal(got, want) {
				t.Fatalf("step %d: %d objects, want %d", step, len(got), len(want))
			}
			slices.SortFunc(want, func(a, b *thing) int { return strings.Compare(a.ID, b.ID) }) // IDs of one kind sort like their UUIDs
			if got := As[*thing](c.State.Index.SortedByID(sc)); !slices.Equal(got, want) {
				t.Fatalf("step %d: the order by ID is wrong", step)
			}
			for i, o := range want {
				if got := indexAfter(c.State.Index.SortedByID(sc), o.order); got != i+1 {
					t.Fatalf("step %d: behind object %d is %d", step, i, got)
				}
			}
			for n := range 50 {
				name := fmt.Sprint("n", n)
				named := slices.DeleteFunc(slices.Clone(want), func(o *thing) bool { return o.Name != name })
				got := As[*thing](c.State.Index.Named(sc, name))
				slices.SortFunc(got, func(a, b *thing) int { return strings.Compare(a.ID, b.ID) })
				if !slices.Equal(got, named) {
					t.Fatalf("step %d: %d objects are called %s, want %d", step, len(got), name, len(named))
				}
			}
		}
	}
}
