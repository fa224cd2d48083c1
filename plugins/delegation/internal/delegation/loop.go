package delegation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a worker is told. Words that depend on nothing but the task are the same whenever
// they are sent again.
const (
	reminder = "Your last message does not say how it ended. If there is something left to do, or tasks that you gave to others " +
		"have come in, go on now. If one of those waits for a person, you do too: say BLOCKED: and for what." + again
	goOn = "Go on. When there is nothing left to do, say so." + again
)

// resume takes on all tasks that run.
func (p *Plugin) resume(ctx context.Context) (err error) {
	noneFound := p.running.look()
	for after := ""; ; {
		page, listErr := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{
			Plugin: name, Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskRunning}, After: after,
		}})
		if listErr == nil && len(page.Tasks) == 0 && after == "" {
			noneFound()
		}
		if listErr != nil || len(page.Tasks) == 0 {
			return errors.Join(err, listErr)
		}
		for _, task := range page.Tasks {
			err = errors.Join(err, p.advance(ctx, task))
			after = task.ID
		}
	}
}

// advance makes the step that is due. A task that is not running is somebody else's: the
// gate's, or a person's. What has come too late is no error: somebody has moved the task.
func (p *Plugin) advance(ctx context.Context, task pluginsdk.Task) error {
	if task.Status != pluginsdk.TaskRunning {
		return nil
	}
	err := p.step(ctx, task)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
		return nil
	}
	if err != nil {
		return fmt.Errorf("task %s: %w", task.ID, err)
	}
	return nil
}

func (p *Plugin) step(ctx context.Context, task pluginsdk.Task) error {
	if task.CurrentIteration == 0 {
		return p.iterate(ctx, task, rules+task.Prompt)
	}
	run, err := p.run(ctx, task.RunID)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound { // it was deleted: what it came to is not known any more
		return p.iterate(ctx, task, "What you said last is not known any more. "+goOn)
	}
	if err != nil || !run.State.Final() {
		return err // its end will be told
	}
	said, rest := endingOf(run)
	if left, err := p.leavesToOthers(ctx, task, run, said); err != nil || left {
		return err
	}
	if said == "" && run.State == pluginsdk.RunSucceeded {
		answer, err := p.remind(ctx, task, run)
		if err != nil || !answer.State.Final() {
			return err
		}
		if run = answer; run.State == pluginsdk.RunSucceeded {
			said, rest = endingOf(run)
		}
		if left, err := p.leavesToOthers(ctx, task, run, said); err != nil || left {
			return err
		}
	}
	switch {
	case said == saidDone:
		return p.evaluate(ctx, task, run)
	case said == saidBlocked:
		return p.suspend(ctx, task, pluginsdk.SuspendTaskRequest{Reason: rest, Mark: "blocked", Result: run.Result.Text})
	case run.State == pluginsdk.RunCancelled:
		return p.suspend(ctx, task, pluginsdk.SuspendTaskRequest{Reason: cmp.Or(run.Error, "its turn was stopped"), Mark: "stopped"})
	case run.State == pluginsdk.RunFailed:
		return p.goOnAfterFailure(ctx, task, run)
	}
	return p.iterate(ctx, task, goOn)
}

// run is what answers a message: of a run that was merged into another, that one.
func (p *Plugin) run(ctx context.Context, id string) (pluginsdk.Run, error) {
	answer, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: id})
	switch {
	case err != nil:
		return pluginsdk.Run{}, err
	case answer.Run.State == pluginsdk.RunMerged:
		return p.run(ctx, answer.Run.MergedInto)
	}
	return answer.Run, nil
}

// endingOf reads how a run's answer ends. A run without one has no ending.
func endingOf(run pluginsdk.Run) (said ending, rest string) {
	if run.State != pluginsdk.RunSucceeded || run.Result == nil || run.Result.Failure != nil {
		return "", ""
	}
	return readEnding(run.Result.Text)
}

