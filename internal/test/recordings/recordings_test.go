package recordings

import (
	"io/fs"
	"testing"
)

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
