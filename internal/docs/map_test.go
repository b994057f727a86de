package docs

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mapLine is a line of the map of the repository.
var mapLine = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.+) \\|$")

// TestMap compares the map in CONTRIBUTING with the tree: it has each Go file of
// the root, but for tests, and each folder with Go files.
func TestMap(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var mapped []string
	for _, line := range mapLine.FindAllStringSubmatch(string(text), -1) {
		mapped = append(mapped, line[1])
	}
	var found []string
	err = fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		folder := path.Dir(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
		case folder != ".":
			found = append(found, folder)
		case !strings.HasSuffix(name, "_test.go"):
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	for _, name := range slices.Compact(found) {
		if !slices.Contains(mapped, name) {
			t.Errorf("the map does not have %s", name)
		}
	}
	for i, name := range mapped {
		if !slices.Contains(found, name) {
			t.Errorf("the map has %s, which does not exist", name)
		}
		if slices.Contains(mapped[:i], name) {
			t.Errorf("the map has %s twice", name)
		}
	}
}
