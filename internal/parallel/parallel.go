// Package parallel runs functions on goroutines of their own. If one panics,
// for example in a user's callback, the caller's goroutine panics with the same
// value. Nobody could recover from a panic on a goroutine that a library has
// started: it would end the program.
package parallel

import (
	"context"
	"iter"
	"runtime"
	"sync/atomic"
)

// Go calls f on a goroutine. The returned function waits for f to end. It panics
// if f panicked, and calls [runtime.Goexit] if f did.
func Go(f func()) (wait func()) {
	done := make(chan struct{})
	returned := false
	var panicked any
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f()
		returned = true
	}()
	return func() {
		<-done
		switch {
		case panicked != nil:
			panic(panicked)
		case !returned:
			runtime.Goexit()
		}
	}
}

// Do calls f with 0 to n-1, in this order, and returns when all calls have
// ended. Up to atOnce calls run at the same time, or all if atOnce is 0 or less.
// If a call panics or exits its goroutine, no other call begins, and when the
// running calls have ended, Do also panics or exits its goroutine.
func Do(n, atOnce int, f func(i int)) {
	if atOnce <= 0 || atOnce > n {
		atOnce = n
	}
	var next atomic.Int64
	for range atOnce {
		wait := Go(func() {
			defer next.Store(int64(n)) // so that no other call begins if f panics or exits
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
		defer wait() // waits for all, even if one panics
	}
}

// Ahead yields what seq yields, but takes up to n pairs in advance. When the
// consumer stops, Ahead cancels the context of seq and waits for seq to end.
func Ahead[K, V any](ctx context.Context, n int, seq func(context.Context) iter.Seq2[K, V]) iter.Seq2[K, V] {
	type pair struct {
		k K
		v V
	}
	return func(yield func(K, V) bool) {
		ctx, cancel := context.WithCancel(ctx)
		pairs := make(chan pair, n-1)
		stopped := make(chan struct{})
		wait := Go(func() {
			defer close(pairs)
			for k, v := range seq(ctx) {
				select {
				case pairs <- pair{k, v}:
				case <-stopped:
					return
				}
			}
		})
		defer wait()
		defer close(stopped)
		defer cancel()
		for p := range pairs {
			if !yield(p.k, p.v) {
				return
			}
		}
	}
}
