package families

import (
	"cmp"
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
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

const (
	kubernetesClusters = api.LocationRoute + "/kubernetes-cluster"
	kubernetesRoute    = kubernetesClusters + "/{kubernetes_cluster_reference}"
)

func kubernetesOperations() []api.Operation {
	create := schema.Closed(schema.Required("version", schema.Text), schema.Required("worker_size", schema.Text),
		schema.Optional("cp_nodes", schema.Integer), schema.Optional("worker_nodes", schema.Integer))
	return slices.Concat([]api.Operation{
		api.GET("Kubernetes.List", api.ProjectRoute+"/kubernetes-cluster", api.List(cloudapi.KindKubernetesCluster, (*kubernetesCluster).record)).Paged(api.PagedDeclared),
		api.GET("Kubernetes.ListInLocation", kubernetesClusters, api.List(cloudapi.KindKubernetesCluster, (*kubernetesCluster).record)).Paged(api.PagedDeclared),
		api.GET("Kubernetes.Get", kubernetesRoute, api.Show(findKubernetesCluster, (*kubernetesCluster).details)),
		api.POST("Kubernetes.Create", kubernetesRoute, create, createKubernetesCluster),
		api.DELETE("Kubernetes.Delete", kubernetesRoute, api.Delete(findKubernetesCluster, (*kubernetesCluster).delete)),
		api.GET("Kubernetes.Kubeconfig", kubernetesRoute+"/kubeconfig", api.On(findKubernetesCluster, (*kubernetesCluster).file)).Needs("KubernetesCluster:edit"),
		api.POST("Kubernetes.Rename", kubernetesRoute+"/rename", nameOnly, api.On(findKubernetesCluster, (*kubernetesCluster).rename)),
		api.GET("Kubernetes.Metrics", kubernetesRoute+"/metrics", showMetrics(findKubernetesCluster, kubernetesMetrics)).Takes(schema.Texts("start", "end", "key")...).Only(version.Service),
		api.POST("Kubernetes.Upgrade", kubernetesRoute+"/upgrade", api.NoBody, api.On(findKubernetesCluster, (*kubernetesCluster).upgrade)).Only(version.Service),
	}, nodePoolOperations())
}

type kubernetesCluster struct {
	api.Object
	controlPlane nodeGroup
	pools        []*nodePool
	running      time.Time // end of the creation
	upgraded     time.Time // the cluster's state is "upgrading" until this time
	kubeconfig   string    // created by the first request for it
	subnet       *privateSubnet
	services     *loadBalancer // the load balancer for Services; added once it has a port, or earlier with PortlessBalancers
}

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
	CPVMs     []vmRecord        `json:"cp_vms"`
	NodePools []nodePoolDetails `json:"nodepools"`
}

func (k *kubernetesCluster) record(at *api.Moment) kubernetesClusterRecord {
	return kubernetesClusterRecord{
		ID:           k.ID,
		Name:         k.Name,
		Location:     k.Location.Name,
		DisplayState: k.Shown(k.state(at.Now)),
		CPNodeCount:  k.controlPlane.count,
		NodeSize:     k.controlPlane.size.name,
		Version:      k.controlPlane.version,
	}
}

func (r *kubernetesClusterDetails) load(l *loader) error {
	o, err := l.objectIn(r.Location, r.ID, r.Name)
	if err != nil {
		return err
	}
	k := &kubernetesCluster{Object: o}
	delays := l.Delays(&k.Object)
	switch r.DisplayState {
	case "creating":
		k.running = l.Now.Add(delays.Create)
	case "upgrading":
		k.upgraded = l.Now.Add(delays.Resize)
	}
	if k.controlPlane, _, err = l.nodes(k, k.ID, r.NodeSize, r.Version, r.CPNodeCount, r.CPVMs); err != nil {
		return err
	}
	for _, rp := range r.NodePools {
		p, err := rp.load(l, k)
		if err != nil {
			return err
		}
		k.pools = append(k.pools, p)
	}
	k.loadNetwork(l)
	l.State.Add(k)
	l.show(k, r.DisplayState, "creating", "running", "upgrading")
	return nil
}

func (r *kubernetesClusterDetails) clean(c *cleaner) {
	for i := range r.CPVMs {
		r.CPVMs[i].clean(c)
	}
	for _, p := range r.NodePools {
		for i := range p.VMs {
			p.VMs[i].clean(c)
		}
	}
}

