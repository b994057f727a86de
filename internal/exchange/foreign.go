package exchange

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/go-retryablehttp"
)

// The functions in this file deal with transports that belong to the program.

var original, _ = http.DefaultTransport.(*http.Transport)

// IsDefaultReplaced reports whether the program has replaced
// http.DefaultTransport, for example with httpmock. It reads the variable
// without a lock, as net/http does.
func IsDefaultReplaced() bool {
	return http.DefaultTransport != http.RoundTripper(original)
}

// Refusal returns why a client can't use a transport, or "". Programs that use
// go-retryablehttp elsewhere pass its StandardClient.
func Refusal(transport http.RoundTripper) string {
	switch transport.(type) {
	case nil:
		return "has no transport, and http.DefaultTransport is nil"
	case *retryablehttp.RoundTripper:
		return "is go-retryablehttp's, which would repeat creates: use the HTTPClient of its Client, and WithRetry for retries"
	}
	return ""
}

// isOfNetwork reports whether an error of a transport comes from the network.
// All errors of net/http's transport do. Other transports can wrap an error of
// the network, but can also fail for other reasons: httpmock may have no
// responder for the request, and should say so at once.
func isOfNetwork(transport http.RoundTripper, err error) bool {
	if _, ok := transport.(*http.Transport); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
		return true
	}
	return says(err, func(text string) bool {
		return slices.ContainsFunc(untyped, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
	})
}

// untyped contains prefixes of the errors of net/http and crypto/tls that have
// no type of their own.
var untyped = []string{"net/http: ", "http: ", "http2: ", "tls: ", "stream error: ", "connection error: "}

func says(err error, matches func(text string) bool) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if matches(err.Error()) {
			return true
		}
	}
	return false
}

// ownError is a transport's error that doesn't come from the network. It
// matches errOwn, even if it's masked.
type ownError struct{ error }

var errOwn = errors.New("not of the network")

func (e ownError) Unwrap() error      { return e.error }
func (ownError) Is(target error) bool { return target == errOwn }

// ErrorType returns the type of the transport's error, which OpenTelemetry
// reports.
func (e ownError) ErrorType() string { return fmt.Sprintf("%T", e.error) }
