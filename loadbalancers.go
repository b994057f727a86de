package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/plain"
	"github.com/cloudapi-sdk/cloudapi/internal/tally"
)

// LoadBalancersService manages load balancers, which distribute TCP connections
// over VMs. Refer to one by its ID: names are unique only within a subnet, so a
// name may mean either of two load balancers in a location; GetInSubnet takes
// both.
type LoadBalancersService service

// LoadBalancer accepts TCP connections on SrcPort and distributes them over its
// VMs. The API doesn't show which VMs pass the health check.
type LoadBalancer struct {
	ID                  string `json:"id"`                    // prefix 1b
	Name                string `json:"name"`                  // unique in its private subnet
	Location            string `json:"location"`              // its private subnet's location
	Hostname            string `json:"hostname"`              // begins with the name, and changes with it
	Algorithm           string `json:"algorithm"`             // a constant such as [LoadBalancerAlgorithmRoundRobin]
	Stack               string `json:"stack"`                 // a constant such as [LoadBalancerStackDual]
	HealthCheckEndpoint string `json:"health_check_endpoint"` // a path such as "/up"
	HealthCheckProtocol string `json:"health_check_protocol"` // a constant such as [LoadBalancerHealthCheckProtocolHTTP]
	SrcPort             int    `json:"src_port"`              // the port that clients connect to
	DstPort             int    `json:"dst_port"`              // the port on which the VMs listen
	CertEnabled         bool   `json:"cert_enabled,omitzero"` // whether it has a certificate for the hostname; † only the service

	// Neither lists nor Rename return the fields below.
	Subnet string   `json:"subnet"` // the name of its private subnet; requests have the ID, which PrivateSubnets.Get returns
	VMs    []string `json:"vms"`    // the IDs of its VMs, even if the server sends records of VMs
}

func (l *LoadBalancer) Resource() Resource {
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
	LoadBalancerHealthCheckProtocolHTTP  = "http"
	LoadBalancerHealthCheckProtocolHTTPS = "https"
	LoadBalancerHealthCheckProtocolTCP   = "tcp"
)

// LoadBalancerCreateRequest is the body of [LoadBalancersService.Create].
type LoadBalancerCreateRequest struct {
	Algorithm           string `json:"algorithm"`                      // required; a constant such as [LoadBalancerAlgorithmRoundRobin]
	SrcPort             int    `json:"src_port"`                       // required; the port that clients connect to, 1 to 65535
	DstPort             int    `json:"dst_port"`                       // required; the port on which the VMs listen, 1 to 65535
	HealthCheckProtocol string `json:"health_check_protocol"`          // required; a constant such as [LoadBalancerHealthCheckProtocolHTTP]
	PrivateSubnetID     string `json:"private_subnet_id" id:"ps"`      // required; its location becomes the load balancer's
	Stack               string `json:"stack"`                          // a constant such as [LoadBalancerStackDual]; default "dual", for which each VM needs an IPv4 address
	HealthCheckEndpoint string `json:"health_check_endpoint,omitzero"` // a path; default "/up"
	CertEnabled         *bool  `json:"cert_enabled,omitzero"`          // as in LoadBalancer; default true if health_check_protocol is "https", else false; † only the service
}

// LoadBalancerUpdateRequest is the body of [LoadBalancersService.Update]. The
// fields are as in [LoadBalancerCreateRequest].
type LoadBalancerUpdateRequest struct {
	Algorithm           string   `json:"algorithm"`             // required
	SrcPort             int      `json:"src_port"`              // required
	DstPort             int      `json:"dst_port"`              // required
	HealthCheckEndpoint string   `json:"health_check_endpoint"` // required
	VMs                 []string `json:"vms" id:"vm"`           // required, not nil; the IDs of all VMs, each once
	Stack               string   `json:"stack,omitzero"`        // part of the contract, but the server ignores it
	CertEnabled         *bool    `json:"cert_enabled,omitzero"` // nil changes nothing; † only the service
}

func (r LoadBalancerUpdateRequest) check() *ArgumentError {
	if r.VMs == nil {
		return &ArgumentError{Name: "vms", Reason: "must not be nil: give the IDs of all VMs, or an empty slice to remove all"}
	}
	return nil
}

