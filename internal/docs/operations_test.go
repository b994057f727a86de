package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of operations into the documents")

// A row of the contract, with the methods that perform it.
type row struct {
	method, route, service string
	names                  []string // without the service's
}

func readContract(t *testing.T) (rows []row) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "testdata/contract.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 3 {
			t.Fatalf("this is no row: %q", line)
		}
		r := row{method: words[0], route: words[1]}
		for _, name := range words[2:] {
			var short string
			r.service, short, _ = strings.Cut(name, ".")
			r.names = append(r.names, short)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestOperationTables compares the tables of operations in the documents with
// the contract.
func TestOperationTables(t *testing.T) {
	t.Parallel()
	rows := readContract(t)
	var services []string
	for _, r := range rows {
		if !slices.Contains(services, r.service) {
			services = append(services, r.service)
		}
	}
	var short, long strings.Builder
	fmt.Fprintf(&short, "The contract's %d operations, by service of the client; [docs/operations.md](docs/operations.md) has their routes.\n\n"+
		"| Service | Methods |\n|---|---|\n", len(rows))
	for _, service := range services {
		var names []string
		fmt.Fprintf(&long, "## %s\n\n| Method | Sends |\n|---|---|\n", service)
		for _, r := range rows {
			if r.service != service {
				continue
			}
			for _, name := range r.names {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			fmt.Fprintf(&long, "| `%s` | `%s %s` |\n", strings.Join(r.names, "` `"), r.method, r.route)
		}
		fmt.Fprintf(&short, "| `%s` | `%s` |\n", service, strings.Join(names, "` `"))
		long.WriteString("\n")
	}
	compareSection(t, "README.md", short.String())
	compareSection(t, "docs/operations.md", strings.TrimSuffix(long.String(), "\n"))
}

// TestExamples looks for the example of each service.
func TestExamples(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(root, "example*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, r := range readContract(t) {
		if !strings.Contains(all.String(), "\nfunc Example"+r.service+"Service() {") {
			t.Errorf("there is no example of %s", r.service)
		}
	}
}

// compareSection compares what stands between two comments in a document.
func compareSection(t *testing.T, path, want string) {
	t.Helper()
	const begin, end = "<!-- operations: go test ./internal/docs -run TestOperationTables -update -->\n", "<!-- end of operations -->"
	file := filepath.Join(root, path)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), begin)
	got, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		t.Fatalf("%s has no section of operations", path)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("the operations in %s are not those of the contract: go test ./internal/docs -run TestOperationTables -update", path)
	}
}
