package families

import (
	"slices"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// The features that the service enables for individual projects.
const (
	FeatureBackupDownloads       = "backup-downloads"
	FeatureLantern               = "lantern"
	FeatureMaintenanceWindowDays = "maintenance-window-days"
	FeaturePrivateLinkServices   = "private-link-services"
)

// KnowsFeature reports whether there is a feature with the name.
func KnowsFeature(name string) bool {
	return slices.Contains([]string{FeatureBackupDownloads, FeatureLantern, FeatureMaintenanceWindowDays, FeaturePrivateLinkServices}, name)
}

func hasFeature(at *api.Moment, p *api.Project, name string) bool {
	return at.Config.Version == version.Service && slices.Contains(p.Features, name)
}