// vmRequest is the body of AttachVM and DetachVM.
type vmRequest struct {
	VMID string `json:"vm_id" id:"vm"`
}

// certRequest is the body of SetSSLCertificate.
type certRequest struct {
	CertEnabled bool `json:"cert_enabled"`
}

const loadBalancerRoute = locationRoute + "/load-balancer/{load_balancer_reference}"

var (
	opLoadBalancersList           = Operation{"LoadBalancers.List", "GET", projectRoute + "/load-balancer", idempotent}
	opLoadBalancersListInLocation = Operation{"LoadBalancers.ListInLocation", "GET", locationRoute + "/load-balancer", idempotent}
	opLoadBalancersGet            = Operation{"LoadBalancers.Get", "GET", loadBalancerRoute, idempotent}
	opLoadBalancersCreate         = Operation{"LoadBalancers.Create", "POST", loadBalancerRoute, once}
	opLoadBalancersUpdate         = Operation{"LoadBalancers.Update", "PATCH", loadBalancerRoute, idempotent}
	opLoadBalancersDelete         = Operation{"LoadBalancers.Delete", "DELETE", loadBalancerRoute, idempotent}
	opLoadBalancersAttachVM       = Operation{"LoadBalancers.AttachVM", "POST", loadBalancerRoute + "/attach-vm", once}
	opLoadBalancersDetachVM       = Operation{"LoadBalancers.DetachVM", "POST", loadBalancerRoute + "/detach-vm", idempotent}
	opLoadBalancersRename         = Operation{"LoadBalancers.Rename", "POST", loadBalancerRoute + "/rename", idempotent}
	opLoadBalancersSetSSL         = Operation{"LoadBalancers.SetSSLCertificate", "POST", loadBalancerRoute + "/toggle-ssl-certificate", idempotent | serviceOnly}

	listLoadBalancers     = listRoutes{project: &opLoadBalancersList, location: &opLoadBalancersListInLocation}
	listLoadBalancersOnce = listRoutes{project: &opLoadBalancersList, location: &opLoadBalancersListInLocation, noRetryOn500: true}

	loadBalancerFamily = family[LoadBalancer]{lists: &listLoadBalancers, get: &opLoadBalancersGet, del: &opLoadBalancersDelete, pauses: &waitQuick, homonyms: true,
		each: func(ctx context.Context, c *conn, opts *ListOptions) iter.Seq2[*LoadBalancer, error] {
			return (&LoadBalancersService{c}).All(ctx, opts) // unlike other lists, this one can continue after a 500
		}}
)

// List returns one page of the load balancers. It returns [ErrServer] if the
// server can't show a load balancer of the page; see All.
func (s *LoadBalancersService) List(ctx context.Context, opts *ListOptions) (*Page[LoadBalancer], error) {
	page, err := list[LoadBalancer](ctx, s.conn, &listLoadBalancers, opts)
	return page, s.withPortlessHint(ctx, err, listWithAll)
}

// All iterates over the items of List, and ends with an [*UnlistedError] if the
// server can't show one of them.
func (s *LoadBalancersService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*LoadBalancer, error] {
	o := orZero(opts)
	return func(yield func(*LoadBalancer, error) bool) {
		yielded, refused := map[string]bool{}, false
		for l, err := range all[LoadBalancer](ctx, s.conn, &listLoadBalancersOnce, &o) {
			if refused = isUnexpected(err); refused {
				break
			}
			if !yield(l, err) || err != nil {
				return
			}
			yielded[l.ID] = true
		}
		if !refused {
			return
		}
		balancers, err := s.besidesPortless(ctx, o)
		for _, l := range balancers {
			if !yielded[l.ID] && !yield(l, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, s.withPortlessHint(ctx, err, renameBack))
		}
	}
}

// Watch yields load balancers without Subnet and VMs, and then their changes.
func (s *LoadBalancersService) Watch(ctx context.Context, opts *WatchOptions, known ...*LoadBalancer) iter.Seq2[Event[LoadBalancer], error] {
	return loadBalancerFamily.watch(ctx, s.conn, opts, known)
}

