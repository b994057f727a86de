package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

// FirewallsService works with firewalls and their rules. A firewall is attached
// to private subnets. Only traffic that a rule allows reaches the VMs in them.
// If a subnet has several firewalls, the rules of all of them apply.
//
// A reference is the ID (prefix fw) or the name.
type FirewallsService service

// Firewall is a set of rules for inbound traffic.
type Firewall struct {
	ID            string         `json:"id"`             // prefix fw
	Name          string         `json:"name"`           // unique in its project and location
	Description   string         `json:"description"`    // "Default firewall" if it was made with a subnet
	Location      string         `json:"location"`       // such as "eu-central-h1"
	FirewallRules []FirewallRule `json:"firewall_rules"` // sorted by IP version and CIDR; without rules no traffic gets in

	// PrivateSubnets are the subnets that the firewall is attached to, with
	// their firewalls. Only Get, AttachSubnet and DetachSubnet return it. If
	// the server sends only IDs, as in its public description, the other fields
	// are empty.
	PrivateSubnets []PrivateSubnet `json:"private_subnets"`

	// Path is the firewall's path within the project. It is set only in the
	// firewalls of a VM record.
	Path string `json:"path"`
}

func (f *Firewall) lacks() string               { return lacksID(f.ID) }
func (f *Firewall) cursor(column string) string { return idOrName(column, f.ID, f.Name) }
func (f *Firewall) identity() Resource {
	return Resource{Kind: KindFirewall, ID: f.ID, Location: f.Location, Name: f.Name}
}

// FirewallRule allows inbound traffic from some addresses to some ports.
type FirewallRule struct {
	ID        string `json:"id"`         // prefix fr
	CIDR      string `json:"cidr"`       // normalized: with prefix length, host bits cleared
	PortRange string `json:"port_range"` // "first..last", including both; a single port is "80..80", or "80" in August 2026

	// Protocol is one of the FirewallProtocol constants. It is "" from a server
	// of October 2025, where all rules are for TCP.
	Protocol    string `json:"protocol,omitzero"`
	Description string `json:"description,omitzero"` // "" from a server of October 2025

	// IPv6Rule is the second rule if CreateRule made two: this rule is for the
	// IPv4 range of a private subnet, and IPv6Rule for its IPv6 range. Only
	// CreateRule sets it; all other methods return two separate rules.
	IPv6Rule *FirewallRule `json:"ipv6_rule,omitzero"`
}

// Values of [FirewallRule.Protocol].
const (
	FirewallProtocolTCP = "tcp"
	FirewallProtocolUDP = "udp"
)

func (r *FirewallRule) lacks() string      { return lacksID(r.ID) }
func (r *FirewallRule) identity() Resource { return Resource{Kind: KindFirewallRule, ID: r.ID} }

// FirewallCreateInProjectRequest is the body of
// [FirewallsService.CreateInProject].
type FirewallCreateInProjectRequest struct {
	Name        string `json:"name"` // required
	Description string `json:"description,omitzero"`
}

// FirewallCreateRequest is the body of [FirewallsService.Create].
type FirewallCreateRequest struct {
	Description string `json:"description,omitzero"`
}

// FirewallRuleCreateRequest is the body of [FirewallsService.CreateRule].
type FirewallRuleCreateRequest struct {
	// CIDR is the range of source addresses, IPv4 or IPv6. Required. Include
	// the prefix length: the real server reads an IPv4 address without one as
	// /32, but an IPv6 address as /64. Host bits are cleared.
	//
	// In August 2026 it may also be the ID or name of a private subnet of the
	// location. That makes two rules: see [FirewallRule.IPv6Rule].
	CIDR string `json:"cidr"`

	// PortRange is "port" or "first..last" within 0 to 65535. The default is
	// all ports.
	PortRange string `json:"port_range,omitzero"`

	// Protocol is one of the FirewallProtocol constants; the default is TCP.
	// Description is any text; spaces around it are removed. A server of
	// October 2025 refuses both fields.
	Protocol    string `json:"protocol,omitzero"`
	Description string `json:"description,omitzero"`

	// FirewallID and ProjectID are in the contract; the real server accepts and
	// ignores them.
	FirewallID string `json:"firewall_id,omitzero"`
	ProjectID  string `json:"project_id,omitzero"`
}

