package depot

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// syncing is how many files are brought to the disk at a time: the file system
// writes what is asked for together.
const syncing = 16

// syncTree brings a directory and all that is in it to the disk, and makes its
// directories read-only, the innermost first.
func syncTree(dir string) error {
	var group errgroup.Group
	group.SetLimit(syncing)
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, found fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case found.IsDir():
			dirs = append(dirs, path)
		case found.Type().IsRegular():
			group.Go(func() error { return syncFile(path) })
		}
		return nil
	})
	if failed := group.Wait(); failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	for _, path := range slices.Backward(dirs) {
		if err := os.Chmod(path, 0o555); err != nil { //nolint:gosec // a directory that others may read, as the daemon's data directory lets them
			return err
		}
		if err := syncFile(path); err != nil {
			return err
		}
	}
	return nil
}

func syncFile(path string) (err error) {
	file, err := os.Open(path) //nolint:gosec // our own directory
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// writeFile writes a small file whole or not at all.
func writeFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), stagePrefix)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // gone by then, if all went well
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(0o444)
	}
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	return err
}
