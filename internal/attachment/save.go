package attachment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Save writes a new file that only its owner may read. If that fails, no file is
// left. It returns [os.ErrExist] if the path exists, even as a symlink.
func Save(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return inFolder(path, err)
	}
	if err = fill(file, content); err != nil {
		os.Remove(path)
	}
	return unnamed(err)
}

// Replace is like Save, but atomically replaces an existing file. It creates a
// temporary file beside it, since a rename can't reach another file system.
func Replace(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".cloudapi-*") // with mode 0600
	if err != nil {
		return inFolder(path, err)
	}
	defer os.Remove(temporary.Name())
	if err = fill(temporary, content); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	return unnamed(err)
}

// fill writes and closes a file.
func fill(file *os.File, content []byte) error {
	_, err := file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// inFolder names the folder of a path in the error of a file that can't be created.
func inFolder(path string, err error) error {
	if errors.Is(err, os.ErrExist) {
		return unnamed(err)
	}
	return fmt.Errorf("in the folder %s: %w", filepath.Dir(path), unnamed(err))
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
