package reliability

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// TestConcurrency: 64 goroutines do random things with one client and copies of
// it while one request in ten fails. They resolve unknown outcomes with Confirm.
// In the end the server has what they expect, each object once, and no goroutine
// is left.
func TestConcurrency(t *testing.T) {
	const workers, steps = 64, 60
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.Lenient(), cloudapitest.WithDelays(cloudapitest.Delays{}),
			cloudapitest.WithQuota(cloudapitest.Quota{VM: 1 << 20}))
		// net/http itself retries a GET if a reused connection breaks, which adds
		// more concurrency.
		transport := srv.HTTPClient().Transport.(*http.Transport).Clone()
		transport.DisableKeepAlives = false
		client := srv.Client(cloudapi.WithHTTPClient(&http.Client{Transport: transport}), cloudapi.WithTimeout(time.Minute))
		load := newWorkload(t.Context(), t, client, srv.OtherProjectID())
		calm := disturb(srv, 0.1)
		var all []*worker
		var running sync.WaitGroup
		for n := range workers {
			w := load.worker(n)
			all = append(all, w)
			running.Go(func() {
				for range steps {
					if err := w.step(t.Context()); err != nil {
						t.Errorf("%s: %v", w.name, err)
					}
				}
			})
		}
		running.Wait()
		calm()
		objects := load.check(t.Context(), t, all)
		transport.CloseIdleConnections()
		srv.Close()
		synctest.Wait()
		if left := goroutinesOfBubble() - withoutClient; left > 0 {
			t.Errorf("%d goroutines are left", left)
		}
		if load.unknown.Load() == 0 || objects == 0 {
			t.Error("the faults did not reach the creates")
		}
	})
}
