package cloudapi

import (
	"context"
	"errors"
	"iter"
	"slices"
)

// PrivateSubnetsService works with private subnets: the networks of VMs, load
// balancers and databases.
//
// A reference is the ID (prefix ps) or the name.
type PrivateSubnetsService service

// PrivateSubnet is a private network in a location. All methods return all of
// its fields.
type PrivateSubnet struct {
	ID        string     `json:"id"`        // prefix ps
	Name      string     `json:"name"`      // unique in its project and location
	State     string     `json:"state"`     // one of the PrivateSubnetState constants, or another; it can be used unless it is "deleting"
	Location  string     `json:"location"`  // such as "eu-central-h1"
	Net4      string     `json:"net4"`      // IPv4 range in CIDR notation, chosen by the server
	Net6      string     `json:"net6"`      // unique local IPv6 range in CIDR notation
	Firewalls []Firewall `json:"firewalls"` // the attached firewalls, without their PrivateSubnets
	NICs      []NIC      `json:"nics"`
}

func (s *PrivateSubnet) lacks() string               { return lacksID(s.ID) }
func (s *PrivateSubnet) cursor(column string) string { return idOrName(column, s.ID, s.Name) }
func (s *PrivateSubnet) identity() Resource {
	return Resource{Kind: KindPrivateSubnet, ID: s.ID, Location: s.Location, Name: s.Name}
}
func (s *PrivateSubnet) stateText() string { return s.State }

// Known values of [PrivateSubnet.State].
const (
	PrivateSubnetStateAvailable      = "available"
	PrivateSubnetStateAddingNIC      = "adding_new_nic"
	PrivateSubnetStateRefreshingKeys = "refreshing_keys"
	PrivateSubnetStateDeleting       = "deleting" // in August 2026, until it is gone
)

// NIC is a network interface in a private subnet.
type NIC struct {
	ID          string `json:"id"` // prefix nc
	Name        string `json:"name"`
	PrivateIPv4 string `json:"private_ipv4"`
	PrivateIPv6 string `json:"private_ipv6"`
	VMName      string `json:"vm_name"` // the name of its VM; "" if it has none
}

func (n *NIC) identity() Resource { return Resource{Kind: KindNIC, ID: n.ID, Name: n.Name} }

// PrivateSubnetCreateRequest is the body of [PrivateSubnetsService.Create].
type PrivateSubnetCreateRequest struct {
	// FirewallID is the ID of a firewall in the same location. Without it the
	// server makes a firewall that lets everything in.
	FirewallID string `json:"firewall_id,omitzero"`
}

func (r PrivateSubnetCreateRequest) checkIDs() *ArgumentError {
	return checkOptionalID("firewall_id", r.FirewallID)
}

// connectRequest is the body of connecting subnets. The hyphens are in the
// contract.
type connectRequest struct {
	ConnectedSubnetID string `json:"connected-subnet-id"`
}

func (r connectRequest) checkIDs() *ArgumentError {
	return checkID("connected-subnet-id", r.ConnectedSubnetID)
}

const subnetRoute = locationRoute + "/private-subnet/{private_subnet_reference}"

var (
	opPrivateSubnetsList           = Operation{"PrivateSubnets.List", "GET", projectRoute + "/private-subnet", idempotent}
	opPrivateSubnetsListInLocation = Operation{"PrivateSubnets.ListInLocation", "GET", locationRoute + "/private-subnet", idempotent}
	opPrivateSubnetsGet            = Operation{"PrivateSubnets.Get", "GET", subnetRoute, idempotent}
	opPrivateSubnetsCreate         = Operation{"PrivateSubnets.Create", "POST", subnetRoute, once}
	opPrivateSubnetsDelete         = Operation{"PrivateSubnets.Delete", "DELETE", subnetRoute, idempotent}
	opPrivateSubnetsConnect        = Operation{"PrivateSubnets.Connect", "POST", subnetRoute + "/connect", once}
	opPrivateSubnetsDisconnect     = Operation{"PrivateSubnets.Disconnect", "POST", subnetRoute + "/disconnect/{private_subnet_id}", idempotent}
	opPrivateSubnetsRename         = Operation{"PrivateSubnets.Rename", "POST", subnetRoute + "/rename", idempotent}

	listPrivateSubnets = listRoutes{project: &opPrivateSubnetsList, location: &opPrivateSubnetsListInLocation}

	subnetFamily = family[PrivateSubnet, *PrivateSubnet]{lists: &listPrivateSubnets, get: &opPrivateSubnetsGet, del: &opPrivateSubnetsDelete, pauses: waitQuick, lingers: true}
)

