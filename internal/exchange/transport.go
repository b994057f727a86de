package exchange

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// MaxConns is how many connections a transport of [NewTransport] has at most.
const MaxConns = 64

// NewTransport returns a transport for one host. It keeps its connections and
// bounds their number: net/http keeps two, and has every call that finds none
// free make another, even if one is free again before that is done. It is no
// copy of http.DefaultTransport, which a program may have replaced.
//
// What passes for loopback, so that credentials may go there unencrypted, is
// loopback: a name below .localhost is not looked up, and there is no proxy.
//
// The changes are made before anything else is done with the transport.
func NewTransport(changes ...func(*http.Transport)) *http.Transport {
	dialer := net.Dialer{Timeout: 30 * time.Second}
	t := &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			if IsLoopback(req.URL.Hostname()) {
				return nil, nil
			}
			return http.ProxyFromEnvironment(req)
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, port, err := net.SplitHostPort(address); err == nil && isLocalhost(host) {
				address = net.JoinHostPort("localhost", port)
			}
			return dialer.DialContext(ctx, network, address)
		},
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxConnsPerHost:     MaxConns,
		MaxIdleConnsPerHost: MaxConns,
		IdleConnTimeout:     90 * time.Second,

		// The limit for bodies is not for headers. 10 MiB would be the default.
		MaxResponseHeaderBytes: 1 << 20,
	}
	for _, change := range changes {
		change(t)
	}
	return t
}

// IsLoopback reports whether a host is this machine, whatever a resolver says.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return isLocalhost(host) || ip != nil && ip.IsLoopback()
}

// isLocalhost reports names that RFC 6761 reserves for loopback.
func isLocalhost(host string) bool {
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
