package cloudapitest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

func kubernetesOperations() []operation {
	const (
		all   = projectRoute + "/kubernetes-cluster"
		local = locationRoute + "/kubernetes-cluster"
		one   = local + "/{kubernetes_cluster_reference}"
		pool  = one + "/nodepool/{kubernetes_nodepool_reference}"
	)
	var (
		create = closed(required("version", text), required("worker_size", text),
			optional("cp_nodes", integer), optional("worker_nodes", integer))
		resize = closed(required("node_count", integer))
		named  = closed(required("name", text))
	)
	return []operation{
		{name: "Kubernetes.List", method: http.MethodGet, route: all, list: pagedDeclared, handle: listKubernetesClusters},
		{name: "Kubernetes.ListInLocation", method: http.MethodGet, route: local, list: pagedDeclared, handle: listKubernetesClusters},
		{name: "Kubernetes.Get", method: http.MethodGet, route: one, handle: getKubernetesCluster},
		{name: "Kubernetes.Create", method: http.MethodPost, route: one, body: create, handle: createKubernetesCluster},
		{name: "Kubernetes.Delete", method: http.MethodDelete, route: one, handle: deleteKubernetesCluster},
		{name: "Kubernetes.Kubeconfig", method: http.MethodGet, route: one + "/kubeconfig", handle: getKubeconfig},
		{name: "Kubernetes.ResizeNodePool", method: http.MethodPost, route: pool + "/resize", body: resize, handle: resizeNodePool},
		{name: "Kubernetes.Rename", method: http.MethodPost, route: one + "/rename", body: named, handle: renameKubernetesCluster},
	}
}

