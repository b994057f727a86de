// Filegraph prints which files of a package use which, and the circles of files
// that use each other. The files of a package don't import each other, so
// nothing else shows how they depend on each other.
//
//	go -C internal/tools run ./filegraph -dir ../..
//	go -C internal/tools run ./filegraph -dir ../.. -names   # and what they use of each other
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("filegraph: ")
	dir := flag.String("dir", ".", "the folder of the package")
	names := flag.Bool("names", false, "print the names that a file uses of another")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Printf("unexpected argument %q", flag.Arg(0))
		os.Exit(2)
	}
	g, err := load(*dir)
	if err != nil {
		log.Fatal(err)
	}
	g.print(os.Stdout, *names)
}

// graph maps two files of a package to the names that the first uses of the
// second.
type graph map[string]map[string][]string

func load(dir string) (graph, error) {
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir:  dir,
	}, ".")
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(pkgs) > 0 {
		return nil, fmt.Errorf("the package in %s does not compile", dir)
	}
	return read(pkgs[0]), nil
}

func read(pkg *packages.Package) graph {
	g := graph{}
	for _, name := range pkg.GoFiles {
		g[filepath.Base(name)] = map[string][]string{}
	}
	for ident, object := range pkg.TypesInfo.Uses {
		if object.Pkg() != pkg.Types || !object.Pos().IsValid() {
			continue
		}
		user := filepath.Base(pkg.Fset.Position(ident.Pos()).Filename)
		used := filepath.Base(pkg.Fset.Position(object.Pos()).Filename)
		if user != used && !slices.Contains(g[user][used], object.Name()) {
			g[user][used] = append(g[user][used], object.Name())
		}
	}
	return g
}

func (g graph) reachable(from string) map[string]bool {
	seen := map[string]bool{}
	for todo := []string{from}; len(todo) > 0; {
		file := todo[0]
		todo = todo[1:]
		for used := range g[file] {
			if !seen[used] {
				seen[used] = true
				todo = append(todo, used)
			}
		}
	}
	return seen
}

// circles returns the sets of at least two files in which each file uses all
// others, directly or not. The largest set comes first.
func (g graph) circles() [][]string {
	reachable := map[string]map[string]bool{}
	for file := range g {
		reachable[file] = g.reachable(file)
	}
	var circles [][]string
	for _, file := range slices.Sorted(maps.Keys(g)) {
		var circle []string
		for other := range reachable[file] {
			if reachable[other][file] {
				circle = append(circle, other)
			}
		}
		slices.Sort(circle)
		if len(circle) > 1 && circle[0] == file { // once for each circle
			circles = append(circles, circle)
		}
	}
	slices.SortStableFunc(circles, func(a, b []string) int { return cmp.Compare(len(b), len(a)) })
	return circles
}

func (g graph) print(w io.Writer, names bool) {
	for _, file := range slices.Sorted(maps.Keys(g)) {
		var uses []string
		for _, used := range slices.Sorted(maps.Keys(g[file])) {
			if names {
				used += " (" + strings.Join(slices.Sorted(slices.Values(g[file][used])), " ") + ")"
			}
			uses = append(uses, used)
		}
		fmt.Fprintf(w, "%s: %s\n", file, strings.Join(uses, ", "))
	}
	circles := g.circles()
	fmt.Fprintf(w, "\n%d files, %d circles\n", len(g), len(circles))
	for _, circle := range circles {
		fmt.Fprintf(w, "a circle of %d: %s\n", len(circle), strings.Join(circle, ", "))
	}
}
