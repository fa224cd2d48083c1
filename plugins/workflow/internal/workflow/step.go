package workflow

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/prompts"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// most is how many iterations and rejections a task of a workflow may have: the limits that count are
// the workflow's own.
const most = 1000

// Marks of a workflow that waits.
const (
	markStopped = "stopped"
	markCost    = "cost"
)

// wasStopped is what a worker is told that goes on after its workflow was stopped.
const wasStopped = "You were stopped. See how far you came, and go on."

// mostFailures is how many turns of a stage may fail in a row until a person is asked.
const mostFailures = 5

// stage takes a stage to its end.
func (f *flow) stage(ctx context.Context, i int) error {
	rec, err := f.read(ctx)
	if err != nil {
		return err
	}
	if rec.Stages[i].Role() == stages.Reviewer { // one whose builder is before it was done with that
		return f.reviewAlone(ctx, i)
	}
	task, err := f.stageTask(ctx, i)
	for err == nil {
		f.Fault("stage", f.id)
		switch {
		case task.Status == pluginsdk.TaskCompleted && over(task):
			return f.passed(ctx, i, task)
		case over(task):
			return f.ended(ctx, i, task)
		case task.Status == pluginsdk.TaskWaiting:
			if rec, err = f.read(ctx); err != nil {
				return err
			}
			if rec.StoppedBy != "" {
				return f.interrupted(ctx, i, rec, task)
			}
			return &held{i, stages.Hold{
				Reason: fmt.Sprintf("its task waits: %s (/tasks approve %s accepts its work as it is: no reviewer looks at it then)", task.Error, task.ID), Mark: slices.Concat(task.Marks, []string{""})[0],
			}}
		case task.Status == pluginsdk.TaskRunning:
			task, err = f.work(ctx, i, task)
		default:
			task, err = f.await(ctx, task)
		}
	}
	return err
}

// ended is due when the task of a stage was ended without its work being accepted.
func (f *flow) ended(ctx context.Context, i int, task pluginsdk.Task) error {
	continued := false // by a person, who knows that it was ended
	rec, err := f.change(ctx, func(r *record) error {
		if i >= len(r.Stages) || r.Stages[i].TaskID != task.ID {
			return errAnew
		}
		s := &r.Stages[i]
		s.Status, continued = stages.Failed, s.Due != nil && s.Due.Iteration == 0 // another attempt follows
		return nil
	})
	if err == nil && continued {
		err = errAnew
	}
	if err != nil {
		return err
	}
	if rec.StoppedBy != "" {
		return &held{i, stages.Hold{Reason: "stopped by " + rec.StoppedBy, Mark: markStopped}}
	}
	return &held{i, stages.Hold{Reason: fmt.Sprintf("its task %s is %s: %s", short(task.ID), task.Status, cmp.Or(task.Error, "no reason was given")), Mark: "stage"}}
}

