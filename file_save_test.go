package cloudapi_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

func TestFileSave(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "kubeconfig.yaml")
	check := func(path, want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", filepath.Base(path), got, err, want)
		}
	}
	first, second := cloudapi.File{Content: []byte("first")}, cloudapi.File{Content: []byte("second")}

	if err := first.Save(path); err != nil {
		t.Fatal(err)
	}
	check(path, "first")
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v, want 0600", info.Mode(), err)
	}
	if err := second.Save(path); !errors.Is(err, fs.ErrExist) || !strings.HasPrefix(err.Error(), "cloudapi: saving kubeconfig.yaml: ") || strings.Contains(err.Error(), ".cloudapi-") {
		t.Errorf("saving where there is a file is %v, want fs.ErrExist, without the name of the temporary file", err)
	}
	if err := second.Save(filepath.Dir(path)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("saving where there is a folder is %v, want fs.ErrExist", err)
	}
	if err := second.Save(filepath.Dir(path) + "/"); err == nil {
		t.Error("saving to the name of a folder succeeds")
	}
	if err := second.Save(""); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("saving without a path is %v", err)
	}
	check(path, "first")
	if err := second.Replace(path); err != nil {
		t.Fatal(err)
	}
	check(path, "second")

	target, link := filepath.Join(folder, "target"), filepath.Join(folder, "link")
	if err := os.WriteFile(target, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	dangling := filepath.Join(folder, "dangling")
	if err := os.Symlink(filepath.Join(folder, "elsewhere"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dangling} {
		if err := first.Save(path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("saving through a link is %v, want fs.ErrExist", err)
		}
	}
	if err := first.Replace(link); err != nil {
		t.Fatal(err)
	}
	check(link, "first")
	check(target, "untouched")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		t.Errorf("the link is still one: %v, %v", info.Mode(), err)
	}

	for _, write := range []func(string) error{first.Save, first.Replace} {
		for _, none := range []string{filepath.Join(folder, "none"), "~"} { // only a shell knows ~
			want := "cloudapi: saving file: in the folder " + none + ": "
			if err := write(filepath.Join(none, "file")); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), ".cloudapi-") {
				t.Errorf("a folder that does not exist is %v", err)
			}
		}
		if err := write(filepath.Join(path, "file")); err == nil || strings.Contains(err.Error(), ".cloudapi-") {
			t.Errorf("a file as a folder is %v", err)
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, ".cloudapi-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}
