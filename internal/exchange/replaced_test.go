package exchange

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestGuardOfAReplacedTransport: a POST has a body that can't be read again if
// the program has replaced the transport, which may speak HTTP/2.
func TestGuardOfAReplacedTransport(t *testing.T) {
	t.Parallel()
	own := NewTransport()
	var sent *http.Request
	replaced := stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		sent = req
		return nil, context.Canceled
	})
	guard := &Guard{Own: own, Current: func() http.RoundTripper { return replaced }, MayRepeat: never}
	req := stub.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.test/", strings.NewReader("{}")))(t)
	if _, _ = guard.RoundTrip(req); !own.onlyHTTP1 || sent == nil || sent.GetBody != nil || req.GetBody == nil {
		t.Errorf("net/http can send the body of %+v again", sent)
	}
}