// stageTask is the task of a stage. One that has none, or whose last one is over, gets another, which
// goes on from that.
func (f *flow) stageTask(ctx context.Context, i int) (task pluginsdk.Task, err error) {
	rec, err := f.read(ctx)
	if err != nil {
		return task, err
	}
	s := rec.Stages[i]
	if s.TaskID != "" && s.Status != stages.Failed && s.Status != stages.Pending {
		return f.task(ctx, s.TaskID)
	}
	if s.Hold != nil {
		return task, &held{i, *s.Hold}
	}
	if err := f.endLast(ctx, s); err != nil {
		return task, err
	}
	root, err := f.task(ctx, f.id)
	if err != nil {
		return task, err
	}
	role := rec.Roles[s.Agent]
	labels := map[string]string{labelID: f.id, labelStage: strconv.Itoa(i), labelAgent: s.Agent, labelScope: "none", labelKeep: ""}
	delete(labels, labelKeep)
	if s.Role() == stages.Builder {
		labels[labelScope] = "checks"
	}
	if scope := s.BatchScope.String(); scope != "" {
		labels[labelBatch] = scope
	}
	asked := pluginsdk.NewTask{
		ParentThreadID: root.ThreadID, ParentTaskID: root.ID, RequestedBy: root.RequestedBy,
		OriginalMessage: headline(rec, s), Prompt: rec.Request, Model: role.Model, Cwd: root.Cwd, Labels: labels,
		MaxIterations: most, MaxValidationIterations: most, CostCapUSD: root.CostCapUSD,
	}
	if s.TaskID != "" {
		asked.FromTaskID, asked.ParentThreadID, asked.ParentTaskID = s.TaskID, "", ""
	}
	created, err := f.host.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: fmt.Sprintf("%s/%s/%d/%d", f.id, planKey(rec), i, s.Attempt+1), Task: asked})
	if err != nil {
		return task, err
	}
	f.Fault("created", f.id)
	_, err = f.change(ctx, func(r *record) error {
		if i >= len(r.Stages) || r.Stages[i].Agent != s.Agent || r.Stages[i].BatchScope != s.BatchScope || r.Stages[i].Attempt != s.Attempt {
			return errAnew
		}
		to := &r.Stages[i]
		to.TaskID, to.ThreadID, to.Attempt, to.Status = created.Task.ID, created.Task.ThreadID, s.Attempt+1, stages.Running
		to.CostBefore = to.CostUSD
		if to.StartedAt.IsZero() {
			to.StartedAt = now()
		}
		if to.Due != nil {
			to.Due.Iteration = 1
		}
		return nil
	})
	if err == nil {
		f.announce(ctx)
	}
	return created.Task, err
}

// endLast ends the task of a stage's last attempt, if that was cut off: the next one goes on in its thread.
func (f *flow) endLast(ctx context.Context, s stages.Stage) error {
	if s.TaskID == "" {
		return nil
	}
	task, err := f.task(ctx, s.TaskID)
	if err == nil && !task.Status.Final() {
		_, err = f.host.Tasks.Fail(ctx, &pluginsdk.FailTaskRequest{ID: task.ID, Reason: "the stage goes on as another task"})
	}
	for err == nil && !over(task) {
		task, err = f.await(ctx, task)
	}
	return err
}

// planKey tells the stages of a plan from those of the plan before: their indexes are other stages'.
func planKey(rec record) string { return fmt.Sprintf("plan-%d", rec.Redesigns) }

