package cloudapi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Save writes the content to a new file at the path, which only its owner can
// read and write. The file is there as a whole or not at all. If there is
// something at the path already, a symbolic link included, the error matches
// [fs.ErrExist] and nothing is changed.
func (f File) Save(path string) error {
	return f.write(path, func(temporary string) error {
		err := os.Link(temporary, path)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		return f.create(path) // the file system has no links
	})
}

// Replace is [File.Save] for a path at which there may be a file, which it
// replaces: who reads the path finds the old content or the new one, and
// nothing in between. A symbolic link is replaced itself, and what it leads to
// stays as it is.
func (f File) Replace(path string) error {
	return f.write(path, func(temporary string) error { return os.Rename(temporary, path) })
}

// write writes the content to a temporary file beside the path, and has publish
// give it its name.
func (f File) write(path string, publish func(temporary string) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cloudapi: saving %s: %w", filepath.Base(path), err)
		}
	}()
	temporary, err := os.CreateTemp(filepath.Dir(path), ".cloudapi-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(f.Content)
	if err == nil {
		err = temporary.Sync()
	}
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return publish(temporary.Name())
}

// create writes the content to a new file at the path, and removes the file if
// that fails.
func (f File) create(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Content)
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(path)
	}
	return err
}
