package cloudapi

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
)

// PrivateLinkServicesService manages private link services, with which AWS
// accounts reach a database in an AWS location without the internet (AWS
// PrivateLink). A database has at most one; see also
// [PostgresService.PrivateLinkService]. The server deletes it with its database.
//
// Private link services are off by default; Ubicloud enables them for a project.
// Where they are off, every method returns [ErrMaybeUnsupported]. So do the
// methods that read or change one that doesn't exist, and [IsGone] is false for
// their errors; [Client.Fetch] also reads the list, and so tells the two apart.
// † Only the service has these.
//
// Experimental: the methods and records may change with the feature.
type PrivateLinkServicesService service

// PrivateLinkService offers ports of a database's primary to AWS accounts; after
// a failover, of the new primary. Without a database it reaches nobody.
//
// Its state isn't final: it's "creating" again after a failover, and shortly after
// an update of the regions.
type PrivateLinkService struct {
	ID                 string                   `json:"id"`                 // prefix pn
	Name               string                   `json:"name"`               // unique in its project and location
	Location           string                   `json:"location"`           // an AWS location
	PrivateSubnet      string                   `json:"private_subnet"`     // the name of its private subnet
	State              string                   `json:"state"`              // a constant such as [PrivateLinkServiceStateAvailable], or another value
	PostgresResourceID string                   `json:"postgres_resource"`  // the ID of its database, or ""
	Ports              []PrivateLinkServicePort `json:"ports"`              // in the order of Port
	AllowedPrincipals  []string                 `json:"allowed_principals"` // ARNs of accounts, roles and users, or "*" for everybody
	IPAddressType      string                   `json:"ip_address_type"`    // a constant such as [PrivateLinkServiceIPAddressTypeIPv4]
	PrivateDNSName     string                   `json:"private_dns_name"`   // the name in the certificate, which can begin with "*."; "" if there is none
	PrivateHostname    string                   `json:"private_hostname"`   // the host to connect to once PrivateDNSVerificationState is "verified"; "" if there is none

	AWS *PrivateLinkServiceAWS `json:"aws,omitzero"` // nil in lists
}

func (l *PrivateLinkService) Resource() Resource {
	return Resource{Kind: KindPrivateLinkService, ID: l.ID, Location: l.Location, Name: l.Name}
}

func (l *PrivateLinkService) stateText() string { return l.State }

// Known values of [PrivateLinkService.State].
const (
	PrivateLinkServiceStateCreating  = "creating"
	PrivateLinkServiceStateAvailable = "available"
	PrivateLinkServiceStateDeleting  = "deleting" // until it's gone
)

var privateLinkPhases = map[string]Phase{
	PrivateLinkServiceStateCreating:  PhasePending,
	PrivateLinkServiceStateAvailable: PhaseUsable,
	PrivateLinkServiceStateDeleting:  PhaseDeleting,
}

// Phase returns the phase of a private link service.
func (l *PrivateLinkService) Phase() Phase { return cmp.Or(privateLinkPhases[l.State], PhasePending) }

// Values of [PrivateLinkService.IPAddressType].
const (
	PrivateLinkServiceIPAddressTypeIPv4 = "ipv4"
	PrivateLinkServiceIPAddressTypeIPv6 = "ipv6"
	PrivateLinkServiceIPAddressTypeDual = "dual"
)

// PrivateLinkServicePort is a port of a private link service.
type PrivateLinkServicePort struct {
	Port       int `json:"port"`        // the port that clients connect to
	TargetPort int `json:"target_port"` // the port of the database
}

// PrivateLinkServiceAWS is what AWS knows about a private link service.
type PrivateLinkServiceAWS struct {
	ServiceName                 string                          `json:"service_name"`                   // with which an account creates its endpoint; "" until AWS has created the service
	ServiceID                   string                          `json:"service_id"`                     // "" until then
	SupportedRegions            []string                        `json:"supported_regions"`              // the AWS regions of endpoints, besides that of the service
	AllowedVPCEndpoints         []PrivateLinkServiceVPCEndpoint `json:"allowed_vpc_endpoints"`          // the endpoints whose connections are accepted; if it's empty, none is
	RegisteredTargetIPs         []string                        `json:"registered_target_ips"`          // the address of the primary, or nothing without a database
	PrivateDNSVerificationState string                          `json:"private_dns_verification_state"` // a constant such as [PrivateLinkServiceAWSPrivateDNSVerificationStateVerified], or ""
}

// Values of [PrivateLinkServiceAWS.PrivateDNSVerificationState].
const (
	PrivateLinkServiceAWSPrivateDNSVerificationStateVerified            = "verified"
	PrivateLinkServiceAWSPrivateDNSVerificationStatePendingVerification = "pendingVerification"
	PrivateLinkServiceAWSPrivateDNSVerificationStateFailed              = "failed"
)

