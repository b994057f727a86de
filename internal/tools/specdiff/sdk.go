package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// sdk is what the SDK's source says about its operations: the literals of type
// Operation, the fields of Client, and the signatures of their methods.
type sdk struct {
	types      *types.Package
	operations []row
	texts      map[string]bool       // the values of exported string constants
	literals   map[string]bool       // all strings in the source
	services   map[string]*types.Var // the fields of Client
}

type row struct {
	name, method, route string
	contractOnly        bool        // whether the SDK says that the service doesn't have it
	call                *types.Func // the method with this name, or nil
}

func (r *row) String() string { return r.method + " " + r.route }

func readSDK(dir string) (*sdk, error) {
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir:  dir,
	}, ".")
	if err != nil {
		return nil, err
	}
	pkg := pkgs[0]
	if len(pkg.Errors) > 0 {
		return nil, fmt.Errorf("the SDK does not compile: %w", pkg.Errors[0])
	}
	s := &sdk{types: pkg.Types, texts: map[string]bool{}, literals: map[string]bool{}, services: map[string]*types.Var{}}
	scope := pkg.Types.Scope()
	client := scope.Lookup("Client")
	if client == nil {
		return nil, fmt.Errorf("package %s has no type Client", pkg.PkgPath)
	}
	for field := range client.Type().Underlying().(*types.Struct).Fields() {
		if field.Exported() {
			s.services[field.Name()] = field
		}
	}
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && c.Exported() && c.Val().Kind() == constant.String {
			s.texts[constant.StringVal(c.Val())] = true
		}
	}
	for _, file := range pkg.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if v := pkg.TypesInfo.Types[n].Value; v != nil && v.Kind() == constant.String {
					s.literals[constant.StringVal(v)] = true
				}
			case *ast.CompositeLit:
				if named, ok := pkg.TypesInfo.TypeOf(n).(*types.Named); ok && named.Obj().Name() == "Operation" && named.Obj().Pkg() == pkg.Types {
					s.addRow(pkg.TypesInfo, named.Underlying().(*types.Struct), n)
				}
			}
			return true
		})
	}
	if len(s.operations) == 0 {
		return nil, fmt.Errorf("package %s has no Operation", pkg.PkgPath)
	}
	return s, nil
}

// addRow adds an operation whose name, method and route are constants.
func (s *sdk) addRow(info *types.Info, fields *types.Struct, lit *ast.CompositeLit) {
	values := map[string]string{}
	var flags constant.Value
	for i, element := range lit.Elts {
		name := fields.Field(i).Name()
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			name, element = pair.Key.(*ast.Ident).Name, pair.Value
		}
		switch v := info.Types[element].Value; {
		case v != nil && v.Kind() == constant.String:
			values[name] = constant.StringVal(v)
		case v != nil && v.Kind() == constant.Int:
			flags = v
		}
	}
	r := row{name: values["Name"], method: values["Method"], route: values["Route"]}
	if flag, ok := s.types.Scope().Lookup("contractOnly").(*types.Const); ok && flags != nil {
		r.contractOnly = constant.Sign(constant.BinaryOp(flags, token.AND, flag.Val())) != 0
	}
	if r.name == "" || r.method == "" || r.route == "" {
		return
	}
	service, method, _ := strings.Cut(r.name, ".")
	if field := s.services[service]; field != nil {
		for _, name := range []string{method, strings.TrimSuffix(method, "InLocation")} {
			if obj, _, _ := types.LookupFieldOrMethod(field.Type(), true, s.types, name); obj != nil && r.call == nil {
				r.call, _ = obj.(*types.Func)
			}
		}
	}
	s.operations = append(s.operations, r)
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// find returns the operation of a method and a route, whatever its placeholders
// are called, or nil.
func (s *sdk) find(method, route string) *row {
	route = placeholder.ReplaceAllString(route, "{}")
	i := slices.IndexFunc(s.operations, func(r row) bool {
		return r.method == method && placeholder.ReplaceAllString(r.route, "{}") == route
	})
	if i < 0 {
		return nil
	}
	return &s.operations[i]
}

