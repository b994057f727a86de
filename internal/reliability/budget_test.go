package reliability

import (
	"crypto/tls"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestRefusedStreamsTakeNoRetries: a create whose HTTP/2 streams the server
// refuses is sent as often as the policy says, even if the budget has one retry
// only, since the server has done no work.
func TestRefusedStreamsTakeNoRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{op: new(operation)}
		p.script = http2(func(s *stream) { s.resets(codeRefusedStream) })
		defer p.stop()
		_, roots := trusted()
		client, err := cloudapi.NewClient(
			cloudapi.WithBaseURL("https://"+host), cloudapi.WithToken(token), cloudapi.WithProject(projectID),
			cloudapi.WithRetry(cloudapi.RetryPolicy{Budget: 1}),
			cloudapi.WithTransport(func(t *http.Transport) {
				t.DialContext, t.TLSClientConfig = p.dial, &tls.Config{RootCAs: roots}
			}))
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		for range 3 {
			_, err := client.VMs.Create(t.Context(), location, "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop"})
			e, ok := errors.AsType[*cloudapi.TransportError](err)
			if !ok || e.Attempts != mostAttempts || errors.Is(err, cloudapi.ErrRetryBudget) || errors.Is(err, cloudapi.ErrOutcomeUnknown) {
				t.Errorf("the error is %v, want one of %d attempts", err, mostAttempts)
			}
		}
	})
}
