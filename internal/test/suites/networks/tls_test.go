package networks_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestRefusedHandshakes: a server that refuses the client's certificate or its
// version of TLS would refuse it again, and has executed nothing. With TLS 1.3,
// the client learns of that only after it has sent the request.
func TestRefusedHandshakes(t *testing.T) {
	t.Parallel()
	trusted, other := newAuthority(t), newAuthority(t)
	serverCert := trusted.issue(t, time.Hour)
	none, valid := []tls.Certificate(nil), []tls.Certificate{trusted.issue(t, time.Hour)}
	expired, foreign := []tls.Certificate{trusted.issue(t, -time.Hour)}, []tls.Certificate{other.issue(t, time.Hour)}
	requires := tls.RequireAndVerifyClientCert
	for _, tt := range []struct {
		name     string
		min, max uint16 // of the server
		auth     tls.ClientAuthType
		certs    []tls.Certificate
		want     string // the error; "" if the calls succeed
	}{
		{"a valid certificate", tls.VersionTLS12, 0, requires, valid, ""},
		{"no certificate", tls.VersionTLS13, 0, requires, none, "remote error: tls: certificate required"},
		{"an expired certificate", tls.VersionTLS13, 0, requires, expired, "remote error: tls: expired certificate"},
		{"a certificate of another authority", tls.VersionTLS13, 0, requires, foreign, "remote error: tls: "},
		{"no certificate, TLS 1.2", 0, tls.VersionTLS12, requires, none, "remote error: tls: "},
		{"a certificate of another authority, TLS 1.2", 0, tls.VersionTLS12, requires, foreign, "remote error: tls: "},
		{"TLS 1.1", tls.VersionTLS10, tls.VersionTLS11, tls.NoClientCert, none, "remote error: tls: protocol version not supported"},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(tt.name+", "+map[bool]string{false: "HTTP/1.1", true: "HTTP/2"}[http2], func(t *testing.T) {
				t.Parallel()
				config := &tls.Config{
					Certificates: []tls.Certificate{serverCert}, MinVersion: tt.min, MaxVersion: tt.max,
					ClientAuth: tt.auth, ClientCAs: trusted.pool(), NextProtos: []string{"http/1.1"},
				}
				protocols := new(http.Protocols)
				protocols.SetHTTP1(true)
				if http2 {
					protocols.SetHTTP2(true)
					config.NextProtos = []string{"h2"}
				}
				l := listen(t)
				executed := serve(t, tls.NewListener(l, config), protocols, 1)
				client := newClient(t, "https://"+l.Addr().String(), cloudapi.WithTransport(func(t *http.Transport) {
					t.TLSClientConfig = &tls.Config{RootCAs: trusted.pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
						if len(tt.certs) == 0 {
							return new(tls.Certificate), nil
						}
						return &tt.certs[0], nil // even if the server doesn't name its authority
					}}
					t.Protocols.SetHTTP2(http2)
				}))
				_, created := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil)
				_, got := client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
				if tt.want == "" {
					if created != nil || got != nil || executed.Load() != 2 {
						t.Errorf("%v, %v after %d requests", created, got, executed.Load())
					}
					return
				}
				for _, err := range []error{created, got} {
					if errors.Is(err, cloudapi.ErrOutcomeUnknown) {
						t.Error(err)
					}
					e, ok := errors.AsType[*cloudapi.TransportError](err)
					if ok && !strings.Contains(e.Err.Error(), "tls: ") {
						continue // each time, the connection was closed before net/http had a request for the alert
					}
					if !ok || !strings.Contains(e.Err.Error(), tt.want) || cloudapi.IsTransient(err) {
						t.Errorf("%v; transient %v", err, cloudapi.IsTransient(err))
					}
				}
				if executed.Load() != 0 {
					t.Errorf("the server executed %d requests", executed.Load())
				}
			})
		}
	}
}
