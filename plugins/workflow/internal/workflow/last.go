package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/plugins/internal/scratch"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/prompts"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// handIn hands the whole workflow in, once all stages are done: its gate has all of it reviewed, and
// then it is merged. It returns when the task has moved.
func (f *flow) handIn(ctx context.Context) error {
	var iteration int
	rec, err := f.change(ctx, func(r *record) error {
		if r.Iteration == 0 { // it is opened first
			return errAnew
		}
		if err := r.stopped(); err != nil {
			return err
		}
		iteration = r.Iteration
		r.Iteration, r.Handed = 0, r.Iteration
		return nil
	})
	if err != nil {
		return err
	}
	f.Fault("handIn", f.id)
	answer, err := f.host.Tasks.Evaluate(ctx, &pluginsdk.EvaluateTaskRequest{ID: f.id, Iteration: iteration, Result: rec.summary()})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
		return errMoved
	}
	if err != nil {
		return err
	}
	_, err = f.await(ctx, answer.Task)
	return err
}

// summary is what a workflow came to, in words for people.
func (r *record) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", firstLine(r.Request))
	for i, s := range r.Stages {
		if r.builder(i) >= 0 {
			continue
		}
		fmt.Fprintf(&b, "- %s", titleOf(s))
		if n := r.reviewer(i); n >= 0 {
			if last := len(r.Stages[n].Verdicts); last > 0 {
				v := r.Stages[n].Verdicts[last-1]
				fmt.Fprintf(&b, ": %s in round %d", v.Decision, last)
				if v.By != "" {
					fmt.Fprintf(&b, " (by %s)", v.By)
				}
			}
		}
		b.WriteString("\n")
	}
	if r.Left != "" {
		fmt.Fprintf(&b, "\n%s", cut(r.Left, 4<<10))
	}
	return b.String()
}

// last is the gate of the whole workflow: one review of the whole change against the request. The
// verdict of a batch that is all of the change stands for it.
func (g *gate) last(ctx context.Context) (*pluginsdk.OnTaskCompleteResponse, error) {
	g.i = -1
	if g.rec.StoppedBy != "" {
		return g.wait(ctx, "stopped by "+g.rec.StoppedBy, markStopped)
	}
	var err error
	if g.work, err = g.built(ctx, deskOfRoot, g.request); err != nil {
		return nil, err
	}
	switch {
	case g.work.fault != "":
		return g.wait(ctx, g.work.fault, "review")
	case g.rec.FinalWaived != "" && !g.same(g.rec.FinalTree, g.rec.FinalPatch):
		return g.waitFor(ctx, otherWork(g.rec.FinalWaived), "changed")
	case g.rec.FinalWaived != "":
		return g.accept(pluginsdk.Evidence{Kind: "person", Output: g.rec.FinalWaived, Tree: g.treeName()}), nil
	case g.work.lost != "":
		return g.lost(ctx)
	}
	seen, err := g.seen(ctx)
	if err != nil {
		return nil, err
	}
	checks, unchecked := g.facts(stages.Builder)
	if unchecked != "" && !seen && !g.onlyBrain() { // also where nobody reviews
		return g.wait(ctx, unchecked, "unvalidated")
	}
	if seen || g.rec.Unreviewed || len(g.work.paths) == 0 {
		return g.accept(), nil
	}
	patch := g.patch()
	if n := len(g.rec.Final) - 1; n >= 0 && patch != "" && g.rec.Final[n].Decision == stages.Approve && g.rec.Final[n].Patch == patch {
		return g.accept(shown(g.rec.Final[n], g.treeName())...), nil
	}
	if said, ok := g.answered(g.rec.Final); ok {
		return g.conclude(ctx, said)
	}
	said, err := g.ask(ctx, -1, deskOfRoot, checks, g.request.Call.ID+"/last")
	if err != nil {
		if rec, readErr := g.read(ctx); readErr == nil && rec.StoppedBy != "" {
			return g.wait(ctx, "stopped by "+rec.StoppedBy, markStopped)
		}
		if hold := new(held); errors.As(err, &hold) {
			return g.waitFor(ctx, "the last review: "+hold.hold.Reason, hold.hold.Mark)
		}
		return nil, err
	}
	said.Patch = patch
	return g.conclude(ctx, said)
}

