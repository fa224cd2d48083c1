package stages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
)

// Expand divides the building of a plan into batches: the first pending builder's stage and the first
// pending reviewer's stage after it become a builder and a reviewer for each scope, where the builder
// stood. All other stages stay in their order; those that stood between the two come after the last
// pair. Where nothing can be divided, the list stays as it is, and why says so in a sentence.
// A list that has batches already is not divided again. The list that was given is not changed.
func Expand(list []Stage, scopes []plan.Scope) (expanded []Stage, why string) {
	same := slices.Clone(list)
	if slices.ContainsFunc(list, batched) {
		return same, "The stages stay as they are: they are divided into batches already."
	}
	if len(scopes) == 0 {
		return same, "The stages stay as they are: .brain/PLAN.md has no headings \"### Task N: title\" that could be divided into batches."
	}
	builder := slices.IndexFunc(list, func(s Stage) bool { return s.Role() == Builder && s.Status == Pending })
	if builder < 0 {
		return same, "The stages stay as they are: none of those that are still to be run has an agent whose name contains \"builder\"."
	}
	after := slices.IndexFunc(list[builder+1:], func(s Stage) bool { return s.Role() == Reviewer && s.Status == Pending })
	if after < 0 {
		return same, "The stages stay as they are: no stage after the builder has an agent whose name contains \"review\"."
	}
	reviewer := builder + 1 + after
	expanded = slices.Clone(list[:builder])
	for _, scope := range scopes {
		expanded = append(expanded, list[builder].anew(scope), list[reviewer].anew(scope))
	}
	expanded = append(expanded, list[builder+1:reviewer]...)
	return append(expanded, list[reviewer+1:]...), ""
}

func batched(s Stage) bool { return s.BatchScope != plan.Scope{} }

// anew is a stage of the same agent that is still to be run, for a scope.
func (s Stage) anew(scope plan.Scope) Stage {
	return Stage{Agent: s.Agent, Teams: s.Teams, BatchScope: scope, Status: Pending}
}

// pair is the builder's and the reviewer's stage of a batch.
type pair struct{ builder, reviewer Stage }

// approved reports whether the batch is done: both stages are completed, and the last word on it is
// APPROVE.
func (p pair) approved() bool {
	said := p.reviewer.Verdicts
	return p.builder.Status == Completed && p.reviewer.Status == Completed && len(said) > 0 && said[len(said)-1].Decision == Approve
}

// Replan makes the pairs anew for the plan that the architect has made after a REDESIGN; scopes are
// the new plan's. A batch that was approved keeps its pair, completed and with its scope, when the new
// plan has each of its tasks with the same number, title and text. All other tasks are built: their
// pairs are pending, for the scopes without the tasks of pairs that are kept. What the pairs that go
// have cost, their verdicts and the count of their attempts go to the new pair that has their first
// task, or else to the last that is pending, so that nothing that was spent or said is lost. A
// list without batches is divided as Expand does. Without scopes the list stays as it is: a plan that has
// no tasks takes no builder and no reviewer away.
func Replan(list []Stage, old, new []plan.Task, scopes []plan.Scope) []Stage {
	if len(scopes) == 0 {
		return slices.Clone(list)
	}
	if !slices.ContainsFunc(list, batched) {
		expanded, _ := Expand(list, scopes)
		return expanded
	}
	was, rest, at := split(list)
	var kept, gone, pairs []pair
	for _, p := range was {
		if p.approved() && sameTasks(p.builder.BatchScope, old, new) {
			kept = append(kept, p)
		} else {
			gone = append(gone, p)
		}
	}
	pairs = slices.Clone(kept)
	if len(was) > 0 {
		for _, scope := range without(scopes, kept) {
			pairs = append(pairs, pair{was[0].builder.anew(scope), was[0].reviewer.anew(scope)})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.builder.BatchScope.First, b.builder.BatchScope.First) })
	inherit(pairs, gone)
	replanned := slices.Clone(rest[:at])
	for _, p := range pairs {
		replanned = append(replanned, p.builder, p.reviewer)
	}
	return append(replanned, rest[at:]...)
}

// split returns the pairs of a list, the stages that belong to none, and where among those the first
// pair stood.
func split(list []Stage) (pairs []pair, rest []Stage, at int) {
	at = -1
	for _, s := range list {
		if !batched(s) {
			rest = append(rest, s)
			continue
		}
		if at < 0 {
			at = len(rest)
		}
		if s.Role() != Reviewer {
			pairs = append(pairs, pair{builder: s})
		} else if n := slices.IndexFunc(pairs, func(p pair) bool { return p.builder.BatchScope == s.BatchScope && p.reviewer.Agent == "" }); n >= 0 {
			pairs[n].reviewer = s
		}
	}
	return pairs, rest, max(at, 0)
}

// sameTasks reports whether both plans have each task of a scope, with the same title and text. Ends of
// lines and spaces before them make no difference.
func sameTasks(scope plan.Scope, old, new []plan.Task) bool {
	at := func(tasks []plan.Task, number int) (plan.Task, bool) {
		n := slices.IndexFunc(tasks, func(t plan.Task) bool { return t.Number == number })
		if n < 0 {
			return plan.Task{}, false
		}
		return tasks[n], true
	}
	for number := scope.First; number <= scope.Last; number++ {
		before, had := at(old, number)
		now, has := at(new, number)
		if !had || !has || before.Title != now.Title || trimmed(before.Body) != trimmed(now.Body) {
			return false
		}
	}
	return true
}

func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \t\r\n"))
		b.WriteByte('\n')
	}
	return b.String()
}

// without are the scopes but for the tasks of the pairs. A scope that one of those divides becomes
// several.
func without(scopes []plan.Scope, pairs []pair) (left []plan.Scope) {
	for _, scope := range scopes {
		part := plan.Scope{}
		for number := scope.First; number <= scope.Last; number++ {
			if slices.ContainsFunc(pairs, func(p pair) bool { return p.builder.BatchScope.Has(number) }) {
				if part.First > 0 {
					left = append(left, part)
				}
				part = plan.Scope{}
				continue
			}
			part = plan.Scope{First: cmp.Or(part.First, number), Last: number}
		}
		if part.First > 0 {
			left = append(left, part)
		}
	}
	return left
}

// inherit gives what the pairs that go have spent and been told to pairs that are pending.
func inherit(pairs, gone []pair) {
	for _, from := range gone {
		at := slices.IndexFunc(pairs, func(p pair) bool {
			return p.builder.Status == Pending && p.builder.BatchScope.Has(from.builder.BatchScope.First)
		})
		for n := len(pairs) - 1; at < 0 && n >= 0; n-- {
			if pairs[n].builder.Status == Pending {
				at = n
			}
		}
		if at < 0 {
			continue // all tasks of the new plan are built
		}
		to := &pairs[at]
		to.builder.CostUSD += from.builder.CostUSD
		to.builder.Attempt = max(to.builder.Attempt, from.builder.Attempt)
		to.reviewer.CostUSD += from.reviewer.CostUSD
		to.reviewer.Attempt = max(to.reviewer.Attempt, from.reviewer.Attempt)
		to.reviewer.Verdicts = append(slices.Clip(to.reviewer.Verdicts), from.reviewer.Verdicts...)
	}
}

// Rounds is how many of the last verdicts ask for changes of the same plan: those since the last that
// says something else than REVISE.
func Rounds(verdicts []Verdict) (rounds int) {
	for _, v := range slices.Backward(verdicts) {
		if v.Decision != Revise {
			break
		}
		rounds++
	}
	return rounds
}
