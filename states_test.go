package cloudapi

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
)

// TestEveryStateHasAPhase: no state has a phase only because it's unknown.
func TestEveryStateHasAPhase(t *testing.T) {
	t.Parallel()
	for field, phases := range map[string]map[string]Phase{
		"VM.State":                       vmPhases,
		"Postgres.State":                 postgresPhases,
		"KubernetesCluster.DisplayState": clusterPhases,
		"PrivateSubnet.State":            subnetPhases,
		"PrivateLinkService.State":       privateLinkPhases,
		"MachineImageVersion.State":      imageVersionPhases,
	} {
		states := apitables.Values()[field]
		for state := range states {
			if phases[state] == "" {
				t.Errorf("%s: %q has no phase", field, state)
			}
		}
		for state := range phases {
			if _, ok := states[state]; !ok && state != "" {
				t.Errorf("%s: %q has a phase but is no state", field, state)
			}
		}
	}
}
