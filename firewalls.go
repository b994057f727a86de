package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/cidr"
	"github.com/cloudapi-sdk/cloudapi/internal/plain"
	"github.com/cloudapi-sdk/cloudapi/internal/validate"
)

// FirewallsService manages firewalls and their rules. A firewall is attached to
// private subnets, and only traffic that a rule allows reaches the VMs in them.
// If a subnet has several firewalls, the rules of all of them apply.
type FirewallsService service

// Firewall is a set of rules for inbound traffic.
type Firewall struct {
	ID            string         `json:"id"`             // prefix fw
	Name          string         `json:"name"`           // unique in its project and location
	Description   string         `json:"description"`    // "Default firewall" if the server created it with a subnet
	Location      string         `json:"location"`       // such as "eu-central-h1"
	FirewallRules []FirewallRule `json:"firewall_rules"` // sorted by IP version and CIDR
	Path          string         `json:"path"`           // the path within the project; only in a VM's record

	// PrivateSubnets are the subnets that the firewall is attached to. Only Get,
	// AttachSubnet and DetachSubnet return this field. With the contract, the
	// subnets have only IDs; with the service, they have all fields.
	PrivateSubnets []PrivateSubnet `json:"private_subnets"`
}

func (f *Firewall) Resource() Resource {
	return Resource{Kind: KindFirewall, ID: f.ID, Location: f.Location, Name: f.Name}
}

// FirewallRule allows inbound traffic from some addresses to some ports.
type FirewallRule struct {
	ID          string `json:"id"`                   // prefix fr
	CIDR        string `json:"cidr"`                 // with prefix length, host bits cleared
	PortRange   string `json:"port_range"`           // "80..90", or "80" for one port ("80..80" with the contract)
	Protocol    string `json:"protocol,omitzero"`    // a constant such as [FirewallRuleProtocolTCP]; † only the service
	Description string `json:"description,omitzero"` // † only the service

	// CreateRule creates two rules for a private subnet; IPv6Rule is the second,
	// for the IPv6 range. All other methods return the two rules separately.
	// † Only the service has this.
	IPv6Rule *FirewallRule `json:"ipv6_rule,omitzero"`
}

// Values of [FirewallRule.Protocol]. † Only the service has these.
const (
	FirewallRuleProtocolTCP = "tcp"
	FirewallRuleProtocolUDP = "udp"
)

// ruleText describes the rule in one line, such as "443 from 0.0.0.0/0".
func (r *FirewallRule) ruleText() string {
	ports := normalPortRange(r.PortRange)
	if ports == "0..65535" {
		ports = "all ports"
	}
	if r.Protocol != "" && r.Protocol != FirewallRuleProtocolTCP {
		ports += "/" + r.Protocol
	}
	return describe(plain.OneLine(ports+" from "+r.CIDR), r.Description)
}

func (r *FirewallRule) Resource() Resource { return Resource{Kind: KindFirewallRule, ID: r.ID} }

// FirewallCreateRequest is the body of [FirewallsService.Create] and
// [FirewallsService.CreateInProject]. A firewall is created without rules; see
// [FirewallsService.SetRules]. It applies to the VMs in its subnets; see
// [PrivateSubnetCreateRequest].
type FirewallCreateRequest struct {
	Description string `json:"description,omitzero"`
}

// firewallInProjectBody is the body of CreateInProject.
type firewallInProjectBody struct {
	named
	FirewallCreateRequest
}

// FirewallRuleCreateRequest is the body of [FirewallsService.CreateRule].
type FirewallRuleCreateRequest struct {
	// CIDR is the range of source addresses, in a form that [ParseCIDR] accepts; an
	// IPv6 address without a prefix length is a /64. The service also accepts the
	// ID or name of a private subnet in the location. Required.
	CIDR        string `json:"cidr"`
	PortRange   string `json:"port_range,omitzero"`  // "port" or "first..last", 0 to 65535; default all ports
	Protocol    string `json:"protocol,omitzero"`    // a constant such as [FirewallRuleProtocolTCP]; default TCP; † only the service
	Description string `json:"description,omitzero"` // † only the service
	FirewallID  string `json:"firewall_id,omitzero"` // in the contract; the server ignores it
	ProjectID   string `json:"project_id,omitzero"`  // in the contract; the server ignores it
}