// lost leaves work to a person of which nobody can tell any more what is new in it.
func (g *gate) lost(ctx context.Context) (*pluginsdk.OnTaskCompleteResponse, error) {
	said := stages.Verdict{Decision: stages.Revise, Summary: "Not reviewed: " + g.work.lost + ".", Source: "base", Tree: g.work.tree, At: now()}
	if _, err := g.change(ctx, func(r *record) error {
		if last := len(r.Final) - 1; last < 0 || r.Final[last].Source != said.Source || r.Final[last].Tree != said.Tree {
			r.Final = append(r.Final, said)
		}
		r.FinalHold = g.work.lost
		return nil
	}); err != nil {
		return nil, err
	}
	return g.wait(ctx, g.work.lost, "review")
}

// patch names the change that is evaluated, whatever it is on top of; empty: it has no name.
func (g *gate) patch() string {
	return strings.TrimSpace(evidenceOf(g.request.Evidence, worktreePlugin, "patch-id").Output)
}

// same reports whether the work that is evaluated is that of a tree or a patch. One that is not known is
// any work.
func (g *gate) same(tree, patch string) bool {
	return tree == "" && patch == "" || tree == g.work.tree || patch != "" && patch == g.patch()
}

// otherWork tells a person who has accepted work that it is another one now.
func otherWork(by string) string {
	return fmt.Sprintf("the work is not any more what %s has accepted as it is: it has changed since; look at it, and say so again (accept=yes), or continue without", by)
}

// waitFor leaves the whole workflow to a person who can take the work as it is now.
func (g *gate) waitFor(ctx context.Context, why, mark string, evidence ...pluginsdk.Evidence) (*pluginsdk.OnTaskCompleteResponse, error) {
	if _, err := g.change(ctx, func(r *record) error {
		r.FinalWaived, r.FinalHold, r.FinalTree, r.FinalPatch = "", why, g.work.tree, g.patch()
		return nil
	}); err != nil {
		return nil, err
	}
	return g.wait(ctx, why, mark, evidence...)
}

// wait leaves the whole workflow to a person, and says what they can type.
func (g *gate) wait(ctx context.Context, why, mark string, evidence ...pluginsdk.Evidence) (*pluginsdk.OnTaskCompleteResponse, error) {
	if !strings.Contains(why, "/workflow continue ") {
		why += fmt.Sprintf(" (/workflow continue %s goes on; /workflow abandon %s ends it)", short(g.id), short(g.id))
	}
	_, err := g.change(ctx, func(r *record) error {
		r.Waited, r.Waits = g.request.Task.CurrentIteration, why
		return nil
	})
	return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictWait, Feedback: why, Marks: []string{mark}, Evidence: evidence}, err
}

// onlyBrain reports whether nothing outside of .brain has changed.
func (g *gate) onlyBrain() bool {
	return !slices.ContainsFunc(g.work.paths, func(path string) bool { return !inBrain(path) })
}

// seen reports whether the last batch was the only one, and its reviewer has seen this very tree, on top
// of what the whole work is on top of: then it has seen all of the change.
func (g *gate) seen(ctx context.Context) (bool, error) {
	var approved []stages.Verdict
	for _, s := range g.rec.Stages {
		if s.Role() == stages.Reviewer && len(s.Verdicts) > 0 {
			approved = append(approved, s.Verdicts[len(s.Verdicts)-1])
		}
	}
	if len(approved) != 1 || approved[0].Decision != stages.Approve || approved[0].By != "" || approved[0].Tree != g.work.tree {
		return false, nil
	}
	ground, err := g.work.ground(ctx)
	return err == nil && approved[0].Base == ground, err
}