// value is a field of a struct, or an argument of a method.
type value struct {
	name     string // in Go
	typ      types.Type
	optional bool // whether it is not sent if it is zero
	single   bool // whether it is an argument
}

// fields returns the fields of a struct by their names in JSON or in a query,
// and nil for other types.
func (s *sdk) fields(t types.Type, tag string) map[string]value {
	found := map[string]value{}
	under, ok := deref(t).Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for i := range under.NumFields() {
		field := under.Field(i)
		text, tagged := reflect.StructTag(under.Tag(i)).Lookup(tag)
		name, options, _ := strings.Cut(text, ",")
		switch {
		case field.Embedded() && !tagged:
			for name, v := range s.fields(field.Type(), tag) {
				found[name] = v
			}
		case field.Exported() && name != "" && name != "-":
			found[name] = value{name: field.Name(), typ: field.Type(), optional: strings.Contains(options, "omit")}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// request returns what a method takes besides the context and the placeholders
// of its route: structs with fields of a body or a query, and single values.
func (s *sdk) request(r *row) (structs []*types.Named, single []*types.Var) {
	params := slices.Collect(r.call.Signature().Params().Variables())[1:]
	placeholders := len(placeholder.FindAllString(r.route, -1))
	for _, param := range params {
		t := deref(param.Type())
		if slice, ok := t.(*types.Slice); ok && r.call.Signature().Variadic() && param == params[len(params)-1] {
			t = deref(slice.Elem())
		}
		if named, ok := t.(*types.Named); ok && (s.fields(named, "json") != nil || s.fields(named, "url") != nil) {
			structs = append(structs, named)
			continue
		}
		single = append(single, param)
	}
	// The client usually has the project. There can be fewer arguments than
	// placeholders, since ListOptions have the location of a list.
	if strings.Contains(r.route, "{project_id}") && (len(single) == 0 || single[0].Name() != "projectID") {
		placeholders--
	}
	return structs, single[min(placeholders, len(single)):]
}

// result returns what a method returns: a record, the record of a list, or a
// file.
func (s *sdk) result(r *row) (record types.Type, list bool) {
	results := r.call.Signature().Results()
	if results.Len() < 2 {
		return nil, false
	}
	record = deref(results.At(0).Type())
	if named, ok := record.(*types.Named); ok && named.Obj().Name() == "Page" {
		return named.TypeArgs().At(0), true
	}
	return record, false
}

func deref(t types.Type) types.Type {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		return deref(pointer.Elem())
	}
	return types.Unalias(t)
}

// kind returns the JSON type of a Go type, or "" if it accepts any.
func (s *sdk) kind(t types.Type) string {
	t = deref(t)
	if named, ok := t.(*types.Named); ok {
		switch name := types.TypeString(named, (*types.Package).Path); name {
		case "time.Time":
			return "string"
		case "encoding/json.RawMessage":
			return ""
		}
	}
	switch under := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case under.Info()&types.IsString != 0:
			return "string"
		case under.Info()&types.IsInteger != 0:
			return "integer"
		case under.Info()&types.IsFloat != 0:
			return "number"
		case under.Info()&types.IsBoolean != 0:
			return "boolean"
		}
	case *types.Slice, *types.Array:
		return "array"
	case *types.Map:
		return "object"
	case *types.Struct:
		if s.fields(t, "json") != nil {
			return "object"
		}
		if obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), false, s.types, "UnmarshalText"); obj != nil {
			return "string"
		}
	}
	return ""
}

// snake converts a Go name, such as PublicKeyID, to public_key_id.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		upper := func(i int) bool { return i >= 0 && i < len(name) && name[i] >= 'A' && name[i] <= 'Z' }
		if upper(i) && i > 0 && (!upper(i-1) || i+1 < len(name) && !upper(i+1)) {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(c)))
	}
	return b.String()
}
