// Package contract_test compares the SDK's source with the tables of package
// contract.
package contract_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/contract"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// mark is what the documentation says about an operation that only the service
// or only the contract has: at its method, or once at a service, about all its
// methods.
type mark struct{ method, service string }

var (
	serviceOnly  = mark{"† Only the service has this.", "† Only the service has these."}
	contractOnly = mark{"‡ Only the contract has this.", "‡ Only the contract has these."}
)

// on reports whether an operation has the mark: once, so not in both places.
func (m mark) on(method, service string) bool {
	return strings.Contains(method, m.method) != strings.Contains(service, m.service)
}

// TestContract compares, row by row, the tables of operations, the Operation
// variables, and the operations that the bodies of the services' methods name.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, problem := range readSource(t, sdktest.Source(t)).compare(contract.Rows()) {
		t.Error(problem)
	}
}

// TestContractFindsDrift puts typical mistakes into the source. TestContract
// must find each of them.
func TestContractFindsDrift(t *testing.T) {
	t.Parallel()
	rows := contract.Rows()
	for _, tt := range []struct{ file, old, new, problem string }{
		{"vms.go", `"VMs.Get", "GET", vmRoute,`, `"VMs.Get", "GET", vmRoute + "/",`,
			"Operation VMs.Get: GET /project/{project_id}/location/{location}/vm/{vm_reference}/ is not in the contract"},
		{"vms.go", `"VMs.Restart", "POST"`, `"VMs.Restart", "PATCH"`,
			"POST /project/{project_id}/location/{location}/vm/{vm_reference}/restart: there is no Operation"},
		{"vms.go", `"VMs.Rename", "POST"`, `"VMs.Renamed", "POST"`,
			"POST /project/{project_id}/location/{location}/vm/{vm_reference}/rename: the Operation is called VMs.Renamed"},
		{"vms.go", `+ "/rename", idempotent`, `+ "/rename", once`,
			"POST /project/{project_id}/location/{location}/vm/{vm_reference}/rename: whether it is once is not what the tables say"},
		{"vms.go", `+ "/restart", once`, `+ "/restart", idempotent`,
			"POST /project/{project_id}/location/{location}/vm/{vm_reference}/restart: whether it is once is not what the tables say"},
		{"vms.go", `+ "/stop", once | serviceOnly`, `+ "/stop", once`,
			"POST /project/{project_id}/location/{location}/vm/{vm_reference}/stop: whether it is serviceOnly is not what the tables say"},
		{"firewalls.go", `once | contractOnly`, `once`,
			"POST /project/{project_id}/firewall: whether it is contractOnly is not what the tables say"},
		{"operation.go", `"/location/{location}"`, `"/loc/{location}"`,
			"GET /project/{project_id}/location/{location}/vm: there is no Operation"},
		{"vms.go", "return remove(ctx, s.conn, &opVMsDelete,", "return remove(ctx, s.conn, &opFirewallsDelete,",
			"VMs.Delete: it sends DELETE /project/{project_id}/location/{location}/firewall/{firewall_reference}, which the contract has for Firewalls.Delete"},
		{"vms.go", "return remove(ctx, s.conn, &opVMsDelete,", "return remove(ctx, s.conn, &opFirewallsDelete,",
			"DELETE /project/{project_id}/location/{location}/vm/{vm_reference}: VMs.Delete does not send it"},
		{"vms.go", ") Restart(", ") Reboot(",
			"POST /project/{project_id}/location/{location}/vm/{vm_reference}/restart: there is no method VMs.Restart"},
		{"vms.go", ") Restart(", ") Reboot(",
			"VMs.Reboot: it sends POST /project/{project_id}/location/{location}/vm/{vm_reference}/restart, which the contract has for VMs.Restart"},
		{"vms.go", "// WaitRunning waits", "func (s *VMsService) Pause(ctx context.Context) error { return nil }\n\n// WaitRunning waits",
			"VMs.Pause: it names no operation"},
		{"vms.go", "// † Only the service has this.", "// It is new.",
			`VMs.Start: whether its documentation says "† Only the service has this." is not what the tables say`},
		{"vms.go", "// Rename renames a VM;", "// † Only the service has this. Rename renames a VM;",
			`VMs.Rename: whether its documentation says "† Only the service has this." is not what the tables say`},
		{"auditlog.go", "// " + serviceOnly.service, "// They are new.",
			`AuditLog.List: whether its documentation says "† Only the service has this." is not what the tables say`},
		{"auditlog.go", "// List returns", "// † Only the service has this. List returns",
			`AuditLog.List: whether its documentation says "† Only the service has this." is not what the tables say`},
		{"postgres.go", "type PostgresService service", "//\n// " + serviceOnly.service + "\ntype PostgresService service",
			`Postgres.Get: whether its documentation says "† Only the service has this." is not what the tables say`},
		{"initscripts.go", "// " + contractOnly.service, "// They are rare.",
			`VMInitScripts.Get: whether its documentation says "‡ Only the contract has this." is not what the tables say`},
		{"vms.go", "listVMs = listRoutes{project: &opVMsList, location: &opVMsListInLocation}", "listVMs = listRoutes{project: &opVMsList}",
			"GET /project/{project_id}/location/{location}/vm: VMs.List does not send it"},
	} {
		texts := sdktest.Source(t)
		changed := strings.Replace(texts[tt.file], tt.old, tt.new, 1)
		if changed == texts[tt.file] {
			t.Errorf("%s does not have %q", tt.file, tt.old)
		}
		texts[tt.file] = changed
		if problems := readSource(t, texts).compare(rows); !slices.Contains(problems, tt.problem) {
			t.Errorf("with %q for %q the problems are\n%s\nwithout\n%s", tt.new, tt.old, strings.Join(problems, "\n"), tt.problem)
		}
	}
	short := readSource(t, sdktest.Source(t)).compare(rows[1:])
	if want := "Operation Projects.List: GET /project is not in the contract"; !slices.Contains(short, want) {
		t.Errorf("with a row less the problems are %q", short)
	}
}

