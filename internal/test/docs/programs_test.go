package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// topics are the pages for people who know Go and no cloud API.
var topics = []string{
	"docs/controller.md", "docs/ensure.md", "docs/errors.md", "docs/http.md", "docs/lists.md", "docs/observability.md",
	"docs/retries.md", "docs/secrets.md", "docs/teardown.md", "docs/terraform.md", "docs/testing.md", "docs/waits.md",
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
	all := map[string][]program{} // by the folder of their module
	for _, d := range documents(t) {
		for _, p := range d.programs() {
			all[moduleOf(p.code)] = append(all[moduleOf(p.code)], p)
		}
	}
	for folder, programs := range all {
		binary := build(t, folder, programs)
		for _, p := range programs {
			t.Run(p.name(), func(t *testing.T) {
				t.Parallel()
				var stderr strings.Builder
				command := exec.CommandContext(t.Context(), binary, p.name())
				command.Stderr = &stderr
				out, err := command.Output()
				if err != nil {
					t.Fatalf("%s:%d: %v\n%s%s", p.code.path, p.code.line, err, out, &stderr)
				}
				switch got := strings.TrimSuffix(string(out), "\n"); {
				case got == p.output.code:
				case *update:
					p.output.replace(t, got)
				default:
					t.Errorf("%s:%d: the program prints\n%s\nThe page shows\n%s", p.code.path, p.code.line, got, p.output.code)
				}
			})
		}
	}
}

// name is the name of the program's package, after its document.
func (p *program) name() string {
	return "page_" + strings.NewReplacer("-", "_", ".md", "").Replace(filepath.Base(p.code.path))
}

// build builds the programs of a module, as packages of one program that runs the
// one that its argument names: linking each would take most of the test's time.
func build(t *testing.T, folder string, programs []program) (binary string) {
	t.Helper()
	dir, in := t.TempDir(), stub.Must(filepath.Abs(filepath.Join(root, folder)))(t)
	files := map[string]string{} // by their place in the module
	write := func(name, code string) {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(code), 0o666); err != nil {
			t.Fatal(err)
		}
		files[filepath.Join(in, "pages", name)] = file
	}
	imports, cases := "import (\n\"os\"\n", ""
	for _, p := range programs {
		code := strings.Replace(p.code.code, "package main\n", "package "+p.name()+"\n", 1)
		write(p.name()+"/page.go", mainFunction.ReplaceAllString(code, "func Main() {"))
		imports += strconv.Quote(path.Join(module, folder, "pages", p.name())) + "\n"
		cases += "case " + strconv.Quote(p.name()) + ": " + p.name() + ".Main()\n"
	}
	write("main.go", "package main\n"+imports+")\nfunc main() {\nswitch os.Args[1] {\n"+cases+"}\n}\n")
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, stub.Must(json.Marshal(map[string]any{"Replace": files}))(t), 0o666); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "pages")
	command := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", binary, "./pages")
	command.Dir = in
	command.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", folder, err, out)
	}
	return binary
}

// replace writes the code of a block into its document.
func (b block) replace(t *testing.T, code string) {
	t.Helper()
	file := filepath.Join(root, b.path)
	lines := strings.Split(string(stub.Must(os.ReadFile(file))(t)), "\n")
	begin := b.line - 1
	end := begin + slices.IndexFunc(lines[begin:], func(line string) bool { return strings.HasPrefix(line, "```") })
	lines = slices.Concat(lines[:begin], strings.Split(code, "\n"), lines[end:])
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
}
