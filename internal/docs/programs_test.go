package docs

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// topics are the pages for people who know Go and no cloud API. Each has one
// program that is complete.
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

// TestTopics looks for the topics in the index of the documents, and for their
// programs.
func TestTopics(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(filepath.Join(root, "docs/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range documents(t) {
		if !slices.Contains(topics, d.path) {
			continue
		}
		found = append(found, d.path)
		if n := len(d.programs()); n != 1 {
			t.Errorf("%s has %d programs with their output, want 1", d.path, n)
		}
		if !strings.Contains(string(index), "]("+filepath.Base(d.path)+")") {
			t.Errorf("docs/README.md has no link to %s", d.path)
		}
	}
	if !slices.Equal(found, topics) {
		t.Errorf("the pages are %q, want %q", found, topics)
	}
}

// TestPrograms runs the programs of the documents, and compares what they print
// with what the document shows.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, d := range documents(t) {
		for _, p := range d.programs() {
			t.Run(filepath.Base(d.path), func(t *testing.T) {
				t.Parallel()
				got := run(t, p.code)
				switch {
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

// run returns what a program prints to its standard output, without the last
// line break. It's always the same package of its module, so that go run takes
// the program from its cache as long as it doesn't change.
func run(t *testing.T, code block) string {
	t.Helper()
	module, err := filepath.Abs(filepath.Join(root, moduleOf(code)))
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(code.path), ".md")
	file := filepath.Join(t.TempDir(), "main.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(module, name, "main.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{file: code.code, file + ".json": string(overlay)} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "go", "run", "-overlay", file+".json", "./"+name)
	command.Dir = module
	command.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s:%d: %v\n%s%s", code.path, code.line, err, out, &stderr)
	}
	return strings.TrimSuffix(string(out), "\n")
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
