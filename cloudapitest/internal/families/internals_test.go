package families

import (
	"net/netip"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// newCall returns a call in a new project and the first location.
func newCall(t *testing.T) *api.Call {
	t.Helper()
	c := &api.Call{Input: api.Input{Params: map[string]string{}}}
	New(api.Config{API: version.API{Version: version.Contract}, Locations: []string{"eu-central-h1"}, Quota: api.Quota{Kubernetes: 100}}).Do(func(open *api.Moment) { c.Moment = open })
	owner := api.NewAccount("own")
	c.Project, c.Token = c.AddProject(api.NewID(cloudapi.KindProject).String(), "main", owner), c.State.AddToken("pat-a", owner)
	c.Project.Permissions[c.Token] = api.Permissions{"*"}
	c.Location = c.State.Locations[0]
	return c
}

func TestSubnetsRunOutOfAddresses(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	s := stub.Must(addPrivateSubnet(c, "net", nil))(t)
	var vms []*vm
	seen := map[netip.Addr]bool{}
	for range subnetVMs { // 64 addresses without the first four and the last
		v := &vm{Object: c.NewObject(cloudapi.KindVM, "vm"), subnet: s, nic: stub.Must(newNIC(s, "nic"))(t)}
		if !s.net4.Contains(v.nic.ip4) || !s.net6.Contains(v.nic.ip6) {
			t.Errorf("%s and %s are not in %s and %s", v.nic.ip4, v.nic.ip6, s.net4, s.net6)
		}
		v.add(c.Moment)
		vms = append(vms, v)
		seen[v.nic.ip4], seen[v.nic.ip6] = true, true
	}
	if len(seen) != 2*subnetVMs {
		t.Errorf("%d VMs have %d addresses", subnetVMs, len(seen))
	}
	if nic, err := newNIC(s, "nic"); err == nil {
		t.Errorf("one more VM gets %s", nic.ip4)
	}
	c.Params["vm_reference"] = vms[7].ID
	stub.Must(api.Delete(findVM, (*vm).delete)(c))(t)
	if nic, err := newNIC(s, "nic"); err != nil || nic.ip4 != vms[7].nic.ip4 || nic.ip6 != vms[7].nic.ip6 {
		t.Errorf("after a deletion a VM gets %v, %v, want %v", nic, err, vms[7].nic)
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
		{5, nil, at(1, 6, 59), at(1, 6, 59)},
		{5, nil, at(1, 7, 0), at(2, 5, 0)},
		{23, nil, at(1, 0, 30), at(1, 0, 30)},
		{23, nil, at(1, 1, 0), at(1, 23, 0)},
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

func TestPortRanges(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0080":                   "80..80",
		"80..8080":               "80..8080",
		"80..80":                 "80..80",
		"0..65535":               "0..65535",
		"65536":                  "Port must be between 0 to 65535",
		"65536..65537":           "Start port must be between 0 to 65535",
		"1..65536":               "End port must be between 0 to 65535",
		"90..80":                 "Start port must be smaller than or equal to end port",
		"80-90":                  "Invalid port range",
		"80..":                   "Invalid port range",
		"9999999999999999999999": "Port must be between 0 to 65535",
	} {
		r, err := parsePortRange(in)
		got := r.String()
		if e, ok := err.(*reply.Error); ok {
			got, want = string(e.Details), `{"port_range":"`+want+`"}`
		}
		if got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

func TestUnknownSizes(t *testing.T) {
	t.Parallel()
	servers := postgresServers{vm: "m9gd.large", storage: 118, standbys: 2}
	if n := servers.vcpus(); n != 0 {
		t.Errorf("%d vCPUs", n)
	}
	if d := servers.defaults(); d["max_wal_size"] != "5GB" {
		t.Errorf("%v", d)
	}
}
