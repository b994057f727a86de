package plans_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// environment is what a program wants: resources that refer to each other by
// their position, and what there is of them.
type environment struct {
	random    *rand.Rand
	isService bool // whether the server has rules with protocols and descriptions

	firewalls []wantedFirewall
	subnets   []wantedSubnet
	databases []wantedDatabase
	vms       []wantedVM
	balancers []wantedBalancer
}

const none = -1 // in place of a position

type wantedFirewall struct {
	request cloudapi.FirewallCreateRequest
	update  bool
	rules   []wantedRule // nil leaves them
	exists  bool
}

// wantedRule allows a subnet, in one of three ways, or a range of addresses.
type wantedRule struct {
	subnet  int
	from    string // "ID", "Net4", "Net6", or the range
	request cloudapi.FirewallRuleCreateRequest
}

type wantedSubnet struct {
	firewall  int // with which it's created
	update    bool
	attached  []int // nil leaves the firewalls
	keepFirst bool  // whether attached also has the firewall that the record shows
	exists    bool
	had       int // the firewall with which it exists
}

type wantedDatabase struct {
	request    cloudapi.PostgresCreateRequest
	update     bool
	setsRules  bool
	rules      []wantedRule
	window     bool // whether the maintenance window is set
	exists     bool
	restricted bool // whether it exists without rules
}

type wantedVM struct {
	request cloudapi.VMCreateRequest
	subnet  int
	exists  bool
	had     int // the subnet in which it exists
}