// conclude stores the verdict of the last review, and says what follows from it. Findings go to the
// batch that they name.
func (g *gate) conclude(ctx context.Context, said stages.Verdict) (*pluginsdk.OnTaskCompleteResponse, error) {
	findings := cut(prompts.Findings(said), mostFindings)
	wait := ""
	rec, err := g.change(ctx, func(r *record) error {
		wait = ""
		if !slices.ContainsFunc(r.Final, func(v stages.Verdict) bool { return v.RunID == said.RunID }) {
			r.Final = append(r.Final, said)
		}
		asked := stages.Rounds(r.Final)
		switch {
		case said.Decision == stages.Approve:
		case said.Decision == stages.Redesign && r.Redesigns < r.Limits.Redesigns && slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.Role() == stages.Architect }):
			r.Redesign = "The last review asks for another plan. Its findings:\n\n" + findings
		case said.Decision == stages.Redesign:
			wait = fmt.Sprintf("the last review asks for another plan, and the workflow may not go back to the architect (%d of %d): %s", r.Redesigns, r.Limits.Redesigns, said.Summary)
		case asked >= r.Limits.Rounds:
			wait = fmt.Sprintf("the last review has asked for changes %d times: %s", asked, cmp.Or(said.Summary, "no summary"))
		}
		if said.Decision != stages.Approve && r.Redesign == "" && r.reopen(said.Batch, "The last review of the whole work asks for changes:\n\n"+findings) < 0 && wait == "" {
			wait = "the last review asks for changes, and the workflow has no builder that could make them: " + cmp.Or(said.Summary, "no summary")
		}
		r.FinalHold, r.FinalTree, r.FinalPatch = wait, said.Tree, said.Patch
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.rec = rec
	g.Fault("concluded", g.id)
	switch {
	case rec.StoppedBy != "":
		return g.wait(ctx, "stopped by "+rec.StoppedBy, "stopped", shown(said, g.treeName())...)
	case said.Decision == stages.Approve:
		return g.accept(shown(said, g.treeName())...), nil
	case wait != "":
		return g.wait(ctx, wait+fmt.Sprintf(" (/workflow continue %s has it mended, with accept=yes it is taken as it is; /workflow abandon %s ends it)", short(g.id), short(g.id)), "review", shown(said, g.treeName())...)
	}
	return reject(findings, shown(said, g.treeName())...), nil
}

// reopen has the builder of a batch mend what the last review has found; without a known batch, that
// of the last one.
func (r *record) reopen(batch, words string) (at int) {
	r.FinalWaived = ""
	at = -1
	var scope plan.Scope
	known := scope.UnmarshalText([]byte(batch)) == nil && slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.BatchScope == scope && batch != "" })
	for i, s := range r.Stages {
		if s.Role() == stages.Builder && (at < 0 || !known || s.BatchScope == scope) {
			at = i
		}
	}
	if at < 0 {
		return at
	}
	s := &r.Stages[at]
	s.Status, s.Due = stages.Pending, &stages.Due{Words: words}
	if n := r.reviewer(at); n >= 0 {
		r.Stages[n].Status = stages.Pending
	}
	return at
}

// reviewAlone has the project reviewed as it is, by a reviewer's stage with no builder before it. Its
// findings are for a person.
func (f *flow) reviewAlone(ctx context.Context, i int) error {
	root, err := f.task(ctx, f.id)
	if err != nil {
		return err
	}
	rec, err := f.read(ctx)
	if err != nil {
		return err
	}
	g := &gate{flow: f, request: &pluginsdk.OnTaskCompleteRequest{Task: root}, rec: rec, i: -1}
	if g.work, err = f.asItIs(ctx, root); err != nil {
		return err
	}
	attempt := len(rec.Stages[i].Verdicts) + 1
	said, err := g.ask(ctx, i, deskOfRoot, nil, fmt.Sprintf("%s/alone/%d/%d/%d", f.id, i, attempt, root.CurrentIteration))
	if hold := new(held); errors.As(err, &hold) && hold.hold.Mark != "stopped" {
		hold.stage = i
	}
	if err != nil {
		return err
	}
	if _, err = f.change(ctx, func(r *record) error {
		if i >= len(r.Stages) || r.Stages[i].Agent != rec.Stages[i].Agent {
			return errAnew
		}
		s := &r.Stages[i]
		if s.StartedAt.IsZero() {
			s.StartedAt = said.At
		}
		s.Status, s.CompletedAt, s.CostUSD = stages.Completed, now(), s.CostUSD+said.CostUSD
		s.Verdicts = append(s.Verdicts, said)
		noteReview(s, said)
		r.Left = prompts.Findings(said)
		return nil
	}); err != nil || said.Decision == stages.Approve {
		return err
	}
	return &held{i, stages.Hold{Reason: fmt.Sprintf("the review says %s: %s. Continue accepts the work all the same; nobody mends it in this workflow", said.Decision, said.Summary), Mark: "review"}}
}

