package families

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFilesBeginWithTheirFamily checks that the name of each file begins with
// its family.
func TestFilesBeginWithTheirFamily(t *testing.T) {
	t.Parallel()
	prefixes := []string{
		"auditlog", "firewalls", "github", "inferenceendpoints", "inferencekeys", "initscripts", "kubernetes", "loadbalancers",
		"machineimages", "postgres", "privatelocations", "projects", "sshkeys", "subnets", "vms", "shared",
		"families", "files", "helpers", "measured", "operations", "replay", "versions", // all families
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, files %q", err, files)
	}
	for _, f := range files {
		prefix, _, _ := strings.Cut(strings.TrimSuffix(f, ".go"), "_")
		if !slices.Contains(prefixes, prefix) {
			t.Errorf("%s begins with no family", f)
		}
	}
}
