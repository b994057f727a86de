package attachment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestFileWithoutLinks: on a file system without links, Save leaves a whole file
// or none, and never replaces one.
func TestFileWithoutLinks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, temporary, missing := filepath.Join(folder, "kubeconfig.yaml"), filepath.Join(folder, "temporary"), filepath.Join(folder, "missing")
	for i, tt := range []struct {
		temporary string
		want      error
		content   string // after it; "" if there is no file
	}{{missing, fs.ErrNotExist, ""}, {temporary, nil, "content 1"}, {temporary, fs.ErrExist, "content 1"}} {
		if err := os.WriteFile(temporary, fmt.Append(nil, "content ", i), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := claim(tt.temporary, path); !errors.Is(err, tt.want) {
			t.Errorf("%d: it is %v, want %v", i, err, tt.want)
		}
		if got, err := os.ReadFile(path); string(got) != tt.content || (err == nil) != (tt.content != "") {
			t.Errorf("%d: the file holds %q, %v", i, got, err)
		}
	}
}
