package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/scratch"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/brain"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/prompts"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/roles"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/verdict"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostDiff is how much of a change a reviewer is shown, in bytes; all of it is in the checkout.
const mostDiff = 60 << 10

// review has the work of a batch reviewed, and decides by what the reviewer says.
func (g *gate) review(ctx context.Context, n int, checks []string) (*pluginsdk.OnTaskCompleteResponse, error) {
	s := g.rec.Stages[n]
	patch := strings.TrimSpace(evidenceOf(g.request.Evidence, worktreePlugin, "patch-id").Output)
	if said, ok := g.answered(s.Verdicts); ok {
		return g.decide(ctx, n, said)
	}
	if last := len(s.Verdicts) - 1; last >= 0 && s.Verdicts[last].Decision == stages.Approve && patch != "" && s.Verdicts[last].Patch == patch {
		return g.inOrder(ctx, g.accept(shown(s.Verdicts[last], g.treeName())...))
	}
	if g.rec.ChecksOnly && g.ranChecks() { // else nobody would have looked at it
		return g.checksOnly(ctx, n, checks, patch)
	}
	if _, err := g.change(ctx, func(r *record) error {
		if n >= len(r.Stages) || g.i >= len(r.Stages) || r.Stages[g.i].TaskID != g.request.Task.ID {
			return errAnew
		}
		r.Stages[g.i].Status, r.Stages[n].Status = stages.Reviewing, stages.Running
		if r.Stages[n].StartedAt.IsZero() {
			r.Stages[n].StartedAt = now()
		}
		return nil
	}); err != nil {
		return nil, err
	}
	said, err := g.ask(ctx, n, deskOf(g.i), checks, fmt.Sprintf("%s/review", g.request.Call.ID))
	if hold := new(held); errors.As(err, &hold) {
		return g.leave(ctx, hold)
	}
	if err != nil {
		return nil, err
	}
	said.Patch = patch
	return g.decide(ctx, n, said)
}

// answered is the verdict that was stored when this call was made before.
func (g *gate) answered(verdicts []stages.Verdict) (said stages.Verdict, ok bool) {
	if last := len(verdicts) - 1; last >= 0 {
		said = verdicts[last]
	}
	return said, said.RunID != "" && said.Call == g.request.Call.ID && said.Tree == g.work.tree
}

// leave is the answer for work of which a review could not be had: it is left to a person, after whose
// word it is handed in again.
func (g *gate) leave(ctx context.Context, hold *held) (*pluginsdk.OnTaskCompleteResponse, error) {
	_, err := g.change(ctx, func(r *record) error {
		if g.i >= len(r.Stages) || r.Stages[g.i].TaskID != g.request.Task.ID {
			return errAnew
		}
		s := &r.Stages[g.i]
		s.Status = stages.Running
		if r.StoppedBy == "" {
			hold.hold.Tree, hold.hold.Again = g.work.tree, true
			s.Hold = &hold.hold
		}
		return nil
	})
	return reject(hold.hold.Reason), err
}

// decide stores a verdict, and says what follows from it.
func (g *gate) decide(ctx context.Context, n int, said stages.Verdict) (*pluginsdk.OnTaskCompleteResponse, error) {
	findings := cut(prompts.Findings(said), mostFindings)
	rec, err := g.change(ctx, func(r *record) error {
		if n >= len(r.Stages) || g.i >= len(r.Stages) || r.Stages[g.i].TaskID != g.request.Task.ID {
			return errAnew
		}
		b, s := &r.Stages[g.i], &r.Stages[n]
		if !slices.ContainsFunc(s.Verdicts, func(v stages.Verdict) bool { return v.RunID == said.RunID }) {
			s.Verdicts = append(s.Verdicts, said)
			s.CostUSD += said.CostUSD
		}
		noteReview(s, said)
		b.Status = stages.Running
		if said.Decision != stages.Approve {
			s.Status = stages.Pending
		}
		hold := &stages.Hold{Mark: "review", Tree: said.Tree, Patch: said.Patch, Then: "The review of your work:\n\n" + findings}
		switch {
		case said.Decision == stages.Revise && stages.Rounds(s.Verdicts) >= r.Limits.Rounds:
			hold.Reason = fmt.Sprintf("its reviewer has asked for changes %d times: %s", stages.Rounds(s.Verdicts), cmp.Or(said.Summary, "no summary"))
		case said.Decision == stages.Redesign && (r.Redesigns >= r.Limits.Redesigns || !slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.Role() == stages.Architect })):
			hold.Reason = fmt.Sprintf("its reviewer asks for another plan, and the workflow may not go back to the architect (%d of %d): %s", r.Redesigns, r.Limits.Redesigns, said.Summary)
		case said.Decision == stages.Redesign:
			r.Redesign = "A review asks for another plan. Its findings:\n\n" + findings
			return nil
		default:
			return nil
		}
		b.Hold = hold
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.rec = rec
	g.Fault("reviewed", g.id)
	if rec.StoppedBy != "" {
		return reject("stopped by "+rec.StoppedBy, shown(said, g.treeName())...), nil
	}
	if said.Decision == stages.Approve {
		return g.inOrder(ctx, g.accept(shown(said, g.treeName())...))
	}
	return reject("The review of your work:\n\n"+findings, shown(said, g.treeName())...), nil
}

