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
// The caller's changes are applied to these defaults. If they add HTTP/2, they
// do it by Protocols or x/net's http2.ConfigureTransport, and not by
// RegisterProtocol.
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
	t.Protocols.SetHTTP1(true)
	for _, change := range changes {
		change(t)
	}
	if c := t.TLSClientConfig; c != nil {
		// A program may share its configuration with a transport of HTTP/2, which adds
		// h2 to it. A transport without HTTP/2 would fail if it offered h2 and the server
		// chose it. For a transport with HTTP/2, net/http adds h2 again.
		t.TLSClientConfig = c.Clone()
		t.TLSClientConfig.NextProtos = slices.DeleteFunc(slices.Clone(c.NextProtos), func(p string) bool { return p == "h2" })
	}
	p := t.Protocols
	onlyHTTP1 := p != nil && !p.HTTP2() && !p.UnencryptedHTTP2() && t.TLSNextProto["h2"] == nil
	return &Transport{Transport: t, onlyHTTP1: onlyHTTP1}
}

// roundTrip sends a request. After an attempt without a response, it closes the
// idle connections: a NAT or load balancer that has silently forgotten one has
// forgotten the others too, and each would cost an attempt. A connection of HTTP/2
// isn't idle before the streams of all the calls that share it have ended, so the
// next attempt closes them as well. Closing them immediately also ends the dial
// through a SOCKS5 proxy that doesn't respond, for which net/http has no limit.
func (t *Transport) roundTrip(req *http.Request) (*http.Response, error) {
	if t.suspect.CompareAndSwap(true, false) {
		t.CloseIdleConnections()
	}
	resp, err := t.RoundTrip(req)
	if err != nil && req.Context().Err() != context.Canceled {
		t.suspect.Store(true)
		t.CloseIdleConnections()
	}
	return resp, err
}

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

// proxyError is the error response of a company's proxy. It doesn't repeat the
// proxy's words, which may contain the credentials.
type proxyError struct{ code int }

func (e *proxyError) Error() string {
	return fmt.Sprintf("the proxy responded with %d %s", e.code, http.StatusText(e.code))
}

// isRefusedBySOCKS reports whether a SOCKS5 proxy, such as ssh -D or a
// company's, refuses the credentials or the host. Otherwise, it may just not
// have reached the host.
func isRefusedBySOCKS(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "socks connect" && (strings.Contains(e.Err.Error(), "authentication") || strings.Contains(e.Err.Error(), "not allowed"))
}

// handshakeAlerts are the TLS alerts with which a server refuses a handshake: it
// doesn't accept the client's certificate (mTLS) or name for the server, or has
// no protocol in common with the client. Other alerts can also report a
// disturbed connection, or a server that isn't ready.
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

// IsLasting reports whether another attempt would fail for the same reason: an
// untrusted certificate, a server without TLS or one that refuses the handshake,
// a proxy that refuses the connection or requires a password, or an error of the
// transport that doesn't come from the network.
func IsLasting(err error) bool {
	if e, ok := errors.AsType[*proxyError](err); ok {
		return e.code < 500 && e.code != http.StatusRequestTimeout && e.code != http.StatusTooManyRequests
	}
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	return badCertificate || notTLS || errors.Is(err, errOwn) || isRefusedHandshake(err) || isRefusedBySOCKS(err)
}
