package cloudapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const testKubeconfig = "---\napiVersion: v1\nkind: Config\nusers:\n- name: kubernetes-admin\n  user:\n    token: eyJhbGciOi.invented\n"

const testPEM = "-----BEGIN CERTIFICATE-----\nUExBQ0VIT0xERVIx\n-----END CERTIFICATE-----\n\n" +
	"-----BEGIN CERTIFICATE-----\nUExBQ0VIT0xERVIy\n-----END CERTIFICATE-----\n"

func TestFileResponses(t *testing.T) {
	t.Parallel()
	sent := func(status int, contentType, body string) *call.Response {
		return &call.Response{Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: []byte(body)}
	}
	endless := func(r *call.Response) *call.Response { r.UnmarkedEnd = true; return r }
	for _, tt := range []struct {
		name   string
		reply  *call.Response
		format fileFormat
		reason string // why it's refused; "" if it's accepted as a file
	}{
		{"PEM", sent(200, "application/x-pem-file", testPEM), caCertificatesFile, ""},
		{"PEM of another type", sent(200, "application/octet-stream", "# two roots\n"+testPEM), caCertificatesFile, ""},
		{"PEM without a type", sent(200, "", testPEM), caCertificatesFile, ""},
		{"PEM without a marked end", endless(sent(200, "", testPEM)), caCertificatesFile, ""},
		{"YAML without a marked end", endless(sent(200, "text/yaml", testKubeconfig)), kubeconfigFile, errEndless.Error()},
		{"YAML", sent(200, "text/yaml", testKubeconfig), kubeconfigFile, ""},
		{"YAML in the form of JSON", sent(200, "text/plain", `{"apiVersion":"v1","kind":"Config"}`), kubeconfigFile, ""},

		{"nothing", sent(200, "text/plain", ""), kubeconfigFile, "it is empty"},
		{"blanks", sent(200, "text/plain", " \r\n"), kubeconfigFile, "it is empty"},
		{"a sentence", sent(200, "text/plain", "The cluster is being set up. Please try again later."), kubeconfigFile, "it is not a kubeconfig"},
		{"YAML of another kind", sent(200, "text/yaml", strings.Replace(testKubeconfig, "Config", "Secret", 1)), kubeconfigFile, "it is not a kubeconfig"},
		{"an object without fields", sent(200, "text/plain", "{}"), kubeconfigFile, "it is not a kubeconfig"},
		{"204", sent(204, "", ""), caCertificatesFile, "it is empty"},
		{"a page", sent(200, "text/html; charset=utf-8", "Sign in"), kubeconfigFile, "it is a page, not a file"},
		{"a page in disguise", sent(200, "text/plain", "\n<!DOCTYPE html>"), kubeconfigFile, "it is a page, not a file"},
		{"JSON", sent(200, "application/json", `{"message":"no"}`), kubeconfigFile, "it is JSON, not a file"},
		{"JSON of a vendor", sent(200, "application/problem+json", `{}`), kubeconfigFile, "it is JSON, not a file"},
		{"an error in disguise", sent(200, "text/plain", stub.Envelope(404)), kubeconfigFile, "it is not a kubeconfig"},
		{"no PEM", sent(200, "application/x-pem-file", "certificates"), caCertificatesFile, "it is not PEM"},
		{"PEM cut off", sent(200, "application/x-pem-file", testPEM[:len(testPEM)-30]), caCertificatesFile, "unexpected EOF in a PEM block"},
		{"PEM cut off in its last line", sent(200, "application/x-pem-file", testPEM[:len(testPEM)-8]), caCertificatesFile, "unexpected EOF in a PEM block"},
		{"PEM with bad base64", sent(200, "application/x-pem-file", strings.Replace(testPEM, "UExB", "U*xB", 1)), caCertificatesFile, "it has a PEM block that cannot be read"},
		{"PEM with bad base64 at its end", sent(200, "application/x-pem-file", strings.Replace(testPEM, "RVIy", "RVI!", 1)), caCertificatesFile, "it has a PEM block that cannot be read"},
		{"PEM that ends as another", sent(200, "application/x-pem-file", strings.Replace(testPEM, "END CERT", "END KEY", 1)), caCertificatesFile, "it has a PEM block that cannot be read"},
		{"PEM cut off between its blocks", sent(200, "application/x-pem-file", testPEM+"-----BEG"), caCertificatesFile, "unexpected EOF after a PEM block"},
		{"PEM with a key", sent(200, "application/x-pem-file", testPEM+strings.ReplaceAll(testPEM, "CERTIFICATE", "PRIVATE KEY")), caCertificatesFile, "it has a PEM block that is empty or of another kind"},
		{"PEM without a key", sent(200, "application/x-pem-file", testPEM), clientKeyPairFile, "it has no PRIVATE KEY"},
		{"PEM without a certificate", sent(200, "application/x-pem-file", strings.ReplaceAll(testPEM, "CERTIFICATE", "PRIVATE KEY")), clientKeyPairFile, "it has no CERTIFICATE"},
		{"PEM cut off at once", sent(200, "application/x-pem-file", testPEM[:40]), caCertificatesFile, "unexpected EOF in a PEM block"},
	} {
		file, err := tt.format.decode(*tt.reply)
		if tt.reason != "" {
			if file != nil || err == nil || err.Error() != tt.reason {
				t.Errorf("%s: %v, %v; want the error %q", tt.name, file, err, tt.reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if file.Name != tt.format.name || file.ContentType != tt.reply.Header.Get("Content-Type") || !bytes.Equal(file.Content, tt.reply.Body) {
			t.Errorf("%s: got %v with %q", tt.name, file, file.Content)
		}
		tt.reply.Body[0]++
		if file.Content[0] == tt.reply.Body[0] {
			t.Errorf("%s: the content is in the buffer of the reply, which is used again", tt.name)
		}
	}
}

// TestFileRetries: a file that breaks off is requested again, and a response
// that isn't a complete file is refused. The error doesn't show the content.
func TestFileRetries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		status     int
		requests   int
	}{
		{"breaks off", testPEM[:len(testPEM)-30], 200, 2},
		{"no PEM", "certificates", 200, 1},
		{"a part", testPEM, 206, 1},
	} {
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			resp := stub.Respond(tt.status, tt.body)
			resp.Header = http.Header{"Content-Type": {"application/x-pem-file"}}
			return resp, nil
		}}
		client := mockClient(t, &network, WithRetry(RetryPolicy{MaxAttempts: 2, MinDelay: 1, MaxDelay: 1}))
		file, err := client.Postgres.CACertificates(t.Context(), "eu-central-h1", "orders-db")
		if n := len(network.Take()); file != nil || !errors.Is(err, ErrInvalidResponse) || n != tt.requests || strings.Contains(err.Error(), "UExB") {
			t.Errorf("%s: %v, %v after %d requests, want %d", tt.name, file, err, n, tt.requests)
		}
	}
}

