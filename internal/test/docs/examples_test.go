package docs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// examples is for .ci/run: the examples need modules that no test needs.
var examples = flag.Bool("examples", false, "run the commands of examples/README.md")

// TestExamples checks that examples/README.md has a command of each example. With
// -examples, it runs all commands of the page, as a reader does.
func TestExamples(t *testing.T) {
	t.Parallel()
	all := documents(t)
	page := all[slices.IndexFunc(all, func(d document) bool { return d.path == "examples/README.md" })]
	blocks, _ := page.split()
	var words []string
	for _, b := range blocks {
		commands := b.commands()
		for _, c := range commands {
			words = append(words, strings.Fields(c.line)...)
		}
		if *examples && len(commands) > 0 {
			t.Run(strings.ReplaceAll(commands[0].place, "/", "_"), func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				for _, c := range commands {
					c.run(t, folder)
				}
			})
		}
	}
	programs := stub.Must(filepath.Glob(filepath.Join(root, "examples/*/main.go")))(t)
	if len(programs) == 0 {
		t.Error("there are no examples")
	}
	for _, program := range programs {
		if name := "./" + filepath.Base(filepath.Dir(program)); !slices.Contains(words, name) {
			t.Errorf("%s has no command with %s", page.path, name)
		}
	}
}

// run runs a command in the root of the repository, without the project of the
// contributor, and with a folder instead of /tmp. The test fails unless the
// command ends with status 0, and prints each line of its output, or one of the
// same shape.
func (c command) run(t *testing.T, folder string) {
	const limit = 120 // seconds
	run := exec.CommandContext(t.Context(), "timeout", fmt.Sprint(limit), "bash", "-c", strings.ReplaceAll(c.line, "/tmp/", folder+"/"))
	run.Dir = root
	run.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "CLOUDAPI_") })
	run.Stdin = strings.NewReader(c.input + "\n")
	out, err := run.CombinedOutput()
	printed := strings.ReplaceAll(string(out), folder+"/", "/tmp/")
	switch {
	case run.ProcessState != nil && run.ProcessState.ExitCode() == 124:
		t.Fatalf("%s: %s\ndoesn't end within %d seconds. It prints\n%s", c.place, c.line, limit, printed)
	case err != nil:
		t.Fatalf("%s: %s\nends with %v. It prints\n%s", c.place, c.line, err, printed)
	}
	for _, line := range c.output {
		if !shape(line).MatchString(evenly(printed)) {
			t.Errorf("%s: %s\nprints no line like\n%s\nIt prints\n%s", c.place, c.line, line, printed)
		}
	}
}

var (
	space  = regexp.MustCompile(`[ \t─-╿*]+`)
	word   = regexp.MustCompile(`[0-9a-z]+(\\\.[0-9]+)*`)
	number = regexp.MustCompile(`[0-9]+(\\\.[0-9]+)*`)
)

// evenly replaces spaces, and the curves of a chart, with single spaces.
func evenly(text string) string {
	lines := strings.Split(space.ReplaceAllString(text, " "), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// shape returns a pattern for a line that evenly has changed. A number stands for
// any number. A word of at least five letters and digits, such as an ID, stands for
// any word.
func shape(line string) *regexp.Regexp {
	return regexp.MustCompile("(?m)^" + word.ReplaceAllStringFunc(regexp.QuoteMeta(evenly(line)), func(w string) string {
		if len(w) >= 5 && strings.ContainsAny(w, "0123456789") && strings.ContainsAny(w, "abcdefghijklmnopqrstuvwxyz") {
			return `[0-9a-z]+`
		}
		return number.ReplaceAllLiteralString(w, `[0-9]+(\.[0-9]+)*`)
	}) + "$")
}

// TestShapes checks which lines have the same shape.
func TestShapes(t *testing.T) {
	t.Parallel()
	const line = "  2.2s  VM  web-1 (vm4h54)  198.18.0.1 t91 ┤ ──╮"
	for other, want := range map[string]bool{
		"before\n12s VM web-12 (abcdef) 10.0.0.7 t1 ┼─╯\nafter": true,
		"2.2s VM web-x (vm4h54) 198.18.0.1 t91":                 false,
		"2.2s VM web-1 (vm4h54) none t91":                       false,
		"2.2s VM web-1 (vm4h54) 198.18.0.1 t91 more":            false,
		"2.2s VM web-1 (vm4h54) 198.18.0.1 u91":                 false,
		"2.2s DB web-1 (vm4h54) 198.18.0.1 t91":                 false,
	} {
		if got := shape(line).MatchString(evenly(other)); got != want {
			t.Errorf("%q: %v", other, got)
		}
	}
}
