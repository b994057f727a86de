package wire_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// waitCase is a wait and the responses to its polls. The wait must need all of
// them.
type waitCase struct {
	name  string
	wait  sdktest.Call
	polls polls
	err   error  // what the error must match, or nil
	want  string // the JSON of the result, by default the last poll
}

// polls are records or error envelopes, one for each poll. If a poll sends two
// requests, the responses are in two lines.
type polls []string

// The first and the longest pause between polls.
var (
	quick = [2]time.Duration{time.Second, 5 * time.Second}
	slow  = [2]time.Duration{5 * time.Second, 15 * time.Second}
)

// runWaits runs the cases. Each poll requests the paths in path, one after the
// other.
func runWaits(t *testing.T, pauses [2]time.Duration, path string, cases []waitCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { c.run(t, pauses, strings.Fields(path)) })
		})
	}
}

func (c *waitCase) run(t *testing.T, pauses [2]time.Duration, paths []string) {
	var replies []string
	for _, poll := range c.polls {
		replies = append(replies, strings.Split(poll, "\n")...)
	}
	asked := 0
	client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		if want := paths[asked%len(paths)]; req.Method != http.MethodGet || req.URL.RequestURI() != want {
			t.Errorf("asked for %s %s, want GET %s", req.Method, req.URL.RequestURI(), want)
		}
		if asked++; asked > len(replies) {
			t.Fatalf("request %d, after the one that should have been the last", asked)
		}
		for _, status := range []int{400, 403, 404, 500} {
			if replies[asked-1] == stub.Envelope(status) {
				return stub.Respond(status, replies[asked-1]), nil
			}
		}
		return stub.Respond(http.StatusOK, replies[asked-1]), nil
	}), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))

	start := time.Now()
	got, err := c.wait.On(t.Context(), client)
	took, n := time.Since(start), time.Duration(len(c.polls)-1)
	if least, most := n*pauses[0]*4/5, n*pauses[1]*6/5; asked != len(replies) || took < least || took > most {
		t.Errorf("%d requests in %v, want %d in %v to %v", asked, took, len(replies), least, most)
	}
	if _, isWaitError := errors.AsType[*cloudapi.WaitError](err); !errors.Is(err, c.err) || isWaitError != (c.err != nil) {
		t.Errorf("the error is %v, want %v", err, c.err)
	}
	if c.want == "" {
		c.want, _, _ = strings.Cut(c.polls[len(c.polls)-1], "\n")
	}
	if got != nil {
		for _, loss := range sdktest.Losses(t, c.want, got) {
			t.Error(loss)
		}
	}
}

func TestVMWaits(t *testing.T) {
	t.Parallel()
	vm := func(state string) string {
		return `{"id":"` + stub.VMID + `","name":"web-1","state":"` + state + `"}`
	}
	stopped, running := do("VMs.WaitStopped", location, "web-1"), do("VMs.WaitRunning", location, "web-1")
	runWaits(t, quick, locationPath+"/vm/web-1", []waitCase{
		{"stopped", stopped, polls{vm("running"), vm("stopping"), vm("stopped")}, nil, ""},
		{"stopped by the provider first", stopped, polls{vm("stopping"), vm("stopped by admin"), vm("unavailable"), vm("stopped")}, nil, ""},
		{"deleted before it stops", stopped, polls{vm("stopping"), vm("deleting")}, cloudapi.ErrWaitFailed, ""},
		{"started", running, polls{vm("starting"), vm("starting"), vm("running")}, nil, ""},
	})
	log := func(status, output string) string { return `{"status":"` + status + `","output":` + output + `}` }
	serialLog := do("VMs.WaitSerialLog", location, "web-1")
	runWaits(t, quick, locationPath+"/vm/web-1/serial-log", []waitCase{
		{"no serial log", serialLog, polls{log("created", "null"), log("created", "null"), log("failed", "null")}, cloudapi.ErrWaitFailed, ""},
		{"serial log", serialLog, polls{log("created", "null"), stub.Envelope(500), log("succeeded", `"login:"`)}, nil, ""},
		{"empty serial log", serialLog, polls{log("succeeded", `""`)}, nil, ""},
		{"serial log of a VM without a host", serialLog, polls{stub.Envelope(400)}, cloudapi.ErrInvalidRequest, ""},
	})
}

