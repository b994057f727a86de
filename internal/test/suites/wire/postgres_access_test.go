package wire_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

const (
	certificate = "-----BEGIN CERTIFICATE-----\nUExBQ0VIT0xERVIx\n-----END CERTIFICATE-----\n"
	keyPair     = certificate + "-----BEGIN EC PRIVATE KEY-----\nU0VD\n-----END EC PRIVATE KEY-----\n"
)

func postgresAccessCases() []wireCase {
	const (
		rules   = orders + "/firewall-rule"
		newRule = "frhq95fssew63jdbsw7mrzw8cx" // in the form of the service
		sinks   = orders + "/metric-destination"
		logs    = orders + "/log-destination"
		logID   = "1df5gj2k13va3h9qp0rkxh2hqw"
		prom    = "https://prom.example.org/write"
		otlp    = "https://logs.example.com/v1/logs"
		otel    = `{"id":"` + logID + `","name":"otel","type":"otlp","url":"https://logs.example.com/v1/logs"}`
		syslog  = `{"id":"` + logID + `","name":"sys","type":"syslog","url":"tcp://logs.example.com:6514"}`
	)
	pem := func(name, content string) cloudapi.File {
		return cloudapi.File{Name: name, ContentType: "application/x-pem-file", Content: []byte(content)}
	}
	createRule := func(request cloudapi.PostgresFirewallRuleCreateRequest) sdktest.Call {
		return do("Postgres.CreateFirewallRule", location, "orders-db", &request)
	}
	updateRule := func(id string, request *cloudapi.PostgresFirewallRuleUpdateRequest) sdktest.Call {
		return do("Postgres.UpdateFirewallRule", location, "orders-db", id, request)
	}
	createSink := func(request cloudapi.PostgresMetricDestinationCreateRequest) sdktest.Call {
		return do("Postgres.CreateMetricDestination", location, "orders-db", &request)
	}
	createLog := func(name string, request cloudapi.PostgresLogDestinationCreateRequest) sdktest.Call {
		return do("Postgres.CreateLogDestination", location, "orders-db", name, &request)
	}
	secret := cloudapi.NewSecret
	return []wireCase{
		{do("Postgres.CACertificates", location, "orders-db"), "GET " + orders + "/ca-certificates", pem("orders-db.pem", certificate+"\n"+certificate)},
		{do("Postgres.CreateClientKeyPair", location, "orders-db", "app", 24*time.Hour+time.Second-1),
			"POST " + orders + `/cert/create-client-keypair {"common_name":"app","duration":86400}`, pem("app.pem", keyPair)},
		{do("Postgres.AddCertificateUser", location, "orders-db", `Big User "x"`),
			"POST " + orders + `/cert/add-auth-user {"name":"Big User \"x\""}`, `{"items":["app","Big User \"x\""]}`},
		{do("Postgres.RemoveCertificateUser", location, "orders-db", "app"), "POST " + orders + `/cert/remove-auth-user {"name":"app"}`, `{"items":[]}`},
		{do("Postgres.CreateBackupCredentials", location, "orders-db"), "POST " + orders + "/backup-credentials",
			`{"bucket":"ptzhm2","endpoint":"https://blob.example.com:9000","region":"us-east-1","access_key_id":"a",` +
				`"secret_access_key":"s","session_token":"t","expiration":"2026-11-23T15:30:39Z"}`},

		{do("Postgres.ListFirewallRules", location, "orders-db", nil), "GET " + rules, list(pgRule)},
		{do("Postgres.AllFirewallRules", location, "orders-db", nil), "GET " + rules, list(pgRule)},
		{do("Postgres.AllFirewallRules", location, "orders-db", &cloudapi.ListOptions{PageSize: 1}), "GET " + rules, // the list has no pages
			list(`{"id":"pfgtkbpb9pxa1m2tdmah3sg14p","cidr":"::/0","description":""}`, pgRule)},
		{createRule(cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "203.0.113.0/24", Description: "office"}),
			"POST " + rules + ` {"cidr":"203.0.113.0/24","description":"office"}`, pgRule},
		{createRule(cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "203.0.113.0/24"}), "POST " + rules + ` {"cidr":"203.0.113.0/24"}`, pgRule},
		{updateRule(pgRuleID, &cloudapi.PostgresFirewallRuleUpdateRequest{CIDR: "203.0.113.0/24", Description: new("")}),
			"PATCH " + rules + "/" + pgRuleID + ` {"cidr":"203.0.113.0/24","description":""}`, pgRule},
		{updateRule(pgRuleID, nil), "PATCH " + rules + "/" + pgRuleID + " {}", pgRule},
		{updateRule(newRule, &cloudapi.PostgresFirewallRuleUpdateRequest{Description: new("new")}),
			"PATCH " + rules + "/" + newRule + ` {"description":"new"}`, `{"id":"` + newRule + `","cidr":"198.51.100.0/24","port":6432,"description":"new"}`},
		{do("Postgres.DeleteFirewallRule", location, "orders-db", pgRuleID), "DELETE " + rules + "/" + pgRuleID, nil},
		{do("Postgres.DeleteFirewallRule", location, "orders-db", newRule), "DELETE " + rules + "/" + newRule, nil},

		{createSink(cloudapi.PostgresMetricDestinationCreateRequest{URL: prom, Username: "writer", Password: secret(`p+w/"dontsay`)}),
			"POST " + sinks + ` {"password":"p+w/\"dontsay","url":"https://prom.example.org/write","username":"writer"}`, pgFull},
		{createSink(cloudapi.PostgresMetricDestinationCreateRequest{URL: prom, Options: &cloudapi.PostgresMetricDestinationOptions{
			Authorization: &cloudapi.PostgresMetricAuthorization{Credentials: secret(`t+k/"nottold`)}}}),
			"POST " + sinks + ` {"options":{"authorization":{"credentials":"t+k/\"nottold"}},"url":"https://prom.example.org/write"}`, pgFull},
		{
			createSink(cloudapi.PostgresMetricDestinationCreateRequest{URL: prom, Options: &cloudapi.PostgresMetricDestinationOptions{
				Headers:       map[string]cloudapi.Secret{"x-scope": secret("hidden-1")},
				Authorization: &cloudapi.PostgresMetricAuthorization{Type: "Token", Credentials: secret("hidden-2")}}}),
			"POST " + sinks + ` {"options":{"authorization":{"credentials":"hidden-2","type":"Token"},"headers":{"x-scope":"hidden-1"}},"url":"https://prom.example.org/write"}`,
			pgFull,
		},
		{createSink(cloudapi.PostgresMetricDestinationCreateRequest{URL: prom, Username: "u", Password: secret("hidden-3"),
			Options: &cloudapi.PostgresMetricDestinationOptions{Headers: map[string]cloudapi.Secret{"x-a": secret("hidden-4")}}}),
			"POST " + sinks + ` {"options":{"headers":{"x-a":"hidden-4"}},"password":"hidden-3","url":"https://prom.example.org/write","username":"u"}`, pgFull},
		{createSink(cloudapi.PostgresMetricDestinationCreateRequest{URL: prom, Username: "u", Options: &cloudapi.PostgresMetricDestinationOptions{}}),
			"POST " + sinks + ` {"url":"https://prom.example.org/write","username":"u","password":"","options":{}}`, pgFull},
		{do("Postgres.DeleteMetricDestination", location, "orders-db", sinkID), "DELETE " + sinks + "/" + sinkID, nil},
		{do("Postgres.DeleteMetricDestination", location, "orders-db", "etjkkf8b165j4krraw7xr99b53"), "DELETE " + sinks + "/etjkkf8b165j4krraw7xr99b53", nil},
		{createLog("otel", cloudapi.PostgresLogDestinationCreateRequest{Type: cloudapi.PostgresLogDestinationTypeOTLP, URL: otlp}),
			"POST " + logs + ` {"name":"otel","type":"otlp","url":"https://logs.example.com/v1/logs"}`, otel},
		{createLog("otel", cloudapi.PostgresLogDestinationCreateRequest{Type: cloudapi.PostgresLogDestinationTypeOTLP, URL: otlp,
			Options: &cloudapi.PostgresLogDestinationOptions{Headers: map[string]cloudapi.Secret{"authorization": secret("Bearer hidden-5")}}}),
			"POST " + logs + ` {"name":"otel","options":{"headers":{"authorization":"Bearer hidden-5"}},"type":"otlp","url":"https://logs.example.com/v1/logs"}`, otel},
		{
			createLog("sys", cloudapi.PostgresLogDestinationCreateRequest{Type: cloudapi.PostgresLogDestinationTypeSyslog, URL: "tcp://logs.example.com:6514",
				Options: &cloudapi.PostgresLogDestinationOptions{StructuredData: map[string]map[string]cloudapi.Secret{"meta@1": {"env": secret("hidden-6")}}}}),
			"POST " + logs + ` {"name":"sys","options":{"structured_data":{"meta@1":{"env":"hidden-6"}}},"type":"syslog","url":"tcp://logs.example.com:6514"}`,
			syslog,
		},
		{do("Postgres.DeleteLogDestination", location, "orders-db", logID), "DELETE " + logs + "/" + logID, nil},
	}
}

// TestClientKeyPairIsWhole: a truncated file is refused, and the error doesn't
// show its key.
func TestClientKeyPairIsWhole(t *testing.T) {
	t.Parallel()
	key := strings.TrimPrefix(keyPair, certificate)
	contents := []string{"no PEM", key, key + certificate[:10], key + key, keyPair + "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
		strings.Replace(keyPair, "U0VD\n", "", 1)}
	for n := range len(keyPair) - 1 {
		contents = append(contents, keyPair[:n])
	}
	for _, content := range contents {
		file, err := sdktest.Answering(t, 200, "application/x-pem-file", content).Postgres.CreateClientKeyPair(t.Context(), location, "orders-db", "app", time.Hour)
		if file != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) || !errors.Is(err, cloudapi.ErrOutcomeUnknown) || strings.Contains(err.Error(), "U0VD") {
			t.Errorf("of %q CreateClientKeyPair made %v, %v", content, file, err)
		}
	}
}
