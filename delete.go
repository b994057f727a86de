package cloudapi

import "context"

// DeleteExisting deletes what a reference stands for, as [Client.Resolve] reads
// it, and returns what that was. If there is nothing it is [ErrNotFound], where
// the Delete of a service reports success: the API answers a delete of what does
// not exist with 204, so that a typing mistake looks like success. It resolves
// the reference first and then deletes by ID. The effect comes later as after
// Delete, and a WaitDeleted fits as it does there.
//
// A part of another resource, such as a firewall rule, is an [*ArgumentError].
func (c *Client) DeleteExisting(ctx context.Context, reference string, kinds ...Kind) (*Resource, error) {
	resource, _, err := c.find(ctx, "DeleteExisting", reference, kinds)
	if err != nil {
		return nil, err
	}
	f, part := familyOf(resource.Kind)
	if part != nil {
		return nil, &ArgumentError{Operation: "DeleteExisting", Name: "reference", Value: reference,
			Reason: "is a " + resource.Kind.String() + ", which the service of its " + part.of.String() + " deletes"}
	}
	if err := f.remove(ctx, c, resource.Location, f.address(*resource)); err != nil {
		return nil, err
	}
	return resource, nil
}
