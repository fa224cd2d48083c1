package tasks

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What plugins ask for. Who may ask for it is for the caller to see to. A transition
// that was made before is answered with the task as it is now.

// Create makes a task and its thread; existed: the key was known. OnTaskCreate is asked
// afterwards.
func (r *Room) Create(ctx context.Context, task ledger.NewTask) (t pluginsdk.Task, existed bool, err error) {
	if err := r.open(); err != nil {
		return t, false, err
	}
	r.config.Fault("create", task.Key)
	task.MaxDepth, task.Directories = r.config.MaxDepth, r.config.Directories
	if task.ParentThreadID != "" && task.FromTaskID == "" && task.Cwd == "" {
		parent, err := r.store.Thread(ctx, task.ParentThreadID)
		if err == nil && parent.Apart && ledger.Apart(parent.Cwd) { // the thread's people are not to reach the workspace by a task either
			task.OwnDirectory, task.Directories = true, filepath.Join(parent.Cwd, "tasks")
		} else if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound { // the store says what is wrong with its parent
			return t, false, err
		}
	}
	if task.OwnDirectory && task.Cwd == "" && task.Directories == "" {
		return t, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "ownDirectory: there is nowhere to make one")
	}
	t, isNew, err := r.store.CreateTask(ctx, task)
	if err != nil {
		return t, false, err
	}
	r.config.Fault("created", t.ID)
	if isNew {
		r.publish(pluginsdk.EventTaskCreated, ledger.Task{Task: t}, "")
	}
	r.Wake(t.ID)
	return t, !isNew, nil
}

// tries is how often a request is decided anew because somebody else has moved the task
// meanwhile.
const tries = 100

// request decides on a task as it is, and moves it, until nobody was faster. decide
// returns no move for what was done before.
func (r *Room) request(ctx context.Context, id, fault string, decide func(ledger.Task) (*ledger.TaskMove, error)) (pluginsdk.Task, error) {
	for range tries {
		if err := r.open(); err != nil {
			return pluginsdk.Task{}, err
		}
		task, err := r.store.TaskState(ctx, id)
		if err != nil {
			return pluginsdk.Task{}, err
		}
		move, err := decide(task)
		if err != nil || move == nil {
			return task.Task, err
		}
		r.config.Fault(fault, id)
		moved, err := r.move(ctx, *move)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
			continue
		}
		if move.From.Phase != ledger.PhaseIdle {
			r.interrupt(id)
		}
		r.Wake(id) // also after an error: it may have been made
		return moved.Task.Task, err
	}
	return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "task %s is moved all the time; try again", id)
}

// History returns a task's iterations, and what was answered after an answer, at most so
// many.
func (r *Room) History(ctx context.Context, id string, after int64, limit int) (iterations []pluginsdk.TaskIteration, answers []pluginsdk.TaskAnswer, err error) {
	iterations, stored, err := r.store.TaskHistory(ctx, id, after, limit)
	for _, a := range stored {
		answers = append(answers, pluginsdk.TaskAnswer{
			ID: a.ID, Iteration: a.Iteration, Round: a.Round, Hook: hookOf[a.Phase], Plugin: a.Plugin, Author: a.Author,
			Answer: a.Answer, Feedback: a.Feedback, Evidence: bounded(a.Evidence), At: a.At, Origin: a.Origin, // what older versions have stored may be more
		})
	}
	return iterations, answers, err
}

// Iterate begins the next iteration: submits its content, before which the task's context
// stands the first time that something is submitted, or, with Own, leaves the work to the plugin.
func (r *Room) Iterate(ctx context.Context, request pluginsdk.IterateTaskRequest) (pluginsdk.Task, pluginsdk.Accepted, error) {
	if request.Own && (request.Content != "" || len(request.DisallowedTools) > 0) {
		return pluginsdk.Task{}, pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "content, disallowedTools: must be empty with own: nothing is submitted")
	}
	for range tries {
		if err := r.open(); err != nil {
			return pluginsdk.Task{}, pluginsdk.Accepted{}, err
		}
		task, err := r.store.TaskState(ctx, request.ID)
		if err != nil {
			return pluginsdk.Task{}, pluginsdk.Accepted{}, err
		}
		if request.Iteration > 0 && request.Iteration <= task.CurrentIteration {
			if isOwn(task, request.Iteration) {
				return task.Task, pluginsdk.Accepted{}, nil
			}
			accepted, err := r.store.Submitted(ctx, ledger.SourceTask, ledger.IterationKey(task.ID, request.Iteration))
			return task.Task, accepted, err
		}
		accepted, err := r.iterate(ctx, task, request)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeStale && iterate.may(task) {
			continue
		}
		if err == nil {
			task, err = r.store.TaskState(ctx, request.ID)
		}
		return task.Task, accepted, err
	}
	return pluginsdk.Task{}, pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "task %s is moved all the time; try again", request.ID)
}