// headline is what a stage's task is called, and its commit.
func headline(rec record, s stages.Stage) string {
	scope := s.BatchScope.String()
	if scope == "" {
		return fmt.Sprintf("%s: %s", s.Agent, cut(firstLine(rec.Request), 60))
	}
	var titles []string
	for _, task := range rec.Tasks {
		if s.BatchScope.Has(task.Number) {
			titles = append(titles, task.Title)
		}
	}
	return scope + ": " + strings.Join(titles, "; ")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// work makes the next step of a stage's task that is running, and returns the task as it is then.
func (f *flow) work(ctx context.Context, i int, task pluginsdk.Task) (pluginsdk.Task, error) {
	rec, err := f.read(ctx)
	if err != nil {
		return task, err
	}
	if i >= len(rec.Stages) || rec.Stages[i].TaskID != task.ID {
		return task, errAnew
	}
	s := rec.Stages[i]
	if rec.Redesign != "" || rec.StoppedBy != "" {
		return task, f.interrupted(ctx, i, rec, task)
	}
	if s.Hold != nil {
		return task, &held{i, *s.Hold}
	}
	if task.CurrentIteration == 0 {
		if err := f.recordBase(ctx, deskOf(i), task); err != nil {
			return task, err
		}
		switch due := s.Due; {
		case due != nil && due.Iteration == 0: // it is said with the prompt, once
			return task, f.dueAt(ctx, i, 1)
		case due != nil && (due.Waived != "" || due.Again):
			return f.takeAsItIs(ctx, i, task)
		}
		feedback := ""
		if s.Due != nil {
			feedback = s.Due.Words
		}
		return f.iterate(ctx, i, task, f.prompt(rec, i, task, feedback))
	}
	if due := s.Due; due != nil && (due.Iteration == 0 || due.Iteration == task.CurrentIteration+1) {
		if due.Iteration == 0 { // it is said once, whatever is cut off
			return task, f.dueAt(ctx, i, task.CurrentIteration+1)
		}
		if due.Waived != "" || due.Again {
			return f.takeAsItIs(ctx, i, task)
		}
		if s.Failures == 0 && f.outOfBudget(task) {
			return f.renew(ctx, i, task)
		}
		return f.iterate(ctx, i, task, due.Words)
	}
	if task.RunID == "" { // an iteration without a turn: a person has accepted the work as it is
		return f.evaluate(ctx, i, task, task.Result)
	}
	run, err := f.wait(ctx, task.RunID)
	if err != nil {
		return task, err
	}
	if err := f.noteRun(ctx, i, task, run); err != nil {
		return task, err
	}
	switch {
	case run.State == pluginsdk.RunCancelled:
		if rec, err = f.read(ctx); err == nil && rec.StoppedBy == "" {
			err = &held{i, stages.Hold{Reason: "its turn was stopped: " + cmp.Or(run.Error, "no reason was given"), Mark: markStopped, Then: "Your turn was stopped. See how far you came, and go on."}}
		}
		return task, err
	case run.State == pluginsdk.RunFailed, run.Result == nil, run.Result.Failure != nil:
		return f.afterFailure(ctx, i, task, run)
	}
	if why, blocked := blockedBy(run.Result.Text); blocked {
		return task, &held{i, stages.Hold{Reason: why, Mark: "blocked"}}
	}
	return f.evaluate(ctx, i, task, run.Result.Text)
}

// dueAt notes at which iteration a stage's worker is told what is due.
func (f *flow) dueAt(ctx context.Context, i, iteration int) error {
	_, err := f.change(ctx, func(r *record) error {
		if i < len(r.Stages) && r.Stages[i].Due != nil {
			r.Stages[i].Due.Iteration = iteration
		}
		return nil
	})
	return err
}

// interrupted is due when the workflow is stopped, or planned anew, while a stage is at work.
func (f *flow) interrupted(_ context.Context, i int, rec record, _ pluginsdk.Task) error {
	if rec.Redesign != "" {
		return errAnew
	}
	return &held{i, stages.Hold{Reason: "stopped by " + rec.StoppedBy, Mark: markStopped, Then: wasStopped}}
}

// wait returns a run once it is over; of one that was merged, that which answers it.
func (f *flow) wait(ctx context.Context, id string) (pluginsdk.Run, error) {
	for {
		answer, err := f.host.Runs.Wait(ctx, &pluginsdk.WaitRunRequest{ID: id})
		if err != nil {
			return pluginsdk.Run{}, err
		}
		if answer.Run.State != pluginsdk.RunMerged {
			return answer.Run, nil
		}
		id = answer.Run.MergedInto
	}
}

func (f *flow) noteRun(ctx context.Context, i int, task pluginsdk.Task, run pluginsdk.Run) error {
	now, err := f.task(ctx, task.ID)
	if err != nil {
		return err
	}
	_, err = f.change(ctx, func(r *record) error {
		if i >= len(r.Stages) || r.Stages[i].TaskID != task.ID {
			return errAnew
		}
		s := &r.Stages[i]
		s.RunID, s.SessionID, s.CostUSD = run.ID, cmp.Or(run.SessionID, s.SessionID), s.CostBefore+now.CostUSD
		if run.State == pluginsdk.RunSucceeded {
			s.Failures = 0
		}
		if s.Due != nil && s.Due.Iteration > 0 && s.Due.Iteration <= task.CurrentIteration {
			s.Due = nil
		}
		return nil
	})
	return err
}

// blockedBy reads whether a worker says that it cannot go on, and why.
func blockedBy(text string) (why string, blocked bool) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for n := len(lines) - 1; n >= 0 && n >= len(lines)-5; n-- {
		if rest, ok := strings.CutPrefix(strings.Trim(lines[n], " *_"), "BLOCKED:"); ok {
			return cut(cmp.Or(strings.Trim(strings.Join(append([]string{rest}, lines[n+1:]...), "\n"), " *_\n"), "its worker does not say why"), 8<<10), true
		}
	}
	return "", false
}

