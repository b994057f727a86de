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
// The wire suite tests which operations are idempotent, and the methods suite
// which ones a server may lack.
func TestContract(t *testing.T) {
	t.Parallel()
	rows := contract.Rows()
	sent := map[string][]string{} // the names of the methods, by row
	for _, m := range sdktest.Methods(t) {
		if _, method, _ := strings.Cut(m.Name, "."); contract.Composite(method) {
			continue
		}
		for _, op := range []cloudapi.Operation{m.Operation, m.InLocation} {
			row := op.Method + " " + op.Route
			i := slices.IndexFunc(rows, func(r contract.Row) bool { return r.String() == row })
			switch {
			case op.Name == "": // the family has no list of a location
				continue
			case i < 0:
				t.Errorf("%s sends %s, which the tables don't have", m.Name, row)
			case op.Name != rows[i].Operation():
				t.Errorf("%s is called %s", row, op.Name)
			}
			sent[row] = append(sent[row], m.Name)
		}
	}
	for _, row := range rows {
		names := slices.Sorted(slices.Values(row.Names))
		if slices.Sort(sent[row.String()]); !slices.Equal(names, sent[row.String()]) {
			t.Errorf("%s is sent by %v, want %v", row, sent[row.String()], names)
		}
	}
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
// contract has.
func TestMarks(t *testing.T) {
	t.Parallel()
	if problems := unmarked(t, sdktest.Source(t)); len(problems) > 0 {
		t.Error(problems)
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
				// The mark is at the method or at the service, but not at both.
				if marked := strings.Contains(docs[name], mark.method) != strings.Contains(docs[row.Service()], mark.service); marked != want || docs[name] == "" {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func oneLine(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }
