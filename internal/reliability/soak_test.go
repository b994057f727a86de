package reliability

import (
	"context"
	"flag"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

var soak = flag.Duration("soak", 0, "how long TestSoak runs")

// TestSoak is a workload in real time on the loopback interface, while one
// request in a hundred fails. It runs with the flag -soak only.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("it takes real time: run it with -soak 2m")
	}
	const workers = 32
	srv := cloudapitest.New(t, cloudapitest.Lenient(), cloudapitest.WithRequestLog(0),
		cloudapitest.WithDelays(cloudapitest.Delays{Create: 10 * time.Millisecond, Delete: 10 * time.Millisecond}),
		cloudapitest.WithQuota(cloudapitest.Quota{VM: 1 << 20}))
	loopback := stub.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	listener := &countingListener{Listener: loopback}
	go srv.Serve(listener)

	var attempts attemptCounter
	client := stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL("http://"+loopback.Addr().String()),
		cloudapi.WithToken(srv.Token()), cloudapi.WithProject(srv.ProjectID()),
		cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: time.Millisecond, MaxDelay: 10 * time.Millisecond}),
		cloudapi.WithMiddleware(attempts.wrap)))(t)

	goroutines := runtime.NumGoroutine()
	ctx := context.Background()
	load := newWorkload(ctx, t, client, srv.OtherProjectID())
	calm := disturb(srv, 0.01)
	until := time.Now().Add(*soak)
	var all []*worker
	var running sync.WaitGroup
	for n := range workers {
		w := load.worker(n)
		w.most = 10
		all = append(all, w)
		running.Go(func() {
			for time.Now().Before(until) {
				if err := w.step(ctx); err != nil {
					t.Errorf("%s: %v", w.name, err)
					return
				}
			}
		})
	}
	var heaps []uint64
	for range 10 {
		<-time.After(*soak / 10)
		heaps = append(heaps, heapInUse())
	}
	running.Wait()
	calm()
	<-time.After(50 * time.Millisecond) // the last deletions
	objects := load.check(ctx, t, all)

	requests, failed := attempts.all.Load(), attempts.failed.Load()
	t.Logf("%v, %d workers: %v", *soak, workers, load.counts)
	t.Logf("%d requests, %d of which failed; %d connections; %d objects in the end, as expected: %v", requests, failed, listener.accepted.Load(), objects, !t.Failed())
	t.Logf("heap in use, in KiB, after each tenth: %v", heaps)
	// Each failure may cost a connection, and each worker has one at a time.
	// Truncated responses, a quarter of the faults, aren't counted above.
	if most := failed*4/3 + 2*workers; listener.accepted.Load() > most {
		t.Errorf("%d connections were made, at most %d are needed", listener.accepted.Load(), most)
	}
	if early, late := max(heaps[2], heaps[3]), min(heaps[8], heaps[9]); late > early*3/2 {
		t.Errorf("the heap has grown from %d KiB to %d KiB", early, late)
	}
	client.CloseIdleConnections()
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Errorf("there were %d goroutines, and now are %d", goroutines, runtime.NumGoroutine())
}

// heapInUse returns the KiB of what is reachable.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 10
}

// countingListener counts connections.
type countingListener struct {
	net.Listener
	accepted atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return conn, err
}

// attemptCounter counts all requests, and those that fail in transit or with an
// error status.
type attemptCounter struct{ all, failed atomic.Int64 }

func (a *attemptCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return stub.RoundTripper(func(r *http.Request) (*http.Response, error) {
		a.all.Add(1)
		resp, err := next.RoundTrip(r)
		if err != nil || resp.StatusCode >= 429 || resp.ContentLength < 0 {
			a.failed.Add(1)
		}
		return resp, err
	})
}
