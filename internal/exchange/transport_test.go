package exchange

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
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
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "api.localhost"} {
		if !IsLoopback(host) {
			t.Errorf("%s does not pass for loopback", host)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLoopbackIsLoopback$")
		cmd.Env = []string{"HTTP_PROXY=" + proxy.URL, "TEST_LOOPBACK_ADDRESS=http://" + host + ":" + port}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", host, err, out)
		}
	}
	for _, host := range []string{"localhost.example.com", "10.0.0.1", ""} {
		if IsLoopback(host) {
			t.Errorf("%q passes for loopback", host)
		}
	}
}
