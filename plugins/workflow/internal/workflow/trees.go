package workflow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/plugins/internal/scratch"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// worktree is the plugin whose evidence says what the work of a task in a worktree is, and validation
// the one that runs a project's checks.
const (
	worktreePlugin   = "worktree"
	validationPlugin = "validation"
)

// bounds are how much of a directory without git is recorded.
var bounds = objects.Bounds{Bytes: 256 << 20, Files: 20_000}

// built is what a task has made: the tree that its work is, and the one that it began with, in a
// store of their own.
type built struct {
	store      *objects.Store
	dir        string // for checkouts; the store is in it
	base, tree string // names of trees
	paths      []string
	fault      string // why there is no tree, in words for the worker
}

// evidenceOf is the first piece of a kind that a plugin has given.
func evidenceOf(evidence []pluginsdk.Evidence, plugin, kind string) pluginsdk.Evidence {
	i := slices.IndexFunc(evidence, func(e pluginsdk.Evidence) bool { return e.Plugin == plugin && e.Kind == kind })
	if i < 0 {
		return pluginsdk.Evidence{}
	}
	return evidence[i]
}

// desk is the directory for what is made of a stage, or of the whole workflow, to be looked at.
func (f *flow) desk(ctx context.Context, key string) (string, error) {
	dir, err := f.works.Of(ctx, f.host.State, f.id)
	return filepath.Join(dir, key), err
}

// deskOf is the key of a stage's desk. All attempts of a stage have the same one: in a directory
// without git the first has written down what it began with.
func deskOf(i int) string { return "stage-" + strconv.Itoa(i) }

const deskOfRoot = "root"

// clear removes a desk.
func (f *flow) clear(ctx context.Context, key string) {
	dir, err := f.desk(ctx, key)
	if err == nil {
		err = scratch.RemoveAll(dir)
	}
	if err != nil {
		f.log.Warn("a checkout of a workflow could not be removed", "workflow", f.id, "err", err)
	}
}

// built finds out what a task has made. Work in a worktree is the tree that the plugin worktree has
// written down in this round; other work is what lies in the directory now.
func (f *flow) built(ctx context.Context, key string, request *pluginsdk.OnTaskCompleteRequest) (b built, err error) {
	task := request.Task
	top, err := f.desk(ctx, key)
	if err != nil {
		return b, err
	}
	b.dir = filepath.Join(top, "now")
	if err := scratch.RemoveAll(b.dir); err != nil {
		return b, err
	}
	at := filepath.Join(b.dir, "objects.git")
	if task.CwdPlugin != "" {
		tree := evidenceOf(request.Evidence, worktreePlugin, "tree")
		base := evidenceOf(request.Evidence, worktreePlugin, "base")
		if task.CwdPlugin != worktreePlugin || tree.Tree == "" || base.Tree == "" {
			return b, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s has not shown what the work is: it has to answer before the plugin workflow (harness plugin order)", task.CwdPlugin)
		}
		var trees []string
		if b.store, trees, err = objects.Copy(ctx, at, tree.File, tree.Tree, base.Tree); err != nil {
			return b, err
		}
		b.tree, b.base = trees[0], trees[1]
	} else {
		var recorded objects.Recorded
		if b.store, recorded, err = objects.Record(ctx, at, task.Cwd, bounds); err != nil {
			return b, err
		}
		switch {
		case recorded.Over != "":
			b.fault = task.Cwd + " has " + recorded.Over + ", which is more than is looked at. Remove what can be made again, such as installed packages."
			return b, nil
		case recorded.Fault != "":
			b.fault = "Not all in the directory can be read: " + recorded.Fault + ". Make it readable, or remove it."
			return b, nil
		}
		if b.base, err = f.begunWith(ctx, top, b.store); err == nil {
			b.base, err = theirs(ctx, b.store, b.base)
		}
		if err == nil {
			b.tree, err = theirs(ctx, b.store, recorded.Tree)
		}
		if err != nil {
			return b, err
		}
	}
	change, _, err := b.store.Change(ctx, b.base, b.tree, 0)
	b.paths = slices.DeleteFunc(change.Paths, func(path string) bool { return path == "" })
	return b, err
}

// theirs is a tree of a project's directory without the plugin's own files, which change all the time and
// are no part of the work.
func theirs(ctx context.Context, store *objects.Store, tree string) (string, error) {
	return without(ctx, store, tree, ours)
}

// ground is the tree that the work is on top of, without .brain: scouts and architects write there, and
// builders do not.
func (b built) ground(ctx context.Context) (string, error) {
	return without(ctx, b.store, b.base, inBrain)
}

// inBrain reports whether a path is below .brain.
func inBrain(path string) bool { return strings.HasPrefix(path, brainDir) }

// without is a tree without some of its files.
func without(ctx context.Context, store *objects.Store, tree string, which func(path string) bool) (string, error) {
	entries, err := store.Entries(ctx, tree)
	if err != nil {
		return "", err
	}
	var edits []objects.Edit
	for path := range entries {
		if which(path) {
			edits = append(edits, objects.Edit{Path: path})
		}
	}
	if len(edits) == 0 {
		return tree, nil
	}
	return store.With(ctx, tree, edits)
}

