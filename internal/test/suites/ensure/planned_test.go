package ensure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
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

// newEnvironment returns a random environment. It has no changes that a dry run
// can't know: those that an earlier step makes to an existing resource.
func newEnvironment(seed uint64) *environment {
	r := rand.New(rand.NewPCG(seed, 0))
	e := &environment{random: r, isService: seed%2 == 0}
	isTrue := func() bool { return r.IntN(2) == 0 }
	firewalls, subnets, vms := 1+r.IntN(3), 1+r.IntN(2), r.IntN(4)
	for range firewalls {
		f := wantedFirewall{exists: isTrue(), update: e.isService && isTrue()} // with the contract, nothing can be updated
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
		s.update = s.attached == nil && isTrue()
		e.subnets = append(e.subnets, s)
	}
	for range r.IntN(3) {
		d := wantedDatabase{exists: isTrue(), restricted: isTrue(), setsRules: isTrue()}
		d.request = cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: pick(r, 64, 128), RestrictByDefault: pick(r, nil, new(true), new(false))}
		if d.setsRules {
			d.rules = slices.DeleteFunc(e.rules(subnets), func(rule wantedRule) bool { return rule.from == "ID" })
		}
		d.update = !d.setsRules && isTrue()
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
	dry    bool
	known  []string // IDs and ranges, which only the server chooses, each before its name
	did    []string // what each step did, or would do

	firewallIDs, vmIDs []string
	nets               []*cloudapi.PrivateSubnet
}

// call records a result. Errors are compared by their differences, or else by
// their kind: the texts have IDs.
func (c *carriedOut) call(step string, result any, err error) {
	if drift, ok := errors.AsType[*cloudapi.DriftError](err); ok {
		err = nil
		result = fmt.Sprintf("differs: %+v", drift.Fields)
	}
	c.did = append(c.did, fmt.Sprintf("%s: %v, %v", step, result, err))
}

// means makes later results show a name in place of a value.
func (c *carriedOut) means(value, name string) { c.known = append(c.known, value, name) }

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
	opts := func(update bool) *cloudapi.EnsureOptions {
		return &cloudapi.EnsureOptions{DryRun: c.dry, Update: update}
	}
	setOpts := &cloudapi.SetOptions{DryRun: c.dry}
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
			c.means(f.ID, fmt.Sprintf("first of net-%d", i))
		}
		c.nets = append(c.nets, net)
	}
	for i, f := range c.firewalls {
		if f.rules != nil {
			changes, err := client.Firewalls.SetRules(ctx, location, c.firewallIDs[i], c.firewallRules(f.rules), setOpts)
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
		changes, err := client.PrivateSubnets.SetFirewalls(ctx, location, c.nets[i].ID, ids, setOpts)
		if err == nil {
			// Of a planned subnet, the plan knows only that it removes the first.
			for _, f := range changes.Removed {
				if f.ID == c.nets[i].Firewalls[0].ID || cloudapi.IsPlanned(f.ID) && !slices.Contains(c.known, f.ID) {
					f.ID = "the first"
				}
			}
		}
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
			changes, err := client.Postgres.SetFirewallRules(ctx, location, db.ID, rules, setOpts)
			set(c, "SetFirewallRules", changes, err)
		}
	}
	for i, v := range c.vms {
		if v.subnet != none {
			v.request.PrivateSubnetID = c.nets[v.subnet].ID
		}
		record, outcome, err := client.VMs.Ensure(ctx, location, fmt.Sprintf("vm-%d", i), &v.request, opts(false))
		c.vmIDs = append(c.vmIDs, ensured(c, record, outcome, err).ID)
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
			changes, err := client.LoadBalancers.SetVMs(ctx, location, lb.ID, ids, setOpts)
			set(c, "SetVMs", changes, err)
		}
	}
}

