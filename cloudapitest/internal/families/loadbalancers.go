package families

import (
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func loadBalancerOperations() []api.Operation {
	const (
		all   = api.ProjectRoute + "/load-balancer"
		local = api.LocationRoute + "/load-balancer"
		one   = local + "/{load_balancer_reference}"
	)
	var (
		create = schema.Closed(
			schema.Required("algorithm", schema.Text),
			schema.Required("dst_port", schema.Integer),
			schema.Required("health_check_protocol", schema.Text),
			schema.Required("private_subnet_id", schema.Text),
			schema.Required("src_port", schema.Integer),
			schema.Optional("stack", schema.Text),
			schema.Optional("health_check_endpoint", schema.Text),
			schema.Optional("cert_enabled", schema.Boolean).Only(version.Service),
		)
		update = schema.Closed(
			schema.Required("algorithm", schema.Text),
			schema.Required("dst_port", schema.Integer),
			schema.Required("health_check_endpoint", schema.Text),
			schema.Required("src_port", schema.Integer),
			schema.Required("vms", schema.ArrayOf(schema.Text)),
			schema.Optional("stack", schema.Text), // has no effect
			schema.Optional("cert_enabled", schema.Boolean.OrNull()).Only(version.Service),
		)
		member = schema.Closed(schema.Required("vm_id", schema.Text))
		toggle = schema.Closed(schema.Required("cert_enabled", schema.Boolean))
	)
	return []api.Operation{
		api.GET("LoadBalancers.List", all, listLoadBalancers).Paged(api.PagedDeclared),
		api.GET("LoadBalancers.ListInLocation", local, listLoadBalancers).Paged(api.PagedDeclared),
		api.GET("LoadBalancers.Get", one, api.On(findLoadBalancer, (*loadBalancer).show)),
		api.POST("LoadBalancers.Create", one, create, createLoadBalancer),
		api.PATCH("LoadBalancers.Update", one, update, api.On(findLoadBalancer, (*loadBalancer).update)).Only(version.Contract),
		api.PATCH("LoadBalancers.Update", one, update, api.On(findLoadBalancer, (*loadBalancer).updateWithCertificate)).Only(version.Service),
		api.POST("LoadBalancers.SetSSLCertificate", one+"/toggle-ssl-certificate", toggle,
			api.On(findLoadBalancer, (*loadBalancer).toggleCertificate)).Only(version.Service),
		api.DELETE("LoadBalancers.Delete", one, api.Delete(findLoadBalancer, (*loadBalancer).delete)),
		api.POST("LoadBalancers.AttachVM", one+"/attach-vm", member, api.On(findLoadBalancer, (*loadBalancer).attach)).Only(version.Contract),
		api.POST("LoadBalancers.AttachVM", one+"/attach-vm", member, api.On(findLoadBalancer, (*loadBalancer).attachReachable)).Only(version.Service),
		api.POST("LoadBalancers.DetachVM", one+"/detach-vm", member, api.On(findLoadBalancer, (*loadBalancer).detachMember)),
		api.POST("LoadBalancers.Rename", one+"/rename", nameOnly, api.On(findLoadBalancer, (*loadBalancer).rename)),
	}
}

// loadBalancer is in the location of its subnet, even if the path of the
// request that created it had another location.
type loadBalancer struct {
	api.Object
	subnet           *privateSubnet
	algorithm        string
	stack            string
	endpoint         string
	protocol         string
	srcPort, dstPort int
	members          []loadBalancerMember
	certificate      bool // only in the service

	cluster *kubernetesCluster // the cluster that it belongs to, or nil
	purpose string             // "apiserver" or "services" if it belongs to a cluster
}

type loadBalancerMember struct {
	vm    *vm
	until time.Time // end of the detachment; zero if it wasn't requested
}

type loadBalancerRecord struct {
	ID                  string   `json:"id"`
	Name                string   `json:"name"`
	Location            string   `json:"location"`
	Hostname            invented `json:"hostname"`
	Algorithm           string   `json:"algorithm"`
	Stack               string   `json:"stack"`
	HealthCheckEndpoint string   `json:"health_check_endpoint"`
	HealthCheckProtocol string   `json:"health_check_protocol"`
	SrcPort             int      `json:"src_port"`
	DstPort             int      `json:"dst_port"`
	CertEnabled         *bool    `json:"cert_enabled,omitempty"` // not in the contract
}

type loadBalancerDetails struct {
	loadBalancerRecord
	Subnet string   `json:"subnet"`
	VMs    []string `json:"vms"`
}

func (l *loadBalancer) hostname(at *api.Moment) string {
	if k := l.cluster; k != nil {
		return k.Name + "-" + l.purpose + "-" + k.ID[len(k.ID)-5:] + ".k8s.localhost"
	}
	if at.Config.Version == version.Contract {
		return l.Name + "." + l.subnet.ID[len(l.subnet.ID)-5:] + ".lb.localhost"
	}
	return l.Name + "." + l.ID + ".lb.localhost"
}

func (l *loadBalancer) record(at *api.Moment) loadBalancerRecord {
	return loadBalancerRecord{
		ID:                  l.ID,
		Name:                l.Name,
		Location:            l.Location.Name,
		Hostname:            invented(l.hostname(at)),
		Algorithm:           l.algorithm,
		Stack:               l.stack,
		HealthCheckEndpoint: l.endpoint,
		HealthCheckProtocol: l.protocol,
		SrcPort:             l.srcPort,
		DstPort:             l.dstPort,
		CertEnabled:         api.InService(at, l.certificate),
	}
}

func (l *loadBalancer) details(at *api.Moment) loadBalancerDetails {
	return loadBalancerDetails{
		loadBalancerRecord: l.record(at),
		Subnet:             l.subnet.Name,
		VMs:                api.Records(l.vms(at), func(v *vm) string { return v.ID }),
	}
}

// load recognizes the load balancers of a cluster by their names.
func (r *loadBalancerDetails) load(l *loader) error {
	o, err := l.objectIn(r.Location, r.ID, r.Name)
	if err != nil {
		return err
	}
	s, err := l.subnetNamed(r.Subnet)
	if err != nil {
		return err
	}
	b := &loadBalancer{
		Object: o, subnet: s, algorithm: r.Algorithm, stack: r.Stack, endpoint: r.HealthCheckEndpoint, protocol: r.HealthCheckProtocol,
		srcPort: r.SrcPort, dstPort: r.DstPort, certificate: r.CertEnabled != nil && *r.CertEnabled,
	}
	if k := s.cluster; k != nil && (r.Name == k.ID+"-apiserver" || r.Name == k.ID+"-services") {
		b.cluster, b.purpose = k, strings.TrimPrefix(r.Name, k.ID+"-")
		if b.purpose == "services" {
			k.services = b
		}
	}
	for _, id := range r.VMs {
		if v, ok := l.State.ByID[id].(*vm); ok && b.cluster == nil {
			b.members = append(b.members, loadBalancerMember{vm: v})
		}
	}
	l.State.Add(b)
	return nil
}

func (l *loadBalancer) vms(at *api.Moment) []*vm {
	if l.cluster == nil {
		return api.Records(l.attached(at.Now), func(m loadBalancerMember) *vm { return m.vm })
	}
	if l.purpose == "apiserver" {
		return l.cluster.controlPlane.visibleNodes(at)
	}
	var vms []*vm
	for _, p := range l.cluster.pools {
		vms = append(vms, p.visibleNodes(at)...)
	}
	return vms
}

// portless reports whether the load balancer has no ports, since its cluster
// has no Service. The real server responds with a 500 for such a load balancer:
// its record fails the server's validation of responses.
func (l *loadBalancer) portless() bool { return l.srcPort == 0 }

func listLoadBalancers(c *api.Call) (any, error) {
	portless := false
	page, err := api.Paginate(c, api.Listed(cloudapi.KindLoadBalancer), api.ObjectName, func(l *loadBalancer, at *api.Moment) loadBalancerRecord {
		portless = portless || l.portless()
		return l.record(at)
	})
	if portless {
		return nil, reply.Unexpected()
	}
	return page, err
}

func (l *loadBalancer) show(c *api.Call) (any, error) {
	if l.portless() {
		return nil, reply.Unexpected()
	}
	return l.details(c.Moment), nil
}

// attached returns the members that haven't left.
func (l *loadBalancer) attached(now time.Time) []loadBalancerMember {
	return slices.DeleteFunc(slices.Clone(l.members), func(m loadBalancerMember) bool { return m.leftBy(now) })
}

func (m loadBalancerMember) leftBy(now time.Time) bool {
	return !m.until.IsZero() && !now.Before(m.until) || m.vm.GoneBy(now)
}

func (l *loadBalancer) memberIndex(now time.Time, v *vm) int {
	return slices.IndexFunc(l.members, func(m loadBalancerMember) bool { return m.vm == v && !m.leftBy(now) })
}

func (v *vm) balancer(at *api.Moment) *loadBalancer {
	for _, l := range api.InProject[*loadBalancer](at.State, cloudapi.KindLoadBalancer, v.Project) {
		if l.memberIndex(at.Now, v) >= 0 {
			return l
		}
	}
	return nil
}

func (s *privateSubnet) balancers(at *api.Moment) []*loadBalancer {
	return api.Where(at.State, cloudapi.KindLoadBalancer, s.Project, func(l *loadBalancer) bool { return l.subnet == s })
}

// detach removes the VM, if it's a member, after a delay in which its
// connections end.
func (l *loadBalancer) detach(at *api.Moment, v *vm) {
	if i := l.memberIndex(at.Now, v); i >= 0 && l.members[i].until.IsZero() {
		until := at.Now.Add(at.Delays(&l.Object).Detach)
		l.members[i].until = until
		at.Schedule(until, func(at *api.Moment) { l.members = l.attached(at.Now) })
	}
}

func (l *loadBalancer) destroy(at *api.Moment) { at.Remove(l, at.Delays(&l.Object).Delete) }

func findLoadBalancer(c *api.Call) (*loadBalancer, error) {
	return api.Find[*loadBalancer](c, cloudapi.KindLoadBalancer, "load_balancer_reference")
}

func createLoadBalancer(c *api.Call) (any, error) {
	name, err := c.NewReference(cloudapi.KindLoadBalancer, "load_balancer_reference")
	if err != nil {
		return nil, err
	}
	l := &loadBalancer{
		Object:   c.NewObject(cloudapi.KindLoadBalancer, name),
		endpoint: c.Choice("health_check_endpoint", "/up"),
	}
	err = c.Run(
		api.SetText(&l.algorithm, "algorithm"),
		api.SetText(&l.protocol, "health_check_protocol"),
		l.setStack,
		api.SetPositive(&l.srcPort, "src_port"),
		api.SetPositive(&l.dstPort, "dst_port"),
		l.setSubnet, l.checkStack, l.checkPorts,
		func(c *api.Call) error { return l.validate(c, name) },
	)
	if err != nil {
		return nil, err
	}
	l.certificate = l.protocol == "https"
	if c.Body.Has("cert_enabled") {
		l.certificate = c.Body.Flag("cert_enabled")
	}
	c.State.Add(l)
	c.Log("create", l.ID)
	return l.details(c.Moment), nil
}

// setStack requires a stack, which is optional in the contract.
func (l *loadBalancer) setStack(c *api.Call) error {
	if l.stack = "dual"; c.Config.Version == version.Contract && !c.Body.Has("stack") {
		return nil
	}
	return api.SetText(&l.stack, "stack")(c)
}

// setSubnet accepts a subnet in any location.
func (l *loadBalancer) setSubnet(c *api.Call) error {
	s, ok := api.FindByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, c.Body.Text("private_subnet_id"))
	if !ok {
		return reply.InvalidField("private_subnet_id", "Private subnet not found")
	}
	l.subnet, l.Location = s, s.Location
	return nil
}

