package review

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
)

// Work is what a reviewer is asked about, and what its evidence is held against.
type Work struct {
	Code bool `json:"code"` // it is on a project; else it is an answer
	// Root is the top of the directory that the worker has worked in; empty: there is none.
	Root string `json:"root,omitempty"`
	// Tree is the git tree that the work is, and Base the commit that it was begun from;
	// empty: it is what lies in Root.
	Tree string `json:"tree,omitempty"`
	Base string `json:"base,omitempty"`
	// Objects is the git directory of the private repository that has Tree and BaseTree, which
	// is the tree of Base; empty: they are in the repository that Root belongs to.
	Objects  string `json:"objects,omitempty"`
	BaseTree string `json:"baseTree,omitempty"`

	Ran []checks.Outcome `json:"ran,omitempty"`
	// CheckFiles are the files with which the work changes what the checks are, and BaseRan what the
	// checks that it began with came to on the work; none: there were none.
	CheckFiles []string         `json:"checkFiles,omitempty"`
	BaseRan    []checks.Outcome `json:"baseRan,omitempty"`

	Part    int    `json:"part,omitempty"` // the number of the part of the change that is asked about; 0: all of it
	Request string `json:"request"`
	Result  string `json:"result"` // what the worker says

	asked map[string][]byte // what git has said; nil: that is not remembered
}

// maxRemembered is how much is remembered of one answer of git's, in bytes. Reviewers quote the same
// few files again and again.
const maxRemembered = 64 << 10

// maxFile is how much of a file is looked at, in bytes.
const maxFile = 8 << 20

// errNotThere says that the work has no such file.
var errNotThere = errors.New("there is no such file in the work")

// errOutside says that a path leads out of the work.
var errOutside = errors.New("it is not in the work")

// inside is a path as the work has it: relative to its root.
func (w Work) inside(path string) (string, error) {
	if filepath.IsAbs(path) && w.Root != "" {
		relative, err := filepath.Rel(w.Root, path)
		if err != nil {
			return "", errOutside
		}
		path = relative
	}
	if path = filepath.Clean(path); path == "." || !filepath.IsLocal(path) {
		return "", errOutside
	}
	return path, nil
}

// lines are those of a file of the work: of the tree, where there is one, since checks
// leave things in the directory that nobody has written.
func (w Work) lines(ctx context.Context, path string) ([]string, error) {
	path, err := w.inside(path)
	if err != nil {
		return nil, err
	}
	if w.Root == "" {
		return nil, errNotThere
	}
	var content []byte
	if w.Tree != "" {
		content, err = w.git(ctx, "cat-file", "blob", w.Tree+":"+path)
	} else {
		content, err = readIn(w.Root, path)
	}
	return strings.Split(string(content), "\n"), err
}

// readIn reads a regular file in a directory, links that lead out of it not followed.
func readIn(dir, path string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotThere
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errNotThere)
	}
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// absent returns nil when the work has nothing of that name.
func (w Work) absent(ctx context.Context, path string) error {
	path, err := w.inside(path)
	if err != nil {
		return err
	}
	there := false
	switch {
	case w.Tree != "":
		listed, err := w.git(ctx, "ls-tree", "--full-tree", "-z", w.Tree, path)
		if err != nil {
			return err
		}
		there = len(listed) > 0
	case w.Root != "":
		root, err := os.OpenRoot(w.Root)
		if err != nil {
			return err
		}
		defer root.Close()
		_, err = root.Lstat(path)
		there = !errors.Is(err, fs.ErrNotExist)
	}
	if there {
		return errors.New("there is such a file in the work")
	}
	return nil
}

// unchanged returns nil when the work has a file, or a directory, as it was before.
func (w Work) unchanged(ctx context.Context, path string) error {
	path, err := w.inside(path)
	if err != nil {
		return err
	}
	if w.Tree == "" || w.Base == "" {
		return errors.New("what the work began with is not known, so that nothing is known to be unchanged")
	}
	if w.absent(ctx, path) == nil {
		return errNotThere
	}
	changed, err := w.git(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-ext-diff", cmp.Or(w.BaseTree, w.Base), w.Tree, "--", path)
	if err == nil && len(changed) > 0 {
		err = errors.New("the work has changed it")
	}
	return err
}

// Object reports whether a text can name an object of git's, and is no option.
func Object(name string) bool { return object.MatchString(name) }

var object = lazy.Regexp(`^[0-9a-f]{40,64}$`)

// git runs the git program in the work's directory, and returns what it prints.
func (w Work) git(ctx context.Context, args ...string) ([]byte, error) {
	if !Object(w.Tree) || w.Base != "" && !Object(w.Base) {
		return nil, fmt.Errorf("%.80q, %.80q: want the names of objects of git's", w.Tree, w.Base)
	}
	question := strings.Join(args, "\x00")
	if answer, ok := w.asked[question]; ok { // of objects, which do not change
		return answer, nil
	}
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = w.Root
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_LITERAL_PATHSPECS=1",
	}
	if w.Objects != "" {
		command.Env = append(command.Env, "GIT_DIR="+w.Objects, "GIT_CONFIG_GLOBAL=/dev/null")
	}
	var said bytes.Buffer
	command.Stderr = &said
	content, err := command.Output()
	exit := new(exec.ExitError)
	switch {
	case errors.As(err, &exit) && (strings.Contains(said.String(), "does not exist in") || strings.Contains(said.String(), "but not in")):
		return nil, errNotThere
	case err != nil:
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	if w.asked != nil && len(content) <= maxRemembered {
		w.asked[question] = content
	}
	return content[:min(len(content), maxFile)], nil
}

// With is the work with what the worker says of it, for a prompt.
func (w Work) With(result string) Work {
	w.Result = result
	return w
}
