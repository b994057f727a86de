package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// LoadBalancersService works with load balancers, which distribute TCP
// connections over VMs.
//
// A reference is the ID (prefix 1b) or the name. Names are unique only within a
// subnet. If two load balancers of a location have the same name, a reference
// by name may mean either. Prefer the ID.
type LoadBalancersService service

// LoadBalancer distributes the connections to a port over VMs.
type LoadBalancer struct {
	ID       string `json:"id"`       // prefix 1b
	Name     string `json:"name"`     // unique in its private subnet
	Location string `json:"location"` // that of its private subnet
	Hostname string `json:"hostname"` // begins with the name; Rename changes it

	Algorithm           string `json:"algorithm"`             // one of the LoadBalancerAlgorithm constants
	Stack               string `json:"stack"`                 // one of the LoadBalancerStack constants
	HealthCheckEndpoint string `json:"health_check_endpoint"` // a path such as "/up"
	HealthCheckProtocol string `json:"health_check_protocol"` // one of the LoadBalancerHealthCheck constants

	SrcPort int `json:"src_port"` // where clients connect to
	DstPort int `json:"dst_port"` // where the VMs listen

	// CertEnabled tells whether there is a certificate for the hostname. A
	// server of October 2025 does not send it; there it depends on
	// HealthCheckProtocol.
	CertEnabled bool `json:"cert_enabled,omitzero"`

	// Lists and Rename do not return the remaining fields.
	Subnet string   `json:"subnet"` // the name of its private subnet
	VMs    []string `json:"vms"`    // the IDs of its VMs, even if the server sends records
}

func (l *LoadBalancer) lacks() string               { return lacksID(l.ID) }
func (l *LoadBalancer) cursor(column string) string { return idOrName(column, l.ID, l.Name) }
func (l *LoadBalancer) identity() Resource {
	return Resource{Kind: KindLoadBalancer, ID: l.ID, Location: l.Location, Name: l.Name}
}

// Values of [LoadBalancer.Algorithm].
const (
	LoadBalancerAlgorithmRoundRobin = "round_robin"
	LoadBalancerAlgorithmHashBased  = "hash_based"
)

// Values of [LoadBalancer.Stack].
const (
	LoadBalancerStackIPv4 = "ipv4"
	LoadBalancerStackIPv6 = "ipv6"
	LoadBalancerStackDual = "dual"
)

// Values of [LoadBalancer.HealthCheckProtocol].
const (
	LoadBalancerHealthCheckHTTP  = "http"
	LoadBalancerHealthCheckHTTPS = "https"
	LoadBalancerHealthCheckTCP   = "tcp"
)

// LoadBalancerCreateRequest is the body of [LoadBalancersService.Create].
type LoadBalancerCreateRequest struct {
	// Algorithm is one of the LoadBalancerAlgorithm constants. Required.
	Algorithm string `json:"algorithm"`

	// SrcPort is the port that clients connect to, and DstPort the port on the
	// VMs, both 1 to 65535. Required.
	SrcPort int `json:"src_port"`
	DstPort int `json:"dst_port"`

	// HealthCheckProtocol is one of the LoadBalancerHealthCheck constants. With
	// "https" the server obtains a certificate for the hostname. Required.
	HealthCheckProtocol string `json:"health_check_protocol"`

	// PrivateSubnetID is the ID of the load balancer's subnet. The load
	// balancer is in the location of the subnet, even if Create is called with
	// another one. Required.
	PrivateSubnetID string `json:"private_subnet_id"`

	// Stack is one of the LoadBalancerStack constants. The contract says that
	// it is optional, but the real server requires it: the SDK sends "dual" if
	// it is empty.
	Stack string `json:"stack"`

	// HealthCheckEndpoint is the path of the health check. The server's default
	// is "/up".
	HealthCheckEndpoint string `json:"health_check_endpoint,omitzero"`

	// CertEnabled says whether to have a certificate for the hostname. The
	// default is true if HealthCheckProtocol is "https". A server of October
	// 2025 refuses the field.
	CertEnabled *bool `json:"cert_enabled,omitzero"`
}

func (r LoadBalancerCreateRequest) checkIDs() *ArgumentError {
	return checkID("private_subnet_id", r.PrivateSubnetID)
}

