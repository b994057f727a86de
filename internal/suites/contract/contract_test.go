// Package contract_test compares the SDK with the tables of package contract:
// what its methods send, and what their comments say.
package contract_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/contract"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestContract: each row of the tables is sent by its methods, and by no other.
// The wire suite holds which operations are idempotent, and the methods suite
// which ones a server may lack.
func TestContract(t *testing.T) {
	t.Parallel()
	methods := sdktest.Methods(t)
	for _, problem := range compare(contract.Rows(), methods) {
		t.Error(problem)
	}
	// Without a row, or with another, there are differences.
	rows := contract.Rows()
	other := rows[0]
	other.Names = []string{"Projects.Get"}
	for _, drifted := range [][]contract.Row{rows[1:], append(rows[1:], other), append(rows, contract.Row{Method: "GET", Route: "/x", Names: []string{"VMs.Get"}})} {
		if len(compare(drifted, methods)) == 0 {
			t.Errorf("with %v and %d other rows there is no difference", drifted[len(drifted)-1], len(drifted)-1)
		}
	}
}

func compare(rows []contract.Row, methods []sdktest.Method) (problems []string) {
	sent := map[string][]string{} // the names of the methods, by row
	for _, m := range methods {
		if _, method, _ := strings.Cut(m.Name, "."); contract.Composite(method) {
			continue
		}
		for _, op := range []cloudapi.Operation{m.Operation, m.InLocation} {
			row := op.Method + " " + op.Route
			i := slices.IndexFunc(rows, func(r contract.Row) bool { return r.String() == row })
			switch {
			case op.Name == "": // there is no list of a location
				continue
			case i < 0:
				problems = append(problems, m.Name+" sends "+row+", which the tables don't have")
			case op.Name != rows[i].Operation():
				problems = append(problems, row+" is called "+op.Name)
			}
			sent[row] = append(sent[row], m.Name)
		}
	}
	for _, row := range rows {
		names := slices.Sorted(slices.Values(row.Names))
		if slices.Sort(sent[row.String()]); !slices.Equal(names, sent[row.String()]) {
			problems = append(problems, fmt.Sprintf("%s is sent by %v, want %v", row, sent[row.String()], names))
		}
	}
	return problems
}

// mark is what the documentation says about an operation that only the service
// or only the contract has: at its method, or once at a service, about all its
// methods.
type mark struct{ method, service string }

var (
	serviceOnly  = mark{"† Only the service has this.", "† Only the service has these."}
	contractOnly = mark{"‡ Only the contract has this.", "‡ Only the contract has these."}
)

// TestMarks: the comments say which operations only the service, or only the
// contract has, and a wrong comment would be found.
func TestMarks(t *testing.T) {
	t.Parallel()
	if problems := unmarked(t, sdktest.Source(t)); len(problems) > 0 {
		t.Error(problems)
	}
	for _, tt := range []struct{ file, old, new, problem string }{
		{"vms.go", "// † Only the service has this.", "// It is new.", "VMs.Start"},
		{"vms.go", "// Rename renames a VM;", "// † Only the service has this. Rename renames a VM;", "VMs.Rename"},
		{"auditlog.go", "// " + serviceOnly.service, "// They are new.", "AuditLog.List"},
		{"auditlog.go", "// List returns", "// † Only the service has this. List returns", "AuditLog.List"},
		{"postgres.go", "type PostgresService service", "//\n// " + serviceOnly.service + "\ntype PostgresService service", "Postgres.Get"},
		{"initscripts.go", "// " + contractOnly.service, "// They are rare.", "VMInitScripts.Get"},
	} {
		texts := sdktest.Source(t)
		changed := strings.Replace(texts[tt.file], tt.old, tt.new, 1)
		if changed == texts[tt.file] {
			t.Errorf("%s does not have %q", tt.file, tt.old)
		}
		texts[tt.file] = changed
		if problems := unmarked(t, texts); !slices.Contains(problems, tt.problem) {
			t.Errorf("with %q for %q the problems are %q, without %s", tt.new, tt.old, problems, tt.problem)
		}
	}
}

// unmarked returns the methods whose comment doesn't say what the tables do.
func unmarked(t *testing.T, texts map[string]string) (names []string) {
	t.Helper()
	docs := map[string]string{} // of methods such as "VMs.Get", and of services such as "VMs"
	for name, text := range texts {
		file := stub.Must(parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution))(t)
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && strings.HasSuffix(s.Name.Name, "Service") {
						docs[strings.TrimSuffix(s.Name.Name, "Service")] = oneLine(d.Doc)
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil {
					continue
				}
				if of, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
					docs[strings.TrimSuffix(fmt.Sprint(of.X), "Service")+"."+d.Name.Name] = oneLine(d.Doc)
				}
			}
		}
	}
	for _, row := range contract.Rows() {
		for _, name := range row.Names {
			for mark, want := range map[mark]bool{serviceOnly: row.ServiceOnly, contractOnly: row.ContractOnly} {
				// In one of the two places, and not in both.
				if marked := strings.Contains(docs[name], mark.method) != strings.Contains(docs[row.Service()], mark.service); marked != want || docs[name] == "" {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// oneLine returns the text of a comment in one line.
func oneLine(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }

// TestErrorsHaveOnePrefix: errors within other errors have no prefix.
func TestErrorsHaveOnePrefix(t *testing.T) {
	t.Parallel()
	for file, text := range sdktest.Source(t) {
		if strings.Contains(text, `errors.New("cloudapi: `) {
			t.Errorf("%s has a sentinel or a cause with the prefix", file)
		}
	}
}
