package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/roles"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Files of the directory .brain.
const (
	brainDir  = ".brain/"
	planFile  = brainDir + "PLAN.md"
	mostPlan  = 128 << 10
	mostNamed = 10 // files in an answer
)

// OnTaskComplete is the gate of the workflows' own tasks: the checks of a stage, then the review of
// what a builder has made, or of all.
func (p *Plugin) OnTaskComplete(ctx context.Context, request *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	task := request.Task
	if task.Plugin != name {
		return nil, nil //nolint:nilnil // it has no opinion on others' work
	}
	defer p.sayAlive(ctx)()
	id := cmp.Or(task.Labels[labelID], task.ID)
	g := &gate{flow: p.flow(id), request: request}
	var err error
	g.rec, err = g.read(ctx)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictWait, Feedback: "what was noted of this workflow is gone from the database; abandon it, and start another"}, nil
	}
	if err != nil {
		return nil, err
	}
	if id == task.ID {
		return g.last(ctx)
	}
	if g.i = g.rec.stage(task.ID); g.i < 0 {
		return reject("The plan has changed: this stage is not part of the workflow any more."), nil
	}
	return g.stage(ctx)
}

// sayAlive says until the returned function is called that a call is at work: the core ends a call
// that is silent for 5 minutes.
func (p *Plugin) sayAlive(ctx context.Context) (stop func()) {
	stopped := make(chan struct{})
	ticks := time.NewTicker(cmp.Or(p.Beat, time.Minute))
	go func() {
		defer ticks.Stop()
		for {
			pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: "the work is checked and reviewed"})
			select {
			case <-ticks.C:
			case <-stopped:
				return
			}
		}
	}()
	return func() { close(stopped) }
}

func reject(feedback string, evidence ...pluginsdk.Evidence) *pluginsdk.OnTaskCompleteResponse {
	return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictReject, Feedback: feedback, Evidence: evidence}
}

// stopped leaves a stage to a person because its workflow was stopped.
func stopped(by string) *pluginsdk.OnTaskCompleteResponse {
	return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictWait, Feedback: "stopped by " + by, Marks: []string{markStopped}}
}

// gate is one evaluation of a task's work.
type gate struct {
	*flow
	request *pluginsdk.OnTaskCompleteRequest
	rec     record
	i       int // the stage
	work    built
}

// markDemo is on a workflow that the demo agent has worked on. The plugin worktree merges nothing that
// has it without a person's word.
const markDemo = "demo"

// accept accepts the tree that was looked at, and no other.
func (g *gate) accept(evidence ...pluginsdk.Evidence) *pluginsdk.OnTaskCompleteResponse {
	said := &pluginsdk.OnTaskCompleteResponse{
		Verdict: pluginsdk.VerdictAccept, Evidence: slices.Insert(evidence, 0, pluginsdk.Evidence{Kind: "verdict", Tree: g.treeName(), Output: string(pluginsdk.VerdictAccept)}),
	}
	if g.rec.Demo && g.i < 0 && g.rec.FinalWaived == "" {
		said.Marks = []string{markDemo}
	}
	return said
}

// treeName is the tree as the plugin worktree has named it.
func (g *gate) treeName() string {
	return cmp.Or(evidenceOf(g.request.Evidence, worktreePlugin, "tree").Tree, g.work.tree)
}

// stage checks the work of a stage. What a person has accepted as it is passes.
func (g *gate) stage(ctx context.Context) (*pluginsdk.OnTaskCompleteResponse, error) {
	s := g.rec.Stages[g.i]
	if g.request.Task.RunID != "" {
		if failure := g.request.Result.Failure; failure != nil {
			return reject("The last turn did not come to its end: " + failure.Message), nil
		}
	}
	var err error
	if g.work, err = g.built(ctx, deskOf(g.i), g.request); err != nil {
		return nil, err
	}
	if s.Due != nil && s.Due.Waived != "" {
		return g.waive(ctx, *s.Due)
	}
	if g.work.lost != "" {
		return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictWait, Feedback: g.work.lost}, nil
	}
	fault := g.work.fault
	if fault == "" {
		if fault, err = g.faultOf(ctx, s.Role()); err != nil {
			return nil, err
		}
	}
	checks, unchecked := g.facts(s.Role())
	if fault == "" && unchecked != "" {
		return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictWait, Feedback: unchecked}, nil
	}
	if fault, err = g.noteCheck(ctx, fault); fault != "" || err != nil {
		return reject(fault), err
	}
	n := g.rec.reviewer(g.i)
	if n < 0 {
		return g.accept(), nil
	}
	if g.rec.StoppedBy != "" {
		return stopped(g.rec.StoppedBy), nil
	}
	answer, err := g.review(ctx, n, checks)
	if err != nil {
		if rec, readErr := g.read(ctx); readErr == nil && rec.StoppedBy != "" {
			return stopped(rec.StoppedBy), nil
		}
	}
	return answer, err
}

// waive accepts what a person has accepted as it is. Other work than that waits for the person again.
func (g *gate) waive(ctx context.Context, due stages.Due) (*pluginsdk.OnTaskCompleteResponse, error) {
	by := due.Waived
	if !g.same(due.Tree, due.Patch) {
		_, err := g.change(ctx, func(r *record) error {
			if g.i >= len(r.Stages) || r.Stages[g.i].TaskID != g.request.Task.ID {
				return errAnew
			}
			r.Stages[g.i].Due = nil
			r.Stages[g.i].Hold = &stages.Hold{Reason: otherWork(by), Mark: "changed", Tree: g.work.tree, Patch: g.patch()}
			return nil
		})
		return reject(otherWork(by)), err
	}
	if g.work.fault == "" && g.rec.Stages[g.i].Role() == stages.Architect { // the tasks that can be read are the plan
		if _, err := g.planFault(ctx); err != nil {
			return nil, err
		}
	}
	_, err := g.change(ctx, func(r *record) error {
		if n := r.reviewer(g.i); n >= 0 {
			r.Stages[n].Hear(stages.Verdict{Decision: stages.Approve, By: by, Summary: "Accepted as it is by " + by + ".", Tree: g.work.tree, At: now()})
		}
		return nil
	})
	return g.accept(pluginsdk.Evidence{Kind: "person", Output: by, Tree: g.treeName()}), err
}

// noteCheck stores what the checks of a stage came to. It returns what the worker is told.
func (g *gate) noteCheck(ctx context.Context, fault string) (string, error) {
	call := g.request.Call.ID
	rec, err := g.change(ctx, func(r *record) error {
		if g.i >= len(r.Stages) || r.Stages[g.i].TaskID != g.request.Task.ID {
			return errAnew
		}
		r.checked(g.i, call, fault)
		if hold := r.Stages[g.i].Hold; hold != nil {
			hold.Tree, hold.Patch = g.work.tree, g.patch()
		}
		r.Demo = r.Demo || g.request.Result.Demo
		return nil
	})
	if err == nil {
		g.rec = rec
	}
	return fault, err
}

// checked notes what the checks of a stage came to, once for each call. Past the limit a person is asked.
func (r *record) checked(i int, call, fault string) {
	s := &r.Stages[i]
	if s.Validation == nil {
		s.Validation = &stages.Validation{}
	}
	fault = cut(fault, 16<<10)
	v := s.Validation
	if v.Call != call {
		v.Tries++
	}
	v.Call, v.Passed, v.Reason, v.At = call, fault == "", fault, now()
	if fault == "" {
		v.Tries = 0
	}
	if fault != "" && v.Tries >= r.Limits.Tries {
		s.Hold = &stages.Hold{Reason: fmt.Sprintf("its checks have failed %d times: %s", v.Tries, fault), Mark: "checks", Then: "This was not accepted:\n\n" + fault}
	}
}

// touched are the paths that a piece of work changes, by whose they are.
type touched struct{ own, roles, papers, research, inBrain, outside []string }

// byPlace tells the paths of a work apart. A name that some file systems take for that of a role's file is one.
func byPlace(paths []string) (t touched) {
	for _, path := range paths {
		plain := plainPath(path)
		first, rest, _ := strings.Cut(plain, "/")
		second, _, _ := strings.Cut(rest, "/")
		to := &t.outside
		switch {
		case !strings.EqualFold(first, ".brain"):
		case first != ".brain", rest == "", strings.EqualFold(second, roles.Below):
			to = &t.roles
		case ours(plain) && plain != brainDir+".gitignore":
			to = &t.own
		case plain == planFile, plain == brainDir+"DECISIONS.md", plain == brainDir+"PATTERNS.md":
			to = &t.papers
		case second == "research" && rest != second:
			to = &t.research
		default:
			to = &t.inBrain
		}
		*to = append(*to, path)
	}
	return t
}

// faultOf says in words for the worker why the stage is not done; empty: it is. It looks at the tree
// and not at what the worker says of it.
func (g *gate) faultOf(ctx context.Context, role stages.Role) (string, error) {
	t := byPlace(g.work.paths)
	if len(t.own) > 0 {
		return "These files are the workflow's own, and no part of the work; remove them, or have them be as they were: " + some(t.own) + ".", nil
	}
	switch role {
	case stages.Scout, stages.Architect:
		if fault := t.outsideOf(role); fault != "" {
			return fault, nil
		}
		if role == stages.Architect {
			return g.planFault(ctx)
		}
		if len(t.research) == 0 {
			return "There are no new files in .brain/research. Write there what you have found out, in Markdown.", nil
		}
	case stages.Builder, stages.Other:
		if below := slices.Concat(t.roles, t.papers, t.research, t.inBrain); len(below) > 0 {
			who := "A builder"
			if role == stages.Other {
				who = "The agent " + g.rec.Stages[g.i].Agent
			}
			return who + " changes nothing below .brain: the plan and what was decided stay as they were accepted. Have these be as they were: " + some(below) + ".", nil
		}
		if role == stages.Builder && len(t.outside) == 0 {
			return "No file has changed. Build what the plan says for your tasks; if there is nothing to build, end with a line BLOCKED: and why.", nil
		}
	case stages.Reviewer:
		if len(t.roles) > 0 {
			return rolesFault + some(t.roles) + ".", nil
		}
	}
	return "", nil
}