// LoadBalancerUpdateRequest is the body of [LoadBalancersService.Update]. It
// replaces all settings; all fields but Stack and CertEnabled are required.
type LoadBalancerUpdateRequest struct {
	// Algorithm is one of the LoadBalancerAlgorithm constants.
	Algorithm string `json:"algorithm"`

	// SrcPort is the port that clients connect to, and DstPort the port on the
	// VMs, both 1 to 65535.
	SrcPort int `json:"src_port"`
	DstPort int `json:"dst_port"`

	// HealthCheckEndpoint is the path of the health check.
	HealthCheckEndpoint string `json:"health_check_endpoint"`

	// VMs are the IDs of all VMs that the load balancer is to have, each once.
	// The update removes all others; an empty slice removes all. Nil is an
	// [*ArgumentError], since records from a list have nil VMs even if the load
	// balancer has VMs.
	VMs []string `json:"vms"`

	// Stack is in the contract; the real server accepts and ignores it.
	Stack string `json:"stack,omitzero"`

	// CertEnabled says whether to have a certificate for the hostname. Nil
	// means no change. A server of October 2025 refuses the field.
	CertEnabled *bool `json:"cert_enabled,omitzero"`
}

func (r LoadBalancerUpdateRequest) checkIDs() *ArgumentError {
	if r.VMs == nil {
		return &ArgumentError{Name: "vms", Reason: "must not be nil: give the IDs of all VMs, or an empty slice to remove all"}
	}
	for _, id := range r.VMs {
		if err := checkID("vms", id); err != nil {
			return err
		}
	}
	return nil
}

// vmRequest is the body of attaching and detaching a VM.
type vmRequest struct {
	VMID string `json:"vm_id"`
}

func (r vmRequest) checkIDs() *ArgumentError { return checkID("vm_id", r.VMID) }

// certRequest is the body of turning the certificate on and off.
type certRequest struct {
	CertEnabled bool `json:"cert_enabled"`
}

const loadBalancerRoute = locationRoute + "/load-balancer/{load_balancer_reference}"

var (
	opLoadBalancersList           = Operation{"LoadBalancers.List", "GET", projectRoute + "/load-balancer", idempotent | showsPortless}
	opLoadBalancersListInLocation = Operation{"LoadBalancers.ListInLocation", "GET", locationRoute + "/load-balancer", idempotent | showsPortless}
	opLoadBalancersGet            = Operation{"LoadBalancers.Get", "GET", loadBalancerRoute, idempotent | showsPortless}
	opLoadBalancersCreate         = Operation{"LoadBalancers.Create", "POST", loadBalancerRoute, once}
	opLoadBalancersUpdate         = Operation{"LoadBalancers.Update", "PATCH", loadBalancerRoute, idempotent}
	opLoadBalancersDelete         = Operation{"LoadBalancers.Delete", "DELETE", loadBalancerRoute, idempotent}
	opLoadBalancersAttachVM       = Operation{"LoadBalancers.AttachVM", "POST", loadBalancerRoute + "/attach-vm", once}
	opLoadBalancersDetachVM       = Operation{"LoadBalancers.DetachVM", "POST", loadBalancerRoute + "/detach-vm", idempotent}
	opLoadBalancersRename         = Operation{"LoadBalancers.Rename", "POST", loadBalancerRoute + "/rename", idempotent}
	opLoadBalancersToggleSSL      = Operation{"LoadBalancers.ToggleSSLCertificate", "POST", loadBalancerRoute + "/toggle-ssl-certificate", idempotent | august2026}

	listLoadBalancers = listRoutes{project: &opLoadBalancersList, location: &opLoadBalancersListInLocation, unlisted: portlessBalancers}

	loadBalancerFamily = family[LoadBalancer, *LoadBalancer]{lists: &listLoadBalancers, get: &opLoadBalancersGet, del: &opLoadBalancersDelete, pauses: waitQuick, lingers: true, homonyms: true}
)

// List returns one page of the project's load balancers, or of those in
// [ListOptions.Location]. Items lack Subnet and VMs. It returns [ErrServer] if
// the page would contain a load balancer that the service can't show; see All.
func (s *LoadBalancersService) List(ctx context.Context, opts *ListOptions) (*Page[LoadBalancer], error) {
	return list[LoadBalancer](ctx, s.conn, &listLoadBalancers, opts)
}

// All returns the project's load balancers, or those in
// [ListOptions.Location], page by page. Items lack Subnet and VMs.
//
// The service with the August 2026 API can't list the load balancer of a
// Kubernetes cluster that has no Service. If there is one, All returns all
// others and ends with an [*UnlistedError] that names it.
func (s *LoadBalancersService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*LoadBalancer, error] {
	return all[LoadBalancer](ctx, s.conn, &listLoadBalancers, opts)
}