func (k *kubernetesCluster) state(now time.Time) string {
	switch {
	case !k.runs(now):
		return "creating"
	case now.Before(k.upgraded):
		return "upgrading"
	}
	return "running"
}

func (k *kubernetesCluster) details(at *api.Moment) kubernetesClusterDetails {
	pools := slices.DeleteFunc(slices.Clone(k.pools), func(p *nodePool) bool { return p.GoneBy(at.Now) })
	slices.SortFunc(pools, api.ByName)
	return kubernetesClusterDetails{
		kubernetesClusterRecord: k.record(at),
		CPVMs:                   k.controlPlane.records(at),
		NodePools:               api.Records(pools, api.At(at, (*nodePool).details)),
	}
}

func (k *kubernetesCluster) runs(now time.Time) bool { return !now.Before(k.running) }

// idle reports whether the cluster can be changed. The service refuses a change
// while another one is in progress.
func (k *kubernetesCluster) idle(now time.Time) bool {
	return k.state(now) == "running" && !k.Deleting() &&
		!slices.ContainsFunc(k.pools, func(p *nodePool) bool { return !p.idle(now) })
}

func (k *kubernetesCluster) vcpus() int {
	n := k.controlPlane.vcpus()
	for _, p := range k.pools {
		n += p.vcpus()
	}
	return n
}

func findKubernetesCluster(c *api.Call) (*kubernetesCluster, error) {
	return api.Find[*kubernetesCluster](c, cloudapi.KindKubernetesCluster, "kubernetes_cluster_reference")
}

func createKubernetesCluster(c *api.Call) (any, error) {
	name, err := newBilled(c, cloudapi.KindKubernetesCluster, "kubernetes_cluster_reference")
	if err != nil {
		return nil, err
	}
	k := &kubernetesCluster{Object: c.NewObject(cloudapi.KindKubernetesCluster, name)}
	k.running = c.Now.Add(c.Delays(&k.Object).Create)
	k.controlPlane = nodeGroup{prefix: k.ID, size: controlPlaneSize, count: nodeCount(c, "cp_nodes")}
	var workers nodeGroup
	err = c.Run(
		api.SetText(&k.controlPlane.version, "version"),
		func(c *api.Call) (err error) {
			workers.size, err = nodeSize(c, "worker_size")
			workers.count = nodeCount(c, "worker_nodes")
			return err
		},
		func(c *api.Call) error {
			return checkKubernetesQuota(c, "worker_nodes", k.controlPlane.vcpus()+workers.vcpus())
		},
		k.checkVersion,
		func(c *api.Call) error { return checkClusterName(c.Moment, name) },
		k.checkControlPlane,
		checkKubernetesLocation,
		func(c *api.Call) error {
			return api.CheckNameIsFree[*kubernetesCluster](c, cloudapi.KindKubernetesCluster, name, nil)
		},
	)
	if err != nil {
		return nil, err
	}
	if err := k.addNetwork(c); err != nil {
		return nil, err
	}
	k.controlPlane.grow(c, k.running)
	k.addPool(c, name+"-np", workers, k.running)
	c.State.Add(k)
	c.Log("create", k.ID)
	return k.details(c.Moment), nil
}

// nodeCount returns at least 1. It reduces very large numbers, so that products
// don't overflow.
func nodeCount(c *api.Call, field string) int {
	return min(max(c.Body.Number(field), 1), math.MaxInt>>7)
}

func checkKubernetesQuota(c *api.Call, field string, additional int) error {
	used := 0
	for _, k := range api.InProject[*kubernetesCluster](c.State, cloudapi.KindKubernetesCluster, c.Project) {
		used += k.vcpus()
	}
	return checkVCPUs(field, additional, used, c.Config.Quota.Kubernetes)
}

// kubernetesVersions returns the latest version first.
func kubernetesVersions(at *api.Moment) []string {
	if at.Config.Version == version.Contract {
		return []string{"v1.34", "v1.33"}
	}
	return []string{"v1.37", "v1.36"}
}

// nextVersion returns the version that follows a version, or "". The latest one
// comes first. A copy can have a version that isn't offered any more.
func nextVersion(versions []string, present string) string {
	for _, v := range slices.Backward(versions) {
		if cmp.Or(cmp.Compare(len(v), len(present)), strings.Compare(v, present)) > 0 {
			return v
		}
	}
	return ""
}