// Matches reports whether a rule allows what the request asks for, in whichever
// spelling: "10.1.2.3" and "10.1.2.3/32", or "22" and "22..22". It ignores the
// description, and returns false if CIDR is a subnet.
func (r *FirewallRuleCreateRequest) Matches(rule *FirewallRule) bool {
	if _, err := ParseCIDR(r.CIDR); err != nil {
		return false
	}
	return ruleKey(&FirewallRule{CIDR: r.CIDR, PortRange: r.PortRange, Protocol: strings.ToLower(r.Protocol)}) == ruleKey(rule)
}

// ruleKey identifies a rule in a firewall.
func ruleKey(rule *FirewallRule) string {
	return cmp.Or(rule.Protocol, FirewallRuleProtocolTCP) + " " + normalCIDR(rule.CIDR) + " " + normalPortRange(rule.PortRange)
}

func (r FirewallRuleCreateRequest) check() *ArgumentError {
	return cmp.Or(optionalReference.check("", "firewall_id", r.FirewallID), optionalReference.check("", "project_id", r.ProjectID))
}

// FirewallRuleUpdateRequest is the body of [FirewallsService.UpdateRule].
type FirewallRuleUpdateRequest struct {
	CIDR       string `json:"cidr"`
	PortRange  string `json:"port_range,omitzero"`
	FirewallID string `json:"firewall_id,omitzero"`
	ProjectID  string `json:"project_id,omitzero"`
}

func (r FirewallRuleUpdateRequest) check() *ArgumentError {
	return cmp.Or(optionalReference.check("", "firewall_id", r.FirewallID), optionalReference.check("", "project_id", r.ProjectID))
}

// FirewallUpdateRequest is the body of [FirewallsService.Update].
type FirewallUpdateRequest struct {
	Description string `json:"description"` // required; must not be blank
}

// FirewallRuleModifyRequest is the body of [FirewallsService.ModifyRule], which
// keeps fields that aren't set. At least one is required.
type FirewallRuleModifyRequest struct {
	CIDR        string  `json:"cidr,omitzero"`        // a range; can't be a subnet
	PortRange   string  `json:"port_range,omitzero"`  // "port" or "first..last"
	Protocol    string  `json:"protocol,omitzero"`    // a constant such as [FirewallRuleProtocolTCP]
	Description *string `json:"description,omitzero"` // new("") clears it
}

// createdRule is the response to CreateRule: one rule, or two for a subnet.
type createdRule struct{ FirewallRule }

func (r *createdRule) UnmarshalJSON(data []byte) error {
	if !isArray(data) {
		return json.Unmarshal(data, &r.FirewallRule)
	}
	var rules []FirewallRule
	if err := json.Unmarshal(data, &rules); err != nil {
		return err
	}
	if len(rules) != 2 || lacks(&rules[1]) != "" {
		return fmt.Errorf("it is an array of %d elements in place of two rules", len(rules))
	}
	r.FirewallRule = rules[0]
	r.IPv6Rule = &rules[1]
	return nil
}

// subnetRequest is the body of AttachSubnet and DetachSubnet.
type subnetRequest struct {
	PrivateSubnetID string `json:"private_subnet_id" id:"ps"`
}

const (
	firewallRoute     = locationRoute + "/firewall/{firewall_reference}"
	firewallRuleRoute = firewallRoute + "/firewall-rule/{firewall_rule_id}"
)

