package exchange

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"
)

// dial connects to an address within 30 seconds. It doesn't look up loopback
// names, such as those below .localhost that Traefik serves: in a container
// without a hosts file, a DNS server would say where they lead.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 30 * time.Second}
	host, port, err := net.SplitHostPort(address)
	if err != nil || !isLocalhost(host) {
		return dialer.DialContext(ctx, network, address)
	}
	conn, err := dialer.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		if conn6, err := dialer.DialContext(ctx, network, net.JoinHostPort("::1", port)); err == nil {
			return conn6, nil
		}
	}
	return conn, err
}

// IsLoopback reports whether a host is this machine, whatever a resolver says.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host) // with a zone, too
	return isLocalhost(host) || err == nil && ip.IsLoopback()
}

// isLocalhost reports whether RFC 6761 reserves a host name for loopback. A name
// that ends with a dot is the same name.
func isLocalhost(host string) bool {
	host = strings.ToLower(strings.TrimRight(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
