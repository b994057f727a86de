package cloudapi

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestPlaceholders: what each placeholder of the contract's routes accepts.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	const references, ids = false, true
	for _, tt := range []struct {
		route  string
		kinds  []Kind
		idOnly bool
	}{
		{"/{project_id}", []Kind{KindProject}, ids},
		{"/{object_id}", []Kind{KindFirewall, KindKubernetesCluster, KindLoadBalancer, KindMachineImage, KindPostgres, KindPrivateSubnet, KindVM}, ids},
		{"/{github_cache_entry_id}", []Kind{KindGitHubCacheEntry}, ids},
		{"/{github_installation_reference}", []Kind{KindGitHubInstallation}, references},
		{"/{github_repository_reference}", []Kind{KindGitHubRepository}, references},
		{"/{machine_image_reference}", []Kind{KindMachineImage}, references},
		{"/firewall/x/{firewall_rule_id}", []Kind{KindFirewallRule}, ids},
		{"/postgres/x/{firewall_rule_id}", []Kind{KindPostgresFirewallRule, KindFirewallRule}, ids},
		{"/{inference_api_key_id}", []Kind{KindInferenceAPIKey}, ids},
		{"/{log_destination_id}", []Kind{KindPostgresLogDestination}, ids},
		{"/{metric_destination_id}", []Kind{KindPostgresMetricDestination, KindOther}, ids},
		{"/{private_subnet_id}", []Kind{KindPrivateSubnet}, ids},
		{"/{firewall_reference}", []Kind{KindFirewall}, references},
		{"/{kubernetes_cluster_reference}", []Kind{KindKubernetesCluster}, references},
		{"/{kubernetes_nodepool_reference}", []Kind{KindKubernetesNodePool}, references},
		{"/{load_balancer_reference}", []Kind{KindLoadBalancer}, references},
		{"/{postgres_database_reference}", []Kind{KindPostgres}, references},
		{"/{private_link_service_reference}", []Kind{KindPrivateLinkService}, references},
		{"/{private_subnet_reference}", []Kind{KindPrivateSubnet}, references},
		{"/{ssh_public_key_reference}", []Kind{KindSSHPublicKey}, references},
		{"/{vm_init_script_reference}", []Kind{KindVMInitScript}, references},
		{"/{vm_reference}", []Kind{KindVM}, references},
		{"/{location}", nil, references},
		{"/{private_location_name}", nil, references},
	} {
		op := Operation{Name: "Test", Route: tt.route}
		for kind := range kindNames {
			id := newID(t, kind)
			fits := slices.Contains(tt.kinds, kind)
			path, want, err := op.path("", []string{id})
			if tt.idOnly && !fits {
				if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "must be an ID: "+string(tt.kinds[0])) {
					t.Errorf("%s with the ID of a %s: %q, %v", tt.route, kind, path, err)
				}
				continue
			}
			if full := tt.route[:strings.Index(tt.route, "{")] + id; err != nil || path != full || (want.id != "") != fits {
				t.Errorf("%s with the ID of a %s: %q, by ID %v, %v", tt.route, kind, path, want.id != "", err)
			}
		}
		for _, name := range []string{"web-1", "A.b_c~d", strings.Repeat("x", 255), "..."} {
			path, want, err := op.path("", []string{name})
			if (err != nil) != tt.idOnly || err == nil && (!strings.HasSuffix(path, "/"+name) || want.id != "") {
				t.Errorf("%s with %s: %q, by ID %v, %v", tt.route, name, path, want.id != "", err)
			}
		}
	}
}