func (r *Room) iterate(ctx context.Context, task ledger.Task, request pluginsdk.IterateTaskRequest) (pluginsdk.Accepted, error) {
	move, err := moveBy(task, iterate, func(to *ledger.Task) { to.CurrentIteration = request.Iteration })
	switch {
	case err != nil:
		return pluginsdk.Accepted{}, err
	case request.Iteration != task.CurrentIteration+1:
		return pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "iteration %d: task %s is at its iteration %d", request.Iteration, task.ID, task.CurrentIteration)
	case request.Iteration > task.MaxIterations:
		return pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeExhausted, "task %s has had its %d iterations", task.ID, task.MaxIterations)
	}
	least, err := r.store.TaskCap(ctx, task.ID)
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	if !request.Own && least.TaskID != "" && least.Left() == 0 {
		return pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeExhausted, "task %s has cost %.2f USD of %.2f", least.TaskID, least.CostUSD, least.CapUSD)
	}
	r.config.Fault("iterate", task.ID)
	if request.Own {
		beginOwn(&move.To)
		_, err := r.move(ctx, move)
		if err == nil {
			r.config.Fault("iterated", task.ID)
		}
		return pluginsdk.Accepted{}, err
	}
	content := request.Content
	if firstMessage := request.Iteration == len(task.OwnIterations)+1; firstMessage && task.Context != "" {
		content = task.Context + "\n\n" + content
	}
	submission := pluginsdk.Submission{
		ThreadID: task.ThreadID, Source: ledger.SourceTask, Key: ledger.IterationKey(task.ID, request.Iteration), Content: content, CauseRunID: task.CauseRunID,
	}
	if len(request.DisallowedTools) > 0 {
		submission.Options = &pluginsdk.RunOptions{DisallowedTools: request.DisallowedTools}
	}
	accepted, err := r.inbox.Iterate(ctx, task.Plugin, submission, move)
	if err == nil {
		r.config.Fault("iterated", task.ID)
		r.announce(move)
	}
	return accepted, err
}

// leaveIteration leaves an iteration behind, once: it is handed in, or waits for a person. The
// move is nil when that was done before.
func leaveIteration(task ledger.Task, v verb, iteration int, move func() (ledger.TaskMove, error)) (*ledger.TaskMove, error) {
	if iteration > 0 && iteration <= task.Settled {
		return nil, nil
	}
	if _, err := v.of(task); err != nil {
		return nil, err
	}
	if iteration != task.CurrentIteration || iteration == 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "iteration %d: task %s is at its iteration %d", iteration, task.ID, task.CurrentIteration)
	}
	m, err := move()
	m.To.Settled, m.To.Feedback = iteration, ""
	return &m, err
}

// Evaluate hands in what an iteration came to.
func (r *Room) Evaluate(ctx context.Context, request pluginsdk.EvaluateTaskRequest) (pluginsdk.Task, error) {
	return r.request(ctx, request.ID, "evaluate", func(task ledger.Task) (*ledger.TaskMove, error) {
		return leaveIteration(task, hand, request.Iteration, func() (ledger.TaskMove, error) {
			return moveBy(task, hand, func(to *ledger.Task) {
				to.Result, to.Error, to.Agains, to.Round = request.Result, "", 0, to.Round+1
			})
		})
	})
}

// Suspend has a task wait for a person. Its result is what they may accept: never an
// older iteration's.
func (r *Room) Suspend(ctx context.Context, request pluginsdk.SuspendTaskRequest) (pluginsdk.Task, error) {
	return r.request(ctx, request.ID, "suspend", func(task ledger.Task) (*ledger.TaskMove, error) {
		return leaveIteration(task, suspend, request.Iteration, func() (ledger.TaskMove, error) {
			move, err := r.leaveToAPerson(task, suspend, request.Reason, request.Mark)
			move.To.Result = request.Result
			return move, err
		})
	})
}

