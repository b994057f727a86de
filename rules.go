package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/cidr"
)

// SetRulesOptions are settings of the SetRules methods.
type SetRulesOptions struct {
	DryRun bool // whether to return the changes without sending them
}

// RuleChanges are the changes of a SetRules method. Of a database's two rules
// for a range of addresses, they include only the first.
type RuleChanges[R any] struct {
	Kept    []*R // existed, and are wanted
	Added   []*R // created; they have no ID after a dry run
	Deleted []*R // existed, and aren't wanted
}

// Changed reports whether a rule was added or deleted.
func (c *RuleChanges[R]) Changed() bool { return len(c.Added) > 0 || len(c.Deleted) > 0 }

// SetRules replaces the rules of a firewall. It keeps the existing rules that
// are wanted, with their descriptions, adds those that are missing, and then
// deletes the rest. It never interrupts traffic that both the old and the new
// rules allow, and returns before the changes take effect. An empty slice
// deletes all rules; a nil one is invalid. Rules are compared by protocol, CIDR
// and port range, in any spelling. SetRules sends a request for each change. If
// one fails, or another program changes the rules, SetRules returns an error;
// call it again for the remaining changes.
func (s *FirewallsService) SetRules(ctx context.Context, location, firewall string, rules []FirewallRuleCreateRequest, opts *SetRulesOptions) (*RuleChanges[FirewallRule], error) {
	set := ruleSet[FirewallRule, FirewallRuleCreateRequest]{
		operation: "Firewalls.SetRules",
		resource:  qualify(location, firewall),
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
			return &FirewallRule{CIDR: cidr.Format(prefix), PortRange: ports.String(), Protocol: protocol, Description: request.Description}, nil
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
// [FirewallsService.SetRules] does for a firewall. Rules are compared by CIDR.
// The service creates two rules for a range. If only one of them exists,
// SetFirewallRules deletes it and creates both, which may interrupt traffic.
func (s *PostgresService) SetFirewallRules(ctx context.Context, location, postgres string, rules []PostgresFirewallRuleCreateRequest, opts *SetRulesOptions) (*RuleChanges[PostgresFirewallRule], error) {
	set := ruleSet[PostgresFirewallRule, PostgresFirewallRuleCreateRequest]{
		operation: "Postgres.SetFirewallRules",
		resource:  qualify(location, postgres),
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
			return &PostgresFirewallRule{CIDR: cidr.Format(prefix), Description: request.Description}, nil
		},
		key: func(rule *PostgresFirewallRule) string { return normalCIDR(rule.CIDR) },
		isHalf: func(rules []*PostgresFirewallRule) bool {
			first := rules[0].Port
			return first != 0 && !slices.ContainsFunc(rules, func(rule *PostgresFirewallRule) bool { return rule.Port != first })
		},
		create: func(ctx context.Context, request *PostgresFirewallRuleCreateRequest) (*PostgresFirewallRule, error) {
			return s.CreateFirewallRule(ctx, location, postgres, request)
		},
		remove: func(ctx context.Context, rule *PostgresFirewallRule) error {
			return s.DeleteFirewallRule(ctx, location, postgres, rule.ID)
		},
	}
	return set.apply(ctx, rules, opts)
}

// ruleSet tells SetRules how to handle the rules of one resource. R is the
// record of a rule, and W is the request that creates a rule.
type ruleSet[R, W any] struct {
	operation string
	resource  string // the location and reference of the resource that has the rules

	list   func(context.Context) ([]R, error)
	read   func(W) (*R, error) // returns the rule that a request asks for
	key    func(*R) string     // identifies a rule in the set
	isHalf func([]*R) bool     // whether some of the rules that one request creates are missing; nil if a request creates only one
	create func(context.Context, *W) (*R, error)
	remove func(context.Context, *R) error
}

// rulePlan says which rules to keep, create and delete. Each element of a
// [][]*R contains all existing rules with the same key.
type rulePlan[R any] struct {
	kept, unwanted [][]*R
	halves         [][]*R // to be deleted and created again; see ruleSet.isHalf
	missing        []int  // the indexes of the wanted rules to create
}

func (p *rulePlan[R]) changes(wanted []*R) *RuleChanges[R] {
	c := &RuleChanges[R]{}
	for _, rules := range p.kept {
		c.Kept = append(c.Kept, rules[0])
	}
	for _, i := range p.missing {
		c.Added = append(c.Added, wanted[i])
	}
	for _, rules := range slices.Concat(p.halves, p.unwanted) {
		c.Deleted = append(c.Deleted, rules[0])
	}
	return c
}

// apply replaces the rules with the wanted ones.
func (s *ruleSet[R, W]) apply(ctx context.Context, wanted []W, opts *SetRulesOptions) (*RuleChanges[R], error) {
	if ctx == nil {
		return nil, noContext(s.operation)
	}
	if wanted == nil {
		return nil, &ArgumentError{Operation: s.operation, Name: "rules", Reason: "must not be nil: an empty slice deletes all rules"}
	}
	rules, err := s.parse(wanted)
	if err != nil {
		return nil, err
	}
	plan, err := s.plan(ctx, rules)
	if err != nil {
		return nil, err
	}
	planned := plan.changes(rules)
	if !planned.Changed() || opts != nil && opts.DryRun {
		return planned, nil
	}
	done := &RuleChanges[R]{Kept: planned.Kept}
	if err := s.carryOut(ctx, plan, rules, wanted, done); err != nil {
		return nil, fmt.Errorf("cloudapi: %s of %s ended with %d of %d rules added and %d of %d deleted: %w",
			s.operation, s.resource, len(done.Added), len(planned.Added), len(done.Deleted), len(planned.Deleted), unprefixed{err})
	}
	return done, nil
}

func (s *ruleSet[R, W]) parse(wanted []W) ([]*R, error) {
	rules := make([]*R, len(wanted))
	for i, request := range wanted {
		rule, err := s.read(request)
		if err != nil {
			return nil, &ArgumentError{Operation: s.operation, Name: fmt.Sprintf("rules[%d]", i),
				Reason: "is wrong: " + unprefixed{err}.Error()}
		}
		rules[i] = rule
	}
	return rules, nil
}

func (s *ruleSet[R, W]) plan(ctx context.Context, wanted []*R) (*rulePlan[R], error) {
	list, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string // in the order of the list
	found := map[string][]*R{}
	for i := range list {
		key := s.key(&list[i])
		if found[key] == nil {
			keys = append(keys, key)
		}
		found[key] = append(found[key], &list[i])
	}
	isHalf := func(rules []*R) bool { return s.isHalf != nil && s.isHalf(rules) }
	plan, isWanted := &rulePlan[R]{}, map[string]bool{}
	for i, rule := range wanted {
		key := s.key(rule)
		if rules := found[key]; !isWanted[key] && (rules == nil || isHalf(rules)) {
			plan.missing = append(plan.missing, i)
		}
		isWanted[key] = true
	}
	for _, key := range keys {
		switch rules := found[key]; {
		case !isWanted[key]:
			plan.unwanted = append(plan.unwanted, rules)
		case isHalf(rules):
			plan.halves = append(plan.halves, rules)
		default:
			plan.kept = append(plan.kept, rules)
		}
	}
	return plan, nil
}

// carryOut carries out a plan, and adds each change to done. Then it checks
// that the resource has exactly the wanted rules.
func (s *ruleSet[R, W]) carryOut(ctx context.Context, plan *rulePlan[R], rules []*R, wanted []W, done *RuleChanges[R]) error {
	if err := s.removeAll(ctx, plan.halves, done); err != nil {
		return err
	}
	for _, i := range plan.missing {
		rule, outcome, err := s.add(ctx, rules[i], &wanted[i])
		switch {
		case err != nil:
			return err
		case outcome == EnsureCreated:
			done.Added = append(done.Added, rule)
		default: // another program has just created the rule
			done.Kept = append(done.Kept, rule)
		}
	}
	if err := s.removeAll(ctx, plan.unwanted, done); err != nil {
		return err
	}
	left, err := s.plan(ctx, rules)
	if err != nil {
		return err
	}
	if c := left.changes(rules); c.Changed() {
		return fmt.Errorf("another program changed the rules: %d wanted rules are missing, and there are %d others", len(c.Added), len(c.Deleted))
	}
	return nil
}

// removeAll deletes groups of equal rules. It adds the first rule of a group to
// done when the whole group is deleted.
func (s *ruleSet[R, W]) removeAll(ctx context.Context, unwanted [][]*R, done *RuleChanges[R]) error {
	for _, rules := range unwanted {
		for _, rule := range rules {
			if err := s.remove(ctx, rule); err != nil {
				return err
			}
		}
		done.Deleted = append(done.Deleted, rules[0])
	}
	return nil
}

// add creates a rule, or returns it if another program has just created it.
func (s *ruleSet[R, W]) add(ctx context.Context, rule *R, request *W) (*R, EnsureOutcome, error) {
	listed := true
	e := ensureSpec[R]{
		operation: s.operation,
		name:      s.resource,
		pauses:    &waitQuick,
		find: func(ctx context.Context) (*R, error) {
			if listed {
				listed = false
				return nil, ErrNotFound
			}
			found, err := s.list(ctx)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(found, func(r R) bool { return s.key(&r) == s.key(rule) })
			if i < 0 {
				return nil, ErrNotFound
			}
			return &found[i], nil
		},
		create:  func(ctx context.Context) (*R, error) { return s.create(ctx, request) },
		compare: func(context.Context, *R) (drift, error) { return nil, nil },
	}
	return e.run(ctx, EnsureOptions{})
}