func (r FirewallRuleCreateRequest) checkIDs() *ArgumentError {
	return cmp.Or(checkOptionalID("firewall_id", r.FirewallID), checkOptionalID("project_id", r.ProjectID))
}

// FirewallRuleUpdateRequest is the body of [FirewallsService.UpdateRule]. It
// has the form of [FirewallRuleCreateRequest].
type FirewallRuleUpdateRequest FirewallRuleCreateRequest

func (r FirewallRuleUpdateRequest) checkIDs() *ArgumentError {
	return FirewallRuleCreateRequest(r).checkIDs()
}

// FirewallUpdateRequest is the body of [FirewallsService.Update].
type FirewallUpdateRequest struct {
	Description string `json:"description"` // required; more than spaces
}

// FirewallRuleModifyRequest is the body of [FirewallsService.ModifyRule].
// Fields that are not set stay unchanged; at least one must be set.
type FirewallRuleModifyRequest struct {
	CIDR        string  `json:"cidr,omitzero"`        // a range, but not a subnet
	PortRange   string  `json:"port_range,omitzero"`  // "port" or "first..last"
	Protocol    string  `json:"protocol,omitzero"`    // one of the FirewallProtocol constants
	Description *string `json:"description,omitzero"` // new("") clears it
}

// createdRule is the response to CreateRule: one rule, or two for the ranges of
// a subnet.
type createdRule struct{ FirewallRule }

func (r *createdRule) UnmarshalJSON(data []byte) error {
	if !isArray(data) {
		return json.Unmarshal(data, &r.FirewallRule)
	}
	var rules []FirewallRule
	if err := json.Unmarshal(data, &rules); err != nil {
		return err
	}
	if len(rules) != 2 || rules[1].lacks() != "" {
		return fmt.Errorf("it is an array of %d elements in place of two rules", len(rules))
	}
	r.FirewallRule = rules[0]
	r.IPv6Rule = &rules[1]
	return nil
}

// subnetRequest is the body of attaching and detaching a subnet.
type subnetRequest struct {
	PrivateSubnetID string `json:"private_subnet_id"`
}

func (r subnetRequest) checkIDs() *ArgumentError {
	return checkID("private_subnet_id", r.PrivateSubnetID)
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
	opFirewallsUpdate          = Operation{"Firewalls.Update", "PATCH", firewallRoute, idempotent | august2026}
	opFirewallsDelete          = Operation{"Firewalls.Delete", "DELETE", firewallRoute, idempotent}
	opFirewallsAttachSubnet    = Operation{"Firewalls.AttachSubnet", "POST", firewallRoute + "/attach-subnet", once}
	opFirewallsDetachSubnet    = Operation{"Firewalls.DetachSubnet", "POST", firewallRoute + "/detach-subnet", idempotent}
	opFirewallsRename          = Operation{"Firewalls.Rename", "POST", firewallRoute + "/rename", idempotent}
	opFirewallsCreateRule      = Operation{"Firewalls.CreateRule", "POST", firewallRoute + "/firewall-rule", once}
	opFirewallsGetRule         = Operation{"Firewalls.GetRule", "GET", firewallRuleRoute, idempotent}
	opFirewallsUpdateRule      = Operation{"Firewalls.UpdateRule", "POST", firewallRuleRoute, once | contractOnly}
	opFirewallsModifyRule      = Operation{"Firewalls.ModifyRule", "PATCH", firewallRuleRoute, idempotent | august2026}
	opFirewallsDeleteRule      = Operation{"Firewalls.DeleteRule", "DELETE", firewallRuleRoute, idempotent}

	listFirewalls  = listRoutes{project: &opFirewallsList, location: &opFirewallsListInLocation}
	firewallFamily = family[Firewall, *Firewall]{lists: &listFirewalls, get: &opFirewallsGet, del: &opFirewallsDelete, pauses: waitQuick}
)