// iterate gives a stage's worker its next message. A stage without leave for it starts no agents of
// its own.
func (f *flow) iterate(ctx context.Context, i int, task pluginsdk.Task, words string) (pluginsdk.Task, error) {
	rec, err := f.read(ctx)
	if err != nil {
		return task, err
	}
	if rec.StoppedBy != "" {
		return task, f.interrupted(ctx, i, rec, task)
	}
	role := rec.Roles[rec.Stages[i].Agent]
	denied := append(role.Denies(rec.Stages[i].Teams), "mcp__harness__workflow__*")
	if words, err = f.inFull(ctx, rec, i, task, words); err != nil {
		return task, err
	}
	f.Fault("iterate", f.id)
	answer, err := f.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration + 1, Content: words, DisallowedTools: denied})
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeExhausted:
		return f.exhausted(ctx, i, task, err)
	case pluginsdk.CodeOf(err) == pluginsdk.CodeStale:
		return f.task(ctx, task.ID)
	case err != nil:
		return task, err
	}
	if rec, err = f.read(ctx); err == nil && rec.StoppedBy != "" { // it was stopped meanwhile
		err = f.interrupt(ctx, task.ID, rec.StoppedBy)
	}
	return answer.Task, err
}

// inFull has a worker told all of its stage again whose session is gone, such as after a turn that failed
// before it said anything.
func (f *flow) inFull(ctx context.Context, rec record, i int, task pluginsdk.Task, words string) (string, error) {
	if task.CurrentIteration == 0 || rec.Stages[i].SessionID == "" {
		return words, nil
	}
	answer, err := f.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: task.ThreadID})
	if err != nil || answer.Thread.SessionID != "" {
		return words, err
	}
	return f.prompt(rec, i, task, words), nil
}

// exhausted tells a limit, which needs a person, from room that comes back.
func (f *flow) exhausted(ctx context.Context, i int, task pluginsdk.Task, cause error) (pluginsdk.Task, error) {
	root, err := f.task(ctx, f.id)
	if err != nil {
		return task, err
	}
	if root.CostUSD >= root.CostCapUSD {
		return task, f.overBudget(i, root)
	}
	if f.outOfBudget(task) {
		return f.renew(ctx, i, task)
	}
	return task, cause
}

func (f *flow) outOfBudget(task pluginsdk.Task) bool { return task.CostUSD >= task.CostCapUSD }

func (f *flow) overBudget(i int, root pluginsdk.Task) *held {
	return &held{i, stages.Hold{
		Reason: fmt.Sprintf("the workflow has cost $%.2f of the $%.2f that it may (continue it with cost=USD)", root.CostUSD, root.CostCapUSD), Mark: markCost,
		Then: "Your turn was ended because the workflow had come to its cost limit, which is raised now. See how far you came, and go on.",
	}}
}

// renew ends a task that has come to a limit which the workflow has raised, so that the stage goes on
// with another in the same thread and session.
func (f *flow) renew(ctx context.Context, i int, task pluginsdk.Task) (pluginsdk.Task, error) {
	_, err := f.change(ctx, func(r *record) error {
		if i >= len(r.Stages) || r.Stages[i].TaskID != task.ID {
			return errAnew
		}
		r.Stages[i].Status = stages.Failed
		return nil
	})
	if err != nil {
		return task, err
	}
	if _, err := f.host.Tasks.Fail(ctx, &pluginsdk.FailTaskRequest{ID: task.ID, Reason: "the workflow's limit was raised: the stage goes on as another task"}); err != nil {
		return task, err
	}
	for !over(task) {
		if task, err = f.await(ctx, task); err != nil {
			return task, err
		}
	}
	return task, errAnew
}

