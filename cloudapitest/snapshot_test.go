package cloudapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// immediate lets all operations take no time.
var immediate = WithDelays(Delays{})

// web creates a subnet, a VM and a firewall.
func web(t *testing.T, srv *Server) *cloudapi.VM {
	t.Helper()
	c, ctx := srv.Client(), t.Context()
	subnet := stub.Must(c.PrivateSubnets.Create(ctx, here, "net", nil))(t)
	stub.Must(c.Firewalls.Create(ctx, here, "edge", nil))(t)
	stub.Must(c.VMs.Create(ctx, here, "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", PrivateSubnetID: subnet.ID, EnableIPv4: new(true)}))(t)
	return stub.Must(c.VMs.Get(ctx, here, "web"))(t)
}

func TestCopyOfAProject(t *testing.T) {
	t.Parallel()
	source := New(t, immediate, WithProjectName("shop"))
	vm := web(t, source)
	taken := stub.Must(TakeSnapshot(t.Context(), source.Client(), nil))(t)
	var s Snapshot
	if err := json.Unmarshal(stub.Must(json.Marshal(taken))(t), &s); err != nil {
		t.Fatal(err)
	}
	if s.ProjectID != source.ProjectID() || !s.Time.Equal(taken.Time) || s.Len() != 5 || !reflect.DeepEqual(s.Gaps(), taken.Gaps()) {
		t.Errorf("decoded, it is of %s at %v, with %d resources, and lacks %v", s.ProjectID, s.Time, s.Len(), s.Gaps())
	}

	srv := New(t, WithSnapshot(&s), immediate)
	if srv.ProjectID() != source.ProjectID() || srv.Token() == source.Token() {
		t.Errorf("the copy is %s with the token %s", srv.ProjectID(), srv.Token())
	}
	c, ctx := srv.Client(), t.Context()
	if p := stub.Must(c.Projects.Get(ctx, srv.ProjectID()))(t); p.Name != "shop" {
		t.Errorf("the project is called %q", p.Name)
	}
	for _, client := range []*cloudapi.Client{srv.Client(cloudapi.WithToken(source.Token())), source.Client(cloudapi.WithToken(srv.Token()))} {
		if _, err := client.VMs.List(ctx, nil); !errors.Is(err, cloudapi.ErrUnauthorized) {
			t.Errorf("with the other's token: %v", err)
		}
	}
	if got := stub.Must(c.VMs.Get(ctx, here, vm.ID))(t); got.Name != "web" || got.PrivateIPv4 != vm.PrivateIPv4 || len(got.Firewalls) != 1 {
		t.Errorf("the VM is %+v", got)
	}
	if err := c.PrivateSubnets.Delete(ctx, here, "net"); !errors.Is(err, cloudapi.ErrConflict) {
		t.Errorf("deleting the subnet of a VM: %v", err)
	}
	if changes := srv.Changes(); len(changes) != 0 {
		t.Errorf("before any change: %v", changes)
	}
	stub.Must(c.Firewalls.CreateRule(ctx, here, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "192.0.2.0/24"}))(t)
	young := stub.Must(c.VMs.Create(ctx, here, "job", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", Size: "standard-60", EnableIPv4: new(true)}))(t)
	if err := c.VMs.Delete(ctx, here, "web"); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, change := range srv.Changes() {
		lines = append(lines, change.String())
	}
	want := []string{
		"+ VM eu-central-h1/job",
		"- VM eu-central-h1/web",
		"+ firewall eu-central-h1/default-eu-central-h1-default",
		"~ firewall eu-central-h1/edge: firewall_rules 0 -> 1",
		"+ private subnet eu-central-h1/default-eu-central-h1",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("the changes are\n%s", strings.Join(lines, "\n"))
	}
	if changed := srv.Changes()[1].Resource; changed.ID != vm.ID {
		t.Errorf("the deleted VM is %v", changed)
	}
	if text := string(stub.Must(json.Marshal(srv.Changes()[3]))(t)); !strings.Contains(text, `"action":"modified"`) || !strings.Contains(text, `"fields":[{"field":"firewall_rules","before":0,"after":1}]`) {
		t.Error(text)
	}
	if address := stub.Must(c.VMs.Get(ctx, here, young.ID))(t).IPv4; address == stub.Must(source.Client().VMs.Get(ctx, here, "web"))(t).IPv4 {
		t.Errorf("two VMs have the address %v", address)
	}
	srv.Reset()
	if changes := srv.Changes(); len(changes) != 0 {
		t.Errorf("after Reset: %v", changes)
	}
	if len(srv.Requests()) != 0 {
		t.Errorf("requests: %v", srv.Requests())
	}
	stub.Must(c.VMs.Get(ctx, here, "web"))(t)
	if err := c.Projects.Delete(ctx, srv.ProjectID()); !errors.Is(err, cloudapi.ErrConflict) {
		t.Errorf("deleting the project: %v", err)
	}
}

// TestChangesThatFollowFromADeletion: a load balancer without a deleted VM, and a
// subnet without a deleted firewall, aren't changes of their own.
func TestChangesThatFollowFromADeletion(t *testing.T) {
	t.Parallel()
	srv := New(t, immediate)
	web(t, srv)
	c, ctx := srv.Client(), t.Context()
	subnet := stub.Must(c.PrivateSubnets.Get(ctx, here, "net"))(t)
	stub.Must(c.Firewalls.AttachSubnet(ctx, here, "edge", subnet.ID))(t)
	stub.Must(c.LoadBalancers.Create(ctx, here, "lb", &cloudapi.LoadBalancerCreateRequest{
		PrivateSubnetID: subnet.ID, Algorithm: "round_robin", HealthCheckProtocol: "http", SrcPort: 80, DstPort: 8080,
	}))(t)
	stub.Must(c.LoadBalancers.AttachVM(ctx, here, "lb", srv.IDs(cloudapi.KindVM, "web")[0]))(t)
	before := srv.Snapshot()
	if err := errors.Join(c.VMs.Delete(ctx, here, "web"), c.Firewalls.Delete(ctx, here, "edge")); err != nil {
		t.Fatal(err)
	}
	rule := stub.Must(c.Firewalls.Get(ctx, here, "net-default"))(t).FirewallRules[0].ID
	stub.Must(c.Firewalls.CreateRule(ctx, here, "net-default", &cloudapi.FirewallRuleCreateRequest{CIDR: "192.0.2.0/24"}))(t)
	if err := c.Firewalls.DeleteRule(ctx, here, "net-default", rule); err != nil {
		t.Fatal(err)
	}
	changes := before.Changes(srv.Snapshot())
	if len(changes) != 3 || changes[2].String() != "~ firewall eu-central-h1/net-default: firewall_rules 4 -> 4" || changes[0].String() != "- VM eu-central-h1/web" || changes[1].String() != "- firewall eu-central-h1/edge" {
		t.Errorf("the changes are %v", changes)
	}
}

// TestChangesInProgress: requests whose effects take an hour are changes at once, and what was in
// progress before isn't one.
func TestChangesInProgress(t *testing.T) {
	t.Parallel()
	for _, api := range []API{Service, Contract} {
		source := New(t, immediate, WithAPI(api))
		c, ctx := source.Client(), t.Context()
		id := func(kind cloudapi.Kind, name string) string { return source.IDs(kind, name)[0] }
		for _, name := range []string{"net", "empty"} {
			stub.Must(c.PrivateSubnets.Create(ctx, here, name, nil))(t)
		}
		for _, name := range []string{"members", "old"} {
			stub.Must(c.LoadBalancers.Create(ctx, here, name, &cloudapi.LoadBalancerCreateRequest{
				PrivateSubnetID: id(cloudapi.KindPrivateSubnet, "net"), Algorithm: "round_robin", HealthCheckProtocol: "http", SrcPort: 80, DstPort: 8080, Stack: "dual",
			}))(t)
		}
		for _, name := range []string{"leaving", "deleted", "detached", "stays"} {
			vm := stub.Must(c.VMs.Create(ctx, here, name, &cloudapi.VMCreateRequest{
				PublicKey: "ssh-ed25519 AAAA", PrivateSubnetID: id(cloudapi.KindPrivateSubnet, "net"), EnableIPv4: new(true),
			}))(t)
			stub.Must(c.LoadBalancers.AttachVM(ctx, here, "members", vm.ID))(t)
		}
		slow := Delays{Create: time.Hour, Detach: time.Hour, Delete: time.Hour}
		source.SetDelays("", "", slow)
		if err := c.VMs.Delete(ctx, here, "leaving"); err != nil {
			t.Fatal(err)
		}

		srv := New(t, WithSnapshot(stub.Must(TakeSnapshot(ctx, c, nil))(t)), WithDelays(slow))
		if changes := srv.Changes(); len(changes) != 0 {
			t.Errorf("%s: at first: %v", api, changes)
		}
		c = srv.Client()
		stub.Must(c.VMs.Create(ctx, here, "new", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", PrivateSubnetID: id(cloudapi.KindPrivateSubnet, "net")}))(t)
		stub.Must(c.LoadBalancers.DetachVM(ctx, here, "members", id(cloudapi.KindVM, "detached")))(t)
		if err := errors.Join(c.VMs.Delete(ctx, here, "deleted"), c.LoadBalancers.Delete(ctx, here, "old"), c.PrivateSubnets.Delete(ctx, here, "empty")); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, change := range srv.Changes() {
			lines = append(lines, change.String())
		}
		want := []string{
			"- VM eu-central-h1/deleted",
			"+ VM eu-central-h1/new",
			fmt.Sprintf("~ load balancer eu-central-h1/members: vms [%q,%q] -> [%[2]q]", id(cloudapi.KindVM, "detached"), id(cloudapi.KindVM, "stays")),
			"- load balancer eu-central-h1/old",
			"- private subnet eu-central-h1/empty",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("%s: the changes are\n%s", api, strings.Join(lines, "\n"))
		}
		for _, name := range []string{"deleted", "new"} { // both can still be read
			stub.Must(c.VMs.Get(ctx, here, name))(t)
		}
		if members := stub.Must(c.LoadBalancers.Get(ctx, here, "members"))(t).VMs; len(members) != 4 {
			t.Errorf("%s: the load balancer has the VMs %v", api, members)
		}
		stub.Must(c.LoadBalancers.Get(ctx, here, "old"))(t)
	}
}

// TestChangedScript: a change doesn't have the texts of a script.
func TestChangedScript(t *testing.T) {
	t.Parallel()
	srv := New(t, immediate, WithAPI(Contract))
	c, ctx := srv.Client(), t.Context()
	stub.Must(c.VMInitScripts.Create(ctx, "setup", &cloudapi.VMInitScriptCreateRequest{Script: "export PASSWORD=hunter2"}))(t)
	before := srv.Snapshot()
	stub.Must(c.VMInitScripts.Update(ctx, "setup", &cloudapi.VMInitScriptUpdateRequest{Script: "export PASSWORD=hunter3"}))(t)
	changes := before.Changes(srv.Snapshot())
	if len(changes) != 1 || changes[0].String() != "~ VM init script setup: script differs" || !slices.Equal(changes[0].Fields, []FieldChange{{Field: "script"}}) {
		t.Errorf("the changes are %+v", changes)
	}
}

func TestChangesWithoutASnapshot(t *testing.T) {
	t.Parallel()
	srv := New(t, immediate)
	if changes := srv.Changes(); len(changes) != 0 {
		t.Errorf("at first: %v", changes)
	}
	web(t, srv)
	if changes := srv.Changes(); len(changes) != 4 {
		t.Errorf("later: %v", changes)
	}
}

func TestAddressesInSnapshots(t *testing.T) {
	t.Parallel()
	source := New(t, immediate, WithQuota(Quota{VM: 200, Kubernetes: 8}))
	stub.Must(source.Client().Kubernetes.Create(t.Context(), here, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
	source.AddVMs(here, "load", 100)
	// addressesOf returns the addresses of the VMs, and each address of each node, by ID.
	addressesOf := func(c *cloudapi.Client) []map[string]string {
		cluster := stub.Must(c.Kubernetes.Get(t.Context(), here, "apps"))(t)
		vms := map[string]string{} // these have no IPv4 addresses
		for v, err := range c.VMs.All(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			vms[v.ID] = fmt.Sprint(v.IPv6)
		}
		all := []map[string]string{vms}
		for _, v := range slices.Concat(cluster.CPVMs, cluster.NodePools[0].VMs) {
			all = append(all, map[string]string{v.ID: fmt.Sprint(v.IPv4)}, map[string]string{v.ID: fmt.Sprint(v.IPv6)})
		}
		return all
	}
	before := addressesOf(source.Client())
	for _, keep := range []bool{false, true} {
		taken := stub.Must(TakeSnapshot(t.Context(), source.Client(), &SnapshotOptions{KeepAddresses: keep}))(t)
		seen := map[string]bool{}
		for i, addresses := range addressesOf(New(t, WithSnapshot(taken)).Client()) {
			for _, address := range addresses {
				seen[address] = true
			}
			if maps.Equal(addresses, before[i]) != keep {
				t.Errorf("with KeepAddresses %t, the addresses are %v, and in the project %v", keep, addresses, before[i])
			}
		}
		if len(seen) != 100+2*2 {
			t.Errorf("with KeepAddresses %t, 100 VMs and two nodes have %d addresses", keep, len(seen))
		}
	}
}

func TestSnapshotWithoutRights(t *testing.T) {
	t.Parallel()
	srv := New(t, WithTokenAccess("pat-none", AccessNone), WithTokenAccess("pat-some", AccessNone))
	web(t, srv)
	for _, client := range []*cloudapi.Client{srv.Client(cloudapi.WithToken("pat-none")), srv.Client(cloudapi.WithToken("pat-unknown"))} {
		if s, err := TakeSnapshot(t.Context(), client, nil); err == nil {
			t.Errorf("a snapshot with %d resources, want an error", s.Len())
		}
	}
	srv.SetPermissions(srv.ProjectID(), "pat-some", "Project:view")
	if _, err := TakeSnapshot(t.Context(), srv.Client(cloudapi.WithToken("pat-some")), nil); !errors.Is(err, cloudapi.ErrForbidden) {
		t.Errorf("of a token that may only see the project: %v", err)
	}
	srv.SetPermissions(srv.ProjectID(), "pat-some", "Project:view", "Vm:view")
	s := stub.Must(TakeSnapshot(t.Context(), srv.Client(cloudapi.WithToken("pat-some")), nil))(t)
	if s.Len() != 1 || !slices.Contains(s.Gaps(), Gap{"every SSH public key", "the token may not list them"}) {
		t.Errorf("%d resources; gaps: %v", s.Len(), s.Gaps())
	}
	if vm := stub.Must(New(t, WithSnapshot(s)).Client().VMs.Get(t.Context(), here, "web"))(t); vm.Subnet != "" {
		t.Errorf("the VM is in the subnet %q", vm.Subnet)
	}

	stub.Must(srv.Client().Postgres.Create(t.Context(), here, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	srv.SetPermissions(srv.ProjectID(), "pat-some", "Project:view", "Postgres:view")
	s = stub.Must(TakeSnapshot(t.Context(), srv.Client(cloudapi.WithToken("pat-some")), nil))(t)
	c := New(t, WithSnapshot(s), immediate).Client()
	rules := stub.Must(c.Postgres.Get(t.Context(), here, "orders"))(t).FirewallRules
	stub.Must(c.Postgres.CreateFirewallRule(t.Context(), here, "orders", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "192.0.2.0/24"}))(t)
	if err := c.Postgres.DeleteFirewallRule(t.Context(), here, "orders", rules[0].ID); err != nil {
		t.Error(err)
	}
	if err := c.Postgres.Delete(t.Context(), here, "orders"); err != nil {
		t.Error(err)
	}
}

// TestUnlistedLoadBalancers: a list that fails in the project fails in the copy too.
func TestUnlistedLoadBalancers(t *testing.T) {
	t.Parallel()
	source := New(t, immediate, WithPortlessBalancers(), WithAPI(Service))
	stub.Must(source.Client().Kubernetes.Create(t.Context(), here, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
	s := stub.Must(TakeSnapshot(t.Context(), source.Client(), nil))(t)
	srv := New(t, WithSnapshot(s), immediate)
	one := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
	if _, err := one.LoadBalancers.List(t.Context(), nil); !errors.Is(err, cloudapi.ErrServer) {
		t.Errorf("the list of the copy: %v", err)
	}
	if changes := s.Changes(srv.Snapshot()); len(changes) != 0 {
		t.Errorf("changes: %v", changes)
	}
	srv.SetClusterService(srv.IDs(cloudapi.KindKubernetesCluster, "apps")[0], 80, 30080)
	if page := stub.Must(one.LoadBalancers.List(t.Context(), nil))(t); len(page.Items) != 2 {
		t.Errorf("with a Service, the copy lists %d load balancers", len(page.Items))
	}
}

func TestUnknownFieldsAreGaps(t *testing.T) {
	t.Parallel()
	srv := New(t, immediate)
	vm := web(t, srv)
	item := strings.Replace(string(Encode(vm)), "{", `{"gpu_count":1,"nothing":null,"disks":[{"size":1}],`, 1)
	srv.Fail(Match{Operation: "VMs.List"}, Reply(200, nil, `{"count":1,"items":[`+item+`]}`).Repeating())
	s := stub.Must(TakeSnapshot(t.Context(), srv.Client(), nil))(t)
	var fields []string
	for _, g := range s.Gaps() {
		if strings.Contains(g.Reason, "know") {
			fields = append(fields, g.What)
		}
	}
	for _, want := range []string{"VM.disks", "VM.gpu_count"} {
		if !slices.Contains(fields, want) {
			t.Errorf("%q isn't in %q", want, fields)
		}
	}
	if slices.Contains(fields, "VM.nothing") {
		t.Errorf("%q contains a field that is null", fields)
	}
}

func TestProjectThatChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, 5} {
		srv := New(t, immediate)
		reads := 0
		client := srv.Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(r)
				if strings.HasSuffix(r.URL.Path, "/vm") { // after each of the first reads, there is another VM
					if reads++; reads <= 2*times {
						srv.AddVMs(here, fmt.Sprint("more-", reads), 1)
					}
				}
				return response, err
			})
		}))
		s := stub.Must(TakeSnapshot(t.Context(), client, nil))(t)
		said := slices.ContainsFunc(s.Gaps(), func(g Gap) bool { return strings.Contains(g.Reason, "changed while it was read") })
		if said != (times == 5) || reads != min(2*(times+1), 6) {
			t.Errorf("of a project that changes %d times there are %d reads, and the gap is there: %t", times, reads, said)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestInvalidSnapshots(t *testing.T) {
	t.Parallel()
	const head = `{"cloudapi_snapshot":1,"api":"service","project":{"id":"pj8r0dvyb26y6ma6y7n1sw0nzz","name":"main"},"objects":`
	id := NewID("sk").String()
	key := `{"id":"` + id + `","name":"laptop","public_key":"ssh-ed25519 AAAA"}`
	for text, want := range map[string]string{
		strings.Replace(head, "pj8r0dvyb26y6ma6y7n1sw0nzz", "pj8r0dvyb26y6ma6y7nisw0nzz", 1) + `{}}`: "can't be a project", // "i" is another spelling of 1
		strings.Replace(head, "pj8r0dvyb26y6ma6y7n1sw0nzz", "pj8r0dvyb26y6ma6y7nlsw0nzz", 1) + `{}}`: "can't be a project",
		head + `{"sk":[` + strings.Replace(key, NewID("sk").String()[:2], "SK", 1) + `]}}`:           "not the ID of one",
		head + `{"sk":[` + strings.Replace(key, "laptop", "Laptop\\u001b]0;x", 1) + `]}}`:            `SSH public key "Laptop\x1b]0;x" (sk`,
		head + `{"sk":[` + strings.Replace(key, "laptop", "", 1) + `]}}`:                             "no such name",
		head + `{"sk":[` + strings.Replace(key, "laptop", NewID("sk").String(), 1) + `]}}`:           "no such name",
		head + `{"sk":[` + key + `,` + strings.Replace(key, id, NewID("sk").String(), 1) + `]}}`:     "another one has this name",
		`{}`:                      "format is 0",
		`{"cloudapi_snapshot":1}`: "can't be a project",
		strings.Replace(head, "service", "x", 1) + `{}}`: `no API "x"`,
		head + `{"zz":[]}}`:  `no kind "zz"`,
		head + `{"vm":[7]}}`: "cannot unmarshal",
		head + `{"vm":[{"id":"fw8r0dvyb26y6ma6y7n1sw0nzz"}]}}`:                                          "not the ID of one",
		head + `{"sk":[` + key + `,` + key + `]}}`:                                                      "two objects with the ID",
		head + `{"pn":[{"id":"` + NewID("pn").String() + `","location":"x","private_subnet":"none"}]}}`: `no subnet "none"`,
		head + `{"ps":[{"id":"` + NewID("ps").String() + `","location":"x","name":"net","net4":"10.0.0.0/26","net6":"fd00::/64"}],
			"pn":[{"id":"` + NewID("pn").String() + `","location":"x","private_subnet":"net","postgres_resource":"none"}]}}`: `no database "none"`,
		head: "unexpected end",
		head + `{"vm":[{"id":"vm1","location":"x"}]}}`:                                                                                             "is not an ID",
		head + `{"vm":[{"id":"` + NewID("vm").String() + `"}]}}`:                                                                                   `"" can't be a location`,
		head + `{"ps":[{"id":"` + NewID("ps").String() + `","location":"x"}]}}`:                                                                    "lacks a network",
		head + `{"fw":[{"id":"` + NewID("fw").String() + `","location":"../x"}]}}`:                                                                 "can't be a location",
		head + `{"fw":[{"id":"` + NewID("fw").String() + `","location":"x","firewall_rules":[{"id":"r","cidr":"1.2.3.0/24","port_range":"a"}]}]}}`: `"a"`,
		head + `{"kc":[{"id":"` + NewID("kc").String() + `","location":"x","cp_node_count":2000000000}]}}`:                                         "2000000000 nodes",
	} {
		var s Snapshot
		if err := json.Unmarshal([]byte(text), &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	var s Snapshot
	if err := json.Unmarshal([]byte(head+`{"sk":[`+key+`]}}`), &s); err != nil {
		t.Error(err)
	}
	NewServer(WithSnapshot(&s)).Close()
	if _, err := newConfig([]Option{WithSnapshot(new(Snapshot))}); err == nil {
		t.Error("WithSnapshot accepts an empty one")
	}
}

// TestWhatCannotBeReadHasNotChanged: a list or a record that can't be read in one of two
// snapshots isn't deleted or created.
func TestWhatCannotBeReadHasNotChanged(t *testing.T) {
	t.Parallel()
	const name = "x\x1b]0;owned\a\nfake line"
	srv := New(t, immediate)
	web(t, srv)
	c, ctx := srv.Client(), t.Context()
	stub.Must(c.SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))(t)
	whole := stub.Must(TakeSnapshot(ctx, c, nil))(t)
	strange := string(Encode(stub.Must(c.SSHPublicKeys.Get(ctx, "laptop"))(t)))
	strange = strings.Replace(strange, `"laptop"`, string(stub.Must(json.Marshal(name))(t)), 1)
	for _, tt := range []struct {
		operation string
		fault     Fault
		gap       string
	}{
		{"VMs.List", Reply(403, nil, ""), "every VM: the token may not list them"},
		{"SSHPublicKeys.Get", Reply(403, nil, ""), "SSH public key laptop (" + srv.IDs(cloudapi.KindSSHPublicKey, "laptop")[0] + ")"},
		{"SSHPublicKeys.Get", Reply(200, nil, strange), `SSH public key "x\x1b]0;owned\a\nfake line" (sk`},
	} {
		fault := srv.Fail(Match{Operation: tt.operation}, tt.fault.Repeating())
		partial := stub.Must(TakeSnapshot(ctx, c, nil))(t)
		if srv.ClearFaults(); fault.Met() == 0 {
			t.Errorf("%s: no request", tt.operation)
		}
		if !slices.ContainsFunc(partial.Gaps(), func(g Gap) bool { return strings.HasPrefix(g.String(), tt.gap) }) {
			t.Errorf("%q isn't in %q", tt.gap, partial.Gaps())
		}
		var stored Snapshot
		if err := json.Unmarshal(stub.Must(json.Marshal(partial))(t), &stored); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Snapshot{partial, &stored} {
			if there, back := whole.Changes(s), s.Changes(whole); len(there) != 0 || len(back) != 0 {
				t.Errorf("%s: %v, and the other way round %v", tt.operation, there, back)
			}
		}
	}
	change := Change{"modified", cloudapi.Resource{Kind: cloudapi.KindVM, Name: name}, []FieldChange{{"nodepools[\x1b].x", "a\u009bb", 1}}}
	if got, want := change.String(), `~ VM "x\x1b]0;owned\a\nfake line": nodepools[ ].x "a b" -> 1`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestListsThatDontEnd: two pages that lead to each other, and a count of items that
// no page has.
func TestListsThatDontEnd(t *testing.T) {
	t.Parallel()
	srv := New(t, immediate)
	ids := srv.AddVMs(here, "web", 2)
	page := func(id string) []byte {
		return fmt.Appendf(nil, `{"count":5,"items":[%s]}`, Encode(stub.Must(srv.Client().VMs.Get(t.Context(), here, id))(t)))
	}
	bodies, requests := map[string][]byte{"": page(ids[0]), ids[0]: page(ids[1]), ids[1]: page(ids[0])}, 0
	srv.Fail(Match{Operation: "VMs.List"}, Handle(func(w http.ResponseWriter, r *http.Request) {
		requests++
		w.Header().Set("Content-Type", "application/json")
		w.Write(bodies[r.URL.Query().Get("start_after")])
	}).Repeating())
	if _, err := TakeSnapshot(t.Context(), srv.Client(), nil); !errors.Is(err, cloudapi.ErrPaginationStalled) || requests != 3 {
		t.Errorf("after %d requests: %v", requests, err)
	}
	bodies[ids[1]], requests = []byte(`{"count":5,"items":[]}`), 0
	s := stub.Must(TakeSnapshot(t.Context(), srv.Client(), nil))(t)
	if !slices.ContainsFunc(s.Gaps(), func(g Gap) bool { return g.What == "a consistent state" }) {
		t.Errorf("with 2 of 5 VMs, the gaps are %v", s.Gaps())
	}
}
