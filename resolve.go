package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// Resolve finds a resource in the client's project. The reference is
//
//   - the ID of any [Record], including rules, node pools and NICs;
//   - "location/name" of a VM, machine image, private subnet, firewall, load
//     balancer, Postgres database or Kubernetes cluster;
//   - the name of an SSH public key, init script or private location.
//
// It must be of one of the kinds, if any are given; the ID of another kind
// leads to an [*ArgumentError]. Resolve returns [ErrAmbiguous] if several
// resources have the name, and [ErrInvalidRequest] for a name such as "Web_1".
//
// Most IDs take one request. For a private location or a part, such as a rule
// or a NIC, Resolve searches lists, or even gets resources one by one. A name
// takes one request for each possible kind, and two for load balancers.
func (c *Client) Resolve(ctx context.Context, reference string, kinds ...Kind) (*Resource, error) {
	resource, _, err := c.find(ctx, "Resolve", reference, kinds)
	return resource, err
}

// Fetch returns the full record of a resource: a *[VM] for [KindVM], and so on.
// Programs that know the kind use [Lookup]. A part must have its Parent.
func (c *Client) Fetch(ctx context.Context, resource Resource) (any, error) {
	f, part := familyOf(resource.Kind)
	switch {
	case f == nil:
		return nil, argumentError("Fetch", "resource", resource.String(), "is of an unknown kind")
	case part == nil:
		return f.read(ctx, &c.conn, resource.Location, addressOf(f, resource))
	case resource.Parent == nil:
		return nil, argumentError("Fetch", "resource", resource.String(), "must have its Parent")
	}
	whole, err := part.whole(ctx, &c.conn, f, *resource.Parent)
	if err != nil {
		return nil, err
	}
	record := part.in(whole, resource.ID)
	if record == nil {
		return nil, fmt.Errorf("cloudapi: Fetch: %v: %w", resource, ErrNotFound)
	}
	return record, nil
}

// Lookup returns the full record of a reference, as in [Client.Resolve]:
//
//	vm, err := cloudapi.Lookup[cloudapi.VM](ctx, client, "eu-central-h1/web-1")
//	db, err := cloudapi.Lookup[cloudapi.Postgres](ctx, client, "pgn30gjk1d1e2jj34v9x0dq4rp")
func Lookup[T any, P interface {
	*T
	identified
}](ctx context.Context, c *Client, reference string) (*T, error) {
	kind := kindOf[T]()
	resource, record, err := c.find(ctx, "Lookup", reference, []Kind{kind})
	if err == nil && record == nil {
		record, err = c.Fetch(ctx, *resource)
	}
	if err != nil {
		return nil, err
	}
	return record.(*T), nil
}

// DeleteExisting deletes the resource of a reference, as in [Client.Resolve],
// by its ID, and returns it. It returns [ErrNotFound] if there is none. It may
// return before the resource is gone; [Client.WaitDeleted] waits. A part of
// another resource, such as a firewall rule, leads to an [*ArgumentError].
func (c *Client) DeleteExisting(ctx context.Context, reference string, kinds ...Kind) (*Resource, error) {
	ref, _ := ParseReference(reference) // find returns the error
	if _, part := familyOf(ID(ref.ID).Kind()); part != nil {
		return nil, argumentError("DeleteExisting", "reference", reference,
			"is a "+part.kind.String()+": delete it with the service of its "+part.of.String())
	}
	resource, _, err := c.find(ctx, "DeleteExisting", reference, kinds)
	if err != nil {
		return nil, err
	}
	err = c.Delete(ctx, *resource)
	if errors.Is(err, ErrForbidden) { // as one that falls into another deletion can be
		err = c.Delete(ctx, *resource)
	}
	if err != nil {
		return nil, err
	}
	return resource, nil
}

// find implements Resolve. It also returns the full record if it has read it.
func (c *Client) find(ctx context.Context, operation, reference string, kinds []Kind) (*Resource, any, error) {
	ref, err := ParseReference(reference)
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Operation = operation
		return nil, nil, e
	}
	if ref.ID == "" {
		return c.findName(ctx, operation, ref, kinds)
	}
	kind := ID(ref.ID).Kind()
	switch i := slices.IndexFunc(kinds, func(k Kind) bool { return IsID(ref.ID, k) }); {
	case i >= 0:
		kind = kinds[i]
	case len(kinds) > 0:
		return nil, nil, argumentError(operation, "reference", reference,
			"is the ID of another kind: "+kind.String())
	}
	f, part := familyOf(kind)
	if f == nil {
		return nil, nil, argumentError(operation, "reference", reference,
			"is the ID of a "+kind.String()+", which Resolve cannot find")
	}
	if ref.Location != "" && !f.hasLocations() {
		return nil, nil, argumentError(operation, "reference", reference,
			"has a location, but a "+kind.String()+" is in none")
	}
	var record any
	switch {
	case part != nil:
		return c.findPart(ctx, operation, f, part, ref)
	case f.hasLocations() && ref.Location == "":
		resource, err := locate(ctx, &c.conn, kind, ref.ID)
		return resource, nil, err
	case !f.takesIDs():
		record, err = c.search(ctx, operation, f, ref, func(item any) (any, error) {
			if item.(identified).Resource().ID != ref.ID {
				return nil, nil
			}
			return item, nil
		})
	default:
		record, err = f.read(ctx, &c.conn, ref.Location, ref.ID)
	}
	if err != nil {
		return nil, nil, err
	}
	resource := record.(identified).Resource()
	return &resource, record, nil
}