// TestFileHidesItsContent: fmt and encoding/json show a File's name, type and
// length, but not its content. The secrets suite prints it in other ways.
func TestFileHidesItsContent(t *testing.T) {
	t.Parallel()
	file := &File{Name: "kubeconfig.yaml", ContentType: "text/plain", Content: []byte("token")}
	const want = `cloudapi.File("kubeconfig.yaml", "text/plain", 5 bytes)`
	if got := fmt.Sprintf("%v %+v %#v %q", file, *file, file, *file); got != strings.Join([]string{want, want, want, want}, " ") {
		t.Errorf("it prints %s", got)
	}
	if got := string(stub.JSON(file)); got != strconv.Quote(want) {
		t.Errorf("its JSON is %s", got)
	}
}

// TestKubeconfigThatIsNotThereYet: the API's 500 isn't retried: it lasts until
// there is a control plane, longer than all retries.
func TestKubeconfigThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status   int
		body     string
		requests int
	}{
		{500, stub.Envelope(500), 1},
		{500, "<html>", 4}, // a gateway's 500
		{503, stub.Envelope(503), 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := stub.Recorder{Answer: stub.Always(tt.status, tt.body)}
			client := mockClient(t, &network)
			_, err := client.Kubernetes.Kubeconfig(t.Context(), "eu-central-h1", "apps")
			if sent := len(network.Take()); sent != tt.requests || !errors.Is(err, ErrServer) {
				t.Errorf("%d %s: %d requests, %v", tt.status, tt.body, sent, err)
			}
			_, err = client.Postgres.CACertificates(t.Context(), "eu-central-h1", "pg-1")
			if sent := len(network.Take()); sent != 4 || !errors.Is(err, ErrServer) {
				t.Errorf("%d %s, to another operation: %d requests, %v", tt.status, tt.body, sent, err)
			}
		})
	}
}
