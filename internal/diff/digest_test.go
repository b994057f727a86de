package diff

import (
	"reflect"
	"testing"
	"time"
)

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
