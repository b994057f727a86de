package demo

import (
	"context"

	"github.com/cloudapi-sdk/cloudapi"
)

// Remove deletes a resource that a program has created for itself, if it exists,
// and waits until it's gone. It tries again during an outage, since the resource
// costs money. If mayAppear, "not found" proves nothing, because the server may
// still execute the create.
func Remove(ctx context.Context, client *cloudapi.Client, reference string, kind cloudapi.Kind, mayAppear bool) error {
	patient := Soon(nil)
	patient.Tolerance = 100 // no limit in effect: the context ends before 100 errors in a row
	always := func(*cloudapi.Resource) (bool, error) { return true, nil }
	found, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Resource, error) {
		return client.Resolve(ctx, reference, kind)
	}, always, patient)
	switch {
	case cloudapi.IsGone(err) && !mayAppear:
		return nil
	case err != nil:
		return err
	}
	if _, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Resource, error) {
		return found, client.Delete(ctx, *found)
	}, always, patient); err != nil {
		return err
	}
	return client.WaitDeleted(ctx, *found, patient)
}
