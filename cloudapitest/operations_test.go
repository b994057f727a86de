package cloudapitest

import (
	"net/http"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// The server has its own table of names, so that it doesn't depend on the
// client. The test sends a request of each operation to compare the two.
func TestNamesMatchTheClient(t *testing.T) {
	t.Parallel()
	srv := New(t)
	var sent []cloudapi.Operation
	client := srv.Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(r *http.Request) (*http.Response, error) {
			op, _ := cloudapi.OperationFromContext(r.Context())
			sent = append(sent, op)
			return next.RoundTrip(r)
		})
	}))
	ctx := t.Context()
	_, _ = client.Projects.Get(ctx, srv.ProjectID())
	_, _ = client.VMs.List(ctx, nil)
	_, _ = client.VMs.List(ctx, &cloudapi.ListOptions{Location: "eu-central-h1"})
	_ = client.Firewalls.DeleteRule(ctx, "eu-central-h1", "fw", NewID(cloudapi.KindFirewallRule).String())
	_, _ = client.Postgres.ListFirewallRules(ctx, "eu-central-h1", "db", nil)
	log := srv.Requests()
	if len(log) != 5 || len(sent) != 5 {
		t.Fatalf("%d requests arrived of %d", len(log), len(sent))
	}
	for i, r := range log {
		if r.Name != sent[i].Name || r.Method != sent[i].Method || r.Route != sent[i].Route || r.Name == "" {
			t.Errorf("%+v arrived as %s, %s %s", sent[i], r.Name, r.Method, r.Route)
		}
	}
}
