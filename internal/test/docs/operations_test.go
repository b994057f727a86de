package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

var update = flag.Bool("update", false, "write the tables of operations into the documents")

// TestOperationTables compares the tables in docs/operations.md with the tables of
// package apitables.
func TestOperationTables(t *testing.T) {
	t.Parallel()
	rows := apitables.Rows()
	var services []string
	for _, r := range rows {
		if service := r.Service(); !slices.Contains(services, service) {
			services = append(services, service)
		}
	}
	var text strings.Builder
	for _, service := range services {
		fmt.Fprintf(&text, "## %s\n\n| Method | Sends |\n|---|---|\n", service)
		for _, r := range rows {
			if r.Service() != service {
				continue
			}
			var methods []string
			for _, name := range r.Names {
				name = "`" + strings.TrimPrefix(name, service+".") + "`"
				switch {
				case r.ContractOnly:
					name += apitables.ContractMark
				case r.ServiceOnly:
					name += apitables.ServiceMark
				}
				methods = append(methods, name)
			}
			fmt.Fprintf(&text, "| %s | `%s %s` |\n", strings.Join(methods, " "), r.Method, r.Route)
		}
		text.WriteString("\n")
	}
	compareSection(t, "docs/operations.md", strings.TrimSuffix(text.String(), "\n"))
}

// compareSection compares what stands between two comments in a document.
func compareSection(t *testing.T, path, want string) {
	t.Helper()
	const begin, end = "<!-- operations: go test ./internal/test/docs -run TestOperationTables -update -->\n", "<!-- end of operations -->"
	file := filepath.Join(root, path)
	text := stub.Must(os.ReadFile(file))(t)
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
		t.Errorf("the operations in %s are not those of the contract: go test ./internal/test/docs -run TestOperationTables -update", path)
	}
}
