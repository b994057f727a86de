package calls_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// logged returns the log lines of calls, without times and durations.
func logged(t *testing.T, level slog.Level, do func(logger *slog.Logger)) []string {
	t.Helper()
	var out bytes.Buffer
	do(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey:
			return slog.Attr{}
		case "duration":
			if a.Value.Kind() != slog.KindDuration || a.Value.Duration() < 0 {
				t.Errorf("the duration is %v", a.Value)
			}
			return slog.Attr{}
		}
		return a
	}})))
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

const getVMLine = ` operation=VMs.Get method=GET host=api.example.com route=/project/{project_id}/location/{location}/vm/{vm_reference}`

func TestLoggerGetsALineForEachAttempt(t *testing.T) {
	t.Parallel()
	const path = "/project/" + stub.Project + "/location/eu-central-h1/vm/web-1"
	const failed = `level=WARN msg="cloudapi: request failed"` + getVMLine
	const unsent = `level=WARN msg="cloudapi: request not sent"` + getVMLine
	busy := failed + ` attempt=1 status=503 error="cloudapi: VMs.Get: GET ` + path + `: 503 T: m" retry_in=2s`
	for _, tt := range []struct {
		name    string
		replies []*http.Response // nil if there is no connection
		opts    []cloudapi.Option
		level   slog.Level
		want    []string
	}{
		{"success", []*http.Response{stub.Respond(200, stub.VM)}, nil, slog.LevelDebug,
			[]string{`level=DEBUG msg="cloudapi: request"` + getVMLine + ` attempt=1 status=200`}},
		{"success at level info", []*http.Response{stub.Respond(200, stub.VM)}, nil, slog.LevelInfo, []string{""}},
		{"refusal", []*http.Response{stub.Respond(403, stub.Envelope(403))}, nil, slog.LevelInfo,
			[]string{failed + ` attempt=1 status=403 error="cloudapi: VMs.Get: GET ` + path + `: 403 T: m"`}},
		{"nothing there", []*http.Response{stub.Respond(404, stub.Envelope(404))}, nil, slog.LevelInfo,
			[]string{strings.Replace(failed, "WARN", "INFO", 1) + ` attempt=1 status=404 error="cloudapi: VMs.Get: GET ` + path + `: 404 T: m"`}},
		{"no such location", []*http.Response{stub.Respond(404, `{"error":{"code":404,"type":"InvalidLocation","message":"m"}}`)}, nil, slog.LevelInfo,
			[]string{failed + ` attempt=1 status=404 error="cloudapi: VMs.Get: GET ` + path + `: 404 InvalidLocation: m"`}},
		{"no such backend", []*http.Response{stub.Respond(404, "<h1>")}, nil, slog.LevelInfo,
			[]string{failed + ` attempt=1 status=404 error="cloudapi: VMs.Get: GET ` + path + `: 404 Not Found"`}},
		{"nothing there at level warn", []*http.Response{stub.Respond(404, stub.Envelope(404))}, nil, slog.LevelWarn, []string{""}},
		{"success at last", []*http.Response{stub.Respond(503, stub.Envelope(503)), stub.Respond(200, stub.VM)}, nil, slog.LevelDebug,
			[]string{busy, `level=DEBUG msg="cloudapi: request"` + getVMLine + ` attempt=2 status=200`}},
		{"no connection", []*http.Response{nil}, nil, slog.LevelWarn,
			[]string{failed + ` attempt=1 error="cloudapi: VMs.Get: GET ` + path + `: no route to host"`}},
		{"unusable response", []*http.Response{stub.Respond(200, "{}")}, nil, slog.LevelWarn,
			[]string{failed + ` attempt=1 status=200 error="cloudapi: VMs.Get: GET ` + path + `: status 200 with an unusable response: it has no id (application/json)"`}},
		{"page", []*http.Response{stub.Respond(502, "<h1>")}, nil, slog.LevelWarn,
			[]string{failed + ` attempt=1 status=502 error="cloudapi: VMs.Get: GET ` + path + `: 502 Bad Gateway"`}},
		{"limiter that fails at once", nil, []cloudapi.Option{cloudapi.WithLimiter(failingAt(1))}, slog.LevelWarn,
			[]string{unsent + ` attempt=1 error="rate limiter: the budget is spent"`}},
		{"limiter that fails later", []*http.Response{stub.Respond(503, stub.Envelope(503))}, []cloudapi.Option{cloudapi.WithLimiter(failingAt(2))}, slog.LevelWarn,
			[]string{busy, unsent + ` attempt=2 error="rate limiter: the budget is spent"`}},
		{"level error", []*http.Response{stub.Respond(403, stub.Envelope(403))}, nil, slog.LevelError, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				served := 0
				network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
					reply := tt.replies[served]
					if served++; reply == nil {
						return nil, errors.New("no route to host")
					}
					reply.Header.Set("Retry-After", "2")
					return reply, nil
				}}
				attempts := min(2, len(tt.want)) // one line each
				got := logged(t, tt.level, func(logger *slog.Logger) {
					client := sdktest.Recorded(t, &network, append(tt.opts, cloudapi.WithLogger(logger), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: attempts}))...)
					_, _ = client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
				})
				if !slices.Equal(got, tt.want) {
					t.Errorf("the log is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
			})
		})
	}
}

func failingAt(n int) cloudapi.Limiter {
	return stub.Limiter(func(context.Context) error {
		if n--; n == 0 {
			return errors.New("the budget is spent")
		}
		return nil
	})
}