// begin creates what exists of the environment.
func (e *environment) begin(t *testing.T, client *cloudapi.Client) {
	t.Helper()
	const location = sdktest.Somewhere
	ctx := t.Context()
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

// TestPlanIsWhatARunDoes plans random environments, of which a part exists, and
// then provisions them: each step does what the plan says. A plan changes
// nothing.
func TestPlanIsWhatARunDoes(t *testing.T) {
	t.Parallel()
	steps, planned := 0, 0
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			e := newEnvironment(seed)
			api := cloudapitest.Contract
			if e.isService {
				api = cloudapitest.Service
			}
			srv := cloudapitest.New(t, cloudapitest.WithAPI(api), cloudapitest.WithQuota(cloudapitest.Quota{VM: 100, Postgres: 100}))
			client := srv.Client()
			e.begin(t, client)
			before := sdktest.Changes(srv)
			plan := carriedOut{environment: e, ctx: t.Context(), client: client, dry: true}
			plan.carryOut()
			if n := sdktest.Changes(srv) - before; n != 0 {
				t.Errorf("environment %d: the plan sends %d requests that change something", seed, n)
			}
			run := carriedOut{environment: e, ctx: t.Context(), client: client}
			run.carryOut()
			want, got := plan.results(), run.results()
			for i := range max(len(want), len(got)) {
				if i >= len(want) || i >= len(got) || want[i] != got[i] {
					t.Fatalf("environment %d, step %d: the plan has\n%s\nand the run\n%s", seed, i, strings.Join(want[min(i, len(want)):], "\n"), strings.Join(got[min(i, len(got)):], "\n"))
				}
			}
			steps += len(want)
			for _, id := range plan.known {
				if cloudapi.IsPlanned(id) {
					planned++
				}
			}
		})
	}
	if steps < 2000 || planned < 1000 {
		t.Errorf("only %d steps with %d planned IDs were compared", steps, planned)
	}
}

// plannedID returns the ID of a resource that a dry run would create.
func plannedID(kind cloudapi.Kind) string {
	return ubid.Planned(string(kind), sdktest.Somewhere, "planned", "")
}

