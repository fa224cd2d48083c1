package validation

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
	"github.com/seed-706843ae/harness/plugins/validation/internal/review"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// forBase is the checkout of the work with the checks that it began with.
	forBase = "base-checks"
	// markChecks is on a task whose work changes what the checks are, and does not pass those that
	// it began with.
	markChecks = "checks-changed"
)

// The kinds of evidence of work that changes what the checks are.
const (
	kindCheckFiles = "check-files" // what it changes of them
	kindBaseCheck  = "base-check"  // a check that the work began with, run on the work
)

// checkFiles finds out in a store what a work changes of what the checks are: the edits of its tree
// that take that back, by their paths.
func (r *round) checkFiles(ctx context.Context, s *objects.Store, work review.Work, at place) (back []objects.Edit, err error) {
	if work.BaseTree == "" {
		return nil, nil
	}
	before, err := s.Entries(ctx, work.BaseTree)
	if err != nil {
		return nil, err
	}
	after, err := s.Entries(ctx, work.Tree)
	if err != nil {
		return nil, err
	}
	var commands []string
	for _, wanted := range r.config.wanted(at.repository) {
		commands = append(commands, wanted.Command)
	}
	blobs := func(ids []string) (map[string]string, error) { return s.Blobs(ctx, ids) }
	found := make(map[string]bool)
	// What is run in the end is searched as well: what the work has added wears no search out there.
	mixed := maps.Clone(after)
	for _, entries := range []map[string]objects.Entry{before, after, mixed} {
		files, err := checks.Tree{Entries: entries, Before: before, Blobs: blobs}.Files(commands)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, files)
		for file := range found {
			if e, ok := before[file]; ok {
				mixed[file] = e
			} else {
				delete(mixed, file)
			}
		}
	}
	inside, err := filepath.Rel(at.root, at.cwd)
	if err != nil {
		return nil, err
	}
	hidden, err := checks.Hidden(checks.Tree{Entries: before, Blobs: blobs}, checks.Tree{Entries: after, Blobs: blobs}, inside)
	if err != nil {
		return nil, err
	}
	for _, file := range hidden {
		back = append(back, objects.Edit{Path: file, Mode: before[file].Mode, ID: before[file].ID})
		delete(found, file)
	}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		if before[file] == after[file] {
			continue
		}
		edit, err := takeBack(ctx, s, file, before[file], after[file])
		if err != nil {
			return nil, err
		}
		if edit != nil {
			back = append(back, *edit)
		}
	}
	slices.SortFunc(back, func(a, b objects.Edit) int { return strings.Compare(a.Path, b.Path) })
	return back, nil
}

// takeBack is the edit that makes a file of the work say of the checks what it said before; nil: it
// does.
func takeBack(ctx context.Context, s *objects.Store, file string, before, after objects.Entry) (*objects.Edit, error) {
	whole := &objects.Edit{Path: file, Mode: before.Mode, ID: before.ID}
	special := func(e objects.Entry) bool {
		return e.Mode == objects.Link || e.Mode == objects.Submodule || e.Size > maxParted
	}
	if !checks.InParts(file) || special(before) || special(after) {
		return whole, nil
	}
	var ids []string
	for _, e := range []objects.Entry{before, after} {
		if e.ID != "" && !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
	}
	contents, err := s.Blobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	mixed, same := checks.Mixed(file, contents[before.ID], contents[after.ID])
	switch {
	case same:
		return nil, nil //nolint:nilnil // there is nothing to take back
	case mixed == "":
		return &objects.Edit{Path: file}, nil
	case after.Mode == "":
		return whole, nil
	}
	return &objects.Edit{Path: file, Mode: after.Mode, Content: mixed}, nil
}

// maxParted is how large a file may be that is taken apart, in bytes.
const maxParted = 32 << 20

// checkAsBefore runs the checks that the work began with on the work. Where there were none, nothing
// is run. What they come to rejects nothing and is no error: a person decides.
func (r *round) checkAsBefore(ctx context.Context, work *review.Work, at place, back []objects.Edit) (*pluginsdk.OnTaskCompleteResponse, error) {
	size := 0
	for n, edit := range back {
		if size += len(edit.Path) + 1; size > maxListed {
			work.CheckFiles = append(work.CheckFiles, fmt.Sprintf("and %d more files", len(back)-n))
			break
		}
		work.CheckFiles = append(work.CheckFiles, edit.Path)
	}
	if _, err := r.copyObjects(ctx, *work, forBase); err != nil {
		return nil, err
	}
	there, leave, err := r.checkout(ctx, *work, at, forBase, back)
	if err != nil {
		return nil, err
	}
	defer leave()
	found := r.find(there)
	if len(found) == 0 {
		return nil, nil //nolint:nilnil // the work brings the first checks
	}
	failed, err := r.runAsBefore(ctx, work, there, found)
	if err != nil {
		return nil, err
	}
	for n := range work.BaseRan {
		elsewhere(&work.BaseRan[n], there.root, at.root)
	}
	if failed == nil {
		return nil, nil //nolint:nilnil // all have passed
	}
	elsewhere(failed, there.root, at.root)
	return r.checksChanged(*work, *failed), nil
}

