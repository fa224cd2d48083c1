package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// In whose name is committed what is only kept.
const (
	keptName  = "Harness"
	keptEmail = "harness@localhost"
)

// leftoverRef is where files are kept that were in a worktree beside what was accepted.
func leftoverRef(taskID string) string { return leftoverRefs + taskID }

const leftoverRefs = "refs/harness/leftovers/"

// finish takes a worktree away whose work is merged.
func (p *Plugin) finish(ctx context.Context, g *git.Git, r *record) (*pluginsdk.OnTaskValidatedResponse, error) {
	if r.Phase != removing {
		if err := p.keepLeftovers(ctx, g, r); err != nil {
			return nil, err
		}
	}
	if err := p.remove(ctx, g, r); err != nil {
		return nil, err
	}
	return &pluginsdk.OnTaskValidatedResponse{CwdGone: true}, nil
}

// OnTaskFailed keeps what the worker has done as a ref, and takes worktree and branch away.
func (p *Plugin) OnTaskFailed(ctx context.Context, request *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
	defer p.beats(ctx, "takes the worktree away")()
	// A set-up command of it that was cancelled may be about to end.
	done, err := p.lanes.enter(ctx, taskKeys+request.Task.ID)
	if err != nil {
		return nil, err
	}
	defer done()
	g, r, err := p.open(ctx, request.Task.ID)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return &pluginsdk.OnTaskFailedResponse{CwdGone: gone(request.Task)}, nil
	}
	defer p.gate.give(r.gateKey(), r.Task)
	leave, err := p.enterRepository(ctx, r.Common)
	if err != nil {
		return nil, err
	}
	defer leave()
	if r, err = p.load(ctx, r.Task); err != nil {
		return nil, err
	}
	if r == nil {
		return &pluginsdk.OnTaskFailedResponse{CwdGone: gone(request.Task)}, nil
	}
	said := &pluginsdk.OnTaskFailedResponse{CwdGone: true}
	if r.Phase != adding && r.Phase != settingUp && r.Phase != removing && exists(r.Common) {
		if err := p.recover(ctx, g, r); err != nil {
			return nil, err
		}
		if r.Merge == "" {
			branch := request.Task.Labels[labelKeep] == keepBranch
			if whole, err := p.keep(ctx, g, r, branch); err != nil || !whole {
				return &pluginsdk.OnTaskFailedResponse{}, err
			}
		}
	}
	if r.KeptBranch {
		said.Note = fmt.Sprintf("its work is kept on the branch %s of %s: git -C %s log %s shows it, and git -C %s branch -D %s deletes it", r.Branch, r.Root, r.Root, r.Branch, r.Root, r.Branch)
	}
	if r.Merge != "" {
		said.Note = fmt.Sprintf("its work was merged before that, as the commit %s: git -C %s revert -m 1 %s takes it back", r.Merge, r.Checkout, r.Merge)
	}
	return said, p.remove(ctx, g, r)
}

// keep keeps what a task can go on from: as a ref or, if branch is set, as the task's branch. What git
// cannot keep stays where it is, with the worktree around it: false.
func (p *Plugin) keep(ctx context.Context, g *git.Git, r *record, branch bool) (whole bool, err error) {
	at := r.worktree(g).As(keptName, keptEmail)
	was, err := r.repository(g).Object(ctx, r.branchRef()+"^{commit}")
	if err != nil || was == "" {
		return true, err
	}
	head := was
	if r.there() {
		tree, fault, err := p.writeTree(ctx, g, r, 0)
		if err != nil {
			return false, err
		}
		if fault != "" {
			p.log.Warn("the worktree of a task that has failed is left as it is", "task", r.Task, "path", r.Path, "reason", fault)
			return false, nil
		}
		has, err := at.Object(ctx, head+"^{tree}")
		if err != nil {
			return false, err
		}
		if has != tree {
			if head, err = p.commitTree(ctx, at, tree, r.message(), head); err != nil {
				return false, err
			}
		}
	}
	p.Config.Fault("keep", r.Task)
	if head == r.Base {
		return true, nil
	}
	args := []string{"update-ref", keptRef(r.Task), head}
	if branch {
		args = []string{"update-ref", "-m", "harness: what was kept of the task", r.branchRef(), head, was}
	}
	if err := r.repository(g).Run(ctx, args...); err != nil {
		return false, err
	}
	p.Config.Fault("kept", r.Task)
	// clear keeps of the branch only what has come to it since.
	r.Head, r.KeptBranch = was, branch
	return true, nil
}

// keepLeftovers keeps what is in the worktree and is not what was accepted: what checks have
// left behind, or what a person has begun there. It may be of no use to anybody, and goes
// after a while.
func (p *Plugin) keepLeftovers(ctx context.Context, g *git.Git, r *record) error {
	if !r.there() || r.Tree == "" {
		return nil
	}
	at := r.worktree(g).As(keptName, keptEmail)
	tree, fault, err := p.writeTree(ctx, g, r, p.set.Load().MaxFileBytes)
	if err != nil {
		return err
	}
	if fault != "" {
		p.log.Warn("what is in the worktree beside the work is not kept", "task", r.Task, "reason", fault)
		return nil
	}
	if tree == r.Tree {
		return nil
	}
	commit, err := p.commitTree(ctx, at, tree, "What was left in the worktree of task "+r.Task+"\n", r.Head)
	if err != nil {
		return err
	}
	return at.Run(ctx, "update-ref", leftoverRef(r.Task), commit)
}

// remove takes worktree, branch and record away, and can be repeated. It is called in the
// lane.
func (p *Plugin) remove(ctx context.Context, g *git.Git, r *record) error {
	if r.Phase != adding { // of which clear knows that branch and directory were not there
		if err := p.enters(ctx, r, removing); err != nil {
			return err
		}
	}
	if err := p.clear(ctx, g, r); err != nil {
		return err
	}
	p.Config.Fault("removed", r.Task)
	return p.forget(ctx, r)
}

// clear takes away what the record says was made. A repository that is gone has nothing left
// to take away.
func (p *Plugin) clear(ctx context.Context, g *git.Git, r *record) error {
	if !exists(r.Common) {
		return nil
	}
	if err := r.removeFiles(); err != nil {
		return err
	}
	p.Config.Fault("files removed", r.Task)
	repository := r.repository(g)
	known, err := repository.List(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return err
	}
	if slices.Contains(known, "worktree "+r.Path) {
		// Twice: git locks one that it is about to make.
		if err := repository.Run(ctx, "worktree", "remove", "--force", "--force", "--", r.Path); err != nil {
			return err
		}
	}
	p.Config.Fault("worktree removed", r.Task)
	if r.Phase == adding {
		_ = os.Remove(r.branchLock()) // of the git that has died: it was not there before
	}
	branch, err := repository.Object(ctx, r.branchRef())
	if err != nil {
		return err
	}
	expected := r.Head
	if expected == "" {
		expected = r.Start
	}
	if branch != "" && branch != expected && !r.KeptBranch {
		// Somebody has committed on it since.
		if err := repository.Run(ctx, "update-ref", keptRef(r.Task), branch); err != nil {
			return err
		}
	}
	if branch != "" && !r.KeptBranch {
		if err := repository.Run(ctx, "update-ref", "-d", r.branchRef(), branch); err != nil {
			return err
		}
	}
	p.Config.Fault("branch removed", r.Task)
	return repository.Run(ctx, "update-ref", "-d", r.treeRef())
}

// removeFiles removes the worktree's directory, and nothing outside of it.
func (r *record) removeFiles() error {
	root, err := os.OpenRoot(r.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "remove the worktree %s: %w", r.Path, err)
	}
	defer root.Close()
	name := filepath.Join(filepath.FromSlash(worktrees), r.Task)
	err = root.RemoveAll(name)
	if errors.Is(err, fs.ErrPermission) {
		// Some tools make their directories read-only.
		_ = fs.WalkDir(root.FS(), filepath.ToSlash(name), func(path string, entry fs.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				_ = root.Chmod(path, 0o700)
			}
			return nil
		})
		err = root.RemoveAll(name)
	}
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "remove the worktree %s: %w", r.Path, err)
	}
	return nil
}
