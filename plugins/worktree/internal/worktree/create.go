package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// editsFiles is the permission mode of a task in a directory that is its own.
const editsFiles = "acceptEdits"

// Labels of a task that has a worktree.
const (
	labelRepository = "worktree.repository" // top of the checkout that it is merged into
	labelPath       = "worktree.path"
	labelBranch     = "worktree.branch"
	labelTarget     = "worktree.target" // branch that it is merged into
	labelBase       = "worktree.base"   // commit that it began with
	labelKeep       = "worktree.keep"   // keepBranch: the branch stays when the task ends without being merged
	labelRoot       = "worktree.root"   // of a worktree for another task's worktree: the checkout below which both are
)

// keepBranch is the value of labelKeep. Anybody may set it.
const keepBranch = "branch"

// OnTaskCreate gives a task whose directory is in a git checkout a worktree. An error says
// why it cannot have one: it never works in the checkout instead.
func (p *Plugin) OnTaskCreate(ctx context.Context, request *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	cwd := request.Context.Cwd
	var mode *string
	if was := request.Context.PermissionMode; was == "" || was == "default" { // another one is somebody's will, such as plan
		edits := editsFiles
		mode = &edits
	}
	switch {
	case cwd == "":
		return nil, nil //nolint:nilnil // there are no files
	case request.Task.OwnDirectory:
		return &pluginsdk.OnTaskCreateResponse{PermissionMode: mode}, nil
	}
	defer p.beats(ctx, "makes a worktree")()
	done, err := p.lanes.enter(ctx, taskKeys+request.Task.ID)
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := p.load(ctx, request.Task.ID)
	if err != nil {
		return nil, err
	}
	g, err := p.program(ctx)
	if err != nil {
		if r == nil && !below(cwd) {
			return nil, nil //nolint:nilnil // nobody needs git
		}
		return nil, plainly(err)
	}
	if r == nil {
		if r, err = p.plan(ctx, g, request); r == nil || err != nil {
			return nil, plainly(err)
		}
	}
	leave, err := p.enterRepository(ctx, r.Common)
	if err != nil {
		return nil, err
	}
	// Another process may have made it meanwhile: a version that was replaced ends its calls.
	now, err := p.load(ctx, r.Task)
	if err == nil {
		if now != nil {
			r = now
		}
		err = p.make(ctx, g, r)
	}
	leave()
	if err != nil {
		return nil, plainly(err)
	}
	if err := p.setUp(ctx, g, r); err != nil {
		return nil, plainly(err)
	}
	where := filepath.Join(r.Path, filepath.FromSlash(r.Prefix))
	words := r.instructions()
	if before := request.Context.Context; before != "" {
		words = before + "\n\n" + words
	}
	return &pluginsdk.OnTaskCreateResponse{Cwd: &where, Context: &words, PermissionMode: mode, SetLabels: r.labels()}, nil
}

// labels are what the task says of its worktree.
func (r *record) labels() map[string]string {
	labels := map[string]string{labelRepository: r.Checkout, labelPath: r.Path, labelBranch: r.Branch, labelTarget: r.Target, labelBase: r.Base}
	if r.Root != r.Checkout {
		labels[labelRoot] = r.Root
	}
	return labels
}

// plainly gives an error of git the code that says that the task cannot begin. One that may
// pass keeps its own.
func plainly(err error) error {
	var failed *git.Error
	if errors.As(err, &failed) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%w", err)
	}
	return err
}

// instructions are what the worker is told.
func (r *record) instructions() string {
	return fmt.Sprintf(`You work in a git worktree of %s, on the branch %s, which will be merged into %s.
Change files below %s only. You need not commit: what the files are when you say that you are done is what is looked at and merged, without what git ignores. Do not switch branches, and leave no files behind that do not belong to the work.`,
		r.Checkout, r.Branch, r.Target, r.Path)
}

