package workspace

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// topFile lies in the workspace itself, the others in topDir.
	topFile = "CLAUDE.md"
	topDir  = "context"
	suffix  = ".md"
	// maxPath is how long a path may be, in bytes, and maxDepth how many directories it may
	// go through.
	maxPath  = 256
	maxDepth = 8
	// halfWritten ends the names of files that are being written.
	halfWritten = ".harness-tmp"
)

// errNoContext says that a file is none of the context files, because of what it is.
var errNoContext = errors.New("no regular file of text that is short enough")

// versionOf is the SHA-256 of a text.
func versionOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// checkPath refuses (CodeInvalid) what is not the path of a context file, written in the
// one way in which it is listed.
func checkPath(name string) error {
	if !isContext(name) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "path: %.100q is not the path of a context file: %s, or %s/NAME%s, in directories below it at most %d deep, "+
			"without hidden names", name, topFile, topDir, suffix, maxDepth)
	}
	return nil
}

func isContext(name string) bool {
	if name == topFile {
		return true
	}
	parts := strings.Split(name, "/")
	if len(name) > maxPath || !utf8.ValidString(name) || len(parts) < 2 || len(parts) > maxDepth+1 || parts[0] != topDir || !strings.HasSuffix(name, suffix) {
		return false
	}
	for _, part := range parts {
		if part == "" || strings.HasPrefix(part, ".") || strings.ContainsFunc(part, func(r rune) bool { return r == '\\' || !unicode.IsPrint(r) }) {
			return false
		}
	}
	return true
}

// list returns the regular files that have the path of a context file and are short enough,
// by path. Links are not followed.
func list(root *os.Root) (map[string]fs.FileInfo, error) {
	found := make(map[string]fs.FileInfo)
	add := func(name string) error {
		info, err := root.Lstat(name)
		if err == nil && info.Mode().IsRegular() && info.Size() <= MaxText {
			found[name] = info
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := add(topFile); err != nil {
		return nil, err
	}
	err := fs.WalkDir(root.FS(), topDir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // there is no directory, or not any more
		case err != nil:
			return err
		case len(found) >= maxFiles:
			return fs.SkipAll
		case entry.IsDir() && (strings.HasPrefix(path.Base(name), ".") || strings.Count(name, "/") >= maxDepth):
			return fs.SkipDir
		case entry.IsDir() || !isContext(name):
			return nil
		}
		return add(name)
	})
	if err != nil {
		return nil, fmt.Errorf("list the workspace: %w", err)
	}
	return found, nil
}

// TextIn returns the text of a context file of the workspace in a directory. What is no regular file, a link among it, what is
// longer than MaxText, and what is no UTF-8 is an error.
func TextIn(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close() // it was only read
	text, err := read(root, name)
	return string(text), err
}

// read returns a file's text; errNoContext when it is none of the context files. A pipe of
// that name keeps nobody waiting.
func read(root *os.Root, name string) (text []byte, err error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	there, err := root.Lstat(name) // a root follows links inside of it, whatever the flags say
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !there.Mode().IsRegular() {
		return nil, errNoContext
	}
	text, err = io.ReadAll(io.LimitReader(file, MaxText+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxText || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errNoContext
	}
	return text, nil
}

// checkPlace refuses (CodeConflict) a file below something that is there and is no directory, a
// link among it: what is written there is not listed.
func checkPlace(root *os.Root, name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // then one above it is none
		case err != nil:
			return err
		case !info.IsDir():
			return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is there, and is no directory; move it away first, or choose another path", dir)
		}
	}
	return nil
}

// write puts a file in its place at once, with its text on the disk. May is asked last, right
// before that; its error leaves everything as it was.
func write(root *os.Root, name string, text []byte, may func() error) (err error) {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	temporary := path.Join(path.Dir(name), "."+rand.Text()[:8]+halfWritten) // which is no longer than a name may be
	file, err := root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err == nil {
		err = may()
	}
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return syncDir(root, path.Dir(name))
}

func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// sweepUp removes what a daemon that died has left half written.
func (r *Room) sweepUp() {
	root, err := os.OpenRoot(r.config.Dir)
	if err != nil {
		return // whoever looks at the files says why
	}
	defer root.Close() // what fails is only not tidied
	remove := func(name string) {
		if base := path.Base(name); strings.HasPrefix(base, ".") && strings.HasSuffix(base, halfWritten) {
			if err := root.Remove(name); err != nil {
				r.config.Log.Warn("what was half written cannot be removed", "file", name, "err", err)
			}
		}
	}
	_ = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // another one is looked at
		case entry.IsDir() && name != "." && name != topDir && !strings.HasPrefix(name, topDir+"/"):
			return fs.SkipDir
		case !entry.IsDir():
			remove(name)
		}
		return nil
	})
}
