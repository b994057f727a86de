package jobs

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const (
	location  = "eu-central-h1"
	publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHnDkYqBnZ0yE0T4l3dLPGm2oY9PSCN7fVqF3yX1aBcD me@example"

	latency = 50 * time.Millisecond // of each request
	starts  = 30 * time.Second      // from the creation of a VM until it runs
	ends    = 10 * time.Second      // from the deletion of a VM until it is gone
)

// world is a server, with counters of the requests to it and of the bytes.
type world struct {
	server          *cloudapitest.Server
	uncounted       *cloudapi.Client
	requests, bytes atomic.Int64
}

// newWorld creates a server with some VMs in subnets of 59, each subnet with a
// firewall. It must be called in a bubble.
func newWorld(t *testing.T, vms int) *world {
	s := cloudapitest.New(t, cloudapitest.WithRequestLog(0),
		cloudapitest.WithDelays(cloudapitest.Delays{Create: starts, Delete: ends}),
		cloudapitest.WithQuota(cloudapitest.Quota{VM: 1000, Projects: 10}))
	if vms > 0 {
		s.AddVMs(location, "web", vms)
	}
	return &world{server: s, uncounted: s.Client()}
}

// sdk returns the SDK's client.
func (w *world) sdk() *cloudapi.Client {
	return w.server.Client(cloudapi.WithHTTPClient(w.counted(w.server.RoundTripper())))
}

// counted returns an HTTP client whose requests take the latency.
func (w *world) counted(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		w.requests.Add(1)
		if err := pause(req.Context(), latency); err != nil {
			return nil, err
		}
		resp, err := next.RoundTrip(req)
		if err == nil {
			resp.Body = &body{resp.Body, &w.bytes}
		}
		return resp, err
	})}
}

// body counts what is read of it.
type body struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

// pause waits for d, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
