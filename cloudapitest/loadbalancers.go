package cloudapitest

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

func loadBalancerOperations() []operation {
	const (
		all   = projectRoute + "/load-balancer"
		local = locationRoute + "/load-balancer"
		one   = local + "/{load_balancer_reference}"
	)
	var (
		create = closed(
			required("algorithm", text),
			required("dst_port", integer),
			required("health_check_protocol", text),
			required("private_subnet_id", text),
			required("src_port", integer),
			optional("stack", text),
			optional("health_check_endpoint", text),
		)
		update = closed(
			required("algorithm", text),
			required("dst_port", integer),
			required("health_check_endpoint", text),
			required("src_port", integer),
			required("vms", arrayOf(text)),
			optional("stack", text), // does nothing
		)
		member = closed(required("vm_id", text))
		named  = closed(required("name", text))
	)
	return []operation{
		{name: "LoadBalancers.List", method: http.MethodGet, route: all, list: pagedDeclared, handle: listLoadBalancers},
		{name: "LoadBalancers.ListInLocation", method: http.MethodGet, route: local, list: pagedDeclared, handle: listLoadBalancers},
		{name: "LoadBalancers.Get", method: http.MethodGet, route: one, handle: getLoadBalancer},
		{name: "LoadBalancers.Create", method: http.MethodPost, route: one, body: create, handle: createLoadBalancer},
		{name: "LoadBalancers.Update", method: http.MethodPatch, route: one, body: update, handle: updateLoadBalancer},
		{name: "LoadBalancers.Delete", method: http.MethodDelete, route: one, handle: deleteLoadBalancer},
		{name: "LoadBalancers.AttachVM", method: http.MethodPost, route: one + "/attach-vm", body: member, handle: attachVM},
		{name: "LoadBalancers.DetachVM", method: http.MethodPost, route: one + "/detach-vm", body: member, handle: detachVM},
		{name: "LoadBalancers.Rename", method: http.MethodPost, route: one + "/rename", body: named, handle: renameLoadBalancer},
	}
}

// loadBalancer is in the location of its subnet, whatever path it was created
// under.
type loadBalancer struct {
	object
	subnet           *privateSubnet
	algorithm        string
	stack            string
	endpoint         string
	protocol         string
	srcPort, dstPort int
	members          []loadBalancerMember
}

// loadBalancerMember is a VM of a load balancer.
type loadBalancerMember struct {
	vm    *vm
	until time.Time // when it is detached; zero if nobody asked for that
}

type loadBalancerRecord struct {
	ID                  string `json:"id"`
	Name                string `json:"name"`
	Location            string `json:"location"`
	Hostname            string `json:"hostname"`
	Algorithm           string `json:"algorithm"`
	Stack               string `json:"stack"`
	HealthCheckEndpoint string `json:"health_check_endpoint"`
	HealthCheckProtocol string `json:"health_check_protocol"`
	SrcPort             int    `json:"src_port"`
	DstPort             int    `json:"dst_port"`
}

type loadBalancerDetails struct {
	loadBalancerRecord
	Subnet string   `json:"subnet"`
	VMs    []string `json:"vms"`
}

func recordLoadBalancer(l *loadBalancer) loadBalancerRecord {
	return loadBalancerRecord{
		ID:                  l.id,
		Name:                l.name,
		Location:            l.location.name,
		Hostname:            l.name + "." + l.subnet.id[len(l.subnet.id)-5:] + ".lb.localhost",
		Algorithm:           l.algorithm,
		Stack:               l.stack,
		HealthCheckEndpoint: l.endpoint,
		HealthCheckProtocol: l.protocol,
		SrcPort:             l.srcPort,
		DstPort:             l.dstPort,
	}
}

func (c *call) loadBalancerDetails(l *loadBalancer) loadBalancerDetails {
	return loadBalancerDetails{
		loadBalancerRecord: recordLoadBalancer(l),
		Subnet:             l.subnet.name,
		VMs:                records(l.attached(c.now), func(m loadBalancerMember) string { return m.vm.id }),
	}
}

// attached returns the members that have not left yet.
func (l *loadBalancer) attached(now time.Time) []loadBalancerMember {
	l.members = slices.DeleteFunc(l.members, func(m loadBalancerMember) bool {
		detached := !m.until.IsZero() && !now.Before(m.until)
		return detached || m.vm.goneBy(now)
	})
	return l.members
}

