package exchange

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const maxConns = 64

// Transport is what [NewTransport] returns.
type Transport struct {
	*http.Transport
	suspect   atomic.Bool // whether an attempt got no response since the last one began
	onlyHTTP1 bool
	fetches   bool // whether it uses the fetch of JavaScript
}

// NewTransport returns a transport for one host. It uses HTTP/1.1, unless
// HTTP/2 is added to its Protocols.
//
// The transport keeps its connections and limits their number. By default
// net/http keeps two, and opens another for every call that finds none idle. The
// transport also pings idle HTTP/2 connections, since a dead one would otherwise
// be used forever. It isn't a copy of http.DefaultTransport, since a program may
// have replaced that.
//
// Loopback names always lead to loopback, since credentials may go there
// unencrypted: the transport doesn't look them up, and uses no proxy for them.
//
// The caller's changes are applied to these defaults.
func NewTransport(changes ...func(*http.Transport)) *Transport {
	t := &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			if IsLoopback(req.URL.Hostname()) {
				return nil, nil
			}
			return http.ProxyFromEnvironment(req)
		},
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode != http.StatusOK {
				return &proxyError{resp.StatusCode}
			}
			return nil
		},
		DialContext:         dial,
		TLSClientConfig:     new(tls.Config), // so that a change can set a field of it
		TLSHandshakeTimeout: 15 * time.Second,
		Protocols:           new(http.Protocols),
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second},
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: maxConns,

		// Load balancers often close connections after 60 s, and the outcome of a
		// create that is sent at that moment would be unknown.
		IdleConnTimeout: 50 * time.Second,

		// The limit for bodies doesn't cover headers. net/http allows 10 MiB.
		MaxResponseHeaderBytes: 1 << 20,
	}
	if runtime.GOOS == "js" {
		t.DialContext = nil // so that net/http uses the fetch of JavaScript
	}
	t.Protocols.SetHTTP1(true)
	for _, change := range changes {
		change(t)
	}
	if c := t.TLSClientConfig; c != nil {
		// A transport without HTTP/2 would fail if it offered h2 and the server chose
		// it. For a transport with HTTP/2, net/http adds h2 again.
		t.TLSClientConfig = c.Clone()
		t.TLSClientConfig.NextProtos = slices.DeleteFunc(slices.Clone(c.NextProtos), func(p string) bool { return p == "h2" })
	}
	p := t.Protocols
	http1 := p != nil && !p.HTTP2() && !p.UnencryptedHTTP2()
	onlyHTTP1 := http1 && (len(changes) == 0 || !isRegistered(t, "https") && !isRegistered(t, "http"))
	return &Transport{Transport: t, onlyHTTP1: onlyHTTP1, fetches: runtime.GOOS == "js" && t.DialContext == nil}
}

// isRegistered reports whether a transport passes requests with the scheme to
// another transport, which may speak HTTP/2. net/http doesn't say, but
// panics if a scheme is registered twice. So isRegistered registers the scheme,
// and can be called only once.
func isRegistered(t *http.Transport, scheme string) (registered bool) {
	defer func() { registered = recover() != nil }()
	t.RegisterProtocol(scheme, skipped{})
	return false
}

// skipped is a protocol that leaves all requests to the transport itself.
type skipped struct{}

func (skipped) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrSkipAltProtocol }

