package networks_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

// socks returns the address of a SOCKS5 proxy that chooses a method of
// authentication, and responds to a password and to the wish for a connection.
// It forwards nothing.
func socks(t *testing.T, method, passwordStatus, reply byte) *listener {
	t.Helper()
	return handling(t, func(conn net.Conn) {
		read := func(n byte) byte { // returns the last of n bytes
			b := make([]byte, n)
			io.ReadFull(conn, b)
			return b[n-1]
		}
		read(read(2)) // the client's methods
		conn.Write([]byte{5, method})
		if method == 2 {
			read(read(2)) // the name
			read(read(1)) // the password
			conn.Write([]byte{1, passwordStatus})
		}
		if method == 0xff || passwordStatus != 0 {
			return
		}
		read(read(5)) // a host name
		read(2)       // the port
		conn.Write([]byte{5, reply, 0, 1, 0, 0, 0, 0, 0, 0})
	})
}

// TestRefusingSOCKS: a call isn't retried if a SOCKS5 proxy doesn't accept its
// credentials or forbids the connection. It's retried if the proxy doesn't reach
// the host.
func TestRefusingSOCKS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                          string
		method, passwordStatus, reply byte
		want                          string
		attempts                      int
	}{
		{"a wrong password", 2, 1, 0, "username/password authentication failed", 1},
		{"an unsupported method", 0xff, 0, 0, "no acceptable authentication methods", 1},
		{"its rules", 0, 0, 2, "connection not allowed by ruleset", 1},
		{"a failure", 0, 0, 1, "general SOCKS server failure", 4},
		{"no host", 2, 0, 4, "host unreachable", 4},
	} {
		proxy := socks(t, tt.method, tt.passwordStatus, tt.reply)
		client := newClient(t, "https://api.example.com", cloudapi.WithTransport(func(t *http.Transport) {
			t.Proxy = http.ProxyURL(&url.URL{Scheme: "socks5h", Host: proxy.Addr().String(), User: url.UserPassword("name", "hunter2")})
		}))
		_, err := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil)
		e, ok := errors.AsType[*cloudapi.TransportError](err)
		if !ok || !strings.Contains(err.Error(), tt.want) || e.Attempts != tt.attempts || proxy.accepted.Load() != int32(tt.attempts) ||
			cloudapi.IsTransient(err) != (tt.attempts > 1) || errors.Is(err, cloudapi.ErrOutcomeUnknown) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v on %d connections; transient: %v", tt.name, err, proxy.accepted.Load(), cloudapi.IsTransient(err))
		}
	}
}