// member returns the index of the VM among the members, or -1.
func (l *loadBalancer) member(now time.Time, v *vm) int {
	return slices.IndexFunc(l.attached(now), func(m loadBalancerMember) bool { return m.vm == v })
}

// balancerOf returns the load balancer that has the VM, or nil.
func (c *call) balancerOf(v *vm) *loadBalancer {
	for _, l := range inProject[*loadBalancer](c.state, cloudapi.KindLoadBalancer, c.project) {
		if l.member(c.now, v) >= 0 {
			return l
		}
	}
	return nil
}

// loadBalancersIn returns the subnet's load balancers.
func (c *call) loadBalancersIn(s *privateSubnet) []*loadBalancer {
	return slices.DeleteFunc(inProject[*loadBalancer](c.state, cloudapi.KindLoadBalancer, s.project), func(l *loadBalancer) bool {
		return l.subnet != s
	})
}

// detach has the VM leave, if it is a member, when connections to it have had
// time to end.
func (l *loadBalancer) detach(c *call, v *vm) {
	if i := l.member(c.now, v); i >= 0 && l.members[i].until.IsZero() {
		l.members[i].until = c.now.Add(c.config.delays.Detach)
	}
}

func (l *loadBalancer) destroy(c *call) { c.remove(l, c.config.delays.Delete, nil) }

func findLoadBalancer(c *call) (*loadBalancer, error) {
	return find[*loadBalancer](c, cloudapi.KindLoadBalancer, "load_balancer_reference")
}

func listLoadBalancers(c *call) (any, error) {
	return paginate(c, listed(c, cloudapi.KindLoadBalancer), objectName, recordLoadBalancer)
}

func getLoadBalancer(c *call) (any, error) {
	l, err := findLoadBalancer(c)
	if err != nil {
		return nil, err
	}
	return c.loadBalancerDetails(l), nil
}

func createLoadBalancer(c *call) (any, error) {
	name, err := c.newReference(cloudapi.KindLoadBalancer, "load_balancer_reference")
	if err != nil {
		return nil, err
	}
	l := &loadBalancer{
		object:   c.newObject(cloudapi.KindLoadBalancer, name),
		endpoint: c.choice("health_check_endpoint", "/up"),
	}
	err = c.run(
		setText(&l.algorithm, "algorithm"),
		setText(&l.protocol, "health_check_protocol"),
		setText(&l.stack, "stack"),
		setPositive(&l.srcPort, "src_port"),
		setPositive(&l.dstPort, "dst_port"),
		l.setSubnet, l.checkStack, l.checkPorts, l.checkChoices,
		func(c *call) error { return l.checkName(c, name) },
	)
	if err != nil {
		return nil, err
	}
	c.state.add(l)
	return c.loadBalancerDetails(l), nil
}

// setText returns the step that takes a text from the body which may not be
// blank.
func setText(into *string, name string) func(*call) error {
	return func(c *call) (err error) {
		*into, err = c.body.nonEmpty(name)
		return err
	}
}

// setPositive returns the step that takes a positive number from the body.
func setPositive(into *int, name string) func(*call) error {
	return func(c *call) (err error) {
		*into, err = c.body.positive(name)
		return err
	}
}

// setSubnet takes a subnet in any location.
func (l *loadBalancer) setSubnet(c *call) error {
	s, ok := findByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, c.body.text("private_subnet_id"))
	if !ok {
		return invalidField("private_subnet_id", "Private subnet not found")
	}
	l.subnet, l.location = s, s.location
	return nil
}

func (l *loadBalancer) checkStack(*call) error {
	if options := []string{"ipv4", "ipv6", "dual"}; !slices.Contains(options, l.stack) {
		return invalidField("stack", "\"%s\" is not a valid load balancer stack option. Available options: %s",
			l.stack, strings.Join(options, ", "))
	}
	return nil
}

func (l *loadBalancer) checkPorts(*call) error {
	for _, port := range []struct {
		field  string
		number int
	}{{"src_port", l.srcPort}, {"dst_port", l.dstPort}} {
		if port.number > maxPort {
			return invalidField(port.field, "Port must be between 0 to 65535")
		}
	}
	return nil
}

