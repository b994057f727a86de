package calls_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestWhyNotRetried: if a failure could be retried, but isn't, the error and the
// line of the log say why. The error names what finds out whether the operation
// took effect.
func TestWhyNotRetried(t *testing.T) {
	t.Parallel()
	const page, own = "<h1>", `{"error":{"code":503,"type":"T","message":"m"}}`
	const once, lost = "; not retried: the request isn't idempotent", "; the operation may have taken effect"
	id := strings.Repeat("0", 24)
	for name, tt := range map[string]struct {
		call     sdktest.Call
		status   int // 0 if the response is lost
		body     string
		deadline time.Duration
		option   cloudapi.Option
		want     string // the end of the error
		logged   string // not_retried in the last line, or ""
	}{
		"create":        {sdktest.Do("VMs.Create", "l", "v", nil), 502, page, 0, nil, once + lost + ": Confirm finds out", "the request isn't idempotent"},
		"lost create":   {sdktest.Do("Firewalls.Create", "l", "v", nil), 0, "", 0, nil, once + lost + ": Confirm finds out", "the request isn't idempotent"},
		"restore":       {sdktest.Do("Postgres.Restore", "l", "v", "x", &cloudapi.PostgresRestoreRequest{}), 500, page, 0, nil, once + lost + ": Confirm finds out", "the request isn't idempotent"},
		"change":        {sdktest.Do("VMs.Stop", "l", "v"), 504, page, 0, nil, once + lost + ": ConfirmChange finds out", "the request isn't idempotent"},
		"rename":        {sdktest.Do("VMs.Rename", "l", "v", "w"), 0, "", 0, nil, once + lost + ": ConfirmChange finds out", "the request isn't idempotent"},
		"credentials":   {sdktest.Do("Postgres.CreateBackupCredentials", "l", "v"), 502, page, 0, nil, once + lost, "the request isn't idempotent"},
		"connection":    {sdktest.Do("PrivateSubnets.Connect", "l", "v", "ps"+id), 502, page, 0, nil, once + lost, "the request isn't idempotent"},
		"any path":      {sdktest.Do("Do", "POST", []string{"x"}, nil, nil, nil), 502, page, 0, nil, once + lost + ": Confirm or ConfirmChange finds out", "the request isn't idempotent"},
		"not a retry":   {sdktest.Do("VMs.Create", "l", "v", nil), 505, page, 0, nil, lost + ": Confirm finds out", ""},
		"refused":       {sdktest.Do("VMs.Create", "l", "v", nil), 400, stub.Envelope(400), 0, nil, "400 T: m", ""},
		"deadline":      {sdktest.Do("VMs.Create", "l", "v", nil), 503, own, time.Second, nil, "after the context's deadline: context deadline exceeded", "the next attempt is due in 7s, after the context's deadline: context deadline exceeded"},
		"deadline, GET": {sdktest.Do("VMs.Get", "l", "v"), 503, page, time.Second, nil, "after the context's deadline: context deadline exceeded", "the next attempt is due in 7s, after the context's deadline: context deadline exceeded"},
		"budget":        {sdktest.Do("VMs.Get", "l", "v"), 503, page, 0, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 4, Budget: 1}), "; not retried: the client's retry budget is used up", "the client's retry budget is used up"},
		"last attempt":  {sdktest.Do("VMs.Get", "l", "v"), 502, page, 0, nil, "(after 4 attempts)", ""},
		"a create once": {sdktest.Do("VMs.Create", "l", "v", nil), 502, page, 0, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}), lost + ": Confirm finds out", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
					if tt.status == 0 {
						return nil, errors.New("net/http: connection broken")
					}
					resp := stub.Respond(tt.status, tt.body)
					if tt.status == 503 {
						resp.Header.Set("Retry-After", "7")
					}
					return resp, nil
				}}
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				var err error
				lines := logged(t, slog.LevelWarn, func(logger *slog.Logger) {
					client := sdktest.Client(t, &network, cloudapi.WithLogger(logger))
					if tt.option != nil {
						client = stub.Must(client.With(tt.option))(t)
					}
					_, err = tt.call.On(ctx, client)
				})
				if err == nil || !strings.HasSuffix(err.Error(), tt.want) || strings.Contains(err.Error(), "not retried") != (tt.logged != "") {
					t.Errorf("the error is %v\nwant %s", err, tt.want)
				}
				for i, line := range lines {
					_, got, _ := strings.Cut(line, " not_retried=")
					if want := map[bool]string{true: tt.logged}[i == len(lines)-1]; strings.Trim(got, `"`) != want {
						t.Errorf("line %d of the log is %s\nwant not_retried=%q", i, line, want)
					}
				}
			})
		})
	}
}