// leavesToOthers reports whether there is nothing to do for a worker that has ended its turn
// because of the tasks that it has given to others. While one is at work it is left to wait for
// that, also when it says that it is done: once it is over, they have nowhere to come in. One
// that waits for a person it has to speak of itself, for nobody reads of it in a worker's
// thread; of a worker that is done it is said here.
func (p *Plugin) leavesToOthers(ctx context.Context, task pluginsdk.Task, run pluginsdk.Run, said ending) (bool, error) {
	if run.State != pluginsdk.RunSucceeded || said == saidBlocked {
		return false, nil
	}
	page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{ParentTaskID: task.ID, Newest: true}})
	if err != nil {
		return false, err
	}
	var waiting []string
	for _, below := range page.Tasks {
		switch {
		case over(below):
		case below.Status == pluginsdk.TaskWaiting:
			waiting = append(waiting, below.ID)
		default:
			return true, nil // its end will be told
		}
	}
	if said == "" || len(waiting) == 0 {
		return false, nil
	}
	return true, p.suspend(ctx, task, pluginsdk.SuspendTaskRequest{
		Reason: "its worker is done, but what it gave to others waits for a person, and is to be settled first: " + strings.Join(waiting, ", "),
		Mark:   "blocked", Result: run.Result.Text,
	})
}

// remind asks a worker that did not say how it ended, once for each iteration, and returns
// the run of that: the run itself when there is no room for another, so that the next
// iteration is due.
func (p *Plugin) remind(ctx context.Context, task pluginsdk.Task, run pluginsdk.Run) (pluginsdk.Run, error) {
	answer, err := p.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
		ThreadID: task.ThreadID, Key: fmt.Sprintf("%s/reminder/%d", task.ID, task.CurrentIteration), Content: reminder, CauseRunID: run.ID,
	}})
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others may pass
	case "":
		return p.run(ctx, answer.Accepted.RunID)
	case pluginsdk.CodeExhausted, pluginsdk.CodeInvalid:
		return run, nil
	}
	return run, err
}

// evaluate hands an answer in. When the task is running afterwards it was handed in once
// before: the gate has rejected it, or a person has decided.
func (p *Plugin) evaluate(ctx context.Context, task pluginsdk.Task, run pluginsdk.Run) error {
	answer, err := p.host.Tasks.Evaluate(ctx, &pluginsdk.EvaluateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration, Result: run.Result.Text})
	if err != nil || answer.Task.Status != pluginsdk.TaskRunning {
		return err
	}
	return p.iterate(ctx, answer.Task, "This was not accepted:\n"+cmp.Or(answer.Task.Feedback, "nothing was said of it; look at it once more.")+again)
}

// suspend leaves a task to a person. When it is running afterwards they have decided.
func (p *Plugin) suspend(ctx context.Context, task pluginsdk.Task, request pluginsdk.SuspendTaskRequest) error {
	request.ID, request.Iteration = task.ID, task.CurrentIteration
	answer, err := p.host.Tasks.Suspend(ctx, &request)
	if err != nil || answer.Task.Status != pluginsdk.TaskRunning {
		return err
	}
	return p.iterate(ctx, answer.Task, "A person says:\n"+cmp.Or(answer.Task.Feedback, "Go on.")+again)
}

// goOnAfterFailure sends a worker on whose turn has failed, after a rest that grows with
// each failure in a row. What would only fail again fails the task.
func (p *Plugin) goOnAfterFailure(ctx context.Context, task pluginsdk.Task, run pluginsdk.Run) error {
	if reason := lasting(task, run); reason != "" {
		return p.fail(ctx, task, reason)
	}
	history, err := p.host.Tasks.History(ctx, &pluginsdk.TaskHistoryRequest{ID: task.ID, Limit: 1})
	if err != nil {
		return err
	}
	failures := 1 // this one, which may be the reminder's
	for n := len(history.Iterations) - 1; n >= 0; n-- {
		if one := history.Iterations[n]; one.Iteration < task.CurrentIteration {
			if one.State != pluginsdk.RunFailed {
				break
			}
			failures++
		}
	}
	if due := run.FinishedAt.Add(p.config.Load().rest(failures)); p.now().Before(due) {
		p.alarm.at(due)
		return nil
	}
	return p.iterate(ctx, task, "The last turn failed ("+run.Error+"). See how far it came, and go on."+again)
}