// noteReview notes in a reviewer's stage by which turn it was done, and whether that has left a verdict
// that can be read.
func noteReview(s *stages.Stage, said stages.Verdict) {
	s.RunID, s.SessionID = said.RunID, said.SessionID
	s.Validation = &stages.Validation{Passed: verdict.Readable(said), Tries: len(s.Verdicts), At: said.At}
	if !s.Validation.Passed {
		s.Validation.Reason = said.Source
	}
}

// shown is a verdict as evidence.
func shown(v stages.Verdict, tree string) []pluginsdk.Evidence {
	return []pluginsdk.Evidence{{Kind: "answer", Command: "review", Output: cut(string(v.Decision)+" "+v.Summary, 4<<10), Tree: tree}}
}

// checksOnly accepts work on the word of the project's checks alone: reviewing has cost more than it
// may. The last review of all is still to come.
func (g *gate) checksOnly(ctx context.Context, n int, checks []string, patch string) (*pluginsdk.OnTaskCompleteResponse, error) {
	said := stages.Verdict{
		Decision: stages.Approve, By: "checks", Summary: "Not reviewed: reviewing has cost more than its share. The project's checks passed; the last review looks at it.",
		Source: "checks", Tree: g.work.tree, Patch: patch, Checks: checks, At: now(),
	}
	if _, err := g.change(ctx, func(r *record) error {
		if n >= len(r.Stages) || r.Stages[g.i].TaskID != g.request.Task.ID {
			return errAnew
		}
		r.Stages[n].Hear(said)
		return nil
	}); err != nil {
		return nil, err
	}
	return g.inOrder(ctx, g.accept(shown(said, g.treeName())...))
}

