package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Marks of a task whose merge waits for a person.
const (
	markConflict = "conflict" // with what the target has become
	markDirty    = "dirty"    // the checkout has changes, or files in the way
	markBranch   = "branch"   // the checkout is on another branch, or the target is gone
	markCommit   = "commit"   // git commit has failed
	markIdentity = "identity" // there is no user.name
	markWorktree = "worktree" // it cannot be read
)

// Marks of others, with which nothing is merged before a person has said so.
var heldBack = []string{"demo", "unvalidated"}

// OnTaskValidated merges the tree that was accepted, and takes worktree and branch away.
func (p *Plugin) OnTaskValidated(ctx context.Context, request *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	defer p.beats(ctx, "merges the work")()
	g, r, err := p.open(ctx, request.Task.ID)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return &pluginsdk.OnTaskValidatedResponse{CwdGone: gone(request.Task)}, nil
	}
	for {
		if err := p.passGate(ctx, r); err != nil {
			return nil, err
		}
		leave, err := p.enterRepository(ctx, r.Common)
		if err != nil {
			return nil, err
		}
		if p.gate.ahead(r.gateKey(), r.Task) != "" { // who came out of the gate first has taken the turn
			leave()
			continue
		}
		answer, err := p.handOver(ctx, g, request)
		if err == nil && answer.Handover != pluginsdk.HandoverAgain {
			p.gate.give(r.gateKey(), r.Task)
		}
		leave()
		return answer, err
	}
}

// gone reports whether a task had a worktree that is no more: who was killed after the last
// step is asked again, and has no record.
func gone(task pluginsdk.Task) bool {
	path := task.Labels[labelPath]
	return path != "" && !exists(path)
}

func waits(mark, format string, args ...any) *pluginsdk.OnTaskValidatedResponse {
	return &pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverWait, Mark: mark, Reason: fmt.Sprintf(format, args...)}
}

func again(format string, args ...any) *pluginsdk.OnTaskValidatedResponse {
	return &pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverAgain, Reason: fmt.Sprintf(format, args...)}
}

// handOver is called in the lane.
func (p *Plugin) handOver(ctx context.Context, g *git.Git, request *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	task := request.Task
	r, err := p.load(ctx, task.ID)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return &pluginsdk.OnTaskValidatedResponse{CwdGone: gone(task)}, nil
	}
	if err := p.recover(ctx, g, r); err != nil {
		return nil, err
	}
	if r.Merge != "" || r.Phase == removing {
		return p.finish(ctx, g, r)
	}
	if answer, err := p.accepted(ctx, g, r, request); answer != nil || err != nil {
		return answer, err
	}
	if answer, err := p.commit(ctx, g, r); answer != nil || err != nil {
		return answer, err
	}
	return p.merge(ctx, g, r)
}