// TestPlannedIDIsRefused: no call but a dry run accepts a planned ID, in an
// argument or in a field of a request, and none sends a request with it.
func TestPlannedIDIsRefused(t *testing.T) {
	t.Parallel()
	client, ctx := sdktest.SendingNothing(t), t.Context()
	refused := 0
	refuses := func(what string, err error) {
		t.Helper()
		refused++
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || !strings.Contains(e.Reason, "is only planned: a dry run returned this ID") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// ids are planned IDs of the kind that an argument accepts, and of another.
	ids := func(kind cloudapi.Kind) []string {
		if kind == "" {
			kind = cloudapi.KindVM
		}
		return []string{plannedID(kind), plannedID(cloudapi.KindSSHPublicKey)}
	}
	for _, m := range sdktest.Methods(t) {
		for i, arg := range m.Args {
			if arg.Type() == reflect.TypeFor[*cloudapi.SetOptions]() {
				m.Args[i] = reflect.ValueOf(&cloudapi.SetOptions{}) // not a dry run
			}
		}
		for _, arg := range m.Strings {
			for _, id := range ids(arg.Kind) {
				_, err := m.Call(ctx, client, m.With(arg.Index, id))
				refuses(fmt.Sprintf("%s with %s in place of argument %d", m.Name, id, arg.Index), err)
			}
		}
		for i, arg := range m.Args {
			if arg.Kind() != reflect.Pointer || arg.Elem().Kind() != reflect.Struct || !strings.HasSuffix(arg.Type().Elem().Name(), "Request") {
				continue
			}
			for field := range arg.Type().Elem().Fields() {
				request := reflect.New(arg.Type().Elem())
				request.Elem().Set(arg.Elem())
				switch v := request.Elem().FieldByIndex(field.Index); v.Interface().(type) {
				case string:
					v.SetString(ids(cloudapi.Kind(field.Tag.Get("id")))[0])
				case []string:
					v.Set(reflect.ValueOf(ids(cloudapi.Kind(field.Tag.Get("id")))))
				default:
					continue
				}
				if field.Tag.Get("json") == "-" { // InitScriptText can't be combined with the field that has this name
					request.Elem().FieldByName("InitScript").SetZero()
					request.Elem().FieldByName("InitScriptArgs").SetZero()
				}
				_, err := m.Call(ctx, client, m.With(i, request.Interface()))
				refuses(m.Name+" with "+field.Name, err)
			}
		}
	}
	vm := cloudapi.Resource{Kind: cloudapi.KindVM, ID: plannedID(cloudapi.KindVM), Location: sdktest.Somewhere, Name: "web-1"}
	own := cloudapi.Resource{Kind: cloudapi.KindPrivateLocation, ID: plannedID(cloudapi.KindPrivateLocation), Name: "own"}
	rule := cloudapi.Resource{Kind: cloudapi.KindFirewallRule, ID: cloudapitest.NewID(cloudapi.KindFirewallRule).String(),
		Parent: &cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: plannedID(cloudapi.KindFirewall), Location: sdktest.Somewhere}}
	for _, r := range []cloudapi.Resource{vm, own} {
		refuses("Delete", client.Delete(ctx, r))
		refuses("WaitDeleted", client.WaitDeleted(ctx, r, nil))
		_, err := client.Fetch(ctx, r)
		refuses("Fetch", err)
		for _, reference := range []string{r.ID, sdktest.Somewhere + "/" + r.ID} {
			_, err = client.Resolve(ctx, reference)
			refuses("Resolve", err)
			_, err = client.DeleteExisting(ctx, reference)
			refuses("DeleteExisting", err)
		}
	}
	_, err := client.Fetch(ctx, rule)
	refuses("Fetch of a rule", err)
	_, err = cloudapi.Fetch[cloudapi.VM](ctx, client, vm)
	refuses("the function Fetch", err)
	_, err = cloudapi.Lookup[cloudapi.VM](ctx, client, vm.ID)
	refuses("Lookup", err)
	_, err = cloudapi.ParseID(vm.ID)
	refuses("ParseID", err)
	refuses("Do", client.Do(ctx, "GET", []string{"project", "p", "vm", vm.ID}, nil, nil, nil))
	refuses("Do with a query", client.Do(ctx, "GET", []string{"project"}, url.Values{"vm": {vm.ID}}, nil, nil))
	refuses("Do with a body", client.Do(ctx, "POST", []string{"project"}, nil, map[string]any{"vms": []cloudapi.ID{cloudapi.ID(vm.ID)}}, nil))
	_, err = client.AuditLog.List(ctx, &cloudapi.AuditLogOptions{Object: vm.ID})
	refuses("AuditLog.List", err)
	for _, err := range client.AuditLog.Follow(ctx, &cloudapi.AuditLogOptions{Object: vm.ID}, nil) {
		refuses("AuditLog.Follow", err)
	}
	_, err = client.VMs.List(ctx, &cloudapi.ListOptions{StartAfter: vm.ID})
	refuses("List", err)
	_, err = client.Firewalls.CreateRule(ctx, sdktest.Somewhere, "fw", &cloudapi.FirewallRuleCreateRequest{CIDR: plannedID(cloudapi.KindPrivateSubnet) + ".net4"})
	refuses("CreateRule", err)
	for _, err := range client.VMs.Watch(ctx, nil, &cloudapi.VM{ID: vm.ID, Location: vm.Location}) {
		refuses("Watch", err)
	}
	_, err = client.LoadBalancers.WaitVMDetached(ctx, sdktest.Somewhere, "lb", vm.ID, nil)
	refuses("WaitVMDetached", err)
	_, err = client.LoadBalancers.GetInSubnet(ctx, sdktest.Somewhere, plannedID(cloudapi.KindPrivateSubnet), "lb")
	refuses("GetInSubnet", err)
	_, err = client.PrivateSubnets.SetFirewalls(ctx, sdktest.Somewhere, "net", []string{plannedID(cloudapi.KindFirewall)}, nil)
	refuses("SetFirewalls", err)
	_, err = client.LoadBalancers.SetVMs(ctx, sdktest.Somewhere, "lb", []string{vm.ID}, nil)
	refuses("SetVMs", err)
	for _, cidr := range []string{plannedID(cloudapi.KindPrivateSubnet), plannedID(cloudapi.KindPrivateSubnet) + ".net4"} {
		_, err = client.Firewalls.SetRules(ctx, sdktest.Somewhere, "fw", []cloudapi.FirewallRuleCreateRequest{{CIDR: cidr}}, nil)
		refuses("SetRules", err)
	}
	for service := range reflect.TypeFor[cloudapi.Client]().Fields() {
		ensure, ok := service.Type.MethodByName("Ensure")
		if !ok {
			continue
		}
		requestType := ensure.Type.In(ensure.Type.NumIn() - 2).Elem()
		for field := range requestType.Fields() {
			if _, isID := field.Tag.Lookup("id"); !isID && field.Name != "InitScript" {
				continue
			}
			request := sdktest.Fill(requestType, "x")
			request.FieldByIndex(field.Index).SetString(plannedID(cloudapi.Kind(field.Tag.Get("id") + "1n")[:2]))
			_, err := sdktest.Do(service.Name+".Ensure", sdktest.Somewhere, "x-1", request.Addr().Interface()).On(ctx, client)
			refuses(service.Name+".Ensure with "+field.Name, err)
		}
	}
	if refused < 600 {
		t.Errorf("only %d calls were tested", refused)
	}
}

