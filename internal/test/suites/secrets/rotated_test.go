package secrets_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestTokensOfAllAttempts: if each attempt has another token, errors and log
// lines show none of them, whichever a gateway repeats.
func TestTokensOfAllAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			sent = append(sent, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
			return stub.Respond(502, "<h1>"+strings.Join(sent, " ")), nil
		}}
		var log bytes.Buffer
		tokens := 0
		client := sdktest.Client(t, &network, cloudapi.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), cloudapi.WithTokenSource(func(context.Context) (string, error) {
			tokens++
			return fmt.Sprintf("hunter%d-rotated", tokens), nil
		}))
		_, err := client.VMs.Get(t.Context(), sdktest.Somewhere, "web-1")
		text := fmt.Sprintf("%v %+v %#v %s", err, err, err, &log)
		if len(sent) != 4 || sent[3] != "hunter4-rotated" || strings.Contains(text, "hunter") || strings.Count(err.Error(), "[redacted]") != 4 {
			t.Errorf("after the tokens %q: %s", sent, text)
		}
	})
}