// inOrder holds an acceptance back until the batches before it are merged that are built beside it.
func (g *gate) inOrder(ctx context.Context, answer *pluginsdk.OnTaskCompleteResponse) (*pluginsdk.OnTaskCompleteResponse, error) {
	for {
		moved := g.moved.wait()
		rec, err := g.read(ctx)
		if err != nil {
			return nil, err
		}
		ahead := false
		for i := range min(g.i, len(rec.Stages)) {
			s := rec.Stages[i]
			ahead = ahead || rec.reviewer(i) >= 0 && s.Hold == nil && (s.Status == stages.Running || s.Status == stages.Reviewing)
		}
		if rec.StoppedBy != "" {
			return reject("stopped by " + rec.StoppedBy), nil
		}
		if !ahead || rec.Redesign != "" {
			return answer, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// mostReviews is how many reviews are paid for in a round.
const mostReviews = 2

// ask asks a reviewer that has not built. A turn that failed is an error, after which the core asks
// the gate again. An approval by who has not opened the work counts for nothing: another reviewer
// is asked, and then it is REVISE.
func (g *gate) ask(ctx context.Context, n int, desk string, checks []string, key string) (stages.Verdict, error) {
	agent, scope := "reviewer", plan.Scope{}
	if n >= 0 {
		agent, scope = g.rec.Stages[n].Agent, g.rec.Stages[n].BatchScope
	}
	thread, err := g.reviewThread(ctx, n, scope)
	if err != nil {
		return stages.Verdict{}, err
	}
	role := g.rec.Roles[agent]
	paper := g.paper(g.rec, max(n, 0))
	paper.Agent, paper.Role, paper.Scope, paper.Final = agent, role.Prompt, scope, n < 0
	paper.Previous, paper.Acceptance, paper.Commands, paper.Changed = g.request.Result.Text, g.rec.Acceptance, checks, g.work.paths
	if paper.Diff, paper.Cut, err = g.work.store.Diff(ctx, g.work.base, g.work.tree, mostDiff, "--text"); err != nil {
		return stages.Verdict{}, err
	}
	var blind stages.Verdict
	var unseen string
	for number, paid, failed := 1, 0, 0; paid < mostReviews; number++ {
		now, err := g.read(ctx)
		if err == nil {
			err = now.stopped()
		}
		if err != nil {
			return stages.Verdict{}, err
		}
		turnKey := fmt.Sprintf("%s/%d", key, number)
		dir, fresh, err := g.checkout(ctx, desk, number, turnKey)
		if err != nil {
			return stages.Verdict{}, err
		}
		system, prompt := prompts.Review(paper)
		var batches []plan.Scope
		if paper.Final {
			batches = paper.Scopes
		}
		turn := g.turn(role, thread, dir, system, prompt, batches)
		turn.Key = turnKey
		started, err := g.host.Agent.Start(ctx, &turn)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict {
			continue // it was asked in other words
		}
		if err != nil {
			return stages.Verdict{}, g.atItsLimit(ctx, err)
		}
		ended, err := g.awaitTurn(ctx, started.RunID)
		if err != nil {
			return stages.Verdict{}, err
		}
		if ended.State != pluginsdk.RunSucceeded || ended.Result == nil || ended.Result.Failure != nil {
			if !unbegun(ended) {
				failed++
			}
			if err := g.failed(ctx, n, started, ended, failed); err != nil {
				return stages.Verdict{}, err
			}
			continue
		}
		said, missing, err := g.heard(ctx, started.RunID, ended.Result, dir, checks, paper.Whole())
		if err == nil && ended.Result.Demo && !g.rec.Demo {
			g.rec, err = g.change(ctx, func(r *record) error { r.Demo = true; return nil })
		}
		if err == nil && started.Existed && fresh && said.Decision == stages.Approve { // what it has written is gone: nobody knows whether that said the same
			if err := g.spend(ctx, n, started.RunID); err != nil {
				return stages.Verdict{}, err
			}
			continue
		}
		if err == nil && len(missing) == 0 && said.Decision == stages.Approve {
			err = g.stillSo(ctx, &said)
		}
		if err != nil || len(missing) == 0 || said.Decision != stages.Approve {
			return said, err
		}
		if paid++; paid < mostReviews {
			if err := g.spend(ctx, n, started.RunID); err != nil {
				return stages.Verdict{}, err
			}
		}
		blind, unseen = said, some(missing)
		paper.Feedback = "It approved without having opened these changed files: " + unseen + "."
	}
	blind.Decision = stages.Revise
	blind.Issues = append(blind.Issues, "The reviewer approved without opening these changed files, so the approval does not count: "+unseen+".")
	return blind, nil
}

// stillSo has an approval not count when the directory is not as the reviewer has seen it.
func (g *gate) stillSo(ctx context.Context, said *stages.Verdict) error {
	changed, err := g.changedMeanwhile(ctx)
	if len(changed) > 0 {
		said.Decision = stages.Revise
		said.Issues = append(said.Issues, "While the work was reviewed these files have changed in the directory, so that the approval does not count: "+some(changed)+
			". End what still writes there, see that the work is whole, and leave it to be reviewed again.")
	}
	return err
}

// reviewThread is the thread in which the reviews of a batch are shown, apart from its builder's.
func (g *gate) reviewThread(ctx context.Context, n int, scope plan.Scope) (string, error) {
	root, err := g.task(ctx, g.id)
	if err != nil {
		return "", err
	}
	title := cmp.Or(scope.String(), "all")
	if n < 0 {
		title = "last review"
	}
	answer, err := g.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
		Source: name, SourceID: fmt.Sprintf("%s/review/%d/%s", g.id, g.rec.Redesigns, title), Name: "Review: " + title, Kind: pluginsdk.ThreadTask, ParentThreadID: root.ThreadID,
	}})
	if err != nil {
		return "", err
	}
	if n >= 0 {
		_, err = g.change(ctx, func(r *record) error {
			if n < len(r.Stages) {
				r.Stages[n].ThreadID = answer.Thread.ID
			}
			return nil
		})
	}
	return answer.Thread.ID, err
}

