package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A merge moves a branch that is checked out: the branch, the files and the index of the
// checkout. `git merge --ff-only` does that under the lock of the index. Killed in the middle
// of it, it leaves a lock of which nobody can say whose it was, and files that look like
// somebody's work. So the same is done in steps that can be told apart afterwards: the lock
// is made with the task's name in it, the branch is moved, then the files, then the index.
// A lock with the task's name and a branch that has moved say that the files have to follow;
// one that has not moved says that nothing was done.

// lockWords are the content of an index's lock during a merge.
func lockWords(taskID string) string { return "harness: task " + taskID + " is being merged\n" }

func (r *record) lock() string  { return filepath.Join(r.CheckoutGit, "index.lock") }
func (r *record) index() string { return filepath.Join(r.CheckoutGit, "index") }

// newIndex is where the index is made that the checkout has after the merge.
func (r *record) newIndex() string { return filepath.Join(r.CheckoutGit, "harness-index") }

// copyIndex makes an index of the plugin's own from another one.
func copyIndex(from, to string) error {
	_ = os.Remove(to + ".lock") // nobody else knows this index: who has locked it is dead
	info, err := os.Stat(from)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the index: %w", err)
	}
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, info.Mode().Perm())
	}
	if err == nil {
		err = os.Chmod(to, info.Mode().Perm())
	}
	if err == nil { // by which git knows what may have changed since without looking so
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the index: %w", err)
	}
	return nil
}

// land moves the target from Base to Merge, in the checkout that it is checked out in. An
// answer says what a person has to do first: then nothing was changed.
func (p *Plugin) land(ctx context.Context, g *git.Git, r *record) (*pluginsdk.OnTaskValidatedResponse, error) {
	if err := p.takeLock(r); err != nil {
		return nil, err
	}
	answer, err := p.mayLand(ctx, g, r)
	if err == nil {
		err = ctx.Err() // from here on it goes to its end
	}
	if answer != nil || err != nil {
		_ = os.Remove(r.newIndex())
		if err := os.Remove(r.lock()); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "release the index: %w", err)
		}
		return answer, err
	}
	ctx = context.WithoutCancel(ctx)
	checkout := r.checkout(g)
	p.Config.Fault("move", r.Task)
	if err := checkout.Run(ctx, "update-ref", "-m", "harness: merge "+r.Branch, "HEAD", r.Merge, r.Base); err != nil {
		_ = os.Remove(r.newIndex())
		if removed := os.Remove(r.lock()); removed != nil {
			err = errors.Join(err, removed)
		}
		return nil, err
	}
	p.Config.Fault("files", r.Task)
	if err := checkout.With(r.newIndex()).Run(ctx, "read-tree", "-m", "-u", r.Base, r.Merge); err != nil {
		// The disk is full, or somebody was faster than the look at what is in the way. The
		// branch has moved: the files have to follow.
		p.log.Warn("the files of a merge are written one by one", "task", r.Task, "err", err)
		return nil, p.follow(ctx, g, r)
	}
	p.Config.Fault("index", r.Task)
	return nil, p.unlock(r)
}

// takeLock locks the index, so that no other git changes it or commits, with the task's name.
func (p *Plugin) takeLock(r *record) error {
	draft := filepath.Join(r.CheckoutGit, "harness-lock-"+r.Task)
	if err := os.WriteFile(draft, []byte(lockWords(r.Task)), 0o600); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "lock the index: %w", err)
	}
	err := os.Link(draft, r.lock())
	_ = os.Remove(draft)
	switch {
	case errors.Is(err, fs.ErrExist):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is there: another git is at work in %s, or has died there. If none is, remove the file", r.lock(), r.Checkout)
	case err != nil:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "lock the index: %w", err)
	}
	p.Config.Fault("locked", r.Task)
	return nil
}

// mayLand looks, under the lock, whether the merge destroys nothing, and readies its index.
func (p *Plugin) mayLand(ctx context.Context, g *git.Git, r *record) (*pluginsdk.OnTaskValidatedResponse, error) {
	checkout := r.checkout(g)
	on, err := checkout.Text(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && git.CodeOf(err) != 1 {
		return nil, err
	}
	head, err := checkout.Object(ctx, r.targetRef()+"^{commit}")
	if err != nil {
		return nil, err
	}
	if on != r.targetRef() || head != r.Base {
		return again("%s has moved in this moment", r.Target), nil
	}
	if under := underWay(r.CheckoutGit); under != "" {
		return waits(markDirty, "in %s a %s is under way: finish or abort it, and approve the task", r.Checkout, under), nil
	}
	changed, err := dirty(ctx, checkout)
	if err != nil {
		return nil, err
	}
	if len(changed) > 0 {
		return waits(markDirty, "%s has changes that are not committed: %s. Commit or stash them, and approve the task", r.Checkout, some(quoted(changed))), nil
	}
	in, err := p.inTheWay(ctx, g, r)
	if err != nil {
		return nil, err
	}
	if len(in) > 0 {
		return waits(markDirty, "%s has files that git does not know, where the task has made some: %s. Move them away, and approve the task", r.Checkout, some(quoted(in))), nil
	}
	if err := copyIndex(r.index(), r.newIndex()); err != nil {
		return nil, err
	}
	var failed *git.Error
	if err := checkout.With(r.newIndex()).Run(ctx, "read-tree", "-n", "-m", "-u", r.Base, r.Merge); errors.As(err, &failed) {
		return waits(markDirty, "the merge would overwrite files in %s: %s", r.Checkout, strings.TrimSpace(failed.Output)), nil
	} else if err != nil {
		return nil, err
	}
	return nil, nil //nolint:nilnil // nothing is in the way
}

// dirty are the changes in a checkout that are not committed, as git status shows them. A file
// that only a filter knows whether it has changed is none: no merge writes it (unmergeable).
func dirty(ctx context.Context, checkout git.Dir) (changed []string, err error) {
	all, err := checkout.List(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames")
	if err != nil {
		return nil, err
	}
	const inFilesOnly = " M "
	var files []string
	for _, one := range all {
		if path, ok := strings.CutPrefix(one, inFilesOnly); ok {
			files = append(files, path)
		}
	}
	filtered, err := checkout.Filtered(ctx, files)
	return slices.DeleteFunc(all, func(one string) bool {
		path, ok := strings.CutPrefix(one, inFilesOnly)
		return ok && slices.Contains(filtered, path)
	}), err
}

// inTheWay are the files of the checkout that git does not know, ignored ones too, and that
// the merge would overwrite or remove.
func (p *Plugin) inTheWay(ctx context.Context, g *git.Git, r *record) ([]string, error) {
	checkout := r.checkout(g)
	changes, err := checkout.Changes(ctx, r.Base, r.Merge)
	if err != nil {
		return nil, err
	}
	var places []string
	seen := make(map[string]bool)
	for _, change := range changes {
		if change.Status != 'A' {
			continue
		}
		// What is there in its place, or in the place of a directory that it needs.
		for at := change.Path; at != "." && !seen[at]; at = path.Dir(at) {
			seen[at] = true
			info, err := os.Lstat(filepath.Join(r.Checkout, filepath.FromSlash(at)))
			if err == nil && (at == change.Path || !info.IsDir()) {
				places = append(places, ":(top,literal)"+at)
			}
		}
	}
	slices.Sort(places)
	var in []string
	for chunk := range slices.Chunk(slices.Compact(places), 200) {
		others, err := checkout.List(ctx, append([]string{"ls-files", "-z", "--others", "--"}, chunk...)...)
		if err != nil {
			return nil, err
		}
		in = append(in, others...)
	}
	return in, nil
}

// unlock puts the new index in its place and lets others come.
func (p *Plugin) unlock(r *record) error {
	if err := os.Rename(r.newIndex(), r.index()); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the checkout's new index: %w", err)
	}
	p.Config.Fault("unlock", r.Task)
	if err := os.Remove(r.lock()); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "release the index: %w", err)
	}
	return nil
}

// landed reports whether the merge that was under way has been made, after it has ended what
// there is a half of.
func (p *Plugin) landed(ctx context.Context, g *git.Git, r *record) (bool, error) {
	words, err := os.ReadFile(r.lock())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the lock of the checkout's index: %w", err)
	}
	ours := string(words) == lockWords(r.Task)
	_ = os.Remove(filepath.Join(r.CheckoutGit, "harness-lock-"+r.Task))
	in, err := p.merged(ctx, g, r)
	switch {
	case err != nil || !ours:
		return in, err
	case in:
		return true, p.follow(ctx, g, r)
	}
	if err := os.Remove(r.lock()); err != nil {
		return false, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "release the index: %w", err)
	}
	return false, nil
}

// merged reports whether the target has the merge.
func (*Plugin) merged(ctx context.Context, g *git.Git, r *record) (bool, error) {
	repository := r.repository(g)
	target, err := repository.Object(ctx, r.targetRef()+"^{commit}")
	if err != nil || target == "" {
		return false, err
	}
	return repository.Holds(ctx, target, r.Merge)
}

// follow has the checkout's files and index follow the branch, whatever of it is done. It is
// called under the lock, which was taken when the checkout had no changes: what differs of
// the paths of the merge is a half of it.
func (p *Plugin) follow(ctx context.Context, g *git.Git, r *record) error {
	checkout := r.checkout(g)
	tree, err := checkout.Object(ctx, r.Merge+"^{tree}")
	if err != nil {
		return err
	}
	// write-tree only reads the index, but wants a lock of it: it is asked of a copy.
	if err := copyIndex(r.index(), r.newIndex()); err != nil {
		return err
	}
	at := checkout.With(r.newIndex())
	if has, err := at.Text(ctx, "write-tree"); err != nil {
		return err
	} else if has != tree {
		if err := at.Run(ctx, "read-tree", "-m", "-i", r.Merge); err != nil {
			return err
		}
		if err := p.followFiles(ctx, checkout, at, r); err != nil {
			return err
		}
	}
	p.Config.Fault("followed", r.Task)
	return p.unlock(r)
}

// followFiles writes the files of the merge, with the index of at.
func (p *Plugin) followFiles(ctx context.Context, checkout, at git.Dir, r *record) error {
	changes, err := at.Changes(ctx, r.Base, r.Merge)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.Checkout)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the checkout: %w", err)
	}
	defer root.Close()
	var every, write strings.Builder
	for _, change := range changes {
		fmt.Fprintf(&every, "%s\x00", change.Path)
	}
	if err := p.keepHalf(ctx, checkout, r, every.String()); err != nil {
		p.log.Warn("files that the merge overwrites could not be kept", "task", r.Task, "err", err)
	}
	for _, change := range changes {
		if change.Status != 'D' {
			fmt.Fprintf(&write, "%s\x00", change.Path)
			continue
		}
		name := filepath.FromSlash(change.Path)
		if err := root.Remove(name); err != nil && exists(filepath.Join(r.Checkout, name)) {
			continue // a directory has taken its place, or it is behind a link: git says so in its status
		}
		for dir := filepath.Dir(name); dir != "." && root.Remove(dir) == nil; dir = filepath.Dir(dir) {
			continue // as git leaves no empty directories
		}
	}
	_, err = at.Do(ctx, git.Call{Args: []string{"checkout-index", "--force", "--index", "-z", "--stdin"}, Stdin: write.String()})
	return err
}

// keepHalf keeps the files that are about to be overwritten: a half of the merge, most of
// all, and what somebody may have written since.
func (p *Plugin) keepHalf(ctx context.Context, checkout git.Dir, r *record, paths string) error {
	index := filepath.Join(r.CheckoutGit, "harness-half-index")
	_ = os.Remove(index + ".lock") // of a predecessor that has died
	defer os.Remove(index)
	at := checkout.With(index).As(keptName, keptEmail)
	if err := at.Run(ctx, "read-tree", r.Merge); err != nil {
		return err
	}
	if _, err := at.Do(ctx, git.Call{Args: []string{"update-index", "-z", "--add", "--remove", "--replace", "--stdin"}, Stdin: paths}); err != nil {
		return err
	}
	tree, err := at.Text(ctx, "write-tree")
	if err != nil {
		return err
	}
	commit, err := p.commitTree(ctx, at, tree, "What was in "+r.Checkout+" when a merge was made whole\n", r.Merge)
	if err != nil {
		return err
	}
	return at.Run(ctx, "update-ref", leftoverRef(r.Task)+"-checkout", commit)
}