// takeAsItIs has the work, or a person's acceptance of it, looked at by the gate without another turn of the worker.
func (f *flow) takeAsItIs(ctx context.Context, i int, task pluginsdk.Task) (pluginsdk.Task, error) {
	answer, err := f.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration + 1, Own: true})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeExhausted {
		return f.exhausted(ctx, i, task, err)
	}
	if err != nil {
		return task, err
	}
	return answer.Task, nil
}

// evaluate hands an answer in. When the task is running afterwards it was handed in once before, and
// was not accepted.
func (f *flow) evaluate(ctx context.Context, i int, task pluginsdk.Task, result string) (pluginsdk.Task, error) {
	f.Fault("evaluate", f.id)
	answer, err := f.host.Tasks.Evaluate(ctx, &pluginsdk.EvaluateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration, Result: cmp.Or(result, "The work is as it was.")})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
		return f.task(ctx, task.ID)
	}
	if err != nil || answer.Task.Status != pluginsdk.TaskRunning {
		return answerTask(answer, task), err
	}
	rec, err := f.rejected(ctx, i, answer.Task)
	switch {
	case err != nil:
		return task, err
	case rec.Redesign != "":
		return task, errAnew
	case i < len(rec.Stages) && rec.Stages[i].Hold != nil:
		return task, &held{i, *rec.Stages[i].Hold}
	}
	return f.iterate(ctx, i, answer.Task, "This was not accepted:\n\n"+cmp.Or(answer.Task.Feedback, "Nothing was said of it. Look at it once more."))
}

// rejected counts a rejection by another plugin, such as for the project's checks, after which the gate
// of this one was not asked. Past the limit a person is.
func (f *flow) rejected(ctx context.Context, i int, task pluginsdk.Task) (record, error) {
	var last pluginsdk.TaskAnswer
	for request := (&pluginsdk.TaskHistoryRequest{ID: task.ID}); ; {
		page, err := f.host.Tasks.History(ctx, request)
		if err != nil {
			return record{}, err
		}
		for _, said := range page.Answers {
			if request.After = said.ID; said.Hook == pluginsdk.HookTaskComplete && said.Answer == string(pluginsdk.VerdictReject) {
				last = said
			}
		}
		if !page.More {
			break
		}
	}
	if last.Plugin == "" || last.Plugin == name || last.Author != "" || last.Iteration != task.CurrentIteration {
		return f.read(ctx)
	}
	return f.change(ctx, func(r *record) error {
		if i >= len(r.Stages) || r.Stages[i].TaskID != task.ID {
			return errAnew
		}
		r.checked(i, fmt.Sprintf("%s/%s/%d", last.Plugin, task.ID, last.ID), cmp.Or(last.Feedback, "the plugin "+last.Plugin+" did not accept it"))
		s := &r.Stages[i]
		if due := s.Due; due != nil && due.Waived != "" && due.Iteration == task.CurrentIteration && s.Hold == nil {
			s.Hold = &stages.Hold{Mark: "checks", Then: "This was not accepted:\n\n" + last.Feedback, Reason: fmt.Sprintf(
				"the plugin %s does not accept what %s has accepted as it is (accept=yes once more takes it all the same): %s", last.Plugin, due.Waived, last.Feedback)}
			s.Due = nil
		}
		if s.Hold != nil {
			s.Hold.Plugin = last.Plugin
		}
		return nil
	})
}

func answerTask(answer *pluginsdk.EvaluateTaskResponse, task pluginsdk.Task) pluginsdk.Task {
	if answer == nil {
		return task
	}
	return answer.Task
}

