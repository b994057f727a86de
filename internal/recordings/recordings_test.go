package recordings

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
)

func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	f, err := files.Open(file(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestFilesAreSmall: everybody who uses the module downloads them.
func TestFilesAreSmall(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	size := int64(0)
	err := fs.WalkDir(files, ".", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		size += info.Size()
		return err
	})
	if err != nil || size == 0 || size > limit {
		t.Errorf("%d bytes, and the limit is %d: %v", size, limit, err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, name := range append(Contract(), Service()...) {
		exchanges, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(unpacked(t, name), []byte("\n")); len(exchanges) != n {
			t.Errorf("%s has %d exchanges in %d lines", name, len(exchanges), n)
		}
		last := map[string]int{}
		for _, x := range exchanges {
			if x.Seq <= last[x.Story] || x.Request.Method == "" || x.Request.Path == "" || x.Response.Status == 0 {
				t.Errorf("%s: after %d comes %+v", name, last[x.Story], x)
			}
			last[x.Story] = x.Seq
		}
	}
	if _, err := Read("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	for text, want := range map[string]string{
		`{"seq":1}{"seq":`:      "exchange 2: unexpected EOF",
		`{"request":{"new":1}}`: `exchange 1: json: unknown field "new"`,
	} {
		if _, err := Decode(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
