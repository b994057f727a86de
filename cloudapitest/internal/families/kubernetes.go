package families

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/ruby"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func kubernetesOperations() []api.Operation {
	const (
		all   = api.ProjectRoute + "/kubernetes-cluster"
		local = api.LocationRoute + "/kubernetes-cluster"
		one   = local + "/{kubernetes_cluster_reference}"
		pool  = one + "/nodepool/{kubernetes_nodepool_reference}"
	)
	var (
		create = schema.Closed(schema.Required("version", schema.Text), schema.Required("worker_size", schema.Text),
			schema.Optional("cp_nodes", schema.Integer), schema.Optional("worker_nodes", schema.Integer))
		resize = schema.Closed(schema.Required("node_count", schema.Integer))
		named  = schema.Closed(schema.Required("name", schema.Text))
	)
	return []api.Operation{
		api.GET("Kubernetes.List", all, api.List(cloudapi.KindKubernetesCluster, (*kubernetesCluster).record)).Paged(api.PagedDeclared),
		api.GET("Kubernetes.ListInLocation", local, api.List(cloudapi.KindKubernetesCluster, (*kubernetesCluster).record)).Paged(api.PagedDeclared),
		api.GET("Kubernetes.Get", one, api.Show(findKubernetesCluster, (*kubernetesCluster).details)),
		api.POST("Kubernetes.Create", one, create, createKubernetesCluster),
		api.DELETE("Kubernetes.Delete", one, api.Delete(findKubernetesCluster, (*kubernetesCluster).delete)),
		api.GET("Kubernetes.Kubeconfig", one+"/kubeconfig", api.On(findKubernetesCluster, (*kubernetesCluster).file)).Needs("KubernetesCluster:edit"),
		api.POST("Kubernetes.ResizeNodePool", pool+"/resize", resize, api.On(findKubernetesCluster, (*kubernetesCluster).resizePool)),
		api.POST("Kubernetes.Rename", one+"/rename", named, api.On(findKubernetesCluster, (*kubernetesCluster).rename)),
	}
}

// kubernetesCluster has one node pool, since there is no operation that makes
// another.
type kubernetesCluster struct {
	api.Object
	version      string
	running      time.Time // when creating is over
	controlPlane []*vm
	pool         *nodePool
	kubeconfig   string // made when it is first shown
}

type nodePool struct {
	id, name string
	size     vmSize
	count    int   // of nodes, as it shall be
	nodes    []*vm // also those that have not joined yet or are gone
}

var (
	kubernetesVersions = []string{"v1.34", "v1.33"}
	controlPlaneSize   = vmSizes[0]

	// nodeSizes are the sizes for worker nodes. VMs cannot have all of them.
	nodeSizes = slices.Concat(vmSizes, []vmSize{
		{"premium-2", "premium", 2, [2]int{40, 80}},
		{"premium-4", "premium", 4, [2]int{80, 160}},
		{"premium-8", "premium", 8, [2]int{160, 320}},
		{"premium-16", "premium", 16, [2]int{320, 640}},
		{"premium-30", "premium", 30, [2]int{600, 1200}},
	})
)

type kubernetesClusterRecord struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Location     string `json:"location"`
	DisplayState string `json:"display_state"`
	CPNodeCount  int    `json:"cp_node_count"`
	NodeSize     string `json:"node_size"`
	Version      string `json:"version"`
}

type kubernetesClusterDetails struct {
	kubernetesClusterRecord
	CPVMs     []vmRecord       `json:"cp_vms"`
	NodePools []nodePoolRecord `json:"nodepools"`
}

type nodePoolRecord struct {
	ID                  string     `json:"id"`
	KubernetesClusterID string     `json:"kubernetes_cluster_id"`
	Name                string     `json:"name"`
	NodeCount           int        `json:"node_count"`
	NodeSize            string     `json:"node_size"`
	VMs                 []vmRecord `json:"vms"`
}

func (k *kubernetesCluster) record(c *api.Call) kubernetesClusterRecord {
	state := "creating"
	if k.runs(c.Now) {
		state = "running"
	}
	return kubernetesClusterRecord{
		ID:           k.ID,
		Name:         k.Name,
		Location:     k.Location.Name,
		DisplayState: k.Shown(state),
		CPNodeCount:  len(k.controlPlane),
		NodeSize:     controlPlaneSize.name,
		Version:      k.version,
	}
}

func (k *kubernetesCluster) details(c *api.Call) kubernetesClusterDetails {
	return kubernetesClusterDetails{
		kubernetesClusterRecord: k.record(c),
		CPVMs:                   recordNodes(c, k.controlPlane),
		NodePools:               []nodePoolRecord{k.recordPool(c)},
	}
}

