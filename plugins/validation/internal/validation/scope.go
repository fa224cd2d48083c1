package validation

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/validation/internal/review"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// labelScope is the label with which a plugin says how much of its task this plugin judges. It
// counts on tasks that were made by a plugin of the setting makers, whoever has set it; on any
// other task it has no effect.
const labelScope = "validation.scope"

// scope is how much of a task's work is judged.
type scope string

const (
	scopeAll    scope = ""       // checks, then a reviewer
	scopeChecks scope = "checks" // checks: work that passes them is shown, and not accepted
	scopeNone   scope = "none"   // nothing
)

// scopeOf is the scope of a task with these labels. A value that is no scope is scopeAll.
func (c *config) scopeOf(task pluginsdk.Task, labels map[string]string) scope {
	said := scope(labels[labelScope])
	if task.Plugin == "" || !slices.Contains(c.Makers, task.Plugin) || said != scopeChecks && said != scopeNone {
		return scopeAll
	}
	return said
}

// The kinds of evidence of work that is only checked.
const (
	kindNoChecks   = "no-checks"   // Output: why no check was run
	kindChecksGone = "checks-gone" // Output: commands that the project was checked by when the task began, and is not any more
)

// passes is the answer to work that passes its checks in scopeChecks: it has no verdict, so that the
// work is accepted only by whoever else is asked. Checks that fail or cannot be run never come here.
func (r *round) passes(ctx context.Context, work review.Work, at place) (*pluginsdk.OnTaskCompleteResponse, error) {
	var gone []string
	why := "the project has no checks: none is found in its files, and none is set"
	switch {
	case work.Code:
		var rejected *pluginsdk.OnTaskCompleteResponse
		var err error
		if gone, rejected, err = r.check(ctx, &work, at); rejected != nil || err != nil {
			return rejected, err
		}
	case r.task.Cwd == "":
		why = "the task has no directory"
	case work.Tree != r.own.Tree:
		why = "the work changes nothing in the repository"
	default:
		gone = r.list(&work, at) // there are none: all that there were are gone
	}
	var first []pluginsdk.Evidence
	if len(work.Ran) == 0 {
		first = append(first, pluginsdk.Evidence{Kind: kindNoChecks, Output: why, Tree: work.Tree})
	}
	if len(gone) > 0 {
		first = append(first, pluginsdk.Evidence{Kind: kindChecksGone, Output: strings.Join(gone, "\n"), Tree: work.Tree})
	}
	return &pluginsdk.OnTaskCompleteResponse{Evidence: append(first, ran(work)...)}, nil
}
