package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// mapLine is a line of the map of the repository: names, and what they contain.
var mapLine = regexp.MustCompile("(?m)^\\| ((?:`[^`|]+`(?:, )?)+) \\| .+ \\|$")

// mapHas reports whether an entry of the map has a file or a folder. Like a
// pattern of the go command, "x/..." has x and all folders in it.
func mapHas(entry, name string) bool {
	if folder, all := strings.CutSuffix(entry, "/..."); all {
		return name == folder || strings.HasPrefix(name, folder+"/")
	}
	has, _ := path.Match(entry, name)
	return has
}

// TestMap compares the map in CONTRIBUTING with the tree: it has each Go file of
// the root, except tests, and each folder with Go files, and nothing else.
func TestMap(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var mapped []string
	for _, line := range mapLine.FindAllStringSubmatch(string(text), -1) {
		mapped = append(mapped, strings.Split(strings.Trim(line[1], "`"), "`, `")...)
	}
	var found []string
	err = fs.WalkDir(os.DirFS("../../.."), ".", func(name string, d fs.DirEntry, err error) error {
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
		if !slices.ContainsFunc(mapped, func(entry string) bool { return mapHas(entry, name) }) {
			t.Errorf("the map doesn't have %s", name)
		}
	}
	for _, entry := range mapped {
		if !slices.ContainsFunc(found, func(name string) bool { return mapHas(entry, name) }) {
			t.Errorf("the map has %s, which does not exist", entry)
		}
	}
}

// TestGuideShowsTheCode: what the guide adds for an operation is in the code,
// except lines that it shortens with an ellipsis.
func TestGuideShowsTheCode(t *testing.T) {
	t.Parallel()
	var code []string
	for _, name := range []string{"vms.go", "internal/test/apitables/service.txt"} {
		text := stub.Must(os.ReadFile(filepath.Join(root, name)))(t)
		code = append(code, lines(string(text))...)
	}
	added := 0
	for _, d := range documents(t) {
		if d.path != ".github/CONTRIBUTING.md" {
			continue
		}
		blocks, _ := d.split()
		for _, b := range blocks {
			for _, line := range lines(b.code) {
				line, isAdded := strings.CutPrefix(line, "+")
				if line = strings.TrimSpace(line); !isAdded || line == "//" || strings.Contains(line, "…") {
					continue
				}
				if added++; !slices.Contains(code, line) {
					t.Errorf("%s: the code has no line %q", d.path, line)
				}
			}
		}
	}
	if added < 5 {
		t.Errorf("the guide adds %d lines", added)
	}
}

// lines returns the lines of a text, with single spaces.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return all
}