func (l *loadBalancer) checkStack(*api.Call) error {
	if options := []string{"ipv4", "ipv6", "dual"}; !slices.Contains(options, l.stack) {
		return reply.InvalidField("stack", "\"%s\" is not a valid load balancer stack option. Available options: %s",
			l.stack, strings.Join(options, ", "))
	}
	return nil
}

func (l *loadBalancer) checkPorts(*api.Call) error {
	for _, port := range []struct {
		field  string
		number int
	}{{"src_port", l.srcPort}, {"dst_port", l.dstPort}} {
		if port.number > maxPort {
			return reply.InvalidField(port.field, "Port must be between 0 to 65535")
		}
	}
	return nil
}

// validate checks the load balancer, which is about to get the name, and reports
// all problems in one message. Names are unique in a subnet.
func (l *loadBalancer) validate(c *api.Call, name string) error {
	var problems []string
	if slices.ContainsFunc(l.subnet.balancers(c.Moment), func(o *loadBalancer) bool { return o.ID != l.ID && o.Name == name }) {
		problems = append(problems, reply.Taken("private_subnet_id and name"))
	}
	for _, choice := range []struct {
		field, value string
		supported    []string
	}{
		{"algorithm", l.algorithm, []string{"hash_based", "round_robin"}},
		{"health_check_protocol", l.protocol, []string{"http", "https", "tcp"}},
	} {
		if !slices.Contains(choice.supported, choice.value) {
			problems = append(problems, choice.field+" is not one of the supported values ("+strings.Join(choice.supported, ", ")+")")
		}
	}
	return reply.InvalidRecord(append(problems, api.IDLikeNameProblems(cloudapi.KindLoadBalancer, name)...)...)
}

