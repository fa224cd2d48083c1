package tasks

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// hookOf is what is asked in each phase.
var hookOf = map[ledger.TaskPhase]pluginsdk.Hook{
	ledger.PhaseCreating: pluginsdk.HookTaskCreate, ledger.PhaseReviewing: pluginsdk.HookTaskComplete,
	ledger.PhaseHanding: pluginsdk.HookTaskValidated, ledger.PhaseEnding: pluginsdk.HookTaskFailed,
}

// step does the next thing that the core has to do for a task; done: there is none. The
// plugins are asked one after the other, in the operator's order; who has answered in
// this round is not asked again. When all have, the phase is over.
func (r *Room) step(ctx context.Context, id string, l *lane) (done bool, err error) {
	task, err := r.store.TaskState(ctx, id)
	if err != nil || task.Phase == ledger.PhaseIdle {
		return true, err
	}
	l.said = task.Error
	if task.Phase != ledger.PhaseEnding && strings.HasPrefix(task.Error, waitsFor) {
		task.Error = "" // the next move says so
	}
	if wait := time.Until(task.NotBefore); wait > 0 {
		return false, errLater{wait}
	}
	if task.Phase == ledger.PhaseEnding {
		if err := r.endRuns(ctx, l, task); err != nil {
			return false, err
		}
	}
	if task.Phase == ledger.PhaseCreating && task.OwnDirectory {
		if err := os.MkdirAll(task.FirstCwd, 0o700); err != nil {
			move, err := r.giveUp(task, fail, "its directory could not be made: "+err.Error())
			if err == nil {
				_, err = r.move(ctx, move)
			}
			return false, err
		}
	}
	answers, err := r.store.TaskAnswers(ctx, task.ID, task.CurrentIteration)
	if err != nil {
		return false, err
	}
	for _, plugin := range r.plugins.Answering("", hookOf[task.Phase]) {
		if !answered(answers, task, plugin.Info().Name) {
			return false, r.ask(ctx, l, task, plugin, answers)
		}
	}
	return false, r.conclude(ctx, task, answers)
}

// answered reports whether a plugin has answered in the task's phase and round. (What is
// said at the creation is said of no iteration.)
func answered(answers []ledger.TaskAnswer, task ledger.Task, plugin string) bool {
	return slices.ContainsFunc(answers, func(a ledger.TaskAnswer) bool {
		return a.Round == task.Round && a.Phase == task.Phase && a.Plugin == plugin && a.Author == ""
	})
}

// waitsFor begins the words of a task that waits for a plugin which does not serve, or
// which is refused what it needs. They stand in it for as long as it waits.
const (
	waitsFor     = "waits for the plugin "
	refusedOnce  = ", which was refused what it needs"
	refusedAgain = ", which is refused what it needs again and again"
)

// ask asks one plugin, and stores what it answers with what follows from it.
func (r *Room) ask(ctx context.Context, l *lane, task ledger.Task, plugin hooks.Plugin, answers []ledger.TaskAnswer) error {
	r.config.Fault("ask", task.ID)
	q := &question{room: r, task: task, plugin: plugin, answers: answers}
	move, err := r.put(ctx, q)
	if err == nil {
		r.config.Fault("answered", task.ID)
		l.waits = 0
		_, err = r.move(ctx, move)
		return err
	}
	name := plugin.Info().Name
	switch {
	case ctx.Err() != nil:
		return err
	case pluginsdk.CodeOf(err) == pluginsdk.CodeExhausted && task.Phase != ledger.PhaseEnding:
		// It was refused what it needs for its answer: places and quotas come back. What a
		// task costs does not, so somebody has to know.
		if l.waits+1 >= r.config.MaxAttempts || strings.HasPrefix(l.said, waitsFor+name+refusedAgain) {
			return r.waitFor(ctx, l, task, name+refusedAgain, err)
		}
		return r.waitFor(ctx, l, task, name+refusedOnce, err)
	case !q.reached && task.Phase != ledger.PhaseEnding:
		// It does not serve. Nothing is decided over its head, and it is no failure.
		return r.waitFor(ctx, l, task, name, err)
	}
	r.config.Log.Warn("hook failed", "task", task.ID, "plugin", name, "hook", q.hook(), "failures", task.Failures+1, "err", err)
	move, err = q.failed(err)
	if err != nil {
		return err
	}
	_, err = r.move(ctx, move)
	return err
}

