package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
)

// PrivateSubnetsService manages private subnets of VMs and other resources.
type PrivateSubnetsService service

// PrivateSubnet is a private network in a location.
type PrivateSubnet struct {
	ID        string     `json:"id"`        // prefix ps
	Name      string     `json:"name"`      // unique in its project and location
	State     string     `json:"state"`     // a constant such as [PrivateSubnetStateAvailable], or another value; the subnet is usable unless "deleting"
	Location  string     `json:"location"`  // such as "eu-central-h1"
	Net4      string     `json:"net4"`      // IPv4 range in CIDR notation, chosen by the server
	Net6      string     `json:"net6"`      // unique local IPv6 range in CIDR notation
	Firewalls []Firewall `json:"firewalls"` // the attached firewalls, without their PrivateSubnets
	NICs      []NIC      `json:"nics"`
}

func (s *PrivateSubnet) Resource() Resource {
	return Resource{Kind: KindPrivateSubnet, ID: s.ID, Location: s.Location, Name: s.Name}
}

func (s *PrivateSubnet) stateText() string { return s.State }

// Known values of [PrivateSubnet.State].
const (
	PrivateSubnetStateAvailable      = "available"
	PrivateSubnetStateAddingNIC      = "adding_new_nic"
	PrivateSubnetStateRefreshingKeys = "refreshing_keys"
	PrivateSubnetStateDeleting       = "deleting" // until it's gone; † only the service
)

var subnetPhases = map[string]Phase{
	PrivateSubnetStateAvailable:      PhaseUsable,
	PrivateSubnetStateAddingNIC:      PhaseUsable,
	PrivateSubnetStateRefreshingKeys: PhaseUsable,
	PrivateSubnetStateDeleting:       PhaseDeleting,
}

// Phase returns the phase of a private subnet, which is usable in each state but
// "deleting".
func (s *PrivateSubnet) Phase() Phase { return cmp.Or(subnetPhases[s.State], PhaseUsable) }

// NIC is a network interface in a private subnet.
type NIC struct {
	ID          string `json:"id"` // prefix nc
	Name        string `json:"name"`
	PrivateIPv4 string `json:"private_ipv4"`
	PrivateIPv6 string `json:"private_ipv6"`
	VMName      string `json:"vm_name"` // the name of its VM; "" if it has none
}

func (n *NIC) Resource() Resource { return Resource{Kind: KindNIC, ID: n.ID, Name: n.Name} }

// PrivateSubnetCreateRequest is the body of [PrivateSubnetsService.Create].
type PrivateSubnetCreateRequest struct {
	// FirewallID is the ID of a firewall in the same location. By default, the
	// server creates one, such as "<subnet>-default", that allows all traffic.
	FirewallID string `json:"firewall_id,omitzero" id:"fw"`
}

// connectRequest is the body of Connect. The hyphens are in the contract.
type connectRequest struct {
	ConnectedSubnetID string `json:"connected-subnet-id" id:"ps"`
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

	subnetFamily = family[PrivateSubnet]{lists: &listPrivateSubnets, get: &opPrivateSubnetsGet, del: &opPrivateSubnetsDelete, pauses: &waitQuick}
)

// List returns one page of the private subnets.
func (s *PrivateSubnetsService) List(ctx context.Context, opts *ListOptions) (*Page[PrivateSubnet], error) {
	return list[PrivateSubnet](ctx, s.conn, &listPrivateSubnets, opts)
}

// All iterates over the items of List.
func (s *PrivateSubnetsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*PrivateSubnet, error] {
	return all[PrivateSubnet](ctx, s.conn, &listPrivateSubnets, opts)
}

// Watch yields subnets and then their changes, including firewalls and NICs.
func (s *PrivateSubnetsService) Watch(ctx context.Context, opts *WatchOptions, known ...*PrivateSubnet) iter.Seq2[Event[PrivateSubnet], error] {
	return subnetFamily.watch(ctx, s.conn, opts, known)
}

// Get returns a private subnet.
func (s *PrivateSubnetsService) Get(ctx context.Context, location, subnet string) (*PrivateSubnet, error) {
	return perform[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsGet, location, subnet)
}

// Create creates a private subnet, usable immediately. The request may be nil.
func (s *PrivateSubnetsService) Create(ctx context.Context, location, name string, request *PrivateSubnetCreateRequest) (*PrivateSubnet, error) {
	return send[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsCreate, request, location, name)
}

// Ensure creates a private subnet unless one with the name exists. It compares
// only firewall_id: a subnet matches if it has that firewall and no other. An
// update attaches the firewall, and then detaches all others. After a Delete,
// call WaitDeleted before Ensure: with the contract, a record doesn't show that
// a subnet is being deleted.
func (s *PrivateSubnetsService) Ensure(ctx context.Context, location, name string, request *PrivateSubnetCreateRequest, opts *EnsureOptions) (subnet *PrivateSubnet, outcome EnsureOutcome, err error) {
	wanted := orZero(request).FirewallID
	return subnetFamily.ensure(ctx, s.conn, location, name, ensureSpec[PrivateSubnet]{
		request: request,
		create:  func(ctx context.Context) (*PrivateSubnet, error) { return s.Create(ctx, location, name, request) },
		compare: func(_ context.Context, subnet *PrivateSubnet) (comparison, error) {
			return compared(request.Compare(subnet)), nil
		},
		update: func(ctx context.Context, subnet *PrivateSubnet, _ drift) (*PrivateSubnet, error) {
			_, subnet, err := s.setFirewalls(ctx, "PrivateSubnets.Ensure", location, subnet.ID, []string{wanted})
			if errors.Is(err, errOtherChanges) { // the subnet still differs
				err = nil
			}
			return subnet, err
		},
	}, opts)
}