func (k *kubernetesCluster) checkVersion(c *api.Call) error {
	versions, asked := kubernetesVersions(c.Moment), k.controlPlane.version
	if !slices.Contains(versions, asked) {
		return reply.InvalidField("version", `Kubernetes version "%s" is not supported. Available versions: %s`, asked, strings.Join(versions, ", "))
	}
	return nil
}

func (k *kubernetesCluster) checkControlPlane(*api.Call) error {
	if n := k.controlPlane.count; n != 1 && n != 3 {
		return reply.InvalidField("control_plane_node_count", "Kubernetes cluster control plane can have either 1 or 3 nodes")
	}
	return nil
}

var clusterName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$`)

func clusterNameInBody(c *api.Call) (string, error) {
	name, err := c.Body.NonEmpty("name")
	if err == nil {
		err = checkClusterName(c.Moment, name)
	}
	return name, err
}

func checkClusterName(at *api.Moment, name string) error {
	if !clusterName.MatchString(name) {
		spaces := map[version.Version]string{version.Contract: "spaces, "}[at.Config.Version] // aren't allowed all the same
		return reply.InvalidField("name", "Kubernetes cluster name must only contain lowercase letters, numbers, %sand hyphens and have max length 40.", spaces)
	}
	return nil
}

// checkKubernetesLocation refuses eu-north-h1 and private locations, except in
// the contract.
func checkKubernetesLocation(c *api.Call) error {
	var names []string
	for _, l := range c.State.Locations {
		if l.Name != "eu-north-h1" && !l.Hidden && l.Owner == nil {
			names = append(names, l.Name)
		}
	}
	if !slices.Contains(names, c.Location.Name) && c.Config.Version == version.Service {
		return reply.InvalidField("location", "Kubernetes clusters are not supported in this location. Available locations: %s", strings.Join(names, ", "))
	}
	return nil
}

func (k *kubernetesCluster) delete(c *api.Call) error {
	c.Remove(k, c.Delays(&k.Object).Delete)
	c.Log("destroy", k.ID)
	return nil
}

// Gone deletes what the cluster consists of.
func (k *kubernetesCluster) Gone(at *api.Moment) {
	k.controlPlane.drop(at)
	for _, p := range slices.Clone(k.pools) {
		p.drop(at)
		at.Remove(p, 0)
	}
	k.dropNetwork(at)
}

// The response of upgrade has the new version, but is otherwise from before the
// upgrade.
func (k *kubernetesCluster) upgrade(c *api.Call) (any, error) {
	next := nextVersion(kubernetesVersions(c.Moment), k.controlPlane.version)
	if next == "" || !k.idle(c.Now) {
		return nil, reply.Unprocessable("Cluster is not ready to be upgraded")
	}
	k.controlPlane.version = next
	before := k.details(c.Moment)
	k.upgraded = k.controlPlane.replace(c, c.Delays(&k.Object).Resize)
	c.Log("upgrade", k.ID)
	return before, nil
}

func (k *kubernetesCluster) file(c *api.Call) (any, error) {
	service, contentType := c.Config.Version == version.Service, "text/plain"
	if service {
		contentType = "text/yaml"
	}
	switch {
	case !k.runs(c.Now) && service:
		return nil, reply.Unprocessable("Cluster is not ready, kubeconfig is not available yet")
	case !k.runs(c.Now):
		return nil, reply.Unexpected()
	}
	if k.kubeconfig == "" {
		ca := base64.StdEncoding.EncodeToString([]byte(rootCertificate(k.ID, k.running, 10)))
		k.kubeconfig = fmt.Sprintf(kubeconfigForm, ca, k.ID, rand.Text())
	}
	return reply.File{ContentType: contentType, Name: k.Name + "-kubeconfig.yaml", Content: []byte(k.kubeconfig), Extended: service}, nil
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

// rename doesn't change the names of node pools and nodes.
func (k *kubernetesCluster) rename(c *api.Call) (any, error) {
	if _, err := clusterNameInBody(c); err != nil {
		return nil, err
	}
	if err := api.Rename(c, cloudapi.KindKubernetesCluster, k); err != nil {
		return nil, err
	}
	return k.record(c.Moment), nil
}