// Watch yields the project's load balancers, or those in
// [WatchOptions.Location], and then their changes, until the context ends.
// Records lack Subnet and VMs, so VMs come and go without an event.
func (s *LoadBalancersService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[LoadBalancer], error] {
	return loadBalancerFamily.watch(ctx, s.conn, opts)
}

// Get returns a load balancer with its subnet and VMs, or [ErrNotFound] if it
// does not exist.
func (s *LoadBalancersService) Get(ctx context.Context, location, loadBalancer string) (*LoadBalancer, error) {
	return fetch[LoadBalancer](ctx, s.conn, &opLoadBalancersGet, location, loadBalancer)
}

// Create makes a load balancer with the given name and no VMs. The record is
// complete at once; traffic is balanced within seconds, or with "https" after a
// certificate was obtained. If the name is taken in the subnet the error is
// [ErrAlreadyExists]. If the subnet does not exist, or is given by its name,
// the error is [ErrInvalidRequest]. If the response is lost it is
// [ErrOutcomeUnknown]: look for the name in the list of the location.
func (s *LoadBalancersService) Create(ctx context.Context, location, name string, request *LoadBalancerCreateRequest) (*LoadBalancer, error) {
	var body LoadBalancerCreateRequest
	if request != nil {
		body = *request
	}
	if body.Stack == "" {
		body.Stack = LoadBalancerStackDual
	}
	return send[LoadBalancer](ctx, s.conn, &opLoadBalancersCreate, body, location, name)
}

// Update replaces all settings of a load balancer, including its VMs, at once.
// To change one setting, take the others from Get: records from a list have no
// VMs, and nil VMs are an [*ArgumentError]. If a VM does not exist, is given
// twice, or belongs to another load balancer, the error is [ErrInvalidRequest].
//
// A server of August 2026 requires cert_enabled, and one of October 2025
// refuses it. If CertEnabled is nil, Update first sends the request without it.
// If the server refuses that because cert_enabled is missing, Update sends the
// request again with the value of the record.
func (s *LoadBalancersService) Update(ctx context.Context, location, loadBalancer string, request *LoadBalancerUpdateRequest) (*LoadBalancer, error) {
	var body LoadBalancerUpdateRequest
	if request != nil {
		body = *request
	}
	updated, err := send[LoadBalancer](ctx, s.conn, &opLoadBalancersUpdate, body, location, loadBalancer)
	if body.CertEnabled == nil && missesCertEnabled(err) {
		current, lookup := s.Get(ctx, location, loadBalancer)
		if lookup != nil {
			return nil, withLookup(err, lookup)
		}
		body.CertEnabled = &current.CertEnabled
		return send[LoadBalancer](ctx, s.conn, &opLoadBalancersUpdate, body, location, loadBalancer)
	}
	return updated, err
}

// missesCertEnabled reports whether a server of August 2026 refused an update
// because cert_enabled was missing.
func missesCertEnabled(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Is(ErrInvalidRequest) && e.Message == "missing parameter for cert_enabled"
}

// Ensure creates a load balancer unless there is one of that name in the
// request's subnet; see [EnsureOptions]. The name must not be an ID. Ensure
// compares ports, algorithm, stack, health_check_protocol,
// health_check_endpoint and cert_enabled. Update changes all of these but the
// stack and the protocol. The update also sends the VMs of the load balancer:
// do not attach others meanwhile. The record of a load balancer that is being
// deleted does not show that: wait until it is gone before you call Ensure.
func (s *LoadBalancersService) Ensure(ctx context.Context, location, name string, request *LoadBalancerCreateRequest, opts *EnsureOptions) (loadBalancer *LoadBalancer, outcome EnsureOutcome, err error) {
	return s.ensurer(location, name, request).ensure(ctx, "LoadBalancers.Ensure", opts)
}

