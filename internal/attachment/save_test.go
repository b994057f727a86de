package attachment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestFileWithoutLinks: on a file system without links, Save writes the file in
// place, and never over an existing one.
func TestFileWithoutLinks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kubeconfig.yaml")
	for i, want := range []error{nil, fs.ErrExist} {
		if err := create(path, fmt.Append(nil, "content ", i)); !errors.Is(err, want) {
			t.Errorf("it is %v, want %v", err, want)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "content 0" {
			t.Errorf("the file holds %q, %v", got, err)
		}
	}
}