// Decide is a person's word on a task that waits, given through a plugin: it is an
// answer as those of plugins are. Why it waited is settled with it.
func (r *Room) Decide(ctx context.Context, by ledger.By, request pluginsdk.DecideTaskRequest) (pluginsdk.Task, error) {
	v := resume
	switch request.Verdict {
	case "", pluginsdk.VerdictReject:
	case pluginsdk.VerdictAccept:
		v = approve
	default:
		return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "verdict: %.50q is not one of accept, reject and none", request.Verdict)
	}
	if err := checkCap(v, request.CostCapUSD); err != nil {
		return pluginsdk.Task{}, err
	}
	author := cmp.Or(by.Author, request.Author, saidBy)
	return r.request(ctx, request.ID, "decide", func(task ledger.Task) (*ledger.TaskMove, error) {
		if request.Iteration != 0 && request.Iteration != task.CurrentIteration {
			return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "task %s is %s at its iteration %d, not at %d: look at that one first",
				task.ID, task.Status, task.CurrentIteration, request.Iteration)
		}
		if v == approve && approve.may(task) && task.Result == "" {
			return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "task %s has no result of its iteration %d: there is nothing to accept; say go on, or have it failed",
				task.ID, task.CurrentIteration)
		}
		move, err := moveBy(task, v, func(to *ledger.Task) {
			to.Round, to.Error, to.Marks, to.Agains = to.Round+1, "", nil, 0
			if to.Feedback = ""; v == resume {
				to.Feedback = request.Feedback
			}
			to.CostCapUSD = cmp.Or(request.CostCapUSD, to.CostCapUSD)
		})
		if err == nil && move.To.CostCapUSD <= task.CostUSD && request.CostCapUSD != 0 {
			err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "costCapUsd: must be more than the %.2f USD that task %s has cost so far, got %.2f", task.CostUSD, task.ID, request.CostCapUSD)
		}
		if move.To.CostCapUSD != task.CostCapUSD {
			move.Permits = fmt.Sprintf("costCapUsd from %.2f to %.2f", task.CostCapUSD, move.To.CostCapUSD)
		}
		move.Answer = &ledger.TaskAnswer{
			TaskID: task.ID, Iteration: task.CurrentIteration, Round: move.To.Round, Phase: ledger.PhaseReviewing,
			Plugin: by.Plugin, Author: author, Answer: string(request.Verdict), Feedback: request.Feedback, At: time.Now(),
			Origin: by.Origin,
		}
		return &move, err
	})
}

// checkCap refuses a cost cap that a person's word cannot have.
func checkCap(v verb, usd float64) error {
	switch {
	case usd == 0:
		return nil
	case !(usd > 0) || math.IsInf(usd, 0): // also what is no number
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "costCapUsd: must be a positive amount in USD, got %v", usd)
	case v == approve:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "costCapUsd: work that is accepted has no use for it; leave it out, or have the task go on")
	}
	return nil
}

// Fail gives a task up.
func (r *Room) Fail(ctx context.Context, id, reason string) (pluginsdk.Task, error) {
	return r.request(ctx, id, "giveUp", func(task ledger.Task) (*ledger.TaskMove, error) {
		if task.Status == pluginsdk.TaskFailed {
			return nil, nil
		}
		move, err := r.giveUp(task, fail, reason)
		return &move, err
	})
}

// Cancel ends a task from any state, its run and the tasks below it included; one that
// is over stays as it is.
func (r *Room) Cancel(ctx context.Context, id, reason string, by ledger.By) (pluginsdk.Task, error) {
	return r.cancel(ctx, id, reason, by)
}

func (r *Room) cancel(ctx context.Context, id, reason string, by ledger.By) (pluginsdk.Task, error) {
	task, err := r.request(ctx, id, "giveUp", func(task ledger.Task) (*ledger.TaskMove, error) {
		if task.Status.Final() {
			return nil, nil
		}
		move, err := r.giveUp(task, cancel, reason)
		return &move, err
	})
	if err != nil || task.Status != pluginsdk.TaskCancelled || task.RunID == "" || !task.CompletedAt.IsZero() {
		return task, err
	}
	// Now, so that the run says whose word it was. What this does not end, the lane does.
	if _, err := r.inbox.Cancel(ctx, task.RunID, by); err != nil {
		r.config.Log.Warn("the run of a task that was cancelled could not be ended; trying again", "task", id, "run", task.RunID, "err", err)
	}
	return task, nil
}