type wantedBalancer struct {
	request cloudapi.LoadBalancerCreateRequest
	update  bool
	subnet  int
	setsVMs bool
	vms     []int
	exists  bool
	in      int   // the subnet in which it exists
	had     []int // the VMs with which it exists
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func (e *environment) some(n int) []int {
	chosen := []int{}
	for i := range n {
		if e.random.IntN(2) == 0 {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// newEnvironment returns a random environment.
func newEnvironment(seed uint64) *environment {
	r := rand.New(rand.NewPCG(seed, 0))
	e := &environment{random: r, isService: seed%2 == 0}
	isTrue := func() bool { return r.IntN(2) == 0 }
	firewalls, subnets, vms := 1+r.IntN(3), 1+r.IntN(2), r.IntN(4)
	for range firewalls {
		f := wantedFirewall{exists: isTrue(), update: isTrue()}
		f.request.Description = pick(r, "", "web", "office")
		if isTrue() {
			f.rules = e.rules(subnets)
		}
		e.firewalls = append(e.firewalls, f)
	}
	for range subnets {
		s := wantedSubnet{firewall: r.IntN(firewalls+1) - 1, had: r.IntN(firewalls+1) - 1, exists: isTrue()}
		if isTrue() {
			s.attached, s.keepFirst = e.some(firewalls), isTrue()
		}
		s.update = isTrue()
		e.subnets = append(e.subnets, s)
	}
	for range r.IntN(3) {
		d := wantedDatabase{exists: isTrue(), restricted: isTrue(), setsRules: isTrue()}
		d.request = cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: pick(r, 64, 128), RestrictByDefault: pick(r, nil, new(true), new(false))}
		if d.setsRules {
			d.rules = slices.DeleteFunc(e.rules(subnets), func(rule wantedRule) bool { return rule.from == "ID" })
		}
		d.update = isTrue()
		d.window = r.IntN(4) == 0
		e.databases = append(e.databases, d)
	}
	free := []int{} // VMs in no load balancer
	for i := range vms {
		e.vms = append(e.vms, wantedVM{
			request: cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: pick(r, "burstable-1", "burstable-2"), EnableIPv4: new(true)},
			subnet:  r.IntN(subnets+1) - 1, had: r.IntN(subnets+1) - 1, exists: isTrue(),
		})
		free = append(free, i)
	}
	for range r.IntN(3) {
		b := wantedBalancer{request: *sdktest.BalancerIn(""), subnet: r.IntN(subnets), in: r.IntN(subnets), exists: isTrue(), update: isTrue(), setsVMs: isTrue()}
		b.request.SrcPort = pick(r, 80, 443)
		b.request.Stack = pick(r, "", "", cloudapi.LoadBalancerStackIPv4)
		if b.setsVMs {
			n := r.IntN(len(free) + 1)
			b.had, b.vms, free = free[:r.IntN(n+1)], free[r.IntN(n+1):n], free[n:] // each VM is in one load balancer
		}
		e.balancers = append(e.balancers, b)
	}
	return e
}

func (e *environment) rules(subnets int) []wantedRule {
	rules := []wantedRule{}
	for range e.random.IntN(4) {
		rule := wantedRule{subnet: e.random.IntN(subnets), from: pick(e.random, "ID", "Net4", "Net6", "0.0.0.0/0", "::/0", "10.0.0.0/8", "2001:db8::/32")}
		rule.request.PortRange = pick(e.random, "", "22", "80..90")
		if e.isService {
			rule.request.Protocol = pick(e.random, "", cloudapi.FirewallRuleProtocolUDP)
			rule.request.Description = pick(e.random, "", "office")
		}
		rules = append(rules, rule)
	}
	return rules
}

// carriedOut is an environment that is being planned or provisioned.
type carriedOut struct {
	*environment
	ctx    context.Context
	client *cloudapi.Client
	known  []string // IDs and ranges, which only the server chooses, each before its name
	did    []string // what each step did, or would do

	firewallIDs, vmIDs []string
	nets               []*cloudapi.PrivateSubnet
}

// call records a result. Errors are compared by their differences, or else by
// their kind: the texts have IDs.
func (c *carriedOut) call(step string, result any, err error) {
	kind := ""
	if drift, ok := errors.AsType[*cloudapi.DriftError](err); ok {
		result = fmt.Sprintf("differs: %+v", drift.Fields)
	} else if err != nil {
		kind = "unknown error " + err.Error()
		for _, target := range []error{cloudapi.ErrInvalidArgument, cloudapi.ErrNotFound, cloudapi.ErrForbidden, cloudapi.ErrAlreadyExists, cloudapi.ErrInvalidRequest} {
			if errors.Is(err, target) {
				kind = target.Error()
				break
			}
		}
	}
	c.did = append(c.did, fmt.Sprintf("%s: %v, %s", step, result, kind))
}

// means makes later results show a name in place of a value.
func (c *carriedOut) means(value, name string) { c.known = append(c.known, value, name) }

// named replaces the values in a text by their names, so that texts can be
// sorted.
func (c *carriedOut) named(text string) string { return strings.NewReplacer(c.known...).Replace(text) }

func (c *carriedOut) results() []string {
	names := strings.NewReplacer(c.known...)
	results := make([]string, len(c.did))
	for i, text := range c.did {
		results[i] = names.Replace(text)
	}
	return results
}

// ensured records the result of an Ensure, and returns the record of the
// resource, even if it differs.
func ensured[T any](c *carriedOut, record *T, outcome cloudapi.EnsureOutcome, err error) *T {
	if drift, ok := errors.AsType[*cloudapi.DriftError](err); ok {
		record = any(drift.Record).(*T)
	}
	if record == nil {
		c.call("Ensure", "", err)
		return new(T)
	}
	r := any(record).(interface{ Resource() cloudapi.Resource }).Resource()
	c.means(r.ID, r.Name)
	c.call("Ensure "+r.Name, outcome, err)
	return record
}

// set records the changes of a set.
func set[T any](c *carriedOut, step string, changes *cloudapi.SetChanges[T], err error) {
	if changes == nil {
		c.call(step, "", err)
		return
	}
	text := func(elements []*T) (texts []string) {
		for _, element := range elements {
			switch e := any(element).(type) {
			case *cloudapi.FirewallRule:
				ports, _ := cloudapi.ParsePortRange(e.PortRange)
				texts = append(texts, fmt.Sprintf("%v from %s %s %q", ports, e.CIDR, strings.TrimPrefix(e.Protocol, "tcp"), e.Description))
			case *cloudapi.PostgresFirewallRule:
				texts = append(texts, fmt.Sprintf("from %s %q", e.CIDR, e.Description))
			case interface{ Resource() cloudapi.Resource }:
				texts = append(texts, e.Resource().ID)
			}
		}
		return texts
	}
	c.call(step, fmt.Sprintf("kept %q, added %q, modified %q, removed %q", text(changes.Kept), text(changes.Added), text(changes.Modified), text(changes.Removed)), err)
}

func (c *carriedOut) firewallRules(rules []wantedRule) []cloudapi.FirewallRuleCreateRequest {
	requests := []cloudapi.FirewallRuleCreateRequest{}
	for _, rule := range rules {
		net := c.nets[rule.subnet]
		request := rule.request
		switch rule.from {
		case "ID":
			request.CIDR = net.ID
		case "Net4":
			request.CIDR = net.Net4
		case "Net6":
			request.CIDR = net.Net6
		default:
			request.CIDR = rule.from
		}
		requests = append(requests, request)
	}
	return requests
}

// carryOut plans the environment, or provisions it. There is no branch for what
// doesn't exist yet.
func (c *carriedOut) carryOut() {
	const location = sdktest.Somewhere
	ctx, client := c.ctx, c.client
	opts := func(update bool) *cloudapi.EnsureOptions { return &cloudapi.EnsureOptions{Update: update} }
	for i, f := range c.firewalls {
		record, outcome, err := client.Firewalls.Ensure(ctx, location, fmt.Sprintf("fw-%d", i), &f.request, opts(f.update))
		c.firewallIDs = append(c.firewallIDs, ensured(c, record, outcome, err).ID)
	}
	for i, s := range c.subnets {
		request := &cloudapi.PrivateSubnetCreateRequest{}
		if s.firewall != none {
			request.FirewallID = c.firewallIDs[s.firewall]
		}
		record, outcome, err := client.PrivateSubnets.Ensure(ctx, location, fmt.Sprintf("net-%d", i), request, opts(s.update))
		net := ensured(c, record, outcome, err)
		c.means(net.Net4, fmt.Sprintf("net-%d.net4", i))
		c.means(net.Net6, fmt.Sprintf("net-%d.net6", i))
		for _, f := range net.Firewalls {
			c.means(f.ID, f.Name)
		}
		c.nets = append(c.nets, net)
	}
	for i, f := range c.firewalls {
		if f.rules != nil {
			changes, err := client.Firewalls.SetRules(ctx, location, c.firewallIDs[i], c.firewallRules(f.rules))
			set(c, "SetRules", changes, err)
		}
	}
	for i, s := range c.subnets {
		if s.attached == nil {
			continue
		}
		ids := []string{}
		for _, f := range s.attached {
			ids = append(ids, c.firewallIDs[f])
		}
		if s.keepFirst {
			ids = append(ids, c.nets[i].Firewalls[0].ID)
		}
		changes, err := client.PrivateSubnets.SetFirewalls(ctx, location, c.nets[i].ID, ids)
		set(c, "SetFirewalls", changes, err)
	}
	for i, d := range c.databases {
		record, outcome, err := client.Postgres.Ensure(ctx, location, fmt.Sprintf("db-%d", i), &d.request, opts(d.update))
		db := ensured(c, record, outcome, err)
		if d.setsRules {
			rules := []cloudapi.PostgresFirewallRuleCreateRequest{}
			for _, rule := range c.firewallRules(d.rules) {
				rules = append(rules, cloudapi.PostgresFirewallRuleCreateRequest{CIDR: rule.CIDR, Description: rule.Description})
			}
			changes, err := client.Postgres.SetFirewallRules(ctx, location, db.ID, rules)
			set(c, "SetFirewallRules", changes, err)
		}
		if d.window {
			db, err := client.Postgres.SetMaintenanceWindow(ctx, location, db.ID, &cloudapi.PostgresMaintenanceWindowRequest{StartAt: new(3)})
			if err == nil {
				c.call("SetMaintenanceWindow", *db.MaintenanceWindowStartAt, nil)
			} else {
				c.call("SetMaintenanceWindow", "", err)
			}
		}
	}
	for i, v := range c.vms {
		if v.subnet != none {
			v.request.PrivateSubnetID = c.nets[v.subnet].ID
		}
		record, outcome, err := client.VMs.Ensure(ctx, location, fmt.Sprintf("vm-%d", i), &v.request, opts(false))
		c.vmIDs = append(c.vmIDs, ensured(c, record, outcome, err).ID)
	}
	if len(c.vms) > 0 { // another VM replaces the first one
		name := location + "/old"
		r, err := client.DeleteExisting(ctx, name, cloudapi.KindVM)
		if r != nil {
			r.ID = ""
		}
		c.call("DeleteExisting", r, err)
		c.call("WaitDeleted", "", client.VMs.WaitDeleted(ctx, location, "old", nil))
		_, err = client.VMs.Get(ctx, location, "old")
		c.call("Get", "", err)
		_, err = client.Resolve(ctx, name)
		c.call("Resolve", "", err)
	}
	for i, b := range c.balancers {
		b.request.PrivateSubnetID = c.nets[b.subnet].ID
		record, outcome, err := client.LoadBalancers.Ensure(ctx, location, fmt.Sprintf("lb-%d", i), &b.request, opts(b.update))
		lb := ensured(c, record, outcome, err)
		if b.setsVMs {
			ids := []string{}
			for _, vm := range b.vms {
				ids = append(ids, c.vmIDs[vm])
			}
			changes, err := client.LoadBalancers.SetVMs(ctx, location, lb.ID, ids)
			set(c, "SetVMs", changes, err)
		}
	}
}

// look records what the client then sees.
func (c *carriedOut) look() {
	const location = sdktest.Somewhere
	ctx, client := c.ctx, c.client
	isOwn := func(name string) bool {
		return slices.ContainsFunc([]string{"fw-", "net-", "vm-", "lb-", "db-", "old"}, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	var resources []cloudapi.Resource
	for r, err := range client.Resources(ctx, &cloudapi.ListOptions{Location: location}) {
		if err != nil {
			c.call("Resources", "", err)
			return
		}
		if isOwn(r.Name) {
			resources = append(resources, r)
		}
	}
	slices.SortFunc(resources, func(a, b cloudapi.Resource) int { return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name) })
	for _, r := range resources {
		c.means(r.ID, r.Name)
	}
	var balancers []string
	for _, r := range resources {
		record, err := client.Fetch(ctx, r)
		if r.Kind == cloudapi.KindLoadBalancer { // two subnets can have one of the name
			balancers = append(balancers, c.named(c.shown(record)))
			continue
		}
		c.call("Fetch", c.shown(record), err)
		found, err := client.Resolve(ctx, location+"/"+r.Name, r.Kind)
		if err == nil && found.ID == r.ID {
			found = nil
		}
		c.call("Resolve", found, err)
		switch r.Kind {
		case cloudapi.KindVM:
			record, err := client.VMs.WaitRunning(ctx, location, r.Name, nil)
			c.call("WaitRunning", c.shown(record), err)
		case cloudapi.KindPostgres:
			record, err := client.Postgres.WaitResized(ctx, location, r.Name, nil)
			c.call("WaitResized", c.shown(record), err)
			rules, err := cloudapi.Collect(client.Postgres.AllFirewallRules(ctx, location, r.ID, nil))
			c.call("AllFirewallRules", c.databaseRules(rules), err)
		case cloudapi.KindFirewall:
			for _, rule := range record.(*cloudapi.Firewall).FirewallRules {
				got, err := client.Firewalls.GetRule(ctx, location, r.ID, rule.ID)
				if err != nil || got.CIDR != rule.CIDR {
					c.call("GetRule", got, err)
				}
			}
		}
	}
	slices.Sort(balancers)
	c.call("load balancers", balancers, nil)
	page, err := client.VMs.List(ctx, &cloudapi.ListOptions{Location: location})
	if err != nil {
		c.call("List", "", err)
		return
	}
	var names []string
	for _, vm := range page.Items {
		names = append(names, vm.Name)
	}
	slices.Sort(names)
	c.call("List", fmt.Sprint(names, *page.Count), nil)
}

func (c *carriedOut) databaseRules(rules []*cloudapi.PostgresFirewallRule) []string {
	texts := []string{}
	for _, r := range rules {
		texts = append(texts, c.named(r.CIDR+" "+r.Description))
	}
	slices.Sort(texts)
	return slices.Compact(texts) // the service has two rules for a range
}

// shown is what a program can rely on in a record, whether it exists or is
// planned.
func (c *carriedOut) shown(record any) string {
	names := func(list []cloudapi.Firewall) (names []string) {
		for _, f := range list {
			names = append(names, fmt.Sprint(f.Name, c.named(f.ID), c.rulesOf(f.FirewallRules)))
		}
		slices.Sort(names)
		return names
	}
	switch r := record.(type) {
	case *cloudapi.VM:
		if strings.HasPrefix(r.Subnet, "default-") {
			r.Firewalls = nil // a plan doesn't know the default subnet
		}
		return fmt.Sprint(r.Name, r.ID, r.Location, r.Size, r.IPv4Enabled, r.Subnet, names(r.Firewalls))
	case *cloudapi.Firewall:
		var subnets []string
		for _, s := range r.PrivateSubnets {
			subnets = append(subnets, c.named(s.ID))
		}
		slices.Sort(subnets)
		return fmt.Sprint(r.Name, r.ID, r.Description, c.rulesOf(r.FirewallRules), subnets)
	case *cloudapi.PrivateSubnet:
		return fmt.Sprint(r.Name, r.ID, r.Net4, r.Net6, names(r.Firewalls))
	case *cloudapi.LoadBalancer:
		vms := slices.Sorted(slices.Values(r.VMs))
		return fmt.Sprint(r.Name, r.ID, r.Algorithm, r.SrcPort, r.Stack, r.HealthCheckEndpoint, r.CertEnabled, r.Subnet, len(vms))
	case *cloudapi.Postgres:
		var list []*cloudapi.PostgresFirewallRule
		for i := range r.FirewallRules {
			list = append(list, &r.FirewallRules[i])
		}
		return fmt.Sprint(r.Name, r.ID, r.TargetVMSize, r.TargetStorageSizeGiB, r.HAType, c.databaseRules(list))
	}
	return fmt.Sprintf("%v", record)
}

func (c *carriedOut) rulesOf(list []cloudapi.FirewallRule) (texts []string) {
	for _, r := range list {
		ports, _ := cloudapi.ParsePortRange(r.PortRange)
		texts = append(texts, c.named(fmt.Sprintf("%v from %s %s %q", ports, r.CIDR, strings.TrimPrefix(r.Protocol, "tcp"), r.Description)))
	}
	slices.Sort(texts)
	return texts
}

// isStable reports whether a second run has nothing to do: no step takes back
// what another one does.
func (e *environment) isStable() bool {
	if !e.isService && slices.ContainsFunc(e.firewalls, func(f wantedFirewall) bool { return f.update }) {
		return false // the contract has no such update, and Ensure tries again
	}
	for _, s := range e.subnets {
		if s.update && s.firewall != none && s.attached != nil && (s.keepFirst || !slices.Equal(s.attached, []int{s.firewall})) {
			return false
		}
		if s.attached != nil && s.keepFirst { // which one is first depends on the run
			return false
		}
	}
	return !slices.ContainsFunc(e.databases, func(d wantedDatabase) bool {
		return d.update && d.request.RestrictByDefault != nil && *d.request.RestrictByDefault && slices.ContainsFunc(d.rules, func(r wantedRule) bool { return strings.HasSuffix(r.from, "/0") })
	})
}

// begin creates what exists of the environment.
func (e *environment) begin(t *testing.T, client *cloudapi.Client) {
	t.Helper()
	const location = sdktest.Somewhere
	ctx := t.Context()
	stub.Must(client.VMs.Create(ctx, location, "old", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
	firewallIDs, subnetIDs, vmIDs := map[int]string{}, map[int]string{}, map[int]string{}
	for i, f := range e.firewalls {
		if f.exists {
			firewall := stub.Must(client.Firewalls.Create(ctx, location, fmt.Sprintf("fw-%d", i), &cloudapi.FirewallCreateRequest{Description: "web"}))(t)
			firewallIDs[i] = firewall.ID
			for _, cidr := range []string{"10.0.0.0/8", "192.0.2.0/24"} {
				stub.Must(client.Firewalls.CreateRule(ctx, location, firewall.ID, &cloudapi.FirewallRuleCreateRequest{CIDR: cidr, PortRange: "22"}))(t)
			}
		}
	}
	for i, s := range e.subnets {
		if s.exists {
			request := &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewallIDs[s.had]}
			subnetIDs[i] = stub.Must(client.PrivateSubnets.Create(ctx, location, fmt.Sprintf("net-%d", i), request))(t).ID
		}
	}
	for i, d := range e.databases {
		if d.exists {
			request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, RestrictByDefault: &d.restricted}
			db := stub.Must(client.Postgres.Create(ctx, location, fmt.Sprintf("db-%d", i), request))(t)
			stub.Must(client.Postgres.WaitRunning(ctx, location, db.ID, nil))(t)
		}
	}
	for i, v := range e.vms {
		if v.exists {
			request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "burstable-1", EnableIPv4: new(true), PrivateSubnetID: subnetIDs[v.had]}
			vmIDs[i] = stub.Must(client.VMs.Create(ctx, location, fmt.Sprintf("vm-%d", i), request))(t).ID
		}
	}
	for i, b := range e.balancers {
		if b.exists && subnetIDs[b.in] != "" {
			lb := stub.Must(client.LoadBalancers.Create(ctx, location, fmt.Sprintf("lb-%d", i), sdktest.BalancerIn(subnetIDs[b.in])))(t)
			for _, vm := range b.had {
				if vmIDs[vm] != "" && b.in == b.subnet { // the other load balancer would keep them
					stub.Must(client.LoadBalancers.AttachVM(ctx, location, lb.ID, vmIDs[vm]))(t)
				}
			}
		}
	}
}

// compare fails unless two clients were told the same.
func compare(t *testing.T, seed uint64, plan, run *carriedOut) int {
	t.Helper()
	want, got := plan.results(), run.results()
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("environment %d, step %d: the plan has\n%s\nand the run\n%s", seed, i, strings.Join(want[min(i, len(want)):min(i+3, len(want))], "\n"), strings.Join(got[min(i, len(got)):min(i+3, len(got))], "\n"))
		}
	}
	return len(want)
}

