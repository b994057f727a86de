package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// topics are the pages for people who know Go and no cloud API.
var topics = []string{
	"docs/errors.md", "docs/httpmock.md", "docs/lists.md", "docs/observability.md", "docs/proxies.md", "docs/rate-limits.md",
	"docs/retries.md", "docs/secrets.md", "docs/testing.md", "docs/waits.md",
}

// A program is a block of Go code that is run, and the block behind it, which
// shows what the program prints.
type program struct{ code, output block }

var mainFunction = regexp.MustCompile(`(?m)^func main\(\) {`)

// programs returns the programs of a document. One without output isn't run.
func (d document) programs() (all []program) {
	blocks, _ := d.split()
	for i, b := range blocks {
		if b.language == "go" && mainFunction.MatchString(b.code) && i+1 < len(blocks) && blocks[i+1].language == "text" {
			all = append(all, program{b, blocks[i+1]})
		}
	}
	return all
}

// TestTopics looks for the topics in the index of the documents.
func TestTopics(t *testing.T) {
	t.Parallel()
	index := stub.Must(os.ReadFile(filepath.Join(root, "docs/README.md")))(t)
	for _, topic := range topics {
		if !strings.Contains(string(index), "]("+filepath.Base(topic)+")") {
			t.Errorf("docs/README.md has no link to %s", topic)
		}
	}
}

// TestPrograms builds the programs of the documents, runs them, and compares
// what they print with what the document shows.
func TestPrograms(t *testing.T) {
	t.Parallel()
	binaries := build(t)
	for _, d := range documents(t) {
		for _, p := range d.programs() {
			t.Run(filepath.Base(d.path), func(t *testing.T) {
				t.Parallel()
				var stderr strings.Builder
				command := exec.CommandContext(t.Context(), filepath.Join(binaries, p.name()))
				command.Stderr = &stderr
				out, err := command.Output()
				if err != nil {
					t.Fatalf("%s:%d: %v\n%s%s", d.path, p.code.line, err, out, &stderr)
				}
				switch got := strings.TrimSuffix(string(out), "\n"); {
				case got == p.output.code:
				case *update:
					d.replace(t, p.output, got)
				default:
					t.Errorf("%s:%d: the program prints\n%s\nThe page shows\n%s", d.path, p.code.line, got, p.output.code)
				}
			})
		}
	}
}

// name is the name of a program's package, and of its binary.
func (p *program) name() string { return strings.TrimSuffix(filepath.Base(p.code.path), ".md") }

// build builds the programs of all documents, those of a module together, and
// returns the folder with the binaries.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{}      // by their place in the module
	packages := map[string][]string{} // by module
	for _, d := range documents(t) {
		for _, p := range d.programs() {
			module := stub.Must(filepath.Abs(filepath.Join(root, moduleOf(p.code))))(t)
			file := filepath.Join(dir, p.name()+".go")
			if err := os.WriteFile(file, []byte(p.code.code), 0o666); err != nil {
				t.Fatal(err)
			}
			files[filepath.Join(module, p.name(), "main.go")] = file
			packages[module] = append(packages[module], "./"+p.name())
		}
	}
	overlay := stub.Must(json.Marshal(map[string]any{"Replace": files}))(t)
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	binaries := filepath.Join(dir, "bin") + string(filepath.Separator)
	for module, names := range packages {
		command := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binaries}, names...)...)
		command.Dir = module
		command.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", module, err, out)
		}
	}
	return binaries
}

// replace writes the code of a block into the document.
func (d document) replace(t *testing.T, b block, code string) {
	t.Helper()
	begin := b.line - 1
	end := begin + slices.IndexFunc(d.lines[begin:], func(line string) bool { return strings.HasPrefix(line, "```") })
	lines := slices.Concat(d.lines[:begin], strings.Split(code, "\n"), d.lines[end:])
	if err := os.WriteFile(filepath.Join(root, d.path), []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
}
