package recordings

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// folder contains the original recordings. It isn't part of the repository.
const folder = "../../../shared/recordings"

// TestAllIsPacked compares the files with the original recordings.
func TestAllIsPacked(t *testing.T) {
	t.Parallel()
	made, err := found(os.DirFS(folder), ".", ".jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("skipped, since the folder where the recordings are made is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	beside, err := fs.Glob(os.DirFS(path.Dir(folder)), "*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{} // of what was recorded, by name
	for _, name := range made {
		places[name] = path.Join(folder, name+".jsonl")
	}
	for _, file := range beside {
		name := strings.TrimSuffix(file, ".jsonl")
		places[name] = path.Join(path.Dir(folder), file)
	}
	made = slices.Sorted(maps.Keys(places))
	packed, err := found(files, "testdata", ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(packed)
	if !slices.Equal(made, packed) {
		t.Fatalf("%q are packed, and %q are recorded", packed, made)
	}
	for _, name := range packed {
		want, err := os.ReadFile(places[name])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(unpacked(t, name), want) {
			t.Errorf("%s is not what was recorded. To renew it: go run ./internal/recordings/pack ../shared/recordings", file(name))
		}
	}
}

// found returns the names of the files of exchanges below a folder.
func found(fsys fs.FS, root, extension string) (names []string, err error) {
	err = fs.WalkDir(fsys, root, func(p string, _ fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(p, extension); ok {
			names = append(names, strings.TrimPrefix(name, root+"/"))
		}
		return err
	})
	return names, err
}

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
	for _, name := range append(Contract(), August2026) {
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