// List returns one page of the project's private subnets, or of those in
// [ListOptions.Location].
func (s *PrivateSubnetsService) List(ctx context.Context, opts *ListOptions) (*Page[PrivateSubnet], error) {
	return list[PrivateSubnet](ctx, s.conn, &listPrivateSubnets, opts)
}

// All returns the project's private subnets, or those in
// [ListOptions.Location], page by page.
func (s *PrivateSubnetsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*PrivateSubnet, error] {
	return all[PrivateSubnet](ctx, s.conn, &listPrivateSubnets, opts)
}

// Watch yields the project's private subnets, or those in
// [WatchOptions.Location], and then the changes of them, their firewalls and
// their NICs, until the context ends.
func (s *PrivateSubnetsService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[PrivateSubnet], error] {
	return subnetFamily.watch(ctx, s.conn, opts)
}

// Get returns a private subnet, or [ErrNotFound] if it does not exist.
func (s *PrivateSubnetsService) Get(ctx context.Context, location, subnet string) (*PrivateSubnet, error) {
	return fetch[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsGet, location, subnet)
}

// Create makes a private subnet with the given name, which can be used at once.
// The request may be nil: the server then makes a firewall for the subnet,
// which lets everything in; its name begins with the subnet's. If the name is
// taken the error is [ErrAlreadyExists]. If the response is lost it is
// [ErrOutcomeUnknown]: look the name up with Get.
func (s *PrivateSubnetsService) Create(ctx context.Context, location, name string, request *PrivateSubnetCreateRequest) (*PrivateSubnet, error) {
	return send[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsCreate, request, location, name)
}

// Ensure creates a private subnet unless there is one of that name; see
// [EnsureOptions]. The name must not be an ID. Ensure checks that the firewall
// with the request's firewall_id is attached. Update attaches it, and leaves
// other firewalls attached. On a server of October 2025 the record of a subnet
// that is being deleted does not show that: wait until it is gone before you
// call Ensure.
func (s *PrivateSubnetsService) Ensure(ctx context.Context, location, name string, request *PrivateSubnetCreateRequest, opts *EnsureOptions) (subnet *PrivateSubnet, outcome EnsureOutcome, err error) {
	return s.ensurer(location, name, request).ensure(ctx, "PrivateSubnets.Ensure", opts)
}

// ensurer returns what Ensure needs to know about subnets.
func (s *PrivateSubnetsService) ensurer(location, name string, request *PrivateSubnetCreateRequest) ensureSpec[PrivateSubnet] {
	if request != nil && request.FirewallID != "" {
		if err := checkIDOf(KindFirewall, "", "firewall_id", request.FirewallID); err != nil {
			return ensureSpec[PrivateSubnet]{invalid: err}
		}
	}
	find := func(ctx context.Context) (*PrivateSubnet, error) { return s.Get(ctx, location, name) }
	return ensureSpec[PrivateSubnet]{
		location: location,
		name:     name,
		pauses:   subnetFamily.pauses,
		find:     find,
		create:   func(ctx context.Context) (*PrivateSubnet, error) { return s.Create(ctx, location, name, request) },
		compare: func(_ context.Context, subnet *PrivateSubnet) (d drift, err error) {
			if request == nil || request.FirewallID == "" {
				return nil, nil
			}
			attached := []string{}
			for _, f := range subnet.Firewalls {
				attached = append(attached, f.ID)
			}
			if !slices.Contains(attached, request.FirewallID) {
				d = drift{{Field: "firewall_id", Wanted: request.FirewallID, Found: attached, Updatable: true}}
			}
			return d, nil
		},
		update: func(ctx context.Context, subnet *PrivateSubnet, _ drift) (*PrivateSubnet, error) {
			if _, err := send[Firewall](ctx, s.conn, &opFirewallsAttachSubnet, subnetRequest{subnet.ID}, location, request.FirewallID); err != nil {
				return nil, err
			}
			return find(ctx)
		},
	}
}