// accepted looks whether what is to be merged is what was accepted; nil: it is.
func (p *Plugin) accepted(ctx context.Context, g *git.Git, r *record, request *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	on, err := r.onItsBranch(ctx, g)
	if err != nil {
		return nil, err
	}
	if !on {
		return waits(markWorktree, "%s is gone, or not on its branch any more: git switch %s there, with the work on it, and approve the task; or cancel it", r.Path, r.Branch), nil
	}
	task := request.Task
	if task.CwdPlugin != name { // the gates before this one were told by that plugin what the work is, and not by this one
		said, err := p.words(ctx, task)
		if err != nil {
			return nil, err
		}
		if !said.person {
			who := "another plugin"
			if task.CwdPlugin != "" {
				who = "the plugin " + task.CwdPlugin
			}
			return waits(markWorktree, "%s has changed the task's directory to %q, so what was reviewed may not be what is in %s. Look at it (git -C %s diff --text %s %s) and approve it, or cancel it",
				who, task.Cwd, r.Path, r.Path, r.Base, r.Tree), nil
		}
	}
	if by := r.otherVerdict(request.Evidence); by != "" {
		return again("the verdict of the plugin %s is of another tree than %s, which would be merged", by, r.Tree), nil
	}
	seen := slices.ContainsFunc(request.Evidence, func(e pluginsdk.Evidence) bool {
		return e.Plugin == name && e.Kind == kindTree && r.Tree != "" && e.Tree == r.Tree
	})
	if !seen {
		// A person may accept what no reviewer has seen: then it is what is there now.
		said, err := p.words(ctx, task)
		if err != nil {
			return nil, err
		}
		if r.Moved || !said.person {
			return again("nobody has looked at it as it is now"), nil
		}
		fault, err := p.write(ctx, g, r)
		if err == nil && fault == "" {
			err = p.save(ctx, r)
		}
		if fault != "" {
			return waits(markWorktree, "%s", fault), err
		}
		if err != nil {
			return nil, err
		}
	}
	work := fmt.Sprintf("%d:%s", task.CurrentIteration, r.Patch)
	marks := slices.DeleteFunc(slices.Clone(task.Marks), func(mark string) bool { return !slices.Contains(heldBack, mark) })
	if len(marks) > 0 && r.Approved != work {
		r.Held = work
		return waits("", "it is marked %s, so it is not merged by itself. Look at it (git -C %s diff %s %s) and approve it, or not; the branch is %s",
			strings.Join(marks, ", "), r.Path, r.Base, r.Tree, r.Branch), p.save(ctx, r)
	}
	if len(marks) == 0 && r.Held == work {
		r.Approved = work // only a person takes marks away
	}
	if len(marks) == 0 && r.Approved != work {
		said, err := p.words(ctx, task)
		if err != nil {
			return nil, err
		}
		if said.early != "" {
			return waits(markWorktree, "the plugin %s has accepted it before it was written down what would be merged: let %s answer first (harness plugin order %s before %s). Look at it (git -C %s diff --text %s %s) and approve it, or cancel it",
				said.early, name, name, said.early, r.Path, r.Base, r.Tree), nil
		}
	}
	head, err := r.worktree(g).Object(ctx, r.branchRef()+"^{commit}")
	if err != nil {
		return nil, err
	}
	if head != r.Head {
		return again("the branch %s has got commits since the work was looked at", r.Branch), nil
	}
	return nil, p.save(ctx, r)
}

// otherVerdict names a plugin that has looked at another tree than the one that would be
// merged; "": none has.
func (r *record) otherVerdict(evidence []pluginsdk.Evidence) (plugin string) {
	i := slices.IndexFunc(evidence, func(e pluginsdk.Evidence) bool { return e.Kind == kindVerdict && e.Tree != r.Tree })
	if i < 0 {
		return ""
	}
	return evidence[i].Plugin
}

// words is what was said of a task's work.
type words struct {
	person bool // the last word is a person's, who accepts it
	// early names a plugin that has accepted it in the last round before this plugin has said what
	// the work is, where no plugin and no person has accepted it afterwards; "": there is none.
	early string
}

// words reads the task's history.
func (p *Plugin) words(ctx context.Context, task pluginsdk.Task) (said words, err error) {
	var last pluginsdk.TaskAnswer
	own, first := false, "" // of the round of last
	for request := (&pluginsdk.TaskHistoryRequest{ID: task.ID}); ; {
		page, err := p.host.Tasks.History(ctx, request)
		if err != nil {
			return words{}, err
		}
		for _, answer := range page.Answers {
			request.After = answer.ID
			if answer.Author == "" && answer.Hook != pluginsdk.HookTaskComplete {
				continue
			}
			if answer.Round != last.Round {
				own, first, said.early = false, "", ""
			}
			accepts := answer.Answer == string(pluginsdk.VerdictAccept)
			switch {
			case answer.Author == "" && answer.Plugin == name:
				own, said.early = true, first
			case accepts && own:
				said.early = ""
			case accepts:
				first = answer.Plugin
			}
			last = answer
		}
		if !page.More || len(page.Answers) == 0 {
			said.person = last.Author != "" && last.Answer == string(pluginsdk.VerdictAccept)
			return said, nil
		}
	}
}

// message is that of the task's commits.
func (r *record) message() string { return r.Title + "\n\n" + trailer(r.Task) }

