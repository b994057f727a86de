// Apitext prints the exported API of packages as text, one declaration a line,
// so that a change of it shows up in a diff.
//
//	go -C internal/tools run ./apitext -dir ../.. . ./cloudapitest ./teardown > testdata/api.txt
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/constant"
	"go/types"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("apitext: ")
	dir := flag.String("dir", ".", "the folder in which the patterns are resolved")
	flag.Parse()
	if err := run(os.Stdout, *dir, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, dir string, patterns []string) error {
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir:  dir,
	}, patterns...)
	if err != nil {
		return err
	}
	if packages.PrintErrors(pkgs) > 0 {
		return fmt.Errorf("the packages do not compile")
	}
	slices.SortFunc(pkgs, func(a, b *packages.Package) int { return cmp.Compare(a.PkgPath, b.PkgPath) })
	for _, pkg := range pkgs {
		if pkg.Name == "main" || strings.Contains(pkg.PkgPath+"/", "/internal/") {
			continue
		}
		p := printer{pkg: pkg.Types}
		lines := p.lines()
		slices.Sort(lines)
		if _, err := fmt.Fprintf(w, "package %s\n\t%s\n", pkg.PkgPath, strings.Join(lines, "\n\t")); err != nil {
			return err
		}
	}
	return nil
}

type printer struct{ pkg *types.Package }

// name returns what stands before the dot in a qualified name: nothing for the
// package itself, and the names of other packages.
func (p printer) name(pkg *types.Package) string {
	if pkg == p.pkg {
		return ""
	}
	return pkg.Name()
}

func (p printer) lines() []string {
	var lines []string
	scope := p.pkg.Scope()
	for _, name := range scope.Names() {
		if obj := scope.Lookup(name); obj.Exported() {
			lines = append(lines, p.object(obj)...)
		}
	}
	return lines
}

func (p printer) object(obj types.Object) []string {
	switch obj := obj.(type) {
	case *types.Const:
		if obj.Val().Kind() == constant.String || obj.Val().Kind() == constant.Int {
			return []string{fmt.Sprintf("const %s %s = %s", obj.Name(), p.typeText(obj.Type()), obj.Val().ExactString())}
		}
		return []string{fmt.Sprintf("const %s %s", obj.Name(), p.typeText(obj.Type()))}
	case *types.TypeName:
		return p.typeLines(obj)
	default:
		return []string{types.ObjectString(obj, p.name)}
	}
}

func (p printer) typeLines(obj *types.TypeName) []string {
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return []string{types.ObjectString(obj, p.name)}
	}
	head := "type " + obj.Name()
	if params := named.TypeParams(); params.Len() > 0 {
		var texts []string
		for param := range params.TypeParams() {
			texts = append(texts, param.Obj().Name()+" "+p.typeText(param.Constraint()))
		}
		head += "[" + strings.Join(texts, ", ") + "]"
	}
	var lines []string
	switch under := named.Underlying().(type) {
	case *types.Struct:
		lines = append(lines, head+" struct")
		for i := range under.NumFields() {
			field := under.Field(i)
			if !field.Exported() {
				continue
			}
			line := fmt.Sprintf("field %s.%s %s", obj.Name(), field.Name(), p.typeText(field.Type()))
			if tag := under.Tag(i); tag != "" {
				line += " `" + tag + "`"
			}
			lines = append(lines, line)
		}
	case *types.Interface:
		lines = append(lines, head+" interface")
		for method := range under.Methods() {
			if method.Exported() {
				lines = append(lines, fmt.Sprintf("method %s.%s%s", obj.Name(), method.Name(), p.signature(method)))
			}
		}
		return lines
	default:
		lines = append(lines, head+" "+p.typeText(under))
	}
	for method := range named.Methods() {
		if !method.Exported() {
			continue
		}
		receiver := obj.Name()
		if _, pointer := method.Signature().Recv().Type().(*types.Pointer); pointer {
			receiver = "*" + receiver
		}
		lines = append(lines, fmt.Sprintf("method (%s) %s%s", receiver, method.Name(), p.signature(method)))
	}
	return lines
}

func (p printer) signature(f *types.Func) string {
	return strings.TrimPrefix(p.typeText(f.Signature()), "func")
}

func (p printer) typeText(t types.Type) string { return types.TypeString(t, p.name) }