// ours reports whether a file of .brain is the plugin's own.
func ours(path string) bool {
	name, ok := strings.CutPrefix(path, ".brain/")
	return ok && (name == ".gitignore" || name == "REVIEW.md" || name == "workflow.lock" || strings.HasPrefix(name, "pipeline-state.json"))
}

// begunWith is the tree that a task in a directory without git has begun with, brought into a store.
func (f *flow) begunWith(ctx context.Context, top string, store *objects.Store) (string, error) {
	base, err := os.ReadFile(filepath.Join(top, "base"))
	if os.IsNotExist(err) { // the system has tidied its temporary directory: all there is counts as changed
		return store.Empty(ctx)
	}
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "read what the work began with: %w", err)
	}
	name, in, ok := strings.Cut(string(base), " ")
	if !ok {
		in = "base.git"
	}
	trees, err := store.Add(ctx, filepath.Join(top, in), name)
	if err != nil {
		return "", err
	}
	return trees[0], nil
}

// recordBase records what a task in a directory without git begins with, once.
func (f *flow) recordBase(ctx context.Context, key string, task pluginsdk.Task) error {
	if task.CwdPlugin != "" {
		return nil
	}
	top, err := f.desk(ctx, key)
	if err != nil {
		return err
	}
	name := filepath.Join(top, "base")
	if _, err := os.Lstat(name); err == nil {
		return nil
	}
	at := filepath.Join(top, "base.git")
	if err := scratch.RemoveAll(at); err != nil {
		return err
	}
	_, recorded, err := objects.Record(ctx, at, task.Cwd, bounds)
	if err != nil {
		return err
	}
	if recorded.Tree == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s has %s%s, which is more than a workflow looks at", task.Cwd, recorded.Over, recorded.Fault)
	}
	if err := os.MkdirAll(top, 0o700); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "write down what the work begins with: %w", err)
	}
	if err := os.WriteFile(name, []byte(recorded.Tree), 0o600); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "write down what the work begins with: %w", err)
	}
	return nil
}

var errTooLong = errors.New("the file is too long")

// acceptBrain has the bases of the stages that are still to be done have what an accepted stage has written to
// .brain: in a directory without git that lies there now, and is no work of theirs.
func (f *flow) acceptBrain(ctx context.Context, rec record, stage int, accepted pluginsdk.Task) error {
	if accepted.CwdPlugin != "" {
		return nil
	}
	for i, s := range rec.Stages {
		top, err := f.desk(ctx, deskOf(i))
		if err != nil {
			return err
		}
		if i == stage || s.Status == stages.Completed {
			continue
		}
		if _, err := os.Lstat(filepath.Join(top, "base")); err != nil {
			continue // it has not begun
		}
		if err := f.withBrain(ctx, top, accepted.Cwd); err != nil {
			return err
		}
	}
	return nil
}

// withBrain writes a base down anew, with the directory .brain as it is now.
func (f *flow) withBrain(ctx context.Context, top, dir string) error {
	at := filepath.Join(top, fmt.Sprintf("base-%d.git", time.Now().UnixNano()))
	store, recorded, err := objects.Record(ctx, at, dir, bounds)
	if err != nil || recorded.Tree == "" { // the gate says what is wrong with it
		return err
	}
	was, err := f.begunWith(ctx, top, store)
	if err != nil {
		return err
	}
	before, err := store.Entries(ctx, was)
	if err != nil {
		return err
	}
	now, err := store.Entries(ctx, recorded.Tree)
	if err != nil {
		return err
	}
	var edits []objects.Edit
	for path := range before {
		if _, there := now[path]; !there && strings.HasPrefix(path, brainDir) {
			edits = append(edits, objects.Edit{Path: path})
		}
	}
	for path, entry := range now {
		if strings.HasPrefix(path, brainDir) {
			edits = append(edits, objects.Edit{Path: path, Mode: entry.Mode, ID: entry.ID})
		}
	}
	tree, err := store.With(ctx, was, edits)
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(top, "base.new"), []byte(tree+" "+filepath.Base(at)), 0o600)
	if err == nil {
		err = os.Rename(filepath.Join(top, "base.new"), filepath.Join(top, "base"))
	}
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "write down what the work begins with: %w", err)
	}
	return nil
}

// read returns a file of the work; false: there is none. One of more than most bytes is errTooLong.
func (b built) read(ctx context.Context, path string, most int64) (string, bool, error) {
	entries, err := b.store.Entries(ctx, b.tree)
	if err != nil {
		return "", false, err
	}
	entry, there := entries[path]
	if !there || entry.Mode == objects.Link || entry.Mode == objects.Submodule {
		return "", false, nil
	}
	if entry.Size > most {
		return "", true, errTooLong
	}
	blobs, err := b.store.Blobs(ctx, []string{entry.ID})
	return blobs[entry.ID], err == nil, err
}

// inCheckout reports whether a directory is in the checkout of a git repository: there is a .git in
// it or above. Of one that is in the workspace what lies above that is not looked at.
func inCheckout(dir, workspace string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = real
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir || dir == workspace {
			return false
		}
		dir = above
	}
}