// update removes members immediately, unlike detach.
func (l *loadBalancer) update(c *api.Call) (any, error) {
	err := api.Change(l, func(changed *loadBalancer) error {
		return c.Run(
			api.SetText(&changed.algorithm, "algorithm"),
			api.SetText(&changed.endpoint, "health_check_endpoint"),
			api.SetPositive(&changed.srcPort, "src_port"),
			api.SetPositive(&changed.dstPort, "dst_port"),
			func(c *api.Call) error { return changed.validate(c, l.Name) },
			changed.checkPorts,
			func(c *api.Call) (err error) {
				changed.members, err = l.membersInBody(c)
				return err
			},
		)
	})
	if err != nil {
		return nil, err
	}
	c.Log("update", l.ID)
	return l.details(c.Moment), nil
}

// updateWithCertificate requires cert_enabled, which is optional in the API
// description.
func (l *loadBalancer) updateWithCertificate(c *api.Call) (any, error) {
	if !c.Body.Has("cert_enabled") {
		return nil, reply.InvalidRequest("missing parameter for cert_enabled")
	}
	if _, err := l.update(c); err != nil {
		return nil, err
	}
	l.certificate = c.Body.Flag("cert_enabled")
	return l.details(c.Moment), nil
}

func (l *loadBalancer) toggleCertificate(c *api.Call) (any, error) {
	wanted := c.Body.Flag("cert_enabled")
	switch {
	case wanted && !l.certificate:
		c.Log("enable_ssl", l.ID)
	case !wanted && l.certificate:
		c.Log("disable_ssl", l.ID)
	}
	l.certificate = wanted
	return l.details(c.Moment), nil
}