// commit commits the tree on the task's branch. The repository's hooks are not run, and nothing
// is signed: what is committed is what was looked at, and no program of the repository has a say.
func (p *Plugin) commit(ctx context.Context, g *git.Git, r *record) (*pluginsdk.OnTaskValidatedResponse, error) {
	at := r.worktree(g)
	if err := at.Identity(ctx); err != nil {
		return waits(markIdentity, "%s has nobody in whose name commits are made: git config user.name and git config user.email (%s). Then approve it", r.Checkout, err), nil
	}
	has, err := at.Object(ctx, r.Head+"^{tree}")
	if err != nil || has == r.Tree {
		return nil, err
	}
	if exists(filepath.Join(r.GitDir, "index.lock")) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is there: git is at work in the worktree, or has died there. If it has, remove the file", filepath.Join(r.GitDir, "index.lock"))
	}
	if err := p.enters(ctx, r, committing); err != nil {
		return nil, err
	}
	if err := at.Run(ctx, "read-tree", "--reset", "-i", r.Tree); err != nil {
		return nil, err
	}
	p.Config.Fault("commit", r.Task)
	_, err = at.Do(ctx, git.Call{Args: []string{"commit", "--quiet", "--cleanup=whitespace", "-F", "-"}, Stdin: r.message()})
	if ctx.Err() != nil {
		return nil, err
	}
	p.Config.Fault("committed", r.Task)
	var failed *git.Error
	if errors.As(err, &failed) && failed.Code >= 0 { // it was not killed
		return waits(markCommit, "git commit has failed in %s: %s\nPut it right there, commit it (git commit) and approve it, which has it evaluated again; or reject it with what the worker is to do", r.Path, strings.TrimSpace(failed.Output)), p.enters(ctx, r, ready)
	}
	if err != nil {
		return nil, err
	}
	made, err := at.Objects(ctx, "HEAD^{commit}", "HEAD^{tree}")
	if err != nil {
		return nil, err
	}
	if made[1] != r.Tree {
		return again("%s has changed while it was committed", r.Path), p.enters(ctx, r, ready)
	}
	r.Head = made[0]
	return nil, p.enters(ctx, r, ready)
}

// merge merges the branch's head into the target, or puts it on top of what the target has
// become.
func (p *Plugin) merge(ctx context.Context, g *git.Git, r *record) (*pluginsdk.OnTaskValidatedResponse, error) {
	at := r.worktree(g)
	if !exists(r.CheckoutGit) || !exists(r.Checkout) {
		return waits(markBranch, "%s is gone, into which it was to be merged; the work is the commit %s on %s", r.Checkout, r.Head, r.Branch), nil
	}
	if r.Above != "" {
		if _, err := p.snapshot(ctx, g, r.Above); err != nil {
			return nil, err
		}
	}
	objects, err := at.Objects(ctx, r.targetRef()+"^{commit}", r.Base+"^{tree}")
	if err != nil {
		return nil, err
	}
	target, base := objects[0], objects[1]
	if target == "" {
		return waits(markBranch, "the branch %s is gone, into which it was to be merged; the work is the commit %s on %s", r.Target, r.Head, r.Branch), nil
	}
	in, err := at.Holds(ctx, target, r.Head)
	if err != nil {
		return nil, err
	}
	if in || base == r.Tree { // somebody has merged it, or nothing was changed
		return p.finish(ctx, g, r)
	}
	if on, err := r.checkout(g).Text(ctx, "symbolic-ref", "--quiet", "HEAD"); on != r.targetRef() {
		if err != nil && git.CodeOf(err) != 1 {
			return nil, err
		}
		return waits(markBranch, "%s is not on the branch %s, into which it is to be merged: git switch %s there, and approve it", r.Checkout, r.Target, r.Target), nil
	}
	if target != r.Base {
		return p.rebase(ctx, g, r, target)
	}
	words, parents := fmt.Sprintf("Merge %s: %s", r.Branch, r.message()), []string{target, r.Head}
	if r.Above != "" { // the branch above, which is merged itself, gets one commit for each task below
		words, parents = r.message(), parents[:1]
	}
	if r.Merge, err = p.commitTree(ctx, at, r.Tree, words, parents...); err != nil {
		return nil, err
	}
	if err := p.enters(ctx, r, merging); err != nil {
		return nil, err
	}
	answer, err := p.land(ctx, g, r)
	if err != nil {
		return nil, err
	}
	if answer != nil {
		r.Merge = ""
		return answer, p.enters(ctx, r, ready)
	}
	return p.finish(ctx, g, r)
}

