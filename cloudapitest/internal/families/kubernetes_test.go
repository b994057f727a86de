package families_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestKubernetes(t *testing.T) {
	const create = `POST L/kubernetes-cluster/apps {"version":"v1.36","worker_size":"standard-2"} ->`
	run(t, map[string]func(*testing.T){
		"a life": script(`
			POST L/kubernetes-cluster/apps {"version":"v1.33","worker_size":"standard-4","cp_nodes":3,"worker_nodes":2} -> "cp_node_count":3 & "node_count":2 & "cp_vms":[] & "vms":[]
			GET L/kubernetes-cluster/apps/kubeconfig -> 500
			wait 59s
			GET L/kubernetes-cluster/apps -> "display_state":"creating" & "state":"creating" & !"state":"running"
			wait 1s
			GET L/kubernetes-cluster/apps -> "display_state":"running" & "state":"running" & !"state":"creating"
			GET kubernetes-cluster -> "display_state":"running" & !cp_vms
			state {kc apps} creating
			GET kubernetes-cluster -> "display_state":"creating"
			state {kc apps}
			GET L/kubernetes-cluster/apps/kubeconfig -> certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t
			GET L/kubernetes-cluster/apps/kubeconfig -> same
			POST L/kubernetes-cluster/other {"version":"v1.34","worker_size":"standard-2"} ->
			POST L/kubernetes-cluster/other/rename {"name":"apps"} -> 400 is already taken
			DELETE L/kubernetes-cluster/apps ->
			POST L/kubernetes-cluster/apps/rename {"name":"more"} ->
			POST L/kubernetes-cluster/more/nodepool/apps-np/resize {"node_count":1} -> "name":"apps-np"
			POST L/kubernetes-cluster/other/nodepool/{kn apps-np}/resize {"node_count":1} -> 404
			wait 39s
			GET L/kubernetes-cluster/more -> "display_state":"deleting" & "state":"running"
			wait 1s
			GET L/kubernetes-cluster/more -> 404`, contractOnly, delays()),
		"refused": script(`
			POST L/kubernetes-cluster/a {"version":" ","worker_size":"x"} -> 400 empty string provided for parameter version
			POST L/kubernetes-cluster/a {"version":"x","worker_size":""} -> 400 empty string provided for parameter worker_size
			POST L/kubernetes-cluster/a {"version":"x","worker_size":"i8g.large"} -> 400 is not a valid virtual machine size. Available sizes: [\"standard-2\", \"standard-4\"
			POST L/kubernetes-cluster/a {"version":"x","worker_size":"standard-2","worker_nodes":5} -> 400 "worker_nodes":"Insufficient quota
			POST L/kubernetes-cluster/a {"version":"x","worker_size":"standard-60","worker_nodes":4611686018427387904} -> 400 "worker_nodes":"Insufficient quota
			POST L/kubernetes-cluster/a {"version":"v1.34","worker_size":"standard-2","cp_nodes":2} -> 400 control_plane_node_count
			POST L/kubernetes-cluster/kc164pbm96ba3grq6vbsvjb3ax {"version":"v1.34","worker_size":"standard-2"} -> 400 name cannot be exactly 26
			POST L/kubernetes-cluster/a12345678901234567890123456789012345678901 {"version":"v1.34","worker_size":"standard-2"} -> 400 have max length 40.
			POST L/kubernetes-cluster/a {"version":"v1.34","worker_size":"premium-8","cp_nodes":0,"worker_nodes":-1} ->
			POST L/kubernetes-cluster/a/rename {"name":" 80 "} -> 400 Kubernetes cluster name must only contain
			POST L/kubernetes-cluster/a/rename {"name":" "} -> 400 empty string provided for parameter name
			POST L/kubernetes-cluster/b {"version":"v1.34","worker_size":"burstable-1"} -> 400 currently used vCPU count: 10,`,
			contractOnly, cloudapitest.WithQuota(cloudapitest.Quota{Kubernetes: 10})),
		"quota": script(`
			POST L/kubernetes-cluster/a {"version":"v1.34","worker_size":"standard-4"} ->
			POST L/kubernetes-cluster/b {"version":"v1.34","worker_size":"standard-4","worker_nodes":2} ->
			POST L/kubernetes-cluster/a/nodepool/a-np/resize {"node_count":3} -> 400 Requested vCPU count: 8, currently used vCPU count: 16, maximum allowed vCPU count: 20, remaining vCPU count: 4
			POST L/kubernetes-cluster/b/nodepool/b-np/resize {"node_count":1} ->
			POST L/kubernetes-cluster/a/nodepool/a-np/resize {"node_count":3} ->
			DELETE L/kubernetes-cluster/a ->
			POST L/kubernetes-cluster/b/nodepool/b-np/resize {"node_count":2} -> 400 Requested vCPU count: 4, currently used vCPU count: 20
			wait 1h
			POST L/kubernetes-cluster/b/nodepool/b-np/resize {"node_count":4} ->`, contractOnly, cloudapitest.WithQuota(cloudapitest.Quota{Kubernetes: 20})),
		"one thing at a time": script(create+`
			wait 1m
			POST L/kubernetes-cluster/apps/nodepool {"name":"more","node_count":1,"node_size":"standard-2"} -> "version":"v1.36" & "vms":[]
			POST L/kubernetes-cluster/apps/upgrade -> 422 Cluster is not ready to be upgraded
			POST L/kubernetes-cluster/apps/nodepool/apps-np/resize {"node_count":2} -> 422 Cluster is not ready to resize a nodepool
			POST L/kubernetes-cluster/apps/nodepool/more/resize {"node_count":2} -> 422 Nodepool is not ready to be resized
			wait 1m
			POST L/kubernetes-cluster/apps/nodepool {"name":"more","node_count":1,"node_size":"standard-2"} -> 400 already exists
			POST L/kubernetes-cluster/apps/nodepool/more/rename {"name":"apps-np"} -> 400 is already taken
			POST L/kubernetes-cluster/apps/nodepool/more/rename {"name":"workers"} ->
			POST L/kubernetes-cluster/apps/nodepool/workers/resize {"node_count":2} ->
			wait 10m
			GET L/kubernetes-cluster/apps -> !"state":"creating"
			POST L/kubernetes-cluster/apps/nodepool/workers/resize {"node_count":3} -> 422
			wait 5m
			DELETE L/kubernetes-cluster/apps/nodepool/workers ->
			DELETE L/kubernetes-cluster/apps/nodepool/apps-np -> 422 You cannot delete the last nodepool
			wait 1h
			GET L/kubernetes-cluster/apps -> !workers
			DELETE L/kubernetes-cluster/apps/nodepool/workers ->
			DELETE L/kubernetes-cluster/apps ->
			POST L/kubernetes-cluster/apps/nodepool {"name":"more","node_count":1,"node_size":"standard-2"} -> 422 Cluster is not ready to add a nodepool
			wait 1h
			DELETE L/kubernetes-cluster/apps/nodepool/apps-np -> 404`, serviceOnly, delays()),
		"today's cluster": script(create+`
			GET L/kubernetes-cluster/apps/kubeconfig -> 422 kubeconfig is not available yet
			POST L/kubernetes-cluster/third {"version":"v1.34","worker_size":"standard-2"} -> 400 Available versions: v1.37, v1.36
			GET L/kubernetes-cluster/apps/metrics -> pending_pods
			GET L/kubernetes-cluster/apps/metrics?key=disk_io -> "key":"disk_io" & !cpu`, serviceOnly),
		"the network": script(create+`
			GET load-balancer -> "count":0
			wait 1m
			GET load-balancer -> "count":1 & "name":"{kc apps}-apiserver" & "src_port":443,"dst_port":6443
			GET L/load-balancer/{kc apps}-apiserver -> "vms":["vm
			DELETE L/private-subnet/{kc apps}-subnet -> 409
			service {kc apps}
			GET L/load-balancer/{kc apps}-services -> "src_port":80,"dst_port":30080 & "vms":["vm
			DELETE L/kubernetes-cluster/apps ->
			wait 41s
			GET L/kubernetes-cluster/apps -> 404
			GET private-subnet -> "count":1
			wait 80s
			GET private-subnet -> "count":0
			GET firewall -> "count":0
			GET load-balancer -> "count":0`, delays()),
		"a cluster that is deleted before it runs": script(create+`
			DELETE L/kubernetes-cluster/apps ->
			wait 50s
			GET L/kubernetes-cluster/apps -> 404
			wait 1h
			GET load-balancer -> "count":0`, delays()),
		"a balancer without ports": script(create+`
			wait 1m
			GET load-balancer -> 500
			GET L/load-balancer -> 500
			GET load-balancer?order_column=name&page_size=1 -> apiserver
			GET load-balancer?order_column=name&page_size=1&start_after={kc apps}-services -> "items":[]
			GET L/load-balancer/{kc apps}-services -> 500
			service {kc apps}
			GET load-balancer -> "count":2
			GET L/load-balancer/{kc apps}-services -> 200`, cloudapitest.WithPortlessBalancers()),
	})
}

