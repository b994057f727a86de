package cloudapi

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"
)

// maxConns is how many connections a client has at most, unless they are the
// caller's.
const maxConns = 64

// newTransport returns a transport for one host. It keeps its connections and
// bounds their number: net/http keeps two, and has every call that finds none
// free make another, even if one is free again before that is done. It is no
// copy of http.DefaultTransport, which a program may have replaced.
//
// What passes for loopback, so that credentials may go there unencrypted, is
// loopback: a name below .localhost is not looked up, and there is no proxy.
func newTransport() http.RoundTripper {
	dialer := net.Dialer{Timeout: 30 * time.Second}
	return &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			if isLoopback(req.URL.Hostname()) {
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
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: maxConns,
		IdleConnTimeout:     90 * time.Second,

		// The response limit is for bodies. 10 MiB would be the default.
		MaxResponseHeaderBytes: 1 << 20,
	}
}
