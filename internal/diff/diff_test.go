package diff

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

type record struct{ name string }

// read reads a list of records with their names, by ID, and returns the changes.
func read(l *List[record, string], names map[string]string, order ...string) (changes []string) {
	l.Begin()
	for _, id := range order {
		switch old, changed := l.Put(id, &record{names[id]}, "of "+names[id]); {
		case changed && old == nil:
			changes = append(changes, "+"+id)
		case changed:
			changes = append(changes, old.name+">"+names[id])
		}
	}
	for id, note := range l.Missing() {
		if r := l.Remove(id); note == "of "+r.name {
			changes = append(changes, "-"+r.name)
		}
	}
	return changes
}

func TestChanges(t *testing.T) {
	t.Parallel()
	l := NewList[record, string]()
	names := map[string]string{"1": "a", "2": "b", "3": "c"}
	for i, reading := range []struct {
		order   []string
		renamed string // the new name of 2
		want    []string
	}{
		{order: []string{"2", "1", "2"}, want: []string{"+2", "+1"}},
		{order: []string{"1", "2"}},
		{order: []string{"1", "3", "2"}, renamed: "B", want: []string{"+3", "b>B"}},
		{order: []string{"2"}, want: []string{"-a", "-c"}},
		{order: []string{"1", "2"}, want: []string{"+1"}},
		{want: []string{"-a", "-B"}},
		{},
	} {
		if reading.renamed != "" {
			names["2"] = reading.renamed
		}
		if got := read(l, names, reading.order...); !slices.Equal(got, reading.want) {
			t.Errorf("reading %d: the changes are %q, want %q", i, got, reading.want)
		}
	}
	if l.Len() != 0 {
		t.Errorf("the empty list has %d records", l.Len())
	}
}

func TestDigests(t *testing.T) {
	t.Parallel()
	type inner struct{ texts []string }
	type value struct {
		a, b    string
		flag    bool
		number  int
		part    float64
		pointer *int
		inner   []inner
		Moment  time.Time
	}
	moment := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	d := NewDigester()
	seen := map[uint64]value{}
	for _, v := range []value{
		{}, {a: "x"}, {b: "x"}, {a: "xy"}, {a: "x", b: "y"}, {flag: true}, {number: 1}, {number: -1}, {part: 1}, {pointer: new(0)}, {pointer: new(1)},
		{inner: []inner{{}}}, {inner: []inner{{}, {}}}, {inner: []inner{{[]string{"x", "y"}}}}, {inner: []inner{{[]string{"xy"}}}},
		{inner: []inner{{[]string{"x"}}, {[]string{"y"}}}}, {inner: []inner{{[]string{"x"}}, {[]string{"x"}}}}, {Moment: moment}, {Moment: moment.Add(1)},
	} {
		sum := d.Sum(reflect.ValueOf(&v).Elem())
		if other, found := seen[sum]; found {
			t.Errorf("%+v and %+v have the same digest", v, other)
		}
		seen[sum] = v
	}
	for _, same := range [][2]value{
		{{inner: []inner{{[]string{"x", "y"}}, {}}}, {inner: []inner{{}, {[]string{"y", "x"}}}}},
		{{pointer: new(1)}, {pointer: new(1)}},
		{{Moment: moment}, {Moment: moment.In(time.FixedZone("", 3600))}},
	} {
		if d.Sum(reflect.ValueOf(&same[0]).Elem()) != d.Sum(reflect.ValueOf(&same[1]).Elem()) {
			t.Errorf("%+v and %+v have different digests", same[0], same[1])
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a map has a digest")
		}
	}()
	d.Sum(reflect.ValueOf(map[string]int{}))
}
