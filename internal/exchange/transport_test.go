package exchange

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// get reads what is at an address.
func get(hc *http.Client, address string) (string, error) {
	resp, err := hc.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// TestSharedTLS: transports with and without HTTP/2 share a TLS configuration
// that names h2. Each offers what it speaks, and none changes the configuration.
func TestSharedTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, req.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for _, offered := range [][]string{nil, {"h2"}, {"h2", "http/1.1"}} {
		shared := &tls.Config{RootCAs: roots, NextProtos: slices.Clone(offered)}
		for range 2 {
			for proto, change := range map[string]func(*http.Transport){
				"HTTP/1.1": func(t *http.Transport) { t.TLSClientConfig = shared },
				"HTTP/2.0": func(t *http.Transport) { t.TLSClientConfig = shared; t.Protocols.SetHTTP2(true) },
			} {
				transport := NewTransport(change)
				if got, err := get(&http.Client{Transport: transport}, server.URL); got != proto {
					t.Errorf("%v: got %q, %v, want %s", offered, got, err, proto)
				}
				transport.CloseIdleConnections()
			}
		}
		if !slices.Equal(shared.NextProtos, offered) {
			t.Errorf("%v became %v", offered, shared.NextProtos)
		}
	}
}

var loopbackNames = []string{"localhost", "LOCALHOST", "localhost.", "api.localhost", "Api.Localhost."}

// TestLoopbackIsNotResolved: no resolver is asked for a loopback name, whether
// the server listens on 127.0.0.1 or on ::1.
func TestLoopbackIsNotResolved(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil && address == "[::1]:0" {
			t.Log("this machine has no IPv6:", err)
			continue
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.Listener.Close()
		server.Listener = stub.Must(listener, err)(t)
		server.Start()
		defer server.Close()
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		for _, host := range loopbackNames {
			transport := NewTransport()
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				DNSStart: func(info httptrace.DNSStartInfo) { t.Errorf("%s: %s was looked up", host, info.Host) },
			})
			req := stub.Must(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+":"+port, nil))(t)
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Errorf("%s at %s: %v", host, address, err)
				continue
			}
			resp.Body.Close()
			transport.CloseIdleConnections()
		}
	}
	if _, err := NewTransport().DialContext(t.Context(), "tcp", "api.localhost:1"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("a refused connection: %v", err)
	}
}

// TestLoopbackIsLoopback: requests to loopback names use neither a proxy nor
// DNS. net/http reads the proxy from the environment once, so the client is a
// separate process.
func TestLoopbackIsLoopback(t *testing.T) {
	t.Parallel()
	if address := os.Getenv("TEST_LOOPBACK_ADDRESS"); address != "" {
		if body, err := get(&http.Client{Transport: NewTransport()}, address); body != "ok" {
			t.Error(body, err)
		}
		return
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		t.Errorf("the proxy got a request to %s", req.Host)
	}))
	defer proxy.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	}))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	if !IsLoopback("::1%lo") || IsLoopback("fe80::1%lo") {
		t.Error("with a zone")
	}
	for _, host := range append([]string{"127.0.0.1"}, loopbackNames...) {
		if !IsLoopback(host) {
			t.Errorf("%s does not pass for loopback", host)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLoopbackIsLoopback$")
		cmd.Env = []string{"HTTP_PROXY=" + proxy.URL, "TEST_LOOPBACK_ADDRESS=http://" + host + ":" + port}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", host, err, out)
		}
	}
	for _, host := range []string{"localhost.example.com", "local.host", "notlocalhost", "10.0.0.1", ".", ""} {
		if IsLoopback(host) {
			t.Errorf("%q passes for loopback", host)
		}
	}
}
