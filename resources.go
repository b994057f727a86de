package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// These methods work with resources of any kind. Programs that know the kind
// use its service.

// Resources iterates over the resources of the client's project, one kind after
// the other: the given kinds, or everything that a project's lists show. Parts
// of resources, such as rules and node pools, aren't among them.
//
//	for resource, err := range client.Resources(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(resource) // VM eu-central-h1/web-1 (vm3g8xpsxjs50pvjj2a7d3ky8h)
//	}
//
// The options apply to the list of each kind; a Location leaves out the kinds
// without locations. Lists that only other versions of the server have count as
// empty; if all are such, Resources yields [ErrNotFound]. A kind that isn't in a
// project's lists leads to an [*ArgumentError]. An [*UnlistedError] comes last.
func (c *Client) Resources(ctx context.Context, opts *ListOptions, kinds ...Kind) iter.Seq2[Resource, error] {
	return func(yield func(Resource, error) bool) {
		lists, err := resourceLists(opts, kinds)
		if err != nil {
			yield(Resource{}, err)
			return
		}
		var gone error    // of a list that the server doesn't have
		var partial error // of a list that lacks some resources
		has := false      // whether it has any
		for _, f := range lists {
			isThere := true
			for record, err := range f.all(ctx, &c.conn, opts) {
				if isThere = !errors.Is(err, ErrMaybeUnsupported); !isThere {
					gone = err
					break
				}
				if isPartial(err) {
					partial = err
					break
				}
				if err != nil {
					yield(Resource{}, err)
					return
				}
				if !yield(record.(identified).Resource(), nil) {
					return
				}
			}
			has = has || isThere
		}
		if !has && gone != nil {
			yield(Resource{}, gone)
		} else if partial != nil {
			yield(Resource{}, partial)
		}
	}
}

// resourceLists returns the families whose lists contain resources of the kinds.
func resourceLists(opts *ListOptions, kinds []Kind) ([]anyFamily, error) {
	var lists []anyFamily
	for _, f := range families() {
		switch {
		case f.kind() == KindProject:
		case len(kinds) > 0 && !slices.Contains(kinds, f.kind()):
		default:
			lists = append(lists, f)
		}
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(lists, func(f anyFamily) bool { return f.kind() == kind }) {
			return nil, argumentError("Resources", "kinds", string(kind), "is not the kind of resources in a list of the project")
		}
	}
	if opts != nil && opts.Location != "" {
		lists = slices.DeleteFunc(lists, func(f anyFamily) bool { return !f.hasLocations() })
	}
	return lists, nil
}

// Delete deletes a resource of any kind, by ID, or by name for a private
// location. It may return before the resource is gone; [Client.WaitDeleted]
// waits. It returns an [*ArgumentError] for a part, such as a rule.
func (c *Client) Delete(ctx context.Context, resource Resource) error {
	f, err := wholeFamily("Delete", resource)
	if err != nil {
		return err
	}
	return f.remove(ctx, &c.conn, resource.Location, addressOf(f, resource))
}

// WaitDeleted waits until a deleted resource is gone, which for some kinds,
// such as firewalls and SSH public keys, is immediate.
func (c *Client) WaitDeleted(ctx context.Context, resource Resource, opts *WaitOptions) error {
	f, err := wholeFamily("WaitDeleted", resource)
	if err != nil {
		return err
	}
	return f.waitGone(ctx, &c.conn, resource.Location, addressOf(f, resource), opts)
}

// CheckAccess returns those of the given resources that exist, and an error if
// the token can't see one of them or, if none is given, the client's project.
// Lists leave out what the token can't see, and can be stale: call CheckAccess
// before you treat what isn't in a list as deleted, or a project as empty.
//
//	missing := cloudapi.Resource{Kind: cloudapi.KindVM, ID: id, Location: location}
//	existing, err := client.CheckAccess(ctx, missing)
//	if err != nil {
//		return err // it may exist
//	}
//	isGone := len(existing) == 0
//
// If a resource isn't in its Location, CheckAccess returns it with its actual
// one. It returns [ErrForbidden] if the token is refused a resource twice, a
// second apart, [ErrNotFound] if the project is gone or the token's account has
// left it, and an [*ArgumentError] for a part, such as a rule. It returns
// [ErrLocationNotFound] if the Location doesn't exist and no other has the
// resource.
//
// An inference API key that the token may not see looks like one that doesn't
// exist, and lists of kinds that it may not see look empty.
func (c *Client) CheckAccess(ctx context.Context, known ...Resource) (existing []Resource, err error) {
	const operation = "CheckAccess"
	if ctx == nil {
		return nil, noContext(operation)
	}
	families := make([]anyFamily, len(known))
	for i, r := range known {
		if families[i], err = wholeFamily(operation, r); err != nil {
			return nil, err
		}
	}
	_, err = fetch[Project](ctx, &c.conn, &opProjectsGet)
	if err != nil && (len(known) == 0 || !errors.Is(err, ErrForbidden)) {
		return nil, err
	}
	for i, r := range known {
		exists, err := families[i].exists(ctx, &c.conn, r)
		if errors.Is(err, ErrForbidden) {
			if err := pace.Sleep(ctx, waitQuick.Interval); err != nil {
				return nil, err
			}
			exists, err = families[i].exists(ctx, &c.conn, r)
		}
		isNotThere := err == nil && !exists || errors.Is(err, ErrLocationNotFound)
		if isNotThere && families[i].hasLocations() { // perhaps it's in another location
			switch elsewhere, lookup := locate(ctx, &c.conn, r.Kind, r.ID); {
			case lookup == nil:
				r, exists, err = *elsewhere, true, nil
			case !isMissing(lookup):
				err = lookup
			}
		}
		if err != nil {
			return nil, fmt.Errorf("cloudapi: %s: %v: %w", operation, r, unprefixed{err})
		}
		if exists {
			existing = append(existing, r)
		}
	}
	return existing, nil
}

// wholeFamily returns the family of a resource that isn't a part of another.
func wholeFamily(operation string, resource Resource) (anyFamily, error) {
	f, part := familyOf(resource.Kind)
	switch {
	case f == nil:
		return nil, argumentError(operation, "resource", resource.String(), "is of an unknown kind")
	case part != nil:
		return nil, argumentError(operation, "resource", resource.String(), "is a part: use the service of its "+part.of.String())
	}
	return f, nil
}