// ensurer returns what Ensure needs to know about load balancers.
func (s *LoadBalancersService) ensurer(location, name string, request *LoadBalancerCreateRequest) ensureSpec[LoadBalancer] {
	if request == nil {
		return ensureSpec[LoadBalancer]{invalid: &ArgumentError{Name: "request", Reason: "must not be nil"}}
	}
	if err := checkIDOf(KindPrivateSubnet, "", "private_subnet_id", request.PrivateSubnetID); err != nil {
		return ensureSpec[LoadBalancer]{invalid: err}
	}
	return ensureSpec[LoadBalancer]{
		location: location,
		name:     name,
		pauses:   loadBalancerFamily.pauses,
		find: func(ctx context.Context) (*LoadBalancer, error) {
			return s.inSubnet(ctx, request.PrivateSubnetID, name)
		},
		create: func(ctx context.Context) (*LoadBalancer, error) { return s.Create(ctx, location, name, request) },
		compare: func(_ context.Context, l *LoadBalancer) (d drift, err error) {
			wantsUpdatable(&d, "algorithm", request.Algorithm, l.Algorithm)
			wantsUpdatable(&d, "src_port", request.SrcPort, l.SrcPort)
			wantsUpdatable(&d, "dst_port", request.DstPort, l.DstPort)
			wants(&d, "health_check_protocol", request.HealthCheckProtocol, l.HealthCheckProtocol)
			wants(&d, "stack", request.Stack, l.Stack)
			wantsUpdatable(&d, "health_check_endpoint", request.HealthCheckEndpoint, l.HealthCheckEndpoint)
			if request.CertEnabled != nil && *request.CertEnabled != l.CertEnabled {
				d = append(d, Drift{Field: "cert_enabled", Wanted: *request.CertEnabled, Found: l.CertEnabled, Updatable: true})
			}
			return d, nil
		},
		update: func(ctx context.Context, l *LoadBalancer, _ drift) (*LoadBalancer, error) {
			return s.Update(ctx, l.Location, l.ID, &LoadBalancerUpdateRequest{
				Algorithm:           cmp.Or(request.Algorithm, l.Algorithm),
				SrcPort:             cmp.Or(request.SrcPort, l.SrcPort),
				DstPort:             cmp.Or(request.DstPort, l.DstPort),
				HealthCheckEndpoint: cmp.Or(request.HealthCheckEndpoint, l.HealthCheckEndpoint),
				VMs:                 l.VMs,
				CertEnabled:         request.CertEnabled,
			})
		},
	}
}

// inSubnet returns the load balancer with a name in a subnet, in the location
// of the subnet. Other subnets of the location may have one with the same name.
func (s *LoadBalancersService) inSubnet(ctx context.Context, subnetID, name string) (*LoadBalancer, error) {
	subnet, err := subnetWithID(ctx, s.conn, subnetID)
	if err != nil {
		return nil, err
	}
	l, err := s.Get(ctx, subnet.Location, name)
	if err == nil && l.Subnet != subnet.Name {
		l, err = s.otherInSubnet(ctx, subnet, name)
	}
	return l, err
}

// otherInSubnet is inSubnet for a name that a load balancer of another subnet in
// the location has.
func (s *LoadBalancersService) otherInSubnet(ctx context.Context, subnet *Resource, name string) (*LoadBalancer, error) {
	for l, err := range s.All(ctx, &ListOptions{Location: subnet.Location}) {
		if isBesides(err, name) {
			break
		}
		if err == nil && l.Name == name {
			l, err = s.Get(ctx, l.Location, l.ID)
		}
		switch {
		case IsGone(err): // deleted since it was listed
		case err != nil:
			return nil, err
		case l.Name == name && l.Subnet == subnet.Name:
			return l, nil
		}
	}
	return nil, fmt.Errorf("cloudapi: load balancer %s in %v: %w", name, *subnet, ErrNotFound)
}