// TestNodes follows the nodes of a node pool through resizes, an upgrade and the
// retirement of one. They are no VMs of the project.
func TestNodes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		version string
		steps   []nodesStep
		opts    []cloudapitest.Option
	}{
		"resizes": {"v1.34", []nodesStep{
			{"POST L/kubernetes-cluster/apps/nodepool/apps-np/resize {\"node_count\":3} ->", 0, ""}, // the first nodes are still being created
			{"", time.Hour, "running running creating"},
			{"", time.Minute - 1, "running running creating"},
			{"", 1, "running running running"},
			{"POST L/kubernetes-cluster/apps/nodepool/apps-np/resize {\"node_count\":1} ->", time.Minute - 1, "running running running"}, // two of them are drained
			{"POST L/kubernetes-cluster/apps/nodepool/apps-np/resize {\"node_count\":2} ->", 1, "running creating"},                      // a draining node isn't kept
			{"", time.Minute, "running running"},
			{"POST L/kubernetes-cluster/apps/nodepool/apps-np/resize {\"node_count\":4} ->", time.Second, "running running creating creating"},
			{"POST L/kubernetes-cluster/apps/nodepool/apps-np/resize {\"node_count\":2} ->", 0, "running running creating creating"}, // the oldest leave
			{"", time.Hour, "running running"},
		}, []cloudapitest.Option{contractOnly}},
		"upgrade": {"v1.36", []nodesStep{
			{"", 2 * time.Hour, "running running"},
			{"POST L/kubernetes-cluster/apps/upgrade -> v1.37 & \"display_state\":\"running\"", 0, "running running"},
			{"POST L/kubernetes-cluster/apps/nodepool/apps-np/upgrade -> 422", time.Hour, "running running"},
			{"POST L/kubernetes-cluster/apps/nodepool/apps-np/upgrade -> v1.37 & kubernetes-v1_36", time.Second, "running running new-creating"},
			{"", 30 * time.Second, "running running new-running"},
			{"GET L/kubernetes-cluster/apps -> \"display_state\":\"upgrading\"", 30 * time.Second, "running new-running new-creating"},
			{"GET L/kubernetes-cluster/apps -> \"display_state\":\"running\"", time.Minute, "new-running new-running"},
		}, []cloudapitest.Option{serviceOnly}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, append(tt.opts, cloudapitest.WithDelays(cloudapitest.Delays{Create: time.Hour, Resize: time.Minute}))...)
				play(t, srv, `POST L/kubernetes-cluster/apps {"version":"`+tt.version+`","worker_size":"standard-2","worker_nodes":2} ->`)
				for i, step := range tt.steps {
					play(t, srv, step.do)
					stub.Elapse(step.after)
					k := stub.Must(srv.Client().Kubernetes.Get(t.Context(), here, "apps"))(t)
					var nodes []string
					for _, v := range k.NodePools[0].VMs {
						nodes = append(nodes, strings.TrimPrefix(v.BootImage, "kubernetes-v1_36")+v.State)
					}
					if got := strings.ReplaceAll(strings.Join(nodes, " "), "kubernetes-v1_37", "new-"); got != step.nodes {
						t.Errorf("step %d: the nodes are %q, want %q", i, got, step.nodes)
					}
				}
				k := stub.Must(srv.Client().Kubernetes.Get(t.Context(), here, "apps"))(t)
				node := k.NodePools[0].VMs[0]
				play(t, srv, `
					GET vm -> "count":0
					GET L/vm/`+node.ID+` -> 404`)
				if node.IPv4 == "" || node.IPv4 == k.CPVMs[0].IPv4 || node.StorageSizeGiB == 0 || node.Location != here {
					t.Errorf("the node is %+v", node)
				}
				if name != "upgrade" {
					return
				}
				play(t, srv, `
					POST L/kubernetes-cluster/apps/node/`+node.Name+`/retire -> "node_count":1 & "name":"`+node.Name+`"
					POST L/kubernetes-cluster/apps/node/`+node.Name+`/retire -> 422 is already being retired
					wait 1m
					POST L/kubernetes-cluster/apps/node/`+node.Name+`/retire -> 404`)
				srv.SetState(k.NodePools[0].VMs[1].ID, cloudapi.VMStateNoCapacityAvailable)
				play(t, srv, `
					GET L/kubernetes-cluster/apps -> "state":"no capacity available" & !"name":"`+node.Name+`"
					POST L/kubernetes-cluster/apps/node/`+k.NodePools[0].VMs[1].Name+`/retire -> 422 You cannot retire the last node`)
			})
		})
	}
}

type nodesStep struct {
	do    string // a script
	after time.Duration
	nodes string
}
