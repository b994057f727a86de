package cloudapi

import (
	"context"
	"iter"
)

// PostgresFirewallRule allows a range of addresses to connect to a database.
type PostgresFirewallRule struct {
	ID          string `json:"id"`   // prefix fr with the service, pf with the contract
	CIDR        string `json:"cidr"` // normalized: with a prefix length, host bits cleared
	Description string `json:"description"`
	Port        int    `json:"port,omitzero"` // 5432, or 6432 for the connection pooler; † only the service
}

func (r *PostgresFirewallRule) lacks() string        { return lacksID(r.ID) }
func (r *PostgresFirewallRule) cursor(string) string { return r.ID }

// Resource identifies the rule.
func (r *PostgresFirewallRule) Resource() Resource {
	return Resource{Kind: KindPostgresFirewallRule, ID: r.ID}
}

// PostgresFirewallRuleCreateRequest is the body of
// [PostgresService.CreateFirewallRule]. Without a prefix length, an IPv4
// address is a /32, but an IPv6 address is a /64.
type PostgresFirewallRuleCreateRequest struct {
	CIDR        string `json:"cidr"`                 // IPv4 or IPv6; required; the server clears host bits
	Description string `json:"description,omitzero"` // any text; the server removes spaces around it
}

// PostgresFirewallRuleUpdateRequest is the body of
// [PostgresService.UpdateFirewallRule]. Absent or null changes nothing.
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

// ListFirewallRules returns the firewall rules of a database, all in one page.
func (s *PostgresService) ListFirewallRules(ctx context.Context, location, postgres string, opts *ListOptions) (*Page[PostgresFirewallRule], error) {
	return list[PostgresFirewallRule](ctx, s.conn, &listPostgresFirewallRules, opts, location, postgres)
}

// AllFirewallRules iterates over the firewall rules of a database.
func (s *PostgresService) AllFirewallRules(ctx context.Context, location, postgres string, opts *ListOptions) iter.Seq2[*PostgresFirewallRule, error] {
	return all[PostgresFirewallRule](ctx, s.conn, &listPostgresFirewallRules, opts, location, postgres)
}

// CreateFirewallRule adds a rule, which takes effect seconds later. It returns
// [ErrAlreadyExists] if the range already has a rule. After
// [ErrOutcomeUnknown], AllFirewallRules shows whether the database has the
// rule.
//
// The service creates two rules, for the ports of the database and the
// connection pooler, and returns the first; update and delete each separately.
// They belong to a firewall of the project: if that was deleted or detached,
// methods that change rules return [ErrInvalidRequest].
func (s *PostgresService) CreateFirewallRule(ctx context.Context, location, postgres string, request *PostgresFirewallRuleCreateRequest) (*PostgresFirewallRule, error) {
	return send[PostgresFirewallRule](ctx, s.conn, &opPostgresCreateFirewallRule, request, location, postgres)
}

// UpdateFirewallRule changes a rule, which takes effect seconds later. It
// returns [ErrAlreadyExists] if another rule has the range.
func (s *PostgresService) UpdateFirewallRule(ctx context.Context, location, postgres, ruleID string, request *PostgresFirewallRuleUpdateRequest) (*PostgresFirewallRule, error) {
	return send[PostgresFirewallRule](ctx, s.conn, &opPostgresUpdateFirewallRule, request, location, postgres, ruleID)
}

// DeleteFirewallRule deletes a rule. A wrong database leads to [ErrNotFound].
func (s *PostgresService) DeleteFirewallRule(ctx context.Context, location, postgres, ruleID string) error {
	return remove(ctx, s.conn, &opPostgresDeleteFirewallRule, location, postgres, ruleID)
}
