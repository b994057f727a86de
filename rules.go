package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// SetRulesOptions are settings of the SetRules methods. Nil is fine.
type SetRulesOptions struct {
	// DryRun makes the method return the changes without making them.
	DryRun bool
}

// RuleChanges are the changes that a SetRules method made to the rules of a
// firewall or a database.
type RuleChanges[R any] struct {
	Kept    []*R // existed, and are wanted
	Added   []*R // were created; they have no ID after a dry run
	Deleted []*R // existed, and are not wanted
}

// Changed reports whether a rule was added or deleted.
func (c *RuleChanges[R]) Changed() bool { return len(c.Added) > 0 || len(c.Deleted) > 0 }

// SetRules replaces the rules of a firewall. It keeps the wanted rules that
// exist, then adds those that are missing, then deletes the rest, by ID.
// Traffic that both the old and the new rules allow is never interrupted. A
// second call with the same rules changes nothing. An empty slice deletes all
// rules, and nil is an [*ArgumentError].
//
// Rules are compared by protocol, CIDR and port range, in any spelling that
// [ParseCIDR] and [ParsePortRange] accept. A kept rule also keeps its
// description. If a rule is invalid the error is an [*ArgumentError], and
// nothing is sent. If the response to a create is lost, SetRules looks for the
// rule, as Ensure does. After any other error some of the changes may have been
// made: the error says how many, and the next call makes the rest.
//
// SetRules takes one request to read the firewall, and one for each change. A
// change takes effect moments after the response.
func (s *FirewallsService) SetRules(ctx context.Context, location, firewall string, rules []FirewallRuleCreateRequest, opts *SetRulesOptions) (*RuleChanges[FirewallRule], error) {
	set := ruleSet[FirewallRule, FirewallRuleCreateRequest]{
		operation: "Firewalls.SetRules",
		resource:  place(location, firewall),
		list: func(ctx context.Context) ([]FirewallRule, error) {
			record, err := s.Get(ctx, location, firewall)
			if err != nil {
				return nil, err
			}
			firewall = record.ID // its name may change before the next request
			return record.FirewallRules, nil
		},
		read: func(request FirewallRuleCreateRequest) (*FirewallRule, error) {
			prefix, err := ParseCIDR(request.CIDR)
			if err != nil {
				return nil, err
			}
			ports, err := ParsePortRange(request.PortRange)
			if err != nil {
				return nil, err
			}
			protocol := cmp.Or(strings.ToLower(request.Protocol), FirewallProtocolTCP)
			return &FirewallRule{CIDR: FormatCIDR(prefix), PortRange: ports.String(), Protocol: protocol, Description: request.Description}, nil
		},
		key: func(rule *FirewallRule) string {
			return cmp.Or(rule.Protocol, FirewallProtocolTCP) + " " + normalCIDR(rule.CIDR) + " " + normalPortRange(rule.PortRange)
		},
		create: func(ctx context.Context, request *FirewallRuleCreateRequest) (*FirewallRule, error) {
			return s.CreateRule(ctx, location, firewall, request)
		},
		remove: func(ctx context.Context, rule *FirewallRule) error {
			return s.DeleteRule(ctx, location, firewall, rule.ID)
		},
	}
	return set.apply(ctx, rules, opts)
}

// SetFirewallRules replaces the firewall rules of a database, as
// [FirewallsService.SetRules] does for a firewall. Rules are compared by CIDR,
// in any spelling that [ParseCIDR] accepts. A kept rule also keeps its
// description.
//
// The service of August 2026 makes two rules for each request, for the ports
// 5432 and 6432. SetFirewallRules keeps or deletes both; Added contains the
// first one. If only one of the two exists it is kept, and the other one is
// not made, since the service refuses such a request.
func (s *PostgresService) SetFirewallRules(ctx context.Context, location, postgres string, rules []PostgresFirewallRuleCreateRequest, opts *SetRulesOptions) (*RuleChanges[PostgresFirewallRule], error) {
	set := ruleSet[PostgresFirewallRule, PostgresFirewallRuleCreateRequest]{
		operation: "Postgres.SetFirewallRules",
		resource:  place(location, postgres),
		list: func(ctx context.Context) ([]PostgresFirewallRule, error) {
			record, err := s.Get(ctx, location, postgres)
			if err != nil {
				return nil, err
			}
			postgres = record.ID
			return record.FirewallRules, nil
		},
		read: func(request PostgresFirewallRuleCreateRequest) (*PostgresFirewallRule, error) {
			prefix, err := ParseCIDR(request.CIDR)
			if err != nil {
				return nil, err
			}
			return &PostgresFirewallRule{CIDR: FormatCIDR(prefix), Description: request.Description}, nil
		},
		key: func(rule *PostgresFirewallRule) string { return normalCIDR(rule.CIDR) },
		create: func(ctx context.Context, request *PostgresFirewallRuleCreateRequest) (*PostgresFirewallRule, error) {
			return s.CreateFirewallRule(ctx, location, postgres, request)
		},
		remove: func(ctx context.Context, rule *PostgresFirewallRule) error {
			return s.DeleteFirewallRule(ctx, location, postgres, rule.ID)
		},
	}
	return set.apply(ctx, rules, opts)
}

