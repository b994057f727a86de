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

// Resources returns an iterator over the resources of the client's project, one
// kind after the other: those of the given kinds, or everything that the lists
// of a project show. Parts of resources, such as rules and node pools, are not
// among them.
//
//	for resource, err := range client.Resources(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(resource) // VM eu-central-h1/web-1 (vm3g8xpsxjs50pvjj2a7d3ky8h)
//	}
//
// The options apply to the list of each kind. With a Location, the kinds that
// are in no location are left out. A list that the server does not have, such as
// machine images in October 2025, counts as empty, but having none of the lists
// is [ErrNotFound]. An error is the last value of the iterator; if it is an
// [*UnlistedError], everything else was yielded before. A kind that is
// not in a project's lists is an [*ArgumentError].
func (c *Client) Resources(ctx context.Context, opts *ListOptions, kinds ...Kind) iter.Seq2[Resource, error] {
	return func(yield func(Resource, error) bool) {
		lists, err := resourceLists(opts, kinds)
		if err != nil {
			yield(Resource{}, err)
			return
		}
		var gone error     // of a list that the server does not have
		var unlisted error // of a list that the server can't show whole
		has := false       // whether it has any
		for _, f := range lists {
			isThere := true
			for record, err := range f.all(ctx, &c.conn, opts) {
				if isThere = !IsGone(err); !isThere {
					gone = err
					break
				}
				if isUnlisted(err) {
					unlisted = err
					break
				}
				if err != nil {
					yield(Resource{}, err)
					return
				}
				if !yield(record.(identified).identity(), nil) {
					return
				}
			}
			has = has || isThere
		}
		if !has && gone != nil {
			yield(Resource{}, gone)
		} else if unlisted != nil {
			yield(Resource{}, unlisted)
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

// Delete deletes a resource of any kind, as [Client.Resolve] or
// [Client.Resources] returns it. Like the Delete methods of the services, it
// also succeeds if the resource does not exist, and it may return before the
// resource is gone: see [Client.WaitDeleted]. It deletes by ID; but a private
// location, which has no reference by ID, by its name.
//
// A part of another resource, such as a rule, is an [*ArgumentError].
func (c *Client) Delete(ctx context.Context, resource Resource) error {
	f, err := wholeFamily("Delete", resource)
	if err != nil {
		return err
	}
	return f.remove(ctx, &c.conn, resource.Location, addressOf(f, resource))
}

// WaitDeleted waits until a deleted resource is gone: for example the result of
// [Client.DeleteExisting]. It returns immediately for kinds whose deletion is
// synchronous, such as firewalls and SSH public keys. The error is a
// [*WaitError], or an [*ArgumentError] for a part of another resource.
func (c *Client) WaitDeleted(ctx context.Context, resource Resource, opts ...WaitOption) error {
	f, err := wholeFamily("WaitDeleted", resource)
	if err != nil {
		return err
	}
	return f.waitGone(ctx, &c.conn, resource.Location, addressOf(f, resource), opts)
}

// CheckAccess returns an error if the token may not see the client's project, or
// one of the resources that the program knows. Call it before you take a
// resource that is no longer in a list for deleted, and an empty list for an
// empty project: lists leave out what the token may not see.
//
//	missing := cloudapi.Resource{Kind: cloudapi.KindVM, ID: id, Location: location}
//	if err := client.CheckAccess(ctx, missing); err != nil {
//		return err // it may exist
//	}
//
// It gets the project, and then each of the resources by its ID; a private
// location by its name. The error matches [ErrForbidden] if the token has no
// permission for one of them, and [ErrNotFound] if the project is gone or
// belongs to an account of which the token's is not a member. A resource that
// does not exist is no error. If resources are given, it is no error that the
// token may not see the project's own record, which is a permission of its own.
//
// The API has nothing that tells the permissions of a token. So without known
// resources, CheckAccess finds out only whether the token may see the project
// itself: nothing tells a list of a kind that the token may not see from an
// empty one. And an inference API key that the token may not see looks like one
// that does not exist. A resource that is being destroyed can be forbidden for a moment,
// so CheckAccess looks again a second later.
//
// A part of another resource, such as a rule, is an [*ArgumentError].
func (c *Client) CheckAccess(ctx context.Context, known ...Resource) error {
	const operation = "CheckAccess"
	if ctx == nil {
		return noContext(operation)
	}
	families := make([]anyFamily, len(known))
	for i, r := range known {
		var err error
		if families[i], err = wholeFamily(operation, r); err != nil {
			return err
		}
	}
	_, err := fetch[Project](ctx, &c.conn, &opProjectsGet)
	if err != nil && (len(known) == 0 || !errors.Is(err, ErrForbidden)) {
		return err
	}
	for i, r := range known {
		_, err := families[i].exists(ctx, &c.conn, r)
		if errors.Is(err, ErrForbidden) {
			if err := pace.Sleep(ctx, waitQuick.first); err != nil {
				return err
			}
			_, err = families[i].exists(ctx, &c.conn, r)
		}
		if err != nil {
			return fmt.Errorf("cloudapi: %s: %v: %w", operation, r, unprefixed{err})
		}
	}
	return nil
}

// wholeFamily returns the family of a resource that is not a part of another.
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