// PrivateLinkServiceVPCEndpoint is a VPC endpoint of an AWS account.
type PrivateLinkServiceVPCEndpoint struct {
	VPCEndpointID string `json:"vpc_endpoint_id"`      // such as "vpce-0123456789abcdef0"; required
	Description   string `json:"description,omitzero"` // one line of up to 255 characters
}

// PrivateLinkServiceCreateRequest is the body of
// [PrivateLinkServicesService.Create].
type PrivateLinkServiceCreateRequest struct {
	PrivateSubnetID    string                             `json:"private_subnet_id" id:"ps"` // a subnet in the location; required
	AWS                PrivateLinkServiceAWSCreateRequest `json:"aws"`
	PostgresResourceID string                             `json:"postgres_resource_id,omitzero" id:"pg"` // a database in the subnet that has no private link service

	// Ports are the different ports that clients connect to, and TargetPorts, of the
	// same length, the ports to which these lead. The default of both is 5432 and
	// 6432. TargetPorts without Ports are ignored.
	Ports       []int `json:"ports,omitzero"`
	TargetPorts []int `json:"target_ports,omitzero"`

	IPAddressType string `json:"ip_address_type,omitzero"` // a constant such as [PrivateLinkServiceIPAddressTypeIPv4]; default "ipv4"
}

// PrivateLinkServiceAWSCreateRequest says who can connect to a new private link
// service.
type PrivateLinkServiceAWSCreateRequest struct {
	AllowedPrincipals   []string                        `json:"allowed_principals"`             // as in [PrivateLinkService]; nil is sent as an empty list
	AllowedVPCEndpoints []PrivateLinkServiceVPCEndpoint `json:"allowed_vpc_endpoints,omitzero"` // as in [PrivateLinkServiceAWS]
	SupportedRegions    []string                        `json:"supported_regions,omitzero"`     // as in [PrivateLinkServiceAWS]
}

// complete returns the request with an empty list for a required list that is
// nil, which would be sent as null.
func (r PrivateLinkServiceAWSCreateRequest) complete() PrivateLinkServiceAWSCreateRequest {
	r.AllowedPrincipals = append([]string{}, r.AllowedPrincipals...)
	return r
}

// PrivateLinkServiceUpdateRequest is the body of
// [PrivateLinkServicesService.Update].
type PrivateLinkServiceUpdateRequest struct {
	AWS PrivateLinkServiceAWSUpdateRequest `json:"aws,omitzero"`
}

// PrivateLinkServiceAWSUpdateRequest has the new lists of a private link
// service. A list that is nil stays unchanged; any other list, even an empty
// one, replaces the current list.
type PrivateLinkServiceAWSUpdateRequest struct {
	AllowedPrincipals   []string                        `json:"allowed_principals,omitzero"`
	AllowedVPCEndpoints []PrivateLinkServiceVPCEndpoint `json:"allowed_vpc_endpoints,omitzero"`
	SupportedRegions    []string                        `json:"supported_regions,omitzero"`
}

const privateLinkServiceRoute = locationRoute + "/private-link-service/{private_link_service_reference}"

var (
	opPrivateLinkServicesList           = Operation{"PrivateLinkServices.List", "GET", projectRoute + "/private-link-service", idempotent | serviceOnly | switchable}
	opPrivateLinkServicesListInLocation = Operation{"PrivateLinkServices.ListInLocation", "GET", locationRoute + "/private-link-service", idempotent | serviceOnly | switchable}
	opPrivateLinkServicesGet            = Operation{"PrivateLinkServices.Get", "GET", privateLinkServiceRoute, idempotent | serviceOnly | switchable}
	opPrivateLinkServicesCreate         = Operation{"PrivateLinkServices.Create", "POST", privateLinkServiceRoute, once | serviceOnly | switchable}
	opPrivateLinkServicesUpdate         = Operation{"PrivateLinkServices.Update", "PATCH", privateLinkServiceRoute, idempotent | serviceOnly | switchable}
	opPrivateLinkServicesDelete         = Operation{"PrivateLinkServices.Delete", "DELETE", privateLinkServiceRoute, idempotent | serviceOnly | switchable}

	listPrivateLinkServices  = listRoutes{project: &opPrivateLinkServicesList, location: &opPrivateLinkServicesListInLocation}
	privateLinkServiceFamily = family[PrivateLinkService]{lists: &listPrivateLinkServices, get: &opPrivateLinkServicesGet, del: &opPrivateLinkServicesDelete, pauses: &waitSlow}
)

// List returns one page of the private link services, without AWS.
func (s *PrivateLinkServicesService) List(ctx context.Context, opts *ListOptions) (*Page[PrivateLinkService], error) {
	return list[PrivateLinkService](ctx, s.conn, &listPrivateLinkServices, opts)
}