// rebase puts the work on top of what the target has become, to be evaluated there. What
// conflicts stays as it is.
func (p *Plugin) rebase(ctx context.Context, g *git.Git, r *record, target string) (*pluginsdk.OnTaskValidatedResponse, error) {
	at := r.worktree(g)
	merged, err := at.MergeTree(ctx, target, r.Head)
	if err != nil {
		return nil, err
	}
	if len(merged.Conflicts) > 0 {
		return waits(markConflict, "%s has changed since the task began, in what it changes too: %s\n%s\nMerge it by hand (cd %s && git merge %s, put it right, git commit) and approve it, which has it evaluated again; or reject or cancel it. Both sides are as they were",
			r.Target, some(quoted(merged.Conflicts)), merged.Words, r.Path, r.Target), nil
	}
	if has, err := at.Object(ctx, target+"^{tree}"); err != nil {
		return nil, err
	} else if has == merged.Tree { // the target has it all
		return p.finish(ctx, g, r)
	}
	if r.Next, err = p.commitTree(ctx, at, merged.Tree, r.message(), target); err != nil {
		return nil, err
	}
	if err := p.keepLeftovers(ctx, g, r); err != nil {
		return nil, err
	}
	r.NextBase = target
	if err := p.enters(ctx, r, rebasing); err != nil {
		return nil, err
	}
	if err := p.rebased(ctx, g, r); err != nil {
		return nil, err
	}
	p.gate.take(r.gateKey(), r.Task)
	return again("%s has changed since the task began; the work is on top of it now", r.Target), nil
}

// rebased has branch and worktree be what was decided, whatever of it is done.
func (p *Plugin) rebased(ctx context.Context, g *git.Git, r *record) error {
	head, err := r.repository(g).Object(ctx, r.branchRef()+"^{commit}")
	if err != nil {
		return err
	}
	on, err := r.onItsBranch(ctx, g)
	if err != nil {
		return err
	}
	if !on { // what somebody has switched to here is not the task's to move
		if head == r.Next {
			r.Base, r.Head, r.Tree, r.Moved = r.NextBase, r.Next, "", true
		}
		r.Next, r.NextBase = "", ""
		return errors.Join(pluginsdk.Errorf(pluginsdk.CodeStale, "%s is gone, or not on its branch any more, which is put on top of %s: git switch %s there", r.Path, r.Target, r.Branch),
			p.enters(ctx, r, ready))
	}
	at := r.worktree(g)
	_ = os.Remove(filepath.Join(r.GitDir, "index.lock")) // of a git that has died: the task's agent works no more
	if head != r.Next {
		// Commits that were made since are not lost: with them it is not the head that it was.
		if err := at.Run(ctx, "update-ref", "-m", "harness: on top of "+r.Target, r.branchRef(), r.Next, r.Head); err != nil {
			r.Next, r.NextBase = "", ""
			return errors.Join(err, p.enters(ctx, r, ready))
		}
	}
	p.Config.Fault("moved", r.Task)
	if err := at.Run(ctx, "reset", "--quiet", "--hard", r.Next); err != nil {
		return err
	}
	p.Config.Fault("reset", r.Task)
	// What checks have left behind is no part of what is evaluated next.
	clean := []string{"clean", "--quiet", "-d", "--force", "--", ":/"}
	for _, path := range r.Left {
		clean = append(clean, ":(top,exclude,literal)"+strings.TrimSuffix(path, "/"))
	}
	if err := at.Run(ctx, clean...); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.Path, filepath.FromSlash(r.Prefix)), 0o755); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the directory to work in: %w", err)
	}
	r.Base, r.Head, r.Next, r.NextBase = r.NextBase, r.Next, "", ""
	r.Tree, r.Moved = "", true
	return p.enters(ctx, r, ready)
}

// recover ends what somebody has begun who has died. Afterwards the record is ready, or is
// about to be removed, or has a Merge that is in the target.
func (p *Plugin) recover(ctx context.Context, g *git.Git, r *record) error {
	switch r.Phase {
	case committing:
		at := r.repository(g)
		_ = os.Remove(filepath.Join(r.GitDir, "index.lock")) // no other git is at work here: see commit
		head, err := at.Object(ctx, r.branchRef()+"^{commit}")
		if err != nil {
			return err
		}
		of, err := at.Objects(ctx, head+"^", head+"^{tree}")
		if err != nil {
			return err
		}
		if of[0] == r.Head && of[1] == r.Tree {
			r.Head = head
		}
		return p.enters(ctx, r, ready)
	case rebasing:
		return p.rebased(ctx, g, r)
	case merging:
		landed, err := p.landed(ctx, g, r)
		if err != nil || landed {
			return err
		}
		r.Merge = ""
		return p.enters(ctx, r, ready)
	case adding, settingUp:
		return pluginsdk.Errorf(pluginsdk.CodeStale, "the worktree of task %s was not made: OnTaskCreate has not come to its end", r.Task)
	case ready, removing:
	}
	return nil
}
