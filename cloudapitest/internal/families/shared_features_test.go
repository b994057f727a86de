package families_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// TestFeaturesOfAProject tries what only some projects may do, without and with the
// features.
func TestFeaturesOfAProject(t *testing.T) {
	inServiceBubble(t, func(t *testing.T, srv *cloudapitest.Server, pg *cloudapi.PostgresService) {
		ctx := t.Context()
		createDatabase(t, pg, "db")
		must(pg.WaitRunning(ctx, here, "db", nil))
		lantern := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, Flavor: "lantern"}
		_, err := pg.SetMaintenanceWindow(ctx, here, "db", new(3), "thu")
		refused(t, err, "Maintenance window days are not enabled")
		_, err = pg.Create(ctx, here, "lantern", lantern)
		refused(t, err, "Available options: standard")
		_, err = pg.CreateBackupCredentials(ctx, here, "db")
		refused(t, err, "Backup downloads are not available")

		srv.SetFeatures(srv.ProjectID(), cloudapitest.FeatureBackupDownloads, cloudapitest.FeatureLantern, cloudapitest.FeatureMaintenanceWindowDays)
		p := must(pg.SetMaintenanceWindow(ctx, here, "db", new(3), "thu", "mon", "thu"))
		if want := []string{"mon", "thu"}; !slices.Equal(p.MaintenanceWindowDays, want) {
			t.Errorf("days %q, want %q", p.MaintenanceWindowDays, want)
		}
		if p := must(pg.Create(ctx, here, "lantern", lantern)); p.Version != "17" || p.Flavor != "lantern" {
			t.Errorf("flavor %s has version %s", p.Flavor, p.Version)
		}
		_, err = pg.Upgrade(ctx, here, "lantern")
		refused(t, err, "Lantern Postgres instances cannot be upgraded")
		if c := must(pg.CreateBackupCredentials(ctx, here, "db")); c.Region == "" || !c.Expiration.After(time.Now()) {
			t.Errorf("credentials %+v", c)
		}
		flavors := must(pg.Capabilities(ctx)).OptionTree["flavor"]
		if versions := flavors["lantern"]["version"]; len(flavors) != 2 || len(versions) != 2 || versions["18"] != nil {
			t.Errorf("flavors %v", flavors)
		}
	})
}
