package reliability

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestCreatesAfterIdleMinutes: behind a server or load balancer that closes
// connections after an idle minute, creates succeed, and arrive once. With the
// SDK's transport that holds even if the server drops them silently.
func TestCreatesAfterIdleMinutes(t *testing.T) {
	const callers, minutes = 20, 3
	_, roots := trusted()
	shared := &tls.Config{RootCAs: roots} // to which net/http adds h2
	for name, tt := range map[string]struct{ http2, foreign bool }{
		"HTTP/1.1": {}, "HTTP/2.0": {http2: true}, "HTTP/1.1 of a client": {foreign: true}, "HTTP/2.0 of a client": {http2: true, foreign: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var carriedOut sync.Map
			var requests atomic.Int32
			type lastUse struct{}
			closes, drops := time.Hour, time.Minute
			if tt.foreign {
				closes, drops = drops, closes
			}
			serve := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				io.Copy(io.Discard, req.Body)
				last := req.Context().Value(lastUse{}).(*atomic.Int64)
				if now := time.Now().Unix(); now-last.Swap(now) >= int64(drops.Seconds()) {
					panic(http.ErrAbortHandler)
				}
				requests.Add(1)
				if req.Proto != name[:len("HTTP/1.1")] {
					t.Errorf("%s: a request of %s", name, req.Proto)
				}
				if _, again := carriedOut.LoadOrStore(req.URL.Path, true); again && req.Method == http.MethodPost {
					t.Errorf("%s: %s was executed twice", name, req.URL.Path)
				}
				w.Header().Set("Content-Type", asJSON)
				io.WriteString(w, recordFor(req))
			})
			l := memnet.Listen()
			server := &http.Server{Handler: serve, TLSConfig: serverTLS(trusted), IdleTimeout: closes, ErrorLog: log.New(io.Discard, "", 0),
				ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
					last := new(atomic.Int64)
					last.Store(time.Now().Unix())
					return context.WithValue(ctx, lastUse{}, last)
				}}
			go server.ServeTLS(l, "", "")
			defer server.Close()
			client := newClient(t, "https://", transport(tt.foreign, func(t *http.Transport) {
				t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) }
				t.TLSClientConfig = shared
				if tt.foreign {
					t.TLSClientConfig = shared.Clone()
				}
				speaks(true, tt.http2)(t)
			}))
			defer client.CloseIdleConnections()
			for minute := range minutes {
				var running sync.WaitGroup
				for n := range callers {
					running.Go(func() {
						vm := fmt.Sprintf("vm-%d-%d", minute, n)
						var err error
						if n%2 == 0 {
							_, err = client.VMs.Create(t.Context(), location, vm, &cloudapi.VMCreateRequest{PublicKey: "laptop"})
						} else {
							_, err = client.VMs.Restart(t.Context(), location, vm)
						}
						if err != nil {
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
			synctest.Wait()
		})
	}
}
