package depot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxName is the longest name of a file in a package, in bytes.
const maxName = 512

// stage is a package that is being copied into a directory of its own beside
// the others. Whatever feeds it, nothing is written outside of that directory.
type stage struct {
	ctx     context.Context
	dir     string
	root    *os.Root
	lock    *os.File // the directory, locked: Sweep leaves it alone
	config  Config
	entries []entry
	seen    map[string]bool
	dirs    map[string]bool
	links   map[string]string // name to target, made last: nothing is written through one
	things  int               // entries, and directories that were made for them
	bytes   int64
}

func (d *Depot) newStage(ctx context.Context) (s *stage, err error) {
	if err := os.MkdirAll(d.config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of plugin packages: %w", err)
	}
	s = &stage{ctx: ctx, config: d.config, seen: make(map[string]bool), dirs: make(map[string]bool), links: make(map[string]string)}
	// Sweep may not see the directory before it is locked.
	err = d.exclusive(func() error {
		if s.dir, err = os.MkdirTemp(d.config.Dir, stagePrefix); err != nil {
			return err
		}
		if s.lock, err = os.Open(s.dir); err != nil {
			return err
		}
		return unix.Flock(int(s.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	})
	if err == nil {
		s.root, err = os.OpenRoot(s.dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare a plugin package: %w", err), s.discard())
	}
	return s, nil
}

// discard removes what was copied. It may be called again, and after keep.
func (s *stage) discard() error {
	if s.root != nil {
		_ = s.root.Close()
	}
	err := removeAll(s.dir)
	if s.lock != nil {
		_ = s.lock.Close()
	}
	return err
}

// name checks a name that a package gives to one of its files.
func (s *stage) name(name string) (string, error) {
	if s.ctx.Err() != nil {
		return "", s.ctx.Err()
	}
	clean := path.Clean(name)
	switch {
	case s.things >= s.config.MaxFiles:
		return "", invalid("there are more than %d files in it", s.config.MaxFiles)
	case len(name) > maxName:
		return "", invalid("the name %.60q... is longer than %d bytes", name, maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, `\`):
		return "", invalid("the name %q has characters that are not accepted", name)
	case !filepath.IsLocal(clean), slices.Contains(strings.Split(name, "/"), ".."):
		return "", invalid("%q leads out of the package", name)
	}
	s.things++
	return clean, nil
}

// claim is name for what may be there only once.
func (s *stage) claim(name string) (string, error) {
	clean, err := s.name(name)
	if err == nil && (clean == "." || s.seen[clean]) {
		err = invalid("%q is in it twice", name)
	}
	if err != nil {
		return "", err
	}
	s.seen[clean] = true
	return clean, s.makeParents(clean)
}

// makeParents makes the directories above a file. They count: names can be
// deep.
func (s *stage) makeParents(name string) error {
	parent := path.Dir(name)
	if parent == "." || s.dirs[parent] {
		return nil
	}
	if err := s.makeParents(parent); err != nil {
		return err
	}
	if _, err := s.name(parent); err != nil {
		return err
	}
	s.dirs[parent] = true
	return s.explain(parent, s.root.Mkdir(parent, 0o700))
}

// explain says of an error of the file system which name it is about.
func (s *stage) explain(name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EISDIR) {
		return invalid("%q is in it twice, as different things", name)
	}
	return fmt.Errorf("copy %q: %w", name, err)
}

// directory checks a directory's name. It is made when a file is in it.
func (s *stage) directory(name string) error {
	_, err := s.name(name)
	return err
}

// file copies a file.
func (s *stage) file(name string, executable bool, content io.Reader) error {
	name, err := s.claim(name)
	if err != nil {
		return err
	}
	e := entry{name: name, kind: 'f'}
	mode := fs.FileMode(0o444)
	if executable {
		e.kind, mode = 'x', 0o555
	}
	file, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return s.explain(name, err)
	}
	hash := sha256.New()
	left := s.config.MaxBytes - s.bytes
	n, err := io.Copy(io.MultiWriter(file, hash), io.LimitReader(until(s.ctx, content), left+1))
	err = errors.Join(err, file.Chmod(mode), file.Close())
	if err != nil {
		return fmt.Errorf("copy %q: %w", name, err)
	}
	if n > left {
		return invalid("its files are larger than %d MiB together", s.config.MaxBytes>>20)
	}
	s.bytes += n
	e.sum = hex.EncodeToString(hash.Sum(nil))
	s.entries = append(s.entries, e)
	return nil
}

// link notes a symbolic link. Where it leads is known when all is there.
func (s *stage) link(name, target string) error {
	name, err := s.claim(name)
	if err != nil {
		return err
	}
	if target == "" || len(target) > maxName || !utf8.ValidString(target) || strings.ContainsFunc(target, unicode.IsControl) {
		return invalid("the link %q has a target that is not accepted", name)
	}
	s.links[name] = target
	s.entries = append(s.entries, entry{name: name, kind: 'l', sum: sumOf([]byte(target))})
	return nil
}

// finish makes the links and takes every right to write away.
func (s *stage) finish() error {
	for name, target := range s.links {
		if err := s.root.Symlink(target, name); err != nil {
			return s.explain(name, err)
		}
	}
	for name, target := range s.links {
		if _, err := s.root.Stat(name); err != nil { // follows links, but not out of the root
			return invalid("the link %q to %q does not lead to a file of the package", name, target)
		}
	}
	return syncTree(s.dir)
}
