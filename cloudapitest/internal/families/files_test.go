package families

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFilesBeginWithTheirFamily checks that the name of each file begins with
// its family, and that a version of the API has one name in all of them.
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
		for _, word := range []string{"later", "2025", "2026"} {
			if rest := strings.NewReplacer("october2025", "", "august2026", "").Replace(f); strings.Contains(rest, word) {
				t.Errorf("%s names a version otherwise than October 2025 or August 2026", f)
			}
		}
	}
}
