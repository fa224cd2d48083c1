package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Evidence that the plugin gives of a task's work.
const (
	kindTree  = "tree"     // Tree: what the work is; File: the top of the worktree
	kindBase  = "base"     // Tree: the commit that it is on top of; File: the checkout below which the worktree is, by which operators' settings name the repository
	kindPaths = "paths"    // Output: what it changes, a path a line
	kindDiff  = "diff"     // Diff: how it changes that
	kindSetup = "setup"    // Command: readies a checkout of it, in the directory File of that
	kindPatch = "patch-id" // Output: names the change, see git.Dir.PatchID; empty: there is none
)

// kindVerdict is evidence of a plugin that accepts: Tree is what it has looked at.
const kindVerdict = "verdict"

// mostDiff is how much of a diff is shown, in bytes. The core keeps 64 KiB.
const mostDiff = 60 << 10

// OnTaskComplete writes down what the work is, as a git tree, before anybody runs anything in
// the worktree. It has no opinion on it, unless it can be written by no means.
func (p *Plugin) OnTaskComplete(ctx context.Context, request *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	defer p.beats(ctx, "writes down what the work is")()
	g, r, err := p.open(ctx, request.Task.ID)
	if r == nil || err != nil {
		return nil, err
	}
	leave, err := p.enterRepository(ctx, r.Common)
	if err != nil {
		return nil, err
	}
	defer leave()
	if r, err = p.load(ctx, r.Task); r == nil || err != nil {
		return nil, err
	}
	if err := p.recover(ctx, g, r); err != nil {
		return nil, err
	}
	if r.Merge != "" { // it was merged: OnTaskValidated says so when it is asked again
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "task %s was merged as %s", r.Task, r.Merge)
	}
	fault, err := p.write(ctx, g, r)
	if err != nil {
		return nil, err
	}
	if fault != "" {
		return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictReject, Feedback: fault}, nil
	}
	if err := p.save(ctx, r); err != nil {
		return nil, err
	}
	evidence, err := p.evidence(ctx, g, r)
	return &pluginsdk.OnTaskCompleteResponse{Evidence: evidence}, err
}

// open loads a task's record with git to act on it; nil: the task has no worktree.
func (p *Plugin) open(ctx context.Context, taskID string) (*git.Git, *record, error) {
	r, err := p.load(ctx, taskID)
	if r == nil || err != nil {
		return nil, nil, err
	}
	g, err := p.program(ctx)
	return g, r, err
}

// write finds out what the work is on top of and writes its tree. fault is what the worker
// has to put right before that can be done.
func (p *Plugin) write(ctx context.Context, g *git.Git, r *record) (fault string, err error) {
	tree := r.worktree(g)
	if !r.there() {
		return "", pluginsdk.Errorf(pluginsdk.CodeStale, "the worktree %s is gone: somebody has removed or replaced it. The branch %s may be there still; cancel the task", r.Path, r.Branch)
	}
	if on, err := r.onItsBranch(ctx, g); err != nil || !on {
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s is not on its branch any more: git switch %s, with the work on it.", r.Path, r.Branch), nil
	}
	unmerged, err := tree.List(ctx, "ls-files", "-z", "--unmerged")
	if err != nil {
		return "", err
	}
	if under := underWay(r.GitDir); under != "" || len(unmerged) > 0 {
		return fmt.Sprintf("A merge or rebase is under way in %s (%s): finish it, or abort it.", r.Path, under), nil
	}
	objects, err := tree.Objects(ctx, "HEAD^{commit}", r.targetRef()+"^{commit}")
	if err != nil {
		return "", err
	}
	head, target := objects[0], objects[1]
	// A person may have merged the target into the branch, because the two conflicted.
	if target != "" && head != r.Head {
		common, err := tree.Text(ctx, "merge-base", target, head)
		newer := false
		if err == nil {
			newer, err = tree.Holds(ctx, common, r.Base)
		}
		if err != nil && git.CodeOf(err) != 1 { // 1: they have nothing in common
			return "", err
		}
		if newer {
			r.Base = common
		}
	}
	r.Head = head
	written, fault, err := p.writeTree(ctx, g, r, p.set.Load().MaxFileBytes)
	if fault != "" || err != nil {
		return fault, err
	}
	p.Config.Fault("written", r.Task)
	if err := tree.Run(ctx, "update-ref", r.treeRef(), written); err != nil {
		return "", err
	}
	if r.Patch, err = tree.PatchID(ctx, r.Base, written); err != nil {
		return "", err
	}
	r.Tree, r.Moved = written, false
	return "", nil
}

