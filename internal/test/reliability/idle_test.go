package reliability

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestCreatesAfterIdleMinutes: behind a server or load balancer that closes
// connections after an idle minute, creates succeed, and arrive once. With the
// SDK's transport that holds even if the server drops them silently.
func TestCreatesAfterIdleMinutes(t *testing.T) {
	const callers, minutes = 20, 3
	for name, tt := range map[string]struct{ http2, foreign bool }{
		"HTTP/1.1": {}, "HTTP/2.0": {http2: true}, "HTTP/1.1 of a client": {foreign: true}, "HTTP/2.0 of a client": {http2: true, foreign: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var executed sync.Map
			var requests atomic.Int32
			closes, drops := time.Hour, time.Minute
			if tt.foreign {
				closes, drops = drops, closes
			}
			client := startServer(t, &http.Server{IdleTimeout: closes}, tt.http2, tt.foreign, func(_ http.ResponseWriter, req *http.Request, last *atomic.Int64) {
				now := time.Now().Unix()
				if used := last.Swap(now); used > 0 && now-used >= int64(drops.Seconds()) {
					panic(http.ErrAbortHandler)
				}
				requests.Add(1)
				if req.Proto != name[:len("HTTP/1.1")] {
					t.Errorf("%s: a request of %s", name, req.Proto)
				}
				if _, again := executed.LoadOrStore(req.URL.Path, true); again {
					t.Errorf("%s: %s was executed twice", name, req.URL.Path)
				}
			})
			for minute := range minutes {
				var running sync.WaitGroup
				for n := range callers {
					running.Go(func() {
						vm := fmt.Sprintf("vm-%d-%d", minute, n)
						if err := create(t.Context(), client, vm, n%2 == 0); err != nil {
							t.Errorf("%s, %s: %v", name, vm, err)
						}
					})
				}
				running.Wait()
				stub.Elapse(time.Minute + time.Second)
			}
			if n := requests.Load(); n != minutes*callers {
				t.Errorf("%s: %d requests for %d creates", name, n, minutes*callers)
			}
		})
	}
}
