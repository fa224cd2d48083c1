package validation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/plugins/internal/scratch"
	"github.com/seed-706843ae/harness/plugins/validation/internal/review"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A task's tree is looked at in checkouts of its own, below a directory that is the task's: the
// checks run in one that goes when they are over, and the reviewer reads in another, which is
// made after that, from the objects again. What a crash leaves of them goes when the task is
// evaluated again, or is over.
const (
	forChecks  = "checks"
	forReview  = "review"
	storeName  = "objects.git"
	filesName  = "files"
	markUnread = "unread" // it is too large for a review
)

// worksOf is the directory for the checkouts of a task.
func (p *Plugin) worksOf(ctx context.Context, task pluginsdk.Task) (string, error) {
	return p.works.Of(ctx, p.host.State, task.ID)
}

// changed copies the work's objects for the checks, and reports whether the work differs from
// its base. A work of which no base is known does.
func (r *round) changed(ctx context.Context, work *review.Work) (bool, error) {
	trees, err := r.copyObjects(ctx, *work, forChecks)
	if err != nil {
		return false, err
	}
	if len(trees) > 1 {
		work.BaseTree = trees[1]
	}
	if work.BaseTree == trees[0] {
		work.BaseTree = ""
		return false, r.clear(ctx, forChecks)
	}
	return true, nil
}

// copyObjects makes a new store of what the work is and of what it began with.
func (r *round) copyObjects(ctx context.Context, work review.Work, what string) (trees []string, err error) {
	if err := r.clear(ctx, what); err != nil {
		return nil, err
	}
	dir, err := r.worksOf(ctx, r.task)
	if err != nil {
		return nil, err
	}
	names := []string{work.Tree}
	if work.Base != "" {
		names = append(names, work.Base)
	}
	_, trees, err = objects.Copy(ctx, filepath.Join(dir, what, storeName), r.top(work), names...)
	return trees, err
}

// top is a directory of the repository that has the work's objects.
func (r *round) top(work review.Work) string {
	if r.own.store != nil {
		return r.own.store.Dir
	}
	if shown := r.evidence("tree").File; filepath.IsAbs(shown) {
		return shown
	}
	return work.Root
}

// clear removes a checkout of the task, with its store.
func (r *round) clear(ctx context.Context, what string) error {
	dir, err := r.worksOf(ctx, r.task)
	if err != nil {
		return err
	}
	return scratch.RemoveAll(filepath.Join(dir, what))
}

// layOut makes the checkout in which the reviewer reads, and finds out what the work changes.
// parts are those in which that is reviewed; none: it is reviewed whole. large: that is more than
// reviews read.
func (r *round) layOut(ctx context.Context, work *review.Work, paper *review.Paper) (parts []review.Part, large bool, err error) {
	trees, err := r.copyObjects(ctx, *work, forReview)
	if err != nil {
		return nil, false, err
	}
	dir, err := r.worksOf(ctx, r.task)
	if err != nil {
		return nil, false, err
	}
	s := &objects.Store{Dir: filepath.Join(dir, forReview, storeName)}
	if len(trees) > 1 {
		change, over, err := s.Change(ctx, trees[1], trees[0], r.config.ReviewParts*review.MaxDiff)
		if err != nil {
			return nil, false, err
		}
		paper.Paths, paper.Diff = strings.Join(change.Paths, "\n"), change.Diff
		fits := !over && paper.Fits()
		if !over && !fits {
			parts, fits = review.Parts(change.Diff, r.config.ReviewParts)
		}
		if !fits {
			return nil, true, r.clear(ctx, forReview)
		}
		work.BaseTree = trees[1]
	}
	files := filepath.Join(dir, forReview, filesName)
	if err := s.Checkout(ctx, work.Tree, files); err != nil {
		return nil, false, err
	}
	work.Root, work.Objects = files, s.Dir
	return parts, false, nil
}

// laidOut reports whether what a reviewer was asked about can still be read where it was.
func laidOut(work review.Work) bool {
	if work.Objects == "" {
		return true
	}
	_, err := os.Lstat(work.Root)
	return err == nil
}

// tooLarge leaves work to a person of which a reviewer would not see all.
func (r *round) tooLarge(work review.Work, paper review.Paper) *pluginsdk.OnTaskCompleteResponse {
	files := strings.Count(paper.Paths, "\n") + 1
	where := r.top(work)
	return &pluginsdk.OnTaskCompleteResponse{
		Verdict: pluginsdk.VerdictWait, Marks: []string{markUnread},
		Feedback: fmt.Sprintf("The checks pass. The change, of %d files, is larger than what is reviewed (%d parts of %d KiB), or has a piece that is larger than such a part, so that no reviewer was asked. "+
			"Look at it (git -C %s diff --text %s %s) and approve it; or reject it, and have it made in smaller steps", files, r.config.ReviewParts, review.MaxDiff>>10, where, work.Base, work.Tree),
		Evidence: slices.Insert(ran(work), 0, pluginsdk.Evidence{Kind: "unread", Tree: work.Tree, Output: paper.Paths}),
	}
}