// TestDryRunsRefuse: in a dry run, a planned ID is only that of a resource of
// the kind in the location.
func TestDryRunsRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx, dry, setDry := srv.Client(), t.Context(), &cloudapi.EnsureOptions{DryRun: true}, &cloudapi.SetOptions{DryRun: true}
		const location = sdktest.Somewhere
		there := stub.Must(client.PrivateSubnets.Create(ctx, location, "there", nil))(t)
		planned := func(location, name string) (firewallID, subnetID, vmID string) {
			firewall, _, err := client.Firewalls.Ensure(ctx, location, name, nil, dry)
			if err != nil {
				t.Fatal(err)
			}
			subnet, _, err := client.PrivateSubnets.Ensure(ctx, location, name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}, dry)
			if err != nil {
				t.Fatal(err)
			}
			vm, _, err := client.VMs.Ensure(ctx, location, name, &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID}, dry)
			if err != nil {
				t.Fatal(err)
			}
			return firewall.ID, subnet.ID, vm.ID
		}
		firewallID, subnetID, vmID := planned(location, "a")
		if again, _, _ := planned(location, "a"); again != firewallID {
			t.Errorf("the same firewall has the planned IDs %s and %s", firewallID, again)
		}
		if other, _, _ := planned(location, "b"); other == firewallID {
			t.Errorf("two firewalls have the planned ID %s", other)
		}
		farFirewallID, farSubnetID, farVMID := planned(sdktest.Elsewhere, "a")
		if farFirewallID == firewallID {
			t.Errorf("firewalls in two locations have the planned ID %s", firewallID)
		}
		rules := func(cidr string) []cloudapi.FirewallRuleCreateRequest {
			return []cloudapi.FirewallRuleCreateRequest{{CIDR: cidr}}
		}
		for what, ids := range map[string][3]string{
			"is the ID of another kind":                          {vmID, vmID, subnetID},
			"is the ID of a resource that is planned in another": {farFirewallID, farSubnetID, farVMID},
		} {
			_, errRules := client.Firewalls.SetRules(ctx, location, ids[0], rules("10.0.0.0/8"), setDry)
			_, errSource := client.Firewalls.SetRules(ctx, location, firewallID, rules(ids[1]), setDry)
			_, errRange := client.Firewalls.SetRules(ctx, location, firewallID, rules(ids[1]+".net6"), setDry)
			_, errFirewalls := client.PrivateSubnets.SetFirewalls(ctx, location, ids[1], []string{}, setDry)
			_, errFirewall := client.PrivateSubnets.SetFirewalls(ctx, location, there.ID, []string{ids[0]}, setDry)
			_, errVM := client.LoadBalancers.SetVMs(ctx, location, "lb", []string{ids[2]}, setDry)
			_, _, errNet := client.PrivateSubnets.Ensure(ctx, location, "net", &cloudapi.PrivateSubnetCreateRequest{FirewallID: ids[0]}, dry)
			_, _, errBalancer := client.LoadBalancers.Ensure(ctx, location, "lb", sdktest.BalancerIn(ids[1]), dry)
			for i, err := range []error{errRules, errSource, errRange, errFirewalls, errFirewall, errVM, errNet, errBalancer} {
				if !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(err.Error(), what) {
					t.Errorf("call %d with %s: %v", i, ids, err)
				}
			}
		}
		if _, err := client.Firewalls.SetRules(ctx, location, firewallID, rules(subnetID+".net5"), setDry); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("another range of a planned subnet: %v", err)
		}
		// What an earlier dry run planned has no name yet.
		_, errName := client.Firewalls.SetRules(ctx, location, "a", rules("10.0.0.0/8"), setDry)
		if !errors.Is(errName, cloudapi.ErrNotFound) {
			t.Errorf("by name: %v", errName)
		}
		// The rules of a firewall that the server creates depend on the server.
		open := stub.Must(client.PrivateSubnets.SetFirewalls(ctx, location, subnetID, []string{}, setDry))(t).Removed
		if _, err := client.Firewalls.SetRules(ctx, location, open[0].ID, rules("10.0.0.0/8"), setDry); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("the rules of the firewall that the server would create: %v", err)
		}
		// Two subnets can have load balancers with one name.
		_, otherID, _ := planned(location, "b")
		one := stub.Must(ensuredBalancer(client, subnetID, dry))(t)
		if other := stub.Must(ensuredBalancer(client, otherID, dry))(t); one.ID == other.ID || stub.Must(ensuredBalancer(client, subnetID, dry))(t).ID != one.ID {
			t.Errorf("load balancers in two subnets have the planned IDs %s and %s", one.ID, other.ID)
		}
		if n := sdktest.Changes(srv); n != 1 {
			t.Errorf("%d requests change something", n)
		}
	})
}

