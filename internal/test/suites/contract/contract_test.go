// Package contract_test compares the SDK with the tables of package apitables:
// what its methods send, and what their comments say.
package contract_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestContract: each row of the tables is sent by its methods, and by no other.
// The wire suite tests which operations are idempotent, and the methods suite
// which ones a server may lack.
func TestContract(t *testing.T) {
	t.Parallel()
	rows := apitables.Rows()
	sent := map[string][]string{} // the names of the methods, by row
	for _, m := range sdktest.Methods(t) {
		if _, method, _ := strings.Cut(m.Name, "."); apitables.Composite(method) {
			continue
		}
		for _, op := range []cloudapi.Operation{m.Operation, m.InLocation} {
			row := op.Method + " " + op.Route
			i := slices.IndexFunc(rows, func(r apitables.Row) bool { return r.String() == row })
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

// TestMarks: the comments say which operations only the service, or only the
// contract has: at the method, or once at a service, about all its methods.
func TestMarks(t *testing.T) {
	t.Parallel()
	s := readSource(t)
	for _, row := range apitables.Rows() {
		for _, name := range row.Names {
			own, all := markIn(s.docs[name]), markIn(s.docs[row.Service()])
			if s.docs[name] == "" || own != "" && all != "" || own+all != markOf(row) {
				t.Errorf("%s has the marks %q and %q, want %q", name, own, all, markOf(row))
			}
		}
	}
}

// TestMarksOfHelpers: a helper has the mark of an operation without which it
// has no use. A Watch reads a list, and an Ensure creates. Every other helper
// has the mark of an operation that it sends. A Wait also has a mark if all
// operations have it whose comments lead to that Wait.
func TestMarksOfHelpers(t *testing.T) {
	t.Parallel()
	s, marks, found := readSource(t), map[string]string{}, 0
	for _, row := range apitables.Rows() {
		for _, name := range row.Names {
			marks[name] = markOf(row)
		}
	}
	for name := range s.docs {
		service, method, _ := strings.Cut(name, ".")
		if !apitables.Composite(method) || strings.HasPrefix(method, "Set") { // those send an operation with a mark only for a value with a mark
			continue
		}
		want := ""
		switch method {
		case "Watch":
			want = marks[service+".All"]
		case "Ensure":
			want = marks[service+".Create"]
		default:
			for _, operation := range s.sent(name) {
				want = cmp.Or(want, marks[operation])
			}
		}
		if strings.HasPrefix(method, "Wait") {
			var before []string // the marks of the operations that lead to the wait
			for operation, mark := range marks {
				if strings.HasPrefix(operation, service+".") && regexp.MustCompile(`\b`+method+`\b`).MatchString(s.docs[operation]) {
					before = append(before, mark)
				}
			}
			if slices.Sort(before); len(before) == 0 {
				t.Errorf("no comment of an operation leads to %s", name)
			} else if before[0] == before[len(before)-1] {
				want = cmp.Or(want, before[0])
			}
		}
		found++
		if own, all := markIn(s.docs[name]), markIn(s.docs[service]); own != "" && all != "" || own+all != want {
			t.Errorf("%s has the marks %q and %q, want %q", name, own, all, want)
		}
	}
	if found < 40 {
		t.Errorf("there are %d helpers", found)
	}
}

// TestMarksOfValues: the SDK has a constant for each value in the table, and no
// others. A constant has its mark itself, or with those before the next blank
// line, or with all of its group.
func TestMarksOfValues(t *testing.T) {
	t.Parallel()
	got, want := readSource(t).values, apitables.Values()
	for _, subject := range slices.Sorted(maps.Keys(want)) {
		if !maps.Equal(got[subject], want[subject]) {
			t.Errorf("the constants for %s are %q, want %q", subject, got[subject], want[subject])
		}
	}
	for subject := range got {
		if want[subject] == nil {
			t.Errorf("values.txt doesn't have %s: %q", subject, got[subject])
		}
	}
}

// TestConstantsAreFound: the comment of a field that has constants, and the page
// of the package, link to one of them: go doc hides all but the first constant
// of a group.
func TestConstantsAreFound(t *testing.T) {
	t.Parallel()
	fields := readSource(t).fields
	for subject := range apitables.Values() {
		if subject == "Kind" {
			continue // a type, whose constants go doc lists
		}
		field, _, _ := strings.Cut(subject, " for ")
		for _, name := range []string{field, ""} {
			if !strings.Contains(fields[name], "["+prefixOf(subject)) {
				t.Errorf("the comment of %q should have a link to a constant %s…", name, prefixOf(subject))
			}
		}
	}
}

// prefixOf returns the beginning of the names of the constants for a subject:
// the type and the field.
func prefixOf(subject string) string {
	switch subject {
	case "ListOptions.OrderColumn":
		return "OrderBy" // no value of a type, but what lists of all families take
	case "Metric.Key for a cluster":
		return "KubernetesMetricKey"
	case "Metric.Key for a database":
		return "PostgresMetricKey"
	case "PostgresUpgrade.UpgradeStatus":
		return "PostgresUpgradeStatus"
	}
	return strings.Replace(strings.Replace(subject, "CreateRequest", "", 1), ".", "", 1)
}

// marked finds a mark in a comment. Other sentences about one version, such as
// one about a field, are no mark.
var marked = regexp.MustCompile(`† (?:Only the service has th(?:is|ese)\.|only the service)|‡ (?:Only the contract has th(?:is|ese)\.|only the contract)`)

// markIn returns the mark in a comment, or "".
func markIn(text string) string {
	for _, mark := range []string{apitables.ServiceMark, apitables.ContractMark} {
		if strings.HasPrefix(marked.FindString(text), mark) {
			return mark
		}
	}
	return ""
}

func markOf(row apitables.Row) string {
	switch {
	case row.ServiceOnly:
		return apitables.ServiceMark
	case row.ContractOnly:
		return apitables.ContractMark
	}
	return ""
}

// source is what the SDK's source says about its methods and constants.
type source struct {
	docs   map[string]string            // the comments of methods such as "VMs.Get", and of services such as "VMs"
	uses   map[string][]string          // the operations that a method names, and the methods that it calls
	values map[string]map[string]string // the marks of constants, as apitables.Values returns them
	fields map[string]string            // the comments of fields such as "VM.State", and the package's as ""
}

func readSource(t *testing.T) *source {
	t.Helper()
	s := &source{docs: map[string]string{}, uses: map[string][]string{}, values: map[string]map[string]string{}, fields: map[string]string{}}
	for name, text := range sdktest.Source(t) {
		fset := token.NewFileSet()
		file := stub.Must(parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution))(t)
		s.fields[""] += file.Doc.Text()
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				if match := valuesOf.FindStringSubmatch(oneLine(d.Doc)); d.Tok == token.CONST && match != nil {
					s.addValues(t, fset, strings.NewReplacer("[", "", "]", "").Replace(match[1]), d)
				}
				for _, spec := range d.Specs {
					ts, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					s.addFields(ts)
					if strings.HasSuffix(ts.Name.Name, "Service") {
						s.docs[strings.TrimSuffix(ts.Name.Name, "Service")] = oneLine(d.Doc)
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil || len(d.Recv.List[0].Names) == 0 {
					continue
				}
				if of, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok && strings.HasSuffix(fmt.Sprint(of.X), "Service") {
					s.addMethod(strings.TrimSuffix(fmt.Sprint(of.X), "Service"), d)
				}
			}
		}
	}
	return s
}

func (s *source) addFields(typ *ast.TypeSpec) {
	structure, ok := typ.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			s.fields[typ.Name.Name+"."+name.Name] = oneLine(field.Doc) + " " + oneLine(field.Comment)
		}
	}
}

