package sharedlist

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"
)

// slowList is a list of 50 records, which takes some time to read.
type slowList struct {
	takes    time.Duration
	readings int // how many have begun
	read     int // how many items the last reading has read
}

func (s *slowList) source() Source[int] {
	return Source[int]{
		Read: func(context.Context) iter.Seq2[*int, error] {
			return func(yield func(*int, error) bool) {
				s.readings++
				s.read = 0
				<-time.After(s.takes)
				for i := range 50 {
					if s.read++; !yield(&i, nil) {
						return
					}
				}
			}
		},
		Keys: func(i *int) (id, name string) { return fmt.Sprint(*i), fmt.Sprint("name-", *i) },
	}
}

// join lets some waits share a list, in a scope of as many calls as may begin.
func (s *slowList) join(ctx context.Context, waits, calls, atOnce int) *List[int] {
	scope := NewScope(ctx, calls, atOnce)
	list := Join(scope, "", s.source)
	for range waits - 1 {
		Join(scope, "", s.source)
	}
	return list
}

// TestLongLists: a list is read if it has up to 10 items for each wait, and for
// each call that may soon begin to wait. It's read again when more than twice
// as many waits share it.
func TestLongLists(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		waits, calls, atOnce int
		read                 int // how many items are read
		again                int // how many waits have to share the list before it's read again
	}{
		{1, 1, 1, 0, 2},
		{1, 9, 9, 0, 2},
		{2, 2, 2, 21, 5},
		{2, 1, 2, 21, 5}, // a wait that doesn't end its call
		{3, 3, 3, 31, 7},
		{2, 4, 3, 31, 7},
		{2, 3, 9, 31, 7},
		{4, 4, 4, 41, 9},
		{5, 5, 5, 50, 5},
		{2, 9, 9, 50, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := slowList{}
			list := s.join(t.Context(), tt.waits, tt.calls, tt.atOnce)
			await := func() map[string]*int {
				records, _, err := list.Read(t.Context(), time.Now(), time.Second)
				if err != nil {
					t.Errorf("%+v: %v", tt, err)
				}
				return records
			}
			if records := await(); s.read != tt.read || (records != nil) != (tt.read == 50) {
				t.Errorf("%+v: %d items were read; %d records", tt, s.read, len(records))
			}
			waits := tt.waits
			for before := s.readings; s.readings == before && waits < 20; {
				<-time.After(time.Second)
				if await(); s.readings == before {
					Join(list.scope, "", s.source)
					waits++
				}
			}
			if waits != tt.again {
				t.Errorf("%+v: the list was read again for %d waits", tt, waits)
			}
		})
	}
}

// TestOverdueLists: a wait waits for a list for as long as it has patience. Until
// the list has been read, it then doesn't wait for it again.
func TestOverdueLists(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		takes, patience, want time.Duration
		isWhole               bool
	}{
		{0, time.Second, 0, true},
		{time.Second - 1, time.Second, time.Second - 1, true},
		{time.Second + 1, time.Second, time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := slowList{takes: tt.takes}
			list := s.join(t.Context(), 5, 5, 5)
			read := func(want time.Duration, isWhole bool) {
				t.Helper()
				start := time.Now()
				records, at, err := list.Read(t.Context(), start, tt.patience)
				if took := time.Since(start); took != want || (len(records) == 100) != isWhole || isWhole && !at.Equal(time.Now()) || err != nil {
					t.Errorf("%+v: %d records of %v after %v, want %v: %v", tt, len(records), at, took, want, err)
				}
			}
			read(tt.want, tt.isWhole)
			if !tt.isWhole {
				read(0, false)
			}
			<-time.After(tt.takes)
			if s.takes = 0; s.readings != 1 {
				t.Errorf("%+v: it was read %d times", tt, s.readings)
			}
			<-time.After(1)
			read(0, true)
		})
	}
}

// lateContext is the context of a goroutine that looks late at what has
// happened, as on a busy machine.
type lateContext struct {
	context.Context
	by time.Duration
}

func (c lateContext) Done() <-chan struct{} {
	<-time.After(c.by)
	return c.Context.Done()
}

// TestLateWaits: waits take the records of a reading although they look at it
// so late that they could have given up.
func TestLateWaits(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{0, time.Second, 9 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := slowList{takes: takes}
			list := s.join(t.Context(), 100, 100, 100)
			without := 0 // waits that got no records
			for i := range 100 {
				ctx := lateContext{t.Context(), time.Duration(1+i%3) * 20 * time.Second}
				if records, _, err := list.Read(ctx, time.Now(), 10*time.Second); err != nil || len(records) != 100 {
					without++
				}
			}
			if without > 0 {
				t.Errorf("a list that takes %v: %d of 100 waits got no records", takes, without)
			}
			if s.readings > 100 {
				t.Errorf("100 waits in turn read the list %d times", s.readings)
			}
		})
	}
}
