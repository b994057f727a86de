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

// A row of a table of operations, with the methods that perform it.
type row struct {
	method, route, service string
	names                  []string // without the service's
	later                  bool     // whether the contract does not have it
}

// readContract returns the rows of the contract, and behind them those that
// came later.
func readContract(t *testing.T) []row {
	t.Helper()
	return append(readTable(t, "testdata/contract.txt", false), readTable(t, "testdata/contract-2026.txt", true)...)
}

func readTable(t *testing.T, file string, later bool) (rows []row) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "#" || later && len(words) == 2 {
			continue // a comment, or an operation that has no method yet
		}
		if len(words) < 3 {
			t.Fatalf("this is no row: %q", line)
		}
		r := row{method: words[0], route: words[1], later: later}
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
// those in testdata.
func TestOperationTables(t *testing.T) {
	t.Parallel()
	rows := readContract(t)
	var services []string
	contract := 0
	for _, r := range rows {
		if !slices.Contains(services, r.service) {
			services = append(services, r.service)
		}
		if !r.later {
			contract++
		}
	}
	var short, long strings.Builder
	fmt.Fprintf(&short, "The contract's %d operations, by service of the client, and behind %s those that Ubicloud's service of August 2026 has beside them;\n"+
		"[docs/operations.md](docs/operations.md) has their routes.\n\n"+
		"| Service | Methods |\n|---|---|\n", contract, later)
	for _, service := range services {
		var names []string
		fmt.Fprintf(&long, "## %s\n\n| Method | Sends |\n|---|---|\n", service)
		marked := false
		for _, r := range rows {
			if r.service != service {
				continue
			}
			if r.later && !marked {
				names, marked = append(names, later), true
			}
			for _, name := range r.names {
				if name = "`" + name + "`"; !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			mark := ""
			if r.later {
				mark = " " + later
			}
			fmt.Fprintf(&long, "| `%s`%s | `%s %s` |\n", strings.Join(r.names, "` `"), mark, r.method, r.route)
		}
		fmt.Fprintf(&short, "| `%s` | %s |\n", service, strings.Join(names, " "))
		long.WriteString("\n")
	}
	compareSection(t, "README.md", short.String())
	compareSection(t, "docs/operations.md", strings.TrimSuffix(long.String(), "\n"))
}

// later marks the operations that the contract does not have.
const later = "†"

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