var (
	opFirewallsList            = Operation{"Firewalls.List", "GET", projectRoute + "/firewall", idempotent}
	opFirewallsCreateInProject = Operation{"Firewalls.CreateInProject", "POST", projectRoute + "/firewall", once | contractOnly}
	opFirewallsListInLocation  = Operation{"Firewalls.ListInLocation", "GET", locationRoute + "/firewall", idempotent}
	opFirewallsGet             = Operation{"Firewalls.Get", "GET", firewallRoute, idempotent}
	opFirewallsCreate          = Operation{"Firewalls.Create", "POST", firewallRoute, once}
	opFirewallsUpdate          = Operation{"Firewalls.Update", "PATCH", firewallRoute, idempotent | serviceOnly}
	opFirewallsDelete          = Operation{"Firewalls.Delete", "DELETE", firewallRoute, idempotent}
	opFirewallsAttachSubnet    = Operation{"Firewalls.AttachSubnet", "POST", firewallRoute + "/attach-subnet", once}
	opFirewallsDetachSubnet    = Operation{"Firewalls.DetachSubnet", "POST", firewallRoute + "/detach-subnet", idempotent}
	opFirewallsRename          = Operation{"Firewalls.Rename", "POST", firewallRoute + "/rename", idempotent}
	opFirewallsCreateRule      = Operation{"Firewalls.CreateRule", "POST", firewallRoute + "/firewall-rule", once}
	opFirewallsGetRule         = Operation{"Firewalls.GetRule", "GET", firewallRuleRoute, idempotent}
	opFirewallsUpdateRule      = Operation{"Firewalls.UpdateRule", "POST", firewallRuleRoute, once | contractOnly}
	opFirewallsModifyRule      = Operation{"Firewalls.ModifyRule", "PATCH", firewallRuleRoute, idempotent | serviceOnly}
	opFirewallsDeleteRule      = Operation{"Firewalls.DeleteRule", "DELETE", firewallRuleRoute, idempotent}

	listFirewalls  = listRoutes{project: &opFirewallsList, location: &opFirewallsListInLocation}
	firewallFamily = family[Firewall]{lists: &listFirewalls, get: &opFirewallsGet, del: &opFirewallsDelete, pauses: &waitQuick}
)

// List returns one page of the firewalls.
func (s *FirewallsService) List(ctx context.Context, opts *ListOptions) (*Page[Firewall], error) {
	return list[Firewall](ctx, s.conn, &listFirewalls, opts)
}

// All iterates over the items of List.
func (s *FirewallsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*Firewall, error] {
	return all[Firewall](ctx, s.conn, &listFirewalls, opts)
}

// Watch yields the firewalls, and then changes to firewalls and their rules.
func (s *FirewallsService) Watch(ctx context.Context, opts *WatchOptions, known ...*Firewall) iter.Seq2[Event[Firewall], error] {
	return firewallFamily.watch(ctx, s.conn, opts, known)
}

// CreateInProject creates a firewall without naming its location. With the
// service, use [FirewallsService.Create]. ‡ Only the contract has this.
func (s *FirewallsService) CreateInProject(ctx context.Context, name string, request *FirewallCreateRequest) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsCreateInProject, firewallInProjectBody{named{name}, orZero(request)})
}

// Get returns a firewall with its rules and subnets.
func (s *FirewallsService) Get(ctx context.Context, location, firewall string) (*Firewall, error) {
	return perform[Firewall](ctx, s.conn, &opFirewallsGet, location, firewall)
}

// Create creates a firewall without rules: no traffic gets in. The request may
// be nil. A name in the form of a firewall's ID leads to [ErrNotFound].
func (s *FirewallsService) Create(ctx context.Context, location, name string, request *FirewallCreateRequest) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsCreate, request, location, name)
}

// Update changes a firewall's description. † Only the service has this.
func (s *FirewallsService) Update(ctx context.Context, location, firewall string, request *FirewallUpdateRequest) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsUpdate, request, location, firewall)
}

