package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
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
	lost       string // why nobody knows what the work began with, in words for a person; empty: it is known
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

// clear removes a desk. What a task of it begins with is recorded anew then.
func (f *flow) clear(ctx context.Context, key string) {
	_, err := f.change(ctx, func(r *record) error { delete(r.Bases, key); return nil })
	dir := ""
	if err == nil {
		dir, err = f.desk(ctx, key)
	}
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
		if b.base, b.lost, err = f.begunWith(ctx, key, b.store); err == nil {
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

// setAside is the name of a state file that could not be read.
var setAside = lazy.Regexp(`^pipeline-state\.json\.bad-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?$`)

// ours reports whether a path is that of one of the plugin's own files in .brain, or of one that it is writing.
// What merely begins with the name of one, or lies below such a name, is not.
func ours(path string) bool {
	name, ok := strings.CutPrefix(path, brainDir)
	return ok && (slices.Contains([]string{".gitignore", "REVIEW.md", "pipeline-state.json", "workflow.lock"}, strings.TrimSuffix(name, ".new")) || setAside.MatchString(name))
}

// base is what a task in a directory without git has begun with. Its name is in the record, so that nobody
// who can write to the directory of temporary files can have it be something else.
type base struct {
	Tree string `json:"tree"`
	In   string `json:"in"` // the store on its desk
}

// begunWith is the tree that a task in a directory without git has begun with, brought into a store.
// lost says in words why it is not there any more; then all that there is counts as changed.
func (f *flow) begunWith(ctx context.Context, key string, store *objects.Store) (tree, lost string, err error) {
	rec, err := f.read(ctx)
	if err != nil {
		return "", "", err
	}
	top, err := f.desk(ctx, key)
	if err != nil {
		return "", "", err
	}
	begun, there := rec.Bases[key]
	cause := "it was not recorded"
	if there {
		trees, err := store.Add(ctx, filepath.Join(top, begun.In), begun.Tree)
		if err == nil || ctx.Err() != nil {
			return slices.Concat(trees, []string{""})[0], "", err
		}
		cause = err.Error()
	}
	tree, err = store.Empty(ctx)
	return tree, "what this work began with is gone, or was changed, so that nobody can tell what is new (" + cause + "). " +
		"Look at the directory yourself; then accept the work as it is, or abandon the workflow and start it again", err
}

// recordBase records what a task in a directory without git begins with, once.
func (f *flow) recordBase(ctx context.Context, key string, task pluginsdk.Task) error {
	if task.CwdPlugin != "" {
		return nil
	}
	rec, err := f.read(ctx)
	if _, there := rec.Bases[key]; there || err != nil {
		return err
	}
	top, err := f.desk(ctx, key)
	if err != nil {
		return err
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
	return f.noteBase(ctx, key, base{recorded.Tree, filepath.Base(at)})
}

func (f *flow) noteBase(ctx context.Context, key string, begun base) error {
	_, err := f.change(ctx, func(r *record) error {
		if r.Bases == nil {
			r.Bases = make(map[string]base)
		}
		r.Bases[key] = begun
		return nil
	})
	return err
}

var errTooLong = errors.New("the file is too long")

// acceptBrain has the bases of the stages that are still to be done have what an accepted stage has written to
// .brain: in a directory without git that lies there now, and is no work of theirs.
func (f *flow) acceptBrain(ctx context.Context, rec record, stage int, accepted pluginsdk.Task) error {
	if accepted.CwdPlugin != "" {
		return nil
	}
	for i, s := range rec.Stages {
		if _, begun := rec.Bases[deskOf(i)]; !begun || i == stage || s.Status == stages.Completed {
			continue
		}
		if err := f.withBrain(ctx, deskOf(i), accepted.Cwd); err != nil {
			return err
		}
	}
	return nil
}

// withBrain writes a base down anew, with the directory .brain as it is now.
func (f *flow) withBrain(ctx context.Context, key, dir string) error {
	top, err := f.desk(ctx, key)
	if err != nil {
		return err
	}
	at := filepath.Join(top, fmt.Sprintf("base-%d.git", time.Now().UnixNano()))
	store, recorded, err := objects.Record(ctx, at, dir, bounds)
	if err != nil || recorded.Tree == "" { // the gate says what is wrong with it
		return err
	}
	was, lost, err := f.begunWith(ctx, key, store)
	if lost != "" || err != nil { // the gate says so
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
	return f.noteBase(ctx, key, base{tree, filepath.Base(at)})
}

// changedMeanwhile are the files of a directory without git that are not as they were when the work was
// recorded. In a worktree the work is a tree that does not change.
func (g *gate) changedMeanwhile(ctx context.Context) ([]string, error) {
	task := g.request.Task
	if task.CwdPlugin != "" {
		return nil, nil
	}
	at := filepath.Join(g.work.dir, "after.git")
	if err := scratch.RemoveAll(at); err != nil {
		return nil, err
	}
	store, recorded, err := objects.Record(ctx, at, task.Cwd, bounds)
	if err != nil {
		return nil, err
	}
	if recorded.Tree == "" {
		return []string{cmp.Or(recorded.Over, recorded.Fault)}, nil
	}
	tree, err := theirs(ctx, store, recorded.Tree)
	if err != nil || tree == g.work.tree {
		return nil, err
	}
	if _, err := store.Add(ctx, g.work.store.Dir, g.work.tree); err != nil {
		return nil, err
	}
	change, _, err := store.Change(ctx, g.work.tree, tree, 0)
	return change.Paths, err
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