// below reports whether a directory is below a .git, so that work in it would be work in a
// checkout.
func below(dir string) bool {
	for {
		if exists(filepath.Join(dir, ".git")) {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

func refused(format string, args ...any) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, format, args...)
}

// plan finds out where the worktree is to be, and refuses what it cannot be made of. nil: the
// directory is in no checkout. Nothing is written but, where the checkout is another task's
// worktree, that one's edits as a commit on its branch.
func (p *Plugin) plan(ctx context.Context, g *git.Git, request *pluginsdk.OnTaskCreateRequest) (*record, error) {
	task, cwd := request.Task, request.Context.Cwd
	if !taskIDs.MatchString(task.ID) {
		return nil, refused("task %.100q: its id can be no directory and no branch", task.ID)
	}
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
		return nil, refused("%s: the task is to work there, and it is no directory", cwd)
	}
	at := g.At(cwd)
	holding, err := at.Holding(ctx)
	if git.CodeOf(err) == 128 && strings.Contains(err.Error(), "not a git repository") && !below(cwd) {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	if err != nil {
		return nil, err
	}
	switch {
	case holding.Bare:
		return nil, refused("%s is a bare repository, without a checkout to merge into: have the task work in a clone of it", cwd)
	case !holding.Inside:
		return nil, refused("%s is inside a repository's git directory: have the task work in its checkout", cwd)
	}
	// What git ignores, such as a data directory below a checkout, is no part of it.
	if err := at.Run(ctx, "check-ignore", "--quiet", "."); err == nil {
		return nil, nil //nolint:nilnil // nothing there could be merged
	} else if git.CodeOf(err) != 1 && git.CodeOf(err) != 128 { // 128: the top
		return nil, err
	}
	r := &record{Task: task.ID, Branch: branchOf(task.ID), Title: title(task)}
	layout, err := at.Layout(ctx)
	if err != nil {
		return nil, err
	}
	r.Checkout, r.CheckoutGit, r.Common, r.Prefix = layout.Top, layout.GitDir, layout.Common, layout.Prefix
	if holding.Super != "" {
		return nil, refused("%s is a submodule of %s, where the commit that it is at is written down: have the task work in a clone of its own", r.Checkout, holding.Super)
	}
	if err := p.findRoot(ctx, g, r); err != nil {
		return nil, err
	}
	if err := p.findBase(ctx, g, r, task.FromTaskID); err != nil {
		return nil, err
	}
	return r, p.vacant(ctx, g, r)
}

// findRoot decides below which checkout the worktree is: that of the task's directory, or, in
// a worktree of another task, the one which that is below. So none goes when another does.
func (p *Plugin) findRoot(ctx context.Context, g *git.Git, r *record) error {
	r.Root = r.Checkout
	if name := filepath.Base(r.Checkout); taskIDs.MatchString(name) {
		above, err := p.load(ctx, name)
		if err != nil {
			return err
		}
		if above != nil && above.Path == r.Checkout {
			if above.Phase != ready {
				return refused("the worktree %s of the task above is not ready for work (%s)", above.Path, above.Phase)
			}
			r.Root, r.Above = above.Root, above.Task
		}
	}
	r.Path = filepath.Join(r.Root, filepath.FromSlash(worktrees), r.Task)
	for _, dir := range []string{filepath.Dir(worktrees), worktrees} {
		if info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(dir))); err == nil && !info.IsDir() {
			return refused("%s is no directory: worktrees of tasks are made in it. Rename what is there", filepath.Join(r.Root, dir))
		}
	}
	return nil
}

// findBase decides which commit the work is on top of.
func (p *Plugin) findBase(ctx context.Context, g *git.Git, r *record, fromTaskID string) error {
	checkout := r.checkout(g)
	objects, err := checkout.Objects(ctx, "HEAD^{commit}", "HEAD:.gitmodules")
	if err != nil {
		return err
	}
	head, modules := objects[0], objects[1]
	if head == "" {
		return refused("%s has no commits yet: make a first one (git commit --allow-empty)", r.Checkout)
	}
	ref, err := checkout.Text(ctx, "symbolic-ref", "--quiet", "HEAD")
	if git.CodeOf(err) == 1 || err == nil && !strings.HasPrefix(ref, "refs/heads/") {
		return refused("%s is on no branch (detached HEAD), so that there is nothing to merge the work into: git switch to a branch", r.Checkout)
	}
	if err != nil {
		return err
	}
	r.Target = strings.TrimPrefix(ref, "refs/heads/")
	if under := underWay(r.CheckoutGit); under != "" {
		return refused("in %s a %s is under way: finish or abort it (git %s --abort)", r.Checkout, under, under)
	}
	if modules != "" {
		return refused("%s has submodules: git keeps no worktrees of these, and a merge would move the commits that they are at. Have the task work in a clone (git clone --recurse-submodules)", r.Checkout)
	}
	if err := checkout.Identity(ctx); err != nil {
		return refused("%s has nobody in whose name commits are made: git config user.name and git config user.email, with --global for all repositories of the daemon's user (%w)", r.Checkout, err)
	}
	if r.Above != "" {
		// What the worker of the task above has not committed is what this task is about.
		leave, err := p.enterRepository(ctx, r.Common)
		if err != nil {
			return err
		}
		defer leave()
		if head, err = p.snapshot(ctx, g, r.Above); err != nil {
			return err
		}
	}
	r.Base, r.Start = head, head
	if fromTaskID == "" || !taskIDs.MatchString(fromTaskID) {
		return nil
	}
	return p.goOnFrom(ctx, g, r, fromTaskID)
}

