package teardown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
)

// lists reads the resources of the client's project.
type lists struct {
	client *cloudapi.Client

	// subnets maps the ID of a load balancer to the ID of its private subnet, as
	// far as known. A load balancer never changes its subnet.
	subnets map[string]string
}

// survey lists the resources of the given kinds, in the order of the kinds. It
// includes all locations if location is "". It skips kinds that the server
// doesn't have.
func (l lists) survey(ctx context.Context, kinds []cloudapi.Kind, location string) ([]item, error) {
	type list struct {
		items []item
		err   error
	}
	results := forEach(ctx, kinds, func(ctx context.Context, kind cloudapi.Kind) *list {
		items, err := l.list(ctx, kind, location)
		return &list{items, err}
	})
	var all []item
	for _, r := range results {
		switch {
		case r.err == nil:
			all = append(all, r.items...)
		case !errors.Is(r.err, cloudapi.ErrMaybeUnsupported):
			return nil, r.err
		}
	}
	return all, nil
}

// list returns the resources of a kind, sorted by location and name.
func (l lists) list(ctx context.Context, kind cloudapi.Kind, location string) (items []item, err error) {
	for record, err := range l.client.Records(ctx, &cloudapi.ListOptions{Location: location}, kind) {
		unlisted, ok := errors.AsType[*cloudapi.UnlistedError](err)
		switch {
		case ok:
			for _, r := range unlisted.Resources {
				items = append(items, item{Resource: r})
			}
		case err != nil:
			return nil, err
		default:
			items = append(items, item{Resource: record.Resource(), record: record})
		}
	}
	for _, i := range items {
		if i.ID != "" && !cloudapi.IsID(i.ID, kind) {
			return nil, fmt.Errorf("%w: the list of %ss has %q, which isn't the ID of one", cloudapi.ErrInvalidResponse, kind, i.ID)
		}
	}
	if kind == cloudapi.KindLoadBalancer {
		items, err = l.complete(ctx, items)
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return items, err
}

// complete adds the subnets of load balancers, since lists don't show them. It
// keeps a load balancer that seems to be gone, in case the 404 is wrong; such a
// load balancer may be in any subnet of its location.
func (l lists) complete(ctx context.Context, items []item) ([]item, error) {
	type completed struct {
		item
		err error
	}
	var complete []item
	for _, c := range forEach(ctx, items, func(ctx context.Context, i item) *completed {
		if i.subnet = l.subnets[i.ID]; i.subnet != "" || i.ID == "" {
			return &completed{item: i}
		}
		balancer, err := l.client.LoadBalancers.Get(ctx, i.Location, i.ID)
		if cloudapi.IsGone(err) {
			return &completed{item: i}
		}
		return &completed{item{Resource: i.Resource, record: balancer}, err}
	}) {
		if c.err != nil {
			return nil, c.err
		}
		complete = append(complete, c.item)
	}
	return complete, nil
}

// hidden returns clusters and databases that are missing from the lists
// although their networks are listed: the token may not see them, or they were
// created after their list was read.
func (l lists) hidden(ctx context.Context, all []item) (hidden []item, err error) {
	looked := map[string]bool{"": true}
	for _, item := range all {
		looked[item.ID] = true
	}
	for _, i := range all {
		id := i.MadeFor()
		if looked[id] {
			continue
		}
		looked[id] = true
		owner := cloudapi.Resource{Kind: cloudapi.KindPostgres, ID: id, Location: i.Location}
		if cloudapi.IsID(id, cloudapi.KindKubernetesCluster) {
			owner.Kind = cloudapi.KindKubernetesCluster
		}
		switch _, err := l.client.Fetch(ctx, owner); {
		case err == nil || errors.Is(err, cloudapi.ErrForbidden):
			hidden = append(hidden, item{Resource: owner, hidden: true})
		case !cloudapi.IsGone(err):
			return nil, err
		}
	}
	return hidden, nil
}
