// Circles prints which files of a package need each other: the strongly
// connected components of its files, largest first, where a file needs another
// if it uses an object that is defined there. Methods and fields count, and
// tests don't. Files in no circle are counted only.
//
//	go -C internal/tools run ./circles -dir ../.. .
//
// With -arrows, it also prints why: each arrow within a circle, with the objects.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/token"
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
	log.SetPrefix("circles: ")
	dir := flag.String("dir", ".", "the folder in which the patterns are resolved")
	arrows := flag.Bool("arrows", false, "print the arrows within each circle")
	flag.Parse()
	if err := run(os.Stdout, *dir, *arrows, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, dir string, arrows bool, patterns []string) error {
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
	for _, pkg := range pkgs {
		needs := needsOf(pkg)
		found := circles(needs)
		inCircles := 0
		for _, circle := range found {
			inCircles += len(circle)
		}
		fmt.Fprintf(w, "%s: %d files, %d of them in %d circles\n", pkg.PkgPath, len(needs), inCircles, len(found))
		for _, circle := range found {
			fmt.Fprintf(w, "\t%d: %s\n", len(circle), strings.Join(circle, " "))
			if arrows {
				printArrows(w, circle, needs)
			}
		}
	}
	return nil
}

func printArrows(w io.Writer, circle []string, needs map[string]map[string][]string) {
	for _, from := range circle {
		for _, to := range circle {
			if objects := needs[from][to]; len(objects) > 0 {
				fmt.Fprintf(w, "\t\t%s -> %s: %s\n", from, to, strings.Join(objects, ", "))
			}
		}
	}
}

// needsOf returns, for each file of a package, the names of the objects that it
// uses, by the file in which they are defined.
func needsOf(pkg *packages.Package) map[string]map[string][]string {
	fileOf := func(pos token.Pos) string { return filepath.Base(pkg.Fset.Position(pos).Filename) }
	needs := map[string]map[string][]string{}
	for _, file := range pkg.Syntax {
		needs[fileOf(file.Pos())] = map[string][]string{}
	}
	for name, object := range pkg.TypesInfo.Uses {
		if object.Pkg() != pkg.Types {
			continue
		}
		from, to := needs[fileOf(name.Pos())], fileOf(object.Pos())
		if to != fileOf(name.Pos()) && !slices.Contains(from[to], object.Name()) {
			from[to] = append(from[to], object.Name())
		}
	}
	for _, from := range needs {
		for _, objects := range from {
			slices.Sort(objects)
		}
	}
	return needs
}

// circles returns the strongly connected components that have several files,
// the largest first, each sorted. It's Tarjan's algorithm.
func circles(needs map[string]map[string][]string) [][]string {
	var found [][]string
	var stack []string
	number, low := map[string]int{}, map[string]int{} // by file: when it was visited, and the earliest that it reaches
	var visit func(string)
	visit = func(file string) {
		number[file] = len(number) + 1
		low[file] = number[file]
		stack = append(stack, file)
		for to := range needs[file] {
			if number[to] == 0 {
				visit(to)
				low[file] = min(low[file], low[to])
			} else if slices.Contains(stack, to) {
				low[file] = min(low[file], number[to])
			}
		}
		if low[file] == number[file] {
			i := slices.Index(stack, file)
			if circle := slices.Sorted(slices.Values(stack[i:])); len(circle) > 1 {
				found = append(found, circle)
			}
			stack = stack[:i]
		}
	}
	for _, file := range slices.Sorted(maps.Keys(needs)) {
		if number[file] == 0 {
			visit(file)
		}
	}
	slices.SortFunc(found, func(a, b []string) int { return cmp.Or(cmp.Compare(len(b), len(a)), slices.Compare(a, b)) })
	return found
}