// Get returns a load balancer with its subnet and VMs.
func (s *LoadBalancersService) Get(ctx context.Context, location, loadBalancer string) (*LoadBalancer, error) {
	l, err := perform[LoadBalancer](ctx, s.conn, &opLoadBalancersGet, location, loadBalancer)
	if cluster, found := strings.CutSuffix(loadBalancer, "-services"); found && (kinds{KindKubernetesCluster}).hasID(cluster) {
		err = s.withPortlessHint(ctx, err, listWithAll)
	}
	return l, err
}

// Create creates a load balancer without VMs. The load balancer works seconds
// later, or with CertEnabled once the server has obtained the certificate. It
// is in the location of its subnet, whatever location is given. Create returns
// [ErrInvalidRequest] if the subnet doesn't exist. After [ErrOutcomeUnknown],
// look for the name in the list of the subnet's location.
func (s *LoadBalancersService) Create(ctx context.Context, location, name string, request *LoadBalancerCreateRequest) (*LoadBalancer, error) {
	body := orZero(request)
	if body.Stack == "" {
		body.Stack = LoadBalancerStackDual
	}
	in, err := s.conn.invoke(&opLoadBalancersCreate, body, []string{location, name})
	if err != nil {
		return nil, err
	}
	in.want.location = "" // the server creates the load balancer in its subnet's location
	return doRecord[LoadBalancer](ctx, in)
}

