package cloudapi

import (
	"runtime"
	"sync"
)

// ending records how a function on another goroutine ended, so that the
// caller's goroutine can end in the same way. Nobody can recover from a panic,
// such as one in a middleware, on a goroutine that the SDK started: it would
// end the program.
type ending struct {
	returned bool
	panicked any
}

// run calls f and records whether it returned, panicked or ended its goroutine.
func (e *ending) run(f func()) {
	defer func() {
		if !e.returned {
			e.panicked = recover()
		}
	}()
	f()
	e.returned = true
}

// repeat panics, or ends the goroutine, if f did.
func (e *ending) repeat() {
	switch {
	case e.panicked != nil:
		panic(e.panicked)
	case !e.returned:
		runtime.Goexit()
	}
}

// inParallel calls f with 0 to n-1, each on its own goroutine, and returns when
// all calls have returned. If a call panics, for example in a middleware,
// inParallel panics with the same value, so that the caller can recover from
// it. If a call exits its goroutine, inParallel exits the caller's.
func inParallel(n int, f func(i int)) {
	endings := make([]ending, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { endings[i].run(func() { f(i) }) })
	}
	calls.Wait()
	for i := range endings {
		endings[i].repeat()
	}
}