// writeTree writes what is in the worktree, but for what git ignores and what the set-up
// command has left behind, with an index of its own. most bounds the size of a file; 0: it is
// only to be kept, and none is too large.
func (p *Plugin) writeTree(ctx context.Context, g *git.Git, r *record, most int64) (written, fault string, err error) {
	index := r.ownIndex()
	if !exists(index) {
		if err := copyIndex(filepath.Join(r.GitDir, "index"), index); err != nil {
			return "", "", err
		}
	}
	_ = os.Remove(index + ".lock") // nobody else knows this index: who has locked it is dead
	at := r.worktree(g).With(index)
	// What is committed on the branch is known to git, whether it is ignored or not.
	if err := at.Run(ctx, "read-tree", "-m", "-i", "HEAD"); err != nil {
		return "", "", err
	}
	changed, err := at.List(ctx, "ls-files", "-z", "--others", "--modified", "--exclude-standard", "--deduplicate")
	if err != nil {
		return "", "", err
	}
	var embedded, large []string
	for _, path := range changed {
		if left(r, path) {
			continue
		}
		if strings.HasSuffix(path, "/") {
			embedded = append(embedded, path)
		} else if info, err := os.Lstat(filepath.Join(r.Path, filepath.FromSlash(path))); err == nil && most > 0 && info.Size() > most {
			large = append(large, fmt.Sprintf("%q (%d MB)", path, info.Size()>>20))
		}
	}
	switch {
	case len(embedded) > 0:
		return "", fmt.Sprintf("There are git repositories inside the worktree, whose files would not be part of the work: %s. Remove the .git in them, or have .gitignore name them.", some(quoted(embedded))), nil
	case len(large) > 0:
		return "", fmt.Sprintf("Files are larger than the %d MB that may be merged (setting maxFileBytes): %s. Remove them, or have .gitignore name them.", most>>20, some(large)), nil
	}
	apart, err := p.apart(ctx, r.worktree(g), at, changed)
	if err != nil {
		return "", "", err
	}
	add := ":/\x00"
	for _, path := range slices.Concat(r.Left, apart) {
		add += ":(top,exclude,literal)" + strings.TrimSuffix(path, "/") + "\x00"
	}
	if _, err := at.Do(ctx, git.Call{Args: []string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}, Stdin: add}); err != nil {
		if fault := cannotAdd(err); fault != "" {
			return "", fault, nil
		}
		return "", "", err
	}
	p.Config.Fault("indexed", r.Task)
	if written, err = at.Text(ctx, "write-tree"); err != nil {
		return "", "", err
	}
	fault, err = p.unmergeable(ctx, at, r.Base, written, most > 0)
	return written, fault, err
}

// apart are the paths that stay as the branch has them: git repositories, in which git would
// look for changes with their own settings; and files that a filter of the repository has
// written, as the worktree's index knows, such as those that git-lfs has pulled there.
func (p *Plugin) apart(ctx context.Context, worktree, at git.Dir, changed []string) (apart []string, err error) {
	staged, err := at.List(ctx, "ls-files", "-z", "--stage")
	if err != nil {
		return nil, err
	}
	for _, entry := range staged {
		if of, path, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(of, "160000 ") {
			apart = append(apart, path)
		}
	}
	filtered, err := at.Filtered(ctx, changed)
	if err != nil || len(filtered) == 0 {
		return apart, err
	}
	touched, err := worktree.List(ctx, "ls-files", "-z", "--others", "--modified", "--deduplicate")
	for _, path := range filtered {
		if !slices.Contains(touched, path) {
			apart = append(apart, path)
		}
	}
	return apart, err
}

// unmergeable says in words for the worker what of a change cannot be merged; "": all can. What
// a filter keeps matters only to work that is to be merged.
func (p *Plugin) unmergeable(ctx context.Context, at git.Dir, base, written string, toMerge bool) (fault string, err error) {
	changes, err := at.Changes(ctx, base, written)
	if err != nil {
		return "", err
	}
	var embedded, paths []string
	for _, change := range changes {
		switch {
		case change.Status != 'D' && change.Mode == "160000":
			embedded = append(embedded, change.Path)
		case change.Status != 'D' && toMerge:
			paths = append(paths, change.Path)
		}
	}
	if len(embedded) > 0 {
		return fmt.Sprintf("The work has git repositories in it, whose files would not be merged: %s. Remove them, or have .gitignore name them.", some(quoted(embedded))), nil
	}
	filtered, err := at.Filtered(ctx, paths)
	if len(filtered) > 0 {
		fault = fmt.Sprintf("Files are kept by a filter of the repository (git-lfs, git-crypt or the like), which is not run on a task's work, so that they would be merged as they must not be: %s. "+
			"Have them be as they were (git restore --source=%s), and say what a person has to change in them.", some(quoted(filtered)), base)
	}
	return fault, err
}

// notAdded are the words with which git refuses a path that it cannot take in, such as
// .GIT/config, or a file that nobody may read.
var notAdded = lazy.Regexp(`(?m)^error: (?:invalid path '(.+)'|open\("(.+)"\): Permission denied)$`)

