package sdktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Source returns the files of package cloudapi without its tests, by their names.
func Source(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(Root(t), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(text)
	}
	return texts
}

// Root returns the folder of the repository: the nearest one above the test that
// has a go.mod.
func Root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			t.Fatal("there is no go.mod above the test")
		}
		folder = parent
	}
}
