package worktree

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// phase is what is being done with a worktree. It is stored before it is done, so that who
// finds a half of it knows whose it is.
type phase string

const (
	adding     phase = "adding"     // worktree and branch, neither of which was there
	settingUp  phase = "setting up" // the set-up command
	ready      phase = "ready"      // for the worker, or for a person
	committing phase = "committing" // Tree, on top of Head
	rebasing   phase = "rebasing"   // the branch goes to Next, which is on top of NextBase
	merging    phase = "merging"    // the target goes from Base to Merge
	removing   phase = "removing"   // worktree and branch
)

// record is what the plugin remembers of a task, under task/ID in its state. Paths are
// absolute and without links; commits and trees are full names of objects.
type record struct {
	Task   string `json:"task"`
	Phase  phase  `json:"phase"`
	Common string `json:"common"` // git directory that all worktrees share
	Root   string `json:"root"`   // top of the checkout below which the worktree is
	Path   string `json:"path"`   // of the worktree
	GitDir string `json:"gitDir"` // of the worktree; empty: it has none yet
	Prefix string `json:"prefix"` // directory in the worktree to work in, with a slash at its end
	Branch string `json:"branch"`
	Title  string `json:"title"` // of the task, for commits

	Checkout    string `json:"checkout"`    // top of the working tree that is merged into
	CheckoutGit string `json:"checkoutGit"` // its git directory
	Target      string `json:"target"`      // the branch there
	Above       string `json:"above"`       // the task whose worktree the checkout is

	Base  string `json:"base"`  // commit of the target that the work is on top of
	Start string `json:"start"` // commit that the worker began with
	Head  string `json:"head"`  // of the branch, as the plugin knows it
	Tree  string `json:"tree"`  // that was last written to be looked at
	Patch string `json:"patch"` // what it changes, see git.Dir.PatchID
	Moved bool   `json:"moved"` // it was put on top of the target, and not written there yet

	// Left is what the set-up command has left behind that git does not ignore: no part of
	// the work.
	Left []string `json:"left,omitempty"`

	Next     string `json:"next"`
	NextBase string `json:"nextBase"`
	Merge    string `json:"merge"`

	// KeptBranch says that the task has ended without being merged, and its branch stays.
	KeptBranch bool `json:"keptBranch,omitempty"`

	// Held is the patch for which a person was waited for because of marks, and Approved the
	// one that a person has let pass since.
	Held     string `json:"held"`
	Approved string `json:"approved"`

	revision int64
}

const (
	taskKeys       = "task/"
	repositoryKeys = "repository/"
)

// taskIDs are those that can be a directory and a branch. The core's are.
var taskIDs = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`)

// load returns what is remembered of a task; nil: nothing.
func (p *Plugin) load(ctx context.Context, taskID string) (*record, error) {
	answer, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: taskKeys + taskID})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound && err != nil {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	if err != nil {
		return nil, err
	}
	return decode(answer.Entry)
}

func decode(entry pluginsdk.StateEntry) (*record, error) {
	r := &record{revision: entry.Revision}
	if err := json.Unmarshal(entry.Value, r); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "the state %s cannot be read: %w", entry.Key, err)
	}
	return r, nil
}

// save stores the record, unless another instance has changed it since it was loaded
// (CodeConflict).
func (p *Plugin) save(ctx context.Context, r *record) error {
	value, err := json.Marshal(r)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "remember task %s: %w", r.Task, err)
	}
	answer, err := p.host.State.Put(ctx, &pluginsdk.PutStateRequest{
		Key: taskKeys + r.Task, Value: value, If: &pluginsdk.StateCondition{Revision: r.revision},
	})
	if err != nil {
		return err
	}
	r.revision = answer.Revision
	return nil
}

// enters stores what is about to be done.
func (p *Plugin) enters(ctx context.Context, r *record, next phase) error {
	r.Phase = next
	if err := p.save(ctx, r); err != nil {
		return err
	}
	p.Config.Fault(string(next), r.Task)
	return nil
}

func (p *Plugin) forget(ctx context.Context, r *record) error {
	_, err := p.host.State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: taskKeys + r.Task, If: &pluginsdk.StateCondition{Revision: r.revision}})
	return err
}

// records are all that is remembered of tasks.
func (p *Plugin) records(ctx context.Context) (records []*record, err error) {
	err = p.each(ctx, taskKeys, func(entry pluginsdk.StateEntry) error {
		r, err := decode(entry)
		records = append(records, r)
		return err
	})
	return records, err
}

func (p *Plugin) each(ctx context.Context, prefix string, do func(pluginsdk.StateEntry) error) error {
	for after := ""; ; {
		page, err := p.host.State.List(ctx, &pluginsdk.ListStateRequest{Prefix: prefix, After: after, Limit: 1000})
		if err != nil {
			return err
		}
		for _, entry := range page.Entries {
			if err := do(entry); err != nil {
				return err
			}
			after = entry.Key
		}
		if !page.More {
			return nil
		}
	}
}

// branchOf is the branch of a task.
func branchOf(taskID string) string { return "task/" + taskID }

func (r *record) branchRef() string { return "refs/heads/" + r.Branch }

// branchLock is what git has the branch locked with.
func (r *record) branchLock() string {
	return filepath.Join(r.Common, filepath.FromSlash(r.branchRef())) + ".lock"
}

func (r *record) targetRef() string { return "refs/heads/" + r.Target }

// treeRef keeps what was written to be looked at from git's garbage collection, for as long
// as people take to decide.
func (r *record) treeRef() string { return "refs/harness/trees/" + r.Task }

// keptRef is where the work of a task is kept that has failed.
func keptRef(taskID string) string { return keptRefs + taskID }

const keptRefs = "refs/harness/tasks/"

func (r *record) worktree(g *git.Git) git.Dir { return g.Worktree(r.Path, r.GitDir) }
func (r *record) checkout(g *git.Git) git.Dir { return g.Worktree(r.Checkout, r.CheckoutGit) }

// repository is there before and after any worktree.
func (r *record) repository(g *git.Git) git.Dir { return g.Repository(r.Common) }

// onItsBranch reports whether the worktree is there, and on the task's branch.
func (r *record) onItsBranch(ctx context.Context, g *git.Git) (bool, error) {
	if !r.there() {
		return false, nil
	}
	on, err := r.worktree(g).Text(ctx, "symbolic-ref", "--quiet", "HEAD")
	if git.CodeOf(err) == 1 { // it is on none
		return false, nil
	}
	return on == r.branchRef(), err
}

// there reports whether the worktree is where it was made. A link in its place leads to what
// is not the task's.
func (r *record) there() bool {
	info, err := os.Lstat(r.Path)
	return err == nil && info.IsDir() && exists(r.GitDir)
}

// ownIndex is where the worktree is written from to be looked at. The worker's index is of
// no importance: what git was told there to overlook is looked at.
func (r *record) ownIndex() string { return filepath.Join(r.GitDir, "harness-index") }

// worktrees is the directory of all worktrees, in the checkout's.
const worktrees = ".claude/worktrees"