// afterFailure sends a worker on whose turn has failed, after a rest that grows with each failure in
// a row.
func (f *flow) afterFailure(ctx context.Context, i int, task pluginsdk.Task, run pluginsdk.Run) (pluginsdk.Task, error) {
	root, err := f.task(ctx, f.id)
	if err != nil {
		return task, err
	}
	if root.CostUSD >= root.CostCapUSD || run.Result != nil && run.Result.Failure != nil && run.Result.Failure.Kind == pluginsdk.FailureBudget {
		return task, f.overBudget(i, root)
	}
	rec, err := f.change(ctx, func(r *record) error {
		if i >= len(r.Stages) || r.Stages[i].TaskID != task.ID {
			return errAnew
		}
		s := &r.Stages[i]
		s.Failures++
		words := "The last turn failed (" + cut(run.Error, 2<<10) + "). See how far it came, and go on."
		if s.Failures >= mostFailures || lasting(run) {
			s.Hold = &stages.Hold{Reason: "its turn failed: " + cut(run.Error, 2<<10), Mark: "failed", Then: words}
			return nil
		}
		s.Due = &stages.Due{Iteration: task.CurrentIteration + 1, Words: words}
		return nil
	})
	if err != nil {
		return task, err
	}
	if hold := rec.Stages[i].Hold; hold != nil {
		return task, &held{i, *hold}
	}
	wait := f.Rest << (rec.Stages[i].Failures - 1)
	if left := time.Until(run.FinishedAt.Add(wait)); left > 0 && !rest(ctx, min(left, wait)) {
		return task, context.Cause(ctx)
	}
	return task, nil
}

// lasting reports whether a turn failed in a way that would only be repeated.
func lasting(run pluginsdk.Run) bool {
	if run.Result == nil || run.Result.Failure == nil {
		return false
	}
	failure := run.Result.Failure
	return failure.Kind == pluginsdk.FailureMissing || failure.Kind == pluginsdk.FailureAPI && !failure.Retryable
}

// passed notes that a stage's work was accepted. After an architect's stage the batches are known.
func (f *flow) passed(ctx context.Context, i int, task pluginsdk.Task) error {
	var why string
	rec, err := f.read(ctx)
	if err != nil {
		return err
	}
	if role := rec.Stages[min(i, len(rec.Stages)-1)].Role(); role == stages.Architect || role == stages.Scout {
		if err := f.acceptBrain(ctx, rec, i, task); err != nil {
			return err
		}
	}
	_, err = f.change(ctx, func(r *record) error {
		if i >= len(r.Stages) || r.Stages[i].TaskID != task.ID {
			return errAnew
		}
		s := &r.Stages[i]
		s.Status, s.CompletedAt, s.CostUSD, s.Hold, s.Due = stages.Completed, task.CompletedAt.UTC(), s.CostBefore+task.CostUSD, nil, nil
		r.Left = cut(task.Result, 16<<10)
		if n := r.reviewer(i); n >= 0 {
			reviewer := &r.Stages[n]
			reviewer.Status, reviewer.CompletedAt = stages.Completed, s.CompletedAt
			if last := len(reviewer.Verdicts) - 1; last < 0 || reviewer.Verdicts[last].Decision != stages.Approve { // its task was approved by hand
				reviewer.Verdicts = append(reviewer.Verdicts, stages.Verdict{Decision: stages.Approve, By: "a person", Summary: "A person has approved its task.", At: s.CompletedAt})
			}
		}
		if s.Role() == stages.Architect {
			why = r.planned()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if why != "" {
		f.say(ctx, "plan/"+task.ID, why)
	}
	f.Fault("passed", f.id)
	f.clear(ctx, deskOf(i))
	f.compare(ctx)
	f.announce(ctx)
	return nil
}

// planned divides the plan that was accepted into batches. It returns what is said of that.
func (r *record) planned() string {
	scopes := plan.Batches(len(r.Planned), r.BatchSize)
	batched := slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.BatchScope != plan.Scope{} })
	if batched && len(scopes) == 0 { // a person has accepted it; the tasks are those of the plan before
		r.Planned = nil
		return "The new plan has no tasks. The stages and their tasks stay as they are."
	}
	defer func() { r.Tasks, r.Planned = r.Planned, nil }()
	if slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.Role() == stages.Architect && s.Status == stages.Pending }) {
		return fmt.Sprintf("The plan has %d tasks. It is divided into batches once the architect that comes later has planned too.", len(r.Planned))
	}
	if batched {
		r.Stages = stages.Replan(r.Stages, r.Tasks, r.Planned, scopes)
		return fmt.Sprintf("The new plan has %d tasks in %d batches.", len(r.Planned), len(scopes))
	}
	expanded, why := stages.Expand(r.Stages, scopes)
	r.Stages = expanded
	return cmp.Or(why, fmt.Sprintf("The plan has %d tasks in %d batches.", len(r.Planned), len(scopes)))
}