// elsewhere has an outcome name the places that the worker knows: where it was run is no more.
func elsewhere(o *checks.Outcome, from, to string) {
	o.Check.Dir, o.Output = strings.Replace(o.Check.Dir, from, to, 1), strings.ReplaceAll(o.Output, from, to)
	o.Unable = strings.ReplaceAll(o.Unable, from, to)
}

// runAsBefore runs checks after the set-up command, and returns the first that has not passed.
func (r *round) runAsBefore(ctx context.Context, work *review.Work, there place, found []checks.Check) (failed *checks.Outcome, err error) {
	if setup, ok := r.setUpCheck(there); ok {
		found = slices.Insert(found, 0, setup)
	}
	for n, check := range found {
		r.says("running %s as it was before the work (%d of %d)", check.Command, n+1, len(found))
		outcome := checks.Outcome{Check: check, ExitCode: -1}
		if missing := r.config.runner.Missing([]checks.Check{check}); len(missing) > 0 {
			outcome.Unable = "there is no program " + missing[0]
		} else if outcome, err = r.config.runner.Run(ctx, check); err != nil {
			return nil, err
		}
		work.BaseRan = append(work.BaseRan, outcome)
		if !outcome.Passed() && failed == nil {
			failed = &work.BaseRan[n]
		}
		if failed != nil && check.Kind == kindSetUp {
			break
		}
	}
	if failed != nil {
		failed = new(*failed)
	}
	return failed, nil
}

// checksChanged leaves work to a person that passes its own checks, and not those that it began with.
func (r *round) checksChanged(work review.Work, failed checks.Outcome) *pluginsdk.OnTaskCompleteResponse {
	how := told(failed)
	if failed.Unable != "" {
		how = fmt.Sprintf("`%s` (%s) could not be run: %s\n\n%s", failed.Check.Command, failed.Check.Kind, failed.Unable, failed.End(maxTold))
	}
	return &pluginsdk.OnTaskCompleteResponse{
		Verdict: pluginsdk.VerdictWait, Marks: []string{markChecks},
		Feedback: fmt.Sprintf("The work changes what its checks are, in %s. It passes its own checks, and not those that it began with; no reviewer was asked. "+
			"Look at what it changes (git -C %s diff --text %s %s) and approve it, if the checks are right as they are now; or reject it, and say what has to stay.\n\n"+
			"Of the checks as they were before the work, %s", names(work.CheckFiles), r.top(work), work.Base, work.Tree, strings.TrimSpace(how)),
		Evidence: ran(work),
	}
}

// maxListed is how many bytes of the names of files the reviewer is told, and maxNamed is how many files a sentence names.
const (
	maxListed = 24 << 10
	maxNamed  = 10
)

func names(files []string) string {
	quoted := make([]string, 0, maxNamed)
	for _, file := range files[:min(len(files), maxNamed)] {
		quoted = append(quoted, fmt.Sprintf("%.200q", file))
	}
	list := strings.Join(quoted, ", ")
	if more := len(files) - maxNamed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// ranBefore is the evidence of work that changes what the checks are.
func ranBefore(work review.Work) (evidence []pluginsdk.Evidence) {
	if len(work.CheckFiles) == 0 {
		return nil
	}
	evidence = append(evidence, pluginsdk.Evidence{Kind: kindCheckFiles, Output: strings.Join(work.CheckFiles, "\n"), Tree: work.Tree})
	for _, o := range work.BaseRan {
		e := pluginsdk.Evidence{Kind: kindBaseCheck, Command: o.Check.Command, ExitCode: o.ExitCode, Output: fmt.Sprintf("exit code %d\n%s", o.ExitCode, o.Output), Tree: work.Tree}
		if o.Unable != "" {
			e.Output = "could not be run: " + o.Unable
		}
		evidence = append(evidence, e)
	}
	return evidence
}

// checkout makes a checkout of a work's objects, which were copied for that, with edits, as a git
// repository of its own. It returns where the work is there.
func (r *round) checkout(ctx context.Context, work review.Work, at place, what string, edits []objects.Edit) (there place, leave func(), err error) {
	dir, err := r.worksOf(ctx, r.task)
	if err != nil {
		return at, nil, err
	}
	inside, err := filepath.Rel(at.root, at.cwd)
	if err != nil {
		return at, nil, err
	}
	s := &objects.Store{Dir: filepath.Join(dir, what, storeName)}
	tree := work.Tree
	if len(edits) > 0 {
		if tree, err = s.With(ctx, tree, edits); err != nil {
			return at, nil, err
		}
	}
	top := filepath.Join(dir, what, filesName)
	if err := s.Checkout(ctx, tree, top); err != nil {
		return at, nil, err
	}
	if err := s.Repository(ctx, work.BaseTree, tree, top); err != nil {
		return at, nil, err
	}
	there = at
	there.root, there.cwd = top, filepath.Join(top, inside)
	return there, func() {
		if err := r.clear(context.WithoutCancel(ctx), what); err != nil {
			r.log.Warn("a checkout in which checks were run stays", "task", r.task.ID, "err", err)
		}
	}, nil
}