// cannotAdd says in words for the worker which paths git add has refused; "": the error is
// another one.
func cannotAdd(err error) string {
	var failed *git.Error
	if !errors.As(err, &failed) {
		return ""
	}
	var paths []string
	for _, match := range notAdded.FindAllStringSubmatch(failed.Output, -1) {
		paths = append(paths, match[1]+match[2])
	}
	if len(paths) == 0 {
		return ""
	}
	return fmt.Sprintf("Git cannot take these files in, because of their names or because they cannot be read: %s. Rename or remove them, or make them readable.", some(quoted(paths)))
}

// left reports whether a path is what the set-up command has left behind.
func left(r *record, path string) bool {
	for _, one := range r.Left {
		if path == one || strings.HasSuffix(one, "/") && strings.HasPrefix(path, one) {
			return true
		}
	}
	return false
}

func quoted(paths []string) (quoted []string) {
	for _, path := range paths {
		quoted = append(quoted, fmt.Sprintf("%q", path))
	}
	return quoted
}

// some is the beginning of a list, in words.
func some(words []string) string {
	const most = 10
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}

// evidence is what others are shown of the tree that was written.
func (p *Plugin) evidence(ctx context.Context, g *git.Git, r *record) ([]pluginsdk.Evidence, error) {
	at := r.worktree(g)
	changes, err := at.Changes(ctx, r.Base, r.Tree)
	if err != nil {
		return nil, err
	}
	var paths strings.Builder
	for i, change := range changes {
		path := change.Path
		if strings.ContainsAny(path, "\n\r\"") {
			path = fmt.Sprintf("%q", path)
		}
		if paths.Len()+len(path) > mostDiff {
			fmt.Fprintf(&paths, "[%d more]\n", len(changes)-i)
			break
		}
		paths.WriteString(path + "\n")
	}
	head := &beginning{}
	command := []string{"diff-tree", "-r", "-p", "--text", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--end-of-options", r.Base, r.Tree}
	if _, err := at.Do(ctx, git.Call{Args: command, Stdout: head}); err != nil {
		return nil, err
	}
	diff := strings.ToValidUTF8(head.data.String(), "�")
	if head.cut {
		diff += fmt.Sprintf("\n[cut: git diff %s %s has the whole]\n", r.Base, r.Tree)
	}
	evidence := []pluginsdk.Evidence{
		{Kind: kindTree, Tree: r.Tree, Command: "git write-tree", File: r.Path},
		{Kind: kindBase, Tree: r.Base, File: r.Root},
		{Kind: kindPaths, Output: paths.String()},
		{Kind: kindDiff, Diff: diff},
		{Kind: kindPatch, Output: r.Patch},
	}
	if command, dir := p.setupCommand(r); command != "" {
		inside, err := filepath.Rel(r.Path, dir)
		if err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "the set-up command: %w", err)
		}
		evidence = append(evidence, pluginsdk.Evidence{Kind: kindSetup, Command: command, File: inside})
	}
	return evidence, nil
}

// beginning is a writer that keeps what comes first.
type beginning struct {
	data bytes.Buffer
	cut  bool
}

func (b *beginning) Write(data []byte) (int, error) {
	room := mostDiff - b.data.Len()
	b.cut = b.cut || len(data) > room
	b.data.Write(data[:min(len(data), room)])
	return len(data), nil
}

// snapshot commits on the branch of a task that is at work what its worker has not committed,
// and returns the branch's head. It is called in the lane.
func (p *Plugin) snapshot(ctx context.Context, g *git.Git, taskID string) (string, error) {
	r, err := p.load(ctx, taskID)
	if err != nil {
		return "", err
	}
	if r == nil || !r.there() {
		return "", pluginsdk.Errorf(pluginsdk.CodeStale, "the worktree of task %s is gone", taskID)
	}
	tree, fault, err := p.writeTree(ctx, g, r, p.set.Load().MaxFileBytes)
	if err == nil && fault != "" {
		err = refused("the worktree of task %s cannot be written down for the tasks below it: %s", taskID, fault)
	}
	if err != nil {
		return "", err
	}
	at := r.worktree(g)
	head, err := at.Object(ctx, r.branchRef()+"^{commit}")
	if err != nil {
		return "", err
	}
	if was, err := at.Object(ctx, head+"^{tree}"); err != nil || was == tree {
		return head, err
	}
	commit, err := p.commitTree(ctx, at, tree, "What task "+taskID+" has done so far\n\n"+trailer(taskID), head)
	if err != nil {
		return "", err
	}
	// The worker's index is made to fit the commit before there is one: who is cut off here
	// has staged what the worker has done, and nothing else.
	if err := at.Run(ctx, "read-tree", "-m", "-i", tree); err != nil {
		return "", err
	}
	p.Config.Fault("snapshot", taskID)
	return commit, at.Run(ctx, "update-ref", "-m", "harness: what was done so far", r.branchRef(), commit, head)
}