// TestPlanIsWhatARunDoes plans random environments, of which a part exists, and
// then provisions them: each step does what the plan says, and both clients then
// see the same. A second run does what a second plan says: nothing, if no step
// takes back what another one does.
func TestPlanIsWhatARunDoes(t *testing.T) {
	t.Parallel()
	environments := uint64(300)
	if testing.Short() {
		environments = 10
	}
	steps, changes, stable := 0, 0, 0
	for seed := range environments {
		synctest.Test(t, func(t *testing.T) {
			e := newEnvironment(seed)
			api := cloudapitest.Contract
			if e.isService {
				api = cloudapitest.Service
			}
			srv := cloudapitest.NewServer(cloudapitest.WithAPI(api), cloudapitest.WithLog(io.Discard), cloudapitest.WithQuota(cloudapitest.Quota{VM: 100, Postgres: 100}))
			defer srv.Close()
			client := srv.Client()
			e.begin(t, client)
			for turn := range 2 {
				before := sdktest.Changes(srv)
				plan := cloudapi.NewPlan(client)
				planned := &carriedOut{environment: e, ctx: t.Context(), client: plan.Client()}
				planned.carryOut()
				planned.look()
				if n := sdktest.Changes(srv) - before; n != 0 {
					t.Errorf("environment %d: the plan sends %d requests that change something", seed, n)
				}
				run := &carriedOut{environment: e, ctx: t.Context(), client: client}
				run.carryOut()
				changed := sdktest.Changes(srv) - before
				run.look()
				steps += compare(t, seed, planned, run)
				changes += len(plan.Changes())
				calls := 0
				for _, change := range plan.Changes() {
					if change.Action == cloudapi.PlannedCall {
						calls++
					}
				}
				if turn == 1 && e.isStable() {
					stable++
					if calls != len(plan.Changes()) || changed != calls {
						t.Errorf("environment %d: a second run sends %d changes, and its plan is\n%v", seed, changed, plan)
					}
				}
			}
		})
	}
	if uint64(steps) < 20*environments || uint64(changes) < 4*environments || uint64(stable) < environments/4 {
		t.Errorf("only %d steps with %d planned changes were compared, %d environments are stable", steps, changes, stable)
	}
}