func (s *source) addMethod(service string, method *ast.FuncDecl) {
	name, receiver := service+"."+method.Name.Name, method.Recv.List[0].Names[0].Name
	s.docs[name] = oneLine(method.Doc)
	ast.Inspect(method.Body, func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := e.X.(*ast.Ident); ok && of.Name == receiver {
				s.uses[name] = append(s.uses[name], service+"."+e.Sel.Name)
			}
		case *ast.Ident:
			if operation, ok := strings.CutPrefix(e.Name, "op"+service); ok {
				s.uses[name] = append(s.uses[name], service+"."+operation)
			}
		}
		return true
	})
}

// sent returns the operations that a method uses, itself or in the methods of
// its service.
func (s *source) sent(name string) (names []string) {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		names = append(names, s.uses[name]...)
		for _, used := range s.uses[name] {
			visit(used)
		}
	}
	visit(name)
	return names
}

// valuesOf finds in the comment of a group of constants what has the values.
var valuesOf = regexp.MustCompile(`alues of (\[[\w.]+\](?: for a \w+)?)`)

// addValues adds a group of constants, unless they're values of a type of the
// SDK such as EventType.
func (s *source) addValues(t *testing.T, fset *token.FileSet, subject string, group *ast.GenDecl) {
	t.Helper()
	marks := map[string]string{}
	above, last := "", 0 // the mark for the constants up to a blank line, and the line of the last constant
	for _, spec := range group.Specs {
		c := spec.(*ast.ValueSpec)
		if typ, ok := c.Type.(*ast.Ident); ok && typ.Name != "Kind" {
			return
		}
		begin := c.Pos()
		if c.Doc != nil {
			begin = c.Doc.Pos()
		}
		if fset.Position(begin).Line > last+1 {
			above = markIn(oneLine(c.Doc))
		}
		last = fset.Position(c.End()).Line
		if name := c.Names[0].Name; !strings.HasPrefix(name, prefixOf(subject)) {
			t.Errorf("the constant %s of %s should begin with %s", name, subject, prefixOf(subject))
		}
		value := stub.Must(strconv.Unquote(c.Values[0].(*ast.BasicLit).Value))(t)
		marks[value] = cmp.Or(markIn(oneLine(c.Comment)), above, markIn(oneLine(group.Doc)))
	}
	s.values[subject] = marks
}

func oneLine(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }
