package delegation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// place is where a task works: in cwd, or in a directory of its own.
type place struct {
	cwd string
	own bool
}

// placeOf says where a task works that a thread gives. A directory that was asked for must
// be the thread's, or below it or one of the operator's roots, after symbolic links. When none
// was, it is the thread's if that is in a git checkout, where the task gets a worktree; else
// the task gets a directory of its own, so that it does not write among the thread's files.
func placeOf(asked, threads string, roots []string) (place, error) {
	if asked == "" {
		if threads != "" && inCheckout(threads) {
			return place{cwd: threads}, nil
		}
		return place{own: true}, nil
	}
	if !filepath.IsAbs(asked) {
		if threads == "" {
			return place{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: %q: the thread has no directory that this could be in; name an absolute one", asked)
		}
		asked = filepath.Join(threads, asked)
	}
	real, err := filepath.EvalSymlinks(asked)
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: %q does not exist; make it first, or leave dir out", asked)
	}
	if err != nil {
		return place{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: %q cannot be used: %w; name another, or leave dir out", asked, err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return place{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: %q is no directory; name the one that it is in", asked)
	}
	allowed := roots
	if threads != "" {
		allowed = append([]string{threads}, roots...)
	}
	for _, root := range allowed {
		if root, err := filepath.EvalSymlinks(root); err == nil && within(real, root) {
			return place{cwd: real}, nil
		}
	}
	return place{}, pluginsdk.Errorf(pluginsdk.CodeDenied, "dir: %q is neither in the thread's directory %q nor in one of the operator's: "+
		"`harness plugin settings set %s 'roots=[\"DIR\"]'` allows it", asked, threads, name)
}

// within reports whether a path is the root or below it; both are clean.
func within(path, root string) bool {
	below, err := filepath.Rel(root, path)
	return err == nil && below != ".." && !strings.HasPrefix(below, ".."+string(filepath.Separator))
}

// inCheckout reports whether a directory is in the checkout of a git repository: there is
// a .git in it or above, a directory or the file of a worktree or a submodule.
func inCheckout(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}
