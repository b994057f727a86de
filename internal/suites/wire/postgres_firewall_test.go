package wire_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

func postgresFirewallCases() []wireCase {
	const (
		location = "eu-central-h1"
		base     = postgresPath + "/orders-db/firewall-rule"
		page     = `{"items":[` + testRuleJSON + `],"count":1}`
	)
	updateWith := func(request *cloudapi.PostgresFirewallRuleUpdateRequest) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("Postgres.UpdateFirewallRule", location, "orders-db", testRuleID, request)
	}
	return []wireCase{
		{
			name: "list rules", method: "GET", target: base, reply: page,
			call: calls("Postgres.ListFirewallRules", location, "orders-db", nil),
			want: &cloudapi.Page[cloudapi.PostgresFirewallRule]{Items: []*cloudapi.PostgresFirewallRule{testRule()}, Count: new(1)},
		},
		{
			name: "all rules", method: "GET", target: base, reply: page,
			call: calls("Postgres.AllFirewallRules", location, "orders-db", nil),
			want: []*cloudapi.PostgresFirewallRule{testRule()},
		},
		{
			name: "all rules, which have no pages", method: "GET", target: base,
			reply: `{"items":[{"id":"pfgtkbpb9pxa1m2tdmah3sg14p","cidr":"::/0","description":""},` + testRuleJSON + `],"count":2}`,
			call:  calls("Postgres.AllFirewallRules", location, "orders-db", &cloudapi.ListOptions{PageSize: 1}),
			want:  []*cloudapi.PostgresFirewallRule{{ID: "pfgtkbpb9pxa1m2tdmah3sg14p", CIDR: "::/0"}, testRule()},
		},
		{
			name: "create a rule", method: "POST", target: base, reply: testRuleJSON, want: testRule(),
			body: `{"cidr":"203.0.113.0/24","description":"office"}`,
			call: calls("Postgres.CreateFirewallRule", location, "orders-db",
				&cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "203.0.113.0/24", Description: "office"}),
		},
		{
			name: "create a rule without a description", method: "POST", target: base, reply: testRuleJSON, want: testRule(),
			body: `{"cidr":"203.0.113.0/24"}`,
			call: calls("Postgres.CreateFirewallRule", location, "orders-db", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "203.0.113.0/24"}),
		},
		{
			name: "update a rule", method: "PATCH", target: base + "/" + testRuleID, reply: testRuleJSON, want: testRule(),
			body: `{"cidr":"203.0.113.0/24","description":"office"}`,
			call: updateWith(&cloudapi.PostgresFirewallRuleUpdateRequest{CIDR: cloudapi.Value("203.0.113.0/24"), Description: cloudapi.Value("office")}),
		},
		{
			name: "clear a description", method: "PATCH", target: base + "/" + testRuleID, reply: testRuleJSON, want: testRule(),
			body: `{"description":""}`,
			call: updateWith(&cloudapi.PostgresFirewallRuleUpdateRequest{Description: cloudapi.Value("")}),
		},
		{
			name: "update a rule with null", method: "PATCH", target: base + "/" + testRuleID, reply: testRuleJSON, want: testRule(),
			body: `{"cidr":null,"description":null}`,
			call: updateWith(&cloudapi.PostgresFirewallRuleUpdateRequest{CIDR: cloudapi.Null[string](), Description: cloudapi.Null[string]()}),
		},
		{
			name: "update nothing of a rule", method: "PATCH", target: base + "/" + testRuleID, reply: testRuleJSON, want: testRule(),
			body: `{}`,
			call: updateWith(nil),
		},
		{
			name: "delete a rule", method: "DELETE", target: base + "/" + testRuleID,
			call: calls("Postgres.DeleteFirewallRule", location, "orders-db", testRuleID),
		},
		{
			name: "update a rule, service", method: "PATCH", target: base + "/frhq95fssew63jdbsw7mrzw8cx",
			reply: `{"id":"frhq95fssew63jdbsw7mrzw8cx","cidr":"198.51.100.0/24","port":6432,"description":"new"}`,
			body:  `{"description":"new"}`,
			call: calls("Postgres.UpdateFirewallRule", location, "orders-db", "frhq95fssew63jdbsw7mrzw8cx",
				&cloudapi.PostgresFirewallRuleUpdateRequest{Description: cloudapi.Value("new")}),
			want: &cloudapi.PostgresFirewallRule{ID: "frhq95fssew63jdbsw7mrzw8cx", CIDR: "198.51.100.0/24", Port: 6432, Description: "new"},
		},
		{
			name: "delete a rule, service", method: "DELETE", target: base + "/frhq95fssew63jdbsw7mrzw8cx",
			call: calls("Postgres.DeleteFirewallRule", location, "orders-db", "frhq95fssew63jdbsw7mrzw8cx"),
		},
	}
}

func TestPostgresFirewallRuleArguments(t *testing.T) {
	t.Parallel()
	client := sdktest.SendingNothing(t)
	// An ID of another kind.
	err := client.Postgres.DeleteFirewallRule(t.Context(), "eu-central-h1", "orders-db", testSinkID)
	if !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("deleting it: %v", err)
	}
	// The location is already an argument.
	_, err = client.Postgres.ListFirewallRules(t.Context(), "eu-central-h1", "orders-db", &cloudapi.ListOptions{Location: "us-east-a2"})
	if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "Location" || e.Operation != "Postgres.ListFirewallRules" {
		t.Errorf("listing in another location: %v", err)
	}
}
