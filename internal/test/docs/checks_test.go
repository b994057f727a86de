package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// step runs a step of .ci/run with more variables in its environment.
func step(t *testing.T, step string, variables ...string) (output string, err error) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the checks need bash, which this machine does not have")
	}
	command := exec.CommandContext(t.Context(), "bash", filepath.Join(root, ".ci/run"), step)
	command.Env = append(os.Environ(), variables...)
	out, err := command.Output()
	return string(out), err
}

// TestChecksForgetTheProject runs a step of .ci/run that prints the environment:
// the examples, which are other steps, must not find a project of the
// contributor there, since one of them deletes all its resources.
func TestChecksForgetTheProject(t *testing.T) {
	t.Parallel()
	variables := []string{cloudapi.EnvBaseURL, cloudapi.EnvToken, cloudapi.EnvProject, cloudapi.EnvInsecureHTTP}
	var set []string
	for _, variable := range variables {
		set = append(set, variable+"=set")
	}
	out, err := step(t, "env", set...)
	if err != nil || !strings.Contains(out, "== done") {
		t.Fatalf("the script fails: %v", err)
	}
	for _, variable := range variables {
		if strings.Contains(out, "\n"+variable+"=") {
			t.Errorf("a step has the contributor's %s", variable)
		}
	}
}

// TestStepThatDoesNotExist: a name that is mistyped or lacks its module fails, and
// the output ends with the steps that exist.
func TestStepThatDoesNotExist(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nothing", "tests"} {
		out, err := step(t, name)
		if err == nil || !strings.Contains(out, "\n== FAILED: "+name+" (") || !strings.Contains(out, "\n  .ci/run 'tests .'\n") {
			t.Errorf("%s: %v, %q", name, err, out)
		}
	}
}

// TestCommandsOfTheREADME: the checks begin with the two commands of the README.
func TestCommandsOfTheREADME(t *testing.T) {
	t.Parallel()
	script := stub.Must(os.ReadFile(filepath.Join(root, ".ci/run")))(t)
	if _, steps, _ := strings.Cut(string(script), "\nall=("); strings.Fields(steps)[0] != "readme" {
		t.Error("the checks do not begin with the commands of the README")
	}
	if out, err := step(t, "commands README.md"); err != nil || strings.Count(out, "\ngo ") != 2 {
		t.Errorf("%v: %s", err, out)
	}
}
