package devloop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// watch tells when the sources are no longer as they were seen.
type watch struct {
	dir    string
	notify *fsnotify.Watcher
	seen   string // fingerprint of what was built
}

func newWatch(dir string) (*watch, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	w := &watch{dir: dir, notify: notify}
	if err := w.add(dir); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *watch) close() { _ = w.notify.Close() }

// add watches a directory and those in it.
func (w *watch) add(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case ignored(w.dir, path):
			return fs.SkipDir
		}
		err = w.notify.Add(path)
		if errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("watch %s: the system watches no more directories; raise fs.inotify.max_user_watches: %w", path, err)
		}
		return err
	})
}

// changed returns when the sources are another than those seen last. Whatever
// happened in between, such as a file that an editor makes and removes, or
// what the build itself wrote, does not count.
func (w *watch) changed(ctx context.Context) error {
	for {
		now, err := fingerprint(w.dir)
		if err != nil || now != w.seen {
			return err
		}
		select {
		case event, ok := <-w.notify.Events:
			if !ok {
				return errors.New("the watch of the sources has ended")
			}
			if event.Has(fsnotify.Create) {
				if err := w.add(event.Name); err != nil {
					return err
				}
			}
		case _, ok := <-w.notify.Errors: // events were lost: look
			if !ok {
				return errors.New("the watch of the sources has ended")
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ignored reports whether a path is no source: hidden, built, or of the tools.
func ignored(root, path string) bool {
	relative, err := filepath.Rel(root, path)
	if err != nil || relative == "." {
		return false
	}
	base := filepath.Base(path)
	return relative == "bin" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasSuffix(base, "~") ||
		strings.HasSuffix(base, ".tar.gz")
}

// wholeFile is up to which size a file's content counts; of a larger one, its
// size and time do.
const wholeFile = 1 << 20

// fingerprint is another when a source is: its name, mode or content. A build
// that writes the same again does not change it.
func fingerprint(root string) (string, error) {
	hash := sha256.New()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ignored(root, path):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		return sign(hash, path)
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}

// sign adds a file. One that is gone meanwhile is not there.
func sign(hash io.Writer, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	fmt.Fprintf(hash, "%s\x00%d\x00%s\x00", path, info.Size(), info.Mode())
	if !info.Mode().IsRegular() || info.Size() > wholeFile {
		_, err = fmt.Fprintf(hash, "%d", info.ModTime().UnixNano())
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		content = []byte(err.Error())
	}
	_, err = hash.Write(content)
	return err
}
