package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// These methods work with resources of any kind. Programs that know the kind
// use its service.

// Resources iterates over the resources of the client's project, one kind after
// the other. Without kinds, it yields the clusters, load balancers, VMs, machine
// images, private link services, databases, private subnets, firewalls, private
// locations, SSH public keys, init scripts and inference API keys. It doesn't
// yield resources inside others, such as rules and node pools, inference
// endpoints, or what [GitHubService] lists.
//
// The options apply to the list of each kind; a Location leaves out the kinds
// without locations. Resources skips the lists that the server doesn't have,
// and yields [ErrNotFound] if it skips all. An [*UnlistedError] comes last.
func (c *Client) Resources(ctx context.Context, opts *ListOptions, kinds ...Kind) iter.Seq2[Resource, error] {
	return func(yield func(Resource, error) bool) {
		for record, err := range c.records(ctx, "Resources", opts, kinds) {
			var r Resource
			if err == nil {
				r = record.Resource()
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Records is like [Client.Resources], but yields the records: a *[VM] for a VM,
// and so on, with the fields that the lists show.
func (c *Client) Records(ctx context.Context, opts *ListOptions, kinds ...Kind) iter.Seq2[Record, error] {
	return c.records(ctx, "Records", opts, kinds)
}

func (c *Client) records(ctx context.Context, operation string, opts *ListOptions, kinds []Kind) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lists, err := resourceLists(operation, opts, kinds)
		if err != nil {
			yield(nil, err)
			return
		}
		var lacked error  // the error of a list that the server doesn't have
		var partial error // the error of a list that lacks some resources
		has := false      // whether the server has any of the lists
		for _, f := range lists {
			isThere := true
			for record, err := range f.all(ctx, &c.conn, opts) {
				if isThere = !errors.Is(err, ErrMaybeUnsupported); !isThere {
					lacked = err
					break
				}
				if isPartial(err) {
					partial = err
					break
				}
				if !yield(record, err) || err != nil {
					return
				}
			}
			has = has || isThere
		}
		if !has && lacked != nil {
			yield(nil, lacked)
		} else if partial != nil {
			yield(nil, partial)
		}
	}
}

// resourceLists returns the families whose lists contain resources of the kinds.
func resourceLists(operation string, opts *ListOptions, kinds []Kind) ([]anyFamily, error) {
	var lists []anyFamily
	for _, f := range families() {
		if f.kind() != KindProject && (len(kinds) == 0 || slices.Contains(kinds, f.kind())) {
			lists = append(lists, f)
		}
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(lists, func(f anyFamily) bool { return f.kind() == kind }) {
			return nil, argumentError(operation, "kinds", string(kind), "is not the kind of resources in a list of the project")
		}
	}
	if opts != nil && opts.Location != "" {
		lists = slices.DeleteFunc(lists, func(f anyFamily) bool { return !f.hasLocations() })
	}
	return lists, nil
}

// Delete deletes a resource of any kind by its ID. The API deletes private
// locations only by name: if the Resource has an ID, Delete looks up the name
// that it has now, and without an ID takes the Name. Delete may return before the
// resource is gone; [Client.WaitDeleted] waits. For a resource inside another,
// such as a rule, it returns an error.
func (c *Client) Delete(ctx context.Context, resource Resource) error {
	f, r, err := c.target(ctx, "Delete", resource)
	if r == nil {
		return err
	}
	return f.remove(ctx, &c.conn, r.Location, addressOf(f, *r))
}

// WaitDeleted waits until a resource is gone. For a resource that it has never
// seen, it needs the proof of [Fetch], or for an inference API key only that the
// token sees the project; a project is gone if it can't be seen. WaitDeleted
// returns [ErrWaitFailed] if the resource is in another location.
func (c *Client) WaitDeleted(ctx context.Context, resource Resource, opts *WaitOptions) error {
	f, err := ownFamily("WaitDeleted", resource)
	if err != nil {
		return err
	}
	return f.waitDeleted(ctx, &c.conn, resource.Location, cmp.Or(resource.ID, resource.Name), opts)
}

// target returns the family and the present address of a resource to delete. The
// resource is nil without an error if it's gone: another may have its name.
func (c *Client) target(ctx context.Context, operation string, r Resource) (anyFamily, *Resource, error) {
	f, err := ownFamily(operation, r)
	if err != nil {
		return nil, nil, err
	}
	if f.takesIDs() || r.ID == "" {
		return f, &r, nil
	}
	record, err := c.fetcher(operation, nil, f, r).fetch(ctx)
	if IsGone(err) {
		return f, nil, nil
	} else if err != nil {
		return f, nil, err
	}
	r = resourceOf(record)
	return f, &r, nil
}

// CheckAccess returns an error unless the token can see the client's project:
// [ErrForbidden], or [ErrNotFound] if the project is gone or is another
// account's. Lists leave out what the token can't see, so call CheckAccess before
// you conclude from an empty list that a project is empty. It proves nothing
// about a single resource; see [Fetch].
func (c *Client) CheckAccess(ctx context.Context) error {
	if ctx == nil {
		return noContext("CheckAccess")
	}
	_, err := perform[Project](ctx, &c.conn, &opProjectsGet)
	return err
}

// ownFamily returns the family of a resource's kind. It returns an error for a
// resource inside another, such as a rule, which has no family, and for an ID
// that no resource of the kind can have.
func ownFamily(operation string, resource Resource) (anyFamily, error) {
	f, child := familyOf(resource.Kind)
	switch {
	case f == nil:
		return nil, argumentError(operation, "resource", resource.String(), "is of an unknown kind")
	case child != nil:
		return nil, argumentError(operation, "resource", resource.String(), "is inside another resource: use the service of its "+child.parent.String())
	}
	return f, checkID(operation, f, resource)
}

// checkID returns an error unless a resource of the kind can have the ID. Any
// other ID would seem to be of a resource that is gone.
func checkID(operation string, f anyFamily, r Resource) error {
	if r.ID == "" && f.kind() == r.Kind && !f.takesIDs() {
		return nil // the family takes the name
	}
	if err := idOf(r.Kind).checkCertain(operation, "id", r.ID); err != nil {
		return err
	}
	return nil
}

// Resolve finds a resource in the client's project. The reference is
//
//   - the ID of any resource, including rules, node pools and NICs, or
//     "location/ID";
//   - "location/name" of a VM, machine image, private subnet, firewall, load
//     balancer, Postgres database, private link service or Kubernetes cluster;
//   - the name of an SSH public key, init script or private location.
//
// With kinds, Resolve ignores other kinds. It returns [ErrAmbiguous] if two
// resources have the name, and [ErrInvalidRequest] for a name such as "Web_1".
func (c *Client) Resolve(ctx context.Context, reference string, kinds ...Kind) (*Resource, error) {
	resource, _, err := c.resolve(ctx, "Resolve", reference, kinds, false)
	return resource, err
}

// Lookup returns the full record of a reference, as in [Client.Resolve]:
//
//	vm, err := cloudapi.Lookup[cloudapi.VM](ctx, client, "eu-central-h1/web-1")
//
// If the reference has a location, Lookup looks only there, and its error doesn't
// prove that the resource is gone from the project; that of [Fetch] does.
func Lookup[T any, P interface {
	*T
	Record
}](ctx context.Context, c *Client, reference string) (*T, error) {
	const operation = "Lookup"
	if err := checkRecord[T](operation); err != nil {
		return nil, err
	}
	resource, record, err := c.resolve(ctx, operation, reference, []Kind{kindOf[T]()}, false)
	if err == nil && record == nil {
		record, err = c.Fetch(ctx, *resource)
	}
	if err != nil {
		return nil, err
	}
	return any(record).(*T), nil
}

// DeleteExisting finds a resource as [Client.Resolve] does, deletes it by its
// ID, and returns it, or [ErrNotFound] if there is none; after a 404 of the
// deletion, its error is that of [Fetch]. It also returns [ErrAmbiguous] if the
// token may not see another resource that has the name.
func (c *Client) DeleteExisting(ctx context.Context, reference string, kinds ...Kind) (*Resource, error) {
	ref, _ := parseReference(reference) // c.resolve returns the error, if any
	if _, child := familyOf(ID(ref.ID).Kind()); child != nil {
		return nil, argumentError("DeleteExisting", "reference", reference,
			"is a "+child.kind.String()+": delete it with the service of its "+child.parent.String())
	}
	resource, _, err := c.resolve(ctx, "DeleteExisting", reference, kinds, true)
	if err != nil {
		return nil, err
	}
	err = c.Delete(ctx, *resource)
	if errors.Is(err, ErrForbidden) { // the server may return this while it deletes the resource
		err = c.Delete(ctx, *resource)
	}
	if errors.Is(err, ErrNotFound) { // a proof, like a 404 of any other request, only together with Fetch
		record, lookup := c.fetch(ctx, "DeleteExisting", *resource)
		if lookup != nil {
			return nil, lookup
		}
		return nil, fmt.Errorf("cloudapi: DeleteExisting: %w: %v exists: %v", ErrInvalidResponse, record.Resource(), unprefixed{err})
	}
	if err != nil {
		return nil, err
	}
	return resource, nil
}

// resolve implements Resolve. It also returns the full record, if one was read.
// If mustSeeAll, a name is ambiguous if the token may not see a resource with it.
func (c *Client) resolve(ctx context.Context, operation, reference string, kinds []Kind, mustSeeAll bool) (*Resource, Record, error) {
	ref, err := parseReference(reference)
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Operation = operation
		return nil, nil, e
	}
	if ref.ID == "" {
		return c.resolveName(ctx, operation, ref, kinds, mustSeeAll)
	}
	kind := ID(ref.ID).Kind()
	switch i := slices.IndexFunc(kinds, func(k Kind) bool { return IsID(ref.ID, k) }); {
	case i >= 0:
		kind = kinds[i]
	case len(kinds) > 0:
		return nil, nil, argumentError(operation, "reference", reference,
			"is the ID of another kind: "+kind.String())
	}
	f, child := familyOf(kind)
	if f == nil {
		return nil, nil, argumentError(operation, "reference", reference,
			"is the ID of a "+kind.String()+", which Resolve cannot find")
	}
	if ref.Location != "" && !f.hasLocations() {
		return nil, nil, argumentError(operation, "reference", reference,
			"has a location, but a "+kind.String()+" is in none")
	}
	var record Record
	switch {
	case child != nil:
		return c.resolveChild(ctx, operation, f, child, ref)
	case f.hasLocations() && ref.Location == "":
		resource, lookup := f.resolve(ctx, &c.conn, ref.ID)
		if !isMissing(lookup) || errors.Is(lookup, ErrMaybeUnsupported) {
			return resource, nil, lookup
		}
		scope := c.scope(ctx)
		defer scope.Use()()
		lost := c.fetcher(operation, scope, f, Resource{Kind: kind, ID: ref.ID})
		record, err = lost.look(ctx, lost.everywhere)
	case !f.takesIDs():
		if record, err = f.searchAny(ctx, &c.conn, ref.ID); errors.Is(err, errNotShown) {
			err = fmt.Errorf("cloudapi: %s: %v: %w", operation, ref, errNotShown)
		}
	default:
		record, err = f.readAny(ctx, &c.conn, ref.Location, ref.ID)
	}
	if err != nil {
		return nil, nil, err
	}
	resource := resourceOf(record)
	return &resource, record, nil
}

// resolveName looks for a name in each family that may have it.
func (c *Client) resolveName(ctx context.Context, operation string, ref reference, kinds []Kind, mustSeeAll bool) (*Resource, Record, error) {
	var candidates []anyFamily
	for _, f := range families() {
		if f.takesNames() && f.hasLocations() == (ref.Location != "") && (len(kinds) == 0 || slices.Contains(kinds, f.kind())) {
			candidates = append(candidates, f)
		}
	}
	if len(candidates) == 0 {
		return nil, nil, argumentError(operation, "reference", ref.String(), fmt.Sprintf(
			"cannot refer to one of these kinds: %q; use an ID, location/name for a resource in a location, or a name for one in none", kinds))
	}
	outcomes := make([]outcome, len(candidates))
	parallel.Do(len(candidates), 0, func(i int) {
		outcomes[i].record, outcomes[i].err = c.resolveIn(ctx, operation, ref, candidates[i], len(candidates) == 1)
	})
	record, err := decide(operation, ref, outcomes, mustSeeAll)
	if err != nil {
		return nil, nil, err
	}
	resource := record.Resource()
	return &resource, record, nil
}

// outcome is what one family says of a name: a record or an error.
type outcome struct {
	record Record
	err    error
}

// decide returns the record that has a name, by the outcomes of all families
// that may have it. If mustSeeAll, the token must see all that have it.
func decide(operation string, ref reference, outcomes []outcome, mustSeeAll bool) (Record, error) {
	var found []Record
	var hidden error // the server refuses a resource that has the name
	none := fmt.Errorf("cloudapi: %s: %v: %w", operation, ref, ErrNotFound)
	if ref.Location == "" {
		none = fmt.Errorf("%w; refer to a resource in a location by location/name", none)
	}
	for _, o := range outcomes {
		switch {
		case o.err == nil:
			found = append(found, o.record)
		case errors.Is(o.err, ErrForbidden):
			none = o.err
			if ref.Location != "" { // elsewhere, the server refuses any name
				hidden = o.err
			}
		case errors.Is(o.err, ErrInvalidRequest), errors.Is(o.err, ErrLocationNotFound): // it says which names, or locations, are valid
			none = o.err
		case errors.Is(o.err, ErrNotFound):
			if len(outcomes) == 1 && !IsGone(o.err) { // it says that the service lacks the operation
				none = o.err
			}
		default:
			return nil, o.err
		}
	}
	switch {
	case len(found) == 0:
		return nil, none
	case len(found) > 1:
		return nil, ambiguous(operation, ref, found[0].Resource(), found[1].Resource())
	case mustSeeAll && hidden != nil:
		return nil, fmt.Errorf("cloudapi: %s: %v: %w: %v, and one of another kind: %w", operation, ref, ErrAmbiguous, found[0].Resource(), unprefixed{hidden})
	}
	return found[0], nil
}

// resolveIn returns an error if several resources of the family have the name.
// If isOnly, the family is the only one in which the name is looked for, and a
// 404 must prove that it lacks the name.
func (c *Client) resolveIn(ctx context.Context, operation string, ref reference, f anyFamily, isOnly bool) (Record, error) {
	read := f.readOnce
	if isOnly {
		read = f.readAny
	}
	record, err := read(ctx, &c.conn, ref.Location, ref.Name)
	if err != nil || !f.hasHomonyms() {
		return record, err
	}
	first := resourceOf(record)
	for item, err := range f.all(ctx, &c.conn, &ListOptions{Location: ref.Location}) {
		if isPartial(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		if other := resourceOf(item); other.Name == first.Name && other.ID != first.ID {
			return nil, ambiguous(operation, ref, first, other)
		}
	}
	return record, nil
}

func ambiguous(operation string, ref reference, one, other Resource) error {
	return fmt.Errorf("cloudapi: %s: %v: %w: %v and %v", operation, ref, ErrAmbiguous, one, other)
}

// resolveChild looks for a child, such as a rule, in all resources that may
// contain it.
func (c *Client) resolveChild(ctx context.Context, operation string, f anyFamily, child *child, ref reference) (*Resource, Record, error) {
	for item, err := range f.all(ctx, &c.conn, &ListOptions{Location: ref.Location}) {
		if err != nil {
			return nil, nil, err
		}
		parent, container := item.Resource(), any(item)
		if !child.listed {
			container, err = child.container(ctx, &c.conn, f, parent)
			if errors.Is(err, ErrNotFound) || errors.Is(err, ErrForbidden) {
				continue // a list has just shown the parent, so the parent is gone or being deleted
			} else if err != nil {
				return nil, nil, err
			}
		}
		if record := child.pick(container, ref.ID); record != nil {
			resource := resourceOf(record)
			resource.Parent = &parent
			return &resource, record, nil
		}
	}
	return nil, nil, fmt.Errorf("cloudapi: %s: %v: %w", operation, ref, errNotShown)
}

// families returns all families. It's a function because a variable would link
// every family into every program.
func families() []anyFamily {
	return []anyFamily{
		&clusterFamily, &loadBalancerFamily, &vmFamily, &machineImageFamily, &privateLinkServiceFamily, &postgresFamily, &subnetFamily, &firewallFamily,
		&privateLocationFamily, &sshPublicKeyFamily, &vmInitScriptFamily, &inferenceAPIKeyFamily, &projectFamily,
	}
}

// familyOf returns the family of a kind. Resources such as rules and node pools
// have no family. For these it returns the family of their parents, such as
// firewalls, and an entry of children.
func familyOf(kind Kind) (anyFamily, *child) {
	var found *child
	if i := slices.IndexFunc(children, func(c child) bool { return c.kind.includes(kind) }); i >= 0 {
		found = &children[i]
		kind = found.parent
	}
	for _, f := range families() {
		if f.kind() == kind {
			return f, found
		}
	}
	return nil, nil
}

// child is a kind of resource that exists only inside another, such as a rule.
type child struct {
	kind   Kind
	parent Kind
	listed bool // whether the parent's record in a list contains the child

	// list lists the children. It's nil if the parent's full record has them.
	list func(ctx context.Context, c *conn, parent Resource) (any, error)

	pick func(container any, id string) Record // returns a child in what the container method returns
}

// container returns the list of a parent's children if ch.list is set, else the
// parent's record.
func (ch *child) container(ctx context.Context, c *conn, f anyFamily, parent Resource) (any, error) {
	if ch.list != nil {
		return ch.list(ctx, c, parent)
	}
	return f.readAny(ctx, c, parent.Location, addressOf(f, parent))
}

var children = []child{
	{kind: KindFirewallRule, parent: KindFirewall, listed: true,
		pick: func(record any, id string) Record { return member(record.(*Firewall).FirewallRules, id) }},
	{kind: KindNIC, parent: KindPrivateSubnet, listed: true,
		pick: func(record any, id string) Record { return member(record.(*PrivateSubnet).NICs, id) }},
	{kind: KindKubernetesNodePool, parent: KindKubernetesCluster,
		pick: func(record any, id string) Record { return member(record.(*KubernetesCluster).NodePools, id) }},
	{kind: KindMachineImageVersion, parent: KindMachineImage,
		pick: func(list any, id string) Record { return itemOf(list.([]*MachineImageVersion), id) },
		list: func(ctx context.Context, c *conn, parent Resource) (any, error) {
			return Collect((&MachineImagesService{c}).AllVersions(ctx, parent.Location, parent.ID, nil))
		}},
	{kind: KindPostgresFirewallRule, parent: KindPostgres,
		pick: func(record any, id string) Record { return member(record.(*Postgres).FirewallRules, id) }},
	{kind: KindPostgresLogDestination, parent: KindPostgres,
		pick: func(record any, id string) Record { return member(record.(*Postgres).LogDestinations, id) }},
	{kind: KindPostgresMetricDestination, parent: KindPostgres,
		pick: func(record any, id string) Record { return member(record.(*Postgres).MetricDestinations, id) }},
	{kind: KindPostgresServer, parent: KindPostgres,
		pick: func(list any, id string) Record { return itemOf(list.([]*PostgresServer), id) },
		list: func(ctx context.Context, c *conn, parent Resource) (any, error) {
			return Collect((&PostgresService{c}).AllServers(ctx, parent.Location, parent.ID))
		}},
}

// member returns a pointer to the item with the ID, or nil.
func member[T any](items []T, id string) Record {
	for i := range items {
		if item := recordOf(&items[i]); item.Resource().ID == id {
			return item
		}
	}
	return nil
}

// itemOf returns the item with the ID, or nil.
func itemOf[T Record](items []T, id string) Record {
	if i := slices.IndexFunc(items, func(item T) bool { return item.Resource().ID == id }); i >= 0 {
		return items[i]
	}
	return nil
}