// asItIs is the project as the workflow has it now, beside what it began with.
func (f *flow) asItIs(ctx context.Context, root pluginsdk.Task) (b built, err error) {
	top, err := f.desk(ctx, deskOfRoot)
	if err != nil {
		return b, err
	}
	b.dir = filepath.Join(top, "now")
	if err := scratch.RemoveAll(b.dir); err != nil {
		return b, err
	}
	at := filepath.Join(b.dir, "objects.git")
	if root.CwdPlugin == "" {
		var recorded objects.Recorded
		if b.store, recorded, err = objects.Record(ctx, at, root.Cwd, bounds); err != nil {
			return b, err
		}
		if b.tree = recorded.Tree; b.tree == "" {
			return b, &held{-1, stages.Hold{Reason: root.Cwd + " has more than is looked at: " + recorded.Over + recorded.Fault, Mark: "review"}}
		}
		if b.tree, err = theirs(ctx, b.store, b.tree); err != nil {
			return b, err
		}
		b.base, err = b.store.Empty(ctx)
	} else {
		head, err := run.Do(ctx, run.Command{Args: []string{"git", "rev-parse", "--verify", "HEAD"}, Dir: root.Cwd, Limit: time.Minute})
		if err != nil || head.Code != 0 {
			return b, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "git rev-parse in %s: %w %s", root.Cwd, err, head.Stderr)
		}
		trees := []string(nil)
		if b.store, trees, err = objects.Copy(ctx, at, cmp.Or(root.Labels["worktree.path"], root.Cwd), strings.TrimSpace(string(head.Stdout))); err != nil {
			return b, err
		}
		b.tree = trees[0]
		if b.base, err = b.store.Empty(ctx); err != nil {
			return b, err
		}
	}
	if err != nil {
		return b, err
	}
	change, _, err := b.store.Change(ctx, b.base, b.tree, 0)
	b.paths = change.Paths
	return b, err
}

// compare notes when reviewing has cost more than its share of what building has cost. The batches
// that follow are checked by the project's checks alone.
func (f *flow) compare(ctx context.Context) {
	rec, err := f.read(ctx)
	if err != nil || rec.ChecksOnly {
		return
	}
	root, err := f.task(ctx, f.id)
	if err != nil {
		return
	}
	verifying := rec.verifying()
	building := root.CostUSD - verifying
	share := f.config.Load().VerifyShare
	more := slices.ContainsFunc(rec.Stages, func(s stages.Stage) bool { return s.Role() == stages.Reviewer && s.Status != stages.Completed })
	if !more || building <= 0 || verifying*100 <= building*float64(share) {
		return
	}
	if _, err := f.change(ctx, func(r *record) error { r.ChecksOnly = true; return nil }); err != nil {
		return
	}
	f.say(ctx, "share", fmt.Sprintf("Reviewing has cost $%.2f, which is more than %d %% of the $%.2f of building. The batches that follow are checked by the project's own checks only (where it has none, its reviewer looks at them still); "+
		"the last review looks at all of it. The setting verifyShare says how much reviewing may cost.", verifying, share, building))
}

// verifying is what reviews have cost so far, in US dollars.
func (r *record) verifying() (usd float64) {
	for _, s := range r.Stages {
		for _, v := range s.Verdicts {
			usd += v.CostUSD
		}
	}
	for _, v := range r.Final {
		usd += v.CostUSD
	}
	for _, cost := range r.Unheard {
		usd += cost
	}
	return usd
}
