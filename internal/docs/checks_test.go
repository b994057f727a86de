package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestChecksForgetTheProject runs a step of .ci/run that prints the environment:
// the examples, which are other steps, must not find a project of the
// contributor there, since one of them deletes all its resources.
func TestChecksForgetTheProject(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the checks need bash, which this machine does not have")
	}
	file := filepath.Join(root, ".ci/run")
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	variables := []string{cloudapi.EnvBaseURL, cloudapi.EnvToken, cloudapi.EnvProject}
	command := exec.CommandContext(t.Context(), "bash", "-c", string(script), file, "env")
	command.Env = os.Environ()
	for _, variable := range variables {
		command.Env = append(command.Env, variable+"=set")
	}
	out, err := command.Output()
	if err != nil || !strings.Contains(string(out), "== done") {
		t.Fatalf("the script fails: %v", err)
	}
	for _, variable := range variables {
		if strings.Contains(string(out), "\n"+variable+"=") {
			t.Errorf("a step has the contributor's %s", variable)
		}
	}
}
