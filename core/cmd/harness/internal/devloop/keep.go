package devloop

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keep copies a build to where the daemon runs it from, which no later build
// overwrites, and returns it there.
func (b Build) keep(home string) (Build, error) {
	id := b.SHA256
	if b.tree != "" {
		id = b.state
	}
	dir := filepath.Join(home, b.Manifest.Name, id)
	kept := b
	kept.Path = filepath.Join(dir, b.Manifest.Name)
	if b.tree != "" {
		relative, err := filepath.Rel(b.tree, b.Path)
		if err != nil {
			return b, err
		}
		kept.Path = filepath.Join(dir, relative)
	}
	if exists(kept.Path) {
		return kept, nil // it was built before
	}
	fresh, err := b.copyBeside(dir)
	if err != nil {
		return b, fmt.Errorf("keep the build: %w", errors.Join(err, os.RemoveAll(fresh)))
	}
	if err := os.Rename(fresh, dir); err != nil {
		return b, fmt.Errorf("keep the build: %w", errors.Join(err, os.RemoveAll(fresh)))
	}
	return kept, nil
}

// copyBeside copies the build into a directory of another name than it will
// have, so that what has the name is whole.
func (b Build) copyBeside(dir string) (fresh string, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	if fresh, err = os.MkdirTemp(filepath.Dir(dir), ".new"); err != nil {
		return fresh, err
	}
	if b.tree != "" {
		return fresh, copyTree(b.tree, fresh)
	}
	return fresh, copyFile(b.Path, filepath.Join(fresh, b.Manifest.Name), 0o700)
}

// sweep removes all kept builds but this one and the one before it, which may
// still be draining.
func (b Build) sweep(before Build) error {
	dir := filepath.Dir(b.Path)
	if b.tree != "" {
		dir = b.keptDir()
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(filepath.Dir(dir), entry.Name())
		if path == dir || before.Path != "" && strings.HasPrefix(before.Path, path+string(filepath.Separator)) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove an old build: %w", err)
		}
	}
	return nil
}

// keptDir is the directory of a kept tree: HOME/NAME/STATE.
func (b Build) keptDir() string {
	dir := b.Path
	for filepath.Base(dir) != b.state {
		dir = filepath.Dir(dir)
	}
	return dir
}

// copyTree copies a directory but for what is hidden.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil || relative == "." {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case strings.HasPrefix(relative, "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.Mkdir(target, 0o700)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return copyFile(path, target, info.Mode().Perm())
	})
}

func copyFile(from, to string, mode os.FileMode) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