// portlessBalancers returns the load balancers that the service can't show: those
// of Kubernetes clusters without a Service, which have no ports. They outlive
// their cluster for a moment, but not its subnet, so both name them.
func portlessBalancers(ctx context.Context, c *conn, location string) ([]Resource, error) {
	own := map[Resource]bool{}
	add := func(location, cluster string) {
		own[Resource{Kind: KindLoadBalancer, Location: location, Name: cluster + "-services"}] = true
	}
	opts := &ListOptions{Location: location}
	for cluster, err := range all[KubernetesCluster](ctx, c, &listKubernetesClusters, opts) {
		if err != nil {
			return nil, err
		}
		add(cluster.Location, cluster.ID)
	}
	for subnet, err := range all[PrivateSubnet](ctx, c, &listPrivateSubnets, opts) {
		if err != nil {
			return nil, err
		}
		if id, ok := strings.CutSuffix(subnet.Name, "-subnet"); ok && IsID(id, KindKubernetesCluster) {
			add(subnet.Location, id)
		}
	}
	var portless []Resource
	for balancer := range own {
		in, err := c.invoke(&opLoadBalancersGet, nil, []string{balancer.Location, balancer.Name})
		if err == nil {
			in.request.FinalOn500 = true
			_, err = perform[LoadBalancer](ctx, in)
		}
		switch {
		case isUnexpected(err):
			portless = append(portless, balancer)
		case err != nil && !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	return portless, nil
}

// Delete starts to delete a load balancer; [LoadBalancersService.WaitDeleted]
// waits for the end. The record does not show the deletion. Deleting one that
// does not exist is not an error.
func (s *LoadBalancersService) Delete(ctx context.Context, location, loadBalancer string) error {
	return remove(ctx, s.conn, &opLoadBalancersDelete, location, loadBalancer)
}

// AttachVM adds a VM of the same location, given by its ID. If a name is given
// the error is [ErrInvalidRequest]. The error is the same if the VM is already
// attached to a load balancer, even to this one, so the call is not retried
// after a lost response, which is [ErrOutcomeUnknown]: look at VMs with Get. On
// a server of August 2026 the error is also ErrInvalidRequest for a VM without
// an IPv4 address, unless the stack is "ipv6".
func (s *LoadBalancersService) AttachVM(ctx context.Context, location, loadBalancer, vmID string) (*LoadBalancer, error) {
	return send[LoadBalancer](ctx, s.conn, &opLoadBalancersAttachVM, vmRequest{vmID}, location, loadBalancer)
}

// DetachVM starts to remove a VM, given by its ID;
// [LoadBalancersService.WaitVMDetached] waits for the end. The returned record
// may still have the VM. If the VM is not attached the call succeeds. If it
// does not exist the error is [ErrInvalidRequest].
func (s *LoadBalancersService) DetachVM(ctx context.Context, location, loadBalancer, vmID string) (*LoadBalancer, error) {
	return send[LoadBalancer](ctx, s.conn, &opLoadBalancersDetachVM, vmRequest{vmID}, location, loadBalancer)
}

// Rename gives a load balancer another name and another hostname. It returns
// the short form of the record. If the name is taken the error is
// [ErrAlreadyExists]. Pass the ID: only then is the call idempotent.
func (s *LoadBalancersService) Rename(ctx context.Context, location, loadBalancer, newName string) (*LoadBalancer, error) {
	return send[LoadBalancer](ctx, s.conn, &opLoadBalancersRename, renameRequest{newName}, location, loadBalancer)
}

// ToggleSSLCertificate turns the certificate for the hostname of a load
// balancer on or off, and returns the record with the new CertEnabled. The
// certificate itself follows within minutes. If it is already on or off nothing
// changes.
//
// Requires the August 2026 API.
func (s *LoadBalancersService) ToggleSSLCertificate(ctx context.Context, location, loadBalancer string, enabled bool) (*LoadBalancer, error) {
	return send[LoadBalancer](ctx, s.conn, &opLoadBalancersToggleSSL, certRequest{enabled}, location, loadBalancer)
}

// WaitVMDetached waits until a load balancer no longer has a VM that was
// detached or deleted, given by its ID, and returns the load balancer. It fails
// if the load balancer is gone. The error is a [*WaitError], or an
// [*ArgumentError] if vmID is not a VM's ID.
func (s *LoadBalancersService) WaitVMDetached(ctx context.Context, location, loadBalancer, vmID string, opts ...WaitOption) (*LoadBalancer, error) {
	const operation = "LoadBalancers.WaitVMDetached"
	if err := checkIDOf(KindVM, operation, "vm_id", vmID); err != nil {
		return nil, err
	}
	detached := func(l *LoadBalancer) (bool, error) { return !slices.Contains(l.VMs, vmID), nil }
	w := loadBalancerFamily.waiter(s.conn, operation, location, loadBalancer)
	w.done = detached
	return w.run(ctx, opts)
}

// WaitDeleted waits until a deleted load balancer is gone. Call Delete first:
// the record does not show a deletion, so without one WaitDeleted waits until
// the context ends. The error is a [*WaitError].
func (s *LoadBalancersService) WaitDeleted(ctx context.Context, location, loadBalancer string, opts ...WaitOption) error {
	return loadBalancerFamily.waitDeleted(ctx, s.conn, location, loadBalancer, opts)
}