// findName looks for a name in each family that may have it.
func (c *Client) findName(ctx context.Context, operation string, ref Reference, kinds []Kind) (*Resource, any, error) {
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
	records, errs := make([]any, len(candidates)), make([]error, len(candidates))
	parallel.Do(len(candidates), 0, func(i int) { records[i], errs[i] = c.findNamed(ctx, operation, ref, candidates[i]) })

	var found []Resource
	var record any
	var failures []error
	none := fmt.Errorf("cloudapi: %s: %v: %w", operation, ref, ErrNotFound) // the default error
	if ref.Location == "" {
		none = fmt.Errorf("%w; refer to a resource in a location by location/name", none)
	}
	for i, err := range errs {
		switch {
		case err == nil:
			record = records[i]
			found = append(found, record.(identified).Resource())
		case errors.Is(err, ErrForbidden), errors.Is(err, ErrInvalidRequest):
			// The token may see only some kinds, and a name may be valid only for some.
			none = err
		case errors.Is(err, ErrLocationNotFound):
			none = err // it lists the valid locations
		case errors.Is(err, ErrNotFound):
			if len(candidates) == 1 && !IsGone(err) {
				none = err // it says that the service lacks the operation
			}
		default:
			failures = append(failures, err)
		}
	}
	switch {
	case len(failures) > 0:
		return nil, nil, failures[0]
	case len(found) == 0:
		return nil, nil, none
	case len(found) > 1:
		return nil, nil, ambiguous(operation, ref, found[0], found[1])
	}
	return &found[0], record, nil
}

// findNamed looks for a name in one family, and checks that it occurs only once
// there.
func (c *Client) findNamed(ctx context.Context, operation string, ref Reference, f anyFamily) (any, error) {
	record, err := f.read(ctx, &c.conn, ref.Location, ref.Name)
	if err != nil || !f.hasHomonyms() {
		return record, err
	}
	first := record.(identified).Resource()
	for item, err := range f.all(ctx, &c.conn, &ListOptions{Location: ref.Location}) {
		if isPartial(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		if other := item.(identified).Resource(); other.Name == first.Name && other.ID != first.ID {
			return nil, ambiguous(operation, ref, first, other)
		}
	}
	return record, nil
}

func ambiguous(operation string, ref Reference, one, other Resource) error {
	return fmt.Errorf("cloudapi: %s: %v: %w: %v and %v", operation, ref, ErrAmbiguous, one, other)
}

// findPart looks for a part in all resources that may have it.
func (c *Client) findPart(ctx context.Context, operation string, f anyFamily, part *part, ref Reference) (*Resource, any, error) {
	var parent Resource
	record, err := c.search(ctx, operation, f, ref, func(item any) (any, error) {
		parent = item.(identified).Resource()
		if !part.listed {
			var err error
			item, err = part.whole(ctx, &c.conn, f, parent)
			if errors.Is(err, ErrNotFound) || errors.Is(err, ErrForbidden) {
				return nil, nil // it is gone since it was listed, or is about to go, since lists show only visible resources
			} else if err != nil {
				return nil, err
			}
		}
		return part.in(item, ref.ID), nil
	})
	if err != nil {
		return nil, nil, err
	}
	resource := record.(identified).Resource()
	resource.Parent = &parent
	return &resource, record, nil
}

// search returns the first result of pick for the items of a family.
func (c *Client) search(ctx context.Context, operation string, f anyFamily, ref Reference, pick func(item any) (any, error)) (any, error) {
	for item, err := range f.all(ctx, &c.conn, &ListOptions{Location: ref.Location}) {
		if err != nil {
			return nil, err
		}
		if record, err := pick(item); record != nil || err != nil {
			return record, err
		}
	}
	return nil, fmt.Errorf("cloudapi: %s: %v: %w", operation, ref, errNotShown)
}
