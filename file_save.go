package cloudapi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Save writes the content to a new file at the path, with read and write
// permission for its owner only. It writes the whole file or none. If the path
// exists, even as a symbolic link, the error matches [os.ErrExist] and nothing
// is changed.
func (f File) Save(path string) error {
	return f.write(path, func(temporary string) error {
		err := os.Link(temporary, path)
		if err == nil || errors.Is(err, os.ErrExist) {
			return err // of a path that ends with a slash, create would say that it is a folder
		}
		return f.create(path) // for file systems without links
	})
}

// Replace is [File.Save] for a path that may exist. It replaces the file
// atomically: readers see either the old content or the new one. A symbolic
// link is replaced, and its target stays unchanged.
func (f File) Replace(path string) error {
	return f.write(path, func(temporary string) error { return os.Rename(temporary, path) })
}

// write writes the content to a temporary file beside the path, and calls
// publish to give it its name.
func (f File) write(path string, publish func(temporary string) error) (err error) {
	if path == "" {
		return &ArgumentError{Name: "path", Reason: "must not be empty"}
	}
	defer func() {
		if e, ok := errors.AsType[*os.LinkError](err); ok {
			err = e.Err // without the name of the temporary file
		}
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

// create writes the content to a new file at the path. If that fails it removes
// the file.
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
