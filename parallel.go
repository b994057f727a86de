package cloudapi

import (
	"runtime"
	"sync"
)

// inParallel calls f with 0 to n-1, each on a goroutine of its own, and returns
// when all calls have returned. A call that panics, such as one in which a
// middleware does, makes inParallel panic with the same value, so that the
// caller can recover from it; one that ends its goroutine ends the caller's.
func inParallel(n int, f func(i int)) {
	type end struct {
		panicked any
		returned bool
	}
	ends := make([]end, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			defer func() {
				if !ends[i].returned {
					ends[i].panicked = recover()
				}
			}()
			f(i)
			ends[i].returned = true
		})
	}
	calls.Wait()
	for _, e := range ends {
		switch {
		case e.panicked != nil:
			panic(e.panicked)
		case !e.returned:
			runtime.Goexit()
		}
	}
}
