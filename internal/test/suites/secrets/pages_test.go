package secrets_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestSecretsOfARequestInPages: no error and no log line quotes a page that
// repeats a request with a secret, however the page encodes it.
func TestSecretsOfARequestInPages(t *testing.T) {
	t.Parallel()
	const password = `Tr0ub&dor<Horse>"9" +/é staple`
	encodings := map[string]string{
		"plain":   password,
		"HTML":    html.EscapeString(password),
		"form":    url.QueryEscape(password),
		"path":    url.PathEscape(password),
		"JSON":    string(stub.JSON(password)),
		"base64":  base64.StdEncoding.EncodeToString([]byte(`{"password":"` + password + `"}`)),
		"hex":     hex.EncodeToString([]byte(password)),
		"cut":     password[:12],
		"cut off": password[8:],
		"spaced":  strings.Join(strings.Split(password[:8], ""), " "),
	}
	calls := []sdktest.Call{
		sdktest.Do("Postgres.ResetSuperuserPassword", sdktest.Somewhere, "db", cloudapi.NewSecret(password)),
		sdktest.Do("Postgres.CreateMetricDestination", sdktest.Somewhere, "db", &cloudapi.PostgresMetricDestinationCreateRequest{
			URL: "https://metrics.example.com", Username: "u", Password: cloudapi.NewSecret(password)}),
		sdktest.Do("Postgres.CreateLogDestination", sdktest.Somewhere, "db", "n", &cloudapi.PostgresLogDestinationCreateRequest{
			Type: "otlp", URL: "https://logs.example.com", Options: &cloudapi.PostgresLogDestinationOptions{
				Headers: map[string]cloudapi.Secret{"X-Key": cloudapi.NewSecret(password)}}}),
		sdktest.Do("PrivateLocations.Create", "own", &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret(password)}),
		sdktest.Do("Do", "POST", []string{"x"}, nil, &cloudapi.PrivateLocationCreateRequest{SecretKey: cloudapi.NewSecret(password)}, &struct{ At time.Time }{}),
	}
	for encoding, text := range encodings {
		line := strings.ReplaceAll(text, "\n", " ")
		answer := func(status, contentType, body string) string {
			return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nX-Request-Id: %s\r\nLocation: https://%[3]s/%[3]s\r\nContent-Length: %d\r\n\r\n%s", status, contentType, line, len(body), body)
		}
		inJSON := string(stub.JSON(text))
		for name, response := range map[string]string{
			"page":                  answer("403 X", "text/html", "<html>blocked: "+text+"</html>"),
			"text":                  answer("502 X", "text/plain", text),
			"page with 200":         answer("200 OK", "text/html", "<html>"+text),
			"text with 200":         answer("200 OK", "text/plain; was="+line, text),
			"JSON of a gateway":     answer("400 X", "application/json", `{"message":`+inJSON+`}`),
			"text as an error":      answer("400 X", "application/json", `{"error":`+inJSON+`}`),
			"an error with no type": answer("400 X", "application/json", `{"error":{"code":1,"message":`+inJSON+`,"details":{"x":`+inJSON+`}}}`),
			"a record, cut off":     answer("200 OK", "application/json", `{"x":`+inJSON),
			"keys of a record":      answer("200 OK", "application/json", `{`+inJSON+`:1}`),
			"a time":                answer("200 OK", "application/json", `{"at":`+inJSON+`}`),
			"redirect":              answer("302 X", "text/html", ""),
			"status line":           line + "\r\n\r\n",
			"status":                "HTTP/1.1 " + line + "\r\n\r\n",
			"header":                "HTTP/1.1 200 OK\r\n" + line + "\r\n\r\n",
			"first header":          "HTTP/1.1 200 OK\r\n " + line + "\r\n\r\n",
			"length":                "HTTP/1.1 200 OK\r\nContent-Length: " + line + "\r\n\r\n",
			"transfer encoding":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + line + "\r\n\r\n",
			"trailer":               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\nX " + line + "\r\n\r\n",
		} {
			t.Run(encoding+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					peer := sdktest.StartPeer(t, func(p *sdktest.Peer, conn net.Conn) {
						p.Read(conn)
						_, _ = io.WriteString(conn, response)
					})
					var log bytes.Buffer
					client := peer.Client(t, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}), cloudapi.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
					for _, call := range calls {
						log.Reset()
						_, err := call.On(t.Context(), client)
						shown := fmt.Sprintf("%v %+v %#v %s %s", err, err, err, stub.JSON(err), &log)
						unquoted := strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\`, "")
						if plain := unquoted.Replace(unquoted.Replace(shown)); err == nil && name != "keys of a record" && name != "a time" ||
							strings.Contains(shown, text) || strings.Contains(plain, text) || strings.Contains(plain, "r0ub") || strings.Contains(plain, "orse") || strings.Contains(plain, "staple") {
							t.Errorf("%s: %s", call.Name, shown)
						}
					}
				})
			})
		}
	}
}

// TestEnvelopesOfRequestsWithSecrets: the API's own error is still quoted, with
// the secret masked.
func TestEnvelopesOfRequestsWithSecrets(t *testing.T) {
	t.Parallel()
	const password = `Tr0ub&dorHorse9`
	body := stub.JSON(map[string]any{"error": map[string]any{"code": 400, "type": "InvalidRequest", "message": "no " + password, "details": map[string]string{"password": "too short"}}})
	network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
		resp := stub.Respond(400, string(body))
		resp.Header.Set("X-Request-Id", "r-17")
		return resp, nil
	}}
	_, err := sdktest.Recorded(t, &network).Postgres.ResetSuperuserPassword(t.Context(), sdktest.Somewhere, "db", cloudapi.NewSecret(password))
	const want = "400 InvalidRequest: no [redacted] (password: too short); request ID r-17"
	if err == nil || !strings.HasSuffix(err.Error(), want) || !json.Valid(body) {
		t.Errorf("got %v, want %s", err, want)
	}
}
