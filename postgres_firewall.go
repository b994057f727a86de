package cloudapi

import (
	"context"
	"iter"
)

// PostgresFirewallRule allows a range of addresses to connect to a database.
type PostgresFirewallRule struct {
	ID          string `json:"id"`            // prefix pf, or fr from a server of August 2026
	CIDR        string `json:"cidr"`          // normalized: with prefix length, host bits cleared
	Description string `json:"description"`   // of the user
	Port        int    `json:"port,omitzero"` // of August 2026: 5432, or 6432 for the connection pooler; 0 from older servers
}

func (r *PostgresFirewallRule) lacks() string        { return lacksID(r.ID) }
func (r *PostgresFirewallRule) cursor(string) string { return r.ID }

func (r *PostgresFirewallRule) identity() Resource {
	return Resource{Kind: KindPostgresFirewallRule, ID: r.ID}
}

// PostgresFirewallRuleCreateRequest is the body of
// [PostgresService.CreateFirewallRule].
type PostgresFirewallRuleCreateRequest struct {
	// CIDR is the range of addresses, IPv4 or IPv6. Required. Include the
	// prefix length: the real server reads an IPv4 address without one as /32,
	// but an IPv6 address as /64. Host bits are cleared.
	CIDR string `json:"cidr"`

	// Description is any text. Spaces around it are removed.
	Description string `json:"description,omitzero"`
}

// PostgresFirewallRuleUpdateRequest is the body of
// [PostgresService.UpdateFirewallRule]. Absent fields stay unchanged. The real
// server ignores null, too. Value("") clears the description.
type PostgresFirewallRuleUpdateRequest struct {
	CIDR        Opt[string] `json:"cidr,omitzero"`
	Description Opt[string] `json:"description,omitzero"`
}

const postgresFirewallRuleRoute = postgresRoute + "/firewall-rule/{firewall_rule_id}"

var (
	opPostgresListFirewallRules  = Operation{"Postgres.ListFirewallRules", "GET", postgresRoute + "/firewall-rule", idempotent}
	opPostgresCreateFirewallRule = Operation{"Postgres.CreateFirewallRule", "POST", postgresRoute + "/firewall-rule", once}
	opPostgresUpdateFirewallRule = Operation{"Postgres.UpdateFirewallRule", "PATCH", postgresFirewallRuleRoute, idempotent}
	opPostgresDeleteFirewallRule = Operation{"Postgres.DeleteFirewallRule", "DELETE", postgresFirewallRuleRoute, idempotent}

	listPostgresFirewallRules = listRoutes{project: &opPostgresListFirewallRules, unpaged: true}
)

// ListFirewallRules returns the firewall rules of a database. The real server
// sends all of them at once, with their count.
func (s *PostgresService) ListFirewallRules(ctx context.Context, location, postgres string, opts *ListOptions) (*Page[PostgresFirewallRule], error) {
	return list[PostgresFirewallRule](ctx, s.conn, &listPostgresFirewallRules, opts, location, postgres)
}

// AllFirewallRules returns the firewall rules of a database.
func (s *PostgresService) AllFirewallRules(ctx context.Context, location, postgres string, opts *ListOptions) iter.Seq2[*PostgresFirewallRule, error] {
	return all[PostgresFirewallRule](ctx, s.conn, &listPostgresFirewallRules, opts, location, postgres)
}

// CreateFirewallRule adds a rule, which takes effect seconds later. If the
// range already has a rule the error is [ErrAlreadyExists]. If the response is
// lost it is [ErrOutcomeUnknown]: look for the rule with AllFirewallRules.
//
// A server of August 2026 makes two rules, one for the port of the database and
// one for that of the connection pooler, and returns the first. The list
// contains both; they are changed and deleted separately. The rules belong to a
// firewall of the project. If that was deleted or detached, the error is
// [ErrInvalidRequest].
func (s *PostgresService) CreateFirewallRule(ctx context.Context, location, postgres string, request *PostgresFirewallRuleCreateRequest) (*PostgresFirewallRule, error) {
	return send[PostgresFirewallRule](ctx, s.conn, &opPostgresCreateFirewallRule, request, location, postgres)
}

// UpdateFirewallRule changes a rule, which takes effect seconds later. If the
// range already has another rule the error is [ErrAlreadyExists].
func (s *PostgresService) UpdateFirewallRule(ctx context.Context, location, postgres, ruleID string, request *PostgresFirewallRuleUpdateRequest) (*PostgresFirewallRule, error) {
	return send[PostgresFirewallRule](ctx, s.conn, &opPostgresUpdateFirewallRule, request, location, postgres, ruleID)
}

// DeleteFirewallRule deletes a rule. Deleting one that does not exist is not an
// error. If the database does not exist the error is [ErrNotFound].
func (s *PostgresService) DeleteFirewallRule(ctx context.Context, location, postgres, ruleID string) error {
	return remove(ctx, s.conn, &opPostgresDeleteFirewallRule, location, postgres, ruleID)
}