// All iterates over the items of List.
func (s *PrivateLinkServicesService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*PrivateLinkService, error] {
	return all[PrivateLinkService](ctx, s.conn, &listPrivateLinkServices, opts)
}

// Watch yields private link services without AWS, and then their changes.
func (s *PrivateLinkServicesService) Watch(ctx context.Context, opts *WatchOptions, known ...*PrivateLinkService) iter.Seq2[Event[PrivateLinkService], error] {
	return privateLinkServiceFamily.watch(ctx, s.conn, opts, known)
}

// Get returns a private link service with all its fields.
func (s *PrivateLinkServicesService) Get(ctx context.Context, location, privateLinkService string) (*PrivateLinkService, error) {
	return perform[PrivateLinkService](ctx, s.conn, &opPrivateLinkServicesGet, location, privateLinkService)
}

// Create creates a private link service; it returns while the state is
// "creating", and [PrivateLinkServicesService.WaitAvailable] waits. Create
// returns [ErrAlreadyExists] if the name is taken, and [ErrInvalidRequest] if
// the subnet isn't in the location, if the database isn't in the subnet or has
// a private link service, or if the server refuses a port, principal, endpoint or
// region. It also does so while AWS doesn't say which regions are enabled.
func (s *PrivateLinkServicesService) Create(ctx context.Context, location, name string, request *PrivateLinkServiceCreateRequest) (*PrivateLinkService, error) {
	body := orZero(request)
	body.AWS = body.AWS.complete()
	return send[PrivateLinkService](ctx, s.conn, &opPrivateLinkServicesCreate, body, location, name)
}

// Update replaces those lists of a private link service that the request sets.
// Nothing else can be changed. Other regions make the state "creating" again,
// which the returned record doesn't show yet. The server rejects the connections
// of an endpoint that isn't in the list anymore.
func (s *PrivateLinkServicesService) Update(ctx context.Context, location, privateLinkService string, request *PrivateLinkServiceUpdateRequest) (*PrivateLinkService, error) {
	return send[PrivateLinkService](ctx, s.conn, &opPrivateLinkServicesUpdate, request, location, privateLinkService)
}

// Ensure creates a private link service unless one with the name exists. It
// compares all fields that the request sets, and can update those in AWS. Lists
// are compared as the server stores them: in any order, without blanks and
// duplicates, without endpoints that have no ID, and without the service's own
// region.
func (s *PrivateLinkServicesService) Ensure(ctx context.Context, location, name string, request *PrivateLinkServiceCreateRequest, opts *EnsureOptions) (privateLinkService *PrivateLinkService, outcome EnsureOutcome, err error) {
	return privateLinkServiceFamily.ensure(ctx, s.conn, location, name, ensureSpec[PrivateLinkService]{
		request: request,
		create:  func(ctx context.Context) (*PrivateLinkService, error) { return s.Create(ctx, location, name, request) },
		compare: func(ctx context.Context, l *PrivateLinkService) (c comparison, err error) {
			if request == nil {
				return c, nil
			}
			c = compared(request.Compare(l))
			c.skip("aws", l.AWS == nil)
			if l.AWS != nil && l.AWS.SupportedRegions != nil { // one of them may be its own
				c.uncompared = slices.DeleteFunc(c.uncompared, func(field string) bool { return field == "aws.supported_regions" })
			}
			err = wantsSubnet(ctx, s.conn, &c, request.PrivateSubnetID, l.Location, l.PrivateSubnet)
			return c, err
		},
		unshown: []string{"private_subnet_id", "target_ports"},
		update: func(ctx context.Context, l *PrivateLinkService, d drift) (*PrivateLinkService, error) {
			var update PrivateLinkServiceUpdateRequest
			if d.has("aws.allowed_principals") {
				update.AWS.AllowedPrincipals = request.AWS.AllowedPrincipals
			}
			if d.has("aws.allowed_vpc_endpoints") {
				update.AWS.AllowedVPCEndpoints = request.AWS.AllowedVPCEndpoints
			}
			if d.has("aws.supported_regions") {
				update.AWS.SupportedRegions = request.AWS.SupportedRegions
			}
			return s.Update(ctx, location, l.ID, &update)
		},
	}, opts)
}

