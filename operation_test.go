package cloudapi

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
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

// TestReferencesOfDeletions: a deletion, and a wait for one, refuse what no
// resource can have; see TestReferenceRule.
func TestReferencesOfDeletions(t *testing.T) {
	t.Parallel()
	location := newID(t, KindPrivateLocation)
	for _, tt := range []struct {
		op     *Operation
		reason string
	}{
		{&opVMsDelete, "is the ID of another kind: private location"},
		{&opPrivateLocationsDelete, "must be a name, not an ID"},
		{&opMachineImagesDeleteVersion, "must be a name, not an ID"},
		{&opVMsGet, ""},
		{&opPrivateLocationsGet, ""},
	} {
		args := []string{stub.Project, "eu-central-h1", "golden"}[:strings.Count(tt.op.Route, "{")-1]
		_, _, err := tt.op.path("", append(args, location))
		if e, _ := errors.AsType[*ArgumentError](err); tt.reason == "" && err != nil || tt.reason != "" && (e == nil || e.Reason != tt.reason) {
			t.Errorf("%s: %v", tt.op.Name, err)
		}
	}
	err := new(PrivateLocationsService).WaitDeleted(t.Context(), location, nil)
	if e, ok := errors.AsType[*ArgumentError](err); !ok || e.Operation != "PrivateLocations.WaitDeleted" || e.Reason != "must be a name, not an ID" {
		t.Errorf("the wait: %v", err)
	}
}

func TestBoundProject(t *testing.T) {
	t.Parallel()
	op := Operation{Name: "VMs.Get", Route: vmRoute}
	path, want, err := op.path(stub.Project, []string{"l", "v"})
	if path != "/project/"+stub.Project+"/location/l/vm/v" || want.id != "" || err != nil {
		t.Errorf("path = %q, %v, %v", path, want.id != "", err)
	}
	if _, _, err = op.path("", []string{"l", "v"}); !errors.Is(err, ErrNoProject) {
		t.Errorf("without a project: %v", err)
	}
	op = Operation{Name: "Projects.Get", Route: projectRoute}
	if path, want, err = op.path(stub.Project, []string{"pj00000000021g000000000001"}); path != "/project/pj00000000021g000000000001" || want.id == "" || err != nil {
		t.Errorf("a project of its own: %q, %v, %v", path, want.id != "", err)
	}
	if path, _, err = (&Operation{Route: "/project"}).path("", nil); path != "/project" || err != nil {
		t.Errorf("without placeholders: %q, %v", path, err)
	}
}