// Update replaces all settings of a load balancer, including its VMs. Copy
// unchanged settings from the record that Get returns; records of lists lack
// VMs. It returns [ErrInvalidRequest] if a VM doesn't exist, is given twice, or
// belongs to another load balancer. If CertEnabled is nil and the server
// requires it, as the service does, Update sends two more requests.
func (s *LoadBalancersService) Update(ctx context.Context, location, loadBalancer string, request *LoadBalancerUpdateRequest) (*LoadBalancer, error) {
	body := orZero(request)
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

// missesCertEnabled reports whether the server refused an update because
// cert_enabled is missing. The service requires it.
func missesCertEnabled(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Is(ErrInvalidRequest) && e.Message == "missing parameter for cert_enabled"
}

// Ensure creates a load balancer unless one with the name exists in the
// request's subnet, which must be in the location. It compares the request's
// other fields, and can update all but stack and health_check_protocol. An
// update can detach a VM that another program attaches at the same time. After
// a Delete, call WaitDeleted before Ensure: records don't show that a load
// balancer is being deleted.
func (s *LoadBalancersService) Ensure(ctx context.Context, location, name string, request *LoadBalancerCreateRequest, opts *EnsureOptions) (loadBalancer *LoadBalancer, outcome EnsureOutcome, err error) {
	if request == nil {
		return nil, "", &ArgumentError{Operation: "LoadBalancers.Ensure", Name: "request", Reason: "must not be nil"}
	}
	return loadBalancerFamily.ensure(ctx, s.conn, location, name, ensureSpec[LoadBalancer]{
		request: request,
		find: func(ctx context.Context) (*LoadBalancer, error) {
			return s.inSubnet(ctx, "LoadBalancers.Ensure", location, request.PrivateSubnetID, name)
		},
		create: func(ctx context.Context) (*LoadBalancer, error) { return s.Create(ctx, location, name, request) },
		compare: func(_ context.Context, l *LoadBalancer) (comparison, error) {
			c := compared(request.Compare(l))
			if len(c.drift) > 0 { // an update sends these as they are
				c.skip("vms", l.VMs == nil)
				c.skip("algorithm", l.Algorithm == "")
				c.skip("src_port", l.SrcPort == 0)
				c.skip("dst_port", l.DstPort == 0)
				c.skip("health_check_endpoint", l.HealthCheckEndpoint == "")
			}
			return c, nil
		},
		unshown: []string{"private_subnet_id"},
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
	}, opts)
}

// Compare returns the differences between a load balancer and the request. An
// update removes all but those of stack and health_check_protocol, and with the
// contract cert_enabled, which need a replacement. Compare can't compare
// private_subnet_id.
func (r *LoadBalancerCreateRequest) Compare(l *LoadBalancer) (differences []Drift, uncompared []string) {
	if r == nil {
		return nil, nil
	}
	var c comparison
	wantsUpdatable(&c, "algorithm", r.Algorithm, l.Algorithm)
	wantsUpdatable(&c, "src_port", r.SrcPort, l.SrcPort)
	wantsUpdatable(&c, "dst_port", r.DstPort, l.DstPort)
	wants(&c, "health_check_protocol", r.HealthCheckProtocol, l.HealthCheckProtocol)
	wants(&c, "stack", r.Stack, l.Stack)
	wantsUpdatable(&c, "health_check_endpoint", r.HealthCheckEndpoint, l.HealthCheckEndpoint)
	if r.CertEnabled != nil && *r.CertEnabled != l.CertEnabled {
		c.drift = append(c.drift, Drift{Field: "cert_enabled", Wanted: *r.CertEnabled, Found: l.CertEnabled, Remedy: RemedyUpdate})
	}
	c.skip("private_subnet_id", r.PrivateSubnetID != "")
	return c.result()
}

// inSubnet returns the load balancer that is in the subnet and has the name.
// Other subnets of the location may have load balancers with the same name. It
// returns an error if the subnet is in another location, where the server would
// create the load balancer.
func (s *LoadBalancersService) inSubnet(ctx context.Context, operation, location, subnetID, name string) (*LoadBalancer, error) {
	subnet, err := resolveID(ctx, s.conn, KindPrivateSubnet, subnetID)
	if err != nil {
		return nil, err
	}
	if subnet.Location != location {
		return nil, argumentError(operation, "location", location, "is not the location of the subnet, "+plain.Name(subnet.Location))
	}
	l, err := s.Get(ctx, location, name)
	if err == nil && l.Subnet != "" && l.Subnet != subnet.Name || errors.Is(err, ErrForbidden) {
		l, err = s.otherInSubnet(ctx, subnet, name, err)
	}
	if err == nil && l.Subnet == "" {
		return nil, lacksField(operation, "subnet")
	}
	return l, err
}

// otherInSubnet searches the list: Get has found a name in another subnet, or
// has been refused it, with the error forbidden. The list leaves out what the
// token can't see.
func (s *LoadBalancersService) otherInSubnet(ctx context.Context, subnet *Resource, name string, forbidden error) (*LoadBalancer, error) {
	for l, err := range s.All(ctx, &ListOptions{Location: subnet.Location}) {
		if isPartial(err) {
			break
		}
		if err == nil && l.Name == name {
			l, err = s.Get(ctx, l.Location, l.ID)
		}
		switch {
		case IsGone(err): // deleted since it was listed
		case err != nil:
			return nil, err
		case l.Name == name && (l.Subnet == subnet.Name || l.Subnet == ""):
			return l, nil
		}
	}
	if forbidden != nil {
		return nil, forbidden
	}
	return nil, fmt.Errorf("cloudapi: load balancer %s in %v: %w", name, *subnet, errNotShown)
}

// Delete deletes a load balancer; see WaitDeleted. Records show no deletion.
// Delete by ID: if two subnets have a load balancer with the name, Delete takes
// one of them. See [LoadBalancersService.GetInSubnet].
func (s *LoadBalancersService) Delete(ctx context.Context, location, loadBalancer string) error {
	return remove(ctx, s.conn, &opLoadBalancersDelete, location, loadBalancer)
}

// AttachVM attaches a VM in the load balancer's location. It returns
// [ErrInvalidRequest] if the VM has a load balancer, even this one, or if it
// has no IPv4 address and the stack isn't "ipv6".
func (s *LoadBalancersService) AttachVM(ctx context.Context, location, loadBalancer, vmID string) (*LoadBalancer, error) {
	return send[LoadBalancer](ctx, s.conn, &opLoadBalancersAttachVM, vmRequest{vmID}, location, loadBalancer)
}

// DetachVM detaches a VM, if it's attached. The returned record may still have
// the VM; [LoadBalancersService.WaitVMDetached] waits until it doesn't.
// DetachVM returns [ErrInvalidRequest] if the VM doesn't exist.
func (s *LoadBalancersService) DetachVM(ctx context.Context, location, loadBalancer, vmID string) (*LoadBalancer, error) {
	return send[LoadBalancer](ctx, s.conn, &opLoadBalancersDetachVM, vmRequest{vmID}, location, loadBalancer)
}

// Rename renames a load balancer, which changes its hostname.
func (s *LoadBalancersService) Rename(ctx context.Context, location, loadBalancer, newName string) (*LoadBalancer, error) {
	return send[LoadBalancer](ctx, s.conn, &opLoadBalancersRename, renameRequest{newName}, location, loadBalancer)
}

// SetSSLCertificate turns the certificate of a load balancer on or off. The
// record has the new CertEnabled; the certificate follows within minutes.
// † Only the service has this.
func (s *LoadBalancersService) SetSSLCertificate(ctx context.Context, location, loadBalancer string, enabled bool) (*LoadBalancer, error) {
	return send[LoadBalancer](ctx, s.conn, &opLoadBalancersSetSSL, certRequest{enabled}, location, loadBalancer)
}

// WaitVMDetached waits until a detached or deleted VM is no longer in the VMs
// of a load balancer, and returns the load balancer. If another program attaches
// the VM again between two polls, WaitVMDetached keeps waiting.
func (s *LoadBalancersService) WaitVMDetached(ctx context.Context, location, loadBalancer, vmID string, opts *WaitOptions) (*LoadBalancer, error) {
	const operation = "LoadBalancers.WaitVMDetached"
	if err := idOf(KindVM).check(operation, "vm_id", vmID); err != nil {
		return nil, err
	}
	w := loadBalancerFamily.waiter(s.conn, operation, location, loadBalancer)
	w.done = func(l *LoadBalancer) (bool, error) { return !slices.Contains(l.VMs, vmID), nil }
	w.lacks = func(l *LoadBalancer) string { return missing("vms", l.VMs == nil || slices.Contains(l.VMs, "")) }
	return w.run(ctx, opts)
}

// WaitDeleted waits until a load balancer is gone.
func (s *LoadBalancersService) WaitDeleted(ctx context.Context, location, loadBalancer string, opts *WaitOptions) error {
	return loadBalancerFamily.waitDeleted(ctx, s.conn, location, loadBalancer, opts)
}

// UnlistedError ends a list that lacks the resources the server can't show:
// load balancers of Kubernetes clusters that have no Service.
type UnlistedError struct {
	Operation string     // the operation's name, such as "LoadBalancers.List"
	Resources []Resource // at least one; their ID is "", since the server doesn't show it
}

func (e *UnlistedError) Error() string {
	names := make([]string, len(e.Resources))
	for i, r := range e.Resources {
		names[i] = r.String()
	}
	return fmt.Sprintf("cloudapi: %s: the server cannot show %s while its Kubernetes cluster has no Service; all others were listed",
		e.Operation, strings.Join(names, ", "))
}

func (e *UnlistedError) isPartial() {}

// isUnexpected reports whether the API itself returned a 500, as it does for a
// load balancer without ports.
func isUnexpected(err error) bool {
	_, noResponse := errors.AsType[*TransportError](err) // it can wrap an earlier response
	e, ok := errors.AsType[*Error](err)
	return ok && !noResponse && e.StatusCode == http.StatusInternalServerError && e.isOwn()
}

// portlessError is the server's 500 for a load balancer that it can't show. It
// isn't transient: the server returns it until the cluster has a Service.
type portlessError struct {
	error
	advice string
}

func (e portlessError) Error() string {
	return e.error.Error() + "; the server can't show the load balancer of a Kubernetes cluster that has no Service: " + e.advice
}

func (e portlessError) Unwrap() error { return e.error }

func (portlessError) isLasting() {}

// What to do about a portlessError, if All can leave the load balancer out, and
// if it can't.
const (
	listWithAll = "list with All, which leaves it out, or create a Service"
	renameBack  = "create a Service, or undo the renaming of <cluster ID>-apiserver, without which All can't leave the other one out"
)

// withPortlessHint returns a 500 as a portlessError if the server can show an
// empty page, which it can't during an outage.
func (s *LoadBalancersService) withPortlessHint(ctx context.Context, err error, advice string) error {
	if !isUnexpected(err) {
		return err
	}
	empty := ListOptions{PageSize: 1, OrderColumn: OrderByName, StartAfter: strings.Repeat("z", 63)} // no name follows
	if _, outage := list[LoadBalancer](ctx, s.conn, &listLoadBalancersOnce, &empty); outage != nil {
		return err
	}
	return portlessError{err, advice}
}

// besidesPortless reads a list that the server refuses with a 500. It returns
// the load balancers with ports, and those without in an [*UnlistedError].
//
// A cluster has two load balancers: <cluster ID>-apiserver, and, next in the
// order by name, <cluster ID>-services, which has no ports at first. If the
// server sends a page that ends with -apiserver, but a 500 for a longer page
// and for a Get of -services, besidesPortless continues the list after
// -services. If a 500 has another cause, besidesPortless reads the list again
// as usual, with retries.
func (s *LoadBalancersService) besidesPortless(ctx context.Context, o ListOptions) (listed []*LoadBalancer, err error) {
	var portless []Resource
	seen := tally.New(false, 0)
	seen.Begin()
	next := ListOptions{Location: o.Location, OrderColumn: OrderByName}
	for more := true; more; {
		page, refused, err := s.longestPage(ctx, next)
		if err != nil {
			return nil, err
		}
		before := len(listed)
		for _, l := range page.Items {
			if seen.Add(l.ID) {
				listed = append(listed, l)
			}
		}
		seen.EndPage(page.Count)
		next.StartAfter = cmp.Or(page.Next, next.StartAfter)
		if more = len(listed)-before == maxPageSize; !refused {
			continue
		}
		cluster, isFirst := strings.CutSuffix(next.StartAfter, "-apiserver")
		second := Resource{Kind: KindLoadBalancer, Name: cluster + "-services"}
		if n := len(page.Items); n > 0 {
			second.Location = page.Items[n-1].Location
		}
		if !isFirst || second.Location == "" || !isUnexpected(s.getOnce(ctx, second)) || !seen.Add(second.Name) {
			return Collect(all[LoadBalancer](ctx, s.conn, &listLoadBalancers, &o))
		}
		portless, next.StartAfter, more = append(portless, second), second.Name, true
	}
	if !seen.IsComplete() {
		return nil, stalled(seen, opLoadBalancersList.Name, OrderByName)
	}
	listed = slices.DeleteFunc(listed, func(l *LoadBalancer) bool { return cursorOf(l, o.OrderColumn) <= o.StartAfter })
	if o.OrderColumn != OrderByName {
		slices.SortFunc(listed, func(a, b *LoadBalancer) int { return cmp.Compare(a.ID, b.ID) })
	}
	if len(portless) > 0 {
		err = &UnlistedError{Operation: opLoadBalancersList.Name, Resources: portless}
	}
	return listed, err
}

// longestPage returns the longest page that the server doesn't refuse. The page
// may be empty. refused reports whether the server refused any page. A shorter
// page could end between two load balancers with the same name, and the next
// page would skip the second.
func (s *LoadBalancersService) longestPage(ctx context.Context, o ListOptions) (longest *Page[LoadBalancer], refused bool, err error) {
	longest = &Page[LoadBalancer]{}
	shown, tooMany := 0, maxPageSize+1
	for o.PageSize = maxPageSize; shown+1 < tooMany; o.PageSize = max(1, min(2*shown, (shown+tooMany)/2)) {
		page, err := list[LoadBalancer](ctx, s.conn, &listLoadBalancersOnce, &o)
		switch {
		case err == nil:
			longest, shown = page, o.PageSize
		case isUnexpected(err):
			tooMany = o.PageSize
		default:
			return nil, false, err
		}
	}
	return longest, tooMany <= maxPageSize, nil
}

// getOnce gets a load balancer, without a retry after the server's 500.
func (s *LoadBalancersService) getOnce(ctx context.Context, r Resource) error {
	in, err := s.conn.invoke(&opLoadBalancersGet, nil, []string{r.Location, r.Name})
	if err == nil {
		in.request.NoRetryOn500 = true
		_, err = doRecord[LoadBalancer](ctx, in)
	}
	return err
}
