package brain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// lockTries is how often a lock file that is made anew under its holder is tried.
const lockTries = 10

// Lock has one workflow at a time work in the directory. The lock is the kernel's, which drops it with
// the process: a dead owner holds nothing. A lock that is held is an error of the code CodeConflict,
// which says who holds it. The caller keeps release until the
// lock is given back. What is left in the file means nothing.
func (b *Brain) Lock(workflow string) (release func(), err error) {
	path := filepath.Join(b.path, LockFile)
	for range lockTries {
		file, err := b.lockFile()
		if err != nil {
			return nil, explain(path, err)
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			holder := holderOf(file)
			file.Close() // nothing was written
			if !errors.Is(err, unix.EWOULDBLOCK) {
				return nil, explain(path, err)
			}
			return nil, pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is in use by %s: a directory has one workflow at a time. Wait for it, or end it with /workflow stop or /workflow abandon", b.path, holder)
		}
		mine, err := file.Stat()
		now, other := b.root.Lstat(LockFile)
		if err != nil || other != nil || !os.SameFile(mine, now) { // somebody has removed the file that was opened
			file.Close()
			continue
		}
		if err := errors.Join(file.Truncate(0), holds(file, workflow)); err != nil {
			file.Close()
			return nil, explain(path, err)
		}
		return sync.OnceFunc(func() {
			_ = unix.Flock(int(file.Fd()), unix.LOCK_UN) // a program that is being started has the file open still
			file.Close()
		}), nil
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is removed again and again while it is locked; find out by what, then try again", path)
}

// lockFile opens the file of the lock, and makes it if it is not there.
func (b *Brain) lockFile() (file *os.File, err error) {
	for range lockTries {
		file, err = b.root.OpenFile(LockFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			file, err = openFile(b.root, LockFile, os.O_RDWR)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return file, err
}

func holds(file *os.File, workflow string) error {
	_, err := fmt.Fprintf(io.NewOffsetWriter(file, 0), "workflow %s (pid %d)\n", workflow, os.Getpid())
	return err
}

// holderOf is who holds the lock, for a message. Anybody can write into the file.
func holderOf(file *os.File) string {
	content, _ := io.ReadAll(io.LimitReader(file, 200)) // for the message only
	words := strings.TrimSpace(strings.Map(func(char rune) rune {
		if unicode.IsControl(char) {
			return ' '
		}
		return char
	}, strings.ToValidUTF8(string(content), "")))
	if words == "" {
		return "another workflow"
	}
	return words
}