// TestErrorsHaveOnePrefix: errors within other errors have no prefix.
func TestErrorsHaveOnePrefix(t *testing.T) {
	t.Parallel()
	for file, text := range sdktest.Source(t) {
		if strings.Contains(text, `errors.New("cloudapi: `) {
			t.Errorf("%s has a sentinel or a cause with the prefix", file)
		}
	}
}

// packageSource contains the facts that the test takes from the source of the
// package.
type packageSource struct {
	constants  map[string]ast.Expr
	operations map[string]operationRow // by variable
	lists      map[string][]string     // variables of operations, by variable
	services   map[string]string       // the documentation, by the name without "Service"
	methods    map[string]sourceMethod
}

type operationRow struct {
	name, method, route string
	classes             []string
}

func (o operationRow) String() string { return o.method + " " + o.route }

// sourceMethod is an exported method of a service that takes a context and has
// its own operation.
type sourceMethod struct {
	sends []string // the operations that the body names, such as "GET /project"
	doc   string   // in one line
}

func readSource(t *testing.T, texts map[string]string) *packageSource {
	t.Helper()
	s := &packageSource{
		constants:  map[string]ast.Expr{},
		operations: map[string]operationRow{},
		lists:      map[string][]string{},
		services:   map[string]string{},
		methods:    map[string]sourceMethod{},
	}
	var files []*ast.File
	for name, text := range texts {
		file := stub.Must(parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution))(t)
		files = append(files, file)
	}
	// Each step needs the results of the preceding step from all files.
	for _, read := range []func(ast.Decl) error{s.readConstants, s.readVariables, s.readService, s.readMethod} {
		for _, file := range files {
			for _, decl := range file.Decls {
				if err := read(decl); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return s
}

// specs returns the names and values of a declaration.
func specs(decl ast.Decl, tok token.Token) map[string]ast.Expr {
	values := map[string]ast.Expr{}
	if d, ok := decl.(*ast.GenDecl); ok && d.Tok == tok {
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			for i, value := range v.Values {
				values[v.Names[i].Name] = value
			}
		}
	}
	return values
}

func (s *packageSource) readConstants(decl ast.Decl) error {
	for name, value := range specs(decl, token.CONST) {
		s.constants[name] = value
	}
	return nil
}

// readVariables finds the operations and the lists.
func (s *packageSource) readVariables(decl ast.Decl) error {
	for name, value := range specs(decl, token.VAR) {
		literal, ok := value.(*ast.CompositeLit)
		if !ok {
			continue
		}
		switch identifier(literal.Type) {
		case "Operation":
			var texts [3]string
			if len(literal.Elts) != len(texts)+1 {
				return fmt.Errorf("the operation %s has not %d fields", name, len(texts)+1)
			}
			for i := range texts {
				text, err := s.text(literal.Elts[i])
				if err != nil {
					return fmt.Errorf("the operation %s: %w", name, err)
				}
				texts[i] = text
			}
			s.operations[name] = operationRow{texts[0], texts[1], texts[2], names(literal.Elts[len(texts)])}
		case "listRoutes":
			s.lists[name] = names(literal)
		}
	}
	return nil
}

// text evaluates a string.
func (s *packageSource) text(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.Ident:
		if value, ok := s.constants[e.Name]; ok {
			return s.text(value)
		}
		return "", fmt.Errorf("%s is not a constant", e.Name)
	case *ast.BinaryExpr:
		x, err := s.text(e.X)
		if err != nil {
			return "", err
		}
		y, err := s.text(e.Y)
		return x + y, err
	}
	return "", fmt.Errorf("a %T cannot be evaluated", e)
}