// ruleSet describes the rules of one resource to SetRules: R is the record of a
// rule, W the request that makes one.
type ruleSet[R, W any] struct {
	operation string
	resource  string // the location and reference of the resource that has the rules

	list   func(context.Context) ([]R, error)
	read   func(W) (*R, error) // returns the rule that a request asks for
	key    func(*R) string     // identifies a rule in the set
	create func(context.Context, *W) (*R, error)
	remove func(context.Context, *R) error
}

// apply replaces the rules by the wanted ones.
func (s *ruleSet[R, W]) apply(ctx context.Context, wanted []W, opts *SetRulesOptions) (*RuleChanges[R], error) {
	if ctx == nil {
		return nil, noContext(s.operation)
	}
	if wanted == nil {
		return nil, &ArgumentError{Operation: s.operation, Name: "rules", Reason: "must not be nil: an empty slice deletes all rules"}
	}
	changes, requests, err := s.compare(ctx, wanted)
	if err != nil || opts != nil && opts.DryRun {
		return changes, err
	}
	for i, request := range requests {
		rule, err := s.add(ctx, changes.Added[i], request)
		if err != nil {
			return nil, s.stopped(changes, i, 0, err)
		}
		changes.Added[i] = rule
	}
	for i, rule := range changes.Deleted {
		if err := s.remove(ctx, rule); err != nil {
			return nil, s.stopped(changes, len(requests), i, err)
		}
	}
	return changes, nil
}

// compare returns the changes to make, and the requests for the rules to add.
func (s *ruleSet[R, W]) compare(ctx context.Context, wanted []W) (*RuleChanges[R], []*W, error) {
	rules := make([]*R, len(wanted))
	isWanted := map[string]bool{}
	for i, request := range wanted {
		rule, err := s.read(request)
		if err != nil {
			return nil, nil, &ArgumentError{Operation: s.operation, Name: fmt.Sprintf("rules[%d]", i),
				Reason: "is wrong: " + within{err}.Error()}
		}
		rules[i], isWanted[s.key(rule)] = rule, true
	}
	found, err := s.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	changes := new(RuleChanges[R])
	isThere := map[string]bool{}
	for i := range found {
		if key := s.key(&found[i]); isWanted[key] {
			changes.Kept = append(changes.Kept, &found[i])
			isThere[key] = true
		} else {
			changes.Deleted = append(changes.Deleted, &found[i])
		}
	}
	var requests []*W
	for i, rule := range rules {
		if key := s.key(rule); !isThere[key] {
			changes.Added = append(changes.Added, rule)
			requests = append(requests, &wanted[i])
			isThere[key] = true // keep one of two equal rules
		}
	}
	return changes, requests, nil
}

// add creates a rule that is missing from the list.
func (s *ruleSet[R, W]) add(ctx context.Context, rule *R, request *W) (*R, error) {
	listed := true
	e := ensureSpec[R]{
		operation: s.operation,
		name:      s.resource,
		config:    waitQuick,
		find: func(ctx context.Context) (*R, error) {
			if listed {
				listed = false
				return nil, ErrNotFound
			}
			found, err := s.list(ctx)
			if err != nil {
				return nil, err
			}
			for i := range found {
				if s.key(&found[i]) == s.key(rule) {
					return &found[i], nil
				}
			}
			return nil, ErrNotFound
		},
		create:  func(ctx context.Context) (*R, error) { return s.create(ctx, request) },
		compare: func(context.Context, *R) (drift, error) { return nil, nil },
	}
	added, _, err := e.run(ctx, EnsureOptions{})
	return added, err
}

// stopped returns an error that says how many changes were made before it.
func (s *ruleSet[R, W]) stopped(changes *RuleChanges[R], added, deleted int, err error) error {
	return fmt.Errorf("cloudapi: %s of %s ended with %d of %d rules added and %d of %d deleted: %w",
		s.operation, s.resource, added, len(changes.Added), deleted, len(changes.Deleted), within{err})
}
