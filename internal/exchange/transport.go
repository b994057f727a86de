package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Transport is a transport of [NewTransport].
type Transport struct{ *http.Transport }

// maxConns is how many connections a [Transport] has at most.
const maxConns = 64

// NewTransport returns a transport for one host, for attempts that may take as
// long as patience, or, if that is zero, any time.
//
// It keeps its connections and bounds their number: net/http keeps two, and has
// every call that finds none free make another, even if one is free again before
// that is done. On HTTP/2, where net/http takes 64 calls for a reason to make 64
// connections, it makes one. It pings the other end of a connection of HTTP/2
// from which it hears nothing, so that one that has died is given up, as a rule
// while an attempt lasts. It is no copy of http.DefaultTransport, which a program
// may have replaced.
//
// What passes for loopback, so that credentials may go there unencrypted, is
// loopback: a name below .localhost is not looked up, and there is no proxy.
//
// The changes are those of the caller, to what is set here.
func NewTransport(patience time.Duration, changes ...func(*http.Transport)) Transport {
	ping := 15 * time.Second
	if patience > 0 {
		ping = max(min(ping, patience/4), time.Second)
	}
	dialer := net.Dialer{Timeout: 30 * time.Second}
	t := &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			if IsLoopback(req.URL.Hostname()) {
				return nil, nil
			}
			return http.ProxyFromEnvironment(req)
		},
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode != http.StatusOK {
				return &proxyError{resp.StatusCode, resp.Status}
			}
			return nil
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

		// The limit for bodies is not for headers. 10 MiB would be the default.
		MaxResponseHeaderBytes: 1 << 20,

		HTTP2: &http.HTTP2Config{SendPingTimeout: ping, PingTimeout: ping},
	}
	for _, change := range changes {
		change(t)
	}
	shareDials(t)
	return Transport{t}
}

// proxyError is what a proxy answers if it makes no connection.
type proxyError struct {
	code   int
	status string
}

func (e *proxyError) Error() string { return "the proxy answered " + e.status }

// Misconfigured reports whether no connection came about for a reason that stays:
// a certificate that is not trusted, a server that does not speak TLS, a proxy that
// does not permit it or wants a password.
func Misconfigured(err error) bool {
	if e, ok := errors.AsType[*proxyError](err); ok {
		return e.code < 500 && e.code != http.StatusRequestTimeout && e.code != http.StatusTooManyRequests
	}
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	return badCertificate || notTLS
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
