package families

import (
	"net/netip"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// newCall returns a call in a new project and the first location.
func newCall(t *testing.T) *api.Call {
	t.Helper()
	quota := api.Quota{VM: 100, Postgres: 100, Kubernetes: 100, Projects: 10}
	c := &api.Call{Input: api.Input{Params: map[string]string{}}}
	New(api.Config{API: version.API{Version: version.Contract}, Locations: []string{"eu-central-h1", "eu-north-h1"}, Quota: quota, Delays: api.Delays{Create: time.Minute}}).Do(func(open *api.Moment) { c.Moment = open })
	owner := api.NewAccount("own")
	c.Project, c.Token = c.AddProject(api.NewID(cloudapi.KindProject).String(), "main", owner), c.State.AddToken("pat-a", owner)
	c.Project.Permissions[c.Token] = api.Permissions{"*"}
	c.Location = c.State.Locations[0]
	return c
}

func TestSubnetsHaveSeparateNetworks(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	for bits, l := range map[int]*api.Location{26: c.Location, 16: {Name: "mine", Owner: c.Project}} {
		c.Location = l
		nets := map[netip.Prefix]bool{}
		for _, subnet := range []string{"a", "b", "c"} {
			s := stub.Must(addPrivateSubnet(c, subnet, nil))(t)
			nets[s.net4], nets[s.net6] = true, true
			if !s.net4.Addr().IsPrivate() || s.net4.Bits() != bits || !s.net6.Addr().IsPrivate() || s.net6.Bits() != 64 {
				t.Errorf("%s: the networks are %s and %s", l.Name, s.net4, s.net6)
			}
		}
		if len(nets) != 6 {
			t.Errorf("%s: networks are shared: %v", l.Name, nets)
		}
	}
}

func TestSubnetsRunOutOfAddresses(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	s, err := addPrivateSubnet(c, "net", nil)
	if err != nil {
		t.Fatal(err)
	}
	var vms []*vm
	for range subnetVMs { // 64 without the first four and the last
		v := &vm{Object: c.NewObject(cloudapi.KindVM, "vm"), subnet: s}
		if v.nic, err = newNIC(s, "nic"); err != nil {
			t.Fatal(err)
		}
		if !s.net4.Contains(v.nic.ip4) || !s.net6.Contains(v.nic.ip6) {
			t.Errorf("%s and %s are not in %s and %s", v.nic.ip4, v.nic.ip6, s.net4, s.net6)
		}
		v.add(c.Moment)
		vms = append(vms, v)
	}
	if nic, err := newNIC(s, "nic"); err == nil {
		t.Errorf("one more VM gets %s", nic.ip4)
	}
	c.Params["vm_reference"] = vms[7].ID
	stub.Must(api.Delete(findVM, (*vm).delete)(c))(t)
	c.State.Sweep(c.Now)
	if nic, err := newNIC(s, "nic"); err != nil || nic.ip4 != vms[7].nic.ip4 || nic.ip6 != vms[7].nic.ip6 {
		t.Errorf("after a deletion a VM gets %v, %v, want %v", nic, err, vms[7].nic)
	}
}

func TestRegisteredInitScripts(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	script := &vmInitScript{Object: c.NewObject(cloudapi.KindVMInitScript, "setup")}
	script.Location = nil
	c.State.Add(script)
	c.Body = schema.Fields{"public_key": "ssh-ed25519 AAAA", "init_script_args": "--fast"}
	for vm, ref := range map[string]string{"a": "setup", "b": script.ID} {
		c.Params["vm_reference"] = vm
		c.Body["init_script"] = ref
		if _, err := createVM(c); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestVMsInPrivateLocationsHaveStorageImmediately(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	c.Location = &api.Location{Name: "mine", Owner: c.Project, Region: "us-east-1"}
	c.Params["vm_reference"] = "web"
	c.Body = schema.Fields{"public_key": "ssh-ed25519 AAAA"}
	record := stub.Must(createVM(c))(t)
	if v := record.(vmDetails); v.State != "creating" || v.StorageSizeGiB != 40 || v.IP6 != nil {
		t.Errorf("%+v, want it creating, with storage and without an address", v.vmRecord)
	}
}

// TestNodesAreDeletedWithTheirCluster looks for nodes in the server's state, since they
// belong to no project.
func TestNodesAreDeletedWithTheirCluster(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	nodes := func() int { return len(c.State.Index.All(api.Scope{Kind: cloudapi.KindVM})) }
	c.Params["kubernetes_cluster_reference"] = "apps"
	c.Body = schema.Fields{"version": "v1.34", "worker_size": "standard-2", "cp_nodes": int64(2)}
	if _, err := createKubernetesCluster(c); err == nil || nodes() != 0 {
		t.Errorf("a cluster that is refused (%v) leaves %d nodes", err, nodes())
	}
	c.Body["cp_nodes"] = int64(3)
	if _, err := createKubernetesCluster(c); err != nil || nodes() != 4 {
		t.Errorf("%v, and %d nodes, want 4", err, nodes())
	}
	if _, err := api.Delete(findKubernetesCluster, (*kubernetesCluster).delete)(c); err != nil || nodes() != 0 {
		t.Errorf("%v, and %d nodes outlive their cluster", err, nodes())
	}
}

func TestMaintenanceWindowLastsTwoHours(t *testing.T) {
	t.Parallel()
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	for _, tt := range []struct {
		hour       int
		days       []time.Weekday
		when, want time.Time
	}{
		{5, nil, at(1, 4, 59), at(1, 5, 0)},
		{5, nil, at(1, 5, 0), at(1, 5, 0)},
		{5, nil, at(1, 6, 59), at(1, 6, 59)},
		{5, nil, at(1, 7, 0), at(2, 5, 0)},
		{23, nil, at(1, 0, 30), at(1, 0, 30)},
		{23, nil, at(1, 1, 0), at(1, 23, 0)},
		{0, nil, at(1, 23, 59), at(2, 0, 0)},
		{5, []time.Weekday{time.Sunday}, at(1, 6, 0), at(1, 6, 0)}, // 1 March is a Sunday
		{5, []time.Weekday{time.Sunday}, at(1, 7, 0), at(8, 5, 0)},
		{5, []time.Weekday{time.Tuesday, time.Friday}, at(3, 8, 0), at(6, 5, 0)},
		{23, []time.Weekday{time.Saturday}, at(1, 0, 30), at(1, 0, 30)},
		{23, []time.Weekday{time.Sunday}, at(1, 0, 30), at(1, 23, 0)},
	} {
		p := &postgres{window: &maintenanceWindow{tt.hour, tt.days}}
		if got := p.inWindow(tt.when); !got.Equal(tt.want) {
			t.Errorf("what is ready at %v happens at %v in the window of %d o'clock on %v, want %v", tt.when, got, tt.hour, tt.days, tt.want)
		}
	}
}
