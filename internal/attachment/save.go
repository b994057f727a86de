package attachment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Save writes a new file that only its owner may read: all of it or nothing. It
// returns [os.ErrExist] if the path exists, even as a symlink.
func Save(path string, content []byte) error {
	return write(path, content, func(temporary string) error {
		err := os.Link(temporary, path)
		if err == nil || errors.Is(err, os.ErrExist) {
			return err // claim's error would be misleading for a path that ends with a slash
		}
		return claim(temporary, path) // for file systems without links
	})
}

// Replace is like Save, but atomically replaces an existing file.
func Replace(path string, content []byte) error {
	return write(path, content, func(temporary string) error { return os.Rename(temporary, path) })
}

// write creates the temporary file beside path, since publish can't move it to
// another file system.
func write(path string, content []byte, publish func(temporary string) error) (err error) {
	defer func() { err = unnamed(err) }()
	folder := filepath.Dir(path)
	temporary, err := os.CreateTemp(folder, ".cloudapi-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("in the folder %s: %w", folder, unnamed(err))
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Sync()
	}
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return publish(temporary.Name())
}

// unnamed returns the reason of an error of package os, without the name of the
// temporary file.
func unnamed(err error) error {
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// claim renames a file to a path, or fails if the path exists. It creates an
// empty file there first, since a rename would replace an existing file.
func claim(temporary, path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(file.Close(), os.Rename(temporary, path)); err != nil {
		os.Remove(path)
	}
	return err
}