const rolesFault = "The roles in .brain/agents say who reviews the next workflow, so that only people change them. Have these be as they were: "

// outsideOf says what a scout or an architect has written elsewhere than they may.
func (t touched) outsideOf(role stages.Role) string {
	places, others := "files below .brain/research", slices.Concat(t.papers, t.inBrain)
	if role == stages.Architect {
		places, others = ".brain/PLAN.md, .brain/DECISIONS.md, .brain/PATTERNS.md and files below .brain/research", t.inBrain
	}
	switch {
	case len(t.outside) > 0:
		return fmt.Sprintf("The stage %s writes below .brain only. Have these be as they were: %s.", role, some(t.outside))
	case len(t.roles) > 0:
		return rolesFault + some(t.roles) + "."
	case len(others) > 0:
		return fmt.Sprintf("The stage %s writes %s, and nothing else. Have these be as they were: %s.", role, places, some(others))
	}
	return ""
}

// planFault reads the plan of an architect's stage, and says what is wrong with it. A plan without a
// heading for a task is asked for once more; when there is none again, the stages stay as they are. After a
// review that asked for another plan there have to be tasks: batches are there already.
func (g *gate) planFault(ctx context.Context) (string, error) {
	text, there, err := g.work.read(ctx, planFile, mostPlan)
	if errors.Is(err, errTooLong) {
		return fmt.Sprintf(".brain/PLAN.md has more than %d bytes. Say what is to be built in fewer words, or leave to the builders what they can decide.", mostPlan), nil
	}
	if err != nil {
		return "", err
	}
	if !there || strings.TrimSpace(text) == "" {
		return "There is no plan. Write it to .brain/PLAN.md, with a heading for each task: ### Task 1: title.", nil
	}
	tasks, err := plan.Read(text)
	if err != nil {
		return err.Error(), nil
	}
	s := g.rec.Stages[g.i]
	if len(tasks) == 0 && g.rec.Redesigns > 0 {
		return "The new plan in .brain/PLAN.md has no task. Give each one a heading of its own, numbered from 1: ### Task 1: title. Keep the tasks that are built and approved as they are.", nil
	}
	if len(tasks) == 0 && (s.Validation == nil || s.Validation.Tries == 0) {
		return ".brain/PLAN.md has no task. Give each one a heading of its own, numbered from 1: ### Task 1: title. " +
			"If the work cannot be divided, leave the plan as it is, and the stages that follow do all of it.", nil
	}
	_, err = g.change(ctx, func(r *record) error { r.Planned = tasks; return nil })
	return "", err
}

// facts are the commands that the plugin validation has run on the work, with their exit codes;
// unchecked says to a person why there are none although the stage needs them.
func (g *gate) facts(role stages.Role) (checks []string, unchecked string) {
	if role != stages.Builder {
		return nil, ""
	}
	looked := false
	tree := evidenceOf(g.request.Evidence, worktreePlugin, "tree").Tree
	for _, e := range g.request.Evidence {
		if e.Plugin != validationPlugin || tree != "" && e.Tree != tree {
			continue
		}
		switch e.Kind {
		case "command", "base-check":
			looked = true
			checks = append(checks, fmt.Sprintf("%s: exit code %d", e.Command, e.ExitCode))
		case "no-checks":
			looked = true
		case "check-files":
			checks = append(checks, "the work changes what the checks are, in "+strings.ReplaceAll(e.Output, "\n", ", "))
		case "checks-gone":
			checks = append(checks, "checks that the project had before and has no more: "+strings.ReplaceAll(e.Output, "\n", ", "))
		}
	}
	if !looked {
		return nil, "nobody has run the project's checks on this work: the plugin validation is off, or comes after the plugin workflow. " +
			"Turn it on (harness plugin enable validation) and continue the workflow, or accept the work as it is"
	}
	return checks, ""
}

// ranChecks reports whether a check of the project was run on the work.
func (g *gate) ranChecks() bool {
	tree := evidenceOf(g.request.Evidence, worktreePlugin, "tree").Tree
	return slices.ContainsFunc(g.request.Evidence, func(e pluginsdk.Evidence) bool {
		return e.Plugin == validationPlugin && (e.Kind == "command" || e.Kind == "base-check") && (tree == "" || e.Tree == tree)
	})
}

func some(paths []string) string {
	if len(paths) > mostNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:mostNamed], ", "), len(paths)-mostNamed)
	}
	return strings.Join(paths, ", ")
}