// redesign goes back to the architect with the findings of a review. What is at work is ended; what
// was merged stays.
func (f *flow) redesign(ctx context.Context, rec record) error {
	for _, s := range rec.Stages {
		if s.TaskID == "" || s.Status == stages.Completed || s.Status == stages.Pending {
			continue
		}
		task, err := f.task(ctx, s.TaskID)
		if err != nil {
			return err
		}
		if !task.Status.Final() {
			if _, err := f.host.Tasks.Fail(ctx, &pluginsdk.FailTaskRequest{ID: task.ID, Reason: "a reviewer asked for another plan"}); err != nil {
				return err
			}
		}
		for !over(task) {
			if task, err = f.await(ctx, task); err != nil {
				return err
			}
		}
	}
	f.Fault("redesign", f.id)
	_, err := f.change(ctx, func(r *record) error {
		at := slices.IndexFunc(r.Stages, func(s stages.Stage) bool { return s.Role() == stages.Architect })
		if at < 0 || r.Redesign == "" {
			return errAnew
		}
		r.Redesigns++
		for i := range r.Stages {
			if s := &r.Stages[i]; i == at || s.Status != stages.Completed {
				s.Status, s.Hold, s.Due, s.CompletedAt, s.Validation = stages.Pending, nil, nil, time.Time{}, nil
			}
		}
		r.Stages[at].Due = &stages.Due{Words: r.Redesign}
		r.Redesign = ""
		return nil
	})
	return err
}

// prompt is what a stage's worker is told first.
func (f *flow) prompt(rec record, i int, task pluginsdk.Task, feedback string) string {
	s := rec.Stages[i]
	p := f.paper(rec, i)
	p.Feedback = feedback
	if commands := task.Labels["validation.checks"]; commands != "" {
		p.Commands = strings.Split(commands, "\n")
	}
	return prompts.Worker(s.Role(), p)
}

// paper is what the prompts of a stage are made from.
func (f *flow) paper(rec record, i int) prompts.Paper {
	s := rec.Stages[i]
	p := prompts.Paper{
		Request: rec.Request, Agent: s.Agent, Role: rec.Roles[s.Agent].Prompt, Scope: s.BatchScope, Tasks: rec.Tasks, Previous: rec.Left, Git: rec.Git,
		Short: !slices.ContainsFunc(rec.Stages, func(s stages.Stage) bool { return s.Role() == stages.Architect }),
	}
	scopes := make(map[plan.Scope]bool)
	for _, other := range rec.Stages {
		if other.BatchScope == (plan.Scope{}) || other.Role() != stages.Builder {
			continue
		}
		scopes[other.BatchScope] = true
		if other.Status == stages.Completed {
			for n := other.BatchScope.First; n <= other.BatchScope.Last; n++ {
				p.Approved = append(p.Approved, n)
			}
		}
	}
	p.Scopes = slices.SortedFunc(maps.Keys(scopes), func(a, b plan.Scope) int { return a.First - b.First })
	return p
}

// cut bounds words by runes' ends, with a mark.
func cut(words string, most int) string {
	if len(words) <= most {
		return words
	}
	return strings.ToValidUTF8(words[:most], "") + " […]"
}