// subnetWithID returns the location and the name of the subnet with an ID.
func subnetWithID(ctx context.Context, c *conn, id string) (*Resource, error) {
	info, err := fetch[ObjectInfo](ctx, c, &opProjectsObjectInfo, id)
	if err != nil {
		return nil, err
	}
	return &Resource{Kind: KindPrivateSubnet, ID: id, Location: info.Location, Name: info.Name}, nil
}

// wantsSubnet adds the subnet if the request names another one than the record.
// The record has the subnet's location and name in place of its ID.
func wantsSubnet(ctx context.Context, c *conn, d *drift, wanted, location, found string) error {
	if wanted == "" {
		return nil
	}
	subnet, err := subnetWithID(ctx, c, wanted)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if err != nil || subnet.Location != location || subnet.Name != found {
		*d = append(*d, Drift{Field: "private_subnet_id", Wanted: wanted, Found: found})
	}
	return nil
}

// Delete starts to delete a private subnet and the load balancers in it;
// [PrivateSubnetsService.WaitDeleted] waits for the end. On a server of October
// 2025 the record does not show the deletion. If the subnet has VMs the error is
// [ErrConflict], unless all of them are being deleted. Deleting one that does
// not exist is not an error. The firewall that was made with the subnet stays.
func (s *PrivateSubnetsService) Delete(ctx context.Context, location, subnet string) error {
	return remove(ctx, s.conn, &opPrivateSubnetsDelete, location, subnet)
}

// Connect connects two private subnets, so that they can reach each other
// moments later. The other subnet is given by its ID. If a name is given, or,
// on a server of August 2026, a subnet of another location, the error is
// [ErrInvalidRequest]. If the subnets are already connected, in either
// direction, the error is [ErrAlreadyExists]. If the response is lost it is
// [ErrOutcomeUnknown]. No record shows connections: call Connect again, which is
// ErrAlreadyExists if the first call was carried out.
func (s *PrivateSubnetsService) Connect(ctx context.Context, location, subnet, otherSubnetID string) (*PrivateSubnet, error) {
	return send[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsConnect, connectRequest{otherSubnetID}, location, subnet)
}

// Disconnect undoes Connect, from either side. It also succeeds if the subnets
// are not connected. If they are in different locations the error is
// [ErrInvalidRequest] on a server of August 2026.
func (s *PrivateSubnetsService) Disconnect(ctx context.Context, location, subnet, otherSubnetID string) (*PrivateSubnet, error) {
	return fetch[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsDisconnect, location, subnet, otherSubnetID)
}

// Rename gives a private subnet another name. If the name is taken the error is
// [ErrAlreadyExists]. Pass the ID: only then is the call idempotent.
func (s *PrivateSubnetsService) Rename(ctx context.Context, location, subnet, newName string) (*PrivateSubnet, error) {
	return send[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsRename, renameRequest{newName}, location, subnet)
}

// WaitDeleted waits until a deleted private subnet is gone. Call Delete first:
// without a deletion WaitDeleted waits until the context ends. The error is a
// [*WaitError].
func (s *PrivateSubnetsService) WaitDeleted(ctx context.Context, location, subnet string, opts ...WaitOption) error {
	return subnetFamily.waitDeleted(ctx, s.conn, location, subnet, opts)
}