// ProxyCredentials returns the credentials that a transport sends to the proxy
// of a request, in plain text and encoded.
func ProxyCredentials(transport http.RoundTripper, req *http.Request) (credentials []string) {
	t, ok := transport.(*http.Transport)
	if !ok {
		return nil
	}
	for _, value := range t.ProxyConnectHeader["Proxy-Authorization"] {
		_, rest, _ := strings.Cut(value, " ")
		credentials = append(credentials, value, rest)
	}
	if t.Proxy == nil {
		return credentials
	}
	proxy, err := t.Proxy(req)
	if err != nil || proxy == nil {
		return credentials
	}
	name := proxy.User.Username()
	password, _ := proxy.User.Password()
	escapedName, escapedPassword, _ := strings.Cut(proxy.User.String(), ":")
	return append(credentials, name, password, escapedName, escapedPassword, base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
}

// proxyError is the error response of a proxy. It doesn't repeat the proxy's
// words, which may contain the credentials.
type proxyError struct{ code int }

func (e *proxyError) Error() string {
	return fmt.Sprintf("the proxy responded with %d %s", e.code, http.StatusText(e.code))
}

// isRefusedBySOCKS reports whether an error is a refusal of a SOCKS5 proxy that
// it would repeat: it doesn't accept the credentials, or forbids or doesn't
// support the connection. Otherwise, it may just not have reached the host.
func isRefusedBySOCKS(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	if !ok || e.Op != "socks connect" {
		return false
	}
	switch e.Err.Error() {
	case "no acceptable authentication methods", "username/password authentication failed", "invalid username/password",
		"unknown error connection not allowed by ruleset", "unknown error command not supported", "unknown error address type not supported":
		return true
	}
	return false
}

// handshakeAlerts are the TLS alerts with which a server refuses a handshake: it
// doesn't accept the client's certificate or name for the server, or has no
// protocol in common with the client. Other alerts can also report a disturbed
// connection, or a server that isn't ready.
var handshakeAlerts = []tls.AlertError{
	40,                              // handshake failure
	42, 43, 44, 45, 46, 48, 49, 116, // the client's certificate
	70, 71, 120, // the protocols
	112, // the server's name
}

// isRefusedHandshake reports whether an error is an alert with which a server
// refused the handshake. With TLS 1.3, the client finishes the handshake before
// the server does. Then the first read of the response returns the alert.
func isRefusedHandshake(err error) bool {
	return says(err, func(text string) bool {
		alert, ok := strings.CutPrefix(text, "remote error: ")
		return ok && slices.ContainsFunc(handshakeAlerts, func(a tls.AlertError) bool { return alert == a.Error() })
	})
}

var errHTTP2 = errors.New("the server speaks only HTTP/2, which has to be added with WithTransport")

// isHTTP2 reports whether the server responded to HTTP/1.1 with the first frame
// of HTTP/2, its settings.
func isHTTP2(err error) bool {
	return says(err, func(text string) bool {
		return strings.HasPrefix(text, `malformed HTTP response "\x00\x00`) && strings.Contains(text, `\x04\x00\x00\x00\x00\x00`)
	})
}

// isOldTLS reports whether the server chose a version of TLS that the client
// doesn't offer, instead of refusing the handshake.
func isOldTLS(err error) bool {
	return says(err, func(text string) bool {
		return strings.HasPrefix(text, "tls: server selected unsupported protocol version")
	})
}

// IsLasting reports whether another attempt would fail for the same reason: an
// untrusted certificate, a server without TLS or HTTP/1.1 or one that refuses the
// handshake, a proxy that refuses the connection or requires a password, or an
// error of the transport that doesn't come from the network.
func IsLasting(err error) bool {
	if errors.Is(err, errOwn) || errors.Is(err, errHTTP2) {
		return true
	}
	if e, ok := errors.AsType[*proxyError](err); ok {
		return e.code < 500 && e.code != http.StatusRequestTimeout && e.code != http.StatusTooManyRequests
	}
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	return badCertificate || notTLS || isRefusedHandshake(err) || isOldTLS(err) || isRefusedBySOCKS(err)
}

// IsLoopback reports whether a host is this machine, whatever a resolver says.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return isLocalhost(host) || ip != nil && ip.IsLoopback()
}

// isLocalhost reports whether RFC 6761 reserves a host name for loopback. A name
// that ends with a dot is the same name.
func isLocalhost(host string) bool {
	host = strings.ToLower(strings.TrimRight(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
