package calls_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// brokenConn is a connection that breaks after the first write.
type brokenConn struct {
	net.Conn
	writes int
}

func (c *brokenConn) Write(b []byte) (int, error) {
	if c.writes++; c.writes > 1 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// TestUnwrittenCreate: if nothing of a create could be written to an idle
// connection, the SDK's transport sends it on another one.
func TestUnwrittenCreate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.StartPeer(t, sdktest.ResetsAtOnce) // used only for its counts: this test opens the connections
		dials, keep := 0, make(chan struct{})
		defer close(keep)
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			near, far := net.Pipe()
			dials++
			first := dials == 1
			go func() {
				defer far.Close()
				if first {
					p.Read(far)
					_, _ = io.WriteString(far, "HTTP/1.1 204 No Content\r\n\r\n")
					<-keep
					return
				}
				sdktest.Answers(http.StatusOK, "", stub.VM)(p, far)
			}()
			if first {
				return &brokenConn{Conn: near}, nil
			}
			return near, nil
		}
		client := p.Client(t, cloudapi.WithTransport(func(t *http.Transport) { t.DialContext = dial }))
		defer client.CloseIdleConnections()
		if err := client.VMs.Delete(t.Context(), "eu-central-h1", "web-2"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		vm, err := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop"})
		if err != nil || vm.ID != stub.VMID || p.Requests() != 2 || dials != 2 {
			t.Errorf("got %v, %v after %d requests on %d connections", vm, err, p.Requests(), dials)
		}
	})
}

// TestAttemptsEnd: the context of each attempt has ended after the call.
func TestAttemptsEnd(t *testing.T) {
	t.Parallel()
	var attempts []context.Context
	client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		attempts = append(attempts, req.Context())
		if err := req.Context().Err(); err != nil {
			t.Errorf("an attempt begins with %v", err)
		}
		return stub.Respond(http.StatusOK, stub.VM), nil
	}))
	stub.Must(client.VMs.Get(t.Context(), "eu-central-h1", "web-1"))(t)
	stub.Must(client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil))(t)
	for _, ctx := range attempts {
		if ctx.Err() != context.Canceled {
			t.Errorf("after the call the context of the attempt has %v", ctx.Err())
		}
	}
}