func (k *kubernetesCluster) recordPool(c *api.Call) nodePoolRecord {
	p := k.pool
	return nodePoolRecord{p.id, k.ID, p.name, p.count, p.size.name, recordNodes(c, p.nodes)}
}

// recordNodes shows the nodes that are not gone. Those that a request orders are
// there after its reply, and creating until they join.
func recordNodes(c *api.Call, nodes []*vm) []vmRecord {
	shown := []vmRecord{}
	for _, v := range nodes {
		if (v.isPlaced(c) || c.Now.After(v.ordered)) && !v.GoneBy(c.Now) {
			shown = append(shown, v.record(c))
		}
	}
	return shown
}

func (k *kubernetesCluster) runs(now time.Time) bool { return !now.Before(k.running) }

// vcpus is what the cluster counts for in the quota.
func (k *kubernetesCluster) vcpus() int {
	return len(k.controlPlane)*controlPlaneSize.vcpus + k.pool.count*k.pool.size.vcpus
}

// newNode adds a node that joins, running, at the time. Nodes are VMs of the
// service's own: they have no project, so that no operation on VMs finds them.
func newNode(c *api.Call, name string, size vmSize, joins time.Time) *vm {
	v := &vm{
		Object:     c.NewObject(cloudapi.KindVM, name),
		size:       size,
		storage:    size.storage[0],
		unixUser:   "ubi",
		ip4Enabled: true,
	}
	v.Project = nil
	v.placed, v.ordered = joins, c.Now
	v.ip4, v.ip6 = publicAddresses(c)
	c.State.Add(v)
	return v
}

func findKubernetesCluster(c *api.Call) (*kubernetesCluster, error) {
	return api.Find[*kubernetesCluster](c, cloudapi.KindKubernetesCluster, "kubernetes_cluster_reference")
}

func createKubernetesCluster(c *api.Call) (any, error) {
	name, err := newBilled(c, cloudapi.KindKubernetesCluster, "kubernetes_cluster_reference")
	if err != nil {
		return nil, err
	}
	k := &kubernetesCluster{
		Object: c.NewObject(cloudapi.KindKubernetesCluster, name),
		pool: &nodePool{
			id:    cloudapi.NewID(cloudapi.KindKubernetesNodePool).String(),
			name:  name + "-np",
			count: nodeCount(c, "worker_nodes"),
		},
	}
	k.running = c.Now.Add(c.Delays(&k.Object).Create)
	controlPlane := nodeCount(c, "cp_nodes")
	err = c.Run(
		api.SetText(&k.version, "version"),
		k.pool.setSize,
		func(c *api.Call) error {
			requested := controlPlane*controlPlaneSize.vcpus + k.pool.count*k.pool.size.vcpus
			return checkKubernetesQuota(c, "worker_nodes", requested)
		},
		k.checkVersion,
		func(*api.Call) error { return checkClusterName(name) },
		func(*api.Call) error {
			if controlPlane != 1 && controlPlane != 3 {
				return reply.InvalidField("control_plane_node_count", "Kubernetes cluster control plane can have either 1 or 3 nodes")
			}
			return nil
		},
		func(c *api.Call) error {
			return api.CheckName[*kubernetesCluster](c, cloudapi.KindKubernetesCluster, name, nil)
		},
	)
	if err != nil {
		return nil, err
	}
	for i := range controlPlane {
		k.controlPlane = append(k.controlPlane, newNode(c, k.nodeName("cp", i), controlPlaneSize, k.running))
	}
	k.fill(c, k.running)
	c.State.Add(k)
	return k.details(c), nil
}

// nodeCount returns a number of nodes from the body, 1 unless it is positive. One
// that is out of the question is cut, so that it can be multiplied.
func nodeCount(c *api.Call, field string) int {
	return min(max(c.Body.Number(field), 1), math.MaxInt>>7)
}

func (p *nodePool) setSize(c *api.Call) error {
	name, err := c.Body.NonEmpty("worker_size")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(nodeSizes, func(s vmSize) bool { return s.name == name })
	if i < 0 {
		return reply.InvalidField("size", "\"%s\" is not a valid virtual machine size. Available sizes: %s", name, ruby.Strings(serverSizes()))
	}
	p.size = nodeSizes[i]
	return nil
}

// serverSizes are those that a cluster is told to choose from: all that the
// service knows, some of them for two architectures, most of them not for
// clusters.
func serverSizes() []string {
	standard := []string{"standard-2", "standard-4", "standard-8", "standard-16", "standard-30", "standard-60"}
	burstable := []string{"burstable-1", "burstable-2"}
	sizes := slices.Concat(standard, standard, []string{"standard-gpu-6"},
		[]string{"premium-2", "premium-4", "premium-8", "premium-16", "premium-30"}, burstable, burstable)
	for _, family := range []string{"c6gd", "m6id", "m6gd", "m7a", "m8gd", "i8g"} {
		for _, size := range []string{"large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge"} {
			sizes = append(sizes, family+"."+size)
		}
	}
	return sizes
}

