package recordings

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	f := stub.Must(files.Open(file(name)))(t)
	defer f.Close()
	lines := stub.Must(gzip.NewReader(f))(t)
	text := stub.Must(io.ReadAll(lines))(t)
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
		exchanges := stub.Must(Read(name))(t)
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
