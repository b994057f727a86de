// Package networks_test runs clients over loopback, and over connections in
// memory, against servers and proxies that refuse, break off or never respond.
package networks_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// authority is a certificate authority.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: stub.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := stub.Must(x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key))(t)
	a.cert = stub.Must(x509.ParseCertificate(der))(t)
	return a
}

// issue returns a certificate for 127.0.0.1 that is valid for the given time.
func (a *authority) issue(t *testing.T, valid time.Duration) tls.Certificate {
	t.Helper()
	key := stub.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(valid), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der := stub.Must(x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// listen returns a listener on loopback that counts its connections.
func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{Listener: stub.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)}
	t.Cleanup(func() { l.Close() })
	return l
}

// handling starts a server that calls handle for each connection, and then
// closes it.
func handling(t *testing.T, handle func(net.Conn)) *listener {
	t.Helper()
	l := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return l
}

type listener struct {
	net.Listener
	accepted atomic.Int32
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.accepted.Add(1)
	return patient{conn.(*net.TCPConn)}, nil
}

// patient is a server's connection that the client closes first. Otherwise,
// what the client is just sending could reset the connection before the client
// has read the last words of the server.
type patient struct{ *net.TCPConn }

func (c patient) Close() error {
	c.CloseWrite()
	io.Copy(io.Discard, c.TCPConn)
	return c.TCPConn.Close()
}

// serve starts a server of VMs, and returns how many requests it has executed.
// It executes the first ones when as many as the given number have arrived.
func serve(t *testing.T, l net.Listener, protocols *http.Protocols, together int32) *atomic.Int32 {
	t.Helper()
	executed, all := new(atomic.Int32), make(chan struct{})
	server := &http.Server{Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if executed.Add(1) == together {
			close(all)
		}
		select {
		case <-all:
		case <-req.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, stub.VM)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return executed
}

// newClient returns a client with short pauses between its attempts.
func newClient(t *testing.T, baseURL string, opts ...cloudapi.Option) *cloudapi.Client {
	t.Helper()
	client := stub.Must(cloudapi.NewClient(append([]cloudapi.Option{
		cloudapi.WithBaseURL(baseURL), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project),
		cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: 1, MaxDelay: 1}),
	}, opts...)...))(t)
	t.Cleanup(client.CloseIdleConnections)
	return client
}
