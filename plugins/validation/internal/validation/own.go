package validation

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/plugins/validation/internal/review"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The files of a task that has a directory of its own are in no repository. They are recorded
// as a tree in a private one when the worker says that it is done; that tree is what checks and
// reviewer have checkouts of, and before the work is handed over the directory must be that
// tree yet.

// ownBounds are how much of such a directory is recorded.
var ownBounds = objects.Bounds{Bytes: 256 << 20, Files: 20_000}

const (
	forOwn      = "own"
	forHandover = "handover"
	mostShown   = 32 << 10 // bytes of the diff, and of the paths, that people are shown
)

// ownFiles reports whether a task works in a directory that the core has made for it, and that no
// plugin has taken it out of.
func ownFiles(task pluginsdk.Task) bool {
	return task.OwnDirectory && task.Cwd != "" && task.CwdPlugin == ""
}

// own is what the directory of a round's task was recorded as; the zero value: it has none of its
// own.
type own struct {
	objects.Recorded
	store *objects.Store
	base  string // the tree without files
	paths []string
}

// record records the directory of a task, below its checkouts.
func (r *round) record(ctx context.Context, what string) (*objects.Store, objects.Recorded, error) {
	if err := r.clear(ctx, what); err != nil {
		return nil, objects.Recorded{}, err
	}
	dir, err := r.worksOf(ctx, r.task)
	if err != nil {
		return nil, objects.Recorded{}, err
	}
	return objects.Record(ctx, filepath.Join(dir, what, storeName), filepath.Clean(r.task.Cwd), ownBounds)
}

// recordOwn records the directory of the task's own. An answer says why no reviewer can be shown
// it.
func (r *round) recordOwn(ctx context.Context, kept *record) (*pluginsdk.OnTaskCompleteResponse, error) {
	if !ownFiles(r.task) {
		return nil, nil //nolint:nilnil // there is nothing to record
	}
	var err error
	if r.own.store, r.own.Recorded, err = r.record(ctx, forOwn); err != nil {
		return nil, err
	}
	if kept.Own != r.own.Tree {
		kept.Own = r.own.Tree
		if err := r.save(ctx, r.task, *kept); err != nil {
			return nil, err
		}
	}
	switch {
	case r.own.Over != "":
		return r.unread("%s has %s, which is more than is kept of a task's own directory", r.task.Cwd, r.own.Over), r.clear(ctx, forOwn)
	case r.own.Fault != "":
		return reject("Not all that is in your directory can be looked at: " + r.own.Fault + ". Make it readable, or remove it."), r.clear(ctx, forOwn)
	}
	if r.own.base, err = r.own.store.Empty(ctx); err != nil {
		return nil, err
	}
	change, _, err := r.own.store.Change(ctx, r.own.base, r.own.Tree, 0)
	r.own.paths = change.Paths
	return nil, err
}

// unread leaves the files of a task to a person, because a reviewer would not see all.
func (r *round) unread(format string, args ...any) *pluginsdk.OnTaskCompleteResponse {
	return &pluginsdk.OnTaskCompleteResponse{
		Verdict: pluginsdk.VerdictWait, Marks: []string{markUnread},
		Feedback: fmt.Sprintf(format, args...) + ". No reviewer was asked. Look at it and approve it; or reject it, and say what is to be removed, such as packages that can be installed again",
	}
}

// layOutOwn makes the checkout in which the reviewer reads what the directory was recorded as, and
// names all that is in it. The answer says that its names are too many.
func (r *round) layOutOwn(ctx context.Context, work *review.Work, paper *review.Paper) (*pluginsdk.OnTaskCompleteResponse, error) {
	paper.Paths = strings.Join(r.own.paths, "\n")
	for _, path := range r.own.Apart {
		paper.Paths += fmt.Sprintf("\n%q (a git repository, a socket or the like: no part of the work, and not here)", path)
	}
	if !paper.Fits() {
		return r.unread("%s has %d files, whose names are more than one review reads", r.task.Cwd, len(r.own.paths)), nil
	}
	if _, err := r.copyObjects(ctx, *work, forReview); err != nil {
		return nil, err
	}
	dir, err := r.worksOf(ctx, r.task)
	if err != nil {
		return nil, err
	}
	s := &objects.Store{Dir: filepath.Join(dir, forReview, storeName)}
	work.Root, work.Objects = filepath.Join(dir, forReview, filesName), s.Dir
	return nil, s.Checkout(ctx, work.Tree, work.Root)
}

// shownOwn is the evidence of what the directory was recorded as.
func (r *round) shownOwn(ctx context.Context) (evidence []pluginsdk.Evidence, err error) {
	if r.own.Tree == "" {
		return nil, nil
	}
	diff, over, err := r.own.store.Diff(ctx, r.own.base, r.own.Tree, mostShown)
	if over {
		diff += fmt.Sprintf("\n[cut: the files are in %s]\n", r.task.Cwd)
	}
	paths := strings.Join(r.own.paths, "\n")
	if len(paths) > mostShown {
		paths = paths[:mostShown] + fmt.Sprintf("\n[%d in all]", len(r.own.paths))
	}
	return []pluginsdk.Evidence{
		{Kind: "tree", Tree: r.own.Tree, File: r.task.Cwd}, {Kind: "paths", Output: strings.ToValidUTF8(paths, "\uFFFD")}, {Kind: "diff", Diff: diff},
	}, err
}

// name is the plugin's.
const name = "validation"

// changedSince has a task evaluated again whose directory is not what was accepted: somebody has
// written into it since. What cannot be compared a person has to look at. nil: it is.
func (p *Plugin) changedSince(ctx context.Context, request *pluginsdk.OnTaskValidatedRequest) *pluginsdk.OnTaskValidatedResponse {
	if !ownFiles(request.Task) {
		return nil
	}
	r := &round{Plugin: p, task: request.Task}
	accepted, err := r.acceptedOwn(ctx, request.Evidence)
	if err == nil && accepted == "" {
		return nil // a person has accepted what could not be recorded
	}
	var recorded objects.Recorded
	if err == nil {
		_, recorded, err = r.record(ctx, forHandover)
	}
	switch {
	case err != nil:
		return &pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverWait, Reason: fmt.Sprintf(
			"whether %s is yet what was looked at cannot be found out: %v. Look at it and approve it, or reject it", r.task.Cwd, err)}
	case recorded.Tree != accepted:
		return &pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverAgain, Reason: fmt.Sprintf(
			"somebody has written into %s since it was looked at, such as a process that the work has left behind", r.task.Cwd)}
	}
	return nil
}

// acceptedOwn is the tree of this plugin's verdict; without one that which a person was shown.
func (r *round) acceptedOwn(ctx context.Context, evidence []pluginsdk.Evidence) (string, error) {
	for _, e := range evidence {
		if e.Plugin == name && e.Kind == kindVerdict {
			return e.Tree, nil
		}
	}
	kept, err := r.load(ctx, r.task)
	return kept.Own, err
}
