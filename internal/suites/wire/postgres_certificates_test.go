package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const testKeyPair = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\nU0VD\n-----END EC PRIVATE KEY-----\n"

func postgresCertificateCases() []wireCase {
	const (
		location = "eu-central-h1"
		base     = postgresPath + "/orders-db/cert"
	)
	return []wireCase{
		{
			name: "create a client key pair", method: "POST", target: base + "/create-client-keypair",
			body:   `{"common_name":"app","duration":86400}`,
			reply:  testKeyPair,
			header: http.Header{"Content-Type": {"application/x-pem-file"}, "Content-Disposition": {`attachment; filename="app.pem"`}},
			call:   calls("Postgres.CreateClientKeyPair", location, "orders-db", "app", 24*time.Hour+time.Second-1),
			want:   &cloudapi.File{Name: "app.pem", ContentType: "application/x-pem-file", Content: []byte(testKeyPair)},
		},
		{
			name: "add a certificate user", method: "POST", target: base + "/add-auth-user", body: `{"name":"Big User \"x\""}`,
			reply: `{"items":["app","Big User \"x\""]}`,
			call:  calls("Postgres.AddCertificateUser", location, "orders-db", `Big User "x"`),
			want:  &cloudapi.PostgresCertificateUsers{Items: []string{"app", `Big User "x"`}},
		},
		{
			name: "remove the last certificate user", method: "POST", target: base + "/remove-auth-user", body: `{"name":"app"}`,
			reply: `{"items":[]}`,
			call:  calls("Postgres.RemoveCertificateUser", location, "orders-db", "app"),
			want:  &cloudapi.PostgresCertificateUsers{Items: []string{}},
		},
	}
}

// TestClientKeyPairIsWholeAndSecret: a truncated file is refused, and its key
// is never printed.
func TestClientKeyPairIsWholeAndSecret(t *testing.T) {
	t.Parallel()
	create := func(content string) (*cloudapi.File, error) {
		return sdktest.Answering(t, 200, "application/x-pem-file", content).Postgres.CreateClientKeyPair(t.Context(), "eu-central-h1", "orders-db", "app", time.Hour)
	}
	file := stub.Must(create(testKeyPair))(t)
	if text := fmt.Sprintf("%v %+v %#v %s", file, file, *file, stub.JSON(file)); strings.Contains(text, "U0VD") || file.Name != "client.pem" {
		t.Errorf("the file shows as %s", text)
	}
	certificate, key := testKeyPair[:strings.Index(testKeyPair, "-----BEGIN EC")], testKeyPair[strings.Index(testKeyPair, "-----BEGIN EC"):]
	contents := []string{"", "no PEM", key, key + certificate[:10], key + key, testKeyPair + "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
		certificate + strings.Replace(key, "U0VD\n", "", 1)}
	for n := range len(testKeyPair) - 1 {
		contents = append(contents, testKeyPair[:n])
	}
	for _, content := range contents {
		file, err := create(content)
		if file != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) || !errors.Is(err, cloudapi.ErrOutcomeUnknown) || strings.Contains(err.Error(), "U0VD") {
			t.Errorf("of %q CreateClientKeyPair made %v, %v", content, file, err)
		}
	}
}

// TestCertificateUsersWithoutNames: a user without a name isn't a user.
func TestCertificateUsersWithoutNames(t *testing.T) {
	t.Parallel()
	for _, response := range []string{`{"items":[null]}`, `{"items":["app",null]}`, `{"items":[""]}`, `{"items":null}`, `{}`} {
		client := sdktest.Answering(t, 200, "application/json", response)
		for _, call := range []func(context.Context, string, string, string) (*cloudapi.PostgresCertificateUsers, error){
			client.Postgres.AddCertificateUser, client.Postgres.RemoveCertificateUser,
		} {
			if users, err := call(t.Context(), "eu-central-h1", "orders-db", "app"); users != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) {
				t.Errorf("%s: %+v, %v", response, users, err)
			}
		}
	}
}
