package around

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

var errRefused, errBroken = errors.New("refused"), errors.New("broken")

// server has items with names from 000, of which it can't show some.
type server struct {
	items  int
	hidden []int
	calls  int
	broken int // the number of a call that fails, or 0
}

func name(i int) string { return fmt.Sprintf("%03d", i) }

func (s *server) list(size int) *List[int] {
	return &List[int]{
		Fetch: func(after string, size int) (p Page[int], err error) {
			if s.calls++; s.calls == s.broken {
				return p, errBroken
			}
			p.Count = s.items
			for i := range s.items {
				if name(i) > after && len(p.Items) < size {
					if slices.Contains(s.hidden, i) {
						return Page[int]{}, errRefused
					}
					p.Items, p.Next = append(p.Items, i), name(i)
				}
			}
			return p, nil
		},
		Refused: func(err error) bool { return err == errRefused },
		ID:      name,
		MaxSize: size,
	}
}

// TestRead: all items come that the server can show, in about two searches for
// each that it can't, and names that it can show, or doesn't have, are harmless.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		items  int
		hidden []int
		others []int
		calls  int // at most
	}{
		{0, nil, nil, 1}, {0, nil, []int{3}, 8}, {10, nil, nil, 2},
		{100, []int{50}, nil, 20}, {100, []int{0}, nil, 8}, {100, []int{99}, nil, 20}, {100, []int{30, 31, 32, 80}, nil, 40},
		{100, []int{30}, []int{10, 70, 200}, 35}, {5, []int{0, 1, 2, 3, 4}, nil, 10},
	} {
		for _, size := range []int{1, 7, 64} {
			s := &server{items: tt.items, hidden: tt.hidden}
			var names []string
			for _, i := range slices.Concat(tt.others, tt.hidden) {
				names = append(names, name(i))
			}
			got, count, err := s.list(size).Read(names)
			var want []int
			for i := range tt.items {
				if !slices.Contains(tt.hidden, i) {
					want = append(want, i)
				}
			}
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) || len(want) > 0 && count != tt.items {
				t.Errorf("%+v, pages of %d: %v of %d, %v", tt, size, got, count, err)
			}
			if size == 64 && s.calls > tt.calls {
				t.Errorf("%+v: %d calls", tt, s.calls)
			}
		}
	}
}

// TestReadEnds: a server that sends the same page again and again isn't asked
// forever. The count says that items are missing.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{nil, {name(50)}} {
		s := &server{items: 100, broken: 50}
		l := s.list(7)
		fetch := l.Fetch
		l.Fetch = func(_ string, size int) (Page[int], error) { return fetch("", size) }
		if items, count, err := l.Read(names); len(items) != 7 || count != 100 || err != nil {
			t.Errorf("%q: %d items of %d, %v after %d calls", names, len(items), count, err, s.calls)
		}
	}
}

// TestReadFails: any other error ends the reading, and so does a page that is
// refused although all names have been passed.
func TestReadFails(t *testing.T) {
	t.Parallel()
	for broken := 1; broken <= 5; broken++ {
		s := &server{items: 100, hidden: []int{50}, broken: broken}
		if items, _, err := s.list(64).Read([]string{name(50)}); err != errBroken || items != nil || s.calls != broken {
			t.Errorf("call %d: %v, %v after %d calls", broken, items, err, s.calls)
		}
	}
	s := &server{items: 100, hidden: []int{50, 60}}
	if items, _, err := s.list(64).Read([]string{name(50)}); err != errRefused || items != nil {
		t.Errorf("%v, %v", items, err)
	}
}