func (l *loadBalancer) checkChoices(*call) error {
	var problems []string
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
	if problems != nil {
		return invalidRequest("%s", strings.Join(problems, ", "))
	}
	return nil
}

// checkName checks that the load balancer may get the name. Others have it in
// the same subnet only.
func (l *loadBalancer) checkName(c *call, name string) error {
	if looksLikeID(cloudapi.KindLoadBalancer, name) {
		return invalidRequest("%s", idLikeName(cloudapi.KindLoadBalancer))
	}
	for _, o := range c.loadBalancersIn(l.subnet) {
		if o != l && o.name == name {
			return alreadyTaken("private_subnet_id and name")
		}
	}
	return nil
}

// updateLoadBalancer changes everything or nothing, and at once.
func updateLoadBalancer(c *call) (any, error) {
	l, err := findLoadBalancer(c)
	if err != nil {
		return nil, err
	}
	changed := *l
	err = c.run(
		setText(&changed.algorithm, "algorithm"),
		setText(&changed.endpoint, "health_check_endpoint"),
		setPositive(&changed.srcPort, "src_port"),
		setPositive(&changed.dstPort, "dst_port"),
		changed.checkChoices, changed.checkPorts,
		func(c *call) (err error) {
			changed.members, err = l.membersInBody(c)
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	*l = changed
	return c.loadBalancerDetails(l), nil
}

// membersInBody returns the members that the load balancer is to have. They may
// be in any location.
func (l *loadBalancer) membersInBody(c *call) ([]loadBalancerMember, error) {
	var vms []*vm
	for _, id := range c.body.list("vms") {
		v, ok := findByID[*vm](c, cloudapi.KindVM, id.(string))
		if !ok || slices.Contains(vms, v) {
			return nil, invalidField("vms", "VM not found")
		}
		vms = append(vms, v)
	}
	var members []loadBalancerMember
	for _, v := range vms {
		switch c.balancerOf(v) {
		case nil:
			members = append(members, loadBalancerMember{vm: v})
		case l:
			members = append(members, l.members[l.member(c.now, v)])
		default:
			return nil, invalidField("vms", "VM is already attached to a load balancer")
		}
	}
	return members, nil
}

func deleteLoadBalancer(c *call) (any, error) {
	l, err := findLoadBalancer(c)
	if err != nil {
		return deletedOr(err)
	}
	l.destroy(c)
	return noContent{}, nil
}

// attachVM takes a VM in any subnet of the load balancer's location.
func attachVM(c *call) (any, error) {
	l, v, err := findLoadBalancerAndVM(c)
	switch {
	case err != nil:
		return nil, err
	case c.balancerOf(v) != nil:
		return nil, invalidField("vm_id", "VM is already attached to a load balancer")
	}
	l.members = append(l.members, loadBalancerMember{vm: v})
	return c.loadBalancerDetails(l), nil
}

// detachVM does nothing if the load balancer does not have the VM.
func detachVM(c *call) (any, error) {
	l, v, err := findLoadBalancerAndVM(c)
	if err != nil {
		return nil, err
	}
	l.detach(c, v)
	return c.loadBalancerDetails(l), nil
}

// findLoadBalancerAndVM returns the load balancer of the path and the VM of the
// body.
func findLoadBalancerAndVM(c *call) (*loadBalancer, *vm, error) {
	l, err := findLoadBalancer(c)
	if err != nil {
		return nil, nil, err
	}
	v, ok := findByID[*vm](c, cloudapi.KindVM, c.body.text("vm_id"))
	if !ok || v.location != l.location {
		return nil, nil, invalidField("vm_id", "No matching VM found in %s", l.location.name)
	}
	return l, v, nil
}

// renameLoadBalancer changes the hostname, too.
func renameLoadBalancer(c *call) (any, error) {
	l, err := findLoadBalancer(c)
	if err != nil {
		return nil, err
	}
	name, err := c.newName()
	if err == nil {
		err = l.checkName(c, name)
	}
	if err != nil {
		return nil, err
	}
	c.state.index.rename(l, name)
	return recordLoadBalancer(l), nil
}