func ensuredBalancer(client *cloudapi.Client, subnetID string, opts *cloudapi.EnsureOptions) (*cloudapi.LoadBalancer, error) {
	record, _, err := client.LoadBalancers.Ensure(context.Background(), sdktest.Somewhere, "web", sdktest.BalancerIn(subnetID), opts)
	return record, err
}

// TestDryRunsLookUpIDs: what a request refers to must be in the location, as for
// the real call.
func TestDryRunsLookUpIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		const location = sdktest.Somewhere
		near := stub.Must(client.Firewalls.Create(ctx, location, "edge", nil))(t)
		far := stub.Must(client.Firewalls.Create(ctx, sdktest.Elsewhere, "edge", nil))(t)
		farNet := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Elsewhere, "net", nil))(t)
		stub.Must(client.PrivateSubnets.Create(ctx, location, "there", nil))(t)
		before := sdktest.Changes(srv)
		for _, test := range []struct {
			subnet, firewallID string
			isThere            bool
		}{
			{"new", near.ID, true}, {"new", far.ID, false}, {"new", cloudapitest.NewID(cloudapi.KindFirewall).String(), false},
			{"there", near.ID, true}, {"there", far.ID, false},
		} {
			request := &cloudapi.PrivateSubnetCreateRequest{FirewallID: test.firewallID}
			_, outcome, err := client.PrivateSubnets.Ensure(ctx, location, test.subnet, request, &cloudapi.EnsureOptions{DryRun: true, Update: true})
			if test.isThere != (err == nil) || err != nil && (outcome != "" || !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(err.Error(), "firewall_id")) {
				t.Errorf("%+v: %q, %v", test, outcome, err)
			}
		}
		for _, id := range []string{farNet.ID, cloudapitest.NewID(cloudapi.KindPrivateSubnet).String()} {
			request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: id}
			if _, outcome, err := client.VMs.Ensure(ctx, location, "vm", request, &cloudapi.EnsureOptions{DryRun: true}); outcome != "" || !errors.Is(err, cloudapi.ErrInvalidArgument) {
				t.Errorf("a VM in %s: %q, %v", id, outcome, err)
			}
			if _, _, err := client.VMs.Ensure(ctx, location, "vm", request, nil); !errors.Is(err, cloudapi.ErrInvalidRequest) {
				t.Errorf("the real call with %s: %v", id, err)
			}
		}
		if n := sdktest.Changes(srv) - before; n != 2 {
			t.Errorf("%d requests that change something, want the two refused creates", n)
		}
	})
}