func TestLoadBalancerWaits(t *testing.T) {
	t.Parallel()
	const (
		used   = `{"id":"` + lbID + `","name":"web-lb","vms":["` + stub.VMID + `"]}`
		unused = `{"id":"` + lbID + `","name":"web-lb","vms":[]}`
	)
	detached, deleted := do("LoadBalancers.WaitVMDetached", location, "web-lb", stub.VMID), do("LoadBalancers.WaitDeleted", location, "web-lb")
	runWaits(t, quick, locationPath+"/load-balancer/web-lb", []waitCase{
		{"detached", detached, polls{used, used, unused}, nil, ""},
		{"never attached", detached, polls{unused}, nil, ""},
		{"gone while detaching", detached, polls{used, stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"deleted", deleted, polls{used, used, stub.Envelope(403), stub.Envelope(404)}, nil, ""},
	})
}

func TestMachineImageWaits(t *testing.T) {
	t.Parallel()
	version := func(label, state string) string {
		return `{"id":"mv-` + label + `","version":"` + label + `","state":` + state + `}`
	}
	old, begun, ready, going := version("v1", `"ready"`), version("v2", `"creating"`), version("v2", `"ready"`), version("v2", `"destroying"`)
	waitReady := func(label string) sdktest.Call { return do("MachineImages.WaitVersion", location, "golden", label) }
	gone := do("MachineImages.WaitVersionDeleted", location, "golden", "v2")
	runWaits(t, slow, locationPath+"/machine-image/golden/version?page_size=1000", []waitCase{
		{"ready", waitReady("v2"), polls{list(old, begun), list(old, version("v2", "null")), list(old, ready)}, nil, ready},
		{"an ID is no label", waitReady("mv-v2"), polls{list(old, ready)}, cloudapi.ErrWaitFailed, ""},
		{"failed", waitReady("v2"), polls{list(old, begun), list(old, version("v2", `"failed"`))}, cloudapi.ErrWaitFailed, ""},
		{"deleted before it is ready", waitReady("v2"), polls{list(old, going)}, cloudapi.ErrWaitFailed, ""},
		{"no such version", waitReady("v2"), polls{list(old)}, cloudapi.ErrWaitFailed, ""},
		{"no such image", waitReady("v2"), polls{stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"deleted", gone, polls{list(old, going), list(old)}, nil, ""},
		{"deleted and created again", gone, polls{list(old, going), list(old, strings.Replace(begun, "mv-v2", "mv-other", 1))}, nil, ""},
		{"deleted with its image", gone, polls{list(going), stub.Envelope(404)}, nil, ""},
	})
}

func TestPrivateLinkServiceWaits(t *testing.T) {
	t.Parallel()
	const path = locationPath + "/private-link-service/orders-link"
	available := do("PrivateLinkServices.WaitAvailable", location, "orders-link")
	link := func(state string) string {
		return `{"id":"pn51bmpwp2fj3gdzs3zh3bxtxv","name":"orders-link","state":"` + state + `"}`
	}
	runWaits(t, slow, path, []waitCase{
		{"available", available, polls{link("creating"), link("creating"), link("available")}, nil, ""},
		{"deleted instead", available, polls{link("creating"), link("deleting")}, cloudapi.ErrWaitFailed, ""},
	})
}

func TestPrivateLocationWaits(t *testing.T) {
	t.Parallel()
	const (
		record = `{"id":"10rypbds80cj7mrjh6yre7xqe8","name":"us-west-2","ui_name":"mine"}`
		again  = `{"id":"10gvqwdeswre7m2ps1kfabv2x8","name":"us-west-2","ui_name":"mine"}`
	)
	deleted := do("PrivateLocations.WaitDeleted", "mine")
	runWaits(t, quick, projectPath+"/private-location/mine", []waitCase{
		{"deleted", deleted, polls{record, record, stub.Envelope(404)}, nil, ""},
		{"deleted and created again", deleted, polls{record, again}, nil, ""},
	})
	const list = `{"items":[` + record + `],"count":1}`
	runWaits(t, quick, projectPath+"/private-location?page_size=1000", []waitCase{
		{"by ID", do("PrivateLocations.WaitDeleted", "10rypbds80cj7mrjh6yre7xqe8"), polls{list, list, `{"items":[` + again + `],"count":1}`}, nil, ""},
	})
}

const (
	clusterID = "kcpd1gmcppde5qss6kvmfbf2d9"
	poolID    = "kng775d0cd163hzvtzzkdwqrhw"
)

// clusterJSON returns a cluster, in the detailed form if it has node pools.
func clusterJSON(state string, nodePools ...string) string {
	item := `{"id":"` + clusterID + `","name":"apps","location":"eu-central-h1","display_state":"` + state +
		`","cp_node_count":1,"node_size":"standard-2","version":"v1.34"}`
	if nodePools == nil {
		return item
	}
	return strings.TrimSuffix(item, "}") + `,"cp_vms":[` + nodeJSON("cp") + `],"nodepools":[` + strings.Join(nodePools, ",") + `]}`
}

func poolJSON(count int, nodes ...string) string {
	return fmt.Sprintf(`{"id":"%s","kubernetes_cluster_id":"%s","name":"apps-np","node_count":%d,"node_size":"standard-4","vms":[%s]}`,
		poolID, clusterID, count, strings.Join(nodes, ","))
}

// nodeJSON returns a node, which is running unless its name ends in "?".
func nodeJSON(name string) string {
	name, young := strings.CutSuffix(name, "?")
	state := "running"
	if young {
		state = "creating"
	}
	return `{"id":"vm-` + name + `","name":"np-` + name + `","state":"` + state + `","location":"eu-central-h1","size":"standard-4"}`
}

func TestKubernetesWaits(t *testing.T) {
	t.Parallel()
	// pool returns a node pool with the nodes, and in returns a cluster in a state
	// with such a node pool.
	pool := func(count int, nodes string) string {
		var vms []string
		for _, name := range strings.Fields(nodes) {
			vms = append(vms, nodeJSON(name))
		}
		return poolJSON(count, vms...)
	}
	in := func(state string, count int, nodes string) string { return clusterJSON(state, pool(count, nodes)) }
	running, deleted := do("Kubernetes.WaitRunning", location, "apps"), do("Kubernetes.WaitDeleted", location, "apps")
	settled := func(pool string) sdktest.Call { return do("Kubernetes.WaitNodePool", location, "apps", pool) }
	retired := func(node string) sdktest.Call { return do("Kubernetes.WaitNodeRetired", location, "apps", node) }
	poolGone := do("Kubernetes.WaitNodePoolDeleted", location, "apps", "apps-np")
	vms := []cloudapi.VM{{ID: "vm-a", Name: "np-a", State: "running"}, {ID: "vm-b", Name: "np-b", State: "running"}}
	upgraded := do("Kubernetes.WaitNodePoolUpgraded", location, "apps", &cloudapi.KubernetesNodePool{ID: poolID, Name: "apps-np", NodeCount: 2, VMs: vms})
	runWaits(t, slow, locationPath+"/kubernetes-cluster/apps", []waitCase{
		{"running", running, polls{clusterJSON("creating"), clusterJSON("upgrading"), clusterJSON("creating"), clusterJSON("running")}, nil, ""},
		{"deleted before it runs", running, polls{clusterJSON("creating"), clusterJSON("deleting")}, cloudapi.ErrWaitFailed, ""},
		{"gone before it runs", running, polls{clusterJSON("creating"), stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"deleted", deleted, polls{clusterJSON("running"), clusterJSON("deleting"), stub.Envelope(403), stub.Envelope(404)}, nil, ""},

		{"pool grows", settled("apps-np"), polls{in("running", 2, "a"), in("running", 2, "a b?"), in("running", 2, "a b")}, nil, pool(2, "a b")},
		{"pool shrinks", settled(poolID), polls{in("running", 1, "a b"), in("running", 1, "a")}, nil, pool(1, "a")},
		{"pool of a cluster under maintenance", settled("apps-np"), polls{in("creating", 2, "a b")}, nil, pool(2, "a b")},
		{"pool of a cluster that is upgraded", settled("apps-np"), polls{in("upgrading", 2, "c d"), in("running", 2, "c d")}, nil, pool(2, "c d")},
		{"pool of a cluster that is gone", settled("apps-np"), polls{in("running", 2, "a"), stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"no such pool", settled("apps-np-2"), polls{in("running", 2, "a b")}, cloudapi.ErrWaitFailed, ""},
		{"pool of a cluster that is deleted", settled("apps-np"), polls{in("running", 2, "a"), in("deleting", 2, "a b")}, cloudapi.ErrWaitFailed, ""},

		{"pool upgraded", upgraded, polls{
			in("running", 2, "a b"), // the upgrade hasn't begun
			in("upgrading", 2, "a b c?"), in("upgrading", 2, "b c"), in("running", 2, "b c"),
			in("upgrading", 2, "b c d"), in("upgrading", 2, "c d"), in("running", 2, "c d"),
		}, nil, pool(2, "c d")},
		{"pool deleted while it is upgraded", upgraded, polls{in("upgrading", 2, "a b"), in("deleting", 2, "a b")}, cloudapi.ErrWaitFailed, ""},
		{"node retired", retired("np-a"), polls{in("running", 1, "a b"), in("running", 1, "b")}, nil, ""},
		{"node retired by ID", retired("vm-a"), polls{in("running", 1, "a b"), in("running", 1, "b")}, nil, ""},
		{"node retired with its cluster", retired("np-a"), polls{in("deleting", 1, "a b"), stub.Envelope(404)}, nil, ""},
		{"pool deleted", poolGone, polls{in("running", 2, "a b"), clusterJSON("running", []string{}...)}, nil, ""},
		{"pool deleted and created again", poolGone, polls{in("running", 2, "a b"), strings.ReplaceAll(in("running", 2, "c d"), poolID, "kn00000000021g000000000001")}, nil, ""},
		{"pool deleted with its cluster", poolGone, polls{in("deleting", 2, "a b"), stub.Envelope(404)}, nil, ""},
	})
}

func TestPostgresWaits(t *testing.T) {
	t.Parallel()
	type change func(*cloudapi.Postgres)
	// show returns the JSON of the database after the changes.
	show := func(changes ...change) string {
		p := cloudapi.Postgres{ID: pgID, Name: "orders-db", Location: location, State: "running",
			VMSize: "standard-2", TargetVMSize: "standard-2", StorageSizeGiB: 64, TargetStorageSizeGiB: 64, Version: "17"}
		for _, c := range changes {
			c(&p)
		}
		return string(stub.JSON(p))
	}
	state := func(s string) change { return func(p *cloudapi.Postgres) { p.State = s } }
	resizing := func(p *cloudapi.Postgres) { p.TargetVMSize = "standard-4" }
	fallback := func(p *cloudapi.Postgres) { p.FallbackActive = true }
	growing := func(p *cloudapi.Postgres) { p.TargetStorageSizeGiB = 128 }
	restored := func(p *cloudapi.Postgres) { p.Parent = "/location/eu-central-h1/postgres/orders-main" }
	orphan := func(p *cloudapi.Postgres) { p.ReadReplica = true }
	replica := func(p *cloudapi.Postgres) { restored(p); orphan(p) }
	creating, deleting := state("creating"), state("deleting")
	wait := func(method string) sdktest.Call { return do("Postgres."+method, location, "orders-db") }
	const orders = locationPath + "/postgres/orders-db"
	runWaits(t, slow, orders, []waitCase{
		{"running", wait("WaitRunning"), polls{show(creating), show(state("unavailable")), show(state("restoring_backup")), show()}, nil, ""},
		{"deleted before it runs", wait("WaitRunning"), polls{show(creating), show(deleting)}, cloudapi.ErrWaitFailed, ""},
		{"gone before it runs", wait("WaitRunning"), polls{show(creating), stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"resized", wait("WaitResized"), polls{
			show(resizing, growing), show(resizing), show(growing), show(resizing, creating), show(creating), show(state("unavailable")), show(),
		}, nil, ""},
		{"resized to another instance type", wait("WaitResized"), polls{show(resizing), show(resizing, growing, fallback), show(resizing, fallback)}, nil, ""},
		{"deleted before it is resized", wait("WaitResized"), polls{show(resizing), show(resizing, deleting)}, cloudapi.ErrWaitFailed, ""},
		{"promoted", wait("WaitPromoted"), polls{show(replica), show(replica, creating), show(orphan), show(creating), show()}, nil, ""},
		{"a parent does not make a replica", wait("WaitPromoted"), polls{show(restored)}, nil, ""},
		{"deleted before it is promoted", wait("WaitPromoted"), polls{show(replica), show(replica, deleting)}, cloudapi.ErrWaitFailed, ""},
		{"deleted", wait("WaitDeleted"), polls{show(), show(deleting), show(deleting), stub.Envelope(403), stub.Envelope(404)}, nil, ""},
	})

	upgrade := func(version, state, status string) string {
		target := map[bool]string{true: "18"}[version != ""]
		reply := `{"current_version":"17","target_version":"18","upgrade_status":"` + status + `","upgrade_stage":null}`
		switch status {
		case "": // the response for a database that isn't being upgraded
			reply = stub.Envelope(400)
		case "unknown":
			reply = stub.Envelope(500)
		}
		return `{"id":"` + pgID + `","state":"` + state + `","version":"` + version + `","target_version":"` + target + `"}` + "\n" + reply
	}
	runWaits(t, slow, orders+" "+orders+"/upgrade", []waitCase{
		{"upgraded", wait("WaitUpgraded"), polls{
			upgrade("17", "running", ""), upgrade("17", "running", "running"), upgrade("17", "unavailable", "running"),
			upgrade("18", "running", "unknown"), upgrade("18", "running", "running"), // until the last server is replaced
			upgrade("18", "unavailable", ""), upgrade("18", "running", ""),
		}, nil, ""},
		{"nothing to upgrade", wait("WaitUpgraded"), polls{upgrade("18", "running", "")}, nil, ""},
		{"a failed upgrade", wait("WaitUpgraded"), polls{upgrade("17", "running", "running"), upgrade("17", "running", "failed")}, cloudapi.ErrWaitFailed, ""},
		{"a failed upgrade between unknown versions", wait("WaitUpgraded"), polls{upgrade("", "running", "failed")}, cloudapi.ErrWaitFailed, ""},
		{"deleted during the upgrade", wait("WaitUpgraded"), polls{upgrade("17", "running", "running"), upgrade("17", "deleting", "")}, cloudapi.ErrWaitFailed, ""},
	})

	const a, b = "pvqc6200000000000000000000", "pv3jqr00000000000000000000"
	servers := func(state string, count int, roles ...string) string { // in the order role, state, synchronization_status
		var items []string
		for i, id := range []string{a, b} {
			if len(roles) > 3*i && roles[3*i] != "" {
				items = append(items, fmt.Sprintf(`{"id":%q,"role":%q,"state":%q,"synchronization_status":%q}`, id, roles[3*i], roles[3*i+1], roles[3*i+2]))
			}
		}
		return fmt.Sprintf(`{"id":%q,"state":%q,"target_server_count":%d}`, pgID, state, count) + "\n" + list(items...)
	}
	old := servers("running", 1, "primary", "running", "ready")
	recycled, settled := do("Postgres.WaitRecycled", location, "orders-db", a), wait("WaitServers")
	runWaits(t, slow, orders+" "+orders+"/servers", []waitCase{
		{"recycled", recycled, polls{
			old,
			servers("running", 1, "primary", "running", "ready", "standby", "creating", "catching_up"),
			servers("running", 1, "primary", "running", "ready", "standby", "running", "ready"),
			servers("running", 1, "primary", "running", "ready", "standby", "failing_over", "ready"),
			`{"id":"` + pgID + `","state":"running","target_server_count":1}` + "\n" + stub.Envelope(500),
			servers("running", 1, "primary", "unavailable", "ready", "standby", "failing_over", "ready"),
			servers("running", 1, "standby", "deleting", "ready", "primary", "running", "ready"),
			servers("running", 1, "", "", "", "primary", "running", "ready"),
		}, nil, ""},
		{"more servers", settled, polls{
			servers("running", 2, "primary", "running", "ready"),
			servers("running", 2, "primary", "running", "ready", "standby", "updating", "catching_up"),
			servers("running", 2, "primary", "running", "ready", "standby", "running", "catching_up"),
			servers("running", 2, "primary", "running", "ready", "standby", "running", "ready"),
		}, nil, ""},
		{"a replica, whose primary follows", settled, polls{servers("running", 1, "primary", "running", "catching_up")}, nil, ""},
		{"deleted before it is recycled", recycled, polls{old, servers("deleting", 1, "primary", "running", "ready")}, cloudapi.ErrWaitFailed, ""},
	})
}