// Ensure creates a firewall unless one with the name exists. It compares only
// the description, not the rules. With the service, it can update the
// description; with the contract, an update returns a [*DriftError].
func (s *FirewallsService) Ensure(ctx context.Context, location, name string, request *FirewallCreateRequest, opts *EnsureOptions) (firewall *Firewall, outcome EnsureOutcome, err error) {
	cannotUpdate := false // the server doesn't have the operation
	return firewallFamily.ensure(ctx, s.conn, location, name, ensureSpec[Firewall]{
		request: request,
		create:  func(ctx context.Context) (*Firewall, error) { return s.Create(ctx, location, name, request) },
		compare: func(_ context.Context, firewall *Firewall) (comparison, error) {
			c := compared(request.Compare(firewall))
			for i := range c.drift {
				if cannotUpdate {
					c.drift[i].Remedy = RemedyReplace
				}
			}
			return c, nil
		},
		update: func(ctx context.Context, firewall *Firewall, _ drift) (*Firewall, error) {
			_, err := s.Update(ctx, location, firewall.ID, &FirewallUpdateRequest{Description: request.Description})
			cannotUpdate = errors.Is(err, ErrMaybeUnsupported)
			if err != nil && !cannotUpdate {
				return nil, err
			}
			return s.Get(ctx, location, firewall.ID)
		},
	}, opts)
}

// Compare returns the difference between a firewall and the request: another
// description, which an update removes with the service, and only a replacement
// with the contract.
func (r *FirewallCreateRequest) Compare(firewall *Firewall) (differences []Drift, uncompared []string) {
	var c comparison
	wantsOrZero(&c, Drift{Remedy: RemedyUpdate}, "description", orZero(r).Description, firewall.Description)
	return c.result()
}

// Delete deletes a firewall, and detaches it from its subnets.
func (s *FirewallsService) Delete(ctx context.Context, location, firewall string) error {
	return remove(ctx, s.conn, &opFirewallsDelete, location, firewall)
}

// AttachSubnet attaches a firewall to a private subnet in its location; rules
// take effect later. It returns [ErrServer] if the subnet is already attached.
func (s *FirewallsService) AttachSubnet(ctx context.Context, location, firewall, subnetID string) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsAttachSubnet, subnetRequest{subnetID}, location, firewall)
}

// DetachSubnet detaches a firewall from a private subnet, if attached; that
// takes effect later. It returns [ErrInvalidRequest] for an unknown subnet.
func (s *FirewallsService) DetachSubnet(ctx context.Context, location, firewall, subnetID string) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsDetachSubnet, subnetRequest{subnetID}, location, firewall)
}

// Rename renames a firewall.
func (s *FirewallsService) Rename(ctx context.Context, location, firewall, newName string) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsRename, renameRequest{newName}, location, firewall)
}

// CreateRule adds a rule, or two if CIDR is a subnet; see IPv6Rule. They take
// effect later. It returns [ErrAlreadyExists] for a duplicate.
func (s *FirewallsService) CreateRule(ctx context.Context, location, firewall string, request *FirewallRuleCreateRequest) (*FirewallRule, error) {
	created, err := send[createdRule](ctx, s.conn, &opFirewallsCreateRule, request, location, firewall)
	if err != nil {
		return nil, err
	}
	return &created.FirewallRule, nil
}