// TestPlannedRecordsMatch: the planned record of each family has what the
// request sets, as far as a request can be compared with a record.
func TestPlannedRecordsMatch(t *testing.T) {
	t.Parallel()
	const location = "x"
	client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, "/x") { // a list, which shows that the server has the operations
			return stub.Respond(http.StatusOK, `{"items":[],"count":0}`), nil
		}
		return stub.Respond(http.StatusNotFound, `{"error":{"code":404,"type":"ResourceNotFound","message":"none"}}`), nil
	}))
	for service := range reflect.TypeFor[cloudapi.Client]().Fields() {
		ensure, ok := service.Type.MethodByName("Ensure")
		if !ok {
			continue
		}
		requestType := ensure.Type.In(ensure.Type.NumIn() - 2).Elem()
		request := sdktest.Fill(requestType, "x")
		for field := range requestType.Fields() {
			switch kind, isID := field.Tag.Lookup("id"); {
			case isID:
				request.FieldByIndex(field.Index).SetString(ubid.Planned(kind, location, "a", ""))
			case field.Name == "InitScript":
				request.FieldByIndex(field.Index).SetString(plannedID(cloudapi.KindVMInitScript))
			case field.Name == "InitScriptText": // it can't be combined with InitScript
				request.FieldByIndex(field.Index).SetZero()
			}
		}
		args := []any{request.Addr().Interface(), &cloudapi.EnsureOptions{DryRun: true}}
		for range ensure.Type.NumIn() - 4 {
			args = append([]any{location}, args...) // the name, and the location if there's one
		}
		record, err := sdktest.Do(service.Name+".Ensure", args...).On(t.Context(), client)
		if err != nil {
			t.Errorf("%s: %v", service.Name, err)
			continue
		}
		out := request.Addr().MethodByName("Compare").Call([]reflect.Value{reflect.ValueOf(record)})
		if differences := out[0].Interface().([]cloudapi.Drift); len(differences) > 0 {
			t.Errorf("%s: the planned record differs from the request: %+v", service.Name, differences)
		}
	}
}

// TestDryRunOfMissingFamily: a dry run says that the server lacks a family. It
// finds out by the list, since a 404 is also the response for a resource that
// doesn't exist.
func TestDryRunOfMissingFamily(t *testing.T) {
	t.Parallel()
	for api, isThere := range map[cloudapitest.API]bool{cloudapitest.Contract: false, cloudapitest.Service: true} {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(api))
		request := &cloudapi.MachineImageCreateRequest{VMID: srv.AddVMs(sdktest.Somewhere, "web", 1)[0]}
		_, outcome, err := srv.Client().MachineImages.Ensure(t.Context(), sdktest.Somewhere, "golden", request, &cloudapi.EnsureOptions{DryRun: true})
		if (outcome == cloudapi.EnsureCreated) != isThere || errors.Is(err, cloudapi.ErrMaybeUnsupported) == isThere {
			t.Errorf("%v: %q, %v", api, outcome, err)
		}
	}
}