// lasting says why a turn failed that would only fail again, and what can be done; empty:
// it may pass. The statuses are those of the Messages API.
func lasting(task pluginsdk.Task, run pluginsdk.Run) string {
	if run.Result == nil || run.Result.Failure == nil {
		return ""
	}
	failure := run.Result.Failure
	again := "; then re-delegate " + task.ID
	switch failure.Kind {
	case pluginsdk.FailureAPI:
		switch {
		case failure.Retryable:
			return ""
		case failure.APIStatus == 401 || failure.APIStatus == 403:
			return failure.Message + again
		case failure.APIStatus == 404 && task.Model != "":
			return fmt.Sprintf("the model %q: %s (re-delegate %s with model=NAME of one that exists)", task.Model, failure.Message, task.ID)
		}
		return fmt.Sprintf("the Messages API refuses what this worker asks, with the model %q: %s (re-delegate %s with another model, or as a new task)",
			cmp.Or(task.Model, "of the thread"), failure.Message, task.ID)
	case pluginsdk.FailureMissing:
		return "the agent cannot be started: " + failure.Message + " (`harness doctor` says what is missing" + again + ")"
	case pluginsdk.FailureBudget:
		return fmt.Sprintf("it has come to its limit: %s (re-delegate %s with cost=USD, or split the work)", failure.Message, task.ID)
	case pluginsdk.FailureUnknownSession, pluginsdk.FailureInterrupted, pluginsdk.FailureCrashed, pluginsdk.FailureSilent,
		pluginsdk.FailureTimeout, pluginsdk.FailureOther:
	}
	return ""
}

// iterate begins the next iteration. A task that may have none any more is given up; one
// for which there is only no room now is tried again.
func (p *Plugin) iterate(ctx context.Context, task pluginsdk.Task, content string) error {
	_, err := p.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration + 1, Content: content})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
		return err
	}
	reason, readErr := p.usedUp(ctx, task.ID)
	if readErr != nil || reason == "" {
		return errors.Join(err, readErr)
	}
	return p.fail(ctx, task, reason)
}

func (p *Plugin) fail(ctx context.Context, task pluginsdk.Task, reason string) error {
	_, err := p.host.Tasks.Fail(ctx, &pluginsdk.FailTaskRequest{ID: task.ID, Reason: reason})
	return err
}

// usedUp says what a task has used up, and what can be done: all its iterations, or all
// that it may cost, or one above it may, which pays for it too. Empty: neither.
func (p *Plugin) usedUp(ctx context.Context, id string) (reason string, err error) {
	first := id
	for id != "" {
		answer, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: id})
		if id != first && pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return "", nil // it was deleted, and pays for nothing
		}
		if err != nil {
			return "", err
		}
		task := answer.Task
		switch {
		case task.CostUSD >= task.CostCapUSD:
			return fmt.Sprintf("task %s has cost %.2f USD of the %.2f that it may (re-delegate %s with cost=USD)", task.ID, task.CostUSD, task.CostCapUSD, first), nil
		case id == first && task.CurrentIteration >= task.MaxIterations:
			last := "the worker did not say that it was done"
			if task.Feedback != "" {
				last = "at last it was said: " + cut(task.Feedback, 1<<10)
			}
			return fmt.Sprintf("its %d iterations are used up; %s (re-delegate %s with other words, or raise the setting maxIterations)", task.MaxIterations, last, first), nil
		}
		id = task.ParentTaskID
	}
	return "", nil
}

// cut bounds words by runes' ends, with a mark.
func cut(words string, most int) string {
	if len(words) <= most {
		return words
	}
	at := most
	for at > 0 && words[at]&0xC0 == 0x80 { // in the middle of a rune
		at--
	}
	return words[:at] + " […]"
}