// SetRules makes the rules of a firewall exactly those that are passed. It keeps
// the existing rules that are wanted, adds those that are missing, and then
// removes the rest. It never interrupts traffic that both the old and the new
// rules allow, and returns before the changes take effect. An empty slice
// removes all rules; a nil one is invalid.
//
// Rules are compared by protocol, CIDR and port range, in any spelling. A
// private subnet, by ID or name, stands for its two ranges. SetRules changes a
// description only if the request has one, and returns an [*ArgumentError] for a
// rule with two descriptions. It sends a request for each change. If one fails,
// or another program changes the rules, SetRules returns an error; call it again
// for the remaining changes.
func (s *FirewallsService) SetRules(ctx context.Context, location, firewall string, rules []FirewallRuleCreateRequest) (*SetChanges[FirewallRule], error) {
	set := exactSet[FirewallRule, FirewallRuleCreateRequest]{
		conn:      s.conn,
		operation: "Firewalls.SetRules",
		argument:  "rules",
		field:     "firewall_rules",
		location:  location,
		reference: firewall,
		list: func(ctx context.Context) ([]FirewallRule, error) {
			record, err := s.Get(ctx, location, firewall)
			if err != nil {
				return nil, err
			}
			firewall = record.ID // its name may change before the next request
			return record.FirewallRules, nil
		},
		read: func(ctx context.Context, request FirewallRuleCreateRequest) ([]*FirewallRule, error) {
			ports, err := ParsePortRange(request.PortRange)
			if err != nil {
				return nil, err
			}
			ranges, err := s.ranges(ctx, location, request.CIDR)
			if err != nil {
				return nil, err
			}
			var rules []*FirewallRule
			for _, r := range ranges {
				rules = append(rules, &FirewallRule{
					CIDR:        r,
					PortRange:   ports.String(),
					Protocol:    cmp.Or(strings.ToLower(request.Protocol), FirewallRuleProtocolTCP),
					Description: strings.TrimSpace(request.Description),
				})
			}
			return rules, nil
		},
		key: ruleKey,
		add: func(ctx context.Context, request FirewallRuleCreateRequest, rule *FirewallRule) (*FirewallRule, error) {
			if _, err := ParseCIDR(request.CIDR); err != nil {
				request.CIDR = rule.CIDR // one of a subnet's ranges: the other may have a rule already
			}
			return s.CreateRule(ctx, location, firewall, &request)
		},
		remove: func(ctx context.Context, rule *FirewallRule) error {
			return s.DeleteRule(ctx, location, firewall, rule.ID)
		},
		description: func(rule *FirewallRule) *string { return &rule.Description },
		modify: func(ctx context.Context, rule *FirewallRule, description string) (*FirewallRule, error) {
			return s.ModifyRule(ctx, location, firewall, rule.ID, &FirewallRuleModifyRequest{Description: &description})
		},
	}
	return set.apply(ctx, rules)
}

// ranges returns the ranges of addresses that the CIDR of a request stands for:
// one, or the two of a private subnet.
func (s *FirewallsService) ranges(ctx context.Context, location, source string) ([]string, error) {
	prefix, invalid := ParseCIDR(source)
	if invalid == nil {
		return []string{cidr.Format(prefix)}, nil
	}
	if validate.Segment(source) != "" || strings.ContainsAny(source, ".:") { // names have no dots
		return nil, invalid
	}
	subnet, err := (&PrivateSubnetsService{s.conn}).Get(ctx, location, source)
	switch {
	case IsGone(err):
		return nil, argumentError("", "cidr", source, "is neither a range, such as 203.0.113.0/24, nor a private subnet in the location")
	case err != nil:
		return nil, err
	}
	return []string{normalCIDR(subnet.Net4), normalCIDR(subnet.Net6)}, nil
}

// GetRule returns a rule.
func (s *FirewallsService) GetRule(ctx context.Context, location, firewall, ruleID string) (*FirewallRule, error) {
	return perform[FirewallRule](ctx, s.conn, &opFirewallsGetRule, location, firewall, ruleID)
}

// UpdateRule changes a rule; the service has [FirewallsService.ModifyRule].
// ‡ Only the contract has this.
func (s *FirewallsService) UpdateRule(ctx context.Context, location, firewall, ruleID string, request *FirewallRuleUpdateRequest) (*FirewallRule, error) {
	return send[FirewallRule](ctx, s.conn, &opFirewallsUpdateRule, request, location, firewall, ruleID)
}

// ModifyRule changes those fields of a rule that the request sets. The change
// takes effect later. It returns [ErrAlreadyExists] if an equal rule exists.
// † Only the service has this.
func (s *FirewallsService) ModifyRule(ctx context.Context, location, firewall, ruleID string, request *FirewallRuleModifyRequest) (*FirewallRule, error) {
	if request == nil || *request == (FirewallRuleModifyRequest{}) {
		return nil, &ArgumentError{Operation: opFirewallsModifyRule.Name, Name: "request", Reason: "must set at least one field"}
	}
	return send[FirewallRule](ctx, s.conn, &opFirewallsModifyRule, request, location, firewall, ruleID)
}

// DeleteRule deletes a rule. It succeeds if the rule doesn't exist, but returns
// [ErrNotFound] if the firewall doesn't exist.
func (s *FirewallsService) DeleteRule(ctx context.Context, location, firewall, ruleID string) error {
	return remove(ctx, s.conn, &opFirewallsDeleteRule, location, firewall, ruleID)
}