// List returns one page of the project's firewalls, or of those in
// [ListOptions.Location]. Items lack PrivateSubnets.
func (s *FirewallsService) List(ctx context.Context, opts *ListOptions) (*Page[Firewall], error) {
	return list[Firewall](ctx, s.conn, &listFirewalls, opts)
}

// All returns the project's firewalls, or those in [ListOptions.Location],
// page by page. Items lack PrivateSubnets.
func (s *FirewallsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*Firewall, error] {
	return all[Firewall](ctx, s.conn, &listFirewalls, opts)
}

// Watch yields the project's firewalls, or those in [WatchOptions.Location],
// and then the changes of them and their rules, until the context ends. Records
// lack PrivateSubnets.
func (s *FirewallsService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[Firewall], error] {
	return firewallFamily.watch(ctx, s.conn, opts)
}

// CreateInProject is in the contract only: no version of the service has it. It
// creates a firewall without a location. Use [FirewallsService.Create]. The
// service answers [ErrNotFound], which is also [ErrMaybeUnsupported].
func (s *FirewallsService) CreateInProject(ctx context.Context, request *FirewallCreateInProjectRequest) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsCreateInProject, request)
}

// Get returns a firewall with its rules and subnets, or [ErrNotFound] if it
// does not exist.
func (s *FirewallsService) Get(ctx context.Context, location, firewall string) (*Firewall, error) {
	return fetch[Firewall](ctx, s.conn, &opFirewallsGet, location, firewall)
}

// Create makes a firewall with the given name, at once. It has no rules, so no
// traffic gets in. The request may be nil. If the name is taken the error is
// [ErrAlreadyExists]; if it has the form of a firewall's ID the error is
// [ErrNotFound]. If the response is lost it is [ErrOutcomeUnknown]: look the
// name up with Get.
func (s *FirewallsService) Create(ctx context.Context, location, name string, request *FirewallCreateRequest) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsCreate, request, location, name)
}

// Update changes a firewall's description, at once. It returns the record
// without PrivateSubnets.
//
// Requires the August 2026 API.
func (s *FirewallsService) Update(ctx context.Context, location, firewall string, request *FirewallUpdateRequest) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsUpdate, request, location, firewall)
}

// Ensure creates a firewall unless there is one of that name; see
// [EnsureOptions]. The name must not be an ID. Ensure compares the description,
// and Update changes it. That requires the August 2026 API: with an older
// service, which a dry run doesn't notice, the error is a [*DriftError]. Ensure
// does not compare or set rules.
func (s *FirewallsService) Ensure(ctx context.Context, location, name string, request *FirewallCreateRequest, opts *EnsureOptions) (firewall *Firewall, outcome EnsureOutcome, err error) {
	return s.ensurer(location, name, request).ensure(ctx, "Firewalls.Ensure", opts)
}

// ensurer returns what Ensure needs to know about firewalls.
func (s *FirewallsService) ensurer(location, name string, request *FirewallCreateRequest) ensureSpec[Firewall] {
	cannotUpdate := false // since the service does not have the operation
	return ensureSpec[Firewall]{
		location: location,
		name:     name,
		pauses:   firewallFamily.pauses,
		find:     func(ctx context.Context) (*Firewall, error) { return s.Get(ctx, location, name) },
		create:   func(ctx context.Context) (*Firewall, error) { return s.Create(ctx, location, name, request) },
		compare: func(_ context.Context, firewall *Firewall) (d drift, err error) {
			if request != nil {
				compare := wantsUpdatable[string]
				if cannotUpdate {
					compare = wants
				}
				compare(&d, "description", request.Description, firewall.Description)
			}
			return d, nil
		},
		update: func(ctx context.Context, firewall *Firewall, _ drift) (*Firewall, error) {
			_, err := s.Update(ctx, location, firewall.ID, &FirewallUpdateRequest{Description: request.Description})
			cannotUpdate = errors.Is(err, ErrMaybeUnsupported)
			if err != nil && !cannotUpdate {
				return nil, err
			}
			return s.Get(ctx, location, firewall.ID)
		},
	}
}

