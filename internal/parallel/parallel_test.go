package parallel

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// endOf returns how f ends: "returned", "exited" or what it panicked with.
func endOf(f func()) (end any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		end = "exited"
		defer func() {
			if r := recover(); r != nil {
				end = r
			}
		}()
		f()
		end = "returned"
	}()
	<-done
	return end
}

var ends = map[any]func(){
	"returned": func() {},
	"exited":   runtime.Goexit,
	"a panic":  func() { panic("a panic") },
}

// TestDo: the calls begin in order, no more than allowed run at the same time,
// and Do returns after the last.
func TestDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n, atOnce int
		want      time.Duration // of calls that take a second each
	}{{0, 0, 0}, {0, 3, 0}, {1, 0, 1}, {7, 0, 1}, {7, -1, 1}, {7, 1, 7}, {7, 3, 3}, {7, 7, 1}, {7, 100, 1}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var began []int
			start := time.Now()
			Do(tt.n, tt.atOnce, func(i int) {
				mu.Lock()
				began = append(began, i)
				mu.Unlock()
				<-time.After(time.Second)
			})
			if took := time.Since(start); took != tt.want*time.Second || len(began) != tt.n {
				t.Errorf("%d calls, %d at once, took %v: %v", tt.n, tt.atOnce, took, began)
			}
			if tt.atOnce == 1 && !slices.IsSorted(began) {
				t.Errorf("the order was %v", began)
			}
			slices.Sort(began)
			if len(slices.Compact(began)) != tt.n {
				t.Errorf("some calls were made twice: %v", began)
			}
		})
	}
}

// TestDoEndsAsACall: Do panics or exits as a call did, after the calls in
// progress have ended, and starts no other.
func TestDoEndsAsACall(t *testing.T) {
	t.Parallel()
	for want, f := range ends {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			ended := 0
			got := endOf(func() {
				Do(10, 3, func(i int) {
					<-time.After(time.Second) // in which all three have begun
					if i == 1 {
						f()
					}
					<-time.After(time.Second)
					mu.Lock()
					defer mu.Unlock()
					ended++
				})
			})
			calls := 2 // the others in progress
			if want == "returned" {
				calls = 10
			}
			if got != want || ended != calls {
				t.Errorf("with a call that %v it ended as %v, after %d calls", want, got, ended)
			}
		})
	}
}

// pairs yields n pairs, one a second, and then calls last.
func pairs(n int, last func(ctx context.Context)) func(context.Context) iter.Seq2[int, error] {
	return func(ctx context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				<-time.After(time.Second)
				if !yield(i, ctx.Err()) {
					return
				}
			}
			last(ctx)
		}
	}
}

func TestAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var got []int
		for i, err := range Ahead(t.Context(), 4, pairs(8, func(context.Context) {})) {
			if err != nil {
				t.Error(err)
			}
			if i == 0 {
				<-time.After(time.Minute) // in which 4 more are taken: 3 wait, and one is at the door
			}
			if i == 4 && time.Since(start) != time.Minute+time.Second {
				t.Errorf("the pairs ahead came after %v", time.Since(start))
			}
			got = append(got, i)
		}
		if took := time.Since(start); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7}) || took != time.Minute+4*time.Second {
			t.Errorf("after %v: %v", took, got)
		}
	})
}

// TestAheadEnds: when the consumer stops, seq has ended before Ahead returns,
// with its context canceled. A panic in seq reaches the consumer.
func TestAheadEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		for range Ahead(t.Context(), 2, pairs(1, func(ctx context.Context) {
			<-ctx.Done()
			<-time.After(time.Second)
			ended = true
		})) {
			break
		}
		if !ended {
			t.Error("seq goes on")
		}
	})
	for want, f := range ends {
		synctest.Test(t, func(t *testing.T) {
			got := endOf(func() {
				for range Ahead(t.Context(), 2, pairs(3, func(context.Context) { f() })) {
				}
			})
			if got != want {
				t.Errorf("with a sequence that %v it ended as %v", want, got)
			}
		})
	}
}
