package waits_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestWaitDeletedProves: a wait for a deletion that has never seen the resource
// ends as Fetch does, in every family. It doesn't succeed for what exists.
func TestWaitDeletedProves(t *testing.T) {
	t.Parallel()
	const foreign = "pjahbwgme82j3qbwnsn4b3w1e9"
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		resources := stub.Must(cloudapi.Collect(p.Client.Resources(t.Context(), nil)))(t)
		wait := func(client *cloudapi.Client, r cloudapi.Resource) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			return client.WaitDeleted(ctx, r, nil)
		}
		for _, r := range resources {
			if err := wait(p.Client.InProject(foreign), r); !errors.Is(err, cloudapi.ErrNotFound) || cloudapi.IsGone(err) {
				t.Errorf("%v in another account's project: %v", r, err)
			}
			if r.Location != "" {
				at := r
				at.Location = "us-east-a2"
				if err := wait(p.Client, at); !errors.Is(err, cloudapi.ErrWaitFailed) || !strings.Contains(err.Error(), "it is in "+r.Location) {
					t.Errorf("%v in a wrong location: %v", r, err)
				}
			}
			gone := r
			gone.ID = cloudapitest.NewID(r.Kind).String()
			if err := wait(p.Client, gone); err != nil {
				t.Errorf("a %v that is gone: %v", r.Kind, err)
			}
		}
		p.Server.SetPermissions(p.Server.ProjectID(), p.Server.Token())
		for _, r := range resources {
			if err := wait(p.Client, r); !errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("%v, which the token can't see: %v", r, err)
			}
		}
		for name, call := range map[string]func(context.Context) error{
			"a VM by its name": func(ctx context.Context) error { return p.Client.VMs.WaitDeleted(ctx, sdktest.Somewhere, "none", nil) },
			"a node pool": func(ctx context.Context) error {
				return p.Client.Kubernetes.WaitNodePoolDeleted(ctx, sdktest.Somewhere, "none", "np", nil)
			},
			"an image's version": func(ctx context.Context) error {
				return p.Client.MachineImages.WaitVersionDeleted(ctx, sdktest.Somewhere, "none", "v1", nil)
			},
		} {
			if err := call(t.Context()); !errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("%s, with a token that sees nothing: %v", name, err)
			}
		}
	})
}

// TestWaitDeletedOfWhatTheListShows: a private link service whose GET is a 404
// isn't deleted as long as the list has it, by its name as by its ID, whether the
// wait has seen it or not.
func TestWaitDeletedOfWhatTheListShows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ctx := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices), t.Context()
		link := stub.Must(p.Client.PrivateLinkServices.Create(ctx, "own", "link", &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: p.Subnet.ID}))(t)
		for _, ref := range []string{link.ID, link.Name} {
			for _, seen := range []int{0, 1} {
				p.Server.Fail(cloudapitest.Match{Operation: "PrivateLinkServices.Get", Nth: seen + 1}, sdktest.Refusal(404, "ResourceNotFound").Repeating())
				err := p.Client.PrivateLinkServices.WaitDeleted(ctx, "own", ref, nil)
				p.Server.ClearFaults()
				if !errors.Is(err, cloudapi.ErrNotFound) || cloudapi.IsGone(err) {
					t.Errorf("%s, seen %d times: %v", ref, seen, err)
				}
			}
		}
		if err := p.Client.PrivateLinkServices.WaitDeleted(ctx, "own", "none", nil); err != nil {
			t.Errorf("one that the list lacks: %v", err)
		}
	})
}