// Compare returns the difference between a private subnet and the request, which
// an update removes, if it hasn't that firewall and no other.
func (r *PrivateSubnetCreateRequest) Compare(subnet *PrivateSubnet) (differences []Drift, uncompared []string) {
	if r == nil || r.FirewallID == "" {
		return nil, nil
	}
	if subnet.Firewalls == nil {
		return nil, []string{"firewall_id"}
	}
	attached := []string{}
	for _, f := range subnet.Firewalls {
		attached = append(attached, f.ID)
	}
	if !slices.Equal(attached, []string{r.FirewallID}) {
		differences = []Drift{{Field: "firewall_id", Wanted: r.FirewallID, Found: attached, Remedy: RemedyUpdate}}
	}
	return differences, nil
}

// SetFirewalls attaches exactly the firewalls with these IDs to a private
// subnet. It attaches those that are missing, and then detaches all others; an
// empty slice detaches all, and then no traffic gets in. A nil slice is invalid.
// SetFirewalls returns before the changes take effect. It sends a request for
// each change, and can be repeated after an error. It returns an
// [*ArgumentError] for a firewall that isn't in the location.
func (s *PrivateSubnetsService) SetFirewalls(ctx context.Context, location, subnet string, firewallIDs []string) (*SetChanges[Firewall], error) {
	changes, _, err := s.setFirewalls(ctx, "PrivateSubnets.SetFirewalls", location, subnet, firewallIDs)
	return changes, err
}

// setFirewalls also returns the subnet as it was read last.
func (s *PrivateSubnetsService) setFirewalls(ctx context.Context, operation, location, subnet string, firewallIDs []string) (*SetChanges[Firewall], *PrivateSubnet, error) {
	firewalls := &FirewallsService{s.conn}
	var last *PrivateSubnet
	element := func(id string) *Firewall { return &Firewall{ID: id, Location: location} }
	set := attachedSet(s.conn, &firewallFamily, "firewall_id", element, exactSet[Firewall, string]{
		operation: operation,
		argument:  "firewallIDs",
		field:     "firewalls",
		location:  location,
		reference: subnet,
		list: func(ctx context.Context) ([]Firewall, error) {
			record, err := s.Get(ctx, location, subnet)
			if err != nil {
				return nil, err
			}
			last, subnet = record, record.ID
			return record.Firewalls, nil
		},
		add: func(ctx context.Context, id string, _ *Firewall) (*Firewall, error) {
			record, err := firewalls.AttachSubnet(ctx, location, id, subnet)
			if isMissing(err) { // the firewall; a missing subnet is a 400
				err = notInLocation(&firewallFamily, operation, "firewall_id", id)
			}
			return record, err
		},
		remove: func(ctx context.Context, firewall *Firewall) error {
			_, err := firewalls.DetachSubnet(ctx, location, firewall.ID, subnet)
			if IsGone(err) { // the firewall has been deleted meanwhile
				return nil
			}
			return err
		},
	})
	changes, err := set.apply(ctx, firewallIDs)
	return changes, last, err
}

// wantsSubnet adds a difference to c unless the location's subnet foundName has
// the ID wantedID. Records have only the name.
func wantsSubnet(ctx context.Context, conn *conn, c *comparison, wantedID, location, foundName string) error {
	if c.skip("subnet", wantedID != "" && foundName == ""); wantedID == "" || foundName == "" {
		return nil
	}
	subnet, err := resolveID(ctx, conn, KindPrivateSubnet, wantedID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if err != nil || subnet.Location != location || subnet.Name != foundName {
		c.drift = append(c.drift, Drift{Field: "private_subnet_id", Wanted: wantedID, Found: foundName, Remedy: RemedyReplace})
	}
	return nil
}

// Delete deletes a private subnet and the load balancers in it, but not the
// firewall that the server created with it; see WaitDeleted. It returns
// [ErrConflict] if the subnet has VMs that aren't being deleted.
func (s *PrivateSubnetsService) Delete(ctx context.Context, location, subnet string) error {
	return remove(ctx, s.conn, &opPrivateSubnetsDelete, location, subnet)
}

// Connect connects two private subnets, and returns before they can reach each
// other. It returns [ErrAlreadyExists] if they're already connected, and
// [ErrInvalidRequest] if the two are the same or, with the service, in
// different locations. No record shows connections: after [ErrOutcomeUnknown],
// call Connect again, and treat ErrAlreadyExists as success.
func (s *PrivateSubnetsService) Connect(ctx context.Context, location, subnet, otherSubnetID string) (*PrivateSubnet, error) {
	return send[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsConnect, connectRequest{otherSubnetID}, location, subnet)
}

// Disconnect disconnects two private subnets, if they're connected.
func (s *PrivateSubnetsService) Disconnect(ctx context.Context, location, subnet, otherSubnetID string) (*PrivateSubnet, error) {
	return perform[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsDisconnect, location, subnet, otherSubnetID)
}

// Rename renames a private subnet.
func (s *PrivateSubnetsService) Rename(ctx context.Context, location, subnet, newName string) (*PrivateSubnet, error) {
	return send[PrivateSubnet](ctx, s.conn, &opPrivateSubnetsRename, renameRequest{newName}, location, subnet)
}

// WaitDeleted waits until a private subnet is gone.
func (s *PrivateSubnetsService) WaitDeleted(ctx context.Context, location, subnet string, opts *WaitOptions) error {
	return subnetFamily.waitDeleted(ctx, s.conn, location, subnet, opts)
}