// Compare returns the differences between a private link service and the
// request, and the fields that it can't compare. Ensure can update those in AWS;
// only a replacement removes the others. Items of lists have no AWS. Until AWS has
// created the service, a single other region may be its own, and isn't compared.
func (r *PrivateLinkServiceCreateRequest) Compare(l *PrivateLinkService) (differences []Drift, uncompared []string) {
	if r == nil {
		return nil, nil
	}
	var c comparison
	c.skip("private_subnet_id", r.PrivateSubnetID != "")
	wantsOrZero(&c, Drift{Remedy: RemedyReplace}, "postgres_resource_id", r.PostgresResourceID, l.PostgresResourceID)
	wantsPorts(&c, r.Ports, r.TargetPorts, l.Ports)
	c.skip("target_ports", r.Ports == nil && r.TargetPorts != nil) // the server ignores them
	wants(&c, "ip_address_type", r.IPAddressType, l.IPAddressType)
	wantsSet(&c, RemedyUpdate, "aws.allowed_principals", stored(r.AWS.AllowedPrincipals, strings.TrimSpace), l.AllowedPrincipals)
	if l.AWS == nil {
		c.skip("aws.allowed_vpc_endpoints", r.AWS.AllowedVPCEndpoints != nil)
		c.skip("aws.supported_regions", r.AWS.SupportedRegions != nil)
		return c.result()
	}
	endpoints := stored(r.AWS.AllowedVPCEndpoints, func(e PrivateLinkServiceVPCEndpoint) PrivateLinkServiceVPCEndpoint {
		return PrivateLinkServiceVPCEndpoint{strings.TrimSpace(e.VPCEndpointID), strings.TrimSpace(e.Description)}
	})
	endpoints = slices.DeleteFunc(endpoints, func(e PrivateLinkServiceVPCEndpoint) bool { return e.VPCEndpointID == "" })
	wantsSet(&c, RemedyUpdate, "aws.allowed_vpc_endpoints", endpoints, l.AWS.AllowedVPCEndpoints)
	regions := slices.DeleteFunc(slices.Clone(r.AWS.SupportedRegions), l.isIn)
	if l.AWS.ServiceName == "" && l.mayBeOwn(regions) {
		c.skip("aws.supported_regions", true)
		return c.result()
	}
	wantsSet(&c, RemedyUpdate, "aws.supported_regions", regions, slices.DeleteFunc(slices.Clone(l.AWS.SupportedRegions), l.isIn))
	return c.result()
}

// stored returns the elements of a list in the form that the server stores, or
// nil for nil.
func stored[V any](list []V, form func(V) V) []V {
	list = slices.Clone(list)
	for i := range list {
		list[i] = form(list[i])
	}
	return list
}

// isIn reports whether the service is in an AWS region, which is its location or
// part of its name at AWS: "com.amazonaws.vpce.us-west-2.vpce-svc-0123456789abcdef0".
func (l *PrivateLinkService) isIn(region string) bool {
	return region == l.Location || l.AWS != nil && strings.Contains(l.AWS.ServiceName, "."+region+".")
}

// mayBeOwn reports whether the only difference of the regions can be that the
// service's own one isn't among its supported regions.
func (l *PrivateLinkService) mayBeOwn(regions []string) bool {
	others := map[string]bool{}
	for _, region := range regions {
		others[region] = true
	}
	for _, region := range l.AWS.SupportedRegions {
		if !others[region] {
			return false
		}
		delete(others, region)
	}
	return len(others) == 1
}

// wantsPorts adds differences between the ports of a request and a record. The
// server ignores target ports without ports.
func wantsPorts(c *comparison, ports, targets []int, found []PrivateLinkServicePort) {
	if ports != nil {
		wantsSet(c, RemedyReplace, "ports", portPairs(ports, targets), found)
	}
}

// portPairs joins the ports with their target ports, of which some may be missing.
func portPairs(ports, targets []int) []PrivateLinkServicePort {
	pairs := make([]PrivateLinkServicePort, len(ports))
	for i := range ports {
		pairs[i].Port = ports[i]
		if i < len(targets) {
			pairs[i].TargetPort = targets[i]
		}
	}
	return pairs
}

// Delete deletes a private link service; see WaitDeleted.
func (s *PrivateLinkServicesService) Delete(ctx context.Context, location, privateLinkService string) error {
	return remove(ctx, s.conn, &opPrivateLinkServicesDelete, location, privateLinkService)
}

// WaitAvailable waits until a private link service is available, and returns it.
func (s *PrivateLinkServicesService) WaitAvailable(ctx context.Context, location, privateLinkService string, opts *WaitOptions) (*PrivateLinkService, error) {
	return privateLinkServiceFamily.waitState(ctx, s.conn, "PrivateLinkServices.WaitAvailable", location, privateLinkService,
		reaches[*PrivateLinkService](PrivateLinkServiceStateAvailable), opts)
}

// WaitDeleted waits until a private link service is gone.
func (s *PrivateLinkServicesService) WaitDeleted(ctx context.Context, location, privateLinkService string, opts *WaitOptions) error {
	return privateLinkServiceFamily.waitDeleted(ctx, s.conn, location, privateLinkService, opts)
}