// checkout makes the directory in which a reviewer sits, one for each that is asked in a round: the files of the work, which are no git
// checkout and which nothing is merged from. A review that lies there is none of this reviewer's.
// One that was made for the same turn is kept as it is: the reviewer may be at work in it. fresh
// says that it was made now.
func (g *gate) checkout(ctx context.Context, desk string, number int, turn string) (dir string, fresh bool, err error) {
	top, err := g.desk(ctx, desk)
	if err != nil {
		return "", false, err
	}
	dir = filepath.Join(top, fmt.Sprintf("review-%d", number))
	made, mark := dir+".of", turn+" "+g.work.tree
	if of, err := os.ReadFile(made); err == nil && string(of) == mark {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			return dir, false, nil
		}
	}
	failed := func(err error) (string, bool, error) {
		return "", false, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "ready a checkout for the review: %w", err)
	}
	if err := os.Remove(made); err != nil && !os.IsNotExist(err) {
		return failed(err)
	}
	if err := scratch.RemoveAll(dir); err != nil {
		return failed(err)
	}
	if err := g.work.store.Checkout(ctx, g.work.tree, dir); err != nil {
		return "", false, err
	}
	if err := os.Remove(filepath.Join(dir, ".brain", brain.ReviewFile)); err != nil && !os.IsNotExist(err) {
		return failed(err)
	}
	if err := os.WriteFile(made, []byte(mark), 0o600); err != nil {
		return failed(err)
	}
	return dir, true, nil
}

// reviewersMayNot are the tools that no reviewer has: those that reach other agents, people, plugins
// or the network.
var reviewersMayNot = []string{
	"Agent", "Artifact", "AskUserQuestion", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "ListMcpResourcesTool", "Monitor", "ReadMcpResourceDirTool",
	"ReadMcpResourceTool", "SendMessage", "ShareOnboardingGuide", "Skill", "Task", "TaskOutput", "TaskStop", "ToolSearch", "WaitForMcpServers", "WebFetch", "WebSearch", "Workflow",
	"mcp__*", "Bash(git push:*)", "Bash(git merge:*)",
}

func (g *gate) turn(role roles.Role, thread, dir, system, prompt string, final []plan.Scope) pluginsdk.StartTurnRequest {
	c := g.config.Load()
	var allowed []string
	for _, e := range g.request.Evidence {
		if e.Plugin == validationPlugin && e.Kind == "command" && plainCommand(e.Command) {
			allowed = append(allowed, "Bash("+e.Command+")")
		}
	}
	return pluginsdk.StartTurnRequest{
		Purpose: "workflow-review", ThreadID: thread, TaskID: g.request.Task.ID, Session: pluginsdk.SessionFresh,
		Prompt: prompt, SystemPrompt: system, Model: role.Model, PermissionMode: "acceptEdits", Cwd: dir, AllowedTools: allowed,
		DisallowedTools: slices.Concat(reviewersMayNot, role.Denies(false)), JSONSchema: verdict.Schema(final...),
		CostCapUSD: c.ReviewCost, Timeout: time.Duration(c.ReviewSeconds) * time.Second,
	}
}

// plainCommand reports whether a command can stand in a permission rule as it is.
func plainCommand(command string) bool {
	for _, char := range command {
		plain := char >= 'a' && char <= 'z' || char >= 'A' && char <= 'Z' || char >= '0' && char <= '9'
		if !plain && !strings.ContainsRune(" ./_-=@,+:", char) {
			return false
		}
	}
	return command != "" && !strings.HasSuffix(command, ":")
}

// heard reads what a reviewer has said, in its answer and in the file that it has written. missing
// are the changed files for want of which an approval does not count; whole says that it was shown all of the change.
func (g *gate) heard(ctx context.Context, runID string, result *pluginsdk.InvokeResult, dir string, checks []string, whole bool) (said stages.Verdict, missing []string, err error) {
	file, written, fault := brain.ReadIn(dir, brain.ReviewFile, mostReview)
	if fault != nil { // it is there, and says nothing that can be read
		file, written = "", true
		g.log.Warn("a review's file is not read", "workflow", g.id, "err", fault)
	}
	said = verdict.Read(result.StructuredOutput, file, written)
	answer, err := g.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: runID})
	if err == nil {
		said.Base, err = g.work.ground(ctx)
	}
	if err != nil {
		return said, nil, err
	}
	run := answer.Run
	said.Call = g.request.Call.ID
	said.RunID, said.SessionID, said.Tree, said.Checks, said.At, said.CostUSD = runID, run.SessionID, g.work.tree, checks, now(), run.CostUSD
	if !run.StartedAt.IsZero() && !run.FinishedAt.IsZero() {
		said.Seconds = run.FinishedAt.Sub(run.StartedAt).Seconds()
	}
	if written {
		g.keepReview(file)
	}
	missing, err = g.unopened(ctx, run, dir, checks, whole)
	return said, missing, err
}

const mostReview = 256 << 10

// keepReview puts a review where people and builders read it.
func (g *gate) keepReview(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.brain == nil {
		return
	}
	if err := g.brain.WriteReview(text); err != nil {
		g.log.Warn("a review could not be written to the project's directory", "workflow", g.id, "err", err)
	}
}