// waitFor has a task say whom it waits for, unless it does. Of a plugin that is refused
// what it needs again and again the parent is told, too.
func (r *Room) waitFor(ctx context.Context, l *lane, task ledger.Task, whom string, cause error) error {
	if !strings.HasPrefix(l.said, waitsFor+whom+": ") {
		words := cut(fmt.Sprintf("%s%s: %s", waitsFor, whom, cause))
		r.config.Log.Warn("a task waits for a plugin", "task", task.ID, "plugin", whom, "err", cause)
		move, err := moveBy(task, note, func(to *ledger.Task) { to.Error, to.Failures, to.NotBefore = words, task.Failures, task.NotBefore })
		if err == nil && strings.HasSuffix(whom, refusedAgain) {
			move.Notice, err = notice(move.To, fmt.Sprintf("refused:%d", task.Epoch), fmt.Sprintf("Task %s %s", title(task), words))
		}
		if err != nil {
			return err
		}
		if _, err := r.move(ctx, move); err != nil {
			return err
		}
		r.publish(pluginsdk.EventTaskProgress, task, words)
	}
	l.waits++
	return errLater{r.backoff.After(l.waits)}
}

// put asks when there is a place for it. That a task has ended is told at once: who is
// asked for that decides nothing.
func (r *Room) put(ctx context.Context, q *question) (ledger.TaskMove, error) {
	if q.task.Phase == ledger.PhaseEnding {
		return q.put(ctx)
	}
	if err := r.asking.Take(ctx, 0); err != nil {
		return ledger.TaskMove{}, err
	}
	defer r.asking.Free(0)
	return q.put(ctx)
}

// failed is the move after a call that has failed: another attempt, later; or, once
// there were as many as may be, what the plugin's failure mode says. What is wrong with a
// task that is to begin is said at once.
func (q *question) failed(cause error) (ledger.TaskMove, error) {
	name, hook := q.plugin.Info().Name, q.hook()
	hopeless := q.task.Phase == ledger.PhaseCreating && !passing(cause)
	if failures := q.task.Failures + 1; failures < q.room.config.MaxAttempts && !hopeless {
		return moveBy(q.task, note, func(to *ledger.Task) {
			to.Failures, to.NotBefore = failures, time.Now().Add(q.room.backoff.After(failures))
		})
	}
	if q.task.Phase == ledger.PhaseEnding || q.plugin.Info().FailureMode(hook) == pluginsdk.FailOpen {
		return q.answer(note, ledger.AnswerPassed, cause.Error(), nil)
	}
	words := fmt.Sprintf("the plugin %s has failed in %s: %s", name, hook, cause)
	if q.task.Phase == ledger.PhaseCreating {
		return q.room.giveUp(q.task, fail, words)
	}
	return q.room.leaveToAPerson(q.task, wait, words, "")
}

// passing reports an error that may pass by itself, and is not the plugin's word.
func passing(err error) bool {
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are the plugin's word
	case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline, pluginsdk.CodeCancelled, pluginsdk.CodeExhausted:
		return true
	}
	return false
}

// conclude ends a phase in which everybody has answered.
func (r *Room) conclude(ctx context.Context, task ledger.Task, answers []ledger.TaskAnswer) error {
	var move ledger.TaskMove
	var err error
	switch task.Phase {
	case ledger.PhaseCreating:
		r.config.Fault("begin", task.ID)
		move, err = moveBy(task, begin, nil)
	case ledger.PhaseReviewing:
		r.config.Fault("accept", task.ID)
		move, err = r.verdict(task, answers)
	case ledger.PhaseHanding:
		r.config.Fault("finish", task.ID)
		if move, err = r.over(task, finish); task.Cwd != task.FirstCwd && !handedOver(answers, task) {
			move, err = r.leaveToAPerson(task, wait, fmt.Sprintf("nobody hands over what is in %s: the plugin that had the task work there is not enabled; "+
				"enable it (harness plugin list) and approve the task, or cancel it", task.Cwd), MarkUnmerged)
		}
	case ledger.PhaseEnding:
		r.config.Fault("end", task.ID)
		move, err = r.over(task, end)
	case ledger.PhaseIdle:
		return nil
	}
	if err != nil {
		return err
	}
	_, err = r.move(ctx, move)
	return err
}

// MarkUnmerged is on a task whose work lies in a directory that a plugin has given it, and that
// nobody is there to hand over.
const MarkUnmerged = "unmerged"

// handedOver reports whether some plugin has handed the work of this round over.
func handedOver(answers []ledger.TaskAnswer, task ledger.Task) bool {
	return slices.ContainsFunc(answers, func(a ledger.TaskAnswer) bool { return a.Round == task.Round && a.Phase == ledger.PhaseHanding })
}

// MarkUnvalidated is on a task whose work no gate has looked at.
const MarkUnvalidated = "unvalidated"

