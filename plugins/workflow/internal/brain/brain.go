// Package brain is the directory .brain of a project: where a workflow keeps its state, and where its
// agents leave the plan and what they have found out. No link is followed in it, since agents and
// whoever writes files in a repository can make links.
package brain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Dir is the directory's name in a project.
const Dir = ".brain"

// The files of the plugin's own. They are the only ones that it writes.
const (
	StateFile  = "pipeline-state.json"
	LockFile   = "workflow.lock"
	ReviewFile = "REVIEW.md"
	ignoreFile = ".gitignore"
)

// The files that agents leave.
const (
	Plan      = "PLAN.md"
	Decisions = "DECISIONS.md"
	Patterns  = "PATTERNS.md"
	Research  = "research" // a directory of Markdown files
)

// ignored keeps the plugin's own files out of the project's history.
const ignored = ignoreFile + "\n" + StateFile + "*\n" + LockFile + "\n" + ReviewFile + "\n"

// Brain is the directory .brain of one project. Its methods can be called from several goroutines.
type Brain struct {
	path string // of the directory
	root *os.Root

	mu     sync.Mutex
	looked bool  // the state file was read, or set aside
	kept   error // why a state file that cannot be read could not be set aside; nothing is written over it
}

// Open opens the directory .brain of a project, and makes it if it is not there.
func Open(dir string) (*Brain, error) {
	path := filepath.Join(dir, Dir)
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, explain(dir, notPlain(info, "directory"))
	}
	above, err := os.OpenRoot(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	defer above.Close()
	if err := above.Mkdir(Dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, explain(path, err)
	}
	root, err := openDir(above, Dir)
	if err != nil {
		return nil, explain(path, err)
	}
	b := &Brain{path: path, root: root}
	if err := b.ignore(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return b, nil
}

// Close closes the directory.
func (b *Brain) Close() error { return b.root.Close() }

// ignore makes the file .gitignore, if there is none.
func (b *Brain) ignore() error {
	if _, err := b.root.Lstat(ignoreFile); !errors.Is(err, fs.ErrNotExist) {
		return nil // of a project's own
	}
	return b.write(ignoreFile, []byte(ignored))
}

// write writes a file whole: under another name first, which then takes the name's place. A link of that
// name is replaced, not followed. After an error the file is what it was.
func (b *Brain) write(name string, content []byte) error {
	fresh := name + ".new"
	failed := func(err error) error {
		_ = b.root.Remove(fresh)
		return explain(filepath.Join(b.path, name), err)
	}
	if err := b.root.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a writer that has died
		return failed(err)
	}
	file, err := b.root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return failed(err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return failed(err)
	}
	if err := b.root.Rename(fresh, name); err != nil {
		return failed(err)
	}
	return b.sync()
}

// sync has the disk hold the names of the directory.
func (b *Brain) sync() error {
	dir, err := b.root.Open(".")
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return explain(b.path, err)
	}
	return nil
}

// mostReview is how many bytes of a review are written.
const mostReview = 256 << 10

// WriteReview writes REVIEW.md for people to read. The end of a text that is too long is cut off.
func (b *Brain) WriteReview(text string) error {
	if len(text) > mostReview {
		text = strings.ToValidUTF8(text[:mostReview], "") + "\n\n[the rest is cut off]\n"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.write(ReviewFile, []byte(text))
}

// openDir opens a directory that is no link.
func openDir(above *os.Root, name string) (*os.Root, error) {
	info, err := above.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, notPlain(info, "directory")
	}
	root, err := above.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := root.Stat("."); err != nil || !os.SameFile(info, now) { // somebody has put a link there since
		return nil, errors.Join(err, root.Close(), errors.New("it was changed while it was opened; try again"))
	}
	return root, nil
}

// openFile opens a regular file that is no link, for reading or, with other flags, for more.
func openFile(dir *os.Root, name string, flags int) (*os.File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notPlain(info, "file")
	}
	file, err := dir.OpenFile(name, flags|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(err, file.Close(), errors.New("it was changed while it was opened; try again"))
	}
	return file, nil
}

// errNotPlain is the error of something that is not used because of what it is.
var errNotPlain = errors.New("it is not used")

func notPlain(info fs.FileInfo, want string) error {
	is := "no " + want
	if info.Mode()&fs.ModeSymlink != 0 {
		is = "a link, and links are not followed here"
	}
	return fmt.Errorf("%w: it is %s; put a %s in its place", errNotPlain, is, want)
}

// explain names the file that could not be used, why, and what to do.
func explain(path string, err error) error {
	cause := err
	if of := new(fs.PathError); errors.As(err, &of) {
		cause = of.Err
	} else if of := new(os.LinkError); errors.As(err, &of) {
		cause = of.Err
	}
	code, todo := pluginsdk.CodeInternal, ""
	switch {
	case errors.Is(err, errNotPlain):
		code = pluginsdk.CodeInvalid
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		code, todo = pluginsdk.CodeUnavailable, "; free some space, then continue the workflow"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		code, todo = pluginsdk.CodeInvalid, "; let the user that runs the daemon read and write it, then continue the workflow"
	case errors.Is(err, fs.ErrNotExist):
		code, todo = pluginsdk.CodeNotFound, "; make the directory, or name another"
	}
	return pluginsdk.Errorf(code, "%s: %w%s", path, cause, todo)
}