// checkKubernetesQuota checks that the project's clusters may use so many more
// vCPUs. Field is the one that asks for them.
func checkKubernetesQuota(c *api.Call, field string, requested int) error {
	used := 0
	for _, k := range api.InProject[*kubernetesCluster](c.State, cloudapi.KindKubernetesCluster, c.Project) {
		used += k.vcpus()
	}
	return checkVCPUs(field, requested, used, c.Config.Quota.Kubernetes)
}

// checkVersion fails as the real server does for a version that it does not have.
func (k *kubernetesCluster) checkVersion(*api.Call) error {
	if !slices.Contains(kubernetesVersions, k.version) {
		return reply.Unexpected()
	}
	return nil
}

// clusterName has room for the names of nodes in 63 characters.
var clusterName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$`)

func checkClusterName(name string) error {
	if !clusterName.MatchString(name) {
		return reply.InvalidField("name", "Kubernetes cluster name must only contain lowercase letters, numbers, spaces, "+
			"and hyphens and have max length 40.")
	}
	return nil
}

func (k *kubernetesCluster) nodeName(role string, index int) string {
	return fmt.Sprintf("%s-%s%d-%s", k.ID[:12], role, index, strings.ToLower(rand.Text()[:6]))
}

// fill has as many nodes join the pool at a time as it lacks, or has those leave
// that are too many: the youngest, and at once if they have not joined.
func (k *kubernetesCluster) fill(c *api.Call, joins time.Time) {
	p := k.pool
	p.nodes = slices.DeleteFunc(p.nodes, func(v *vm) bool { return v.GoneBy(c.Now) })
	staying := slices.DeleteFunc(slices.Clone(p.nodes), func(v *vm) bool { return v.Deleting() })
	for i := len(staying); i < p.count; i++ {
		p.nodes = append(p.nodes, newNode(c, k.nodeName("w", i), p.size, joins))
	}
	for _, v := range staying[min(p.count, len(staying)):] {
		var delay time.Duration
		if v.isPlaced(c) {
			delay = c.Delays(&k.Object).Resize
		}
		c.Remove(v, delay, nil)
	}
}

// delete leaves the nodes as they are until the cluster is gone.
func (k *kubernetesCluster) delete(c *api.Call) error {
	c.Remove(k, c.Delays(&k.Object).Delete, func() {
		for _, v := range slices.Concat(k.controlPlane, k.pool.nodes) {
			c.Remove(v, 0, nil)
		}
	})
	return nil
}

// file fails, as the real server does, while there is no node to ask.
func (k *kubernetesCluster) file(c *api.Call) (any, error) {
	switch {
	case !k.runs(c.Now):
		return nil, reply.Unexpected()
	}
	if k.kubeconfig == "" {
		ca := base64.StdEncoding.EncodeToString([]byte(rootCertificate(k.ID, k.running, 10)))
		k.kubeconfig = fmt.Sprintf(kubeconfigForm, ca, k.ID, rand.Text())
	}
	return reply.File{ContentType: "text/plain", Name: k.Name + "-kubeconfig.yaml", Content: []byte(k.kubeconfig)}, nil
}

const kubeconfigForm = `---
apiVersion: v1
kind: Config
clusters:
- name: kubernetes
  cluster:
    certificate-authority-data: %s
    server: https://%s.k8s.localhost:443
contexts:
- name: admin@kubernetes
  context:
    cluster: kubernetes
    user: admin
current-context: admin@kubernetes
users:
- name: admin
  user:
    token: %s
`

// resizePool changes the number of nodes that are wanted. The reply has that and
// the nodes as they were: those that are too many go after it.
func (k *kubernetesCluster) resizePool(c *api.Call) (any, error) {
	p, ref := k.pool, c.Params["kubernetes_nodepool_reference"]
	if ref != p.id && ref != p.name {
		return nil, reply.NotFound()
	}
	if _, err := c.Body.Positive("node_count"); err != nil {
		return nil, err
	}
	count := nodeCount(c, "node_count")
	if err := checkKubernetesQuota(c, "node_count", (count-p.count)*p.size.vcpus); err != nil {
		return nil, err
	}
	p.count = count
	before := k.recordPool(c)
	k.fill(c, later(c.Now, k.running).Add(c.Delays(&k.Object).Resize))
	return before, nil
}

// rename leaves the names of the pool and the nodes.
func (k *kubernetesCluster) rename(c *api.Call) (any, error) {
	name, err := c.Body.NonEmpty("name")
	if err == nil {
		err = checkClusterName(name)
	}
	if err == nil {
		err = api.Rename(c, cloudapi.KindKubernetesCluster, k)
	}
	if err != nil {
		return nil, err
	}
	return k.record(c), nil
}