// verdict is what becomes of work that nobody has rejected. What no gate has accepted
// either is marked; where it has changed files that are not only its own, a person has to
// look at it before anything is done with it.
func (r *Room) verdict(task ledger.Task, answers []ledger.TaskAnswer) (ledger.TaskMove, error) {
	accepted := slices.ContainsFunc(answers, func(a ledger.TaskAnswer) bool {
		return a.Round == task.Round && a.Phase == ledger.PhaseReviewing && a.Answer == string(pluginsdk.VerdictAccept)
	})
	if ownFiles := task.OwnDirectory && task.Cwd == task.FirstCwd; !accepted && task.Cwd != "" && !ownFiles {
		return r.leaveToAPerson(task, wait, "nobody has validated the work: no plugin that is enabled had an opinion on it", MarkUnvalidated)
	}
	return moveBy(task, accept, func(to *ledger.Task) {
		if !accepted {
			to.Marks = marked(to.Marks, MarkUnvalidated)
		}
	})
}

func marked(marks []string, mark string) []string {
	if mark == "" || slices.Contains(marks, mark) {
		return marks
	}
	return append(slices.Clone(marks), mark)
}

// endRuns ends what still works for a task that has failed or was cancelled: its run,
// its turns, and the tasks below it with theirs. It is a step's part that is made until nothing is
// left: plugins are told when the agent is gone.
func (r *Room) endRuns(ctx context.Context, l *lane, task ledger.Task) error {
	r.config.Fault("endRuns", task.ID)
	below, err := r.endBelow(ctx, task)
	if err != nil {
		return err
	}
	open, err := r.allOpen(ctx, task, below)
	if err != nil || len(open) == 0 {
		return err
	}
	by := ledger.By{Plugin: task.Plugin}
	if task.Status == pluginsdk.TaskCancelled {
		if _, err := r.inbox.StopThread(ctx, task.ThreadID, pluginsdk.DropQueue, by); err != nil {
			return err
		}
		if open, err = r.allOpen(ctx, task, below); err != nil {
			return err
		}
	}
	for _, runID := range open {
		if _, err := r.inbox.Cancel(ctx, runID, by); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return err
		}
	}
	if open, err = r.allOpen(ctx, task, below); err != nil || len(open) == 0 {
		return err
	}
	l.waits++
	look := guard.Backoff{Base: 2 * r.config.Look, Max: min(64*r.config.Look, time.Second)}
	return errLater{look.After(l.waits)}
}

// allOpen are the runs of a task, and of those below it, that have to end with it.
func (r *Room) allOpen(ctx context.Context, task ledger.Task, below []string) (ids []string, err error) {
	if ids, err = r.openRuns(ctx, task); err != nil {
		return nil, err
	}
	for _, id := range below {
		child, err := r.store.TaskState(ctx, id)
		if err != nil {
			return nil, err
		}
		open, err := r.openRuns(ctx, child)
		if err != nil {
			return nil, err
		}
		ids = append(ids, open...)
	}
	return ids, nil
}

// openRuns are those that have to end with the task: its turns, wherever they are; and of
// one that was cancelled all that its thread has, of one that has failed its iteration.
// Others are people's.
func (r *Room) openRuns(ctx context.Context, task ledger.Task) (ids []string, err error) {
	if ids, err = r.store.OpenTurnsOf(ctx, task.ID); err != nil {
		return nil, err
	}
	if task.Status == pluginsdk.TaskCancelled {
		runs, err := r.store.Runs(ctx, pluginsdk.RunQuery{
			ThreadID: task.ThreadID, States: []pluginsdk.RunState{pluginsdk.RunQueued, pluginsdk.RunRunning, pluginsdk.RunWaiting},
		})
		for _, run := range runs {
			if !slices.Contains(ids, run.ID) {
				ids = append(ids, run.ID)
			}
		}
		return ids, err
	}
	if task.RunID == "" || slices.Contains(ids, task.RunID) {
		return ids, nil
	}
	run, err := r.store.Run(ctx, task.RunID)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return ids, nil // it was deleted by hand
	}
	if err == nil && !run.State.Final() {
		ids = append(ids, run.ID)
	}
	return ids, err
}

// endBelow cancels all tasks below one that has ended, and returns them. One that is over
// gets no more children, so that it comes to an end.
func (r *Room) endBelow(ctx context.Context, task ledger.Task) (below []string, err error) {
	for known := -1; ; {
		if below, err = r.store.TasksBelow(ctx, task.ID); err != nil || len(below) == known {
			return below, err
		}
		known = len(below)
		for _, id := range below {
			if _, err := r.cancel(ctx, id, fmt.Sprintf("the task above it is %s", task.Status), ledger.By{Plugin: task.Plugin}); err != nil {
				return nil, err
			}
		}
	}
}