// kubernetesCluster has one node pool, since there is no operation that makes
// another.
type kubernetesCluster struct {
	object
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

func (c *call) recordKubernetesCluster(k *kubernetesCluster) kubernetesClusterRecord {
	state := "creating"
	if k.runs(c.now) {
		state = "running"
	}
	return kubernetesClusterRecord{
		ID:           k.id,
		Name:         k.name,
		Location:     k.location.name,
		DisplayState: k.shown(state),
		CPNodeCount:  len(k.controlPlane),
		NodeSize:     controlPlaneSize.name,
		Version:      k.version,
	}
}

func (c *call) kubernetesClusterDetails(k *kubernetesCluster) kubernetesClusterDetails {
	return kubernetesClusterDetails{
		kubernetesClusterRecord: c.recordKubernetesCluster(k),
		CPVMs:                   c.recordNodes(k.controlPlane),
		NodePools:               []nodePoolRecord{c.recordNodePool(k)},
	}
}

func (c *call) recordNodePool(k *kubernetesCluster) nodePoolRecord {
	p := k.pool
	return nodePoolRecord{p.id, k.id, p.name, p.count, p.size.name, c.recordNodes(p.nodes)}
}

// recordNodes shows the nodes that have joined and are not gone.
func (c *call) recordNodes(nodes []*vm) []vmRecord {
	shown := []vmRecord{}
	for _, v := range nodes {
		if c.isPlaced(v) && !v.goneBy(c.now) {
			shown = append(shown, c.recordVM(v))
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
func (c *call) newNode(name string, size vmSize, joins time.Time) *vm {
	v := &vm{
		object:     c.newObject(cloudapi.KindVM, name),
		size:       size,
		storage:    size.storage[0],
		unixUser:   "ubi",
		ip4Enabled: true,
	}
	v.project = nil
	v.created = joins.Add(-c.config.delays.Create)
	v.ip4, v.ip6 = c.publicAddresses()
	c.state.add(v)
	return v
}

func findKubernetesCluster(c *call) (*kubernetesCluster, error) {
	return find[*kubernetesCluster](c, cloudapi.KindKubernetesCluster, "kubernetes_cluster_reference")
}

func listKubernetesClusters(c *call) (any, error) {
	return paginate(c, listed(c, cloudapi.KindKubernetesCluster), objectName, c.recordKubernetesCluster)
}

func getKubernetesCluster(c *call) (any, error) {
	k, err := findKubernetesCluster(c)
	if err != nil {
		return nil, err
	}
	return c.kubernetesClusterDetails(k), nil
}

func createKubernetesCluster(c *call) (any, error) {
	name, err := c.newReference(cloudapi.KindKubernetesCluster, "kubernetes_cluster_reference")
	if err != nil {
		return nil, err
	}
	k := &kubernetesCluster{
		object:  c.newObject(cloudapi.KindKubernetesCluster, name),
		running: c.now.Add(c.config.delays.Create),
		pool: &nodePool{
			id:    cloudapi.NewID(cloudapi.KindKubernetesNodePool).String(),
			name:  name + "-np",
			count: c.nodeCount("worker_nodes"),
		},
	}
	controlPlane := c.nodeCount("cp_nodes")
	err = c.run(
		setText(&k.version, "version"),
		k.pool.setSize,
		func(c *call) error {
			requested := controlPlane*controlPlaneSize.vcpus + k.pool.count*k.pool.size.vcpus
			return c.checkKubernetesQuota("worker_nodes", requested)
		},
		k.checkVersion,
		func(*call) error { return checkClusterName(name) },
		func(*call) error {
			if controlPlane != 1 && controlPlane != 3 {
				return invalidField("control_plane_node_count", "Kubernetes cluster control plane can have either 1 or 3 nodes")
			}
			return nil
		},
		func(c *call) error {
			return checkName[*kubernetesCluster](c, cloudapi.KindKubernetesCluster, name, nil)
		},
	)
	if err != nil {
		return nil, err
	}
	for i := range controlPlane {
		k.controlPlane = append(k.controlPlane, c.newNode(k.nodeName("cp", i), controlPlaneSize, k.running))
	}
	c.fill(k, k.running)
	c.state.add(k)
	return c.kubernetesClusterDetails(k), nil
}

// nodeCount returns a number of nodes from the body, 1 unless it is positive.
// One that is out of the question is cut, so that it can be multiplied.
func (c *call) nodeCount(field string) int {
	return min(max(c.body.number(field), 1), math.MaxInt32)
}

func (p *nodePool) setSize(c *call) error {
	name, err := c.body.nonEmpty("worker_size")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(nodeSizes, func(s vmSize) bool { return s.name == name })
	if i < 0 {
		return invalidField("size", "\"%s\" is not a valid virtual machine size. Available sizes: %s", name, rubyStrings(serverSizes()))
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
func (c *call) checkKubernetesQuota(field string, requested int) error {
	used := 0
	for _, k := range inProject[*kubernetesCluster](c.state, cloudapi.KindKubernetesCluster, c.project) {
		used += k.vcpus()
	}
	return checkVCPUs(field, requested, used, c.config.quota.Kubernetes)
}

// checkVersion fails as the real server does for a version that it does not
// have.
func (k *kubernetesCluster) checkVersion(*call) error {
	if !slices.Contains(kubernetesVersions, k.version) {
		return unexpected()
	}
	return nil
}

func checkClusterName(name string) error {
	if len(name) > 40 {
		return invalidField("name", "Kubernetes cluster name must only contain lowercase letters, numbers, spaces, "+
			"and hyphens and have max length 40.")
	}
	return nil
}

func (k *kubernetesCluster) nodeName(role string, index int) string {
	return fmt.Sprintf("%s-%s%d-%s", k.id[:12], role, index, strings.ToLower(rand.Text()[:6]))
}

// fill has as many nodes join the pool at a time as it lacks, or has those
// leave that are too many: the youngest, and at once if they have not joined.
func (c *call) fill(k *kubernetesCluster, joins time.Time) {
	p := k.pool
	p.nodes = slices.DeleteFunc(p.nodes, func(v *vm) bool { return v.goneBy(c.now) })
	staying := slices.DeleteFunc(slices.Clone(p.nodes), func(v *vm) bool { return v.deleting() })
	for i := len(staying); i < p.count; i++ {
		p.nodes = append(p.nodes, c.newNode(k.nodeName("w", i), p.size, joins))
	}
	for _, v := range staying[min(p.count, len(staying)):] {
		var delay time.Duration
		if c.isPlaced(v) {
			delay = c.config.delays.Resize
		}
		c.remove(v, delay, nil)
	}
}

// deleteKubernetesCluster leaves the nodes as they are until the cluster is
// gone.
func deleteKubernetesCluster(c *call) (any, error) {
	k, err := findKubernetesCluster(c)
	if err != nil {
		return deletedOr(err)
	}
	c.remove(k, c.config.delays.Delete, func() {
		for _, v := range slices.Concat(k.controlPlane, k.pool.nodes) {
			c.remove(v, 0, nil)
		}
	})
	return noContent{}, nil
}

// getKubeconfig fails, as the real server does, while there is no node to ask.
func getKubeconfig(c *call) (any, error) {
	k, err := findKubernetesCluster(c)
	switch {
	case err != nil:
		return nil, err
	case !k.runs(c.now):
		return nil, unexpected()
	}
	if k.kubeconfig == "" {
		ca := base64.StdEncoding.EncodeToString([]byte(rootCertificate(k.id, k.running, 10)))
		k.kubeconfig = fmt.Sprintf(kubeconfigForm, ca, k.id, rand.Text())
	}
	return file{"text/plain", k.name + "-kubeconfig.yaml", []byte(k.kubeconfig)}, nil
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

// resizeNodePool changes the number of nodes that are wanted at once; how many
// there are follows.
func resizeNodePool(c *call) (any, error) {
	k, err := findKubernetesCluster(c)
	if err != nil {
		return nil, err
	}
	p, ref := k.pool, c.params["kubernetes_nodepool_reference"]
	if ref != p.id && ref != p.name {
		return nil, notFound()
	}
	if _, err := c.body.positive("node_count"); err != nil {
		return nil, err
	}
	count := c.nodeCount("node_count")
	if err := c.checkKubernetesQuota("node_count", (count-p.count)*p.size.vcpus); err != nil {
		return nil, err
	}
	p.count = count
	c.fill(k, later(c.now, k.running).Add(c.config.delays.Resize))
	return c.recordNodePool(k), nil
}

// renameKubernetesCluster leaves the names of the pool and the nodes.
func renameKubernetesCluster(c *call) (any, error) {
	k, err := findKubernetesCluster(c)
	if err == nil {
		err = checkClusterName(c.body.text("name"))
	}
	if err == nil {
		err = rename(c, cloudapi.KindKubernetesCluster, k)
	}
	if err != nil {
		return nil, err
	}
	return c.recordKubernetesCluster(k), nil
}