// membersInBody accepts VMs in any location.
func (l *loadBalancer) membersInBody(c *api.Call) ([]loadBalancerMember, error) {
	var vms []*vm
	for _, id := range c.Body.List("vms") {
		v, ok := api.FindByID[*vm](c, cloudapi.KindVM, id.(string))
		if !ok || slices.Contains(vms, v) {
			return nil, reply.InvalidField("vms", "VM not found")
		}
		vms = append(vms, v)
	}
	var members []loadBalancerMember
	for _, v := range vms {
		switch v.balancer(c.Moment) {
		case nil:
			members = append(members, loadBalancerMember{vm: v})
		case l:
			members = append(members, l.members[l.memberIndex(c.Now, v)])
		default:
			return nil, reply.InvalidField("vms", "VM is already attached to a load balancer")
		}
	}
	return members, nil
}

func (l *loadBalancer) delete(c *api.Call) error {
	l.destroy(c.Moment)
	c.Log("destroy", l.ID)
	return nil
}

// attach accepts a VM in any subnet of the load balancer's location.
func (l *loadBalancer) attach(c *api.Call) (any, error) {
	v, err := l.vmInBody(c)
	switch {
	case err != nil:
		return nil, err
	case v.balancer(c.Moment) != nil:
		return nil, reply.InvalidField("vm_id", "VM is already attached to a load balancer")
	}
	l.members = append(l.members, loadBalancerMember{vm: v})
	c.Log("attach_vm", l.ID, v.ID)
	return l.details(c.Moment), nil
}

// attachReachable is [loadBalancer.attach] for the service, which refuses a VM
// without IPv4 unless the load balancer is for IPv6 only.
func (l *loadBalancer) attachReachable(c *api.Call) (any, error) {
	if v, err := l.vmInBody(c); err == nil && v.balancer(c.Moment) == nil && l.stack != "ipv6" && !v.ip4Enabled {
		return nil, reply.InvalidField("vm_id", "You cannot attach a VM to a load balancer with IPv4 enabled if the VM does not have IPv4 enabled")
	}
	return l.attach(c)
}

func (l *loadBalancer) detachMember(c *api.Call) (any, error) {
	v, err := l.vmInBody(c)
	if err != nil {
		return nil, err
	}
	l.detach(c.Moment, v)
	c.Log("detach_vm", l.ID, v.ID)
	return l.details(c.Moment), nil
}

func (l *loadBalancer) vmInBody(c *api.Call) (*vm, error) {
	v, ok := api.FindByID[*vm](c, cloudapi.KindVM, c.Body.Text("vm_id"))
	if !ok || v.Location != l.Location {
		return nil, reply.InvalidField("vm_id", "No matching VM found in %s", l.Location.Name)
	}
	return v, nil
}

// rename also changes the hostname.
func (l *loadBalancer) rename(c *api.Call) (any, error) {
	name, err := c.NewName()
	if err == nil {
		err = l.validate(c, name)
	}
	if err != nil {
		return nil, err
	}
	c.Rename(l, name)
	return l.record(c.Moment), nil
}
