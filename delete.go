package cloudapi

import "context"

// DeleteExisting deletes the resource that a reference stands for, see
// [Client.Resolve], and returns it. If there is none the error is
// [ErrNotFound]. In contrast, the Delete methods of the services report
// success, since the API answers 204 even for a mistyped name. DeleteExisting
// resolves the reference first and then deletes by ID. The deletion is
// asynchronous if it is so in the Delete method of the service;
// [Client.WaitDeleted] waits for its end.
//
// The ID of a part of another resource, such as a firewall rule, is an
// [*ArgumentError].
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
	if err := c.Delete(ctx, *resource); err != nil {
		return nil, err
	}
	return resource, nil
}
