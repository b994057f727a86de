package cloudapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	if changes := source.Changes(); len(changes) != 0 {
		t.Errorf("of an empty project: %v", changes)
	}
	vm := web(t, source)
	if changes := source.Changes(); len(changes) != 4 {
		t.Errorf("without a snapshot: %v", changes)
	}
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
	want := []string{
		"+ VM eu-central-h1/job",
		"- VM eu-central-h1/web",
		"+ firewall eu-central-h1/default-eu-central-h1-default",
		"~ firewall eu-central-h1/edge: firewall_rules 0 -> 1",
		"+ private subnet eu-central-h1/default-eu-central-h1",
	}
	if got := changesOf(srv); !slices.Equal(got, want) {
		t.Errorf("the changes are\n%s", strings.Join(got, "\n"))
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

// TestChangesInProgress: requests whose effects take an hour are changes at once, and what was in
// progress before isn't one.
func TestChangesInProgress(t *testing.T) {
	t.Parallel()
	for _, api := range []API{Service, Contract} {
		source := New(t, immediate, WithAPI(api))
		web(t, source)
		c, ctx := source.Client(), t.Context()
		id := func(kind cloudapi.Kind, name string) string { return source.IDs(kind, name)[0] }
		request := &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", PrivateSubnetID: id(cloudapi.KindPrivateSubnet, "net"), EnableIPv4: new(true)}
		for _, name := range []string{"members", "old"} {
			stub.Must(c.LoadBalancers.Create(ctx, here, name, &cloudapi.LoadBalancerCreateRequest{
				PrivateSubnetID: request.PrivateSubnetID, Algorithm: "round_robin", HealthCheckProtocol: "http", SrcPort: 80, DstPort: 8080, Stack: "dual",
			}))(t)
		}
		for _, name := range []string{"leaving", "deleted", "detached"} {
			vm := stub.Must(c.VMs.Create(ctx, here, name, request))(t)
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
		stub.Must(c.VMs.Create(ctx, here, "new", request))(t)
		stub.Must(c.LoadBalancers.DetachVM(ctx, here, "members", id(cloudapi.KindVM, "detached")))(t)
		if err := errors.Join(c.VMs.Delete(ctx, here, "deleted"), c.LoadBalancers.Delete(ctx, here, "old")); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"- VM eu-central-h1/deleted",
			"+ VM eu-central-h1/new",
			fmt.Sprintf("~ load balancer eu-central-h1/members: vms [%q] -> []", id(cloudapi.KindVM, "detached")),
			"- load balancer eu-central-h1/old",
		}
		if got := changesOf(srv); !slices.Equal(got, want) {
			t.Errorf("%s: the changes are\n%s", api, strings.Join(got, "\n"))
		}
		stub.Must(c.VMs.Get(ctx, here, "deleted"))(t) // it can still be read
	}
}

// changesOf returns the changes of a server, a line each.
func changesOf(srv *Server) (lines []string) {
	for _, change := range srv.Changes() {
		lines = append(lines, change.String())
	}
	return lines
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

// TestSpoiledSources: what can't be read of a project is a gap, or an error. The
// rest can be stored, loaded and compared: what is missing is neither deleted nor
// created.
func TestSpoiledSources(t *testing.T) {
	t.Parallel()
	const name = "x\x1b]0;owned\a\nfake line"
	list := func(count int, items ...[]byte) string {
		return fmt.Sprintf(`{"count":%d,"items":[%s]}`, count, bytes.Join(items, []byte(",")))
	}
	record := func(srv *Server, id string) []byte {
		return Encode(stub.Must(srv.Client().VMs.Get(context.Background(), here, id))(t))
	}
	for what, tt := range map[string]struct {
		spoil func(srv *Server, vm []byte)
		gaps  []string // what the gaps begin with
		not   string   // what no gap has
		reads int      // of the list of VMs
		grows int      // how often there is another VM, after a read and after the second look
		err   error
	}{
		"a list that the token may not see":   {spoil: spoils("VMs.List", Reply(403, nil, "")), gaps: []string{"every VM: the token may not list them"}, reads: 1},
		"a record that the token may not see": {spoil: spoils("SSHPublicKeys.Get", Reply(403, nil, "")), gaps: []string{"SSH public key laptop (sk"}, reads: 2},
		"a name that no server accepts": {spoil: func(srv *Server, _ []byte) {
			key := Encode(stub.Must(srv.Client().SSHPublicKeys.Get(context.Background(), "laptop"))(t))
			strange := strings.Replace(string(key), `"laptop"`, string(stub.JSON(name)), 1)
			spoils("SSHPublicKeys.Get", Reply(200, nil, strange))(srv, nil)
		}, gaps: []string{`SSH public key "x\x1b]0;owned\a\nfake line" (sk`}, reads: 2},
		"fields that nobody knows": {spoil: func(srv *Server, vm []byte) {
			later := bytes.Replace(vm, []byte("{"), []byte(`{"gpu_count":1,"nothing":null,"disks":[{"size":1}],`), 1)
			spoils("VMs.List", Reply(200, nil, list(1, later)))(srv, nil)
		}, gaps: []string{"VM.disks: the test server", "VM.gpu_count: the test server"}, not: "nothing", reads: 2},
		"a list that counts more than it has": {spoil: func(srv *Server, vm []byte) {
			spoils("VMs.List", Handle(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Get("start_after") == "" {
					io.WriteString(w, list(5, vm))
				} else {
					io.WriteString(w, list(5))
				}
			}))(srv, nil)
		}, gaps: []string{"a consistent state: the project changed while it was read"}, reads: 4 * 3},
		"two pages that lead to each other": {spoil: func(srv *Server, vm []byte) {
			other := record(srv, srv.AddVMs(here, "other", 1)[0])
			pages := 0
			spoils("VMs.List", Handle(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, list(5, [][]byte{vm, other}[pages%2]))
				pages++
			}))(srv, nil)
		}, err: cloudapi.ErrPaginationStalled, reads: 3},
		"a project that changes once":   {not: "changed while it was read", reads: 4, grows: 1},
		"a project that always changes": {gaps: []string{"a consistent state: the project changed while it was read"}, reads: 6, grows: 9},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			srv := New(t, immediate)
			vm := web(t, srv)
			c, ctx := srv.Client(), t.Context()
			stub.Must(c.SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))(t)
			whole := stub.Must(TakeSnapshot(ctx, c, nil))(t)
			if tt.spoil != nil {
				tt.spoil(srv, Encode(vm))
			}
			reads := 0
			partial, err := TakeSnapshot(ctx, srv.Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
				return stub.RoundTripper(func(r *http.Request) (*http.Response, error) {
					response, err := next.RoundTrip(r)
					if strings.HasSuffix(r.URL.Path, "/vm") {
						if reads++; reads <= 2*tt.grows {
							srv.AddVMs(here, fmt.Sprint("more-", reads), 1)
						}
					}
					return response, err
				})
			})), nil)
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) || reads != tt.reads {
				t.Fatalf("%d reads, want %d: %v", reads, tt.reads, err)
			}
			if err != nil {
				return
			}
			for _, want := range tt.gaps {
				if !slices.ContainsFunc(partial.Gaps(), func(g Gap) bool { return strings.HasPrefix(g.String(), want) }) {
					t.Errorf("%q isn't in %q", want, partial.Gaps())
				}
			}
			if text := fmt.Sprint(partial.Gaps()); tt.not != "" && strings.Contains(text, tt.not) {
				t.Errorf("%q is in %s", tt.not, text)
			}
			var stored Snapshot
			if err := json.Unmarshal(stub.JSON(partial), &stored); err != nil {
				t.Fatal(err)
			}
			NewServer(WithSnapshot(&stored)).Close()
			for _, s := range []*Snapshot{partial, &stored} {
				if there, back := whole.Changes(s), s.Changes(whole); tt.grows == 0 && len(there)+len(back) != 0 {
					t.Errorf("%v, and the other way round %v", there, back)
				}
			}
		})
	}
}

// spoils lets an operation always fail.
func spoils(operation string, fault Fault) func(*Server, []byte) {
	return func(srv *Server, _ []byte) { srv.Fail(Match{Operation: operation}, fault.Repeating()) }
}

// TestChangesOnOneLine: a name or value that a server sent adds no line to a change,
// and no character that a terminal would execute.
func TestChangesOnOneLine(t *testing.T) {
	t.Parallel()
	const name = "x\x1b]0;owned\a\nfake line"
	change := Change{"modified", cloudapi.Resource{Kind: cloudapi.KindVM, Name: name}, []FieldChange{{"nodepools[\x1b].x", "a\u009bb", 1}}}
	if got, want := change.String(), `~ VM "x\x1b]0;owned\a\nfake line": nodepools[ ].x "a b" -> 1`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
