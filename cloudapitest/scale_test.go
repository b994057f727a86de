package cloudapitest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
)

func TestAddVMs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tb := &recorder{TB: t}
		srv := New(tb)
		client := srv.Client()
		ids := srv.AddVMs(here, "load", 130)
		vms, err := cloudapi.Collect(client.VMs.All(t.Context(), &cloudapi.ListOptions{Location: here, PageSize: 50}))
		if err != nil || len(vms) != 130 || len(ids) != 130 {
			t.Fatalf("%d VMs with %d IDs are listed as %d: %v", 130, len(ids), len(vms), err)
		}
		addresses := map[string]bool{}
		for _, v := range vms {
			v, err := client.VMs.Get(t.Context(), here, v.ID)
			if err != nil {
				t.Fatal(err)
			}
			addresses[v.Subnet+" "+v.PrivateIPv4], addresses[v.IP6] = true, true
			if !slices.Contains(ids, v.ID) || v.State != "running" || v.Size != "burstable-1" || !strings.HasPrefix(v.Subnet, "load-net-") {
				t.Errorf("%+v", v)
			}
		}
		if len(addresses) != 260 {
			t.Errorf("130 VMs have %d addresses", len(addresses))
		}
		if _, err := client.VMs.Get(t.Context(), here, "load-130"); err != nil {
			t.Error(err)
		}
		if tb.reports != nil {
			t.Errorf("reported %q", tb.reports)
		}
		srv.AddVMs(here, "load", 1)
		srv.AddVMs("nowhere", "load", 1)
		srv.AddVMs(here, "No", 1)
		if len(tb.reports) != 3 {
			t.Errorf("reported %q, want three mistakes", tb.reports)
		}
	})
}

// TestIndexIsWhatAWalkOverAllObjectsFinds compares the index, after random
// changes, with the objects themselves.
func TestIndexIsWhatAWalkOverAllObjectsFinds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	c := newCall(t)
	var there []*thing // in the order of their creation
	for step := range 3000 {
		switch pick := random.IntN(10); {
		case pick < 5 || len(there) == 0:
			o := &thing{c.newObject(cloudapi.KindVM, fmt.Sprint("n", random.IntN(50)))}
			o.location = c.state.locations[random.IntN(2)]
			c.state.add(o)
			there = append(there, o)
		case pick < 7:
			c.state.index.rename(there[random.IntN(len(there))], fmt.Sprint("n", random.IntN(50)))
		default:
			i := random.IntN(len(there))
			c.state.drop(there[i])
			there = slices.Delete(there, i, i+1)
		}
		if step%20 != 0 {
			continue
		}
		for _, l := range []*location{nil, c.state.locations[0], c.state.locations[1]} {
			sc := scope{cloudapi.KindVM, c.project, l}
			want := slices.DeleteFunc(slices.Clone(there), func(o *thing) bool { return l != nil && o.location != l })
			if got := as[*thing](c.state.index.all(sc)); !slices.Equal(got, want) {
				t.Fatalf("step %d: %d objects, want %d", step, len(got), len(want))
			}
			slices.SortFunc(want, func(a, b *thing) int { return strings.Compare(a.id, b.id) }) // as IDs of one kind sort
			if got := as[*thing](c.state.index.byID(sc)); !slices.Equal(got, want) {
				t.Fatalf("step %d: the order by ID is wrong", step)
			}
			for i, o := range want {
				if got := after(c.state.index.byID(sc), o.order); got != i+1 {
					t.Fatalf("step %d: behind object %d is %d", step, i, got)
				}
			}
			for n := range 50 {
				name := fmt.Sprint("n", n)
				named := slices.DeleteFunc(slices.Clone(want), func(o *thing) bool { return o.name != name })
				got := as[*thing](c.state.index.named(sc, name))
				slices.SortFunc(got, func(a, b *thing) int { return strings.Compare(a.id, b.id) })
				if !slices.Equal(got, named) {
					t.Fatalf("step %d: %d objects are called %s, want %d", step, len(got), name, len(named))
				}
			}
		}
	}
}

// BenchmarkWalk lists many VMs, 1000 a page.
func BenchmarkWalk(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			srv := New(b, WithRequestLog(0))
			client := srv.Client()
			srv.AddVMs(here, "load", n)
			b.ReportAllocs()
			for b.Loop() {
				seen := 0
				for _, err := range client.VMs.All(b.Context(), nil) {
					if err != nil {
						b.Fatal(err)
					}
					seen++
				}
				if seen != n {
					b.Fatalf("%d VMs, want %d", seen, n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
		})
	}
}

func BenchmarkAddVMs(b *testing.B) {
	for b.Loop() {
		srv := NewServer()
		srv.AddVMs(here, "load", 100_000)
		srv.Close()
	}
}
