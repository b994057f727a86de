package cloudapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestPredicates checks all predicates for all failures, directly and wrapped.
func TestPredicates(t *testing.T) {
	t.Parallel()
	type verdict struct{ gone, invalidLocation, stray, vanishing, transient, notFound bool }
	answer := func(status int, kind string) *Error {
		return &Error{StatusCode: status, Type: kind, Method: "GET"}
	}
	untrusted := &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	for _, tt := range []struct {
		name string
		err  error
		want verdict
	}{
		{"no failure", nil, verdict{}},
		{"404", answer(404, "ResourceNotFound"), verdict{gone: true, notFound: true}},
		{"404 of a later server", answer(404, "Unheard"), verdict{gone: true, notFound: true}},
		{"404 to a POST", &Error{StatusCode: 404, Type: "ResourceNotFound", Method: "POST"}, verdict{gone: true, notFound: true}},
		{"404 of a gateway", answer(404, ""), verdict{stray: true, vanishing: true}},
		{"404 of a gateway to a POST", &Error{StatusCode: 404, Method: "POST"}, verdict{}},
		{"no such location", answer(404, "InvalidLocation"), verdict{invalidLocation: true, notFound: true}},
		{"the SDK's own", ErrNotFound, verdict{gone: true, notFound: true}},
		{"400 of that type", answer(400, "InvalidLocation"), verdict{}},
		{"400", answer(400, "InvalidRequest"), verdict{}},
		{"401", answer(401, "InvalidCredentials"), verdict{}},
		{"403", answer(403, "Forbidden"), verdict{vanishing: true}},
		{"403 to a DELETE", &Error{StatusCode: 403, Type: "Forbidden", Method: "DELETE"}, verdict{}},
		{"407", answer(407, ""), verdict{}},
		{"408", answer(408, ""), verdict{transient: true}},
		{"409", answer(409, "DependencyError"), verdict{}},
		{"429", answer(429, ""), verdict{transient: true}},
		{"500", answer(500, "UnexceptedError"), verdict{transient: true}},
		{"501", answer(501, ""), verdict{transient: true}},
		{"503", answer(503, ""), verdict{transient: true}},
		{"302", answer(302, ""), verdict{}},
		{"cut off", &DecodeError{outcome: call.Outcome{Truncated: true}, Err: io.ErrUnexpectedEOF}, verdict{transient: true}},
		{"404 cut off", &Error{StatusCode: 404, Method: "GET", outcome: call.Outcome{Truncated: true}}, verdict{stray: true, vanishing: true, transient: true}},
		{"unusable", &DecodeError{Err: errors.New("it is a page")}, verdict{transient: true}},
		{"too large", &DecodeError{Err: fmt.Errorf("%w: it has 5 bytes", ErrResponseTooLarge)}, verdict{}},
		{"no connection", &TransportError{Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, verdict{transient: true}},
		{"timeout of an attempt", &TransportError{Err: context.DeadlineExceeded}, verdict{transient: true}},
		{"untrusted certificate", &TransportError{Err: untrusted}, verdict{}},
		{"no TLS", &TransportError{Err: tls.RecordHeaderError{Msg: "not TLS"}}, verdict{}},
		{"token source", &TransportError{Err: fmt.Errorf("%w: x, %w", errTokenSource, call.ErrNotSent)}, verdict{transient: true}},
		{"untrusted certificate of the token source", &TransportError{Err: fmt.Errorf("%w: %w, %w", errTokenSource, untrusted, call.ErrNotSent)}, verdict{}},
		{"rate limiter", &TransportError{Err: fmt.Errorf("rate limiter: x, %w", call.ErrNotSent)}, verdict{}},
		{"argument", &ArgumentError{Name: "location"}, verdict{}},
		{"context", context.DeadlineExceeded, verdict{}},
		{"another's", errors.New("x"), verdict{}},
	} {
		wrapped := []error{tt.err}
		if tt.err != nil {
			wrapped = append(wrapped, fmt.Errorf("looking: %w", tt.err), unprefixed{tt.err}, &WaitError{Err: tt.err})
		}
		for _, err := range wrapped {
			got := verdict{IsGone(err), errors.Is(err, ErrLocationNotFound), isStray(err), isVanishing(err), IsTransient(err), errors.Is(err, ErrNotFound)}
			if got != tt.want {
				t.Errorf("%s, as %T: %+v, want %+v", tt.name, err, got, tt.want)
			}
		}
	}
}

// TestForeign404: a 404 that the API did not send proves nothing.
func TestForeign404(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a page":                    "<html>no such backend</html>",
		"a text":                    "404 page not found",
		"nothing":                   "",
		"other JSON":                `{"message":"no Route matched with those values"}`,
		"an error that is a text":   `{"error":"not found"}`,
		"an envelope without types": `{"error":{"code":404,"message":"not found"}}`,
		"an envelope cut off":       `{"error":{"code":404,"type":"Resou`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := &stub.Recorder{Answer: stub.Always(http.StatusNotFound, body)}
				client := recorded(t, network)
				find := func(ctx context.Context) (*VM, error) { return client.VMs.Get(ctx, "eu-central-h1", "web-1") }
				for operation, call := range map[string]func() error{
					"Get": func() error { _, err := find(t.Context()); return err },
					"Confirm": func() error {
						_, err := Confirm(t.Context(), ErrOutcomeUnknown, find, func(*VM) bool { return true })
						return err
					},
					"Resolve":     func() error { _, err := client.Resolve(t.Context(), "eu-central-h1/web-1"); return err },
					"Resolve ID":  func() error { _, err := client.Resolve(t.Context(), stub.VMID); return err },
					"WaitDeleted": func() error { return client.VMs.WaitDeleted(t.Context(), "eu-central-h1", "web-1", nil) },
					"Ensure": func() error {
						_, _, err := client.VMs.Ensure(t.Context(), "eu-central-h1", "web-1", &VMCreateRequest{PublicKey: "laptop"}, nil)
						return err
					},
					"Resources": func() error {
						for _, err := range client.Resources(t.Context(), nil) {
							return err
						}
						return nil
					},
				} {
					err := call()
					e, ok := errors.AsType[*Error](err)
					if !ok || e.StatusCode != http.StatusNotFound || errors.Is(err, ErrNotFound) {
						t.Errorf("%s: %v, which is not found: %v", operation, err, errors.Is(err, ErrNotFound))
					}
				}
				for _, sent := range network.Take() {
					if sent.Method != http.MethodGet {
						t.Errorf("sent %s %s", sent.Method, sent.Target)
					}
				}
			})
		})
	}
}