// readService finds the services.
func (s *packageSource) readService(decl ast.Decl) error {
	if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
		for _, spec := range d.Specs {
			if service, ok := strings.CutSuffix(spec.(*ast.TypeSpec).Name.Name, "Service"); ok {
				s.services[service] = oneLine(d.Doc)
			}
		}
	}
	return nil
}

// oneLine returns the text of a comment in one line.
func oneLine(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }

// readMethod finds the methods of the services.
func (s *packageSource) readMethod(decl ast.Decl) error {
	f, ok := decl.(*ast.FuncDecl)
	if !ok || f.Recv == nil || !f.Name.IsExported() || contract.Composite(f.Name.Name) || !takesContext(f) {
		return nil
	}
	service, ok := strings.CutSuffix(identifier(f.Recv.List[0].Type), "Service")
	if !ok {
		return nil
	}
	m := sourceMethod{doc: oneLine(f.Doc)}
	for _, name := range names(f.Body) {
		for _, variable := range append([]string{name}, s.lists[name]...) {
			if op, ok := s.operations[variable]; ok && !slices.Contains(m.sends, op.String()) {
				m.sends = append(m.sends, op.String())
			}
		}
	}
	s.methods[service+"."+f.Name.Name] = m
	return nil
}

func takesContext(f *ast.FuncDecl) bool {
	if len(f.Type.Params.List) == 0 {
		return false
	}
	first, ok := f.Type.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && identifier(first.X) == "context" && first.Sel.Name == "Context"
}

// identifier returns the name in an expression that is a name or a pointer to
// one, or "".
func identifier(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if ident, ok := e.(*ast.Ident); ok {
		return ident.Name
	}
	return ""
}

// names returns the identifiers in a piece of source.
func names(n ast.Node) []string {
	var found []string
	ast.Inspect(n, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok {
			found = append(found, ident.Name)
		}
		return true
	})
	return found
}

// compare returns the differences.
func (s *packageSource) compare(rows []contract.Row) (problems []string) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	table := map[string]contract.Row{}
	for _, row := range rows {
		table[row.String()] = row
	}

	operations := map[string]operationRow{}
	for _, op := range s.operations {
		if _, ok := table[op.String()]; !ok {
			report("Operation %s: %s is not in the contract", op.name, op)
		}
		if other, twice := operations[op.String()]; twice {
			report("Operations %s and %s are the same", op.name, other.name)
		}
		operations[op.String()] = op
	}
	for key, row := range table {
		op, ok := operations[key]
		if !ok {
			report("%s: there is no Operation", key)
			continue
		}
		if op.name != row.Operation() {
			report("%s: the Operation is called %s", key, op.name)
		}
		for class, want := range map[string]bool{"once": row.Once(), "idempotent": !row.Once(), "serviceOnly": row.ServiceOnly, "contractOnly": row.ContractOnly} {
			if slices.Contains(op.classes, class) != want {
				report("%s: whether it is %s is not what the tables say", key, class)
			}
		}
		for _, name := range row.Names {
			m, ok := s.methods[name]
			switch {
			case !ok:
				report("%s: there is no method %s", key, name)
			case !slices.Contains(m.sends, key):
				report("%s: %s does not send it", key, name)
			case row.ServiceOnly != serviceOnly.on(m.doc, s.services[row.Service()]):
				report("%s: whether its documentation says %q is not what the tables say", name, serviceOnly.method)
			case row.ContractOnly != contractOnly.on(m.doc, s.services[row.Service()]):
				report("%s: whether its documentation says %q is not what the tables say", name, contractOnly.method)
			}
		}
	}

	for name, m := range s.methods {
		if len(m.sends) == 0 {
			report("%s: it names no operation", name)
		}
		for _, key := range m.sends {
			if names := table[key].Names; !slices.Contains(names, name) {
				report("%s: it sends %s, which the contract has for %s", name, key, strings.Join(names, ", "))
			}
		}
	}
	slices.Sort(problems)
	return problems
}
