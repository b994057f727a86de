package teardown_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// TestPrivateLinks: a private link service goes before its database and its
// subnet, however long that takes, and keeps both if it's kept.
func TestPrivateLinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices)
		ctx, c := t.Context(), p.Client
		stub.Must(c.Postgres.CreatePrivateLinkService(ctx, "own", "db", "link-of-db", nil))(t)
		vms := stub.Must(c.PrivateSubnets.Create(ctx, "own", "vms", nil))(t)
		stub.Must(c.PrivateLinkServices.Create(ctx, "own", "link-of-vms", &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: vms.ID}))(t)
		slow := cloudapitest.DefaultDelays()
		slow.Delete = 5 * time.Minute
		p.Server.SetDelays(cloudapi.KindPrivateLinkService, "", slow)

		for _, tt := range []struct {
			kept string
			want []string
		}{
			{"link-of-db", []string{"private link service own/link-of-db", "Postgres database own/db", "private subnet own/net", "private location own"}},
			{"link-of-vms", []string{"private link service own/link-of-vms", "private subnet own/vms", "firewall own/vms-default", "private location own"}},
		} {
			plan := stub.Must(teardown.NewPlan(ctx, c, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.Name == tt.kept }}))(t)
			got := sdktest.Described(plan.Kept())
			for _, want := range tt.want {
				if !slices.Contains(got, want) {
					t.Errorf("with %s, %q are kept, but not %s", tt.kept, got, want)
				}
			}
		}
		keepLocation := func(r cloudapi.Resource) bool { return r.Kind == cloudapi.KindPrivateLocation } // it has backups
		plan := stub.Must(teardown.NewPlan(ctx, c, &teardown.Options{Keep: keepLocation}))(t)
		if first := sdktest.Described(plan.Stages()[0]); !slices.Equal(first, []string{"private link service own/link-of-db", "private link service own/link-of-vms"}) {
			t.Errorf("the first stage is %q", first)
		}
		if err := plan.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}
