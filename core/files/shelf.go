package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// uploadsName is the directory of what is not committed yet. It is no pair of hex digits.
const uploadsName = "uploads"

// shelf is the directory with the bytes. Only the daemon changes it.
type shelf struct {
	dir   string
	quota int64
	fault func(step string) error

	used atomic.Int64 // bytes on disk, and those that were promised to uploads

	mu   sync.Mutex     // held while bytes are placed, and while the database is asked which may go
	held map[string]int // hashes whose bytes are at their place, or will be, before their row is stored
}

func (s *shelf) path(sum string) string { return filepath.Join(s.dir, sum[:2], sum) }

func (s *shelf) uploads() string { return filepath.Join(s.dir, uploadsName) }

// open makes the directory, forgets uploads of a daemon before, and counts what is there.
func (s *shelf) open() error {
	if err := os.RemoveAll(s.uploads()); err != nil {
		return fmt.Errorf("forget old uploads: %w", err)
	}
	if err := os.MkdirAll(s.uploads(), 0o700); err != nil {
		return fmt.Errorf("make the directory of files: %w", err)
	}
	var used int64
	err := walkBytes(s.dir, func(_ string, size int64) error {
		used += size
		return nil
	})
	if err != nil {
		return fmt.Errorf("look through the directory of files: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.Store(used)
	s.held = make(map[string]int)
	return nil
}

// walkBytes visits the bytes in a directory, in the order of their hashes. A directory
// that is not there has none.
func walkBytes(dir string, visit func(sum string, size int64) error) error {
	shards, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if len(shard.Name()) != 2 || !shard.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(dir, shard.Name()))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if !isSum(entry.Name()) || !strings.HasPrefix(entry.Name(), shard.Name()) || !info.Mode().IsRegular() {
				continue // not ours
			}
			if err := visit(entry.Name(), info.Size()); err != nil {
				return err
			}
		}
	}
	return nil
}

// isSum reports whether a name is a SHA-256 in hex, as they are written here.
func isSum(name string) bool {
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}

// promise sets so many bytes aside, or says that there is no room for them.
func (s *shelf) promise(size int64) error {
	for {
		used := s.used.Load()
		if s.quota > 0 && used+size > s.quota {
			return pluginsdk.Errorf(pluginsdk.CodeExhausted,
				"all files together may have %d bytes (HARNESS_FILES_QUOTA), they have %d, and this one has %d; delete some (harness file delete), or allow more",
				s.quota, used, size)
		}
		if s.used.CompareAndSwap(used, used+size) {
			return nil
		}
	}
}

// release gives back what was promised, or removed.
func (s *shelf) release(size int64) { s.used.Add(-size) }

// place gives what was written to a temporary file, and was promised, the name of its
// bytes, on disk. The bytes are held: no sweep takes them before letGo.
func (s *shelf) place(temporary, sum string) error {
	if err := os.Chmod(temporary, 0o400); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.path(sum)
	if err := s.fault("place"); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Dir(to), 0o700); err == nil {
		if err := syncDir(s.dir); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	// What is there already is replaced by the same: it may have been damaged.
	there, missing := os.Lstat(to)
	if err := os.Rename(temporary, to); err != nil {
		return err
	}
	err := errors.Join(s.fault("placed"), syncDir(filepath.Dir(to)))
	switch {
	case err != nil && missing != nil:
		return errors.Join(err, os.Remove(to))
	case err != nil:
		return err // other files have these bytes: they stay
	case missing == nil:
		s.used.Add(-there.Size())
	}
	s.held[sum]++
	return nil
}

// letGo says that the row of held bytes is stored, or will never be.
func (s *shelf) letGo(sum string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[sum]--; s.held[sum] <= 0 {
		delete(s.held, sum)
	}
}

// remove removes those of these bytes that nobody holds and that no row refers to.
// referred is asked while nothing is placed.
func (s *shelf) remove(sums []string, referred func([]string) ([]string, error)) (removed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var loose []string
	for _, sum := range sums {
		if s.held[sum] == 0 {
			loose = append(loose, sum)
		}
	}
	if len(loose) == 0 {
		return 0, nil
	}
	kept, err := referred(loose)
	if err != nil {
		return 0, err
	}
	needed := make(map[string]bool, len(kept))
	for _, sum := range kept {
		needed[sum] = true
	}
	for _, sum := range loose {
		info, failed := os.Lstat(s.path(sum))
		if needed[sum] || errors.Is(failed, fs.ErrNotExist) {
			continue
		}
		if failed == nil {
			failed = s.fault("remove")
		}
		if failed == nil {
			failed = os.Remove(s.path(sum))
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		s.used.Add(-info.Size())
		removed++
	}
	return removed, err
}

// syncDir makes the names in a directory survive a power failure.
func syncDir(path string) error {
	dir, err := os.Open(path) //nolint:gosec // a directory of the daemon's own
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// diskError says what an error of the disk means for who sends a file.
func diskError(doing string, err error) error {
	var coded *pluginsdk.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "%s: the disk of the data directory is full; free some space and send the file again", doing)
	case errors.Is(err, syscall.EROFS):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s: the disk of the data directory has become read-only; see what its system's log says", doing)
	}
	return pluginsdk.Errorf(pluginsdk.CodeInternal, "%s: %w", doing, err)
}
