package ensure_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestEnsureOfARenamedResource: if another program renames a resource while
// Ensure updates it, and another resource takes the name, Ensure still returns
// the updated one.
func TestEnsureOfARenamedResource(t *testing.T) {
	t.Parallel()
	const name = "x-1"
	for family, tt := range map[string]struct {
		update string // the last operation that changes something
		create func(*testing.T, *cloudapi.Client) string
		ensure func(context.Context, *cloudapi.Client) (string, cloudapi.EnsureOutcome, error)
		rename func(context.Context, *cloudapi.Client) error
	}{
		"Kubernetes": {"Kubernetes.ResizeNodePool", func(t *testing.T, c *cloudapi.Client) string {
			stub.Must(c.Kubernetes.Create(t.Context(), sdktest.Somewhere, name, &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
			return stub.Must(c.Kubernetes.WaitRunning(t.Context(), sdktest.Somewhere, name, nil))(t).ID
		}, func(ctx context.Context, c *cloudapi.Client) (string, cloudapi.EnsureOutcome, error) {
			k, outcome, err := c.Kubernetes.Ensure(ctx, sdktest.Somewhere, name, &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2", WorkerNodeCount: 2}, &cloudapi.EnsureOptions{Update: true})
			return idOf(k), outcome, err
		}, func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.Kubernetes.Rename(ctx, sdktest.Somewhere, name, "other")
			return err
		}},
		"PrivateSubnets": {"Firewalls.AttachSubnet", func(t *testing.T, c *cloudapi.Client) string {
			old := stub.Must(c.Firewalls.Create(t.Context(), sdktest.Somewhere, "old", nil))(t)
			stub.Must(c.Firewalls.Create(t.Context(), sdktest.Somewhere, "new", nil))(t)
			return stub.Must(c.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: old.ID}))(t).ID
		}, func(ctx context.Context, c *cloudapi.Client) (string, cloudapi.EnsureOutcome, error) {
			firewall, err := c.Firewalls.Get(ctx, sdktest.Somewhere, "new")
			if err != nil {
				return "", "", err
			}
			s, outcome, err := c.PrivateSubnets.Ensure(ctx, sdktest.Somewhere, name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}, &cloudapi.EnsureOptions{Update: true})
			return idOf(s), outcome, err
		}, func(ctx context.Context, c *cloudapi.Client) error {
			if _, err := c.PrivateSubnets.Rename(ctx, sdktest.Somewhere, name, "other"); err != nil {
				return err
			}
			_, err := c.PrivateSubnets.Create(ctx, sdktest.Somewhere, name, nil)
			return err
		}},
	} {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				id := tt.create(t, srv.Client())
				stub.Elapse(time.Hour)
				renaming := cloudapi.WithObserver(func(ctx context.Context, op cloudapi.Operation) (context.Context, func(error)) {
					return ctx, func(error) {
						if op.Name == tt.update {
							stub.Must(0, tt.rename(ctx, srv.Client()))(t)
						}
					}
				})
				if got, outcome, err := tt.ensure(t.Context(), srv.Client(renaming)); got != id || outcome != cloudapi.EnsureUpdated || err != nil {
					t.Errorf("%s, %q, %v; want %s", got, outcome, err, id)
				}
			})
		})
	}
}

func idOf[T any](record *T) string {
	if record == nil {
		return ""
	}
	return any(record).(interface{ Resource() cloudapi.Resource }).Resource().ID
}