// Delete deletes a firewall, at once, after detaching it from its subnets.
// Deleting one that does not exist is not an error. Pass the ID: a delete is
// retried after a lost response, and by name it could delete another firewall
// that has taken the name meanwhile.
func (s *FirewallsService) Delete(ctx context.Context, location, firewall string) error {
	return remove(ctx, s.conn, &opFirewallsDelete, location, firewall)
}

// AttachSubnet applies a firewall to a private subnet of its location, given by
// its ID. If a name is given the error is [ErrInvalidRequest]. The record
// changes at once; the rules take effect moments later. Attaching a subnet
// twice is [ErrServer] on the real server, so the call is not retried after a
// lost response, which is [ErrOutcomeUnknown]: look at PrivateSubnets with Get.
func (s *FirewallsService) AttachSubnet(ctx context.Context, location, firewall, subnetID string) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsAttachSubnet, subnetRequest{subnetID}, location, firewall)
}

// DetachSubnet undoes AttachSubnet. If the subnet is not attached it succeeds.
// If it does not exist the error is [ErrInvalidRequest].
func (s *FirewallsService) DetachSubnet(ctx context.Context, location, firewall, subnetID string) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsDetachSubnet, subnetRequest{subnetID}, location, firewall)
}

// Rename gives a firewall another name. If the name is taken the error is
// [ErrAlreadyExists]. Pass the ID: only then is the call idempotent.
func (s *FirewallsService) Rename(ctx context.Context, location, firewall, newName string) (*Firewall, error) {
	return send[Firewall](ctx, s.conn, &opFirewallsRename, renameRequest{newName}, location, firewall)
}

// CreateRule adds a rule, or two for a subnet: see [FirewallRule.IPv6Rule]. It
// takes effect moments later. If the firewall already has the rule, the error
// is [ErrAlreadyExists]. If the response is lost it is [ErrOutcomeUnknown]: look
// for the rule with Get.
func (s *FirewallsService) CreateRule(ctx context.Context, location, firewall string, request *FirewallRuleCreateRequest) (*FirewallRule, error) {
	created, err := send[createdRule](ctx, s.conn, &opFirewallsCreateRule, request, location, firewall)
	if err != nil {
		return nil, err
	}
	return &created.FirewallRule, nil
}

// GetRule returns a rule, or [ErrNotFound] if it does not exist.
func (s *FirewallsService) GetRule(ctx context.Context, location, firewall, ruleID string) (*FirewallRule, error) {
	return fetch[FirewallRule](ctx, s.conn, &opFirewallsGetRule, location, firewall, ruleID)
}

// UpdateRule is in the contract only: no version of the service has it. It
// replaces a rule. Use [FirewallsService.ModifyRule], which requires the August
// 2026 API; otherwise delete the rule and create another one. The service
// answers [ErrNotFound], which is also [ErrMaybeUnsupported].
func (s *FirewallsService) UpdateRule(ctx context.Context, location, firewall, ruleID string, request *FirewallRuleUpdateRequest) (*FirewallRule, error) {
	return send[FirewallRule](ctx, s.conn, &opFirewallsUpdateRule, request, location, firewall, ruleID)
}

// ModifyRule changes the fields of a rule that the request sets. The rule keeps
// its ID. The record changes at once; the change takes effect moments later. If
// the firewall already has the changed rule, the error is [ErrAlreadyExists].
//
// Requires the August 2026 API.
func (s *FirewallsService) ModifyRule(ctx context.Context, location, firewall, ruleID string, request *FirewallRuleModifyRequest) (*FirewallRule, error) {
	if request == nil || *request == (FirewallRuleModifyRequest{}) {
		return nil, &ArgumentError{Operation: opFirewallsModifyRule.Name, Name: "request", Reason: "must set at least one field"}
	}
	return send[FirewallRule](ctx, s.conn, &opFirewallsModifyRule, request, location, firewall, ruleID)
}

// DeleteRule deletes a rule. Deleting one that does not exist is not an error.
// If the firewall does not exist the error is [ErrNotFound].
func (s *FirewallsService) DeleteRule(ctx context.Context, location, firewall, ruleID string) error {
	return remove(ctx, s.conn, &opFirewallsDeleteRule, location, firewall, ruleID)
}