// goOnFrom begins with what is kept of a task, as a branch or as a ref, on top of the base; where
// the two conflict, with what is kept as it is.
func (p *Plugin) goOnFrom(ctx context.Context, g *git.Git, r *record, fromTaskID string) error {
	repository := r.repository(g)
	found, err := repository.Objects(ctx, "refs/heads/"+branchOf(fromTaskID)+"^{commit}", keptRef(fromTaskID)+"^{commit}")
	if err != nil {
		return err
	}
	kept := cmp.Or(found...)
	if kept == "" {
		return nil
	}
	merged, err := repository.MergeTree(ctx, r.Base, kept)
	if err != nil {
		return err
	}
	if len(merged.Conflicts) > 0 {
		r.Start = kept
		if r.Base, err = repository.Text(ctx, "merge-base", r.Base, kept); err != nil {
			return err
		}
		return nil
	}
	r.Start, err = p.commitTree(ctx, repository, merged.Tree, "Goes on from task "+fromTaskID+"\n\n"+trailer(r.Task), r.Base)
	return err
}

// underWay names what somebody has begun in a working tree and not ended.
func underWay(gitDir string) string {
	for _, one := range [][2]string{
		{"MERGE_HEAD", "merge"}, {"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"},
	} {
		if exists(filepath.Join(gitDir, one[0])) {
			return one[1]
		}
	}
	return ""
}

// vacant refuses a place that is taken: who has a record has found it empty.
func (p *Plugin) vacant(ctx context.Context, g *git.Git, r *record) error {
	if exists(r.Path) {
		return refused("%s is there already, and was not made for this task: look at it, and move or remove it", r.Path)
	}
	if lock := r.branchLock(); exists(lock) {
		return refused("%s is there: another git makes or deletes the branch, or has died at that. If none does, remove the file", lock)
	}
	there, err := r.repository(g).Object(ctx, r.branchRef())
	if err == nil && there != "" {
		err = refused("the branch %s is there already, and was not made for this task: look at it, and rename it (git branch -m %s ANOTHER-NAME)", r.Branch, r.Branch)
	}
	return err
}

// make makes worktree and branch, unless they are made. It is called in the lane.
func (p *Plugin) make(ctx context.Context, g *git.Git, r *record) error {
	repository := r.repository(g)
	switch {
	case r.revision == 0:
		if err := p.vacant(ctx, g, r); err != nil { // as long as the lane was not ours it was another's
			return err
		}
		p.Config.Fault("planned", r.Task)
		if err := p.knows(ctx, r); err != nil {
			return err
		}
		if err := p.enters(ctx, r, adding); err != nil {
			return err
		}
	case r.Phase == adding:
		// What is there was begun by somebody who has died.
		if err := p.clear(ctx, g, r); err != nil {
			return err
		}
	case r.Phase == removing:
		return pluginsdk.Errorf(pluginsdk.CodeStale, "the worktree of task %s is being removed", r.Task)
	default:
		return nil
	}
	if err := p.directory(r); err != nil {
		return err
	}
	p.Config.Fault("add", r.Task)
	err := repository.Run(ctx, "worktree", "add", "--quiet", "--no-track", "-b", r.Branch, "--", r.Path, r.Start)
	if err != nil {
		cleared := p.clear(context.WithoutCancel(ctx), g, r)
		if cleared == nil {
			cleared = p.forget(context.WithoutCancel(ctx), r)
		}
		return errors.Join(err, cleared)
	}
	p.Config.Fault("added", r.Task)
	if r.GitDir, err = g.At(r.Path).Text(ctx, "rev-parse", "--absolute-git-dir"); err != nil {
		return err
	}
	// The index that the work is written from begins as git has just made it.
	if err := copyIndex(filepath.Join(r.GitDir, "index"), r.ownIndex()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.Path, filepath.FromSlash(r.Prefix)), 0o755); err != nil {
		return refused("the directory to work in: %w", err)
	}
	r.Head = r.Start
	return p.enters(ctx, r, settingUp)
}

// directory makes the directory of all worktrees, which git shows nobody.
func (p *Plugin) directory(r *record) error {
	dir := filepath.Join(r.Root, filepath.FromSlash(worktrees))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return refused("the directory of the worktrees: %w", err)
	}
	ignore := filepath.Join(dir, ".gitignore")
	if exists(ignore) {
		return nil
	}
	// Whole or not at all: half of it would show worktrees as untracked files.
	file, err := os.CreateTemp(dir, ".gitignore-*")
	if err != nil {
		return refused("the directory of the worktrees: %w", err)
	}
	_, err = file.WriteString("*\n")
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), ignore)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return refused("the directory of the worktrees: %w", err)
	}
	return nil
}

// title is how a task is named in commits.
func title(task pluginsdk.Task) string {
	text := strings.TrimSpace(task.OriginalMessage)
	if text == "" {
		text = strings.TrimSpace(task.Prompt)
	}
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimLeft(strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, line)), "#")
	if runes := []rune(line); len(runes) > 60 {
		line = string(runes[:59]) + "…"
	}
	if line == "" {
		return "Task " + task.ID
	}
	return line
}

func trailer(taskID string) string { return "Harness-Task: " + taskID + "\n" }

// commitTree makes a commit without a branch.
func (*Plugin) commitTree(ctx context.Context, at git.Dir, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree"}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	out, err := at.Do(ctx, git.Call{Args: append(args, "-F", "-", tree), Stdin: message})
	return strings.TrimSuffix(out, "\n"), err
}
